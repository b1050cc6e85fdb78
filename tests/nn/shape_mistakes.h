// Programs that one tensor of the wrong shape breaks: what they need, and the table of mistakes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "tensor/doctor/doctor.h"

namespace gradus::testing {

struct Sizes {
  std::int64_t B, T_enc, T_dec, d_s, d_h, d_attn, d_emb, vocab, d_in;
};
// Pairwise different, d_h / 2 and the widths of concatenations included.
inline constexpr Sizes different{3, 7, 4, 5, 16, 6, 2, 11, 9};

// Everything that a program uses, by the names that its report gives.
struct World {
  std::map<std::string, Tensor> numbers;
  std::map<std::string, Mask> masks;
  std::map<std::string, Ids> ids;
  Shape shape(const std::string& name) const;
};

struct Program {
  const char* name;
  World (*make)(const Sizes&);
  Tensor (*run)(const World&);
};
const std::vector<Program>& programs();
const Program& program(const std::string& name);

// How a tensor goes wrong.
enum class Break {
  transposed,
  swapped_01,
  swapped_12,
  first_row,     // the batch axis forgotten: one row taken out
  one_in_front,  // (1, ...)
  one_behind,    // (..., 1)
  longer_first,  // one entry more on the first, or the last axis
  longer_last,
  shorter_last,
  merged,         // the first two axes as one
  exchanged,      // with `other`
  other_instead,  // `other` passed in its place
  made_as,        // with the lengths that `shape` gives
};

struct Mistake {
  const char* program;
  const char* tensor;
  Break how;
  const char* symbols;  // what the report must say that it needs
  FixKind fix;
  const char* other = "";
  Shape (*shape)(const Sizes&) = nullptr;
  const char* named = "";  // the tensor that the report names, where it is not `tensor`
};
const std::vector<Mistake>& mistakes();

// Makes the mistake in `world`.
void make(const Mistake& mistake, World& world, const Sizes& sizes);
// Does what the report proposes. `right` has the numbers for tensors that have to be made anew.
void apply(const ShapeReport& report, World& world, const World& right);

}  // namespace gradus::testing
