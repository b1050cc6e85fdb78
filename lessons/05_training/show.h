// Tables and pictures of what was trained.
#pragma once

#include <string>
#include <vector>

#include "lessons/05_training/trials.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson05 {

std::string verdict(const std::vector<Trial>& trials, const std::vector<Resumed>& resumed, Lang lang);
std::string trials_table(const std::vector<Trial>& trials, const Terminal& terminal, Lang lang);
// What is compared over seeds, and everything in the two tables.
void add_numbers(const std::vector<Trial>& trials, const std::vector<Resumed>& resumed, Metrics& metrics);
std::string resume_table(const std::vector<Resumed>& resumed, const Terminal& terminal, Lang lang);
LineChart loss_chart(const std::vector<Trial>& trials, Lang lang);
// The probability of the second arm over the plane.
Heatmap decision_map(const Mlp& model, Lang lang);
// What the model says of one point.
std::string answer_table(const Mlp& model, double x_1, double x_2, const Terminal& terminal, Lang lang);

}  // namespace gradus::lesson05
