// Elman, GRU and LSTM steps. The gates are fused into one formula each; the products stay what they are.
#include "nn/cells.h"

#include "autograd/pointwise.h"
#include "tensor/doctor/contract.h"

namespace gradus {
namespace {

// Block k of gates that lie side by side: (B, blocks * d_s) -> (B, d_s).
auto gate(const Var& gates, std::int64_t k, std::int64_t d_s) {
  return seen(gates, [=](const Tensor& t) { return Block(t, k * d_s, d_s); });
}

// Rows of a stacked weight or bias: gates first .. first + count - 1.
Var rows(const Var& stacked, std::int64_t first, std::int64_t count, std::int64_t d_s) {
  return stacked.defined() ? narrow(stacked, Axis{0}, first * d_s, count * d_s) : Var();
}

// What fits together in any cell. G is the number of gates; Wx is what project() gave for x.
constexpr Contract cell_shapes("cell",
                               "G  W (G d_s, d_in)  U (G d_s, d_s)  b (G d_s)  b_u (G d_s);"
                               "x (..., d_in)  x (B, d_in)  Wx (B, G d_s)  s_prev (B, d_s)  c_prev (B, d_s)");
}  // namespace

Elman::Elman(std::int64_t d_in, std::int64_t d_s, Generator& generator)
    : W(xavier(d_s, d_in, generator)), U(orthogonal(d_s, d_s, generator)), b(zero_parameter(Shape{d_s})) {}

Var Elman::project(const VarList& x) const {
  cell_shapes.check("Elman", {1, W, U, b, {}, joined_shape("cell", x), {}, {}, {}, {}});
  return linear(x, W, b);
}

Var Elman::step_projected(const Var& Wx, const Var& s_prev) const {
  cell_shapes.check("Elman", {1, W, U, b, {}, {}, {}, Wx, s_prev, {}});
  return pointwise(
      "elman", [](auto wx, auto us) { return tanh(wx + us); }, Wx, matmul(s_prev, transpose(U)));
}

Var Elman::step(const VarList& x, const Var& s_prev) const {
  cell_shapes.check("Elman", {1, W, U, b, {}, {}, joined_shape("cell", x), {}, s_prev, {}});
  return step_projected(linear(x, W, b), s_prev);
}

void Elman::visit(Visitor& v) {
  v("W", W);
  v("U", U);
  v("b", b);
}

GruOptions cho2014() { return {GruReset::before, GruUpdate::keeps, GruBias::none, GruOrder::rzn}; }
GruOptions bahdanau2014() { return {GruReset::before, GruUpdate::replaces, GruBias::none, GruOrder::rzn}; }
GruOptions pytorch() { return {GruReset::after, GruUpdate::keeps, GruBias::two, GruOrder::rzn}; }
GruOptions keras_reset_after() { return {GruReset::after, GruUpdate::keeps, GruBias::two, GruOrder::zrn}; }
GruOptions keras_reset_before() { return {GruReset::before, GruUpdate::keeps, GruBias::one, GruOrder::zrn}; }
GruOptions onnx_lbr0() { return {GruReset::before, GruUpdate::keeps, GruBias::two, GruOrder::zrn}; }
GruOptions onnx_lbr1() { return {GruReset::after, GruUpdate::keeps, GruBias::two, GruOrder::zrn}; }

Gru::Gru(std::int64_t d_in, std::int64_t d_s, GruOptions gru_options, Generator& generator)
    : options(gru_options),
      W(xavier_stacked(3, d_s, d_in, generator)),
      U(orthogonal_stacked(3, d_s, generator)),
      b(options.bias == GruBias::none ? Var() : zero_parameter(Shape{3 * d_s})),
      b_u(options.bias == GruBias::two ? zero_parameter(Shape{3 * d_s}) : Var()) {}

Var Gru::project(const VarList& x) const {
  cell_shapes.check("GRU", {3, W, U, b, b_u, joined_shape("cell", x), {}, {}, {}, {}});
  return linear(x, W, b);
}

Var Gru::step_projected(const Var& Wx, const Var& s_prev) const {
  cell_shapes.check("GRU", {3, W, U, b, b_u, {}, {}, Wx, s_prev, {}});
  const std::int64_t d_s = U.shape()[1];
  const std::int64_t r = options.order == GruOrder::rzn ? 0 : 1, z = 1 - r, n = 2;
  // Calls step(mix), where mix(z, n, s) is the update. A formula captures nothing, so it makes a mix: decltype(mix){}.
  const auto with_update = [&](auto step) {
    if (options.update == GruUpdate::keeps)
      return step([](auto gate_z, auto candidate, auto s) { return candidate + gate_z * (s - candidate); });
    return step([](auto gate_z, auto candidate, auto s) { return s + gate_z * (candidate - s); });
  };
  if (options.reset == GruReset::after) {
    const Var Us = linear(s_prev, U, b_u);  // (B, 3 d_s): all gates in one product
    return with_update([&](auto mix) {
      const auto s_t = [](auto wr, auto ur, auto wz, auto uz, auto wn, auto un, auto s) {
        return decltype(mix){}(sigmoid(wz + uz), tanh(wn + sigmoid(wr + ur) * un), s);
      };
      return pointwise("gru", s_t, gate(Wx, r, d_s), gate(Us, r, d_s), gate(Wx, z, d_s), gate(Us, z, d_s),
                       gate(Wx, n, d_s), gate(Us, n, d_s), s_prev);
    });
  }
  const Var Us = linear(s_prev, rows(U, 0, 2, d_s), rows(b_u, 0, 2, d_s));  // (B, 2 d_s): the gates r and z
  const Var rs = pointwise(
      "reset", [](auto wr, auto ur, auto s) { return sigmoid(wr + ur) * s; }, gate(Wx, r, d_s), gate(Us, r, d_s),
      s_prev);
  const Var Urs = linear(rs, rows(U, n, 1, d_s), rows(b_u, n, 1, d_s));  // (B, d_s)
  return with_update([&](auto mix) {
    const auto s_t = [](auto wz, auto uz, auto wn, auto un, auto s) {
      return decltype(mix){}(sigmoid(wz + uz), tanh(wn + un), s);
    };
    return pointwise("gru", s_t, gate(Wx, z, d_s), gate(Us, z, d_s), gate(Wx, n, d_s), Urs, s_prev);
  });
}

Var Gru::step(const VarList& x, const Var& s_prev) const {
  cell_shapes.check("GRU", {3, W, U, b, b_u, {}, joined_shape("cell", x), {}, s_prev, {}});
  return step_projected(linear(x, W, b), s_prev);
}

void Gru::visit(Visitor& v) {
  v("W", W);
  v("U", U);
  v("b", b);
  v("b_u", b_u);
}

Lstm::Lstm(std::int64_t d_in, std::int64_t d_s, Generator& generator, double forget_bias)
    : W(xavier_stacked(4, d_s, d_in, generator)),
      U(orthogonal_stacked(4, d_s, generator)),
      b(zero_parameter(Shape{4 * d_s})) {
  Tensor forget = narrow(b.mutable_value(), Axis{0}, d_s, d_s);
  fill_(forget, forget_bias);
}

Var Lstm::project(const VarList& x) const {
  cell_shapes.check("LSTM", {4, W, U, b, b_u, joined_shape("cell", x), {}, {}, {}, {}});
  return linear(x, W, b);
}

LstmState Lstm::step_projected(const Var& Wx, const LstmState& previous) const {
  cell_shapes.check("LSTM", {4, W, U, b, b_u, {}, {}, Wx, previous.h, previous.c});
  const std::int64_t d_s = U.shape()[1];
  const Var Uh = linear(previous.h, U, b_u);  // (B, 4 d_s)
  const Var c_t = pointwise(
      "memory",
      [](auto wi, auto ui, auto wf, auto uf, auto wg, auto ug, auto c) {
        return sigmoid(wf + uf) * c + sigmoid(wi + ui) * tanh(wg + ug);
      },
      gate(Wx, 0, d_s), gate(Uh, 0, d_s), gate(Wx, 1, d_s), gate(Uh, 1, d_s), gate(Wx, 2, d_s), gate(Uh, 2, d_s),
      previous.c);
  const Var h_t = pointwise(
      "output", [](auto wo, auto uo, auto c) { return sigmoid(wo + uo) * tanh(c); }, gate(Wx, 3, d_s), gate(Uh, 3, d_s),
      c_t);
  return {h_t, c_t};
}

LstmState Lstm::step(const VarList& x, const LstmState& previous) const {
  cell_shapes.check("LSTM", {4, W, U, b, b_u, {}, joined_shape("cell", x), {}, previous.h, previous.c});
  return step_projected(linear(x, W, b), previous);
}

void Lstm::visit(Visitor& v) {
  v("W", W);
  v("U", U);
  v("b", b);
  v("b_u", b_u);
}

}  // namespace gradus
