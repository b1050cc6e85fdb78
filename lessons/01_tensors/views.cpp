// Views drawn, and the two mistakes that shapes do not show.
#include "lessons/01_tensors/views.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "lessons/01_tensors/parts.h"
#include "lessons/common/typed.h"
#include "tensor/format.h"

namespace gradus::lesson01 {

namespace {

constexpr std::int64_t most = 24;

std::string numbers_of(const Extents& extents) {
  std::string text;
  for (const std::int64_t x : extents) text += (text.empty() ? "" : ", ") + std::to_string(x);
  return "(" + text + ")";
}

bool dense(const View& view) {
  const View fresh = taught_parts().row_major(view.shape);
  return view.strides == fresh.strides;
}

// The row of a vector, or the rows of a matrix, by what `cell` makes of a place in memory.
std::vector<std::string> rows(const View& view, const std::function<std::string(std::int64_t)>& cell) {
  const bool matrix = view.shape.rank() == 2;
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < (matrix ? view.shape[0] : 1); ++i) {
    std::string line;
    for (std::int64_t j = 0; j < view.shape[matrix ? 1 : 0]; ++j)
      line += cell(taught_parts().place(view, matrix ? Extents{i, j} : Extents{j}));
    lines.push_back(line);
  }
  return lines;
}

Tensor one_to(std::int64_t last, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 1; i <= last; ++i) values.push_back(static_cast<double>(i));
  return tensor(shape, values, f64);
}

View view_of(const Tensor& x) { return {x.shape(), x.strides(), x.offset()}; }

}  // namespace

std::string drawn(const std::string& name, const View& view, Lang lang) {
  std::string text = fmt::format(fmt::runtime(tr(lang, "{:<28} shape {:<7} strides {:<7} offset {}{}\n",
                                                 "{:<28} 形状 {:<7} 步长 {:<7} 偏移 {}{}\n")),
                                 name, numbers_of(view.shape), numbers_of(view.strides), view.offset,
                                 dense(view) ? "" : tr(lang, "  strided", "  跨步"));
  if (view.shape.rank() < 1 || view.shape.rank() > 2 || view.shape.size() > most) return text;
  const auto values = rows(view, [](std::int64_t at) { return fmt::format("{:>3}", at + 1); });
  const auto places = rows(view, [](std::int64_t at) { return fmt::format("{:>3}", at); });
  for (std::size_t i = 0; i < values.size(); ++i)
    text +=
        fmt::format("  {:<20}  {}{}\n", values[i], i == 0 ? tr(lang, "at", "位于") : tr(lang, "  ", "    "), places[i]);
  return text;
}

std::vector<NamedView> views_of_six() {
  const Parts& part = taught_parts();
  const View x = part.row_major(Shape{2, 3}), row = part.narrowed(x, 0, 1, 1, 1);
  return {{"x", x},
          {"transpose(x)", part.transposed(x, 0, 1)},
          {"narrow(x, Axis{1}, 0, 2, 2)", part.narrowed(x, 1, 0, 2, 2)},
          {"narrow(x, Axis{0}, 1, 1)", row},
          {"expand(that, Axis{0}, 3)", part.stretched(row, 0, 3)},
          {"reshape(x, Shape{3, 2})", view_of(reshape(one_to(6, Shape{2, 3}), Shape{3, 2}))}};
}

std::string six_views(Lang lang) {
  const std::vector<NamedView> views = views_of_six();
  const Tensor real = one_to(6, Shape{2, 3});
  const View copied = view_of(reshape(transpose(real), Shape{2, 3}));
  std::string text(tr(lang, "Six numbers in memory, at places 0 to 5, and six ways to look at them:\n",
                      "内存里的六个数，在位置 0 到 5；看它们的六种方式：\n"));
  for (const NamedView& named : views) text += drawn(named.name, named.view, lang);
  return text +
         fmt::format(fmt::runtime(tr(lang, "reshape(transpose(x), Shape{{2, 3}}) is a copy: {}\n",
                                     "reshape(transpose(x), Shape{{2, 3}}) 是副本：{}\n")),
                     numbers(reshape(reshape(transpose(real), Shape{2, 3}), Shape{6}))) +
         (copied.strides == views[0].view.strides ? "" : "?\n");
}

std::string shared_numbers(Lang lang) {
  Tensor x = one_to(6, Shape{2, 3}), column = select(x, Axis{1}, 0), apart = copy(column);
  column.set({1}, 40);
  apart.set({0}, 10);
  return fmt::format(
      fmt::runtime(tr(lang,
                      "40 written to element 1 of select(x, Axis{{1}}, 0), 10 to element 0 of its copy:\n  x = {}\n",
                      "向 select(x, Axis{{1}}, 0) 的元素 1 写入 40，向它的副本的元素 0 写入 10：\n  x = {}\n")),
      numbers(reshape(x, Shape{6})));
}

std::string reshape_for_transpose(Lang lang) {
  const Tensor x = one_to(6, Shape{3, 2});  // (T, B): example 0 is 1, 3, 5
  return fmt::format(fmt::runtime(tr(lang,
                                     "Three steps of two examples, (T, B): example 0 is 1 3 5, example 1 is 2 4 6.\n"
                                     "  transpose(x)              example 0 = {}, example 1 = {}\n"
                                     "  reshape(x, Shape{{2, 3}})   example 0 = {}, example 1 = {}  (mixed)\n",
                                     "两个样本各三步，(T, B)：样本 0 是 1 3 5，样本 1 是 2 4 6。\n"
                                     "  transpose(x)              样本 0 = {}，样本 1 = {}\n"
                                     "  reshape(x, Shape{{2, 3}})   样本 0 = {}，样本 1 = {}（混在一起了）\n")),
                     numbers(select(transpose(x), Axis{0}, 0)), numbers(select(transpose(x), Axis{0}, 1)),
                     numbers(select(reshape(x, Shape{2, 3}), Axis{0}, 0)),
                     numbers(select(reshape(x, Shape{2, 3}), Axis{0}, 1)));
}

std::string silent_stretch(Lang lang) {
  const Var p(tensor(Shape{3, 1}, {1, 2, 3}, f64)), y(tensor(Shape{3}, {1, 2, 3}, f64));
  std::string refused;
  try {
    (void)(p - y);
  } catch (const ShapeError& error) { refused = error.what(); }
  // What a library with silent stretching computes, written down: (3, 1) and (3) both become (3, 3).
  const Var table = expand(p, Axis{1}, 3) - expand_new(y, Axis{0}, 3);
  std::string text =
      fmt::format(fmt::runtime(tr(lang, "p (3, 1) = 1 2 3 predicts y (3) = 1 2 3 perfectly. Stretched silently:\n",
                                  "p (3, 1) = 1 2 3 完美地预测了 y (3) = 1 2 3。默默拉伸时：\n")));
  for (std::int64_t i = 0; i < 3; ++i) text += "  p - y  " + numbers(select(table.value(), Axis{0}, i)) + "\n";
  text += fmt::format(fmt::runtime(tr(lang, "  mean squared error {:.4f}, and 0 would be right. In Gradus:\n",
                                      "  均方误差是 {:.4f}，正确的是 0。在 Gradus 里则报错：\n")),
                      mean(square(table)).item());
  return text + wrap_to_width("  " + refused, 80) + "\n";
}

std::string views_typed(const std::string& text, Lang lang) {
  const Words usage("type a shape and then views of it: \"2 3 transpose 0 1 narrow 0 1 2 1\"; also stretch AXIS LENGTH",
                    "先输入形状，再输入各个视图：\"2 3 transpose 0 1 narrow 0 1 2 1\"；还有 stretch 轴 长度");
  const auto wrong = [&](const std::string& word, const char* english, const char* chinese) {
    return InputError(Words(fmt::format(fmt::runtime(english), printable(word)),
                            fmt::format(fmt::runtime(chinese), printable(word))) +
                      usage);
  };
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::size_t at = 0;
  const auto number = [&] {
    std::int64_t value = -1;
    if (at < words.size()) {
      const std::string& word = words[at];
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || stop != word.data() + word.size() || value > 1000) value = -1;
    }
    if (value < 0)
      throw wrong(at > 0 ? words[at - 1] : text, "a number from 0 to 1000 is missing after \"{}\"; ",
                  "“{}”后面缺一个 0 到 1000 的数；");
    ++at;
    return value;
  };
  Shape shape;
  while (at < words.size() && words[at].find_first_not_of("0123456789") == std::string::npos) {
    if (shape.rank() == max_rank) throw InputError(Words("at most 5 axes; ", "最多 5 个轴；") + usage);
    shape.insert(shape.rank(), number());
  }
  if (shape.rank() == 0) throw InputError(usage);
  View view = taught_parts().row_major(shape);
  std::string shown = drawn("x", view, lang);
  while (at < words.size()) {
    const std::string op = words[at++];
    if (op == "transpose") {
      const int a = static_cast<int>(number()), b = static_cast<int>(number());
      view = taught_parts().transposed(view, a, b);
    } else if (op == "narrow") {
      const int axis = static_cast<int>(number());
      const std::int64_t start = number(), length = number(), step = number();
      view = taught_parts().narrowed(view, axis, start, length, step);
    } else if (op == "stretch") {
      const int axis = static_cast<int>(number());
      view = taught_parts().stretched(view, axis, number());
    } else {
      throw wrong(op, "\"{}\" is none of transpose, narrow, stretch; ", "“{}”不是 transpose、narrow、stretch 之一；");
    }
    shown += drawn(op, view, lang);
  }
  return shown;
}

}  // namespace gradus::lesson01
