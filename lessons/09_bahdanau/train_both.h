// Both models in training, with what one watches meanwhile.
#pragma once

#include "lessons/09_bahdanau/trainee.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson09 {

// At the same time, one thread each; neither reads what the other writes, so the numbers do not depend on it. Shows two
// live lines, and the alignment while it sharpens.
void train_both(Trainee& attention, Trainee& plain, const Options& options, const Terminal& terminal);

}  // namespace gradus::lesson09
