// Lesson 02: write a tape. Four functions, a few lines each; exercise.h says what they get.
//
//   ./gradus check 02    what is right, and the first thing to mend
//   ./gradus watch 02    the same whenever you save
//   ./gradus hint 02     a nudge
//
// At hand: list.push_back({value, 0, {{a, slope}, {b, slope}}}) adds a step; std::tanh.
#include "lessons/02_tape/exercise.h"

#include <cmath>

namespace gradus::lesson02 {

// 1. The sum changes by as much as either of its inputs.
std::size_t plus(List& list, std::size_t a, std::size_t b) {
  (void)list, (void)a, (void)b;  // goes away with your first line
  return 0;
}

// 2. By how much does a product change when one factor does?
std::size_t times(List& list, std::size_t a, std::size_t b) {
  (void)list, (void)a, (void)b;
  return 0;
}

// 3. The slope of tanh is known from its value.
std::size_t tanh_of(List& list, std::size_t a) {
  (void)list, (void)a;
  return 0;
}

// 4. In which order, with what at the start, and how does a step pay into its inputs?
void backward(List& list, std::size_t result) { (void)list, (void)result; }

}  // namespace gradus::lesson02
