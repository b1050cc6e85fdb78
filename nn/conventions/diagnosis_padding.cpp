// Rows behind the end, each held against what people put there.
#include "nn/conventions/diagnosis_padding.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "nn/conventions/diagnosis_stages.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// The last real position of an example, or nothing.
std::optional<std::size_t> last_real(const Array& mask, std::size_t b) {
  std::optional<std::size_t> last;
  for (std::size_t t = 0; t < mask.dim(1); ++t)
    if (mask.at({b, t}) != 0) last = t;
  return last;
}

template <class F> void each_padded(const Arrays& given, F visit) {  // visit(b, t)
  const Array *h = find(given, "h"), *mask = find(given, "mask");
  if (!h || !mask || h->shape.size() != 3 || mask->shape != Dims{h->dim(0), h->dim(1)}) return;
  for (std::size_t b = 0; b < h->dim(0); ++b)
    for (std::size_t t = 0; t < h->dim(1); ++t)
      if (mask->at({b, t}) == 0) visit(b, t);
}

bool same(Row a, Row b, double tolerance) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](double x, double y) { return std::fabs(x - y) <= tolerance; });
}
bool is_zero(Row a) {
  return std::all_of(a.begin(), a.end(), [](double x) { return x == 0; });
}

}  // namespace

bool holds_other_numbers(const Arrays& given, std::size_t directions) {
  bool other = false;
  each_padded(given, [&](std::size_t b, std::size_t t) {
    const Array &h = get(given, "h"), &mask = get(given, "mask");
    const std::size_t d = h.dim(2) / directions;
    const auto last = last_real(mask, b);
    for (std::size_t part = 0; part < directions; ++part) {
      const Row row = h.row({b, t}).subspan(part * d, d);
      const auto is = [&](std::size_t position) { return same(row, h.row({b, position}).subspan(part * d, d), 1e-6); };
      other = other || !(is_zero(row) || is(0) || (last && is(*last)));
    }
  });
  return other;
}

Array without_padding(const Arrays& given) {
  Array h = get(given, "h");
  each_padded(given, [&](std::size_t b, std::size_t t) { h.set_row({b, t}, Vec(h.dim(2))); });
  return h;
}

bool agrees_at_real_positions(const Arrays& given, const Array& right, double tolerance) {
  const Array &h = get(given, "h"), &mask = get(given, "mask");
  if (h.shape != right.shape) return false;
  double most = 0, size = 1e-300;
  for (std::size_t p = 0; p < mask.data.size(); ++p)
    for (std::size_t k = p * h.dim(2); mask.data[p] != 0 && k < (p + 1) * h.dim(2); ++k) {
      if (!std::isfinite(h.data[k]) || !std::isfinite(right.data[k])) return false;
      most = std::max(most, std::fabs(h.data[k] - right.data[k])), size = std::max(size, std::fabs(h.data[k]));
    }
  return most < tolerance * size;
}

BehindTheEnd behind_the_end(const Arrays& given, const Model& right, std::size_t directions, double tolerance) {
  const Array &h = get(given, "h"), &mask = get(given, "mask");
  BehindTheEnd other{{"outputs behind the end are not compared: they are neither 0 nor the last state",
                      "序列结束之后的输出不参与比较：既不是 0，也不是最后的状态"}};
  Model reading_on = right;
  reading_on.run.after_end = reading_on.both.after_end = AfterEnd::run_on;
  try {
    const Array on = get(stage_outputs(reading_on, given, {Stage::run}), "h");
    const std::size_t d = h.dim(2) / directions;
    std::size_t most = 0;  // steps that were read behind an end
    bool all = on.shape == h.shape;
    each_padded(given, [&](std::size_t b, std::size_t t) {
      const std::size_t end = last_real(mask, b).value_or(0);
      for (std::size_t part = 0; part < directions && all; ++part) {
        const Row row = h.row({b, t}).subspan(part * d, d);
        if (is_zero(row) || same(row, h.row({b, end}).subspan(part * d, d), tolerance)) continue;
        all = same(row, on.row({b, t}).subspan(part * d, d), tolerance);
        most = std::max(most, t > end ? t - end : 0);
      }
    });
    if (!all || most == 0) return other;
    const std::string n = std::to_string(most);
    return {{"behind the end stand outputs of a cell that reads on over the padding, " + n +
                 (most == 1 ? " step" : " steps") + " too far; real positions and final states do not know of it",
             "序列结束之后还有循环单元继续读填充而得的输出，多读了 " + n + " 步；真实位置与最终状态不受影响"},
            true};
  } catch (const std::invalid_argument&) { return other; }
}

}  // namespace gradus::diagnosis
