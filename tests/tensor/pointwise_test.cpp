// pointwise over all layouts against naive loops, and f32 functions of packs against the C library in double.
#include "tensor/pointwise.h"

#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

const Shape shapes[] = {{},        {1},       {7},    {8},        {16},         {17},
                        {33},      {0},       {2, 3}, {5, 16},    {16, 5},      {3, 0},
                        {2, 3, 4}, {4, 1, 9}, {1, 1}, {3, 2, 17}, {2, 3, 4, 5}, {2, 2, 3, 2, 2}};

// Checks one formula on two operands, each in every layout, in both dtypes, against the same formula on doubles.
template <class F, class G> void check_binary(F formula, G plain, double low, double high) {
  for (const Shape& shape : shapes) {
    const std::vector<double> a = Numbers(1).many(shape.size(), low, high);
    const std::vector<double> b = Numbers(2).many(shape.size(), low, high);
    for (DType dtype : {f32, f64}) {
      for (Layout left : all_layouts) {
        for (Layout right : all_layouts) {
          INFO(to_string(shape), " ", std::string(to_string(dtype)), " ", name_of(left), " with ", name_of(right));
          const Tensor x = laid_out(left, shape, a, dtype), y = laid_out(right, shape, b, dtype);
          const Tensor result = pointwise("test", formula, x, y);
          const std::vector<double> xs = elements(x), ys = elements(y);
          std::vector<double> want;
          for (std::size_t i = 0; i < xs.size(); ++i) want.push_back(plain(xs[i], ys[i]));
          CHECK(result.contiguous());
          CHECK(near(elements(result), want, dtype == f32 ? 3e-7 : 1e-15));
        }
      }
    }
  }
}

// The f32 function of packs at x.
template <class F> float at(F f, float x) { return f(Pack<float>::broadcast(x)).v[0]; }

struct Worst {
  std::int64_t ulps = 0;
  float x = 0;
};

// The largest distance to `exact` in ulps, over `count` floats spread evenly over the bit patterns from low to high.
template <class F, class G> Worst worst_distance(F f, G exact, float low, float high, int count) {
  Worst worst;
  auto code = [](float x) {
    std::int32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<std::int64_t>(bits < 0 ? std::numeric_limits<std::int32_t>::min() - bits : bits);
  };
  auto number = [](std::int64_t c) {
    const auto bits = static_cast<std::int32_t>(c < 0 ? std::numeric_limits<std::int32_t>::min() - c : c);
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  };
  const std::int64_t first = code(low), last = code(high);
  Numbers numbers(5);
  for (int i = 0; i < count; i += Pack<float>::lanes) {
    Pack<float> in;
    for (int lane = 0; lane < Pack<float>::lanes; ++lane) in.v[lane] = number(first + numbers.below(last - first + 1));
    const Pack<float> out = f(in);
    for (int lane = 0; lane < Pack<float>::lanes; ++lane) {
      const std::int64_t distance = ulps(out.v[lane], static_cast<float>(exact(static_cast<double>(in.v[lane]))));
      if (distance > worst.ulps) worst = {distance, in.v[lane]};
    }
  }
  return worst;
}

constexpr auto exp_f = [](auto x) { return exp(x); };
constexpr auto log_f = [](auto x) { return log(x); };
constexpr auto tanh_f = [](auto x) { return tanh(x); };
constexpr auto sigmoid_f = [](auto x) { return sigmoid(x); };
constexpr auto exact_exp = [](double x) { return std::exp(x); };
constexpr auto exact_log = [](double x) { return std::log(x); };
constexpr auto exact_tanh = [](double x) { return std::tanh(x); };
constexpr auto exact_sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };

constexpr int many = 2'000'000;
constexpr float float_infinity = std::numeric_limits<float>::infinity();
constexpr float smallest = std::numeric_limits<float>::min();
constexpr float denormal = std::numeric_limits<float>::denorm_min();
constexpr float largest = std::numeric_limits<float>::max();

struct Special {
  float x, want;
};
template <class F> void check_special(F f, const std::vector<Special>& rows) {
  for (const Special& row : rows) {
    CAPTURE(row.x);
    CAPTURE(at(f, row.x));
    CHECK(same(static_cast<double>(at(f, row.x)), static_cast<double>(row.want)));
  }
}

}  // namespace

TEST_SUITE_BEGIN("tensor pointwise");

TEST_CASE("addition over all pairs of layouts") {
  check_binary([](auto a, auto b) { return a + b; }, [](double a, double b) { return a + b; }, -3, 3);
}
TEST_CASE("subtraction over all pairs of layouts") {
  check_binary([](auto a, auto b) { return a - b; }, [](double a, double b) { return a - b; }, -3, 3);
}
TEST_CASE("multiplication over all pairs of layouts") {
  check_binary([](auto a, auto b) { return a * b; }, [](double a, double b) { return a * b; }, -3, 3);
}
TEST_CASE("division over all pairs of layouts") {
  check_binary([](auto a, auto b) { return a / b; }, [](double a, double b) { return a / b; }, 0.5, 3);
}
TEST_CASE("max and min over all pairs of layouts") {
  check_binary([](auto a, auto b) { return max(a, b) - min(a, b); },
               [](double a, double b) { return std::fabs(a - b); }, -3, 3);
}
TEST_CASE("a fused formula over all pairs of layouts") {
  check_binary([](auto a, auto b) { return sigmoid(a) * tanh(b) + (1 - sigmoid(a)) * sqrt(abs(b)); },
               [](double a, double b) {
                 const double z = 1 / (1 + std::exp(-a));
                 return z * std::tanh(b) + (1 - z) * std::sqrt(std::fabs(b));
               },
               -3, 3);
}
TEST_CASE("plain numbers stand on either side") {
  check_binary([](auto a, auto b) { return (2 * a + 1) / (3 - b) - a / 4 + 0.5 / b - (b - 1); },
               [](double a, double b) { return (2 * a + 1) / (3 - b) - a / 4 + 0.5 / b - (b - 1); }, 0.5, 2.5);
}

TEST_CASE("comparisons choose lane by lane") {
  check_binary([](auto a, auto b) { return select(a > b, a * 2, select(a < 0, b - 1, b)); },
               [](double a, double b) { return a > b   ? 2 * a
                                               : a < 0 ? b - 1
                                                       : b; }, -3, 3);
}

TEST_CASE("seven operands, some of them stretched") {
  const Shape shape{3, 19};
  std::vector<Tensor> x;
  for (int k = 0; k < 7; ++k) {
    x.push_back(
        k % 3 == 0
            ? expand_new(tensor(Shape{19}, Numbers(static_cast<std::uint64_t>(k)).many(19, -1, 1), f64), Axis{0}, 3)
        : k % 3 == 1
            ? expand_new(tensor(Shape{3}, Numbers(static_cast<std::uint64_t>(k)).many(3, -1, 1), f64), Axis{1}, 19)
            : laid_out(Layout::transposed, shape, Numbers(static_cast<std::uint64_t>(k)).many(57, -1, 1), f64));
  }
  const Tensor y = pointwise(
      "seven", [](auto a, auto b, auto c, auto d, auto e, auto f, auto g) { return a * b + c * d - e * f + g; }, x[0],
      x[1], x[2], x[3], x[4], x[5], x[6]);
  std::vector<std::vector<double>> v;
  for (const Tensor& t : x) v.push_back(elements(t));
  std::vector<double> want;
  for (std::size_t i = 0; i < 57; ++i)
    want.push_back(v[0][i] * v[1][i] + v[2][i] * v[3][i] - v[4][i] * v[5][i] + v[6][i]);
  CHECK(near(elements(y), want, 1e-15));
}

TEST_CASE("stretched operands along any axis give what their copies give") {
  const Shape shape{3, 4, 5};
  for (int axis = 0; axis < 3; ++axis) {
    for (DType dtype : {f32, f64}) {
      CAPTURE(axis);
      const Shape small = shape.with(Axis{axis}, 1);
      const Tensor x = expand(tensor(small, Numbers(3).many(small.size(), -1, 1), dtype), Axis{axis}, shape[axis]);
      const Tensor y = laid_out(Layout::rotated, shape, Numbers(4).many(60, -1, 1), dtype);
      auto formula = [](auto a, auto b) { return a * b + a; };
      CHECK(same(elements(pointwise("f", formula, x, y)), elements(pointwise("f", formula, copy(x), copy(y)))));
    }
  }
}

TEST_CASE("pointwise_into writes into any layout and nowhere else") {
  for (Layout into : all_layouts) {
    CAPTURE(name_of(into));
    Tensor target = laid_out(into, Shape{3, 17}, std::vector<double>(51, 1.0), f32);
    const Tensor x = tensor(Shape{3, 17}, Numbers(8).many(51, -1, 1));
    pointwise_into(
        target, [](auto a) { return a + a; }, x);
    std::vector<double> want = elements(x);
    for (double& value : want) value *= 2;
    CHECK(same(elements(target), want));
  }
}

TEST_CASE("pointwise_into may read its own target") {
  Tensor x = tensor(Shape{20}, Numbers(8).many(20, -1, 1), f64);
  std::vector<double> want = elements(x);
  for (double& value : want) value = value * value;
  pointwise_into(
      x, [](auto a, auto b) { return a * b; }, x, x);
  CHECK(near(elements(x), want, 1e-15));
}

TEST_CASE("pointwise_add_into adds to what is there") {
  for (Layout into : all_layouts) {
    CAPTURE(name_of(into));
    Tensor target = laid_out(into, Shape{3, 17}, std::vector<double>(51, 10.0), f64);
    pointwise_add_into(
        target, [](auto a) { return a * a; }, full(Shape{3, 17}, 3, f64));
    CHECK(same(elements(target), std::vector<double>(51, 19.0)));
  }
}

TEST_CASE("pointwise_sum sums over any axis of any layout") {
  for (const Shape& shape :
       {Shape{5}, Shape{17}, Shape{3, 18}, Shape{18, 3}, Shape{2, 3, 4}, Shape{2, 0, 3}, Shape{1, 1}}) {
    const std::vector<double> a = Numbers(1).many(shape.size(), -1, 1), b = Numbers(2).many(shape.size(), -1, 1);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      for (Layout layout : all_layouts) {
        INFO(to_string(shape), " axis ", axis, " ", name_of(layout));
        const Tensor y = pointwise_sum(
            "test", [](auto x, auto w) { return x * w; }, Axis{axis}, laid_out(layout, shape, a, f64),
            laid_out(Layout::contiguous, shape, b, f64));
        std::vector<double> want(static_cast<std::size_t>(y.size()), 0.0);
        std::size_t next = 0;
        for_each_index(shape, [&](std::vector<std::int64_t> i) {
          i.erase(i.begin() + axis);
          std::int64_t place = 0;
          for (int k = 0; k < y.rank(); ++k) place = place * y.shape()[k] + i[static_cast<std::size_t>(k)];
          want[static_cast<std::size_t>(place)] += a[next] * b[next];
          ++next;
        });
        CHECK(y.shape() == shape.without(Axis{axis}));
        CHECK(near(elements(y), want, 1e-14));
      }
    }
  }
}

TEST_CASE("operands of other shapes or dtypes are refused, opening with the name of the op") {
  auto add = [](auto a, auto b) { return a + b; };
  CHECK(opens_with(message_of<ShapeError>([&] {
                     pointwise("gate", add, zeros(Shape{2, 3}), zeros(Shape{3}));
                   }),
                   "gate: shapes (2, 3) and (3) differ. Nothing is stretched silently"));
  CHECK(message_of<DTypeError>([&] { pointwise("gate", add, zeros(Shape{2}), zeros(Shape{2}, f64)); }) ==
        "gate: f32 meets f64; convert one of them with .to(...)");
  CHECK(opens_with(
      message_of<ShapeError>([&] { pointwise_sum("score", add, Axis{1}, zeros(Shape{2}), zeros(Shape{2})); }),
      "score: Axis{1}"));
  Tensor target = zeros(Shape{2});
  CHECK(opens_with(message_of<ShapeError>([&] { pointwise_into(target, add, zeros(Shape{3}), zeros(Shape{3})); }),
                   "pointwise_into: shapes (2) and (3)"));
}

TEST_CASE("(N) and (N, 1) are refused, so a loss never becomes a table") {
  auto square = [](auto p, auto t) { return (p - t) * (p - t); };
  CHECK_THROWS_AS(pointwise("mse", square, zeros(Shape{3, 1}), zeros(Shape{3})), ShapeError);
  CHECK_THROWS_AS(pointwise("mse", square, zeros(Shape{3, 1}), zeros(Shape{1, 3})), ShapeError);
  CHECK_THROWS_AS(pointwise("mse", square, zeros(Shape{3}), zeros(Shape{1})), ShapeError);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("f32 functions");

TEST_CASE("exp is within 1 ulp over its whole range") {
  const Worst worst = worst_distance(exp_f, exact_exp, -104.0f, 89.0f, many);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 1);
}
TEST_CASE("exp is within 1 ulp between -2 and 2") {
  const Worst worst = worst_distance(exp_f, exact_exp, -2.0f, 2.0f, many);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 1);
}
TEST_CASE("log is within 1 ulp for every positive number") {
  const Worst worst = worst_distance(log_f, exact_log, denormal, largest, many);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 1);
}
TEST_CASE("log is within 1 ulp near 1, where it is small") {
  const Worst worst = worst_distance(log_f, exact_log, 0.5f, 2.0f, many);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 1);
}
TEST_CASE("log is within 1 ulp of subnormal numbers") {
  const Worst worst = worst_distance(log_f, exact_log, denormal, smallest, many / 4);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 1);
}
TEST_CASE("tanh is within 3 ulp for every number") {
  const Worst worst = worst_distance(tanh_f, exact_tanh, -largest, largest, many);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 3);
}
TEST_CASE("tanh is within 3 ulp where it bends") {
  const Worst worst = worst_distance(tanh_f, exact_tanh, 0.1f, 10.0f, many);
  CAPTURE(worst.x);
  CHECK(worst.ulps <= 3);
}
TEST_CASE("sigmoid is within 3 ulp where its value is a normal number") {
  for (auto [low, high] : {std::pair{-87.0f, -0.0f}, std::pair{0.0f, largest}, std::pair{-5.0f, 5.0f}}) {
    const Worst worst = worst_distance(sigmoid_f, exact_sigmoid, low, high, many / 2);
    CAPTURE(worst.x);
    CHECK(worst.ulps <= 3);
  }
}
TEST_CASE("sigmoid of a very negative number is at most the smallest normal number") {
  for (float x : {-88.0f, -89.0f, -95.0f, -103.0f, -1000.0f, -largest}) {
    CAPTURE(x);
    CHECK(at(sigmoid_f, x) >= 0.0f);
    CHECK(at(sigmoid_f, x) <= smallest);
  }
}

TEST_CASE("exp at special values") {
  check_special(exp_f, {{0.0f, 1.0f},
                        {-0.0f, 1.0f},
                        {denormal, 1.0f},
                        {float_infinity, float_infinity},
                        {-float_infinity, 0.0f},
                        {largest, float_infinity},
                        {-largest, 0.0f},
                        {89.0f, float_infinity},
                        {-104.0f, 0.0f},
                        {NAN, NAN}});
}
TEST_CASE("log at special values") {
  check_special(log_f, {{1.0f, 0.0f},
                        {0.0f, -float_infinity},
                        {-0.0f, -float_infinity},
                        {float_infinity, float_infinity},
                        {-1.0f, NAN},
                        {-denormal, NAN},
                        {-float_infinity, NAN},
                        {NAN, NAN}});
}
TEST_CASE("tanh at special values") {
  check_special(tanh_f, {{0.0f, 0.0f},
                         {-0.0f, -0.0f},
                         {denormal, denormal},
                         {-denormal, -denormal},
                         {largest, 1.0f},
                         {-largest, -1.0f},
                         {float_infinity, 1.0f},
                         {-float_infinity, -1.0f},
                         {NAN, NAN}});
}
TEST_CASE("sigmoid at special values") {
  check_special(sigmoid_f, {{0.0f, 0.5f},
                            {-0.0f, 0.5f},
                            {denormal, 0.5f},
                            {largest, 1.0f},
                            {-largest, 0.0f},
                            {float_infinity, 1.0f},
                            {-float_infinity, 0.0f},
                            {NAN, NAN}});
}
TEST_CASE("sqrt and abs at special values") {
  check_special([](auto x) { return sqrt(x); },
                {{0.0f, 0.0f}, {4.0f, 2.0f}, {float_infinity, float_infinity}, {-1.0f, NAN}, {NAN, NAN}});
  check_special([](auto x) { return abs(x); },
                {{-0.0f, 0.0f}, {-3.0f, 3.0f}, {-float_infinity, float_infinity}, {-denormal, denormal}, {NAN, NAN}});
  CHECK_FALSE(std::signbit(at([](auto x) { return abs(x); }, -0.0f)));
}
TEST_CASE("max and min keep NaN from either side") {
  for (const auto& pair : {std::pair{NAN, 1.0f}, std::pair{1.0f, NAN}, std::pair{NAN, NAN}}) {
    const float a = pair.first, b = pair.second;
    CAPTURE(a);
    CAPTURE(b);
    CHECK(std::isnan(max(Pack<float>::broadcast(a), Pack<float>::broadcast(b)).v[0]));
    CHECK(std::isnan(min(Pack<float>::broadcast(a), Pack<float>::broadcast(b)).v[0]));
  }
}

TEST_CASE("a NaN in one lane stays in its lane") {
  for (int bad = 0; bad < Pack<float>::lanes; ++bad) {
    Pack<float> x = Pack<float>::broadcast(0.5f);
    x.v[bad] = NAN;
    for (const Pack<float>& y : {exp(x), log(x), tanh(x), sigmoid(x), sqrt(x)}) {
      for (int lane = 0; lane < Pack<float>::lanes; ++lane) CHECK(std::isnan(y.v[lane]) == (lane == bad));
    }
  }
}

TEST_CASE("f64 functions are those of the C library") {
  for (double x : Numbers(6).many(2000, -20, 20)) {
    const auto p = Pack<double>::broadcast(x), positive = Pack<double>::broadcast(std::fabs(x));
    CHECK(exp(p).v[3] == std::exp(x));
    CHECK(log(positive).v[3] == std::log(std::fabs(x)));
    CHECK(tanh(p).v[3] == std::tanh(x));
    CHECK(near(sigmoid(p).v[3], exact_sigmoid(x), 1e-15));
  }
}

TEST_CASE("the sum of a pack is the sum of its lanes") {
  Pack<float> x;
  double want = 0;
  for (int lane = 0; lane < Pack<float>::lanes; ++lane) {
    x.v[lane] = 1.0f / static_cast<float>(lane + 1);
    want += 1.0 / (lane + 1);
  }
  CHECK(near(static_cast<double>(x.sum()), want, 1e-6));
}

TEST_CASE("broadcast keeps the sign of zero") {
  CHECK(std::signbit(Pack<float>::broadcast(-0.0f).v[0]));
  CHECK_FALSE(std::signbit(Pack<float>::broadcast(0.0f).v[0]));
}

TEST_SUITE_END();

}  // namespace gradus::testing
