// The GRU operator of ONNX with its default activations, both values of linear_before_reset; gates in the order z, r,
// h.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::onnx_gru {

// One direction of the operator's inputs W, R, B.
struct Gru {
  Mat W;  // (3 d_s, d_x): rows z, r, h
  Mat R;  // (3 d_s, d_s): rows z, r, h
  Vec B;  // (6 d_s): Wb[zrh] then Rb[zrh]
};

// x (d_x), h (d_s) -> (d_s).
//   zt = f(Xt Wz' + Ht-1 Rz' + Wbz + Rbz)
//   rt = f(Xt Wr' + Ht-1 Rr' + Wbr + Rbr)
//   ht = g(Xt Wh' + (rt * Ht-1) Rh' + Rbh + Wbh)      when linear_before_reset = 0 (the default)
//   ht = g(Xt Wh' + rt * (Ht-1 Rh' + Rbh) + Wbh)      otherwise
//   Ht = (1 - zt) * ht + zt * Ht-1
inline Vec step(const Gru& p, const Vec& x, const Vec& h, bool linear_before_reset) {
  const std::size_t d = h.size();
  const Vec XW = mul(p.W, x);
  const Vec HR = mul(p.R, h);
  auto Wb = [&](std::size_t gate) { return part(p.B, gate * d, d); };
  auto Rb = [&](std::size_t gate) { return part(p.B, (3 + gate) * d, d); };
  const Vec zt = sigmoid_of(plus(plus(part(XW, 0, d), part(HR, 0, d)), plus(Wb(0), Rb(0))));
  const Vec rt = sigmoid_of(plus(plus(part(XW, d, d), part(HR, d, d)), plus(Wb(1), Rb(1))));
  Vec ht;
  if (linear_before_reset) {
    ht = tanh_of(plus(plus(part(XW, 2 * d, d), times(rt, plus(part(HR, 2 * d, d), Rb(2)))), Wb(2)));
  } else {
    const Vec reset_R = part(mul(p.R, times(rt, h)), 2 * d, d);
    ht = tanh_of(plus(plus(part(XW, 2 * d, d), reset_R), plus(Rb(2), Wb(2))));
  }
  return blend(zt, h, ht);
}

}  // namespace gradus::paper::onnx_gru
