// Hypotheses about the score, the weights and the context.
#include <algorithm>
#include <cmath>

#include "nn/conventions/hypotheses_tables.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

using Apply = bool (*)(Model&, const Arrays&);

bool energies(Model& m) {
  return score(m).score == Score::additive || score(m).score == Score::concat || score(m).score == Score::mlp;
}
bool projects_keys(Model& m, const Arrays& a) {
  return has(a, "W_a") && (score(m).score == Score::additive || score(m).score == Score::general);
}
bool sees_keys(Model& m) { return score(m).score != Score::location; }
bool square(const Arrays& a, const char* name) {
  const Array* W = find(a, name);
  return W && W->shape.size() == 2 && W->shape[0] == W->shape[1];
}
bool padded(const Arrays& a) {
  const Array* mask = find(a, "mask");
  if (!mask) return false;
  for (double x : mask->data)
    if (x == 0) return true;
  return false;
}

// Inverted, the mask of a full row leaves nothing to attend to: frameworks give NaN or uniform weights then.
bool some_row_is_full(const Arrays& a) {
  const Array& mask = get(a, "mask");
  for (std::size_t b = 0; b < mask.dim(0); ++b) {
    const Row row = mask.row({b});
    if (std::all_of(row.begin(), row.end(), [](double x) { return x != 0; })) return true;
  }
  return false;
}

// Every example attends with the state of this one.
template <MemoryRead read> bool query_of(Model& m, const Arrays& a) {
  m.query_read = read;
  return has(a, "H") && get(a, "H").dim(0) > (read == MemoryRead::previous_example ? 2u : 1u);
}

// The masks sorted by length (for packing), the rows as they were.
template <bool longest_first> bool masks_are_sorted(Model& m, const Arrays& a) {
  attention(m).mask_read = longest_first ? MaskRead::longest_first : MaskRead::shortest_first;
  return padded(a) && sorted_by_length(get(a, "mask"), longest_first).data != get(a, "mask").data;
}

bool first_row_is_full(const Arrays& a) {
  const Row row = get(a, "mask").row({0});
  return std::all_of(row.begin(), row.end(), [](double x) { return x != 0; });
}

// Self-attention: the queries are made from the rows that are attended to.
bool attends_to_itself(const Arrays& a) {
  const Array *query = find(a, "query"), *key = find(a, "key");
  return query && key && query->shape == key->shape && query->data == key->data;
}
bool causal(Model& m, const Arrays& a, MaskRead read) {
  attention(m).mask_read = read;
  return attends_to_itself(a);
}

// Whether the mask, read along the decoder steps, hides one: otherwise it is no mask at all.
bool hides_a_query(const Arrays& a) {
  const Array *mask = find(a, "y_mask"), *alpha = find(a, "alpha");
  if (!mask) mask = find(a, "mask");
  if (!mask || !alpha || alpha->shape.size() != 3) return false;
  for (std::size_t b = 0; b < mask->dim(0); ++b)
    for (std::size_t t = 0; t < std::min(mask->dim(1), alpha->dim(1)); ++t)
      if (mask->at({b, t}) == 0) return true;
  return mask->dim(1) < alpha->dim(1);
}

// Every padded row of H is the same vector other than zero: what a projection with a bias leaves there.
bool padding_is_a_bias(const Arrays& a) {
  const Array *H = find(a, "H"), *mask = find(a, "mask");
  if (!H || !mask) return false;
  const std::size_t d = H->dim(2);
  Vec first;
  for (std::size_t p = 0; p < mask->data.size(); ++p) {
    if (mask->data[p] != 0) continue;
    const Vec row = copy(Row(H->data).subspan(p * d, d));
    if (first.empty()) first = row;
    if (row != first) return false;
  }
  for (double x : first)
    if (x != 0) return true;
  return false;
}

// The weights and the scores of the row where two unmasked scores differ most; false if there is no such row.
struct Pair {
  double e_gap = 0, log_gap = 0;
};
bool widest(const Arrays& a, const Array& e, Pair& best) {
  const Array &alpha = get(a, "alpha"), *mask = find(a, "mask");
  for (std::size_t b = 0; b < e.dim(0); ++b)
    for (std::size_t t = 0; t < e.dim(1); ++t)
      for (std::size_t i = 0; i < e.dim(2); ++i)
        for (std::size_t j = 0; j < i; ++j) {
          if (mask && (mask->at({b, i}) == 0 || mask->at({b, j}) == 0)) continue;
          const double p = alpha.at({b, t, i}), q = alpha.at({b, t, j}), gap = e.at({b, t, i}) - e.at({b, t, j});
          if (p > 0 && q > 0 && std::fabs(gap) > std::fabs(best.e_gap)) best = {gap, std::log(p) - std::log(q)};
        }
  return std::fabs(best.e_gap) > 1e-3 && std::fabs(best.log_gap) > 1e-6;
}

// The scores that the model gives on the states of the trace; empty where they cannot be computed.
bool scores_of(Model& m, const Arrays& a, Array& e) {
  if (const Array* given = find(a, "e")) return e = *given, true;
  const Array *s = find(a, "s"), *query = find(a, "query"), *H = find(a, "H");
  if (!H || !has(a, "alpha")) return false;
  if (m.query_given && query) return e = scores(score(m), a, *query, *H), true;
  if (!s || m.decoder.query.size() != 1 || m.decoder.query[0].what != What::state) return false;
  const std::size_t T = s->dim(1) - 1, from = m.decoder.query[0].lag == 0 ? 1 : 0;
  if (m.decoder.query[0].lag > 1) return false;
  Array q({s->dim(0), T, s->dim(2)});
  for (std::size_t b = 0; b < q.dim(0); ++b)
    for (std::size_t t = 0; t < T; ++t) q.set_row({b, t}, s->row({b, t + from}));
  return e = scores(score(m), a, q, *H), true;
}

// alpha = softmax(e / temperature) for the one temperature that the widest pair of scores asks for.
bool estimate_temperature(Model& m, const Arrays& a) {
  Array e;
  Pair pair;
  if (attention(m).axis != SoftmaxAxis::keys || !scores_of(m, a, e) || !widest(a, e, pair)) return false;
  attention(m).temperature = pair.e_gap / pair.log_gap;
  m.estimated = {attention(m).temperature};
  return std::fabs(attention(m).temperature - 1) > 1e-6;
}

// The score that the weights of padded positions show.
bool estimate_fill(Model& m, const Arrays& a) {
  Array e;
  const Array* mask = find(a, "mask");
  if (!mask || !scores_of(m, a, e)) return false;
  const Array& alpha = get(a, "alpha");
  for (std::size_t b = 0; b < e.dim(0); ++b)
    for (std::size_t i = 0; i < e.dim(2); ++i)
      for (std::size_t j = 0; j < e.dim(2); ++j)
        if (mask->at({b, i}) == 0 && mask->at({b, j}) != 0 && alpha.at({b, 0, i}) > 0 && alpha.at({b, 0, j}) > 0) {
          attention(m).mask_fill = e.at({b, 0, j}) + std::log(alpha.at({b, 0, i}) / alpha.at({b, 0, j}));
          m.estimated = {attention(m).mask_fill};
          // 0 is the mask multiplied into the scores, which has a name of its own.
          return std::isfinite(attention(m).mask_fill) && std::fabs(attention(m).mask_fill) > 1e-7;
        }
  return false;
}

// c = factor * (the weighted sum), read off the largest entry.
bool estimate_factor(Model& m, const Arrays& a) {
  const Array *alpha = find(a, "alpha"), *c = find(a, "c"), *H = find(a, "H");
  if (!alpha || !c || !H || c->shape.size() != 3 || c->dim(2) != H->dim(2)) return false;
  const Array sum = contexts(attention(m), *alpha, *H, find(a, "mask"));
  std::size_t best = 0;
  for (std::size_t i = 0; i < sum.data.size(); ++i)
    if (std::fabs(sum.data[i]) > std::fabs(sum.data[best])) best = i;
  if (sum.data.empty() || sum.data[best] == 0) return false;
  m.context_factor = c->data[best] / sum.data[best];
  m.estimated = {m.context_factor};
  return std::isfinite(m.context_factor) && std::fabs(m.context_factor - 1) > 1e-6 && m.context_factor != 0;
}

// Which weights dropout removed, and the factor that it gave the others; false unless that explains all of them.
bool read_dropout(Model& m, const Arrays& a) {
  Array e;
  if (!scores_of(m, a, e)) return false;
  const Array& alpha = get(a, "alpha");
  const Array whole = attention_weights(attention(m), e, find(a, "mask"));
  double factor = 0;
  std::size_t gone = 0;
  Array kept(alpha.shape);
  for (std::size_t i = 0; i < alpha.data.size(); ++i) {
    if (alpha.data[i] == 0 && whole.data[i] > 0) ++gone;
    if (alpha.data[i] == 0) continue;
    if (factor == 0) factor = alpha.data[i] / whole.data[i];
    kept.data[i] = factor;
  }
  m.dropped = kept;
  return gone > 0 && factor > 1;
}

Field score_field() {
  Field f{"score",
          {Stage::score},
          {"the score", "打分函数"},
          {"use several encoder positions with different annotations", "用多个互不相同的编码器位置"},
          {}};
  const auto kind = [&](const char* id, const char* code, Apply apply, Said sentence, Line formula, const char* fix) {
    Option o;
    o.id = id, o.code = code, o.level = Level::choice, o.apply = apply, o.sentence = sentence, o.used = formula;
    o.paper = {"Bahdanau: v_a . tanh(W_a s + U_a h_i); Luong: s . h_i, s . W_a h_i or v_a . tanh(W_a [s; h_i])",
               "Bahdanau：v_a . tanh(W_a s + U_a h_i)；Luong：s . h_i、s . W_a h_i 或 v_a . tanh(W_a [s; h_i])"};
    o.fix = {fix, "改用所声称论文的打分函数"};
    o.test = "CHECK(check_reference(decoder, inputs, claimed).passed);";
    f.options.push_back(o);
  };
  kind(
      "additive", "SCORE_ADDITIVE",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::additive;
        return has(a, "W_a") && has(a, "U_a") && has(a, "v_a");
      },
      {"additive score", "加性打分"}, "e_i = v_a . tanh(W_a q + U_a h_i)",
      "nothing under Luong, whose concat score it is with W_a in two blocks, W_a and U_a; else use the claimed score");
  kind(
      "concat", "SCORE_CONCAT",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::concat;
        return has(a, "W_a") && !has(a, "U_a") && has(a, "v_a") && !(has(a, "b_v") && has(a, "b_a"));
      },
      {"concat score", "拼接打分"}, "e_i = v_a . tanh(W_a [q; h_i])",
      "nothing under Bahdanau, whose additive score it is with W_a and U_a side by side; else use the claimed score");
  kind(
      "mlp", "SCORE_MLP",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::mlp;
        return has(a, "W_a") && !has(a, "U_a") && has(a, "v_a") && has(a, "b_v") && has(a, "b_a");
      },
      {"score by a perceptron", "感知机打分"}, "e_i = v_a . tanh(W_a [q; h_i] + b_a) + b_v",
      "drop the output bias, or claim nothing");
  kind(
      "general", "SCORE_GENERAL",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::general;
        return has(a, "W_a") && !has(a, "v_a") && !has(a, "U_a");
      },
      {"general score", "双线性（general）打分"}, "e_i = q . W_a h_i", "use the score that the claimed paper uses");
  kind(
      "general_stored_transposed", "SCORE_GENERAL_STORED",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::general;
        score(m).exchanged = true;
        return has(a, "W_a") && !has(a, "v_a") && !has(a, "U_a") && !square(a, "W_a");
      },
      {"general score, W_a stored as (d_h, d_s)", "双线性（general）打分，W_a 按 (d_h, d_s) 存放"}, "e_i = h_i . W_a q",
      "use the score that the claimed paper uses");
  kind(
      "dot", "SCORE_DOT",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::dot;
        return !has(a, "W_a") && !has(a, "v_a");
      },
      {"dot score", "点积打分"}, "e_i = q . h_i", "use the score that the claimed paper uses");
  kind(
      "scaled_dot", "SCORE_SCALED_DOT",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::scaled_dot;
        return !has(a, "W_a") && !has(a, "v_a");
      },
      {"scaled dot score", "缩放点积打分"}, "e_i = q . h_i / sqrt(d)",
      "drop the division by sqrt(d), or claim nothing");
  kind(
      "cosine", "SCORE_COSINE",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::cosine;
        return !has(a, "W_a") && !has(a, "v_a");
      },
      {"cosine score", "余弦打分"}, "e_i = q . h_i / (|q| |h_i|)", "drop the norms, or claim nothing");
  kind(
      "location", "ATTN_IGNORES_ENCODER",
      [](Model& m, const Arrays& a) {
        score(m).score = Score::location;
        return has(a, "W_a") && !has(a, "v_a") && !has(a, "U_a");
      },
      {"location score: the weights never look at the encoder's states", "位置打分：权重从不看编码器隐藏状态"},
      Line{"e = W_a q, one row of W_a a position", "e = W_a q，W_a 每行对应一个位置"},
      "score every h_i against the query: e_i = score(s, h_i)");
  f.options.back().test = {"reverse the rows of H: CHECK(alpha == reversed(alpha_before));",
                           "把 H 的各行颠倒：CHECK(alpha == reversed(alpha_before));"};
  Option unused;
  unused.id = "dot_beside_parameters", unused.code = "PARAM_DEAD", unused.kind = Kind::graph;
  unused.apply = [](Model& m, const Arrays& a) {
    score(m).score = Score::dot;
    return has(a, "W_a");
  };
  unused.sentence = {"W_a is there but the score is the plain dot product: the parameter is never used",
                     "有 W_a 参数，打分却只是点积：该参数从未被使用"};
  unused.used = "e_i = q . h_i";
  unused.paper = "e_i = q . W_a h_i";
  unused.fix = {"multiply by W_a, or remove it", "乘上 W_a，或者删掉它"};
  unused.test = "CHECK(norm(W_a.grad()) > 0);";
  f.options.push_back(unused);
  return f;
}

Field query_field() {
  Field f{"query",
          {Stage::score},
          {"which state is the query", "查询用的是哪个状态"},
          {"decoder states of at least two different steps, and at least two encoder positions",
           "至少两个互不相同的解码器步骤的状态，以及至少两个编码器位置"},
          {}};
  f.options = {
      {.id = "s_prev",
       .code = "ATTN_QUERY_PRE_STEP",
       .level = Level::choice,
       .apply = [](Model& m, const Arrays&) { return m.decoder.query = {s_prev}, !m.query_given; },
       .sentence = {"the query is s_{t-1}, the decoder's state before the step",
                    "查询是 s_{t-1}，即该步之前的解码器状态"},
       .used = "e_{t,i} = score(s_{t-1}, h_i)",
       .paper = {"e_{t,i} = score(s_t, h_i), after s_t = RNN(...) (Luong et al. 2015, section 3.1)",
                 "先 s_t = RNN(...)，再 e_{t,i} = score(s_t, h_i) (Luong 等 2015，3.1 节)"},
       .fix = {"run the cell first, then attend with its new state", "先运行循环单元，再用新状态做注意力"},
       .test = "CHECK(probe_influence(decoder, inputs, QueryTime::s_t).passed);"},
      {.id = "s_t",
       .code = "ATTN_QUERY_POST_STEP",
       .level = Level::choice,
       .apply = [](Model& m, const Arrays&) { return m.decoder.query = {s_t}, !m.query_given; },
       .sentence = {"the query is s_t, the decoder's state after the step", "查询是 s_t，即该步之后的解码器状态"},
       .used = "e_{t,i} = score(s_t, h_i), s_t = RNN([y; c_{t-1}], s_{t-1})",
       .paper =
           {"e_{t,i} = score(s_{t-1}, h_i), then c_t, then s_t = RNN([y; c_t], s_{t-1}) (Bahdanau et al. 2014, section "
            "3.1)",
            "先 e_{t,i} = score(s_{t-1}, h_i)，再 c_t，再 s_t = RNN([y; c_t], s_{t-1}) (Bahdanau 等 2014，3.1 节)"},
       .fix = {"attend with s_prev first, then run the cell on [y; c_t]",
               "先用 s_{t-1} 做注意力得到 c_t，再让循环单元读 [y; c_t]"},
       .test = "CHECK(probe_influence(decoder, inputs, QueryTime::s_prev).passed);"},
      {.id = "given",
       .level = Level::benign,
       .apply = [](Model& m, const Arrays&) { return m.query_given; },
       .sentence = {"the query as dumped", "查询取自文件"}},
      {.id = "two_back",
       .code = "ATTN_QUERY_TWO_BACK",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::state, 2}}, !m.query_given;
           },
       .sentence = {"the query is s_{t-2}, a state two steps old", "查询是 s_{t-2}，即两步之前的状态"},
       .used = "e_{t,i} = score(s_{t-2}, h_i)",
       .paper = "e_{t,i} = score(s_{t-1}, h_i)",
       .fix = {"take the state of the step before, not of two before", "取上一步的状态"},
       .test = "CHECK(check_reference(decoder, inputs, bahdanau2014()).passed);"},
      {.id = "frozen",
       .code = "ATTN_QUERY_FROZEN",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::state, 1 << 20}}, !m.query_given;
           },
       .sentence = {"the query is s_0 at every step, so the weights never change",
                    "每一步的查询都是 s_0，权重不会变化"},
       .used = "e_{t,i} = score(s_0, h_i)",
       .paper = "e_{t,i} = score(s_{t-1}, h_i)",
       .fix = {"pass the current state, not the initial one", "传当前状态而不是初始状态"},
       .test = "CHECK(alpha[1] != alpha[0]);"},
      {.id = "cell_prev",
       .code = "ATTN_QUERY_CELL_STATE",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::cell_state, 1}}, lstm(m) && !m.query_given;
           },
       .sentence = {"the query is the LSTM's memory cell instead of its hidden state h",
                    "查询用了 LSTM 的细胞状态，而不是隐藏状态 h"},
       .used = "e_{t,i} = score(cell_{t-1}, h_i)",
       .paper = "e_{t,i} = score(h_{t-1}, h_i)",
       .fix = {"take h of the top layer: state.h, not state.c", "取顶层的 h，而不是 c"},
       .test = {"CHECK(alpha is unchanged when only the memory cell moves);", "CHECK(只有细胞状态改变时 alpha 不变);"}},
      {.id = "cell_now",
       .code = "ATTN_QUERY_CELL_STATE",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::cell_state, 0}}, lstm(m) && !m.query_given;
           },
       .sentence = {"the query is the LSTM's memory cell instead of its hidden state h",
                    "查询用了 LSTM 的细胞状态，而不是隐藏状态 h"},
       .used = "e_{t,i} = score(cell_t, h_i)",
       .paper = "e_{t,i} = score(h_t, h_i)",
       .fix = {"take h of the top layer: state.h, not state.c", "取顶层的 h，而不是 c"},
       .test = {"CHECK(alpha is unchanged when only the memory cell moves);", "CHECK(只有细胞状态改变时 alpha 不变);"}},
      {.id = "bottom_prev",
       .code = "ATTN_QUERY_BOTTOM_LAYER",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::bottom_state, 1}}, m.decoder.layers > 1;
           },
       .sentence = {"the query is the state of the bottom layer", "查询取自最底层的状态"},
       .used = "e_{t,i} = score(s^1_{t-1}, h_i)",
       .paper = {"e_{t,i} = score(s^L_{t-1}, h_i), the top layer", "e_{t,i} = score(s^L_{t-1}, h_i)，取顶层"},
       .fix = {"take the last layer: state[-1]", "取最后一层：state[-1]"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "bottom_now",
       .code = "ATTN_QUERY_BOTTOM_LAYER",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::bottom_state, 0}}, m.decoder.layers > 1;
           },
       .sentence = {"the query is the state of the bottom layer", "查询取自最底层的状态"},
       .used = "e_{t,i} = score(s^1_t, h_i)",
       .paper = {"e_{t,i} = score(s^L_t, h_i), the top layer", "e_{t,i} = score(s^L_t, h_i)，取顶层"},
       .fix = {"take the last layer: state[-1]", "取最后一层：state[-1]"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "mean_prev",
       .code = "ATTN_QUERY_MEAN_OF_LAYERS",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::mean_state, 1}}, m.decoder.layers > 1;
           },
       .sentence = {"the query is the mean of all layers' states", "查询是各层状态的平均"},
       .used = {"q = mean over layers", "q = 各层状态的平均"},
       .paper = {"q = the top layer's state", "q = 顶层的状态"},
       .fix = {"take the last layer: state[-1]", "取最后一层：state[-1]"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "all_prev",
       .code = "ATTN_QUERY_ALL_LAYERS",
       .apply =
           [](Model& m, const Arrays&) {
             return m.decoder.query = {{What::all_states, 1}}, m.decoder.layers > 1;
           },
       .sentence = {"the query joins the states of all layers", "查询拼接了所有层的状态"},
       .used = "q = [s^1; ...; s^L]",
       .paper = {"q = the top layer's state", "q = 顶层的状态"},
       .fix = {"take the last layer: state[-1]", "取最后一层：state[-1]"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "input",
       .code = "ATTN_QUERY_INPUT",
       .apply = [](Model& m, const Arrays& a) { return m.decoder.query = {y_emb}, has(a, "y_emb") && !m.query_given; },
       .sentence = {"the query is the input embedding, not the decoder's state", "查询是输入词嵌入，而不是解码器状态"},
       .used = "e_{t,i} = score(y_t, h_i)",
       .paper = "e_{t,i} = score(s_{t-1}, h_i)",
       .fix = {"pass the state to the score", "把状态传给打分函数"},
       .test = {"CHECK(norm(gradient of alpha with respect to s) > 0);", "CHECK(norm(alpha 对 s 的梯度) > 0);"}},
      {.id = "input_and_state",
       .code = "ATTN_QUERY_INPUT_AND_STATE",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.query = {y_emb, s_prev}, has(a, "y_emb") && !m.query_given;
           },
       .sentence = {"the query is [y_{t-1}; s_{t-1}], input and state together",
                    "查询是 [y_{t-1}; s_{t-1}]，即输入与状态的拼接"},
       .used = "e_t = score([y_{t-1}; s_{t-1}], h_i)",
       .paper = "e_{t,i} = score(s_{t-1}, h_i)",
       .fix = {"score with s_{t-1} alone", "只用 s_{t-1} 打分"},
       .test = "CHECK(probe_influence(decoder, inputs, QueryTime::s_prev).passed);"},
      {.id = "context_prev",
       .code = "ATTN_QUERY_CONTEXT",
       .apply = [](Model& m, const Arrays& a) { return m.decoder.query = {c_prev}, has(a, "c") && !m.query_given; },
       .sentence = {"the query is the last context, not the decoder's state",
                    "查询是上一步的上下文向量，而不是解码器状态"},
       .used = "e_{t,i} = score(c_{t-1}, h_i)",
       .paper = "e_{t,i} = score(s_{t-1}, h_i)",
       .fix = {"pass the state to the score", "把状态传给打分函数"},
       .test = {"CHECK(norm(gradient of alpha with respect to s) > 0);", "CHECK(norm(alpha 对 s 的梯度) > 0);"}},
      {.id = "attentional_prev",
       .code = "ATTN_QUERY_ATTENTIONAL",
       .apply = [](Model& m,
                   const Arrays& a) { return m.decoder.query = {htilde_prev}, has(a, "htilde") && !m.query_given; },
       .sentence = {"the query is the last attentional vector, not the decoder's state",
                    "查询是上一步的注意力向量，而不是解码器状态"},
       .used = "e_{t,i} = score(s~_{t-1}, h_i)",
       .paper = "e_{t,i} = score(s_t, h_i)",
       .fix = {"pass the state to the score", "把状态传给打分函数"},
       .test = {"CHECK(norm(gradient of alpha with respect to s) > 0);", "CHECK(norm(alpha 对 s 的梯度) > 0);"}},
  };
  return f;
}

std::vector<Field> score_detail_fields() {
  const Said generic = {"several encoder positions and generic parameters", "多个编码器位置与一般的参数"};
  std::vector<Field> fields;
  fields.push_back({"sees", {Stage::score}, {"what the score sees", "打分看到什么"}, generic, {}});
  fields.back().options = {
      usual(),
      {.id = "no_query",
       .code = "SCORE_IGNORES_QUERY",
       .apply = [](Model& m,
                   const Arrays&) { return score(m).sees = Sees::keys_only, score(m).score != Score::location; },
       .sentence =
           {"the score does not see the query (or adds it outside the tanh), so the weights are the same at every step",
            "打分看不到查询（或查询加在 tanh 之外），每一步的权重都一样"},
       .used = "e_i = score(0, h_i)",
       .paper = "e_i = score(s, h_i)",
       .fix = {"add the query's term to the score", "把查询那一项加进分数"},
       .test = {"CHECK(norm(gradient of alpha with respect to s) > 0);", "CHECK(norm(alpha 对 s 的梯度) > 0);"}},
      {.id = "no_keys",
       .code = "SCORE_IGNORES_KEYS",
       .apply = [](Model& m,
                   const Arrays&) { return score(m).sees = Sees::query_only, score(m).score != Score::location; },
       .sentence = {"the score does not see the encoder's states, so the weights are uniform",
                    "打分看不到编码器隐藏状态，权重是均匀的"},
       .used = "e_i = score(s, 0)",
       .paper = "e_i = score(s, h_i)",
       .fix = {"add the keys' term to the score", "把键那一项加进分数"},
       .test = {"CHECK(norm(gradient of alpha with respect to H) > 0);", "CHECK(norm(alpha 对 H 的梯度) > 0);"}},
      {.id = "query_of_next_example",
       .code = "ATTN_QUERY_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply = query_of<MemoryRead::next_example>,
       .sentence = {"the query is another example's state", "查询是批内另一个样本的状态"},
       .used = "e_{b,i} = score(s_{b+1}, h_{b,i})",
       .paper = "e_{b,i} = score(s_b, h_{b,i})",
       .fix = {"index queries and keys by the same example", "查询与键按同一样本索引"},
       .test = {"run example 0 alone: CHECK(alpha of row 0 is unchanged);",
                "单独运行样本 0：CHECK(第 0 行的 alpha 不变);"}},
      {.id = "query_of_previous_example",
       .code = "ATTN_QUERY_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply = query_of<MemoryRead::previous_example>,
       .sentence = {"the query is the previous example's state", "查询是批内前一个样本的状态"},
       .used = "e_{b,i} = score(s_{b-1}, h_{b,i})",
       .paper = "e_{b,i} = score(s_b, h_{b,i})",
       .fix = {"index queries and keys by the same example", "查询与键按同一样本索引"},
       .test = {"run example 0 alone: CHECK(alpha of row 0 is unchanged);",
                "单独运行样本 0：CHECK(第 0 行的 alpha 不变);"}},
      {.id = "query_of_last_example",
       .code = "ATTN_QUERY_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply = query_of<MemoryRead::last_example>,
       .sentence = {"every example attends with the last example's state", "每个样本都用批内最后一个样本的状态作查询"},
       .used = {"e_{b,i} = score(s_B, h_{b,i}), s_B the last of the batch",
                "e_{b,i} = score(s_B, h_{b,i})，s_B 属于批内最后一个样本"},
       .paper = "e_{b,i} = score(s_b, h_{b,i})",
       .fix = {"hidden[-1] is the top layer of (layers, B, d_s) only: of (B, d_s) take all rows",
               "hidden[-1]只在 (layers, B, d_s) 时是顶层；(B, d_s) 时要取所有行"},
       .test = {"run example 0 alone: CHECK(alpha of row 0 is unchanged);",
                "单独运行样本 0：CHECK(第 0 行的 alpha 不变);"}},
      {.id = "query_of_first_example",
       .code = "ATTN_QUERY_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply = query_of<MemoryRead::first_example>,
       .sentence = {"every example attends with the first example's state", "每个样本都用批内第一个样本的状态作查询"},
       .used = {"e_{b,i} = score(s_1, h_{b,i}), s_1 the first of the batch",
                "e_{b,i} = score(s_1, h_{b,i})，s_1 属于批内第一个样本"},
       .paper = "e_{b,i} = score(s_b, h_{b,i})",
       .fix = {"take all rows of (B, d_s): hidden[0] of it is the first example",
               "(B, d_s) 要取所有行：hidden[0] 只是第一个样本"},
       .test = {"swap two examples: CHECK(their weights are swapped, too);",
                "交换两个样本：CHECK(它们的权重也随之交换);"}},
  };
  fields.push_back({"energy", {Stage::score, Stage::weights}, {"the energy", "能量函数"}, generic, {}});
  fields.back().options = {
      usual(),
      {.id = "identity",
       .code = "ENERGY_NO_TANH",
       .apply = [](Model& m, const Arrays&) { return score(m).energy = Activation::identity, energies(m); },
       .sentence = {"the energy's tanh is missing (or does not reach U_a h_i), so the query cancels in the softmax",
                    "能量缺少 tanh（或 tanh 没有包住 U_a h_i），查询在 softmax 中被消去"},
       .used = "e_i = v_a . (W_a q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"put tanh around W_a q + U_a h_i", "在 W_a q + U_a h_i 外加 tanh"},
       .test = "CHECK(norm(W_a.grad()) > 0);"},
      {.id = "relu",
       .code = "ENERGY_RELU",
       .apply = [](Model& m, const Arrays&) { return score(m).energy = Activation::relu, energies(m); },
       .sentence = {"the energy uses relu instead of tanh", "能量用了 relu 而不是 tanh"},
       .used = "e_i = v_a . relu(W_a q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"replace relu by tanh", "把 relu 换成 tanh"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "sigmoid",
       .code = "ENERGY_SIGMOID",
       .apply = [](Model& m, const Arrays&) { return score(m).energy = Activation::sigmoid, energies(m); },
       .sentence = {"the energy uses sigmoid instead of tanh", "能量用了 sigmoid 而不是 tanh"},
       .used = "e_i = v_a . sigmoid(W_a q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"replace sigmoid by tanh", "把 sigmoid 换成 tanh"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "softmax_inside",
       .code = "ENERGY_ACTIVATIONS_SWAPPED",
       .apply =
           [](Model& m, const Arrays&) {
             score(m).energy = Activation::softmax;
             attention(m).normaliser = Normaliser::relu;
             return energies(m);
           },
       .sentence = {"softmax stands inside the energy and relu outside: the roles are exchanged",
                    "softmax 用在能量里、relu 用在外面：角色颠倒"},
       .used = "alpha = relu(v_a . softmax(W_a q + U_a h_i))",
       .paper = "alpha = softmax(v_a . tanh(W_a q + U_a h_i))",
       .fix = {"tanh inside, softmax over the positions outside", "里面用 tanh，外面对位置做 softmax"},
       .test = "CHECK(sum(alpha, Axis{2}) == 1);"},
      {.id = "softmax_inside_too",
       .code = "ENERGY_SOFTMAX",
       .apply = [](Model& m, const Arrays&) { return score(m).energy = Activation::softmax, energies(m); },
       .sentence = {"the energy uses softmax over its features instead of tanh",
                    "能量在特征上用了 softmax 而不是 tanh"},
       .used = "e_i = v_a . softmax(W_a q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"replace that softmax by tanh", "把这个 softmax 换成 tanh"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "tanh_inside",
       .code = "ENERGY_TANH_INSIDE",
       .apply =
           [](Model& m, const Arrays&) {
             score(m).energy = Activation::identity, score(m).operands = Activation::tanh;
             return energies(m);
           },
       .sentence = {"the tanh stands inside, on query and key before W_a, so the query cancels in the softmax",
                    "tanh 放到了里面，先作用于查询与键、再乘 W_a，查询在 softmax 中被消去"},
       .used = "e_i = v_a . W_a tanh([q; h_i])",
       .paper = "e_i = v_a . tanh(W_a [q; h_i])",
       .fix = {"multiply by W_a first, then tanh, then v_a", "先乘 W_a，再做 tanh，最后乘 v_a"},
       .test = {"CHECK(norm(gradient of alpha with respect to s) > 0);", "CHECK(norm(alpha 对 s 的梯度) > 0);"}},
      {.id = "squashed_operands",
       .code = "SCORE_OF_SQUASHED_STATES",
       .apply = [](Model& m,
                   const Arrays&) { return score(m).operands = Activation::tanh, score(m).score != Score::location; },
       .sentence = {"query and key go through tanh before they are compared", "查询与键先过了 tanh 才比较"},
       .used = "e_i = score(tanh(q), tanh(h_i))",
       .paper = "e_i = score(q, h_i)",
       .fix = {"compare the states as they are", "直接比较状态本身"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "squashed_projection",
       .code = "SCORE_OF_SQUASHED_KEYS",
       .apply = [](Model& m,
                   const Arrays&) { return score(m).projection = Activation::tanh, score(m).score == Score::general; },
       .sentence = {"the general score has a tanh around W_a h_i", "general 打分在 W_a h_i 外多了一个 tanh"},
       .used = "e_i = s . tanh(W_a h_i)",
       .paper = "e_i = s . W_a h_i (Luong et al. 2015, eq. 8)",
       .fix = {"remove the tanh", "去掉 tanh"},
       .test = "CHECK(doubling W_a doubles e);"},
      {.id = "tanh_outside",
       .code = "ENERGY_TANH_OUTSIDE",
       .apply = [](Model& m, const Arrays&) { return change(attention(m).normaliser, Normaliser::softmax_of_tanh); },
       .sentence = {"the whole score goes through tanh before the softmax", "整个分数在 softmax 之前又过了一次 tanh"},
       .used = "alpha = softmax(tanh(e))",
       .paper = "alpha = softmax(e)",
       .fix = {"remove the outer tanh", "去掉外层 tanh"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
  };
  fields.push_back({"v_a", {Stage::score}, {"v_a", "v_a"}, generic, {}});
  fields.back().options = {
      usual(),
      {.id = "dropped",
       .code = "ENERGY_V_DROPPED",
       .apply = [](Model& m, const Arrays&) { return score(m).v_dropped = true, energies(m); },
       .sentence = {"the energies are summed; v_a is never applied", "能量直接求和，没有乘 v_a"},
       .used = "e_i = sum_k tanh(W_a q + U_a h_i)_k",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"take the dot product with v_a", "与 v_a 做点积"},
       .test = "CHECK(norm(v_a.grad()) > 0);"},
      {.id = "product",
       .code = "ENERGY_PRODUCT",
       .apply = [](Model& m, const Arrays&) { return score(m).product = true, score(m).score == Score::additive; },
       .sentence = {"query and key are multiplied inside the tanh where the paper adds them",
                    "tanh 内查询与键相乘，而论文是相加"},
       .used = "e_i = v_a . tanh(W_a q * U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"replace * by +", "把 * 换成 +"},
       .test = "CHECK(check_reference(decoder, inputs, bahdanau2014()).passed);"},
      {.id = "separate",
       .code = "ENERGY_TANH_SEPARATE",
       .apply =
           [](Model& m, const Arrays& a) {
             return score(m).bracket = Bracket::each, score(m).score == Score::additive && has(a, "e");
           },
       .sentence = {"the two terms of the energy are squashed one by one: the query cancels in the softmax",
                    "能量的两项各自过 tanh：查询在 softmax 中被消去"},
       .used = "e_i = v_a . (tanh(W_a q) + tanh(U_a h_i))",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"add first, then tanh", "先相加再做 tanh"},
       .test = "CHECK(norm(W_a.grad()) > 0);"},
      {.id = "query_only",
       .code = "ENERGY_TANH_ONE_TERM",
       .apply =
           [](Model& m, const Arrays& a) {
             return score(m).bracket = Bracket::query_only, score(m).score == Score::additive && has(a, "e");
           },
       .sentence = {"the tanh closes around the query's term; U_a h_i stands outside: the query cancels in the softmax",
                    "tanh 只包住了查询那一项，U_a h_i 在外面：查询在 softmax 中被消去"},
       .used = "e_i = v_a . (tanh(W_a q) + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"close the bracket after U_a h_i", "把 tanh 的括号移到 U_a h_i 之后"},
       .test = "CHECK(norm(W_a.grad()) > 0);"},
      {.id = "keys_only",
       .code = "ENERGY_TANH_ONE_TERM",
       .apply =
           [](Model& m, const Arrays& a) {
             return score(m).bracket = Bracket::keys_only, score(m).score == Score::additive && has(a, "e");
           },
       .sentence = {"the tanh stands around the keys' term; W_a q is added outside: the query cancels in the softmax",
                    "tanh 只包住了键那一项，W_a q 加在外面：查询在 softmax 中被消去"},
       .used = "e_i = v_a . (W_a q + tanh(U_a h_i))",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"put both terms inside the tanh", "把两项都放进 tanh"},
       .test = "CHECK(norm(W_a.grad()) > 0);"},
      {.id = "b_a_ignored",
       .code = "SCORE_BIAS_IGNORED",
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& arrays) { arrays.erase("b_a"); });
             return has(a, "b_a") && energies(m);
           },
       .sentence = {"the score's bias b_a is there but never added", "打分的偏置 b_a 存在却没有加上"},
       .used = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i + b_a)",
       .fix = {"add b_a, or remove it", "加上 b_a，或者删掉它"},
       .test = "CHECK(norm(b_a.grad()) > 0);"},
  };
  fields.push_back(
      {"W_a", {Stage::score}, {"how W_a is read", "W_a 的读法"}, {"a W_a that is not symmetric", "不对称的 W_a"}, {}});
  fields.back().options = {
      usual(),
      {.id = "transposed",
       .code = "LUONG_W_TRANSPOSED",
       .apply =
           [](Model& m, const Arrays& a) {
             return score(m).transpose_W_a = true, score(m).score == Score::general && square(a, "W_a");
           },
       .sentence = {"W_a is transposed in the general score", "general 打分里的 W_a 被转置了"},
       .used = "e_i = s^T W_a^T h_i",
       .paper = "e_i = s^T W_a h_i (Luong et al. 2015, eq. 8)",
       .fix = {"multiply W_a with h_i, or W_a^T with s", "让 W_a 乘 h_i（或 W_a^T 乘 s）"},
       .test = {"use d_s != d_h: a transposed W_a is then a shape error",
                "取 d_s != d_h：转置的 W_a 就会引起形状错误"}},
      {.id = "additive_transposed",
       .code = "ATTN_W_A_TRANSPOSED",
       .apply =
           [](Model& m, const Arrays& a) {
             return score(m).transpose_W_a = true, score(m).score == Score::additive && square(a, "W_a");
           },
       .sentence = {"W_a is transposed in the additive score", "加性打分里的 W_a 被转置了"},
       .used = "e_i = v_a . tanh(W_a^T q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"use W_a as (d_attn, d_s)", "按 (d_attn, d_s) 使用 W_a"},
       .test = {"use d_attn != d_s: a transposed W_a is then a shape error",
                "取 d_attn != d_s：转置的 W_a 就会引起形状错误"}},
      {.id = "exchanged",
       .code = "ATTN_WEIGHTS_EXCHANGED",
       .apply = [](Model& m, const Arrays&) { return score(m).exchanged = true, score(m).score == Score::additive; },
       .sentence = {"W_a multiplies the keys and U_a the query: they are exchanged",
                    "W_a 乘了键、U_a 乘了查询：两者对调"},
       .used = "e_i = v_a . tanh(U_a q + W_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"exchange the two matrices", "把两个矩阵换回来"},
       .test = {"use d_s != d_h: exchanged matrices are then a shape error",
                "取 d_s != d_h：对调的矩阵就会引起形状错误"}},
      {.id = "for_both",
       .code = "ATTN_ONE_PROJECTION",
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& x) { x["U_a"] = x["W_a"]; });
             return score(m).score == Score::additive && has(a, "U_a") && get(a, "W_a").shape == get(a, "U_a").shape;
           },
       .sentence = {"W_a projects the keys too; U_a is never used", "W_a 也用来投影键，U_a 从未使用"},
       .used = "e_i = v_a . tanh(W_a q + W_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"project the keys with U_a", "用 U_a 投影键"},
       .test = "CHECK(norm(U_a.grad()) > 0);"},
      {.id = "unused",
       .code = "ATTN_ONE_PROJECTION",
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& x) { x["W_a"] = x["U_a"]; });
             return score(m).score == Score::additive && has(a, "U_a") && get(a, "W_a").shape == get(a, "U_a").shape;
           },
       .sentence = {"U_a projects the query too; W_a is never used", "U_a 也用来投影查询，W_a 从未使用"},
       .used = "e_i = v_a . tanh(U_a q + U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"project the query with W_a", "用 W_a 投影查询"},
       .test = "CHECK(norm(W_a.grad()) > 0);"},
      {.id = "keys_first",
       .code = "SCORE_CONCAT_ORDER",
       .level = Level::benign,
       .apply =
           [](Model& m, const Arrays&) {
             return score(m).exchanged = true, score(m).score == Score::concat || score(m).score == Score::mlp;
           },
       .sentence = {"the score joins [h_i; s], the key first", "打分里拼接顺序是 [h_i; s]，键在前"},
       .used = "e_i = v_a . tanh(W_a [h_i; s])",
       .paper = "e_i = v_a . tanh(W_a [s; h_i])",
       .fix = {"nothing to fix; exchange the columns of W_a when you load weights from elsewhere",
               "无需修改；从别处加载权重时交换 W_a 的列块"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
  };
  fields.push_back(
      {"U_a", {Stage::score}, {"how U_a is read", "U_a 的读法"}, {"a U_a that is not symmetric", "不对称的 U_a"}, {}});
  fields.back().options = {
      usual(),
      {.id = "transposed",
       .code = "ATTN_U_A_TRANSPOSED",
       .apply =
           [](Model& m, const Arrays& a) {
             return score(m).transpose_U_a = true, score(m).score == Score::additive && square(a, "U_a");
           },
       .sentence = {"U_a is transposed in the additive score", "加性打分里的 U_a 被转置了"},
       .used = "e_i = v_a . tanh(W_a q + U_a^T h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"use U_a as (d_attn, d_h)", "按 (d_attn, d_h) 使用 U_a"},
       .test = {"use d_attn != d_h: a transposed U_a is then a shape error",
                "取 d_attn != d_h：转置的 U_a 就会引起形状错误"}},
      {.id = "zero",
       .code = "SCORE_IGNORES_KEYS",
       .apply =
           [](Model& m, const Arrays&) {
             m.keys_are_projected_twice = true;
             return score(m).score == Score::additive;
           },
       .sentence = {"the key is projected by U_a twice", "键被 U_a 投影了两次"},
       .used = "e_i = v_a . tanh(W_a q + U_a U_a h_i)",
       .paper = "e_i = v_a . tanh(W_a q + U_a h_i)",
       .fix = {"project the keys once, before the loop", "只在循环之前投影一次键"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
  };
  fields.back().options.back().id = "twice";
  fields.back().options.back().code = "ATTN_KEYS_PROJECTED_TWICE";
  fields.push_back({"norms", {Stage::score}, {"the norms of the cosine", "余弦的范数"}, generic, {}});
  fields.back().options = {
      usual(),
      {.id = "query_only",
       .code = "COSINE_ONE_NORM",
       .apply =
           [](Model& m, const Arrays&) {
             return score(m).cosine_norm = CosineNorm::query_only, score(m).score == Score::cosine;
           },
       .sentence = {"the cosine divides by the query's norm alone", "余弦只除以查询的范数"},
       .used = "e_i = q . h_i / |q|",
       .paper = "e_i = q . h_i / (|q| |h_i|)",
       .fix = {"divide by both norms", "除以两个范数"},
       .test = "CHECK(abs(e) <= 1);"},
      {.id = "keys_only",
       .code = "COSINE_ONE_NORM",
       .apply =
           [](Model& m, const Arrays&) {
             return score(m).cosine_norm = CosineNorm::keys_only, score(m).score == Score::cosine;
           },
       .sentence = {"the cosine divides by the key's norm alone", "余弦只除以键的范数"},
       .used = "e_i = q . h_i / |h_i|",
       .paper = "e_i = q . h_i / (|q| |h_i|)",
       .fix = {"divide by both norms", "除以两个范数"},
       .test = "CHECK(abs(e) <= 1);"},
  };
  fields.push_back({"keys",
                    {Stage::score},
                    {"which rows are the keys", "键取自哪些行"},
                    {"at least two different examples in a batch", "批内至少两个不同的样本"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "next_example",
       .code = "ATTN_KEYS_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).keys = MemoryRead::next_example, sees_keys(m) && has(a, "H") && get(a, "H").dim(0) > 1;
           },
       .sentence = {"the keys are those of another example of the batch", "键取自批内另一个样本"},
       .used = "e_{b,i} = score(s_b, h_{b+1,i})",
       .paper = "e_{b,i} = score(s_b, h_{b,i})",
       .fix = {"index queries and keys by the same example", "查询与键按同一样本索引"},
       .test = {"run example 0 alone: CHECK(alpha of row 0 is unchanged);",
                "单独运行样本 0：CHECK(第 0 行的 alpha 不变);"}},
      {.id = "first_example",
       .code = "ATTN_KEYS_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).keys = MemoryRead::first_example,
                    sees_keys(m) && has(a, "H") && get(a, "H").dim(0) > 1;
           },
       .sentence = {"the keys are those of the first example of the batch", "键取自批内第一个样本"},
       .used = {"h of another example", "另一个样本的 h"},
       .paper = {"h_{b,i} of the same example b", "同一样本 b 的 h_{b,i}"},
       .fix = {"index everything by the same example", "全部按同一样本索引"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "previous_example",
       .code = "ATTN_KEYS_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).keys = MemoryRead::previous_example,
                    sees_keys(m) && has(a, "H") && get(a, "H").dim(0) > 2;
           },
       .sentence = {"the keys are those of another example of the batch", "键取自批内另一个样本"},
       .used = {"h of another example", "另一个样本的 h"},
       .paper = {"h_{b,i} of the same example b", "同一样本 b 的 h_{b,i}"},
       .fix = {"index everything by the same example", "全部按同一样本索引"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "reversed",
       .code = "ATTN_KEYS_REVERSED",
       .apply = [](Model& m, const Arrays&) { return attention(m).keys = MemoryRead::time_reversed, sees_keys(m); },
       .sentence = {"the keys run backwards in time", "键在时间上是倒着的"},
       .used = "e_i = score(s, h_{T+1-i})",
       .paper = "e_i = score(s, h_i)",
       .fix = {"turn the encoder's outputs round again", "把编码器输出再翻转回来"},
       .test = {"CHECK(alpha is permuted when H is permuted);", "CHECK(H 重排时 alpha 随之重排);"}},
      {.id = "reshaped",
       .code = "RESHAPE_FOR_TRANSPOSE",
       .kind = Kind::shape,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).keys = MemoryRead::reshaped, sees_keys(m) && has(a, "H") && get(a, "H").dim(0) > 1;
           },
       .sentence = {"the keys were reshaped from (T, B, d) to (B, T, d) where they had to be transposed",
                    "键由 (T, B, d) 直接 reshape 成 (B, T, d)，本该转置"},
       .used = "keys = reshape(H_TB, (B, T, d))",
       .paper = "keys = transpose(H_TB, Axis{0}, Axis{1})",
       .fix = {"transpose the axes, then reshape", "先转置再 reshape"},
       .test = {"run example 0 alone: CHECK(alpha of row 0 is unchanged);",
                "单独运行样本 0：CHECK(第 0 行的 alpha 不变);"}},
  };
  return fields;
}

Field scale_field() {
  Field f{"scale",
          {Stage::score, Stage::weights},
          {"the scale of the scores", "分数的缩放"},
          {"scores that differ, so that their scale shows, and a T_enc that is not the keys' size",
           "分数各不相同、能显出缩放的输入，且 T_enc 不等于键的维数"},
          {}};
  f.options = {
      usual(),
      {.id = "none",
       .code = "SCALE_MISSING",
       .apply = [](Model& m,
                   const Arrays&) { return score(m).scale = Scale::none, score(m).score == Score::scaled_dot; },
       .sentence = {"the division by sqrt(d_k) is missing", "缺少除以 sqrt(d_k)"},
       .used = "e_i = q . k_i",
       .paper = "e_i = q . k_i / sqrt(d_k) (Vaswani et al. 2017)",
       .fix = {"divide the scores by sqrt(d_k)", "把分数除以 sqrt(d_k)"},
       .test = {"CHECK(scores of unit-variance inputs have variance near 1);",
                "CHECK(输入方差为 1 时分数的方差接近 1);"}},
      {.id = "over_sqrt_d",
       .code = "SCALE_OVER_SQRT_D",
       .apply =
           [](Model& m, const Arrays&) {
             const Score s = score(m).score;
             return score(m).scale = Scale::over_sqrt_d, s != Score::scaled_dot && s != Score::dot;
           },
       .sentence = {"the scores are divided by sqrt(d), which this score does not do",
                    "分数被除以 sqrt(d)，而这种打分不该缩放"},
       .used = "softmax(e / sqrt(d))",
       .paper = "softmax(e)",
       .fix = {"remove the division", "去掉除法"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "over_sqrt_d_attn",
       .code = "SCALE_OVER_SQRT_D",
       .apply =
           [](Model& m, const Arrays& a) {
             if (score(m).score != Score::additive || !has(a, "v_a")) return false;
             const double d_attn = static_cast<double>(get(a, "v_a").data.size());
             attention(m).temperature = std::sqrt(d_attn);
             return d_attn > 1;
           },
       .sentence = {"the scores are divided by sqrt(d_attn), which this score does not do",
                    "分数被除以 sqrt(d_attn)，而这种打分不该缩放"},
       .used = "softmax(e / sqrt(d_attn))",
       .paper = "softmax(e)",
       .fix = {"remove the division", "去掉除法"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "over_d",
       .code = "SCALE_OVER_D",
       .apply = [](Model& m, const Arrays&) { return score(m).scale = Scale::over_d, true; },
       .sentence = {"the scores are divided by d_k, the size of a query (of one head's, where there are several)",
                    "分数被除以 d_k，即查询的维数（多头时为单个头的）"},
       .used = "softmax(e / d_k)",
       .paper = {"softmax(e / sqrt(d_k)) for scaled dot products (Vaswani et al. 2017, section 3.2.1), else softmax(e)",
                 "缩放点积用 softmax(e / sqrt(d_k)) (Vaswani 等 2017，3.2.1 节)，其余用 softmax(e)"},
       .fix = {"divide by sqrt(d) in scaled dot attention, by nothing elsewhere", "缩放点积除以 sqrt(d)，其余不除"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);"},
      {.id = "times_sqrt_d",
       .code = "SCALE_TIMES_SQRT_D",
       .apply = [](Model& m, const Arrays&) { return score(m).scale = Scale::times_sqrt_d, true; },
       .sentence = {"the scores are multiplied by sqrt(d) where they should be divided",
                    "分数被乘以 sqrt(d)，本该相除"},
       .used = "softmax(e * sqrt(d))",
       .paper = "softmax(e / sqrt(d))",
       .fix = {"divide instead", "改为相除"},
       .test = {"CHECK(scores of unit-variance inputs have variance near 1);",
                "CHECK(输入方差为 1 时分数的方差接近 1);"}},
      {.id = "over_sqrt_length",
       .code = "SCALE_OVER_SQRT_LENGTH",
       .apply = [](Model& m, const Arrays&) { return score(m).scale = Scale::over_sqrt_length, true; },
       .sentence = {"the scores are divided by sqrt(T_enc), the wrong size", "分数被除以 sqrt(T_enc)，尺寸用错了"},
       .used = "softmax(e / sqrt(T_enc))",
       .paper = {"softmax(e), with scaled dot products softmax(e / sqrt(d_k))",
                 "softmax(e)；缩放点积用 softmax(e / sqrt(d_k))"},
       .fix = {"remove the division; only scaled dot products have one, by sqrt(d_k)",
               "去掉除法；只有缩放点积才除，除的是 sqrt(d_k)"},
       .test = {"CHECK(weights do not depend on how much padding follows);", "CHECK(权重与后面有多少填充无关);"}},
      {.id = "estimated",
       .code = "SCALE_OTHER",
       .apply =
           [](Model& m, const Arrays& a) {
             if (!estimate_temperature(m, a)) return false;
             const double t = attention(m).temperature;
             return t > 0 && (score(m).score != Score::scaled_dot || std::fabs(t - 1) > 1e-6);
           },
       .sentence = {"the scores are scaled by a constant, a temperature, which no paper here does",
                    "分数乘或除了一个常数（温度），论文里没有"},
       .used = "alpha = softmax(e / temperature)",
       .paper = "alpha = softmax(e)",
       .fix = {"remove the factor", "去掉该因子"},
       .test = "CHECK(check_reference(decoder, inputs, claimed).passed);",
       .fitted = true},
      {.id = "negated",
       .code = "SCORE_NEGATED",
       .apply = [](Model& m, const Arrays&) { return attention(m).temperature = -1, true; },
       .sentence = {"the scores are negated: the worst match gets the largest weight",
                    "分数取了负号：最不匹配的位置得到最大权重"},
       .used = "alpha = softmax(-e)",
       .paper = "alpha = softmax(e)",
       .fix = {"remove the minus sign", "去掉负号"},
       .test = {"CHECK(alpha is largest where e is largest);", "CHECK(e 最大处 alpha 最大);"}},
  };
  return f;
}

std::vector<Field> weight_fields() {
  std::vector<Field> fields;
  fields.push_back(
      {"axis",
       {Stage::weights},
       {"the softmax axis", "softmax 的轴"},
       {"at least two examples, two steps and two encoder positions", "至少两个样本、两步、两个编码器位置"},
       {}});
  fields.back().options = {
      usual(),
      {.id = "batch",
       .code = "SOFTMAX_AXIS_BATCH",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::batch, true; },
       .sentence = {"the softmax runs over the batch: weights of different examples compete",
                    "softmax 沿批次进行：不同样本的权重互相竞争"},
       .used = "alpha_{b,i} = exp(e_{b,i}) / sum_b exp(e_{b,i})",
       .paper = "alpha_{b,i} = exp(e_{b,i}) / sum_i exp(e_{b,i})",
       .fix = {"softmax over the encoder positions, the last axis: Axis{1} of (B, T_enc), Axis{2} of (B, T_dec, T_enc)",
               "沿编码器位置即最后一轴做 softmax：(B, T_enc) 用 Axis{1}，(B, T_dec, T_enc) 用 Axis{2}"},
       .test = {"CHECK(sum(alpha, Axis{2}) == 1) and row 0 alone must give row 0",
                "CHECK(sum(alpha, Axis{2}) == 1)，且单独运行第 0 行时第 0 行不变"}},
      {.id = "queries",
       .code = "SOFTMAX_AXIS_QUERIES",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::queries, true; },
       .sentence = {"the softmax runs over the decoder steps instead of the encoder positions",
                    "softmax 沿解码步进行，而不是编码器位置"},
       .used = "alpha_{t,i} = exp(e_{t,i}) / sum_t exp(e_{t,i})",
       .paper = "alpha_{t,i} = exp(e_{t,i}) / sum_i exp(e_{t,i})",
       .fix = {"softmax over the last axis, T_enc", "沿最后一维 T_enc 做 softmax"},
       .test = "CHECK(sum(alpha, Axis{2}) == 1);"},
      {.id = "singleton",
       .code = "SOFTMAX_AXIS_SINGLETON",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::singleton, true; },
       .sentence = {"the softmax runs over an axis of length 1: every weight is 1 and the context is a plain sum",
                    "softmax 沿长度为 1 的轴进行：每个权重都是 1，上下文只是求和"},
       .used = "alpha_i = exp(e_i) / exp(e_i) = 1",
       .paper = "alpha_i = exp(e_i) / sum_j exp(e_j)",
       .fix = {"name the axis of the encoder positions: (B, T, 1) needs Axis{1}",
               "指明编码器位置所在的轴：(B, T, 1) 要用 Axis{1}"},
       .test = {"CHECK(sum(alpha, Axis{2}) == 1) and a scorer gradient other than 0",
                "CHECK(sum(alpha, Axis{2}) == 1)，且打分器的梯度不为 0"}},
      {.id = "keys_and_queries",
       .code = "SOFTMAX_AXIS_JOINT",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::keys_and_queries, true; },
       .sentence = {"the softmax runs over steps and positions together", "softmax 同时沿解码步与编码器位置进行"},
       .used = "alpha_{t,i} = exp(e_{t,i}) / sum_{t,i} exp(e_{t,i})",
       .paper = "alpha_{t,i} = exp(e_{t,i}) / sum_i exp(e_{t,i})",
       .fix = {"softmax over the last axis alone", "只沿最后一维做 softmax"},
       .test = "CHECK(sum(alpha, Axis{2}) == 1);"},
      {.id = "batch_and_keys",
       .code = "SOFTMAX_AXIS_ALL",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::batch_and_keys, true; },
       .sentence = {"the softmax of a step runs over the whole batch: no axis is named",
                    "每一步的 softmax 对整批一起归一化：没有指明轴"},
       .used = "alpha_{b,i} = exp(e_{b,i}) / sum_{b,i} exp(e_{b,i})",
       .paper = "alpha_{b,i} = exp(e_{b,i}) / sum_i exp(e_{b,i})",
       .fix = {"name the axis of the encoder positions: exp(e) / exp(e).sum(-1, keepdims=True)",
               "指明编码器位置所在的轴：exp(e) / exp(e).sum(-1, keepdims=True)"},
       .test = {"CHECK(sum(alpha, Axis{2}) == 1) and row 0 alone must give row 0",
                "CHECK(sum(alpha, Axis{2}) == 1)，且单独运行第 0 行时第 0 行不变"}},
      {.id = "all",
       .code = "SOFTMAX_AXIS_ALL",
       .kind = Kind::axis,
       .apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::all, true; },
       .sentence = {"the softmax runs over all scores of the batch together", "softmax 对整批所有分数一起归一化"},
       .used = {"alpha = softmax over everything", "alpha = 对全部分数一起取 softmax"},
       .paper = {"alpha_{b,t} = softmax(e_{b,t}) for each row", "alpha_{b,t} = softmax(e_{b,t})，各行分别计算"},
       .fix = {"softmax over the last axis alone", "只沿最后一维做 softmax"},
       .test = "CHECK(sum(alpha, Axis{2}) == 1);"},
  };
  for (const bool over_heads : {true, false}) {
    Option o = fields.back().options[1];  // as over the batch
    o.id = over_heads ? "heads" : "batch_of_head";
    if (over_heads) {
      o.code = "SOFTMAX_AXIS_HEADS";
      o.apply = [](Model& m, const Arrays&) { return attention(m).axis = SoftmaxAxis::heads, m.heads.heads > 1; };
      o.sentence = {"the softmax runs over the heads: weights of different heads compete",
                    "softmax 沿头维进行：不同头的权重互相竞争"};
      o.used = {"alpha_{k,i} = exp(e_{k,i}) / sum_k exp(e_{k,i}), k a head",
                "alpha_{k,i} = exp(e_{k,i}) / sum_k exp(e_{k,i})，k 是头"};
      o.paper = "alpha_{k,i} = exp(e_{k,i}) / sum_i exp(e_{k,i})";
    } else {
      o.apply = [](Model& m, const Arrays&) {
        return attention(m).axis = SoftmaxAxis::batch_of_head, m.heads.heads > 1;
      };
    }
    o.fix = {"softmax over the last axis of (B, heads, T_q, T_k)", "沿 (B, heads, T_q, T_k) 的最后一维做 softmax"};
    o.test = "CHECK(sum(alpha, Axis{3}) == 1);";
    fields.back().options.push_back(o);
  }
  fields.push_back({"normaliser",
                    {Stage::weights},
                    {"how scores become weights", "分数如何变成权重"},
                    {"several positions whose scores differ", "分数互不相同的多个位置"},
                    {}});
  const char* softmax = "alpha_i = exp(e_i) / sum_j exp(e_j)";
  const Said use_softmax = {"use softmax over the encoder positions", "沿编码器位置做 softmax"};
  const char* sums = "CHECK(sum(alpha, Axis{2}) == 1);";
  fields.back().options = {
      usual(),
      {.id = "twice",
       .code = "ATTN_SOFTMAX_TWICE",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::softmax_twice, true; },
       .sentence = {"the softmax is applied twice, so the weights are almost uniform",
                    "softmax 做了两次，权重几乎均匀"},
       .used = "alpha = softmax(softmax(e))",
       .paper = softmax,
       .fix = {"apply softmax once", "只做一次 softmax"},
       .test = {"CHECK(one huge score gives weight 1);", "CHECK(一个极大的分数得到权重 1);"}},
      {.id = "twice_masked",
       .code = "ATTN_SOFTMAX_TWICE",
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).normaliser = Normaliser::softmax_twice_masked, padded(a); },
       .sentence = {"the softmax is applied twice, masked both times, so the weights are almost uniform",
                    "softmax 做了两次，两次都用了掩码，权重几乎均匀"},
       .used = "alpha = softmax(softmax(e, mask), mask)",
       .paper = softmax,
       .fix = {"apply softmax once", "只做一次 softmax"},
       .test = {"CHECK(one huge score gives weight 1);", "CHECK(一个极大的分数得到权重 1);"}},
      {.id = "over_sum",
       .code = "WEIGHTS_OVER_SUM",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::over_sum, true; },
       .sentence = {"the scores are divided by their sum; there is no exponential", "分数只是除以总和，没有取指数"},
       .used = "alpha_i = e_i / sum_j e_j",
       .paper = softmax,
       .fix = use_softmax,
       .test = "CHECK(alpha >= 0);"},
      {.id = "over_max",
       .code = "WEIGHTS_OVER_MAX",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::over_max, true; },
       .sentence = {"the scores are divided by their maximum", "分数只是除以最大值"},
       .used = "alpha_i = e_i / max_j e_j",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "sigmoid",
       .code = "WEIGHTS_SIGMOID",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::sigmoid, true; },
       .sentence = {"each weight is a sigmoid of its own score: they do not compete",
                    "每个权重各自取 sigmoid，互不竞争"},
       .used = "alpha_i = sigmoid(e_i)",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "relu",
       .code = "WEIGHTS_RELU",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::relu, true; },
       .sentence = {"the weights are relu of the scores", "权重是分数的 relu"},
       .used = "alpha_i = max(0, e_i)",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "identity",
       .code = "SOFTMAX_MISSING",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::identity, true; },
       .sentence = {"the softmax is missing: raw scores are used as weights", "缺少 softmax：直接把分数当作权重"},
       .used = "alpha_i = e_i",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "hardmax",
       .code = "WEIGHTS_HARDMAX",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::hardmax, true; },
       .sentence = {"only the largest score gets a weight", "只有最大的分数得到权重"},
       .used = "alpha = one_hot(argmax e)",
       .paper = softmax,
       .fix = use_softmax,
       .test = {"CHECK(norm(gradient of the scorer) > 0);", "CHECK(norm(打分器的梯度) > 0);"}},
      {.id = "exp",
       .code = "SOFTMAX_NOT_NORMALISED",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::exp, true; },
       .sentence = {"the exponentials are never divided by their sum", "取了指数却没有除以总和"},
       .used = "alpha_i = exp(e_i)",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "exp_shifted",
       .code = "SOFTMAX_NOT_NORMALISED",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::exp_shifted, true; },
       .sentence = {"the exponentials of the scores less the largest are never divided by their sum",
                    "对减去最大值的分数取了指数，却没有除以总和"},
       .used = "alpha_i = exp(e_i - max e)",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "exp_times_sum",
       .code = "SOFTMAX_TIMES_SUM",
       .apply = [](Model& m,
                   const Arrays&) { return attention(m).normaliser = Normaliser::exp_shifted_times_sum, true; },
       .sentence = {"the exponentials are multiplied by their sum where they should be divided",
                    "指数乘以了总和，本该相除"},
       .used = "alpha_i = exp(e_i - max e) * sum_j exp(e_j - max e)",
       .paper = softmax,
       .fix = use_softmax,
       .test = sums},
      {.id = "log_softmax",
       .code = "WEIGHTS_LOG_SOFTMAX",
       .apply = [](Model& m, const Arrays&) { return attention(m).normaliser = Normaliser::log_softmax, true; },
       .sentence = {"the weights are log_softmax of the scores", "权重用了 log_softmax"},
       .used = "alpha_i = e_i - log sum_j exp(e_j)",
       .paper = softmax,
       .fix = {"use softmax, not log_softmax", "用 softmax，不要用 log_softmax"},
       .test = sums},
      {.id = "dropout",
       .code = "DROPOUT_TRAIN_MODE",
       .level = Level::benign,
       .kind = Kind::dropout,
       .apply = read_dropout,
       .sentence =
           {"dropout is active on the weights: their sums are 1 on average only; dump a trace in evaluation mode",
            "权重上的 dropout 正在起作用：求和只在平均意义下为 1；请在评估模式下导出"},
       .used = "alpha = dropout(softmax(e))",
       .paper = softmax,
       .fix = {"nothing to fix; call model.eval() before you look at weights",
               "无需修改；查看权重之前调用 model.eval()"},
       .test = sums,
       .rare = true,
       .fitted = true},
      {.id = "overflow",
       .code = "SOFTMAX_OVERFLOW",
       .kind = Kind::numerics,
       .apply =
           [](Model& m, const Arrays& a) {
             const Array* alpha = find(a, "alpha");
             bool nan = false;
             if (alpha)
               for (double x : alpha->data) nan = nan || std::isnan(x);
             return attention(m).normaliser = Normaliser::unshifted_softmax, nan;
           },
       .sentence = {"the softmax does not subtract the maximum and overflows", "softmax 没有减去最大值，发生上溢"},
       .used = "exp(e_i) / sum_j exp(e_j)",
       .paper = "exp(e_i - max e) / sum_j exp(e_j - max e)",
       .fix = {"subtract the largest score first", "先减去最大分数"},
       .test = "CHECK(softmax(e + 1000) == softmax(e));"},
  };
  fields.push_back(
      {"mask",
       {Stage::weights},
       {"the mask", "掩码"},
       {"a batch whose lengths differ, with padding behind the shorter ones", "长度不同的一批样本，短的后面有填充"},
       {}});
  const Said fill = {"set masked scores to -infinity before the softmax", "softmax 之前把被掩码的分数设为负无穷"};
  const Line pads = {"CHECK(alpha at padding == 0) and appended padding must change nothing",
                     "CHECK(填充处的 alpha == 0)，且追加填充后什么也不改变"};
  Line paper = "alpha = softmax(where(mask, e, -inf))";
  fields.back().options = {
      // Along another axis than the keys a padded column is masked as a whole: a large negative fill makes it uniform.
      usual([](Model& m, const Arrays&) {
        const bool keys = attention(m).axis == SoftmaxAxis::keys;
        return attention(m).empty_row = keys ? EmptyRow::zeros : EmptyRow::uniform, true;
      }),
      {.id = "ignore",
       .code = "MASK_MISSING",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).mask_use = MaskUse::ignore, padded(a) && !padding_is_a_bias(a);
           },
       .sentence = {"there is no mask: padding gets weight", "没有掩码：填充位置也得到权重"},
       .used = {"alpha = softmax(e) over all T_enc", "alpha = softmax(e)，对全部 T_enc 个位置"},
       .paper = paper,
       .fix = fill,
       .test = pads},
      {.id = "pad_not_zero",
       .code = "PAD_NOT_ZERO",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_use = MaskUse::ignore, padding_is_a_bias(a); },
       .sentence = {"padding is taken to be zero and so is not masked, but a bias has filled it",
                    "以为填充处为零而不加掩码，其实偏置已把它填成非零"},
       .used = {"alpha = softmax(e) over all T_enc, h_pad = b", "alpha = softmax(e)，对全部 T_enc 个位置，h_pad = b"},
       .paper = paper,
       .fix = fill,
       .test = {"make the bias large: CHECK(outputs at real positions are unchanged);",
                "让偏置变大：CHECK(真实位置上的输出不变);"}},
      {.id = "multiply_before",
       .code = "MASK_MULT_BEFORE_SOFTMAX",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_use = MaskUse::multiply_before, padded(a); },
       .sentence = {"the mask is multiplied into the scores: a score of 0 still gets weight exp(0)",
                    "掩码乘进了分数：分数 0 仍有 exp(0) 的权重"},
       .used = "alpha = softmax(e * mask)",
       .paper = paper,
       .fix = fill,
       .test = pads},
      {.id = "multiply_after",
       .code = "MASK_AFTER_NO_RENORM",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_use = MaskUse::multiply_after, padded(a); },
       .sentence = {"the mask is multiplied after the softmax and the weights no longer sum to 1",
                    "softmax 之后才乘掩码，权重之和不再是 1"},
       .used = "alpha = softmax(e) * mask",
       .paper = paper,
       .fix = fill,
       .test = sums},
      {.id = "add",
       .code = "MASK_ADDED",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_use = MaskUse::add, padded(a); },
       .sentence = {"the mask itself (1 and 0) is added to the scores", "把掩码本身（1 和 0）加到了分数上"},
       .used = "alpha = softmax(e + mask)",
       .paper = paper,
       .fix = fill,
       .test = pads},
      {.id = "add_inverted",
       .code = "MASK_ADDED",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             attention(m).mask_use = MaskUse::lower, attention(m).mask_fill = 1;
             return padded(a);
           },
       .sentence =
           {"the mask of the padding (1 there, 0 elsewhere) is added to the scores as a number: padding is raised "
            "by 1",
            "填充的掩码（填充处为 1，其余为 0）被当作数值加到了分数上：填充位置反而加了 1"},
       .used = "alpha = softmax(e + (1 - mask))",
       .paper = paper,
       .fix = fill,
       .test = pads},
      {.id = "queries",
       .code = "MASK_WRONG_AXIS",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             attention(m).mask_read = MaskRead::queries;
             attention(m).empty_row = EmptyRow::uniform;
             return hides_a_query(a);
           },
       .sentence = {"the mask lies along the queries instead of the keys", "掩码加在查询轴上，而不是键轴上"},
       .used = {"row t is masked where mask[t] is false", "mask[t] 为 false 时第 t 行被掩码"},
       .paper = {"column i is masked where mask[i] is false", "mask[i] 为 false 时第 i 列被掩码"},
       .fix = {"expand the mask over the decoder steps: (B, 1, T_enc)", "把掩码按 (B, 1, T_enc) 扩展"},
       .test = pads},
      {.id = "inverted",
       .code = "MASK_INVERTED",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_read = MaskRead::inverted, padded(a); },
       .sentence = {"the mask is inverted: real positions are hidden and padding is attended to",
                    "掩码取反了：真实位置被遮住，填充反而被关注"},
       .used = "alpha = softmax(where(mask, -inf, e))",
       .paper = paper,
       .fix = {"true means real here: use the mask as it is", "true 表示真实位置：直接使用，不要取反"},
       .test = pads},
      {.id = "inverted_uniform",
       .code = "MASK_INVERTED",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).mask_read = MaskRead::inverted, attention(m).empty_row = EmptyRow::uniform,
                    padded(a) && some_row_is_full(a);
           },
       .sentence = {"the mask is inverted: real positions are hidden and padding is attended to",
                    "掩码取反了：真实位置被遮住，填充反而被关注"},
       .used = "alpha = softmax(where(mask, -inf, e))",
       .paper = paper,
       .fix = {"true means real here: use the mask as it is", "true 表示真实位置：直接使用，不要取反"},
       .test = pads},
      {.id = "inverted_nan",
       .code = "MASK_INVERTED",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).mask_read = MaskRead::inverted, attention(m).empty_row = EmptyRow::nan,
                    padded(a) && some_row_is_full(a);
           },
       .sentence = {"the mask is inverted: real positions are hidden and padding is attended to",
                    "掩码取反了：真实位置被遮住，填充反而被关注"},
       .used = "alpha = softmax(where(mask, -inf, e))",
       .paper = paper,
       .fix = {"true means real here: use the mask as it is", "true 表示真实位置：直接使用，不要取反"},
       .test = pads},
      {.id = "one_short",
       .code = "MASK_OFF_BY_ONE",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_read = MaskRead::one_short, has(a, "mask"); },
       .sentence = {"the mask is one position short: the last real token is hidden",
                    "掩码少了一位：最后一个真实词被遮住"},
       .used = "mask = arange(T_enc) < length - 1",
       .paper = "mask = arange(T_enc) < length",
       .fix = {"compare with the length itself", "与长度本身比较"},
       .test = {"CHECK(alpha at position length - 1 > 0);", "CHECK(位置 length - 1 的 alpha > 0);"}},
      {.id = "one_long",
       .code = "MASK_OFF_BY_ONE",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_read = MaskRead::one_long, padded(a); },
       .sentence = {"the mask is one position too long: the first padding gets weight",
                    "掩码多了一位：第一个填充得到权重"},
       .used = "mask = arange(T_enc) <= length",
       .paper = "mask = arange(T_enc) < length",
       .fix = {"compare with <, not <=", "用 < 而不是 <="},
       .test = pads},
      {.id = "next_example",
       .code = "MASK_OTHER_EXAMPLE",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_read = MaskRead::next_example, padded(a); },
       .sentence = {"the mask belongs to another example of the batch", "掩码是批内另一个样本的"},
       .used = "alpha_b = softmax(where(mask_{b+1}, e_b, -inf))",
       .paper = paper,
       .fix = {"sort masks and sentences together", "掩码与句子一起排序"},
       .test = pads},
      {.id = "first_example",
       .code = "MASK_OTHER_EXAMPLE",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).mask_read = MaskRead::first_example, padded(a) && !first_row_is_full(a);
           },
       .sentence = {"the mask belongs to the first example of the batch", "掩码是批内第一个样本的"},
       .used = {"the mask of another example", "另一个样本的掩码"},
       .paper = paper,
       .fix = {"sort masks and sentences together", "掩码与句子一起排序"},
       .test = pads},
      {.id = "previous_example",
       .code = "MASK_OTHER_EXAMPLE",
       .kind = Kind::mask,
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).mask_read = MaskRead::previous_example, padded(a); },
       .sentence = {"the mask belongs to another example of the batch", "掩码是批内另一个样本的"},
       .used = {"the mask of another example", "另一个样本的掩码"},
       .paper = paper,
       .fix = {"sort masks and sentences together", "掩码与句子一起排序"},
       .test = pads},
      {.id = "longest_first",
       .code = "MASK_OTHER_EXAMPLE",
       .kind = Kind::mask,
       .apply = masks_are_sorted<true>,
       .sentence =
           {"the mask belongs to another example: the masks are sorted by length, longest first, the sentences are not",
            "掩码是批内另一个样本的：掩码按长度从长到短排过序，句子没有"},
       .used = "mask_{b,i} = i < sorted(lengths)_b, descending",
       .paper = paper,
       .fix = {"sort masks and sentences together", "掩码与句子一起排序"},
       .test = pads},
      {.id = "shortest_first",
       .code = "MASK_OTHER_EXAMPLE",
       .kind = Kind::mask,
       .apply = masks_are_sorted<false>,
       .sentence = {"the mask belongs to another example: the masks are sorted by length, shortest first, the "
                    "sentences are not",
                    "掩码是批内另一个样本的：掩码按长度从短到长排过序，句子没有"},
       .used = "mask_{b,i} = i < sorted(lengths)_b, ascending",
       .paper = paper,
       .fix = {"sort masks and sentences together", "掩码与句子一起排序"},
       .test = pads},
      {.id = "first_step",
       .code = "MASK_AT_SOME_STEPS",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_read = MaskRead::first_step, padded(a); },
       .sentence = {"the mask is used at the first step only: later steps attend to padding",
                    "只有第一步用了掩码：之后各步都关注到填充"},
       .used = {"alpha_t = softmax(e_t) over all T_enc for t > 1",
                "t > 1 时 alpha_t = softmax(e_t)，对全部 T_enc 个位置"},
       .paper = paper,
       .fix = {"mask the scores inside the loop, at every step", "在循环内每一步都加掩码"},
       .test = pads},
      {.id = "later_steps",
       .code = "MASK_AT_SOME_STEPS",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return attention(m).mask_read = MaskRead::later_steps, padded(a); },
       .sentence = {"the first step uses no mask and attends to padding; the later ones do use it",
                    "第一步没有用掩码、关注到填充；之后各步才用"},
       .used = {"alpha_1 = softmax(e_1) over all T_enc", "alpha_1 = softmax(e_1)，对全部 T_enc 个位置"},
       .paper = paper,
       .fix = {"mask the scores of the first step too", "第一步的分数也要加掩码"},
       .test = pads},
      {.id = "causal_self",
       .level = Level::choice,
       .kind = Kind::mask,
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).mask_read = MaskRead::causal, attends_to_itself(a); },
       .sentence = {"a causal mask: position t attends up to t, right in a decoder's self-attention (Vaswani et al. "
                    "2017, section 3.2.3) and wrong in an encoder's",
                    "因果掩码：位置 t 只看到 t 为止；用于解码器的自注意力是对的（Vaswani 等 2017，3.2.3 节），"
                    "用于编码器则是错的"}},
      {.id = "causal_too_long",
       .code = "MASK_CAUSAL_SEES_NEXT",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return causal(m, a, MaskRead::causal_too_long); },
       .sentence = {"the causal mask is one position too long: position t sees t + 1, the word to be predicted",
                    "因果掩码多了一位：位置 t 能看到 t + 1，即要预测的词"},
       .used = "mask_{t,i} = i <= t + 1",
       .paper = "mask_{t,i} = i <= t",
       .fix = {"start the triangle at the first diagonal above: triu(ones, 1)", "上三角从主对角线上方第一条开始"},
       .test = {"change position t + 1: CHECK(output_t is unchanged);", "改变位置 t + 1：CHECK(output_t 不变);"}},
      {.id = "causal_reversed",
       .code = "MASK_CAUSAL_REVERSED",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return causal(m, a, MaskRead::causal_reversed); },
       .sentence = {"the causal mask is reversed: position t sees the future and not the past",
                    "因果掩码反了：位置 t 看到未来、看不到过去"},
       .used = "mask_{t,i} = i >= t",
       .paper = "mask_{t,i} = i <= t",
       .fix = {"exchange triu and tril", "把 triu 与 tril 换过来"},
       .test = {"change position t + 1: CHECK(output_t is unchanged);", "改变位置 t + 1：CHECK(output_t 不变);"}},
      {.id = "causal",
       .code = "MASK_CAUSAL",
       .kind = Kind::mask,
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).mask_read = MaskRead::causal, !attends_to_itself(a); },
       .sentence = {"a causal mask hides encoder positions after step t", "因果掩码遮住了第 t 步之后的编码器位置"},
       .used = "mask_{t,i} = i <= t",
       .paper = {"every real encoder position may be attended at every step", "每一步都可以关注每个真实的编码器位置"},
       .fix = {"use the causal mask for self-attention of the decoder only", "因果掩码只用于解码器的自注意力"},
       .test = {"CHECK(alpha at the last real position > 0 at step 0);",
                "CHECK(第 0 步时最后一个真实位置的 alpha > 0);"}},
      {.id = "finite_fill",
       .code = "MASK_FINITE_FILL",
       .kind = Kind::mask,
       .apply = [](Model& m, const Arrays& a) { return padded(a) && has(a, "alpha") && estimate_fill(m, a); },
       .sentence = {"masked scores are set to a number that is not far enough below the others",
                    "被掩码的分数设成了一个不够小的数"},
       .used = {"alpha = softmax(where(mask, e, constant))", "alpha = softmax(where(mask, e, 常数))"},
       .paper = paper,
       .fix = fill,
       .test = pads,
       .fitted = true},
      {.id = "nan",
       .code = "ALL_MASKED_NAN",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             const Array* alpha = find(a, "alpha");
             bool nan = false;
             if (alpha)
               for (double x : alpha->data) nan = nan || std::isnan(x);
             return attention(m).empty_row = EmptyRow::nan, nan;
           },
       .sentence = {"a row with nothing to attend to gives 0/0 = NaN", "整行都被掩码时得到 0/0 = NaN"},
       .used = "softmax(-inf, ..., -inf) = NaN",
       .paper = {"a stated policy: zeros, or an error", "写明如何处理：给零，或报错"},
       .fix = {"give such a row zero weights and zero gradient, or refuse it", "这样的行给零权重与零梯度，或直接报错"},
       .test = {"CHECK(isfinite(alpha)) with a sentence of length 0", "用长度为 0 的句子：CHECK(isfinite(alpha))"}},
      {.id = "uniform",
       .code = "ALL_MASKED_UNIFORM",
       .level = Level::choice,
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             const Array* mask = find(a, "mask");
             bool empty = false;
             for (std::size_t b = 0; mask && b < mask->dim(0); ++b) {
               double real = 0;
               for (double x : mask->row({b})) real += x;
               empty = empty || real == 0;
             }
             return attention(m).empty_row = EmptyRow::uniform, empty;
           },
       .sentence = {"a row with nothing to attend to gets uniform weights", "整行都被掩码时权重是均匀的"},
       .used = {"fill = -1e9: all scores equal, weights 1/T", "fill = -1e9：分数全部相等，权重为 1/T"},
       .paper = {"zeros, or an error", "给零，或报错"},
       .fix = {"give such a row zero weights, or refuse it", "这样的行给零权重，或直接报错"},
       .test = {"CHECK(alpha == 0) with a sentence of length 0", "用长度为 0 的句子：CHECK(alpha == 0)"},
       .rare = true},
  };
  return fields;
}

std::vector<Field> context_fields() {
  std::vector<Field> fields;
  Line paper = "c_t = sum_i alpha_{t,i} h_i";
  const Line hull = {"if all h_i equal h: CHECK(c == h);", "所有 h_i 都等于 h 时：CHECK(c == h);"};
  fields.push_back(
      {"values",
       {Stage::context},
       {"what the weights are multiplied with", "权重乘的是什么"},
       {"annotations that differ between positions and examples", "在位置与样本之间互不相同的编码器隐藏状态"},
       {}});
  fields.back().options = {
      usual(),
      {.id = "projected",
       .code = "CONTEXT_OF_PROJECTED_KEYS",
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).values_are_projected_keys = true, projects_keys(m, a); },
       .sentence = {"the context sums the projected keys U_a h_i instead of h_i",
                    "上下文对投影后的键 U_a h_i 求和，而不是 h_i"},
       .used = "c_t = sum_i alpha_{t,i} U_a h_i",
       .paper = paper,
       .fix = {"multiply the weights with H itself", "权重乘 H 本身"},
       .test = hull},
      {.id = "next_example",
       .code = "CONTEXT_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).values = MemoryRead::next_example, get(a, "H").dim(0) > 1; },
       .sentence = {"the context sums another example's annotations", "上下文取自批内另一个样本"},
       .used = "c_b = sum_i alpha_{b,i} h_{b+1,i}",
       .paper = paper,
       .fix = {"index weights and values by the same example", "权重与值按同一样本索引"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "first_example",
       .code = "CONTEXT_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).values = MemoryRead::first_example, has(a, "H") && get(a, "H").dim(0) > 1;
           },
       .sentence = {"the values are those of the first example of the batch", "值取自批内第一个样本"},
       .used = {"h of another example", "另一个样本的 h"},
       .paper = {"h_{b,i} of the same example b", "同一样本 b 的 h_{b,i}"},
       .fix = {"index everything by the same example", "全部按同一样本索引"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "previous_example",
       .code = "CONTEXT_OTHER_EXAMPLE",
       .kind = Kind::axis,
       .apply =
           [](Model& m, const Arrays& a) {
             return attention(m).values = MemoryRead::previous_example, has(a, "H") && get(a, "H").dim(0) > 2;
           },
       .sentence = {"the values are those of another example of the batch", "值取自批内另一个样本"},
       .used = {"h of another example", "另一个样本的 h"},
       .paper = {"h_{b,i} of the same example b", "同一样本 b 的 h_{b,i}"},
       .fix = {"index everything by the same example", "全部按同一样本索引"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "reversed",
       .code = "CONTEXT_REVERSED",
       .apply = [](Model& m, const Arrays&) { return attention(m).values = MemoryRead::time_reversed, true; },
       .sentence = {"weight i meets annotation T+1-i: the values run backwards",
                    "权重 i 乘了第 T+1-i 个状态：值的顺序是倒的"},
       .used = "c_t = sum_i alpha_{t,i} h_{T+1-i}",
       .paper = paper,
       .fix = {"turn the values round again", "把值再翻转回来"},
       .test = {"one weight of 1 at i: CHECK(c == h_i);", "只有 i 处权重为 1：CHECK(c == h_i);"}},
      {.id = "reshaped",
       .code = "RESHAPE_FOR_TRANSPOSE",
       .kind = Kind::shape,
       .apply = [](Model& m,
                   const Arrays& a) { return attention(m).values = MemoryRead::reshaped, get(a, "H").dim(0) > 1; },
       .sentence = {"the values were reshaped from (T, B, d) to (B, T, d) where they had to be transposed",
                    "值由 (T, B, d) 直接 reshape 成 (B, T, d)，本该转置"},
       .used = "values = reshape(H_TB, (B, T, d))",
       .paper = "values = transpose(H_TB, Axis{0}, Axis{1})",
       .fix = {"transpose the axes, then reshape", "先转置再 reshape"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
      {.id = "shifted_on",
       .code = "CONTEXT_SHIFTED",
       .apply = [](Model& m, const Arrays&) { return attention(m).value_shift = 1, true; },
       .sentence = {"weight i meets annotation i+1", "权重 i 乘了第 i+1 个状态"},
       .used = "c_t = sum_i alpha_{t,i} h_{i+1}",
       .paper = paper,
       .fix = {"align weights and annotations (a start token on one side only?)",
               "对齐权重与状态（是否只有一边有起始符?）"},
       .test = {"one weight of 1 at i: CHECK(c == h_i);", "只有 i 处权重为 1：CHECK(c == h_i);"}},
      {.id = "shifted_back",
       .code = "CONTEXT_SHIFTED",
       .apply = [](Model& m, const Arrays&) { return attention(m).value_shift = -1, true; },
       .sentence = {"weight i meets annotation i-1", "权重 i 乘了第 i-1 个状态"},
       .used = "c_t = sum_i alpha_{t,i} h_{i-1}",
       .paper = paper,
       .fix = {"align weights and annotations (a start token on one side only?)",
               "对齐权重与状态（是否只有一边有起始符?）"},
       .test = {"one weight of 1 at i: CHECK(c == h_i);", "只有 i 处权重为 1：CHECK(c == h_i);"}},
  };
  fields.push_back({"sum",
                    {Stage::context},
                    {"the sum of the context", "上下文的求和"},
                    {"weights that are neither uniform nor 0 and 1, in an example without padding",
                     "没有填充的样本，且权重既不均匀也非 0/1"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "uniform",
       .code = "CONTEXT_MEAN",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::uniform, true; },
       .sentence = {"the context is the plain mean of the annotations; the weights are not used",
                    "上下文只是平均值，没有使用权重"},
       .used = "c_t = mean_i h_i",
       .paper = paper,
       .fix = {"multiply by the weights", "乘上权重"},
       .test = {"CHECK(norm(gradient of the scorer) > 0);", "CHECK(norm(打分器的梯度) > 0);"}},
      {.id = "first",
       .code = "CONTEXT_FIRST",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::first, true; },
       .sentence = {"the context is the first annotation; the weights are not used",
                    "上下文就是第一个状态，没有使用权重"},
       .used = "c_t = h_1",
       .paper = paper,
       .fix = {"multiply by the weights", "乘上权重"},
       .test = {"CHECK(norm(gradient of the scorer) > 0);", "CHECK(norm(打分器的梯度) > 0);"}},
      {.id = "last",
       .code = "CONTEXT_LAST",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::last, true; },
       .sentence = {"the context is the last annotation, as without attention; the weights are not used",
                    "上下文就是最后一个状态，等于没有注意力"},
       .used = "c_t = h_T",
       .paper = paper,
       .fix = {"multiply by the weights", "乘上权重"},
       .test = {"CHECK(norm(gradient of the scorer) > 0);", "CHECK(norm(打分器的梯度) > 0);"}},
      {.id = "all_but_first",
       .code = "CONTEXT_WITHOUT_FIRST",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::all_but_first, true; },
       .sentence = {"the sum leaves out the first position: its loop begins at the second",
                    "求和漏了第一个位置：循环从第二个位置开始"},
       .used = {"c_t = sum over i > 1 of alpha_{t,i} h_i", "c_t = 对 i > 1 求和 alpha_{t,i} h_i"},
       .paper = paper,
       .fix = {"let i run from the first position", "让 i 从第一个位置开始"},
       .test = {"one weight of 1 at i: CHECK(c == h_i);", "只有 i 处权重为 1：CHECK(c == h_i);"}},
      {.id = "all_but_last",
       .code = "CONTEXT_WITHOUT_LAST",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::all_but_last, true; },
       .sentence = {"the sum leaves out position T_enc: its loop ends one too early",
                    "求和漏了第 T_enc 个位置：循环提前一步结束"},
       .used = {"c_t = sum over i < T of alpha_{t,i} h_i", "c_t = 对 i < T 求和 alpha_{t,i} h_i"},
       .paper = paper,
       .fix = {"let i run to the last position", "让 i 运行到最后一个位置"},
       .test = {"one weight of 1 at i: CHECK(c == h_i);", "只有 i 处权重为 1：CHECK(c == h_i);"}},
      {.id = "over_length",
       .code = "CONTEXT_OVER_LENGTH",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::over_length, true; },
       .sentence = {"the weighted sum is divided by T_enc once more (mean instead of sum)",
                    "加权和又除以 T_enc（用了 mean 而不是 sum）"},
       .used = "c_t = 1/T sum_i alpha_{t,i} h_i",
       .paper = paper,
       .fix = {"use sum, not mean", "用 sum，不要用 mean"},
       .test = hull},
      {.id = "largest",
       .code = "CONTEXT_HARD",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_sum = ContextSum::largest, true; },
       .sentence = {"the context is the annotation with the largest weight alone", "上下文只取权重最大的那个状态"},
       .used = "c_t = h_{argmax alpha}",
       .paper = paper,
       .fix = {"take the weighted sum", "取加权和"},
       .test = {"CHECK(norm(gradient of the scorer) > 0);", "CHECK(norm(打分器的梯度) > 0);"}},
      {.id = "stale",
       .code = "CONTEXT_STALE_WEIGHTS",
       .apply = [](Model& m, const Arrays& a) { return m.weights_of_the_step_before = true, has(a, "alpha"); },
       .sentence = {"the context uses the weights of the step before", "上下文用的是上一步的注意力权重"},
       .used = "c_t = sum_i alpha_{t-1,i} h_i",
       .paper = paper,
       .fix = {"compute the weights first, then the context", "先算权重再算上下文"},
       .test = {"CHECK(c == weighted sum with this step's alpha);", "CHECK(c == 用本步 alpha 的加权和);"}},
      {.id = "adds_up",
       .code = "CONTEXT_ACCUMULATES",
       .apply = [](Model& m, const Arrays& a) { return m.contexts_add_up = true, has(a, "alpha"); },
       .sentence = {"contexts add up from step to step", "上下文逐步累加"},
       .used = "c_t = c_{t-1} + sum_i alpha_{t,i} h_i",
       .paper = paper,
       .fix = {"start each step's sum at 0", "每一步的求和从 0 开始"},
       .test = hull},
      {.id = "of_scores",
       .code = "CONTEXT_OF_SCORES",
       .apply = [](Model& m, const Arrays& a) { return m.weighing = Model::Weighing::scores, has(a, "alpha"); },
       .sentence = {"the context is weighed with the raw scores; the softmax is not used",
                    "上下文用原始分数加权，没有用 softmax 之后的权重"},
       .used = "c_t = sum_i e_{t,i} h_i",
       .paper = paper,
       .fix = {"multiply by alpha, not by e", "乘 alpha 而不是 e"},
       .test = hull},
      {.id = "unmasked",
       .code = "CONTEXT_UNMASKED_WEIGHTS",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.weighing = Model::Weighing::unmasked,
                    has(a, "alpha") && padded(a) && attention(m).mask_use != MaskUse::ignore;
           },
       .sentence = {"the context is weighed with weights that no mask touched, though alpha as returned is masked",
                    "返回的 alpha 加了掩码，上下文用的权重却没有"},
       .used = {"c_t = sum_i softmax(e)_i h_i over padding too", "c_t = sum_i softmax(e)_i h_i，填充也算在内"},
       .paper = paper,
       .fix = {"use the masked weights", "使用加了掩码的权重"},
       .test = {"change the padding: CHECK(c is unchanged);", "改变填充：CHECK(c 不变);"}},
      {.id = "factor",
       .code = "CONTEXT_SCALED",
       .apply =
           [](Model& m, const Arrays& a) {
             if (!estimate_factor(m, a)) return false;
             const double T = static_cast<double>(get(a, "H").dim(1));
             return std::fabs(m.context_factor * T - 1) > 1e-6;
           },
       .sentence = {"the weighted sum is multiplied by a constant", "加权和又乘了一个常数"},
       .used = "c_t = constant * sum_i alpha_{t,i} h_i",
       .paper = paper,
       .fix = {"remove the factor", "去掉该因子"},
       .test = hull,
       .fitted = true},
  };
  fields.push_back({"squash",
                    {Stage::context},
                    {"what is done to the context", "对上下文的处理"},
                    {"annotations that are not close to 0", "不接近 0 的编码器隐藏状态"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "tanh",
       .code = "CONTEXT_TANH",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_activation = Activation::tanh, true; },
       .sentence = {"the context goes through tanh and leaves the hull of the annotations",
                    "上下文又过了 tanh，离开了编码器隐藏状态的凸包"},
       .used = "c_t = tanh(sum_i alpha_{t,i} h_i)",
       .paper = paper,
       .fix = {"remove the tanh; only the attentional vector has one", "去掉 tanh；只有注意力向量才有 tanh"},
       .test = hull},
      {.id = "relu",
       .code = "CONTEXT_RELU",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_activation = Activation::relu, true; },
       .sentence = {"the context goes through relu", "上下文又过了 relu"},
       .used = "c_t = relu(sum_i alpha_{t,i} h_i)",
       .paper = paper,
       .fix = {"remove the relu", "去掉 relu"},
       .test = hull},
      {.id = "sigmoid",
       .code = "CONTEXT_SIGMOID",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_activation = Activation::sigmoid, true; },
       .sentence = {"the context goes through sigmoid", "上下文又过了 sigmoid"},
       .used = "c_t = sigmoid(sum_i alpha_{t,i} h_i)",
       .paper = paper,
       .fix = {"remove the sigmoid", "去掉 sigmoid"},
       .test = hull},
      {.id = "softmax",
       .code = "CONTEXT_SOFTMAX",
       .apply = [](Model& m, const Arrays&) { return attention(m).context_activation = Activation::softmax, true; },
       .sentence = {"the context goes through softmax", "上下文又过了 softmax"},
       .used = "c_t = softmax(sum_i alpha_{t,i} h_i)",
       .paper = paper,
       .fix = {"remove the softmax", "去掉 softmax"},
       .test = hull},
  };
  return fields;
}

}  // namespace

std::vector<Field> attention_fields() {
  std::vector<Field> all = {score_field(), query_field()};
  for (std::vector<Field> more : {score_detail_fields(), {scale_field()}, weight_fields(), context_fields()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace gradus::diagnosis
