// The memory behind tensors: counting, reuse, alignment, lifetime.
#include "tensor/buffer.h"

#include <atomic>
#include <thread>

#include "tensor/kernels/pool.h"
#include "tests/tensor/check.h"

namespace gradus::testing {

TEST_SUITE_BEGIN("tensor memory");

TEST_CASE("live_buffers counts what exists and returns to where it was") {
  const std::int64_t before = live_buffers();
  {
    const Tensor a = zeros(Shape{10});
    CHECK(live_buffers() == before + 1);
    const Tensor view = reshape(a, Shape{2, 5}), same_tensor = a;
    CHECK(live_buffers() == before + 1);
    const Tensor b = copy(a);
    CHECK(live_buffers() == before + 2);
  }
  CHECK(live_buffers() == before);
}

TEST_CASE("every op on tensors gives back what it borrowed") {
  const std::int64_t before = live_buffers();
  for (Layout layout : all_layouts) {
    Tensor x = laid_out(layout, Shape{3, 4, 5}, Numbers(1).many(60, -1, 1), f64);
    static_cast<void>(x.to(f32));
    static_cast<void>(x.to_vector());
    static_cast<void>(contiguous(x));
    static_cast<void>(reshape(x, Shape{60}));
    fill_(x, 1);
    add_(x, zeros_like(x));
  }
  CHECK(live_buffers() == before);
}

TEST_CASE("nothing is left behind when an allocation is refused") {
  const std::int64_t before = live_buffers();
  CHECK_THROWS_AS(zeros(Shape{std::int64_t{1} << 61}), ShapeError);
  CHECK_THROWS_AS(tensor(Shape{2}, {1, 2, 3}), ShapeError);
  CHECK(live_buffers() == before);
}

TEST_CASE("buffers start on a 64-byte boundary whatever their size") {
  for (std::size_t bytes : {0, 1, 4, 63, 64, 65, 100, 4096, 1 << 20, 5 << 20}) {
    CAPTURE(bytes);
    const Ref<Buffer> buffer = Buffer::allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64 == 0);
    std::memset(buffer->data(), 0xab, bytes);
  }
}

TEST_CASE("a new buffer starts at version 0, also on a reused block") {
  for (int i = 0; i < 3; ++i) {
    const Ref<Buffer> buffer = Buffer::allocate(256);
    CHECK(buffer->version == 0);
    buffer->version = 77;
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a freed block of the same size class is used again") {
  void* first = pool_allocate(1000);
  pool_free(first, 1000);
  void* second = pool_allocate(1000);
  CHECK(first == second);
  pool_free(second, 1000);
}

TEST_CASE("a block is not handed to a request of another size class") {
  void* small = pool_allocate(100);
  pool_free(small, 100);
  void* large = pool_allocate(5000);
  CHECK(small != large);
  pool_free(large, 5000);
}
#endif

TEST_CASE("blocks in use never overlap") {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  Numbers numbers(9);
  for (int i = 0; i < 400; ++i) {
    const auto bytes = static_cast<std::size_t>(1 + numbers.below(i % 10 == 0 ? 70000 : 700));
    blocks.emplace_back(static_cast<unsigned char*>(pool_allocate(bytes)), bytes);
    std::memset(blocks.back().first, i % 251, bytes);
    if (i % 3 == 2) {
      pool_free(blocks[blocks.size() - 2].first, blocks[blocks.size() - 2].second);
      blocks.erase(blocks.end() - 2);
    }
  }
  std::sort(blocks.begin(), blocks.end());
  bool apart = true;
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    apart = apart && blocks[i - 1].first + blocks[i - 1].second <= blocks[i].first;
  }
  CHECK(apart);
  for (auto [block, bytes] : blocks) pool_free(block, bytes);
}

TEST_CASE("trimming gives waiting blocks back and the pool goes on working") {
  pool_free(pool_allocate(4096), 4096);
  pool_trim();
  void* block = pool_allocate(4096);
  std::memset(block, 1, 4096);
  pool_free(block, 4096);
}

TEST_CASE("an impossible size is bad_alloc, not a wrapped small one") {
  CHECK_THROWS_AS(Buffer::allocate(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  CHECK_THROWS_AS(Buffer::allocate(std::numeric_limits<std::size_t>::max() - 63), std::bad_alloc);
  CHECK_THROWS_AS(pool_allocate(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
}

TEST_CASE("a tensor made in one thread may die in another") {
  const std::int64_t before = live_buffers();
  for (int round = 0; round < 5; ++round) {
    Tensor made;
    std::thread([&] { made = full(Shape{1000}, 3); }).join();
    CHECK(made.at({999}) == 3);
    std::thread([moved = std::move(made)]() mutable { moved = Tensor(); }).join();
  }
  CHECK(live_buffers() == before);
}

TEST_CASE("handles may be copied and dropped by several threads at once") {
  const std::int64_t before = live_buffers();
  std::atomic<bool> wrong{false};
  {
    const Tensor shared = full(Shape{64}, 2, f64);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          const Tensor mine = select(reshape(shared, Shape{8, 8}), Axis{0}, i % 8);
          if (mine.at({3}) != 2) wrong = true;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK_FALSE(wrong);
  CHECK(live_buffers() == before);
}

TEST_CASE("Ref counts owners and knows when it is the only one") {
  Ref<Buffer> a = Buffer::allocate(8);
  CHECK(a.unique());
  Ref<Buffer> b = a;
  CHECK_FALSE(a.unique());
  b = Ref<Buffer>();
  CHECK(a.unique());
  Ref<Buffer> c = std::move(a);
  CHECK_FALSE(static_cast<bool>(a));
  CHECK(c.unique());
  c = *&c;
  CHECK(c.unique());
  CHECK_FALSE(Ref<Buffer>().unique());
}

TEST_SUITE_END();

}  // namespace gradus::testing
