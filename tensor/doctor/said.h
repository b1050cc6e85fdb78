// Two languages, chosen at run time: every sentence that a learner sees is written in English and in Chinese.
#pragma once

#include <string>
#include <utility>

namespace gradus {

enum class Lang { en, zh };

// The same said twice: the Chinese by meaning, not word for word.
struct Said {
  const char* en = "";
  const char* zh = "";
  const char* in(Lang lang) const { return lang == Lang::zh ? zh : en; }
};

// The same, made at run time.
struct Words {
  std::string en, zh;
  Words() = default;
  Words(std::string english, std::string chinese) : en(std::move(english)), zh(std::move(chinese)) {}
  Words(const Said& said) : en(said.en), zh(said.zh) {}
  const std::string& in(Lang lang) const { return lang == Lang::zh ? zh : en; }
  bool empty() const { return en.empty(); }
  Words& operator+=(const Words& more) {
    en += more.en, zh += more.zh;
    return *this;
  }
};
inline Words operator+(Words a, const Words& b) { return a += b; }

}  // namespace gradus
