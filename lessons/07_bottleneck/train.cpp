// The training loop.
#include "lessons/07_bottleneck/train.h"

#include "nn/optimizer.h"

namespace gradus::lesson07 {
namespace {

constexpr std::int64_t batch_size = 32;
constexpr double rate = 3e-3;

Var train_logits(const Trained& t, const CopyBatch& batch, Generator& choices) {
  const State s_0 = t.net.encode(batch.source);
  switch (t.setup.feeding) {
    case Feeding::teacher:
      return t.net.teach(s_0, batch.source);
    case Feeding::shift_missing:
      return t.net.logits(s_0, batch.source);
    case Feeding::scheduled: {
      // From all inputs given to half of them its own, linearly (Bengio et al. 2015, section 2.4).
      const double own = 0.5 * static_cast<double>(t.step) / static_cast<double>(t.setup.steps);
      return t.net.logits_on_own(s_0, batch.previous, own, choices);
    }
  }
  throw ValueError("train: there is no such kind of input");
}

}  // namespace

Trained train(const Setup& setup, std::uint64_t seed,
              const std::function<bool(const Trained&, double accuracy)>& after) {
  Generator init(seed, "init"), data(seed, "data"), choices(seed, "choices");
  Trained t{.setup = setup, .net = CopyNet(setup.sizes, setup.ends, init)};
  const std::vector<Parameter> all = parameters(t.net);
  Adam adam(all, {.rate = rate});
  Curriculum curriculum;
  for (bool go = true; go && t.step < setup.steps;) {
    if (t.step == setup.all_lengths_from) curriculum.longest = copy_longest;
    const CopyBatch batch = copy_batch(batch_size, curriculum.draw(data), data);
    const Var logits = train_logits(t, batch, choices);  // (B, T, vocab)
    const Var loss = taught_parts().loss(logits, batch.source, Mask(batch.source.shape(), 1));
    zero_grad(all);
    backward(loss);
    clip_gradients(all, 1.0);
    adam.options.rate = rate * cosine_decay(t.step, setup.steps, 0.01);
    adam.step();
    curriculum.saw(token_accuracy(logits, batch.source), t.step);
    t.loss = t.step == 0 ? loss.item() : 0.9 * t.loss + 0.1 * loss.item();
    t.longest = curriculum.longest;
    ++t.step;
    go = after(t, curriculum.accuracy);
  }
  return t;
}

}  // namespace gradus::lesson07
