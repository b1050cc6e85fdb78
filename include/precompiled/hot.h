// As standard.h, of the headers that most sources compiled with -O3 include: making and reading the rest takes longer than
// those few that need it spend on it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
