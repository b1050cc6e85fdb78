// The inner loops of pointwise: whole packs first, then the rest of the row.
#pragma once

#include <utility>

#include "tensor/kernels/pack_math.h"
#include "tensor/kernels/strided_loop.h"
#include "tensor/tensor.h"

namespace gradus::detail {

// target = f(from...), or += when Add; all of one shape. Where an added target is stretched along the row, the row is
// summed in a register first.
template <class T, bool Add, class F, class... From> void pointwise_rows(Tensor& target, F f, const From&... from) {
  constexpr int n = sizeof...(From) + 1;
  const StridedLoop<n> loop(target.shape(), {&target.strides(), &from.strides()...});
  const auto step = loop.row_strides();
  const std::int64_t length = loop.row_length();
  T* out = target.mutable_data<T>();
  const std::array<const T*, n> in{nullptr, from.template data<T>()...};
  using P = Pack<T>;
  loop.for_each_row([&](const std::array<std::int64_t, n>& offset) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      std::array<const T*, n> at{(k == 0 ? nullptr : in[k] + offset[k])...};
      T* to = out + offset[0];
      P total{};  // of a row whose target is a single stretched number
      std::int64_t i = 0;
      auto put = [&](P value, int lanes) {
        if (Add && step[0] == 0) {
          total = total + (lanes == P::lanes ? value : value.first(lanes));
        } else if (step[0] == 1 && lanes == P::lanes) {
          if (Add) value = P::load(to + i) + value;
          value.store(to + i);
        } else {
          if (Add) value = P::load(to + i * step[0], step[0], lanes) + value;
          value.store(to + i * step[0], step[0], lanes);
        }
      };
      for (; i + P::lanes <= length; i += P::lanes) {
        auto whole = [&](std::size_t j) {
          return step[j] == 1 ? P::load(at[j] + i) : P::load(at[j] + i * step[j], step[j], P::lanes);
        };
        put(
            [&]<std::size_t... j>(std::index_sequence<j...>) {
              return f(whole(j + 1)...);
            }(std::make_index_sequence<n - 1>{}),
            P::lanes);
      }
      if (i < length) {
        const int rest = static_cast<int>(length - i);
        auto part = [&](std::size_t j) { return P::load(at[j] + i * step[j], step[j], rest); };
        put(
            [&]<std::size_t... j>(std::index_sequence<j...>) {
              return f(part(j + 1)...);
            }(std::make_index_sequence<n - 1>{}),
            rest);
      }
      if (Add && step[0] == 0) *to += total.sum();
    }
    (std::make_index_sequence<n>{});
  });
}

}  // namespace gradus::detail
