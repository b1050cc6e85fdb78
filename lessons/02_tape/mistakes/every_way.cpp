// CRASH: a recursion along every way from the result, as deep as the list is long
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

namespace {

// Each way to the leaves on its own: right, and endless.
void follow(List& list, std::size_t i, double dy) {
  list[i].grad += dy;
  for (const Way& way : list[i].ways) follow(list, way.from, dy * way.slope);
}

}  // namespace

void backward(List& list, std::size_t result) {
  for (Entry& entry : list) entry.grad = 0;
  follow(list, result, 1);
}

}  // namespace gradus::lesson02
