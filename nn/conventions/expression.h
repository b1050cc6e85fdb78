// Formulas as trees: what a stage of a model computes, in a form that can be evaluated on a trace, printed as a paper
// prints it, and changed at any place. The references compute the same numbers with plain loops; tests compare both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "nn/conventions/reference/attention.h"

namespace gradus::diagnosis {

// Numbers by example, decoder step, encoder position and feature; an axis of 1 stands for all its places. Heads are
// further examples.
struct Grid {
  std::size_t B = 1, T = 1, N = 1, D = 1;
  reference::Vec x;

  std::size_t size() const { return B * T * N * D; }
  std::size_t place(std::size_t b, std::size_t t, std::size_t n) const {
    return (((B > 1 ? b : 0) * T + (T > 1 ? t : 0)) * N + (N > 1 ? n : 0)) * D;
  }
};

// A function of the features of one place.
struct Function {
  const char* name;
  void (*apply)(double* x, std::size_t n);
  // dx from x, y = f(x) and dy; nullptr where no model without mistakes has the function.
  void (*back)(const double* x, const double* y, const double* dy, double* dx, std::size_t n) = nullptr;
};
const std::vector<Function>& functions();  // tanh, sigmoid, relu, and whatever else people put in their place
const Function& function(const std::string& name);

// Whose numbers are read, in which order, and how far away.
enum class Rows { own, next, previous, first, last, mean, relaid, reversed };
enum class Order {
  kept,
  reversed,
  reversed_within_length,
  first,
  last,
  last_real,
  mean,
  mean_of_real,
  sum_so_far,
  mean_so_far,
  not_at_first,  // zeros at the first step
  held,          // beyond an end the last one before it is read again
  rolled         // what goes out at one end comes in at the other
};
// Whose index is taken for that of another axis of the same size, as a broadcast does that lacks an axis.
enum class Axes {
  own,
  example_for_position,    // at position i the number of example i
  step_for_position,       // at position i that of step i
  examples_and_positions,  // exchanged
  steps_and_positions,
  examples_and_steps
};
struct Read {
  int lag = 0;    // steps ago
  int shift = 0;  // positions onward
  Rows rows = Rows::own;
  Order order = Order::kept;
  bool of_heads = false;  // rows are the heads of one example
  Axes axes = Axes::own;  // of what is computed
  friend bool operator==(const Read&, const Read&) = default;
};

// Where an array has its numbers: one a step, a position, a pair of both, an example, or the same everywhere.
enum class Lies { step, position, pair, example, everywhere };

// Rows start .. start + rows of a parameter, or features of a leaf; rows 0: all.
struct Block {
  std::size_t start = 0, rows = 0;
  enum class Layout { as_is, transposed, relaid } layout = Layout::as_is;  // relaid: its buffer read as (in, out)
};

enum class Gather { sum, mean, mean_of_real, largest, least, first, last, root };
// The axis that a function's numbers lie along.
enum class Along { features, positions, steps, examples };
enum class Pairing { larger_neighbour, larger_of_halves, mean, smaller, first, product, sum };

enum class Op {
  leaf,     // an array of the trace
  matrix,   // a parameter that multiplies
  number,   // the same everywhere
  product,  // in[0] times the features of in[1]
  sum,
  times,       // elementwise
  complement,  // 1 - x
  apply,       // a function
  dot,         // over the features
  weights,     // in[0] scores, in[1] a mask
  gather,      // over the positions
  join,
  maxout,
  moved,  // in[0], computed numbers, read elsewhere; in[1] stands before the first step
  split,  // features -> heads
  merge,
  carried,  // inside a loop: what its body gave one step before
  loop      // in[0] the body, in[1] the start
};

struct Node;
using Term = std::shared_ptr<const Node>;

struct Node {
  Op op = Op::number;
  std::vector<Term> in = {};
  std::string name = {};   // of an array
  std::string shown = {};  // how a paper calls it, if not so
  std::string label = {};  // what a paper calls the result: "r", "alpha"
  std::string role = {};   // terms that play the same part in several gates
  Lies lies = Lies::everywhere;
  Read read = {};
  Block block = {};
  const Function* function = nullptr;
  Along along = Along::features;
  double number = 0;
  Gather gather = Gather::sum;
  Pairing pairing = Pairing::larger_neighbour;
  std::shared_ptr<const reference::AttentionConvention> attention = {};
};

// What formulas are evaluated on.
struct Scene {
  std::shared_ptr<const reference::Arrays> arrays;
  std::size_t B = 0, T = 0, N = 0, heads = 1;  // B and T: how many of them are looked at, from the first on
  bool whole = true;                           // these are all there are
  std::vector<std::size_t> lengths;            // of the positions
  std::string made;                            // the array that the formula gives
  std::vector<Term> beside;                    // what other stages compute, and may be taken by mistake
  std::size_t beside_size = 0;                 // its features
  Term scores;                                 // what the weights are made of, where the weights are read
  std::string made_too;                        // another one that a term inside gives
};

// Short spellings.
Term leaf(const std::string& name, Lies lies, Read read = {}, Block block = {});
Term matrix(const std::string& name, Block block = {}, const std::string& role = "");
Term number(double x);
Term make(Op op, std::vector<Term> in);
Term apply(const Function& f, Term x, const std::string& role = "");
Term labelled(const std::string& label, const Term& x);

// Numbers of a term that stands alone. Throws std::invalid_argument where sizes do not fit.
Grid evaluate(const Term& term, const Scene& scene);

// As a paper prints it; labelled terms inside are printed by their label. `whole`: "r = sigmoid(...)".
std::string print(const Term& term, bool whole = false);
// Of what was printed, alone or in a sentence, the words in Chinese: "sum over i of", "[next example]".
std::string printed_in_chinese(std::string text);

// One change of a formula: terms that are replaced wherever they stand, or one use of a term.
struct Change {
  std::vector<std::pair<const Node*, Term>> terms;
  const Node* user = nullptr;  // not null: in this term only, at this place
  std::size_t place = 0;
};

// A formula whose parts have been computed once, so that a change costs what it touches.
class Plan {
 public:
  Plan(Term root, const Scene& scene);

  const std::vector<Term>& terms() const { return terms_; }  // operands before their users, each once
  const Term& root() const { return terms_.back(); }
  const Grid& value(std::size_t term) const { return values_[term]; }
  const Grid& value(const Node* term) const { return values_[index_.at(term)]; }
  const std::vector<std::pair<const Node*, std::size_t>>& uses(const Node* term) const { return uses_.at(term); }
  const Scene& scene() const { return scene_; }
  bool carries(const Node* term) const { return looped_[index_.at(term)]; }  // depends on what a loop hands on
  // What step t of an example takes part of, after a change: the steps up to it of this example, of all examples, or all
  // that is computed. A plan of the same tree on no more than that gives the same numbers.
  enum class Needs { example, batch, all };
  Needs needs(const Change& change) const;
  bool contains(const Node* term, const Node* part) const;
  // Adds to `work`, if given, the numbers that were computed, products counted as often as they multiply.
  Grid changed(const Change& change, std::size_t* work = nullptr) const;
  Term with(const Change& change) const;  // the formula after the change

  // Sees the gradient that flows from a term into one of its operands (the place), or all that has reached the operand
  // (place: all_uses), and may change it. That of a matrix is (1, 1, rows, cols).
  using Flow = std::function<void(const Node& term, std::size_t place, const Grid& dy, Grid& dx)>;
  static constexpr std::size_t all_uses = static_cast<std::size_t>(-1);
  // Adds to `into` the gradients of the arrays that the formula reads, under their names. Throws std::invalid_argument
  // for terms that no model without mistakes has. With `saved`, some terms' values are read otherwise.
  using Saved = std::unordered_map<const Node*, Grid>;
  void backward(const Grid& d_root, const Flow& flow, reference::Arrays& into, const Saved* saved = nullptr) const;
  // What flows into one operand of a term when dy has reached the term.
  Grid flow_into(const Node& term, std::size_t place, const Grid& dy) const;
  // The nearest labelled terms that `inner` is a part of.
  std::vector<const Node*> owners(const Node* inner) const;
  const Term* loop() const;

 private:
  friend class Evaluation;
  void list(const Term& term);

  Scene scene_;
  std::vector<Term> terms_;
  std::vector<Grid> values_;
  std::unordered_map<const Node*, std::size_t> index_;
  std::unordered_map<const Node*, std::vector<std::pair<const Node*, std::size_t>>> uses_;
  std::vector<char> looped_;                        // depends on what a loop carries
  std::vector<std::vector<std::size_t>> operands_;  // of each term
  Needs needs_ = Needs::example;
};

}  // namespace gradus::diagnosis
