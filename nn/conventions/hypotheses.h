// The library of hypotheses: every convention and every known mistake as one entry of a table.
//
// A field is one independent choice (which state is the query, where the reset gate acts). Its options are the values
// that somebody's model may have. A hypothesis is one option a field; a claim ("bahdanau2014") says which options the
// owner means. To add a mistake, add one entry to the table of its field: nothing else knows about single mistakes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/conventions/reference/bidirectional.h"
#include "nn/conventions/reference/decoder.h"
#include "nn/conventions/reference/multi_head.h"
#include "tensor/doctor/said.h"

namespace gradus::diagnosis {

// What a mistake is about. Probes tell it even where no hypothesis fits.
enum class Kind {
  convention,
  axis,
  shape,
  mask,
  broadcast,
  graph,
  numerics,
  gradcheck,
  optimizer,
  data,
  gru,
  lstm,
  init,
  beam,
  checkpoint,
  dropout
};
const char* to_string(Kind kind);  // "convention", "GRU", ...
Said name_of(Kind kind);

// Parts of a computation that can be checked alone, each with one output: e, alpha, c, s, htilde, logits, s_0, and h of
// a recurrent run, output and alpha of multi-head attention, and what a decoder takes from an encoder to start from.
enum class Stage { score, weights, context, cell, attentional, readout, start, run, heads, ends };
Said name_of(Stage stage);

// What the first step of a cell starts from: h0 and an LSTM's c0 of its own example and layer, or other numbers.
enum class FirstState {
  own,
  zeros,
  hidden_zeros,
  memory_zeros,
  exchanged,
  hidden_for_both,
  memory_for_both,
  next_example,
  previous_example,
  first_example,
  last_example,
  batch_reversed,
  first_layer,
  layers_reversed,
  directions_outside,
  negated,
  through_tanh
};
// Changes h and c (layers * directions, B, d), or (B, d) as one of them, of the first step; c may be empty. false where
// that changes nothing.
bool start_otherwise(FirstState from, std::size_t directions, reference::Array& h, reference::Array& c);

// Everything that a hypothesis can say about a model.
struct Model {
  Model() { decoder.attention.empty_row = reference::EmptyRow::zeros; }

  reference::DecoderConvention decoder;  // its attention and its cell serve the other kinds of trace too
  reference::RunConvention run;
  reference::BidirectionalConvention both;
  reference::StackedFinal stacked = reference::StackedFinal::top_layer;
  reference::MultiHeadConvention heads;  // but its attention, which stands in decoder
  bool keys_are_projected_twice = false;
  bool weights_of_the_step_before = false;                        // c_t = sum of alpha_{t-1,i} h_i
  bool query_given = false;                                       // the trace holds the queries themselves
  reference::MemoryRead query_read = reference::MemoryRead::own;  // of which example's state
  // What the values are weighed with: the weights, the raw scores, or weights that no mask touched.
  enum class Weighing { weights, scores, unmasked } weighing = Weighing::weights;
  bool contexts_add_up = false;     // c_t = c_{t-1} + the weighted sum
  bool cell_is_residual = false;    // s_t = s_{t-1} + RNN(...)
  bool input_is_added = false;      // parts are added where they should be joined: the cell's input,
  bool vector_is_added = false;     // the attentional vector's,
  bool readout_is_added = false;    // the readout's
  bool memory_not_carried = false;  // an LSTM's c starts again at every step, its h does not
  FirstState first_state = FirstState::own;
  reference::Array dropped;  // 1 where a weight was kept by dropout, divided by 1 - p; empty: no dropout
  double context_factor = 1;
  reference::Activation logits_activation = reference::Activation::identity;
  bool logits_are_logarithms = false;            // log_softmax of the logits
  reference::Vec estimated;                      // numbers that an option read off the trace, for its sentence
  std::vector<reference::CellConvention> cells;  // of each layer, where they differ; empty: decoder.cell
  // Changes what a layer has given to the next one; in is what it read itself, memory an LSTM's, else empty.
  std::function<void(std::size_t layer, const reference::Array& in, const reference::Array& memory,
                     reference::Array& out)>
      after_layer;
  // Changes h and c (B, d) that the run of a layer and direction (layer * directions + direction) starts from.
  struct Before {
    const reference::Array *h0, *c0;                        // (layers * directions, B, d) or nullptr
    const std::vector<reference::Array>&finals, &memories;  // of the runs before it
  };
  std::function<void(std::size_t run, const Before& before, reference::Array& h, reference::Array& c)> other_start;
  std::vector<std::function<void(reference::Arrays&)>> edits;  // changes of parameters that amount to another formula
};

// benign: another spelling of the same model, never a mistake. choice: right in some paper, a mistake only against a
// claim that says otherwise. error: right nowhere.
enum class Level { benign, choice, error };

// A formula or a test: the same in both languages, or one with words in it, in each.
struct Line : Said {
  constexpr Line(const char* both = "") : Said{both, both} {}
  constexpr Line(const char* english, const char* chinese) : Said{english, chinese} {}
};

struct Option {
  const char* id = "";
  const char* code = "";  // stable; what a verdict calls it
  Level level = Level::error;
  Kind kind = Kind::convention;
  // Changes the model; false if this option makes no sense for it. May look at the trace's arrays.
  bool (*apply)(Model&, const reference::Arrays&) = nullptr;
  Said sentence = {};           // "the query is s_t, ..."
  Line used = {};               // the formula that the model follows
  Line paper = {};              // and the one that it should follow
  Said fix = {};                // one line
  Line test = {};               // one line that keeps it fixed
  bool rare = false;            // benign or a choice, but tried only as a deviation of its own
  bool by_claim_alone = false;  // right where a claim keeps it, and a mistake everywhere else
  bool fitted = false;          // a number is read off the trace: weaker evidence, it gives way to options without one
};

struct Field {
  const char* name = "";
  std::vector<Stage> stages = {};  // where it acts; a stage is enough to find it
  Said what = {};                  // "the time of the query"
  Said tell = {};                  // an input on which its options differ
  std::vector<Option> options = {};
};

// All fields, in the order in which their options have to be applied.
const std::vector<Field>& fields();
const Option* find_option(const char* field, const std::string& id);

using FieldOptions = std::vector<std::pair<const char*, std::vector<const char*>>>;

// What an owner may claim. keeps: another choice in this field is a mistake. prefers: another one is worth a note.
struct Claim {
  const char* name = "";
  Said title = {};
  Said without_gru = {};  // its title for a model that has none, where the other says what a GRU does
  FieldOptions keeps = {}, prefers = {};
};
const std::vector<Claim>& claims();
// nullptr for "" ; throws std::invalid_argument that lists the claims for an unknown name.
const Claim* find_claim(const std::string& name);
// Whether the recurrent weights are those of three gates.
bool has_gru(const reference::Arrays& parameters);
// A framework's name alone, "keras" or "onnx", as the claims that go with the parameters, the framework's default first:
// Keras adds a second bias to U h with reset_after=True and never without; of ONNX's GRU the attribute says it, where it
// is known. Other names as they are.
std::vector<std::string> claims_of_framework(const std::string& name, const reference::Arrays& parameters,
                                             std::optional<bool> linear_before_reset);

}  // namespace gradus::diagnosis
