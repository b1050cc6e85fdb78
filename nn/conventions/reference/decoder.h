// Attention decoders with teacher forcing. What enters the cell, the query and the readout are lists of parts, so a
// convention and a mistake are both a few words of data: query {s_prev} is Bahdanau et al. 2014, query {s_t} is Luong
// et al.
#pragma once

#include "nn/conventions/reference/attention.h"
#include "nn/conventions/reference/rnn.h"

namespace gradus::reference {

// A quantity of the decoder. state: h of the top layer. cell_state: c of an LSTM's top layer. bottom_state: h of layer
// 0. mean_state, all_states: the mean and the concatenation of all layers' h. attentional: tanh(W_c [c; s]);
// before_tanh: W_c [c; s]. first_input: y_emb[:, 0] at every step.
enum class What {
  y_emb,
  state,
  cell_state,
  bottom_state,
  mean_state,
  all_states,
  context,
  attentional,
  before_tanh,
  first_input
};

// A quantity some steps ago: lag 0 belongs to the step that consumes y_emb[:, t], lag 1 to the step before, and so on;
// -1 is meant for y_emb only (the next input). Before the first step states are s_0, the attentional vector is what
// FirstFed says, everything else is zero.
struct Part {
  What what;
  int lag = 0;
  friend bool operator==(const Part&, const Part&) = default;
};
using Parts = std::vector<Part>;

inline constexpr Part y_emb{What::y_emb, 0};
inline constexpr Part s_t{What::state, 0};
inline constexpr Part s_prev{What::state, 1};
inline constexpr Part c_t{What::context, 0};
inline constexpr Part c_prev{What::context, 1};
inline constexpr Part htilde{What::attentional, 0};
inline constexpr Part htilde_prev{What::attentional, 1};

// linear: W_o [parts] + b_o. maxout: t = U_o s + V_o y + C_o c, the larger of each pair of t, then W_o (Bahdanau et al.
// 2014, appendix A.2.2); pairs are neighbours in the paper, the two halves in some code.
enum class Readout { linear, maxout, maxout_halves };

// Where s_0 comes from. backward_first: tanh(W_s h_1(backward)) (Bahdanau et al. 2014), for H = [forward; backward];
// forward_last, both_ends = [forward_T; backward_1] and mean likewise, through W_s (and b_s if it is there). Mistakes:
// backward_last and forward_first, where a direction has read one word only; mean_of_all, padding among it.
enum class InitialState {
  given,
  zeros,
  backward_first,
  forward_last,
  backward_last,
  forward_first,
  both_ends,
  mean,
  mean_of_all
};

// What a step hands on as the state of the next: s_{t-1}. Mistakes: every step starts again from s_0; the attentional
// vector or the context of the step before takes the state's place.
enum class Carry { previous, initial, attentional, context };

// The attentional vector before the first step. projected: tanh(W_c [0; s_0]); last_position: the last real row of H.
enum class FirstFed { zeros, state, projected, last_position };

struct DecoderConvention {
  CellConvention cell = GruConvention{};
  std::size_t layers = 1;
  bool attends = true;  // false: no weights, no context
  AttentionConvention attention;
  Parts query = {s_prev};
  Parts cell_input = {y_emb, c_t};
  Parts attentional;  // what W_c multiplies; empty: there is no attentional vector
  Activation attentional_activation = Activation::tanh;
  Parts readout = {s_t, y_emb, c_t};
  Readout readout_form = Readout::linear;
  InitialState initial = InitialState::given;
  Activation initial_activation = Activation::tanh;
  Carry carry = Carry::previous;
  FirstFed first_fed = FirstFed::zeros;
};

// One bag in, one bag out, batch first; layer k > 0 adds the suffix "_lk" to cell parameters and initial states.
//
// Inputs: H (B, T_enc, d_h), y_emb (B, T_dec, d_emb), s_0 (B, d_s). Optional: mask (B, T_enc; nonzero = real), y_mask
// (B, T_dec; read by MaskRead::queries), cell_0 (B, d_s; an LSTM's memory, zeros without).
//
// Parameters: W U b b_u of the cell on [cell_input]; W_a U_a v_a b_a b_v of the score; W_c [b_c]; W_o [b_o];
// U_o V_o C_o for maxout; W_s [b_s] for the initial state.
//
// Outputs: s (B, T_dec+1, d_s) with s[:, 0] = s_0, m likewise for an LSTM's memory, e and alpha (B, T_dec, T_enc),
// c (B, T_dec, d_v), htilde (B, T_dec, d_c) if there is a W_c, logits (B, T_dec, vocab) if there is a W_o.
//
// Throws std::invalid_argument if the parts form a circle (c_t in the cell, s_t in the query).
Arrays decode(const DecoderConvention& convention, const Arrays& given);

// A forward whose central differences in `given`, taken at given = still, are what a wrong backward computes; there its
// values are those of decode(convention, given).
Arrays decode(const DecoderConvention& convention, const Arrays& given, const Arrays& still,
              const Intervention& intervention);

// Bahdanau et al. 2014: query s_{t-1}, cell on [y; c_t], readout of [s_t; y; c_t].
DecoderConvention bahdanau2014();
// The readout of the paper's appendix: maxout of s_{t-1}, y and c_t.
DecoderConvention bahdanau2014_maxout();
// Luong et al. 2015: query s_t, htilde = tanh(W_c [c_t; s_t]), logits from htilde, and htilde fed with the next input.
DecoderConvention luong2015(Score score, bool input_feeding);
// No attention: the cell on y, logits from s_t.
DecoderConvention none();

}  // namespace gradus::reference
