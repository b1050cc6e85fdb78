// First each gradient against differences of the right forward; those that are wrong against differences of forwards
// whose backward is wrong in a known way: what explains all of them is named once.
#include "nn/conventions/diagnosis_gradients.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/grammar_gradients.h"
#include "nn/conventions/reference/finite_difference.h"
#include "nn/conventions/sizes.h"
#include "nn/conventions/trace_names.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// Which part of the loss reaches the gradient.
enum class Seen { all, first_example, last_example, last_step };

// One way in which a backward pass is wrong although the forward is right.
struct WrongBackward {
  const char* code;
  Intervention intervention;
  Seen seen;
  Said sentence, fix;
};

const std::vector<WrongBackward>& wrong_backwards() {
  static const Said keep = {"do not detach there: within a sequence the graph stays whole",
                            "这里不要 detach：同一序列内计算图要保持完整"};
  static const Said sum = {"add to the gradient at every use: +=, not =", "每次使用都要累加梯度：用 += 而不是 ="};
  static const Said both_ways = {"d_h_i = alpha_i d_c plus what flows back from the score of h_i: +=, not =",
                                 "d_h_i = alpha_i d_c 加上从 h_i 的分数回传的部分：用 += 而不是 ="};
  static const Said softmax = {"d_e = alpha * (d_alpha - sum(alpha * d_alpha)) along the keys",
                               "沿键的方向：d_e = alpha * (d_alpha - sum(alpha * d_alpha))"};
  static const std::vector<WrongBackward> all = {
      {"STATE_DETACHED",
       {Cut::states},
       Seen::all,
       {"the states were detached: no gradient flows through them", "状态被 detach 了：没有梯度流经它们"},
       keep},
      {"CARRY_DETACHED",
       {Cut::carry},
       Seen::all,
       {"the state that the cell continues was detached: the gradient goes back one step only",
        "传给循环单元的旧状态被 detach 了：梯度只能回传一步"},
       keep},
      {"FEED_DETACHED",
       {Cut::fed},
       Seen::all,
       {"what attention hands to the cell (context or attentional vector) was detached: no gradient flows through it",
        "注意力交给循环单元的向量（上下文或注意力向量）被 detach 了：没有梯度流经它"},
       keep},
      {"QUERY_DETACHED",
       {Cut::query},
       Seen::all,
       {"the query was detached: no gradient flows from the scores into the states",
        "查询被 detach 了：没有梯度从分数流入状态"},
       keep},
      {"CONTEXT_DETACHED",
       {Cut::context},
       Seen::all,
       {"the context was detached: no gradient flows through it", "上下文向量被 detach 了：没有梯度流经它"},
       keep},
      {"WEIGHTS_DETACHED",
       {Cut::weights},
       Seen::all,
       {"the attention weights were detached: no gradient flows through the score",
        "注意力权重被 detach 了：没有梯度流经分数"},
       keep},
      {"KEYS_DETACHED",
       {Cut::keys},
       Seen::all,
       {"the gradient of % has the way through the context alone: the way through the scores, which read H too, is "
        "missing",
        "% 的梯度只有经上下文的那条路：分数也读取 H，经分数的那条路缺失"},
       both_ways},
      {"VALUES_DETACHED",
       {Cut::values},
       Seen::all,
       {"the gradient of % has the way through the scores alone: the way through the context, alpha_i d_c, is missing",
        "% 的梯度只有经分数的那条路：经上下文的那条路 alpha_i d_c 缺失"},
       both_ways},
      {"GRAD_SOFTMAX",
       {.softmax = SoftmaxSlope::diagonal},
       Seen::all,
       {"the backward of the softmax is alpha (1 - alpha) d_alpha: the share of the other weights is missing",
        "softmax 的反向写成了 alpha (1 - alpha) d_alpha：缺少其他权重的那部分"},
       softmax},
      {"GRAD_SOFTMAX",
       {.softmax = SoftmaxSlope::weights},
       Seen::all,
       {"the backward of the softmax is alpha d_alpha: the sum is not subtracted",
        "softmax 的反向写成了 alpha d_alpha：没有减去求和项"},
       softmax},
      {"GRAD_SOFTMAX",
       {.softmax = SoftmaxSlope::none},
       Seen::all,
       {"the softmax has no backward: d_alpha is passed on as the gradient of the scores",
        "softmax 没有反向：d_alpha 直接当作分数的梯度"},
       softmax},
      {"GRAD_OVERWRITE",
       {Cut::none, Uses::first_step},
       Seen::all,
       {"the gradient of % is the first step's share alone: every step of backward overwrites it where it should add",
        "% 的梯度只剩第一步的贡献：反向的每一步都覆盖了它，而没有累加"},
       sum},
      {"GRAD_OVERWRITE",
       {Cut::none, Uses::last_step},
       Seen::all,
       {"the gradient of % is the last step's share alone: the shares of the steps were not added up",
        "% 的梯度只剩最后一步的贡献：各步的贡献没有累加"},
       sum},
      {"GRAD_ONE_EXAMPLE",
       {},
       Seen::first_example,
       {"the gradient of % is the first example's share alone: it was not summed over the batch",
        "% 的梯度只有第一个样本的贡献：没有对整批求和"},
       sum},
      {"GRAD_ONE_EXAMPLE",
       {},
       Seen::last_example,
       {"the gradient of % is the last example's share alone: it was not summed over the batch",
        "% 的梯度只有最后一个样本的贡献：没有对整批求和"},
       sum},
      {"GRAD_LAST_LOSS",
       {},
       Seen::last_step,
       {"only the loss of the last step reaches the gradient of %", "只有最后一步的损失传到了 % 的梯度"},
       {"add up the losses of all steps before backward", "反向之前先把各步的损失相加"}},
  };
  return all;
}

// A gradient that disagrees, at the places where it was compared.
struct Wrong {
  std::string name;
  const Array* analytic;
  Vec numeric;
};

class Gradients {
 public:
  Gradients(const Trace& trace, const Model& model, bool single, const std::set<std::string>& guessed, Verdict& verdict)
      : trace_(trace),
        model_(model),
        single_(single),
        guessed_(guessed),
        verdict_(verdict),
        gradients_(trace.gradients),
        inputs_(trace.arrays) {
    for (const auto& [name, g] : gradients_)
      for (double x : g.data)
        if (std::isfinite(x)) largest_ = std::max(largest_, std::fabs(x));
    if (trace.kind == TraceKind::decoder)
      for (const char* name : {"s", "alpha", "c", "e", "htilde", "logits", "m"}) inputs_.erase(name);
  }

  // Whether all of them can be checked and are right.
  bool are_right() { return begin().en.empty() && reading_->wrong.empty() && misshaped_.empty(); }

  void check() {
    if (const Words why = begin(); !why.en.empty()) return not_checked(why);
    const Reading* best = reading_;
    if (const std::string seeds = best->wrong.empty() ? "" : listed(seeds_in_doubt(), "grad_"); !seeds.empty()) {
      for (Finding& f : found_) finish(f);
      verdict_.findings.insert(verdict_.findings.begin(), found_.begin(), found_.end());
      return not_checked(
          {seeds +
               " is of an output that this file does not let me compute as its model does; dump that output and all "
               "parameters that it is computed with",
           seeds + " 属于一个无法按原模型算出的输出；请另存该输出及计算它所用的全部参数"});
    }
    if (!best->wrong.empty() && !one_reason_for_all(best->wrong))
      for (const Wrong& w : best->wrong) judge(w);
    if (nothing_fits()) return ask_for_the_loss();
    for (Finding& f : found_) finish(f);
    name_by_grammar(*best);
    verdict_.findings.insert(verdict_.findings.begin(), found_.begin(), found_.end());
    if (!best->right.empty() && verdict_.find("GRAD_WRONG")) {
      const std::string list = listed(best->right, "");
      verdict_.notes.push_back({"right are the gradients of " + list + ": the fault is where only the others pass",
                                list + " 的梯度是对的：错误在只有其余梯度经过的地方"});
    }
    if (!best->right.empty() && verdict_.code().empty()) {
      const std::string n = std::to_string(best->right.size());
      verdict_.notes.push_back({n + " gradients agree with central differences of the convention named",
                                n + " 个梯度与所判约定的中心差分一致"});
    }
    if (verdict_.find("GRAD_WRONG")) say_which_layers_are_right(*best), say_which_steps_are_right(*best);
    say_the_reading(given_);
  }

 private:
  // How the gradients of outputs are understood, and what that makes of the others.
  struct Reading {
    Arrays seeds;              // where backward starts
    bool accumulated = false;  // seeds holds of s all that flows back into it, also from later steps
    Arrays states = {};        // then: s, held still
    std::vector<std::string> right = {};
    std::vector<Wrong> wrong = {};
    Arrays exact = {};  // the right ones, where formulas give them
  };

  // Compares them, as the given gradients of outputs are best read; or what keeps them from being compared.
  Words begin() {
    try {
      out_ = whole_forward(trace_.kind, model_, inputs_);
    } catch (const std::invalid_argument&) {
      return {"this convention is not run from parameters and inputs alone", "这种约定不能只用参数与输入来运行"};
    }
    for (const auto& [name, a] : out_) outputs_.insert(name);
    const bool bridged = model_.decoder.initial != InitialState::given;
    if (trace_.kind == TraceKind::decoder && bridged) outputs_.insert("s_0");  // made from H, no input
    given_ = of_outputs(out_);
    if (given_.empty())
      return {
          "none belongs to an output, so where backward started is not known: dump grad_logits (a cell "
          "alone: grad_h, heads: grad_output)",
          "其中没有输出的梯度，不知道反向从哪里开始：请另存 grad_logits（单独的循环单元：grad_h，"
          "多头：grad_output）"};
    for (const auto& [name, g] : given_)
      for (std::size_t i = 0; i < g.data.size(); ++i) noise_ += std::fabs(out_.at(name).data[i] * g.data[i]);
    noise_ *= std::numeric_limits<double>::epsilon() / step;
    set_entries();
    if (entries_ == 0)
      return {"the model is too large for central differences; dump a smaller one",
              "模型太大，不适合中心差分；请另存一个小模型"};
    readings_ = readings_of(given_, out_);
    const Reading* best = nullptr;
    for (Reading& r : readings_) {
      compare(r);
      if (!best || r.right.size() > best->right.size()) best = &r;
      if (r.wrong.empty()) break;
    }
    reading_ = best;
    fill_in(*best);
    return {};
  }

  // The layer whose parameter this is, from its suffix; nothing for other arrays.
  std::optional<std::size_t> layer_of(const std::string& name) const {
    for (const std::string parameter : {"W", "U", "b", "b_u"})
      for (std::size_t l = 0; l < trace_.layers; ++l)
        for (const char* direction : {"", "_reverse"})
          if (name == parameter + (l ? "_l" + std::to_string(l) : "") + direction) return l;
    return std::nullopt;
  }

  // Backward goes from the top layer down: the first layer on this way whose parameters go wrong has the mistake.
  void say_which_layers_are_right(const Reading& r) {
    if (trace_.kind != TraceKind::recurrent || trace_.layers < 2) return;
    std::optional<std::size_t> wrong;
    for (const Wrong& w : r.wrong)
      if (const auto l = layer_of(w.name)) wrong = std::max(wrong.value_or(0), *l);
    if (!wrong) return;
    const std::string l = std::to_string(*wrong), above = std::to_string(*wrong + 1);
    const bool top = *wrong + 1 == trace_.layers;
    const bool seen = std::any_of(r.right.begin(), r.right.end(),
                                  [&](const std::string& name) { return layer_of(name) == *wrong + 1; });
    if (top)
      verdict_.notes.push_back(
          {"backward goes from the top layer down, and the gradients of layer " + l +
               ", the top one, are wrong already: the mistake is in the backward of this layer, or of every layer",
           "反向从最上层往下走，而最上层（第 " + l + " 层）的梯度就已不对：错在这一层的反向，或每一层的反向"});
    else if (seen)
      verdict_.notes.push_back({"backward goes from the top layer down: the gradients of layer " + above +
                                    " are right, those of layer " + l +
                                    " are the first that are wrong: the mistake "
                                    "is in the backward of layer " +
                                    l + ", or between the two",
                                "反向从最上层往下走：第 " + above + " 层的梯度是对的，第 " + l +
                                    " 层的最先不对：错在第 " + l + " 层的反向，或这两层之间"});
  }

  // Backward begins at the last step: where an input's gradient is right there, only what is handed on goes wrong.
  void say_which_steps_are_right(const Reading& r) {
    for (const Wrong& w : r.wrong) {
      const Array* right = reference::find(r.exact, w.name);
      if (!right || right->shape.size() != 3 || right->shape != w.analytic->shape || right->dim(1) < 2 || w.name == "H")
        continue;
      const std::size_t B = right->dim(0), T = right->dim(1);
      double size = 0;
      for (double x : right->data) size = std::max(size, std::fabs(x));
      const auto agrees = [&](std::size_t b, std::size_t t) {
        const Row a = w.analytic->row({b, t}), e = right->row({b, t});
        for (std::size_t k = 0; k < a.size(); ++k)
          if (!(std::fabs(a[k] - e[k]) <= 10 * bound() * size)) return false;
        return true;
      };
      std::string examples, steps;
      bool all_at_last = true;
      for (std::size_t b = 0; b < B; ++b) {
        bool all = true;
        for (std::size_t t = 0; t < T; ++t) all = all && agrees(b, t);
        if (all) examples += (examples.empty() ? "" : ", ") + std::to_string(b);
        all_at_last = all_at_last && agrees(b, T - 1);
      }
      for (std::size_t t = 0; t < T; ++t) {
        bool all = true;
        for (std::size_t b = 0; b < B; ++b) all = all && agrees(b, t);
        if (all) steps += (steps.empty() ? "" : ", ") + std::to_string(t + 1);
      }
      const std::string name = shown(w.name);
      if (!examples.empty())
        verdict_.notes.push_back(
            {"the gradient of " + name + " is right in example " + examples + " of the batch, wrong in the others",
             name + " 的梯度在第 " + examples + " 个样本（从 0 数起）是对的，其余样本不对"});
      else if (trace_.directions > 1) continue;  // at the last step the other direction has come back through all
      else if (all_at_last)
        verdict_.notes.push_back(
            {"the gradient of " + name + " is right at step " + steps + " of " + std::to_string(T) +
                 ": backward begins there, so what a step hands back to the one before it is wrong, or "
                 "what is saved of earlier steps",
             name + " 的梯度在第 " + steps + " 步（共 " + std::to_string(T) +
                 " 步）是对的：反向由此开始，所以错在一步回传给前一步的量，或前面各步保存的值"});
      else
        verdict_.notes.push_back({"the gradient of " + name +
                                      " is wrong at the last step already, where nothing comes back from "
                                      "later ones: the fault is inside a step",
                                  name + " 的梯度在最后一步就已不对，而那里没有后续步回传的量：错在单步内部"});
    }
  }

  // The trace's gradients of outputs. Those of the states after s_0 get a row of zeros for s_0.
  Arrays of_outputs(const Arrays& out) const {
    Arrays given;
    for (const auto& [name, g] : gradients_) {
      const Array* o = reference::find(out, name);
      if (!o) continue;
      Dims without_s_0 = o->shape;
      if (name == "s" || name == "m") --without_s_0[1];
      if (g.shape == o->shape) {
        given[name] = g;
      } else if (g.shape == without_s_0) {
        Array& whole = given[name] = Array(o->shape);
        for (std::size_t b = 0; b < g.dim(0); ++b)
          for (std::size_t t = 0; t < g.dim(1); ++t) whole.set_row({b, t + 1}, g.row({b, t}));
      } else {
        verdict_.notes.push_back({"grad_" + shown(name) + " has shape " + reference::to_string(g.shape) + ", " +
                                      shown(name) + " " + reference::to_string(o->shape) + ": it was not read",
                                  "grad_" + shown(name) + " 的形状为 " + reference::to_string(g.shape) + "，而 " +
                                      shown(name) + " 为 " + reference::to_string(o->shape) + "：没有使用"});
      }
    }
    return given;
  }

  // Gradients of outputs that are not read, or of which only a guess says how they are computed: what the loss gives
  // there reaches the other gradients too.
  std::vector<std::string> seeds_in_doubt() const {
    const auto& table = trace_.kind == TraceKind::decoder     ? decoder_names()
                        : trace_.kind == TraceKind::recurrent ? recurrent_names()
                                                              : multi_head_names();
    std::vector<std::string> names;
    for (const TraceName& known : table)
      if (known.output && gradients_.count(known.name) && (guessed_.count(known.name) || !given_.count(known.name)))
        names.push_back(known.name);
    return names;
  }

  // Of a gradient that came for some gates alone, the rest is taken for right: what is there is judged.
  void fill_in(const Reading& r) {
    for (const auto& [name, absent] : trace_.absent) {
      const Array* right = reference::find(r.exact, name);
      Array& g = gradients_.at(name);
      for (std::size_t i = 0; right && right->shape == g.shape && i < g.data.size(); ++i)
        if (absent.data[i] != 0) g.data[i] = right->data[i];
    }
  }

  // As documented, each is what the loss itself gives that output. But frameworks also keep what flows back into an
  // output from those computed after it: then the last outputs alone are where backward started.
  std::vector<Reading> readings_of(const Arrays& given, const Arrays& out) const {
    std::vector<Reading> all = {{given}};
    static const std::vector<std::vector<std::string>> last_first = {{"logits"}, {"output"}, {"h_n", "c_n"},
                                                                     {"htilde"}, {"s", "m"}, {"c"}};
    for (const auto& names : last_first) {
      Arrays ends;
      for (const std::string& name : names)
        if (const Array* g = reference::find(given, name)) ends[name] = *g;
      if (ends.empty()) continue;
      if (ends.size() < given.size()) all.push_back({ends});
      const bool from_s_0 = trace_.kind == TraceKind::decoder && model_.decoder.initial == InitialState::given;
      if (from_s_0 && ends.size() == 1 && ends.count("s")) {
        Array& flows = ends.at("s");
        for (std::size_t b = 0; b < flows.dim(0); ++b) flows.set_row({b, 0}, Vec(flows.dim(2)));  // no step gives s_0
        all.push_back({ends, true, {{"s", get(out, "s")}}});
      }
      break;
    }
    return all;
  }

  void compare(Reading& r) {
    reading_ = &r;
    const auto loss = [&](const Arrays& at) { return loss_at(at); };
    const bool trees = !r.accumulated && model_.edits.empty();
    r.exact = trees ? right_gradients(backward_of(r)) : Arrays();
    const Arrays& exact = r.exact;
    fill_in(r);
    for (const auto& [name, analytic] : gradients_) {
      const Array* at = reference::find(inputs_, uses_of(name)[0]);
      if (!at || outputs_.count(name)) continue;
      if (at->shape != analytic.shape) {
        if (!misshaped_.count(name)) wrong_shape(name, analytic, *at);
        misshaped_.insert(name);
        continue;
      }
      try {
        const Array* known = reference::find(exact, name);
        if (!known && trace_.absent.count(name)) continue;  // differences are taken at some entries of the whole
        const Vec numeric = known ? taken(*known, entries_) : differences(name, loss, entries_);
        const bool same =
            known ? close(analytic.data, known->data, analytic) : close(taken(analytic, entries_), numeric, analytic);
        if (same) r.right.push_back(name);
        else r.wrong.push_back({name, &analytic, numeric});
      } catch (const std::invalid_argument&) {
        r.wrong.push_back({name, &analytic, Vec(taken(analytic, entries_).size())});  // not in this reading
      }
    }
  }

  // The trace's gradients are compared under the names of the arrays that they belong to.
  BackwardCase backward_of(const Reading& r) const {
    return {
        trace_.kind,
        &model_,
        &inputs_,
        &out_,
        &r.seeds,
        &gradients_,
        [this](const std::string& name) { return outputs_.count(name) ? std::vector<std::string>{} : uses_of(name); },
        single_ ? 2e-4 : 1e-7,
        [this](const std::string& name) { return shown(name); },
        single_ ? 1e-2 : 1e-6};
  }

  // One wrong way through the formulas instead of several findings, or of one that has no name.
  void name_by_grammar(const Reading& r) {
    const auto any = [&](auto is) { return std::any_of(found_.begin(), found_.end(), is); };
    const bool nameless = any([](const Finding& f) {  // or described by what it looks like
      return f.code == "GRAD_WRONG" || f.code == "GRAD_COPIED" || f.code.rfind("GRAD_BLOCK", 0) == 0;
    });
    const bool shapes = any([](const Finding& f) { return f.kind == Kind::broadcast; });
    if (shapes || r.accumulated || !model_.edits.empty() || (!nameless && found_.size() < 2)) return;
    if (auto explained = explain_backward(backward_of(r)); !explained.empty()) found_ = std::move(explained);
  }

  double loss_at(Arrays at) const {
    if (!reading_->accumulated) return loss_of(whole_forward(trace_.kind, model_, at), Seen::all);
    // One step from each state: what lies between two states is computed anew, the states stay.
    Array& s = at["s"] = reading_->states.at("s");
    for (std::size_t b = 0; b < s.dim(0); ++b) s.set_row({b, 0}, get(at, "s_0").row({b}));
    return loss_of(stage_outputs(model_, at, one_step()), Seen::all);
  }

  std::vector<Stage> one_step() const {
    std::vector<Stage> stages = {Stage::score, Stage::weights, Stage::context};
    if (reference::find(inputs_, "W_c")) stages.push_back(Stage::attentional);
    stages.push_back(Stage::cell);
    return stages;
  }

  // Gradients of intermediate outputs alone, and not one other gradient that goes with them. Without a cell nothing is
  // computed from an output at a later step.
  bool nothing_fits() const {
    if (outputs_.count("c") && !outputs_.count("s")) return false;
    const auto intermediate = [](const auto& seed) {
      return seed.first != "logits" && seed.first != "output" && seed.first != "h" && seed.first != "h_n" &&
             seed.first != "c_n";
    };
    return reading_->right.empty() && reading_->wrong.size() > 1 &&
           std::any_of(reading_->seeds.begin(), reading_->seeds.end(), intermediate) &&
           std::all_of(found_.begin(), found_.end(), [](const Finding& f) { return f.code == "GRAD_WRONG"; });
  }

  void ask_for_the_loss() {
    const std::string seeds = listed(names_of(reading_->seeds), "grad_");
    not_checked(
        {"none of the " + std::to_string(reading_->wrong.size()) + " fits " + seeds +
             " as the loss's own gradient; if backward added to it what later steps send back, dump grad_logits",
         std::to_string(reading_->wrong.size()) + " 个梯度无一与 " + seeds +
             "（当作损失自身的梯度）相符；若其中还累加了后续步回传的部分，请另存 grad_logits"});
  }

  // Where several readings are possible, which one was taken.
  void say_the_reading(const Arrays& given) {
    const std::string seeds = listed(names_of(reading_->seeds), "grad_");
    if (reading_->accumulated) {
      verdict_.open.push_back(
          {"grad_s",
           {"whether " + seeds +
                " is what flows back into each state, also from later steps (then the gradients are "
                "right), or the loss's own gradient (then the states were detached, STATE_DETACHED)",
            seeds + " 是流回每个状态的全部梯度（含后续步的部分，此时梯度正确），还是损失自身的梯度（此时状态被 "
                    "detach 了，STATE_DETACHED）"},
           {"grad_logits, where the loss starts", "损失所在处的 grad_logits"}});
      return;
    }
    const Finding* carry = verdict_.find("CARRY_DETACHED");
    if (carry && given.count("h") && !std::holds_alternative<LstmConvention>(model_.decoder.cell))
      verdict_.notes.push_back(
          {"taken as the loss's own gradient: " + seeds + "; if it holds what later steps send back, nothing is wrong",
           "当作损失自身的梯度：" + seeds + "；若其中已含后续步回传的部分，就没有错误"});
    if (reading_->seeds.size() < given.size()) {
      std::string rest;
      for (const auto& [name, g] : given)
        if (!reading_->seeds.count(name)) rest += (rest.empty() ? "grad_" : ", grad_") + shown(name);
      verdict_.notes.push_back({"backward started from " + seeds + "; not checked, as what flows back: " + rest,
                                "反向从 " + seeds + " 开始；当作流回的梯度、没有核对的是 " + rest});
    } else if (!reading_->right.empty() && !given.count("logits") && trace_.kind == TraceKind::decoder) {
      verdict_.notes.push_back({"taken as the loss's own gradient, without what later steps send back: " + seeds,
                                "当作损失自身的梯度（不含后续步回传的部分）：" + seeds});
    }
  }

  void not_checked(const Words& why) {
    verdict_.notes.push_back({"the gradients were not checked: " + why.en, "未核对梯度：" + why.zh});
  }

  static std::vector<std::string> names_of(const Arrays& arrays) {
    std::vector<std::string> names;
    for (const auto& [name, a] : arrays) names.push_back(name);
    return names;
  }
  std::string listed(const std::vector<std::string>& names, const std::string& before) const {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + before + shown(name);
    return list;
  }

  double loss_of(const Arrays& made, Seen seen) const {
    double sum = 0;
    for (const auto& [name, g] : reading_->seeds) {
      const Array& value = get(made, name);
      if (seen == Seen::all) {
        sum += dot(value.data, g.data);
        continue;
      }
      const std::size_t B = g.dim(0), T = g.shape.size() > 1 ? g.dim(1) : 1, n = g.data.size() / B / T;
      for (std::size_t k = 0; k < g.data.size(); ++k) {
        const std::size_t b = k / n / T, t = k / n % T;
        if (b == (seen == Seen::first_example  ? 0
                  : seen == Seen::last_example ? B - 1
                                               : b) &&
            (seen != Seen::last_step || t + 1 == T))
          sum += value.data[k] * g.data[k];
      }
    }
    return sum;
  }

  // How many entries of each gradient can be compared in a fraction of a second, from the sizes alone.
  void set_entries() {
    double work = 500;
    const Array* steps = reference::find(inputs_, trace_.kind == TraceKind::decoder     ? "y_emb"
                                                  : trace_.kind == TraceKind::recurrent ? "x"
                                                                                        : "query");
    const double n = steps ? static_cast<double>(steps->dim(0) * steps->dim(1)) : 1;
    for (const auto& [name, a] : inputs_) work += static_cast<double>(a.data.size()) * (a.shape.size() == 2 ? n : 4);
    if (const Array* H = reference::find(inputs_, "H"), *v = reference::find(inputs_, "v_a"); H && v)
      work += n * static_cast<double>(H->dim(1) * v->data.size()) * 20;
    const double gradients = static_cast<double>(gradients_.size());
    entries_ = std::min<std::size_t>(24, static_cast<std::size_t>(1.5e8 / (2 * work * gradients)));
  }

  // Central differences at some entries, spread evenly. Ends after one of which stop(its number, difference) says so.
  template <class Stop>
  Vec differences(const std::string& name, const ScalarFunction& loss, std::size_t entries, Stop stop) const {
    Vec d;
    Arrays at = inputs_;
    const std::vector<std::string> uses = uses_of(name);
    const auto put = [&](std::size_t i, double x) {
      for (const std::string& use : uses) at.at(use).data[i] = x;
    };
    const Array& x = get(inputs_, uses[0]);
    for (std::size_t i : places(x, entries)) {
      const double h = step * std::max(1.0, std::fabs(x.data[i]));
      put(i, x.data[i] + h);
      const double above = loss(at);
      put(i, x.data[i] - h);
      d.push_back((above - loss(at)) / (2 * h));
      put(i, x.data[i]);
      if (stop(d.size() - 1, d.back())) break;
    }
    return d;
  }
  Vec differences(const std::string& name, const ScalarFunction& loss, std::size_t entries) const {
    return differences(name, loss, entries, [](std::size_t, double) { return false; });
  }

  // One array of the file may stand in several places: memory is keys and values, and in self-attention the query is.
  std::vector<std::string> uses_of(const std::string& name) const {
    if (trace_.kind != TraceKind::multi_head) return {name};
    const auto source = [&](const std::string& place) -> std::string {
      if (place == "query" || trace_.read.count(place)) return place;
      if (trace_.read.count("memory")) return "memory";
      return place == "value" && trace_.read.count("key") ? "key" : "query";
    };
    std::vector<std::string> uses;
    for (const char* place : {"query", "key", "value"})
      if (source(place) == name) uses.push_back(place);
    if (uses.empty()) uses = {name};
    return uses;
  }

  static std::vector<std::size_t> places(const Array& x, std::size_t entries) {
    std::vector<std::size_t> list;
    const std::size_t n = x.data.size(), count = std::min(n, entries), stride = n / std::max<std::size_t>(count, 1);
    for (std::size_t k = 0; k < count; ++k)
      list.push_back(k * n / count + k % stride);  // up to the end, no two in one column again and again
    return list;
  }

  static Vec taken(const Array& a, std::size_t entries) {
    Vec some;
    for (std::size_t i : places(a, entries)) some.push_back(a.data[i]);
    return some;
  }

  // What differences of a gradient are compared with: its largest number, but not less than what is as good as 0.
  double size_of(const Array& whole) const {
    double size = single_ ? 1e-3 * std::max(1., largest_) : 1e-5;  // float32 rounds a sum by its largest terms
    for (double x : whole.data) size = std::max(size, std::fabs(x));
    return size;
  }
  bool close(const Vec& a, const Vec& d, const Array& whole) const {
    double most = 0, size = size_of(whole);
    if (!std::all_of(a.begin(), a.end(), [](double x) { return std::isfinite(x); })) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      most = std::max(most, std::fabs(a[i] - d[i])), size = std::max(size, std::fabs(d[i]));
    return most <= std::max(bound() * size, noise_);
  }
  double bound() const { return single_ ? 2e-3 : 1e-6; }

  // ---- wrong in a known way

  // Whether the gradient is what this wrong backward gives. Asked of all gradients together and of each alone.
  bool explains(const WrongBackward& way, const std::string& name, const Array& analytic, bool wrong) {
    const auto [known, is_new] = explains_.try_emplace({&way, name, wrong}, false);
    if (is_new) known->second = is_what_gives(way, name, analytic, wrong);
    return known->second;
  }
  bool is_what_gives(const WrongBackward& way, const std::string& name, const Array& analytic, bool wrong) const {
    if (reading_->accumulated) return false;  // held states are one of these ways
    const Cut cut = way.intervention.cut;
    const bool of_attention = cut != Cut::none && cut != Cut::states && cut != Cut::carry;
    if (trace_.kind == TraceKind::recurrent && of_attention) return false;  // a cell has no such place
    const std::size_t few = std::min<std::size_t>(entries_, 12);
    const bool plain = !way.intervention.anywhere();
    const auto loss = [&](const Arrays& at) {
      return loss_of(plain ? whole_forward(trace_.kind, model_, at)
                           : whole_forward(trace_.kind, model_, at, inputs_, way.intervention),
                     way.seen);
    };
    // Nearly all ways differ at the first entry. Twice the bound: so far off is not close, however large the rest may be.
    const Vec wanted = taken(analytic, few);
    const double size = size_of(analytic);
    bool far = false;
    const auto stop = [&](std::size_t k, double d) {
      return far = std::fabs(wanted[k] - d) > std::max(2 * bound() * std::max(size, std::fabs(d)), noise_);
    };
    try {
      const Vec made = differences(name, loss, few, stop);
      if (far) return false;
      const Array* right = reference::find(reading_->exact, name);
      if (wrong && right && close(taken(*right, few), made, analytic)) return false;  // it changes nothing here
      return close(wanted, made, analytic);
    } catch (const std::invalid_argument&) {
      return false;  // this kind of trace has no such edge
    }
  }

  static bool is_zero(const Array& a) {
    return std::all_of(a.data.begin(), a.data.end(), [](double x) { return x == 0; });
  }

  // A cut edge or a wrong softmax shows in every gradient that it stands before: a right one there speaks against it.
  // Shares of steps and examples are lost parameter by parameter.
  bool leaves_the_right(const WrongBackward& way) {
    const bool one_place = way.intervention.anywhere() && way.intervention.uses == Uses::all;
    return !one_place || std::all_of(reading_->right.begin(), reading_->right.end(), [&](const std::string& name) {
      return explains(way, name, gradients_.at(name), false);
    });
  }

  bool one_reason_for_all(const std::vector<Wrong>& wrong) {
    if (std::all_of(wrong.begin(), wrong.end(), [](const Wrong& w) { return is_zero(*w.analytic); })) return false;
    std::vector<const WrongBackward*> fitting;
    for (const WrongBackward& way : wrong_backwards())
      if (std::all_of(wrong.begin(), wrong.end(),
                      [&](const Wrong& w) { return explains(way, w.name, *w.analytic, true); }) &&
          leaves_the_right(way))
        fitting.push_back(&way);
    if (fitting.empty() || too_many(fitting)) return false;
    for (const Wrong& w : wrong) add(w.name, fitting);
    return true;
  }

  static bool too_many(const std::vector<const WrongBackward*>& fitting) {
    std::set<std::string> codes;
    for (const WrongBackward* way : fitting) codes.insert(way->code);
    constexpr std::size_t most_names = 3;
    return codes.size() > most_names;
  }

  // ---- wrong in a way that its numbers alone show

  bool equal(const Array& a, const Vec& b) const { return a.data.size() == b.size() && close(a.data, b, a); }

  // Whether the right gradients stand to each other as these do, like those of two biases that are added: that both are
  // wrong alike says nothing. Where no formula gives the right ones, differences at the same entries have to do.
  bool so_by_theory(const Wrong& w, const std::string& other, bool turned, double factor) const {
    const Array *own = reference::find(reading_->exact, w.name), *right = reference::find(reading_->exact, other);
    Vec wanted;
    if (own && right) {
      wanted = turned ? transposed(*right).data : right->data;
    } else if (!turned && reference::find(inputs_, uses_of(other)[0]) && !outputs_.count(other)) {
      try {
        wanted = differences(
            other, [&](const Arrays& at) { return loss_at(at); }, entries_);
      } catch (const std::invalid_argument&) {
        return true;  // not in this reading: nothing is known, nothing is said
      }
    } else {
      return true;
    }
    for (double& x : wanted) x *= factor;
    return close(own && right ? own->data : w.numeric, wanted, *w.analytic);
  }

  // The gradient of another array, perhaps transposed or times a number, in the place of its own.
  bool looks_like_another(const Wrong& w) {
    const Array& g = *w.analytic;
    const double B = static_cast<double>(batch());
    const std::pair<double, Words> factors[] = {{1, {}},
                                                {-1, {", negated", "的相反数"}},
                                                {2, {", twice", "的两倍"}},
                                                {.5, {", halved", "的一半"}},
                                                {1 / B, {", divided by the batch size", "除以批大小"}}};
    for (const Arrays* from : {&std::as_const(gradients_), &reading_->exact})
      for (const auto& [name, other] : *from) {
        const bool flipped = other.shape.size() == 2 && g.shape == Dims{other.shape[1], other.shape[0]};
        if (name == w.name || (other.shape != g.shape && !flipped)) continue;
        const Array* right = reference::find(reading_->exact, w.name);
        for (const bool turned : {false, true}) {
          if (turned ? !flipped : other.shape != g.shape) continue;
          for (const auto& [k, said] : factors) {
            Vec scaled = turned ? transposed(other).data : other.data;
            for (double& x : scaled) x *= k;
            if (!equal(g, scaled) || so_by_theory(w, name, turned, k)) continue;
            Words what = {
                "the gradient of % is the gradient of " + shown(name) + (turned ? ", transposed" : "") + said.en,
                "% 的梯度是 " + shown(name) + " 的梯度" + (turned ? "的转置" : "") + said.zh};
            if (right && right->shape == other.shape) say_where_they_differ(*right, other, what);
            add(w.name, "GRAD_COPIED", Kind::graph, what,
                {"derive it on its own way: what multiplies " + shown(w.name) + " after it is added belongs to it",
                 "沿它自己的路径求导：它之后乘上的因子要算进来"});
            return true;
          }
        }
      }
    return false;
  }

  // The right numbers of a sequence (B, T, d) at other steps or examples.
  bool looks_reordered(const Wrong& w) {
    const Array* right = reference::find(reading_->exact, w.name);
    if (!right || right->shape.size() != 3 || right->shape != w.analytic->shape) return false;
    const std::size_t B = right->dim(0), T = right->dim(1);
    const struct {
      const char* code;
      std::function<std::size_t(std::size_t, std::size_t)> from;  // B T: zeros
      Said sentence;
    } ways[] = {
        {"GRAD_TIME_REVERSED",
         [T](std::size_t b, std::size_t t) { return b * T + T - 1 - t; },
         {"the gradient of % runs backwards in time", "% 的梯度沿时间颠倒了"}},
        {"GRAD_OTHER_STEP",
         [B, T](std::size_t b, std::size_t t) { return t + 1 < T ? b * T + t + 1 : B * T; },
         {"the gradient of % stands one step too early", "% 的梯度早了一步"}},
        {"GRAD_OTHER_STEP",
         [B, T](std::size_t b, std::size_t t) { return t ? b * T + t - 1 : B * T; },
         {"the gradient of % stands one step too late", "% 的梯度晚了一步"}},
        {"GRAD_OVERWRITE",
         [B, T](std::size_t b, std::size_t t) { return t ? B * T : b * T + T - 1; },
         {"the gradient of % is written to the first step at every step: the last one's stands there",
          "每一步都把 % 的梯度写到第一步：那里留下的是最后一步的"}},
        {"GRAD_OTHER_EXAMPLE",
         [B, T](std::size_t b, std::size_t t) { return (b + 1) % B * T + t; },
         {"the gradient of % is the next example's", "% 的梯度是下一个样本的"}},
        {"GRAD_OTHER_EXAMPLE",
         [B, T](std::size_t b, std::size_t t) { return (b + B - 1) % B * T + t; },
         {"the gradient of % is the previous example's", "% 的梯度是上一个样本的"}},
        {"GRAD_OTHER_EXAMPLE",
         [B, T](std::size_t b, std::size_t t) { return (B - 1 - b) * T + t; },
         {"the gradient of % stands in reverse order of the batch", "% 的梯度沿批次颠倒了"}},
    };
    for (const auto& way : ways) {
      Array moved(right->shape);
      for (std::size_t b = 0; b < B; ++b)
        for (std::size_t t = 0; t < T; ++t)
          if (const std::size_t from = way.from(b, t); from < B * T)
            moved.set_row({b, t}, right->row({from / T, from % T}));
      if (!equal(*w.analytic, moved.data)) continue;
      add(w.name, way.code, Kind::graph, way.sentence,
          {"write each step's and each example's gradient to its own place",
           "把每一步、每个样本的梯度写到它自己的位置"});
      return true;
    }
    return false;
  }

  std::size_t batch() const {
    for (const char* name : {"y_emb", "x", "query"})
      if (const Array* a = reference::find(inputs_, name)) return std::max<std::size_t>(a->dim(0), 1);
    return 1;
  }

  // The letters of the gates that this array's rows are stacked in; empty where it has none.
  std::string gates_of(const std::string& name, const Array& g) const {
    std::string order;
    if (const auto* gru = std::get_if<GruConvention>(&model_.decoder.cell)) order = gru->gate_order;
    if (const auto* lstm = std::get_if<LstmConvention>(&model_.decoder.cell)) order = lstm->gate_order;
    const auto is = [&](const std::string& start) {
      const std::string rest = name.rfind(start, 0) == 0 ? name.substr(start.size()) : "?";
      return rest.empty() || rest.rfind("_l", 0) == 0 || rest == "_reverse";
    };
    const bool stacked = is("W") || is("U") || is("b") || is("b_u");
    return stacked && !order.empty() && !g.shape.empty() && g.dim(0) % order.size() == 0 ? order : "";
  }
  static Array block(const Array& g, std::size_t gates, std::size_t i) {
    const std::size_t n = g.data.size() / gates;
    Dims shape = g.shape;
    shape[0] /= gates;
    const auto start = g.data.begin() + static_cast<std::ptrdiff_t>(i * n);
    return Array(shape, Vec(start, start + static_cast<std::ptrdiff_t>(n)));
  }

  void say_where_they_differ(const Array& right, const Array& other, Words& what) const {
    const std::string order = gates_of("W", right);
    std::string differing;
    for (std::size_t i = 0; i < order.size() && right.dim(0) % order.size() == 0; ++i)
      if (!equal(block(right, order.size(), i), block(other, order.size(), i).data))
        differing += (differing.empty() ? "" : ", ") + std::string(1, order[i]);
    if (differing.empty() || right.dim(0) % order.size()) return;
    const auto* gru = std::get_if<GruConvention>(&model_.decoder.cell);
    const bool reset = gru && gru->reset == GruReset::after && differing == "n";
    what.en += "; they differ in the block of " + differing + (reset ? ", where the factor r is missing" : "");
    what.zh += "；两者应在 " + differing + " 的块上不同" + (reset ? "：那里缺少因子 r" : "");
  }

  // Gates whose blocks are right, and those that are not: exchanged, transposed, scaled or missing.
  bool looks_like_its_blocks(const Wrong& w) {
    const Array* right = reference::find(reading_->exact, w.name);
    const std::string order = right ? gates_of(w.name, *right) : "";
    const std::size_t gates = order.size();
    if (!gates || right->shape != w.analytic->shape) return false;
    std::vector<Array> have, want;
    for (std::size_t i = 0; i < gates; ++i)
      have.push_back(block(*w.analytic, gates, i)), want.push_back(block(*right, gates, i));
    std::string good, bad, from;
    std::set<double> factors;
    bool turned = true;
    for (std::size_t i = 0; i < gates; ++i) {
      if (equal(have[i], want[i].data)) {
        good += (good.empty() ? "" : ", ") + std::string(1, order[i]);
        continue;
      }
      bad += (bad.empty() ? "" : ", ") + std::string(1, order[i]);
      for (std::size_t k = 0; k < gates; ++k)
        if (k != i && equal(have[i], want[k].data)) from += (from.empty() ? "" : ", ") + std::string(1, order[k]);
      turned = turned && have[i].shape.size() == 2 && have[i].dim(0) == have[i].dim(1) &&
               equal(have[i], transposed(want[i]).data);
      const double wr = dot(have[i].data, want[i].data), rr = dot(want[i].data, want[i].data);
      Vec scaled = want[i].data;
      for (double& x : scaled) x *= wr / rr;
      factors.insert(rr > 0 && equal(have[i], scaled) ? std::round(wr / rr * 1e6) / 1e6 : std::nan(""));
    }
    const Words is = {"in the gradient of % the block of " + bad, "% 的梯度中，" + bad + " 的块"};
    const Said look = {"compare the backward of this gate with the others", "把这个门的反向与其他门对照"};
    const double k = factors.empty() ? std::nan("") : *factors.begin();
    if (from.size() == bad.size()) {
      add(w.name, "GRAD_BLOCKS_EXCHANGED", Kind::graph,
          {is.en + " holds what belongs to " + from, is.zh + "放的是 " + from + " 的梯度"},
          {"stack the gates' gradients in the order of the gates", "按门的顺序堆叠各门的梯度"});
    } else if (turned) {
      add(w.name, "GRAD_BLOCK_TRANSPOSED", Kind::graph, {is.en + " is transposed", is.zh + "被转置了"},
          {"dU = da h^T", "dU = da h^T"});
    } else if (factors.size() == 1 && !std::isnan(k)) {
      add(w.name, k == 0 ? "GRAD_BLOCK_MISSING" : "GRAD_BLOCK_SCALED", Kind::graph,
          k == 0 ? Words{is.en + " is 0: this gate's share is missing", is.zh + "为 0：缺少这个门的部分"}
                 : Words{is.en + " is " + number(k) + " times what it should be",
                         is.zh + "是应有值的 " + number(k) + " 倍"},
          look);
    } else if (!good.empty()) {
      add(w.name, "GRAD_WRONG", Kind::graph,
          {"the forward is right, but " + is.en + " is not; right is that of " + good,
           "前向正确，但" + is.zh + "不对；对的是 " + good},
          look);
    } else {
      return false;
    }
    return true;
  }

  void judge(const Wrong& w) {
    const Array& analytic = *w.analytic;
    const Vec a = taken(analytic, entries_);
    const bool square = analytic.shape.size() == 2 && analytic.dim(0) == analytic.dim(1);
    if (square) {
      Vec flipped;
      for (std::size_t i : places(analytic, entries_))
        flipped.push_back(analytic.data[i % analytic.dim(1) * analytic.dim(1) + i / analytic.dim(1)]);
      if (close(flipped, w.numeric, analytic))
        return add(w.name, "GRAD_TRANSPOSED", Kind::graph, {"the gradient of % is transposed", "% 的梯度被转置了"},
                   {"transpose it, and test with sizes that differ", "转置它，并用不同的尺寸测试"});
    }
    if (is_simple(w, a) || looks_clipped(w)) return;
    std::vector<const WrongBackward*> fitting;
    for (const WrongBackward& way : wrong_backwards())
      if (explains(way, w.name, analytic, true) && leaves_the_right(way)) fitting.push_back(&way);
    if (!fitting.empty() && !too_many(fitting)) return add(w.name, fitting);
    if (looks_like_another(w) || looks_like_its_blocks(w) || looks_reordered(w)) return;
    add(w.name, "GRAD_WRONG", Kind::graph,
        {"the forward is right, but the gradient of % is not: the backward pass is wrong",
         "前向正确，但 % 的梯度不对：反向传播有误"},
        {"compare its backward with its forward, term by term", "逐项对照前向检查其反向"});
  }

  // The right numbers, each of them cut off at the same size.
  bool looks_clipped(const Wrong& w) {
    const Array* right = reference::find(reading_->exact, w.name);
    if (!right || right->shape != w.analytic->shape) return false;
    double most = 0;
    for (double x : w.analytic->data) most = std::max(most, std::fabs(x));
    Vec cut = right->data;
    std::size_t at_the_end = 0;
    for (double& x : cut) at_the_end += std::fabs(x) > most, x = std::clamp(x, -most, most);
    if (at_the_end < 2 || !equal(*w.analytic, cut)) return false;
    add(w.name, "GRAD_CLIPPED", Kind::optimizer,
        {"every number of the gradient of % is clipped to [-" + number(most) + ", " + number(most) + "]",
         "% 的梯度每个数都被裁剪到 [-" + number(most) + ", " + number(most) + "]"},
        {"dump the gradients before they are clipped, and clip their norm", "在裁剪之前保存梯度，并按范数裁剪"});
    return true;
  }

  // Not finite, zero, or a multiple of what it should be.
  bool is_simple(const Wrong& w, const Vec& a) {
    const Vec& d = w.numeric;
    double ad = 0, dd = 0;
    for (std::size_t i = 0; i < a.size(); ++i) ad += a[i] * d[i], dd += d[i] * d[i];
    if (!std::all_of(w.analytic->data.begin(), w.analytic->data.end(), [](double x) { return std::isfinite(x); })) {
      add(w.name, "GRAD_NOT_FINITE", Kind::numerics,
          {"the gradient of % holds NaN or infinities", "% 的梯度含有 NaN 或无穷"},
          {"compare its backward with its forward, term by term", "逐项对照前向检查其反向"});
      return true;
    }
    if (is_zero(*w.analytic) && dd > 0) {
      add(w.name, "GRAPH_DROPPED", Kind::graph,
          {"the forward is right, but the gradient of % is 0 where it should not be: the graph was cut",
           "前向正确，但 % 的梯度本不该为 0：计算图被切断了"},
          {"do not take plain values out of the graph on the way from it to the loss",
           "从它到损失的路径上不要取出脱离计算图的值"});
      return true;
    }
    const double k = dd > 0 ? ad / dd : 0;
    double off = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      off = std::max(off, std::fabs(a[i] - k * d[i])), size = std::max(size, std::fabs(a[i]));
    // A fitted factor explains a little of anything.
    if (dd == 0 || a.size() < 2 || off > std::min(10 * bound(), 0.05 * std::fabs(k - 1)) * size) return false;
    if (std::fabs(k + 1) < 1e-3)
      add(w.name, "GRAD_SIGN", Kind::graph, {"the gradient of % has the wrong sign", "% 的梯度符号相反"},
          {"remove the minus sign from its backward", "去掉反向里的负号"});
    else {
      const bool twice = std::fabs(k - 2) < 1e-3 || std::fabs(k - .5) < 1e-3;  // whatever the sizes are
      const std::string of_model = twice ? "" : as_size(k, trace_.arrays, 0, 1e-4),
                        factor = number(k) + (of_model.empty() ? "" : " (" + of_model + ")");
      add(w.name, "GRAD_SCALED", Kind::graph,
          {"the gradient of % is " + factor + " times what it should be", "% 的梯度是应有值的 " + factor + " 倍"},
          {"look for a mean that should be a sum, or a use counted twice",
           "检查是否把 sum 写成 mean，或某次使用被重复计数"});
    }
    return true;
  }

  void wrong_shape(const std::string& name, const Array& analytic, const Array& at) {
    add(name, "UNBROADCAST_MISSING", Kind::broadcast,
        {"the gradient of % has shape " + reference::to_string(analytic.shape) + ", " + shown(name) + " has " +
             reference::to_string(at.shape),
         "% 的梯度形状为 " + reference::to_string(analytic.shape) + "，而 " + shown(name) + " 为 " +
             reference::to_string(at.shape)},
        {"sum the gradient over the axes that were broadcast", "沿被广播的轴对梯度求和"});
  }

  // ---- what is said

  static std::string number(double x) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::general, 4).ptr;
    return std::string(text, end);
  }

  // As the file calls it.
  std::string shown(const std::string& name) const {
    const auto file = trace_.read.find(name);
    return file == trace_.read.end() ? name : file->second;
  }

  // Gradients with the same thing to say share a finding; % stands for their names.
  void add(const std::string& name, const std::string& code, Kind kind, const Words& sentence, const Words& fix,
           const std::vector<std::string>& alias = {}) {
    const Words said = code == "FEED_DETACHED" ? feed_detached() : sentence;
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (found_[i].code == code && found_[i].sentence.en == said.en) return names_[i].push_back(shown(name));
    Finding f;
    f.code = code;
    f.kind = kind;
    f.sentence = said;
    f.fix = fix;
    f.alias = alias;
    if (!alias.empty()) f.tell = {"the gradients of every parameter and of H", "每个参数与 H 的梯度"};
    found_.push_back(f);
    names_.push_back({shown(name)});
  }

  Words feed_detached() const {
    const Parts& input = model_.decoder.cell_input;
    const bool vector =
        std::any_of(input.begin(), input.end(), [](const Part& p) { return p.what == What::attentional; });
    const std::string what = vector ? "s~_{t-1}" : "c";
    return {std::string(vector ? "the attentional vector " : "the context ") + what +
                " that the cell reads was detached: no gradient flows from the cell into it",
            std::string(vector ? "循环单元读取的注意力向量 " : "循环单元读取的上下文向量 ") + what +
                " 被 detach 了：没有梯度从循环单元流入它"};
  }

  void add(const std::string& name, const std::vector<const WrongBackward*>& fitting) {
    std::set<std::string> codes;
    for (const WrongBackward* way : fitting) codes.insert(way->code);
    if (codes.size() == 1) return add(name, fitting[0]->code, Kind::graph, fitting[0]->sentence, fitting[0]->fix);
    std::string code;
    for (const std::string& one : codes) code += (code.empty() ? "" : "|") + one;
    add(name, code, Kind::graph,
        {"several mistakes of backward give this same gradient of %", "有几种反向错误会得到 % 的这个梯度"},
        {"look at the gradients of the other parameters", "再看其余参数的梯度"}, {codes.begin(), codes.end()});
  }

  void finish(Finding& f) const {
    const std::vector<std::string>& names = names_[static_cast<std::size_t>(&f - found_.data())];
    std::string list;
    for (const std::string& name : names) { list += (list.empty() ? "" : ", ") + name; }
    f.where = {(names.size() == 1 ? "the gradient of " : "the gradients of ") + list, list + " 的梯度"};
    for (std::string* said : {&f.sentence.en, &f.sentence.zh})
      if (const std::size_t place = said->find('%'); place != std::string::npos) said->replace(place, 1, list);
    std::string given = "grad_" + list;
    for (std::size_t at = 0; (at = given.find(", ", at)) != std::string::npos;) given.insert(at += 2, "grad_");
    f.used = {given + " as given", "所给的 " + given};
    f.paper = {"central differences of the forward that the trace shows", "按文件所示前向算出的中心差分"};
    f.test = "CHECK(check_gradient(f, {" + list + "}).passed);";
  }

  const Trace& trace_;
  const Model& model_;
  const bool single_;
  const std::set<std::string> guessed_;
  Verdict& verdict_;
  Arrays gradients_, inputs_, out_;
  Arrays given_;  // gradients of outputs
  std::vector<Reading> readings_;
  const Reading* reading_ = nullptr;
  static constexpr double step = 6e-6;
  double largest_ = 0;  // of all numbers of all gradients
  double noise_ = 0;    // of a central difference, where theory says 0: the rounding of the loss over the step
  std::size_t entries_ = 24;
  std::set<std::string> outputs_, misshaped_;
  std::map<std::tuple<const WrongBackward*, std::string, bool>, bool> explains_;  // what was asked before
  std::vector<Finding> found_;
  std::vector<std::vector<std::string>> names_;  // of each finding
};

}  // namespace

bool gradients_are_right(const Trace& trace, const Model& model, bool single) {
  Verdict unsaid;
  return Gradients(trace, model, single, {}, unsaid).are_right();
}

void check_gradients(const Trace& trace, const Model& model, bool single, const std::set<std::string>& guessed,
                     Verdict& verdict) {
  Gradients(trace, model, single, guessed, verdict).check();
}

}  // namespace gradus::diagnosis
