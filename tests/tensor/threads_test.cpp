// Several threads give the numbers of one, bit for bit.
#include "tensor/kernels/threads.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tensor/matmul.h"
#include "tensor/pointwise.h"
#include "tensor/random.h"
#include "tensor/reduce.h"

using namespace gradus;

namespace gradus::detail {
extern thread_local bool parts_backwards;  // threads.cpp
}

namespace {

// Within it so many threads; afterwards one again.
struct Threads {
  explicit Threads(int count) { use_threads(count); }
  ~Threads() { use_threads(1); }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = contiguous(a), y = contiguous(b);
  return x.shape() == y.shape() && dispatch(x.dtype(), [&](auto t) {
           return std::memcmp(x.data<decltype(t)>(), y.data<decltype(t)>(),
                              static_cast<std::size_t>(x.size()) * sizeof t) == 0;
         });
}

// compute() with 1, 2, 4 and 8 threads, three times each, because who takes which part differs from one time to the
// next; and with the parts from the last to the first.
template <class F> void check_same(F compute) {
  const Tensor alone = compute();
  for (int threads : {2, 4, 8}) {
    const Threads several(threads);
    for (int time = 0; time < 3; ++time) CHECK(same_bits(alone, compute()));
  }
  const Threads several(8);
  detail::parts_backwards = true;
  CHECK(same_bits(alone, compute()));
  detail::parts_backwards = false;
}

Tensor some(const Shape& shape, DType dtype = f32) {
  static Generator generator(7, "threads");
  return random_normal(shape, 0, 1, generator, dtype);
}

}  // namespace

TEST_CASE("threads: every element belongs to one part") {
  const Threads several(4);
  for (std::int64_t n : {0, 1, 7, 64, 1000, 4097}) {
    for (std::int64_t grain : {1, 16, 64}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(n));
      std::atomic<bool> on_grain{true};
      parallel(n, grain, 1e6, [&](std::int64_t first, std::int64_t end) {
        if (first % grain != 0 || (end % grain != 0 && end != n)) on_grain = false;
        for (std::int64_t i = first; i < end; ++i) ++times[static_cast<std::size_t>(i)];
      });
      bool once = true;
      for (const auto& t : times) once = once && t == 1;
      CHECK(once);
      CHECK(on_grain);
    }
  }
}

TEST_CASE("threads: helpers come, and come again after sleeping") {
  if (std::thread::hardware_concurrency() == 1) return;  // there they leave the core to the caller
  const Threads several(2);
  for (int round = 0; round < 2; ++round) {
    std::set<std::thread::id> who;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);  // a busy machine takes its time
    while (std::chrono::steady_clock::now() < end && who.size() < 2) {
      std::atomic<int> other{0};
      const auto self = std::this_thread::get_id();
      parallel(16, 1, 1e6, [&](std::int64_t, std::int64_t) {
        if (std::this_thread::get_id() != self) ++other;
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
        while (std::chrono::steady_clock::now() < until) {}  // who sleeps leaves its own core to the helper
      });
      who.insert(self);
      if (other > 0) who.insert(std::thread::id());
    }
    CHECK(who.size() == 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_CASE("threads: little work and inner work stay with the caller") {
  const Threads several(4);
  const auto self = std::this_thread::get_id();
  int calls = 0;
  parallel(1000, 1, 1000, [&](std::int64_t first, std::int64_t end) {
    ++calls;
    CHECK(std::this_thread::get_id() == self);
    CHECK(end - first == 1000);
  });
  CHECK(calls == 1);
  std::atomic<std::int64_t> sum{0};
  parallel(64, 1, 1e6, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      parallel(100, 1, 1e6, [&](std::int64_t from, std::int64_t to) { sum += to - from; });
  });
  CHECK(sum == 6400);
  CHECK_THROWS_WITH_AS(use_threads(0), "use_threads: 0 threads; at least one is needed", ValueError);
}

TEST_CASE("threads: of errors that of the first part arrives, and work goes on after it") {
  const Threads several(4);
  for (int time = 0; time < 20; ++time) {
    std::string text;
    try {
      parallel(64, 1, 1e6, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t i = first; i < end; ++i) {
          if (i >= 20) throw std::runtime_error("row " + std::to_string(i));
        }
      });
    } catch (const std::runtime_error& error) { text = error.what(); }
    CHECK(text == "row 20");
  }
  Mask mask(Shape{4096, 64}, true);
  for (std::int64_t row : {100, 4000}) {
    for (std::int64_t i = 0; i < 64; ++i) mask[row * 64 + i] = false;
  }
  const Tensor scores = some(Shape{4096, 64});
  CHECK_THROWS_WITH_AS(softmax(scores, Axis{1}, &mask), doctest::Contains("row 100 of the mask"), ValueError);
  CHECK_NOTHROW(softmax(scores, Axis{1}));
}

TEST_CASE("threads: two callers at once") {
  const Tensor a = some(Shape{128, 256}), b = some(Shape{256, 256}), alone = matmul(a, b);
  std::atomic<bool> same{true};
  auto many = [&] {
    const Threads several(2);
    for (int time = 0; time < 50; ++time) {
      if (!same_bits(matmul(a, b), alone)) same = false;
    }
  };
  std::thread beside(many);
  many();
  beside.join();
  CHECK(same);
}

TEST_CASE("threads: matrix products") {
  Generator sizes(3, "sizes");
  auto size = [&](std::int64_t most) { return 1 + sizes.below(most); };
  for (int time = 0; time < 20; ++time) {
    const DType dtype = time % 3 == 2 ? f64 : f32;
    const std::int64_t m = size(300), n = size(400), k = size(time % 4 == 0 ? 1500 : 300);
    const bool turn_a = time % 2 == 1, turn_b = time % 5 < 2, turn_c = time % 7 == 3, add = time % 2 == 0;
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const Tensor a = turn_a ? transpose(some(Shape{k, m}, dtype)) : some(Shape{m, k}, dtype);
    const Tensor b = turn_b ? transpose(some(Shape{n, k}, dtype)) : some(Shape{k, n}, dtype);
    const Tensor before = some(turn_c ? Shape{n, m} : Shape{m, n}, dtype);
    check_same([&] {
      Tensor c = copy(before);
      Tensor seen = turn_c ? transpose(c) : c;
      matmul_into(seen, a, b, add);
      return c;
    });
  }
}

TEST_CASE("threads: pointwise loops, sums and softmax") {
  auto f = [](auto x, auto y, auto z) { return tanh(x) * y + exp(-z * z); };
  for (DType dtype : {f32, f64}) {
    const Tensor x = some(Shape{64, 20, 70}, dtype), y = some(Shape{64, 70}, dtype), z = some(Shape{70, 20, 64}, dtype);
    const Tensor stretched = expand_new(y, Axis{1}, 20);
    check_same([&] { return pointwise("f", f, x, stretched, transpose(z, Axis{0}, Axis{2})); });
    for (int axis : {0, 1, 2}) {
      check_same([&] { return pointwise_sum("f", f, Axis{axis}, x, stretched, transpose(z, Axis{0}, Axis{2})); });
      check_same([&] { return softmax(x, Axis{axis}); });
    }
    check_same([&] { return sum(x); });
    check_same([&] { return copy(transpose(x, Axis{0}, Axis{2})); });
  }
}

TEST_CASE("threads: a target that overlaps what is read is not divided") {
  const Tensor start = some(Shape{3000, 33});
  check_same([&] {
    Tensor x = copy(start);
    Tensor later = narrow(x, Axis{0}, 1, 2999);
    pointwise_into(
        later, [](auto a, auto b) { return a + b * 0.5; }, later, narrow(x, Axis{0}, 0, 2999));
    return x;
  });
  check_same([&] {
    Tensor x = copy(start);
    Tensor left = narrow(x, Axis{1}, 0, 16);
    pointwise_add_into(
        left, [](auto a) { return tanh(a); }, narrow(x, Axis{1}, 16, 16));
    return x;
  });
}
