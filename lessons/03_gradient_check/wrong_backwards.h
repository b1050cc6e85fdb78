// Twelve small ops with two backwards each: the right one, and one with a mistake that has been made before.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/var.h"
#include "lessons/03_gradient_check/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson03 {

// Ops here work on plain lists of numbers, so that each backward is a loop that can be read.
struct SmallOp {
  Words mistake;
  std::vector<Shape> shapes;  // of the inputs
  std::vector<Numbers> x;     // the inputs' numbers, row after row
  Shape shape;                // of the result
  std::function<Numbers(const std::vector<Numbers>& x)> forward;
  // Adds d L / d x into dx (of x's sizes, zeros at first), given y = forward(x) and dy = d L / d y.
  std::function<void(const std::vector<Numbers>& x, const Numbers& y, const Numbers& dy, bool wrong,
                     std::vector<Numbers>& dx)>
      backward;
};

std::vector<SmallOp> small_ops();

// The op with all inputs in one list, as a checker gets it.
Op as_one_list(const SmallOp& op, bool wrong);

// The inputs as leaves, and the op on the tape.
std::vector<Var> leaves_of(const SmallOp& op, DType dtype);
Var apply(const SmallOp& op, const std::vector<Var>& leaves, bool wrong);

}  // namespace gradus::lesson03
