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

Tensor& place_over_dy(Inputs& in, int k, Room& room, bool& fresh) {
  Node& input = in.node(k);
  fresh = !input.grad.defined() && may_take_over(in.op(), input);
  return fresh ? input.grad = in.op().grad : input.place(room, fresh);
}

void pass_on(const Tensor& dy, Inputs& in) {
  bool apart = true;  // what one operand gets is not seen by another one, whose turn comes later
  for (int k = 0; k < in.count(); ++k) apart = apart && !in.node(k).is_view;
  for (int k = 0; k < in.count(); ++k) {
    if (!in.needs(k)) continue;
    Room room;
    bool fresh = false;
    Tensor& dx = apart ? place_over_dy(in, k, room, fresh) : in.node(k).place(room, fresh);
    if (fresh && dx.buffer().get() == dy.buffer().get()) continue;  // taken over
    (fresh ? copy_ : add_)(dx, dy);
  }
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

void place_gradients(Inputs& in, std::size_t n, const std::uint8_t* of, const bool* wholly, Room* room, Tensor** dx,
                     bool* fresh) {
  bool apart = static_cast<std::size_t>(in.count()) == n;  // no two operands can meet in one gradient
  for (std::size_t i = 0; apart && i < n; ++i) apart = n == 1 || !in.node(of[i]).is_view;
  std::array<Tensor*, 32> placed;  // by input: what its first operand got serves all others
  std::size_t inputs = 0;          // they are numbered as they are met
  for (std::size_t i = 0; i < n; ++i) {
    if (of[i] == inputs) {
      ++inputs;
      if (!in.needs(of[i])) placed[of[i]] = nullptr;
      else if (wholly[i] && apart) placed[of[i]] = &place_over_dy(in, of[i], room[i], fresh[i]);
      else placed[of[i]] = &in.node(of[i]).place(room[i], fresh[i]);
    }
    dx[i] = placed[of[i]];
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
