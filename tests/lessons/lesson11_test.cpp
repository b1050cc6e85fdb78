// Lesson 11: what is drawn, that the pictures are what theory foretells, and that a diagnosis finds every mistake.
#include <doctest/doctest.h>

#include <stdlib.h>

#include <filesystem>
#include <set>

#include "lessons/11_conventions/exam.h"

using namespace gradus;
using namespace gradus::lesson11;

namespace {

std::vector<std::string> described(std::uint64_t seed) {
  std::vector<std::string> list;
  for (const Choices& c : draw_twelve(seed)) list.push_back(title(c.claim) + ": " + words(c, Lang::en));
  return list;
}

// Every mistake on every paper that can have it, and both papers' decoders without one.
std::vector<Choices> all_of_them(std::uint64_t seed) {
  Generator generator(seed, "all of lesson 11");
  std::vector<Choices> all;
  for (const Mistake& mistake : mistakes()) {
    for (Claim claim : mistake.claims) all.push_back(with_mistake(mistake, draw_right(claim, generator)));
  }
  for (int i = 0; i < 4; ++i) {
    all.push_back(draw_right(Claim::bahdanau2014, generator));
    all.push_back(draw_right(Claim::luong2015, generator));
  }
  return all;
}

}  // namespace

TEST_CASE("lesson 11: twelve different decoders, four of them right, the same for the same seed") {
  for (std::uint64_t seed : {0, 1, 2, 3, 77}) {
    const std::vector<Choices> twelve = draw_twelve(seed);
    REQUIRE(twelve.size() == 12);
    const std::vector<std::string> words_of = described(seed);
    CHECK(std::set<std::string>(words_of.begin(), words_of.end()).size() == 12);
    CHECK(words_of == described(seed));
    CHECK(words_of != described(seed + 1));
    int right = 0, swapped = 0;
    for (const Choices& c : twelve) {
      right += c.codes.empty() ? 1 : 0;
      swapped += c.codes == std::set<std::string>{"ATTN_QUERY_POST_STEP"} ? 1 : 0;
    }
    CHECK(right == 4);
    CHECK(swapped == 1);
  }
}

TEST_CASE("lesson 11: the probes show what theory foretells, and every mistake is named") {
  std::size_t number = 0;
  for (const Choices& choices : all_of_them(5)) {
    CAPTURE(title(choices.claim) + ": " + words(choices, Lang::en));
    Trainee trainee(choices, 5, number++);
    trainee.train(20, [](const Trainee&) {});
    const Subject one = subject(trainee, 5, 5, 3);
    CHECK(read(look_at(one, choices)) == foretell(choices));
    const diagnosis::Verdict verdict = diagnose(one.decoder(), one.inputs, choices.claim);
    CHECK_MESSAGE(is_right(verdict, choices), verdict.text());
    // Whatever is asked of a verdict can also be missing from it.
    Choices other = choices;
    other.update = choices.update == GruUpdate::keeps ? GruUpdate::replaces : GruUpdate::keeps;
    if (choices.fault != Fault::update_not_convex) CHECK(!is_right(verdict, other));
    other = choices;
    other.codes.insert("MASK_INVERTED");
    CHECK(!is_right(verdict, other));
  }
}

TEST_CASE("lesson 11: every wrong decoder passes the self check and fails the reference check") {
  std::size_t number = 0;
  for (const Choices& choices : draw_twelve(4)) {
    CAPTURE(title(choices.claim) + ": " + words(choices, Lang::en));
    Trainee trainee(choices, 4, number++);
    trainee.train(20, [](const Trainee&) {});
    const Exam exam = examine(trainee, 4, 10);
    CHECK_MESSAGE(exam.self.passed, exam.self.text());
    CHECK_MESSAGE(exam.reference.passed == choices.codes.empty(), exam.reference.text());
    CHECK(exam.right);
  }
}

TEST_CASE("lesson 11: a decoder goes on from its checkpoint as if nothing had happened") {
  std::string directory = (std::filesystem::temp_directory_path() / "gradus_test_XXXXXX").string();
  REQUIRE(mkdtemp(directory.data()) != nullptr);
  const std::filesystem::path file = std::filesystem::path(directory) / "decoder.safetensors";
  const Choices choices = draw_twelve(1)[0];
  Trainee whole(choices, 1, 0), half(choices, 1, 0), rest(choices, 1, 0);
  whole.train(6, [](const Trainee&) {});
  half.train(6, [&](const Trainee& t) {
    if (t.step == 3) half.save(file);
  });
  rest.load(file);
  CHECK(rest.step == 3);
  rest.train(6, [](const Trainee&) {});
  CHECK(rest.loss == whole.loss);
  CHECK_THROWS_AS(Trainee(choices, 2, 0).load(file), FileError);
  std::filesystem::remove_all(directory);
}

TEST_CASE("lesson 11: on zeros at padding two mistakes of the mask are one") {
  Generator generator(3, "zeros at padding");
  for (const char* code : {"MASK_MISSING", "MASK_MULT_BEFORE_SOFTMAX"}) {
    Choices choices = draw_right(Claim::luong2015, generator);
    choices.score = ScoreKind::dot;
    for (const Mistake& mistake : mistakes()) {
      if (mistake.codes == code) choices = with_mistake(mistake, choices);
    }
    Subject one = subject(Trainee(choices, 3, 0), 3, 5, 3);
    CHECK(codes_of(diagnose(one.decoder(), one.inputs, choices.claim)) == code);
    Tensor H = copy(one.inputs.H.value());
    for (std::int64_t b = 0; b < H.shape()[0]; ++b) {
      for (std::int64_t i = 0; i < H.shape()[1]; ++i) {
        if (one.inputs.mask->at(b, i)) continue;
        for (std::int64_t k = 0; k < H.shape()[2]; ++k) H.set({b, i, k}, 0);
      }
    }
    one.inputs.H = parameter(H);
    const std::string both = codes_of(diagnose(one.decoder(), one.inputs, choices.claim));
    CHECK(both.find("MASK_MISSING") != std::string::npos);
    CHECK(both.find("MASK_MULT_BEFORE_SOFTMAX") != std::string::npos);
  }
}
