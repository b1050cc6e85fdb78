// The taught parts as the library has them.
#include "lessons/05_training/parts.h"
#include "nn/init.h"

namespace gradus::lesson05 {
namespace {

Var weights(std::int64_t d_out, std::int64_t d_in, Generator& generator) { return xavier(d_out, d_in, generator); }

Updates adam(const std::vector<Parameter>& parameters, const AdamOptions& options) {
  auto optimizer = std::make_unique<Adam>(parameters, options);
  double* rate = &optimizer->options.rate;
  return {std::move(optimizer), rate};
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"the library's", "库里的"}, weights, clip_gradients, adam};
  return parts;
}

}  // namespace gradus::lesson05
