// RESULT_WITHOUT_GRADIENT: nobody gives the result its gradient of 1
#include "lessons/02_tape/exercise.h"

#include <cmath>

namespace gradus::lesson02 {

std::size_t plus(List& list, std::size_t a, std::size_t b) {
  list.push_back({list[a].value + list[b].value, 0, {{a, 1}, {b, 1}}});
  return list.size() - 1;
}

std::size_t times(List& list, std::size_t a, std::size_t b) {
  list.push_back({list[a].value * list[b].value, 0, {{a, list[b].value}, {b, list[a].value}}});
  return list.size() - 1;
}

std::size_t tanh_of(List& list, std::size_t a) {
  const double y = std::tanh(list[a].value);
  list.push_back({y, 0, {{a, 1 - y * y}}});
  return list.size() - 1;
}

void backward(List& list, std::size_t result) {
  for (Entry& entry : list) entry.grad = 0;
  for (std::size_t i = result + 1; i-- > 0;) {  // newest first: a step's gradient is complete when its turn comes
    for (const Way& way : list[i].ways) list[way.from].grad += list[i].grad * way.slope;
  }
}

}  // namespace gradus::lesson02
