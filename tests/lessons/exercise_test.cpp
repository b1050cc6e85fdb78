// The parts of ./gradus check that need no compiler: the state file, and compilers' pages cut to one line.
#include <doctest/doctest.h>

#include "lessons/runner/compiler_errors.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

using namespace gradus;

TEST_CASE("state: what is written is read again, and a damaged line costs itself only") {
  CourseState state;
  state.set("", "lang", "zh");
  state.set("09_bahdanau", "state", "passed");
  state.set("09_bahdanau", "hints", "additive_keys 1, decoder_step 3");
  const CourseState again = parse_state(to_text(state));
  CHECK(again.sections == state.sections);
  const CourseState mended =
      parse_state("lang = en\n\x01\xff garbage\n= no key\n[09_bahdanau]\r\nstate = passed\r\n[half");
  CHECK(mended.get("", "lang") == "en");
  CHECK(mended.get("09_bahdanau", "state") == "passed");
  CHECK(parse_state("").get("", "lang").empty());
  state.set("", "lang", "");
  CHECK(to_text(state).find("lang") == std::string::npos);
}

TEST_CASE("state: the hash of a file changes with every byte, and is that of FNV-1a") {
  CHECK(text_hash("") == "cbf29ce484222325");
  CHECK(text_hash("a") == "af63dc4c8601ec8c");
  CHECK(text_hash("ab") != text_hash("ba"));
}

TEST_CASE("variants: named in the first line, and nowhere else") {
  CHECK(variant_of("// variant 5\n// * other things\n") == 5);
  CHECK(variant_of("// Lesson 09\n// variant 5\n") == 0);
  CHECK(variant_of("// variant -3\n") == 0);
  CHECK(variant_of("") == 0);
}

TEST_CASE("compiler errors: the first one in the learner's file, or the line that led to one elsewhere") {
  struct Row {
    const char *output, *message, *why;
    int line;
  };
  const Row rows[] = {
      {"m.cpp: In function 'int f()':\nm.cpp:7:3: error: 'x' was not declared in this scope\nm.cpp:9:1: error: "
       "expected ';'\n",
       "'x' was not declared in this scope", "misspelled", 7},
      {"m.cpp:4:10: note: candidate\nm.cpp:8:2: fatal error: a.h: No such file or directory\n",
       "a.h: No such file or directory", "no header", 8},
      {"nn/x.h:12:5: error: use of deleted function\nm.cpp:21:8:   required from here\n", "use of deleted function", "",
       21},
      {"m.cpp:9:3: error: no matching function for call to 'gradus::lesson09::f(int)'\n"
       "a.h:1:1: note: no known conversion for argument 2 from 'int' to 'gradus::Axis'\n",
       "no matching function for call to 'f(int)'", "Axis{1}", 9},
      {"m.cpp:9:3: error: no matching function for call to 'f'\n"
       "a.h:1:1: note: candidate function not viable: no known conversion from 'int' to 'const Axis' for 2nd "
       "argument\n",
       "no matching function for call to 'f'", "Axis{1}", 9},
      {"m.cpp:5:9: error: invalid initialization of reference of type 'const gradus::Var&' from expression of type "
       "'double'\n",
       "invalid initialization of reference of type 'const Var&' from expression of type 'double'",
       "ops compute with Vars", 5},
      {"m.cpp:14:1: error: expected '}' at end of input\n", "expected '}' at end of input", "{ has no }", 14},
      {"other.cpp:1:1: error: nothing of ours\n", "nothing of ours", "", 0},
      {"g++: fatal error: File size limit exceeded signal terminated program as\n",
       "File size limit exceeded signal terminated program as", "gave up", 0},
      {"m.cpp:3:1: error: expected initializer before ‘==’ token\n", "expected initializer before '==' token",
       "== compares", 3},
      {"m.cpp:3:1: error: invalid '==' at end of declaration; did you mean '='?\n",
       "invalid '==' at end of declaration; did you mean '='?", "== compares", 3},
      {"m.cpp:3:1: error: no match for ‘operator[]’ (operand types are ‘const gradus::Var’ and ‘int’)\n",
       "no match for 'operator[]' (operand types are 'const Var' and 'int')", "select(x", 3},
      {"m.cpp:3:1: error: type 'const gradus::Var' does not provide a subscript operator\n",
       "type 'const Var' does not provide a subscript operator", "select(x", 3},
      {"m.cpp:3:1: error: base operand of ‘->’ has non-pointer type ‘const gradus::Memory’\n",
       "base operand of '->' has non-pointer type 'const Memory'", "no pointer", 3},
      {"m.cpp:3:1: error: no viable overloaded '='\n", "no viable overloaded '='", "are const", 3},
      {"m.cpp:3:1: error: ‘tanh’ is not a member of ‘std’; did you mean ‘gradus::tanh’?\n",
       "'tanh' is not a member of 'std'; did you mean 'tanh'?", "not known here", 3},
      {"Stack dump:\n0.\tProgram arguments: clang++ m.cpp\nclang: error: clang frontend command failed with exit code "
       "139 "
       "(use -v to see invocation)\n",
       "clang frontend command failed with exit code 139 (use -v to see invocation)", "gave up", 0},
      {"\ncc1plus: out of memory allocating 65536 bytes\n", "out of memory", "gave up", 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.output);
    const CompilerError error = first_error(row.output, "m.cpp");
    CHECK(error.message == row.message);
    CHECK(error.line == row.line);
    CHECK(error.why.en.find(row.why) != std::string::npos);
    CHECK(error.why.en.empty() == error.why.zh.empty());
  }
}

TEST_CASE("linker errors: the missing function by its name") {
  CHECK(missing_function("ld: undefined reference to `gradus::lesson09::additive_keys(gradus::Var const&)'") ==
        "additive_keys");
  CHECK(missing_function("ld.lld: error: undefined symbol: gradus::lesson09::additive_keys(gradus::Var const&)") ==
        "additive_keys");
  CHECK(missing_function("ld: cannot find -lm").empty());
}
