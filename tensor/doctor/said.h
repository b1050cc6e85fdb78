// Two languages, chosen at run time: every sentence that a learner sees is written in English and in Chinese.
#pragma once

namespace gradus {

enum class Lang { en, zh };

// The same said twice: the Chinese by meaning, not word for word.
struct Said {
  const char* en = "";
  const char* zh = "";
  const char* in(Lang lang) const { return lang == Lang::zh ? zh : en; }
};

}  // namespace gradus
