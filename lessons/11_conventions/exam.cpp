// Running the checks.
#include "lessons/11_conventions/exam.h"

#include <algorithm>

namespace gradus::lesson11 {
namespace {

reference::DecoderConvention claimed(const Choices& c) {
  const bool luong = c.claim == Claim::luong2015;
  const bool luong_score = c.score == ScoreKind::dot || c.score == ScoreKind::general || c.score == ScoreKind::concat;
  reference::DecoderConvention paper =
      luong ? reference::luong2015(to_reference(luong_score ? c.score : ScoreKind::general),
                                   c.cell_reads != CellReads::nothing)
            : reference::bahdanau2014();
  paper.cell = to_reference(GruOptions{c.reset, c.update, GruBias::one});
  if (!luong && c.readout_time == ReadoutTime::s_prev) {
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

bool any_entry(const Matrix& matrix, bool (*where)(std::size_t row, std::size_t column)) {
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      if (where(r, c) && matrix.at(r, c) != 0) return true;
    }
  }
  return false;
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
  f.diagonal = f.attends && any_entry(p.influence.matrix, [](std::size_t r, std::size_t c) { return r == c; });
  f.below = f.attends && any_entry(p.influence.matrix, [](std::size_t r, std::size_t c) { return r > c; });
  f.route = any_entry(p.route.matrix, [](std::size_t r, std::size_t) { return r == 0; }) ? ContextRoute::this_step
            : any_entry(p.route.matrix, [](std::size_t, std::size_t) { return true; })   ? ContextRoute::next_step
                                                                                         : ContextRoute::output_only;
  f.sees_source = any_entry(p.source.matrix, [](std::size_t, std::size_t) { return true; });
  f.sums_to_one = p.sums.passed;
  f.pads_unseen = p.padding.passed;
  f.in_hull = !f.pads_unseen || p.hull.passed;
  return f;
}

diagnosis::Verdict diagnose(const Subject& subject, Claim claim) {
  diagnosis::Meta meta;
  meta.claims = name(claim);
  meta.gate_order = "r,z,n";
  return diagnosis::diagnose(trace_of(subject.decoder(), subject.inputs, meta));
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

Exam examine(const Trainee& trainee, std::uint64_t seed, std::int64_t sequences) {
  Exam exam;
  exam.accuracy = trainee.accuracy(sequences, seed);
  const Subject whole = subject(trainee, seed, 5, 3), small = subject(trainee, seed, 3, 2);
  exam.pictures = look_at(whole, trainee.choices);
  exam.self = self_check(small);
  exam.reference = check_reference(small.decoder(), small.inputs, claimed(trainee.choices));
  exam.verdict = diagnose(whole, trainee.choices.claim);
  exam.right = is_right(exam.verdict, trainee.choices);
  return exam;
}

}  // namespace gradus::lesson11
