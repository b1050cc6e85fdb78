// Hypotheses about the decoder's cell input, attentional vector, readout and initial state, and about heads.
#include <algorithm>

#include "nn/conventions/hypotheses_tables.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

Line check = "CHECK(check_reference(decoder, inputs, claimed).passed);";

// An option that only says which parts are joined.
template <What... joined> Parts parts() { return {Part{joined, 0}...}; }

template <What... joined> Option readout(const char* id, const char* code, Level level, Said sentence, Line used) {
  Option o;
  o.id = id, o.code = code, o.level = level, o.sentence = sentence, o.used = used;
  o.apply = [](Model& m, const Arrays& a) {
    m.decoder.readout = parts<joined...>();
    m.decoder.readout_form = Readout::linear;
    return has(a, "W_o") && !has(a, "U_o");
  };
  o.paper = {"Bahdanau: maxout of U_o s_{t-1} + V_o E y_{t-1} + C_o c_t; Luong: logits = W_o s~_t",
             "Bahdanau：对 U_o s_{t-1} + V_o E y_{t-1} + C_o c_t 取 maxout；Luong：logits = W_o s~_t"};
  o.fix = {"read the logits out of what the claimed paper uses", "按所声称论文的方式计算 logits"};
  o.test = check;
  return o;
}

// Columns that a part needs in W_o; 0 where the trace does not tell.
std::size_t width_of(What what, const Arrays& a) {
  const auto last = [&](const char* name) { return has(a, name) ? get(a, name).shape.back() : 0; };
  if (what == What::y_emb) return last("y_emb");
  if (what == What::context) return last("c");
  if (what == What::attentional) return has(a, "W_c") ? get(a, "W_c").dim(0) : last("htilde");
  return has(a, "s") ? last("s") : last("s_0");
}

// Whether W_o has the columns of all these parts joined, or of each of them where they may be added. What the trace does
// not tell may be so, but beside s~, which few readouts join with anything, all must be known: there are too many orders.
bool goes_with_readout(std::initializer_list<What> joined, const Arrays& a) {
  const std::size_t columns = get(a, "W_o").shape.back();
  const bool with_vector = std::find(joined.begin(), joined.end(), What::attentional) != joined.end();
  std::size_t sum = 0;
  bool may_be_added = !with_vector;
  for (What what : joined) {
    const std::size_t width = width_of(what, a);
    if (width == 0) return !with_vector;
    sum += width;
    may_be_added = may_be_added && width == columns;
  }
  return sum == columns || may_be_added;
}

// The logits from several parts joined, in this order: any of them may be meant.
template <What... joined> Option joined_readout() {
  const auto reads = [](What what) { return ((joined == what) || ...); };
  const auto list = [](const char* between, auto name_of) {
    std::string text;
    ((text += (text.empty() ? "" : between) + std::string(name_of(joined))), ...);
    return text;
  };
  static const std::string id = list(",", [](What what) {
    return what == What::state ? "s" : what == What::y_emb ? "y" : what == What::context ? "c" : "htilde";
  });
  static const std::string parts_joined =
      "[" +
      list("; ",
           [](What what) {
             return what == What::state ? "s_t" : what == What::y_emb ? "y" : what == What::context ? "c_t" : "s~_t";
           }) +
      "]";
  static const std::string en = "the logits come from " + parts_joined, zh = "logits 由 " + parts_joined + " 得到",
                           used = "logits = W_o " + parts_joined;
  Option o = readout<joined...>(id.c_str(),
                                reads(What::attentional) ? "READOUT_HTILDE_JOINED"
                                : !reads(What::context)  ? "READOUT_WITHOUT_CONTEXT"
                                : !reads(What::state)    ? "READOUT_WITHOUT_STATE"
                                                         : "READOUT_STATE_CONTEXT",
                                Level::choice, {en.c_str(), zh.c_str()}, used.c_str());
  o.apply = [](Model& m, const Arrays& a) {
    m.decoder.readout = parts<joined...>();
    m.decoder.readout_form = Readout::linear;
    return has(a, "W_o") && !has(a, "U_o") && goes_with_readout({joined...}, a);
  };
  return o;
}

// Two or three parts in all their orders, behind those that stand in front.
template <What a, What b, What... front> void orders_of_two(std::vector<Option>& to) {
  to.push_back(joined_readout<front..., a, b>());
  to.push_back(joined_readout<front..., b, a>());
}
template <What a, What b, What c, What... front> void orders_of_three(std::vector<Option>& to) {
  orders_of_two<b, c, front..., a>(to);
  orders_of_two<a, c, front..., b>(to);
  orders_of_two<a, b, front..., c>(to);
}

// Turns what the cell reads round; false where it reads one part alone.
bool other_order(Model& m) {
  std::reverse(m.decoder.cell_input.begin(), m.decoder.cell_input.end());
  return m.decoder.cell_input.size() > 1;
}

// Sizes that do not go together are no such model.
template <FirstFed from> bool fed_first(Model& m, const Arrays& a) {
  m.decoder.first_fed = from;
  const Array *W_c = find(a, "W_c"), *htilde = find(a, "htilde"), *s = find(a, "s"), *H = find(a, "H");
  const Parts& read = m.decoder.cell_input;
  if (std::find(read.begin(), read.end(), htilde_prev) == read.end() || (!W_c && !htilde) || !s || !H) return false;
  const std::size_t d = W_c ? W_c->dim(0) : htilde->dim(2);
  if (from == FirstFed::projected) return W_c != nullptr;
  return d == (from == FirstFed::state ? s->dim(2) : H->dim(2));
}

// Replaces the parts of one kind by the same ones of another step.
bool shift(Parts& list, What what, int lag) {
  bool found = false;
  for (Part& p : list)
    if (p.what == what && p.lag != lag) p.lag = lag, found = true;
  return found;
}

std::vector<Field> input_fields() {
  std::vector<Field> fields;
  fields.push_back({"input",
                    {Stage::cell},
                    {"what the cell reads", "循环单元的输入"},
                    {"contexts that differ from step to step", "逐步变化的上下文向量"},
                    {}});
  fields.back().options = {
      {.id = "c_t",
       .code = "CELL_READS_CONTEXT",
       .level = Level::choice,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.cell_input = {y_emb, c_t}, has(a, "y_emb");
           },
       .sentence = {"the cell reads [y_{t-1}; c_t], the context of its own step",
                    "循环单元读 [y_{t-1}; c_t]，即本步的上下文"},
       .used = "s_t = RNN([y_{t-1}; c_t], s_{t-1})",
       .paper = {"s_t = RNN([y_{t-1}; s~_{t-1}], s_{t-1}): the context reaches the cell by input feeding only (Luong "
                 "et al. 2015)",
                 "s_t = RNN([y_{t-1}; s~_{t-1}], s_{t-1})：上下文只经输入馈送进入循环单元 (Luong 等 2015)"},
       .fix = {"take the context out of the cell's input", "把上下文从循环单元的输入中去掉"},
       .test = "CHECK(probe_context_route(decoder, inputs, ContextRoute::next_step).passed);"},
      {.id = "c_prev",
       .code = "CELL_CONTEXT_LATE",
       .level = Level::choice,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.cell_input = {y_emb, c_prev}, has(a, "y_emb") && !has(a, "W_c");
           },
       .sentence = {"the cell reads c_{t-1}, the context of the step before", "循环单元读的是上一步的上下文 c_{t-1}"},
       .used = "s_t = RNN([y_{t-1}; c_{t-1}], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1}) (Bahdanau et al. 2014, section 3.1)",
       .fix = {"attend first, then give the cell this step's context", "先做注意力，再把本步的上下文交给循环单元"},
       .test = "CHECK(probe_context_route(decoder, inputs, ContextRoute::this_step).passed);"},
      {.id = "feeds_context",
       .code = "INPUT_FEED_CONTEXT",
       .level = Level::choice,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.cell_input = {y_emb, c_prev}, has(a, "y_emb") && has(a, "W_c");
           },
       .sentence = {"the context c_{t-1} is fed back instead of the attentional vector",
                    "反馈给输入的是上下文 c_{t-1}，而不是注意力向量"},
       .used = "x_t = [y_{t-1}; c_{t-1}]",
       .paper = "x_t = [y_{t-1}; s~_{t-1}], s~ = tanh(W_c [c; s]) (Luong et al. 2015, section 3.3)",
       .fix = {"feed s~ of the last step", "反馈上一步的注意力向量"},
       .test = "CHECK(probe_feeding(decoder, inputs, true).passed);"},
      {.id = "none",
       .code = "CONTEXT_NOT_IN_CELL",
       .level = Level::choice,
       .apply = [](Model& m, const Arrays& a) { return m.decoder.cell_input = {y_emb}, has(a, "y_emb"); },
       .sentence = {"the cell reads the input alone; the context goes to the output only",
                    "循环单元只读输入；上下文只用于输出"},
       .used = "s_t = RNN(y_{t-1}, s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1}) (Bahdanau et al. 2014, section 3.1)",
       .fix = {"join c_t to the cell's input", "把 c_t 拼进循环单元的输入"},
       .test = "CHECK(probe_context_route(decoder, inputs, ContextRoute::this_step).passed);"},
      {.id = "feeding",
       .code = "CELL_READS_ATTENTIONAL",
       .level = Level::choice,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.cell_input = {y_emb, htilde_prev}, has(a, "y_emb") && (has(a, "W_c") || has(a, "htilde"));
           },
       .sentence = {"input feeding: the cell reads [y_{t-1}; s~_{t-1}]", "输入馈送：循环单元读 [y_{t-1}; s~_{t-1}]"},
       .used = "s_t = RNN([y_{t-1}; s~_{t-1}], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1}) (Bahdanau et al. 2014, section 3.1)",
       .fix = {"feed the context of this step", "输入本步的上下文"},
       .test = "CHECK(probe_context_route(decoder, inputs, ContextRoute::this_step).passed);"},
      {.id = "context_alone",
       .code = "CELL_IGNORES_INPUT",
       .apply = [](Model& m, const Arrays&) { return m.decoder.cell_input = {c_t}, true; },
       .sentence = {"the cell reads the context alone, not the last word", "循环单元只读上下文，没有读上一个词"},
       .used = "s_t = RNN(c_t, s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1})",
       .fix = {"join the word's embedding to the input", "把词嵌入拼进输入"},
       .test = "CHECK(norm(y_emb.grad()) > 0);"},
      {.id = "feeds_before_tanh",
       .code = "INPUT_FEED_NO_TANH",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.cell_input = {y_emb, {What::before_tanh, 1}}, has(a, "y_emb") && has(a, "W_c");
           },
       .sentence = {"what is fed back is W_c [c; s] from before the tanh, not the attentional vector",
                    "反馈给输入的是 tanh 之前的 W_c [c; s]，而不是注意力向量"},
       .used = "x_t = [y_{t-1}; W_c [c_{t-1}; s_{t-1}]]",
       .paper = "x_t = [y_{t-1}; s~_{t-1}], s~ = tanh(W_c [c; s]) (Luong et al. 2015, section 3.3)",
       .fix = {"feed s~ after its tanh", "反馈 tanh 之后的注意力向量"},
       .test = {"CHECK(abs(what is fed) < 1);", "CHECK(abs(反馈给输入的向量) < 1);"}},
      {.id = "feeds_state",
       .code = "INPUT_FEED_STATE",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.cell_input = {y_emb, s_prev}, has(a, "y_emb");
           },
       .sentence = {"the state s_{t-1} is joined to the cell's input where context or attentional vector belongs",
                    "拼进输入的是状态 s_{t-1}，本该是上下文或注意力向量"},
       .used = "x_t = [y_{t-1}; s_{t-1}]",
       .paper = {"x_t = [y_{t-1}; c_t], or [y_{t-1}; s~_{t-1}]", "x_t = [y_{t-1}; c_t]，或 [y_{t-1}; s~_{t-1}]"},
       .fix = {"join the context (Bahdanau) or the attentional vector (Luong)",
               "拼接上下文（Bahdanau）或注意力向量（Luong）"},
       .test = check},
  };
  fields.push_back({"input_order",
                    {Stage::cell},
                    {"the order of the cell's input", "循环单元输入的拼接顺序"},
                    {"inputs whose parts differ", "各部分互不相同的输入"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "context_first",
       .code = "CELL_INPUT_ORDER",
       .level = Level::benign,
       .apply = [](Model& m, const Arrays&) { return other_order(m) && m.decoder.cell_input.front() != htilde_prev; },
       .sentence = {"the cell's input is joined as [context; y]", "循环单元的输入按 [上下文；y] 拼接"},
       .used = "x_t = [c; y]",
       .paper = "x_t = [y; c]",
       .fix = {"nothing to fix; exchange the columns of W when you move weights", "无需修改；迁移权重时交换 W 的列块"},
       .test = check},
      {.id = "attentional_first",
       .code = "CELL_INPUT_ORDER",
       .level = Level::benign,
       .apply = [](Model& m, const Arrays&) { return other_order(m) && m.decoder.cell_input.front() == htilde_prev; },
       .sentence = {"the cell's input is joined as [s~; y]", "循环单元的输入按 [s~；y] 拼接"},
       .used = "x_t = [s~_{t-1}; y_{t-1}]",
       .paper = "x_t = [y_{t-1}; s~_{t-1}]",
       .fix = {"nothing to fix; exchange the columns of W when you move weights", "无需修改；迁移权重时交换 W 的列块"},
       .test = check},
  };
  fields.push_back({"input_time",
                    {Stage::cell},
                    {"which input the cell reads", "循环单元读哪一步的输入"},
                    {"inputs that differ from step to step", "逐步变化的输入"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "next",
       .code = "INPUT_OF_NEXT_STEP",
       .kind = Kind::data,
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.cell_input, What::y_emb, -1); },
       .sentence = {"the cell reads the word that it should predict: the input is one step early",
                    "循环单元读到了它要预测的词：输入早了一步"},
       .used = "s_t = RNN([y_t; ...], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; ...], s_{t-1})",
       .fix = {"shift the inputs: [sos, y_1, ...]", "把输入右移：[sos, y_1, ...]"},
       .test = {"change y_t: CHECK(logits_t is unchanged);", "改变 y_t：CHECK(logits_t 不变);"}},
      {.id = "previous",
       .code = "INPUT_OF_LAST_STEP",
       .kind = Kind::data,
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.cell_input, What::y_emb, 1); },
       .sentence = {"the cell reads an input that is one step old", "循环单元读的输入晚了一步"},
       .used = "s_t = RNN([y_{t-2}; ...], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; ...], s_{t-1})",
       .fix = {"do not shift the inputs twice", "不要把输入移位两次"},
       .test = {"change y_{t-1}: CHECK(s_t changes);", "改变 y_{t-1}：CHECK(s_t 改变);"}},
      {.id = "frozen",
       .code = "INPUT_FROZEN",
       .kind = Kind::data,
       .apply =
           [](Model& m, const Arrays&) {
             for (Part& p : m.decoder.cell_input)
               if (p.what == What::y_emb) return p.what = What::first_input, true;
             return false;
           },
       .sentence = {"the cell reads the first input at every step", "循环单元每一步读的都是第一个输入"},
       .used = "s_t = RNN([y_0; ...], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; ...], s_{t-1})",
       .fix = {"take the next word in each turn of the loop", "循环的每一轮都取下一个词"},
       .test = {"change y_1: CHECK(s_3 changes);", "改变 y_1：CHECK(s_3 改变);"}},
      {.id = "context_two_back",
       .code = "CELL_CONTEXT_TWO_BACK",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.cell_input, What::context, 2); },
       .sentence = {"the cell reads a context that is two steps old", "循环单元读的上下文晚了两步"},
       .used = "s_t = RNN([y_{t-1}; c_{t-2}], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1})",
       .fix = {"pass the context of this step", "传入本步的上下文"},
       .test = check},
      {.id = "attentional_two_back",
       .code = "INPUT_FEED_TWO_BACK",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.cell_input, What::attentional, 2); },
       .sentence = {"the attentional vector that is fed is two steps old", "反馈的注意力向量晚了两步"},
       .used = "x_t = [y_{t-1}; s~_{t-2}]",
       .paper = "x_t = [y_{t-1}; s~_{t-1}]",
       .fix = {"feed s~ of the last step", "反馈上一步的注意力向量"},
       .test = check},
      {.id = "context_zero",
       .code = "CELL_CONTEXT_ZERO",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.cell_input, What::context, 1 << 20); },
       .sentence = {"zeros stand in the cell's input where the context belongs",
                    "循环单元输入里本该是上下文的位置全是零"},
       .used = "s_t = RNN([y_{t-1}; 0], s_{t-1})",
       .paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1})",
       .fix = {"attend before the cell runs, then pass it c_t", "先做注意力，再让循环单元读 c_t"},
       .test = "CHECK(probe_context_route(decoder, inputs, ContextRoute::this_step).passed);"},
      {.id = "attentional_zero",
       .code = "INPUT_FEED_ZERO",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.cell_input, What::attentional, 1 << 20); },
       .sentence = {"zeros are fed where the attentional vector belongs", "本该反馈注意力向量的位置全是零"},
       .used = "x_t = [y_{t-1}; 0]",
       .paper = "x_t = [y_{t-1}; s~_{t-1}]",
       .fix = {"keep s~ for the next step", "把注意力向量留到下一步"},
       .test = "CHECK(probe_feeding(decoder, inputs, true).passed);"},
      {.id = "added",
       .code = "CELL_INPUT_ADDED",
       .apply = [](Model& m, const Arrays&) { return m.input_is_added = true, m.decoder.cell_input.size() > 1; },
       .sentence = {"the parts of the cell's input are added instead of joined",
                    "循环单元输入的各部分是相加而不是拼接"},
       .used = "x_t = y_{t-1} + c_t",
       .paper = "x_t = [y_{t-1}; c_t]",
       .fix = {"join them", "改为拼接"},
       .test = "CHECK(W.shape() == Shape{gates * d_s, d_emb + d_h});"},
  };
  fields.push_back({"first_fed",
                    {Stage::cell},
                    {"the attentional vector that is fed first", "最先馈送的注意力向量"},
                    {"a first state that is not 0", "不为 0 的初始状态"},
                    {}});
  const auto first = [&](const char* id, const char* code, auto apply, Said sentence, Line used) {
    fields.back().options.push_back({.id = id,
                                     .code = code,
                                     .level = Level::choice,
                                     .apply = apply,
                                     .sentence = sentence,
                                     .used = used,
                                     .paper = {"s~_0 = 0: there is no attentional vector before the first step",
                                               "s~_0 = 0：第一步之前没有注意力向量"},
                                     .fix = {"feed zeros at the first step", "第一步馈送零向量"},
                                     .test = check,
                                     .rare = true});
  };
  fields.back().options = {usual()};
  first("state", "INPUT_FEED_FIRST_STATE", fed_first<FirstFed::state>,
        {"the first attentional vector that is fed is s_0", "最先馈送的注意力向量是 s_0"}, "s~_0 = s_0");
  first("projected", "INPUT_FEED_FIRST_PROJECTED", fed_first<FirstFed::projected>,
        {"the first attentional vector that is fed is made of s_0 and a context of zeros",
         "最先馈送的注意力向量由 s_0 与零上下文算出"},
        "s~_0 = tanh(W_c [0; s_0])");
  first("last_position", "INPUT_FEED_FIRST_ENCODER", fed_first<FirstFed::last_position>,
        {"the first attentional vector that is fed is the encoder's last real position",
         "最先馈送的注意力向量是编码器最后一个真实位置的向量"},
        "s~_0 = h_n");
  fields.push_back({"carry",
                    {Stage::cell},
                    {"the state that the cell continues", "循环单元接着哪个状态"},
                    {"at least two steps", "至少两步"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "initial",
       .code = "STATE_NOT_CARRIED",
       .kind = Kind::data,
       .apply = [](Model& m, const Arrays&) { return m.decoder.carry = Carry::initial, true; },
       .sentence = {"every step starts again from s_0", "每一步都从 s_0 重新开始"},
       .used = "s_t = RNN(x_t, s_0)",
       .paper = "s_t = RNN(x_t, s_{t-1})",
       .fix = {"pass the new state on to the next step", "把新状态传给下一步"},
       .test = {"change y_0: CHECK(s_2 changes);", "改变 y_0：CHECK(s_2 改变);"}},
      {.id = "memory",
       .code = "LSTM_MEMORY_NOT_CARRIED",
       .kind = Kind::lstm,
       .apply = [](Model& m, const Arrays&) { return m.memory_not_carried = true, lstm(m) != nullptr; },
       .sentence = {"the memory cell starts again at every step; only h is passed on",
                    "细胞状态每一步都重新开始，只传递了 h"},
       .used = "c_t = f c_0 + i g",
       .paper = "c_t = f c_{t-1} + i g",
       .fix = {"pass (h, c) on, not h alone", "传递 (h, c)，而不只是 h"},
       .test = {"change y_0: CHECK(the memory of step 2 changes);", "改变 y_0：CHECK(第 2 步的细胞状态改变);"}},
      {.id = "residual",
       .code = "CELL_RESIDUAL",
       .kind = Kind::gru,
       .apply = [](Model& m, const Arrays&) { return m.cell_is_residual = true; },
       .sentence = {"the old state is added to the cell's output", "循环单元的输出又加上了旧状态"},
       .used = "s_t = s_{t-1} + RNN(x_t, s_{t-1})",
       .paper = "s_t = RNN(x_t, s_{t-1})",
       .fix = {"remove the residual connection", "去掉残差连接"},
       .test = "CHECK(abs(s_t) <= 1);"},
      {.id = "attentional",
       .code = "STATE_IS_ATTENTIONAL",
       .apply = [](Model& m, const Arrays& a) { return m.decoder.carry = Carry::attentional, has(a, "W_c"); },
       .sentence = {"the attentional vector takes the state's place: the cell continues s~_{t-1}, not s_{t-1}",
                    "注意力向量顶替了状态：循环单元接着的是 s~_{t-1}，而不是 s_{t-1}"},
       .used = "s_t = RNN(x_t, s~_{t-1})",
       .paper = {"s_t = RNN(x_t, s_{t-1}), s~_t = tanh(W_c [c_t; s_t]) goes to the output (and into x_{t+1})",
                 "s_t = RNN(x_t, s_{t-1})，s~_t = tanh(W_c [c_t; s_t]) 进入输出（以及 x_{t+1}）"},
       .fix = {"keep the cell's state and s~ in two variables", "循环单元的状态与 s~ 用两个变量"},
       .test = {"W_c = 0: CHECK(s_2 still depends on y_0);", "W_c = 0：CHECK(s_2 仍依赖 y_0);"}},
      {.id = "context",
       .code = "STATE_IS_CONTEXT",
       .apply = [](Model& m, const Arrays&) { return m.decoder.carry = Carry::context, true; },
       .sentence = {"the context takes the state's place: the cell continues c_{t-1}, not s_{t-1}",
                    "上下文顶替了状态：循环单元接着的是 c_{t-1}，而不是 s_{t-1}"},
       .used = "s_t = RNN(x_t, c_{t-1})",
       .paper = "s_t = RNN(x_t, s_{t-1})",
       .fix = {"keep state and context in two variables", "状态与上下文用两个变量"},
       .test = {"H = 0: CHECK(s_2 still depends on y_0);", "H = 0：CHECK(s_2 仍依赖 y_0);"}},
  };
  return fields;
}

std::vector<Field> vector_fields() {
  std::vector<Field> fields;
  Line paper = "s~_t = tanh(W_c [c_t; s_t]) (Luong et al. 2015, eq. 5)";
  fields.push_back({"join",
                    {Stage::attentional},
                    {"what the attentional vector joins", "注意力向量拼接什么"},
                    {"contexts and states that differ", "互不相同的上下文与状态"},
                    {}});
  fields.back().options = {
      usual([](Model& m, const Arrays& a) {
        m.decoder.attentional = {c_t, s_t};
        return has(a, "W_c");
      }),
      {.id = "state_first",
       .code = "CONCAT_ORDER",
       .level = Level::benign,
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.attentional = {s_t, c_t}, has(a, "W_c");
           },
       .sentence = {"the attentional vector joins [s_t; c_t], the state first",
                    "注意力向量按 [s_t; c_t] 拼接，状态在前"},
       .used = "s~_t = tanh(W_c [s_t; c_t])",
       .paper = paper,
       .fix = {"nothing to fix; exchange the columns of W_c when you move weights",
               "无需修改；迁移权重时交换 W_c 的列块"},
       .test = check},
      {.id = "old_state",
       .code = "ATTN_VECTOR_OLD_STATE",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.attentional = {c_t, s_prev}, has(a, "W_c");
           },
       .sentence = {"the attentional vector joins s_{t-1} instead of s_t", "注意力向量拼接了 s_{t-1} 而不是 s_t"},
       .used = "s~_t = tanh(W_c [c_t; s_{t-1}])",
       .paper = paper,
       .fix = {"use the new state", "使用新状态"},
       .test = check},
      {.id = "bottom",
       .code = "ATTN_VECTOR_BOTTOM_LAYER",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.attentional = {c_t, {What::bottom_state, 0}}, has(a, "W_c") && m.decoder.layers > 1;
           },
       .sentence = {"the attentional vector joins the state of the bottom layer", "注意力向量拼接了最底层的状态"},
       .used = "s~_t = tanh(W_c [c_t; s^1_t])",
       .paper = {"s~_t = tanh(W_c [c_t; s^L_t]), the top layer", "s~_t = tanh(W_c [c_t; s^L_t])，取顶层"},
       .fix = {"take the last layer: state[-1]", "取最后一层：state[-1]"},
       .test = check},
      {.id = "old_context",
       .code = "ATTN_VECTOR_OLD_CONTEXT",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.attentional = {c_prev, s_t}, has(a, "W_c");
           },
       .sentence = {"the attentional vector joins c_{t-1} instead of c_t", "注意力向量拼接了 c_{t-1} 而不是 c_t"},
       .used = "s~_t = tanh(W_c [c_{t-1}; s_t])",
       .paper = paper,
       .fix = {"use this step's context", "使用本步的上下文"},
       .test = check},
      {.id = "context_alone",
       .code = "ATTN_VECTOR_WITHOUT_STATE",
       .apply = [](Model& m, const Arrays& a) { return m.decoder.attentional = {c_t}, has(a, "W_c"); },
       .sentence = {"the attentional vector is made from the context alone", "注意力向量只由上下文得到"},
       .used = "s~_t = tanh(W_c c_t)",
       .paper = paper,
       .fix = {"join s_t", "拼上 s_t"},
       .test = check},
      {.id = "state_alone",
       .code = "ATTN_VECTOR_WITHOUT_CONTEXT",
       .apply = [](Model& m, const Arrays& a) { return m.decoder.attentional = {s_t}, has(a, "W_c"); },
       .sentence = {"the attentional vector is made from the state alone: attention reaches no output",
                    "注意力向量只由状态得到：注意力没有进入输出"},
       .used = "s~_t = tanh(W_c s_t)",
       .paper = paper,
       .fix = {"join c_t", "拼上 c_t"},
       .test = "CHECK(probe_source(decoder, inputs, true).passed);"},
      {.id = "with_input",
       .code = "ATTN_VECTOR_WITH_INPUT",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.attentional = {c_t, y_emb}, has(a, "W_c") && has(a, "y_emb");
           },
       .sentence = {"the attentional vector joins the input embedding instead of the state",
                    "注意力向量拼接了输入词嵌入而不是状态"},
       .used = "s~_t = tanh(W_c [c_t; y_{t-1}])",
       .paper = paper,
       .fix = {"join s_t, not y", "拼接 s_t 而不是 y"},
       .test = check},
      {.id = "added",
       .code = "ATTN_VECTOR_ADDED",
       .apply =
           [](Model& m, const Arrays& a) {
             return m.decoder.attentional = {c_t, s_t}, m.vector_is_added = true, has(a, "W_c");
           },
       .sentence = {"context and state are added instead of joined", "上下文与状态是相加而不是拼接"},
       .used = "s~_t = tanh(W_c (c_t + s_t))",
       .paper = paper,
       .fix = {"join them", "改为拼接"},
       .test = check},
  };
  Option no_vector;
  no_vector.id = "no_vector", no_vector.level = Level::benign;
  no_vector.apply = [](Model&, const Arrays& a) { return !has(a, "W_c"); };
  fields.back().options.push_back(no_vector);
  fields.push_back({"vector_tanh",
                    {Stage::attentional},
                    {"the attentional vector's activation", "注意力向量的激活函数"},
                    {"vectors that are not close to 0", "不接近 0 的向量"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "identity",
       .code = "ATTN_VECTOR_NO_TANH",
       .apply = [](Model& m,
                   const Arrays& a) { return m.decoder.attentional_activation = Activation::identity, has(a, "W_c"); },
       .sentence = {"the tanh of the attentional vector is missing", "注意力向量缺少 tanh"},
       .used = "s~_t = W_c [c_t; s_t]",
       .paper = paper,
       .fix = {"put tanh around W_c [c; s]", "在 W_c [c; s] 外加 tanh"},
       .test = "CHECK(abs(htilde) < 1);"},
      {.id = "relu",
       .code = "ATTN_VECTOR_RELU",
       .apply = [](Model& m,
                   const Arrays& a) { return m.decoder.attentional_activation = Activation::relu, has(a, "W_c"); },
       .sentence = {"the attentional vector uses relu", "注意力向量用了 relu"},
       .used = "s~_t = relu(W_c [c_t; s_t])",
       .paper = paper,
       .fix = {"use tanh", "改用 tanh"},
       .test = check},
      {.id = "sigmoid",
       .code = "ATTN_VECTOR_SIGMOID",
       .apply = [](Model& m,
                   const Arrays& a) { return m.decoder.attentional_activation = Activation::sigmoid, has(a, "W_c"); },
       .sentence = {"the attentional vector uses sigmoid", "注意力向量用了 sigmoid"},
       .used = "s~_t = sigmoid(W_c [c_t; s_t])",
       .paper = paper,
       .fix = {"use tanh", "改用 tanh"},
       .test = check},
  };
  fields.push_back(
      {"b_c", {Stage::attentional}, {"the bias b_c", "偏置 b_c"}, {"a bias other than 0", "不为 0 的偏置"}, {}});
  fields.back().options = {
      usual(),
      {.id = "ignored",
       .code = "ATTN_VECTOR_BIAS_IGNORED",
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& arrays) { arrays.erase("b_c"); });
             return has(a, "b_c") && has(a, "W_c");
           },
       .sentence = {"the bias b_c is there but never added", "偏置 b_c 存在却没有加上"},
       .used = "s~_t = tanh(W_c [c; s])",
       .paper = "s~_t = tanh(W_c [c; s] + b_c)",
       .fix = {"add b_c, or remove it", "加上 b_c，或删掉它"},
       .test = "CHECK(norm(b_c.grad()) > 0);"},
  };
  return fields;
}

std::vector<Field> readout_fields() {
  std::vector<Field> fields;
  const Level c = Level::choice;
  fields.push_back({"readout",
                    {Stage::readout},
                    {"what the logits are read out of", "logits 由什么计算"},
                    {"states and contexts that differ", "互不相同的状态与上下文"},
                    {}});
  Option maxout;
  maxout.id = "maxout", maxout.level = c, maxout.code = "READOUT_MAXOUT";
  maxout.apply = [](Model& m, const Arrays& a) {
    m.decoder.readout = {s_t, y_emb, c_t};
    m.decoder.readout_form = Readout::maxout;
    return has(a, "W_o") && has(a, "U_o") && has(a, "V_o") && has(a, "C_o");
  };
  maxout.sentence = {"maxout readout of state, input and context", "由状态、输入与上下文经 maxout 得到 logits"};
  maxout.used = {"t~ = U_o s + V_o E y_{t-1} + C_o c_t, logits = W_o max(pairs of t~)",
                 "t~ = U_o s + V_o E y_{t-1} + C_o c_t，logits = W_o max(t~ 的相邻两个)"};
  Option halves = maxout;
  halves.id = "maxout_halves", halves.code = "MAXOUT_HALVES", halves.rare = true;
  halves.apply = [](Model& m, const Arrays& a) {
    m.decoder.readout = {s_t, y_emb, c_t};
    m.decoder.readout_form = Readout::maxout_halves;
    return has(a, "W_o") && has(a, "U_o") && has(a, "V_o") && has(a, "C_o");
  };
  halves.sentence = {"the maxout pairs the two halves of t~ instead of neighbours",
                     "maxout 把 t~ 的前后两半配对，而不是相邻两个"};
  halves.paper = "max(t~_{2k-1}, t~_{2k}) (Bahdanau et al. 2014, appendix A.2.2)";
  halves.fix = {"pair neighbours, or reorder the rows when you move weights", "相邻配对，或迁移权重时重排行"};
  halves.test = check;
  fields.back().options = {
      maxout,
      halves,
      readout<What::attentional>("htilde", "READOUT_HTILDE", c,
                                 {"the logits come from the attentional vector", "logits 由注意力向量得到"},
                                 "logits = W_o s~_t"),
      readout<What::state>("s", "READOUT_WITHOUT_CONTEXT", c,
                           {"the logits come from the state alone", "logits 只由状态得到"}, "logits = W_o s_t"),
      readout<What::context>("c", "READOUT_WITHOUT_STATE", Level::error,
                             {"the logits come from the context alone", "logits 只由上下文得到"}, "logits = W_o c_t"),
  };
  std::vector<Option>& list = fields.back().options;
  constexpr What s = What::state, y = What::y_emb, context = What::context, htilde = What::attentional;
  orders_of_two<s, context>(list);
  orders_of_three<s, y, context>(list);
  orders_of_two<s, y>(list);
  orders_of_two<y, context>(list);
  orders_of_two<htilde, s>(list);
  orders_of_two<htilde, y>(list);
  orders_of_two<htilde, context>(list);
  orders_of_three<htilde, s, y>(list);
  orders_of_three<htilde, s, context>(list);
  orders_of_three<htilde, y, context>(list);
  orders_of_three<s, y, context, htilde>(list);
  orders_of_three<htilde, y, context, s>(list);
  orders_of_three<htilde, s, context, y>(list);
  orders_of_three<htilde, s, y, context>(list);
  Option none;
  none.id = "no_readout", none.level = Level::benign;
  none.apply = [](Model&, const Arrays& a) { return !has(a, "W_o"); };
  fields.back().options.push_back(none);

  fields.push_back({"readout_time",
                    {Stage::readout},
                    {"the readout's state", "输出所用的状态"},
                    {"states of at least two different steps", "至少两步互不相同的状态"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "s_prev",
       .code = "READOUT_S_PREV",
       .level = Level::benign,
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.readout, What::state, 1); },
       .sentence = {"the readout uses s_{t-1}, as in the appendix of Bahdanau et al. 2014 (section 3.1 writes s_t)",
                    "输出用 s_{t-1}，如 Bahdanau 2014 附录（3.1 节写的是 s_t）"},
       .used = "t~ = U_o s_{t-1} + V_o E y_{t-1} + C_o c_t",
       .paper = "p(y_t | ...) = g(y_{t-1}, s_t, c_t) (section 3.1)",
       .fix = {"nothing to fix; say which of the two you use", "无需修改；说明用的是哪一种"},
       .test = check},
  };
  fields.push_back({"readout_parts",
                    {Stage::readout},
                    {"which parts the readout reads", "输出读到哪些部分"},
                    {"states, contexts and words that differ from step to step", "逐步变化的状态、上下文与词"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "context_late",
       .code = "READOUT_CONTEXT_LATE",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.readout, What::context, 1); },
       .sentence = {"the readout uses the context of the step before", "输出用的是上一步的上下文"},
       .used = {"logits_t from c_{t-1}", "logits_t 由 c_{t-1} 得到"},
       .paper = {"logits_t from c_t", "logits_t 由 c_t 得到"},
       .fix = {"read out after the context is new", "上下文更新之后再输出"},
       .test = check},
      {.id = "attentional_late",
       .code = "READOUT_HTILDE_LATE",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.readout, What::attentional, 1); },
       .sentence = {"the readout uses the attentional vector of the step before", "输出用的是上一步的注意力向量"},
       .used = "logits_t = W_o s~_{t-1}",
       .paper = "logits_t = W_o s~_t",
       .fix = {"read out after s~ is new", "注意力向量更新之后再输出"},
       .test = check},
      {.id = "input_next",
       .code = "READOUT_SEES_TARGET",
       .kind = Kind::data,
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.readout, What::y_emb, -1); },
       .sentence = {"the readout sees the word that it should predict", "输出看到了它要预测的词"},
       .used = {"logits_t from y_t", "logits_t 由 y_t 得到"},
       .paper = {"logits_t from y_{t-1}", "logits_t 由 y_{t-1} 得到"},
       .fix = {"use the embedding of the last word", "使用上一个词的嵌入"},
       .test = {"change y_t: CHECK(logits_t is unchanged);", "改变 y_t：CHECK(logits_t 不变);"}},
      {.id = "context_zero",
       .code = "READOUT_CONTEXT_ZERO",
       .apply = [](Model& m, const Arrays&) { return shift(m.decoder.readout, What::context, 1 << 20); },
       .sentence = {"zeros stand in the readout where the context belongs", "输出里本该是上下文的位置全是零"},
       .used = {"logits_t from [s_t; 0]", "logits_t 由 [s_t; 0] 得到"},
       .paper = {"logits_t from [s_t; c_t]", "logits_t 由 [s_t; c_t] 得到"},
       .fix = {"pass the context to the readout", "把上下文传给输出"},
       .test = "CHECK(probe_source(decoder, inputs, true).passed);"},
      {.id = "added",
       .code = "READOUT_ADDED",
       .level = Level::choice,
       .apply =
           [](Model& m, const Arrays&) {
             return m.readout_is_added = true,
                    m.decoder.readout.size() > 1 && m.decoder.readout_form == Readout::linear;
           },
       .sentence = {"the parts of the readout are added instead of joined", "输出的各部分是相加而不是拼接"},
       .used = "logits = W_o (s_t + c_t)",
       .paper = "logits = W_o [s_t; c_t]",
       .fix = {"join them, or say so", "改为拼接，或注明"},
       .test = check,
       .rare = true},
  };
  fields.push_back({"logits_form",
                    {Stage::readout},
                    {"what the logits are", "logits 是什么"},
                    {"logits that differ", "互不相同的 logits"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "softmax",
       .code = "LOGITS_SOFTMAXED",
       .apply = [](Model& m, const Arrays& a) { return m.logits_activation = Activation::softmax, has(a, "W_o"); },
       .sentence = {"what is called logits has gone through a softmax already: a loss from logits would apply it twice",
                    "所谓 logits 已经过了 softmax：再用基于 logits 的损失就重复了"},
       .used = "softmax(W_o ...)",
       .paper = "W_o ...",
       .fix = {"return the logits", "直接返回 logits"},
       .test = {"CHECK(loss of a huge right logit < 1e-3);", "CHECK(正确词的 logit 极大时的损失 < 1e-3);"}},
      {.id = "log_softmax",
       .code = "LOGITS_LOG_SOFTMAX",
       .level = Level::benign,
       .apply = [](Model& m, const Arrays& a) { return m.logits_are_logarithms = true, has(a, "W_o"); },
       .sentence = {"the logits are log-probabilities (log_softmax), which a loss from logits leaves as they are",
                    "logits 是对数概率（log_softmax），再过一次也不变"},
       .used = "log_softmax(W_o ...)",
       .paper = "W_o ...",
       .fix = {"nothing to fix", "无需修改"},
       .test = check},
      {.id = "tanh",
       .code = "LOGITS_TANH",
       .apply = [](Model& m, const Arrays& a) { return m.logits_activation = Activation::tanh, has(a, "W_o"); },
       .sentence = {"the logits go through tanh: no probability can come near 1", "logits 过了 tanh：概率无法接近 1"},
       .used = "tanh(W_o ...)",
       .paper = "W_o ...",
       .fix = {"remove the tanh", "去掉 tanh"},
       .test = "CHECK(logits can exceed 1);"},
      {.id = "relu",
       .code = "LOGITS_RELU",
       .apply = [](Model& m, const Arrays& a) { return m.logits_activation = Activation::relu, has(a, "W_o"); },
       .sentence = {"the logits go through relu: none can be negative", "logits 过了 relu：不能为负"},
       .used = "relu(W_o ...)",
       .paper = "W_o ...",
       .fix = {"remove the relu", "去掉 relu"},
       .test = {"CHECK(some logit is negative);", "CHECK(有的 logit 为负);"}},
  };
  fields.push_back(
      {"b_o", {Stage::readout}, {"the bias b_o", "偏置 b_o"}, {"a bias other than 0", "不为 0 的偏置"}, {}});
  fields.back().options = {
      usual(),
      {.id = "ignored",
       .code = "READOUT_BIAS_IGNORED",
       .apply =
           [](Model& m, const Arrays& a) {
             m.edits.push_back([](Arrays& arrays) { arrays.erase("b_o"); });
             return has(a, "b_o") && has(a, "W_o");
           },
       .sentence = {"the bias b_o is there but never added", "偏置 b_o 存在却没有加上"},
       .used = "logits = W_o x",
       .paper = "logits = W_o x + b_o",
       .fix = {"add b_o, or remove it", "加上 b_o，或删掉它"},
       .test = "CHECK(norm(b_o.grad()) > 0);"},
  };
  return fields;
}

std::vector<Field> start_fields() {
  std::vector<Field> fields;
  Line paper = "s_0 = tanh(W_s h_1(backward)) (Bahdanau et al. 2014, appendix A.2.2)";
  const auto start = [&](const char* id, const char* code, Level level, bool (*apply)(Model&, const Arrays&),
                         Said sentence, Line used) {
    Option o;
    o.id = id, o.code = code, o.level = level, o.apply = apply, o.sentence = sentence, o.used = used, o.paper = paper;
    o.fix = {"take the backward encoder's state at position 1", "取反向编码器在位置 1 的状态"};
    o.test = {"change the last source token: CHECK(s_0 changes);", "改变源序列的最后一个词：CHECK(s_0 改变);"};
    return o;
  };
  fields.push_back({"start",
                    {Stage::start},
                    {"where s_0 comes from", "s_0 的来源"},
                    {"several encoder positions", "多个编码器位置"},
                    {}});
  fields.back().options = {
      start(
          "backward_first", "START_BACKWARD_FIRST", Level::choice,
          [](Model& m, const Arrays&) { return m.decoder.initial = InitialState::backward_first, true; },
          {"s_0 comes from the backward state at position 1", "s_0 来自反向编码器在位置 1 的状态"},
          "s_0 = tanh(W_s backward_1)"),
      start(
          "forward_last", "START_FORWARD_LAST", Level::choice,
          [](Model& m, const Arrays&) { return m.decoder.initial = InitialState::forward_last, true; },
          {"s_0 comes from the forward state at the last position", "s_0 来自正向编码器在最后位置的状态"},
          "s_0 = tanh(W_s forward_T)"),
      start(
          "both_ends", "START_BOTH_ENDS", Level::choice,
          [](Model& m, const Arrays&) { return m.decoder.initial = InitialState::both_ends, true; },
          {"s_0 comes from the final states of both directions", "s_0 来自两个方向的最终状态"},
          "s_0 = tanh(W_s [forward_T; backward_1])"),
      start(
          "mean", "START_MEAN", Level::choice,
          [](Model& m, const Arrays&) { return m.decoder.initial = InitialState::mean, true; },
          {"s_0 comes from the mean of the annotations", "s_0 来自编码器隐藏状态的平均"}, "s_0 = tanh(W_s mean_i h_i)"),
      start(
          "backward_last", "BIDIR_FINAL_WRONG_END", Level::error,
          [](Model& m, const Arrays&) { return m.decoder.initial = InitialState::backward_last, true; },
          {"s_0 comes from the backward state at the last position, which has read one token only",
           "s_0 来自反向在最后位置的状态，它只读了一个词"},
          "s_0 = tanh(W_s backward_T)"),
      start(
          "forward_first", "BIDIR_FINAL_WRONG_END", Level::error,
          [](Model& m, const Arrays&) { return m.decoder.initial = InitialState::forward_first, true; },
          {"s_0 comes from the forward state at position 1, which has read one token only",
           "s_0 来自正向在位置 1 的状态，它只读了一个词"},
          "s_0 = tanh(W_s forward_1)"),
      start(
          "mean_of_all", "START_MEAN_OVER_PADDING", Level::error,
          [](Model& m, const Arrays& a) { return m.decoder.initial = InitialState::mean_of_all, has(a, "mask"); },
          {"s_0 comes from the mean over all T_enc positions, padding included: a sentence's s_0 depends on how far it "
           "is padded",
           "s_0 来自全部 T_enc 个位置的平均，填充也算在内：同一个句子补得越长，s_0 就越不同"},
          "s_0 = tanh(W_s (sum_i h_i / T_enc))"),
  };
  Option& padded = fields.back().options.back();
  padded.kind = Kind::mask, padded.paper = "s_0 = tanh(W_s (sum_i mask_i h_i / length))";
  padded.fix = {"sum the real positions only, and divide by the length", "只对真实位置求和，再除以长度"};
  padded.test = {"append padding: CHECK(s_0 is unchanged);", "追加填充：CHECK(s_0 不变);"};
  fields.push_back({"start_tanh",
                    {Stage::start},
                    {"the activation of s_0", "s_0 的激活函数"},
                    {"states that are not close to 0", "不接近 0 的状态"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "identity",
       .code = "START_NO_TANH",
       .apply = [](Model& m, const Arrays&) { return m.decoder.initial_activation = Activation::identity, true; },
       .sentence = {"the tanh of s_0 is missing", "s_0 缺少 tanh"},
       .used = "s_0 = W_s h",
       .paper = paper,
       .fix = {"put tanh around it", "外加 tanh"},
       .test = "CHECK(abs(s_0) < 1);"},
  };
  return fields;
}

}  // namespace

std::vector<Field> decoder_fields() {
  std::vector<Field> all = input_fields();
  for (std::vector<Field> more : {vector_fields(), readout_fields(), start_fields()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Field> head_fields() {
  std::vector<Field> fields;
  const Said heads = {"at least two heads, several queries and keys", "至少两个头、多个查询与键"};
  Line test = {"one head alone with its slice of the weights: CHECK(same output);",
               "单独运行一个头，用权重中属于它的那一块：CHECK(输出相同);"};
  fields.push_back({"split", {Stage::heads}, {"how the heads are split", "如何拆分各头"}, heads, {}});
  fields.back().options = {
      usual(),
      {.id = "interleaved",
       .code = "HEADS_INTERLEAVED",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.heads.split = HeadSplit::interleaved, m.heads.heads > 1; },
       .sentence = {"head k takes every heads-th feature instead of a block of features",
                    "第 k 个头取的是间隔的特征，而不是一整块"},
       .used = {"head k: features k, k + heads, ...", "第 k 个头：特征 k, k + heads, ..."},
       .paper = {"head k: features k d_k .. (k+1) d_k - 1", "第 k 个头：特征 k d_k .. (k+1) d_k - 1"},
       .fix = {"reshape to (B, T, heads, d_k), not (B, T, d_k, heads)", "reshape 成 (B, T, heads, d_k)"},
       .test = test},
      {.id = "reshaped",
       .code = "RESHAPE_FOR_TRANSPOSE",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.heads.split = HeadSplit::reshaped, m.heads.heads > 1; },
       .sentence = {"the heads were split by a reshape to (B, heads, T, d_k) without a transpose",
                    "直接 reshape 成 (B, heads, T, d_k)，没有转置"},
       .used = "reshape(x, (B, heads, T, d_k))",
       .paper = "transpose(reshape(x, (B, T, heads, d_k)), 1, 2)",
       .fix = {"reshape to (B, T, heads, d_k), then transpose", "先 reshape 成 (B, T, heads, d_k) 再转置"},
       .test = test},
  };
  fields.push_back({"join_heads", {Stage::heads}, {"how the heads are joined", "如何合并各头"}, heads, {}});
  fields.back().options = {
      usual(),
      {.id = "interleaved",
       .code = "HEADS_JOINED_INTERLEAVED",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.heads.merge = HeadSplit::interleaved, m.heads.heads > 1; },
       .sentence = {"the heads' outputs are interleaved instead of put side by side", "各头的输出被交错，而不是并排"},
       .used = {"feature j of head k at j * heads + k", "第 k 个头的特征 j 在 j * heads + k 处"},
       .paper = {"at k d_k + j", "在 k d_k + j 处"},
       .fix = {"transpose back to (B, T, heads, d_k), then reshape", "先转置回 (B, T, heads, d_k) 再 reshape"},
       .test = test},
      {.id = "reshaped",
       .code = "RESHAPE_FOR_TRANSPOSE",
       .kind = Kind::shape,
       .apply = [](Model& m, const Arrays&) { return m.heads.merge = HeadSplit::reshaped, m.heads.heads > 1; },
       .sentence = {"the heads were joined by a reshape without a transpose", "合并各头时直接 reshape，没有转置"},
       .used = "reshape(x, (B, T, heads d_k))",
       .paper = "reshape(transpose(x, 1, 2), (B, T, heads d_k))",
       .fix = {"transpose, then reshape", "先转置再 reshape"},
       .test = test},
  };
  fields.push_back({"head_mask",
                    {Stage::heads},
                    {"the heads' masks", "各头的掩码"},
                    {"two heads and lengths that differ", "两个头且长度不同"},
                    {}});
  fields.back().options = {
      usual(),
      {.id = "tiled",
       .code = "HEAD_MASK_TILED",
       .kind = Kind::mask,
       .apply =
           [](Model& m, const Arrays& a) {
             m.heads.mask = HeadMask::tiled;
             return m.heads.heads > 1 && has(a, "mask") && m.decoder.attention.mask_use != MaskUse::ignore;
           },
       .sentence = {"the masks are tiled over the heads: a head sees another example's mask",
                    "掩码按整批平铺到各头：某个头用了别的样本的掩码"},
       .used = {"head k of example b reads mask[(b * heads + k) mod B]",
                "样本 b 的第 k 个头读 mask[(b * heads + k) mod B]"},
       .paper = {"head k of example b reads mask[b]", "样本 b 的第 k 个头读 mask[b]"},
       .fix = {"repeat each example's mask for all its heads: repeat_interleave over the batch, not repeat",
               "让每个样本的掩码在其所有头上重复：沿批用 repeat_interleave，不是 repeat"},
       .test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"}},
  };
  fields.push_back({"head_scale", {Stage::heads}, {"the scale of the heads", "各头的缩放"}, heads, {}});
  fields.back().options = {
      usual(),
      {.id = "model_size",
       .code = "SCALE_BY_MODEL_SIZE",
       .apply = [](Model& m, const Arrays&) { return m.heads.scale_by_model_size = true, m.heads.heads > 1; },
       .sentence = {"the scores are divided by sqrt(d_model) instead of sqrt(d_k)",
                    "分数除以 sqrt(d_model)，而不是 sqrt(d_k)"},
       .used = "q . k / sqrt(heads d_k)",
       .paper = "q . k / sqrt(d_k)",
       .fix = {"divide by the square root of one head's size", "除以单个头维度的平方根"},
       .test = test},
  };
  const auto weights = [&](const char* id, const char* code, Kind kind, bool (*apply)(Model&, const Arrays&),
                           Said sentence, Line used, Said fix) {
    Option o;
    o.id = id, o.code = code, o.kind = kind, o.apply = apply, o.sentence = sentence, o.used = used, o.fix = fix,
    o.test = test;
    o.paper = "q = W_Q x + b_Q, k = W_K y + b_K, v = W_V y + b_V, output = W_O [heads] + b_O";
    fields.back().options.push_back(o);
  };
  fields.push_back({"head_weights", {Stage::heads}, {"the projections of the heads", "各头的投影"}, heads, {usual()}});
  weights("exchanged", "HEADS_QK_EXCHANGED", Kind::convention,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) {
              std::swap(x["W_Q"], x["W_K"]);
              if (has(x, "b_Q") && has(x, "b_K")) std::swap(x["b_Q"], x["b_K"]);
            });
            return has(a, "W_Q") && has(a, "W_K");
          },
          {"W_Q projects the keys and W_K the queries", "W_Q 投影了键，W_K 投影了查询"}, "q = W_K x, k = W_Q y",
          {"exchange them", "换回来"});
  weights("values_are_keys", "HEADS_VALUES_ARE_KEYS", Kind::convention,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) {
              x["W_V"] = x["W_K"];
              if (has(x, "b_K")) x["b_V"] = x["b_K"];
            });
            return has(a, "W_V") && has(a, "W_K");
          },
          {"the values are the projected keys; W_V is never used", "值用了投影后的键，W_V 从未使用"}, "v = W_K y",
          {"project the values with W_V", "用 W_V 投影值"});
  weights("keys_and_values", "HEADS_KV_EXCHANGED", Kind::convention,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) {
              std::swap(x["W_K"], x["W_V"]), std::swap(x["key"], x["value"]);
              if (has(x, "b_K") && has(x, "b_V")) std::swap(x["b_K"], x["b_V"]);
            });
            return has(a, "W_K") && has(a, "W_V");
          },
          {"the scores are made with the values, and the keys are summed", "用值算分数，却把键加权求和"},
          "e = q . v, output = W_O [sum alpha k] + b_O", {"score with the keys, sum the values", "用键打分，对值求和"});
  weights("bias_ignored", "BIAS_IGNORED", Kind::graph,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) {
              for (const char* name : {"b_Q", "b_K", "b_V"}) x.erase(name);
            });
            return has(a, "b_V");
          },
          {"the biases of the projections are there but never added", "投影的偏置存在却没有加上"}, "q = W_Q x",
          {"add them", "加上偏置"});
  weights("output_bias_ignored", "BIAS_IGNORED", Kind::graph,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) { x.erase("b_O"); });
            return has(a, "b_O");
          },
          {"the bias of the output projection is there but never added", "输出投影的偏置存在却没有加上"},
          "output = W_O [heads]", {"add it", "加上偏置"});
  weights("transposed", "CKPT_LAYOUT", Kind::checkpoint,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) {
              for (const char* name : {"W_Q", "W_K", "W_V"}) x[name] = transposed(x[name]);
            });
            return has(a, "W_Q") && get(a, "W_Q").dim(0) == get(a, "W_Q").dim(1);
          },
          {"the projections are transposed, as when they were stored the other way",
           "投影矩阵被转置，例如按另一种方式存放"},
          "q = W_Q^T x", {"transpose them when you load them", "加载时转置"});
  weights("output_transposed", "CKPT_LAYOUT", Kind::checkpoint,
          [](Model& m, const Arrays& a) {
            m.edits.push_back([](Arrays& x) { x["W_O"] = transposed(x["W_O"]); });
            return has(a, "W_O") && get(a, "W_O").dim(0) == get(a, "W_O").dim(1);
          },
          {"the output projection is transposed", "输出投影被转置"}, "output = W_O^T [heads]",
          {"transpose it when you load it", "加载时转置"});
  fields.push_back({"head_projection",
                    {Stage::heads},
                    {"the output projection", "输出投影"},
                    {"a projection other than the identity", "非恒等的投影"},
                    {}});
  fields.back().options = {
      usual([](Model& m, const Arrays& a) { return m.heads.output_projection = has(a, "W_O"), true; }),
      {.id = "missing",
       .code = "HEADS_NOT_PROJECTED",
       .kind = Kind::graph,
       .apply = [](Model& m, const Arrays& a) { return m.heads.output_projection = false, has(a, "W_O"); },
       .sentence = {"the output projection W_O is there but never applied", "输出投影 W_O 存在却没有使用"},
       .used = "output = [head_1; ...; head_h]",
       .paper = "output = W_O [head_1; ...; head_h]",
       .fix = {"multiply by W_O", "乘上 W_O"},
       .test = "CHECK(norm(W_O.grad()) > 0);"},
  };
  return fields;
}

}  // namespace gradus::diagnosis
