// Reads gate blocks out of stacked weights.
#include "nn/conventions/reference/gates.h"

#include <stdexcept>
#include <utility>

namespace gradus::reference {

namespace {

std::size_t block_start(const Gates& gates, char gate) {
  const std::size_t place = gates.order.find(gate), d = gates.weights.state_size();
  if (place == std::string::npos || gates.weights.U->dim(0) != gates.order.size() * d ||
      gates.weights.W->dim(0) != gates.order.size() * d) {
    throw std::invalid_argument("reference cell: gate '" + std::string(1, gate) + "' of order '" + gates.order +
                                "' does not fit W " + to_string(gates.weights.W->shape) + " and U " +
                                to_string(gates.weights.U->shape) + ", which need d rows a gate");
  }
  return place * d;
}

Vec block_product(const Array& W, std::size_t start, std::size_t d, Row x, bool transposed) {
  if (transposed && (W.dim(1) != d || x.size() != d)) {
    throw std::invalid_argument("reference cell: only square blocks can be read transposed, not " +
                                to_string({d, W.dim(1)}));
  }
  if (!transposed) return matvec(W, x, start, d);
  Vec y(d);
  for (std::size_t r = 0; r < d; ++r)
    for (std::size_t k = 0; k < d; ++k) y[r] += W.at({start + k, r}) * x[k];
  return y;
}

Vec plus_bias(Vec y, const Array* b, const char* name, std::size_t start) {
  if (!b)
    throw std::invalid_argument(std::string("reference cell: the convention adds a bias, but there is no ") + name);
  if (b->shape.size() != 1 || b->dim(0) < start + y.size()) {
    throw std::invalid_argument(std::string("reference cell: ") + name + " " + to_string(b->shape) +
                                " has no block of " + std::to_string(y.size()) + " from " + std::to_string(start) +
                                " on");
  }
  return add(std::move(y), Row(b->data).subspan(start, y.size()));
}

}  // namespace

CellWeights cell_weights(const Arrays& arrays, const std::string& suffix) {
  return {&get(arrays, "W" + suffix), &get(arrays, "U" + suffix), find(arrays, "b" + suffix),
          find(arrays, "b_u" + suffix)};
}

Vec Gates::from_input(char gate, Row x) const {
  const std::size_t start = block_start(*this, gate);
  const bool flip = transposed == Transposed::input || transposed == Transposed::both;
  Vec y = block_product(*weights.W, start, weights.state_size(), x, flip);
  return biases == Biases::none ? y : plus_bias(std::move(y), weights.b, "b", start);
}

Vec Gates::from_state(char gate, Row h) const {
  const std::size_t start = block_start(*this, gate);
  const bool flip = transposed == Transposed::recurrent || transposed == Transposed::both;
  Vec y = block_product(*weights.U, start, weights.state_size(), h, flip);
  return biases == Biases::two ? plus_bias(std::move(y), weights.b_u, "b_u", start) : y;
}

}  // namespace gradus::reference
