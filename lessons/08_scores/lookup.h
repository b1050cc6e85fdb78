// The task: eight pairs of a word and a digit, then a question that names one of the words in another language. The
// answer is that word's digit. Nothing in the data says which words belong together; that is what a score has to learn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/ids.h"
#include "tensor/random.h"

namespace gradus::lesson08 {

inline constexpr std::int64_t words = 16, digits = 10, pairs_in_training = 8;

// The words of the keys, and what they are called in questions.
inline constexpr const char* key_words[words] = {"cat",  "dog",  "sun",  "moon", "tea",  "rice", "tree", "fish",
                                                 "bird", "fire", "rain", "snow", "door", "book", "ship", "hand"};
inline constexpr const char* query_words[words] = {"猫", "狗", "日", "月", "茶", "米", "树", "鱼",
                                                   "鸟", "火", "雨", "雪", "门", "书", "船", "手"};

struct Lookups {
  Ids keys;    // (B, n): n different words
  Ids values;  // (B, n): a digit for each
  Ids query;   // (B): one of the keys
  Ids answer;  // (B): its value
};
Lookups draw_lookups(std::int64_t batch, std::int64_t pairs, Generator& generator);

// "cat=3 dog=7 sun=1 ? 狗"; the question may also be in the keys' language. Throws InputError for anything else.
Lookups read_lookup(const std::string& text);

}  // namespace gradus::lesson08
