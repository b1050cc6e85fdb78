// Charts and tables of what was measured.
#pragma once

#include <string>
#include <vector>

#include "lessons/07_bottleneck/find_out.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"

namespace gradus::lesson07 {

std::string verdict(const Findings& f, Lang lang);
LineChart accuracy_chart(const Findings& f, Lang lang);
LineChart places_chart(const Findings& f, Lang lang);
LineChart sweep_chart(const Findings& f, Lang lang);
std::string exposure_table(const Findings& f, const Terminal& terminal, Lang lang);
std::string stored_table(const Findings& f, const Terminal& terminal, Lang lang);
std::string sweep_table(const Findings& f, const Terminal& terminal, Lang lang);
std::string mistakes_table(const Findings& f, const Terminal& terminal, Lang lang);

// Digits that were read, what the model writes on its own, and what it would say with the right digit before given.
std::string copies(const CopyNet& net, const Ids& tokens, Lang lang);

// Targets and curves.
void report(const Findings& f, Metrics& metrics);

}  // namespace gradus::lesson07
