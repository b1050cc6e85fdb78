// Lesson 03, what you write: a gradient check of your own. It will be examined: shown backwards that are right and
// backwards that are wrong, it has to tell them apart.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "nn/conventions/checker_exam.h"
#include "tensor/random.h"

namespace gradus::lesson03 {

using Numbers = std::vector<double>;

// A function and the backward that somebody wrote for it:
//   op.forward(x)        y, a list that may have another length than x
//   op.backward(x, dy)   dL/dx, as long as x, from dL/dy, as long as y
//   op.x                 the place at which it is to be checked
using checker_exam::Op;

// One number made of many, such as the L of the note.
using Objective = std::function<double(const Numbers& x)>;

// dL/dx_i from values of L alone. An error of h^2 and not of h; the step suits x_i, which may be 0.001 or 1000.
double central_difference(const Objective& L, const Numbers& x, std::size_t i);

// |a - n| / (|a| + |n|): 0 when they agree, 1 when one is zero or has the wrong sign. Two zeros agree.
double relative_error(double a, double n);

// Whether L has a kink within a step of x_i, so that the slopes on both sides differ.
bool has_kink(const Objective& L, const Numbers& x, std::size_t i);

// True when op.backward is the backward of op.forward at op.x, and this can be said: false also where nothing was
// tested, at a kink, and for a function that gives another result at each call.
bool accepts(const Op& op);

}  // namespace gradus::lesson03
