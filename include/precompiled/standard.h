// The headers of the standard library and of fmt that most sources include, precompiled: reading them takes longer than
// compiling what most sources say. A source includes what it needs all the same; builds without this file must work.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
