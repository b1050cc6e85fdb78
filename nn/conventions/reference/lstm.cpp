// One step of an LSTM.
#include "nn/conventions/reference/lstm.h"

#include <stdexcept>
#include <string>

namespace gradus::reference {

CellState lstm_step(const LstmConvention& convention, const CellWeights& weights, Row x, const CellState& state) {
  const Gates gates{weights, convention.gate_order, convention.biases, convention.transposed};
  const std::size_t d = weights.state_size();
  if (state.h.size() != d || state.c.size() != d)
    throw std::invalid_argument("reference LSTM: h of " + std::to_string(state.h.size()) + " and c of " +
                                std::to_string(state.c.size()) + " numbers, but the weights are for " +
                                std::to_string(d));
  const Row seen = convention.reads_memory ? Row(state.c) : Row(state.h);
  const auto preactivation = [&](char gate) {
    const bool biased = convention.biased_gates.find(gate) != std::string::npos;
    Vec y = gates.preactivation(gate, x, seen);
    for (double& value : y) value += biased ? convention.forget_bias : 0;
    return y;
  };
  const Vec i = activate(convention.gate, preactivation('i'));
  const Vec f = activate(convention.gate, preactivation('f'));
  const Vec g = activate(convention.candidate, preactivation('g'));
  const Vec o = activate(convention.gate, preactivation('o'));

  Vec c(d);
  for (std::size_t k = 0; k < d; ++k) {
    double keep = f[k];
    if (convention.forget == LstmForget::coupled) keep = 1 - i[k];
    if (convention.forget == LstmForget::unused) keep = 1;
    if (convention.forget == LstmForget::complement) keep = 1 - f[k];
    const Vec& old = convention.forget == LstmForget::of_hidden ? state.h : state.c;
    c[k] = keep * old.at(k) + i[k] * g[k];
  }
  c = activate(convention.memory, std::move(c));
  const Vec& opened = convention.output == LstmOutput::new_cell ? c : state.c;
  const Vec h = multiply(activate(convention.output_activation, opened), o);
  if (convention.exchanges) return {c, h};
  return {h, c};
}

namespace {

LstmConvention preset(const char* gate_order, Biases biases, double forget_bias = 0) {
  LstmConvention convention;
  convention.gate_order = gate_order;
  convention.biases = biases;
  convention.forget_bias = forget_bias;
  return convention;
}

}  // namespace

LstmConvention pytorch_lstm() { return preset("ifgo", Biases::two); }
LstmConvention keras_lstm() { return preset("ifgo", Biases::one); }
LstmConvention onnx_lstm() { return preset("iofg", Biases::two); }
LstmConvention tensorflow1_lstm() { return preset("igfo", Biases::one, 1.0); }

}  // namespace gradus::reference
