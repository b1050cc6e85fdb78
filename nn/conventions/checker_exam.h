// An exam for gradient checkers. A checker is a program too, and a wrong one says yes to everything or to the wrong
// things. It is asked about functions whose answer is known, and its mistake is named by the question that it misses.
//
//   Result result = examine([](const Op& op) { return my_checker(op.forward, op.backward, op.x); });
//   std::puts(result.text().c_str());      // GC_ABS_ONLY: an absolute tolerance hides gradients that are small
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/doctor/said.h"

namespace gradus::checker_exam {

using Numbers = std::vector<double>;

// A function of n numbers, and the backward that somebody wrote for it.
struct Op {
  std::function<Numbers(const Numbers& x)> forward;
  std::function<Numbers(const Numbers& x, const Numbers& dy)> backward;  // dL/dx, from dL/dy of y's length
  Numbers x;                                                             // where it is to be checked
};

// True when the checker accepts the backward. What it throws counts as a refusal.
using Checker = std::function<bool(const Op&)>;

struct Mark {
  Said question;
  bool should_accept = false, accepted = false;
};

struct Result {
  std::string code;  // stable: "GC_ABS_ONLY", ...; empty when every answer was right
  Said sentence;     // what is wrong with the checker
  Said fix;          // what to change in it
  std::vector<Mark> marks;
  bool passed() const { return code.empty(); }
  std::string text(Lang lang = Lang::en) const;  // verdict first, then one line a question; ends with a newline
};

// Asks all questions, in milliseconds for an honest checker. The questions are the same at every call.
Result examine(const Checker& checker);

}  // namespace gradus::checker_exam
