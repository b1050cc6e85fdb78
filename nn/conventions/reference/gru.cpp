// One step of a GRU.
#include "nn/conventions/reference/gru.h"

namespace gradus::reference {

namespace {

Vec candidate_preactivation(GruReset reset, const Gates& gates, Row r, Row z, Row x, Row h) {
  switch (reset) {
    case GruReset::by_update_gate:
      return gates.preactivation('n', x, multiply(copy(h), z));
    case GruReset::after_by_update_gate:
      return add(gates.from_input('n', x), multiply(gates.from_state('n', h), z));
    case GruReset::before:
      return gates.preactivation('n', x, multiply(copy(h), r));
    case GruReset::after:
      return add(gates.from_input('n', x), multiply(gates.from_state('n', h), r));
    case GruReset::on_input:
      return add(multiply(gates.from_input('n', x), r), gates.from_state('n', h));
    case GruReset::after_bias_outside: {
      Gates bare = gates;
      bare.biases = Biases::one;  // U h alone
      const Vec bias = add(gates.from_state('n', h), multiply(bare.from_state('n', h), Vec(r.size(), -1)));
      return add(add(gates.from_input('n', x), multiply(bare.from_state('n', h), r)), bias);
    }
    case GruReset::unused:
      break;
  }
  return gates.preactivation('n', x, h);
}

double updated(GruUpdate update, double z, double r, double h, double n) {
  switch (update) {
    case GruUpdate::keeps:
      return z * h + (1 - z) * n;
    case GruUpdate::replaces:
      return (1 - z) * h + z * n;
    case GruUpdate::sum_new:
      return z * h + n;
    case GruUpdate::sum_old:
      return h + (1 - z) * n;
    case GruUpdate::of_reset_state:
      return z * r * h + (1 - z) * n;
    case GruUpdate::by_reset_gate:
      return r * h + (1 - r) * n;
    case GruUpdate::unused:
      break;
  }
  return n;
}

}  // namespace

Vec gru_step(const GruConvention& convention, const CellWeights& weights, Row x, Row h) {
  const Gates gates{weights, convention.gate_order, convention.biases, convention.transposed};
  const Vec r = activate(convention.gate, gates.preactivation('r', x, h));
  const Vec z = activate(convention.gate, gates.preactivation('z', x, h));
  const Vec n = activate(convention.candidate, candidate_preactivation(convention.reset, gates, r, z, x, h));
  Vec next(h.size());
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = updated(convention.update, z[i], r[i], h[i], n[i]);
  return next;
}

namespace {

GruConvention preset(GruReset reset, GruUpdate update, Biases biases, const char* gate_order) {
  GruConvention convention;
  convention.reset = reset;
  convention.update = update;
  convention.biases = biases;
  convention.gate_order = gate_order;
  return convention;
}

}  // namespace

GruConvention cho2014() { return preset(GruReset::before, GruUpdate::keeps, Biases::none, "rzn"); }
GruConvention bahdanau2014_gru() { return preset(GruReset::before, GruUpdate::replaces, Biases::none, "rzn"); }
GruConvention pytorch() { return preset(GruReset::after, GruUpdate::keeps, Biases::two, "rzn"); }
GruConvention keras_reset_after() { return preset(GruReset::after, GruUpdate::keeps, Biases::two, "zrn"); }
GruConvention keras_reset_before() { return preset(GruReset::before, GruUpdate::keeps, Biases::one, "zrn"); }
GruConvention onnx_lbr0() { return preset(GruReset::before, GruUpdate::keeps, Biases::two, "zrn"); }
GruConvention onnx_lbr1() { return preset(GruReset::after, GruUpdate::keeps, Biases::two, "zrn"); }

}  // namespace gradus::reference
