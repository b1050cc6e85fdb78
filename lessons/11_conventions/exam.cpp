// Running the checks.
#include "lessons/11_conventions/exam.h"

#include <algorithm>

#include "lessons/11_conventions/parts.h"

namespace gradus::lesson11 {
namespace {

reference::DecoderConvention claimed(const Choices& c) {
  const bool by_luong = c.claim == Claim::luong2015;
  const bool luong_score = c.score == ScoreKind::dot || c.score == ScoreKind::general || c.score == ScoreKind::concat;
  reference::DecoderConvention paper =
      by_luong ? reference::luong2015(to_reference(luong_score ? c.score : ScoreKind::general),
                                      c.cell_reads != CellReads::nothing)
               : reference::bahdanau2014();
  paper.cell = to_reference(GruOptions{c.reset, c.update, GruBias::one});
  if (!by_luong && c.readout_time == ReadoutTime::s_prev) {
    paper.readout = {reference::s_prev, reference::y_emb, reference::c_t};
  }
  return paper;
}

GradientReport self_check(const Subject& subject) {
  const DecoderUnderTest decoder = subject.decoder();
  const DecoderInputs& in = subject.inputs;
  std::vector<CheckedInput> leaves{{"y_emb", in.y_emb}, {"s_0", in.s_0}};
  if (!decoder.run(in).weights.empty()) leaves.push_back({"H", in.H});  // without attention H is not read
  for (const Parameter& p : decoder.parameters) leaves.push_back({p.name, p.var});
  return check_gradient(
      [&] {
        std::vector<Var> flat;
        for (const auto& [name, value] : outputs_of(decoder.run(in))) {
          flat.push_back(reshape(value, Shape{value.value().size()}));
        }
        return concat(flat, Axis{0});
      },
      leaves);
}

}  // namespace

Subject subject(const Trainee& trainee, std::uint64_t seed, std::int64_t steps, std::int64_t sentences) {
  Generator generator(seed, "exam");
  Batch batch = draw_batch(sentences, generator);
  const std::int64_t lengths[] = {longest, 4, 3};
  std::vector<std::int64_t> real;
  for (std::int64_t b = 0; b < sentences; ++b) {
    real.push_back(lengths[b]);
    for (std::int64_t i = 0; i < longest; ++i) {
      batch.source.at(b, i) = i < real.back() ? static_cast<std::int32_t>(generator.below(digits)) : closing;
    }
  }
  Subject s{clone(trainee.model, f64), {}};
  NoGrad no_grad;
  batch.mask = mask_from_lengths(real, longest);
  const auto [H, forward_last, backward_first] = s.model.encoder(s.model.source(batch.source), batch.mask);
  const Tensor elsewhere = random_uniform(H.shape(), -1, 1, generator, f64);
  Tensor values = copy(H.value());
  for (std::int64_t b = 0; b < sentences; ++b) {
    for (std::int64_t i = real[static_cast<std::size_t>(b)]; i < longest; ++i) {
      for (std::int64_t k = 0; k < H.shape()[2]; ++k) values.set({b, i, k}, elsewhere.at({b, i, k}));
    }
  }
  const Var words = narrow(s.model.target(batch.previous), Axis{1}, 0, steps);
  s.inputs = {parameter(copy(words.value())), parameter(values), batch.mask,
              parameter(copy(s.model.decoder.start(backward_first).value()))};
  return s;
}

Pictures look_at(const Subject& subject, const Choices& choices) {
  const DecoderUnderTest decoder = subject.decoder();
  const DecoderInputs& in = subject.inputs;
  const DecoderClaim claim = choices.claim == Claim::bahdanau2014
                                 ? claim_bahdanau2014()
                                 : claim_luong2015(choices.cell_reads != CellReads::nothing);
  return {probe_influence(decoder, in, claim.query),
          probe_intervention(decoder, in, claim.query),
          probe_context_route(decoder, in, claim.route),
          probe_source(decoder, in, true),
          probe_weights_sum(decoder, in),
          probe_padding_content(decoder, in),
          probe_convex_hull(decoder, in)};
}

Foretold read(const Pictures& p) {
  Foretold f;
  f.attends = !p.influence.matrix.values.empty();
  const Matrix &influence = p.influence.matrix, &source = p.source.matrix;
  f.diagonal = f.attends && taught_parts().depends_on_own_input(influence);
  f.below = false;
  for (std::size_t t = 0; f.attends && t < influence.rows.size(); ++t) {
    for (std::size_t k = 0; k < t; ++k) f.below = f.below || influence.at(t, k) != 0;
  }
  f.route = taught_parts().route_of_context(p.route.matrix);
  f.sees_source = std::any_of(source.values.begin(), source.values.end(), [](double value) { return value != 0; });
  f.sums_to_one = p.sums.passed;
  f.pads_unseen = p.padding.passed;
  f.in_hull = !f.pads_unseen || p.hull.passed;
  return f;
}

diagnosis::Verdict diagnose(const DecoderUnderTest& decoder, const DecoderInputs& inputs, Claim claim) {
  diagnosis::Meta meta;
  meta.claims = name(claim);
  meta.gate_order = "r,z,n";
  return diagnosis::diagnose(trace_of(decoder, inputs, meta));
}

std::string codes_of(const diagnosis::Verdict& verdict) {
  std::string out;
  for (const diagnosis::Finding& f : verdict.findings) {
    if (f.error) out += (out.empty() ? "" : " + ") + f.code;
  }
  return out.empty() ? "-" : out;
}

bool is_right(const diagnosis::Verdict& verdict, const Choices& choices) {
  std::set<std::string> codes;
  for (const diagnosis::Finding& f : verdict.findings) {
    if (f.error) codes.insert(f.code);
  }
  if (codes != choices.codes || !verdict.checked) return false;
  for (const std::string& choice : told(choices)) {
    if (std::find(verdict.choices.begin(), verdict.choices.end(), choice) == verdict.choices.end()) return false;
  }
  return true;
}

bool can_be_named(const Choices& choices) {
  static const std::set<std::string> names{query_is_s_t, context_comes_late, padding_has_weight};
  return choices.claim == Claim::bahdanau2014 && choices.codes.size() <= 1 &&
         std::includes(names.begin(), names.end(), choices.codes.begin(), choices.codes.end());
}

std::string name_for(const Choices& choices) {
  return choices.codes.empty() ? keeps_its_claim : *choices.codes.begin();
}

Exam examine(const Trainee& trainee, std::uint64_t seed, std::int64_t sequences) {
  Exam exam;
  exam.accuracy = trainee.accuracy(sequences, seed);
  const Subject whole = subject(trainee, seed, 5, 3), small = subject(trainee, seed, 3, 2);
  exam.pictures = look_at(whole, trainee.choices);
  exam.self = self_check(small);
  exam.reference = check_reference(small.decoder(), small.inputs, claimed(trainee.choices));
  exam.verdict = diagnose(whole.decoder(), whole.inputs, trainee.choices.claim);
  if (can_be_named(trainee.choices)) exam.named = taught_parts().name_mistake(whole.decoder(), whole.inputs);
  exam.right = is_right(exam.verdict, trainee.choices);
  return exam;
}

}  // namespace gradus::lesson11
