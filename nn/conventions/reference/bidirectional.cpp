// Both directions and their merge.
#include "nn/conventions/reference/bidirectional.h"

#include <algorithm>
#include <stdexcept>

namespace gradus::reference {

namespace {

Array stack_two(const Array& forward, const Array& backward) {
  Array out = forward;
  out.shape.insert(out.shape.begin(), 2);
  out.data.insert(out.data.end(), backward.data.begin(), backward.data.end());
  return out;
}

// The outputs (B, T, d) at each row's first or last real position, as (B, d).
Array at_position(const Array& h, const std::vector<std::size_t>& lengths, bool last) {
  Array out({h.dim(0), h.dim(2)});
  for (std::size_t b = 0; b < h.dim(0); ++b) {
    const std::size_t n = lengths.empty() ? h.dim(1) : lengths.at(b);
    if (n > 0) out.set_row({b}, h.row({b, last ? n - 1 : 0}));
  }
  return out;
}

}  // namespace

Array merge_directions(Merge merge, const Array& stacked) {
  const std::size_t d = stacked.shape.back(), rows = stacked.data.size() / 2 / std::max<std::size_t>(d, 1);
  if (stacked.dim(0) != 2)
    throw std::invalid_argument("reference merge: needs (2, ..., d), got " + to_string(stacked.shape));
  const bool joined = merge != Merge::sum && merge != Merge::mean && merge != Merge::product && merge != Merge::largest;
  Dims shape(stacked.shape.begin() + 1, stacked.shape.end());
  shape.back() = joined ? 2 * d : d;
  if (merge == Merge::reshaped) return Array(shape, stacked.data);

  Array out(shape);
  if (merge == Merge::reshaped_example) {  // an example's (2, T, d) as (T, 2 d)
    const std::size_t n = stacked.data.size() / 2 / stacked.dim(1);
    for (std::size_t b = 0; b < stacked.dim(1); ++b)
      for (std::size_t k = 0; k < 2; ++k)
        std::copy_n(stacked.data.begin() + static_cast<std::ptrdiff_t>((k * stacked.dim(1) + b) * n), n,
                    out.data.begin() + static_cast<std::ptrdiff_t>((2 * b + k) * n));
    return out;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const Row forward = Row(stacked.data).subspan(r * d, d), backward = Row(stacked.data).subspan((rows + r) * d, d);
    Vec y = add(copy(forward), backward);
    if (merge == Merge::mean) y = multiply(y, Vec(d, 0.5));
    if (merge == Merge::product) y = multiply(copy(forward), backward);
    for (std::size_t k = 0; k < d && merge == Merge::largest; ++k) y[k] = std::max(forward[k], backward[k]);
    if (merge == Merge::interleaved) {
      y.resize(2 * d);
      for (std::size_t k = 0; k < d; ++k) y[2 * k] = forward[k], y[2 * k + 1] = backward[k];
    }
    if (merge == Merge::concat) y = join(copy(forward), backward);
    if (merge == Merge::swapped) y = join(copy(backward), forward);
    std::copy(y.begin(), y.end(), out.data.begin() + static_cast<std::ptrdiff_t>(r * y.size()));
  }
  return out;
}

Bidirectional run_bidirectional(const CellConvention& cell, const BidirectionalConvention& convention,
                                const Arrays& arrays, const Array& x, const std::vector<std::size_t>& lengths) {
  const RunConvention onward{convention.after_end, Reading::forward, Outputs::in_place, false};
  const RunConvention back{convention.after_end, convention.backward, convention.backward_outputs, false};
  const Run f = run_sequence(cell, onward, cell_weights(arrays), x, lengths);
  const bool continues = convention.start == BackwardStart::forward_final;  // the forward direction starts from zeros
  const Run g = run_sequence(cell, back, cell_weights(arrays, "_reverse"), x, lengths, continues ? &f.final_h : nullptr,
                             continues && f.final_c.dim(1) ? &f.final_c : nullptr);
  Bidirectional out;
  out.h = merge_directions(convention.merge, stack_two(f.h, g.h));
  if (convention.final_state == FinalState::both_ends) {
    out.final_h = merge_directions(convention.merge, stack_two(f.final_h, g.final_h));
  } else {
    const bool last = convention.final_state == FinalState::last_position;
    out.final_h =
        merge_directions(convention.merge, stack_two(at_position(f.h, lengths, last), at_position(g.h, lengths, last)));
  }
  return out;
}

Array stacked_final(StackedFinal which, const Array& h_n) {
  const std::size_t slices = h_n.dim(0), B = h_n.dim(1), d = h_n.dim(2);
  if (slices < 2 || slices % 2)
    throw std::invalid_argument("reference final state: needs (layers * 2, B, d), got " + to_string(h_n.shape));
  const auto slice = [&](std::size_t i) {
    Array out({B, d});
    for (std::size_t b = 0; b < B; ++b) out.set_row({b}, h_n.row({i, b}));
    return out;
  };
  std::size_t forward = slices - 2, backward = slices - 1;
  if (which == StackedFinal::last_slice) return slice(backward);
  if (which == StackedFinal::bottom_layer) forward = 0, backward = 1;
  if (which == StackedFinal::top_read_direction_major) forward = slices / 2 - 1;
  return merge_directions(Merge::concat, stack_two(slice(forward), slice(backward)));
}

}  // namespace gradus::reference
