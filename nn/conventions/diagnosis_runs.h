// Inside the diagnosis: a recurrent run that is right in part: in all its states but not in what it hands out, in its
// outputs but not in its final states, in all layers but one, or but for what it made of the padding. What is called
// explained is reported as well.
#pragma once

#include "nn/conventions/diagnosis_report.h"

namespace gradus::diagnosis {

// `free_ones` and `some` are hypotheses that were tried; those without mistakes are looked at unless it says otherwise.

// A run over the padding shows in h everywhere, so that another mistake beside it is tried together with it.
std::vector<Scored> beside_read_padding(Bench& bench, const Group& group, const std::vector<Scored>& free_ones,
                                        std::size_t most_attempts);
// Outputs that agree, with the mistake of the hypothesis if it has one, and final states, or what a decoder takes of them,
// that are other numbers.
bool explained_by_final_states(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& some);
// Several layers or directions of which one goes wrong: its cell, its weights, what it starts from, or what it hands on.
bool explained_by_one_layer(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);
// With a mistake that all layers have, one layer hands on something else than h.
bool explained_between_layers(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& with_one);
// A run whose cell is right, and that was told of the padding otherwise than the trace says.
bool explained_by_mask(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);
// A right run, whatever stands behind the end: from now on nothing stands there.
bool right_but_behind_the_end(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);
// Whether the trace holds a state after the last input. Where it does not, reading on over the padding harms nothing.
bool holds_final_states(const Bench& bench);
// Hypotheses with one mistake that agree at all real positions. Not where the cell runs on with this mistake, and final
// states may depend on it: that is a second one.
std::vector<Scored> found_without_padding(Bench& bench, Report& report, const Group& group, std::vector<Scored>& tried);
// Whether h of a run agrees, so that only its final states are wrong.
bool outputs_are_right(Bench& bench, const Group& group, const std::vector<Scored>& free_ones);
// States that are right inside, and outputs that are changed on their way out.
bool explained_by_outputs(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);
// Beside a cell that is explained: whether h_n of one layer is what h holds at the end that it belongs to.
void look_at_final_states(const Bench& bench, Report& report);

}  // namespace gradus::diagnosis
