// The sentence in the language asked for, for texts that are put together at run time.
#pragma once

#include <string_view>

#include "tensor/doctor/said.h"

namespace gradus {

constexpr std::string_view tr(Lang lang, std::string_view english, std::string_view chinese) {
  return lang == Lang::zh ? chinese : english;
}

}  // namespace gradus
