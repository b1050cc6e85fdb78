// The topics and their variants, and the search over one topic.
#include "nn/conventions/formulas.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "nn/conventions/reference/loss.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

using Compute = Arrays (*)(const Arrays&);

// One way to compute a topic's outputs. level choice and benign: right. Throws std::invalid_argument if it cannot
// apply.
struct Formula {
  const char* code;
  Level level;
  Kind kind;
  Compute compute;
  Said sentence;
  Line used = {};
  Line paper = {};
  Said fix = {};
  Line test = {};
};

struct Topic {
  const char* name;
  Said what;
  std::vector<const char*> needs;    // arrays that must be there
  std::vector<const char*> outputs;  // at least one of them must be; all that are there are compared
  Said tell;                         // an input on which the variants differ
  std::vector<Formula> formulas;
};

[[noreturn]] void not_here() { throw std::invalid_argument("does not apply"); }

double number(const Arrays& a, const char* name, double otherwise = std::nan("")) {
  const Array* x = find(a, name);
  if (!x) {
    if (std::isnan(otherwise)) not_here();
    return otherwise;
  }
  if (x->data.size() != 1) throw std::invalid_argument(std::string("diagnosis: ") + name + " should be one number");
  return x->data[0];
}

Array filled(const Array& like, double x) { return Array(like.shape, Vec(like.data.size(), x)); }
Array scaled(const Array& a, double k) { return Array(a.shape, multiply(a.data, Vec(a.data.size(), k))); }
Array plus(const Array& a, const Array& b) { return Array(a.shape, add(a.data, b.data)); }
double sum_of(const Vec& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}

// ---- losses

Array three(const Array& logits) {
  Array a = logits;
  while (a.shape.size() < 3) a.shape.insert(a.shape.begin(), 1);
  return a;
}
Array two(const Array& targets) {
  Array a = targets;
  while (a.shape.size() < 2) a.shape.insert(a.shape.begin(), 1);
  return a;
}

Arrays loss_of(const Arrays& a, const CrossEntropyConvention& c) {
  const Array logits = three(get(a, "logits")), targets = two(get(a, "targets"));
  const Array* mask = find(a, "mask");
  const Array m = mask ? two(*mask) : Array();
  if (logits.dim(0) != targets.dim(0) || logits.dim(1) != targets.dim(1))
    throw std::invalid_argument("diagnosis: targets " + reference::to_string(get(a, "targets").shape) +
                                " do not go with logits " + reference::to_string(get(a, "logits").shape));
  Array kept = targets, counted = mask ? m : filled(targets, 1);
  for (std::size_t i = 0; i < kept.data.size(); ++i)
    if (kept.data[i] < 0) {  // -100 and the like
      kept.data[i] = 0;
      if (!mask) counted.data[i] = 0;
    }
  return {{"loss", Array({}, {cross_entropy(c, logits, kept, &counted)})}};
}
CrossEntropyConvention ce(Denominator d, bool pads = false, bool twice = false, int shift = 0) {
  CrossEntropyConvention c;
  c.denominator = d, c.counts_padding = pads, c.inputs_are_softmaxed = twice, c.target_shift = shift;
  return c;
}
double real_tokens(const Arrays& a) {
  const Array *mask = find(a, "mask"), &targets = get(a, "targets");
  if (mask) return sum_of(mask->data);
  return static_cast<double>(std::count_if(targets.data.begin(), targets.data.end(), [](double x) { return x >= 0; }));
}
double right_loss(const Arrays& a) { return get(loss_of(a, ce(Denominator::real_tokens)), "loss").data[0]; }
Arrays a_loss(double x) { return {{"loss", Array({}, {x})}}; }

Topic cross_entropy_topic() {
  Topic t{"cross_entropy",
          {"cross-entropy loss", "交叉熵损失"},
          {"logits", "targets"},
          {"loss"},
          {"a batch with padding and logits that are not uniform", "带填充且 logits 不均匀的一批样本"},
          {}};
  const char* right = "loss = sum over real tokens of -log softmax(logits)[target] / number of real tokens";
  t.formulas = {
      {"LOSS_MEAN",
       Level::choice,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::real_tokens)); },
       {"mean over the real tokens", "对真实词取平均"}},
      {"LOSS_SUM",
       Level::choice,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::one)); },
       {"sum over the real tokens", "对真实词求和"}},
      {"LOSS_PER_SENTENCE",
       Level::choice,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::batch)); },
       {"sum over the real tokens, divided by the batch size", "对真实词求和，再除以批大小"}},
      {"LOSS_DENOM_PADS",
       Level::error,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::all_positions)); },
       {"the mean divides by all positions, padding included", "取平均时把填充也算进了分母"},
       "sum over real / N_all",
       right,
       {"divide by the number of real tokens", "除以真实词的个数"},
       "append a pad: CHECK(loss is unchanged);"},
      {"LOSS_COUNTS_PADS",
       Level::error,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::all_positions, true)); },
       {"padding is scored too: the ignore index does not match the pad id",
        "填充也被计分：ignore index 与填充 id 不一致"},
       "mean over all positions",
       right,
       {"mask the padded positions", "遮住填充位置"},
       "change logits at padding: CHECK(loss is unchanged);"},
      {"LOSS_COUNTS_PADS",
       Level::error,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::real_tokens, true)); },
       {"padding is scored too, but not counted", "填充也被计分，但没有计数"},
       "sum over all / N_real",
       right,
       {"mask the padded positions", "遮住填充位置"},
       "change logits at padding: CHECK(loss is unchanged);"},
      {"DOUBLE_SOFTMAX",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::real_tokens, false, true)); },
       {"the softmax is applied twice: probabilities went into a loss that takes logits",
        "softmax 做了两次：把概率传给了接收 logits 的损失"},
       "CE(softmax(x))",
       "CE(x)",
       {"pass the logits", "直接传 logits"},
       Line{"CHECK(loss of a huge right logit < 1e-3);", "CHECK(正确词的 logit 极大时的损失 < 1e-3);"}},
      {"LOSS_TARGET_SHIFT",
       Level::error,
       Kind::data,
       [](const Arrays& a) { return loss_of(a, ce(Denominator::real_tokens, false, false, 1)); },
       {"position t is scored against the target of position t + 1", "第 t 位与第 t + 1 位的目标比较"},
       "-log p_t[target_{t+1}]",
       right,
       {"shift inputs or targets once, not twice", "只移位一次"},
       "a model that copies its target: CHECK(loss is small);"},
      {"LOSS_NO_LOG",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) {
         const Array logits = three(get(a, "logits")), targets = two(get(a, "targets"));
         double sum = 0, n = real_tokens(a);
         const Array* mask = find(a, "mask");
         const Array m = mask ? two(*mask) : filled(targets, 1);
         for (std::size_t b = 0; b < targets.dim(0); ++b)
           for (std::size_t i = 0; i < targets.dim(1); ++i)
             if (m.at({b, i}) != 0 && targets.at({b, i}) >= 0)
               sum -= activate(Activation::softmax,
                               copy(logits.row({b, i})))[static_cast<std::size_t>(targets.at({b, i}))];
         return a_loss(sum / n);
       },
       {"the logarithm is missing: the loss is minus the probability", "缺少对数：损失是概率的相反数"},
       "-p[target]",
       "-log p[target]",
       {"take the logarithm", "取对数"},
       "CHECK(loss >= 0);"},
      {"LOSS_SIGN",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) { return a_loss(-right_loss(a)); },
       {"the loss has the wrong sign", "损失符号相反"},
       "log p[target]",
       "-log p[target]",
       {"put the minus sign", "加上负号"},
       "CHECK(loss >= 0);"},
      {"LOSS_IN_BITS",
       Level::choice,
       Kind::data,
       [](const Arrays& a) { return a_loss(right_loss(a) / std::log(2.0)); },
       {"mean over the real tokens, in bits", "对真实词取平均，以比特计"}},
      {"LOSS_OVER_VOCAB",
       Level::error,
       Kind::data,
       [](const Arrays& a) { return a_loss(right_loss(a) / static_cast<double>(get(a, "logits").shape.back())); },
       {"the mean runs over the vocabulary too", "平均时连词表也算进了分母"},
       "sum / (N vocab)",
       right,
       {"sum over the vocabulary, mean over the tokens", "对词表求和，对词取平均"},
       "uniform logits: CHECK(loss == log(vocab));"},
  };
  return t;
}

Topic squared_topic() {
  Topic t{"mean_squared_error",
          {"mean squared error", "均方误差"},
          {"prediction", "target"},
          {"loss"},
          {"predictions and targets that differ, more than one", "不止一个、且与目标不同的预测"},
          {}};
  t.formulas = {
      {"MSE_MEAN",
       Level::choice,
       Kind::data,
       [](const Arrays& a) {
         return a_loss(mean_squared_error(Pairing::pairs, get(a, "prediction").data, get(a, "target").data));
       },
       {"mean of the squares", "平方的平均"}},
      {"MSE_SUM",
       Level::choice,
       Kind::data,
       [](const Arrays& a) {
         return a_loss(mean_squared_error(Pairing::pairs, get(a, "prediction").data, get(a, "target").data) *
                       static_cast<double>(get(a, "target").data.size()));
       },
       {"sum of the squares", "平方和"}},
      {"MSE_HALF",
       Level::choice,
       Kind::data,
       [](const Arrays& a) {
         return a_loss(mean_squared_error(Pairing::pairs, get(a, "prediction").data, get(a, "target").data) / 2);
       },
       {"half the mean of the squares", "平方平均的一半"}},
      {"LOSS_OUTER_BROADCAST",
       Level::error,
       Kind::broadcast,
       [](const Arrays& a) {
         return a_loss(mean_squared_error(Pairing::table, get(a, "prediction").data, get(a, "target").data));
       },
       {"(N, 1) against (N) became an N x N table: every prediction is compared with every target",
        "(N, 1) 与 (N) 广播成了 N x N 的表：每个预测与每个目标都比较"},
       "mean_{i,j} (p_i - t_j)^2",
       "mean_i (p_i - t_i)^2",
       {"give both the same shape", "让两者形状相同"},
       "CHECK(loss of an exact fit == 0);"},
      {"MSE_NO_SQUARE",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) {
         double sum = 0;
         const Vec &p = get(a, "prediction").data, &q = get(a, "target").data;
         for (std::size_t i = 0; i < p.size(); ++i) sum += std::fabs(p[i] - q.at(i));
         return a_loss(sum / static_cast<double>(p.size()));
       },
       {"the differences are not squared", "差没有平方"},
       "mean |p - t|",
       "mean (p - t)^2",
       {"square the differences", "对差取平方"},
       "CHECK(loss of a difference of 2 == 4);"},
      {"MSE_ROOT",
       Level::choice,
       Kind::data,
       [](const Arrays& a) {
         return a_loss(std::sqrt(mean_squared_error(Pairing::pairs, get(a, "prediction").data, get(a, "target").data)));
       },
       {"root of the mean of the squares", "平方平均的平方根"}},
  };
  return t;
}

// decoder_input and labels, (B, T) token ids.
Topic forcing_topic() {
  Topic t{"teacher_forcing",
          {"teacher forcing", "教师强制"},
          {"decoder_input", "labels"},
          {"labels"},
          {"sentences whose tokens differ", "各词互不相同的句子"},
          {}};
  t.formulas = {
      {"TF_SHIFTED",
       Level::choice,
       Kind::data,
       [](const Arrays& a) {
         Array out = get(a, "labels");
         const Array& in = get(a, "decoder_input");
         if (in.shape != out.shape || in.shape.size() != 2) not_here();
         for (std::size_t b = 0; b < in.dim(0); ++b)
           for (std::size_t i = 0; i + 1 < in.dim(1); ++i) out.at({b, i}) = in.at({b, i + 1});
         return Arrays{{"labels", out}};
       },
       {"labels are the inputs shifted by one", "标签是输入右移一位"}},
      {"TF_SHIFT_MISSING",
       Level::error,
       Kind::data,
       [](const Arrays& a) {
         return Arrays{{"labels", get(a, "decoder_input")}};
       },
       {"the shift of teacher forcing is missing: labels equal inputs, so copying the input is rewarded",
        "教师强制缺少移位：标签等于输入，照抄输入就能得分"},
       "labels = decoder_input",
       "decoder_input = [sos, y_1, ...], labels = [y_1, ..., eos]",
       {"drop the last token from the inputs and the first from the labels", "输入去掉末词，标签去掉首词"},
       "a model that copies its input: CHECK(loss is high);"},
      {"TF_SHIFT_WRONG_WAY",
       Level::error,
       Kind::data,
       [](const Arrays& a) {
         Array out = get(a, "labels");
         const Array& in = get(a, "decoder_input");
         if (in.shape != out.shape || in.shape.size() != 2) not_here();
         for (std::size_t b = 0; b < in.dim(0); ++b)
           for (std::size_t i = 1; i < in.dim(1); ++i) out.at({b, i}) = in.at({b, i - 1});
         return Arrays{{"labels", out}};
       },
       {"labels are the inputs shifted the wrong way: the model is asked for the word before",
        "标签移位方向相反：要求预测前一个词"},
       "labels_t = input_{t-1}",
       "labels_t = input_{t+1}",
       {"shift the other way", "向另一方向移位"},
       "a model that copies its input: CHECK(loss is high);"},
  };
  return t;
}

// forced (B, T): 1 where the step was fed the true word.
Topic granularity_topic() {
  Topic t{"forcing_granularity",
          {"granularity of teacher forcing", "教师强制的粒度"},
          {"forced"},
          {"forced"},
          {"ratios other than 0 and 1, several sentences and steps", "比例不为 0 或 1，多句多步"},
          {}};
  t.formulas = {
      {"TF_GRANULARITY",
       Level::benign,
       Kind::data,
       [](const Arrays& a) {
         Array out = get(a, "forced");
         if (out.shape.size() != 2 || out.dim(1) < 2) not_here();
         for (std::size_t b = 0; b < out.dim(0); ++b)
           for (std::size_t t_ = 1; t_ < out.dim(1); ++t_) out.at({b, t_}) = out.at({b, 0});
         return Arrays{{"forced", out}};
       },
       {"teacher forcing is drawn once a sentence", "教师强制每句抽一次"},
       "one draw a sentence",
       "one draw a step (Bengio et al. 2015)",
       {"nothing to fix; say which of the two you use", "无需修改；说明用的是哪一种"},
       ""},
      {"TF_PER_STEP",
       Level::choice,
       Kind::data,
       [](const Arrays& a) {
         return Arrays{{"forced", get(a, "forced")}};
       },
       {"teacher forcing is drawn at every step", "教师强制每步抽一次"}},
  };
  return t;
}

// ---- softmax, dropout, linear

Array rows_softmax(const Array& x, int axis_from_end, int times) {
  Array y = x;
  for (int k = 0; k < times; ++k) {
    if (y.shape.size() < 2 || axis_from_end == 0) {
      const std::size_t d = y.shape.empty() ? 1 : y.shape.back();
      for (std::size_t i = 0; d && i < y.data.size(); i += d) {
        const Vec p = activate(Activation::softmax, Vec(y.data.begin() + static_cast<std::ptrdiff_t>(i),
                                                        y.data.begin() + static_cast<std::ptrdiff_t>(i + d)));
        std::copy(p.begin(), p.end(), y.data.begin() + static_cast<std::ptrdiff_t>(i));
      }
    } else {
      Array t = transposed(y);
      y = transposed(rows_softmax(t, 0, 1));
    }
  }
  return y;
}

Topic softmax_topic() {
  Topic t{"softmax",
          {"softmax over the last axis", "沿最后一维的 softmax"},
          {"x"},
          {"softmax"},
          {"rows of different numbers, one of them above 1000", "各不相同的若干行，其中有数大于 1000"},
          {}};
  const char* right = "exp(x_i - max x) / sum_j exp(x_j - max x)";
  t.formulas = {
      {"SOFTMAX",
       Level::choice,
       Kind::numerics,
       [](const Arrays& a) {
         return Arrays{{"softmax", rows_softmax(get(a, "x"), 0, 1)}};
       },
       {"softmax over the last axis", "沿最后一维的 softmax"}},
      {"SOFTMAX_OVERFLOW",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) {
         Array out = get(a, "x");
         const bool f32 = find(a, "is_float32") != nullptr;
         const std::size_t d = out.shape.back();
         for (std::size_t i = 0; i < out.data.size(); i += d) {
           double sum = 0;
           for (std::size_t k = i; k < i + d; ++k) {
             const double e = std::exp(out.data[k]);
             out.data[k] = f32 ? static_cast<double>(static_cast<float>(e)) : e;
             sum += out.data[k];
           }
           for (std::size_t k = i; k < i + d; ++k) out.data[k] /= sum;
         }
         return Arrays{{"softmax", out}};
       },
       {"the softmax does not subtract the maximum and overflows", "softmax 没有减去最大值，发生上溢"},
       "exp(x_i) / sum_j exp(x_j)",
       right,
       {"subtract the largest number first", "先减去最大值"},
       "CHECK(softmax(x + 1000) == softmax(x));"},
      {"SOFTMAX_AXIS_BATCH",
       Level::error,
       Kind::axis,
       [](const Arrays& a) {
         return get(a, "x").shape.size() == 2 ? Arrays{{"softmax", rows_softmax(get(a, "x"), 1, 1)}}
                                              : (not_here(), Arrays{});
       },
       {"the softmax runs over axis 0, the batch", "softmax 沿第 0 轴（批）进行"},
       "softmax(x, Axis{0})",
       "softmax(x, Axis{1})",
       {"name the last axis", "指明最后一轴"},
       "CHECK(sum(y, Axis{1}) == 1);"},
      {"SOFTMAX_TWICE",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) {
         return Arrays{{"softmax", rows_softmax(get(a, "x"), 0, 2)}};
       },
       {"the softmax is applied twice", "softmax 做了两次"},
       "softmax(softmax(x))",
       right,
       {"apply it once", "只做一次"},
       "CHECK(softmax of one huge number == 1);"},
      {"SOFTMAX_AXIS_SINGLETON",
       Level::error,
       Kind::axis,
       [](const Arrays& a) {
         return Arrays{{"softmax", filled(get(a, "x"), 1)}};
       },
       {"the softmax runs over an axis of length 1: every number is 1", "softmax 沿长度为 1 的轴进行：每个数都是 1"},
       "exp(x) / exp(x)",
       right,
       {"name the axis with several positions", "指明有多个位置的轴"},
       "CHECK(sum(y, Axis{1}) == 1);"},
  };
  return t;
}

Array dropped(const Arrays& a, double factor, bool inverted = false) {
  Array y = get(a, "x");
  const Array& keep = get(a, "keep");
  if (keep.shape != y.shape) not_here();
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] *= ((keep.data[i] != 0) != inverted ? 1 : 0) * factor;
  return y;
}
bool in_eval(const Arrays& a) { return number(a, "training", 1) == 0; }

Topic dropout_topic() {
  Topic t{"dropout",
          {"dropout", "dropout"},
          {"x", "keep", "p"},
          {"y"},
          {"p other than 0 and 1/2, some elements kept and some not", "p 不为 0 或 1/2，有保留也有丢弃"},
          {}};
  t.formulas = {
      {"DROPOUT_TRAIN_MODE",
       Level::benign,
       Kind::dropout,
       [](const Arrays& a) {
         return in_eval(a) ? (not_here(), Arrays{}) : Arrays{{"y", dropped(a, 1 / (1 - number(a, "p")))}};
       },
       {"dropout is active, so sums hold on average only: test in evaluation mode",
        "dropout 正在起作用，求和只在平均意义下成立：请在评估模式下测试"},
       "y = keep x / (1 - p)",
       "y = x in evaluation",
       {"nothing to fix; run invariants with p = 0", "无需修改；用 p = 0 检查不变量"},
       ""},
      {"DROPOUT_OFF",
       Level::choice,
       Kind::dropout,
       [](const Arrays& a) {
         return Arrays{{"y", get(a, "x")}};
       },
       {"no dropout: evaluation mode", "没有 dropout：评估模式"}},
      {"DROPOUT_IN_EVAL",
       Level::error,
       Kind::dropout,
       [](const Arrays& a) {
         return in_eval(a) ? Arrays{{"y", dropped(a, 1 / (1 - number(a, "p")))}} : (not_here(), Arrays{});
       },
       {"dropout is still active in evaluation", "评估时 dropout 仍在起作用"},
       "y = keep x / (1 - p)",
       "y = x",
       {"switch it off in evaluation", "评估时关闭"},
       "CHECK(two evaluations are equal);"},
      {"DROPOUT_NOT_SCALED",
       Level::error,
       Kind::dropout,
       [](const Arrays& a) {
         return Arrays{{"y", dropped(a, 1)}};
       },
       {"what is kept is not scaled by 1 / (1 - p)", "保留的部分没有除以 1 - p"},
       "y = keep x",
       "y = keep x / (1 - p)",
       {"divide by 1 - p", "除以 1 - p"},
       "CHECK(mean over many draws == x);"},
      {"DROPOUT_SCALED_BY_P",
       Level::error,
       Kind::dropout,
       [](const Arrays& a) {
         return Arrays{{"y", dropped(a, 1 / number(a, "p"))}};
       },
       {"what is kept is divided by p instead of 1 - p", "保留的部分除以了 p 而不是 1 - p"},
       "y = keep x / p",
       "y = keep x / (1 - p)",
       {"divide by 1 - p", "除以 1 - p"},
       "CHECK(mean over many draws == x);"},
      {"DROPOUT_INVERTED",
       Level::error,
       Kind::dropout,
       [](const Arrays& a) {
         return Arrays{{"y", dropped(a, 1 / (1 - number(a, "p")), true)}};
       },
       {"the mask is inverted: what should be kept is dropped", "掩码取反：该保留的被丢弃"},
       "y = (1 - keep) x / (1 - p)",
       "y = keep x / (1 - p)",
       {"use the mask as it is", "直接使用掩码"},
       "CHECK(y == 0 where keep == 0);"},
  };
  return t;
}

Topic repeat_topic() {
  Topic t{"two_evaluations",
          {"two evaluations of one input", "同一输入的两次评估"},
          {"run_1", "run_2"},
          {"run_2"},
          {"p in the file, other than 0, and many numbers that are not 0", "文件中给出不为 0 的 p，且有许多非零的数"},
          {}};
  t.formulas = {
      {"DETERMINISTIC",
       Level::choice,
       Kind::dropout,
       [](const Arrays& a) {
         return Arrays{{"run_2", get(a, "run_1")}};
       },
       {"both evaluations are equal", "两次评估相同"}},
      {"DROPOUT_IN_EVAL",
       Level::error,
       Kind::dropout,
       [](const Arrays& a) {
         // Each element is the same, or 0 in one of the runs, or moved by that: anything that differs at all.
         const Array &x = get(a, "run_1"), &y = get(a, "run_2");
         if (x.data == y.data || x.shape != y.shape) not_here();
         bool zeros = false;
         for (std::size_t i = 0; i < x.data.size(); ++i) zeros = zeros || ((x.data[i] == 0) != (y.data[i] == 0));
         if (!zeros) not_here();
         return Arrays{{"run_2", y}};
       },
       {"dropout is still active in evaluation: two runs on the same input zero different elements",
        "评估时 dropout 仍在起作用：两次运行把不同的元素置零"},
       "y = keep x / (1 - p)",
       "y = x",
       {"switch it off in evaluation", "评估时关闭"},
       "CHECK(two evaluations are equal);"},
      {"DROPOUT_IN_EVAL",
       Level::error,
       Kind::dropout,
       [](const Arrays& a) {
         // Equal runs say little where dropout would have made them equal by chance. A number that is 0 says nothing.
         const Array& x = get(a, "run_1");
         const double p = number(a, "p", 0), each = p * p + (1 - p) * (1 - p);
         const auto telling = x.data.size() - std::count(x.data.begin(), x.data.end(), 0.0);
         return std::pow(each, telling) > 1e-3 ? Arrays{{"run_2", x}} : (not_here(), Arrays{});
       },
       {"dropout may still be active in evaluation", "评估时 dropout 可能仍在起作用"},
       "y = keep x / (1 - p)",
       "y = x",
       {"switch it off in evaluation", "评估时关闭"},
       "CHECK(two evaluations are equal);"},
  };
  return t;
}

Topic linear_topic() {
  Topic t{"linear", {"linear layer", "线性层"}, {"W", "x"}, {"Wx"}, {"a matrix that is not symmetric", "不对称的矩阵"},
          {}};
  const auto each = [](const Arrays& a, bool flip) {
    const Array &W = get(a, "W"), &x = get(a, "x");
    if (W.shape.size() != 2 || x.shape.empty()) not_here();
    const std::size_t d = x.shape.back();
    Array out;
    for (std::size_t i = 0; d && i < x.data.size(); i += d) {
      const Row row = Row(x.data).subspan(i, d);
      const Vec y = flip ? matvec_transposed(W, row) : matvec(W, row);
      if (out.shape.empty()) out.shape = x.shape, out.shape.back() = y.size();
      out.data.insert(out.data.end(), y.begin(), y.end());
    }
    const Array* b = find(a, "b");
    for (std::size_t i = 0; b && i < out.data.size(); ++i) out.data[i] += b->data.at(i % b->data.size());
    return Arrays{{"Wx", out}};
  };
  static const auto product = each;
  t.formulas = {
      {"LINEAR", Level::choice, Kind::checkpoint, [](const Arrays& a) { return product(a, false); }, {"W x", "W x"}},
      {"CKPT_LAYOUT",
       Level::error,
       Kind::checkpoint,
       [](const Arrays& a) { return product(a, true); },
       {"the matrix is transposed, as when weights were loaded in another layout",
        "矩阵被转置，例如按另一种布局加载权重"},
       "W^T x",
       "W x with W (out, in)",
       {"transpose W when you load it", "加载时转置 W"},
       "use d_in != d_out: a transposed W is then a shape error"},
      {"BIAS_IGNORED",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         Arrays without = a;
         if (!without.erase("b")) not_here();
         return product(without, false);
       },
       {"the bias is there but never added", "偏置存在却没有加上"},
       "W x",
       "W x + b",
       {"add b", "加上 b"},
       "CHECK(norm(b.grad()) > 0);"},
  };
  return t;
}

// ---- optimisers

struct AdamStep {
  double lr, b1, b2, eps, wd, t;
};
AdamStep adam_options(const Arrays& a) {
  return {number(a, "lr"),        number(a, "beta1", .9),       number(a, "beta2", .999),
          number(a, "eps", 1e-8), number(a, "weight_decay", 0), number(a, "t", 1)};
}
// One element: w, g, m, v -> the new w.
template <class F> Arrays adam_each(const Arrays& a, F f) {
  const AdamStep o = adam_options(a);
  Array w = get(a, "w");
  const Array& g = get(a, "grad");
  const Array *m = find(a, "m"), *v = find(a, "v");
  for (std::size_t i = 0; i < w.data.size(); ++i)
    w.data[i] = f(o, w.data[i], g.data.at(i), m ? m->data.at(i) : 0, v ? v->data.at(i) : 0);
  return {{"w_new", w}};
}
double adam_rule(const AdamStep& o, double w, double g, double m, double v, double c1, double c2, double decay,
                 bool eps_inside = false) {
  const double m2 = o.b1 * m + (1 - o.b1) * g, v2 = o.b2 * v + (1 - o.b2) * g * g, mh = m2 / c1, vh = v2 / c2;
  return w * (1 - o.lr * decay) - o.lr * mh / (eps_inside ? std::sqrt(vh + o.eps) : std::sqrt(vh) + o.eps);
}
double correction(double beta, double t) { return 1 - std::pow(beta, t); }

Arrays sgd(const Arrays& a, const Array& g, double times = 1) {
  return {{"w_new", plus(get(a, "w"), scaled(g, -number(a, "lr") * times))}};
}

Topic adam_topic() {
  Topic t{"adam",
          {"step of Adam or of plain gradient descent", "Adam 或普通梯度下降的一步"},
          {"w", "grad", "lr"},
          {"w_new"},
          {"step 3 or so, with moments, a decay other than 0, and gradients that differ",
           "第 3 步左右，带动量、非零衰减与互不相同的梯度"},
          {}};
  const char* right = "m^ = m / (1 - beta1^t), v^ = v / (1 - beta2^t), w -= lr m^ / (sqrt(v^) + eps)";
  t.formulas = {
      {"ADAMW",
       Level::choice,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           return adam_rule(o, w, g, m, v, correction(o.b1, o.t), correction(o.b2, o.t), o.wd);
         });
       },
       {"Adam, with decoupled weight decay if there is any (AdamW)", "Adam；若有权重衰减则为解耦形式（AdamW）"}},
      {"SGD",
       Level::choice,
       Kind::optimizer,
       [](const Arrays& a) { return sgd(a, get(a, "grad")); },
       {"plain gradient descent, w -= lr g", "普通梯度下降，w -= lr g"}},
      {"ADAM_EPS_INSIDE",
       Level::choice,
       Kind::optimizer,
       [](const Arrays& a) {
         return number(a, "eps", 1e-8) < 1e-6
                    ? (not_here(), Arrays{})
                    : adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
                        return adam_rule(o, w, g, m, v, correction(o.b1, o.t), correction(o.b2, o.t), o.wd, true);
                      });
       },
       {"Adam with eps under the root", "eps 在根号内的 Adam"}},
      {"ADAM_BIAS",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           return adam_rule(o, w, g, m, v, 1, 1, o.wd);
         });
       },
       {"the bias correction is missing: the first steps are about three times too large",
        "缺少偏差修正：最初几步约大三倍"},
       "w -= lr m / (sqrt(v) + eps)",
       right,
       {"divide m by 1 - beta1^t and v by 1 - beta2^t", "m 除以 1 - beta1^t，v 除以 1 - beta2^t"},
       "CHECK(abs(first step) == lr);"},
      {"ADAM_BIAS",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           return adam_rule(o, w, g, m, v, correction(o.b1, 2), correction(o.b2, 2), o.wd);
         });
       },
       {"the bias correction has the exponent 2 instead of t", "偏差修正的指数是 2 而不是 t"},
       "1 - beta^2",
       "1 - beta^t",
       {"use the step number as exponent", "用步数作指数"},
       "CHECK(abs(first step) == lr);"},
      {"ADAM_BIAS",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return number(a, "t", 1) < 2
                    ? (not_here(), Arrays{})
                    : adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
                        return adam_rule(o, w, g, m, v, correction(o.b1, o.t - 1), correction(o.b2, o.t - 1), o.wd);
                      });
       },
       {"the bias correction counts steps from 0", "偏差修正的步数从 0 开始"},
       "1 - beta^(t-1)",
       "1 - beta^t",
       {"add 1 to t before it is used", "使用前先把 t 加 1"},
       "CHECK(abs(first step) == lr);"},
      {"ADAM_DOUBLE_COMPLEMENT",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           const double c1 = correction(o.b1, o.t), c2 = std::sqrt(1 - correction(o.b2, o.t));
           return adam_rule(o, w, g, m, v, c1, 1 / (c2 * c2), o.wd);
         });
       },
       {"the bias correction is subtracted from 1 twice", "偏差修正被 1 减了两次"},
       "sqrt(1 - (1 - beta2^t))",
       "sqrt(1 - beta2^t)",
       {"subtract once", "只减一次"},
       "CHECK(abs(first step) == lr);"},
      {"WD_COUPLED",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return number(a, "weight_decay", 0) == 0
                    ? (not_here(), Arrays{})
                    : adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
                        return adam_rule(o, w, g + o.wd * w, m, v, correction(o.b1, o.t), correction(o.b2, o.t), 0);
                      });
       },
       {"the weight decay is added to the gradient, where Adam normalises it away",
        "权重衰减加进了梯度，被 Adam 归一化掉"},
       "g += wd w, then Adam",
       "w -= lr wd w, beside Adam's step (Loshchilov and Hutter 2019)",
       {"decay the weight itself", "直接衰减权重本身"},
       "g = 0: CHECK(w shrinks by exactly 1 - lr wd);"},
      {"WD_COUPLED",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return number(a, "weight_decay", 0) == 0
                    ? (not_here(), Arrays{})
                    : adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
                        return adam_rule(o, w, g, m, v, correction(o.b1, o.t), correction(o.b2, o.t), 0) *
                               (1 - o.lr * o.wd);
                      });
       },
       {"the decay uses the weight after the step", "衰减用的是更新后的权重"},
       "w_new (1 - lr wd)",
       "w_old (1 - lr wd) - step",
       {"decay before the step", "先衰减再更新"},
       "CHECK(w_new == w - lr wd w - step);"},
      {"CKPT_OPT_STATE_LOST",
       Level::error,
       Kind::checkpoint,
       [](const Arrays& a) {
         if (!find(a, "m") || number(a, "t", 1) < 2) not_here();
         return adam_each(a, [](const AdamStep& o, double w, double g, double, double) {
           return adam_rule(o, w, g, 0, 0, correction(o.b1, 1), correction(o.b2, 1), o.wd);
         });
       },
       {"the step was made with fresh moments and t = 1: the optimiser's state was lost on the way",
        "该步用的是全新的动量与 t = 1：优化器状态在恢复时丢失"},
       "m = v = 0, t = 1",
       right,
       {"save and restore m, v and t", "保存并恢复 m、v、t"},
       "k steps + save + load + k steps: CHECK(bitwise equal to 2k steps);"},
      {"ADAM_NO_SQUARE",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           const double m2 = (o.b1 * m + (1 - o.b1) * g) / correction(o.b1, o.t),
                        v2 = (o.b2 * v + (1 - o.b2) * std::fabs(g)) / correction(o.b2, o.t);
           return w * (1 - o.lr * o.wd) - o.lr * m2 / (std::sqrt(v2) + o.eps);
         });
       },
       {"the second moment gathers |g| instead of g^2", "二阶矩累计的是 |g| 而不是 g^2"},
       "v += (1 - beta2) |g|",
       "v += (1 - beta2) g^2",
       {"square the gradient", "对梯度取平方"},
       "CHECK(the step does not change when the gradient is scaled);"},
      {"ADAM_NO_ROOT",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           const double m2 = (o.b1 * m + (1 - o.b1) * g) / correction(o.b1, o.t),
                        v2 = (o.b2 * v + (1 - o.b2) * g * g) / correction(o.b2, o.t);
           return w * (1 - o.lr * o.wd) - o.lr * m2 / (v2 + o.eps);
         });
       },
       {"the root of the second moment is missing", "二阶矩缺少开方"},
       "m^ / (v^ + eps)",
       right,
       {"take the root of v^", "对 v^ 开方"},
       "CHECK(abs(first step) == lr);"},
      {"ADAM_BETAS_SWAPPED",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           AdamStep s = o;
           std::swap(s.b1, s.b2);
           return adam_rule(s, w, g, m, v, correction(s.b1, s.t), correction(s.b2, s.t), s.wd);
         });
       },
       {"beta1 and beta2 are exchanged", "beta1 与 beta2 对调"},
       "m with beta2, v with beta1",
       right,
       {"exchange them", "换回来"},
       "CHECK(second step against the formula);"},
      {"STEP_SIGN",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return adam_each(a, [](const AdamStep& o, double w, double g, double m, double v) {
           return 2 * w - adam_rule(o, w, g, m, v, correction(o.b1, o.t), correction(o.b2, o.t), 0);
         });
       },
       {"the step goes uphill", "更新方向相反"},
       "w += lr ...",
       right,
       {"subtract the step", "改为减"},
       "CHECK(loss falls for a small lr);"},
  };
  return t;
}

double norm_of(const Array& g) { return norm(g.data); }
Array clipped_to(const Array& g, double most, double eps = 0) {
  const double n = norm_of(g);
  return n > most ? scaled(g, most / (n + eps)) : g;
}

Topic sgd_clip_topic() {
  Topic t{"sgd_with_clipping",
          {"SGD step with clipping", "带裁剪的 SGD 步"},
          {"w", "grad", "lr", "max_norm"},
          {"w_new"},
          {"a gradient longer than max_norm", "范数大于 max_norm 的梯度"},
          {}};
  t.formulas = {
      {"CLIP_BEFORE_STEP",
       Level::choice,
       Kind::optimizer,
       [](const Arrays& a) { return sgd(a, clipped_to(get(a, "grad"), number(a, "max_norm"))); },
       {"clip, then step", "先裁剪再更新"}},
      {"CLIP_AFTER_STEP",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) { return sgd(a, get(a, "grad")); },
       {"the gradient was clipped after the step, so not at all", "裁剪在更新之后，等于没有裁剪"},
       "step, then clip",
       "backward, clip, step",
       {"clip between backward and step", "在反向与更新之间裁剪"},
       "CHECK(norm(step) <= lr * max_norm);"},
      {"CLIP_BY_VALUE",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         Array g = get(a, "grad");
         const double most = number(a, "max_norm");
         for (double& x : g.data) x = std::clamp(x, -most, most);
         return sgd(a, g);
       },
       {"each element is clipped, not the norm", "逐元素裁剪，而不是按范数"},
       "clamp(g, -max, max)",
       "g min(1, max / |g|)",
       {"scale the whole gradient", "整体缩放梯度"},
       "CHECK(the direction is unchanged);"},
      {"CLIP_ALWAYS",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) { return sgd(a, scaled(get(a, "grad"), number(a, "max_norm") / norm_of(get(a, "grad")))); },
       {"every gradient is scaled to max_norm, short ones too", "所有梯度都缩放到 max_norm，短的也被放大"},
       "g max / |g|",
       "g min(1, max / |g|)",
       {"scale only when |g| > max", "仅当 |g| > max 时缩放"},
       "CHECK(a short gradient is unchanged);"},
  };
  return t;
}

Topic clip_topic() {
  Topic t{"clipping",
          {"gradient clipping", "梯度裁剪"},
          {"grad", "max_norm"},
          {"clipped"},
          {"gradients shorter, longer and exactly zero", "较短、较长与恰为零的梯度"},
          {}};
  t.formulas = {
      {"CLIP_NORM",
       Level::choice,
       Kind::optimizer,
       [](const Arrays& a) {
         return Arrays{{"clipped", clipped_to(get(a, "grad"), number(a, "max_norm"))}};
       },
       {"scaled to max_norm when longer", "超过 max_norm 时缩放"}},
      {"CLIP_NORM_EPS",
       Level::choice,
       Kind::optimizer,
       [](const Arrays& a) {
         return Arrays{{"clipped", clipped_to(get(a, "grad"), number(a, "max_norm"), 1e-6)}};
       },
       {"scaled to max_norm when longer, with PyTorch's 1e-6", "超过 max_norm 时缩放，带 PyTorch 的 1e-6"}},
      {"ZERO_NORM_NAN",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) {
         return norm_of(get(a, "grad")) == 0 ? Arrays{{"clipped", filled(get(a, "grad"), std::nan(""))}}
                                             : (not_here(), Arrays{});
       },
       {"a gradient of exactly 0 is divided by its norm: 0/0", "恰为 0 的梯度被自己的范数除：0/0"},
       "g max / |g|",
       "g min(1, max / |g|), and 0 stays 0",
       {"scale only when |g| > max", "仅当 |g| > max 时缩放"},
       "CHECK(isfinite(clip(0)));"},
      {"CLIP_ALWAYS",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         return norm_of(get(a, "grad")) == 0
                    ? (not_here(), Arrays{})
                    : Arrays{{"clipped", scaled(get(a, "grad"), number(a, "max_norm") / norm_of(get(a, "grad")))}};
       },
       {"every gradient is scaled to max_norm, short ones too", "所有梯度都缩放到 max_norm，短的也被放大"},
       "g max / |g|",
       "g min(1, max / |g|)",
       {"scale only when |g| > max", "仅当 |g| > max 时缩放"},
       "CHECK(a short gradient is unchanged);"},
      {"CLIP_BY_VALUE",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         Array g = get(a, "grad");
         const double most = number(a, "max_norm");
         for (double& x : g.data) x = std::clamp(x, -most, most);
         return Arrays{{"clipped", g}};
       },
       {"each element is clipped, not the norm", "逐元素裁剪，而不是按范数"},
       "clamp(g, -max, max)",
       "g min(1, max / |g|)",
       {"scale the whole gradient", "整体缩放梯度"},
       "CHECK(the direction is unchanged);"},
      {"CLIP_SQUARED_NORM",
       Level::error,
       Kind::optimizer,
       [](const Arrays& a) {
         const double n = norm_of(get(a, "grad"));
         return Arrays{{"clipped", n * n > number(a, "max_norm")
                                       ? scaled(get(a, "grad"), number(a, "max_norm") / (n * n))
                                       : get(a, "grad")}};
       },
       {"the root of the norm is missing", "范数缺少开方"},
       "g max / |g|^2",
       "g max / |g|",
       {"take the root of the sum of squares", "对平方和开方"},
       "CHECK(norm(clipped) == max_norm);"},
  };
  return t;
}

Topic zero_grad_topic() {
  Topic t{"second_step",
          {"second SGD step", "第二个 SGD 步"},
          {"w", "grad", "grad_before", "lr"},
          {"w_new"},
          {"two gradients that differ", "两个不同的梯度"},
          {}};
  t.formulas = {
      {"SGD",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, get(a, "grad")); },
       {"the step uses this step's gradient", "使用本步的梯度"}},
      {"ZERO_GRAD_MISSING",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, plus(get(a, "grad"), get(a, "grad_before"))); },
       {"the gradient of the step before is still in it: zero_grad is missing", "还带着上一步的梯度：缺少 zero_grad"},
       "g_2 = g_1 + g",
       "g_2 = g",
       {"call zero_grad before backward", "反向之前调用 zero_grad"},
       "two steps against the closed form"},
      {"STALE_GRADIENT",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, get(a, "grad_before")); },
       {"the step uses the gradient of the step before", "使用了上一步的梯度"},
       "w -= lr g_1",
       "w -= lr g_2",
       {"step after backward", "反向之后再更新"},
       "two steps against the closed form"},
  };
  return t;
}

Topic tied_topic() {
  Topic t{"tied_weight",
          {"one weight used twice", "被使用两次的权重"},
          {"w", "grad_1", "grad_2", "lr"},
          {"w_new"},
          {"two uses whose gradients differ", "梯度不同的两次使用"},
          {}};
  t.formulas = {
      {"TIED",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, plus(get(a, "grad_1"), get(a, "grad_2"))); },
       {"the gradients of both uses are added", "两次使用的梯度相加"}},
      {"TIED_WEIGHT_SPLIT",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, get(a, "grad_1")); },
       {"the weight is held as two copies: this one got the gradient of one use",
        "权重存成了两份：这一份只得到一次使用的梯度"},
       "w -= lr g_1",
       "w -= lr (g_1 + g_2)",
       {"share one parameter", "共享同一个参数"},
       "CHECK(both uses hold the same tensor after a step);"},
      {"TIED_WEIGHT_SPLIT",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, get(a, "grad_2")); },
       {"the weight is held as two copies: this one got the gradient of one use",
        "权重存成了两份：这一份只得到一次使用的梯度"},
       "w -= lr g_2",
       "w -= lr (g_1 + g_2)",
       {"share one parameter", "共享同一个参数"},
       "CHECK(both uses hold the same tensor after a step);"},
      {"TIED_WEIGHT_DOUBLE_STEP",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return sgd(a, plus(get(a, "grad_1"), get(a, "grad_2")), 2); },
       {"the shared weight is listed twice and stepped twice", "共享权重被登记两次、更新两次"},
       "w -= 2 lr (g_1 + g_2)",
       "w -= lr (g_1 + g_2)",
       {"let the optimiser drop duplicates by identity", "优化器按身份去重"},
       "CHECK(parameters(model) has no duplicates);"},
  };
  return t;
}

// ---- backward of one operation

Array summed_rows(const Array& dy) {
  if (dy.shape.size() != 2) not_here();
  Array out({dy.dim(1)});
  for (std::size_t i = 0; i < dy.data.size(); ++i) out.data[i % dy.dim(1)] += dy.data[i];
  return out;
}

// dy summed over every axis that broadcasting put in front of `shape` or stretched from 1.
Array summed_to(const Dims& shape, const Array& dy) {
  if (shape.size() > dy.shape.size()) not_here();
  const std::size_t in_front = dy.shape.size() - shape.size();
  Array out(shape);
  for (std::size_t i = 0; i < dy.data.size(); ++i) {
    std::size_t rest = i, at = 0, step = 1;
    for (std::size_t axis = dy.shape.size(); axis-- > 0; rest /= dy.shape[axis]) {
      if (axis < in_front) break;
      const std::size_t length = shape[axis - in_front];
      if (length != 1 && length != dy.shape[axis]) not_here();
      if (length != 1) at += rest % dy.shape[axis] * step;
      step *= length;
    }
    out.data[at] += dy.data[i];
  }
  return out;
}

Topic broadcast_topic() {
  Topic t{"bias_gradient",
          {"gradient of a broadcast operand", "被广播操作数的梯度"},
          {"b", "dY"},
          {"db"},
          {"more than one row, and an output gradient that is not constant", "多于一行，且输出梯度不为常数"},
          {}};
  const char* right = "db_j = sum_i dY_ij";
  t.formulas = {
      {"SUMMED",
       Level::choice,
       Kind::broadcast,
       [](const Arrays& a) {
         return Arrays{{"db", summed_to(get(a, "b").shape, get(a, "dY"))}};
       },
       {"summed over the broadcast axes", "沿广播轴求和"}},
      {"UNBROADCAST_MISSING",
       Level::error,
       Kind::broadcast,
       [](const Arrays& a) {
         return Arrays{{"db", get(a, "dY")}};
       },
       {"the gradient of the broadcast operand is not summed back: it has the shape of the output",
        "被广播操作数的梯度没有求和：形状与输出相同"},
       "db = dY",
       right,
       {"sum over the axes that were broadcast", "沿被广播的轴求和"},
       "CHECK(grad.shape() == value.shape());"},
      {"UNBROADCAST_MISSING",
       Level::error,
       Kind::broadcast,
       [](const Arrays& a) {
         const Array& dY = get(a, "dY");
         if (dY.shape.size() != 2 || dY.dim(0) < 2) not_here();
         return Arrays{{"db", Array({dY.dim(1)}, copy(dY.row({0})))}};
       },
       {"only the first row reaches the broadcast operand", "只有第一行传到了被广播的操作数"},
       "db = dY_0",
       right,
       {"sum over the axes that were broadcast", "沿被广播的轴求和"},
       "CHECK(grad.shape() == value.shape());"},
      {"UNBROADCAST_MEAN",
       Level::error,
       Kind::broadcast,
       [](const Arrays& a) {
         return Arrays{{"db", scaled(summed_rows(get(a, "dY")), 1 / static_cast<double>(get(a, "dY").dim(0)))}};
       },
       {"the gradient is averaged over the broadcast axis instead of summed", "沿广播轴取了平均而不是求和"},
       "db_j = mean_i dY_ij",
       right,
       {"use sum", "用求和"},
       "CHECK(db doubles when the rows are doubled);"},
      {"UNBROADCAST_RANK",
       Level::error,
       Kind::broadcast,
       [](const Arrays& a) {
         Array s = summed_rows(get(a, "dY"));
         if (get(a, "b").shape.size() == 1 && get(a, "b").dim(0) == 1 && s.data.size() != 1)
           s = Array({1}, {sum_of(s.data)});
         s.shape.insert(s.shape.begin(), 1);
         return Arrays{{"db", s}};
       },
       {"the gradient keeps the axis that was prepended: its rank is too high", "梯度保留了前置的轴：秩过高"},
       "db of shape (1, d)",
       "db of shape (d)",
       {"drop the axes that were prepended", "去掉前置的轴"},
       "CHECK(grad.shape() == value.shape());"},
  };
  return t;
}

Topic expand_topic() {
  Topic t{"expand_gradient",
          {"gradient of expand", "expand 的梯度"},
          {"x_scalar", "dy"},
          {"dx"},
          {"an output gradient that is not constant", "不为常数的输出梯度"},
          {}};
  t.formulas = {
      {"EXPANDED",
       Level::choice,
       Kind::broadcast,
       [](const Arrays& a) {
         return Arrays{{"dx", Array(get(a, "x_scalar").shape, {sum_of(get(a, "dy").data)})}};
       },
       {"the sum of the output's gradient", "输出梯度之和"}},
      {"EXPAND_BACKWARD_COUNT",
       Level::error,
       Kind::broadcast,
       [](const Arrays& a) {
         return Arrays{{"dx", Array(get(a, "x_scalar").shape,
                                    {get(a, "dy").data.at(0) * static_cast<double>(get(a, "dy").data.size())})}};
       },
       {"the gradient counts every copy, used or not", "每个副本都被计入，不论是否使用"},
       "dx = n dy_0",
       "dx = sum_i dy_i",
       {"sum the output's gradient", "对输出梯度求和"},
       "CHECK(check_gradient with a seed that is not constant);"},
  };
  return t;
}

// uses (k, n): what each use of one value contributes to its gradient.
Topic fan_out_topic() {
  Topic t{"fan_out", {"gradient of a value that is used several times", "被多次使用的值的梯度"},       {"uses"},
          {"grad"},  {"two uses or more, whose contributions differ", "两次以上、贡献互不相同的使用"}, {}};
  t.formulas = {
      {"ACCUMULATED",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad", summed_rows(get(a, "uses"))}};
       },
       {"all uses are added", "所有使用相加"}},
      {"GRAD_OVERWRITE",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         const Array& u = get(a, "uses");
         return u.shape.size() == 2 && u.dim(0) > 0 ? Arrays{{"grad", Array({u.dim(1)}, copy(u.row({u.dim(0) - 1})))}}
                                                    : (not_here(), Arrays{});
       },
       {"the gradient is overwritten: only the last use counts", "梯度被覆盖：只算最后一次使用"},
       "x.grad = g",
       "x.grad += g",
       {"accumulate with +=", "用 += 累加"},
       "CHECK(gradient of x * x == 2 x);"},
      {"GRAD_OVERWRITE",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         const Array& u = get(a, "uses");
         return u.shape.size() == 2 && u.dim(0) > 0 ? Arrays{{"grad", Array({u.dim(1)}, copy(u.row({0})))}}
                                                    : (not_here(), Arrays{});
       },
       {"the gradient is overwritten: only the first use counts", "梯度被覆盖：只算第一次使用"},
       "x.grad = g",
       "x.grad += g",
       {"accumulate with +=", "用 += 累加"},
       "CHECK(gradient of x * x == 2 x);"},
  };
  return t;
}

// path (n): the gradient of the interior node when all consumers are done. depth 2 diamond.
Topic order_topic() {
  Topic t{"diamond",
          {"gradient through a shared interior node", "经过共享内部节点的梯度"},
          {"through_first", "through_second"},
          {"grad"},
          {"two paths whose gradients differ", "梯度不同的两条路径"},
          {}};
  t.formulas = {
      {"TOPOLOGICAL",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad", plus(get(a, "through_first"), get(a, "through_second"))}};
       },
       {"both paths are added once", "两条路径各加一次"}},
      {"NO_TOPO_ORDER",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad", plus(scaled(get(a, "through_first"), 2), get(a, "through_second"))}};
       },
       {"the first path is counted twice: backward recursed before all consumers of the interior node were done",
        "第一条路径被算了两次：内部节点的使用者尚未完成就递归了"},
       "g_1 + (g_1 + g_2)",
       "g_1 + g_2",
       {"walk the nodes in reverse topological order", "按逆拓扑序遍历"},
       "CHECK(gradient of a diamond);"},
      {"NO_TOPO_ORDER",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad", scaled(plus(get(a, "through_first"), get(a, "through_second")), 2)}};
       },
       {"both paths are counted twice: backward recursed once a parent", "两条路径都被算了两次：每个父节点各递归一次"},
       "2 (g_1 + g_2)",
       "g_1 + g_2",
       {"walk the nodes in reverse topological order", "按逆拓扑序遍历"},
       "CHECK(gradient of a diamond);"},
  };
  return t;
}

Topic twice_topic() {
  Topic t{"two_backwards",
          {"two backward calls", "两次反向调用"},
          {"grad_once"},
          {"grad_twice"},
          {"a graph with an interior node", "带内部节点的图"},
          {}};
  t.formulas = {
      {"ACCUMULATES",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad_twice", scaled(get(a, "grad_once"), 2)}};
       },
       {"leaves accumulate", "叶子梯度累加"}},
      {"IDEMPOTENT",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad_twice", get(a, "grad_once")}};
       },
       {"the second call replaces the first", "第二次调用替换第一次"}},
      {"INTERIOR_GRAD_STALE",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"grad_twice", scaled(get(a, "grad_once"), 3)}};
       },
       {"interior gradients were kept: the second backward starts from the first one's",
        "内部梯度没有清除：第二次反向接着第一次的值"},
       "3 g",
       "2 g (accumulate) or g",
       {"clear interior gradients at the start of backward", "反向开始时清除内部梯度"},
       "CHECK(two calls give exactly twice the gradient);"},
  };
  return t;
}

Array gathered_back(const Arrays& a, int mode) {
  Array dx = filled(get(a, "x"), 0);
  const Array &idx = get(a, "idx"), &dy = get(a, "dy");
  const std::size_t d = dx.shape.size() > 1 ? dx.data.size() / dx.dim(0) : 1,
                    rows = dx.data.size() / std::max<std::size_t>(d, 1);
  if (idx.data.size() * d != dy.data.size()) not_here();
  std::vector<double> count(rows);
  std::vector<bool> seen(rows);
  for (std::size_t k = 0; k < idx.data.size(); ++k) {
    const double at = idx.data[k];
    if (!(at >= 0 && at < static_cast<double>(rows)))
      throw std::invalid_argument("diagnosis: idx holds " + std::to_string(at) + ", there are " + std::to_string(rows) +
                                  " rows");
    const auto r = static_cast<std::size_t>(at);
    ++count[r];
    if (mode == 2 && seen[r]) continue;
    seen[r] = true;
    for (std::size_t j = 0; j < d; ++j) {
      double& x = dx.data[r * d + j];
      x = mode == 1 ? dy.data[k * d + j] : x + dy.data[k * d + j];
    }
  }
  if (mode == 3)
    for (std::size_t i = 0; i < dx.data.size(); ++i)
      if (count[i / d] > 0) dx.data[i] /= count[i / d];
  return dx;
}

Topic gather_topic() {
  Topic t{"gather_gradient",
          {"gradient of gather (embedding)", "gather（词嵌入）的梯度"},
          {"x", "idx", "dy"},
          {"dx"},
          {"an index that occurs twice", "出现两次的索引"},
          {}};
  const char* right = "dx[idx[k]] += dy[k]";
  t.formulas = {
      {"SCATTER_ADD",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"dx", gathered_back(a, 0)}};
       },
       {"duplicates are added", "重复索引相加"}},
      {"GATHER_OVERWRITE",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"dx", gathered_back(a, 1)}};
       },
       {"duplicates overwrite each other: only the last occurrence counts", "重复索引互相覆盖：只算最后一次"},
       "dx[idx[k]] = dy[k]",
       right,
       {"add instead of assigning", "用累加代替赋值"},
       "CHECK(check_gradient with a repeated index);"},
      {"GATHER_OVERWRITE",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"dx", gathered_back(a, 2)}};
       },
       {"duplicates are dropped: only the first occurrence counts", "重复索引被丢弃：只算第一次"},
       "first occurrence only",
       right,
       {"add all occurrences", "累加所有出现"},
       "CHECK(check_gradient with a repeated index);"},
      {"GATHER_MEAN",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"dx", gathered_back(a, 3)}};
       },
       {"duplicates are averaged", "重复索引取了平均"},
       "mean over occurrences",
       right,
       {"add them", "相加"},
       "CHECK(check_gradient with a repeated index);"},
  };
  return t;
}

Topic max_topic() {
  Topic t{"max_gradient", {"gradient of max", "max 的梯度"}, {"x", "dy_max"}, {"dx"}, {"a tie", "并列的最大值"}, {}};
  static const auto spread = [](const Arrays& a, int mode) {
    const Array& x = get(a, "x");
    const double top = *std::max_element(x.data.begin(), x.data.end()), dy = number(a, "dy_max");
    const double n = static_cast<double>(std::count(x.data.begin(), x.data.end(), top));
    Array dx = filled(x, 0);
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      if (x.data[i] != top) continue;
      dx.data[i] = mode == 0 ? dy / n : dy;
      if (mode == 1) break;
    }
    return Arrays{{"dx", dx}};
  };
  t.formulas = {
      {"MAX_SPLIT",
       Level::choice,
       Kind::numerics,
       [](const Arrays& a) { return spread(a, 0); },
       {"ties share the gradient", "并列者平分梯度"}},
      {"MAX_FIRST",
       Level::choice,
       Kind::numerics,
       [](const Arrays& a) { return spread(a, 1); },
       {"the first of a tie takes the gradient", "并列者中第一个得到梯度"}},
      {"MAX_TIE_MASS",
       Level::error,
       Kind::numerics,
       [](const Arrays& a) { return spread(a, 2); },
       {"every winner of a tie gets the full gradient: its mass is multiplied", "并列者各得到完整梯度：梯度总量变多"},
       "dx_i = dy for every maximal i",
       "mass 1: dy / k each, or the first only",
       {"divide by the number of winners", "除以并列个数"},
       "CHECK(sum(dx) == dy);"},
  };
  return t;
}

Topic mean_topic() {
  Topic t{"mean_gradient", {"gradient of mean", "mean 的梯度"},       {"x", "dy_mean"},
          {"dx"},          {"more than one element", "多于一个元素"}, {}};
  t.formulas = {
      {"MEAN",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{
             {"dx", filled(get(a, "x"), number(a, "dy_mean") / static_cast<double>(get(a, "x").data.size()))}};
       },
       {"1/n each", "各得 1/n"}},
      {"GRAPH_DROPPED",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"dx", filled(get(a, "x"), 0)}};
       },
       {"the result is a plain value: the graph was dropped and no gradient arrives",
        "结果是普通数值：计算图断开，没有梯度"},
       "dx = 0",
       "dx_i = dy / n",
       {"make the result a node", "让结果成为图中的节点"},
       "CHECK(requires_grad(mean(x)));"},
      {"MEAN_AS_SUM",
       Level::error,
       Kind::graph,
       [](const Arrays& a) {
         return Arrays{{"dx", filled(get(a, "x"), number(a, "dy_mean"))}};
       },
       {"the factor 1/n is missing from the backward", "反向缺少 1/n"},
       "dx_i = dy",
       "dx_i = dy / n",
       {"divide by n", "除以 n"},
       "CHECK(check_gradient(mean).passed);"},
  };
  return t;
}

Topic inplace_topic() {
  Topic t{"exp_then_scaled",
          {"gradient of k exp(x), computed in place", "就地计算的 k exp(x) 的梯度"},
          {"x", "k"},
          {"dx"},
          {"k other than 1", "k 不为 1"},
          {}};
  static const auto of = [](const Arrays& a, int power) {
    Array dx = get(a, "x");
    for (double& v : dx.data) v = std::exp(v) * std::pow(number(a, "k"), power);
    return Arrays{{"dx", dx}};
  };
  t.formulas = {
      {"SAVED",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) { return of(a, 1); },
       {"the saved value is the one of the forward", "保存的是前向时的值"}},
      {"INPLACE_AFTER_SAVE",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return of(a, 2); },
       {"the saved result was changed in place after the forward", "保存的结果在前向之后被就地修改"},
       "dy * y with y already scaled",
       "dy * exp(x)",
       {"keep a version counter per buffer, or multiply out of place", "给缓冲区加版本号，或不要就地相乘"},
       "CHECK_THROWS(backward after an in-place change);"},
      {"INPLACE_LOST",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return of(a, 0); },
       {"the in-place multiplication is missing from the graph", "就地乘法没有进入计算图"},
       "dy * exp(x)",
       "k dy exp(x)",
       {"record in-place operations", "记录就地操作"},
       "CHECK(check_gradient(f).passed);"},
  };
  return t;
}

Topic softmax_gradient_topic() {
  Topic t{"softmax_gradient",
          {"gradient of softmax", "softmax 的梯度"},
          {"x", "dy_softmax"},
          {"dx"},
          {"an output gradient that is not constant", "不为常数的输出梯度"},
          {}};
  static const auto of = [](const Arrays& a, int mode) {
    const Vec y = activate(Activation::softmax, get(a, "x").data), &dy = get(a, "dy_softmax").data;
    Array dx = get(a, "x");
    const double mean = sum_of(dy) / static_cast<double>(dy.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (mode == 0) dx.data[i] = y[i] * (dy[i] - dot(y, dy));
      if (mode == 1) dx.data[i] = y[i] * (dy[i] - mean);
      if (mode == 2) dx.data[i] = y[i] * (1 - y[i]) * dy[i];
      if (mode == 3) dx.data[i] = y[i] * dy[i];
    }
    return Arrays{{"dx", dx}};
  };
  const char* right = "dx_i = y_i (dy_i - sum_j y_j dy_j)";
  t.formulas = {
      {"SOFTMAX_BACKWARD",
       Level::choice,
       Kind::gradcheck,
       [](const Arrays& a) { return of(a, 0); },
       {"the softmax's gradient", "softmax 的梯度"}},
      {"SOFTMAX_BACKWARD_MEAN",
       Level::error,
       Kind::gradcheck,
       [](const Arrays& a) { return of(a, 1); },
       {"the plain mean is subtracted instead of the weighted one; a constant seed cannot see it",
        "减去的是普通平均而不是加权平均；常数种子看不出来"},
       "y_i (dy_i - mean(dy))",
       right,
       {"weight by y", "用 y 加权"},
       "CHECK(check_gradient with a random cotangent);"},
      {"SOFTMAX_BACKWARD_DIAGONAL",
       Level::error,
       Kind::gradcheck,
       [](const Arrays& a) { return of(a, 2); },
       {"only the diagonal of the Jacobian is used", "只用了雅可比矩阵的对角线"},
       "y_i (1 - y_i) dy_i",
       right,
       {"subtract the weighted sum", "减去加权和"},
       "CHECK(sum(dx) == 0);"},
      {"SOFTMAX_BACKWARD_NO_SUM",
       Level::error,
       Kind::gradcheck,
       [](const Arrays& a) { return of(a, 3); },
       {"the weighted sum is not subtracted", "没有减去加权和"},
       "y_i dy_i",
       right,
       {"subtract the weighted sum", "减去加权和"},
       "CHECK(sum(dx) == 0);"},
  };
  return t;
}

// h = tanh(w h + b), two windows of one step each; the gradient of the second.
Topic windows_topic() {
  Topic t{"truncated_windows",         {"state carried from window to window", "跨窗口传递的状态"},
          {"w", "b", "h_0"},           {"grad_w"},
          {"two windows", "两个窗口"}, {}};
  static const auto of = [](const Arrays& a, bool cut) {
    const double w = number(a, "w"), b = number(a, "b"), h0 = number(a, "h_0"), h1 = std::tanh(w * h0 + b),
                 h2 = std::tanh(w * h1 + b);
    const double d1 = (1 - h1 * h1) * h0;
    return Arrays{{"grad_w", Array(get(a, "grad_w").shape, {(1 - h2 * h2) * (h1 + (cut ? 0 : w * d1))})}};
  };
  t.formulas = {
      {"TRUNCATED",
       Level::choice,
       Kind::graph,
       [](const Arrays& a) { return of(a, true); },
       {"the gradient stops at the window's start", "梯度止于窗口起点"}},
      {"STATE_NOT_DETACHED",
       Level::error,
       Kind::graph,
       [](const Arrays& a) { return of(a, false); },
       {"the gradient flows into the window before: the carried state was not detached",
        "梯度流进了上一个窗口：传递的状态没有 detach"},
       "dh_2/dw through h_1 too",
       "h_1 is a constant of window 2",
       {"detach the state between windows", "窗口之间 detach 状态"},
       "CHECK(node count of a backward is constant over windows);"},
  };
  return t;
}

// ---- beams

Topic beam_state_topic() {
  Topic t{"beam_states",
          {"states of a beam", "束搜索的状态"},
          {"states", "parents"},
          {"new_states"},
          {"parents that are no identity and no exchange of two", "既非恒等也非两两交换的父节点"},
          {}};
  static const auto take = [](const Arrays& a, int mode) {
    const Array &s = get(a, "states"), &p = get(a, "parents");
    const std::size_t k = p.data.size(), d = k ? s.data.size() / k : 0;
    if (d * k != s.data.size()) not_here();
    Array out = s;
    for (std::size_t i = 0; i < k; ++i) {
      if (!(p.data[i] >= 0 && p.data[i] < static_cast<double>(k)))
        throw std::invalid_argument("diagnosis: parents must be beam numbers");
      const auto parent = static_cast<std::size_t>(p.data[i]);
      for (std::size_t j = 0; j < d; ++j) {
        if (mode == 0) out.data[i * d + j] = s.data[parent * d + j];
        if (mode == 1) out.data[parent * d + j] = s.data[i * d + j];
        if (mode == 2) out.data[i * d + j] = out.data[parent * d + j];
      }
    }
    return Arrays{{"new_states", out}};
  };
  t.formulas = {
      {"REORDERED",
       Level::choice,
       Kind::beam,
       [](const Arrays& a) { return take(a, 0); },
       {"states follow their parents", "状态随父节点重排"}},
      {"BEAM_STATE_NOT_REORDERED",
       Level::error,
       Kind::beam,
       [](const Arrays& a) {
         return Arrays{{"new_states", get(a, "states")}};
       },
       {"the decoder's states stay where they were instead of following their parent beams",
        "解码器状态没有随父束重排"},
       "state[k] = old[k]",
       "state[k] = old[parent[k]]",
       {"gather the states by parent", "按父节点 gather 状态"},
       "rescore each hypothesis by teacher forcing: CHECK(same score);"},
      {"BEAM_PARENTS_INVERTED",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return take(a, 1); },
       {"the states are scattered to their parents instead of gathered from them",
        "状态被散布到父节点，而不是从父节点取来"},
       "state[parent[k]] = old[k]",
       "state[k] = old[parent[k]]",
       {"gather, do not scatter", "用 gather 而不是 scatter"},
       "rescore each hypothesis by teacher forcing: CHECK(same score);"},
      {"BEAM_REORDER_IN_PLACE",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return take(a, 2); },
       {"the states are reordered in place: later beams read states that were overwritten",
        "就地重排：后面的束读到了已被覆盖的状态"},
       "in place",
       "state[k] = old[parent[k]]",
       {"copy the old states first", "先复制旧状态"},
       "rescore each hypothesis by teacher forcing: CHECK(same score);"},
  };
  return t;
}

Topic beam_score_topic() {
  Topic t{"beam_scores", {"scores of finished hypotheses", "完成假设的分数"},   {"logp", "length"},
          {"score"},     {"hypotheses of different lengths", "长度不同的假设"}, {}};
  static const auto by = [](const Arrays& a, double (*f)(double length, double longest, double alpha)) {
    Array out = get(a, "logp");
    const Array& n = get(a, "length");
    const double longest = *std::max_element(n.data.begin(), n.data.end()), alpha = number(a, "alpha", 1);
    for (std::size_t i = 0; i < out.data.size(); ++i) out.data[i] /= f(n.data.at(i), longest, alpha);
    return Arrays{{"score", out}};
  };
  t.formulas = {
      {"SCORE_MEAN",
       Level::choice,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double n, double, double p) { return std::pow(n, p); }); },
       {"log-probability over length^alpha", "对数概率除以长度的 alpha 次幂"}},
      {"SCORE_GNMT",
       Level::choice,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double n, double, double p) { return std::pow((5 + n) / 6, p); }); },
       {"GNMT's length penalty", "GNMT 的长度惩罚"}},
      {"SCORE_SUM",
       Level::choice,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double, double, double) { return 1.0; }); },
       {"log-probability without a length penalty", "没有长度惩罚的对数概率"}},
      {"BEAM_LP_GLOBAL",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double, double most, double p) { return std::pow((5 + most) / 6, p); }); },
       {"the length penalty uses the step count for all hypotheses: the ranking never changes",
        "长度惩罚对所有假设用同一步数：排名不会改变"},
       "lp(t) for all",
       "lp(own length)",
       {"use each hypothesis's own length", "使用各假设自己的长度"},
       "two lengths whose rank flips"},
      {"BEAM_LP_GLOBAL",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double, double most, double p) { return std::pow(most, p); }); },
       {"the length penalty uses the step count for all hypotheses: the ranking never changes",
        "长度惩罚对所有假设用同一步数：排名不会改变"},
       "t for all",
       "own length",
       {"use each hypothesis's own length", "使用各假设自己的长度"},
       "two lengths whose rank flips"},
      {"BEAM_LEN_OFF_BY_ONE",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double n, double, double p) { return std::pow(n - 1, p); }); },
       {"the length is one short: the end token is not counted", "长度少一：没有计入结束符"},
       "logp / (n - 1)",
       "logp / n",
       {"count the end token", "计入结束符"},
       "rescore a hypothesis by hand"},
      {"BEAM_LEN_OFF_BY_ONE",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double n, double, double p) { return std::pow(n + 1, p); }); },
       {"the length is one too long: the start token is counted", "长度多一：计入了起始符"},
       "logp / (n + 1)",
       "logp / n",
       {"do not count the start token", "不计入起始符"},
       "rescore a hypothesis by hand"},
      {"BEAM_LP_MULTIPLIED",
       Level::error,
       Kind::beam,
       [](const Arrays& a) { return by(a, [](double n, double, double p) { return 1 / std::pow(n, p); }); },
       {"the log-probability is multiplied by the length: long hypotheses are punished twice",
        "对数概率乘了长度：长假设被双重惩罚"},
       "logp * n",
       "logp / n",
       {"divide", "改为相除"},
       "two lengths whose rank flips"},
  };
  return t;
}

// ---- initialisation

Topic init_topic() {
  Topic t{"scorer_gradients",
          {"a scorer at its start", "初始时的打分器"},
          {"W_a", "U_a", "v_a"},
          {"grad_v_a"},
          {"the parameters before the first step", "第一步之前的参数"},
          {}};
  static const auto zero = [](const Arrays& a, const char* name) { return norm(get(a, name).data) == 0; };
  t.formulas = {
      {"INIT_DEAD_SCORER",
       Level::error,
       Kind::init,
       [](const Arrays& a) {
         return zero(a, "W_a") && zero(a, "U_a") && zero(a, "v_a") ? Arrays{{"grad_v_a", filled(get(a, "v_a"), 0)}}
                                                                   : (not_here(), Arrays{});
       },
       {"the scorer starts at zero altogether: every one of its gradients is zero for ever",
        "打分器全部初始化为零：其所有梯度永远为零"},
       "W_a = U_a = 0, v_a = 0",
       "one of them random; v_a = 0 alone is fine",
       {"draw W_a and U_a at random", "随机初始化 W_a 与 U_a"},
       "CHECK(norm(v_a.grad()) > 0) at the start"},
      {"INIT_ALIVE",
       Level::choice,
       Kind::init,
       [](const Arrays& a) {
         return zero(a, "grad_v_a") ? (not_here(), Arrays{}) : Arrays{{"grad_v_a", get(a, "grad_v_a")}};
       },
       {"the scorer can learn", "打分器可以学习"}},
  };
  return t;
}

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all = {cross_entropy_topic(),
                                         squared_topic(),
                                         forcing_topic(),
                                         granularity_topic(),
                                         sgd_clip_topic(),
                                         clip_topic(),
                                         zero_grad_topic(),
                                         tied_topic(),
                                         dropout_topic(),
                                         repeat_topic(),
                                         broadcast_topic(),
                                         expand_topic(),
                                         fan_out_topic(),
                                         order_topic(),
                                         twice_topic(),
                                         gather_topic(),
                                         max_topic(),
                                         mean_topic(),
                                         softmax_gradient_topic(),
                                         inplace_topic(),
                                         windows_topic(),
                                         beam_state_topic(),
                                         beam_score_topic(),
                                         init_topic(),
                                         adam_topic(),
                                         softmax_topic(),
                                         linear_topic()};
  return all;
}

double difference(const Array& got, const Array& wanted) {
  const bool scalars = got.data.size() == 1 && got.shape.size() <= 1 && wanted.shape.size() <= 1;
  if (got.data.size() != wanted.data.size() || (got.shape != wanted.shape && !scalars))
    return std::numeric_limits<double>::infinity();
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    if (std::isnan(got.data[i]) && std::isnan(wanted.data[i])) continue;
    if (!std::isfinite(got.data[i]) || !std::isfinite(wanted.data[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::fabs(got.data[i] - wanted.data[i]));
    scale = std::max(scale, std::fabs(wanted.data[i]));
  }
  return most == 0 ? 0 : most / std::max(scale, 1e-300);
}

const Topic& topic_of(const Trace& trace) {
  std::string known;
  const Topic* best = nullptr;
  for (const Topic& t : topics()) {
    known += (known.empty() ? "" : ", ") + std::string(t.name);
    if (!trace.meta.topic.empty() && trace.meta.topic != t.name) continue;
    const auto there = [&](const char* name) { return find(trace.arrays, name) != nullptr; };
    if (!std::all_of(t.needs.begin(), t.needs.end(), there) || std::none_of(t.outputs.begin(), t.outputs.end(), there))
      continue;
    if (!best || t.needs.size() > best->needs.size()) best = &t;
  }
  if (best) return *best;
  std::string names;
  for (const auto& [name, a] : trace.arrays) names += (names.empty() ? "" : ", ") + name;
  if (!trace.meta.topic.empty()) {
    for (const Topic& t : topics())
      if (trace.meta.topic == t.name) {
        std::string needs;
        for (const char* name : t.needs) needs += (needs.empty() ? "" : ", ") + std::string(name);
        throw std::invalid_argument("trace: the topic " + trace.meta.topic + " needs " + needs + " and " +
                                    t.outputs[0] + "; there are " + names);
      }
    throw std::invalid_argument("trace: no topic is called '" + trace.meta.topic + "'; there are " + known);
  }
  const std::string missing = missing_part(trace.arrays);
  throw std::invalid_argument("trace: these arrays belong to nothing that is known here: " + names + ". " +
                              (missing.empty() ? "A decoder needs H and one of s, alpha, c, logits; a cell needs x, h, "
                                                 "W_ih and W_hh"
                                               : missing) +
                              ". ./gradus diagnose --help lists the names");
}

}  // namespace

std::vector<TopicNames> topic_names() {
  std::vector<TopicNames> all;
  for (const Topic& t : topics())
    all.push_back({t.name, {t.needs.begin(), t.needs.end()}, {t.outputs.begin(), t.outputs.end()}});
  return all;
}

Verdict diagnose_formula(const Trace& trace, const std::string& claim) {
  const Topic& topic = topic_of(trace);
  Verdict verdict;
  verdict.claim = claim;
  verdict.subject = topic.what;
  verdict.checked = true;
  const double tolerance = trace.single ? 1e-5 : 1e-9, apart = trace.single ? 1e-3 : 1e-4;
  Arrays given = trace.arrays;
  if (trace.single) given["is_float32"] = Array({}, {1});
  std::vector<std::pair<const Formula*, double>> hits;
  double best = std::numeric_limits<double>::infinity();
  for (const Formula& f : topic.formulas) {
    double residual = 0;
    try {
      const Arrays got = f.compute(given);
      bool any = false;
      for (const char* name : topic.outputs)
        if (const Array* want = find(given, name), *have = find(got, name); want && have)
          residual = std::max(residual, difference(*have, *want)), any = true;
      if (!any) continue;
    } catch (const std::invalid_argument& error) {
      if (std::string(error.what()).rfind("diagnosis:", 0) == 0) throw;
      continue;
    } catch (const std::out_of_range&) {
      throw std::invalid_argument("diagnosis: the arrays of " + std::string(topic.name) + " have different sizes");
    }
    ++verdict.tried;
    if (residual < apart) hits.emplace_back(&f, residual);
    else verdict.next = std::min(verdict.next, residual);
    best = std::min(best, residual);
  }
  verdict.agreement = best;
  const auto add = [&](const Formula& f, bool error) {
    Finding finding;
    finding.code = f.code, finding.error = error, finding.kind = f.kind, finding.where = topic.what,
    finding.sentence = f.sentence;
    finding.used = f.used, finding.paper = f.paper, finding.fix = f.fix, finding.test = f.test;
    verdict.findings.push_back(finding);
  };
  if (!(best < tolerance)) {
    Finding f;
    f.code = "UNKNOWN", f.kind = topic.formulas.front().kind, f.where = topic.what;
    for (const char* name : topic.outputs)
      if (const Array* out = find(given, name))
        for (double x : out->data)
          if (!std::isfinite(x)) f.kind = Kind::numerics;
    f.sentence = {"no known variant gives these numbers", "没有已知的变体能得到这些数值"};
    f.fix = {"compare with the formula, term by term", "逐项对照公式"};
    verdict.findings.push_back(f);
    return verdict;
  }
  const Formula* right = nullptr;
  std::set<std::string> wrong;
  for (const auto& [f, residual] : hits) {
    if (f->level != Level::error && !right) right = f;
    if (f->level == Level::error) wrong.insert(f->code);
  }
  if (right) {
    verdict.follows = right->sentence;
    verdict.choices.push_back(right->code);
    if (right->level == Level::benign) add(*right, false);
    std::set<std::string> others;
    for (const auto& [f, residual] : hits) others.insert(f->code);
    others.erase(right->code);
    std::string list;
    for (const std::string& code : others) list += (list.empty() ? "" : ", ") + code;
    if (!others.empty())
      verdict.open.push_back(
          {topic.name, {right->code + (" from " + list), right->code + (" 与 " + list + " 的区别")}, topic.tell});
    return verdict;
  }
  add(*hits.front().first, true);
  Finding& finding = verdict.findings.front();
  if (wrong.size() > 1) {
    finding.alias.assign(wrong.begin(), wrong.end());
    finding.code.clear();
    for (const std::string& code : wrong) finding.code += (finding.code.empty() ? "" : "|") + code;
    finding.sentence = {"several mistakes give these same numbers", "有几种错误会得到同样的数值"};
    finding.used = finding.paper = finding.test = "";
    finding.tell = topic.tell;
  }
  return verdict;
}

}  // namespace gradus::diagnosis
