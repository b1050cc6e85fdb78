// One step of each cell on numbers that fit on paper.
#include <fmt/format.h>

#include <cmath>

#include "lessons/06_gru/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson06 {
namespace {

// Per gate r, z, n: W (2, 1), U (2, 2), b (2).
const std::vector<double> W[] = {{.4, -.6}, {.7, -.2}, {.5, .8}};
const std::vector<double> U[] = {{.2, .1, 0, .3}, {.1, -.3, .2, .4}, {.9, -.7, .6, .2}};
const std::vector<double> b[] = {{.1, -.1}, {0, .2}, {.05, -.05}};

std::string pair(const std::vector<double>& v) { return fmt::format("({: .6f}, {: .6f})", v[0], v[1]); }

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Gru small_gru(const GruOptions& options, bool z_negated) {
  const int rzn[] = {0, 1, 2}, zrn[] = {1, 0, 2};
  std::vector<double> all_W, all_U, all_b;
  for (int gate : options.order == GruOrder::rzn ? rzn : zrn) {
    const double sign = gate == 1 && z_negated ? -1 : 1;
    for (double w : W[gate]) all_W.push_back(sign * w);
    for (double u : U[gate]) all_U.push_back(sign * u);
    for (double bias : b[gate]) all_b.push_back(sign * bias);
  }
  Gru gru;
  gru.options = options;
  gru.W = parameter(tensor(Shape{6, 1}, all_W, f64));
  gru.U = parameter(tensor(Shape{6, 2}, all_U, f64));
  if (options.bias != GruBias::none) gru.b = parameter(tensor(Shape{6}, all_b, f64));
  if (options.bias == GruBias::two) gru.b_u = parameter(zeros(Shape{6}, f64));
  return gru;
}

std::vector<double> small_step(const Gru& gru) {
  return gru.step(tensor(Shape{1, 1}, {1}, f64), tensor(Shape{1, 2}, {.5, -1}, f64)).value().to_vector();
}

std::vector<NamedGru> published_grus() {
  return {{"cho2014", cho2014()},
          {"bahdanau2014", bahdanau2014()},
          {"pytorch", pytorch()},
          {"keras_reset_after", keras_reset_after()},
          {"keras_reset_before", keras_reset_before()},
          {"onnx_lbr0", onnx_lbr0()},
          {"onnx_lbr1", onnx_lbr1()}};
}

std::string trace_gru(const Terminal&, Lang lang) {
  const std::vector<double> s{.5, -1};
  const auto gate = [&](int k, const std::vector<double>& state) {
    const auto at = static_cast<std::size_t>(k);
    return std::vector<double>{W[at][0] + U[at][0] * state[0] + U[at][1] * state[1] + b[at][0],
                               W[at][1] + U[at][2] * state[0] + U[at][3] * state[1] + b[at][1]};
  };
  const auto each = [](const std::vector<double>& v, double (*f)(double)) {
    return std::vector<double>{f(v[0]), f(v[1])};
  };
  const std::vector<double> r = each(gate(0, s), logistic), z = each(gate(1, s), logistic);
  const std::vector<double> rs{r[0] * s[0], r[1] * s[1]};
  const std::vector<double> n = each(gate(2, rs), std::tanh);
  std::string text(tr(lang, "One step with reset before U and z that keeps, on x = 1, s_0 = (0.5, -1):\n",
                      "先重置后乘 U、z 保留旧状态的一步，x = 1，s_0 = (0.5, -1)：\n"));
  for (const auto& [name, value] :
       {std::pair(Words("W_r x + U_r s_0 + b_r", "W_r x + U_r s_0 + b_r"), gate(0, s)),
        {{"r = sigmoid of it", "r = 它的 sigmoid"}, r},
        {{"W_z x + U_z s_0 + b_z", "W_z x + U_z s_0 + b_z"}, gate(1, s)},
        {{"z = sigmoid of it", "z = 它的 sigmoid"}, z},
        {{"r * s_0", "r * s_0"}, rs},
        {{"n = tanh(W_n x + U_n (r * s_0) + b_n)", "n = tanh(W_n x + U_n (r * s_0) + b_n)"}, n},
        {{"z * s_0 + (1 - z) * n", "z * s_0 + (1 - z) * n"},
         {z[0] * s[0] + (1 - z[0]) * n[0], z[1] * s[1] + (1 - z[1]) * n[1]}}})
    text += pad_right(name.in(lang), 40) + pair(value) + "\n";
  return text;
}

std::string forms_of_the_gru(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "form", "形式")), std::string(tr(lang, "reset", "重置")), "z",
               std::string(tr(lang, "biases", "偏置")), std::string(tr(lang, "order", "次序")), "s_1"});
  const auto row = [&](const std::string& name, const Gru& gru) {
    const GruOptions& o = gru.options;
    table.add_row(
        {name,
         std::string(o.reset == GruReset::before ? tr(lang, "before U", "乘 U 前") : tr(lang, "after U", "乘 U 后")),
         std::string(o.update == GruUpdate::keeps ? tr(lang, "keeps", "保留") : tr(lang, "replaces", "替换")),
         o.bias == GruBias::none  ? "0"
         : o.bias == GruBias::one ? "1"
                                  : "2",
         o.order == GruOrder::rzn ? "r z n" : "z r n", pair(small_step(gru))});
  };
  for (const NamedGru& form : published_grus()) row(form.name, small_gru(form.options));
  row(std::string(tr(lang, "bahdanau2014, -z", "bahdanau2014，-z")), small_gru(bahdanau2014(), true));
  return std::string(tr(lang, "The same weights in all published forms, a second bias being 0:\n",
                        "同样的权重放进所有发表过的形式（第二个偏置为 0）：\n")) +
         table.text(terminal);
}

LstmByHand lstm_by_hand() {
  const auto step = [](double i, double f, double g, double o) {
    const double c = logistic(f) * 0.6 + logistic(i) * std::tanh(g);
    return std::pair(c, logistic(o) * std::tanh(c));
  };
  const auto [c, h] = step(.5, -.3, .8, .2);
  return {h, logistic(.2) * c, step(.5, -.3, .2, .8).second, c};
}

std::string trace_lstm(const Terminal& terminal, Lang lang) {
  const LstmByHand l = lstm_by_hand();
  Table table({std::string(tr(lang, "LSTM, sums i f g o = 0.5 -0.3 0.8 0.2, c = 0.6",
                              "LSTM，i f g o 的和为 0.5 -0.3 0.8 0.2，c = 0.6")),
               ""},
              {Align::left, Align::right});
  const auto row = [&](std::string_view name, double value) {
    table.add_row({std::string(name), fmt::format("{:.4f}", value)});
  };
  row("c' = sigmoid(f) c + sigmoid(i) tanh(g)", l.c);
  row("h = sigmoid(o) tanh(c')", l.right);
  row(tr(lang, "h without the tanh", "没有 tanh 的 h"), l.no_tanh);
  row(tr(lang, "h with o and g exchanged", "o 与 g 对调的 h"), l.o_and_g_exchanged);
  return table.text(terminal);
}

}  // namespace gradus::lesson06
