// The generator against an independent transcription of the published algorithms, and the properties it promises.
#include "tensor/random.h"

#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

// Blackman & Vigna's reference code, transcribed from the papers; kept apart from the engine's.
struct ReferenceXoshiro {
  std::uint64_t s0, s1, s2, s3;
  static std::uint64_t rotate(std::uint64_t x, unsigned k) { return (x << k) | (x >> (64u - k)); }
  std::uint64_t next() {
    const std::uint64_t out = rotate(s0 + s3, 23) + s0;
    const std::uint64_t shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = rotate(s3, 45);
    return out;
  }
};
struct ReferenceSplitmix {
  std::uint64_t x;
  std::uint64_t next() {
    x += 11400714819323198485u;
    std::uint64_t z = x;
    z ^= z >> 30;
    z *= 13787848793156543929u;
    z ^= z >> 27;
    z *= 10723151780598845931u;
    return z ^ (z >> 31);
  }
};
std::uint64_t reference_hash(const std::string& name) {  // FNV-1a, 64 bits
  std::uint64_t hash = 14695981039346656037u;
  for (char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211u;
  }
  return hash;
}
ReferenceXoshiro reference(std::uint64_t seed, const std::string& stream) {
  ReferenceSplitmix fill{seed ^ reference_hash(stream)};
  const std::uint64_t a = fill.next(), b = fill.next(), c = fill.next(), d = fill.next();
  return {a, b, c, d};
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};
Moments moments(const std::vector<double>& x) {
  const double n = static_cast<double>(x.size());
  Moments m;
  for (double value : x) m.mean += value / n;
  double third = 0, fourth = 0;
  for (double value : x) {
    const double d = value - m.mean;
    m.variance += d * d / n;
    third += d * d * d / n;
    fourth += d * d * d * d / n;
  }
  m.skew = third / std::pow(m.variance, 1.5);
  m.kurtosis = fourth / (m.variance * m.variance);
  return m;
}

}  // namespace

TEST_SUITE_BEGIN("random numbers");

TEST_CASE("the constants of the transcription are the published ones") {
  // splitmix64 of state 0 gives this first number (Vigna's page, and Java's SplittableRandom); xoshiro256++ from
  // 1 2 3 4 gives 41943041 first.
  CHECK(ReferenceSplitmix{0}.next() == 0xe220a8397b1dcdafu);
  CHECK(ReferenceXoshiro{1, 2, 3, 4}.next() == 41943041u);
  CHECK(reference_hash("a") == 0xaf63dc4c8601ec8cu);
}
TEST_CASE("from state 1 2 3 4 come the first ten numbers of xoshiro256++") {
  Generator generator(0);
  generator.restore({1, 2, 3, 4});
  for (std::uint64_t want : {41943041u, 58720359u}) CHECK(generator.next() == want);
  CHECK(generator.next() == 3588806011781223u);
  CHECK(generator.next() == 3591011842654386u);
  CHECK(generator.next() == 9228616714210784205u);
  CHECK(generator.next() == 9973669472204895162u);
  CHECK(generator.next() == 14011001112246962877u);
  CHECK(generator.next() == 12406186145184390807u);
  CHECK(generator.next() == 15849039046786891736u);
  CHECK(generator.next() == 10450023813501588000u);
}
TEST_CASE("seed and stream fill the state as documented") {
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, ~std::uint64_t{0}}) {
    for (const char* stream : {"", "init", "data", "dropout"}) {
      INFO(seed, " ", std::string(stream));
      Generator generator(seed, stream);
      ReferenceXoshiro want = reference(seed, stream);
      for (int i = 0; i < 1000; ++i) REQUIRE(generator.next() == want.next());
    }
  }
}
TEST_CASE("uniform numbers are the upper 53 bits") {
  Generator generator(7, "u");
  ReferenceXoshiro want = reference(7, "u");
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(generator.uniform() == std::ldexp(static_cast<double>(want.next() / 2048), -53));
  }
}
TEST_CASE("uniform numbers fill [0, 1) evenly") {
  Generator generator(1);
  std::vector<double> x(100'000);
  for (double& value : x) value = generator.uniform();
  const Moments m = moments(x);
  CHECK(*std::min_element(x.begin(), x.end()) >= 0);
  CHECK(*std::max_element(x.begin(), x.end()) < 1);
  CHECK(std::fabs(m.mean - 0.5) < 0.005);
  CHECK(std::fabs(m.variance - 1.0 / 12) < 0.001);
}
TEST_CASE("uniform numbers in a range stay inside") {
  Generator generator(2);
  for (int i = 0; i < 10'000; ++i) {
    const double x = generator.uniform(-3, 5);
    REQUIRE(x >= -3);
    REQUIRE(x < 5);
  }
}
TEST_CASE("normal numbers have the moments of the normal distribution") {
  Generator generator(3);
  std::vector<double> x(200'000);
  for (double& value : x) value = generator.normal();
  const Moments m = moments(x);
  CHECK(std::fabs(m.mean) < 0.01);
  CHECK(std::fabs(m.variance - 1) < 0.015);
  CHECK(std::fabs(m.skew) < 0.025);
  CHECK(std::fabs(m.kurtosis - 3) < 0.06);
  const double beyond_two =
      static_cast<double>(std::count_if(x.begin(), x.end(), [](double v) { return std::fabs(v) > 2; }));
  CHECK(std::fabs(beyond_two / 200'000 - 0.0455) < 0.002);
}
TEST_CASE("normal numbers are Marsaglia's polar method") {
  Generator generator(4, "n");
  ReferenceXoshiro bits = reference(4, "n");
  auto uniform = [&] { return std::ldexp(static_cast<double>(bits.next() >> 11), -53); };
  for (int i = 0; i < 1000; ++i) {
    double u, s;
    do {
      u = 2 * uniform() - 1;
      const double v = 2 * uniform() - 1;
      s = u * u + v * v;
    } while (s >= 1 || s == 0);
    REQUIRE(near(generator.normal(), u * std::sqrt(-2 * std::log(s) / s), 1e-14));
  }
}
TEST_CASE("below is unbiased") {
  Generator generator(5);
  for (std::int64_t n : {2, 3, 7, 10}) {
    std::vector<double> count(static_cast<std::size_t>(n), 0.0);
    for (int i = 0; i < 70'000; ++i) count[static_cast<std::size_t>(generator.below(n))] += 1;
    double chi = 0;
    const double want = 70'000.0 / static_cast<double>(n);
    for (double c : count) chi += (c - want) * (c - want) / want;
    CAPTURE(n);
    CHECK(chi < 30);  // 9 degrees of freedom at most: 30 is beyond the 0.9995 quantile
  }
}
TEST_CASE("below a huge n is unbiased, which needs the rejection") {
  // n = 3/8 of 2^64: a plain remainder hits the lower numbers more often, and a multiplication without rejection gives
  // remainders by 3 of 3/8, 3/8 and 2/8.
  const std::int64_t n = 3 * (std::int64_t{1} << 61);
  Generator generator(6);
  int lower = 0, by_remainder[3] = {};
  for (int i = 0; i < 30'000; ++i) {
    const std::int64_t x = generator.below(n);
    lower += x < n / 3;
    ++by_remainder[x % 3];
  }
  CHECK(std::abs(lower - 10'000) < 400);
  for (int count : by_remainder) CHECK(std::abs(count - 10'000) < 400);
}
TEST_CASE("below 1 is 0, and the edges are in range") {
  Generator generator(7);
  bool zero = false, last = false;
  for (int i = 0; i < 1000; ++i) {
    CHECK(generator.below(1) == 0);
    const std::int64_t x = generator.below(5);
    zero = zero || x == 0;
    last = last || x == 4;
    REQUIRE((x >= 0 && x < 5));
  }
  CHECK((zero && last));
  CHECK(generator.below(std::numeric_limits<std::int64_t>::max()) >= 0);
}
TEST_CASE("below refuses 0 and less, with the number in the text") {
  Generator generator(8);
  CHECK(message_of<ValueError>([&] { generator.below(0); }) == "below: n is 0 and must be positive");
  CHECK(message_of<ValueError>([&] { generator.below(-4); }) == "below: n is -4 and must be positive");
}
TEST_CASE("chance hits as often as it says") {
  Generator generator(9);
  for (double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    int hits = 0;
    for (int i = 0; i < 20'000; ++i) hits += generator.chance(p);
    CHECK(std::fabs(hits / 20'000.0 - p) < 0.012);
    if (p == 0.0) CHECK(hits == 0);
    if (p == 1.0) CHECK(hits == 20'000);
  }
}
TEST_CASE("one seed gives the same numbers twice") {
  Generator a(10, "x"), b(10, "x");
  for (int i = 0; i < 100; ++i) CHECK(a.next() == b.next());
}
TEST_CASE("streams do not depend on what another has drawn") {
  Generator init(11, "init"), data(11, "data"), fresh(11, "data");
  for (int i = 0; i < 17; ++i) init.next();
  CHECK(data.next() == fresh.next());
}
TEST_CASE("streams and seeds are uncorrelated") {
  for (auto [a, b] : {std::pair{Generator(12, "a"), Generator(12, "b")}, std::pair{Generator(12), Generator(13)},
                      std::pair{Generator(0, "a"), Generator(1, "a")}}) {
    double product = 0;
    for (int i = 0; i < 50'000; ++i) product += (a.uniform() - 0.5) * (b.uniform() - 0.5) * 12 / 50'000;
    CHECK(std::fabs(product) < 0.02);
  }
}
TEST_CASE("a saved state continues where it stopped, also in the middle of normal numbers") {
  Generator generator(14, "save");
  for (int i = 0; i < 7; ++i) generator.normal();
  const Generator::State state = generator.state();
  std::vector<double> first, again;
  for (int i = 0; i < 20; ++i) first.push_back(generator.normal());
  Generator other(99);
  other.restore(state);
  for (int i = 0; i < 20; ++i) again.push_back(other.normal());
  CHECK(same(first, again));
}
TEST_CASE("shuffle_ permutes") {
  Generator generator(15);
  std::vector<int> items(50);
  for (int i = 0; i < 50; ++i) items[static_cast<std::size_t>(i)] = i;
  std::vector<int> shuffled = items;
  shuffle_(shuffled, generator);
  CHECK(shuffled != items);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == items);
}
TEST_CASE("shuffle_ reaches all orders equally often") {
  Generator generator(16);
  int count[27] = {};
  for (int i = 0; i < 12'000; ++i) {
    std::vector<int> x{0, 1, 2};
    shuffle_(x, generator);
    ++count[9 * x[0] + 3 * x[1] + x[2]];
  }
  for (int c : count) CHECK((c == 0 || std::abs(c - 2000) < 200));
}
TEST_CASE("shuffle_ leaves nothing and one alone") {
  Generator generator(17);
  const Generator::State state = generator.state();
  std::vector<int> none, one{5};
  shuffle_(none, generator);
  shuffle_(one, generator);
  CHECK(one == std::vector<int>{5});
  CHECK(generator.state() == state);
}
TEST_CASE("random tensors draw in row-major order, rounding last") {
  Generator a(18), b(18), c(18);
  const Tensor wide = random_uniform(Shape{2, 3}, -1, 1, a, f64),
               narrow_numbers = random_uniform(Shape{2, 3}, -1, 1, b, f32);
  for (std::size_t i = 0; i < 6; ++i) {
    const double want = c.uniform(-1, 1);
    CHECK(elements(wide)[i] == want);
    CHECK(elements(narrow_numbers)[i] == static_cast<double>(static_cast<float>(want)));
  }
}
TEST_CASE("random_normal has the mean and deviation asked for") {
  Generator generator(19);
  const Moments m = moments(elements(random_normal(Shape{200, 200}, 3, 0.5, generator, f64)));
  CHECK(std::fabs(m.mean - 3) < 0.01);
  CHECK(std::fabs(std::sqrt(m.variance) - 0.5) < 0.01);
}
TEST_CASE("an empty random tensor draws nothing") {
  Generator generator(20);
  const Generator::State state = generator.state();
  CHECK(random_uniform(Shape{0, 3}, 0, 1, generator).size() == 0);
  CHECK(generator.state() == state);
}

TEST_SUITE_END();

}  // namespace gradus::testing
