// The quick check. What it refuses goes to the shape doctor.
#include "tensor/doctor/contract.h"

#include <cassert>

#include "tensor/doctor/doctor.h"

namespace gradus {

bool Contract::fits(const Given* given, std::size_t count) const {
  assert(static_cast<int>(count) == rows_ && "one entry per row of the contract");
  std::array<std::int64_t, max_symbols> bound;
  bound.fill(-1);
  std::int64_t gates = 1;
  for (int pass = 0; pass < 2; ++pass) {  // a second one for sums of which two letters were open at first
    bool again = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Row& row = table_[i];
      if (!given[i].shape) {
        if (given[i].number == 0) continue;
        if (row.gates) gates = given[i].number;
        std::int64_t& known = bound[static_cast<std::size_t>(row.axes[0].terms[0].symbol)];
        if (known >= 0 && known != given[i].number) return false;
        known = given[i].number;
        continue;
      }
      const Shape& shape = *given[i].shape;
      if (row.letters) {
        if (shape.rank() != row.rank) return false;
        for (int axis = 0; axis < row.rank; ++axis) {
          std::int64_t& known =
              bound[static_cast<std::size_t>(row.axes[static_cast<std::size_t>(axis)].terms[0].symbol)];
          if (known < 0) known = shape[axis];
          else if (known != shape[axis]) return false;
        }
        continue;
      }
      const int first = row.leading ? shape.rank() - row.rank : 0;
      if (row.leading ? first < 1 : shape.rank() != row.rank) return false;
      for (int axis = 0; axis < row.rank; ++axis) {
        const Length& length = row.axes[static_cast<std::size_t>(axis)];
        std::int64_t left = shape[first + axis];
        const Term* open = nullptr;
        int letters = 0;
        for (int k = 0; k < length.count; ++k) {
          const Term& term = length.terms[static_cast<std::size_t>(k)];
          const std::int64_t value = bound[static_cast<std::size_t>(term.symbol)];
          if (value >= 0) left -= value * term.factor * (term.gates ? gates : 1);
          else open = &term, ++letters;
        }
        if (letters == 0 && left != 0) return false;
        if (letters > 1) again = true;
        if (letters != 1) continue;
        const std::int64_t factor = open->factor * (open->gates ? gates : 1);
        if (left < 0 || left % factor != 0) return false;
        bound[static_cast<std::size_t>(open->symbol)] = left / factor;
      }
    }
    if (!again) break;
  }
  return true;
}

int Contract::find(std::string_view name) const {
  for (int i = 0; i < rows_; ++i) {
    if (row(i).name == name) return i;
  }
  return -1;
}

void Contract::refuse(const char* where, std::initializer_list<Given> given) const {
  throw ShapeError(examine(*this, where, std::vector<Given>(given)));
}

void Contract::refuse_dot(const char* where, std::initializer_list<Given> given) const {
  throw ShapeError(examine_dot(*this, where, std::vector<Given>(given)));
}

}  // namespace gradus
