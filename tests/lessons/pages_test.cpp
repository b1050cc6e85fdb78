// The numbers of the lessons' pages. Most stand in blocks that a program printed, which notes.sh and numbers.sh compare;
// those that a sentence works out by pencil are worked out here again. What is left over is found: a page can say no
// number with a decimal point that nothing regenerates.
#include <doctest/doctest.h>
#include <fmt/printf.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lessons/06_gru/recall.h"

namespace {

using fmt::sprintf;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softmax_of(const std::vector<double>& scores, std::size_t at) {
  double sum = 0;
  for (double score : scores) sum += std::exp(score);
  return std::exp(scores[at]) / sum;
}
// The slope, at the first score, of the mean squared error of softmax (20, 0, 0) when the second class is right.
double slope_when_sure_and_wrong() {
  const double p[] = {softmax_of({20, 0, 0}, 0), softmax_of({20, 0, 0}, 1), softmax_of({20, 0, 0}, 2)};
  double slope = 0;
  for (int k = 0; k < 3; ++k) slope += 2. / 3 * (p[k] - (k == 1)) * p[k] * ((k == 0) - p[0]);
  return slope;
}

const double epsilon = std::ldexp(1, -52), epsilon_f32 = std::ldexp(1, -23);

// By page: what its sentences work out, and what they give to be worked with (a rate, the data of an example).
const std::map<std::string, std::vector<std::string>>& worked() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"README.md",
       {
           sprintf("weights %.3f %.3f %.3f", softmax_of({.94, .52, .24}, 0), softmax_of({.94, .52, .24}, 1),
                   softmax_of({.94, .52, .24}, 2)),
           sprintf("weights %.4f %.4f", softmax_of({.05, .27}, 0), softmax_of({.05, .27}, 1)),
       }},
      {"lessons/01_tensors/README.md", {"noise of deviation 0.3", sprintf("$0.3^2 = %.2f$", .3 * .3)}},
      {"lessons/02_tape/README.md",
       {
           "$w = -1.2$ and $x = 0.5$",
           sprintf("$p = %.1f$, $t = \\tanh(-0.6) = %.6f$, $y = %.6f$", -1.2 * .5, std::tanh(-.6),
                   -.6 * std::tanh(-.6)),
           sprintf("\\bar t (1 - t^2) = -0.6 \\cdot %.6f = %.6f$ more, so $\\bar p = %.6f$ (adding the rounded numbers "
                   "gives %.6f)",
                   1 - std::pow(std::tanh(-.6), 2), -.6 * (1 - std::pow(std::tanh(-.6), 2)),
                   std::tanh(-.6) - .6 * (1 - std::pow(std::tanh(-.6), 2)), -.537050 - .426947),
           sprintf("3, %.1f, %.2f.", 3 - .1 * 2 * (3 - 1), 2.6 - .1 * 2 * (2.6 - 1)),
           "rate 0.2",
       }},
      {"lessons/03_gradient_check/README.md",
       {
           sprintf("differ by %.13f", 1 / (2 - 1e-12) - 1 / (2 + 1e-12)),
           sprintf("about %.1e", epsilon),
           sprintf("$\\sqrt[3]{\\varepsilon}$, which is %.1e", std::cbrt(epsilon)),
           sprintf("$\\sqrt{\\varepsilon}$, %.1e", std::sqrt(epsilon)),
           sprintf("$\\varepsilon^{1/5}$, %.1e", std::pow(epsilon, .2)),
           sprintf("$2^{-23}$, about %.1e", epsilon_f32),
           sprintf("$\\sqrt[3]{\\varepsilon}$, %.1e", std::cbrt(epsilon_f32)),
           "$w = 0.3$, $u = 0.8$, $a = -0.6$, $s_{t-1} = 0.5$",
           sprintf("$\\sigma(0.5) = %.6f$ with the slope $%.6f \\cdot (1 - %.6f) = %.6f$", sigmoid(.5), sigmoid(.5),
                   sigmoid(.5), sigmoid(.5) * (1 - sigmoid(.5))),
           sprintf("$0.5 \\cdot %.6f = %.6f$, its slope $1 \\cdot %.6f + 0.5 \\cdot %.6f = %.6f$", sigmoid(.5),
                   .5 * sigmoid(.5), sigmoid(.5), sigmoid(.5) * (1 - sigmoid(.5)),
                   sigmoid(.5) + .5 * sigmoid(.5) * (1 - sigmoid(.5))),
           sprintf("One-sided (%.2f - 9) / 0.1 = %.1f, central (%.2f - %.2f) / 0.2 = %.0f", 3.1 * 3.1,
                   (3.1 * 3.1 - 9) / .1, 3.1 * 3.1, 2.9 * 2.9, (3.1 * 3.1 - 2.9 * 2.9) / .2),
           "\"1/x at 0.00001\"",
           "start at -1.5 in place of -1.4; they then run to 1.5",
       }},
      {"lessons/04_softmax/README.md",
       {
           sprintf("$%.2f / \\log %.1f = %.3f$", .27 - .05, .27 / .05, (.27 - .05) / std::log(.27 / .05)),
           sprintf("about $%.1f \\cdot 10^{38}$", static_cast<double>(std::numeric_limits<float>::max()) / 1e38),
           sprintf("$1/3$, or %.4f", softmax_of({7, 7, 7}, 0)),
           "the second of 0.05 and 0.27 the weight 0.9",
           sprintf("$\\sigma(0.22 / T) = 0.9$ means $0.22 / T = \\log 9$, so $T = 0.22 / %.4f = %.4f$", std::log(9),
                   .22 / std::log(9)),
           "on 0.5 and 2.7",
           sprintf("Softmax gives %.4f and %.4f", softmax_of({.5, 2.7}, 0), softmax_of({.5, 2.7}, 1)),
           sprintf("The logarithmic mean is now %.3f", (2.7 - .5) / std::log(2.7 / .5)),
           sprintf("$\\log(1 + 9/e) = %.4f$, while guessing costs $\\log 10 = %.4f$", std::log(1 + 9 / std::exp(1)),
                   std::log(10)),
           sprintf("squared error at $z_1$ is %.1e there", slope_when_sure_and_wrong()),
       }},
      {"lessons/05_training/README.md",
       {
           sprintf("$1 - 0.01 = %.2f$", 1 - .01),
           sprintf("$1 - 0.25 = %.2f$", 1 - .25),
           "At rate 0.04",
           sprintf(
               "$g = 2 (w - 1) = %.0f$, so $w = 3 - %.1f = %.1f$. There $g = %.1f$. Right: $w = 2.6 - %.2f = %.2f$.",
               2. * (3 - 1), .1 * 4, 3 - .1 * 4, 2 * (2.6 - 1), .1 * 3.2, 2.6 - .1 * 3.2),
           sprintf("the gradient holds $4 + 3.2 = %.1f$, and $w = 2.6 - %.2f = %.2f$", 4 + 3.2, .1 * 7.2,
                   2.6 - .1 * 7.2),
           sprintf("two steps against a pencil: %.2f, not %.2f", 2.6 - .1 * 3.2, 2.6 - .1 * 7.2),
           sprintf("it starts at %.1f times the rate", 1 / std::sqrt(.001 / .999)),
           sprintf("$0.1 \\cdot 0.1 \\cdot 2 = %.2f$", .1 * .1 * 2),
           sprintf("$m = 0.9 \\cdot %.2f - 0.1 = %.3f$, divided by $1 - %.3f = %.3f$ that is %.3f; $v$ gives 1. The "
                   "step is %.4f",
                   .9 * .1 + .1, .9 * .19 - .1, std::pow(.9, 3), 1 - std::pow(.9, 3), .071 / .271, -.1 * .071 / .271),
           sprintf("from %.2f on, and %.2f", 2. / 100, 1. / 100),
       }},
      {"lessons/06_gru/README.md",
       {
           sprintf("\\sigma(0.5) \\tanh(0.8) = %.4f \\cdot 0.6 + %.4f \\cdot %.4f = %.4f$", sigmoid(-.3), sigmoid(.5),
                   std::tanh(.8), sigmoid(-.3) * .6 + sigmoid(.5) * std::tanh(.8)),
           sprintf("Guessing gets %.1f %%", 100. / gradus::lesson06::symbols),
           sprintf("$f = \\sigma(4) = %.3f$, and $0.982^{50} = %.2f$", sigmoid(4), std::pow(sigmoid(4), 50)),
           sprintf("h_1 = \\tanh(0.8 \\cdot 0.5 + 1) = %.4f \\qquad h_2 = \\tanh(0.8 \\cdot %.4f + 1) = %.4f",
                   std::tanh(1.4), std::tanh(1.4), std::tanh(.8 * std::tanh(1.4) + 1)),
           sprintf("$z = \\sigma(1.05, -0.5) = (%.4f, %.4f)$", sigmoid(1.05), sigmoid(-.5)),
           sprintf("$z^{50} = 0.99$, so $z = %.4f$ and $b_z = \\log(z / (1 - z)) = %.1f$", std::pow(.99, .02),
                   std::log(std::pow(.99, .02) / (1 - std::pow(.99, .02)))),
           sprintf("$0.5^{50} = %.1f \\times 10^{-16}$", std::pow(.5, 50) * 1e16),
           sprintf("$%.3f^{50} = %.4f$ and $%.3f^{50} = %.3f$", sigmoid(2), std::pow(sigmoid(2), 50), sigmoid(3),
                   std::pow(sigmoid(3), 50)),
           "38.9, 21.8 and 47.9 %",  // trained below
           "at T = 0.01",
       }},
      {"lessons/07_bottleneck/README.md",
       {
           sprintf("the probability 0.5, so the right loss is $\\log 2 = %.4f$, and the pad 0.9, which costs %.4f",
                   std::log(2), -std::log(.9)),
           "$h_i = \\tanh(0.5 x_i + 0.8 h)$",
           "rate 3e-3",
           "probability 0.99",
           sprintf("$0.99^{80} = %.4f$", std::pow(.99, 80)),
       }},
      {"lessons/08_scores/README.md",
       {
           sprintf("differ by %.2f only", .27 - .05),
           sprintf("\\frac{e^{1}}{e^{1} + 7 e^{-1}} = %.4f", 1 / (1 + 7 * std::exp(-2))),
           sprintf("and %.2f with 16", 1 / (1 + 15 * std::exp(-2))),
           sprintf("the first wins, %.4f against %.4f", 2 / std::sqrt(5), 1 / std::sqrt(5)),
           sprintf("become 0.5 and 2.7, the weights %.4f and %.4f", softmax_of({.5, 2.7}, 0), softmax_of({.5, 2.7}, 1)),
           sprintf("$e / (e + 3 e^{-1}) = %.4f$ and $e / (e + 15 e^{-1}) = %.4f$", 1 / (1 + 3 * std::exp(-2)),
                   1 / (1 + 15 * std::exp(-2))),
       }},
      {"lessons/09_bahdanau/README.md",
       {
           sprintf("$e^{0.751164} / (e^{0.751164} + e^{0.445792} + e^{-0.247761}) = %.6f$",
                   softmax_of({.751164, .445792, -.247761}, 0)),
           sprintf("moved by %.3f and %.3f", .300089 - .288893, .437498 - .435382),
           "$y_1 = (-0.5)$",
           "(0.5, 1) \\cdot c_2",
           "-0.004997 against -0.013265",  // from a block that tests/nn/readme_test.cpp works out
           "$s = (0.5, -0.4)$",
       }},
      {"lessons/11_conventions/README.md",
       {"a diagonal of 1e-11", "agrees to 1e-9 and the next one is more than 1e-4 away"}},
  };
  return all;
}

std::string page_text(const std::string& page) {
  std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/" + page);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Text, with every number that has a decimal point or an exponent.
std::vector<std::string> decimals(const std::string& text) {
  static const std::regex number(R"([0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?)");
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    if (it->str().find_first_of(".e") != std::string::npos) found.push_back(it->str());
  }
  return found;
}

// Splits a page into what programs and sources printed, and the sentences: links, code in a line and references removed.
struct Page {
  std::set<std::string> printed;
  std::string sentences;
};
Page split(const std::string& text) {
  Page page;
  bool region = false, quote = false, fenced = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    static const std::regex mark("^<!-- (output|numbers|run):.*"), end("^<!-- end -->.*"), quoted("^ *<!-- quote:.*"),
        fence("^ *```.*");
    if (std::regex_match(line, mark)) region = true;
    else if (std::regex_match(line, end)) region = false;
    else if (std::regex_match(line, quoted)) quote = true;
    else if (std::regex_match(line, fence)) {
      fenced = !fenced;
      if (!fenced) quote = false;
    } else if (!fenced) {
      static const std::regex aside(
          "`[^`]*`|\\]\\([^)]*\\)|<!--.*-->|(sections?|appendix|figure|arXiv) [A-Z0-9.]+( and [A-Z]?[0-9.]+)?|Ubuntu "
          "24\\.04|CC BY 4\\.0",
          std::regex::icase);
      page.sentences += std::regex_replace(line, aside, " ") + "\n";
    } else if (region || quote) {
      for (const std::string& number : decimals(line)) page.printed.insert(number);
    }
  }
  return page;
}

// The numbers of a page's sentences that neither a block nor `said` has.
std::string left_over(const Page& page, const std::vector<std::string>& said) {
  std::string sentences = page.sentences, missing;
  for (const std::string& text : said) {
    std::size_t at = sentences.find(text);
    if (at == std::string::npos) missing += "does not say: " + text + "\n";
    for (; at != std::string::npos; at = sentences.find(text)) sentences.erase(at, text.size());
  }
  std::istringstream lines(sentences);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& number : decimals(line)) {
      if (!page.printed.count(number)) missing += number + " in: " + line + "\n";
    }
  }
  return missing;
}

}  // namespace

TEST_SUITE("pages") {
  TEST_CASE("every decimal number of a page comes from a program, or is worked out here") {
    for (const auto& [name, said] : worked()) {
      CAPTURE(name);
      Page page = split(page_text(name));
      if (name == "README.md") page.printed.merge(split(page_text("lessons/09_bahdanau/README.md")).printed);
      CHECK(left_over(page, said) == "");
    }
  }

  TEST_CASE("a number that nothing regenerates is found, and a sentence whose result is another") {
    const Page page =
        split("<!-- run: -->\n```text\n0.25 3e-06\n```\n<!-- end -->\nIt is 0.25, $0.5^2$ or `0.1`; section 3.1.\n");
    CHECK(left_over(page, {"$0.5^2$"}) == "");
    CHECK(left_over(page, {}).rfind("0.5 in: It is 0.25", 0) == 0);
    CHECK(left_over(page, {"$0.5^2$", "0.26"}) == "does not say: 0.26\n");
    CHECK(left_over(split("```sh\n0.7\n```\n0.7\n"), {}) == "0.7 in: 0.7\n");  // a block that no program printed
  }

  // Exercise 4 of lesson 06. Six trainings: with GRADUS_LONG=1, as ./gradus test numbers does.
  TEST_CASE("lesson 06: an LSTM with a forget bias of 2 and of 3, trained at distance 50 at once") {
    using namespace gradus::lesson06;
    if (!std::getenv("GRADUS_LONG")) return;
    std::vector<double> percent;
    for (double bias : {2., 3.}) {
      for (std::uint64_t seed : {1u, 2u, 3u}) {
        const auto go_on = [](const RecallTraining&) { return true; };
        const RecallTraining trained = train_recall(gradus::CellKind::lstm, false, 1200, seed, go_on, bias);
        percent.push_back(100 * recall_accuracy(trained.net, farthest, 1000, seed));
      }
    }
    const std::string page = page_text("lessons/06_gru/README.md");
    CHECK(page.find(sprintf("%.1f, %.1f and %.1f %% right at 50", percent[0], percent[1], percent[2])) !=
          std::string::npos);
    for (std::size_t i : {3u, 4u, 5u}) CHECK(sprintf("%.1f", percent[i]) == "100.0");
  }
}
