// Charts, tables and targets.
#pragma once

#include <string>

#include "lessons/06_gru/find_out.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"

namespace gradus::lesson06 {

std::string verdict(const Findings& f, Lang lang);
std::string recall_table(const Findings& f, const Terminal& terminal, Lang lang);
LineChart reach_chart(const Findings& f, Lang lang);
std::string reach_table(const Findings& f, const Terminal& terminal, Lang lang);
LineChart kept_chart(const Findings& f, Lang lang);
std::string text_table(const Findings& f, const Terminal& terminal, Lang lang);
std::string samples(const Findings& f, std::uint64_t seed, const Terminal& terminal, Lang lang);
void report(const Findings& f, Metrics& metrics);

}  // namespace gradus::lesson06
