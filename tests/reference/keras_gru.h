// The GRU as Keras documents it (tf.keras.layers.GRU): row vectors times kernels, gates in the order z, r, h.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::keras_gru {

// Weights as Layer.get_weights() lists them; columns are stacked in the order z, r, h.
struct Gru {
  Mat kernel;            // (d_x, 3 units)
  Mat recurrent_kernel;  // (units, 3 units)
  Mat bias;              // reset_after: (2, 3 units), input bias then recurrent bias; otherwise (1, 3 units); or empty
};

// reset_after = true (the default since Keras 2.3, the cuDNN form): x (d_x), h (units) -> (units).
//   z  = sigmoid(x K_z + b_z + h U_z + b'_z),  r likewise
//   hh = tanh(x K_h + b_h + r * (h U_h + b'_h))
//   h' = z * h + (1 - z) * hh
inline Vec step_reset_after(const Gru& p, const Vec& x, const Vec& h) {
  const std::size_t d = h.size();
  const Vec from_x = plus(row_mul(x, p.kernel), p.bias.empty() ? Vec{} : p.bias.at(0));
  const Vec from_h = plus(row_mul(h, p.recurrent_kernel), p.bias.empty() ? Vec{} : p.bias.at(1));
  const Vec z = sigmoid_of(plus(part(from_x, 0, d), part(from_h, 0, d)));
  const Vec r = sigmoid_of(plus(part(from_x, d, d), part(from_h, d, d)));
  const Vec hh = tanh_of(plus(part(from_x, 2 * d, d), times(r, part(from_h, 2 * d, d))));
  return blend(z, h, hh);
}

// reset_after = false: x (d_x), h (units) -> (units).
//   z  = sigmoid(x K_z + b_z + h U_z),  r likewise
//   hh = tanh(x K_h + b_h + (r * h) U_h)
//   h' = z * h + (1 - z) * hh
inline Vec step_reset_before(const Gru& p, const Vec& x, const Vec& h) {
  const std::size_t d = h.size();
  const Vec from_x = plus(row_mul(x, p.kernel), p.bias.empty() ? Vec{} : p.bias.at(0));
  const Vec gates_h = row_mul(h, p.recurrent_kernel);
  const Vec z = sigmoid_of(plus(part(from_x, 0, d), part(gates_h, 0, d)));
  const Vec r = sigmoid_of(plus(part(from_x, d, d), part(gates_h, d, d)));
  const Vec reset_h = row_mul(times(r, h), p.recurrent_kernel);
  const Vec hh = tanh_of(plus(part(from_x, 2 * d, d), part(reset_h, 2 * d, d)));
  return blend(z, h, hh);
}

}  // namespace gradus::paper::keras_gru
