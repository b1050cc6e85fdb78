// What is printed in Chinese keeps no English words but names and code.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

namespace gradus::testing {

// The first English word that stands by itself, in no name and no number; empty without one.
inline std::string english_word_in(const std::string& text) {
  static const std::set<std::string> words = {
      "the",    "is",     "are",   "has",   "needs",     "and",     "there",   "from",  "holds",   "no",     "looks",
      "should", "would",  "of",    "with",  "without",   "where",   "every",   "each",  "alone",   "then",   "over",
      "by",     "before", "after", "given", "unchanged", "changes", "belongs", "other", "another", "append", "run",
      "reads",  "its",    "own",   "must",  "fill",      "change",  "swap",    "as",    "at",      "to",     "what"};
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && inside(text[end])) ++end;
    const bool called = end < text.size() && text[end] == '(';  // where(mask, e, -inf)
    if (const std::string word = text.substr(i, end - i); words.count(word) && !called) return word;
    i = std::max(end, i + 1);
  }
  return "";
}

// A whole text: what a parser said may be quoted behind 原文.
inline void check_chinese(std::string text) {
  CAPTURE(text);
  CHECK(std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }));
  if (const std::size_t quoted = text.find("原文"); quoted != std::string::npos) text.resize(quoted);
  CHECK(english_word_in(text) == "");
}

}  // namespace gradus::testing
