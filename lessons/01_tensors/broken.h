// Ten programs whose shapes do not fit, what the shape doctor says of each, and the program with its fix.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/common/terminal.h"
#include "tensor/doctor/doctor.h"
#include "tensor/tensor.h"

namespace gradus::lesson01 {

struct Broken {
  Said what;                      // "the batch lies the wrong way"
  std::string code;               // the line that fails
  std::string tensor;             // the one that is to blame
  FixKind fix;                    // what mends it
  std::function<void()> run;      // throws a ShapeError with a report
  std::function<Shape()> mended;  // the same with the fix: the shape of its result
  Shape result;                   // what that must be
};
const std::vector<Broken>& broken_programs();

struct Examined {
  std::string text;    // the report
  bool named = false;  // the right tensor
  bool fix = false;    // the right fix, and the program runs with it
};
Examined examined(const Broken& program, Lang lang);

// All ten reports, each below the line that failed.
std::string all_reports(Lang lang);
// How many are named with a fix.
std::int64_t named_with_fix();

}  // namespace gradus::lesson01
