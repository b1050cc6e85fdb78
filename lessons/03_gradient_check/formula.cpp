// A parser by recursive descent that computes while it reads: sum -> product -> power -> atom.
#include "lessons/03_gradient_check/formula.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "lessons/common/typed.h"

namespace gradus::lesson03 {
namespace {

constexpr int deepest = 200;  // parentheses and signs in each other: deeper ones would exhaust the stack

class Parser {
 public:
  Parser(std::string_view text, Dual x) : text_(text), x_(x) {}

  Dual all() {
    const Dual result = sum();
    if (next() != '\0') fail({"an operator", "一个运算符"});
    return result;
  }

 private:
  Dual sum() {
    Dual total = product();
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      ++at_;
      const Dual term = product();
      total = c == '+' ? total + term : total - term;
    }
    return total;
  }

  Dual product() {
    Dual total = power();
    for (char c = next(); c == '*' || c == '/'; c = next()) {
      ++at_;
      const Dual factor = power();
      total = c == '*' ? total * factor : total / factor;
    }
    return total;
  }

  Dual power() {
    if (next() == '-') {
      if (++depth_ > deepest) fail({"fewer signs", "少一些正负号"});
      ++at_;
      const Dual negative = Dual{0, 0} - power();
      --depth_;
      return negative;
    }
    const Dual base = atom();
    if (next() != '^') return base;
    ++at_;
    const double exponent = number();
    if (exponent != static_cast<int>(exponent) || exponent < 0 || exponent > 100)
      fail({"a whole power from 0 to 100", "0 到 100 的整数次幂"});
    Dual result{1, 0};
    for (int i = 0; i < static_cast<int>(exponent); ++i) result = result * base;
    return result;
  }

  Dual atom() {
    const char c = next();
    if (c == '(') return in_parentheses();
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) return {number(), 0};
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name == "x") return x_;
    for (const auto& [known, f] : {std::pair("exp", &exp),
                                   {"log", &log},
                                   {"sqrt", &sqrt},
                                   {"tanh", &tanh},
                                   {"sigmoid", &sigmoid},
                                   {"relu", &relu},
                                   {"abs", &abs}}) {
      if (name == known) return f(in_parentheses());
    }
    at_ = start;
    fail({"x, a number or one of exp log sqrt tanh sigmoid relu abs",
          "x、一个数，或 exp log sqrt tanh sigmoid relu abs 之一"});
  }

  Dual in_parentheses() {
    if (next() != '(') fail({"'('", "'('"});
    if (++depth_ > deepest) fail({"fewer parentheses", "少一些括号"});
    ++at_;
    const Dual inside = sum();
    if (next() != ')') fail({"')'", "')'"});
    ++at_;
    --depth_;
    return inside;
  }

  double number() {
    next();
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) fail({"a number, x or '('", "一个数、x 或 '('"});
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  [[noreturn]] void fail(const Words& wanted) const {
    const std::string formula(text_), rest(text_.substr(at_));
    throw InputError({"the formula '" + formula + "' needs " + wanted.en +
                          (rest.empty() ? " at its end" : " where it says '" + rest + "'"),
                      "公式“" + formula + "”" + (rest.empty() ? "末尾" : "在“" + rest + "”处") + "需要 " + wanted.zh});
  }

  std::string_view text_;
  Dual x_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dual evaluate(std::string_view formula, Dual x) { return Parser(formula, x).all(); }

}  // namespace gradus::lesson03
