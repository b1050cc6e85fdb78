// Inside the diagnosis: which stages of a trace can be checked, each alone or together with others.
#pragma once

#include "nn/conventions/diagnosis_bench.h"

namespace gradus::diagnosis {

std::vector<Group> groups_of(const Bench& bench);

// The fields that act in one of the stages of a group.
std::vector<std::size_t> fields_of(const Bench& bench, const std::vector<Stage>& stages);

}  // namespace gradus::diagnosis
