// Final states: each block of d numbers is looked for among all that a layer has computed.
#include "nn/conventions/diagnosis_ends.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "nn/conventions/reference/attention.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// Something of size (B, d) that can be taken by mistake.
struct Taken {
  Words what;
  std::vector<Vec> rows;
};

struct Whole {
  const Arrays& given;
  const RunDetails& inside;
  const Arrays& right;  // its outputs
  std::size_t B, d, directions;

  std::size_t real(std::size_t b) const {
    const Array* mask = find(given, "mask");
    const std::size_t T = get(right, "h").dim(1);
    if (!mask) return T;
    std::size_t n = 0;
    for (double x : mask->row({b})) n += x != 0;
    return n;
  }
};

std::vector<Vec> rows_of(std::size_t B, const std::function<Vec(std::size_t)>& row) {
  std::vector<Vec> rows;
  for (std::size_t b = 0; b < B; ++b) rows.push_back(row(b));
  return rows;
}

Words numbered(const char* name, std::size_t i) {
  const std::string text = std::string(name) + "[" + std::to_string(i) + "]";
  return {text, text};
}

// The plainest first: of two that hold the same numbers the first is named.
std::vector<Taken> all_that_can_be_taken(const Whole& w) {
  std::vector<Taken> all;
  const Array& h_n = get(w.right, "h_n");
  const auto add = [&](Words what, const std::function<Vec(std::size_t)>& row) {
    all.push_back({std::move(what), rows_of(w.B, row)});
  };
  for (const char* name : {"h_n", "c_n"})
    if (const Array* a = find(w.right, name))
      for (std::size_t i = 0; i < a->dim(0); ++i)
        add(numbered(name, i), [&](std::size_t b) { return copy(a->row({i, b})); });
  for (const char* name : {"h_n", "c_n"})
    if (const Array* a = find(w.right, name); a && w.B > 1)
      for (std::size_t i = 0; i < a->dim(0); ++i) {
        const Words last = numbered(name, i);
        add({"the last example's " + last.en +
                 " in row 0 and zeros in the others, every example being written to row 0,",
             "最后一个样本的 " + last.zh + "（在第 0 行，其余各行为零：每个样本都写进了第 0 行）"},
            [&, i](std::size_t b) {
              return b == 0 ? copy(a->row({i, w.B - 1})) : Vec(w.d);
            });
      }
  if (const Array* c = find(w.right, "c_n"))
    for (std::size_t i = 0; i < c->dim(0); ++i) {
      const Words what = numbered("c_n", i);
      add({"tanh(" + what.en + ")", "tanh(" + what.zh + ")"}, [&](std::size_t b) {
        return activate(Activation::tanh, copy(c->row({i, b})));
      });
    }
  for (std::size_t i = 0; i + 1 < h_n.dim(0) && w.directions == 2; i += 2) {
    const Words one = numbered("h_n", i), two = numbered("h_n", i + 1);
    const auto sum = [&h_n, i](std::size_t b) { return reference::add(copy(h_n.row({i, b})), h_n.row({i + 1, b})); };
    add({one.en + " + " + two.en, one.zh + " + " + two.zh}, sum);
    add({"the mean of " + one.en + " and " + two.en, one.zh + " 与 " + two.zh + " 的平均"}, [sum](std::size_t b) {
      Vec y = sum(b);
      return multiply(y, Vec(y.size(), .5));
    });
  }
  for (const char* name : {"h0", "c0"})
    if (const Array* a = find(w.given, name))
      for (std::size_t i = 0; i < a->dim(0); ++i)
        add(numbered(name, i), [&](std::size_t b) { return copy(a->row({i, b})); });
  add({"zeros", "零"}, [&](std::size_t) { return Vec(w.d); });
  const Array& h = get(w.right, "h");
  for (std::size_t part = 0; part < w.directions && h.dim(2) == w.d * w.directions; ++part) {
    const Words whose = w.directions == 1 ? Words{"h", "h"}
                        : part            ? Words{"the backward half", "反向那一半"}
                                          : Words{"the forward half", "正向那一半"};
    const auto at = [&h, part, &w](std::size_t b, std::size_t t) {
      return copy(h.row({b, t}).subspan(part * w.d, w.d));
    };
    const std::size_t T = h.dim(1);
    const auto one = [&](const char* en, const char* zh, const std::function<std::size_t(std::size_t)>& position) {
      add({whose.en + " at " + en, whose.zh + "在" + zh}, [&, position](std::size_t b) { return at(b, position(b)); });
    };
    one("position 1", "位置 1", [](std::size_t) { return std::size_t{0}; });
    one("the last real position", "最后一个真实位置",
        [&](std::size_t b) { return std::max<std::size_t>(w.real(b), 1) - 1; });
    one("the last position, padding included", "最后一个位置（含填充）", [&](std::size_t) { return T - 1; });
    one("the position before the last real one", "最后一个真实位置的前一个",
        [&](std::size_t b) { return std::max<std::size_t>(w.real(b), 2) - 2; });
    one("position 2", "位置 2", [&](std::size_t) { return std::min<std::size_t>(1, T - 1); });
    const auto over = [&](const char* en, const char* zh, bool largest, bool mean, bool only_real) {
      add({std::string(en) + " of " + whose.en, whose.zh + zh}, [=, &w](std::size_t b) {
        const std::size_t n = std::max<std::size_t>(only_real ? w.real(b) : T, 1);
        Vec y = at(b, 0);
        for (std::size_t t = 1; t < n; ++t) {
          const Vec x = at(b, t);
          for (std::size_t k = 0; k < y.size(); ++k) y[k] = largest ? std::max(y[k], x[k]) : y[k] + x[k];
        }
        return mean ? multiply(y, Vec(y.size(), 1 / static_cast<double>(n))) : y;
      });
    };
    over("the mean over all positions", "在所有位置上的平均", false, true, false);
    over("the mean over the real positions", "在真实位置上的平均", false, true, true);
    over("the sum over the positions", "在各位置上的和", false, false, false);
    over("the largest over all positions", "在所有位置上的最大值", true, false, false);
    over("the largest over the real positions", "在真实位置上的最大值", true, false, true);
  }
  for (const std::vector<Array>* list : {&w.inside.states, &w.inside.memories})
    for (std::size_t i = 0; i < list->size(); ++i) {
      const bool memory = list == &w.inside.memories;
      const std::string name = std::string(memory ? "c" : "h") +
                               (w.inside.states.size() > 1 ? " of " + numbered(memory ? "c_n" : "h_n", i).en : "");
      const auto one = [&](const char* en, const char* zh, const std::function<std::size_t(std::size_t)>& position) {
        add({name + " at " + en, name + " 在" + zh}, [&, position](std::size_t b) {
          return copy((*list)[i].row({b, position(b)}));
        });
      };
      const std::size_t T = (*list)[i].dim(1);
      one("position 1", "位置 1", [](std::size_t) { return std::size_t{0}; });
      one("position 2", "位置 2", [&](std::size_t) { return std::min<std::size_t>(1, T - 1); });
      one("the position before the last real one", "最后一个真实位置的前一个",
          [&](std::size_t b) { return std::max<std::size_t>(w.real(b), 2) - 2; });
      one("the last real position", "最后一个真实位置",
          [&](std::size_t b) { return std::max<std::size_t>(w.real(b), 1) - 1; });
      one("the last position, padding included", "最后一个位置（含填充）", [&](std::size_t) { return T - 1; });
      add({name + " of the first example at each one's own last real position",
           name + "（第一个样本的，取各样本自己的最后一个真实位置）"},
          [&, i](std::size_t b) {
            return copy((*list)[i].row({0, std::max<std::size_t>(w.real(b), 1) - 1}));
          });
    }
  return all;
}

bool same(const std::vector<Vec>& a, const std::vector<Vec>& b, double tolerance) {
  double most = 0, size = 1e-300;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].size() != b[k].size()) return false;
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      if (!std::isfinite(a[k][i]) || !std::isfinite(b[k][i])) return false;
      most = std::max(most, std::fabs(a[k][i] - b[k][i])), size = std::max(size, std::fabs(a[k][i]));
    }
  }
  return most < tolerance * std::max(size, 1e-12);
}

std::string zh_joined(const std::vector<std::string>& list, const char* between) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : between) + one;
  return text;
}

Finding finding(const std::string& output, const std::vector<std::string>& en, const std::vector<std::string>& zh,
                const Text& used, const Text& paper) {
  Finding f;
  const bool start = output == "start";
  f.code = start ? "ENDS_OTHER_STATE" : "FINAL_OTHER_STATE";
  f.kind = Kind::axis;
  f.where = start ? Words{"what the decoder takes from the encoder (start)", "解码器从编码器取得的初始状态（start）"}
                  : Words{"the final states (" + output + ")", "最终状态（" + output + "）"};
  f.sentence = {zh_joined(en, "; "), zh_joined(zh, "；")};
  f.used = used, f.paper = paper;
  f.fix = start ? Words{"take [forward after the last real input; backward after position 1] of the top layer",
                        "取顶层的 [正向读完最后一个真实输入；反向读完位置 1]"}
                : Words{"hand out each layer's and direction's own last state, after the last real input",
                        "交出每一层、每一方向自己的最后状态，即读完最后一个真实输入之后的状态"};
  f.test = {"fill the states with distinct constants and read them back", "用互不相同的常数填满各状态，再读回来"};
  return f;
}

// Whose rows these are, where every example has another one's, in all slices alike: what was sorted for packing and not
// brought back. Empty where it is something else.
std::vector<std::size_t> exchanged_examples(const Array& got, const Array& right, double tolerance) {
  const std::size_t slices = right.dim(0), B = right.dim(1);
  std::vector<std::size_t> whose(B, B), counts(B, 0);
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t from = 0; from < B && whose[b] == B; ++from) {
      bool all = true;
      for (std::size_t i = 0; i < slices && all; ++i)
        all = same({copy(right.row({i, from}))}, {copy(got.row({i, b}))}, tolerance);
      if (all) whose[b] = from, ++counts[from];
    }
  const bool each_once = std::all_of(counts.begin(), counts.end(), [](std::size_t n) { return n == 1; });
  return each_once && !std::is_sorted(whose.begin(), whose.end()) ? whose : std::vector<std::size_t>();
}

Finding not_brought_back(const Whole& w, const std::string& output, const std::vector<std::size_t>& whose) {
  bool falls = true, rises = true;
  std::string order;
  for (std::size_t b = 0; b < whose.size(); ++b) {
    order += (b ? ", " : "") + std::to_string(whose[b]);
    falls = falls && (!b || w.real(whose[b - 1]) >= w.real(whose[b]));
    rises = rises && (!b || w.real(whose[b - 1]) <= w.real(whose[b]));
  }
  const bool sorted = (falls || rises) && w.real(whose.front()) != w.real(whose.back());
  Finding f = finding(
      output,
      {"the rows of " + output + " are those of other examples, in the order " + order +
       (sorted ? ": sorted by length, as for packing, and not brought back" : "")},
      {output + " 的各行属于别的样本，次序为 " + order + (sorted ? "：为打包按长度排序之后没有恢复原来的次序" : "")},
      output + "[:, b] = " + output + "_of_sorted[:, b]", output + "[:, order[b]] = " + output + "_of_sorted[:, b]");
  f.code = "FINAL_OTHER_EXAMPLE";
  f.fix = {"bring the examples back into their own order: " + output + "[:, unsorted_indices]",
           "恢复样本原来的次序：" + output + "[:, unsorted_indices]"};
  f.test = {"run example 0 alone: CHECK(row 0 is unchanged);", "单独运行样本 0：CHECK(第 0 行不变);"};
  return f;
}

}  // namespace

std::vector<Finding> explain_final_states(const Arrays& given, const RunDetails& right, const std::string& output,
                                          std::size_t directions, double tolerance) {
  const Array &wanted = get(given, output), &h_n = get(right.outputs, "h_n");
  const bool start = output == "start";
  const std::size_t slices = h_n.dim(0), d = h_n.dim(2), B = h_n.dim(1);
  const std::size_t least_numbers = 6;
  if (B * d < least_numbers || wanted.shape.size() != (start ? 2 : 3)) return {};
  const std::size_t blocks = wanted.shape.back() / d;  // of start
  const Whole whole{given, right, right.outputs, B, d, directions};
  const std::vector<Taken> all = all_that_can_be_taken(whole);
  std::vector<std::string> en, zh;
  Text used, paper;
  const auto look = [&](const std::vector<Vec>& block, const Words& place, std::size_t own, const char* of) {
    const std::string belongs =
        blocks == 1 && start ? "[h_n[" + std::to_string(slices - 2) + "]; h_n[" + std::to_string(slices - 1) + "]]"
                             : std::string(of) + "[" + std::to_string(own) + "]";
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Taken& t) { return same(t.rows, block, tolerance); });
    if (found == all.end()) return false;
    const Text between = used.empty() ? Text() : Text("; ", "；");
    used += between + Text(found->what), paper += between + belongs;
    if (found->what.en == belongs) return true;
    en.push_back(place.en + " is " + found->what.en + " where " + belongs + " belongs");
    zh.push_back(place.zh + "是" + found->what.zh + "，应为 " + belongs);
    return true;
  };
  if (!start) {
    if (wanted.dim(0) != slices || wanted.dim(1) != B || wanted.dim(2) != d) return {};
    if (const auto whose = exchanged_examples(wanted, get(right.outputs, output), tolerance); !whose.empty())
      return {not_brought_back(whole, output, whose)};
    for (std::size_t i = 0; i < slices; ++i) {
      const std::string slice = output + "[" + std::to_string(i) + "]";
      const Words place{slice, slice + " "};
      if (!look(rows_of(B, [&](std::size_t b) { return copy(wanted.row({i, b})); }), place, i, output.c_str()))
        return {};
    }
    if (en.empty()) return {};
    return {finding(output, en, zh, Text(output + " = ") + used, Text(output + " = ") + paper)};
  }
  if (wanted.dim(0) != B || wanted.dim(1) % d || wanted.dim(1) > 2 * d) return {};
  for (std::size_t k = 0; k < blocks; ++k) {
    const auto block = rows_of(B, [&](std::size_t b) { return copy(wanted.row({b}).subspan(k * d, d)); });
    const Words place = blocks == 1 ? Words{"start", "start "}
                        : k         ? Words{"the second half of start", "start 的后一半"}
                                    : Words{"the first half of start", "start 的前一半"};
    if (!look(block, place, slices - 2 + k, "h_n")) {
      en.clear();
      break;
    }
  }
  if (!en.empty()) return {finding(output, en, zh, "start = [" + used + "]", "start = [" + paper + "]")};
  // The last two slices, (2, B, d), read as (B, 2 d).
  if (blocks == 2 &&
      std::equal(wanted.data.begin(), wanted.data.end(), h_n.data.end() - static_cast<std::ptrdiff_t>(2 * B * d),
                 [&](double a, double b) { return std::fabs(a - b) < tolerance; })) {
    Finding f = finding(output, {"h_n (2, B, d) was reshaped to (B, 2 d) where its first axis had to be moved first"},
                        {"把 h_n (2, B, d) 直接 reshape 成 (B, 2 d)，本该先移动第一个轴"},
                        "start = reshape(h_n, (B, 2 d))", "start = reshape(transpose(h_n), (B, 2 d))");
    f.code = "RESHAPE_FOR_TRANSPOSE", f.kind = Kind::shape;
    return {f};
  }
  return {};
}

}  // namespace gradus::diagnosis
