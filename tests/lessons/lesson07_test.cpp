// Lesson 07: its numbers by hand, and that its ways of running a decoder are the library's.
#include <algorithm>
#include <cmath>

#include "lessons/07_bottleneck/by_hand.h"
#include "lessons/07_bottleneck/measure.h"
#include "lessons/07_bottleneck/train.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::lesson07;

namespace {

CopyNet drawn_net(Ends ends = Ends::both) {
  Generator init(3, "init");
  return clone(CopyNet({.d_emb = 3, .d_s = 5}, ends, init), f64);
}

CopyBatch some_batch(std::int64_t length) {
  Generator data(4, "data");
  return copy_batch(6, length, data);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::fabs(x[i] - y[i]));
  return most;
}

std::int64_t equal_tokens(const Ids& a, const Ids& b) {
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
  return equal;
}

}  // namespace

TEST_SUITE("lesson 07") {
  TEST_CASE("an f32 holds seven digits, and the eighth is lost") {
    const std::vector<int> eight{3, 1, 4, 1, 5, 9, 2, 7};
    CHECK(copy_through_one_number({eight.begin(), eight.end() - 1}) == std::vector<int>{3, 1, 4, 1, 5, 9, 2});
    CHECK(copy_through_one_number(eight) == std::vector<int>{3, 1, 4, 1, 5, 9, 2, 8});
    // Every number of seven digits is below 2^24, where an f32 still has all integers.
    for (int first : {0, 1, 9}) {
      const std::vector<int> seven{first, 9, 9, 9, 9, 9, 9};
      CHECK(copy_through_one_number(seven) == seven);
    }
    CHECK(std::log2(9999999.0) < 24);
  }

  TEST_CASE("80 digits are 266 bits and pass through 12 numbers") {
    CHECK(std::round(80 * std::log2(10.0)) == 266);
    std::vector<int> eighty;
    for (int i = 0; i < 80; ++i) eighty.push_back((3 * i * i + i) % 10);
    CHECK(copy_through_numbers(eighty, 7) == eighty);
    CHECK(copy_through_numbers(eighty, 8) != eighty);
  }

  TEST_CASE("the backward run ends at position 1: .8485, and not .9051") {
    const TwoRuns runs = two_runs({1, 2, 3});
    CHECK(std::fabs(runs.forward[2] - 0.9759) < 5e-5);
    CHECK(std::fabs(runs.backward[0] - 0.8485) < 5e-5);
    CHECK(std::fabs(runs.backward[2] - 0.9051) < 5e-5);
    const TwoRuns changed = two_runs({-1, 2, 3});
    CHECK(changed.backward[2] == runs.backward[2]);
    CHECK(changed.backward[0] != runs.backward[0]);
  }

  TEST_CASE("an echo has loss 5.0200 with the shift and 0.0200 without") {
    CHECK(std::fabs(loss_of_an_echo(true) - 5.0200) < 5e-5);
    CHECK(std::fabs(loss_of_an_echo(false) - 0.0200) < 5e-5);
    CHECK(std::fabs(loss_of_an_echo(false) - std::log1p(3 * std::exp(-5.0))) < 1e-12);
  }

  TEST_CASE("a pad in the denominator gives .3466, a pad that counts .3993, and right is .6931") {
    CHECK(std::fabs(loss_with_a_pad(PadLoss::right) - 0.6931) < 5e-5);
    CHECK(std::fabs(loss_with_a_pad(PadLoss::denominator) - 0.3466) < 5e-5);
    CHECK(std::fabs(loss_with_a_pad(PadLoss::counted) - 0.3993) < 5e-5);
  }

  TEST_CASE("the logits depend on s_0 and not on H") {
    const SourceGradient g = source_gradient();
    CHECK(g.of_H == 0);
    CHECK(g.of_s_0 > 1e-3);
  }

  TEST_CASE("scheduled sampling with no own tokens is teacher forcing, with own tokens only it is greedy decoding") {
    NoGrad no_grad;
    const CopyNet net = drawn_net();
    const CopyBatch batch = some_batch(7);
    const State s_0 = net.encode(batch.source);
    Generator unused(1);
    const Tensor given = net.logits(s_0, batch.previous).value();
    CHECK(largest_difference(net.logits_on_own(s_0, batch.previous, 0, unused).value(), given) < 1e-12);
    const Tensor own = net.logits_on_own(s_0, batch.previous, 1, unused).value();
    CHECK(equal_tokens(argmax(own, Axis{2}), net.copy(batch.source)) == batch.source.size());
    CHECK(largest_difference(own, given) > 1e-3);
  }

  TEST_CASE("the last slice knows the first token by its forward half only") {
    NoGrad no_grad;
    for (Ends ends : {Ends::both, Ends::last_slice}) {
      CopyNet net = drawn_net(ends);
      // The bridge looks at the backward half alone.
      std::vector<double> W = net.decoder.bridge.W.value().to_vector();
      for (std::size_t i = 0; i < W.size(); ++i)
        if (i % 10 < 5) W[i] = 0;
      net.decoder.bridge.W = parameter(tensor(Shape{5, 10}, W, f64));
      const CopyBatch batch = some_batch(6);
      Ids changed = batch.source;
      for (std::int64_t row = 0; row < 6; ++row) changed.at(row, 0) = (changed.at(row, 0) + 1) % 10;
      const double difference = largest_difference(net.encode(batch.source).value(), net.encode(changed).value());
      if (ends == Ends::both) CHECK(difference > 1e-6);
      else CHECK(difference == 0);
    }
  }

  TEST_CASE("measures: lengths, places and shares after a token fit together") {
    const CopyNet net = drawn_net();
    const Accuracy a = measure(net, 50, 1);
    CHECK(a.greedy.size() == std::size(copy_lengths));
    CHECK(a.forced.size() == std::size(copy_lengths));
    const Places p = measure_places(net, 50, 1);
    for (const auto& [shares, after] : {std::pair(p.greedy, p.greedy_after), std::pair(p.forced, p.forced_after)}) {
      double all = 0, later = 0;
      for (std::size_t t = 0; t < shares.size(); ++t) {
        all += shares[t];
        if (t > 0) later += shares[t];
      }
      const double before = all - shares.back();  // tokens that another one follows and that are right
      CHECK(std::fabs(before * after.right + (19 - before) * after.wrong - later) < 1e-9);
    }
  }

  TEST_CASE("a better state than the encoder's is found by moving s_0 alone") {
    const CopyNet net = drawn_net();
    const std::vector<double> before = parameters(net)[0].var.value().to_vector();
    const Stored found = search_state(net, 3, 150, 1);
    CHECK(found.best > found.encoder + 0.1);
    CHECK(parameters(net)[0].var.value().to_vector() == before);
  }

  TEST_CASE("without the shift a short training is enough for a loss near 0, and its copies are wrong") {
    const Trained t = train({.name = "", .sizes = {16, 16}, .steps = 150, .feeding = Feeding::shift_missing}, 1,
                            [](const Trained&, double) { return true; });
    CHECK(t.loss < 0.2);
    CHECK(measure(t.net, 100, 1).greedy[1] < 0.4);
  }
}
