// Planted mistakes in decoders, cells, encoders and losses. Each is written as a learner writes it, agrees with itself
// where the catalogue of published mistakes says so (the self check passes), and is refused by a check that is named
// here: the reference check, or a probe. The right twins are accepted by all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "nn/conventions/probes_tools.h"
#include "nn/optimizer.h"
#include "tests/mutants/learner.h"

using namespace gradus;
using learner::block;
using learner::gru_gates;
using learner::Learner;
using learner::linear;
using learner::luong;
using learner::Now;
using learner::project;
using learner::weighted_sum;
using learner::zero_like;

namespace {

enum class Paper { bahdanau, luong };

// A mutant that only runs when sizes are equal hides there; the others are planted in pairwise different ones.
const DecoderSizes different{8, 1, 4, 6, 7}, equal{3, 3, 3, 3, 3};

struct Mutant {
  const char* name;
  Paper paper;
  bool equal_sizes;
  std::function<void(Learner&)> plant;
  std::vector<const char*> refused_by;  // "reference", or the name of a probe
  GradientVerdict self_check = GradientVerdict::passed;
};

// Both softmax by hand, over the axis given.
Var softmax_by_hand(const Var& e, Axis axis) {
  const Var y = exp(e);
  return y / expand_new(sum(y, axis), axis, e.size(axis));
}

Tensor numbers(const Mask& mask) {
  return tensor(mask.shape(), std::vector<double>(mask.values().begin(), mask.values().end()), f64);
}

// Rows of the batch one further: row b holds what belongs to row b + 1.
Var next_example(const Var& x) {
  const std::int64_t B = x.shape()[0];
  return concat({narrow(x, Axis{0}, 1, B - 1), narrow(x, Axis{0}, 0, 1)}, Axis{0});
}

Var reversed_in_time(const Var& H) {
  std::vector<Var> positions;
  for (std::int64_t i = H.shape()[1]; i-- > 0;) positions.push_back(select(H, Axis{1}, i));
  return stack_along(positions, Axis{1});
}

void register_more(Learner& l, const char* name, const Shape& shape) {
  Generator g(77, name);
  l.more.push_back({name, learner::drawn(shape, g)});
}

using L = const Learner&;
using N = const Now&;

const Mutant catalogue[] = {
    // ---- order of computation
    {"ATTN_QUERY_POST_STEP",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.asks_before = false;  // the cell gets c_{t-1}, and attention asks with the new state
       l.query = [](L, N n) { return n.s_t; };
     },
     {"reference", "influence", "intervention", "context_route"}},
    {"ATTN_QUERY_PRE_STEP",
     Paper::luong,
     false,
     [](Learner& l) { l.query = [](L, N n) { return n.s_prev; }; },
     {"reference", "influence", "intervention"}},
    {"INPUT_FEED_CONTEXT",
     Paper::luong,
     true,
     [](Learner& l) { l.cell_input = [](L, N n) {
                        return concat({n.y, n.c_prev}, Axis{1});
                      }; },
     {"reference", "feeding"}},
    {"input feeding left out, the size kept with zeros",
     Paper::luong,
     false,
     [](Learner& l) { l.cell_input = [](L, N n) {
                        return concat({n.y, zero_like(n.htilde_prev)}, Axis{1});
                      }; },
     {"reference", "feeding", "context_route"}},
    // ---- scores
    {"ATTN_IGNORES_ENCODER",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       register_more(l, "A", Shape{5, 1 + 4});
       l.scores = [](L me, N n) { return linear(concat({n.y, n.query}, Axis{1}), me.more[0].var); };
     },
     {"reference", "scorer", "permutation", "influence"},
     GradientVerdict::nothing_tested},
    {"LUONG_W_TRANSPOSED",
     Paper::luong,
     true,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         return sum(expand_new(n.query, Axis{1}, n.T_enc()) * project(n.H, transpose(me.W_a)), Axis{2});
       };
     },
     {"reference"}},
    {"ENERGY_ACTIVATIONS_SWAPPED",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         const Var q = expand_new(linear(n.query, me.W_a), Axis{1}, n.T_enc());
         return dot(softmax(q + project(n.H, me.U_a), Axis{2}), me.v_a, Axis{2});
       };
       l.weights = [](L, N n) { return relu(n.scores); };
     },
     {"reference", "weights_sum"},
     GradientVerdict::nothing_tested},
    {"INIT_DEAD_SCORER",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       for (const Var& p : {l.W_a, l.U_a, l.v_a}) fill_(p.mutable_value(), 0);
     },
     {"reference", "scorer", "parameters"},
     GradientVerdict::nothing_tested},
    // ---- weights and masks
    {"SOFTMAX_AXIS_BATCH",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.weights = [](L, N n) { return softmax_by_hand(n.scores, Axis{0}); }; },
     {"reference", "weights_sum", "batch_neighbours"}},
    {"SOFTMAX_AXIS_SINGLETON",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {
         const Shape with_one{n.B(), n.T_enc(), 1};
         return reshape(softmax(reshape(n.scores, with_one), Axis{2}), n.scores.shape());
       };
     },
     {"reference", "weights_sum", "scorer"},
     GradientVerdict::nothing_tested},
    {"MASK_MISSING",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.weights = [](L, N n) { return softmax(n.scores, Axis{1}); }; },
     {"reference", "padding_content", "padding_length"}},
    {"MASK_MULT_BEFORE_SOFTMAX",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {
         return n.mask ? softmax(n.scores * Var(numbers(*n.mask)), Axis{1}) : softmax(n.scores, Axis{1});
       };
     },
     {"reference", "padding_content", "padding_length"}},
    {"MASK_AFTER_NO_RENORM",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {
         const Var all = softmax(n.scores, Axis{1});
         return n.mask ? all * Var(numbers(*n.mask)) : all;
       };
     },
     {"reference", "weights_sum", "padding_content", "convex_hull"}},
    {"MASK_WRONG_AXIS",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {  // the whole row is kept or masked by the mask at the decoder's own position
         if (!n.mask) return softmax(n.scores, Axis{1});
         Tensor fill = zeros(n.scores.shape(), f64);
         for (std::int64_t b = 0; b < n.B(); ++b) {
           for (std::int64_t i = 0; i < n.T_enc(); ++i) {
             if (!n.mask->at(b, std::min(n.t, n.T_enc() - 1))) fill.set({b, i}, -1e9);
           }
         }
         return softmax(n.scores + Var(fill), Axis{1});
       };
     },
     {"reference", "padding_content"}},
    {"PAD_NOT_ZERO: a mask where the encoder states are zero, which a bias makes never",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {
         const Tensor size = sum(square(n.H), Axis{2}).value();
         Mask seen(n.scores.shape());
         for (std::int64_t b = 0; b < n.B(); ++b) {
           for (std::int64_t i = 0; i < n.T_enc(); ++i) seen.at(b, i) = size.at({b, i}) > 0 ? 1 : 0;
         }
         return softmax(n.scores, Axis{1}, seen);
       };
     },
     {"reference", "padding_content"}},
    {"ALL_MASKED_NAN: minus infinity by hand, and a row without a real position",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {
         const double infinity = std::numeric_limits<double>::infinity();
         const Mask none(Shape{n.B(), n.T_enc()}, 0);
         return softmax_by_hand(where(none, n.scores, Var(full(n.scores.shape(), -infinity, f64))), Axis{1});
       };
     },
     {"reference", "weights_sum"},
     GradientVerdict::not_finite},
    {"DROPOUT_TRAIN_MODE: weights dropped and scaled, the same way in each call",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L me, N n) {
         Generator g(5, "dropout");
         return dropout(learner::softmax_weights(me, n), 0.4, g, true);
       };
     },
     {"reference", "weights_sum"}},
    {"DROPOUT_IN_EVAL",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       auto g = std::make_shared<Generator>(5, "dropout");
       l.features = [g](L, N n) { return dropout(concat({n.s_t, n.y, n.c}, Axis{1}), 0.4, *g, true); };
     },
     {"determinism"},
     GradientVerdict::nondeterministic},
    // ---- contexts and readout
    {"CONTEXT_TANH",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.context = [](L, N n) { return tanh(weighted_sum(n.weights, n.H)); }; },
     {"reference", "convex_hull"}},
    {"CONCAT_ORDER",
     Paper::luong,
     true,
     [](Learner& l) { l.attentional = [](L me, N n) {
                        return tanh(linear(concat({n.s_t, n.c}, Axis{1}), me.W_c));
                      }; },
     {"reference"}},
    {"ATTN_VECTOR_NO_TANH",
     Paper::luong,
     false,
     [](Learner& l) { l.attentional = [](L me, N n) {
                        return linear(concat({n.c, n.s_t}, Axis{1}), me.W_c);
                      }; },
     {"reference"}},
    {"DOUBLE_SOFTMAX: probabilities handed on as logits",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       const auto right = l.logits;
       l.logits = [right](L me, N n) { return softmax(right(me, n), Axis{1}); };
     },
     {"reference"}},
    // ---- the cell
    {"GRU_RESET_AFTER",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.cell = [](L me, N n) {
         const std::int64_t d = me.d_s();
         const Var wx = linear(n.x, me.W), us = linear(n.s_prev, me.U);
         const Var r = sigmoid(block(wx, 0, d) + block(us, 0, d)), z = sigmoid(block(wx, 1, d) + block(us, 1, d));
         return (1.0 - z) * n.s_prev + z * tanh(block(wx, 2, d) + r * block(us, 2, d));
       };
     },
     {"reference"}},
    {"GRU_UPDATE_SWAPPED",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.cell = [](L me, N n) {
         const learner::Gates g = gru_gates(me, n);
         return g.z * n.s_prev + (1.0 - g.z) * g.n;
       };
     },
     {"reference", "latch"}},
    {"GRU_RESET_UNUSED",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.cell = [](L me, N n) {
         const std::int64_t d = me.d_s();
         const Var wx = linear(n.x, me.W), us = linear(n.s_prev, me.U);
         const Var z = sigmoid(block(wx, 1, d) + block(us, 1, d));
         return (1.0 - z) * n.s_prev + z * tanh(block(wx, 2, d) + block(us, 2, d));
       };
     },
     {"reference", "parameters"}},
    // ---- the graph
    {"GRAPH_DROPPED: weights as plain numbers",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.context = [](L, N n) { return weighted_sum(n.weights.detach(), n.H); }; },
     {"reference"},
     GradientVerdict::wrong},
    {"STATE_NOT_DETACHED turned round: the state is cut at every step",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.before = [](L, N n) { return n.t == 0 ? n.s_prev : n.s_prev.detach(); }; },
     {"reference", "intervention", "influence"},
     GradientVerdict::wrong},
    {"PARAM_UNREGISTERED: a bias of the score that no list knows",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       Generator g(8, "unregistered");
       const Var b_a = learner::drawn(l.v_a.shape(), g);
       l.scores = [b_a](L me, N n) {
         const Var q = linear(n.query, me.W_a) + expand_new(b_a, Axis{0}, n.B());
         return dot(tanh(expand_new(q, Axis{1}, n.T_enc()) + project(n.H, me.U_a)), me.v_a, Axis{2});
       };
     },
     {"reference", "parameters"}},
    {"PARAM_DEAD: a layer that was built and never applied",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       register_more(l, "attn_combine", Shape{4, 7});
     },
     {"parameters"},
     GradientVerdict::nothing_tested},
};

// Mistakes of the same kinds that stand in no list.
const Mutant others[] = {
    {"the query is a provisional state: the cell runs twice",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.query = [](L me, N n) {
         Now first = n;
         first.x = concat({n.y, n.c_prev}, Axis{1});
         return learner::gru(me, first);
       };
     },
     {"reference", "influence"}},
    {"the token that is to be predicted is fed",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.input = [](L, N n) {
         return select(n.y_emb, Axis{1}, std::min<std::int64_t>(n.t + 1, n.y_emb.shape()[1] - 1));
       };
     },
     {"reference", "influence"}},
    {"every step starts from s_0",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.before = [](L, N n) { return n.s_0; }; },
     {"reference", "influence"}},
    {"s_0 is ignored",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.start = [](L, N n) { return zero_like(n.s_0); }; },
     {"reference"},
     GradientVerdict::nothing_tested},
    {"the context is that of the weights of the step before",
     Paper::luong,
     false,
     [](Learner& l) { l.context = [](L, N n) { return weighted_sum(n.t == 0 ? n.weights : n.weights_prev, n.H); }; },
     {"reference", "convex_hull"}},
    {"contexts add up from step to step",
     Paper::luong,
     false,
     [](Learner& l) { l.context = [](L, N n) { return weighted_sum(n.weights, n.H) + n.c_prev; }; },
     {"reference", "convex_hull"}},
    {"the values are the projected keys",
     Paper::bahdanau,
     true,
     [](Learner& l) { l.context = [](L me, N n) { return weighted_sum(n.weights, project(n.H, me.U_a)); }; },
     {"reference", "convex_hull"}},
    {"the values run backwards",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.context = [](L, N n) { return weighted_sum(n.weights, reversed_in_time(n.H)); }; },
     {"reference", "convex_hull", "permutation"}},
    {"the values belong to the next example",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.context = [](L, N n) { return weighted_sum(n.weights, next_example(n.H)); }; },
     {"reference", "batch_neighbours", "convex_hull"}},
    {"the context is divided by the length",
     Paper::luong,
     false,
     [](Learner& l) {
       l.context = [](L, N n) { return weighted_sum(n.weights, n.H) / static_cast<double>(n.T_enc()); };
     },
     {"reference", "convex_hull"}},
    {"every input is mixed with the next",
     Paper::luong,
     false,
     [](Learner& l) {
       l.input = [](L, N n) {
         const std::int64_t next = std::min<std::int64_t>(n.t + 1, n.y_emb.shape()[1] - 1);
         return select(n.y_emb, Axis{1}, n.t) * 0.9 + select(n.y_emb, Axis{1}, next) * 0.1;
       };
     },
     {"reference", "influence"}},
    {"some weight is negative: differences from the mean are enlarged",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L me, N n) {
         Tensor even = numbers(n.mask ? *n.mask : Mask(n.scores.shape(), 1));
         even = (Var(even) / expand_new(Var(sum(even, Axis{1})), Axis{1}, n.T_enc())).value();
         return learner::softmax_weights(me, n) * 9.0 - Var(even) * 8.0;
       };
     },
     {"reference", "weights_sum"}},
    {"padding keeps a fixed share of the weight, which the context leaves out",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L me, N n) {
         const Var right = learner::softmax_weights(me, n);
         return n.mask ? where(*n.mask, right, Var(full(right.shape(), 0.05, f64))) : right;
       };
       l.context = [](L, N n) { return weighted_sum(n.mask ? n.weights * Var(numbers(*n.mask)) : n.weights, n.H); };
     },
     {"reference", "padding_content", "weights_sum"}},
    {"scores are divided by the root of the length",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) { return learner::additive_scores(me, n) / std::sqrt(static_cast<double>(n.T_enc())); };
     },
     {"reference", "padding_length"}},
    {"scores are centred over the batch, by a mean without gradient",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         const Var e = learner::additive_scores(me, n);
         return e - expand_new(mean(e, Axis{0}).detach(), Axis{0}, n.B());
       };
     },
     {"reference", "batch_neighbours"},
     GradientVerdict::wrong},
    {"a backward rule that hands the gradient to the next example",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       const auto right = l.logits;
       l.logits = [right](L me, N n) {
         const Var y = right(me, n);
         return record("turned", copy(y.value()), {y},
                       [](const Tensor& dy, Inputs& in) { in.add(0, next_example(dy).value()); });
       };
     },
     {"reference", "batch_neighbours"},
     GradientVerdict::wrong},
    {"scores are centred over the batch",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         const Var e = learner::additive_scores(me, n);
         return e - expand_new(mean(e, Axis{0}), Axis{0}, n.B());
       };
     },
     {"reference", "batch_neighbours"}},
    {"later positions get a bonus",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         Tensor bonus = zeros(Shape{n.B(), n.T_enc()}, f64);
         for (std::int64_t b = 0; b < n.B(); ++b) {
           for (std::int64_t i = 0; i < n.T_enc(); ++i) bonus.set({b, i}, 0.1 * static_cast<double>(i));
         }
         return learner::additive_scores(me, n) + Var(bonus);
       };
     },
     {"reference", "permutation"}},
    {"the mask of the decoder's own words: position <= step",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L, N n) {
         Mask seen(Shape{n.B(), n.T_enc()}, 0);
         for (std::int64_t b = 0; b < n.B(); ++b) {
           for (std::int64_t i = 0; i <= std::min(n.t, n.T_enc() - 1); ++i) {
             seen.at(b, i) = probing::real_at(n.mask, b, i) || i == 0 ? 1 : 0;
           }
         }
         return softmax(n.scores, Axis{1}, seen);
       };
     },
     {"reference", "permutation"}},
    {"scores are divided by the root of d_attn",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.scores = [](L me, N n) { return learner::additive_scores(me, n) / std::sqrt(7.0); }; },
     {"reference"}},
    {"relu instead of tanh in the energy",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         const Var q = expand_new(linear(n.query, me.W_a), Axis{1}, n.T_enc());
         return dot(relu(q + project(n.H, me.U_a)), me.v_a, Axis{2});
       };
     },
     {"reference"}},
    {"v_a forgotten: energies are summed",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         const Var q = expand_new(linear(n.query, me.W_a), Axis{1}, n.T_enc());
         return sum(tanh(q + project(n.H, me.U_a)), Axis{2});
       };
     },
     {"reference", "scorer", "parameters"},
     GradientVerdict::nothing_tested},
    {"the query's projection is used for the keys too",
     Paper::bahdanau,
     true,
     [](Learner& l) {
       l.scores = [](L me, N n) {
         const Var q = expand_new(linear(n.query, me.W_a), Axis{1}, n.T_enc());
         return dot(tanh(q + project(n.H, me.W_a)), me.v_a, Axis{2});
       };
     },
     {"reference", "scorer", "parameters"},
     GradientVerdict::nothing_tested},
    {"weights sharpened: squared and normalised again",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L me, N n) {
         const Var squared = square(learner::softmax_weights(me, n));
         return squared / expand_new(sum(squared, Axis{1}), Axis{1}, n.T_enc());
       };
     },
     {"reference"}},
    {"a residual connection around the cell",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.cell = [](L me, N n) { return learner::gru(me, n) + n.s_prev; }; },
     {"reference", "latch"}},
    {"the new candidate is added, not mixed",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.cell = [](L me, N n) {
         const learner::Gates g = gru_gates(me, n);
         return (1.0 - g.z) * n.s_prev + g.n;
       };
     },
     {"reference", "latch"}},
    {"the reset state is what is kept",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.cell = [](L me, N n) {
         const learner::Gates g = gru_gates(me, n);
         return (1.0 - g.z) * (g.r * n.s_prev) + g.z * g.n;
       };
     },
     {"reference", "latch"}},
    {"the readout looks at the state before",
     Paper::bahdanau,
     false,
     [](Learner& l) { l.features = [](L, N n) {
                        return concat({n.s_prev, n.y, n.c}, Axis{1});
                      }; },
     {"reference"}},
    {"the readout never sees the context",
     Paper::luong,
     false,
     [](Learner& l) { l.features = [](L, N n) { return n.s_t; }; },
     {"reference"}},
    {"the context gets no gradient through the readout",
     Paper::luong,
     false,
     [](Learner& l) {
       l.attentional = [](L me, N n) { return tanh(linear(concat({n.c.detach(), n.s_t}, Axis{1}), me.W_c)); };
     },
     {"reference"},
     GradientVerdict::wrong},
    {"a backward rule that clips what comes in",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       const auto right = l.logits;
       l.logits = [right](L me, N n) {
         const Var y = right(me, n);
         return record("clipped", copy(y.value()), {y},
                       [](const Tensor& dy, Inputs& in) { in.add(0, (Var(dy) / (abs(Var(dy)) + 1.0)).value()); });
       };
     },
     {"reference", "linearity"},
     GradientVerdict::wrong},
    {"a backward rule that forgets dy",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       l.weights = [](L me, N n) {
         const Var alpha = learner::softmax_weights(me, n);
         return record("careless", copy(alpha.value()), {alpha},
                       [](const Tensor& dy, Inputs& in) { in.add(0, full(dy.shape(), 1, dy.dtype())); });
       };
     },
     {"reference", "linearity"},
     GradientVerdict::wrong},
    {"a backward rule that remembers its last call",
     Paper::bahdanau,
     false,
     [](Learner& l) {
       const auto right = l.logits;
       l.logits = [right](L me, N n) {
         const Var y = right(me, n);
         auto kept = std::make_shared<Tensor>(zeros(y.shape(), f64));
         return record("stale", copy(y.value()), {y}, [kept](const Tensor& dy, Inputs& in) {
           add_(*kept, dy);
           in.add(0, *kept);
         });
       };
     },
     {"two_backwards"}},
};

DecoderInputs inputs_for(const Mutant& mutant) {
  const DecoderSizes& sizes = mutant.equal_sizes ? equal : different;
  const DecoderExtent extent = mutant.equal_sizes ? DecoderExtent{3, 3, 3} : DecoderExtent{2, 3, 5};
  return random_inputs(sizes, extent, true, 21);
}

Learner right_twin(const Mutant& mutant) {
  const DecoderSizes& sizes = mutant.equal_sizes ? equal : different;
  return mutant.paper == Paper::bahdanau ? learner::bahdanau(sizes) : luong(sizes);
}

GradientReport self_check(const DecoderUnderTest& decoder, const DecoderInputs& in) {
  std::vector<CheckedInput> leaves{{"y_emb", in.y_emb}, {"H", in.H}, {"s_0", in.s_0}};
  for (const Parameter& p : decoder.parameters) leaves.push_back({p.name, p.var});
  return check_gradient([&] { return probing::flat(decoder.run(in)); }, leaves);
}

Probe latch_of(const Learner& l, const DecoderInputs& in) {
  CellUnderTest cell;
  cell.name = "learner's GRU";
  cell.step = [l](const Var& x, const Var& s_prev) {
    Now now;
    now.x = x, now.s_prev = s_prev;
    return l.cell(l, now);
  };
  cell.W = l.W;
  cell.d_s = cell.z_row = l.d_s();
  cell.update = GruUpdate::replaces;
  return probe_latch(cell, in.s_0);
}

std::vector<Probe> probes_of(const Learner& l, Paper paper, const DecoderInputs& in) {
  std::vector<Probe> probes = probe_all(learner::under_test("learner's", l), in,
                                        paper == Paper::bahdanau ? claim_bahdanau2014() : claim_luong2015());
  probes.push_back(latch_of(l, in));
  return probes;
}

reference::DecoderConvention convention_of(Paper paper) {
  return paper == Paper::bahdanau ? reference::bahdanau2014() : learner::luong_convention();
}

void expect_refused(const Mutant& mutant) {
  CAPTURE(std::string(mutant.name));
  Learner l = right_twin(mutant);
  mutant.plant(l);
  const DecoderInputs in = inputs_for(mutant);
  const DecoderUnderTest decoder = learner::under_test(mutant.name, l);
  const GradientReport self = self_check(decoder, in);
  INFO(self.text());
  CHECK(to_string(self.verdict) == std::string(to_string(mutant.self_check)));
  const std::vector<Probe> probes = probes_of(l, mutant.paper, in);
  for (const char* name : mutant.refused_by) {
    CAPTURE(std::string(name));
    if (name == std::string("reference")) {
      const ReferenceReport report = check_reference(decoder, in, convention_of(mutant.paper));
      INFO(report.text());
      CHECK_FALSE(report.passed);
      continue;
    }
    const auto probe = std::find_if(probes.begin(), probes.end(), [&](const Probe& p) { return p.name == name; });
    REQUIRE(probe != probes.end());
    INFO(probe->picture());
    CHECK_FALSE(probe->passed);
    CHECK(probe->can_tell);
  }
}

void expect_accepted(const char* name, const Learner& l, Paper paper, const DecoderInputs& in) {
  CAPTURE(std::string(name));
  const DecoderUnderTest decoder = learner::under_test(name, l);
  const GradientReport self = self_check(decoder, in);
  INFO(self.text());
  CHECK(self.passed);
  const ReferenceReport report = check_reference(decoder, in, convention_of(paper));
  INFO(report.text());
  CHECK(report.passed);
  for (const Probe& probe : probes_of(l, paper, in)) {
    INFO(probe.picture());
    CHECK(probe.passed);
  }
}

}  // namespace

TEST_CASE("mutants: published mistakes in decoders are refused by the check that is named for them") {
  for (const Mutant& mutant : catalogue) expect_refused(mutant);
}

TEST_CASE("mutants: mistakes that stand in no list are refused too") {
  for (const Mutant& mutant : others) expect_refused(mutant);
}

TEST_CASE("mutants: the right twins are accepted by every check") {
  for (Paper paper : {Paper::bahdanau, Paper::luong}) {
    for (bool equal_sizes : {false, true}) {
      const Mutant none{"", paper, equal_sizes, {}, {}};
      expect_accepted(paper == Paper::bahdanau ? "bahdanau" : "luong", right_twin(none), paper, inputs_for(none));
    }
  }
}

TEST_CASE("mutants: right decoders in other words are accepted") {
  struct Twin {
    const char* name;
    std::function<void(Learner&)> write;
  };
  const Twin twins[] = {
      {"softmax by hand, padding filled with a number far below",
       [](Learner& l) {
         l.weights = [](L, N n) {
           const Var filled = n.mask ? where(*n.mask, n.scores, Var(full(n.scores.shape(), -1e4, f64))) : n.scores;
           return softmax_by_hand(filled, Axis{1});
         };
       }},
      {"mask multiplied after the softmax, and normalised again",
       [](Learner& l) {
         l.weights = [](L, N n) {
           Var w = softmax(n.scores, Axis{1});
           if (n.mask) w = w * Var(numbers(*n.mask));
           return w / expand_new(sum(w, Axis{1}), Axis{1}, n.T_enc());
         };
       }},
      {"context as a batched product",
       [](Learner& l) {
         l.context = [](L, N n) {
           return reshape(matmul(reshape(n.weights, Shape{n.B(), 1, n.T_enc()}), n.H), Shape{n.B(), n.H.shape()[2]});
         };
       }},
      {"s + z (n - s)",
       [](Learner& l) {
         l.cell = [](L me, N n) {
           const learner::Gates g = gru_gates(me, n);
           return n.s_prev + g.z * (g.n - n.s_prev);
         };
       }},
      {"scores shifted by a constant",
       [](Learner& l) { l.scores = [](L me, N n) { return learner::additive_scores(me, n) + 3.0; }; }},
      {"W_a [s] + U_a [h] as one product of [s; h]",
       [](Learner& l) {
         l.scores = [](L me, N n) {
           const Var q = expand_new(n.query, Axis{1}, n.T_enc());
           return dot(tanh(project(concat({q, n.H}, Axis{2}), concat({me.W_a, me.U_a}, Axis{1}))), me.v_a, Axis{2});
         };
       }},
  };
  for (const Twin& twin : twins) {
    for (bool equal_sizes : {false, true}) {
      const Mutant none{"", Paper::bahdanau, equal_sizes, {}, {}};
      Learner l = right_twin(none);
      twin.write(l);
      expect_accepted(twin.name, l, Paper::bahdanau, inputs_for(none));
    }
  }
}

// ---- decoders of the library with one method written anew

namespace {

struct CellStateQuery : LuongDecoder {  // asks with the LSTM's memory
  explicit CellStateQuery(const LuongDecoder& right) : LuongDecoder(right) {}
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
    State s_t = cell.step(concat({y_emb, s_prev.attentional}, Axis{1}), s_prev);
    auto [context, weights] = attend(score(s_t.memory.back(), memory.keys), memory.values, memory.mask);
    s_t.attentional = tanh(linear(concat({context, s_t}, Axis{1}), W_c));
    return {s_t, context, weights, s_t.attentional};
  }
};

struct BottomQuery : LuongDecoder {  // asks with the bottom layer
  explicit BottomQuery(const LuongDecoder& right) : LuongDecoder(right) {}
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
    State s_t = cell.step(concat({y_emb, s_prev.attentional}, Axis{1}), s_prev);
    auto [context, weights] = attend(score(s_t.below.front(), memory.keys), memory.values, memory.mask);
    s_t.attentional = tanh(linear(concat({context, s_t}, Axis{1}), W_c));
    return {s_t, context, weights, s_t.attentional};
  }
};

struct Leaking : PlainDecoder {  // claims to work without attention and adds the mean of the encoder states
  explicit Leaking(const PlainDecoder& right) : PlainDecoder(right) {}
  Memory remember(const Var& H, const std::optional<Mask>& mask) const override { return {H, H, mask}; }
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
    return {cell.step(y_emb + narrow(mean(memory.values, Axis{1}), Axis{1}, 0, y_emb.shape()[1]), s_prev), Var(),
            Var()};
  }
};

template <class Model> Model drawn(const Model& model) {
  Model result = clone(model, f64);
  randomize(parameters(result), 0.8, 4);
  return result;
}

}  // namespace

TEST_CASE("mutants: the query is the memory of the LSTM, or the bottom layer") {
  Generator g(1);
  const DecoderOptions options{.score = ScoreKind::general, .cell = CellKind::lstm, .layers = 2};
  const LuongDecoder right = drawn(LuongDecoder(different, options, g));
  const DecoderInputs in = random_inputs(different, {2, 3, 5}, true, 21);
  const CellStateQuery memory_query(right);
  const BottomQuery bottom_query(right);
  for (const Decoder* wrong :
       {static_cast<const Decoder*>(&memory_query), static_cast<const Decoder*>(&bottom_query)}) {
    const DecoderUnderTest decoder = under_test("wrong", *wrong, reference_parameters(right));
    CHECK(self_check(decoder, in).passed);
    CHECK_FALSE(check_reference(decoder, in, gradus::convention_of(right)).passed);
    CHECK_FALSE(probe_intervention(decoder, in, QueryTime::s_t).passed);
  }
}

TEST_CASE("mutants: a decoder without attention that looks at the source") {
  Generator g(1);
  const PlainDecoder right = drawn(PlainDecoder(different, {}, g));
  const Leaking leaking(right);
  const DecoderInputs in = random_inputs(different, {2, 3, 5}, false, 21);
  CHECK(probe_source(under_test(right), in, false).passed);
  const DecoderUnderTest decoder = under_test("leaking", leaking, reference_parameters(right));
  CHECK(self_check(decoder, in).passed);
  CHECK_FALSE(check_reference(decoder, in, gradus::convention_of(right)).passed);
  CHECK_FALSE(probe_source(decoder, in, false).passed);
}

// ---- LSTM cells

TEST_CASE("mutants: LSTM steps") {
  struct Row {
    const char* name;
    std::function<Var(const Var* gates, const Var& c)> step;  // preactivations i, f, g, o and c_{t-1} -> h_t
    bool right = false;
    GradientVerdict self_check = GradientVerdict::passed;
  };
  auto memory = [](const Var* a, const Var& c) { return sigmoid(a[1]) * c + sigmoid(a[0]) * tanh(a[2]); };
  const Row rows[] = {
      {"right", [&](const Var* a, const Var& c) { return sigmoid(a[3]) * tanh(memory(a, c)); }, true},
      {"LSTM_NO_OUTPUT_TANH", [&](const Var* a, const Var& c) { return sigmoid(a[3]) * memory(a, c); }},
      {"LSTM_GATE_ORDER",
       [&](const Var* a, const Var& c) {
         const Var read[] = {a[0], a[1], a[3], a[2]};
         return sigmoid(read[3]) * tanh(memory(read, c));
       }},
      {"input and forget gate exchanged",
       [&](const Var* a, const Var& c) {
         const Var read[] = {a[1], a[0], a[2], a[3]};
         return sigmoid(read[3]) * tanh(memory(read, c));
       }},
      {"forget gate turned round",
       [](const Var* a, const Var& c) {
         return sigmoid(a[3]) * tanh((1.0 - sigmoid(a[1])) * c + sigmoid(a[0]) * tanh(a[2]));
       }},
      {"forget gate unused",
       [](const Var* a, const Var& c) { return sigmoid(a[3]) * tanh(c + sigmoid(a[0]) * tanh(a[2])); }},
      {"sigmoid for the candidate",
       [](const Var* a, const Var& c) {
         return sigmoid(a[3]) * tanh(sigmoid(a[1]) * c + sigmoid(a[0]) * sigmoid(a[2]));
       }},
      {"output from the old memory", [](const Var* a, const Var& c) { return sigmoid(a[3]) * tanh(c); }, false,
       GradientVerdict::passed},
  };
  Generator g(1, "lstm");
  const std::int64_t d = 3;
  const Var W = learner::drawn(Shape{4 * d, 2}, g), U = learner::drawn(Shape{4 * d, d}, g),
            b = learner::drawn(Shape{4 * d}, g), x = learner::drawn(Shape{2, 2}, g), h = learner::drawn(Shape{2, d}, g),
            c = learner::drawn(Shape{2, d}, g);
  const std::vector<CheckedInput> leaves{{"W", W}, {"U", U}, {"b", b}, {"x", x}, {"h", h}, {"c", c}};
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    const auto step = [&] {
      const Var all = linear(x, W) + linear(h, U) + expand_new(b, Axis{0}, 2);
      const Var gates[] = {block(all, 0, d), block(all, 1, d), block(all, 2, d), block(all, 3, d)};
      return row.step(gates, c);
    };
    CHECK(check_gradient(step, leaves).verdict == row.self_check);
    const ReferenceReport report = check_reference(
        [&]() -> Outputs {
          return {{"h_t", step()}};
        },
        leaves,
        [](const reference::Arrays& at) -> reference::Arrays {
          reference::Array h_t({2, 3});
          for (std::size_t r = 0; r < 2; ++r) {
            const reference::CellState before{reference::copy(get(at, "h").row({r})),
                                              reference::copy(get(at, "c").row({r}))};
            h_t.set_row(
                {r}, lstm_step(reference::keras_lstm(), reference::cell_weights(at), get(at, "x").row({r}), before).h);
          }
          return {{"h_t", h_t}};
        });
    INFO(report.text());
    CHECK(report.passed == row.right);
  }
}

// ---- encoders

TEST_CASE("mutants: encoders") {
  Generator g(1);
  const Bidirectional right = drawn(Bidirectional(CellKind::gru, 2, 3, pytorch(), g));
  const Var x = learner::drawn(Shape{2, 4, 2}, g);
  const Mask mask = mask_from_lengths({4, 2}, 4);
  auto both = [right](const Var& in, const std::optional<Mask>& forward_mask,
                      const std::optional<Mask>& backward_mask) {
    const State zero = right.forward.initial(in.shape()[0], f64);
    return std::pair(run(right.forward, in, zero, forward_mask, Direction::forward),
                     run(right.backward, in, zero, backward_mask, Direction::backward));
  };
  struct Row {
    const char* name;
    std::function<EncoderRun(const Var&, const std::optional<Mask>&)> encode;
    std::vector<const char*> refused_by;
  };
  const Row rows[] = {
      {"right",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         return {concat({ahead.states, back.states}, Axis{2}), ahead.last, back.last};
       },
       {}},
      {"BIDIR_FINAL_WRONG_END",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         return {concat({ahead.states, back.states}, Axis{2}), ahead.last,
                 select(back.states, Axis{1}, in.shape()[1] - 1)};
       },
       {"encoder_reach"}},
      {"BWD_READS_PADDING",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, std::nullopt);
         return {concat({ahead.states, back.states}, Axis{2}), ahead.last, back.last};
       },
       {"encoder_padding"}},
      {"RESHAPE_FOR_TRANSPOSE",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         const Var stacked = stack_along({ahead.states, back.states}, Axis{0});  // (2, B, T, d)
         return {reshape(stacked, Shape{in.shape()[0], in.shape()[1], 2 * stacked.shape()[3]}), ahead.last, back.last};
       },
       {"encoder_reach", "encoder_neighbours"}},
      {"BATCH_TIME_SWAPPED",
       [&](const Var& in, const std::optional<Mask>&) -> EncoderRun {
         const Var turned = transpose(in, Axis{0}, Axis{1});
         const auto [ahead, back] = both(turned, std::nullopt, std::nullopt);
         const Var H = transpose(concat({ahead.states, back.states}, Axis{2}), Axis{0}, Axis{1});
         return {H, select(ahead.states, Axis{0}, 0), select(back.states, Axis{0}, 0)};
       },
       {"encoder_reach", "encoder_neighbours"}},
      {"the backward outputs are not turned round again",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         return {concat({ahead.states, reversed_in_time(back.states)}, Axis{2}), ahead.last, back.last};
       },
       {"encoder_reach"}},
      {"both directions read forward",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         const Run again = run(right.backward, in, right.backward.initial(in.shape()[0], f64), m, Direction::forward);
         return {concat({ahead.states, again.states}, Axis{2}), ahead.last, again.last};
       },
       {"encoder_reach"}},
      {"the first padded position is added to the final state",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         const Var third = concat({select(in, Axis{1}, 2), zero_like(narrow(ahead.last, Axis{1}, 0, 1))}, Axis{1});
         return {concat({ahead.states, back.states}, Axis{2}), ahead.last + third, back.last};
       },
       {"encoder_padding"}},
      {"states are divided by the length of the batch",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, m, m);
         return {concat({ahead.states, back.states}, Axis{2}) / static_cast<double>(in.shape()[1]), ahead.last,
                 back.last};
       },
       {"encoder_padding"}},
      {"the last state is taken at the last position, padding or not",
       [&](const Var& in, const std::optional<Mask>& m) -> EncoderRun {
         const auto [ahead, back] = both(in, std::nullopt, m);
         return {concat({ahead.states, back.states}, Axis{2}), select(ahead.states, Axis{1}, in.shape()[1] - 1),
                 back.last};
       },
       {"encoder_padding"}},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    const EncoderUnderTest encoder{row.name, row.encode};
    for (const Probe& probe : {probe_encoder_reach(encoder, x, mask), probe_encoder_padding(encoder, x, mask),
                               probe_encoder_neighbours(encoder, x, mask)}) {
      INFO(probe.picture());
      const bool named = std::any_of(row.refused_by.begin(), row.refused_by.end(),
                                     [&](const char* name) { return probe.name == name; });
      if (named || row.refused_by.empty()) CHECK(probe.passed != named);
    }
  }
}

// ---- losses

TEST_CASE("mutants: losses") {
  auto by_hand = [](const Var& logits, const Ids& targets, const Mask& counts, bool all, double denominator) {
    const std::int64_t V = logits.shape()[2];
    Var total;
    for (std::int64_t b = 0; b < targets.shape()[0]; ++b) {
      for (std::int64_t t = 0; t < targets.shape()[1]; ++t) {
        if (!all && !counts.at(b, t)) continue;
        const Var row = reshape(select(select(logits, Axis{0}, b), Axis{0}, t), Shape{1, V});
        const Var loss = cross_entropy(row, Ids(Shape{1}, targets.at(b, t)));
        total = total.defined() ? total + loss : loss;
      }
    }
    return total / denominator;
  };
  auto real = [](const Mask& counts) {
    return static_cast<double>(std::count(counts.values().begin(), counts.values().end(), 1));
  };
  auto size = [](const Mask& counts) { return static_cast<double>(counts.size()); };
  struct Tokens {
    const char* name;
    TokenLoss loss;
    const char* says;  // part of the sentence
    bool right = false;
  };
  const Tokens tokens[] = {
      {"the library's", [](const Var& y, const Ids& t, const Mask& m) { return cross_entropy(y, t, m); }, "exact fit",
       true},
      {"by hand", [&](const Var& y, const Ids& t, const Mask& m) { return by_hand(y, t, m, false, real(m)); },
       "exact fit", true},
      {"log_softmax twice is harmless",
       [](const Var& y, const Ids& t, const Mask& m) { return cross_entropy(log_softmax(y, Axis{2}), t, m); },
       "exact fit", true},
      {"DOUBLE_SOFTMAX",
       [](const Var& y, const Ids& t, const Mask& m) { return cross_entropy(softmax(y, Axis{2}), t, m); },
       "sure and right"},
      {"LOSS_DENOM_PADS", [&](const Var& y, const Ids& t, const Mask& m) { return by_hand(y, t, m, false, size(m)); },
       "one more pad"},
      {"LOSS_COUNTS_PADS", [&](const Var& y, const Ids& t, const Mask& m) { return by_hand(y, t, m, true, size(m)); },
       "logits at padding"},
      {"SOFTMAX_OVERFLOW",
       [&](const Var& y, const Ids& t, const Mask& m) {
         return by_hand(log(softmax_by_hand(y, Axis{2})), t, m, false, real(m));
       },
       "sure and right"},
      {"overflow avoided by clipping the logits",
       [](const Var& y, const Ids& t, const Mask& m) { return cross_entropy(700.0 - relu(700.0 - y), t, m); },
       "the same number added"},
      {"the sum instead of the mean",
       [&](const Var& y, const Ids& t, const Mask& m) { return by_hand(y, t, m, false, 1); }, "log V"},
      {"the mask turned round",
       [](const Var& y, const Ids& t, const Mask& m) {
         Mask other = m;
         for (std::int64_t i = 0; i < m.size(); ++i) other[i] = m[i] ? 0 : 1;
         return cross_entropy(y, t, other);
       },
       "logits at padding"},
  };
  for (const Tokens& row : tokens) {
    CAPTURE(std::string(row.name));
    const Probe probe = probe_exact_fit(row.loss, 4);
    INFO(probe.picture());
    CHECK(probe.passed == row.right);
    CHECK(probe.sentence.en.find(row.says) != std::string::npos);
  }
  struct Numbers {
    const char* name;
    RegressionLoss loss;
    bool right = false;
  };
  const Numbers regression[] = {
      {"the library's", [](const Var& p, const Var& t) { return mse(reshape(p, t.shape()), t); }, true},
      {"LOSS_OUTER_BROADCAST",
       [](const Var& p, const Var& t) {
         const std::int64_t n = t.shape()[0];
         return mean(square(expand(p, Axis{1}, n) - expand_new(t, Axis{0}, n)));
       }},
      {"a constant is added", [](const Var& p, const Var& t) { return mse(reshape(p, t.shape()), t) + 0.1; }},
      {"differences are not squared", [](const Var& p, const Var& t) { return mean(reshape(p, t.shape()) - t); }},
      {"means are compared", [](const Var& p, const Var& t) { return square(mean(reshape(p, t.shape())) - mean(t)); }},
  };
  const Tensor p = tensor(Shape{3, 1}, {.2, -.5, 1.4}, f64), t = tensor(Shape{3}, {1, 2, 3}, f64);
  for (const Numbers& row : regression) {
    CAPTURE(std::string(row.name));
    const Probe probe = probe_exact_fit(row.loss, p, t);
    INFO(probe.picture());
    CHECK(probe.passed == row.right);
  }
}

// ---- training that is interrupted

TEST_CASE("mutants: resuming") {
  struct Kept {
    std::vector<Tensor> weights;
    OptimizerState optimizer;
    Generator::State data{};
  };
  struct Row {
    const char* name;
    bool optimizer, steps, data;
    bool right = false;
  };
  const Row rows[] = {
      {"everything is saved", true, true, true, true},
      {"CKPT_OPT_STATE_LOST", false, false, true},
      {"the step count is lost", true, false, true},
      {"the order of the data is lost", true, true, false},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    auto kept = std::make_shared<Kept>();
    const auto fresh = [&row, kept]() -> TrainingUnderTest {
      struct Run {
        Generator init{1, "init"}, data{1, "data"};
        Linear layer = clone(Linear(3, 2, init), f64);
        Adam adam{parameters(layer), {.rate = 0.05}};
      };
      auto run = std::make_shared<Run>();
      TrainingUnderTest training;
      training.train = [run](int steps) {
        for (int k = 0; k < steps; ++k) {
          zero_grad(run->adam.parameters());
          backward(mean(square(run->layer(random_uniform(Shape{4, 3}, -1, 1, run->data, f64)) - 0.5)));
          run->adam.step();
        }
      };
      training.save = [run, kept](const std::string&) {
        kept->weights.clear();
        for (const Parameter& p : run->adam.parameters()) kept->weights.push_back(copy(p.var.value()));
        kept->optimizer = run->adam.state();
        for (auto& [name, numbers] : kept->optimizer.tensors) numbers = copy(numbers);
        kept->data = run->data.state();
      };
      training.restore = [&row, run, kept](const std::string&) {
        for (std::size_t k = 0; k < kept->weights.size(); ++k) {
          copy_(run->adam.parameters()[k].var.mutable_value(), kept->weights[k]);
        }
        OptimizerState state = kept->optimizer;
        if (!row.steps) state.steps = 0;
        if (row.optimizer) run->adam.restore(state);
        if (row.data) run->data.restore(kept->data);
      };
      training.numbers = [run] {
        std::vector<double> all;
        for (const Parameter& p : run->adam.parameters()) {
          for (double w : p.var.value().to_vector()) all.push_back(w);
        }
        return all;
      };
      return training;
    };
    const Probe probe = probe_resume(fresh, 3, "");
    INFO(probe.picture());
    CHECK(probe.passed == row.right);
    CHECK(probe.can_tell);
  }
}
