// How each part of a formula can go wrong: a grammar of mistakes instead of a list. A rule says what people write in
// the place of one kind of term (an operand read at another time, a factor left out, a transposed matrix, ...). Rules
// are applied to every term of a formula, so a mistake that nobody listed has a name if its kind is known.
#pragma once

#include <functional>
#include <optional>

#include "nn/conventions/grammar_formulas.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// A term of a formula, as rules see it.
struct Place {
  const Plan& plan;
  const Term& term;
  const Grid& value;
};

// One kind of mistake. `make` gives what may stand in the place of the term; nothing where the rule has no meaning.
// %o and %n in the sentence stand for the term and for what replaces it, %p for the part of the formula.
struct Rule {
  const char* code;  // the end of a verdict's code
  int plainness;     // of several that agree, the smallest is named
  Said sentence;
  void (*make)(const Place& place, std::vector<Term>& out);
  bool deep = false;  // tried only when nothing plainer agrees
};
const std::vector<Rule>& rules();

// A formula with one mistake.
struct Mistake {
  const Rule* rule = nullptr;
  Change change;
  Term replaced, replacement;  // the first of them, where several terms change alike
  bool alike = false;          // every term that plays this part
  double fitted = 0;           // a number that was read off the trace; 0: none
};

// Calls visit for every mistake that the plain rules, or the deep ones, make of the formula, until visit says false.
void each_mistake(const Plan& plan, bool deep, const std::function<bool(const Mistake&)>& visit);

// Likewise: a value that the formula computes on the way read where another of its size belongs, or two of them
// exchanged.
void each_forward_misread(const Plan& plan, const std::function<bool(const Mistake&)>& visit);

// Terms with a number that is read off the trace: %n = k %o, or %o + k. distance(change, off) is how far the formula is
// from what is wanted after a change, number by number in `off`.
void each_fitted_mistake(const Plan& plan, const std::function<double(const Change&, Grid&)>& distance,
                         const std::function<void(const Mistake&)>& visit);

// What a verdict says about it. None where that would be nothing: the formula used prints as the paper's, or a term's
// place is taken by another of the same name.
std::optional<Finding> finding_of(const Mistake& mistake, const Formula& formula, const Plan& plan);

// The words of the formulas in what it says in Chinese.
void printed_in_chinese(Finding& f);

// The part of a model that a term belongs to, and what the term is in it: "GRU_CANDIDATE", "the candidate n", "STATE".
std::string part_code(const Plan& plan, const Node* term);
Words part_words(const Plan& plan, const Node* term);
std::string slot_code(const Node& term, const std::string& part);

// The same formula on other numbers: two mistakes that agree there, too, are one.
Scene other_numbers(const Scene& scene);

}  // namespace gradus::diagnosis
