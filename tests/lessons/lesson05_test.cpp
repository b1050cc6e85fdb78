// Lesson 05: the spirals, descents against closed forms, trials that must fail as the page says, exact resumes.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "lessons/05_training/by_hand.h"
#include "lessons/05_training/show.h"

using namespace gradus;
using namespace gradus::lesson05;

namespace {

const Plan& plan(const std::string& name) {
  for (const Plan& p : plans()) {
    if (p.name.en == name) return p;
  }
  throw ValueError("no plan " + name);
}

Trial trained(const std::string& name, std::int64_t steps, std::uint64_t seed = 1) {
  Generator stream(seed, "fresh");
  Trainer trainer(plan(name), steps, seed);
  trainer.run_to(steps);
  return outcome(trainer, draw_spirals(2000, stream));
}

struct TemporaryFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "gradus_lesson05_test.safetensors";
  ~TemporaryFile() { std::filesystem::remove(path); }
};

bool on_both_pages(const std::string& text) {
  for (const char* page : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/05_training/" + page);
    std::ostringstream all;
    all << in.rdbuf();
    if (all.str().find(text) == std::string::npos) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("lesson 05") {
  TEST_CASE("lesson 05: points follow from the seed and lie on their arm") {
    Generator one(3, "points"), same(3, "points");
    const Points points = draw_spirals(2000, one);
    CHECK(points.x.to_vector() == draw_spirals(2000, same).x.to_vector());
    double first = 0;
    for (std::int64_t i = 0; i < 2000; ++i) {
      const double x = points.x.at({i, 0}), y = points.x.at({i, 1}), radius = std::hypot(x, y) / extent;
      // How far along the radius until the arm is met; the arms are 1.33 apart.
      const double angle = 2 * std::numbers::pi * (turns * radius + points.labels[i] / 2.0) - std::atan2(y, x);
      const double off = std::remainder(angle, 2 * std::numbers::pi) / (2 * std::numbers::pi * turns) * extent;
      CHECK(std::fabs(off) < 0.6);
      first += points.labels[i] == 0;
    }
    CHECK(std::fabs(first - 1000) < 100);
    Generator data(3, "data");
    const Points batch = draw_batch(points, 64, data);
    CHECK(batch.x.shape() == Shape{64, 2});
    CHECK(batch.labels.shape() == Shape{64});
  }

  TEST_CASE("lesson 05: descents are what their closed forms say") {
    const std::vector<double> right = descent(40, false), wrong = descent(400, true);
    for (std::size_t t = 0; t <= 40; ++t) CHECK(std::fabs(right[t] - (1 + 2 * std::pow(0.8, t))) <= 1e-12);
    // Without zero_grad: x_{t+1} - (2 - 2 rate) x_t + x_{t-1} = 0, an oscillation whose size never falls.
    for (std::size_t t = 1; t < 400; ++t)
      CHECK(std::fabs((wrong[t + 1] - 1) - 1.8 * (wrong[t] - 1) + (wrong[t - 1] - 1)) <= 1e-12);
    double late = 0;
    for (std::size_t t = 350; t <= 400; ++t) late = std::max(late, std::fabs(wrong[t] - 1));
    CHECK(late > 1.9);
  }

  TEST_CASE("lesson 05: the numbers that are printed everywhere") { CHECK(distance_from_printed() <= 0.5); }

  TEST_CASE("lesson 05: the right recipe learns, and mistakes fail as they are said to") {
    CHECK(trained("Adam", 1500).accuracy >= 0.99);
    CHECK(trained("weights from 0", 500).accuracy <= 0.6);
    CHECK(trained("the same, not clipped", 1500).loss > 1);
    const Trial hidden = trained("plain, no zero_grad", 2000), right = trained("plain descent", 2000);
    CHECK(hidden.accuracy >= 0.98);
    CHECK(hidden.length > 3 * right.length);
  }

  TEST_CASE("lesson 05: clipping after the step is the same, bit for bit, as not clipping") {
    const Trial after = trained("clipped after", 300), never = trained("never clipped", 300);
    CHECK(after.losses == never.losses);
    CHECK(after.losses != trained("momentum", 300).losses);
  }

  TEST_CASE("lesson 05: a resumed run ends in the same bits, and one that lost something does not") {
    const TemporaryFile file;
    for (const std::uint64_t seed : {1, 2}) {
      const std::vector<Resumed> rows = resumed_runs(200, seed, file.path);
      REQUIRE(rows.size() == 5);
      CHECK(rows[1].different == 0);
      CHECK(rows[1].loss == rows[0].loss);
      for (std::size_t i = 2; i < rows.size(); ++i) {
        CAPTURE(rows[i].what.en);
        CHECK(rows[i].different > 1000);
        CHECK(rows[i].largest > 0);
      }
    }
  }

  TEST_CASE("lesson 05: losses survive a resume, and a checkpoint of another run is refused") {
    const TemporaryFile file;
    Trainer one(plans()[0], 20, 1), two(plans()[0], 20, 1), other_seed(plans()[0], 20, 2), longer(plans()[0], 21, 1);
    one.run_to(7);
    one.save(file.path);
    one.run_to(20);
    two.load(file.path);
    CHECK(two.done == 7);
    two.run_to(20);
    CHECK(one.losses == two.losses);
    CHECK_THROWS_AS(other_seed.load(file.path), FileError);
    CHECK_THROWS_AS(longer.load(file.path), FileError);
  }

  TEST_CASE("lesson 05: training ends when it is told to, and never beyond its last step") {
    Trainer trainer(plans()[0], 10, 1);
    trainer.run_to(10, [](const Trainer& t) { return t.done < 3; });
    CHECK(trainer.done == 3);
    trainer.run_to(100);
    CHECK(trainer.done == 10);
    CHECK(trainer.losses.size() == 10);
  }

  TEST_CASE("lesson 05: every row of the table of shapes holds and stands on both pages") {
    Generator init(1, "init");
    const Mlp model(init);
    const Tensor x = zeros(Shape{5, 2});
    const Var h_1 = tanh(model.layer_1(x)), h_2 = tanh(model.layer_2(h_1));
    struct Row {
      const char* cells;
      Shape got, expected;
    };
    for (const Row& r : {Row{"`layer_1.W` | `(32, 2)`", model.layer_1.W.shape(), {32, 2}},
                         {"`layer_2.W` | `(32, 32)`", model.layer_2.W.shape(), {32, 32}},
                         {"`layer_3.W` | `(2, 32)`", model.layer_3.W.shape(), {2, 32}},
                         {"`x` | `(N, 2)`", x.shape(), {5, 2}},
                         {"`h_1` | `(N, 32)`", h_1.shape(), {5, 32}},
                         {"`h_2` | `(N, 32)`", h_2.shape(), {5, 32}},
                         {"`model(x)` | `(N, 2)`", model(x).shape(), {5, 2}}}) {
      CAPTURE(r.cells);
      CHECK(r.got == r.expected);
      CHECK(on_both_pages(r.cells));
    }
    CHECK(count(parameters(model)) == 1218);
  }
}
