// Inside the diagnosis: the trace, the options that its owner's claim allows, and how far hypotheses are from it.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"

namespace gradus::diagnosis {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

// Stages that are found together because what lies between them is not in the trace.
struct Group {
  std::vector<Stage> stages;
  std::vector<std::string> outputs;  // compared with the trace
  std::vector<std::size_t> fields;   // indices into fields(), rising
};

// One option a field, by index; -1: the field has no option here.
using Hypothesis = std::vector<int>;

struct Scored {
  Hypothesis hypothesis;
  double residual = infinite;
  double states = infinite;  // of h alone, in a run
};

// The types of half precision.
enum class Half { none, float16, bfloat16 };
// Half the distance from 1 to the next number: what rounding to the nearest changes at most.
constexpr double rounding_of(Half half) {
  return half == Half::bfloat16 ? 1. / 256 : half == Half::float16 ? 1. / 2048 : 0;
}

// Trouble is what a hypothesis would have to admit: the fewest wins.
struct Trouble {
  std::size_t violations = 0, notes = 0;
  friend auto operator<=>(const Trouble&, const Trouble&) = default;
};

// Largest difference relative to the largest number of the output, or to `scale`; NaN agrees with NaN only.
double difference(const reference::Array& got, const reference::Array& wanted, double scale = 0);

// Sorted by a key that costs something.
template <class KeyOf> void sort_by(std::vector<Scored>& list, KeyOf key_of) {
  using Key = decltype(key_of(list[0]));
  std::vector<std::pair<Key, std::size_t>> order;
  for (std::size_t k = 0; k < list.size(); ++k) order.emplace_back(key_of(list[k]), k);
  std::sort(order.begin(), order.end());  // equal ones as they stood
  std::vector<Scored> sorted;
  for (const auto& [key, k] : order) sorted.push_back(std::move(list[k]));
  list = std::move(sorted);
}

class Bench {
 public:
  // The claim is that of the options. Throws std::invalid_argument for an unknown one. Both are kept by reference.
  Bench(const Trace& its_trace, const Options& its_options);

  const Trace& trace;
  const Options& options;
  const Claim* claim;  // nullptr without one
  const std::vector<Field>& all;
  Model base;                             // what the trace itself says, before any option
  reference::Arrays given, seen, first;   // the trace, some of it, and less than that
  reference::Arrays first_of_all;         // the first steps of all examples; empty where that is no less
  Hypothesis chosen;                      // by the groups that are done
  bool single = false;                    // computed in float32
  Half half = Half::none;                 // some array holds numbers of this type only, whatever type the file gives
  std::size_t searches;                   // Options::searches, or as many as heads are possible
  double tolerance = 1e-9, apart = 1e-4;  // agreement and difference
  bool holes = false;                     // some number is not finite
  bool heads_are_guessed = false;         // their number is not in the file and does not show
  bool ended_early = false;               // the search of this group reached its limit before it had tried everything
  bool padding_is_other = false;          // h behind the end is neither 0 nor the last state, and is compared
  std::size_t tried = 0, work = 0;        // as in Verdict
  std::size_t attempts = 0, misfits = 0;  // hypotheses looked at, and those whose shapes do not go with the trace
  double states = infinite;               // how far h was in the residual computed last

  // ---- what is there

  bool there(const char* name) const { return reference::find(given, name) != nullptr; }
  bool has_padding() const;
  void forget_padding();                            // nothing stands behind the end of h from now on
  void compare_again(const reference::Arrays& on);  // with these numbers in the place of given
  void choose_what_is_seen();

  // ---- options

  const Option& option(std::size_t field, int i) const { return all[field].options[static_cast<std::size_t>(i)]; }
  const Field& fields_named(const std::string& name) const;
  // Tried in every combination; the others are deviations.
  static bool free(const Option& o) { return o.level != Level::error && !o.rare; }
  // Whether the claim, the owner's gate order or the gates' names allow this option, and whether the claim prefers it.
  bool kept(std::size_t field, int k) const { return judged_[field][static_cast<std::size_t>(k)].kept; }
  bool preferred(std::size_t field, int k) const { return judged_[field][static_cast<std::size_t>(k)].preferred; }

  // ---- hypotheses of a group

  Model model() const;  // of everything that has been chosen
  // Nothing where the options cannot stand together or ask for arrays that are not there.
  std::optional<Model> build(const Group& group, const Hypothesis& h) const;
  // How far its outputs are from the trace's: infinite where it cannot stand, or has other shapes.
  double residual(const Group& group, const Hypothesis& h);
  // Of one of very many: what differs at the first steps of one example is not looked at any further.
  double residual_at_once(const Group& group, const Hypothesis& h);
  double residual(const Group& group, const Model& model, const reference::Arrays& on);
  Trouble trouble(const Group& group, const Hypothesis& h) const;
  // All combinations of the options that are free to choose, in the order of the tables.
  std::vector<Hypothesis> combinations(const Group& group) const;
  // Deviations: one option of one field that is not free.
  std::vector<std::pair<std::size_t, int>> deviations(const Group& group) const;
  // What one evaluation costs, in numbers computed, products counted as often as they multiply.
  std::size_t work_of(const Group& group, const reference::Arrays& on) const;
  // A number of evaluations that stays well under a second, from the sizes alone so that every machine answers alike.
  std::size_t budget_for(const Group& group, const reference::Arrays& on) const;
  // The hypotheses that agree on the whole trace, with those that come too close to be told from them; empty if none
  // agrees.
  std::vector<Scored> matching(const Group& group, const std::vector<Scored>& scored);
  // The run's h by a hypothesis without mistakes; nothing where it has some, or where sizes do not go with it.
  std::optional<reference::Array> states_of(const Group& group, const Hypothesis& hypothesis);
  // Whether a hypothesis without mistakes gives one of a group's outputs.
  bool agrees_on(const char* output, const Group& group, const std::vector<Scored>& some);
  // Codes of what deviates: errors of the table, and choices that the claim rules out.
  std::set<std::string> codes(const Group& group, const Hypothesis& h) const;
  // The outputs of the group, in words.
  Words where_of(const Group& group) const;
  // Hypotheses that mix examples or steps must see all of them.
  static bool whole_batch(const Model& m);
  static bool whole_time(const Model& m);  // of those: they mix steps
  // The numbers of heads that divide the width of W_Q.
  static std::vector<std::size_t> possible_heads(std::size_t d);

 private:
  // Numbers that float32 holds exactly were computed in it, whatever the file says.
  static bool looks_single(const reference::Arrays& arrays);
  // As autocast leaves them, and what a float16 file holds.
  static Half looks_half(const reference::Arrays& arrays);
  void judge_options();
  static bool allowed(const FieldOptions& lists, const std::string& field, const std::string& id);
  void set_base();
  // PyTorch averages the weights over the heads, so their number does not show: the first one that fits.
  void count_heads();
  // Whether the option can stand beside those that have made the model what it is.
  bool apply(std::size_t field, int option, Model& model) const;
  // The largest number of an array of the trace.
  double scale_of(const std::string& name);

  std::string owner_order_;
  struct Judgement {
    bool kept = true, preferred = true;
  };
  std::vector<std::vector<Judgement>> judged_;  // of each option of each field
  std::map<std::string, double> scales_;
};

}  // namespace gradus::diagnosis
