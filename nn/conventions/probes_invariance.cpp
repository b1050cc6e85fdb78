// What must change nothing: padding, neighbours, a second run; and what must move along: encoder positions.
#include <algorithm>
#include <cmath>
#include <utility>

#include "nn/conventions/probes_tools.h"

namespace gradus {

using namespace probing;

namespace {

constexpr double allowed_ulps = 4;

Words far(double ulps) {
  if (!std::isfinite(ulps)) return {"not comparable", "无法比较"};
  const std::string text = std::to_string(static_cast<long long>(std::ceil(std::min(ulps, 9e18)))) + " ulp";
  return {text, text};
}

// The weights of one row of the batch, all steps: a picture for most of these probes.
Matrix weights_of_row(const DecoderRun& run, std::int64_t row) {
  if (run.weights.empty()) return {};
  const auto T_dec = static_cast<std::int64_t>(run.weights.size());
  Matrix matrix{numbered("alpha", T_dec), numbered("h", run.weights[0].size(Axis{1})), {}};
  for (const Var& alpha : run.weights) {
    for (double w : select(alpha.value(), Axis{0}, row).to_vector()) matrix.values.push_back(w);
  }
  return matrix;
}

// x (B, T, d) with other numbers where `replace` says so.
Var replaced(const Var& x, std::uint64_t seed, double size,
             const std::function<bool(std::int64_t b, std::int64_t t)>& replace) {
  Generator generator(seed, "replaced");
  Tensor changed = copy(x.value());
  for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
    for (std::int64_t t = 0; t < x.shape()[1]; ++t) {
      for (std::int64_t k = 0; k < x.shape()[2]; ++k) {
        const double other = generator.uniform(-size, size);
        if (replace(b, t)) changed.set({b, t, k}, other);
      }
    }
  }
  return parameter(changed);
}

DecoderInputs only_row_0(const DecoderInputs& in) {
  auto cut = [](const Var& x) { return parameter(copy(narrow(x.value(), Axis{0}, 0, 1))); };
  DecoderInputs alone{cut(in.y_emb), cut(in.H), {}, cut(in.s_0)};
  if (in.mask) {
    alone.mask = Mask(Shape{1, in.mask->shape()[1]});
    for (std::int64_t i = 0; i < in.mask->shape()[1]; ++i) alone.mask->at(0, i) = in.mask->at(0, i);
  }
  return alone;
}

}  // namespace

Probe probe_permutation(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("permutation", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const std::int64_t B = in.H.size(Axis{0}), T = in.H.size(Axis{1});
    if (T < 2)
      return cannot_tell(probe, Words("one encoder position has no other order; use T_enc > 1",
                                      "只有一个编码器位置，没有别的次序；请用 T_enc > 1"));
    std::vector<std::int64_t> from;  // position i of the new order holds old position from[i]: turned by one, reversed
    for (std::int64_t i = 0; i < T; ++i) from.push_back((2 * T - 2 - i) % T);
    DecoderInputs moved = in;
    std::vector<Var> slices;
    for (std::int64_t old : from) slices.push_back(select(in.H, Axis{1}, old));
    moved.H = parameter(stack_along(slices, Axis{1}).value());
    moved.mask = Mask(Shape{B, T}, 1);
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t i = 0; i < T; ++i) {
        moved.mask->at(b, i) = real_at(in.mask, b, from[static_cast<std::size_t>(i)]) ? 1 : 0;
      }
    }
    if (!in.mask) moved.mask.reset();
    const DecoderRun before = decoder.run(in), after = decoder.run(moved);
    DecoderRun expected = before;
    bool told_apart = false;
    for (Var& alpha : expected.weights) {
      std::vector<Var> columns;
      for (std::int64_t old : from) columns.push_back(select(alpha, Axis{1}, old));
      const Var along = stack_along(columns, Axis{1});
      told_apart = told_apart || ulps_apart(along.value(), alpha.value()) > 1e3;
      alpha = along;
    }
    probe.matrix = weights_of_row(after, 0);
    const Apart gap = apart(expected, after);
    const double bound = 256;  // sums run in another order
    probe.passed = gap.ulps <= bound;
    const Words by = far(gap.ulps);
    probe.sentence = probe.passed
                         ? Words("encoder positions in another order: the weights move with them, all else stays",
                                 "编码器位置换个次序：权重随之移动，其余不变")
                         : Words("encoder positions in another order change " + gap.output + " (" + by.en +
                                     "): attention must not know positions",
                                 "编码器位置换个次序，" + gap.output + " 变了（" + by.zh + "）：注意力不该知道位置");
    probe.measured = probe.sentence;
    if (probe.passed && !told_apart && !before.weights.empty()) {
      return cannot_tell(
          probe, Words("all weights are alike, so no order can be told from another", "所有权重都一样，分不清次序"));
    }
    return probe;
  });
}

Probe probe_padding_content(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("padding_content", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    auto padded = [&](std::int64_t b, std::int64_t i) { return !real_at(in.mask, b, i); };
    std::int64_t row = -1;
    for (std::int64_t b = 0; b < in.H.size(Axis{0}) && row < 0; ++b) {
      for (std::int64_t i = 0; i < in.H.size(Axis{1}); ++i) row = padded(b, i) ? b : row;
    }
    if (row < 0)
      return cannot_tell(probe,
                         Words("nothing is masked; give a mask with padding", "没有被掩码的位置；请给出带填充的掩码"));
    DecoderInputs other = in;
    other.H = replaced(in.H, 11, 100, padded);
    const DecoderRun before = decoder.run(in), after = decoder.run(other);
    probe.matrix = weights_of_row(before, row);
    const Apart gap = apart(before, after);
    double weight_on_padding = 0;
    for (const Var& alpha : before.weights) {
      for (std::int64_t b = 0; b < in.H.size(Axis{0}); ++b) {
        for (std::int64_t i = 0; i < in.H.size(Axis{1}); ++i) {
          if (padded(b, i)) weight_on_padding = std::max(weight_on_padding, std::fabs(alpha.value().at({b, i})));
        }
      }
    }
    double gradient_on_padding = 0, gradient = 0;
    const Var all = flat(before);
    if (all.requires_grad()) backward(all, random_like(all, 5));
    for (std::int64_t b = 0; b < in.H.size(Axis{0}); ++b) {
      for (std::int64_t i = 0; i < in.H.size(Axis{1}); ++i) {
        double& largest_there = padded(b, i) ? gradient_on_padding : gradient;
        for (double g : select(select(in.H.grad(), Axis{0}, b), Axis{0}, i).to_vector()) {
          largest_there = std::fabs(g) <= largest_there ? largest_there : std::isnan(g) ? 1e300 : std::fabs(g);
        }
      }
    }
    clear(decoder, in);
    const bool exact = gap.bitwise && gradient_on_padding == 0;
    const bool rounded = gap.ulps <= 64 && gradient_on_padding <= 64 * epsilon_of(in.H.dtype()) * gradient;
    probe.passed = weight_on_padding == 0 && (exact || rounded);
    if (weight_on_padding != 0) probe.sentence = {"masked positions have weight", "被掩码的位置有权重"};
    else if (exact)
      probe.sentence = {"other numbers at masked positions change nothing, not by one bit",
                        "被掩码的位置换成别的数，一个比特也不变"};
    else if (rounded)
      probe.sentence = {
          "other numbers at masked positions change nothing beyond rounding: they take part in "
          "the softmax and are divided out again; mask the scores instead",
          "被掩码的位置换成别的数，除了舍入误差什么也不变：它们参与了 softmax，之后又被除掉；请改为对分数做掩码"};
    else if (gap.ulps > 64)
      probe.sentence = {"other numbers at masked positions change " + gap.output,
                        "被掩码的位置换成别的数，" + gap.output + " 变了"};
    else probe.sentence = {"a gradient flows into masked positions", "有梯度流入被掩码的位置"};
    if (!probe.passed)
      probe.sentence +=
          {"; padding must have weight exactly 0 and gradient exactly 0", "；填充的权重必须恰好为 0，梯度必须恰好为 0"};
    probe.measured = exact     ? Words("bitwise", "逐比特相同")
                     : rounded ? Words("to rounding", "只差舍入误差")
                               : probe.sentence;
    return probe;
  });
}

Probe probe_padding_length(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("padding_length", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const std::int64_t B = in.H.size(Axis{0}), T = in.H.size(Axis{1}), more = 2;
    DecoderInputs tight = in, longer = in;
    tight.mask = Mask(Shape{B, T}, 1);
    longer.mask = Mask(Shape{B, T + more}, 0);
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t i = 0; i < T; ++i) {
        tight.mask->at(b, i) = longer.mask->at(b, i) = real_at(in.mask, b, i) ? 1 : 0;
      }
    }
    Generator generator(12, "more padding");
    const Tensor padding = random_uniform(Shape{B, more, in.H.size(Axis{2})}, -10, 10, generator, in.H.dtype());
    longer.H = parameter(concat({in.H, padding}, Axis{1}).value());
    const DecoderRun before = decoder.run(tight);
    DecoderRun after = decoder.run(longer);
    probe.matrix = weights_of_row(after, 0);
    bool has_weight = false;
    for (Var& alpha : after.weights) {
      for (double w : narrow(alpha.value(), Axis{1}, T, more).to_vector()) has_weight = has_weight || w != 0;
      alpha = narrow(alpha, Axis{1}, 0, T);
    }
    const Apart gap = apart(before, after);
    probe.passed = gap.ulps <= allowed_ulps && !has_weight;
    const Words by = far(gap.ulps);
    probe.sentence = probe.passed ? Words("two more masked positions change nothing (" + by.en + ")",
                                          "再添两个被掩码的位置，什么也不变（" + by.zh + "）")
                     : has_weight ? Words("two more masked positions get weight", "再添的两个被掩码的位置得到了权重")
                                  : Words("two more masked positions change " + gap.output + " (" + by.en + ")",
                                          "再添两个被掩码的位置，" + gap.output + " 变了（" + by.zh + "）");
    if (!probe.passed)
      probe.sentence +=
          {"; a sentence must not depend on the longest one in its batch", "；一个句子不该取决于同批最长的句子"};
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_batch_neighbours(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("batch_neighbours", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const std::int64_t B = in.H.size(Axis{0});
    if (B < 2)
      return cannot_tell(probe,
                         Words("one example has no neighbours; use B > 1", "只有一个样本，没有邻居；请用 B > 1"));
    auto neighbour = [](std::int64_t b, std::int64_t) { return b > 0; };
    DecoderInputs other = in;
    other.y_emb = replaced(in.y_emb, 13, 2, neighbour);
    other.H = replaced(in.H, 14, 2, neighbour);
    other.s_0 =
        reshape(replaced(reshape(in.s_0, in.s_0.shape().inserted(Axis{1}, 1)), 15, 1, neighbour), in.s_0.shape());
    if (in.mask) {
      for (std::int64_t i = 0; i < in.mask->shape()[1]; ++i) {
        for (std::int64_t b = 1; b < B; ++b) other.mask->at(b, i) = 1;
      }
    }
    const DecoderRun together = decoder.run(in);
    const Apart changed = apart(first_row(together), first_row(decoder.run(other)));
    const Apart alone = apart(first_row(together), decoder.run(only_row_0(in)));
    // |d outputs of example b / d inputs of example b'|: only the diagonal may be there.
    probe.matrix = {numbered("outputs", B), numbered("inputs", B), {}};
    bool mixed = false;
    const Var all = flat(together);
    for (std::int64_t b = 0; b < B && all.requires_grad(); ++b) {
      for (const Var& leaf : {in.y_emb, in.H, in.s_0}) leaf.zero_grad();
      Var row;
      for (const auto& [name, y] : outputs_of(together)) {
        const Var part = select(y, Axis{0}, b);
        const Var term = sum(part * Var(random_like(part, 16)));
        row = row.defined() ? row + term : term;
      }
      backward(row, Graph::keep);
      for (std::int64_t from = 0; from < B; ++from) {
        double total = 0;
        for (const Var& leaf : {in.y_emb, in.H, in.s_0}) total += squares_at(leaf, Axis{0}, from);
        probe.matrix.values.push_back(std::sqrt(total));
        mixed = mixed || (from != b && total != 0);
      }
    }
    if (!all.requires_grad()) probe.matrix = {};
    clear(decoder, in);
    probe.passed = changed.bitwise && alone.ulps <= allowed_ulps && !mixed;
    if (!changed.bitwise)
      probe.sentence = {"example 1 changes with the other examples of its batch, in " + changed.output,
                        "样本 1 随同批的其他样本而变，变在 " + changed.output};
    else if (mixed) probe.sentence = {"gradients cross from one example to another", "梯度从一个样本跑到了另一个"};
    else if (alone.ulps > allowed_ulps)
      probe.sentence = {
          "example 1 alone differs from itself in a batch, in " + alone.output + " (" + far(alone.ulps).en + ")",
          "样本 1 单独运行与在批里运行不同，差在 " + alone.output + "（" + far(alone.ulps).zh + "）"};
    else probe.sentence = {"no example sees its neighbours in the batch", "没有样本看得见同批的邻居"};
    if (!probe.passed)
      probe.sentence +=
          {"; an axis is confused: examples of a batch are independent", "；弄混了轴：同批的样本互不相干"};
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_determinism(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("determinism", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const Apart gap = apart(decoder.run(in), decoder.run(in));
    probe.passed = gap.bitwise;
    probe.sentence =
        gap.bitwise ? Words("two runs on the same input agree bit for bit", "同一输入运行两次，逐比特相同")
                    : Words("two runs on the same input differ in " + gap.output +
                                ": dropout that is still on, or a generator that goes on drawing?",
                            "同一输入运行两次，" + gap.output + " 不同：dropout 还开着，还是随机数发生器仍在抽数？");
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_weights_sum(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("weights_sum", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t B = in.H.size(Axis{0}), T = in.H.size(Axis{1});
    if (run.weights.empty())
      return cannot_tell(probe, Words("this decoder returns no weights", "这个解码器不返回权重"));
    const double bound = 8 * epsilon_of(in.H.dtype()) * static_cast<double>(T);
    double off = 0, off_batch = 0, lowest = 0;
    probe.matrix = {numbered("alpha", static_cast<std::int64_t>(run.weights.size())), numbered("example", B), {}};
    for (const Var& alpha : run.weights) {
      if (alpha.shape() != Shape{B, T}) {
        probe.matrix = {};
        probe.sentence = {
            "weights have shape " + to_string(alpha.shape()) + "; they must be (B, T_enc) = " + to_string(Shape{B, T}),
            "权重的形状是 " + to_string(alpha.shape()) + "，必须是 (B, T_enc) = " + to_string(Shape{B, T})};
        return probe;
      }
      for (double w : alpha.value().to_vector()) lowest = w >= lowest ? lowest : w;
      for (double total : sum(alpha.value(), Axis{1}).to_vector()) {
        probe.matrix.values.push_back(total);
        off = std::fabs(total - 1) <= off ? off : std::fabs(total - 1);
      }
      for (double total : sum(alpha.value(), Axis{0}).to_vector()) {
        off_batch = std::fabs(total - 1) <= off_batch ? off_batch : std::fabs(total - 1);
      }
    }
    const bool sums = off <= bound;
    probe.passed = sums && lowest >= 0;
    if (probe.passed)
      probe.sentence = {"the weights of every row sum to 1 over the encoder positions",
                        "每一行的权重在编码器各位置上的和为 1"};
    else if (!sums)
      probe.sentence = {
          "the weights of a row do not sum to 1 over the encoder positions (off by " + std::to_string(off) + ")",
          "有一行权重在编码器各位置上的和不是 1（差 " + std::to_string(off) + "）"};
    else probe.sentence = {"some weight is negative", "有负的权重"};
    if (!sums && off_batch <= bound)
      probe.sentence +=
          {"; they sum to 1 over the batch: the softmax has the wrong axis", "；它们沿批次的和为 1：softmax 用错了轴"};
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_convex_hull(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("convex_hull", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const std::int64_t B = in.H.size(Axis{0}), T = in.H.size(Axis{1}), d_h = in.H.size(Axis{2});
    DecoderInputs large = in, alike = in;
    large.H = parameter((in.H * 3.0).value());  // a tanh would show
    alike.H = parameter(copy(expand_new(select(in.H.value(), Axis{1}, 0), Axis{1}, T)));
    const DecoderRun run = decoder.run(large), same = decoder.run(alike);
    if (run.contexts.empty() || run.weights.empty())
      return cannot_tell(probe, Words("this decoder returns no contexts", "这个解码器不返回上下文"));
    if (run.contexts[0].shape() != Shape{B, d_h}) {
      probe.sentence = {
          "contexts have shape " + to_string(run.contexts[0].shape()) +
              "; they must be (B, d_h) = " + to_string(Shape{B, d_h}),
          "上下文的形状是 " + to_string(run.contexts[0].shape()) + "，必须是 (B, d_h) = " + to_string(Shape{B, d_h})};
      return probe;
    }
    const double eps = epsilon_of(in.H.dtype());
    double outside = 0, unlike = 0, other_sum = 0;
    probe.matrix = {numbered("c", static_cast<std::int64_t>(run.contexts.size())), numbered("feature", d_h), {}};
    for (std::size_t t = 0; t < run.contexts.size(); ++t) {
      for (std::int64_t b = 0; b < B; ++b) {
        for (std::int64_t k = 0; k < d_h; ++k) {
          double low = 1e300, high = -1e300, mixed = 0;
          for (std::int64_t i = 0; i < T; ++i) {
            const double h = large.H.value().at({b, i, k});
            mixed += run.weights[t].value().at({b, i}) * h;
            if (!real_at(in.mask, b, i)) continue;
            low = std::min(low, h);
            high = std::max(high, h);
          }
          const double c = run.contexts[t].value().at({b, k}), h_0 = alike.H.value().at({b, 0, k});
          auto worst = [](double& so_far, double gap) { so_far = gap <= so_far ? so_far : gap; };
          worst(outside, std::max(low - c, c - high));
          worst(unlike, std::fabs(same.contexts[t].value().at({b, k}) - h_0));
          worst(other_sum, std::fabs(c - mixed));
          if (b == 0) probe.matrix.values.push_back(c);
        }
      }
    }
    const double bound = 64 * eps;
    probe.passed = outside <= bound && unlike <= bound && other_sum <= bound;
    if (probe.passed)
      probe.sentence = {"every context is the weighted mean of the encoder states",
                        "每个上下文都是编码器隐藏状态的加权平均"};
    else if (!(outside <= bound))
      probe.sentence = {"a context lies outside the range of the encoder states",
                        "有上下文落在编码器隐藏状态的范围之外"};
    else if (!(unlike <= bound))
      probe.sentence = {"with all encoder states equal the context is not equal to them",
                        "编码器隐藏状态全都相等时，上下文与它们不等"};
    else
      probe.sentence = {"contexts are not the sum of weights times encoder states",
                        "上下文不是权重乘编码器隐藏状态之和"};
    if (!probe.passed)
      probe.sentence += {": is it squashed, scaled, or made of something else than H?",
                         "：它被压扁、被缩放，还是由 H 以外的东西算出？"};
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_scorer(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("scorer", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    if (!has_choice(in))
      return cannot_tell(probe, Words("with one encoder position its weight is always 1; use T_enc > 1",
                                      "只有一个编码器位置时权重总是 1；请用 T_enc > 1"));
    const DecoderRun run = decoder.run(in);
    if (run.weights.empty())
      return cannot_tell(probe, Words("this decoder returns no weights", "这个解码器不返回权重"));
    clear(decoder, in);
    probe.matrix.columns = {"|d alpha|"};
    std::string dead;
    auto row = [&](const std::string& name, double total) {
      probe.matrix.rows.push_back(name);
      probe.matrix.values.push_back(std::sqrt(total));
      if (total == 0) dead += (dead.empty() ? "" : ", ") + name;
    };
    const Var first = run.weights[0];
    if (first.requires_grad()) backward(first, random_like(first, 21), Graph::keep);
    row("H", squares(in.H));  // at step 1: later the encoder states also reach the weights through the decoder's state
    clear(decoder, in);
    for (const Var& s : run.states) s.zero_grad();
    const Var all = stack_along(run.weights, Axis{1});
    if (all.requires_grad()) backward(all, random_like(all, 22), Graph::keep);
    double through_states = 0;
    for (const Var& s : run.states) through_states += squares(s);
    row("s", through_states);
    for (const Parameter& p : decoder.parameters) {
      if (p.name == "W_a" || p.name == "U_a" || p.name == "v_a" || p.name == "b_a") row(p.name, squares(p.var));
    }
    clear(decoder, in);
    if (!dead.empty() && std::all_of(run.weights.begin(), run.weights.end(), settled)) {
      return cannot_tell(
          probe, Words("every weight is so sure of one position that nothing moves it; use a less certain input",
                       "每个权重都完全确定在一个位置上，什么都动不了它；请换一个不那么确定的输入"));
    }
    probe.passed = dead.empty();
    probe.sentence =
        dead.empty()
            ? Words(
                  "the weights depend on the encoder states, the decoder's states and every parameter "
                  "of the score",
                  "权重依赖编码器隐藏状态、解码器状态和打分的每个参数")
            : Words("the weights do not depend on " + dead + ": the score cannot learn, or does not look there",
                    "权重不依赖 " + dead + "：打分学不到东西，或者不看那里");
    probe.measured = probe.sentence;
    return probe;
  });
}

}  // namespace gradus
