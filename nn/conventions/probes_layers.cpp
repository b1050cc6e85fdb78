// Probes for cells, encoders, losses and training.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "nn/conventions/probes_tools.h"

namespace gradus {

using namespace probing;

CellUnderTest under_test(const Gru& gru) {
  auto kept = std::make_shared<const Gru>(gru);
  const std::int64_t d_s = gru.U.shape()[1];
  return {"Gru",
          [kept](const Var& x, const Var& s_prev) { return kept->step(x, s_prev); },
          gru.W,
          d_s,
          gru.options.order == GruOrder::rzn ? d_s : 0,
          gru.options.update};
}

Probe probe_latch(const CellUnderTest& cell, const Var& s_prev) {
  return guarded("latch", [&](Probe probe) {
    NoGrad no_grad;
    const std::int64_t d_in = cell.W.shape()[1];
    const Tensor x = full(Shape{s_prev.size(Axis{0}), d_in}, 1, s_prev.dtype());
    Tensor& W = cell.W.mutable_value();
    const Tensor before = copy(W);
    auto driven = [&](double preactivation) {
      Tensor rows = narrow(W, Axis{0}, cell.z_row, cell.d_s);
      fill_(rows, preactivation / static_cast<double>(d_in));
      const Tensor s_t = copy(cell.step(x, s_prev).value());
      copy_(W, before);
      return s_t;
    };
    const double keep = cell.update == GruUpdate::keeps ? 100 : -100;
    const Tensor kept = driven(keep), renewed = driven(-keep);
    double gap = 0, moved = 0;
    const std::vector<double> old = s_prev.value().to_vector(), same = kept.to_vector(), other = renewed.to_vector();
    probe.matrix = {{"s_{t-1}", "z keeps", "z renews"}, numbered("unit", cell.d_s), {}};
    for (const std::vector<double>& row : {old, same, other}) {
      probe.matrix.values.insert(probe.matrix.values.end(), row.begin(), row.begin() + cell.d_s);
    }
    for (std::size_t i = 0; i < old.size(); ++i) {
      const double off = std::fabs(same[i] - old[i]) / std::max(1.0, std::fabs(old[i]));
      gap = off <= gap ? gap : off;
      moved = std::max(moved, std::fabs(other[i] - old[i]));
    }
    const bool keeps = gap <= 4 * epsilon_of(s_prev.dtype()), renews = moved > 1e-6;
    probe.passed = keeps && renews;
    probe.sentence =
        probe.passed ? Words("with the update gate at its end the state is kept unchanged, at the other it is new",
                             "更新门在一端时状态保持不变，在另一端时是新的")
        : !keeps     ? Words(
                           "with the update gate at the end that keeps, the state changes all the same: are z and "
                               "1 - z exchanged, or is the gate not used?",
                           "更新门在保留的一端，状态却照样改变：z 与 1 - z 弄反了，还是没有用上这个门？")
                 : Words("the update gate does not renew the state", "更新门不能更新状态");
    probe.measured = probe.sentence;
    return probe;
  });
}

EncoderUnderTest under_test(const Bidirectional& encoder) {
  auto kept = std::make_shared<const Bidirectional>(encoder);
  return {"Bidirectional", [kept](const Var& x, const std::optional<Mask>& mask) -> EncoderRun {
            const Bidirectional::Encoded encoded = (*kept)(x, mask);
            return {encoded.H, encoded.forward_last, encoded.backward_first};
          }};
}

namespace {

std::int64_t real_positions(const std::optional<Mask>& mask, std::int64_t row, std::int64_t T) {
  std::int64_t n = 0;
  while (n < T && real_at(mask, row, n)) ++n;
  return n;
}

// Outputs of one row that a decoder would look at: H at real positions, and both final states.
std::vector<Tensor> seen_of_row(const EncoderRun& run, std::int64_t row, std::int64_t n) {
  auto of_row = [&](const Var& x) { return select(x.value(), Axis{0}, row); };
  return {narrow(of_row(run.H), Axis{0}, 0, n), of_row(run.forward_last), of_row(run.backward_first)};
}

const char* const seen_names[] = {"H", "forward_last", "backward_first"};

}  // namespace

Probe probe_encoder_reach(const EncoderUnderTest& encoder, const Var& x, const std::optional<Mask>& mask) {
  return guarded("encoder_reach", [&](Probe probe) {
    const Var leaf = fresh_leaf(x);
    const EncoderRun run = encoder.run(leaf, mask);
    const std::int64_t T = x.size(Axis{1}), d = run.H.size(Axis{2}) / 2, n = real_positions(mask, 0, T);
    if (n < 2)
      return cannot_tell(probe, Words("row 0 has one real position, which both directions see; use longer rows",
                                      "第 0 行只有一个真实位置，两个方向都看得见；请用更长的行"));
    probe.matrix.columns = numbered("x", T);
    std::string wrong;
    auto row = [&](const std::string& label, const Var& result, auto sees) {
      std::vector<double> total(static_cast<std::size_t>(T), 0);
      for_each_component(result, {leaf}, [&](double weight) {
        const Tensor grad = select(leaf.grad(), Axis{0}, 0);
        for (std::int64_t k = 0; k < T; ++k) {
          for (double g : select(grad, Axis{0}, k).to_vector()) total[static_cast<std::size_t>(k)] += weight * g * g;
        }
      });
      probe.matrix.rows.push_back(label);
      bool right = true;
      for (std::int64_t k = 0; k < T; ++k) {
        probe.matrix.values.push_back(std::sqrt(total[static_cast<std::size_t>(k)]));
        right = right && (probe.matrix.values.back() != 0) == (k < n && sees(k));
      }
      if (!right) wrong += (wrong.empty() ? "" : ", ") + label;
    };
    auto first_row_only = [](const Var& y) { return narrow(y, Axis{0}, 0, 1); };
    for (std::int64_t i = 0; i < n; ++i) {
      row("forward h_" + std::to_string(i + 1), first_row_only(narrow(select(run.H, Axis{1}, i), Axis{1}, 0, d)),
          [i](std::int64_t k) { return k <= i; });
    }
    for (std::int64_t i = 0; i < n; ++i) {
      row("backward h_" + std::to_string(i + 1), first_row_only(narrow(select(run.H, Axis{1}, i), Axis{1}, d, d)),
          [i](std::int64_t k) { return k >= i; });
    }
    row("forward_last", first_row_only(run.forward_last), [](std::int64_t) { return true; });
    row("backward_first", first_row_only(run.backward_first), [](std::int64_t) { return true; });
    probe.passed = wrong.empty();
    probe.sentence = wrong.empty()
                         ? Words(
                               "forward states see no later position, backward states no earlier one, the final "
                               "states see all, and none sees padding",
                               "正向状态看不见后面的位置，反向状态看不见前面的，最终状态看见全部，谁也看不见填充")
                         : Words(wrong +
                                     " see other positions than they should: the wrong end of a direction, a row "
                                     "not turned round again, or padding that is read",
                                 wrong + " 看见了不该看见的位置：取错了方向的一端、某行没有再转回来，或者读了填充");
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_encoder_padding(const EncoderUnderTest& encoder, const Var& x, const std::optional<Mask>& mask) {
  return guarded("encoder_padding", [&](Probe probe) {
    NoGrad no_grad;
    const std::int64_t B = x.size(Axis{0}), T = x.size(Axis{1}), more = 2;
    Generator generator(61, "padding");
    const Tensor noise = random_uniform(Shape{B, T + more, x.size(Axis{2})}, -10, 10, generator, x.dtype());
    Tensor changed = copy(x.value()), longer = copy(noise);
    Tensor shorter = narrow(longer, Axis{1}, 0, T);
    copy_(shorter, x.value());
    Mask tight(Shape{B, T}, 1), wide(Shape{B, T + more}, 0);
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t t = 0; t < T; ++t) {
        tight.at(b, t) = wide.at(b, t) = real_at(mask, b, t) ? 1 : 0;
        if (real_at(mask, b, t)) continue;
        for (std::int64_t k = 0; k < x.size(Axis{2}); ++k) changed.set({b, t, k}, noise.at({b, t, k}));
      }
    }
    const EncoderRun before = encoder.run(x, tight), after = encoder.run(changed, tight),
                     long_run = encoder.run(longer, wide);
    Words wrong;
    for (std::int64_t b = 0; b < B; ++b) {
      const std::int64_t n = real_positions(mask, b, T);
      const auto first = seen_of_row(before, b, n), second = seen_of_row(after, b, n),
                 third = seen_of_row(long_run, b, n);
      for (std::size_t k = 0; k < first.size() && wrong.empty(); ++k) {
        if (!bitwise_equal(first[k], second[k]))
          wrong = {std::string("the content of padding changes ") + seen_names[k],
                   std::string("填充的内容改变了 ") + seen_names[k]};
        else if (ulps_apart(first[k], third[k]) > 4)
          wrong = {std::string("more padding changes ") + seen_names[k],
                   std::string("更多的填充改变了 ") + seen_names[k]};
      }
    }
    probe.passed = wrong.empty();
    probe.sentence =
        wrong.empty()
            ? Words("neither content nor length of the padding changes anything at real positions",
                    "填充的内容和长度都不改变真实位置上的任何东西")
            : wrong + Words(": does the backward direction start inside the padding?", "：反向是从填充里开始的吗？");
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_encoder_neighbours(const EncoderUnderTest& encoder, const Var& x, const std::optional<Mask>& mask) {
  return guarded("encoder_neighbours", [&](Probe probe) {
    NoGrad no_grad;
    const std::int64_t B = x.size(Axis{0}), T = x.size(Axis{1});
    if (B < 2)
      return cannot_tell(probe,
                         Words("one example has no neighbours; use B > 1", "只有一个样本，没有邻居；请用 B > 1"));
    Generator generator(62, "neighbours");
    Tensor changed = random_uniform(x.shape(), -2, 2, generator, x.dtype());
    Tensor row_0 = select(changed, Axis{0}, 0);
    copy_(row_0, select(x.value(), Axis{0}, 0));
    const std::int64_t n = real_positions(mask, 0, T);
    const auto before = seen_of_row(encoder.run(x, mask), 0, n), after = seen_of_row(encoder.run(changed, mask), 0, n);
    probe.passed = true;
    for (std::size_t k = 0; k < before.size(); ++k) {
      if (bitwise_equal(before[k], after[k])) continue;
      probe.passed = false;
      probe.sentence = {std::string("example 1 changes with the other examples of its batch, in ") + seen_names[k] +
                            ": an axis is confused (a reshape for a transpose, batch for time)",
                        std::string("样本 1 随同批的其他样本而变，变在 ") + seen_names[k] +
                            "：弄混了轴（该转置却 reshape，或把批次当作时间）"};
    }
    if (probe.passed) probe.sentence = {"no example sees its neighbours in the batch", "没有样本看得见同批的邻居"};
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_exact_fit(const RegressionLoss& loss, const Tensor& prediction, const Tensor& target) {
  return guarded("exact_fit", [&](Probe probe) {
    NoGrad no_grad;
    const std::int64_t n = target.shape()[0];
    if (n < 2)
      return cannot_tell(probe, Words("one pair cannot be mispaired; use several", "只有一对，不会配错；请用几对"));
    auto reversed = [n](const Tensor& x) {
      std::vector<Var> rows;
      for (std::int64_t i = n; i-- > 0;) rows.push_back(select(x, Axis{0}, i));
      return stack_along(rows, Axis{0}).value();
    };
    const double fit = loss(reshape(target, prediction.shape()), target).item();
    const double loss_of_pairs = loss(prediction, target).item();
    const double same_pairs = loss(reversed(prediction), reversed(target)).item();
    const double other_pairs = loss(prediction, reversed(target)).item();
    const double size = std::max(1e-30, std::fabs(loss_of_pairs)), bound = 64 * epsilon_of(target.dtype());
    probe.matrix = {{"exact fit", "pairs", "pairs reordered", "targets reordered"},
                    {"loss"},
                    {fit, loss_of_pairs, same_pairs, other_pairs}};
    if (!(std::fabs(fit) <= bound))
      probe.sentence = {"an exact fit has loss " + std::to_string(fit) + ", not 0",
                        "完全吻合时损失是 " + std::to_string(fit) + "，不是 0"};
    else if (!(std::fabs(same_pairs - loss_of_pairs) <= bound * size))
      probe.sentence = {"the order of the pairs matters", "各对的次序居然有影响"};
    else if (other_pairs == loss_of_pairs)
      probe.sentence = {"which target belongs to which prediction does not matter", "哪个目标对应哪个预测居然没有影响"};
    else probe.passed = true;
    probe.sentence =
        probe.passed ? Words("an exact fit has loss 0, and pairs count as pairs", "完全吻合时损失为 0，每一对各算各的")
                     : probe.sentence + Words(": are all predictions compared with all targets?",
                                              "：是不是把所有预测与所有目标都比较了？");
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_exact_fit(const TokenLoss& loss, std::int64_t vocab) {
  return guarded("exact_fit", [&](Probe probe) {
    NoGrad no_grad;
    if (vocab < 2)
      return cannot_tell(
          probe, Words("with one token every loss is 0; use vocab > 1", "只有一个词时损失总是 0；请用 vocab > 1"));
    constexpr std::int64_t B = 2, T = 3;
    const Shape shape{B, T, vocab};
    Generator generator(71, "token loss");
    Tensor sure = zeros(shape, f64), drawn = random_uniform(shape, -2, 2, generator, f64);
    Tensor other_pads = copy(drawn), padded = zeros(Shape{B, T + 1, vocab}, f64);
    Ids targets(Shape{B, T}), padded_targets(Shape{B, T + 1});
    Mask counts = mask_from_lengths({T, T - 1}, T), padded_counts = mask_from_lengths({T, T - 1}, T + 1);
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t t = 0; t < T; ++t) {
        targets.at(b, t) = padded_targets.at(b, t) = static_cast<std::int32_t>((b + t) % vocab);
        sure.set({b, t, (b + t) % vocab}, 1000);
        for (std::int64_t v = 0; v < vocab; ++v) {
          padded.set({b, t, v}, drawn.at({b, t, v}));
          if (!counts.at(b, t)) other_pads.set({b, t, v}, generator.uniform(-5, 5));
        }
      }
    }
    const double fit = loss(sure, targets, counts).item(), plain = loss(drawn, targets, counts).item();
    const double changed = loss(other_pads, targets, counts).item();
    const double appended = loss(padded, padded_targets, padded_counts).item();
    const double shifted = loss((Var(drawn) + 1000.0).value(), targets, counts).item();
    const double uniform_loss = loss(zeros(shape, f64), targets, counts).item();
    const double log_V = std::log(static_cast<double>(vocab));
    probe.matrix = {{"sure and right", "uniform", "random", "pads changed", "pad appended", "all logits + 1000"},
                    {"loss"},
                    {fit, uniform_loss, plain, changed, appended, shifted}};
    auto differ = [](double a, double b, double bound) { return !(std::fabs(a - b) <= bound); };
    if (differ(fit, 0, 1e-12))
      probe.sentence = {
          "logits that are sure and right have loss " + std::to_string(fit) +
              ", not 0: a softmax before a loss that takes logits?",
          "确定而且正确的 logits 损失是 " + std::to_string(fit) + "，不是 0：在接受 logits 的损失之前先做了 softmax？"};
    else if (differ(plain, changed, 0))
      probe.sentence = {"logits at padding change the loss: pads are counted",
                        "填充处的 logits 改变了损失：填充被算进去了"};
    else if (differ(plain, appended, 1e-12))
      probe.sentence = {"one more pad changes the loss: pads are in the denominator",
                        "多一个填充就改变损失：填充进了分母"};
    else if (differ(uniform_loss, log_V, 1e-12))
      probe.sentence = {"uniform logits have loss " + std::to_string(uniform_loss) + ", not log V",
                        "均匀的 logits 损失是 " + std::to_string(uniform_loss) + "，不是 log V"};
    else if (differ(plain, shifted, 1e-9))
      probe.sentence = {"the same number added to all logits changes the loss", "所有 logits 加上同一个数，损失变了"};
    else probe.passed = true;
    if (probe.passed)
      probe.sentence = {"an exact fit has loss 0, uniform logits log V, and padding counts for nothing",
                        "完全吻合时损失为 0，均匀的 logits 为 log V，填充不算数"};
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_resume(const std::function<TrainingUnderTest()>& fresh, int steps, const std::string& place) {
  return guarded("resume", [&](Probe probe) {
    TrainingUnderTest straight = fresh();
    straight.train(2 * steps);
    TrainingUnderTest first = fresh();
    const std::vector<double> start = first.numbers();
    first.train(steps);
    first.save(place);
    TrainingUnderTest second = fresh();
    second.restore(place);
    second.train(steps);
    const std::vector<double> a = straight.numbers(), b = second.numbers();
    double gap = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) gap = std::max(gap, std::fabs(a[i] - b[i]));
    const bool same =
        a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
    if (a == start)
      return cannot_tell(
          probe, Words("training changed nothing, so there was nothing to resume", "训练什么也没改变，没有可以恢复的"));
    probe.matrix = {{"largest gap"}, {"resumed"}, {gap}};
    probe.passed = same;
    probe.sentence =
        same ? Words("training that was saved and resumed ends where uninterrupted training ends, bit for bit",
                     "保存后恢复的训练与不间断的训练逐比特到达同一处")
             : Words("resumed training ends elsewhere (largest gap " + std::to_string(gap) +
                         "): is the optimiser's state, the step count or the order of the data lost?",
                     "恢复的训练到了别处（最大差 " + std::to_string(gap) +
                         "）：丢了优化器的状态、步数，还是数据的次序？");
    probe.measured = probe.sentence;
    return probe;
  });
}

}  // namespace gradus
