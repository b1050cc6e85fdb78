// Lesson 04: the generated set and its true probabilities, training rightly and with two softmaxes, the numbers shown.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "autograd/check_gradient.h"
#include "lessons/04_softmax/by_hand.h"
#include "lessons/04_softmax/diagonal.h"
#include "lessons/04_softmax/show.h"

using namespace gradus;
using namespace gradus::lesson04;

namespace {

// Bayes' rule as it stands in books: the density of each cloud, divided by the sum of all.
std::vector<double> by_bayes(double x_1, double x_2) {
  std::vector<double> density;
  double total = 0;
  for (const auto& m : centres) {
    density.push_back(std::exp(-((x_1 - m[0]) * (x_1 - m[0]) + (x_2 - m[1]) * (x_2 - m[1])) / 2));
    total += density.back();
  }
  for (double& p : density) p /= total;
  return density;
}

// Both pages of a lesson hold `text`.
bool on_both_pages(const std::string& lesson, const std::string& text) {
  for (const char* page : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/" + lesson + "/" + page);
    std::ostringstream all;
    all << in.rdbuf();
    if (all.str().find(text) == std::string::npos) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("lesson 04") {
  TEST_CASE("lesson 04: the true probabilities are Bayes' rule") {
    for (const auto& [x_1, x_2] : {std::pair(0.0, 0.0), {1.5, -0.3}, {-4.0, 3.0}, {0.0, -6.0}}) {
      CAPTURE(x_1);
      const std::vector<double> log_p = true_log_probabilities(tensor(Shape{1, 2}, {x_1, x_2}, f64)).to_vector();
      const std::vector<double> p = by_bayes(x_1, x_2);
      for (std::size_t k = 0; k < 3; ++k) CHECK(std::fabs(std::exp(log_p[k]) - p[k]) <= 1e-14);
    }
  }

  TEST_CASE("lesson 04: points follow from the seed, come from all clouds alike and lie around their centres") {
    Generator one(7, "data"), same(7, "data"), other(8, "data");
    const Points points = draw_points(6000, one);
    CHECK(points.x.to_vector() == draw_points(6000, same).x.to_vector());
    CHECK(points.x.to_vector() != draw_points(6000, other).x.to_vector());
    for (std::int64_t k = 0; k < classes; ++k) {
      double count = 0, mean_1 = 0, mean_2 = 0;
      for (std::int64_t i = 0; i < 6000; ++i) {
        if (points.labels[i] != k) continue;
        ++count;
        mean_1 += points.x.at({i, 0});
        mean_2 += points.x.at({i, 1});
      }
      CHECK(std::fabs(count - 2000) < 150);
      CHECK(std::fabs(mean_1 / count - centres[k][0]) < 0.1);
      CHECK(std::fabs(mean_2 / count - centres[k][1]) < 0.1);
    }
  }

  TEST_CASE("lesson 04: the gradient p - y is the tape's, and passes the self check") {
    Generator generator(3, "data");
    const Points points = draw_points(20, generator);
    CHECK(hand_against_tape(points, 3) <= 1e-14);
    const Classifier model = clone(Classifier(), f64);
    const Points exact{points.x.to(f64), points.labels};
    std::vector<CheckedInput> inputs;
    for (const Parameter& p : parameters(model)) inputs.push_back({p.name, p.var});
    const GradientReport report = check_gradient([&] { return loss_of(model, exact, Loss::cross_entropy); }, inputs);
    CHECK_MESSAGE(report.passed, report.text());
  }

  TEST_CASE("lesson 04: training starts at log 3 and finds Bayes' rule; two softmaxes stay above their floor") {
    Generator data(1, "data"), fresh(1, "fresh");
    const Points points = draw_points(2000, data), unseen = draw_points(4000, fresh);
    Classifier right, wrong;
    double first = 0, lowest = 10;
    train(right, points, Loss::cross_entropy, 300, [&](std::int64_t step, double loss) {
      if (step == 1) first = loss;
      return true;
    });
    train(wrong, points, Loss::double_softmax, 300, [&](std::int64_t, double loss) {
      lowest = std::min(lowest, loss);
      return true;
    });
    CHECK(std::fabs(first - std::log(3.0)) <= 1e-6);
    CHECK(evaluate(right.log_probabilities(unseen.x), unseen).divergence < 0.01);
    CHECK(evaluate(wrong.log_probabilities(unseen.x), unseen).divergence > 0.01);
    CHECK(lowest > floor_of_two());
    CHECK(std::fabs(floor_of_two() - 0.5514) <= 5e-5);
  }

  TEST_CASE("lesson 04: training ends when it is told to") {
    Generator data(1, "data");
    Classifier model;
    std::int64_t seen = 0;
    train(model, draw_points(10, data), Loss::cross_entropy, 100, [&](std::int64_t step, double) {
      seen = step;
      return step < 4;
    });
    CHECK(seen == 4);
  }

  TEST_CASE(
      "lesson 04: Bayes' rule has divergence 0 from itself, and a temperature changes its confidence but no answer") {
    Generator fresh(2, "fresh");
    const Points points = draw_points(3000, fresh);
    const Tensor log_p = true_log_probabilities(points.x);
    const Evaluation exact = evaluate(log_p, points), cold = evaluate(cooled(log_p, 0.25), points),
                     warm = evaluate(cooled(log_p, 4), points);
    CHECK(std::fabs(exact.divergence) <= 1e-15);
    CHECK(exact.miscalibration < 0.03);
    CHECK(cold.accuracy == exact.accuracy);
    CHECK(warm.accuracy == exact.accuracy);
    CHECK((cold.confidence > exact.confidence && exact.confidence > warm.confidence));
    CHECK((cold.loss > exact.loss && warm.loss > exact.loss));
    std::int64_t counted = 0;
    for (const Bin& bin : exact.bins) counted += bin.count;
    CHECK(counted == 3000);
  }

  TEST_CASE("lesson 04: the numbers of the notes, and what the self check says of three gradients") {
    CHECK(distance_from_notes() <= 0.5);
    CHECK(jacobian_verdicts() == std::vector<std::string>{"PASSED", "GC_WRONG_GRADIENT", "GC_NOTHING_TESTED"});
  }

  TEST_CASE("lesson 04: the diagonal softmax has the right values and a wrong gradient") {
    const Var e = parameter(tensor(Shape{1, 2}, {.05, .27}, f64)), alpha = diagonal_softmax(e);
    CHECK(alpha.value().to_vector() == softmax(e, Axis{1}).value().to_vector());
    backward(alpha, tensor(Shape{1, 2}, {1, 0}, f64));
    CHECK(std::fabs(e.grad().at({0, 0}) - 0.445221 * 0.554779) <= 1e-6);
    CHECK(e.grad().at({0, 1}) == 0);  // raising the other score does lower this weight
  }

  TEST_CASE("lesson 04: pictures and tables can be drawn in both languages, also from a run that was interrupted") {
    const Terminal terminal;
    for (Lang lang : {Lang::en, Lang::zh}) {
      CHECK(!draw_text(loss_chart({1.1, 0.9, 0.8}, {1.1}, 0.24, lang), terminal).empty());
      CHECK(!draw_text(temperature_chart(lang), terminal).empty());
      CHECK(!draw_text(pull_chart(lang), terminal).empty());
      CHECK(!draw_text(confidence_map(Classifier(), lang), terminal).empty());
      CHECK(answer_table(Classifier(), 1, 2, terminal, lang).find("0.3333") != std::string::npos);
    }
  }

  TEST_CASE("lesson 04: every row of the table of shapes holds and stands on both pages") {
    const std::int64_t B = 2, T_enc = 5, N = 3, vocab = 4;
    const Var scores(zeros(Shape{B, T_enc})), z(zeros(Shape{N, vocab}));
    const Ids targets(Shape{N}, 1);
    struct Row {
      const char* cells;
      Shape got, expected;
    };
    for (const Row& r : {Row{"`scores` | `(B, T_enc)`", scores.shape(), {B, T_enc}},
                         {"`softmax(scores, Axis{1})` | `(B, T_enc)`", softmax(scores, Axis{1}).shape(), {B, T_enc}},
                         {"`logsumexp(scores, Axis{1})` | `(B)`", logsumexp(scores, Axis{1}).shape(), {B}},
                         {"`z` | `(N, vocab)`", z.shape(), {N, vocab}},
                         {"`targets` | `(N)`", targets.shape(), {N}},
                         {"`cross_entropy(z, targets)` | `()`", cross_entropy(z, targets).shape(), Shape{}}}) {
      CAPTURE(r.cells);
      CHECK(r.got == r.expected);
      CHECK(on_both_pages("04_softmax", r.cells));
    }
  }
}
