// xoshiro256++ and what is drawn from it.
#include "tensor/random.h"

#include <bit>
#include <cmath>

// The compiler must not contract a * b + c here, or the last bits would depend on the machine.
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

namespace gradus {
namespace {

__extension__ using Wide = unsigned __int128;

// ln(x) from + - * / alone: x = m 2^e, then 2 atanh((m - 1) / (m + 1)) as a series.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1), square = t * t;
  double sum = 0;
  for (int k = 27; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

}  // namespace

Generator::Generator(std::uint64_t seed, std::string_view stream) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (unsigned char c : stream) hash = (hash ^ c) * 0x100000001b3;
  std::uint64_t x = seed ^ hash;
  for (auto& word : state_) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Generator::next() {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

double Generator::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Generator::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Generator::normal() {
  // The second number of each pair is dropped, so that the state is all there is to save.
  while (true) {
    const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

std::int64_t Generator::below(std::int64_t n) {
  if (n <= 0) throw ValueError("below: n is " + std::to_string(n) + " and must be positive");
  const auto range = static_cast<std::uint64_t>(n);
  const std::uint64_t rejected = (0 - range) % range;
  while (true) {
    const Wide product = static_cast<Wide>(next()) * range;
    if (static_cast<std::uint64_t>(product) >= rejected) return static_cast<std::int64_t>(product >> 64);
  }
}

Tensor random_uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = generator.uniform(low, high);
  return tensor(shape, values, dtype);
}

Tensor random_normal(const Shape& shape, double mean, double deviation, Generator& generator, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = mean + deviation * generator.normal();
  return tensor(shape, values, dtype);
}

}  // namespace gradus
