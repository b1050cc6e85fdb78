// The task, the model, the training loop.
#include "lessons/11_conventions/trainee.h"

#include <fmt/format.h>

#include "lessons/common/interrupt.h"
#include "nn/checkpoint.h"

namespace gradus::lesson11 {
namespace {

constexpr double rate = 1e-2;
constexpr std::int64_t batch_size = 16, d_emb = 4, d_hidden = 4, d_attn = 5;

Model fresh(const Choices& choices, std::uint64_t seed, std::size_t number) {
  Generator init(seed, fmt::format("init {}", number));
  return Model(choices, init);
}

}  // namespace

Batch draw_batch(std::int64_t size, Generator& generator) {
  Batch batch{Ids(Shape{size, longest}, closing), Ids(Shape{size, longest}, closing),
              Ids(Shape{size, longest}, closing), Mask()};
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < size; ++b) {
    lengths.push_back(3 + generator.below(longest - 2));
    for (std::int64_t i = 0; i < lengths.back(); ++i) {
      batch.source.at(b, i) = batch.target.at(b, i) = static_cast<std::int32_t>(generator.below(digits));
    }
    batch.previous.at(b, 0) = first_input;
    for (std::int64_t i = 1; i < longest; ++i) batch.previous.at(b, i) = batch.target.at(b, i - 1);
  }
  batch.mask = mask_from_lengths(lengths, longest);
  return batch;
}

// d_s = 6 beside d_h = 8 where the score allows it; Luong's decoders get equal sizes, where mistakes hide better.
Model::Model(const Choices& choices, Generator& generator)
    : source(digits + 1, d_emb, generator),
      target(first_input + 1, d_emb, generator),
      encoder(CellKind::gru, d_emb, d_hidden, bahdanau2014(), generator),
      decoder(choices,
              {.vocab = closing + 1,
               .d_emb = d_emb,
               .d_s = choices.score == ScoreKind::dot || choices.vector ? 2 * d_hidden : 6,
               .d_h = 2 * d_hidden,
               .d_attn = d_attn},
              longest, generator) {}

Decoded Model::teach(const Batch& batch) const {
  const auto [H, forward_last, backward_first] = encoder(source(batch.source), batch.mask);
  return decode_teacher(decoder, target(batch.previous), decoder.start(backward_first),
                        decoder.remember(H, batch.mask));
}

void Model::visit(Visitor& v) {
  v("source", source);
  v("target", target);
  v("encoder", encoder);
  v("decoder", decoder);
}

Trainee::Trainee(const Choices& drawn, std::uint64_t seed, std::size_t number)
    : choices(drawn),
      model(fresh(drawn, seed, number)),
      seed_(seed),
      data_(seed, fmt::format("data {}", number)),
      parameters_(parameters(model)),
      adam_(parameters_, {.rate = rate}) {}

void Trainee::train(std::int64_t steps, const std::function<void(const Trainee&)>& after) {
  while (step < steps && !interrupted()) {
    const Batch batch = draw_batch(batch_size, data_);
    const Var mean_loss = cross_entropy(model.teach(batch).logits, batch.target);
    zero_grad(parameters_);
    backward(mean_loss);
    clip_gradients(parameters_, 1.0);
    adam_.options.rate = rate * cosine_decay(step, steps, 0.1);
    adam_.step();
    loss = mean_loss.item();
    ++step;
    after(*this);
  }
}

double Trainee::accuracy(std::int64_t sequences, std::uint64_t seed) const {
  NoGrad no_grad;
  Generator generator(seed, "evaluation");
  const Batch batch = draw_batch(sequences, generator);
  const auto [H, forward_last, backward_first] = model.encoder(model.source(batch.source), batch.mask);
  const Greedy written = decode_greedy(model.decoder, model.target, model.decoder.start(backward_first),
                                       model.decoder.remember(H, batch.mask), first_input, longest);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < batch.target.size(); ++i) right += written.tokens[i] == batch.target[i];
  return static_cast<double>(right) / static_cast<double>(batch.target.size());
}

void Trainee::save(const std::filesystem::path& file) {
  std::map<std::string, std::string> notes{{"seed", std::to_string(seed_)}, {"built", words(choices, Lang::en)}};
  save_checkpoint(file, {parameters_, &adam_, {{"data", &data_}}, &step, &notes});
}

void Trainee::load(const std::filesystem::path& file) {
  std::map<std::string, std::string> notes = checkpoint_notes(file);
  if (notes["seed"] != std::to_string(seed_) || notes["built"] != words(choices, Lang::en)) {
    throw FileError(fmt::format("{} belongs to a run with --seed {}; say --seed {}, or train anew with ./gradus run 11",
                                file.string(), notes["seed"], notes["seed"]));
  }
  load_checkpoint(file, {parameters_, &adam_, {{"data", &data_}}, &step, &notes});
}

}  // namespace gradus::lesson11
