// Building blocks of checks: small tables of expected and got, and the library's reports as failures.
#include "lessons/common/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <new>

#include "tensor/doctor/doctor.h"
#include "tensor/doctor/place.h"

namespace gradus::check {

namespace {

std::string position_text(const std::vector<std::int64_t>& position) {
  std::string out;
  for (const std::int64_t index : position) out += fmt::format("{}{}", out.empty() ? "" : ", ", index);
  return "[" + out + "]";
}

// As many digits as it takes to see that the two differ.
int digits_to_tell(double a, double b) {
  int digits = 6;
  while (digits < 17 && fmt::format("{:.{}g}", a, digits) == fmt::format("{:.{}g}", b, digits)) ++digits;
  return digits;
}

// The numbers of the row in which the element stands: "(0.300089, 0.437498)", at most eight of them.
std::string row_text(const std::vector<double>& numbers, std::size_t row_length, std::size_t element, int digits) {
  constexpr std::size_t most = 8;
  const std::size_t start = row_length == 0 ? 0 : element / row_length * row_length;
  const std::size_t end = std::min(start + std::max<std::size_t>(row_length, 1), numbers.size());
  std::string out;
  for (std::size_t i = start; i < std::min(end, start + most); ++i) {
    out += fmt::format("{}{:.{}g}", i > start ? ", " : "", numbers[i], digits);
  }
  return "(" + out + (end > start + most ? ", ...)" : ")");
}

// Where the row stands in a tensor of that shape: "keys[0, 2]".
std::string row_name(const std::string& what, const Shape& shape, std::size_t row_length, std::size_t element) {
  std::size_t row = row_length == 0 ? 0 : element / row_length;
  std::vector<std::int64_t> position;
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    const auto length = static_cast<std::size_t>(shape[axis]);
    position.insert(position.begin(), static_cast<std::int64_t>(row % length));
    row /= length;
  }
  return position.empty() ? what : what + position_text(position);
}

Failure plain(const char* code, Words why) {
  Failure failure;
  failure.code = code;
  failure.why = std::move(why);
  return failure;
}

// A Chinese sentence that begins with the text: a blank only behind what is not Chinese itself.
std::string begun(const Text& what, const std::string& rest) {
  const bool chinese = !what.zh.empty() && static_cast<unsigned char>(what.zh.back()) >= 0x80;
  return what.zh + (chinese ? "" : " ") + rest;
}

Result nothing_returned(const Text& what, const Var& got) {
  if (got.defined()) return std::nullopt;
  return plain(not_written, {"nothing is returned yet for " + what.en + ": this is a place to fill",
                             begun(what, "还没有返回任何结果：这里要由你来写")});
}

// What an error says, and the line of the learner's file where that is known.
Failure thrown(const char* code, Words why, const std::exception* error) {
  Failure failure = plain(code, std::move(why));
  if (error) failure.got = {error->what(), in_chinese(error->what())};
  const auto* ours = dynamic_cast<const Error*>(error);
  const std::string place = ours ? place_of(*ours) : "";
  const auto* shape = dynamic_cast<const ShapeError*>(error);
  if (shape && shape->report) {
    const ShapeReport& report = *shape->report;
    failure.why = {report.headline(Lang::en), report.headline(Lang::zh)};
    failure.expected = report.needed();
    failure.got = report.found();
    failure.fix = {report.change(Lang::en), report.change(Lang::zh)};
    failure.test = report.test;
  }
  if (!place.empty()) failure.got += Text(" (" + std::filesystem::path(place).filename().string() + ")");
  return failure;
}

}  // namespace

Var numbers(const Shape& shape, const std::vector<double>& values) { return Var(tensor(shape, values, f64)); }

Var numbers(const std::vector<double>& values) {
  return numbers(Shape{static_cast<std::int64_t>(values.size())}, values);
}

Var drawn(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed, "exercise");
  return parameter(random_normal(shape, 0, 1, generator, f64));
}

bool agree(const Var& a, const Var& b, double tolerance) {
  if (!a.defined() || !b.defined() || a.shape() != b.shape()) return false;
  const std::vector<double> left = a.value().to_vector(), right = b.value().to_vector();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!(std::abs(left[i] - right[i]) <= tolerance)) return false;  // NaN is no agreement
  }
  return true;
}

Result first_of(const std::vector<At>& checks) {
  for (const At& check : checks) {
    Result failure = guarded(check.run);
    if (failure && failure->place.empty()) failure->place = check.place;
    if (failure) return failure;
  }
  return std::nullopt;
}

namespace {

// A NoGrad that outlives its function (static, or made with new) switches the tape off for all that follows.
Result tape_is_on() {
  if ((parameter(tensor(Shape{}, {1}, f64)) * 2.0).requires_grad()) return std::nullopt;
  Failure failure =
      plain("TAPE_LEFT_OFF", {"your code has switched the tape off and left it so: nothing gets a gradient",
                              "你的代码关闭了计算图的记录，而且没有恢复：从此什么都没有梯度"});
  failure.fix = {"NoGrad no_grad; as a local variable ends with its function: not static, not with new",
                 "NoGrad no_grad; 写成局部变量就会随函数结束：不要用 static，也不要用 new"};
  return failure;
}

// What is thrown becomes a failure.
Result caught(const std::function<Result()>& check) {
  try {
    return check();
  } catch (const ShapeError& error) {
    return thrown("SHAPE_ERROR", {"two shapes do not fit", "有两个形状对不上"}, &error);
  } catch (const std::bad_alloc&) {
    return thrown("OUT_OF_MEMORY", {"your code asks for memory without end", "你的代码不停地申请内存"}, nullptr);
  } catch (const std::exception& error) {
    return thrown("EXCEPTION", {"your code throws an exception", "你的代码抛出了异常"}, &error);
  } catch (...) {
    return thrown("EXCEPTION",
                  {"your code throws something that is no std::exception", "你的代码抛出了并非 std::exception 的东西"},
                  nullptr);
  }
}

}  // namespace

Result guarded(const std::function<Result()>& check) {
  const Result found = caught(check);
  const Result off = tape_is_on();
  return off && !(found && found->code == off->code) ? off : found;  // the inner one knows the place
}

Result first_known(const std::vector<Known>& mistakes, const std::string& place) {
  for (const Known& known : mistakes) {
    if (!place.empty() && known.place != place) continue;
    bool found = false;
    guarded([&] {
      found = known.is_it();
      return Result();
    });
    if (!found) continue;
    Failure failure;
    failure.code = known.code;
    failure.place = known.place;
    failure.why = known.why;
    failure.used = known.used;
    failure.paper = known.paper;
    failure.fix = known.fix;
    failure.section = known.section;
    return failure;
  }
  return std::nullopt;
}

Result has_shape(const Text& what, const Var& got, const Shape& expected, const Text& symbols) {
  if (Result missing = nothing_returned(what, got)) return missing;
  if (got.shape() == expected) return std::nullopt;
  Failure failure = plain(wrong_shape, {"the shape is wrong: " + what.en, begun(what, "的形状不对")});
  failure.expected = symbols + Text(" = " + to_string(expected));
  failure.got = to_string(got.shape());
  return failure;
}

Result has_numbers(const Text& what, const Var& got, const std::vector<double>& expected, double tolerance) {
  if (Result missing = nothing_returned(what, got)) return missing;
  const std::vector<double> numbers = got.value().to_vector();
  if (numbers.size() != expected.size()) {
    Failure failure =
        plain(wrong_shape, {fmt::format("{} has another number of elements", what.en), begun(what, "的元素个数不对")});
    failure.expected = fmt::format("{}", expected.size());
    failure.got = {fmt::format("{}, shape {}", numbers.size(), to_string(got.shape())),
                   fmt::format("{}，形状 {}", numbers.size(), to_string(got.shape()))};
    return failure;
  }
  double largest = 1;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::abs(numbers[i] - expected[i]) <= tolerance * largest) continue;
    Failure failure = plain(
        wrong_numbers, {fmt::format("{} is not what the formula gives", what.en), begun(what, "与公式算出的不同")});
    if (!std::isfinite(numbers[i]) && std::isfinite(expected[i])) {
      failure.why = {what.en + " is not finite: 0 / 0, the log or root of a negative number, or the exp of a huge one",
                     begun(what, "不是有限的数：出现了 0 / 0、负数的对数或平方根，或很大的数的 exp")};
    }
    const std::size_t row =
        got.rank() == 0 ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(got.shape()[got.rank() - 1], 1));
    const int digits = digits_to_tell(expected[i], numbers[i]);
    const auto named = [&](const std::string& text) {
      return Text(row_name(what.en, got.shape(), row, i) + " = " + text,
                  row_name(what.zh, got.shape(), row, i) + " = " + text);
    };
    failure.expected = named(row_text(expected, row, i, digits));
    failure.got = named(row_text(numbers, row, i, digits));
    return failure;
  }
  return std::nullopt;
}

Result has_numbers(const Text& what, const Var& got, const Var& expected, double tolerance) {
  if (Result wrong = has_shape(what, got, expected.shape(), "")) return wrong;
  return has_numbers(what, got, expected.value().to_vector(), tolerance);
}

Result has_numbers(const Text& what, const std::vector<double>& got, const std::vector<double>& expected,
                   double tolerance) {
  return has_numbers(what, tensor(Shape{static_cast<std::int64_t>(got.size())}, got, f64), expected, tolerance);
}

Result holds(bool condition, const std::string& code, Words why, const Text& expected, const Text& got) {
  if (condition) return std::nullopt;
  Failure failure = plain(code.c_str(), std::move(why));
  failure.expected = expected;
  failure.got = got;
  return failure;
}

Result refuses(const Text& what, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error&) { return std::nullopt; }
  return plain(refuses_nothing, {"this input deserves an error, and none is thrown: " + what.en,
                                 "这样的输入应当报错，却没有抛出异常：" + what.zh});
}

Result passes(const GradientReport& report) {
  if (report.passed) return std::nullopt;
  Failure failure = plain(to_string(report.verdict), {"the gradient that the tape gives is not that of the function",
                                                      "计算图给出的梯度不是这个函数的梯度"});
  if (report.verdict == GradientVerdict::nothing_tested) {
    failure.why = {"a parameter changes nothing at all, so there is no gradient to check",
                   "有一个参数对结果毫无影响，因此没有梯度可查"};
  }
  if (report.verdict == GradientVerdict::nondeterministic) {
    failure.why = {"the same inputs give other numbers later: something is kept from one call to the next",
                   "同样的输入，后来算出的数却变了：有东西从一次调用留到了下一次"};
    failure.fix = {"keep no number between calls: no static or global variable",
                   "不要在两次调用之间保留数值：不用 static 变量，也不用全局变量"};
  }
  for (const GradientEntry& entry : report.entries) {
    if (entry.verdict != report.verdict) continue;
    const std::string name = fmt::format("d/d{}{}", entry.name, position_text(entry.position));
    failure.expected = {fmt::format("{} = {:.6g}  (differences)", name, entry.numeric),
                        fmt::format("{} = {:.6g}（差分）", name, entry.numeric)};
    failure.got = {fmt::format("{} = {:.6g}  (backward)", name, entry.analytic),
                   fmt::format("{} = {:.6g}（反向）", name, entry.analytic)};
    break;
  }
  return failure;
}

Result passes(const ReferenceReport& report) {
  if (report.passed) return std::nullopt;
  Failure failure = plain(reference_differs, {"another program, written from the paper, computes something else",
                                              "另一个照论文写的程序算出的结果不同"});
  for (const ValueEntry& entry : report.outputs) {
    if (entry.passed) continue;
    const std::string name = entry.name + position_text(entry.position);
    failure.expected = fmt::format("{} = {:.6g}", name, entry.reference);
    failure.got = fmt::format("{} = {:.6g}", name, entry.value);
    if (!entry.note.empty()) failure.got += Text("  (" + entry.note + ")");
    return failure;
  }
  for (const GradientEntry& entry : report.leaves) {
    if (entry.verdict == GradientVerdict::passed) continue;
    const std::string name = fmt::format("dL/d{}{}", entry.name, position_text(entry.position));
    failure.expected = fmt::format("{} = {:.6g}", name, entry.numeric);
    failure.got = fmt::format("{} = {:.6g}", name, entry.analytic);
    return failure;
  }
  failure.got = report.note;
  return failure;
}

Result passes(const Probe& probe) {
  if (probe.passed) return std::nullopt;
  Failure failure = plain(probe_failed, probe.sentence);
  failure.got = "probe_" + probe.name;
  return failure;
}

Result passes(const diagnosis::Verdict& verdict) {
  for (const diagnosis::Finding& finding : verdict.findings) {
    Failure failure;
    failure.code = finding.code;
    failure.why = finding.sentence;
    failure.used = finding.used;
    failure.paper = finding.paper;
    failure.fix = finding.fix;
    failure.test = finding.test;
    if (!finding.error) {  // trained from scratch it would not matter; here the weights are given
      failure.fix = {"follow the paper: the weights here expect it", "照论文的写法；这里给定的权重要求这样"};
      failure.test = {};
    }
    return failure;
  }
  return std::nullopt;
}

}  // namespace gradus::check
