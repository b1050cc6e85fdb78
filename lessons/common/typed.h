// What somebody typed for `try`: the numbers in it, and the error where it makes no sense.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/doctor/said.h"
#include "tensor/error.h"

namespace gradus {

// What was typed, what is wrong with it and what to type instead; lesson_main shows it in the learner's language.
struct InputError : ValueError {
  explicit InputError(Words said) : ValueError(said.en), words(std::move(said)) {}
  Words words;
};

// Numbers from -bound to bound, separated by blanks or commas; InputError, which ends in the example, for anything
// else.
std::vector<double> numbers_in(const std::string& text, double bound, const std::string& example);

// The digits of "3 1 4 1 5" or "31415", at least one.
std::vector<std::int32_t> digits_in(const std::string& text);

}  // namespace gradus
