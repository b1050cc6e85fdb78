// Lesson 01, the check: strides and places by hand, views of views against real tensors, the gradient against
// differences, known mistakes.
#include "lessons/common/check.h"
#include "lessons/01_tensors/exercise.h"

namespace gradus::lesson01 {
namespace {

using check::agree;
using check::drawn;
using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::Result;

constexpr const char *in_row_major = "row_major", *in_place = "place", *in_transposed = "transposed",
                     *in_narrowed = "narrowed", *in_stretched = "stretched", *in_gradient = "least_squares_gradient";

check::Text text_of(const View& view) {
  std::string strides;
  for (const std::int64_t s : view.strides) strides += (strides.empty() ? "" : ", ") + std::to_string(s);
  const std::string shape = to_string(view.shape), offset = std::to_string(view.offset);
  return {"shape " + shape + ", strides (" + strides + "), offset " + offset,
          "形状 " + shape + "，步长 (" + strides + ")，偏移 " + offset};
}

Result is_view(const View& got, const View& expected) {
  if (got == expected) return std::nullopt;
  const bool nothing = got == View() && !(expected == View());
  return check::holds(
      false, nothing ? check::not_written : check::wrong_numbers,
      nothing ? Words{"nothing is returned yet: this is a place to fill", "还没有返回任何结果：这里要由你来写"}
              : Words{"the view is another one", "得到的视图不对"},
      text_of(expected), text_of(got));
}
Result is_place(std::int64_t got, std::int64_t expected) {
  return check::holds(got == expected, got == -1 ? check::not_written : check::wrong_numbers,
                      {"the element is at another place", "元素不在那个位置"}, std::to_string(expected),
                      std::to_string(got));
}

const View x{Shape{2, 3}, Extents{3, 1}, 0};              // as in the note
const View deep{Shape{2, 3, 4}, Extents{12, 4, 1}, 0};    // all lengths differ
const View last_row{Shape{1, 3}, Extents{3, 1}, 3};       // of x
const View inside{Shape{3, 2, 2}, Extents{4, 12, 2}, 1};  // of deep: strided, with an offset

// ---- the numbers of the note

Result by_hand() {
  return first_of({
      {in_row_major,
       [] {
         return is_view(row_major(Shape{2, 3}), x);
       }},
      {in_row_major,
       [] {
         return is_view(row_major(Shape{2, 3, 4}), deep);
       }},
      {in_row_major,
       [] {
         return is_view(row_major(Shape{5}), {Shape{5}, Extents{1}, 0});
       }},
      {in_place,
       [] {
         return is_place(place(x, {1, 2}), 5);
       }},
      {in_place,
       [] {
         return is_place(place({Shape{3, 2}, Extents{1, 3}, 0}, {2, 1}), 5);
       }},
      {in_place,
       [] {
         return is_place(place(last_row, {0, 1}), 4);
       }},
      {in_place,
       [] {
         return is_place(place(inside, {2, 1, 1}), 23);
       }},
      {in_transposed,
       [] {
         return is_view(transposed(x, 0, 1), {Shape{3, 2}, Extents{1, 3}, 0});
       }},
      {in_transposed,
       [] {
         return is_view(transposed(deep, 0, 2), {Shape{4, 3, 2}, Extents{1, 4, 12}, 0});
       }},
      {in_narrowed, [] { return is_view(narrowed(x, 0, 1, 1, 1), last_row); }},
      {in_narrowed,
       [] {
         return is_view(narrowed(x, 1, 0, 2, 2), {Shape{2, 2}, Extents{3, 2}, 0});
       }},
      {in_stretched,
       [] {
         return is_view(stretched(last_row, 0, 3), {Shape{3, 3}, Extents{0, 1}, 3});
       }},
      {in_stretched,
       [] {
         return check::refuses({"an axis of length 3, asked to be 6 long", "把长度为 3 的轴拉伸到 6"},
                               [] { (void)stretched(x, 1, 6); });
       }},
      {in_gradient,
       [] {
         const Var X(tensor(Shape{3, 2}, {0, 1, 1, 1, 2, 1}, f64)), y(tensor(Shape{3, 1}, {1, 3, 5}, f64));
         return has_numbers({"X' (X w - y) at w = 0", "w = 0 处的 X' (X w - y)"},
                            least_squares_gradient(X, Var(zeros(Shape{2, 1}, f64)), y), {-13, -9});
       }},
  });
}

// ---- views of views, against tensors

View view_of(const Tensor& t) { return {t.shape(), t.strides(), t.offset()}; }

Result views_of_views() {
  const Tensor real = zeros(Shape{2, 3, 4}, f64);
  return first_of({
      {in_narrowed,
       [&] {
         const Tensor turned = narrow(transpose(real, Axis{0}, Axis{1}), Axis{2}, 1, 2, 2);
         return is_view(narrowed({Shape{3, 2, 4}, Extents{4, 12, 1}, 0}, 2, 1, 2, 2), view_of(turned));
       }},
      {in_narrowed,
       [&] {
         const Tensor twice = narrow(narrow(real, Axis{2}, 0, 2, 2), Axis{2}, 1, 1, 1);
         return is_view(narrowed({Shape{2, 3, 2}, Extents{12, 4, 2}, 0}, 2, 1, 1, 1), view_of(twice));
       }},
      {in_narrowed,
       [&] {
         const Tensor twice = narrow(narrow(real, Axis{1}, 1, 2), Axis{2}, 2, 2);
         return is_view(narrowed({Shape{2, 2, 4}, Extents{12, 4, 1}, 4}, 2, 2, 2, 1), view_of(twice));
       }},
      {in_transposed,
       [&] {
         return is_view(transposed(inside, 0, 1), {Shape{2, 3, 2}, Extents{12, 4, 2}, 1});
       }},
      {in_transposed, [&] { return is_view(transposed(inside, 1, 1), inside); }},
  });
}

// ---- the gradient

Result gradient_shape() {
  return first_of({{in_gradient, [] {
                      return has_shape(
                          {"the gradient", "梯度"},
                          least_squares_gradient(drawn(Shape{5, 3}, 1), drawn(Shape{3, 1}, 2), drawn(Shape{5, 1}, 3)),
                          {3, 1}, "(d, 1)");
                    }}});
}

Result against_tape() {
  return first_of({{in_gradient, [] {
                      const Var X(drawn(Shape{5, 3}, 1).value()), y(drawn(Shape{5, 1}, 3).value());
                      const Var w = drawn(Shape{3, 1}, 2);
                      backward(sum(square(matmul(X, w) - y)) / 2);
                      return has_numbers("X' (X w - y)", least_squares_gradient(X, Var(w.value()), y), Var(w.grad()));
                    }}});
}

// ---- the name of what is wrong

const std::vector<check::Known>& known_mistakes() {
  static const Var X(drawn(Shape{5, 3}, 1).value()), w(drawn(Shape{3, 1}, 2).value()), y(drawn(Shape{5, 1}, 3).value());
  static const Var r = matmul(X, w) - y, right = matmul(transpose(X), r);
  static const std::vector<check::Known> all = {
      {"STRIDES_COLUMN_MAJOR",
       in_row_major,
       {"the first axis has stride 1: the tensor lies column after column", "第一个轴的步长是 1：张量成了一列接一列"},
       {"strides (1, 2) for shape (2, 3)", "形状 (2, 3) 的步长是 (1, 2)"},
       {"strides (3, 1)", "步长 (3, 1)"},
       {"begin at the last axis and go to the first", "从最后一个轴往第一个轴走"},
       "strides",
       [] {
         return row_major(Shape{2, 3}).strides == Extents{1, 2};
       }},
      {"OFFSET_LOST",
       in_place,
       {"the offset is left out: every view begins at the first number", "漏了偏移：每个视图都从第一个数开始"},
       "i * strides[0] + j * strides[1]",
       "offset + i * strides[0] + j * strides[1]",
       {"begin at view.offset", "从 view.offset 开始"},
       "strides",
       [] {
         return place(x, {1, 2}) == 5 && place(last_row, {0, 1}) == 1;
       }},
      {"STRIDES_NOT_EXCHANGED",
       in_transposed,
       {"only the lengths are exchanged: the numbers come in their old order, as after a reshape",
        "只交换了长度：数还是原来的顺序，像 reshape 一样"},
       {"strides (3, 1) for shape (3, 2)", "形状 (3, 2) 的步长是 (3, 1)"},
       {"strides (1, 3)", "步长 (1, 3)"},
       {"exchange the strides too", "步长也要交换"},
       "strides",
       [] {
         return transposed(x, 0, 1) == View{Shape{3, 2}, Extents{3, 1}, 0};
       }},
      {"STRIDES_NOT_EXCHANGED",
       in_transposed,
       {"the view is made anew, row after row: its numbers come in their old order, as after a reshape",
        "视图被重新排成一行接一行：数还是原来的顺序，像 reshape 一样"},
       {"strides (2, 1) for shape (3, 2)", "形状 (3, 2) 的步长是 (2, 1)"},
       {"strides (1, 3)", "步长 (1, 3)"},
       {"keep the view and exchange two lengths and two strides", "保留原来的视图，交换两个长度和两个步长"},
       "reshape",
       [] {
         return transposed(x, 0, 1) == View{Shape{3, 2}, Extents{2, 1}, 0};
       }},
      {"START_NOT_TIMES_STRIDE",
       in_narrowed,
       {"start counts positions of the axis, and the offset counts numbers in memory",
        "起点数的是轴上的位置，偏移数的是内存里的数"},
       {"offset + start", "偏移 + 起点"},
       {"offset + start * stride", "偏移 + 起点 * 步长"},
       {"multiply start by the axis's stride", "起点要乘以这个轴的步长"},
       "strides",
       [] { return narrowed(x, 0, 1, 1, 1).offset == 1; }},
      {"OFFSET_REPLACED",
       in_narrowed,
       {"the offset that the view had is forgotten: right for a new tensor, wrong for a view of a view",
        "忘了视图原有的偏移：对新张量是对的，对视图的视图就错了"},
       {"start * stride", "起点 * 步长"},
       {"offset + start * stride", "偏移 + 起点 * 步长"},
       {"add to the offset that is there", "要加到原有的偏移上"},
       "strides",
       [] { return narrowed(x, 0, 1, 1, 1) == last_row && narrowed(last_row, 1, 1, 1, 1).offset == 1; }},
      {"STEP_IGNORED",
       in_narrowed,
       {"the stride stays, so neighbours are seen where every second one was asked for",
        "步长没有变：要的是隔一个取一个，看到的却是相邻的"},
       {"stride", "步长"},
       {"step * stride", "间隔 * 步长"},
       {"multiply the stride by step", "步长要乘以间隔"},
       "strides",
       [] {
         return narrowed(x, 1, 0, 2, 2) == View{Shape{2, 2}, Extents{3, 1}, 0};
       }},
      {"STRETCH_KEEPS_STRIDE",
       in_stretched,
       {"the stretched axis keeps its stride: row 1 is looked for behind the end of the memory",
        "被拉伸的轴保留了步长：第 1 行跑到内存末尾之外去找了"},
       {"stride 3", "步长 3"},
       {"stride 0", "步长 0"},
       {"set the stride of that axis to 0", "把这个轴的步长设为 0"},
       "strides",
       [] {
         return stretched(last_row, 0, 3) == View{Shape{3, 3}, Extents{3, 1}, 3};
       }},
      {"GRADIENT_SIGN",
       in_gradient,
       {"the sign is the other way: a step against it makes the loss larger", "符号反了：逆着它走一步，损失反而变大"},
       "X' (y - X w)",
       "X' (X w - y)",
       {"prediction minus target", "预测减去目标"},
       "gradient",
       [] { return agree(least_squares_gradient(X, w, y), right * -1.0); }},
      {"GRADIENT_WITHOUT_Y",
       in_gradient,
       {"the targets are left out: at w = 0 nothing would ever move", "漏了目标：在 w = 0 处永远不会动"},
       "X' X w",
       "X' (X w - y)",
       {"subtract y from the prediction", "从预测里减去 y"},
       "gradient",
       [] { return agree(least_squares_gradient(X, w, y), matmul(transpose(X), matmul(X, w))); }},
      {"GRADIENT_OF_ANOTHER_LOSS",
       in_gradient,
       {"this is the gradient of the sum of squares without the half", "这是没有二分之一的平方和的梯度"},
       "2 X' (X w - y)",
       "X' (X w - y)",
       {"the half in L cancels the 2", "L 里的二分之一消去了 2"},
       "gradient",
       [] { return agree(least_squares_gradient(X, w, y), right * 2.0); }},
      {"GRADIENT_OF_ANOTHER_LOSS",
       in_gradient,
       {"this is the gradient of a mean over the points, and L is a sum", "这是对各点取平均的梯度，而 L 是和"},
       "X' (X w - y) / N",
       "X' (X w - y)",
       {"do not divide by N", "不要除以 N"},
       "gradient",
       [] { return agree(least_squares_gradient(X, w, y), right / 5.0); }},
  };
  return all;
}

Result diagnose(const std::string& place) { return check::first_known(known_mistakes(), place); }

}  // namespace
}  // namespace gradus::lesson01

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson01;
  return {.lesson = "01_tensors",
          .taught = {"gradus::backward(", "gradus::transpose(gradus::Tensor", "gradus::narrow(", "gradus::expand",
                     "gradus::Shape::dense_strides", "gradus::Extents::dense_strides"},
          .parts = {{"numbers", {"the numbers of the note", "课文里的数字"}, "strides", by_hand},
                    {"reference_check", {"views of views", "视图的视图"}, "strides", views_of_views},
                    {"shapes", {"the gradient's shape", "梯度的形状"}, "gradient", gradient_shape},
                    {"self_check", {"the gradient against the tape", "梯度与计算图对照"}, "gradient", against_tape}},
          .diagnose = diagnose};
}
