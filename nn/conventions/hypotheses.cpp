// The tables put together, the claims, and the names of kinds and stages.
#include "nn/conventions/hypotheses.h"

#include <stdexcept>

#include "nn/conventions/hypotheses_tables.h"

namespace gradus::diagnosis {

const char* to_string(Kind kind) {
  static const char* names[] = {"convention", "axis", "shape", "mask", "broadcast", "graph", "numerics",   "gradcheck",
                                "optimizer",  "data", "GRU",   "LSTM", "init",      "beam",  "checkpoint", "dropout"};
  return names[static_cast<std::size_t>(kind)];
}

Said name_of(Kind kind) {
  static const Said names[] = {{"convention", "约定"},
                               {"axis", "轴"},
                               {"shape", "形状"},
                               {"mask", "掩码"},
                               {"broadcast", "广播"},
                               {"graph", "计算图"},
                               {"numerics", "数值"},
                               {"gradient check", "梯度检查"},
                               {"optimiser", "优化器"},
                               {"data", "数据"},
                               {"GRU", "GRU"},
                               {"LSTM", "LSTM"},
                               {"initialisation", "初始化"},
                               {"beam search", "束搜索"},
                               {"checkpoint", "检查点"},
                               {"dropout", "dropout"}};
  return names[static_cast<std::size_t>(kind)];
}

Said name_of(Stage stage) {
  static const Said names[] = {{"the scores (e)", "分数 (e)"},
                               {"the attention weights (alpha)", "注意力权重 (alpha)"},
                               {"the context (c)", "上下文向量 (c)"},
                               {"the decoder's cell (s)", "解码器循环单元 (s)"},
                               {"the attentional vector (htilde)", "注意力向量 (htilde)"},
                               {"the readout (logits)", "输出 (logits)"},
                               {"the initial state (s_0)", "初始状态 (s_0)"},
                               {"the recurrent run (h)", "循环网络 (h)"},
                               {"multi-head attention (alpha, output)", "多头注意力 (alpha, output)"},
                               {"what the decoder starts from (start)", "解码器的起始状态 (start)"}};
  return names[static_cast<std::size_t>(stage)];
}

const std::vector<Field>& fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> list = attention_fields();
    for (Field& f : list) {
      const std::string name = f.name;
      if (name == "axis" || name == "normaliser" || name == "mask" || name == "scale" || name == "sum" ||
          name == "squash" || name == "sees")
        f.stages.push_back(Stage::heads);
    }
    for (std::vector<Field> more : {cell_fields(), decoder_fields(), run_fields(), head_fields()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

const Option* find_option(const char* field, const std::string& id) {
  for (const Field& f : fields())
    if (std::string(f.name) == field)
      for (const Option& o : f.options)
        if (o.id == id) return &o;
  return nullptr;
}

const std::vector<Claim>& claims() {
  static const std::vector<Claim> all = {
      {.name = "bahdanau2014",
       .title = {"Bahdanau, Cho and Bengio 2014", "Bahdanau、Cho 与 Bengio 2014"},
       .keeps = {{"final", {"usual", "last_slice"}},
                 {"score", {"additive", "concat"}},
                 {"query", {"s_prev", "given"}},
                 {"input", {"c_t"}},
                 {"candidate", {"usual"}},
                 {"gates", {"usual"}}},
       .prefers = {{"score", {"additive"}},
                   {"reset", {"before", "not_gru"}},
                   {"update", {"replaces", "not_gru"}},
                   {"readout", {"maxout"}},
                   {"start", {"backward_first"}}}},
      {.name = "luong2015",
       .title = {"Luong, Pham and Manning 2015", "Luong、Pham 与 Manning 2015"},
       // concat and additive are one function: W_a [s; h] = W_1 s + W_2 h, kept as one matrix or as two
       .keeps = {{"score", {"general", "dot", "concat", "additive", "location", "general_stored_transposed"}},
                 {"query", {"s_t", "given"}},
                 {"input", {"feeding", "none"}},
                 {"first_fed", {"usual"}},
                 {"readout", {"htilde", "no_readout"}},
                 {"candidate", {"usual"}},
                 {"gates", {"usual"}}},
       .prefers = {{"score", {"general", "dot", "concat", "location", "general_stored_transposed"}}}},
      {.name = "vaswani2017",
       .title = {"Vaswani et al. 2017", "Vaswani 等 2017"},
       .keeps = {{"score", {"scaled_dot"}}},
       .prefers = {}},
      {.name = "cho2014",
       .title = {"Cho et al. 2014", "Cho 等 2014"},
       .keeps = {{"reset", {"before"}}, {"candidate", {"usual"}}, {"gates", {"usual"}}},
       .prefers = {{"update", {"keeps"}}}},
      {.name = "pytorch",
       .title = {"PyTorch and cuDNN", "PyTorch 与 cuDNN"},
       .keeps = {{"reset", {"after", "not_gru"}},
                 {"update", {"keeps", "not_gru"}},
                 {"gate_order", {"rzn", "ifgo", "one"}},
                 {"forget_bias", {"usual"}},
                 {"forget", {"usual"}},
                 {"gates", {"usual"}},
                 {"merge", {"usual"}}},
       .prefers = {}},
      {.name = "keras_reset_after",
       .title = {"Keras, reset_after=True", "Keras,reset_after=True"},
       .without_gru = {"Keras", "Keras"},
       .keeps = {{"reset", {"after", "not_gru"}},
                 {"update", {"keeps", "not_gru"}},
                 {"gate_order", {"zrn", "ifgo", "one"}},
                 {"forget_bias", {"usual"}},
                 {"forget", {"usual"}},
                 {"gates", {"usual"}}},
       .prefers = {}},
      {.name = "keras_reset_before",
       .title = {"Keras, reset_after=False", "Keras,reset_after=False"},
       .without_gru = {"Keras", "Keras"},
       .keeps = {{"reset", {"before", "not_gru"}},
                 {"update", {"keeps", "not_gru"}},
                 {"gate_order", {"zrn", "ifgo", "one"}},
                 {"forget_bias", {"usual"}},
                 {"forget", {"usual"}},
                 {"gates", {"usual"}}},
       .prefers = {}},
      {.name = "onnx_lbr0",
       .title = {"ONNX, linear_before_reset=0", "ONNX,linear_before_reset=0"},
       .without_gru = {"ONNX", "ONNX"},
       .keeps = {{"reset", {"before", "not_gru"}},
                 {"update", {"keeps", "not_gru"}},
                 {"gate_order", {"zrn", "iofg", "one"}},
                 {"forget_bias", {"usual"}}},  // HardSigmoid and input_forget are options of ONNX
       .prefers = {}},
      {.name = "onnx_lbr1",
       .title = {"ONNX, linear_before_reset=1", "ONNX,linear_before_reset=1"},
       .without_gru = {"ONNX", "ONNX"},
       .keeps = {{"reset", {"after", "not_gru"}},
                 {"update", {"keeps", "not_gru"}},
                 {"gate_order", {"zrn", "iofg", "one"}},
                 {"forget_bias", {"usual"}}},  // HardSigmoid and input_forget are options of ONNX
       .prefers = {}},
      {.name = "tensorflow1",
       .title = {"TensorFlow 1, LSTMCell and GRUCell", "TensorFlow 1，LSTMCell 与 GRUCell"},
       .keeps = {{"reset", {"before", "not_gru"}},
                 {"update", {"keeps", "not_gru"}},
                 {"gate_order", {"igfo", "rzn", "one"}},
                 {"forget_bias", {"one"}},
                 {"forget", {"usual"}},
                 {"gates", {"usual"}}},
       .prefers = {}},
  };
  return all;
}

bool has_gru(const reference::Arrays& parameters) {
  const reference::Array* U = reference::find(parameters, "U");
  return U && U->shape.size() == 2 && U->shape[0] == 3 * U->shape[1];
}

std::vector<std::string> claims_of_framework(const std::string& name, const reference::Arrays& parameters,
                                             std::optional<bool> linear_before_reset) {
  const bool gru = has_gru(parameters);
  if (name == "keras") {
    if (!gru || has(parameters, "b_u")) return {"keras_reset_after"};
    if (has(parameters, "b")) return {"keras_reset_before"};
    return {"keras_reset_after", "keras_reset_before"};
  }
  if (name == "onnx") {
    if (linear_before_reset) return {*linear_before_reset ? "onnx_lbr1" : "onnx_lbr0"};
    return gru ? std::vector<std::string>{"onnx_lbr0", "onnx_lbr1"} : std::vector<std::string>{"onnx_lbr0"};
  }
  return {name};
}

const Claim* find_claim(const std::string& name) {
  if (name.empty()) return nullptr;
  std::string known;
  for (const Claim& claim : claims()) {
    if (claim.name == name) return &claim;
    known += (known.empty() ? "" : ", ") + std::string(claim.name);
  }
  throw std::invalid_argument("diagnosis: no convention is called '" + name + "'; known claims are " + known +
                              ", keras, onnx");
}

}  // namespace gradus::diagnosis
