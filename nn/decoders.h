// Decoders with attention, side by side: read `step` of both and compare with the papers. The difference that
// everything turns on is the query: Bahdanau asks with the state before the step, Luong with the state after it.
#pragma once

#include <memory>

#include "nn/attention.h"
#include "nn/layers.h"
#include "nn/recurrent.h"

namespace gradus {

// What one decoder step gives. Undefined fields belong to decoders that do not have them.
struct Step {
  State s_t;             // (B, d_s)
  Var context;           // c_t (B, d_h)
  Var weights;           // alpha_t (B, T_enc)
  Var attentional = {};  // s~_t (B, d_c), Luong only
};

// When the readout looks at the state: Bahdanau et al. 2014 write s_t in section 3.1 and s_{t-1} in the appendix.
enum class ReadoutTime { s_t, s_prev };

struct DecoderSizes {
  std::int64_t vocab, d_emb, d_s, d_h, d_attn;
};

struct DecoderOptions {
  ScoreKind score = ScoreKind::additive;
  CellKind cell = CellKind::gru;
  GruOptions gru = bahdanau2014();
  std::int64_t layers = 1;
  ReadoutTime readout_time = ReadoutTime::s_t;  // Bahdanau only
  bool maxout = false;                          // Bahdanau only: the appendix's readout instead of a linear one
  bool input_feeding = true;                    // Luong only
};

// What the loops in decode.h ask of a decoder. y_emb (B, d_emb) is the embedding of the token before: y_{t-1}.
struct Decoder {
  virtual ~Decoder() = default;
  virtual Memory remember(const Var& H, const std::optional<Mask>& mask) const = 0;  // H (B, T_enc, d_h)
  // s_0 from what the encoder hands over, (B, d_1): with attention its backward state at position 1, h_1 with
  // d_1 = d_h / 2; without attention a summary of the whole source, d_1 = d_h.
  virtual State start(const Var& from_encoder) const = 0;
  virtual Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const = 0;
  // What the readout reads, (B, .), and what it makes of it: (..., .) -> (..., vocab).
  virtual Var features(const Step& step, const Var& y_emb, const State& s_prev) const = 0;
  virtual Var logits(const Var& features) const = 0;
};

// Bahdanau et al. 2014: c_t from s_{t-1}, then s_t from y_{t-1} and c_t.
struct BahdanauDecoder : Decoder {
  DecoderOptions options;
  Linear bridge;  // W_s: s_0 = tanh(W_s h_1(backward))
  Score score;
  Recurrent cell;  // on [y_{t-1}; c_t]
  Linear readout;  // on [s; y_{t-1}; c_t], or on the maxout of it
  Linear maxout;   // U_o, V_o, C_o side by side: (2 l, d_s + d_emb + d_h), with l = d_s; used when options.maxout
  BahdanauDecoder() = default;
  BahdanauDecoder(const DecoderSizes& sizes, const DecoderOptions& options, Generator& generator);
  Memory remember(const Var& H, const std::optional<Mask>& mask) const override;
  State start(const Var& h_1) const override;
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override;
  Var features(const Step& step, const Var& y_emb, const State& s_prev) const override;
  Var logits(const Var& features) const override;
  void visit(Visitor& v);
};

// Luong et al. 2015: s_t first, then c_t from s_t, then s~_t = tanh(W_c [c_t; s_t]).
struct LuongDecoder : Decoder {
  DecoderOptions options;
  Linear bridge;
  Score score;
  Recurrent cell;  // on y_{t-1}, or [y_{t-1}; s~_{t-1}] with input feeding
  Var W_c;         // (d_c, d_h + d_s); d_c, the width of s~, is d_s here
  Linear readout;  // on s~_t
  LuongDecoder() = default;
  LuongDecoder(const DecoderSizes& sizes, const DecoderOptions& options, Generator& generator);
  Memory remember(const Var& H, const std::optional<Mask>& mask) const override;
  State start(const Var& h_1) const override;
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override;
  Var features(const Step& step, const Var& y_emb, const State& s_prev) const override;
  Var logits(const Var& features) const override;
  void visit(Visitor& v);
};

// No attention (Sutskever et al. 2014, Cho et al. 2014): everything the decoder knows of the source is in s_0.
struct PlainDecoder : Decoder {
  DecoderOptions options;
  Linear bridge;
  Recurrent cell;  // on y_{t-1}
  Linear readout;  // on [s_t; y_{t-1}]
  PlainDecoder() = default;
  PlainDecoder(const DecoderSizes& sizes, const DecoderOptions& options, Generator& generator);
  Memory remember(const Var& H, const std::optional<Mask>& mask) const override;
  State start(const Var& summary) const override;
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override;
  Var features(const Step& step, const Var& y_emb, const State& s_prev) const override;
  Var logits(const Var& features) const override;
  void visit(Visitor& v);
};

// Goodfellow et al. 2013: the larger of each neighbouring pair: (..., 2 l) -> (..., l).
Var maxout_pairs(const Var& x);

}  // namespace gradus
