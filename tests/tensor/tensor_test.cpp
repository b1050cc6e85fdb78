// Making tensors, looking into them and writing to them, in every layout.
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

const Shape shapes[] = {{},
                        {1},
                        {5},
                        {0},
                        {2, 3},
                        {3, 0},
                        {1, 4, 1},
                        {2, 3, 4},
                        {2, 0, 3},
                        {2, 3, 4, 5},
                        {1, 1, 1, 1},
                        {2, 3, 2, 3, 2},
                        {17, 3},
                        {3, 2, 1, 7},
                        {1, 2, 1, 2},
                        {4, 1, 3, 1, 2},
                        {2, 1, 1, 1, 5}};

// Calls f for each shape, layout and dtype with a tensor of known numbers.
template <class F> void for_each_tensor(F f) {
  for (const Shape& shape : shapes) {
    const std::vector<double> values = Numbers(7).many(shape.size(), -64, 64);
    std::vector<double> quarters;  // exact in f32 too
    for (double value : values) quarters.push_back(std::round(4 * value) / 4);
    for (Layout layout : all_layouts) {
      for (DType dtype : {f32, f64}) {
        INFO(name_of(layout), " ", to_string(shape), " ", std::string(to_string(dtype)));
        f(laid_out(layout, shape, quarters, dtype), quarters);
      }
    }
  }
}

}  // namespace

TEST_SUITE_BEGIN("tensor");

TEST_CASE("a default tensor holds nothing and says what to do when it is read") {
  const Tensor nothing;
  CHECK_FALSE(nothing.defined());
  CHECK(nothing.version() == 0);
  for (const std::function<void()>& read :
       std::vector<std::function<void()>>{[&] { nothing.item(); }, [&] { nothing.to_vector(); },
                                          [&] { nothing.at({}); }, [&] { nothing.to(f64); }, [&] { copy(nothing); }}) {
    CHECK(contains(message_of<ValueError>(read), "holds nothing yet: make it with zeros, full or tensor"));
  }
}

TEST_CASE("dtypes have names and sizes") {
  CHECK(std::string(to_string(f32)) == "f32");
  CHECK(std::string(to_string(f64)) == "f64");
  CHECK(bytes_of(f32) == 4);
  CHECK(bytes_of(f64) == 8);
}

TEST_CASE("zeros and full fill every element") {
  for (DType dtype : {f32, f64}) {
    CHECK(same(elements(zeros(Shape{2, 3}, dtype)), {0, 0, 0, 0, 0, 0}));
    CHECK(same(elements(full(Shape{3, 1}, 2.5, dtype)), {2.5, 2.5, 2.5}));
    CHECK(same(elements(full(Shape{}, -infinity, dtype)), {-infinity}));
    CHECK(elements(zeros(Shape{0, 4}, dtype)).empty());
    CHECK(zeros(Shape{2}, dtype).dtype() == dtype);
  }
}

TEST_CASE("zeros clear a buffer that comes back from the pool") {
  for (int round = 0; round < 3; ++round) {
    const Tensor used = full(Shape{37}, 5);
    CHECK(used.at({36}) == 5);
  }
  CHECK(same(elements(zeros(Shape{37})), std::vector<double>(37, 0.0)));
}

TEST_CASE("tensor takes numbers row-major") {
  const Tensor x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64);
  CHECK(x.at({0, 0}) == 1);
  CHECK(x.at({0, 2}) == 3);
  CHECK(x.at({1, 0}) == 4);
  CHECK(x.at({1, 2}) == 6);
}

TEST_CASE("tensor refuses a wrong count and states both") {
  CHECK(message_of<ShapeError>([] { tensor(Shape{2, 3}, {1, 2}); }) == "tensor: shape (2, 3) needs 6 values, found 2");
}

TEST_CASE("sizes whose bytes do not fit are refused before allocating") {
  CHECK(contains(message_of<ShapeError>([] { zeros(Shape{std::int64_t{1} << 61}); }), "too many bytes"));
  CHECK(contains(message_of<ShapeError>([] { empty(Shape{std::int64_t{1} << 60}, f64); }), "too many bytes"));
}

TEST_CASE("to_vector reads every layout row-major") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) { CHECK(same(x.to_vector(), values)); });
}

TEST_CASE("at reads every position of every layout") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    if (x.rank() == 0) CHECK(x.at({}) == values[0]);
    if (x.rank() == 2 && x.size() > 0) {
      std::size_t next = 0;
      for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
        for (std::int64_t j = 0; j < x.shape()[1]; ++j) CHECK(x.at({i, j}) == values[next++]);
      }
    }
    if (x.rank() == 5) {
      std::size_t next = 0;
      for_each_index(x.shape(), [&](const std::vector<std::int64_t>& i) {
        CHECK(x.at({i[0], i[1], i[2], i[3], i[4]}) == values[next++]);
      });
    }
  });
}

TEST_CASE("set writes one position and no other") {
  for_each_tensor([](Tensor x, std::vector<double> values) {
    if (x.rank() != 3 || x.size() == 0) return;
    const Shape& s = x.shape();
    x.set({s[0] - 1, s[1] / 2, 0}, 99);
    values[static_cast<std::size_t>(((s[0] - 1) * s[1] + s[1] / 2) * s[2])] = 99;
    CHECK(same(elements(x), values));
  });
}

TEST_CASE("at and set refuse positions outside and name index, axis and shape") {
  Tensor x = zeros(Shape{2, 3});
  struct Row {
    std::function<void()> act;
    const char* text;
  };
  for (const Row& row : {Row{[&] {
                               x.at({2, 0});
                             },
                             "at: index 2 on axis 0 is outside shape (2, 3)"},
                         Row{[&] {
                               x.at({0, 3});
                             },
                             "at: index 3 on axis 1 is outside shape (2, 3)"},
                         Row{[&] {
                               x.at({-1, 0});
                             },
                             "at: index -1 on axis 0 is outside shape (2, 3)"},
                         Row{[&] { x.at({0}); }, "at: 1 indices for shape (2, 3); give one per axis"},
                         Row{[&] {
                               x.at({0, 0, 0});
                             },
                             "at: 3 indices for shape (2, 3); give one per axis"}}) {
    CHECK(message_of<IndexError>(row.act) == row.text);
  }
  CHECK_THROWS_AS(x.set({2, 0}, 1), IndexError);
  CHECK_THROWS_AS(x.set({}, 1), IndexError);
}

TEST_CASE("item gives the only element whatever the rank") {
  CHECK(tensor(Shape{}, {3}).item() == 3);
  CHECK(tensor(Shape{1, 1, 1}, {4}, f64).item() == 4);
  CHECK(select(tensor(Shape{3}, {5, 6, 7}), Axis{0}, 1).item() == 6);
}

TEST_CASE("item refuses several numbers and none") {
  CHECK(message_of<ShapeError>([] { zeros(Shape{2, 3}).item(); }) == "item: shape (2, 3) holds 6 numbers, not one");
  CHECK(message_of<ShapeError>([] { zeros(Shape{0}).item(); }) == "item: shape (0) holds 0 numbers, not one");
}

TEST_CASE("size of an axis, or an error that names it") {
  CHECK(zeros(Shape{2, 3}).size(Axis{1}) == 3);
  CHECK(opens_with(message_of<ShapeError>([] { zeros(Shape{2, 3}).size(Axis{2}); }), "size: Axis{2}"));
}

TEST_CASE("to converts numbers in every layout") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    for (DType dtype : {f32, f64}) {
      const Tensor y = x.to(dtype);
      CHECK(y.dtype() == dtype);
      CHECK(y.shape() == x.shape());
      CHECK(same(elements(y), values));
    }
  });
}

TEST_CASE("to rounds f64 to the nearest f32") {
  const double third = tensor(Shape{}, {1.0 / 3}, f64).to(f32).item();
  CHECK(third == static_cast<double>(1.0f / 3.0f));
  CHECK(std::isinf(tensor(Shape{}, {1e300}, f64).to(f32).item()));
}

TEST_CASE("to is a copy even when the dtype stays") {
  const Tensor x = zeros(Shape{2}, f64);
  Tensor y = x.to(f64);
  y.set({0}, 1);
  CHECK(x.at({0}) == 0);
}

TEST_CASE("to keeps the order of axes in memory") {
  const Tensor x = transpose(zeros(Shape{3, 5}));  // (5, 3), stored by columns
  const Tensor y = x.to(f64);
  CHECK(y.strides()[0] == 1);
  CHECK(y.strides()[1] == 5);
}

TEST_CASE("data of the wrong type is refused") {
  Tensor x = zeros(Shape{2}, f64);
  CHECK(message_of<DTypeError>([&] { x.data<float>(); }) ==
        "a tensor of f64 was read as f32; convert it with .to(...)");
  CHECK_THROWS_AS(x.mutable_data<float>(), DTypeError);
}

TEST_CASE("contiguous recognises row-major storage without gaps") {
  const Tensor x = zeros(Shape{2, 3, 4});
  CHECK(x.contiguous());
  CHECK(narrow(x, Axis{0}, 1, 1).contiguous());
  CHECK(select(x, Axis{0}, 1).contiguous());
  CHECK(narrow(x, Axis{2}, 0, 1).contiguous() == false);
  CHECK_FALSE(transpose(x, Axis{0}, Axis{1}).contiguous());
  CHECK_FALSE(narrow(x, Axis{1}, 0, 2).contiguous());
  CHECK_FALSE(narrow(zeros(Shape{8}), Axis{0}, 0, 4, 2).contiguous());
  CHECK_FALSE(expand(zeros(Shape{1}), Axis{0}, 2).contiguous());
  CHECK(expand(zeros(Shape{1, 3}), Axis{0}, 1).contiguous());
  CHECK(transpose(zeros(Shape{1, 3})).contiguous());
  CHECK(transpose(zeros(Shape{0, 3})).contiguous());
}

TEST_CASE("contiguous gives the tensor itself when it can, otherwise a row-major copy") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    const Tensor y = contiguous(x);
    CHECK(y.contiguous());
    CHECK(same(elements(y), values));
    CHECK((y.buffer().get() == x.buffer().get()) == x.contiguous());
  });
}

TEST_CASE("copy never shares memory") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    const Tensor y = copy(x);
    CHECK(y.buffer().get() != x.buffer().get());
    CHECK(y.contiguous());
    CHECK(same(elements(y), values));
  });
}

TEST_CASE("stretched sees a stride of 0 on an axis longer than 1") {
  CHECK_FALSE(zeros(Shape{2, 3}).stretched());
  CHECK(expand_new(zeros(Shape{3}), Axis{0}, 2).stretched());
  CHECK_FALSE(expand_new(zeros(Shape{3}), Axis{0}, 1).stretched());
  CHECK(expand_scalar(zeros(Shape{}), Shape{1, 2}).stretched());
}

TEST_CASE("empty_like keeps the order of axes in memory and drops gaps") {
  const Tensor x = laid_out(Layout::stepped, Shape{2, 3, 4}, std::vector<double>(24, 1.0), f64);
  CHECK(empty_like(x).strides() == Extents{12, 4, 1});
  const Tensor rotated = laid_out(Layout::rotated, Shape{2, 3, 4}, std::vector<double>(24, 1.0), f64);
  CHECK(empty_like(rotated).strides() == Extents{1, 8, 2});
  const Tensor turned = transpose(zeros(Shape{3, 5}));
  CHECK(empty_like(turned).strides() == Extents{1, 5});
  CHECK(empty_like(turned).shape() == Shape{5, 3});
}

TEST_CASE("empty_like has shape, dtype and new memory") {
  for_each_tensor([](const Tensor& x, const std::vector<double>&) {
    const Tensor y = empty_like(x);
    CHECK(y.shape() == x.shape());
    CHECK(y.dtype() == x.dtype());
    CHECK(y.buffer().get() != x.buffer().get());
    CHECK(y.offset() == 0);
  });
}

TEST_CASE("empty_like of a stretched tensor stays stretched and stores each number once") {
  const Tensor x = expand_new(zeros(Shape{3}), Axis{1}, 4);  // (3, 4)
  const Tensor y = empty_like(x);
  CHECK(y.strides() == Extents{1, 0});
  CHECK(y.stretched());
}

TEST_CASE("zeros_like is zero in every layout") {
  for_each_tensor([](const Tensor& x, const std::vector<double>&) {
    CHECK(same(elements(zeros_like(x)), std::vector<double>(static_cast<std::size_t>(x.size()), 0.0)));
  });
}

TEST_CASE("a write into a gapped tensor leaves the gaps alone") {
  for (Layout layout : {Layout::stepped, Layout::offset, Layout::padded_rows}) {
    CAPTURE(name_of(layout));
    Tensor x = laid_out(layout, Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64);
    const std::int64_t stored = layout == Layout::stepped ? 37 : layout == Layout::offset ? 14 : 17;
    const Tensor everything(x.buffer(), Shape{stored}, Extents{1}, 0, f64);
    std::vector<double> want = elements(everything);
    for (double& value : want) value = std::isnan(value) ? value : 8;
    fill_(x, 8);
    CHECK(same(elements(x), std::vector<double>(6, 8.0)));
    CHECK(same(elements(everything), want));
  }
}

TEST_CASE("copy_ moves numbers between any two layouts") {
  const Shape shape{3, 4, 5};
  const std::vector<double> values = Numbers(3).many(60, -1, 1);
  for (Layout from : all_layouts) {
    for (Layout into : all_layouts) {
      INFO(name_of(from), " into ", name_of(into));
      Tensor target = laid_out(into, shape, std::vector<double>(60, 0.0), f64);
      copy_(target, laid_out(from, shape, values, f64));
      CHECK(same(elements(target), values));
    }
  }
}

TEST_CASE("add_ adds between any two layouts") {
  const Shape shape{3, 4, 5};
  const std::vector<double> a = Numbers(4).many(60, -1, 1), b = Numbers(5).many(60, -1, 1);
  std::vector<double> want;
  for (std::size_t i = 0; i < 60; ++i) want.push_back(a[i] + b[i]);
  for (Layout from : all_layouts) {
    for (Layout into : all_layouts) {
      INFO(name_of(from), " into ", name_of(into));
      Tensor target = laid_out(into, shape, a, f64);
      add_(target, laid_out(from, shape, b, f64));
      CHECK(same(elements(target), want));
    }
  }
}

TEST_CASE("add_ into a stretched target sums along the stretched axis") {
  const Shape shape{3, 4, 5};
  const std::vector<double> values = Numbers(6).many(60, -1, 1);
  for (int axis = 0; axis < 3; ++axis) {
    for (Layout layout : all_layouts) {
      INFO("axis ", axis, ", ", name_of(layout));
      Tensor small = full(shape.with(Axis{axis}, 1), 10, f64);
      Tensor target = expand(small, Axis{axis}, shape[axis]);
      add_(target, laid_out(layout, shape, values, f64));
      std::vector<double> want(static_cast<std::size_t>(small.size()), 10.0);
      std::size_t next = 0;
      for_each_index(shape, [&](std::vector<std::int64_t> i) {
        i[static_cast<std::size_t>(axis)] = 0;
        const Shape& s = small.shape();
        want[static_cast<std::size_t>((i[0] * s[1] + i[1]) * s[2] + i[2])] += values[next++];
      });
      CHECK(near(elements(small), want, 1e-14));
    }
  }
}

TEST_CASE("a source that is stretched is read once per position") {
  Tensor target = zeros(Shape{2, 3}, f64);
  add_(target, expand_new(tensor(Shape{3}, {1, 2, 3}, f64), Axis{0}, 2));
  CHECK(same(elements(target), {1, 2, 3, 1, 2, 3}));
  add_(target, expand_scalar(tensor(Shape{}, {10}, f64), Shape{2, 3}));
  CHECK(same(elements(target), {11, 12, 13, 11, 12, 13}));
}

TEST_CASE("in-place ops refuse other shapes and dtypes, naming themselves and both") {
  Tensor x = zeros(Shape{2, 3});
  const std::string shapes_text = message_of<ShapeError>([&] { add_(x, zeros(Shape{3, 2})); });
  CHECK(opens_with(shapes_text, "add_: shapes (2, 3) and (3, 2) differ"));
  CHECK(contains(shapes_text, "use expand or expand_new"));
  CHECK(opens_with(message_of<ShapeError>([&] { copy_(x, zeros(Shape{3})); }), "copy_: shapes (2, 3) and (3)"));
  CHECK(contains(message_of<DTypeError>([&] { copy_(x, zeros(Shape{2, 3}, f64)); }), "f32 meets f64; convert one"));
  CHECK_THROWS_AS(add_(x, zeros(Shape{2, 3}, f64)), DTypeError);
}

TEST_CASE("every kind of write raises the version, and reading does not") {
  Tensor x = zeros(Shape{2, 2});
  const Tensor other = full(Shape{2, 2}, 1);
  const std::vector<std::function<void()>> writes{[&] {
                                                    x.set({0, 0}, 1);
                                                  },
                                                  [&] { fill_(x, 2); }, [&] { copy_(x, other); },
                                                  [&] { add_(x, other); }, [&] { x.mutable_data<float>()[0] = 3; }};
  for (std::size_t i = 0; i < writes.size(); ++i) {
    CAPTURE(i);
    const std::uint32_t before = x.version();
    writes[i]();
    CHECK(x.version() > before);
  }
  const std::uint32_t before = x.version();
  x.at({0, 0});
  x.to_vector();
  x.data<float>();
  CHECK(x.version() == before);
}

TEST_CASE("views share numbers and version with what they look at") {
  Tensor x = zeros(Shape{2, 3});
  Tensor row = select(x, Axis{0}, 1);
  const std::uint32_t before = x.version();
  row.set({2}, 5);
  CHECK(x.at({1, 2}) == 5);
  CHECK(x.version() > before);
  CHECK(row.version() == x.version());
}

TEST_CASE("a copy of the handle is the same tensor") {
  Tensor x = zeros(Shape{2});
  Tensor y = x;
  y.set({0}, 4);
  CHECK(x.at({0}) == 4);
  CHECK(x.buffer().get() == y.buffer().get());
}

TEST_SUITE_END();

}  // namespace gradus::testing
