// Each way leaves a trace of its own: zeros where only some positions take part, ratios to the right weights that depend
// on the position alone, differences that are a multiple of other weights.
//
// A number that is read off the weights fits noise a little, too. So what an explanation leaves over must be as small as
// rounding, and what it explains far larger than that.
#include "nn/conventions/diagnosis_weights.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/expression.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

constexpr std::size_t least_numbers = 6;  // that must agree before anything is called by a name
constexpr double far = 1e3;               // times the tolerance: what no rounding makes

std::string text_of(double x) { return print(number(x)); }

struct Weights {
  const Array &alpha, &right, &scores;  // (B, T, T_enc)
  const Array* mask;                    // (B, T_enc) or nullptr
  double tolerance;
};

class Look {
 public:
  explicit Look(const Weights& w) : w_(w), B_(w.alpha.dim(0)), T_(w.alpha.dim(1)), N_(w.alpha.dim(2)) {}

  bool fits() const {
    const auto finite = [](const Array& a) {
      return std::all_of(a.data.begin(), a.data.end(), [](double x) { return std::isfinite(x); });
    };
    if (B_ * T_ * N_ < least_numbers || w_.right.shape != w_.alpha.shape || w_.scores.shape != w_.alpha.shape)
      return false;
    double most = 0;
    for (std::size_t k = 0; k < w_.alpha.data.size(); ++k)
      most = std::max(most, std::fabs(w_.alpha.data[k] - w_.right.data[k]));
    return finite(w_.alpha) && finite(w_.right) && most > far * w_.tolerance;
  }

  std::optional<Finding> find() const {
    if (!fits()) return std::nullopt;
    for (const auto look : {&Look::of_some_positions, &Look::mixed, &Look::times_a_window, &Look::of_another_function})
      if (auto found = (this->*look)()) return found;
    return covered();
  }

  // Scores that know what has been attended to.
  std::optional<Finding> covered() const {
    struct Cover {
      Words sentence;
      Text used;
      bool last_only;
    };
    const Cover covers[] = {{{"the sum of the earlier weights, a coverage", "之前各步权重之和（coverage）"},
                             {"sum over k < t of alpha_{k,i}", "对 k < t 求和 alpha_{k,i}"},
                             false},
                            {{"the weights of the step before", "前一步的权重"}, "alpha_{t-1,i}", true}};
    for (const Cover& cover : covers) {
      const auto seen = [&](std::size_t b, std::size_t t, std::size_t i) {
        double sum = 0;
        for (std::size_t k = cover.last_only && t ? t - 1 : 0; k < t; ++k) sum += alpha(b, k, i);
        return sum;
      };
      // Up to a number for each row, log alpha - log right = k * cover: least squares, where large weights tell most.
      double ab = 0, bb = 0;
      std::size_t numbers = 0;
      for (std::size_t b = 0; b < B_; ++b)
        for (std::size_t t = 1; t < T_; ++t) {
          double all = 0, mean_seen = 0, mean_off = 0;
          const auto off = [&](std::size_t i) { return std::log(alpha(b, t, i) / right(b, t, i)); };
          for (std::size_t i = 0; i < N_; ++i) {
            if (!real(b, i)) continue;
            if (alpha(b, t, i) < 1e-12 || right(b, t, i) < 1e-12) return std::nullopt;
            all += alpha(b, t, i), mean_seen += alpha(b, t, i) * seen(b, t, i), mean_off += alpha(b, t, i) * off(i);
          }
          if (length(b) < 2) continue;
          for (std::size_t i = 0; i < N_; ++i) {
            if (!real(b, i)) continue;
            const double had = seen(b, t, i) - mean_seen / all;
            ab += alpha(b, t, i) * had * (off(i) - mean_off / all), bb += alpha(b, t, i) * had * had, ++numbers;
          }
        }
      const double k = bb > 0 ? ab / bb : 0;
      if (numbers < least_numbers) continue;
      const bool fits = all_rows([&](std::size_t b, std::size_t t) {
        double sum = 0;
        for (std::size_t i = 0; i < N_; ++i)
          if (real(b, i)) sum += right(b, t, i) * std::exp(k * seen(b, t, i));
        for (std::size_t i = 0; i < N_; ++i)
          if (real(b, i) && !close(alpha(b, t, i), right(b, t, i) * std::exp(k * seen(b, t, i)) / sum)) return false;
        return true;
      });
      if (!fits) continue;
      const std::string factor = text_of(k);
      return finding("SCORE_COVERAGE", Kind::convention,
                     {factor + " times " + cover.sentence.en + ", is added to the scores",
                      "分数上加了 " + factor + " 倍的" + cover.sentence.zh},
                     Text("e_{t,i} = score + " + factor + " * ") + cover.used);
    }
    return std::nullopt;
  }

 private:
  double alpha(std::size_t b, std::size_t t, std::size_t i) const { return w_.alpha.data[(b * T_ + t) * N_ + i]; }
  double right(std::size_t b, std::size_t t, std::size_t i) const { return w_.right.data[(b * T_ + t) * N_ + i]; }
  double score(std::size_t b, std::size_t t, std::size_t i) const { return w_.scores.data[(b * T_ + t) * N_ + i]; }
  bool real(std::size_t b, std::size_t i) const { return !w_.mask || w_.mask->data[b * N_ + i] != 0; }
  std::size_t length(std::size_t b) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < N_; ++i) n += real(b, i);
    return n;
  }
  bool close(double a, double b) const { return std::fabs(a - b) < w_.tolerance; }
  // f(b, t) for all rows of weights.
  template <class F> bool all_rows(F f) const {
    for (std::size_t b = 0; b < B_; ++b)
      for (std::size_t t = 0; t < T_; ++t)
        if (!f(b, t)) return false;
    return true;
  }

  static Finding finding(const char* code, Kind kind, Words sentence, Text used) {
    Finding f;
    f.code = code, f.kind = kind;
    f.where = {"the attention weights (alpha)", "注意力权重 (alpha)"};
    f.sentence = std::move(sentence);
    f.used = std::move(used);
    f.paper = {"alpha_{t,i} = exp(e_{t,i}) / sum over all real k of exp(e_{t,k})",
               "alpha_{t,i} = exp(e_{t,i}) / (对所有真实位置 k 求和 exp(e_{t,k}))"};
    f.fix = {"take the softmax of the scores over all real positions, and nothing else",
             "对所有真实位置的分数做 softmax，不做别的"};
    f.test = "CHECK(check_reference(decoder, inputs, claimed).passed);";
    return f;
  }

  // ---- zeros at real positions

  bool taken(std::size_t b, std::size_t t, std::size_t i) const {
    return !(std::fabs(alpha(b, t, i)) < w_.tolerance) && std::isfinite(alpha(b, t, i));
  }
  std::optional<Finding> of_some_positions() const {
    bool fewer = false, renormalised = true, kept = true;
    std::size_t numbers = 0;
    const bool fits = all_rows([&](std::size_t b, std::size_t t) {
      double sum = 0;
      std::size_t n = 0;
      for (std::size_t i = 0; i < N_; ++i)
        if (taken(b, t, i)) sum += right(b, t, i), ++n;
      for (std::size_t i = 0; i < N_; ++i) {
        fewer = fewer || (!taken(b, t, i) && right(b, t, i) > far * w_.tolerance);
        if (!taken(b, t, i)) continue;
        if (!(sum > 0)) return false;
        renormalised = renormalised && close(alpha(b, t, i), right(b, t, i) / sum);
        kept = kept && close(alpha(b, t, i), right(b, t, i));
        ++numbers;
      }
      return renormalised || kept;
    });
    if (!fits || !fewer || numbers < least_numbers) return std::nullopt;
    const Words rest = renormalised ? Words{", and the softmax runs over these alone", "，softmax 只在它们之间进行"}
                                    : Words{", and the weights no longer sum to 1", "，权重之和不再为 1"};
    if (const std::size_t k = largest_ones())
      return finding("WEIGHTS_TOP_K", Kind::convention,
                     {"only the " + std::to_string(k) + " largest scores of each step get a weight" + rest.en,
                      "每一步只有最大的 " + std::to_string(k) + " 个分数得到权重" + rest.zh},
                     {"alpha_{t,i} = 0 but for the " + std::to_string(k) + " largest e_{t,i}",
                      "除最大的 " + std::to_string(k) + " 个 e_{t,i} 外 alpha_{t,i} = 0"});
    if (const auto where = window())
      return finding("WEIGHTS_WINDOW", Kind::convention,
                     {"only a window of positions gets a weight: " + where->en + rest.en,
                      "只有一个窗口内的位置得到权重：" + where->zh + rest.zh},
                     {"alpha_{t,i} = 0 outside the window, as in Luong's local attention (2015, section 3.2)",
                      "窗口外 alpha_{t,i} = 0，如 Luong 的局部注意力（2015，3.2 节）"});
    return finding("WEIGHTS_OF_SOME_POSITIONS", Kind::mask,
                   {"some real positions get no weight; those that do have the right proportions" + rest.en,
                    "有些真实位置没有权重；得到权重的位置之间比例正确" + rest.zh},
                   "alpha_{t,i} = 0 at some real positions");
  }
  // k where the k largest weights of every row are those that are left; 0 where it is not so.
  std::size_t largest_ones() const {
    std::size_t k = 0;
    for (std::size_t b = 0; b < B_; ++b)
      for (std::size_t t = 0; t < T_; ++t) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < N_; ++i) n += taken(b, t, i);
        k = std::max(k, n);
      }
    const bool so = all_rows([&](std::size_t b, std::size_t t) {
      double least = 2, most = 0;
      std::size_t n = 0;
      for (std::size_t i = 0; i < N_; ++i) {
        if (taken(b, t, i)) least = std::min(least, right(b, t, i)), ++n;
        else most = std::max(most, right(b, t, i));
      }
      return n == std::min(k, length(b)) && least >= most;
    });
    return so ? k : 0;
  }
  // The positions that take part at each step, where they are a run that does not depend on the example.
  std::optional<Words> window() const {
    std::vector<long> low(T_, static_cast<long>(N_)), high(T_, -1);
    for (std::size_t b = 0; b < B_; ++b)
      for (std::size_t t = 0; t < T_; ++t)
        for (std::size_t i = 0; i < N_; ++i)
          if (taken(b, t, i))
            low[t] = std::min(low[t], static_cast<long>(i)), high[t] = std::max(high[t], static_cast<long>(i));
    const auto inside = [&](long t, long i, long before, long after) { return i >= t - before && i <= t + after; };
    const auto fits = [&](auto in) {
      return all_rows([&](std::size_t b, std::size_t t) {
        for (std::size_t i = 0; i < N_; ++i)
          if (real(b, i) && taken(b, t, i) != in(static_cast<long>(t), static_cast<long>(i))) return false;
        return true;
      });
    };
    const long most = static_cast<long>(N_);
    for (long before = 0; before <= most; ++before)
      for (long after = 0; after <= most; ++after)
        if (fits([&](long t, long i) { return inside(t, i, before, after); })) {
          const std::string from = std::to_string(before), to = std::to_string(after);
          return Words{"from " + from + " positions before t to " + to + " after it",
                       "从 t 之前 " + from + " 个位置到 t 之后 " + to + " 个位置"};
        }
    if (!fits([&](long t, long i) {
          return i >= low[static_cast<std::size_t>(t)] && i <= high[static_cast<std::size_t>(t)];
        }))
      return std::nullopt;
    std::string list;
    for (std::size_t t = 0; t < T_; ++t)
      list += (list.empty() ? "" : ", ") + std::to_string(low[t]) + " to " + std::to_string(high[t]);
    return Words{"positions " + list + " at the steps in turn", "各步依次为位置 " + list};
  }

  // ---- a mean of the right weights and others

  std::optional<Finding> mixed() const {
    struct Other {
      std::string what;
      Words sentence;
      std::function<double(std::size_t, std::size_t, std::size_t)> at;
      std::size_t first = 0;  // rows before this step are the right ones
    };
    const auto all = [&](std::size_t, std::size_t, std::size_t) { return 1 / static_cast<double>(N_); };
    const auto of_real = [&](std::size_t b, std::size_t, std::size_t i) {
      return real(b, i) ? 1 / static_cast<double>(std::max<std::size_t>(length(b), 1)) : 0;
    };
    const auto before = [&](std::size_t b, std::size_t t, std::size_t i) { return t ? alpha(b, t - 1, i) : 0; };
    const auto mean_before = [&](std::size_t b, std::size_t t, std::size_t i) {
      double sum = 0;
      for (std::size_t k = 0; k < t; ++k) sum += alpha(b, k, i);
      return t ? sum / static_cast<double>(t) : 0;
    };
    const std::vector<Other> others = {
        {"1/T_enc", {"uniform weights over all positions, padding too", "对所有位置（含填充）的均匀权重"}, all},
        {"1/length", {"uniform weights over the real positions", "对真实位置的均匀权重"}, of_real},
        {"alpha_{t-1,i}", {"the weights of the step before", "前一步的权重"}, before, 1},
        {"alpha_{t-1,i}",
         {"the weights of the step before, 0 before the first", "前一步的权重（第一步之前为 0）"},
         before},
        {"mean of the earlier alpha_i", {"the mean of all earlier weights", "之前各步权重的平均"}, mean_before, 1}};
    for (const Other& other : others) {
      double ab = 0, bb = 0;
      std::size_t numbers = 0;
      for (std::size_t b = 0; b < B_; ++b)
        for (std::size_t t = other.first; t < T_; ++t)
          for (std::size_t i = 0; i < N_; ++i) {
            const double apart = other.at(b, t, i) - right(b, t, i);
            ab += (alpha(b, t, i) - right(b, t, i)) * apart, bb += apart * apart, ++numbers;
          }
      const double k = bb > 0 ? ab / bb : 0;
      if (numbers < least_numbers || std::fabs(k) < far * w_.tolerance || !std::isfinite(k)) continue;
      const bool fits = all_rows([&](std::size_t b, std::size_t t) {
        for (std::size_t i = 0; i < N_; ++i) {
          const double share = t < other.first ? 0 : k;
          if (!close(alpha(b, t, i), (1 - share) * right(b, t, i) + share * other.at(b, t, i))) return false;
        }
        return true;
      });
      if (!fits) continue;
      const std::string own = text_of(1 - k), part = text_of(k);
      return finding("WEIGHTS_MIXED", Kind::convention,
                     {"the weights are a mean: " + own + " of the right ones and " + part + " of " + other.sentence.en,
                      "权重是一个平均：" + own + " 份正确的权重加 " + part + " 份" + other.sentence.zh},
                     "alpha_{t,i} = " + own + " softmax(e_t)_i + " + part + " " + other.what);
    }
    return std::nullopt;
  }

  // ---- right weights times something that depends on the position and the step

  std::optional<Finding> times_a_window() const {
    // A Gaussian shows in second differences of the logarithm along the positions, wherever its centre is. Rounding of
    // small weights moves them most: the surest one gives the curve, and those that can tell must be enough.
    struct Second {
      double value, rounding;
    };
    std::vector<Second> all;
    bool finite = true;
    for (std::size_t b = 0; b < B_; ++b)
      for (std::size_t t = 0; t < T_; ++t)
        for (std::size_t i = 1; i + 1 < N_; ++i) {
          if (!real(b, i - 1) || !real(b, i) || !real(b, i + 1)) continue;
          Second second{0, 0};
          for (const auto& [at, factor] : {std::pair(i - 1, 1.), std::pair(i, -2.), std::pair(i + 1, 1.)}) {
            finite = finite && alpha(b, t, at) > 1e-12 && right(b, t, at) > 1e-12;
            second.value += factor * std::log(alpha(b, t, at) / right(b, t, at));
            second.rounding += std::fabs(factor) * w_.tolerance * (1 / alpha(b, t, at) + 1 / right(b, t, at));
          }
          all.push_back(second);
        }
    const auto surest = std::min_element(all.begin(), all.end(),
                                         [](const Second& x, const Second& y) { return x.rounding < y.rounding; });
    const double curve = all.empty() ? 0 : surest->value;
    std::size_t numbers = 0;
    const bool same = std::all_of(all.begin(), all.end(), [&](const Second& second) {
      numbers += 30 * second.rounding < std::fabs(curve);
      return std::fabs(second.value - curve) <= second.rounding + surest->rounding;
    });
    if (finite && same && numbers >= least_numbers && curve < 0) {
      const std::string sigma = text_of(1 / std::sqrt(-curve));
      return finding(
          "WEIGHTS_GAUSSIAN", Kind::convention,
          {"the weights are multiplied by a Gaussian over the positions, of standard deviation " + sigma,
           "权重乘上了沿位置的高斯函数，标准差为 " + sigma},
          {"alpha_{t,i} = softmax(e_t)_i exp(-(i - p_t)^2 / (2 sigma^2)), as in Luong's local-p (2015, "
           "section 3.2)",
           "alpha_{t,i} = softmax(e_t)_i exp(-(i - p_t)^2 / (2 sigma^2))，如 Luong 的 local-p（2015，3.2 节）"});
    }
    // The same factor for every example, at each step and position: the example with the largest weight there gives it.
    std::size_t twice = 0;
    bool differs = false;  // where another example than the one that gave the factor shows it
    double least = infinite, most = 0;
    for (std::size_t t = 0; t < T_; ++t)
      for (std::size_t i = 0; i < N_; ++i) {
        std::size_t from = B_;
        for (std::size_t b = 0; b < B_; ++b)
          if (real(b, i) && right(b, t, i) >= 1e-9 && (from == B_ || right(b, t, i) > right(from, t, i))) from = b;
        if (from == B_) continue;
        const double factor = alpha(from, t, i) / right(from, t, i);
        least = std::min(least, factor), most = std::max(most, factor);
        for (std::size_t b = 0; b < B_; ++b) {
          if (b == from || !real(b, i) || right(b, t, i) < 1e-9) continue;
          if (std::fabs(alpha(b, t, i) - factor * right(b, t, i)) > 2 * w_.tolerance)
            return std::nullopt;  // both round
          differs = differs || std::fabs(factor - 1) * right(b, t, i) > far * w_.tolerance;
          ++twice;
        }
      }
    if (!differs || most - least < 1e-6 || twice < least_numbers) return std::nullopt;
    return finding(
        "WEIGHTS_TIMES_POSITION", Kind::convention,
        {"the weights are multiplied by a factor that depends on position and step alone, the same for every "
         "example",
         "权重乘上了只取决于位置和步的因子，对每个样本都一样"},
        "alpha_{t,i} = f(t, i) softmax(e_t)_i");
  }

  // ---- another function than exp

  std::optional<Finding> of_another_function() const {
    const std::pair<const char*, double (*)(double)> functions[] = {
        {"log(1 + exp(e))", [](double e) { return std::log1p(std::exp(e)); }},
        {"e^2", [](double e) { return e * e; }},
        {"|e|", [](double e) { return std::fabs(e); }},
        {"exp(-e)", [](double e) { return std::exp(-e); }},
        {"exp(e) - 1", [](double e) { return std::expm1(e); }},
        {"1 + tanh(e)", [](double e) { return 1 + std::tanh(e); }},
        {"relu(e)", [](double e) { return std::max(e, 0.); }}};
    for (const auto& [name, function] : functions) {
      const bool fits = all_rows([&, f = function](std::size_t b, std::size_t t) {
        double sum = 0;
        for (std::size_t i = 0; i < N_; ++i) sum += real(b, i) ? f(score(b, t, i)) : 0;
        for (std::size_t i = 0; i < N_; ++i)
          if (!close(alpha(b, t, i), real(b, i) ? f(score(b, t, i)) / sum : 0)) return false;
        return true;
      });
      if (fits)
        return finding("WEIGHTS_NORMALISER", Kind::convention,
                       {std::string("each weight is ") + name + " over the sum of these, where a softmax takes exp(e)",
                        std::string("每个权重是 ") + name + " 除以它们的和，softmax 应取 exp(e)"},
                       std::string("alpha_i = f(e_i) / sum_k f(e_k), f(e) = ") + name);
    }
    return std::nullopt;
  }

  const Weights w_;
  std::size_t B_, T_, N_;
};

}  // namespace

namespace {

// v_a . tanh(W_a q + U_a h_i + w c_{t,i}): the coverage as one more feature of H, step by step. w is an array of the file
// that has no name here, or U_a's own last column.
std::optional<Finding> covered_inside(const Trace& trace, const Model& right, const Arrays& given, bool scores,
                                      double tolerance) {
  const Array *U_a = find(given, "U_a"), *alpha = find(given, "alpha"), *H = find(given, "H"),
              *mask = find(given, "mask");
  if (!U_a || !alpha || !H || right.decoder.attention.score.score != Score::additive) return std::nullopt;
  const std::size_t B = H->dim(0), N = H->dim(1), d = H->dim(2), d_attn = U_a->dim(0), T = alpha->dim(1);
  for (const auto& [name, w] : trace.foreign) {
    if (w.data.size() != d_attn) continue;
    for (const bool last_only : {false, true}) {
      Arrays with = given;
      Array wider({d_attn, d + 1});
      for (std::size_t r = 0; r < d_attn; ++r) {
        Vec row = copy(U_a->row({r}));
        row.push_back(w.data[r]);
        wider.set_row({r}, row);
      }
      with["U_a"] = wider;
      with.erase("e");
      Array made({B, T, N});
      Array& seen = with["H"] = Array({B, N, d + 1});
      for (std::size_t t = 0; t < T; ++t) {
        for (std::size_t b = 0; b < B; ++b)
          for (std::size_t i = 0; i < N; ++i) {
            double sum = 0;
            for (std::size_t k = last_only && t ? t - 1 : 0; k < t; ++k) sum += alpha->at({b, k, i});
            Vec row = copy(H->row({b, i}));
            row.push_back(sum);
            seen.set_row({b, i}, row);
          }
        const Array e = get(stage_outputs(right, with, {Stage::score}), "e");
        for (std::size_t b = 0; b < B; ++b) made.set_row({b, t}, e.row({b, t}));
      }
      const Array weights = attention_weights(right.decoder.attention, made, mask);
      const Array &got = scores ? made : weights, &wanted = get(given, scores ? "e" : "alpha");
      bool fits = got.shape == wanted.shape;
      for (std::size_t k = 0; fits && k < got.data.size(); ++k)
        fits = std::fabs(got.data[k] - wanted.data[k]) < tolerance * std::max(1., std::fabs(wanted.data[k]));
      if (!fits) continue;
      const Text sum =
          last_only ? Text("alpha_{t-1,i}") : Text("sum over k < t of alpha_{k,i}", "对 k < t 求和 alpha_{k,i}");
      Finding f;
      f.code = "SCORE_COVERAGE", f.kind = Kind::convention;
      f.where = {"the scores (e)", "分数 (e)"};
      f.sentence = {
          "the score reads a coverage as well: " + name + " times the " + (last_only ? "last" : "sum of the earlier") +
              " weights stands inside the tanh",
          "分数还读了 coverage：tanh 里有 " + name + " 乘以" + (last_only ? "上一步的权重" : "之前各步权重之和")};
      f.used = Text("e_{t,i} = v_a . tanh(W_a q + U_a h_i + " + name + " * ") + sum + ")";
      f.paper = "e_{t,i} = v_a . tanh(W_a q + U_a h_i)";
      f.fix = {"leave the coverage out, or claim a paper that has it", "去掉 coverage，或声称一篇有它的论文"};
      f.test = "CHECK(check_reference(decoder, inputs, claimed).passed);";
      return f;
    }
  }
  return std::nullopt;
}

// Nothing where no way gives all of them, or where sizes do not go with `right`.
std::optional<Finding> explain_weights(const Trace& trace, const Model& right, const Arrays& given, bool scores,
                                       double tolerance) {
  try {
    const Array* mask = find(given, "mask");
    Arrays made = stage_outputs(right, given, {Stage::score, Stage::weights});
    const Array e = get(made, "e"), own = attention_weights(right.decoder.attention, e, mask);
    const Array& wanted = get(given, "alpha");
    if (scores) {
      const Look look({wanted, own, e, mask, tolerance});
      if (auto found = look.fits() ? look.covered() : std::nullopt) return found;
    } else {
      const Array* given_scores = find(given, "e");
      if (auto found = Look({wanted, get(made, "alpha"), given_scores ? *given_scores : e, mask, tolerance}).find())
        return found;
    }
    return covered_inside(trace, right, given, scores, tolerance);
  } catch (const std::invalid_argument&) {
    return std::nullopt;  // sizes that do not go with this model
  }
}

}  // namespace

bool explained_by_weights(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  const bool alone = std::all_of(group.stages.begin(), group.stages.end(),
                                 [](Stage s) { return s == Stage::score || s == Stage::weights; });
  if (bench.trace.kind != TraceKind::decoder || !alone || !bench.there("alpha")) return false;
  std::size_t left = bench.budget_for(group, bench.given);
  for (const Scored& s : free_ones) {
    const auto model = bench.trouble(group, s.hypothesis).violations ? std::nullopt : bench.build(group, s.hypothesis);
    if (!model || left < 2) continue;
    left -= 2, ++bench.tried, bench.work += 2 * bench.work_of(group, bench.given);
    const auto found = explain_weights(bench.trace, *model, bench.given, group.outputs.front() == "e", bench.tolerance);
    if (!found) continue;
    report.adopt(group, s.hypothesis);
    report.verdict.findings.push_back(*found);
    return true;
  }
  return false;
}

}  // namespace gradus::diagnosis
