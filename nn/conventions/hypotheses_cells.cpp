// Hypotheses about gated cells and about how they run over sequences.
#include <algorithm>
#include <cmath>

#include "nn/conventions/hypotheses_tables.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

const Said any_state = {"an initial state other than 0, at least two units, and generic biases",
                        "初始状态不为 0、至少两个单元、一般的偏置"};
const char* cell_test = "CHECK(check_reference(cell, inputs, claimed).passed);";

bool square_blocks(const Arrays& a) {
  const Array *W = find(a, "W"), *U = find(a, "U");
  return W && U && W->dim(1) == U->dim(1);
}

// Rows of the recurrent matrices that belong to the gates of order `order` other than the candidate.
template <class Change> void each_bag(Arrays& a, Change change) {
  for (auto& [name, array] : a)
    if (name == "U" || name.rfind("U_l", 0) == 0 || name == "U_reverse") change(array);
}

// Takes one gate's block out of the input product ('W') or the recurrent one ('U').
template <char gate, char matrix> bool silence(Model& m, const Arrays&) {
  const std::string order = gru(m) ? gru(m)->gate_order : lstm(m) ? lstm(m)->gate_order : "";
  const std::size_t place = order.find(gate), gates = order.size();
  if (place == std::string::npos) return false;
  m.edits.push_back([place, gates](Arrays& a) {
    for (auto& [name, array] : a) {
      const bool cell =
          name[0] == matrix && (name.size() == 1 || name.rfind("_l", 1) == 1 || name.rfind("_reverse", 1) == 1);
      if (!cell) continue;
      const auto block = static_cast<std::ptrdiff_t>(array.data.size() / gates);
      const auto start = array.data.begin() + static_cast<std::ptrdiff_t>(place) * block;
      std::fill(start, start + block, 0.0);
    }
  });
  return true;
}

// Both biases of each layer and direction that has two.
template <class Change> void each_bias(Arrays& a, Change change) {
  for (auto& [name, array] : a)
    if (name == "b" || name.rfind("b_l", 0) == 0 || name == "b_reverse")
      if (const auto second = a.find("b_u" + name.substr(1)); second != a.end()) change(array, second->second);
}
bool set_biases(Model& m, Biases b) {
  return put(gru(m), &GruConvention::biases, b) || put(lstm(m), &LstmConvention::biases, b) ||
         put(elman(m), &ElmanConvention::biases, b);
}
bool two_biases(Model& m, const Arrays& a) { return has(a, "b") && has(a, "b_u") && set_biases(m, Biases::two); }

// Takes the candidate's block out of the first bias ('b'), the second ('u') or both.
void silence_biases(Model& m, const std::string& which) {
  const std::string order = gru(m) ? gru(m)->gate_order : lstm(m) ? lstm(m)->gate_order : "n";
  const std::size_t place = order.find(gru(m) ? 'n' : 'g'), gates = order.size();
  m.edits.push_back([place, gates, which](Arrays& a) {
    for (auto& [name, array] : a) {
      const bool second = name.rfind("b_u", 0) == 0;
      const std::string suffix = name.substr(std::min<std::size_t>(name.size(), second ? 3 : 1));
      if (name[0] != 'b' || !(suffix.empty() || suffix.rfind("_l", 0) == 0 || suffix.rfind("_reverse", 0) == 0))
        continue;
      if (which.find(second ? 'u' : 'b') == std::string::npos) continue;
      const auto block = static_cast<std::ptrdiff_t>(array.data.size() / gates);
      const auto start = array.data.begin() + static_cast<std::ptrdiff_t>(place) * block;
      std::fill(start, start + block, 0.0);
    }
  });
}

// Weights called _reverse change places with those that are not.
void exchange_directions(Arrays& a) {
  for (auto& [name, array] : a)
    if (const auto other = a.find(name + "_reverse"); other != a.end()) std::swap(array, other->second);
}
// h0 and c0 (layers * 2, B, d): each layer's two slices change places.
void exchange_starts(Arrays& a) {
  for (const char* name : {"h0", "c0"}) {
    const auto start = a.find(name);
    if (start == a.end()) continue;
    Vec& x = start->second.data;
    const std::size_t slice = x.size() / start->second.dim(0);
    for (std::size_t k = 0; k + 2 * slice <= x.size(); k += 2 * slice)
      for (std::size_t i = 0; i < slice; ++i) std::swap(x[k + i], x[k + slice + i]);
  }
}

// An initial state that is another one's, where this input shows it.
template <FirstState from> bool started(Model& m, const Arrays& a) {
  Array h, c;
  if (const Array* s = find(a, "h0")) h = *s;
  else if (const Array* s_0 = find(a, "s_0")) h = *s_0;
  else if (const Array* states = find(a, "s")) {
    h = Array({states->dim(0), states->dim(2)});
    for (std::size_t b = 0; b < h.dim(0); ++b) h.set_row({b}, states->row({b, 0}));
  }
  if (const Array* memory = find(a, has(a, "h0") ? "c0" : "cell_0")) c = *memory;
  else if (lstm(m)) c = Array(h.shape);
  if (h.data.empty() || m.first_state != FirstState::own) return false;
  const bool few = from == FirstState::previous_example || from == FirstState::batch_reversed;
  if (few && h.dim(h.shape.size() - 2) < 3) return false;  // of two examples the other one is the next
  m.first_state = from;
  return start_otherwise(from, has(a, "U_reverse") ? 2 : 1, h, c);
}

// Orders of stacked gates. `common` ones are those of frameworks; the others are tried as deviations.
Option order(const char* id, const char* letters, bool common) {
  Option o;
  o.id = id;
  o.code = letters[3] ? "LSTM_GATE_ORDER" : "GRU_GATE_ORDER";
  o.level = Level::choice;
  o.kind = letters[3] ? Kind::lstm : Kind::gru;
  o.rare = !common;
  o.fix = {"reorder the blocks when you load the weights", "加载权重时重排各门的块"};
  o.test = {"saturate one block at a time (+20, -20): CHECK(it plays the role that its name says);",
            "每次只让一块饱和（+20、-20）：CHECK(它的作用与名称相符);"};
  o.paper = letters[3] ? Line{"gates i, f, g, o (PyTorch, Keras), i, o, f, g (ONNX)",
                              "门的顺序 i, f, g, o（PyTorch、Keras）；i, o, f, g（ONNX）"}
                       : Line{"gates r, z, n (PyTorch), z, r, n (Keras, ONNX)",
                              "门的顺序 r, z, n（PyTorch）；z, r, n（Keras、ONNX）"};
  return o;
}

// One entry an order; lambdas without captures, so each order is a type of its own.
template <char... Letters> Option ordered(bool common) {
  static const char letters[] = {Letters..., 0};
  static const std::string shown = [] {
    std::string text = "gates ";
    for (std::size_t i = 0; i < sizeof...(Letters); ++i) text += std::string(i ? ", " : "") + letters[i];
    return text;
  }();
  static const std::string shown_zh = "门的顺序 " + shown.substr(6);
  Option o = order(letters, letters, common);
  o.sentence = {shown.c_str(), shown_zh.c_str()};
  o.used = {shown.c_str(), shown_zh.c_str()};
  o.apply = [](Model& m, const Arrays&) {
    if constexpr (sizeof...(Letters) == 3) return put(gru(m), &GruConvention::gate_order, std::string(letters));
    else return put(lstm(m), &LstmConvention::gate_order, std::string(letters));
  };
  return o;
}

std::vector<Field> gru_fields() {
  std::vector<Field> fields;
  fields.push_back({"gate_order",
                    {Stage::cell, Stage::run},
                    {"the order of the gates", "门的顺序"},
                    {"gates whose weights differ", "各门权重互不相同"},
                    {}});
  fields.back().options = {
      ordered<'r', 'z', 'n'>(true),       ordered<'z', 'r', 'n'>(true),       ordered<'r', 'n', 'z'>(false),
      ordered<'z', 'n', 'r'>(false),      ordered<'n', 'r', 'z'>(false),      ordered<'n', 'z', 'r'>(false),
      ordered<'i', 'f', 'g', 'o'>(true),  ordered<'i', 'o', 'f', 'g'>(true),  ordered<'i', 'g', 'f', 'o'>(true),
      ordered<'i', 'f', 'o', 'g'>(true),  ordered<'f', 'i', 'g', 'o'>(false), ordered<'f', 'i', 'o', 'g'>(false),
      ordered<'i', 'g', 'o', 'f'>(false), ordered<'i', 'o', 'g', 'f'>(false), ordered<'f', 'g', 'i', 'o'>(false),
      ordered<'f', 'g', 'o', 'i'>(false), ordered<'f', 'o', 'i', 'g'>(false), ordered<'f', 'o', 'g', 'i'>(false),
      ordered<'g', 'i', 'f', 'o'>(false), ordered<'g', 'i', 'o', 'f'>(false), ordered<'g', 'f', 'i', 'o'>(false),
      ordered<'g', 'f', 'o', 'i'>(false), ordered<'g', 'o', 'i', 'f'>(false), ordered<'g', 'o', 'f', 'i'>(false),
      ordered<'o', 'i', 'f', 'g'>(false), ordered<'o', 'i', 'g', 'f'>(false), ordered<'o', 'f', 'i', 'g'>(false),
      ordered<'o', 'f', 'g', 'i'>(false), ordered<'o', 'g', 'i', 'f'>(false), ordered<'o', 'g', 'f', 'i'>(false)};
  Option elman_block = usual([](Model& m, const Arrays&) { return elman(m) != nullptr; });
  elman_block.id = "one";
  fields.back().options.push_back(elman_block);

  fields.push_back(
      {"reset", {Stage::cell, Stage::run}, {"where the reset gate acts", "重置门作用的位置"}, any_state, {}});
  fields.back().options = {
      {.id = "before",
       .code = "GRU_RESET_BEFORE",
       .level = Level::choice,
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::reset, GruReset::before); },
       .sentence = {"the reset gate acts before the recurrent product", "重置门在循环乘积之前起作用"},
       .used = "n = tanh(W x + U (r * h))",
       .paper = "n = tanh(W x + b + r * (U h + b_u)) (PyTorch, cuDNN, Keras reset_after)",
       .fix = {"multiply r after U h", "在 U h 之后再乘 r"},
       .test = cell_test},
      {.id = "after",
       .code = "GRU_RESET_AFTER",
       .level = Level::choice,
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::reset, GruReset::after); },
       .sentence = {"the reset gate acts after the recurrent product, as in PyTorch, cuDNN and Keras (reset_after)",
                    "重置门在循环乘积之后起作用（如 PyTorch、cuDNN 和 Keras 的 reset_after）"},
       .used = "n = tanh(W x + r * (U h + b_u))",
       .paper = "n = tanh(W x + U (r * h)) (Cho et al. 2014, eq. 8; Bahdanau et al. 2014, appendix A.1)",
       .fix = {"multiply h by r first: U (r * h)", "先用 r 乘 h：U (r * h)"},
       .test = cell_test},
      {.id = "bias_outside",
       .code = "GRU_RESET_AFTER_BIAS_OUTSIDE",
       .level = Level::choice,
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays&) {
             return gru(m) && gru(m)->biases == Biases::two &&
                    put(gru(m), &GruConvention::reset, GruReset::after_bias_outside);
           },
       .sentence = {"the reset gate acts after the recurrent product but not on its bias b_u",
                    "重置门在循环乘积之后起作用，但没有乘到偏置 b_u 上"},
       .used = "n = tanh(W x + b + r * (U h) + b_u)",
       .paper = "n = tanh(W x + b + r * (U h + b_u)) (PyTorch)",
       .fix = {"put b_u inside the bracket that r multiplies", "把 b_u 放进被 r 乘的括号里"},
       .test = cell_test,
       .rare = true},
      {.id = "unused",
       .code = "GRU_RESET_UNUSED",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::reset, GruReset::unused); },
       .sentence = {"the reset gate is computed and never used", "重置门算出来却没有使用"},
       .used = "n = tanh(W x + U h)",
       .paper = "n = tanh(W x + U (r * h))",
       .fix = {"multiply h by r in the candidate", "在候选状态里用 r 乘 h"},
       .test = "CHECK(norm(W_r.grad()) > 0);"},
      {.id = "on_input",
       .code = "GRU_RESET_ON_INPUT",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::reset, GruReset::on_input); },
       .sentence = {"the reset gate multiplies the input's part of the candidate", "重置门乘在了输入那一项上"},
       .used = "n = tanh(r * (W x) + U h)",
       .paper = {"n = tanh(W x + U (r * h)); in PyTorch tanh(W x + b + r * (U h + b_u))",
                 "n = tanh(W x + U (r * h))；PyTorch 中为 tanh(W x + b + r * (U h + b_u))"},
       .fix = {"multiply h by r, not the input", "用 r 乘 h，而不是输入"},
       .test = cell_test},
      {.id = "by_update_gate",
       .code = "GRU_RESET_BY_UPDATE_GATE",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::reset, GruReset::by_update_gate); },
       .sentence = {"the candidate is reset by z instead of r", "候选状态用 z 而不是 r 来重置"},
       .used = "n = tanh(W x + U (z * h))",
       .paper = "n = tanh(W x + U (r * h))",
       .fix = {"multiply h by r", "用 r 乘 h"},
       .test = "CHECK(norm(W_r.grad()) > 0);"},
      {.id = "after_by_update_gate",
       .code = "GRU_RESET_BY_UPDATE_GATE",
       .kind = Kind::gru,
       .apply = [](Model& m,
                   const Arrays&) { return put(gru(m), &GruConvention::reset, GruReset::after_by_update_gate); },
       .sentence = {"the candidate is reset by z instead of r", "候选状态用 z 而不是 r 来重置"},
       .used = "n = tanh(W x + b + z * (U h + b_u))",
       .paper = "n = tanh(W x + b + r * (U h + b_u))",
       .fix = {"multiply U h + b_u by r", "用 r 乘 U h + b_u"},
       .test = "CHECK(norm(W_r.grad()) > 0);"},
      {.id = "not_gru", .level = Level::benign, .apply = [](Model& m, const Arrays&) { return !gru(m); }},
  };

  fields.push_back(
      {"update", {Stage::cell, Stage::run}, {"what the update gate keeps", "更新门保留的是什么"}, any_state, {}});
  fields.back().options = {
      {.id = "keeps",
       .code = "GRU_UPDATE_SWAPPED",
       .level = Level::benign,
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::keeps); },
       .sentence = {"z keeps the old state, as in Cho et al. 2014, PyTorch and Keras",
                    "z 保留旧状态（如 Cho 2014、PyTorch、Keras）"},
       .used = "s_t = z s_{t-1} + (1 - z) n",
       .paper = "s_t = (1 - z) s_{t-1} + z n (Bahdanau et al. 2014, appendix A.1)",
       .fix =
           {"exchange z and 1 - z, or negate W_z, U_z, b_z when you move weights; trained from scratch both are right",
            "对调 z 与 1 - z，或在迁移权重时把 W_z、U_z、b_z 取负；从头训练时两者都对"},
       .test = "b_z = 50: CHECK(s_t == s_{t-1});"},
      {.id = "replaces",
       .code = "GRU_UPDATE_SWAPPED",
       .level = Level::benign,
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::replaces); },
       .sentence = {"z replaces the old state, as in the appendix of Bahdanau et al. 2014",
                    "z 替换旧状态（如 Bahdanau 2014 附录）"},
       .used = "s_t = (1 - z) s_{t-1} + z n",
       .paper = "s_t = z s_{t-1} + (1 - z) n (Cho et al. 2014, eq. 7)",
       .fix =
           {"exchange z and 1 - z, or negate W_z, U_z, b_z when you move weights; trained from scratch both are right",
            "对调 z 与 1 - z，或在迁移权重时把 W_z、U_z、b_z 取负；从头训练时两者都对"},
       .test = "b_z = 50: CHECK(s_t == n);"},
      {.id = "unused",
       .code = "GRU_UPDATE_UNUSED",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::unused); },
       .sentence = {"the update gate is never used: the state is the candidate", "更新门没有使用：状态就是候选状态"},
       .used = "s_t = n",
       .paper = "s_t = z s_{t-1} + (1 - z) n",
       .fix = {"interpolate between s_{t-1} and n by z", "用 z 在 s_{t-1} 与 n 之间插值"},
       .test = "CHECK(norm(W_z.grad()) > 0);"},
      {.id = "sum_new",
       .code = "GRU_UPDATE_NOT_CONVEX",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::sum_new); },
       .sentence = {"old state and candidate are not interpolated: the candidate lacks its factor",
                    "没有插值：候选状态缺少系数"},
       .used = "s_t = z s_{t-1} + n",
       .paper = "s_t = z s_{t-1} + (1 - z) n",
       .fix = {"multiply n by 1 - z", "给 n 乘上 1 - z"},
       .test = "CHECK(abs(s_t) <= 1);"},
      {.id = "sum_old",
       .code = "GRU_UPDATE_NOT_CONVEX",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::sum_old); },
       .sentence = {"old state and candidate are not interpolated: the old state lacks its factor",
                    "没有插值：旧状态缺少系数"},
       .used = "s_t = s_{t-1} + (1 - z) n",
       .paper = "s_t = z s_{t-1} + (1 - z) n",
       .fix = {"multiply s_{t-1} by z", "给 s_{t-1} 乘上 z"},
       .test = "CHECK(abs(s_t) <= 1);"},
      {.id = "of_reset_state",
       .code = "GRU_UPDATE_OF_RESET_STATE",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::of_reset_state); },
       .sentence = {"the state that is kept is r * s_{t-1}: the reset gate was written into h",
                    "保留的是 r * s_{t-1}：重置门改写了 h"},
       .used = "s_t = z (r * s_{t-1}) + (1 - z) n",
       .paper = "s_t = z s_{t-1} + (1 - z) n",
       .fix = {"keep r * h in a variable of its own", "把 r * h 存进单独的变量"},
       .test = "b_z = 50: CHECK(s_t == s_{t-1});"},
      {.id = "by_reset_gate",
       .code = "GRU_UPDATE_BY_RESET_GATE",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return put(gru(m), &GruConvention::update, GruUpdate::by_reset_gate); },
       .sentence = {"old state and candidate are interpolated by r instead of z", "旧状态与候选状态用 r 而不是 z 插值"},
       .used = "s_t = r s_{t-1} + (1 - r) n",
       .paper = "s_t = z s_{t-1} + (1 - z) n",
       .fix = {"interpolate by z", "用 z 插值"},
       .test = "CHECK(norm(W_z.grad()) > 0);"},
      {.id = "not_gru", .level = Level::benign, .apply = [](Model& m, const Arrays&) { return !gru(m); }},
  };
  return fields;
}

std::vector<Field> gate_fields() {
  std::vector<Field> fields;
  fields.push_back(
      {"biases", {Stage::cell, Stage::run}, {"the biases", "偏置"}, {"biases other than 0", "不为 0 的偏置"}, {}});
  fields.back().options = {
      usual([](Model& m, const Arrays& a) {
        return set_biases(m, has(a, "b") ? has(a, "b_u") ? Biases::two : Biases::one : Biases::none);
      }),
      {.id = "none",
       .code = "BIAS_IGNORED",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays& a) { return has(a, "b") && set_biases(m, Biases::none); },
       .sentence = {"the cell's biases are there but never added", "循环单元的偏置存在却没有加上"},
       .used = "W x + U h",
       .paper = "W x + b + U h",
       .fix = {"add b", "加上 b"},
       .test = "CHECK(norm(b.grad()) > 0);"},
      {.id = "one",
       .code = "BIAS_IGNORED",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays& a) { return has(a, "b_u") && set_biases(m, Biases::one); },
       .sentence = {"the second bias b_u (b_hh) is there but never added", "第二个偏置 b_u（b_hh）存在却没有加上"},
       .used = "W x + b + U h",
       .paper = "W x + b + U h + b_u",
       .fix = {"add b_u", "加上 b_u"},
       .test = "CHECK(norm(b_u.grad()) > 0);"},
      {.id = "first_twice",
       .code = "BIAS_TWICE",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& x) { each_bias(x, [](Array& b, Array& b_u) { b_u = b; }); });
             return two_biases(m, a);
           },
       .sentence = {"the first bias b (b_ih) is added to both products; b_u (b_hh) is never used",
                    "第一个偏置 b（b_ih）加到了两个乘积上，b_u（b_hh）从未使用"},
       .used = "W x + b, U h + b",
       .paper = "W x + b, U h + b_u",
       .fix = {"add b_u to U h", "U h 要加 b_u"},
       .test = "CHECK(norm(b_u.grad()) > 0);"},
      {.id = "second_twice",
       .code = "BIAS_TWICE",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& x) { each_bias(x, [](Array& b, Array& b_u) { b = b_u; }); });
             return two_biases(m, a);
           },
       .sentence = {"the second bias b_u (b_hh) is added to both products; b (b_ih) is never used",
                    "第二个偏置 b_u（b_hh）加到了两个乘积上，b（b_ih）从未使用"},
       .used = "W x + b_u, U h + b_u",
       .paper = "W x + b, U h + b_u",
       .fix = {"add b to W x", "W x 要加 b"},
       .test = "CHECK(norm(b.grad()) > 0);"},
      {.id = "added_twice",
       .code = "BIAS_TWICE",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& x) { x["b_u"] = x["b"]; });
             return has(a, "b") && !has(a, "b_u") && !has(a, "U_l1") && !has(a, "U_reverse") &&
                    set_biases(m, Biases::two);
           },
       .sentence = {"the bias is added twice, to W x and to U h", "偏置加了两次：W x 与 U h 各一次"},
       .used = "W x + b + U h + b",
       .paper = "W x + b + U h",
       .fix = {"add b once", "b 只加一次"},
       .test = {"one step from h = 0, x = 0: CHECK(preactivation == b);",
                "从 h = 0、x = 0 走一步：CHECK(激活前的值 == b);"}},
  };
  fields.push_back({"bias_blocks",
                    {Stage::cell, Stage::run},
                    {"where the biases stand", "偏置加在哪里"},
                    {"two biases that differ", "互不相同的两个偏置"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "exchanged",
       .code = "BIASES_EXCHANGED",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& x) { each_bias(x, [](Array& b, Array& b_u) { std::swap(b, b_u); }); });
             return has(a, "b_u") && gru(m) && gru(m)->reset == GruReset::after && gru(m)->biases == Biases::two &&
                    m.edits.size() == 1;
           },
       .sentence = {"the two biases are exchanged: the reset gate multiplies b (b_ih), not b_u (b_hh)",
                    "两个偏置对调了：重置门乘的是 b（b_ih），而不是 b_u（b_hh）"},
       .used = "n = tanh(W x + b_u + r * (U h + b))",
       .paper = "n = tanh(W x + b + r * (U h + b_u)) (PyTorch)",
       .fix = {"load b_ih as b and b_hh as b_u", "b_ih 载入为 b，b_hh 载入为 b_u"},
       .test = cell_test},
      {.id = "no_candidate",
       .code = "CANDIDATE_BIAS_IGNORED",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays& a) {
             silence_biases(m, "bu");
             return has(a, "b") && !elman(m);
           },
       .sentence = {"the candidate's bias is there but never added", "候选状态的偏置存在却没有加上"},
       .used = "n = tanh(W x + U h)",
       .paper = "n = tanh(W x + U h + b)",
       .fix = {"add the candidate's bias", "给候选状态加上偏置"},
       .test = {"CHECK(norm of the bias's candidate block in the gradient > 0);",
                "CHECK(偏置的梯度中候选状态那一块的范数 > 0);"}},
      {.id = "no_second_candidate",
       .code = "CANDIDATE_BIAS_IGNORED",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays& a) {
             silence_biases(m, "u");
             return has(a, "b") && has(a, "b_u") && !elman(m);
           },
       .sentence = {"the candidate's second bias b_u (b_hh) is there but never added",
                    "候选状态的第二个偏置 b_u（b_hh）存在却没有加上"},
       .used = "n = tanh(W x + b + r * (U h))",
       .paper = "n = tanh(W x + b + r * (U h + b_u))",
       .fix = {"add b_u's last block to U h", "U h 要加上 b_u 里候选状态那一块"},
       .test = {"CHECK(norm of b_u's candidate block in the gradient > 0);",
                "CHECK(b_u 的梯度中候选状态那一块的范数 > 0);"}},
  };
  fields.push_back({"gates",
                    {Stage::cell, Stage::run},
                    {"the gates' activation", "门的激活函数"},
                    {"preactivations that are not close to 0", "不接近 0 的预激活值"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "hard_sigmoid",
       .code = "GATE_HARD_SIGMOID",
       .level = Level::choice,
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays&) {
             return put(gru(m), &GruConvention::gate, Activation::hard_sigmoid) ||
                    put(lstm(m), &LstmConvention::gate, Activation::hard_sigmoid);
           },
       .sentence = {"the gates use the hard sigmoid clip(0.2 x + 0.5, 0, 1), the default of Keras before 2.3",
                    "门用了 hard sigmoid clip(0.2 x + 0.5, 0, 1)，即 Keras 2.3 之前的默认"},
       .used = {"gate = clip(0.2 a + 0.5, 0, 1)", "门 = clip(0.2 a + 0.5, 0, 1)"},
       .paper = {"gate = 1 / (1 + exp(-a))", "门 = 1 / (1 + exp(-a))"},
       .fix =
           {"use sigmoid; for weights trained that way, say recurrent_activation='hard_sigmoid' wherever they are used",
            "改用 sigmoid；若权重就是这样训练的，则处处写明 recurrent_activation='hard_sigmoid'"},
       .test = cell_test,
       .rare = true},
      {.id = "tanh",
       .code = "GATE_TANH",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays&) {
             return put(gru(m), &GruConvention::gate, Activation::tanh) ||
                    put(lstm(m), &LstmConvention::gate, Activation::tanh);
           },
       .sentence = {"the gates use tanh, so they can be negative", "门用了 tanh，可能为负"},
       .used = {"gate = tanh(a)", "门 = tanh(a)"},
       .paper = {"gate = sigmoid(a)", "门 = sigmoid(a)"},
       .fix = {"use sigmoid for gates", "门要用 sigmoid"},
       .test = {"CHECK(gates lie between 0 and 1);", "CHECK(门的值在 0 与 1 之间);"}},
      {.id = "identity",
       .code = "GATE_NO_SIGMOID",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays&) {
             return put(gru(m), &GruConvention::gate, Activation::identity) ||
                    put(lstm(m), &LstmConvention::gate, Activation::identity);
           },
       .sentence = {"the sigmoid of the gates is missing", "门缺少 sigmoid"},
       .used = {"gate = a", "门 = a"},
       .paper = {"gate = sigmoid(a)", "门 = sigmoid(a)"},
       .fix = {"use sigmoid for gates", "门要用 sigmoid"},
       .test = {"CHECK(gates lie between 0 and 1);", "CHECK(门的值在 0 与 1 之间);"}},
  };
  fields.push_back({"candidate",
                    {Stage::cell, Stage::run},
                    {"the candidate's activation", "候选状态的激活函数"},
                    {"preactivations that are not close to 0", "不接近 0 的预激活值"},
                    {}});
  const auto candidate = [&](const char* id, const char* code, bool (*apply)(Model&, const Arrays&), Said sentence,
                             Line used) {
    Option o;
    o.id = id, o.code = code, o.kind = Kind::gru, o.apply = apply, o.sentence = sentence, o.used = used;
    o.paper = "n = tanh(...)", o.fix = {"use tanh", "改用 tanh"}, o.test = cell_test;
    fields.back().options.push_back(o);
  };
  fields.back().options = {usual()};
  candidate(
      "identity", "CANDIDATE_NO_TANH",
      [](Model& m, const Arrays&) {
        return put(gru(m), &GruConvention::candidate, Activation::identity) ||
               put(lstm(m), &LstmConvention::candidate, Activation::identity) ||
               put(elman(m), &ElmanConvention::activation, Activation::identity);
      },
      {"the tanh of the candidate is missing", "候选状态缺少 tanh"}, "n = a");
  candidate(
      "relu", "CANDIDATE_RELU",
      [](Model& m, const Arrays&) {
        return put(gru(m), &GruConvention::candidate, Activation::relu) ||
               put(lstm(m), &LstmConvention::candidate, Activation::relu);
      },
      {"the candidate uses relu", "候选状态用了 relu"}, "n = relu(a)");
  candidate(
      "elman_relu", "CANDIDATE_RELU",
      [](Model& m, const Arrays&) { return put(elman(m), &ElmanConvention::activation, Activation::relu); },
      {"the cell uses relu in the place of tanh, an option of PyTorch's nn.RNN and Keras's SimpleRNN",
       "循环单元用 relu 代替 tanh，这是 PyTorch 的 nn.RNN 与 Keras 的 SimpleRNN 的选项"},
      "h_t = relu(...)");
  fields.back().options.back().level = Level::choice, fields.back().options.back().rare = true;
  fields.back().options.back().paper = "h_t = tanh(...)";
  candidate(
      "sigmoid", "CANDIDATE_SIGMOID",
      [](Model& m, const Arrays&) {
        return put(gru(m), &GruConvention::candidate, Activation::sigmoid) ||
               put(lstm(m), &LstmConvention::candidate, Activation::sigmoid) ||
               put(elman(m), &ElmanConvention::activation, Activation::sigmoid);
      },
      {"the candidate uses sigmoid", "候选状态用了 sigmoid"}, "n = sigmoid(a)");

  fields.push_back({"layout",
                    {Stage::cell, Stage::run},
                    {"how the weights lie", "权重的存放方式"},
                    {"matrices that are not symmetric", "不对称的矩阵"},
                    {}});
  const auto layout = [&](const char* id, bool (*apply)(Model&, const Arrays&), Said sentence, Line used) {
    Option o;
    o.id = id, o.code = "CKPT_LAYOUT", o.kind = Kind::checkpoint, o.apply = apply, o.sentence = sentence, o.used = used;
    o.paper = {"W x + U h with W (gates d, d_in), U (gates d, d)",
               "W x + U h，W 为 (门数 * d, d_in)，U 为 (门数 * d, d)"};
    o.fix = {"transpose the blocks when you load them", "加载时转置各块"};
    o.test = {"use d_in != d: a transposed block is then a shape error", "取 d_in != d：转置的块就会引起形状错误"};
    fields.back().options.push_back(o);
  };
  fields.back().options = {usual()};
  layout(
      "U_transposed",
      [](Model& m, const Arrays&) {
        return put(gru(m), &GruConvention::transposed, Transposed::recurrent) ||
               put(lstm(m), &LstmConvention::transposed, Transposed::recurrent) ||
               put(elman(m), &ElmanConvention::transposed, Transposed::recurrent);
      },
      {"the recurrent matrices are transposed, block by block", "循环矩阵的每一块都被转置了"}, "W x + U^T h");
  layout(
      "W_transposed",
      [](Model& m, const Arrays& a) {
        return square_blocks(a) && (put(gru(m), &GruConvention::transposed, Transposed::input) ||
                                    put(lstm(m), &LstmConvention::transposed, Transposed::input) ||
                                    put(elman(m), &ElmanConvention::transposed, Transposed::input));
      },
      {"the input matrices are transposed, block by block", "输入矩阵的每一块都被转置了"}, "W^T x + U h");
  layout(
      "both_transposed",
      [](Model& m, const Arrays& a) {
        return square_blocks(a) && (put(gru(m), &GruConvention::transposed, Transposed::both) ||
                                    put(lstm(m), &LstmConvention::transposed, Transposed::both) ||
                                    put(elman(m), &ElmanConvention::transposed, Transposed::both));
      },
      {"input and recurrent matrices are transposed, block by block", "输入与循环矩阵的每一块都被转置了"},
      "W^T x + U^T h");

  layout(
      "state_first",
      [](Model& m, const Arrays& a) {
        const Array *W = find(a, "W"), *U = find(a, "U");
        if (!W || !U || has(a, "W_l1") || W->shape.size() != 2 || U->shape.size() != 2) return false;
        m.edits.push_back([](Arrays& arrays) {
          for (const char* way : {"", "_reverse"}) {
            const auto in = arrays.find(std::string("W") + way), back = arrays.find(std::string("U") + way);
            if (in == arrays.end() || back == arrays.end()) continue;
            Array &W_in = in->second, &U_back = back->second;
            for (std::size_t r = 0; r < W_in.dim(0); ++r) {
              const Vec whole = join(copy(W_in.row({r})), U_back.row({r}));
              U_back.set_row({r}, Row(whole).first(U_back.dim(1)));
              W_in.set_row({r}, Row(whole).subspan(U_back.dim(1)));
            }
          }
        });
        return true;
      },
      {"the matrix over [x; h] multiplies [h; x]: the state comes first",
       "作用于 [x; h] 的矩阵乘的是 [h; x]：状态在前"},
      "[W, U] [h; x]");

  fields.push_back({"state", {Stage::cell, Stage::run}, {"what the cell sees", "循环单元看到什么"}, any_state, {}});
  fields.back().options = {
      usual(),
      {.id = "no_state",
       .code = "CELL_IGNORES_STATE",
       .kind = Kind::gru,
       .apply =
           [](Model& m, const Arrays&) {
             m.edits.push_back([](Arrays& a) { each_bag(a, [](Array& U) { U.data.assign(U.data.size(), 0); }); });
             return true;
           },
       .sentence = {"no gate and no candidate sees the state: the recurrent product is missing",
                    "门与候选状态都看不到上一状态：缺少循环乘积"},
       .used = {"gates from W x alone", "门只由 W x 得到"},
       .paper = {"gates from W x + U h", "门由 W x + U h 得到"},
       .fix = {"add U h", "加上 U h"},
       .test = "CHECK(norm(U.grad()) > 0);"},
      {.id = "r_no_state",
       .code = "GATE_IGNORES_STATE",
       .kind = Kind::gru,
       .apply = silence<'r', 'U'>,
       .sentence = {"the reset gate does not see the state", "重置门看不到上一状态"},
       .used = {"W x and the biases alone in r, without U h", "r 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "r_no_input",
       .code = "GATE_IGNORES_INPUT",
       .kind = Kind::gru,
       .apply = silence<'r', 'W'>,
       .sentence = {"the reset gate does not see the input", "重置门看不到输入"},
       .used = {"U h and the biases alone in r, without W x", "r 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "z_no_state",
       .code = "GATE_IGNORES_STATE",
       .kind = Kind::gru,
       .apply = silence<'z', 'U'>,
       .sentence = {"the update gate does not see the state", "更新门看不到上一状态"},
       .used = {"W x and the biases alone in z, without U h", "z 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "z_no_input",
       .code = "GATE_IGNORES_INPUT",
       .kind = Kind::gru,
       .apply = silence<'z', 'W'>,
       .sentence = {"the update gate does not see the input", "更新门看不到输入"},
       .used = {"U h and the biases alone in z, without W x", "z 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "n_no_state",
       .code = "CANDIDATE_IGNORES_STATE",
       .kind = Kind::gru,
       .apply = silence<'n', 'U'>,
       .sentence = {"the candidate does not see the state", "候选状态看不到上一状态"},
       .used = {"W x and the biases alone in n, without U h", "n 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "n_no_input",
       .code = "CANDIDATE_IGNORES_INPUT",
       .kind = Kind::gru,
       .apply = silence<'n', 'W'>,
       .sentence = {"the candidate does not see the input", "候选状态看不到输入"},
       .used = {"U h and the biases alone in n, without W x", "n 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "i_no_state",
       .code = "GATE_IGNORES_STATE",
       .kind = Kind::lstm,
       .apply = silence<'i', 'U'>,
       .sentence = {"the input gate does not see the state", "输入门看不到上一状态"},
       .used = {"W x and the biases alone in i, without U h", "i 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "i_no_input",
       .code = "GATE_IGNORES_INPUT",
       .kind = Kind::lstm,
       .apply = silence<'i', 'W'>,
       .sentence = {"the input gate does not see the input", "输入门看不到输入"},
       .used = {"U h and the biases alone in i, without W x", "i 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "f_no_state",
       .code = "GATE_IGNORES_STATE",
       .kind = Kind::lstm,
       .apply = silence<'f', 'U'>,
       .sentence = {"the forget gate does not see the state", "遗忘门看不到上一状态"},
       .used = {"W x and the biases alone in f, without U h", "f 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "f_no_input",
       .code = "GATE_IGNORES_INPUT",
       .kind = Kind::lstm,
       .apply = silence<'f', 'W'>,
       .sentence = {"the forget gate does not see the input", "遗忘门看不到输入"},
       .used = {"U h and the biases alone in f, without W x", "f 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "g_no_state",
       .code = "CANDIDATE_IGNORES_STATE",
       .kind = Kind::lstm,
       .apply = silence<'g', 'U'>,
       .sentence = {"the candidate does not see the state", "候选状态看不到上一状态"},
       .used = {"W x and the biases alone in g, without U h", "g 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "g_no_input",
       .code = "CANDIDATE_IGNORES_INPUT",
       .kind = Kind::lstm,
       .apply = silence<'g', 'W'>,
       .sentence = {"the candidate does not see the input", "候选状态看不到输入"},
       .used = {"U h and the biases alone in g, without W x", "g 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "o_no_state",
       .code = "GATE_IGNORES_STATE",
       .kind = Kind::lstm,
       .apply = silence<'o', 'U'>,
       .sentence = {"the output gate does not see the state", "输出门看不到上一状态"},
       .used = {"W x and the biases alone in o, without U h", "o 中只有 W x 与偏置，没有 U h"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "o_no_input",
       .code = "GATE_IGNORES_INPUT",
       .kind = Kind::lstm,
       .apply = silence<'o', 'W'>,
       .sentence = {"the output gate does not see the input", "输出门看不到输入"},
       .used = {"U h and the biases alone in o, without W x", "o 中只有 U h 与偏置，没有 W x"},
       .paper = {"W x + U h in every gate", "每个门中都是 W x + U h"},
       .fix = {"add the missing product", "补上缺少的乘积"},
       .test = {"CHECK(the block's gradient is not 0);", "CHECK(该块的梯度不为 0);"}},
      {.id = "memory_for_state",
       .code = "LSTM_GATES_READ_MEMORY",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::reads_memory, true); },
       .sentence = {"the gates read the memory cell c where they should read the hidden state h",
                    "各门读的是细胞状态 c，本该读隐藏状态 h"},
       .used = "i = sigmoid(W x + U c_{t-1})",
       .paper = "i = sigmoid(W x + U h_{t-1})",
       .fix = {"pass h into the recurrent product", "循环乘积里用 h"},
       .test = cell_test},
  };
  return fields;
}

// TensorFlow 1's forget bias, on the gates that are named.
bool biased(LstmConvention* cell, const char* gates) {
  return put(cell, &LstmConvention::biased_gates, std::string(gates)) && put(cell, &LstmConvention::forget_bias, 1.0);
}

std::vector<Field> lstm_fields() {
  std::vector<Field> fields;
  fields.push_back({"forget_bias",
                    {Stage::cell, Stage::run},
                    {"the forget bias", "遗忘门偏置"},
                    {"a memory cell other than 0", "不为 0 的细胞状态"},
                    {}});
  fields.back().options = {
      {.id = "usual",
       .code = "LSTM_FORGET_BIAS_MISSING",
       .level = Level::choice,
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return lstm(m) != nullptr; },
       .sentence = {"nothing is added to the forget gate", "遗忘门没有另加偏置"},
       .used = "f = sigmoid(W x + U h + b)",
       .paper = "f = sigmoid(W x + U h + b + 1), TensorFlow 1's forget_bias",
       .fix = {"add forget_bias before the sigmoid, or to b when you load the weights",
               "在 sigmoid 之前加上 forget_bias，或在加载权重时并入 b"},
       .test = cell_test},
      {.id = "one",
       .code = "LSTM_FORGET_BIAS",
       .level = Level::choice,
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::forget_bias, 1.0); },
       .sentence = {"1 is added to the forget gate at every step, as in TensorFlow 1",
                    "每一步给遗忘门加 1（如 TensorFlow 1）"},
       .used = "f = sigmoid(W x + U h + b + 1)",
       .paper = "f = sigmoid(W x + U h + b)",
       .fix = {"put the 1 into b when you load the weights", "加载权重时把 1 并入 b"},
       .test = cell_test},
      {.id = "on_input",
       .code = "LSTM_FORGET_BIAS_OTHER_GATE",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return biased(lstm(m), "i"); },
       .sentence = {"the forget bias 1 is added to the input gate i, and f gets none",
                    "遗忘偏置 1 加到了输入门 i 上，f 没有得到"},
       .used = "i = sigmoid(W_i x + U_i h + b_i + 1), f = sigmoid(W_f x + U_f h + b_f)",
       .paper = {"f = sigmoid(W_f x + U_f h + b_f + 1), nothing added to i, g, o",
                 "f = sigmoid(W_f x + U_f h + b_f + 1)，i、g、o 什么也不加"},
       .fix = {"add the 1 to the block of f, at its place in the order of gates",
               "把 1 加到 f 那一块，按门的顺序找它的位置"},
       .test = cell_test},
      {.id = "on_candidate",
       .code = "LSTM_FORGET_BIAS_OTHER_GATE",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return biased(lstm(m), "g"); },
       .sentence = {"the forget bias 1 is added to the candidate g (TensorFlow 1 calls it j), and f gets none",
                    "遗忘偏置 1 加到了候选值 g（TensorFlow 1 称 j）上，f 没有得到"},
       .used = "g = tanh(W_g x + U_g h + b_g + 1), f = sigmoid(W_f x + U_f h + b_f)",
       .paper = {"f = sigmoid(W_f x + U_f h + b_f + 1), nothing added to i, g, o",
                 "f = sigmoid(W_f x + U_f h + b_f + 1)，i、g、o 什么也不加"},
       .fix = {"add the 1 to the block of f, at its place in the order of gates",
               "把 1 加到 f 那一块，按门的顺序找它的位置"},
       .test = cell_test},
      {.id = "on_output",
       .code = "LSTM_FORGET_BIAS_OTHER_GATE",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return biased(lstm(m), "o"); },
       .sentence = {"the forget bias 1 is added to the output gate o, and f gets none",
                    "遗忘偏置 1 加到了输出门 o 上，f 没有得到"},
       .used = "o = sigmoid(W_o x + U_o h + b_o + 1), f = sigmoid(W_f x + U_f h + b_f)",
       .paper = {"f = sigmoid(W_f x + U_f h + b_f + 1), nothing added to i, g, o",
                 "f = sigmoid(W_f x + U_f h + b_f + 1)，i、g、o 什么也不加"},
       .fix = {"add the 1 to the block of f, at its place in the order of gates",
               "把 1 加到 f 那一块，按门的顺序找它的位置"},
       .test = cell_test},
      {.id = "on_all",
       .code = "LSTM_FORGET_BIAS_EVERYWHERE",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return biased(lstm(m), "ifgo"); },
       .sentence = {"the forget bias 1 is added to all four blocks, not to f alone",
                    "遗忘偏置 1 加到了全部四块上，而不只是 f"},
       .used = {"W x + U h + b + 1 in i, f, g and o", "i、f、g、o 中都是 W x + U h + b + 1"},
       .paper = {"f = sigmoid(W_f x + U_f h + b_f + 1), nothing added to i, g, o",
                 "f = sigmoid(W_f x + U_f h + b_f + 1)，i、g、o 什么也不加"},
       .fix = {"add the 1 to the block of f, at its place in the order of gates",
               "把 1 加到 f 那一块，按门的顺序找它的位置"},
       .test = cell_test},
  };
  fields.push_back({"forget",
                    {Stage::cell, Stage::run},
                    {"the forget gate", "遗忘门"},
                    {"a memory cell other than 0", "不为 0 的细胞状态"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "coupled",
       .code = "LSTM_COUPLED_GATES",
       .level = Level::choice,
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::forget, LstmForget::coupled); },
       .sentence = {"the forget gate is 1 - i; its own weights are not used", "遗忘门取 1 - i，自己的权重没有使用"},
       .used = "c = (1 - i) c + i g",
       .paper = "c = f c + i g",
       .fix = {"use f", "使用 f"},
       .test = "CHECK(norm(W_f.grad()) > 0);",
       .rare = true},
      {.id = "unused",
       .code = "LSTM_FORGET_UNUSED",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::forget, LstmForget::unused); },
       .sentence = {"the forget gate is never used: the memory only grows", "遗忘门没有使用：细胞状态只增不减"},
       .used = "c = c + i g",
       .paper = "c = f c + i g",
       .fix = {"multiply the old memory by f", "用 f 乘旧的细胞状态"},
       .test = "CHECK(norm(W_f.grad()) > 0);"},
      {.id = "complement",
       .code = "LSTM_FORGET_COMPLEMENT",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::forget, LstmForget::complement); },
       .sentence = {"the forget gate forgets when it should keep: 1 - f", "遗忘门取反：该保留时却遗忘"},
       .used = "c = (1 - f) c + i g",
       .paper = "c = f c + i g",
       .fix = {"multiply by f, not 1 - f", "乘 f 而不是 1 - f"},
       .test = {"b_f = 20: CHECK(memory is kept);", "b_f = 20：CHECK(细胞状态得到保留);"}},
      {.id = "of_hidden",
       .code = "LSTM_FORGET_OF_HIDDEN",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::forget, LstmForget::of_hidden); },
       .sentence = {"the forget gate multiplies the hidden state h where it should multiply the memory cell c",
                    "遗忘门乘的是隐藏状态 h，本该乘细胞状态 c"},
       .used = "c_t = f h_{t-1} + i g",
       .paper = "c_t = f c_{t-1} + i g",
       .fix = {"multiply the old memory by f", "用 f 乘旧的细胞状态"},
       .test = {"b_f = 20, b_i = -20: CHECK(memory is kept);", "b_f = 20，b_i = -20：CHECK(细胞状态得到保留);"}},
  };
  const Line memory_test = {"c = 5, f = 1, i = 0: CHECK(the memory is still 5 one step later);",
                            "c = 5，f = 1，i = 0：CHECK(一步之后细胞状态仍为 5);"};
  fields.push_back({"opening",
                    {Stage::cell, Stage::run},
                    {"the output of the LSTM", "LSTM 的输出"},
                    {"a memory cell that is not close to 0", "不接近 0 的细胞状态"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "no_tanh",
       .code = "LSTM_NO_OUTPUT_TANH",
       .kind = Kind::lstm,
       .apply = [](Model& m,
                   const Arrays&) { return put(lstm(m), &LstmConvention::output_activation, Activation::identity); },
       .sentence = {"the tanh of the output is missing", "输出缺少 tanh"},
       .used = "h = o c",
       .paper = "h = o tanh(c)",
       .fix = {"multiply o by tanh(c)", "用 o 乘 tanh(c)"},
       .test = "c = 50: CHECK(abs(h) < 1);"},
      {.id = "old_cell",
       .code = "LSTM_OUTPUT_OF_OLD_CELL",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::output, LstmOutput::old_cell); },
       .sentence = {"the output gate opens the memory of the step before", "输出门打开的是上一步的细胞状态"},
       .used = "h_t = o tanh(c_{t-1})",
       .paper = "h_t = o tanh(c_t)",
       .fix = {"update c before h", "先更新 c 再算 h"},
       .test = cell_test},
      {.id = "sigmoid",
       .code = "LSTM_OUTPUT_SIGMOID",
       .kind = Kind::lstm,
       .apply = [](Model& m,
                   const Arrays&) { return put(lstm(m), &LstmConvention::output_activation, Activation::sigmoid); },
       .sentence = {"the output uses sigmoid(c) instead of tanh(c)", "输出用了 sigmoid(c) 而不是 tanh(c)"},
       .used = "h = o sigmoid(c)",
       .paper = "h = o tanh(c)",
       .fix = {"multiply o by tanh(c)", "用 o 乘 tanh(c)"},
       .test = cell_test},
      {.id = "carried_squashed",
       .code = "LSTM_MEMORY_SQUASHED",
       .kind = Kind::lstm,
       .apply =
           [](Model& m, const Arrays&) {
             if (lstm(m) && lstm(m)->forget == LstmForget::of_hidden) return false;  // nobody reads c then
             put(lstm(m), &LstmConvention::output_activation, Activation::identity);
             return put(lstm(m), &LstmConvention::memory, Activation::tanh);
           },
       .sentence = {"the tanh is written into the memory cell: the next step continues tanh(c), not c",
                    "tanh 写进了细胞状态：下一步接着的是 tanh(c)，而不是 c"},
       .used = "c_t = tanh(f c_{t-1} + i g), h_t = o c_t",
       .paper = "c_t = f c_{t-1} + i g, h_t = o tanh(c_t)",
       .fix = {"keep c as it is and take tanh(c) in the output only", "c 保持原样，只在输出里取 tanh(c)"},
       .test = memory_test},
      {.id = "squashed_twice",
       .code = "LSTM_MEMORY_SQUASHED",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::memory, Activation::tanh); },
       .sentence = {"the memory cell goes through tanh before it is kept, and once more in the output",
                    "细胞状态在保存之前先过了 tanh，输出时又过一次"},
       .used = "c_t = tanh(f c_{t-1} + i g), h_t = o tanh(c_t)",
       .paper = "c_t = f c_{t-1} + i g, h_t = o tanh(c_t)",
       .fix = {"drop the tanh around f c_{t-1} + i g", "去掉 f c_{t-1} + i g 外面的 tanh"},
       .test = memory_test},
      {.id = "exchanged",
       .code = "LSTM_STATES_EXCHANGED",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return put(lstm(m), &LstmConvention::exchanges, true); },
       .sentence = {"hidden state and memory cell change places after every step",
                    "每一步之后隐藏状态与细胞状态都对调了"},
       .used = "(c_t, h_t) = LSTM(x_t, (h_{t-1}, c_{t-1}))",
       .paper = "(h_t, c_t) = LSTM(x_t, (h_{t-1}, c_{t-1}))",
       .fix = {"unpack in the order in which the cell returns them: h, c in PyTorch",
               "按返回的顺序解包：PyTorch 是 h, c"},
       .test = memory_test},
  };
  return fields;
}

}  // namespace

std::vector<Field> cell_fields() {
  std::vector<Field> all = gru_fields();
  for (std::vector<Field> more : {gate_fields(), lstm_fields()}) all.insert(all.end(), more.begin(), more.end());
  // The biases decide what "two biases" means, so they are set first.
  for (std::size_t i = 1; i < all.size(); ++i)
    if (std::string(all[i].name) == "biases")
      std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                  all.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  return all;
}

bool start_otherwise(FirstState from, std::size_t directions, Array& h, Array& c) {
  const Vec old_h = h.data, old_c = c.data;
  if (from == FirstState::exchanged && c.data.size() == h.data.size()) std::swap(h.data, c.data);
  if (from == FirstState::hidden_for_both && c.data.size() == h.data.size()) c.data = h.data;
  if (from == FirstState::memory_for_both && c.data.size() == h.data.size()) h.data = c.data;
  if (from == FirstState::hidden_zeros && !c.data.empty()) h.data.assign(h.data.size(), 0);
  if (from == FirstState::memory_zeros) c.data.assign(c.data.size(), 0);
  for (Array* a : {&h, &c}) {
    if (a->data.empty()) continue;
    const Vec old = a->data;
    const std::size_t d = a->shape.back(), B = a->dim(a->shape.size() - 2), n = old.size() / (B * d);
    const std::size_t layers = n / directions;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t b = 0; b < B; ++b) {
        std::size_t row = b, from_i = i;
        if (from == FirstState::next_example) row = (b + 1) % B;
        if (from == FirstState::previous_example) row = (b + B - 1) % B;
        if (from == FirstState::first_example) row = 0;
        if (from == FirstState::last_example) row = B - 1;
        if (from == FirstState::batch_reversed) row = B - 1 - b;
        if (from == FirstState::first_layer) from_i = i % directions;
        if (from == FirstState::layers_reversed) from_i = (layers - 1 - i / directions) * directions + i % directions;
        if (from == FirstState::directions_outside) from_i = i % directions * layers + i / directions;
        for (std::size_t k = 0; k < d; ++k) {
          double& x = a->data[(i * B + b) * d + k];
          x = old[(from_i * B + row) * d + k];
          if (from == FirstState::zeros) x = 0;
          if (from == FirstState::negated) x = -x;
          if (from == FirstState::through_tanh) x = std::tanh(x);
        }
      }
  }
  return h.data != old_h || c.data != old_c;
}

std::vector<Field> run_fields() {
  std::vector<Field> fields;
  fields.push_back({"first_state",
                    {Stage::cell, Stage::run},
                    {"what the first step starts from", "第一步从什么开始"},
                    {"initial states h0 and c0 that differ from 0, from each other and from example to example",
                     "不为 0、彼此不同且逐样本不同的 h0 与 c0"},
                    {usual()}});
  const auto start = [&](const char* id, const char* code, Kind kind, bool (*apply)(Model&, const Arrays&),
                         Said sentence, Line used, Said fix, Line test) {
    fields.back().options.push_back({.id = id,
                                     .code = code,
                                     .kind = kind,
                                     .apply = apply,
                                     .sentence = sentence,
                                     .used = used,
                                     .paper = "(s_1, c_1) = RNN(x_1, (s_0, c_0))",
                                     .fix = fix,
                                     .test = test});
  };
  const Said own_example = {"give each example its own initial state", "每个样本用自己的初始状态"};
  const Said own_layer = {"order the initial states as the framework does: layers first, in each the directions",
                          "按框架的顺序堆叠初始状态：先层，每层内再分方向"};
  const Line change_other = {"change s_0 of example 2: CHECK(example 1 is unchanged);",
                             "改变样本 2 的 s_0：CHECK(样本 1 不变);"};
  start("zeros", "START_IGNORED", Kind::data, started<FirstState::zeros>,
        {"the first step starts from zeros although s_0 is there", "虽有 s_0，第一步却从零开始"}, "s_1 = RNN(x_1, 0)",
        {"pass s_0 to the first step", "把 s_0 传给第一步"},
        Line{"change the source: CHECK(s_1 changes);", "改变源序列：CHECK(s_1 改变);"});
  start("hidden_zeros", "START_HIDDEN_IGNORED", Kind::lstm, started<FirstState::hidden_zeros>,
        {"h starts from zeros although h0 is there; c starts from c0", "虽有 h0，h 却从零开始；c 从 c0 开始"},
        "(h_1, c_1) = LSTM(x_1, (0, c_0))", {"pass the pair (h0, c0)", "传入 (h0, c0) 这一对"},
        Line{"change h0: CHECK(h_1 changes);", "改变 h0：CHECK(h_1 改变);"});
  start("memory_zeros", "START_MEMORY_IGNORED", Kind::lstm, started<FirstState::memory_zeros>,
        {"the memory cell starts from zeros although c0 is there; h starts from h0",
         "虽有 c0，细胞状态却从零开始；h 从 h0 开始"},
        "(h_1, c_1) = LSTM(x_1, (h_0, 0))", {"pass the pair (h0, c0)", "传入 (h0, c0) 这一对"},
        Line{"change c0: CHECK(h_1 changes);", "改变 c0：CHECK(h_1 改变);"});
  start("exchanged", "START_EXCHANGED", Kind::lstm, started<FirstState::exchanged>,
        {"h0 and c0 are exchanged: h starts from c0 and c from h0", "h0 与 c0 对调了：h 从 c0 开始，c 从 h0 开始"},
        "(h_1, c_1) = LSTM(x_1, (c_0, h_0))",
        {"pass (h0, c0) in the order that the cell takes: h first in PyTorch and Keras, c first in TensorFlow 1",
         "按循环单元要求的顺序传入：PyTorch 与 Keras 先 h，TensorFlow 1 先 c"},
        Line{"change c0: CHECK(the gates of step 1 are unchanged);", "改变 c0：CHECK(第 1 步的门不变);"});
  start("hidden_for_both", "START_MEMORY_FROM_HIDDEN", Kind::lstm, started<FirstState::hidden_for_both>,
        {"h0 stands for c0 too: h and c both start from h0", "c0 也用了 h0：h 与 c 都从 h0 开始"},
        "(h_1, c_1) = LSTM(x_1, (h_0, h_0))", {"pass c0 as the memory cell", "细胞状态改用 c0"},
        Line{"change c0: CHECK(h_1 changes);", "改变 c0：CHECK(h_1 改变);"});
  start("memory_for_both", "START_HIDDEN_FROM_MEMORY", Kind::lstm, started<FirstState::memory_for_both>,
        {"c0 stands for h0 too: h and c both start from c0", "h0 也用了 c0：h 与 c 都从 c0 开始"},
        "(h_1, c_1) = LSTM(x_1, (c_0, c_0))", {"pass h0 as the hidden state", "隐藏状态改用 h0"},
        Line{"change h0: CHECK(h_1 changes);", "改变 h0：CHECK(h_1 改变);"});
  start("next_example", "START_OTHER_EXAMPLE", Kind::data, started<FirstState::next_example>,
        {"each example starts from the next example's initial state", "每个样本从下一个样本的初始状态开始"},
        "s_{b,1} = RNN(x_{b,1}, s_{b+1,0})", own_example, change_other);
  start("previous_example", "START_OTHER_EXAMPLE", Kind::data, started<FirstState::previous_example>,
        {"each example starts from the previous example's initial state", "每个样本从上一个样本的初始状态开始"},
        "s_{b,1} = RNN(x_{b,1}, s_{b-1,0})", own_example, change_other);
  start("first_example", "START_OTHER_EXAMPLE", Kind::data, started<FirstState::first_example>,
        {"every example starts from the first example's initial state", "每个样本都从第一个样本的初始状态开始"},
        "s_{b,1} = RNN(x_{b,1}, s_{0,0})", own_example, change_other);
  start("last_example", "START_OTHER_EXAMPLE", Kind::data, started<FirstState::last_example>,
        {"every example starts from the last example's initial state", "每个样本都从最后一个样本的初始状态开始"},
        "s_{b,1} = RNN(x_{b,1}, s_{B-1,0})", own_example, change_other);
  start("batch_reversed", "START_OTHER_EXAMPLE", Kind::data, started<FirstState::batch_reversed>,
        {"the initial states stand in reverse order of the batch", "初始状态沿批次的顺序被颠倒"},
        "s_{b,1} = RNN(x_{b,1}, s_{B-1-b,0})", own_example, change_other);
  start("first_layer", "START_OTHER_LAYER", Kind::shape, started<FirstState::first_layer>,
        {"every layer starts from the first layer's initial state", "每一层都从第一层的初始状态开始"},
        Line{"layer l starts from h0[layer 0]", "第 l 层从 h0[第 0 层] 开始"}, own_layer,
        Line{"change h0 of layer 2: CHECK(the output changes);", "改变第 2 层的 h0：CHECK(输出改变);"});
  start("layers_reversed", "START_OTHER_LAYER", Kind::shape, started<FirstState::layers_reversed>,
        {"the initial states are handed to the layers from the top down", "初始状态从最上层往下分给各层"},
        Line{"layer l starts from h0[layer L-1-l]", "第 l 层从 h0[第 L-1-l 层] 开始"}, own_layer,
        Line{"change h0[0]: CHECK(layer 1 changes at step 1);", "改变 h0[0]：CHECK(第 1 层在第 1 步改变);"});
  start("directions_outside", "START_OTHER_LAYER", Kind::shape, started<FirstState::directions_outside>,
        {"h0 was read as (directions, layers): all forward layers first, where layers come first",
         "h0 被当成 (directions, layers) 来读：先排所有正向层；应当层在外"},
        Line{"layer l, direction k starts from h0[k L + l]", "第 l 层、方向 k 从 h0[k L + l] 开始"}, own_layer,
        Line{"change h0[1]: CHECK(layer 1 changes);", "改变 h0[1]：CHECK(第 1 层改变);"});
  start("negated", "START_NEGATED", Kind::data, started<FirstState::negated>,
        {"the initial state has the wrong sign", "初始状态的符号相反"}, "s_1 = RNN(x_1, -s_0)",
        {"pass s_0 as it is", "原样传入 s_0"},
        Line{"change s_0: CHECK(s_1 follows with the right sign);", "改变 s_0：CHECK(s_1 以正确的符号随之改变);"});
  start("through_tanh", "START_TANH", Kind::data, started<FirstState::through_tanh>,
        {"the initial state goes through tanh once more before the first step", "初始状态在第一步之前又过了一次 tanh"},
        "s_1 = RNN(x_1, tanh(s_0))", {"pass s_0 as it is", "原样传入 s_0"},
        Line{"CHECK(the first step reads s_0 itself);", "CHECK(第一步读的就是 s_0 本身);"});
  const Said padded = {"a batch whose lengths differ", "长度不同的一批样本"};
  fields.push_back({"batch_time",
                    {Stage::run},
                    {"the axis of time", "时间轴"},
                    {"at least two examples and two steps", "至少两个样本、两步"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "over_batch",
       .code = "BATCH_TIME_SWAPPED",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return m.run.over_the_batch = true; },
       .sentence = {"the recurrence runs over the batch: examples leak into each other",
                    "循环沿批次进行：样本之间互相泄漏"},
       .used = "h_{b,t} = RNN(x_{b,t}, h_{b-1,t})",
       .paper = "h_{b,t} = RNN(x_{b,t}, h_{b,t-1})",
       .fix = {"say batch_first=True, or transpose the axes", "设 batch_first=True，或转置两轴"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "restarts",
       .code = "STATE_NOT_CARRIED",
       .kind = Kind::data,
       .apply = [](Model& m, const Arrays&) { return m.run.restarts = true; },
       .sentence = {"every step starts again from the initial state", "每一步都从初始状态重新开始"},
       .used = "h_t = RNN(x_t, h_0)",
       .paper = "h_t = RNN(x_t, h_{t-1})",
       .fix = {"pass the new state on to the next step", "把新状态传给下一步"},
       .test = {"change x_0: CHECK(h_2 changes);", "改变 x_0：CHECK(h_2 改变);"}},
  };
  fields.push_back({"after_end", {Stage::run}, {"what stands behind the end", "序列结束之后"}, padded, {}});
  fields.back().options = {
      {.id = "zero",
       .level = Level::benign,
       .apply = [](Model& m,
                   const Arrays& a) { return m.run.after_end = m.both.after_end = AfterEnd::zero, has(a, "mask"); },
       .sentence = {"outputs behind the end are 0", "结束之后的输出为 0"}},
      {.id = "hold",
       .code = "RUN_HOLDS_LAST_STATE",
       .level = Level::benign,
       .apply = [](Model& m,
                   const Arrays& a) { return m.run.after_end = m.both.after_end = AfterEnd::hold, has(a, "mask"); },
       .sentence = {"outputs behind the end repeat the last state, as in Keras", "结束之后重复最后状态（如 Keras）"}},
      {.id = "run_on",
       .code = "RUN_READS_PADDING",
       .kind = Kind::mask,
       .apply = [](Model& m,
                   const Arrays& a) { return m.run.after_end = m.both.after_end = AfterEnd::run_on, has(a, "mask"); },
       .sentence = {"the cell runs on over the padding: the final state depends on it",
                    "循环单元继续读填充：最终状态依赖填充"},
       .used = {"h_T after T steps", "T 步之后的 h_T"},
       .paper = {"h after `length` steps", "`length` 步之后的 h"},
       .fix = {"stop each row at its length (pack the sequences)", "每行在其长度处停止（打包序列）"},
       .test = {"append padding: CHECK(final state is unchanged);", "追加填充：CHECK(最终状态不变);"}},
      {.id = "no_end", .level = Level::benign, .apply = [](Model&, const Arrays& a) { return !has(a, "mask"); }},
  };
  fields.push_back({"reading", {Stage::run}, {"how the backward direction reads", "反向如何读取"}, padded, {}});
  fields.back().options = {
      usual(),
      {.id = "reversed_row",
       .code = "BWD_READS_PADDING",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.both.backward = Reading::reversed_row, has(a, "U_reverse") && has(a, "mask");
           },
       .sentence = {"the backward direction starts inside the padding", "反向从填充处开始读"},
       .used = {"backward over positions T..1", "反向读位置 T..1"},
       .paper = {"backward over positions length..1", "反向读位置 length..1"},
       .fix = {"reverse the valid prefix of each row only", "只翻转每行的有效前缀"},
       .test = {"append padding: CHECK(backward state of position 1 is unchanged);",
                "追加填充：CHECK(反向在位置 1 的状态不变);"}},
      {.id = "unreversed",
       .code = "BWD_NOT_REVERSED",
       .apply = [](Model& m,
                   const Arrays& a) { return m.both.backward = Reading::backward_unreversed, has(a, "U_reverse"); },
       .sentence = {"the backward direction reads forwards", "反向其实是正着读的"},
       .used = {"backward over positions 1..T", "反向读位置 1..T"},
       .paper = {"backward over positions T..1", "反向读位置 T..1"},
       .fix = {"reverse the input of the backward direction", "翻转反向的输入"},
       .test = {"change the last token: CHECK(backward state of position 1 changes);",
                "改变最后一个词：CHECK(反向在位置 1 的状态改变);"}},
      {.id = "not_turned",
       .code = "BWD_NOT_TURNED_BACK",
       .apply = [](Model& m,
                   const Arrays& a) { return m.both.backward_outputs = Outputs::as_read, has(a, "U_reverse"); },
       .sentence = {"the backward outputs are not turned round again before they are joined",
                    "反向输出在拼接前没有再翻转回来"},
       .used = "h_t = [forward_t; backward_{T+1-t}]",
       .paper = "h_t = [forward_t; backward_t]",
       .fix = {"reverse the backward outputs", "把反向输出翻转回来"},
       .test = {"change token t: CHECK(both halves of h_t change);", "改变第 t 个词：CHECK(h_t 的两半都改变);"}},
      {.id = "turned_over_padding",
       .code = "BWD_TURNED_OVER_PADDING",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.both.backward_outputs = Outputs::over_row, has(a, "U_reverse") && has(a, "mask");
           },
       .sentence =
           {"the backward direction reads the valid prefix in reverse, but its outputs are turned back over the "
            "whole padded row: in short rows they stand T - length positions too late",
            "反向只翻转有效前缀来读，输出却按整行（含填充）翻转回来：短句的反向输出晚了 T - length 个位置"},
       .used = {"backward output of step k at position T + 1 - k", "反向第 k 步的输出在位置 T + 1 - k"},
       .paper = {"backward output of step k at position length + 1 - k", "反向第 k 步的输出在位置 length + 1 - k"},
       .fix = {"turn the outputs back with the lengths that the input was turned with", "用翻转输入时的长度翻转回输出"},
       .test = {"append padding: CHECK(h at real positions is unchanged);", "追加填充：CHECK(真实位置上的 h 不变);"}},
      {.id = "turned_over_read_padding",
       .code = "BWD_TURNED_OVER_PADDING",
       .apply =
           [](Model& m, const Arrays& a) {
             const bool once = m.run.after_end != AfterEnd::run_on;  // else the same as turned_over_padding
             return m.both.backward_outputs = Outputs::over_row_read_on, once && has(a, "U_reverse") && has(a, "mask");
           },
       .sentence =
           {"the backward direction reads the valid prefix in reverse and then on over the padding, and its outputs "
            "are turned back over the whole padded row: in short rows they stand T - length positions too late, and "
            "first come those of the padding",
            "反向只翻转有效前缀来读，接着又读了填充，输出却按整行（含填充）翻转回来：短句的反向输出晚了 T - length "
            "个位置，前面是填充的输出"},
       .used = {"backward output of step k at position T + 1 - k", "反向第 k 步的输出在位置 T + 1 - k"},
       .paper = {"backward output of step k at position length + 1 - k", "反向第 k 步的输出在位置 length + 1 - k"},
       .fix = {"turn the outputs back with the lengths that the input was turned with", "用翻转输入时的长度翻转回输出"},
       .test = {"append padding: CHECK(h at real positions is unchanged);", "追加填充：CHECK(真实位置上的 h 不变);"}},
      {.id = "turned_within_length",
       .code = "BWD_READS_PADDING_TURNED_WITHIN",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             m.both.backward = Reading::reversed_row, m.both.backward_outputs = Outputs::within_length;
             return has(a, "U_reverse") && has(a, "mask");
           },
       .sentence = {"the backward direction reads the whole padded row in reverse, and its outputs are turned back "
                    "within the length: they belong to other positions",
                    "反向按整行（含填充）翻转来读，输出却只在有效长度内翻转回来：输出与位置错开"},
       .used = {"backward reads T..1, its output of step k at position length + 1 - k",
                "反向读位置 T..1，第 k 步的输出在位置 length + 1 - k"},
       .paper = {"backward reads length..1, its output of step k at position length + 1 - k",
                 "反向读位置 length..1，第 k 步的输出在位置 length + 1 - k"},
       .fix = {"turn the input within the lengths, too", "输入也只在有效长度内翻转"},
       .test = {"append padding: CHECK(h at real positions is unchanged);", "追加填充：CHECK(真实位置上的 h 不变);"}},
  };
  fields.push_back({"direction_weights",
                    {Stage::run},
                    {"which weights and which initial state a direction has", "每个方向用哪套权重与初始状态"},
                    {"two directions whose weights and initial states differ", "两个方向的权重与初始状态互不相同"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "exchanged",
       .code = "BIDIR_WEIGHTS_EXCHANGED",
       .kind = Kind::checkpoint,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back(exchange_directions);
             return has(a, "U_reverse");
           },
       .sentence = {"the directions have each other's weights", "两个方向的权重对调了"},
       .used = {"forward runs with W_reverse, backward with W", "正向用 W_reverse，反向用 W"},
       .paper = {"forward runs with W, backward with W_reverse", "正向用 W，反向用 W_reverse"},
       .fix = {"load each direction's weights under its own name", "按各自的名称载入两个方向的权重"},
       .test = {"zero the weights named reverse: CHECK(the forward half is unchanged);",
                "把名称带 reverse 的权重置零：CHECK(正向那一半不变);"}},
      {.id = "states_exchanged",
       .code = "BIDIR_START_EXCHANGED",
       .kind = Kind::shape,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back(exchange_starts);
             return has(a, "U_reverse") && has(a, "h0");
           },
       .sentence = {"the directions start from each other's initial states", "两个方向的初始状态对调了"},
       .used = {"forward starts from h0[1], backward from h0[0]", "正向从 h0[1] 开始，反向从 h0[0] 开始"},
       .paper = {"forward starts from h0[0], backward from h0[1]", "正向从 h0[0] 开始，反向从 h0[1] 开始"},
       .fix = {"stack the initial states forward first", "堆叠初始状态时正向在前"},
       .test = {"change h0[1]: CHECK(the forward half is unchanged);", "改变 h0[1]：CHECK(正向那一半不变);"}},
      {.id = "continues",
       .code = "BWD_CONTINUES_FORWARD",
       .kind = Kind::data,
       .apply = [](Model& m,
                   const Arrays& a) { return m.both.start = BackwardStart::forward_final, has(a, "U_reverse"); },
       .sentence = {"the backward direction starts from the forward direction's last state",
                    "反向是从正向的最后状态开始的"},
       .used = {"backward starts from forward_T", "反向从 forward_T 开始"},
       .paper = {"backward starts from its own h0[1], zeros if none is given", "反向从自己的 h0[1] 开始，未给出时为零"},
       .fix = {"set the state to h0[1] (or zeros) again before the backward loop",
               "反向循环之前把状态重新设为 h0[1]（或零）"},
       .test = {"change the forward weights: CHECK(the backward half is unchanged);",
                "改变正向的权重：CHECK(反向那一半不变);"}},
      {.id = "continues_memory",
       .code = "BIDIR_STATE_NOT_RESET",
       .kind = Kind::data,
       .apply =
           [](Model& m, const Arrays& a) {
             m.both.start = BackwardStart::forward_memory;
             return has(a, "U_reverse") && lstm(m);
           },
       .sentence = {"the backward direction's memory starts from the forward direction's last memory; its h does not",
                    "反向的记忆单元是从正向的最后记忆开始的，而它的 h 不是"},
       .used = "backward: c_0 = forward c_T",
       .paper = {"backward: c_0 = c0[1], zeros if none is given", "反向：c_0 = c0[1]，未给出时为零"},
       .fix = {"set c to c0[1] (or zeros) again before the backward loop", "反向循环之前把 c 重新设为 c0[1]（或零）"},
       .test = {"change the forward weights: CHECK(the backward half is unchanged);",
                "改变正向的权重：CHECK(反向那一半不变);"}},
      {.id = "forward_weights",
       .code = "BIDIR_WEIGHTS_SHARED",
       .kind = Kind::graph,
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& given) {
               for (const char* name : {"W", "U", "b", "b_u"})
                 if (const Array* own = find(given, name)) given[name + std::string("_reverse")] = *own;
             });
             return has(a, "U_reverse");
           },
       .sentence = {"the backward direction uses the forward direction's weights; its own are never used",
                    "反向用的是正向的权重；它自己的权重从未使用"},
       .used = {"backward: cell with W, U of the forward direction", "反向：循环单元用正向的 W、U"},
       .paper = {"each direction has weights of its own", "每个方向有自己的权重"},
       .fix = {"run the backward direction with its own weights", "反向使用它自己的权重"},
       .test = {"change the backward weights: CHECK(the backward half changes);",
                "改变反向的权重：CHECK(反向那一半改变);"}},
      {.id = "shared_start",
       .code = "BIDIR_START_SHARED",
       .kind = Kind::shape,
       .apply =
           [](Model& m, const Arrays& a) {
             m.both.start = BackwardStart::forward_start;
             return has(a, "U_reverse") && has(a, "h0");
           },
       .sentence = {"both directions start from the forward direction's initial state",
                    "两个方向都从正向的初始状态开始"},
       .used = {"forward and backward start from h0[0]", "正向与反向都从 h0[0] 开始"},
       .paper = {"forward starts from h0[0], backward from h0[1]", "正向从 h0[0] 开始，反向从 h0[1] 开始"},
       .fix = {"give the backward direction h0[1]", "反向改用 h0[1]"},
       .test = {"change h0[1]: CHECK(the backward half changes);", "改变 h0[1]：CHECK(反向那一半改变);"}},
  };
  fields.push_back({"merge",
                    {Stage::run},
                    {"how the directions are joined", "两个方向如何合并"},
                    {"two directions that differ", "互不相同的两个方向"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "swapped",
       .code = "BIDIR_ORDER",
       .level = Level::benign,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::swapped, has(a, "U_reverse"); },
       .sentence = {"the directions are joined as [backward; forward]", "拼接顺序是 [反向；正向]"},
       .used = "h_t = [backward_t; forward_t]",
       .paper = "h_t = [forward_t; backward_t]",
       .fix = {"join forward first, or exchange the column blocks of what reads h",
               "正向在前拼接，或对调读取 h 的矩阵的列块"},
       .test = {"CHECK(the first half of h at position 0 does not depend on x at position 1);",
                "CHECK(位置 0 上 h 的前一半不依赖位置 1 上的 x);"}},
      {.id = "sum",
       .code = "BIDIR_SUM",
       .level = Level::choice,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::sum, has(a, "U_reverse"); },
       .sentence = {"the directions are added", "两个方向相加"},
       .used = "h_t = forward_t + backward_t",
       .paper = "h_t = [forward_t; backward_t]"},
      {.id = "mean",
       .code = "BIDIR_MEAN",
       .level = Level::choice,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::mean, has(a, "U_reverse"); },
       .sentence = {"the directions are averaged", "两个方向取平均"},
       .used = "h_t = (forward_t + backward_t) / 2",
       .paper = "h_t = [forward_t; backward_t]"},
      {.id = "reshaped",
       .code = "RESHAPE_FOR_TRANSPOSE",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::reshaped, has(a, "U_reverse"); },
       .sentence = {"the directions were merged by a reshape where their axis had to be moved first",
                    "合并方向时直接 reshape，本该先移动方向轴"},
       .used = "reshape(stack, (B, T, 2 d))",
       .paper = "reshape(transpose(stack), (B, T, 2 d))",
       .fix = {"move the direction axis next to the features, then reshape", "先把方向轴移到特征旁边再 reshape"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "reshaped_example",
       .code = "RESHAPE_FOR_TRANSPOSE",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::reshaped_example, has(a, "U_reverse"); },
       .sentence = {"each example's (2, T, d) was reshaped to (T, 2 d) where its direction axis had to be moved first",
                    "每个样本的 (2, T, d) 被直接 reshape 成 (T, 2 d)，本该先移动方向轴"},
       .used = "h = reshape((B, 2, T, d), (B, T, 2 d))",
       .paper = "h_t = [forward_t; backward_t]",
       .fix = {"join the directions along the features", "沿特征轴拼接两个方向"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "interleaved",
       .code = "BIDIR_INTERLEAVED",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::interleaved, has(a, "U_reverse"); },
       .sentence = {"the features of both directions stand in turn, forward and backward, where one half should follow "
                    "the other",
                    "两个方向的特征交错排列，本该一半接一半"},
       .used = "h_t = (forward_t[0], backward_t[0], forward_t[1], ...)",
       .paper = "h_t = [forward_t; backward_t]",
       .fix = {"join the directions along the features", "沿特征轴拼接两个方向"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "product",
       .code = "BIDIR_PRODUCT",
       .kind = Kind::convention,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::product, has(a, "U_reverse"); },
       .sentence = {"the directions are multiplied", "两个方向相乘"},
       .used = "h_t = forward_t * backward_t",
       .paper = "h_t = [forward_t; backward_t]",
       .fix = {"join the directions along the features", "沿特征轴拼接两个方向"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "largest",
       .code = "BIDIR_LARGEST",
       .kind = Kind::convention,
       .apply = [](Model& m, const Arrays& a) { return m.both.merge = Merge::largest, has(a, "U_reverse"); },
       .sentence = {"of both directions the larger number is kept", "两个方向逐元素取较大者"},
       .used = "h_t = max(forward_t, backward_t)",
       .paper = "h_t = [forward_t; backward_t]",
       .fix = {"join the directions along the features", "沿特征轴拼接两个方向"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
  };
  fields.push_back({"final",
                    {Stage::ends},
                    {"which final states are taken", "取哪个最终状态"},
                    {"two directions, two layers, several steps", "双向、两层、多步"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "last_position",
       .code = "BIDIR_FINAL_WRONG_END",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return m.both.final_state = FinalState::last_position, true; },
       .sentence = {"the last position of the outputs is taken as final state: its backward half has read one token",
                    "把输出的最后位置当作最终状态：反向那一半只读了一个词"},
       .used = "[forward_T; backward_T]",
       .paper = "[forward_T; backward_1]",
       .fix = {"take h_n, or backward at position 1", "取 h_n，或反向在位置 1 的状态"},
       .test = {"change the first token: CHECK(the backward half changes);", "改变第一个词：CHECK(反向那一半改变);"}},
      {.id = "first_position",
       .code = "BIDIR_FINAL_WRONG_END",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return m.both.final_state = FinalState::first_position, true; },
       .sentence = {"the first position of the outputs is taken as final state: its forward half has read one token",
                    "把输出的第一个位置当作最终状态：正向那一半只读了一个词"},
       .used = "[forward_1; backward_1]",
       .paper = "[forward_T; backward_1]",
       .fix = {"take h_n, or forward at the last real position", "取 h_n，或正向在最后真实位置的状态"},
       .test = {"change the last token: CHECK(the forward half changes);", "改变最后一个词：CHECK(正向那一半改变);"}},
      {.id = "bottom",
       .code = "HN_SLICE",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.stacked = StackedFinal::bottom_layer, true; },
       .sentence = {"the first two slices of h_n are taken: the bottom layer", "取了 h_n 的前两片：最底层"},
       .used = "[h_n[0]; h_n[1]]",
       .paper = {"[h_n[-2]; h_n[-1]]: order is layer 0 forward, layer 0 backward, layer 1 forward, ...",
                 "[h_n[-2]; h_n[-1]]：顺序是第 0 层正向、第 0 层反向、第 1 层正向……"},
       .fix = {"take the last two slices", "取最后两片"},
       .test = {"fill h_n with distinct constants and read them back", "用互不相同的常数填满 h_n，再读回来"}},
      {.id = "last_slice",
       .code = "HN_SLICE",
       .level = Level::choice,
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.stacked = StackedFinal::last_slice, true; },
       .sentence = {"only the last slice of h_n is taken: the backward direction alone",
                    "只取了 h_n 的最后一片：只有反向"},
       .used = "h_n[-1]",
       .paper = "[h_n[-2]; h_n[-1]]",
       .fix = {"take the last two slices", "取最后两片"},
       .test = {"fill h_n with distinct constants and read them back", "用互不相同的常数填满 h_n，再读回来"},
       .rare = true,
       .by_claim_alone = true},
      {.id = "direction_major",
       .code = "HN_SLICE",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.stacked = StackedFinal::top_read_direction_major, true; },
       .sentence = {"h_n was read as if all forward layers came first", "把 h_n 当成先排所有正向层来读"},
       .used = "[h_n[L-1]; h_n[2L-1]]",
       .paper = "[h_n[2L-2]; h_n[2L-1]]",
       .fix = {"view h_n as (layers, directions, B, d)", "按 (layers, directions, B, d) 查看 h_n"},
       .test = {"fill h_n with distinct constants and read them back", "用互不相同的常数填满 h_n，再读回来"}},
  };
  return fields;
}

}  // namespace gradus::diagnosis
