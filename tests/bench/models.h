// The models of the benchmark: made of the library's layers, with the sizes and the arithmetic of peer_torch.py.
#pragma once

#include "nn/decode.h"
#include "nn/layers.h"
#include "nn/recurrent.h"

namespace gradus::bench {

// The same numbers as in peer_torch.py: element i of parameter k is sin(0.37 i + k) / sqrt(last length), row-major in
// the paper's shape.
void fill_parameters(const std::vector<Parameter>& parameters);

// Ids that look random: (i * 7919 + 13) mod 104729 mod vocab.
Ids some_ids(const Shape& shape, std::int64_t vocab);

// Each model knows its inputs and gives its loss. All take the batch first; the sizes are those of the constructor.
struct Mlp {  // 784-256-256-10
  Linear first, second, third;
  Tensor x;  // (B, 784)
  Ids y;     // (B)
  explicit Mlp(std::int64_t batch);
  Var loss() const;
  double flops() const;
  void visit(Visitor& v);
};

struct GruLanguageModel {  // vocab 64, embeddings of 64
  std::int64_t d;
  Embedding embedding;
  Recurrent gru;
  Linear readout;
  Ids x, y;  // (B, T)
  GruLanguageModel(std::int64_t d, std::int64_t batch, std::int64_t length);
  Var loss() const;
  double flops() const;
  void visit(Visitor& v);
};

// A GRU encoder and a decoder with attention that copies its source; all widths are d.
struct Translator {
  std::int64_t d;
  Embedding source, target;
  Recurrent encoder;
  Ids x, previous;  // (B, T)
  Translator(std::int64_t d, std::int64_t batch, std::int64_t length);
};

struct Bahdanau : Translator {  // the query is s_{t-1}; logits from [s_t; c_t]
  Score score;
  Recurrent cell;
  Linear readout;
  Bahdanau(std::int64_t d, std::int64_t batch, std::int64_t length);
  Var loss() const;
  double flops() const;
  void visit(Visitor& v);
};

struct LuongFeeding : Translator {  // general score, s~_{t-1} fed to the cell
  Var W_a, W_c;
  Recurrent cell;
  Linear readout;
  LuongFeeding(std::int64_t d, std::int64_t batch, std::int64_t length);
  Var loss() const;
  double flops() const;
  void visit(Visitor& v);
};

struct LuongBatched : Translator {  // without feeding: the attention of all steps at once
  Var W_a, W_c;
  Recurrent decoder;
  Linear readout;
  LuongBatched(std::int64_t d, std::int64_t batch, std::int64_t length);
  Var loss() const;
  double flops() const;
  void visit(Visitor& v);
};

// Two pre-norm layers, width 64, four heads, feed-forward 256, causal (Vaswani et al. 2017; Radford et al. 2019).
struct Transformer {
  static constexpr std::int64_t width = 64, heads = 4, inner = 256, vocab = 64;
  struct Norm {
    Var gain, shift;  // (width)
    Var operator()(const Var& h) const;
    void visit(Visitor& v);
  };
  struct Layer {
    Norm before_attention, before_inner;
    Linear qkv, out, up, down;
    void visit(Visitor& v);
  };
  Embedding embedding;
  Var position;  // (T, width)
  std::vector<Layer> layers;
  Norm last;
  Linear readout;
  Ids x, y;     // (B, T)
  Mask causal;  // (B, heads, T, T)
  Transformer(std::int64_t batch, std::int64_t length);
  Var attend(const Layer& layer, const Var& x) const;
  Var loss() const;
  double flops() const;
  void visit(Visitor& v);
};

}  // namespace gradus::bench
