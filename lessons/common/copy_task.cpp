// Data and measurement of the copy task.
#include "lessons/common/copy_task.h"

#include <algorithm>

#include "lessons/common/interrupt.h"

namespace gradus {

CopyBatch copy_batch(std::int64_t batch, std::int64_t length, Generator& generator) {
  CopyBatch result{Ids(Shape{batch, length}), Ids(Shape{batch, length})};
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t t = 0; t < length; ++t) {
      result.source.at(row, t) = static_cast<std::int32_t>(generator.below(copy_vocab));
      result.previous.at(row, t) = t == 0 ? copy_start : result.source.at(row, t - 1);
    }
  }
  return result;
}

void Curriculum::saw(double batch_accuracy, std::int64_t step) {
  accuracy = 0.9 * accuracy + 0.1 * batch_accuracy;
  if (accuracy > 0.95 && step > 20) longest = std::min(copy_longest, longest + 1);
}

double token_accuracy(const Var& logits, const Ids& targets) {
  const Ids chosen = argmax(logits.value(), Axis{2});
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < targets.size(); ++i) right += chosen[i] == targets[i];
  return static_cast<double>(right) / static_cast<double>(targets.size());
}

double greedy_accuracy(const Copier& copier, std::int64_t length, std::int64_t sequences, Generator& generator) {
  constexpr std::int64_t batch = 125;
  std::int64_t right = 0, total = 0;
  for (std::int64_t done = 0; done < sequences && !(interrupted() && done > 0); done += batch) {
    const CopyBatch data = copy_batch(std::min(batch, sequences - done), length, generator);
    const Ids copied = copier(data.source).tokens;
    for (std::int64_t i = 0; i < copied.size(); ++i) right += copied[i] == data.source[i];
    total += copied.size();
  }
  return static_cast<double>(right) / static_cast<double>(total);
}

}  // namespace gradus
