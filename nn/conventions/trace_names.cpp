// What arrays of a trace are called, here and in four frameworks.
#include "nn/conventions/trace_names.h"

#include <algorithm>
#include <stdexcept>

namespace gradus::diagnosis {

const std::vector<TraceName>& decoder_names() {
  static const std::vector<TraceName> names = {
      {"H",
       {"encoder_outputs", "encoder_output", "enc_outputs", "enc_output", "enc_out", "memory_bank", "annotations",
        "encoder_states", "encoder_hidden_states", "encoder_hiddens", "encoder_out", "memory"},
       "(B, T_enc, d_h)",
       {"the encoder's states; of both directions: [forward; backward]", "编码器的状态；双向时前向在前、后向在后"}},
      {"mask",
       {"src_mask", "memory_mask", "attention_mask", "encoder_mask"},
       "(B, T_enc)",
       {"true = a real position", "true = 真实位置"}},
      {"padding",
       {"key_padding_mask", "src_key_padding_mask", "padding_mask", "memory_key_padding_mask"},
       "(B, T_enc)",
       {"true = padding, in place of mask", "true = 填充，可代替 mask"}},
      {"lengths",
       {"memory_lengths", "src_lengths", "enc_lens", "src_len", "src_lens", "input_lengths", "enc_lengths"},
       "(B)",
       {"real positions of each example, in place of mask", "每个样本的真实位置数，可代替 mask"}},
      {"y_emb",
       {"embedded", "emb", "dec_emb", "decoder_emb", "decoder_inputs", "dec_inputs", "target_emb", "tgt_emb", "y",
        "embeddings"},
       "(B, T_dec, d_emb)",
       {"what the steps read; y_emb[:, t] belongs to step t", "各步读入的词向量；y_emb[:, t] 属于第 t 步"}},
      {"y_mask",
       {"tgt_mask", "target_mask"},
       "(B, T_dec)",
       {"true = a real target; the softmax may wrongly read it", "true = 真实目标位置；softmax 可能误读它"}},
      {"s",
       {"decoder_states", "dec_states", "dec_hidden", "decoder_hidden_states", "decoder_hiddens", "h", "states"},
       "(B, T_dec + 1, d_s)",
       {"states, s[:, 0] = s_0; or (B, T_dec, d_s) beside s_0", "状态，s[:, 0] = s_0；或 (B, T_dec, d_s) 加 s_0"},
       true},
      {"s_0",
       {"s0", "h0", "h_0", "hx", "initial_state", "dec_init"},
       "(B, d_s)",
       {"the state before the first step", "第一步之前的状态"}},
      {"m",
       {"memories", "cell_states", "decoder_cells"},
       "(B, T_dec + 1, d_s)",
       {"an LSTM's cell states", "LSTM 的细胞状态"},
       true},
      {"cell_0", {"c0", "c_0", "cx", "m_0"}, "(B, d_s)", {"the first of them, zeros without it", "其初值，缺省为 0"}},
      {"query",
       {"queries", "q"},
       "(B, T_dec, d_q)",
       {"the queries, where they are not states", "查询（不是状态本身时）"}},
      {"e",
       {"scores", "energies", "energy", "attn_scores", "attention_scores"},
       "(B, T_dec, T_enc)",
       {"scores, before the softmax", "分数，softmax 之前"},
       true},
      {"alpha",
       {"attn", "attention", "attn_weights", "attention_weights", "weights", "alignments", "alignment", "alphas",
        "align_vectors", "attns", "attention_probs", "attn_dist", "a"},
       "(B, T_dec, T_enc)",
       {"attention weights", "注意力权重"},
       true},
      {"c",
       {"context", "contexts", "context_vectors", "context_vector", "attn_context", "ctx"},
       "(B, T_dec, d_h)",
       {"contexts", "上下文向量"},
       true},
      {"htilde",
       {"h_tilde", "s_tilde", "stilde", "attentional", "attention_vector", "attn_vector", "attn_h", "attn_hidden",
        "attention_vectors"},
       "(B, T_dec, d_c)",
       {"Luong's attentional vector, tanh(W_c [c; s])", "Luong 的注意力向量 tanh(W_c [c; s])"},
       true},
      {"logits",
       {"output_logits", "dec_logits"},
       "(B, T_dec, vocab)",
       {"what the softmax over words reads", "词表 softmax 的输入"},
       true},
      {"W_a",
       {"Wa", "W1", "W1.kernel*", "query_layer.kernel*", "linear_query", "linear_in*", "attn_W"},
       "(d_attn, d_s)",
       {"additive, on the query; general: (d_s, d_h); concat: (d_attn, d_s + d_h); location: (T_enc, d_s)",
        "additive：作用于查询；general：(d_s, d_h)；concat：(d_attn, d_s + d_h)；location：(T_enc, d_s)"}},
      {"U_a",
       {"Ua", "W2", "W2.kernel*", "memory_layer.kernel*", "linear_context", "attn_U"},
       "(d_attn, d_h)",
       {"additive, on H", "additive：作用于 H"}},
      {"v_a",
       {"Va", "V", "V.kernel*", "attention_v", "v", "attn_v"},
       "(d_attn)",
       {"additive, concat", "additive、concat"}},
      {"b_a", {"linear_query.bias", "W1.bias", "query_layer.bias"}, "(d_attn)", {"inside the tanh", "tanh 之内的偏置"}},
      {"b_a2",
       {"W2.bias", "memory_layer.bias", "b_U_a"},
       "(d_attn)",
       {"a second one, added to it", "第二个，与之相加"}},
      {"b_v", {"V.bias", "b_v_a"}, "(1)", {"beside v_a", "v_a 旁的偏置"}},
      {"W_c",
       {"Wc", "linear_out", "attention_layer.kernel*", "attn_combine"},
       "(d_c, d_h + d_s)",
       {"of htilde", "用于 htilde"}},
      {"b_c", {"linear_out.bias", "attention_layer.bias"}, "(d_c)", {"of htilde", "用于 htilde"}},
      {"W_o",
       {"Wo", "fc", "fc.kernel*", "fc_out", "out", "generator", "generator.0", "output_layer", "output_layer.kernel*",
        "output_projection", "classifier", "lm_head", "out_proj", "projection.kernel*"},
       "(vocab, ...)",
       {"readout, of any of s, y_emb, c, htilde joined, or of the maxout",
        "输出层，作用于 s、y_emb、c、htilde 的拼接，或 maxout"}},
      {"b_o", {"projection.bias"}, "(vocab)", {"its bias", "其偏置"}},
      {"U_o",
       {},
       "(2 l, d_s)",
       {"maxout of U_o s + V_o y_emb + C_o c; pairs of rows 2 k, 2 k + 1 (the paper's) or k, k + l: both are "
        "recognised",
        "U_o s + V_o y_emb + C_o c 的 maxout；配对 2 k、2 k + 1 行（论文）或 k、k + l 行：两种都能认出"}},
      {"V_o", {}, "(2 l, d_emb)", {"", ""}},
      {"C_o", {}, "(2 l, d_h)", {"", ""}},
      {"W_s",
       {"Ws", "bridge"},
       "(d_s, d_h / 2)",
       {"the bridge: s_0 = tanh(W_s h), h an end of H, both (d_s, d_h) or the mean (d_s, d_h): s_0 is checked",
        "桥：s_0 = tanh(W_s h)，h 取 H 的一端、两端 (d_s, d_h) 或平均 (d_s, d_h)：核对 s_0"}},
      {"b_s", {}, "(d_s)", {"its bias", "其偏置"}},
      {"targets",
       {"target_ids", "labels"},
       "(B, T_dec)",
       {"with loss: the cross-entropy of logits is checked too; negative = not counted, or y_mask",
        "与 loss 一起给出时还会核对交叉熵；负数表示不计入，或用 y_mask"}},
      {"loss", {}, "()", {"one number", "一个数"}},
      {"s_0_l0", {"s_0_bottom"}, "(B, d_s)", {"s_0 of a lower layer", "下层的 s_0"}},
      {"s_0_l1", {}, "(B, d_s)", {"", ""}},
      {"cell_0_l0", {"c_0_bottom", "c0_bottom"}, "(B, d_s)", {"cell_0 of a lower layer", "下层的 cell_0"}},
      {"cell_0_l1", {}, "(B, d_s)", {"", ""}},
  };
  return names;
}

const std::vector<TraceName>& recurrent_names() {
  static const std::vector<TraceName> names = {
      {"x", {"X", "input", "inputs"}, "(B, T, d_in)", {"inputs; one step: (B, d_in)", "输入；只有一步：(B, d_in)"}},
      {"h",
       {"Y", "output", "outputs", "hidden_states"},
       "(B, T, d)",
       {"the top layer's states; both directions (B, T, 2 d): [forward; backward], position by position; behind the "
        "end "
        "0, or the last state, or anything (said which)",
        "顶层状态；双向 (B, T, 2 d)：逐位置前向在前、后向在后；结尾之后可为 0、最后的状态或任意值（会说明是哪种）"},
       true},
      {"h_n",
       {"Y_h", "h_T", "final_h", "final_state"},
       "(layers * directions, B, d)",
       {"the state after the last real input, of the backward direction after the first position; layer by layer",
        "读完最后一个真实输入后的状态，后向为读完首位置后的；逐层排列"},
       true},
      {"c_n",
       {"Y_c", "c_T", "final_c"},
       "(layers * directions, B, d)",
       {"likewise an LSTM's c", "同上，LSTM 的 c"},
       true},
      {"h0",
       {"initial_h", "h_0", "hx", "initial_state"},
       "(layers * directions, B, d)",
       {"first states, zeros without; one layer and direction: (B, d)", "初始状态，缺省为 0；单层单向：(B, d)"}},
      {"c0", {"initial_c", "c_0", "cx"}, "(layers * directions, B, d)", {"likewise an LSTM's c", "同上，LSTM 的 c"}},
      {"c", {"cells", "cell_states"}, "(B, T, d)", {"read, not compared", "读入，不比较"}},
      {"lengths",
       {"sequence_lens", "seq_lens", "seq_lengths", "x_lengths", "input_lengths", "src_lengths"},
       "(B)",
       {"real inputs of each example", "每个样本的真实输入数"}},
      {"mask", {}, "(B, T)", {"true = a real input, in place of lengths", "true = 真实输入，可代替 lengths"}},
      {"start",
       {"decoder_start", "s_0"},
       "(B, ...)",
       {"what a decoder takes from an encoder of both directions", "解码器从双向编码器取得的起始状态"}},
  };
  return names;
}

const std::vector<TraceName>& multi_head_names() {
  static const std::vector<TraceName> names = {
      {"query", {"Q", "queries", "q", "x"}, "(B, T_q, d)", {"what asks", "查询方"}},
      {"memory",
       {},
       "(B, T_k, d)",
       {"keys and values; without: the query, as in self-attention", "键与值；缺省即自注意力"}},
      {"key", {"K", "keys", "k"}, "(B, T_k, d)", {"in place of memory", "可代替 memory"}},
      {"value", {"V", "values", "v"}, "(B, T_k, d)", {"in place of memory", "可代替 memory"}},
      {"mask", {}, "(B, T_k)", {"true = a real key", "true = 真实的键"}},
      {"padding", {"key_padding_mask", "padding_mask"}, "(B, T_k)", {"true = padding", "true = 填充"}},
      {"lengths", {"memory_lengths", "key_lengths"}, "(B)", {"real keys of each example", "每个样本的真实键数"}},
      {"alpha",
       {"attn", "attention", "attn_weights", "attention_weights", "weights", "attn_output_weights"},
       "(B, heads, T_q, T_k)",
       {"weights; (B, T_q, T_k): averaged over the heads", "权重；(B, T_q, T_k)：对各头取平均"},
       true},
      {"output", {"attn_output", "context", "c", "out"}, "(B, T_q, d)", {"what comes out", "输出"}, true},
      {"W_Q", {"q_proj", "q_proj_weight", "W_q", "linear_query"}, "(d, d)", {"projections", "投影"}},
      {"W_K", {"k_proj", "k_proj_weight", "W_k", "linear_keys"}, "(d, d)", {"", ""}},
      {"W_V", {"v_proj", "v_proj_weight", "W_v", "linear_values"}, "(d, d)", {"", ""}},
      {"W_O", {"out_proj", "o_proj", "W_o", "final_linear"}, "(d, d)", {"", ""}},
      {"b_Q", {"q_proj.bias", "b_q"}, "(d)", {"", ""}},
      {"b_K", {"k_proj.bias", "b_k"}, "(d)", {"", ""}},
      {"b_V", {"v_proj.bias", "b_v"}, "(d)", {"", ""}},
      {"b_O", {"out_proj.bias", "b_o"}, "(d)", {"", ""}},
      {"in_proj", {"in_proj_weight"}, "(3 d, d)", {"PyTorch's W_Q, W_K, W_V in one", "PyTorch 的 W_Q、W_K、W_V 合一"}},
      {"in_proj_bias", {}, "(3 d)", {"", ""}},
  };
  return names;
}

const std::vector<TraceName>& cell_names() {
  static const std::vector<TraceName> names = {
      {"W",
       {"W_ih", "weight_ih", "kernel*"},
       "(gates * d, d_in)",
       {"on the input; a decoder's on [y; c], [y; htilde], ...; gate by gate: W_r W_z W_n, or W_i W_f W_g W_o",
        "作用于输入；解码器为 [y; c]、[y; htilde] 等；也可按门给出：W_r W_z W_n，或 W_i W_f W_g W_o"}},
      {"U",
       {"W_hh", "weight_hh", "recurrent_kernel*"},
       "(gates * d, d)",
       {"on the state; gate by gate U_r U_z U_n, ...; TensorFlow 1: one kernel (d_in + d, 4 d), or gates.kernel "
        "(d_in + d, 2 d) and candidate.kernel (d_in + d, d); ONNX: W, R, B",
        "作用于状态；也可按门给出 U_r U_z U_n 等；TensorFlow 1：一个 kernel (d_in + d, 4 d)，或 gates.kernel (d_in + "
        "d, "
        "2 d) 与 candidate.kernel (d_in + d, d)；ONNX：W、R、B"}},
      {"b",
       {"b_ih", "bias_ih", "bias"},
       "(gates * d)",
       {"on either side, or one for both; gate by gate b_r b_z b_n, ...; Keras's (2, 3 d) is split",
        "两侧各一，或只有一个；也可按门给出 b_r b_z b_n 等；Keras 的 (2, 3 d) 会被拆开"}},
      {"b_u", {"b_hh", "bias_hh"}, "(gates * d)", {"", ""}},
  };
  return names;
}

std::string gate_letters(const std::string& order, std::size_t gates) {
  std::string letters;
  for (char c : order) {
    if (c == ',' || c == ' ') continue;
    if (c == 'u') c = 'z';
    if (c == 'h' || (c == 'c' && gates == 3)) c = 'n';
    if (c == 'j' || c == 'c') c = 'g';
    letters += c;
  }
  const std::string known = gates == 3 ? "nrz" : gates == 4 ? "fgio" : "";
  std::string sorted = letters;
  std::sort(sorted.begin(), sorted.end());
  if (!letters.empty() && !known.empty() && sorted != known)
    throw std::invalid_argument(
        "trace: meta.json: gate_order \"" + order + "\" is no order of " +
        (gates == 3 ? "a GRU's gates r, z (or u), n (or h, c)" : "an LSTM's gates i, f, g (or j, c), o") +
        "; PyTorch has \"" + (gates == 3 ? "r,z,n" : "i,f,g,o") + "\"");
  return letters;
}

}  // namespace gradus::diagnosis
