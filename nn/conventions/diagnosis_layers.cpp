// Layer by layer, and direction by direction: each change is made in one place and the whole run is computed again.
#include "nn/conventions/diagnosis_layers.h"

#include <algorithm>

#include "nn/conventions/diagnosis_between.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

class Layers {
 public:
  explicit Layers(const LayerCase& given)
      : given_(given), layers_(given.trace.layers), directions_(given.trace.directions) {}

  std::optional<Finding> between() const {
    for (std::size_t l = 0; l < layers_ && layers_ > 1; ++l)
      if (auto found = hands_on(l)) return found;
    return layers_ > 2 ? hands_on(every) : std::nullopt;
  }

  std::optional<Finding> find() const {
    for (std::size_t l = 0; l < layers_ && layers_ > 1; ++l)
      if (auto found = other_cell(l)) return found;
    if (auto found = layers_ > 1 ? other_weights() : std::nullopt) return found;
    if (auto found = between()) return found;
    return other_start();
  }

 private:
  Finding finding(std::size_t l) const {
    const std::string number = std::to_string(l);
    Finding f;
    f.where = {"layer " + number + " of the recurrent run (h)", "循环层（h）的第 " + number + " 层"};
    f.test = "CHECK(check_reference(cell, inputs, claimed).passed);";
    f.kind = std::holds_alternative<LstmConvention>(given_.right.decoder.cell) ? Kind::lstm : Kind::gru;
    return f;
  }

  std::optional<Finding> other_cell(std::size_t l) const {
    for (const OtherCell& other : given_.cells) {
      Model one = given_.right;
      one.cells.assign(layers_, given_.right.decoder.cell);
      one.cells[l] = other.cell;
      if (!given_.agrees(one)) continue;
      Finding f = finding(l);
      const std::string number = std::to_string(l);
      f.code = other.option->code;
      f.sentence = {"in layer " + number + " alone: " + other.option->sentence.en,
                    "仅第 " + number + " 层：" + other.option->sentence.zh};
      f.used = other.option->used, f.paper = other.option->paper;
      f.fix = {"give layer " + number + " the cell of the other layers",
               "第 " + number + " 层应使用与其他层相同的单元"};
      return f;
    }
    return std::nullopt;
  }

  // ---- parameters of another layer or direction

  static std::string suffix(std::size_t l, std::size_t k) {
    return (l ? "_l" + std::to_string(l) : "") + (k ? "_reverse" : "");
  }
  Words place(std::size_t l, std::size_t k) const {
    const std::string number = std::to_string(l);
    if (directions_ == 1) return {"layer " + number, "第 " + number + " 层"};
    return {std::string(k ? "the backward direction" : "the forward direction") + " of layer " + number,
            "第 " + number + " 层" + (k ? "反向" : "正向")};
  }

  std::optional<Finding> other_weights() const {
    static const std::vector<std::vector<const char*>> sets = {
        {"W", "U", "b", "b_u"}, {"W"}, {"U"}, {"b"}, {"b_u"}, {"b", "b_u"}, {"U", "b_u"}, {"W", "b"}};
    const Arrays& a = given_.trace.arrays;
    for (const std::vector<const char*>& names : sets)
      for (std::size_t l = 0; l < layers_; ++l)
        for (std::size_t k = 0; k < directions_; ++k)
          for (std::size_t other = 0; other < layers_; ++other)
            for (std::size_t way = 0; way < directions_; ++way) {
              if (other == l && way == k) continue;
              Model one = given_.right;
              const auto which = exchanged(a, names, suffix(other, way), suffix(l, k), one);
              if (which.empty() || !given_.agrees(one)) continue;
              const Words from = place(other, way), to = place(l, k);
              Finding f = finding(l);
              f.code = "LAYER_WEIGHTS_OTHER", f.kind = Kind::graph;
              f.sentence = {to.en + " uses " + which + " of " + from.en + ", not its own",
                            to.zh + "用的是" + from.zh + "的 " + which + "，而不是自己的"};
              f.used = {to.en + ": " + which + " of " + from.en, to.zh + "：" + from.zh + "的 " + which};
              f.paper = {to.en + ": its own " + which, to.zh + "：自己的 " + which};
              f.fix = {"index the parameters by layer and direction", "按层号与方向取参数"};
              return f;
            }
    // In every layer the backward direction with the forward one's, or the other way round.
    for (std::size_t k = 0; k < 2 && directions_ > 1; ++k) {
      Model one = given_.right;
      bool all = true;
      for (std::size_t l = 0; l < layers_; ++l)
        all = all && !exchanged(a, sets[0], suffix(l, 1 - k), suffix(l, k), one).empty();
      if (!all || !given_.agrees(one)) continue;
      Finding f = finding(0);
      f.code = "BIDIR_WEIGHTS_SHARED", f.kind = Kind::graph;
      f.where = {"all layers of the recurrent run (h)", "循环层（h）的所有层"};
      f.sentence = {std::string("in every layer the ") + (k ? "backward" : "forward") +
                        " direction uses the other one's " + "weights; its own are never used",
                    std::string("每一层的") + (k ? "反向" : "正向") + "都用另一个方向的权重；自己的从未使用"};
      f.used = k ? Text{"backward: the weights of the forward direction", "反向：用正向的权重"}
                 : "forward: the weights of the backward direction";
      f.paper = {"each direction: its own weights", "每个方向：用自己的权重"};
      f.fix = {"give each direction its own cell", "每个方向用自己的单元"};
      return f;
    }
    return std::nullopt;
  }
  // Puts the parameters with one suffix in the place of those with another; which ones, empty where they do not fit.
  static std::string exchanged(const Arrays& a, const std::vector<const char*>& names, const std::string& from,
                               const std::string& to, Model& one) {
    std::string which;
    for (const char* name : names) {
      const Array *other = reference::find(a, name + from), *own = reference::find(a, name + to);
      if (!other && !own && names.size() > 1) continue;
      if (!other || !own || other->shape != own->shape) return "";
      which += (which.empty() ? "" : ", ") + std::string(name);
    }
    one.edits.push_back([names, from, to](Arrays& arrays) {
      for (const char* name : names)
        if (const Array* other = reference::find(arrays, name + from)) arrays[name + to] = Array(*other);
    });
    return which;
  }

  // ---- between the layers

  static constexpr std::size_t every = static_cast<std::size_t>(-1);  // layer but the top one

  std::optional<Finding> hands_on(std::size_t l) const {
    for (const Between& way : all_between(given_.trace, l == every ? 0 : l)) {
      if (l == every && way.of_this_layer) continue;
      Model one = given_.right;
      one.after_layer = [&way, l, top = layers_ - 1](std::size_t layer, const Array& in, const Array& memory,
                                                     Array& out) {
        if (l == every ? layer < top : layer == l) way.change(in, memory, out);
      };
      if (!(way.whole_batch ? given_.agrees_on_all : given_.agrees)(one)) continue;
      Finding f = finding(l == every ? 0 : l);
      if (l == every) f.where = {"all layers of the recurrent run (h)", "循环层（h）的所有层"};
      f.code = way.code, f.kind = Kind::convention;
      const std::string number = std::to_string(l);
      const Words who = l == every ? Words{"every layer but the top one", "除最上层外的每一层"}
                                   : Words{"layer " + number, "第 " + number + " 层"};
      f.sentence = {
          who.en + " hands on " + way.used.en + (l + 1 == layers_ ? "" : " to the next layer") + " where h belongs",
          who.zh + "交出的是 " + way.used.zh + "，应为 h"};
      f.used = {who.en + ": " + way.used.en, who.zh + "：" + way.used.zh};
      f.paper = {who.en + ": h", who.zh + "：h"};
      f.fix = {"hand each layer's h to the next as it is", "把每层的 h 原样交给下一层"};
      return f;
    }
    return std::nullopt;
  }

  // ---- initial states

  // Numbers that the first step of a layer and direction may have been given; empty where there are none of this kind.
  struct Source {
    Words what;
    std::function<Array(std::size_t l, std::size_t k, bool memory, const Model::Before& before)> take;
    bool whole_batch = false;
  };

  std::optional<Finding> other_start() const {
    const auto slice = [this](const Array* states, std::size_t l, std::size_t k) {
      if (!states) return Array();
      const std::size_t n = states->dim(1) * states->dim(2), i = l * directions_ + k;
      const auto start = states->data.begin() + static_cast<std::ptrdiff_t>(i * n);
      return Array({states->dim(1), states->dim(2)}, {start, start + static_cast<std::ptrdiff_t>(n)});
    };
    using Before = Model::Before;
    const auto initial = [](const Before& before, bool memory) { return memory ? before.c0 : before.h0; };
    std::vector<Source> sources = {{{"zeros", "零"},
                                    [&](std::size_t l, std::size_t k, bool memory, const Before& before) {
                                      Array a = slice(initial(before, memory), l, k);
                                      std::fill(a.data.begin(), a.data.end(), 0);
                                      return a;
                                    }},
                                   {{"the final state of the layer below", "更低一层的最后状态"},
                                    [&](std::size_t l, std::size_t k, bool memory, const Before& before) {
                                      return l ? (memory ? before.memories : before.finals)[(l - 1) * directions_ + k]
                                               : Array();
                                    }},
                                   {{"the other direction's initial state", "另一个方向的初始状态"},
                                    [&](std::size_t l, std::size_t k, bool memory, const Before& before) {
                                      return directions_ > 1 ? slice(initial(before, memory), l, 1 - k) : Array();
                                    }},
                                   {{"c0 for h and h0 for c", "h 取自 c0，c 取自 h0"},
                                    [&](std::size_t l, std::size_t k, bool memory, const Before& before) {
                                      return slice(initial(before, !memory), l, k);
                                    }}};
    const auto row = [&](Words what, auto from) {  // from(b, B): the example that b starts from
      sources.push_back({std::move(what),
                         [=, this](std::size_t l, std::size_t k, bool memory, const Before& before) {
                           const Array own = slice(initial(before, memory), l, k);
                           Array a = own;
                           for (std::size_t b = 0; !a.data.empty() && b < a.dim(0); ++b)
                             a.set_row({b}, own.row({from(b, a.dim(0))}));
                           return a;
                         },
                         true});
    };
    row({"the first example's initial state", "第一个样本的初始状态"}, [](std::size_t, std::size_t) { return 0u; });
    row({"the last example's initial state", "最后一个样本的初始状态"},
        [](std::size_t, std::size_t B) { return B - 1; });
    row({"the previous example's initial state", "上一个样本的初始状态"},
        [](std::size_t b, std::size_t B) { return (b + B - 1) % B; });
    row({"the next example's initial state", "下一个样本的初始状态"},
        [](std::size_t b, std::size_t B) { return (b + 1) % B; });
    for (std::size_t other = 0; other < layers_ && layers_ > 1; ++other) {
      const std::string number = std::to_string(other);
      sources.push_back({{"the initial state of layer " + number, "第 " + number + " 层的初始状态"},
                         [&, other](std::size_t l, std::size_t k, bool memory, const Before& before) {
                           return other == l ? Array() : slice(initial(before, memory), other, k);
                         }});
    }
    constexpr std::size_t any = static_cast<std::size_t>(-1);
    struct Slots {
      std::size_t layer, direction;
    };
    std::vector<Slots> slots = {{any, any}};
    for (std::size_t l = 0; l < layers_ && layers_ > 1; ++l) slots.push_back({l, any});
    for (std::size_t k = 0; k < directions_ && directions_ > 1; ++k) slots.push_back({any, k});
    for (std::size_t l = 0; l < layers_ && layers_ > 1; ++l)
      for (std::size_t k = 0; k < directions_ && directions_ > 1; ++k) slots.push_back({l, k});
    const bool lstm = std::holds_alternative<LstmConvention>(given_.right.decoder.cell);
    for (const Source& source : sources)
      for (const Slots& slot : slots)
        for (int part = 0; part < (lstm ? 3 : 1); ++part) {  // both, h alone, the memory alone
          Model one = given_.right;
          one.other_start = [&, slot, part](std::size_t i, const Before& before, Array& h, Array& c) {
            const std::size_t l = i / directions_, k = i % directions_;
            if ((slot.layer != any && slot.layer != l) || (slot.direction != any && slot.direction != k)) return;
            if (const Array other = source.take(l, k, false, before); part != 2 && !other.data.empty()) h = other;
            if (const Array other = source.take(l, k, true, before); part != 1 && !other.data.empty()) c = other;
          };
          if ((source.whole_batch ? given_.agrees_on_all : given_.agrees)(one))
            return of_start(source, slot.layer, slot.direction, part, lstm);
        }
    return std::nullopt;
  }

  Finding of_start(const Source& source, std::size_t l, std::size_t k, int part, bool lstm) const {
    constexpr std::size_t any = static_cast<std::size_t>(-1);
    const std::string number = std::to_string(l);
    const Words layer = l == any ? Words{"every layer", "每一层"} : Words{"layer " + number, "第 " + number + " 层"},
                way = k == any ? Words{"", ""}
                      : k      ? Words{", backward,", "的反向"}
                               : Words{", forward,", "的正向"};
    const Text what = lstm && part == 0 ? Text("h and c", "h 和 c") : lstm && part == 2 ? Text("c") : Text("h");
    Finding f = finding(l == any ? 0 : l);
    if (l == any) f.where = {"the recurrent run (h)", "循环层（h）"};
    f.code = "START_OF_A_LAYER", f.kind = Kind::data;
    f.sentence = {what.en + " of " + layer.en + way.en + " starts from " + source.what.en + ", not from its own",
                  layer.zh + way.zh + "的 " + what.zh + " 从" + source.what.zh + "开始，而不是自己的初始状态"};
    f.used = {what.en + " before the first step = " + source.what.en,
              "第一步之前的 " + what.zh + " = " + source.what.zh};
    f.paper = {what.en + " before the first step = h0, c0 [layer * directions + direction]",
               "第一步之前的 " + what.zh + " = h0, c0 [层 * 方向数 + 方向]"};
    f.fix = {"index the initial states by layer and direction", "按层与方向取初始状态"};
    f.test = {"fill h0 and c0 with distinct constants: CHECK(each layer and direction starts from its own);",
              "用互不相同的常数填满 h0 和 c0：CHECK(每一层、每一方向从自己的开始);"};
    return f;
  }

  const LayerCase& given_;
  const std::size_t layers_, directions_;
};

}  // namespace

std::optional<Finding> explain_layer(const LayerCase& given) { return Layers(given).find(); }
std::optional<Finding> explain_between_layers(const LayerCase& given) { return Layers(given).between(); }

}  // namespace gradus::diagnosis
