// What a lesson's check.cpp is made of: parts in the order in which a learner should mend them.
//
//   Check gradus::check::lesson_check() {
//     return {.lesson = "09_bahdanau",
//             .taught = {"gradus::Score::"},
//             .parts = {{"shapes", {"shapes", "形状"}, "shapes", check_shapes}, ...},
//             .diagnose = name_the_mistake};
//   }
//
// A part returns nothing when all is well, or the first failure that it finds. The program that runs the parts is
// lessons/common/check_main.cpp; what a learner sees of it is printed by lessons/runner/check.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/check_gradient.h"
#include "nn/conventions/check_reference.h"
#include "nn/conventions/probes.h"
#include "nn/conventions/verdict.h"

namespace gradus::check {

using diagnosis::Text;

struct Failure {
  std::string code;          // the verdict, stable: "WRONG_SHAPE", "ATTN_QUERY_POST_STEP"
  std::string place;         // the function to look at
  Words why;                 // one sentence in the words of the note
  Text expected, got;        // small: a line or a few; may be empty
  Text used, paper;          // formulas, where a diagnosis knows them
  Words fix = {};            // what to do, where it is known
  Text test = {};            // a line that would have caught it
  std::string section = {};  // anchor in the lesson's README; the part's when empty
};
using Result = std::optional<Failure>;

struct Part {
  std::string name;     // stable: "shapes", "numbers", "self_check", "reference_check", "probes", "diagnosis"
  Words title;          // what it asks, in a few words
  std::string section;  // anchor in the lesson's README
  std::function<Result()> run;
};

struct Check {
  std::string lesson;               // name of its directory
  std::vector<std::string> taught;  // beginnings of library names that the learner is to write, not to call
  std::vector<Part> parts;
  // Says which known mistake it is, when a part has failed with one of the general codes below. It gets the function in
  // which that was found ("" where nobody knows): what another one does wrong has another turn. May be empty.
  std::function<Result(const std::string& place)> diagnose = {};
};

Check lesson_check();  // each check.cpp defines it

// The variant that the learner's file says it is (./gradus start LESSON --variant N), 0 for the lesson's own. A lesson
// that has a variants.md lets its sizes and conventions follow from it.
int variant();

// ---- general codes: a diagnosis may replace the last three with a name
inline constexpr const char* refuses_nothing = "REFUSES_NOTHING";  // an input that deserves an error got none
inline constexpr const char* not_written = "NOT_WRITTEN";          // still as in the starter: returns nothing
inline constexpr const char* wrong_shape = "WRONG_SHAPE";
inline constexpr const char* wrong_numbers = "WRONG_NUMBERS";
inline constexpr const char* reference_differs = "REF_DIFFERS";
inline constexpr const char* probe_failed = "PROBE_FAILED";

// ---- numbers to check with

Var numbers(const Shape& shape, const std::vector<double>& values);  // row-major, f64
Var numbers(const std::vector<double>& values);                      // one axis, f64
// A parameter of normal random numbers in f64, the same for the same seed.
Var drawn(const Shape& shape, std::uint64_t seed);
// Both are there, of one shape, and no number differs by more than the tolerance.
bool agree(const Var& a, const Var& b, double tolerance = 1e-9);

// ---- building blocks

// A check, and the function to look at when it fails or when something is thrown in it.
struct At {
  std::string place;
  std::function<Result()> run;
};
// The first failure of several checks, which run in order and only as far as needed.
Result first_of(const std::vector<At>& checks);

// In what follows `what` names the result that was got: "keys", "c_1".

// The result is there and has that shape; `symbols` says it in letters: "(B, T_enc, d_attn)".
Result has_shape(const Text& what, const Var& got, const Shape& expected, const Text& symbols);
// Every number within `tolerance` of the expected ones (row-major), relative to the largest of them or to 1.
Result has_numbers(const Text& what, const Var& got, const std::vector<double>& expected, double tolerance = 1e-9);
Result has_numbers(const Text& what, const Var& got, const Var& expected, double tolerance = 1e-9);
Result has_numbers(const Text& what, const std::vector<double>& got, const std::vector<double>& expected,
                   double tolerance = 1e-9);
// Any other condition: the code and the sentence are what the learner reads when it does not hold.
Result holds(bool condition, const std::string& code, Words why, const Text& expected = {}, const Text& got = {});
// The call throws a gradus::Error; `what` says which input it should have refused.
Result refuses(const Text& what, const std::function<void()>& call);

// What the check answers; what is thrown in it becomes a failure of its own ("SHAPE_ERROR", "EXCEPTION", ...).
Result guarded(const std::function<Result()>& check);

// A mistake that a lesson knows by name without the library of hypotheses.
struct Known {
  const char *code, *place;  // as in Failure
  Words why;
  Text used, paper;
  Words fix;
  const char* section;
  std::function<bool()> is_it;  // whether the learner's functions show it; throwing means no
};
// The first at that place that fits; "" looks at all places. Functions may be unwritten, or throw: then it is not theirs.
Result first_known(const std::vector<Known>& mistakes, const std::string& place);

// Reports of the library as failures: self check (G1), reference check (G2), probes (G3), diagnosis. A diagnosis passes
// when it has nothing to remark: with given weights a convention of one's own is a mistake too.
Result passes(const GradientReport& report);
Result passes(const ReferenceReport& report);
Result passes(const Probe& probe);
Result passes(const diagnosis::Verdict& verdict);

}  // namespace gradus::check
