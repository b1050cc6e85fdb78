// Formulas that somebody types, such as "x * tanh(x) - 1 / x", run on dual numbers.
#pragma once

#include <string>
#include <string_view>

#include "lessons/03_gradient_check/dual_by_hand.h"

namespace gradus::lesson03 {

// The formula at x. + - * / ^ (whole powers), parentheses, numbers, x, and exp log sqrt tanh sigmoid relu abs.
// Throws InputError that shows where the formula stops making sense.
Dual evaluate(std::string_view formula, Dual x);

}  // namespace gradus::lesson03
