// Reading text, training on it in windows, and writing.
#include "lessons/06_gru/text_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lessons/06_gru/parts.h"
#include "lessons/common/files.h"
#include "nn/optimizer.h"

namespace gradus::lesson06 {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t text_d_emb = 48, text_d_s = 128, streams = 16, window = 32;
constexpr double text_rate = 4e-3;

// Bytes of the character that starts with this one.
std::size_t length_of(unsigned char first) { return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> characters;
  for (std::size_t i = 0; i < text.size();) {
    characters.push_back(text.substr(i, length_of(static_cast<unsigned char>(text[i]))));
    i += characters.back().size();
  }
  return characters;
}

}  // namespace

std::vector<std::int32_t> Corpus::encode(const std::string& text) const {
  std::vector<std::int32_t> ids;
  for (const std::string& c : split(text)) {
    const auto found = std::lower_bound(characters.begin(), characters.end(), c);
    if (found != characters.end() && *found == c) ids.push_back(static_cast<std::int32_t>(found - characters.begin()));
  }
  return ids;
}

Corpus make_corpus(const std::string& text) {
  Corpus corpus;
  const std::vector<std::string> all = split(text);
  const std::set<std::string> kinds(all.begin(), all.end());
  corpus.characters.assign(kinds.begin(), kinds.end());
  std::size_t line = 0;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    std::vector<std::int32_t>& part = line % 10 == 9 ? corpus.held_out : corpus.train;
    for (std::int32_t id : corpus.encode(text.substr(start, end - start))) part.push_back(id);
    start = end;
  }
  return corpus;
}

Corpus course_text(Lang lang) {
  const fs::path name = fs::path("lessons/06_gru/text") / (lang == Lang::zh ? "zh.txt" : "en.txt");
  for (fs::path start : {executable_path().parent_path(), fs::current_path()}) {
    for (; !start.empty(); start = start.parent_path()) {
      if (fs::exists(start / name)) return make_corpus(read_file(start / name));
      if (start == start.root_path()) break;
    }
  }
  throw FileError(name.string() +
                  " is not found above this program or the current directory; start it from the checkout");
}

double frequency_bits(const Corpus& corpus) {
  std::vector<double> count(corpus.characters.size(), 0.5);
  double total = 0.5 * static_cast<double>(count.size());
  for (std::int32_t id : corpus.train) count[static_cast<std::size_t>(id)] += 1, total += 1;
  double bits = 0;
  for (std::int32_t id : corpus.held_out) bits -= std::log2(count[static_cast<std::size_t>(id)] / total);
  return bits / static_cast<double>(corpus.held_out.size());
}

CharNet::CharNet(std::int64_t vocab, Generator& generator)
    : embedding(vocab, text_d_emb, generator),
      cell(CellKind::gru, text_d_emb, text_d_s, 1, cho2014(), generator),
      readout(text_d_s, vocab, generator) {}

void CharNet::visit(Visitor& v) {
  v("embedding", embedding);
  v("cell", cell);
  v("readout", readout);
}

CharTraining train_text(const Corpus& corpus, std::int64_t steps, std::uint64_t seed,
                        const std::function<bool(const CharTraining&)>& after) {
  Generator init(seed, "init");
  CharTraining t;
  t.net = CharNet(static_cast<std::int64_t>(corpus.characters.size()), init);
  const std::vector<Parameter> all = parameters(t.net);
  Adam adam(all, {.rate = text_rate});
  const auto length = static_cast<std::int64_t>(corpus.train.size());
  const auto at = [&](std::int64_t place) { return corpus.train[static_cast<std::size_t>(place % length)]; };
  Var s = t.net.cell.initial(streams, f32);
  for (bool go = true; go && t.step < steps;) {
    Ids read(Shape{streams, window}), next(Shape{streams, window});
    for (std::int64_t row = 0; row < streams; ++row) {
      for (std::int64_t k = 0; k < window; ++k) {
        const std::int64_t place = row * (length / streams) + t.step * window + k;
        read.at(row, k) = at(place);
        next.at(row, k) = at(place + 1);
      }
    }
    const auto [states, carry] = taught_parts().window(t.net.cell, t.net.embedding(read), s);  // states (B, T, d_s)
    const Var loss = cross_entropy(t.net.readout(states), next);
    s = carry;
    zero_grad(all);
    backward(loss);
    clip_gradients(all, 1.0);
    adam.options.rate = text_rate * cosine_decay(t.step, steps, 0.05);
    adam.step();
    const double bits = loss.item() / std::log(2.0);
    t.bits = t.step == 0 ? bits : 0.9 * t.bits + 0.1 * bits;
    ++t.step;
    go = after(t);
  }
  return t;
}

double bits_per_character(const CharNet& net, const std::vector<std::int32_t>& text, std::int64_t reset) {
  NoGrad no_grad;
  const auto last = static_cast<std::int64_t>(text.size()) - 1;
  const std::int64_t chunk = reset > 0 ? reset : 256;
  Var s = net.cell.initial(1, f32);
  double total = 0;
  for (std::int64_t start = 0; start < last; start += chunk) {
    const std::int64_t n = std::min(chunk, last - start);
    const auto from = text.begin() + start;
    const Ids read(Shape{1, n}, std::vector<std::int32_t>(from, from + n)),
        next(Shape{1, n}, std::vector<std::int32_t>(from + 1, from + n + 1));
    if (reset > 0) s = net.cell.initial(1, f32);
    const auto [states, carry] = taught_parts().window(net.cell, net.embedding(read), s);
    total += static_cast<double>(n) * cross_entropy(net.readout(states), next).item() / std::log(2.0);
    s = carry;
  }
  return total / static_cast<double>(last);
}

std::string sample(const CharNet& net, const Corpus& corpus, const std::string& prompt, std::int64_t count, double T,
                   Generator& generator) {
  NoGrad no_grad;
  std::vector<std::int32_t> ids = corpus.encode("\n" + prompt);
  if (ids.empty()) ids = {0};
  State s = net.cell.initial(1, f32);
  std::string text;
  Var logits;
  const auto read = [&](std::int32_t id) {
    s = taught_parts().step(net.cell, net.embedding(Ids(Shape{1}, std::vector<std::int32_t>{id})), s);
    logits = net.readout(s);  // (1, V)
  };
  for (std::int32_t id : ids) read(id);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<double> p = softmax(logits / T, Axis{1}).value().to_vector();
    double left = generator.uniform();
    std::size_t chosen = 0;
    while (chosen + 1 < p.size() && (left -= p[chosen]) >= 0) ++chosen;
    text += corpus.characters[chosen];
    read(static_cast<std::int32_t>(chosen));
  }
  return text;
}

}  // namespace gradus::lesson06
