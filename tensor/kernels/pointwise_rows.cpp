// What leads to the loops of formulas with one to three operands.
#include "tensor/kernels/pointwise_rows.h"

namespace gradus::detail {

template struct RowLoops<float, std::make_index_sequence<1>>;
template struct RowLoops<float, std::make_index_sequence<2>>;
template struct RowLoops<float, std::make_index_sequence<3>>;
template struct RowLoops<double, std::make_index_sequence<1>>;
template struct RowLoops<double, std::make_index_sequence<2>>;
template struct RowLoops<double, std::make_index_sequence<3>>;

}  // namespace gradus::detail
