// Lesson 08: write the scores, and the soft lookup that they are for. Five functions of a few lines; exercise.h says
// what they get.
//
//   ./gradus check 08         what is right, and the first thing to mend
//   ./gradus watch 08         the same whenever you save
//   ./gradus hint 08          a nudge
//   ./gradus run 08 --mine    when it passes: the lesson, trained with what you wrote
//
// At hand: + - * / between two Vars of one shape or a Var and a number; sum(x, Axis{2}), which drops the axis;
// expand_new(x, Axis{1}, n), which puts one in and stretches it; sqrt, square, matmul, transpose, and lesson 04's
// softmax(x, Axis{k}) (autograd/ops.h). x.size(Axis{1}) is the length of an axis, a std::int64_t.
#include "lessons/08_scores/exercise.h"

namespace gradus::lesson08 {

// 1. One query, n keys: nothing here is stretched unless you say so.
Var dot_scores(const Var& query, const Var& keys) {
  (void)query, (void)keys;  // goes away with your first line
  return Var();
}

// 2. How large is the deviation of a sum of d products?
Var scaled_scores(const Var& query, const Var& keys) {
  (void)query, (void)keys;
  return Var();
}

// 3. Neither a longer query nor a longer key may change anything.
Var cosine_scores(const Var& query, const Var& keys) {
  (void)query, (void)keys;
  return Var();
}

// 4. There are n states and one query. Which of the two is W_a multiplied with, and from which side?
Var general_scores(const Var& query, const Var& H, const Var& W_a) {
  (void)query, (void)H, (void)W_a;
  return Var();
}

// 5. Over which axis do the keys compete?
Attended mix(const Var& scores, const Var& values) {
  (void)scores, (void)values;
  return Attended();
}

}  // namespace gradus::lesson08
