// Ten programs whose shapes do not fit.
#include "lessons/01_tensors/broken.h"

#include <fmt/format.h>

#include "lessons/common/text.h"
#include "nn/attention.h"
#include "nn/layers.h"

namespace gradus::lesson01 {

namespace {

constexpr std::int64_t B = 2, T_enc = 5, d_s = 3, d_h = 4, d_attn = 7;

Var zero(const Shape& shape) { return Var(zeros(shape)); }
Generator& init() {
  static Generator generator(1, "init");
  return generator;
}
Linear layer() { return Linear(3, 2, init()); }
Score additive() { return Score(ScoreKind::additive, d_s, d_h, d_attn, init()); }
Var scored(const Score& score, const Var& query) { return score(query, score.keys(zero({B, T_enc, d_h}))); }
Ids four_targets() { return Ids(Shape{4}); }

}  // namespace

const std::vector<Broken>& broken_programs() {
  static const std::vector<Broken> all = {
      {{"the batch lies the wrong way", "一批样本放反了"},
       "layer(x)",
       "x",
       FixKind::transpose,
       [] {
         (void)layer()(zero({3, 4}));
       },
       [] {
         return layer()(transpose(zero({3, 4}))).shape();
       },
       {4, 2}},
      {{"weights stored (d_in, d_out)", "权重存成了 (d_in, d_out)"},
       "layer.W = W; layer(x)",
       "W",
       FixKind::transpose,
       [] {
         Linear wrong = layer();
         wrong.W = zero({3, 2});
         (void)wrong(zero({4, 3}));
       },
       [] {
         Linear mended = layer();
         mended.W = transpose(zero({3, 2}));
         return mended(zero({4, 3})).shape();
       },
       {4, 2}},
      {{"targets without their axis", "目标少了一个轴"},
       "mse(prediction, target)",
       "target",
       FixKind::reshape,
       [] {
         (void)mse(zero({4, 1}), zero({4}));
       },
       [] {
         return mse(zero({4, 1}), reshape(zero({4}), Shape{4, 1})).shape();
       },
       {}},
      {{"* where a product of matrices is meant", "想要矩阵乘积，却写了 *"},
       "left * right",
       "right",
       FixKind::multiply,
       [] {
         (void)(zero({2, 3}) * zero({3, 4}));
       },
       [] {
         return matmul(zero({2, 3}), zero({3, 4})).shape();
       },
       {2, 4}},
      {{"logits (vocab, B)", "logits 是 (vocab, B)"},
       "cross_entropy(logits, targets)",
       "logits",
       FixKind::transpose,
       [] {
         (void)cross_entropy(zero({5, 4}), four_targets());
       },
       [] {
         return cross_entropy(transpose(zero({5, 4})), four_targets()).shape();
       },
       {}},
      {{"W_a stored (d_s, d_attn)", "W_a 存成了 (d_s, d_attn)"},
       "score.W_a = W; score(s_prev, keys)",
       "W_a",
       FixKind::transpose,
       [] {
         Score wrong = additive();
         wrong.W_a = zero({d_s, d_attn});
         (void)scored(wrong, zero({B, d_s}));
       },
       [] {
         Score mended = additive();
         mended.W_a = transpose(zero({d_s, d_attn}));
         return scored(mended, zero({B, d_s})).shape();
       },
       {B, T_enc}},
      {{"W_a and U_a exchanged", "W_a 和 U_a 对调了"},
       "score.W_a = U; score.U_a = W",
       "W_a",
       FixKind::exchange,
       [] {
         Score wrong = additive();
         std::swap(wrong.W_a, wrong.U_a);
         (void)scored(wrong, zero({B, d_s}));
       },
       [] {
         return scored(additive(), zero({B, d_s})).shape();
       },
       {B, T_enc}},
      {{"a dot product of two widths", "两种宽度做点积"},
       "Score(ScoreKind::dot, 3, 4)",
       "d_s",
       FixKind::equal_widths,
       [] {
         (void)scored(Score(ScoreKind::dot, d_s, d_h, 0, init()), zero({B, d_s}));
       },
       [] {
         return scored(Score(ScoreKind::general, d_s, d_h, 0, init()), zero({B, d_s})).shape();
       },
       {B, T_enc}},
      {{"a query with a leftover axis", "查询多了一个轴"},
       "score(s_prev, keys)",
       "s_prev",
       FixKind::drop_axis,
       [] {
         (void)scored(additive(), zero({B, 1, d_s}));
       },
       [] {
         return scored(additive(), reshape(zero({B, 1, d_s}), Shape{B, d_s})).shape();
       },
       {B, T_enc}},
      {{"the mask of another batch", "掩码来自另一批"},
       "attend(scores, values, mask)",
       "mask",
       FixKind::resize,
       [] {
         (void)attend(zero({B, T_enc}), zero({B, T_enc, d_h}), Mask(Shape{B, 6}, 1));
       },
       [] {
         return attend(zero({B, T_enc}), zero({B, T_enc, d_h}), mask_from_lengths({5, 3}, T_enc)).context.shape();
       },
       {B, d_h}},
  };
  return all;
}

Examined examined(const Broken& program, Lang lang) {
  Examined result;
  try {
    program.run();
  } catch (const ShapeError& error) {
    if (!error.report) return {error.what()};
    result.text = error.report->text(lang);
    result.named = error.report->tensor == program.tensor;
    result.fix = error.report->fix.kind == program.fix && program.mended() == program.result;
  }
  return result;
}

std::string all_reports(Lang lang) {
  std::string text;
  std::int64_t i = 0;
  for (const Broken& program : broken_programs()) {
    text += fmt::format("{}. {}{}{}\n{}\n", ++i, program.what.in(lang), tr(lang, ": ", "："), program.code,
                        examined(program, lang).text);
  }
  return text;
}

std::int64_t named_with_fix() {
  std::int64_t count = 0;
  for (const Broken& program : broken_programs()) {
    const Examined result = examined(program, Lang::en);
    count += result.named && result.fix;
  }
  return count;
}

}  // namespace gradus::lesson01
