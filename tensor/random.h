// Random numbers that are the same on every machine and compiler: one seed, one named stream per purpose.
//
//   Generator init(7, "init"), data(7, "data");   // independent of each other, whatever the other has drawn
//
// Algorithm: xoshiro256++ (Blackman & Vigna 2018), its state filled by splitmix64 from the seed xor the FNV-1a hash of
// the stream's name. Uniform numbers take the upper 53 bits; integers use Lemire's multiply-and-reject (2019); normal
// numbers use Marsaglia's polar method with a logarithm of our own, because libraries differ in the last bit of theirs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace gradus {

class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::string_view stream = "");
  std::uint64_t next();                     // 64 random bits
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  double normal();                          // mean 0, deviation 1
  std::int64_t below(std::int64_t n);       // 0 .. n-1, unbiased; throws ValueError unless n > 0
  bool chance(double probability) { return uniform() < probability; }

  using State = std::array<std::uint64_t, 4>;
  const State& state() const { return state_; }  // for checkpoints
  void restore(const State& state) { state_ = state; }

 private:
  State state_{};
};

// Fisher-Yates from the back.
template <class T> void shuffle_(std::vector<T>& items, Generator& generator) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<std::size_t>(generator.below(static_cast<std::int64_t>(i)))]);
  }
}

Tensor random_uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype = f32);
Tensor random_normal(const Shape& shape, double mean, double deviation, Generator& generator, DType dtype = f32);

}  // namespace gradus
