// f64 functions of packs: the C library's, lane by lane.
#include "tensor/kernels/pack_math.h"

namespace gradus {

Pack<double> exp(Pack<double> x) {
  return each_lane([](double a) { return std::exp(a); }, x);
}
Pack<double> log(Pack<double> x) {
  return each_lane([](double a) { return std::log(a); }, x);
}
Pack<double> tanh(Pack<double> x) {
  return each_lane([](double a) { return std::tanh(a); }, x);
}
Pack<double> sigmoid(Pack<double> x) {
  return each_lane([](double a) { return 1 / (1 + std::exp(-a)); }, x);
}

}  // namespace gradus
