// Where the gradients of a pointwise op go.
#include "autograd/kernels/pointwise_backward.h"

namespace gradus::detail {
namespace {

// One reference is the list's of run_backward: whoever read this node's value or holds it as a Var has let it go.
bool may_take_over(const Node& node, const Node& input) {
  if (plain_kernels() || !node.grad.buffer().unique() || node.refs.load(std::memory_order_relaxed) != 1) return false;
  if (input.passes_on() || input.value.shape() != node.grad.shape()) return false;
  return input.value.contiguous() && node.grad.contiguous();
}

}  // namespace

Tensor& place_over_dy(Inputs& in, int k, Tensor& room, bool& fresh) {
  Node& input = in.node(k);
  fresh = !input.grad.defined() && may_take_over(in.op(), input);
  return fresh ? input.grad = in.op().grad : input.place(room, fresh);
}

void pointwise_backward_plain(const Tensor& dy, std::size_t n, const Piece<const Tensor>* x, const Piece<Tensor>* dx,
                              const bool* fresh, const bool* depends_on,
                              void (*gradient)(const double* x, double* partial)) {
  std::vector<Tensor> tensors{dy};
  for (std::size_t k = 0; k < n; ++k) tensors.push_back(x[k].tensor(dy.shape()));
  for (std::size_t k = 0; k < n; ++k) tensors.push_back(dx[k].tensor(dy.shape()));
  std::vector<double> value(n), partial(n);
  for (PlainLoop loop(dy.shape(), std::move(tensors)); loop.more(); loop.next()) {
    for (std::size_t k = 0; k < n; ++k) value[k] = loop.get(1 + k);
    gradient(value.data(), partial.data());
    const double d = loop.get(0);  // before anything is written: dx may lie where dy does
    for (std::size_t k = 0; k < n; ++k) {
      if (!dx[k].whole || !depends_on[k]) continue;
      if (fresh[k]) loop.put(1 + n + k, d * partial[k]);
      else loop.add(1 + n + k, d * partial[k]);
    }
  }
}

void place_gradients(Inputs& in, std::size_t n, const std::uint8_t* of, const bool* wholly, Tensor* room, Tensor** dx,
                     bool* fresh) {
  bool apart = true;  // no two operands can meet in one gradient
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t input = 1u << of[i];
    apart = apart && !(seen & input) && (n == 1 || !in.node(of[i]).is_view);
    seen |= input;
  }
  std::array<std::size_t, 32> first;  // operand of an input: what it got serves all others of the same input
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t input = 1u << of[i];
    if (!(seen & input)) {
      dx[i] = dx[first[of[i]]];
      continue;
    }
    seen &= ~input;
    first[of[i]] = i;
    if (!in.needs(of[i])) continue;
    if (wholly[i] && apart) dx[i] = &place_over_dy(in, of[i], room[i], fresh[i]);
    else dx[i] = &in.node(of[i]).place(room[i], fresh[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!fresh[i] || (wholly[i] && apart)) continue;
    bool alone = wholly[i];
    for (std::size_t j = 0; alone && j < n; ++j)
      alone = j == i || !dx[j] || dx[j]->buffer().get() != dx[i]->buffer().get();
    if (alone) continue;
    fill_(*dx[i], 0);
    fresh[i] = false;
  }
}

template struct BackwardLoops<float, std::make_index_sequence<1>>;
template struct BackwardLoops<float, std::make_index_sequence<2>>;
template struct BackwardLoops<float, std::make_index_sequence<3>>;
template struct BackwardLoops<double, std::make_index_sequence<1>>;
template struct BackwardLoops<double, std::make_index_sequence<2>>;
template struct BackwardLoops<double, std::make_index_sequence<3>>;

}  // namespace gradus::detail
