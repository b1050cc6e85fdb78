// A gradient check as one writes it the first time: every choice in it can be made badly, and then it lets mistakes
// through.
#pragma once

#include "lessons/03_gradient_check/wrong_backwards.h"

namespace gradus::lesson03 {

struct NaiveCheck {
  bool plain_sum = false;  // L = sum(y) instead of L = w . y with fixed random numbers w
  double tolerance = 1e-8;
  double step = 6e-6;
  DType dtype = f64;
};

struct NaiveResult {
  double worst = 0;            // relative error over all elements of all inputs
  int wrong = 0, checked = 0;  // elements whose error is above the tolerance, of all
  bool passes() const { return wrong == 0; }
};

// Compares every element; checking one element at random finds a mistake with probability wrong / checked.
NaiveResult naive_check(const SmallOp& op, bool wrong, const NaiveCheck& how);

}  // namespace gradus::lesson03
