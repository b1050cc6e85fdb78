// What a diagnosis answers: names, sentences in two languages, how sure, and what the input could not tell.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "nn/conventions/hypotheses.h"

namespace gradus::diagnosis {

using Words = gradus::Words;

// A number, a name or a formula, the same in both languages; or one with words in it, in each.
struct Text : Words {
  Text() = default;
  Text(const char* both) : Words(both, both) {}
  Text(const std::string& both) : Words(both, both) {}
  Text(Words words) : Words(std::move(words)) {}
  Text(const Said& said) : Words(said) {}
  Text(std::string english, std::string chinese) : Words(std::move(english), std::move(chinese)) {}
};
inline Text operator+(Text a, const Text& b) { return a += b, a; }

// One thing that was found: a mistake, or a convention worth a note.
struct Finding {
  std::string code;  // stable, such as "GRU_RESET_AFTER"; "UNKNOWN"; codes joined by "|" for an alias class
  bool error = true;
  Kind kind = Kind::convention;
  Words where;  // "the weights (alpha)"
  Words sentence;
  Text used, paper;
  Words fix;
  Text test;
  std::vector<std::string> alias;  // more than one: this input cannot tell them apart
  Words tell;                      // then: an input that can
};

// A choice that this input leaves open.
struct Open {
  std::string field;
  Words what, tell;
};

struct Verdict {
  std::string claim;                 // as given, empty for none
  Words subject;                     // "decoder", "GRU", ...
  Words follows;                     // the convention in words; empty if nothing could be checked
  std::vector<std::string> choices;  // "query=s_prev", "reset=before", ... of every stage that agreed
  std::vector<Finding> findings;     // mistakes first
  std::vector<Open> open;
  std::vector<Words> notes;
  // Largest relative difference of the named hypotheses, and the smallest of any other one that was tried.
  double agreement = 0, next = std::numeric_limits<double>::infinity();
  std::size_t tried = 0;       // hypotheses evaluated
  std::size_t work = 0;        // and about how many numbers were computed for them
  bool claim_is_open = false;  // something that the claim is about cannot be told on this input
  bool checked = false;        // some stage was compared with the trace

  // The first mistake's code, "" if there is none.
  std::string code() const;
  const Finding* find(const std::string& wanted) const;
  bool leaves_open(const std::string& field) const;
  // Verdict line first, then formulas, fix, test, what is open. Ends with a newline.
  std::string text(Lang lang = Lang::en) const;
  // One JSON object, both languages in it.
  std::string json() const;
  // 0: no mistake found. 1: a mistake, named or not. 2: nothing could be checked.
  int exit_status() const;
};

}  // namespace gradus::diagnosis
