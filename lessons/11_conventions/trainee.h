// One of the twelve: an encoder, its decoder, and the training of both on a small copy task.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>

#include "lessons/11_conventions/decoder.h"
#include "nn/decode.h"
#include "nn/optimizer.h"

namespace gradus::lesson11 {

// The task: three to six digits out of 0..5, to be written again and then closed by `closing` up to position 6. Lengths
// are mixed in a batch, so there is padding, and a mask.
inline constexpr std::int32_t digits = 6, closing = 6, first_input = 7;
inline constexpr std::int64_t longest = 6;
struct Batch {
  Ids source, target, previous;  // (B, longest): read, to be written, the word before
  Mask mask;                     // (B, longest)
};
Batch draw_batch(std::int64_t size, Generator& generator);

struct Model {
  Embedding source, target;
  Bidirectional encoder;
  DrawnDecoder decoder;
  Model() = default;
  Model(const Choices& choices, Generator& generator);
  Decoded teach(const Batch& batch) const;
  void visit(Visitor& v);
};

struct Trainee {
  Choices choices;
  Model model;
  std::int64_t step = 0;
  double loss = 0;
  Trainee(const Choices& choices, std::uint64_t seed, std::size_t number);
  // Until `steps` are done or Ctrl-C was pressed; `after` sees each step.
  void train(std::int64_t steps, const std::function<void(const Trainee&)>& after);
  // Share of right words, greedy on its own outputs, over `sequences` fresh ones.
  double accuracy(std::int64_t sequences, std::uint64_t seed) const;
  void save(const std::filesystem::path& file);
  void load(const std::filesystem::path& file);  // throws FileError for a file of another seed or decoder

 private:
  std::uint64_t seed_;
  Generator data_;
  std::vector<Parameter> parameters_;
  Adam adam_;
};

}  // namespace gradus::lesson11
