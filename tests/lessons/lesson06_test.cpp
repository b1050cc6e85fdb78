// Lesson 06: its numbers by hand, the recall task, the reach of a gradient, and the reading and writing of text.
#include <algorithm>
#include <cmath>

#include "lessons/06_gru/by_hand.h"
#include "lessons/06_gru/reach.h"
#include "lessons/06_gru/text_model.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::lesson06;

namespace {

void near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) < tolerance);
}

GruOptions one_bias(GruReset reset, GruUpdate update) { return {reset, update, GruBias::one, GruOrder::rzn}; }

}  // namespace

TEST_SUITE("lesson 06") {
  TEST_CASE("the small GRU in its four forms, each with one bias") {
    near(small_step(small_gru(one_bias(GruReset::before, GruUpdate::replaces))), {0.699417, -0.273193}, 1e-6);
    near(small_step(small_gru(one_bias(GruReset::before, GruUpdate::keeps))), {0.569783, -0.018913}, 1e-6);
    near(small_step(small_gru(one_bias(GruReset::after, GruUpdate::replaces))), {0.761244, -0.297438}, 1e-6);
  }

  TEST_CASE("the order in which gates are stacked changes nothing") {
    for (GruOptions options :
         {one_bias(GruReset::before, GruUpdate::keeps), one_bias(GruReset::after, GruUpdate::replaces)}) {
      const std::vector<double> rzn = small_step(small_gru(options));
      options.order = GruOrder::zrn;
      near(small_step(small_gru(options)), rzn, 1e-15);
    }
  }

  TEST_CASE("turning the sign of the z rows turns a z that replaces into one that keeps") {
    near(small_step(small_gru(bahdanau2014(), true)), small_step(small_gru(cho2014())), 1e-12);
    CHECK(std::fabs(small_step(small_gru(bahdanau2014()))[0] - small_step(small_gru(cho2014()))[0]) > 0.1);
  }

  TEST_CASE("the LSTM by hand gives .3212, without its tanh .3677, with o and g exchanged .2492") {
    const LstmByHand l = lstm_by_hand();
    near({l.c, l.right, l.no_tanh, l.o_and_g_exchanged}, {0.6687, 0.3212, 0.3677, 0.2492}, 5e-5);
  }

  TEST_CASE("the gradient of a window is .1090 when the state is cut and .1196 when it is not") {
    near({cut_gradient().cut, cut_gradient().whole}, {0.1090, 0.1196}, 5e-5);
  }

  TEST_CASE("a state that is not detached makes the tape grow, and the second backward says what to do") {
    const TapeGrowth growth = tape_growth();
    for (std::size_t k = 1; k < growth.detached.size(); ++k) {
      CHECK(growth.detached[k] == growth.detached[0]);
      CHECK(growth.attached[k] - growth.attached[k - 1] == growth.attached[1] - growth.attached[0]);
      CHECK(growth.attached[k] > growth.attached[k - 1]);
    }
    CHECK(growth.error.find("detach()") != std::string::npos);
  }

  TEST_CASE("recall: the answer is the first symbol, the question stands at the distance") {
    Generator generator(1);
    const RecallBatch batch = recall_batch(20, 6, generator);
    CHECK(batch.tokens.shape() == Shape{20, 7});
    for (std::int64_t row = 0; row < 20; ++row) {
      CHECK(batch.tokens.at(row, 0) == batch.symbols[row]);
      CHECK(batch.tokens.at(row, 6) == question);
      for (std::int64_t t = 0; t < 6; ++t) CHECK(batch.tokens.at(row, t) < symbols);
    }
  }

  TEST_CASE("recall is learned over a few steps by every cell") {
    for (CellKind kind : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
      const RecallTraining t = train_recall(kind, true, 250, 1, [](const RecallTraining&) { return true; });
      CHECK(recall_accuracy(t.net, 3, 200, 1) > 0.9);
    }
  }

  TEST_CASE("the reach of a gradient in an Elman net is the product of its slopes") {
    Generator init(1, "init");
    RecallNet net(CellKind::elman, init);
    const std::vector<double> reach = gradient_reach(net, 1);
    CHECK(reach.size() == static_cast<std::size_t>(farthest) + 1);
    CHECK(reach[0] == 1);
    // With U = 0 nothing goes back, not even one step.
    net.cell.elman[0].U = parameter(zeros(net.cell.elman[0].U.shape(), f32));
    CHECK(gradient_reach(net, 1)[1] == 0);
    // With W = 0, b = 0 and U half the identity the state stays 0 and each step halves the gradient.
    const std::int64_t d = net.cell.d_s();
    std::vector<double> half(static_cast<std::size_t>(d * d), 0);
    for (std::int64_t i = 0; i < d; ++i) half[static_cast<std::size_t>(i * d + i)] = 0.5;
    net.cell.elman[0].U = parameter(tensor(Shape{d, d}, half, f32));
    net.cell.elman[0].W = parameter(zeros(net.cell.elman[0].W.shape(), f32));
    net.cell.elman[0].b = parameter(zeros(Shape{d}, f32));
    for (std::size_t k : {1, 5, 20}) CHECK(std::fabs(gradient_reach(net, 1)[k] / std::pow(0.5, k) - 1) < 1e-12);
  }

  TEST_CASE("the forget bias decides how far back the gradient of a fresh LSTM reaches") {
    const auto at_50 = [](double forget_bias) {
      Generator init(1, "init");
      const RecallNet net(CellKind::lstm, init, forget_bias);
      const std::vector<double> b = net.cell.lstm[0].b.value().to_vector();
      const auto d = static_cast<std::size_t>(net.cell.d_s());
      for (std::size_t k = 0; k < b.size(); ++k) CHECK(b[k] == (k / d == 1 ? forget_bias : 0));
      return gradient_reach(net, 1)[50];
    };
    CHECK(at_50(1) < 0.05);
    CHECK(at_50(4) > 0.5);
  }

  TEST_CASE("what a trained gate keeps is a share") {
    Generator init(1, "init");
    const Kept kept = kept_over_time(RecallNet(CellKind::gru, init), 1);
    REQUIRE(kept.all.size() == static_cast<std::size_t>(farthest) + 1);
    for (std::size_t t = 0; t < kept.all.size(); ++t) {
      CHECK(kept.all[t] > 0);
      CHECK(kept.steadiest[t] < 1);
      CHECK(kept.all[t] <= kept.steadiest[t]);
    }
  }

  TEST_CASE("a corpus holds characters, Chinese ones whole, and every tenth line is held out") {
    std::string text;
    for (int i = 0; i < 20; ++i) text += i % 10 == 9 ? "梯度\n" : "ab\n";
    const Corpus corpus = make_corpus(text);
    CHECK(corpus.characters == std::vector<std::string>{"\n", "a", "b", "度", "梯"});
    CHECK(corpus.held_out == std::vector<std::int32_t>{4, 3, 0, 4, 3, 0});
    CHECK(corpus.train.size() == 18 * 3);
    CHECK(corpus.encode("梯x度") == std::vector<std::int32_t>{4, 3});
  }

  TEST_CASE("both texts of the course are found, with the sizes that the note tells") {
    const Corpus english = course_text(Lang::en), chinese = course_text(Lang::zh);
    CHECK(english.characters.size() == 90);
    CHECK(chinese.characters.size() == 1022);
    CHECK(english.train.size() + english.held_out.size() == 112748);
    CHECK(chinese.train.size() + chinese.held_out.size() == 52092);
  }

  TEST_CASE(
      "bits: a model that knows nothing needs log2 of the vocabulary, and carrying the state is not resetting it") {
    Generator init(1, "init");
    const Corpus corpus = make_corpus("abcabcabcabcabcabcabcabc\n");
    CharNet net(4, init);
    const double carried = bits_per_character(net, corpus.train, 0), reset = bits_per_character(net, corpus.train, 2);
    CHECK(std::fabs(carried - reset) > 1e-6);
    // Carried, it does not matter in which pieces a long text is read.
    std::vector<std::int32_t> longer;
    for (int i = 0; i < 30; ++i) longer.insert(longer.end(), corpus.train.begin(), corpus.train.end());
    CHECK(std::fabs(bits_per_character(net, longer, 0) - bits_per_character(net, longer, 1000)) < 1e-5);
    net.readout.W = parameter(zeros(net.readout.W.shape(), f32));
    net.readout.b = parameter(zeros(Shape{4}, f32));
    CHECK(std::fabs(bits_per_character(net, corpus.train, 0) - 2) < 1e-6);
  }

  TEST_CASE("a low temperature writes what is most probable, and a seed says which text") {
    const Corpus corpus = make_corpus("abcabcabcabcabcabcabcabcabcabcabcabcabcabcabc\n");
    const CharTraining t = train_text(corpus, 60, 1, [](const CharTraining&) { return true; });
    CHECK(t.bits < 0.5);
    Generator a(1), b(1), c(2);
    const std::string text = sample(t.net, corpus, "ab", 9, 0.1, a);
    CHECK(text == "cabcabcab");
    CHECK(sample(t.net, corpus, "ab", 9, 0.1, b) == text);
    CHECK(sample(t.net, corpus, "ab", 40, 50, a) != sample(t.net, corpus, "ab", 40, 50, c));
  }
}
