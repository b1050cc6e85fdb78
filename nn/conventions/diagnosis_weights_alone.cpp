#include "nn/conventions/diagnosis_weights_alone.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace gradus::diagnosis {

using namespace reference;

std::optional<std::pair<Kind, Words>> seen_in_weights(const Bench& bench) {
  const Array& alpha = get(bench.given, "alpha");
  const Dims& shape = alpha.shape;
  const double eps = std::max(bench.single ? 1e-4 : 1e-8, 5 * rounding_of(bench.half));
  const std::size_t B = shape[0], T = shape[shape.size() - 2], n = shape.back(), all = alpha.data.size();
  if (all == 0) return std::nullopt;
  // Along axes other than the last a sum of 0 is one of masked weights.
  const auto sums_to_one = [&](std::size_t axis) {
    std::size_t stride = 1;
    for (std::size_t k = axis + 1; k < shape.size(); ++k) stride *= shape[k];
    for (std::size_t first = 0; first < all; ++first) {
      if (first / stride % shape[axis]) continue;
      double sum = 0;
      for (std::size_t k = 0; k < shape[axis]; ++k) sum += alpha.data[first + k * stride];
      if (!(std::fabs(sum - 1) < eps || (sum == 0 && stride > 1))) return false;
    }
    return true;
  };
  const bool by_keys = sums_to_one(shape.size() - 1), by_batch = sums_to_one(0),
             by_steps = sums_to_one(shape.size() - 2);
  // Over all axes but one.
  const auto jointly_one = [&](std::size_t kept) {
    std::size_t stride = 1;
    for (std::size_t k = kept + 1; k < shape.size(); ++k) stride *= shape[k];
    Vec sums(shape[kept]);
    for (std::size_t k = 0; k < all; ++k) sums[k / stride % shape[kept]] += alpha.data[k];
    return std::all_of(sums.begin(), sums.end(), [&](double sum) { return std::fabs(sum - 1) < eps; });
  };
  bool ones = true;
  double padded = 0;
  std::set<std::size_t> leaking;  // steps at which padding gets weight
  const Array* mask = reference::find(bench.given, "mask");
  if (mask && mask->shape != Dims{B, n}) mask = nullptr;
  for (std::size_t k = 0; k < all; ++k) {
    const double x = alpha.data[k];
    if (mask && mask->at({k / (all / B), k % n}) == 0) {
      padded = std::max(padded, std::fabs(x));
      if (std::fabs(x) > eps) leaking.insert(k / n % T + 1);
    } else ones = ones && std::fabs(x - 1) < eps;
  }
  if (!by_keys && ones && n > 1) return {{Kind::axis, {"; every weight is 1", "；每个权重都是 1"}}};
  if (!by_keys && shape.size() == 4 && sums_to_one(1) && shape[1] > 1)
    return {{Kind::axis, {"; the weights sum to 1 over the heads", "；权重沿头维求和为 1"}}};
  if (!by_keys && by_batch && B > 1)
    return {{Kind::axis, {"; the weights sum to 1 over the batch", "；权重沿批次求和为 1"}}};
  if (!by_keys && by_steps && T > 1)
    return {{Kind::axis, {"; the weights sum to 1 over the decoder steps", "；权重沿解码步求和为 1"}}};
  if (!by_keys && jointly_one(shape.size() - 2) && B > 1)
    return {{Kind::axis, {"; the weights of a step sum to 1 over the whole batch", "；每一步的权重对整批求和为 1"}}};
  if (!by_keys && jointly_one(0) && T > 1)
    return {{Kind::axis,
             {"; the weights of an example sum to 1 over all its steps", "；每个样本的权重对它的所有步求和为 1"}}};
  if (padded > eps) {
    Words seen = {"; padding gets weight", "；填充得到了权重"};
    if (leaking.size() < T) {
      std::string steps;
      for (std::size_t t : leaking) steps += (steps.empty() ? "" : ", ") + std::to_string(t);
      seen.en += leaking.size() == 1 ? " at step " + steps + " only" : " at steps " + steps + " only";
      seen.zh += "，只在第 " + steps + " 步";
    }
    return {{Kind::mask, seen}};
  }
  if (!by_keys)
    return {{Kind::convention, {"; the weights do not sum to 1 along any axis", "；权重沿任何轴求和都不为 1"}}};
  return std::nullopt;
}

void look_at_weights(const Bench& bench, Report& report) {
  const bool queries = bench.there("s") || bench.there("query");
  if (!bench.there("s") && !queries)
    report.verdict.open.push_back(
        {"query",
         bench.fields_named("query").what,
         {"the decoder's states s (B, T_dec + 1, d_s): the query time cannot be told without states of two steps",
          "解码器状态 s (B, T_dec + 1, d_s)：没有两步的状态就无法判断查询的时间"}});
  if ((!bench.there("mask") || !bench.has_padding()) && !report.verdict.leaves_open("mask")) {
    const Field& mask = bench.fields_named("mask");
    report.verdict.open.push_back({"mask", mask.what, mask.tell});
  }
  const bool follow_from_scores = queries && !(report.forward_is_open && !bench.there("e"));
  if (!bench.there("alpha") || follow_from_scores) return;
  report.verdict.checked = true;
  const auto seen = seen_in_weights(bench);
  if (!seen) {
    report.follow({"the weights sum to 1 over the encoder positions and padding gets none",
                   "权重沿编码器位置求和为 1，填充没有权重"});
    return;
  }
  Finding f;
  f.kind = seen->first;
  f.where = name_of(Stage::weights);
  f.sentence = {"the weights alone say" + seen->second.en, "仅从权重就能看出" + seen->second.zh};
  const std::string text = seen->second.en;
  if (text.find("every weight") != std::string::npos) f.code = "SOFTMAX_AXIS_SINGLETON";
  else if (text.find("batch") != std::string::npos) f.code = "SOFTMAX_AXIS_BATCH";
  else if (text.find("decoder steps") != std::string::npos) f.code = "SOFTMAX_AXIS_QUERIES";
  else f.code = "UNKNOWN";
  if (f.kind == Kind::mask) {
    f.code = "MASK_FINITE_FILL|MASK_MISSING|MASK_MULT_BEFORE_SOFTMAX";
    f.alias = {"MASK_FINITE_FILL", "MASK_MISSING", "MASK_MULT_BEFORE_SOFTMAX"};
    f.tell = {"the same trace with s and the score's parameters", "带上 s 与打分参数的同一份数据"};
  }
  if (f.code == "UNKNOWN") report.named_unknown = true;
  if (f.code.rfind("SOFTMAX_AXIS", 0) == 0) {
    const char* id = f.code == "SOFTMAX_AXIS_SINGLETON" ? "singleton"
                     : f.code == "SOFTMAX_AXIS_BATCH"   ? "batch"
                                                        : "queries";
    const Option* o = find_option("axis", id);
    f.used = o->used, f.paper = o->paper, f.fix = o->fix, f.test = o->test;
  }
  report.verdict.findings.push_back(f);
}

}  // namespace gradus::diagnosis
