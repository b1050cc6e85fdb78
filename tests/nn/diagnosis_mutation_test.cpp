// The mutation exam: models of which one line was changed by machine (cases.tsv of tests/fixtures/mutation), and right
// ones with numbers behind the end. A wrong name is the worst answer there is: each case has the codes that are right
// for it, or UNKNOWN with the place where the line stands.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"
#include "nn/formats/json.h"
#include "tensor/random.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;

namespace {

const std::string mutation = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/mutation/";

std::set<std::string> mistakes(const Verdict& v) {
  std::set<std::string> codes;
  for (const Finding& f : v.findings)
    if (f.error) codes.insert(f.code);
  return codes;
}

// Numbers that nobody reads: at random, or one and the same in an example.
void fill_behind_the_end(Trace& trace, Generator& generator, bool constant) {
  Array &h = trace.arrays.at("h"), &mask = trace.arrays.at("mask");
  for (std::size_t p = 0; p < mask.data.size(); ++p)
    for (std::size_t k = p * h.dim(2); mask.data[p] == 0 && k < (p + 1) * h.dim(2); ++k)
      h.data[k] = constant ? static_cast<double>(p / mask.dim(1)) - 7 : generator.normal();
}

}  // namespace

namespace {

void check_sample(const std::string& folder, std::size_t count) {
  std::ifstream in(folder + "expected.json", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const Json expected = parse_json(text.str());
  REQUIRE(expected.as_object().size() == count);
  for (const auto& entry : expected.as_object()) {
    const std::string name = entry.first, place = entry.second.at("place").as_string();
    CAPTURE(name);
    std::set<std::string> wanted;
    for (const Json& code : entry.second.at("codes").as_array()) wanted.insert(code.as_string());
    Options options;
    options.claim = entry.second.at("claims").as_string();
    const Verdict v = diagnose(read_trace(folder + name), options);
    const std::string said = v.text();
    CHECK_MESSAGE(mistakes(v) == wanted, said);
    CHECK(v.exit_status() == (wanted.empty() ? 0 : 1));
    for (const Finding& f : v.findings) CHECK((!f.error || f.where.en.find(place) != std::string::npos));
  }
}

}  // namespace

TEST_CASE("diagnosis mutation: each changed line has its right name, or none with the right place") {
  check_sample(mutation, 73);
}

// Drawn with `make_mutants.py --seed 2 --count 120`; kept are those that were not right when first seen.
TEST_CASE("diagnosis mutation: the second sample, of other models and sizes") {
  check_sample(mutation + "second/", 59);
}

// `--seed 3`; kept are those that had a wrong name when first seen, and those that had none and have one now.
TEST_CASE("diagnosis mutation: the third sample") { check_sample(mutation + "third/", 19); }

TEST_CASE("diagnosis mutation: whatever stands behind the end, a right run is right and a wrong one keeps its name") {
  struct Row {
    std::size_t gates;
    Choices choices;
    std::string code;
  };
  const std::vector<Row> rows = {{1, {}, ""},
                                 {3, {{"reset", "before"}}, ""},
                                 {3, {{"reset", "after"}, {"update", "replaces"}}, ""},
                                 {4, {{"gate_order", "ifgo"}}, ""},
                                 {3, {{"candidate", "sigmoid"}}, "CANDIDATE_SIGMOID"},
                                 {4, {{"opening", "sigmoid"}}, "LSTM_OUTPUT_SIGMOID"}};
  Generator generator(5);
  for (const Row& row : rows)
    for (std::size_t directions = 1; directions <= 2; ++directions)
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(row.code);
        CAPTURE(row.gates);
        CAPTURE(directions);
        CAPTURE(seed);
        Recipe recipe;
        recipe.kind = TraceKind::recurrent;
        recipe.gates = row.gates, recipe.directions = directions;
        recipe.equal = seed % 3 == 0;
        Trace trace = make_example(recipe, row.choices, seed);
        fill_behind_the_end(trace, generator, seed % 2 == 0);
        const Verdict v = diagnose(trace);
        INFO(v.text());
        CHECK(mistakes(v) == (row.code.empty() ? std::set<std::string>{} : std::set<std::string>{row.code}));
        CHECK(v.text().find("outputs behind the end are 0") == std::string::npos);
        CHECK(v.follows.en.find("behind the end") != std::string::npos);
      }
}
