// What the lesson shows: curves, alignments, the influence matrix, and the table of the three checks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/09_bahdanau/trainee.h"
#include "lessons/common/metrics.h"
#include "lessons/common/options.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson09 {

// Greedy accuracy at each of copy_lengths.
struct Accuracy {
  std::vector<double> attention, plain;
};
Accuracy measure(const Trainee& attention, const Trainee& plain, std::int64_t sequences, std::uint64_t seed,
                 int threads);

// What is trained, on which lengths, of what size, and whose the taught parts are.
std::string header(const Trainee& attention, const Trainee& plain, const Sizes& sizes, const Options& options);
// What is said when Ctrl-C ended the training: how far it came, and how to go on.
std::string so_far(const Trainee& attention, const Options& options);

// Sizes, targets and curves of a finished run.
void record(const Trainee& attention, const Trainee& plain, const Accuracy& accuracy, const Sizes& sizes,
            Metrics& metrics);

LineChart accuracy_chart(const Accuracy& accuracy, Lang lang);
// The longest training length against the step: after which lengths each model was shown at all.
LineChart curriculum_chart(const Trainee& attention, const Trainee& plain, Lang lang);

// The weights with which the model copies `tokens` (1, T): rows are decoder steps, columns source positions.
Heatmap alignment(const CopyModel& model, const Ids& tokens, std::string title, Lang lang);
// Rows t of a square map whose largest value stands in column t - 1.
int one_to_the_left(const Heatmap& map);
// Twelve digits that stay the same for a whole run, so that pictures of it can be compared.
Ids sample(std::uint64_t seed);

// |d alpha_t / d y_k| of the trained decoder on a short sequence.
std::string influence(const CopyModel& model, std::uint64_t seed, const Terminal& terminal, Lang lang);

// Self check, reference check and probe on Bahdanau's decoder and on the swapped one. Adds what came out to `metrics`.
std::string three_checks(std::uint64_t seed, const Terminal& terminal, Lang lang, Metrics& metrics);

}  // namespace gradus::lesson09
