// A decoder that does what its Choices say, right or wrong. Compare with nn/decoders.cpp, where each paper's decoder is
// written out.
#pragma once

#include "lessons/11_conventions/choices.h"
#include "nn/conventions/to_reference.h"

namespace gradus::lesson11 {

struct DrawnDecoder : Decoder {
  Choices choices;
  Linear bridge;
  Score score;
  Var W_l;  // (T_enc, d_s): a score of the query alone, one row a position
  Gru cell;
  Var W_c;  // (d_s, d_h + d_s)
  Linear readout;

  DrawnDecoder() = default;
  DrawnDecoder(const Choices& choices, const DecoderSizes& sizes, std::int64_t T_enc, Generator& generator);
  Memory remember(const Var& H, const std::optional<Mask>& mask) const override;
  State start(const Var& h_1) const override;
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override;
  Var features(const Step& step, const Var& y_emb, const State& s_prev) const override;
  Var logits(const Var& features) const override;
  void visit(Visitor& v);

 private:
  Attended look(const Var& query, const Memory& memory) const;
  Var scores(const Var& query, const Memory& memory) const;
  Var weights(const Var& scores, const std::optional<Mask>& mask) const;
  State next_state(const Var& x, const State& s_prev) const;
};

// Under the names that the reference check and a diagnosis know them by.
std::vector<Parameter> reference_parameters(const DrawnDecoder& decoder);
DecoderUnderTest under_test(const DrawnDecoder& decoder);  // the decoder must outlive it

}  // namespace gradus::lesson11
