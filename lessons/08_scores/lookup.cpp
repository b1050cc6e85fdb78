// Drawing and reading lookups.
#include "lessons/08_scores/lookup.h"

#include <numeric>
#include <sstream>

#include "lessons/common/terminal.h"
#include "lessons/common/typed.h"

namespace gradus::lesson08 {

namespace {

const Words example("type for example \"cat=3 dog=7 sun=1 ? 狗\"", "例如可以输入 \"cat=3 dog=7 sun=1 ? 狗\"");

std::int32_t word_number(const std::string& word) {
  for (std::int32_t w = 0; w < words; ++w) {
    if (word == key_words[w] || word == query_words[w]) return w;
  }
  std::string known;
  for (std::int64_t w = 0; w < words; ++w) known += std::string(w ? " " : "") + key_words[w] + " " + query_words[w];
  throw InputError({"no word '" + printable(word) + "'; there are: " + known,
                    "没有“" + printable(word) + "”这个词；有这些：" + known});
}

}  // namespace

Lookups draw_lookups(std::int64_t batch, std::int64_t pairs, Generator& generator) {
  Lookups lookups{Ids(Shape{batch, pairs}), Ids(Shape{batch, pairs}), Ids(Shape{batch}), Ids(Shape{batch})};
  std::vector<std::int32_t> all(words);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::iota(all.begin(), all.end(), 0);
    shuffle_(all, generator);
    for (std::int64_t i = 0; i < pairs; ++i) {
      lookups.keys.at(b, i) = all[static_cast<std::size_t>(i)];
      lookups.values.at(b, i) = static_cast<std::int32_t>(generator.below(digits));
    }
    const std::int64_t asked = generator.below(pairs);
    lookups.query[b] = lookups.keys.at(b, asked);
    lookups.answer[b] = lookups.values.at(b, asked);
  }
  return lookups;
}

Lookups read_lookup(const std::string& text) {
  std::vector<std::int32_t> keys, values;
  std::int32_t query = -1;
  std::istringstream in(text);
  bool asking = false;
  for (std::string part; in >> part;) {
    const std::size_t equals = part.find('=');
    if (part == "?" && !asking) {
      asking = true;
    } else if (asking && query < 0 && equals == std::string::npos) {
      query = word_number(part);
    } else if (!asking && equals != std::string::npos && part.size() == equals + 2 && part.back() >= '0' &&
               part.back() <= '9') {
      keys.push_back(word_number(part.substr(0, equals)));
      values.push_back(part.back() - '0');
    } else {
      throw InputError(Words("what is '" + printable(part) + "'? ", "看不懂“" + printable(part) + "”；") + example);
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::string word = key_words[keys[i]];
      if (keys[i] == keys[j])
        throw InputError({"'" + word + "' has two digits; give it one", "“" + word + "”有两个数字；请只给一个"});
    }
  }
  if (query < 0) throw InputError(Words("no question; ", "没有提问；") + example);
  const auto n = static_cast<std::int64_t>(keys.size());
  std::int32_t answer = -1;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == query) answer = values[i];
  }
  const std::string asked = key_words[query];
  if (answer < 0)
    throw InputError({"'" + asked + "' is asked for, and no pair has it", "问的是“" + asked + "”，可是没有哪一对有它"});
  return {Ids(Shape{1, n}, keys), Ids(Shape{1, n}, values), Ids(Shape{1}, query), Ids(Shape{1}, answer)};
}

}  // namespace gradus::lesson08
