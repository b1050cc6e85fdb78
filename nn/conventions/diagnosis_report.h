// Inside the diagnosis: what the hypotheses that agree amount to, in words.
#pragma once

#include "nn/conventions/diagnosis_bench.h"
#include "nn/conventions/diagnosis_padding.h"

namespace gradus::diagnosis {

class Report {
 public:
  explicit Report(Bench& bench);

  Verdict verdict;
  std::optional<BehindTheEnd> padding;  // what h holds behind the end where that is neither 0 nor the last state
  bool named_unknown = false;
  bool forward_differs = false;  // in a way that the model of the gradients does not have
  bool forward_is_open = false;  // some stage cannot be checked for want of its parameters

  // Which of these hits it is: the fewest mistakes win, and what this input cannot tell from them is open.
  void settle(const Group& group, std::vector<Scored> hits, const std::vector<Scored>& tried);
  // This hypothesis without mistakes is what was meant, and what was found beside it is said apart.
  void adopt(const Group& group, const Hypothesis& h);

  // The group agrees as far as half precision tells, this far off.
  void say_half(const Group& group, double residual);
  // UNKNOWN of kind numerics: nothing but noise between the group's outputs and what was meant.
  void agrees_to_few_digits(const Group& group, double residual);

  void say_subject();
  void follow(const Words& convention);
  void say_padding_is_not_compared();  // where it is other
  void nothing_is_open(const Group& group);
  void list_what_is_open();
  void say_lower_starts_are_missing();
  // The stages of a decoder that none of these groups has, and what they would need.
  void say_what_is_not_checked(const std::vector<Group>& groups);
  void conclude();  // of the forward last, once
  // What the outputs leave open the gradients may tell: the choice that makes all of them right is taken.
  void tell_by_gradients();

 private:
  void say(const Group& group, const Hypothesis& h, const std::set<std::set<std::string>>& rivals,
           const std::map<std::size_t, std::set<int>>& open);
  Words sentence_of(const Option& o, std::size_t field, bool error) const;
  // A number that was read off the trace, by the size that it is.
  void say_the_number(const Group& group, const Hypothesis& h, const std::string& field, Words& w) const;
  // Several sets of codes agree: the finding carries all their names.
  void name_rivals(std::vector<Finding>& errors, const std::set<std::set<std::string>>& rivals,
                   const std::map<std::size_t, std::set<int>>& open);
  // A context that neither the cell nor the readout reads is no attention, whatever is computed: one mistake, not two.
  void note_unused_context();
  // Without a claim, a decoder that no paper describes is called what it is.
  void name_hybrid();
  bool chose(const char* choice) const;

  Bench& bench_;
  std::map<std::size_t, std::set<int>> open_;  // field -> options that no group tells from the chosen one
  std::vector<std::string> follows_en_, follows_zh_;
  Words half_where_;  // the outputs that agree in half precision only
  double half_residual_ = 0;
};

}  // namespace gradus::diagnosis
