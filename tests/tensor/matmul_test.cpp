// Matrix products of every size, layout and rank against three loops.
#include "tensor/matmul.h"

#include "tensor/kernels/gemm.h"
#include "tensor/kernels/threads.h"
#include "tests/tensor/check.h"
#include "tests/tensor/child.h"

namespace gradus::testing {
namespace {

// (m, k) x (k, n), row-major.
std::vector<double> plain_product(std::int64_t m, std::int64_t k, std::int64_t n, const std::vector<double>& a,
                                  const std::vector<double>& b) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double total = 0;
      for (std::int64_t s = 0; s < k; ++s) {
        total += a[static_cast<std::size_t>(i * k + s)] * b[static_cast<std::size_t>(s * n + j)];
      }
      c[static_cast<std::size_t>(i * n + j)] = total;
    }
  }
  return c;
}

double bound_for(DType dtype) { return dtype == f32 ? 2e-6 : 1e-14; }

constexpr Layout matrix_layouts[] = {Layout::contiguous, Layout::transposed, Layout::stepped, Layout::offset,
                                     Layout::padded_rows};

void check_product(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype, Layout left, Layout right) {
  INFO(m, " x ", k, " x ", n, " ", std::string(to_string(dtype)), " ", name_of(left), " by ", name_of(right));
  const Tensor a = laid_out(left, Shape{m, k}, Numbers(1).many(m * k, -1, 1), dtype);
  const Tensor b = laid_out(right, Shape{k, n}, Numbers(2).many(k * n, -1, 1), dtype);
  const Tensor c = matmul(a, b);
  CHECK(c.shape() == Shape{m, n});
  CHECK(near(elements(c), plain_product(m, k, n, elements(a), elements(b)), bound_for(dtype)));
}

}  // namespace

TEST_SUITE_BEGIN("tensor matmul");

TEST_CASE("a product by hand") {
  const Tensor c = matmul(tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}), tensor(Shape{3, 2}, {7, 8, 9, 10, 11, 12}));
  CHECK(same(elements(c), {58, 64, 139, 154}));
}

TEST_CASE("every small size in every pair of layouts") {
  for (DType dtype : {f32, f64}) {
    for (std::int64_t m : {1, 2, 3, 7}) {
      for (std::int64_t k : {1, 2, 5}) {
        for (std::int64_t n : {1, 2, 3, 9}) {
          for (Layout left : matrix_layouts) {
            for (Layout right : matrix_layouts) check_product(m, k, n, dtype, left, right);
          }
        }
      }
    }
  }
}

TEST_CASE("every number of rows from 1 to 35, with wide, narrow and partial columns") {
  for (std::int64_t m = 1; m <= 35; ++m) {
    for (DType dtype : {f32, f64}) check_product(m, 6, 3 * 16 + 3, dtype, Layout::contiguous, Layout::contiguous);
  }
}
TEST_CASE("every number of columns from 1 to 70") {
  for (std::int64_t n = 1; n <= 70; ++n)
    check_product(5, 6, n, n % 2 ? f32 : f64, Layout::contiguous, Layout::contiguous);
}
TEST_CASE("every inner length from 1 to 40") {
  for (std::int64_t k = 1; k <= 40; ++k)
    check_product(4, k, 18, k % 2 ? f32 : f64, Layout::transposed, Layout::transposed);
}
TEST_CASE("odd sizes around the tile edges in every pair of layouts") {
  for (auto [m, k, n] :
       {std::array<std::int64_t, 3>{11, 13, 31}, {12, 7, 33}, {23, 1, 16}, {33, 19, 65}, {1, 64, 50}}) {
    for (Layout left : matrix_layouts) {
      for (Layout right : matrix_layouts) {
        check_product(m, k, n, f32, left, right);
        check_product(m, k, n, f64, left, right);
      }
    }
  }
}
TEST_CASE("sizes beyond the caches") {
  check_product(130, 257, 131, f32, Layout::contiguous, Layout::contiguous);
  check_product(130, 257, 131, f64, Layout::transposed, Layout::transposed);
}
TEST_CASE(
    "what lies beyond the caches is copied: some bands of B, many at a time, blocks of A; and short sums by rows") {
  for (auto [m, k, n] : {std::array<std::int64_t, 3>{65, 130, 1031},
                         {515, 130, 1031},
                         {130, 70, 1101},
                         {259, 300, 530},
                         {530, 31, 277}}) {
    for (Layout left : {Layout::contiguous, Layout::transposed}) {
      check_product(m, k, n, f32, left, Layout::contiguous);
      check_product(m, k, n, f64, left, Layout::contiguous);
    }
  }
}

TEST_CASE("empty rows or columns give an empty product") {
  for (DType dtype : {f32, f64}) {
    CHECK(matmul(zeros(Shape{0, 3}, dtype), zeros(Shape{3, 2}, dtype)).shape() == Shape{0, 2});
    CHECK(matmul(zeros(Shape{2, 3}, dtype), zeros(Shape{3, 0}, dtype)).shape() == Shape{2, 0});
  }
}
TEST_CASE("an empty inner axis gives zeros, also on memory that was used before") {
  for (DType dtype : {f32, f64}) {
    for (auto [m, n] : {std::array<std::int64_t, 2>{2, 1}, {2, 3}, {2, 16}, {2, 40}, {400, 500}}) {
      { const Tensor dirty = full(Shape{m, n}, not_a_number, dtype); }
      const Tensor c = matmul(zeros(Shape{m, 0}, dtype), zeros(Shape{0, n}, dtype));
      CHECK(same(elements(c), std::vector<double>(static_cast<std::size_t>(m * n), 0.0)));
    }
  }
}

TEST_CASE("transposes are absorbed: all four combinations") {
  const Tensor x = tensor(Shape{4, 6}, Numbers(3).many(24, -1, 1), f64);
  const Tensor y = tensor(Shape{4, 6}, Numbers(4).many(24, -1, 1), f64);
  const auto by_copy = [](const Tensor& a, const Tensor& b) { return elements(matmul(copy(a), copy(b))); };
  CHECK(near(elements(matmul(x, transpose(y))), by_copy(x, transpose(y)), 1e-15));
  CHECK(near(elements(matmul(transpose(x), y)), by_copy(transpose(x), y), 1e-15));
  const Tensor z = tensor(Shape{6, 4}, Numbers(5).many(24, -1, 1), f64);
  CHECK(near(elements(matmul(transpose(x), transpose(z))), by_copy(transpose(x), transpose(z)), 1e-15));
  CHECK(near(elements(matmul(x, z)), by_copy(x, z), 1e-15));
}

TEST_CASE("a matrix times its own transpose") {
  const Tensor x = tensor(Shape{5, 7}, Numbers(6).many(35, -1, 1), f64);
  const std::vector<double> c = elements(matmul(x, transpose(x)));
  CHECK(near(c, plain_product(5, 7, 5, elements(x), elements(transpose(x))), 1e-14));
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) CHECK(c[i * 5 + j] == c[j * 5 + i]);
  }
}

TEST_CASE("stretched operands give what their copies give") {
  for (DType dtype : {f32, f64}) {
    const Tensor row = expand_new(tensor(Shape{6}, Numbers(7).many(6, -1, 1), dtype), Axis{0}, 4);     // (4, 6)
    const Tensor column = expand_new(tensor(Shape{6}, Numbers(8).many(6, -1, 1), dtype), Axis{1}, 5);  // (6, 5)
    const Tensor dense = tensor(Shape{6, 5}, Numbers(9).many(30, -1, 1), dtype);
    const Tensor number = expand_scalar(tensor(Shape{}, {0.5}, dtype), Shape{6, 5});
    for (const Tensor& right : {column, dense, number}) {
      CHECK(near(elements(matmul(row, right)), elements(matmul(copy(row), copy(right))), bound_for(dtype)));
      CHECK(near(elements(matmul(transpose(right), transpose(row))),
                 elements(matmul(copy(transpose(right)), copy(transpose(row)))), bound_for(dtype)));
    }
  }
}

TEST_CASE("batches of rank 3: one product per entry, in every layout") {
  for (Layout left : all_layouts) {
    for (Layout right : all_layouts) {
      INFO(name_of(left), " by ", name_of(right));
      const Tensor a = laid_out(left, Shape{3, 4, 5}, Numbers(1).many(60, -1, 1), f64);
      const Tensor b = laid_out(right, Shape{3, 5, 2}, Numbers(2).many(30, -1, 1), f64);
      const Tensor c = matmul(a, b);
      CHECK(c.shape() == Shape{3, 4, 2});
      for (std::int64_t i = 0; i < 3; ++i) {
        CHECK(near(elements(select(c, Axis{0}, i)),
                   plain_product(4, 5, 2, elements(select(a, Axis{0}, i)), elements(select(b, Axis{0}, i))), 1e-14));
      }
    }
  }
}
TEST_CASE("batches of rank 4: one product per pair of entries") {
  const Tensor a = tensor(Shape{2, 3, 4, 5}, Numbers(1).many(120, -1, 1));
  const Tensor b = tensor(Shape{2, 3, 5, 17}, Numbers(2).many(510, -1, 1));
  const Tensor c = matmul(a, b);
  CHECK(c.shape() == Shape{2, 3, 4, 17});
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      auto entry = [&](const Tensor& x) { return select(select(x, Axis{0}, i), Axis{0}, j); };
      CHECK(near(elements(entry(c)), plain_product(4, 5, 17, elements(entry(a)), elements(entry(b))), 2e-6));
    }
  }
}
TEST_CASE("a matrix repeated over the batch") {
  const Tensor a = tensor(Shape{3, 4, 5}, Numbers(1).many(60, -1, 1), f64);
  const Tensor w = tensor(Shape{5, 2}, Numbers(2).many(10, -1, 1), f64);
  const Tensor c = matmul(a, expand_new(w, Axis{0}, 3));
  CHECK(near(elements(c), elements(matmul(reshape(a, Shape{12, 5}), w)), 1e-15));
}
TEST_CASE("an empty batch gives an empty product") {
  CHECK(matmul(zeros(Shape{0, 2, 3}), zeros(Shape{0, 3, 4})).shape() == Shape{0, 2, 4});
  CHECK(same(elements(matmul(zeros(Shape{2, 1, 0}), zeros(Shape{2, 0, 2}))), {0, 0, 0, 0}));
}

TEST_CASE("matmul_into adds into a target of any layout") {
  for (Layout into : matrix_layouts) {
    for (const std::array<std::int64_t, 3>& sizes : {std::array<std::int64_t, 3>{3, 4, 5},
                                                     {1, 4, 5},
                                                     {5, 4, 1},
                                                     {12, 3, 35},
                                                     {2, 0, 3},
                                                     {5, 1, 37},
                                                     {2, 5, 120}}) {
      const std::int64_t m = sizes[0], k = sizes[1], n = sizes[2];
      for (DType dtype : {f32, f64}) {
        INFO(m, " x ", k, " x ", n, " into ", name_of(into));
        const Tensor a = tensor(Shape{m, k}, Numbers(1).many(m * k, -1, 1), dtype);
        const Tensor b = tensor(Shape{k, n}, Numbers(2).many(k * n, -1, 1), dtype);
        const std::vector<double> start = Numbers(3).many(m * n, -1, 1);
        Tensor c = laid_out(into, Shape{m, n}, start, dtype);
        std::vector<double> want = plain_product(m, k, n, elements(a), elements(b));
        const std::vector<double> before = elements(c);
        for (std::size_t i = 0; i < want.size(); ++i) want[i] += before[i];
        matmul_into(c, a, b, true);
        CHECK(near(elements(c), want, bound_for(dtype)));
      }
    }
  }
}
TEST_CASE("a product added to a bias has the bits of one added to copies of it") {
  for (const std::array<std::int64_t, 3>& sizes :
       {std::array<std::int64_t, 3>{3, 4, 5}, {1, 4, 50}, {2, 3, 200}, {12, 3, 35}, {2, 0, 3}, {13, 600, 40}}) {
    const std::int64_t m = sizes[0], k = sizes[1], n = sizes[2];
    INFO(m, " x ", k, " x ", n);
    const Tensor a = tensor(Shape{m, k}, Numbers(1).many(m * k, -1, 1));
    const Tensor b = tensor(Shape{k, n}, Numbers(2).many(k * n, -1, 1));
    const Tensor bias = tensor(Shape{n}, Numbers(3).many(n, -1, 1));
    Tensor want = copy(expand_new(bias, Axis{0}, m)), c = full(Shape{m, n}, not_a_number);
    matmul_into(want, a, b, true);
    gemm<float>({m, n, k}, {a.data<float>(), k, 1}, {b.data<float>(), n, 1}, {c.mutable_data<float>(), n, 1},
                {bias.data<float>(), 0, 1});
    CHECK(same(elements(c), elements(want)));
  }
}
TEST_CASE("a 1 x 1 target with any strides") {
  for (Layout layout : {Layout::contiguous, Layout::stepped, Layout::transposed}) {
    CAPTURE(name_of(layout));
    CHECK(in_child(
              [&] {
                Tensor c =
                    narrow(narrow(laid_out(layout, Shape{4, 4}, std::vector<double>(16, 2.0), f64), Axis{0}, 1, 1),
                           Axis{1}, 1, 1);
                const Tensor step = narrow(narrow(zeros(Shape{4, 4}, f64), Axis{0}, 0, 1, 2), Axis{1}, 0, 1, 2);
                Tensor both = step;
                matmul_into(c, tensor(Shape{1, 2}, {1, 2}, f64), tensor(Shape{2, 1}, {3, 4}, f64), true);
                matmul_into(both, tensor(Shape{1, 2}, {1, 2}, f64), tensor(Shape{2, 1}, {3, 4}, f64), true);
                return c.item() == 13 && both.item() == 11;
              },
              3) == 0);
  }
}
TEST_CASE("matmul_into refuses a stretched target and wrong shapes or dtypes") {
  Tensor row = expand_new(zeros(Shape{3}), Axis{0}, 2);
  CHECK(opens_with(message_of<ShapeError>([&] {
                     matmul_into(row, zeros(Shape{2, 2}), zeros(Shape{2, 3}), true);
                   }),
                   "matmul_into: the target is stretched"));
  Tensor c = zeros(Shape{2, 3});
  CHECK(opens_with(message_of<ShapeError>([&] {
                     matmul_into(c, zeros(Shape{2, 2}), zeros(Shape{2, 2}), true);
                   }),
                   "matmul_into: shapes (2, 3) and (2, 2)"));
  CHECK_THROWS_AS(matmul_into(c, zeros(Shape{2, 2}, f64), zeros(Shape{2, 3}, f64), true), DTypeError);
}

TEST_CASE("inner sizes that differ are named with both shapes") {
  CHECK(opens_with(message_of<ShapeError>([] {
                     matmul(zeros(Shape{2, 3}), zeros(Shape{4, 5}));
                   }),
                   "matmul: (2, 3) x (4, 5): inner sizes 3 and 4 differ"));
}
TEST_CASE("a transposed second operand is suspected in the text") {
  CHECK(contains(message_of<ShapeError>([] { matmul(zeros(Shape{2, 3}), zeros(Shape{4, 3})); }), "transposed"));
  CHECK_FALSE(contains(message_of<ShapeError>([] { matmul(zeros(Shape{2, 3}), zeros(Shape{4, 5})); }), "transposed"));
}
TEST_CASE("vectors are refused with a pointer to dot") {
  for (auto [a, b] :
       {std::pair{Shape{3}, Shape{3, 2}}, std::pair{Shape{2, 3}, Shape{3}}, std::pair{Shape{}, Shape{}}}) {
    const std::string text = message_of<ShapeError>([&, a = a, b = b] { matmul(zeros(a), zeros(b)); });
    CHECK(opens_with(text, "matmul: " + to_string(a) + " x " + to_string(b)));
    CHECK(contains(text, "use dot(x, v, Axis{...})"));
  }
}
TEST_CASE("different ranks are refused with the two ways out") {
  const std::string text = message_of<ShapeError>([] { matmul(zeros(Shape{2, 3, 4}), zeros(Shape{4, 5})); });
  CHECK(opens_with(text, "matmul: (2, 3, 4) x (4, 5): ranks differ"));
  CHECK(contains(text, "reshape"));
  CHECK(contains(text, "expand_new"));
}
TEST_CASE("different batch sizes are refused, naming the axis; 1 is not stretched") {
  const std::string text = message_of<ShapeError>([] { matmul(zeros(Shape{2, 3, 4}), zeros(Shape{5, 4, 3})); });
  CHECK(contains(text, "batch axis 0 has 2 and 5 entries"));
  CHECK_THROWS_AS(matmul(zeros(Shape{2, 3, 4}), zeros(Shape{1, 4, 3})), ShapeError);
  CHECK(contains(message_of<ShapeError>([] {
                   matmul(zeros(Shape{2, 3, 1, 1}), zeros(Shape{2, 4, 1, 1}));
                 }),
                 "batch axis 1"));
}
TEST_CASE("f32 times f64 is refused") {
  CHECK(opens_with(message_of<DTypeError>([] {
                     matmul(zeros(Shape{2, 2}), zeros(Shape{2, 2}, f64));
                   }),
                   "matmul: f32 meets f64"));
}

TEST_CASE("NaN and infinity go where they belong") {
  Tensor a = full(Shape{3, 4}, 1, f64);
  a.set({1, 2}, not_a_number);
  const std::vector<double> c = elements(matmul(a, full(Shape{4, 20}, 1, f64)));
  for (std::size_t i = 0; i < 60; ++i) CHECK(std::isnan(c[i]) == (i / 20 == 1));
  Tensor b = full(Shape{4, 3}, 1, f64);
  b.set({0, 2}, infinity);
  const std::vector<double> d = elements(matmul(full(Shape{2, 4}, 1, f64), b));
  CHECK(same(d, {4, 4, infinity, 4, 4, infinity}));
}
TEST_CASE("an infinity is not multiplied away by padding") {
  for (std::int64_t n : {1, 5, 17}) {
    const Tensor c = matmul(full(Shape{2, 3}, infinity), full(Shape{3, n}, 1));
    CHECK(same(elements(c), std::vector<double>(static_cast<std::size_t>(2 * n), infinity)));
  }
}
TEST_CASE("a product repeats bit for bit") {
  const Tensor a = tensor(Shape{13, 37}, Numbers(1).many(481, -1, 1)),
               b = tensor(Shape{37, 21}, Numbers(2).many(777, -1, 1));
  const std::vector<double> first = elements(matmul(a, b));
  for (int i = 0; i < 3; ++i) CHECK(same(elements(matmul(a, b)), first));
}
TEST_CASE("rows and columns computed by themselves have the bits that they have in the whole product") {
  for (bool on_its_side : {false, true}) {
    const std::int64_t m = 260, k = 1100, n = 301;  // several parts of a sum, several blocks of rows
    Tensor a = tensor(on_its_side ? Shape{k, m} : Shape{m, k}, Numbers(3).many(m * k, -1, 1));
    if (on_its_side) a = transpose(a);
    const Tensor b = tensor(Shape{k, n}, Numbers(4).many(k * n, -1, 1));
    const std::vector<double> whole = elements(narrow(narrow(matmul(a, b), Axis{0}, 110, 5), Axis{1}, 32, 40));
    CHECK(elements(matmul(narrow(a, Axis{0}, 110, 5), narrow(b, Axis{1}, 32, 40))) == whole);
  }
}

TEST_CASE("bands made once give the bits of what they were made of, whole or a part, on one thread or more") {
  constexpr std::int64_t m = 70, k = 1100, n = 6 * band_width<float>;
  const Tensor a = tensor(Shape{m, k}, Numbers(1).many(m * k, -1, 1));
  const Tensor before = tensor(Shape{m, n}, Numbers(2).many(m * n, -1, 1));
  for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::stepped}) {
    INFO(name_of(layout));
    const Tensor b = laid_out(layout, Shape{k, n}, Numbers(3).many(k * n, -1, 1), f32);
    Tensor bands = empty(Shape{k, n});
    make_bands<float>(k, n, {b.data<float>(), b.strides()[0], b.strides()[1]}, bands.mutable_data<float>());
    for (auto [row, column] : {std::array<std::int64_t, 2>{0, 0}, {300, 0}, {0, 2 * band_width<float>}}) {
      const GemmSize size{m, n - column, k - row};
      const Tensor columns = narrow(a, Axis{1}, 0, size.k);
      const Tensor part = narrow(narrow(b, Axis{0}, row, size.k), Axis{1}, column, size.n);
      for (int threads : {1, 2}) {
        use_threads(threads);
        for (bool stepped : {false, true}) {  // a target whose numbers do not lie side by side
          Tensor want = copy(narrow(before, Axis{1}, column, size.n));
          Tensor c = laid_out(stepped ? Layout::stepped : Layout::contiguous, want.shape(), elements(want), f32);
          matmul_into(want, columns, part, true);
          const Strided<float> to{c.mutable_data<float>(), c.strides()[0], c.strides()[1]};
          gemm<float>(size, {a.data<float>(), k, 1}, Bands<float>{bands.data<float>(), k}.from(row, column), to,
                      as_const(to));
          CHECK(same(elements(c), elements(want)));
        }
      }
      use_threads(1);
    }
  }
}
TEST_CASE("a row alone has the bits that it has among others, where it is one tile of one pack as well") {
  for (DType dtype : {f32, f64}) {
    for (std::int64_t k : {2, 3, 8}) {
      for (std::int64_t n = 1; n <= 20; ++n) {
        const Tensor a = tensor(Shape{5, k}, Numbers(1).many(5 * k, -1, 1), dtype);
        const Tensor b = tensor(Shape{k, n}, Numbers(2).many(k * n, -1, 1), dtype);
        const Tensor all = matmul(a, b);
        for (std::int64_t i = 0; i < 5; ++i)
          CHECK(same(elements(matmul(narrow(a, Axis{0}, i, 1), b)), elements(narrow(all, Axis{0}, i, 1))));
      }
    }
  }
}
TEST_CASE("an entry of a batch equals the product done alone, bit for bit") {
  const Tensor a = tensor(Shape{3, 5, 9}, Numbers(1).many(135, -1, 1)),
               b = tensor(Shape{3, 9, 19}, Numbers(2).many(513, -1, 1));
  const Tensor c = matmul(a, b);
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(same(elements(select(c, Axis{0}, i)), elements(matmul(select(a, Axis{0}, i), select(b, Axis{0}, i)))));
  }
}

TEST_SUITE_END();

}  // namespace gradus::testing
