// A character model: a GRU that reads a text and says at each place what comes next.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lessons/common/text.h"
#include "nn/layers.h"
#include "nn/recurrent.h"

namespace gradus::lesson06 {

// A text as characters (of UTF-8). Every tenth line is held out.
struct Corpus {
  std::vector<std::string> characters;  // the vocabulary, in the order of their codes
  std::vector<std::int32_t> train, held_out;
  // Ids of a text; characters that are not in the vocabulary are left out.
  std::vector<std::int32_t> encode(const std::string& text) const;
};
Corpus make_corpus(const std::string& text);
// The course's own pages, English or Chinese, as they were when this lesson was written: text/en.txt, text/zh.txt.
// Throws FileError when they are not found above this program or the current directory.
Corpus course_text(Lang lang);
// Bits a character when only the frequencies in the training text are known (characters not in it get half a count).
double frequency_bits(const Corpus& corpus);

struct CharNet {
  Embedding embedding;  // (V, d_emb)
  Recurrent cell;       // GRU
  Linear readout;       // (V, d_s)
  CharNet() = default;
  CharNet(std::int64_t vocab, Generator& generator);
  void visit(Visitor& v);
};

// Truncated backpropagation through time: 16 places of the text at once, windows of 32 characters, the state handed on
// from window to window without its history.
struct CharTraining {
  CharNet net;
  std::int64_t step = 0;
  double bits = 0;  // running mean of the training loss over about ten windows, in bits a character
};
CharTraining train_text(const Corpus& corpus, std::int64_t steps, std::uint64_t seed,
                        const std::function<bool(const CharTraining&)>& after);

// Bits a character on a text, the state carried through it all, or set to zero again every `reset` characters (0:
// never).
double bits_per_character(const CharNet& net, const std::vector<std::int32_t>& text, std::int64_t reset);

// `count` characters after `prompt`, each drawn from softmax(logits / T).
std::string sample(const CharNet& net, const Corpus& corpus, const std::string& prompt, std::int64_t count, double T,
                   Generator& generator);

}  // namespace gradus::lesson06
