// Inside the diagnosis: mistakes that no entry of the library lists, looked for in the terms of the formulas (grammar.h).
#pragma once

#include "nn/conventions/diagnosis_report.h"
#include "nn/conventions/grammar_search.h"

namespace gradus::diagnosis {

class Terms {
 public:
  Terms(Bench& bench, Report& report) : bench_(bench), report_(report) {}

  // With the plain rules of the grammar or the deep ones, from models that keep the claim or from those that do not.
  struct Searched {
    bool plain = true, claim_kept = true;
    bool misread = false;  // values that are read wrongly, instead of any rule
  };
  // One term of the formula of some right model that goes wrong in a known way. Reports what it finds.
  bool explained(const Group& group, const std::vector<Scored>& free_ones, const Searched& searched);
  // Two mistakes, one of them of the library: choices that are rare first, then what comes closest by itself.
  bool explained_beside_another(const Group& group, std::vector<Scored> with_one);

  bool right_inside = false;  // a model that keeps the claim gives what the formulas are about: all real positions

 private:
  bool take(const Group& group, const Explained& found, const std::vector<Scored>& models);
  std::vector<Formula> formulas_of(const Group& group, const Model& model, const reference::Arrays& on, bool whole,
                                   bool memory_apart = false) const;
  // Trees are not written for every mistake of the library.
  bool formulas_give_what_the_model_gives(const Group& group, const Model& model) const;

  Bench& bench_;
  Report& report_;
  // Numbers that may be computed for one of the searches, and for all that are still to come.
  static constexpr std::size_t most_at_once = 20'000'000;
  std::size_t left_ = 30'000'000;
  static constexpr std::size_t most_misread = 8'000'000;  // last of all, when nothing may be left
};

}  // namespace gradus::diagnosis
