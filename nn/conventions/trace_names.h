// The names that a trace may use: ours, those of other frameworks, the shape, and what the array is. Reading a file and
// the help of `diagnose` know the same tables.
#pragma once

#include <string>
#include <vector>

#include "tensor/doctor/said.h"

namespace gradus::diagnosis {

struct TraceName {
  const char* name;                 // ours
  std::vector<const char*> others;  // understood too; a star: stored transposed
  const char* shape;
  Said role;
  bool output = false;  // computed by the model: compared with it, and its gradient is where backward starts
};

const std::vector<TraceName>& decoder_names();
const std::vector<TraceName>& recurrent_names();
const std::vector<TraceName>& multi_head_names();
// Of a decoder's cell and of a cell alone; layers and directions add _l1, _reverse, _l1_reverse.
const std::vector<TraceName>& cell_names();

// Letters of meta.json's gate_order, "z,r,h", as the tables of hypotheses spell them, "zrn". gates: 1 (Elman), 3 (GRU)
// or 4 (LSTM). Throws std::invalid_argument if it is no order of that cell's gates.
std::string gate_letters(const std::string& order, std::size_t gates);

}  // namespace gradus::diagnosis
