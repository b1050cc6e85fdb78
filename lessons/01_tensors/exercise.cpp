// Lesson 01: write the arithmetic of views. Six functions of a few lines; exercise.h says what they get.
//
//   ./gradus check 01         what is right, and the first thing to mend
//   ./gradus watch 01         the same whenever you save
//   ./gradus hint 01          a nudge
//   ./gradus run 01 --mine    when it passes: the lesson, drawn and trained with what you wrote
//
// At hand: shape.rank() and strides.rank(); shape[axis] and strides[axis], to read and to write; extents.insert(axis,
// value); std::swap; to_string(shape); throw ShapeError("..."). For the gradient matmul, transpose, + - * / of Vars.
#include "lessons/01_tensors/exercise.h"

namespace gradus::lesson01 {

// 1. The last axis has stride 1. Over how many numbers does a step along the one before it go?
View row_major(const Shape& shape) {
  (void)shape;  // goes away with your first line
  return View();
}

// 2. Where does it begin, and how far is it along each axis?
std::int64_t place(const View& view, const Extents& position) {
  (void)view, (void)position;
  return -1;
}

// 3. What belongs to an axis? Both of it are exchanged.
View transposed(const View& view, int a, int b) {
  (void)view, (void)a, (void)b;
  return View();
}

// 4. Where is the first one that is kept, and how far is it from each to the next?
View narrowed(const View& view, int axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  (void)view, (void)axis, (void)start, (void)length, (void)step;
  return View();
}

// 5. All of them are the same number. And what must not be stretched?
View stretched(const View& view, int axis, std::int64_t length) {
  (void)view, (void)axis, (void)length;
  return View();
}

// 6. On paper first. The shapes leave one possibility.
Var least_squares_gradient(const Var& X, const Var& w, const Var& y) {
  (void)X, (void)w, (void)y;
  return Var();
}

}  // namespace gradus::lesson01
