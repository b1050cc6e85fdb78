// Lesson 08: lookups as drawn and as typed, readers whose answer is known, leads, spreads, the shapes on its pages.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "lessons/08_scores/by_hand.h"
#include "lessons/08_scores/parts.h"
#include "lessons/08_scores/show.h"

using namespace gradus;
using namespace gradus::lesson08;

namespace {

const Variant& variant(const std::string& name) {
  for (const Variant& v : variants()) {
    if (v.name.en == name) return v;
  }
  throw ValueError("no variant " + name);
}

// Tables in which a word asked is the word found: question w and key w are both `length` along axis w, digit v is the
// v-th unit vector, and the readout says which unit vector it got.
Reader perfect(double length) {
  Generator init(1, "init");
  Reader reader(variant("dot"), init);
  const auto unit = [](std::int64_t rows, std::int64_t columns, double value) {
    Tensor x = zeros(Shape{rows, columns});
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i) x.set({i, i}, value);
    return x;
  };
  reader.query_table.E = Var(unit(words, 16, length));
  reader.key_table.E = Var(unit(words, 16, length));
  reader.value_table.E = Var(unit(digits, 16, 1));
  reader.readout.W = Var(unit(digits, 16, 1));
  reader.readout.b = Var(zeros(Shape{digits}));
  return reader;
}

bool on_both_pages(const std::string& text) {
  for (const char* page : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/08_scores/" + page);
    std::ostringstream all;
    all << in.rdbuf();
    if (all.str().find(text) == std::string::npos) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("lesson 08") {
  TEST_CASE("lesson 08: a lookup has different keys, and its answer is the digit of the key that is asked for") {
    Generator generator(5, "data"), same(5, "data");
    const Lookups lookups = draw_lookups(200, 8, generator);
    CHECK(lookups.keys == draw_lookups(200, 8, same).keys);
    std::set<std::int32_t> asked;
    for (std::int64_t b = 0; b < 200; ++b) {
      std::set<std::int32_t> keys;
      std::int32_t answer = -1;
      for (std::int64_t i = 0; i < 8; ++i) {
        keys.insert(lookups.keys.at(b, i));
        if (lookups.keys.at(b, i) == lookups.query[b]) answer = lookups.values.at(b, i);
      }
      CHECK(keys.size() == 8);
      CHECK(answer == lookups.answer[b]);
      asked.insert(lookups.query[b]);
    }
    CHECK(asked.size() == words);
  }

  TEST_CASE("lesson 08: a lookup that is typed may ask in either language") {
    for (const char* text : {"cat=3 dog=7 sun=1 ? 狗", "cat=3 dog=7 sun=1 ? dog", "猫=3 狗=7 日=1 ? dog"}) {
      CAPTURE(text);
      const Lookups lookup = read_lookup(text);
      CHECK(lookup.keys == Ids(Shape{1, 3}, {0, 1, 2}));
      CHECK(lookup.values == Ids(Shape{1, 3}, {3, 7, 1}));
      CHECK(lookup.query[0] == 1);
      CHECK(lookup.answer[0] == 7);
    }
  }

  TEST_CASE("lesson 08: what is no lookup is refused") {
    for (const char* text :
         {"", "cat=3", "? cat", "cat=3 ?", "cat=3 ? dog", "cat=3 cat=4 ? cat", "cat=33 ? cat", "cat= ? cat",
          "cow=3 ? cow", "cat=3 ? cat dog", "cat=3 ? ? cat", "cat=3 ? dog=4", "=3 ? cat"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(read_lookup(text), ValueError);
    }
  }

  TEST_CASE("lesson 08: an example that is typed: a query, then states, all of one length") {
    const Example example = read_example("0.8 -0.2 0.5 | 0.1,0.9,0.3|0.7 0.2 -0.5");
    CHECK(example.query == note_1().query);
    CHECK(example.states == note_1().states);
    for (const char* text : {"", "1 2", "1 2 |", "1 | 2 3", "a | b", "| 1", "1 | 2 | ", "1e4 | 1",
                             "1 2 3 4 5 6 7 | 1 2 3 4 5 6 7", "1|1|1|1|1|1|1|1|1|1"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(read_example(text), ValueError);
    }
  }

  TEST_CASE(
      "lesson 08: a reader with matching tables answers everything, in full certainty when its vectors are long") {
    const Skill sure = measure(perfect(5), 8, 300, 1), unsure = measure(perfect(1), 8, 300, 1);
    CHECK(sure.accuracy == 1);
    CHECK(sure.lost == 0);
    CHECK(sure.weight > 0.999);
    // e / (e + 7): the own key scores 1, the seven others 0
    CHECK(std::fabs(unsure.weight - std::exp(1.0) / (std::exp(1.0) + 7)) <= 1e-6);
    // one score of 8 is 25, the others 0
    CHECK(std::fabs(sure.deviation - 25 / std::sqrt(8.0)) <= 1e-4);
  }

  TEST_CASE("lesson 08: a reader whose tables are shifted by one word loses all of them") {
    Reader reader = perfect(5);
    Tensor shifted = zeros(Shape{words, 16});
    for (std::int64_t w = 0; w < words; ++w) shifted.set({w, (w + 1) % words}, 5);
    reader.query_table.E = Var(shifted);
    const Skill skill = measure(reader, 16, 300, 1);
    CHECK(skill.lost == words);
    CHECK(skill.weight < 1e-6);
    CHECK(measure(reader, 4, 2000, 1).accuracy > 0.25);  // with 4 pairs it guesses, and a word is lost below one half
    CHECK(measure(reader, 4, 2000, 1).lost == words);
    for (double lead : leads(reader)) CHECK(lead == -25);
    for (double lead : leads(perfect(5))) CHECK(lead == 25);
  }

  TEST_CASE("lesson 08: equal weights are 1/n, and their context is the mean of the values") {
    Generator init(1, "init"), data(1, "data");
    const Reader reader(variant("equal weights"), init);
    const Lookups lookups = draw_lookups(3, 5, data);
    const Read read = reader(lookups);
    for (double weight : read.weights.value().to_vector()) CHECK(std::fabs(weight - 0.2) <= 1e-7);
    const Var values = reader.value_table(lookups.values);
    CHECK(norm((read.context - mean(values, Axis{1})).value()) <= 1e-6);
  }

  TEST_CASE("lesson 08: a small start divides the query table by 4 and nothing else") {
    Generator one(1, "init"), two(1, "init");
    const Reader plain(variant("dot"), one), small(variant("dot, small start"), two);
    CHECK(norm((plain.query_table.E * 0.25 - small.query_table.E).value()) == 0);
    CHECK(plain.key_table.E.value().to_vector() == small.key_table.E.value().to_vector());
  }

  TEST_CASE("lesson 08: the scores of a reader are those of the library, divided by its temperature") {
    Generator data(2, "data");
    const Lookups lookups = draw_lookups(4, 6, data);
    for (const Variant& v : variants()) {
      if (!v.kind) continue;
      CAPTURE(v.name);
      Generator init(3, "init");
      const Reader reader(v, init);
      const Var query = reader.query_table(lookups.query), H = reader.key_table(lookups.keys);
      const Var expected = reader.score(query, reader.score.keys(H)) / v.temperature;
      CHECK(norm((reader(lookups).scores - expected).value()) <= 1e-5);
    }
  }

  TEST_CASE("lesson 08: a few hundred steps teach the scaled reader everything, and training ends when it is told to") {
    Generator init(1, "init");
    Reader reader(variant("scaled dot"), init);
    std::int64_t steps = 0;
    train(reader, 300, 1, [&](std::int64_t step, double) {
      steps = step;
      return true;
    });
    CHECK(steps == 300);
    CHECK(measure(reader, 8, 500, 1).accuracy == 1);
    train(reader, 300, 1, [&](std::int64_t step, double) {
      steps = step;
      return step < 3;
    });
    CHECK(steps == 3);
  }

  TEST_CASE("lesson 08: scores of random vectors spread as the root of d, and scaled ones do not") {
    for (const Spread& s : spreads()) {
      CAPTURE(s.d);
      CHECK(std::fabs(s.dot / std::sqrt(static_cast<double>(s.d)) - 1) < 0.05);
      CHECK(std::fabs(s.scaled - 1) < 0.05);
      if (s.d >= 64) CHECK(s.dot_slope < s.scaled_slope / 2);
    }
  }

  TEST_CASE("lesson 08: the numbers of the notes, and vectors that line up") {
    CHECK(distance_from_notes() <= 0.5);
    CHECK(vector_text({0.8, 0.2}, 2) == "(0.80 0.20)");
    CHECK(vector_text({0.8, -0.2}, 2) == "( 0.80 -0.20)");
    CHECK(vector_text({0.8, 0.2}, 2, true) == "( 0.80  0.20)");
    CHECK(vector_text({3, 3}, 0) == "(3 3)");
  }

  TEST_CASE("lesson 08: every row of the table of shapes holds and stands on both pages") {
    const std::int64_t B = 2, T_enc = 5, d_s = 3, d_h = 4, d_v = 6;
    Generator generator(1, "init");
    const Score score(ScoreKind::general, d_s, d_h, 0, generator);
    const Var query(zeros(Shape{B, d_s})), H(zeros(Shape{B, T_enc, d_h})), values(zeros(Shape{B, T_enc, d_v}));
    const Var scores = score(query, score.keys(H));
    struct Row {
      const char* cells;
      Shape got, expected;
    };
    for (const Row& r :
         {Row{"`query` | `(B, d_s)`", query.shape(), {B, d_s}},
          {"`H` | `(B, T_enc, d_h)`", H.shape(), {B, T_enc, d_h}},
          {"`score.keys(H)` | `(B, T_enc, d_h)`", score.keys(H).shape(), {B, T_enc, d_h}},
          {"`score.W_a` | `(d_s, d_h)`", score.W_a.shape(), {d_s, d_h}},
          {"`score(query, score.keys(H))` | `(B, T_enc)`", scores.shape(), {B, T_enc}},
          {"`values` | `(B, T_enc, d_v)`", values.shape(), {B, T_enc, d_v}},
          {"`attend(scores, values).weights` | `(B, T_enc)`", attend(scores, values).weights.shape(), {B, T_enc}},
          {"`attend(scores, values).context` | `(B, d_v)`", attend(scores, values).context.shape(), {B, d_v}}}) {
      CAPTURE(r.cells);
      CHECK(r.got == r.expected);
      CHECK(on_both_pages(r.cells));
    }
  }
}
