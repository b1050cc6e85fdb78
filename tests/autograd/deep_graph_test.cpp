// Graphs so deep or so wide that recursion would overflow: on a thread with a stack of 256 KiB.
#include <pthread.h>

#include <chrono>

#include "autograd/ops.h"
#include "tests/tensor/check.h"
#include "tests/tensor/child.h"

namespace gradus::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr int depth = 100'000;  // the sanitizer keeps more on the stack and more in memory
constexpr std::size_t stack_bytes = 1 << 20;
#else
constexpr int depth = 1'000'000;
constexpr std::size_t stack_bytes = 256 << 10;
#endif

// Runs `work` on a thread with a small stack and waits for it.
void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                (*static_cast<std::function<void()>*>(argument))();
                return nullptr;
              },
              &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_SUITE_BEGIN("deep graphs");

TEST_CASE("a chain of 10^6 ops: built, walked back and destroyed on a stack of 256 KiB") {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  double slope = 0;
  on_small_stack([&] {
    const Var x = parameter(tensor(Shape{}, {0.5}, f64));
    Var y = x;
    for (int i = 0; i < depth; ++i) y = -y;
    backward(y);
    slope = x.grad().item();
  });
  CHECK(slope == (depth % 2 == 0 ? 1 : -1));
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}
TEST_CASE("a chain of 10^6 ops that is dropped without backward") {
  const std::int64_t nodes = live_nodes();
  on_small_stack([&] {
    Var y = parameter(tensor(Shape{}, {0.5}, f64));
    for (int i = 0; i < depth; ++i) y = -y;
  });
  CHECK(live_nodes() == nodes);
}
TEST_CASE("a chain of 10^6 ops that is kept by backward and then dropped") {
  const std::int64_t nodes = live_nodes();
  on_small_stack([&] {
    const Var x = parameter(tensor(Shape{}, {0.5}, f64));
    Var y = x;
    for (int i = 0; i < depth; ++i) y = -y;
    backward(y, Graph::keep);
  });
  CHECK(live_nodes() == nodes);
}
TEST_CASE("a chain of 10^5 views that nobody holds: the gradient reaches its base") {
  CHECK(in_child([] {
          const std::int64_t nodes = live_nodes();
          std::vector<double> slopes;
          on_small_stack([&] {
            const Var x = parameter(tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64));
            Var y = x;
            for (int i = 0; i < 100'000; ++i) y = transpose(y);
            const Var loss = sum(y * 2.0);
            y = Var();
            backward(loss);
            slopes = elements(x.grad());
          });
          return same(slopes, std::vector<double>(6, 2.0)) && live_nodes() == nodes;
        }) == 0);
}
TEST_CASE("a chain of 10^6 views dropped without backward") {
  const std::int64_t nodes = live_nodes();
  on_small_stack([&] {
    Var y = parameter(zeros(Shape{2, 3}));
    for (int i = 0; i < depth; ++i) y = transpose(y);
  });
  CHECK(live_nodes() == nodes);
}
TEST_CASE("a ladder of 10^5 rungs, where every node is used twice") {
  const std::int64_t nodes = live_nodes();
  double slope = 0;
  on_small_stack([&] {
    const Var x = parameter(tensor(Shape{}, {1}, f64));
    Var y = x;
    for (int i = 0; i < 100'000; ++i) y = (y + y) * 0.5;
    backward(y);
    slope = x.grad().item();
  });
  CHECK(slope == 1);
  CHECK(live_nodes() == nodes);
}
TEST_CASE("one leaf used 10^5 times") {
  const Var x = parameter(tensor(Shape{}, {1}, f64));
  Var total = x;
  for (int i = 1; i < 100'000; ++i) total = total + x;
  backward(total);
  CHECK(x.grad().item() == 100'000);
}
TEST_CASE("a fan-in of 10^5 inputs to one op") {
  const std::int64_t nodes = live_nodes();
  on_small_stack([&] {
    const Var x = parameter(tensor(Shape{1}, {1}, f64));
    std::vector<Var> parts;
    for (int i = 0; i < 100'000; ++i) parts.push_back(x * 2.0);
    const Var joined = concat(parts, Axis{0});
    parts.clear();
    backward(sum(joined));
    CHECK(x.grad().item() == 200'000);
  });
  CHECK(live_nodes() == nodes);
}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("backward and destruction take time in proportion to the graph") {
  auto seconds = [](int length) {
    const auto start = std::chrono::steady_clock::now();
    const Var x = parameter(tensor(Shape{}, {0.5}, f64));
    Var y = x;
    for (int i = 0; i < length; ++i) y = -y;
    backward(y);
    y = Var();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(20'000);
  const double small = seconds(20'000), large = seconds(200'000);
  CHECK(large < 60 * small + 0.5);  // ten times is expected; a hundred would be quadratic
}
#endif

TEST_SUITE_END();

}  // namespace gradus::testing
