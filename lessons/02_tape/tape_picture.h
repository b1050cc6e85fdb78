// A scalar tape made visible: as lines of text, and as a drawing with an arrow from each input.
#pragma once

#include <string>

#include "lessons/02_tape/scalar_tape.h"
#include "lessons/common/text.h"

namespace gradus::lesson02 {

// One line a step, oldest first: number, op, value, gradient, and the numbers of its inputs.
std::string tape_text(const Tape& tape, Lang lang);

// A whole SVG file. Steps stand as far to the right as their longest way from a leaf.
std::string tape_svg(const Tape& tape, const std::string& title, Lang lang);

}  // namespace gradus::lesson02
