// ./gradus byhand: every step of a score, a softmax and a weighted sum, to compare with paper.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "lessons/runner/commands.h"
#include "tensor/doctor/doctor.h"
#include "tensor/error.h"

namespace gradus {

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

// "1,.5;-2,3": rows separated by semicolons, numbers by commas or blanks.
Rows read_rows(const std::string& option, const std::string& text, Lang lang) {
  Rows rows(1);
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    if (*at == ',' || *at == ' ') {
      ++at;
    } else if (*at == ';') {
      rows.emplace_back();
      ++at;
    } else {
      double number = 0;
      const auto [next, error] = std::from_chars(*at == '+' ? at + 1 : at, end, number);
      if (error != std::errc() || !std::isfinite(number)) {
        throw ValueError(fmt::format(fmt::runtime(tr(lang, "{}: '{}' is no number; write rows like \".1,.9;.7,-.2\"",
                                                     "{}：'{}' 不是数字；请写成 \".1,.9;.7,-.2\" 这样的行")),
                                     option, printable(std::string(at, std::min(end, at + 12)))));
      }
      rows.back().push_back(number);
      at = next;
    }
  }
  if (rows.back().empty() && rows.size() > 1) rows.pop_back();
  if (rows[0].empty()) {
    throw ValueError(fmt::format(fmt::runtime(tr(lang, "{}: there is no number; write rows like \".1,.9;.7,-.2\"",
                                                 "{}：没有数字；请写成 \".1,.9;.7,-.2\" 这样的行")),
                                 option));
  }
  for (const Row& row : rows) {
    if (row.size() == rows[0].size() && !row.empty()) continue;
    throw ShapeError(fmt::format(fmt::runtime(tr(lang, "{}: every row must have as many numbers as the first, {}",
                                                 "{}：每一行的个数都应与第一行相同，即 {}")),
                                 option, rows[0].size()));
  }
  return rows;
}

std::string number(double x) { return fmt::format("{:.4f}", std::abs(x) < 5e-5 ? 0.0 : x); }

std::string vector_text(const Row& row) {
  std::string out;
  for (const double x : row) out += (out.empty() ? "" : ", ") + number(x);
  return "(" + out + ")";
}

double dot_product(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// "0.8 x 0.1 + -0.2 x 0.9 + ..." with the numbers as they were typed
std::string products(const Row& a, const Row& b) {
  std::string out;
  for (std::size_t i = 0; i < a.size(); ++i) out += fmt::format("{}{:.4g} x {:.4g}", i > 0 ? " + " : "", a[i], b[i]);
  return out;
}

Row times(const Rows& matrix, const Row& x) {
  Row out;
  for (const Row& row : matrix) out.push_back(dot_product(row, x));
  return out;
}

// What was typed, its sizes checked.
struct Given {
  std::string kind;
  Row query;
  Rows keys, values, W_a, U_a;
  Row v_a;
  double temperature = 1;
};

[[noreturn]] void wrong_size(std::string_view what, std::size_t rows, std::size_t columns, const Rows& got, Lang lang) {
  throw ShapeError(fmt::format(fmt::runtime(tr(lang, "{}: this score needs ({}, {}), found ({}, {})",
                                               "{}：这种打分需要 ({}, {})，得到的是 ({}, {})")),
                               what, rows, columns, got.size(), got.empty() ? 0 : got[0].size()));
}

void need(std::string_view what, const Rows& matrix, std::size_t rows, std::size_t columns, Lang lang) {
  if (matrix.size() != rows || matrix[0].size() != columns) wrong_size(what, rows, columns, matrix, lang);
}

// The parameters of a score: those that it needs are there, and no other is.
void check_parameters(const ParsedCommand& parsed, Lang lang) {
  const std::string& kind = parsed.words[0];
  for (const char* option : {"--W_a", "--U_a", "--v_a"}) {
    const bool used = kind == "additive" || (kind == "general" && std::string_view(option) == "--W_a");
    const bool there = parsed.extras.contains(option);
    if (used == there) continue;
    throw ValueError(
        fmt::format(fmt::runtime(used ? tr(lang, "{0} needs {1}: rows like {1} \".6,-.2;.1,.7\"",
                                           "{0} 需要 {1}：写成 {1} \".6,-.2;.1,.7\" 这样的行")
                                      : tr(lang, "{0} has no {1}: leave it out, or choose a score that has one",
                                           "{0} 用不到 {1}：去掉它，或改用需要它的打分函数")),
                    kind, option));
  }
}

Given read_given(const ParsedCommand& parsed) {
  const Lang lang = parsed.options.lang;
  const auto rows = [&](const std::string& option) {
    const auto found = parsed.extras.find(option);
    return found == parsed.extras.end() ? Rows() : read_rows(option, found->second, lang);
  };
  Given given;
  given.kind = parsed.words[0];
  const Rows query = rows("--query");
  given.keys = rows("--keys");
  if (query.empty() || given.keys.empty()) {
    throw ValueError(
        std::string(tr(lang, "--query and --keys are needed: --query .8,-.2,.5 --keys \".1,.9,.3;.7,.2,-.5\"",
                       "需要 --query 和 --keys：--query .8,-.2,.5 --keys \".1,.9,.3;.7,.2,-.5\"")));
  }
  check_parameters(parsed, lang);
  need("--query", query, 1, query[0].size(), lang);
  given.query = query[0];
  given.values = rows("--values");
  if (given.values.empty()) given.values = given.keys;
  need("--values", given.values, given.keys.size(), given.values[0].size(), lang);
  const std::size_t d_s = given.query.size(), d_h = given.keys[0].size();
  given.W_a = rows("--W_a");
  given.U_a = rows("--U_a");
  if (given.kind == "general") {
    need("--W_a", given.W_a, d_s, d_h, lang);
  } else if (given.kind == "additive") {
    const Rows v_a = rows("--v_a");
    given.v_a = v_a[0];
    need("--v_a", v_a, 1, given.v_a.size(), lang);
    need("--W_a", given.W_a, given.v_a.size(), d_s, lang);
    need("--U_a", given.U_a, given.v_a.size(), d_h, lang);
  } else {
    need("--keys", given.keys, given.keys.size(), d_s, lang);
  }
  if (const auto found = parsed.extras.find("--temperature"); found != parsed.extras.end()) {
    given.temperature = read_rows("--temperature", found->second, lang)[0].at(0);
    if (given.temperature <= 0) {
      throw ValueError(std::string(tr(lang, "--temperature must be above 0", "--temperature 必须大于 0")));
    }
  }
  return given;
}

// The lines of one score each, and the scores.
Row print_scores(const Given& given, std::string& out, Lang lang) {
  const Row& q = given.query;
  const auto heading = [&](std::string_view formula) {
    out += fmt::format("\n{}{}\n", tr(lang, "scores, ", "打分，"), formula);
  };
  Row scores;
  Row asked = q;
  if (given.kind == "dot") heading("e_i = query . key_i");
  if (given.kind == "scaled")
    heading(fmt::format("e_i = query . key_i / sqrt(d), sqrt({}) = {}", q.size(), number(std::sqrt(q.size()))));
  if (given.kind == "cosine") {
    heading("e_i = query . key_i / (|query| |key_i|)");
    out += fmt::format("  |query| = {}\n", number(std::sqrt(dot_product(q, q))));
  }
  if (given.kind == "general") {
    heading("e_i = query . W_a key_i = (query W_a) . key_i");
    asked.assign(given.keys[0].size(), 0);
    for (std::size_t i = 0; i < q.size(); ++i) {
      for (std::size_t j = 0; j < asked.size(); ++j) asked[j] += q[i] * given.W_a[i][j];
    }
    out += fmt::format("  query W_a = {}\n", vector_text(asked));
  }
  if (given.kind == "additive") {
    heading("e_i = v_a . tanh(W_a query + U_a key_i)");
    asked = times(given.W_a, q);
    out += fmt::format("  W_a query = {}\n", vector_text(asked));
  }
  for (std::size_t i = 0; i < given.keys.size(); ++i) {
    const Row& key = given.keys[i];
    if (given.kind == "additive") {
      Row bent = times(given.U_a, key);
      out += fmt::format("  U_a key_{} = {}", i + 1, vector_text(bent));
      for (std::size_t j = 0; j < bent.size(); ++j) bent[j] = std::tanh(asked[j] + bent[j]);
      scores.push_back(dot_product(given.v_a, bent));
      out +=
          fmt::format(", tanh(...) = {}\n  e_{} = v_a . tanh(...) = {}\n", vector_text(bent), i + 1, number(scores[i]));
      continue;
    }
    double divisor = 1;
    if (given.kind == "scaled") divisor = std::sqrt(static_cast<double>(q.size()));
    if (given.kind == "cosine") {
      divisor = std::sqrt(dot_product(q, q)) * std::sqrt(dot_product(key, key));
      if (divisor == 0)
        throw ValueError(std::string(tr(lang, "cosine: a vector of zeros has no direction", "cosine：零向量没有方向")));
    }
    const double product = dot_product(asked, key);
    scores.push_back(product / divisor);
    const std::string sum = products(asked, key);
    out += divisor == 1 ? fmt::format("  e_{} = {} = {}\n", i + 1, sum, number(product))
                        : fmt::format("  e_{} = ({}) / {} = {} / {} = {}\n", i + 1, sum, number(divisor),
                                      number(product), number(divisor), number(scores[i]));
  }
  return scores;
}

std::string explained(const Given& given, Lang lang) {
  std::string out = fmt::format("query    {}\n", vector_text(given.query));
  for (std::size_t i = 0; i < given.keys.size(); ++i)
    out += fmt::format("key_{}    {}\n", i + 1, vector_text(given.keys[i]));
  Row scores = print_scores(given, out, lang);

  if (given.temperature != 1) {
    out += fmt::format(fmt::runtime(tr(lang, "\ntemperature, e_i / {:.4g}\n", "\n温度，e_i / {:.4g}\n")),
                       given.temperature);
    for (double& e : scores) e /= given.temperature;
    out += fmt::format("  {}\n", vector_text(scores));
  }
  double largest = scores[0];
  for (const double e : scores) largest = std::max(largest, e);
  out += fmt::format(fmt::runtime(tr(lang, "\nsoftmax, alpha_i = exp(e_i - {0}) / sum (no weight depends on the {0})\n",
                                     "\nsoftmax，alpha_i = exp(e_i - {0}) / 总和（减去最大值 {0} 不影响权重）\n")),
                     largest < 0 ? "(" + number(largest) + ")" : number(largest));
  Row weights;
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    weights.push_back(std::exp(scores[i] - largest));
    sum += weights[i];
    out += fmt::format("  exp({}) = {}\n", number(scores[i] - largest), number(weights[i]));
  }
  out += fmt::format(fmt::runtime(tr(lang, "  sum = {}\n", "  总和 = {}\n")), number(sum));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    out += fmt::format("  alpha_{} = {} / {} = {}\n", i + 1, number(weights[i]), number(sum), number(weights[i] / sum));
    weights[i] /= sum;
  }

  out += tr(lang, "\ncontext, c = sum of alpha_i value_i\n", "\n上下文，c = alpha_i value_i 之和\n");
  Row context;
  for (std::size_t j = 0; j < given.values[0].size(); ++j) {
    Row column;
    for (const Row& value : given.values) column.push_back(value[j]);
    context.push_back(dot_product(weights, column));
    out += fmt::format("  c[{}] = {} = {}\n", j + 1, products(weights, column), number(context[j]));
  }
  return out + fmt::format("\nalpha = {}\nc     = {}\n", vector_text(weights), vector_text(context));
}

}  // namespace

int byhand_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {.program = "./gradus byhand",
                            .about_en =
                                "Prints every step from a query and keys to weights and context, to compare with "
                                "paper. Rows are separated by "
                                "semicolons; write --query=-.2,.5 when the first number is negative.",
                            .about_zh =
                                "逐步打印从查询和键到权重和上下文的计算，可与纸上的结果对照。行之间用分号隔开；第一个数"
                                "为负时写成 --query=-.2,.5。",
                            .options = OptionSet::display,
                            .words = {{"SCORE", "dot, general, additive, cosine or scaled",
                                       "dot、general、additive、cosine 或 scaled", true, false}},
                            .extras = {{"--query", "ROW", "the query", "查询"},
                                       {"--keys", "ROWS", "a key in each row", "每行一个键"},
                                       {"--values", "ROWS", "what is mixed, if not the keys", "被混合的值；省略则为键"},
                                       {"--W_a", "ROWS", "of general (d_s, d_h) or additive (d_attn, d_s)",
                                        "general 的 (d_s, d_h) 或 additive 的 (d_attn, d_s)"},
                                       {"--U_a", "ROWS", "of additive, (d_attn, d_h)", "additive 的 (d_attn, d_h)"},
                                       {"--v_a", "ROW", "of additive, (d_attn)", "additive 的 (d_attn)"},
                                       {"--temperature", "T", "divide the scores by it", "分数除以它"}},
                            .stop_at_word = false,
                            .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const std::string& kind = parsed.words[0];
  if (kind != "dot" && kind != "general" && kind != "additive" && kind != "cosine" && kind != "scaled") {
    return misuse(
        spec.program,
        fmt::format(fmt::runtime(tr(lang, "no score '{}'; there are dot, general, additive, cosine and scaled",
                                    "没有打分函数 '{}'；可用的有 dot、general、additive、cosine、scaled")),
                    printable(kind)),
        lang);
  }
  try {
    say(explained(read_given(parsed), lang));
  } catch (const Error& error) { return misuse(spec.program, explain(error, lang), lang); }
  return 0;
}

}  // namespace gradus
