// Two languages, chosen at run time: every sentence that a learner sees is written in English and in Chinese.
#pragma once

#include <string_view>

namespace gradus {

enum class Lang { en, zh };

// The sentence in the language asked for.
constexpr std::string_view tr(Lang lang, std::string_view english, std::string_view chinese) {
  return lang == Lang::zh ? chinese : english;
}

}  // namespace gradus
