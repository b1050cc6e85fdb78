// What a decoder with attention may do one way or another, written down as data: the twelve decoders of this lesson are
// twelve of these, drawn from the seed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lessons/common/text.h"
#include "nn/conventions/probes.h"
#include "nn/decoders.h"

namespace gradus::lesson11 {

enum class Claim { bahdanau2014, luong2015 };
enum class Query { s_prev, s_t, y_emb };
// What stands beside y_{t-1} in the cell's input.
enum class CellReads { c_t, c_prev, vector_prev, nothing };

// One thing that is right in no paper.
enum class Fault {
  none,
  no_attention,            // no weights, no context
  context_unused,          // weights and context are computed, and nothing reads them
  location_score,          // the score looks at the query alone
  energy_sigmoid,          // v_a . sigmoid(W_a s + U_a h)
  score_over_sqrt_d,       // a score that the claimed paper does not scale
  softmax_over_batch,      // weights of one position sum to 1 over the examples
  mask_missing,            // padding is attended to
  mask_before_softmax,     // scores times mask: a padded position still gets exp(0)
  mask_without_renorm,     // weights times mask, so that a row sums to less than 1
  context_mean,            // the mean of the encoder states; the weights are only returned
  context_tanh,            // tanh around the context
  reset_unused,            // r_t is computed and not applied
  update_not_convex,       // z s + n
  vector_without_tanh,     // s~ = W_c [c; s]
  vector_of_old_state,     // s~ = tanh(W_c [c_t; s_{t-1}])
  readout_of_old_context,  // logits from c_{t-1}
  readout_of_old_vector,   // logits from s~_{t-1}
  logits_softmaxed,        // probabilities handed on as logits
};

struct Choices {
  Claim claim = Claim::bahdanau2014;  // what its owner says it is
  ScoreKind score = ScoreKind::additive;
  Query query = Query::s_prev;
  CellReads cell_reads = CellReads::c_t;
  bool vector = false;  // s~_t = tanh(W_c [c_t; s_t]) stands between context and readout
  ReadoutTime readout_time = ReadoutTime::s_t;
  GruReset reset = GruReset::before;
  GruUpdate update = GruUpdate::replaces;
  Fault fault = Fault::none;
  std::set<std::string> codes = {};  // what a diagnosis must name: empty for a decoder that keeps its claim
};

// The paper's decoder, its free choices (where the reset gate acts, which way z works, s_t or s_{t-1} in the readout;
// Luong's score and feeding) drawn.
Choices draw_right(Claim claim, Generator& generator);

// The mistakes of this lesson: the code that each must get, and what it does to a decoder that is right.
struct Mistake {
  std::string codes;          // "A+B": two mistakes at once
  std::vector<Claim> claims;  // whose decoder can have it
  void (*plant)(Choices&);
  std::string en, zh;  // in a few words, for somebody who guesses
};
const std::vector<Mistake>& mistakes();
Choices with_mistake(const Mistake& mistake, Choices right);

// Twelve decoders in random order, all different: four that keep their claim, the swap of lesson 09, seven more
// mistakes. The same seed gives the same twelve.
std::vector<Choices> draw_twelve(std::uint64_t seed);

// "general score, query s_t, cell [y; s~_{t-1}], reset before, z replaces": how it was built.
std::string words(const Choices& choices, Lang lang);
std::string title(Claim claim);  // "Bahdanau 2014"
const char* name(Claim claim);   // "bahdanau2014": what ./gradus diagnose calls it

// The choices that a diagnosis must find, in its words: "query=s_prev", "input=c_t", "reset=before", ...
std::set<std::string> told(const Choices& choices);

// What theory says that the probes will see, before anything is built (derived in the lesson's note).
struct Foretold {
  bool attends = true;    // there are weights
  bool diagonal = false;  // alpha_t depends on the input of its own step
  bool below = true;      // alpha_t depends on inputs before its step
  ContextRoute route = ContextRoute::this_step;
  bool sees_source = true;  // with s_0 held constant, logits depend on the encoder states
  bool sums_to_one = true;  // each row of weights
  bool pads_unseen = true;  // what stands at padded positions changes nothing
  bool in_hull = true;      // contexts are the weighted means of encoder states; not asked where padding is seen
  bool operator==(const Foretold&) const = default;
};
Foretold foretell(const Choices& choices);

}  // namespace gradus::lesson11
