// The tape: recording, walking back, freeing.
#include "autograd/var.h"

#include <algorithm>

#include "autograd/kernels/tape_order.h"
#include "tensor/kernels/live_count.h"
#include "tensor/reduce.h"

namespace gradus {
namespace {

thread_local bool grad_enabled = true;
thread_local bool anomaly_enabled = false;

std::string describe(const Node& node) {
  return std::string("'") + node.op + "' (node " + std::to_string(node.id) + ", shape " +
         to_string(node.value.shape()) + ")";
}

void check_finite(const Node& node, const Tensor& numbers, const char* what) {
  if (all_finite(numbers)) return;
  std::string text =
      std::string("anomaly: the first NaN or infinity is in the ") + what + " of " + describe(node) + "; its inputs:";
  for (const auto& edge : node.inputs) {
    text += "\n  " + describe(*edge.node) + " with norm " + std::to_string(norm(edge.node->value));
  }
  throw ValueError(text);
}

[[noreturn]] void refuse_overwritten(const char* op, const std::string& what) {
  throw GraphError(
      std::string("backward of '") + op + "': " + what +
      " was changed in place after the op had read it, so its gradient would be wrong; write to a copy(...), or "
      "change it after backward");
}

void run_backward(const Ref<Node>& root, const Tensor& dy, Graph graph) {
  std::vector<Ref<Node>> nodes = newest_first(root.get());
  for (const Ref<Node>& node : nodes) {
    if (node->freed) {
      throw GraphError(
          "backward: " + describe(*node) +
          " was used up by an earlier backward. Compute the result again, or pass Graph::keep to the first "
          "backward; a state carried over from the last batch wants detach()");
    }
    // What an earlier kept backward left between the leaves.
    if (!node->inputs.empty() && node->grad.defined()) node->grad = Tensor();
  }
  if (!root->grad.defined()) root->grad = zeros_like(root->value);
  add_(root->grad, dy);
  for (Ref<Node>& node : nodes) {
    if (node->inputs.empty()) continue;  // a leaf keeps what it has received
    if (node->grad.defined()) {
      Inputs inputs(*node);
      node->backward(node->grad, inputs);
      for (const auto& edge : node->inputs) {
        const Tensor& grad = edge.node->grad;
        if (!grad.defined()) continue;
        if (grad.shape() != edge.node->value.shape()) {
          throw GraphError("backward of '" + std::string(node->op) + "': a gradient of shape " +
                           to_string(grad.shape()) + " reached " + describe(*edge.node) +
                           "; a gradient has its value's shape");
        }
        if (anomaly_enabled) check_finite(*node, grad, "input gradients");
      }
    }
    if (graph == Graph::free) {
      node->freed = true;
      node->drop_rule();
      node->release_inputs();
    }
    node = Ref<Node>();  // nobody else needs it: value and gradient go back to the pool now
  }
}

}  // namespace

void Node::backward(const Tensor&, Inputs&) {}

void Node::destroy(Node* node) {
  // A node that goes releases its inputs, which may go too: they queue here, so that a chain of a million nodes does
  // not nest a million destructors.
  // They are linked through the nodes themselves, so that nothing here can run out of memory or outlive its thread.
  thread_local Node* waiting = nullptr;
  thread_local bool draining = false;
  node->next_waiting = waiting;
  waiting = node;
  if (draining) return;
  draining = true;
  while (waiting) {
    Node* next = waiting;
    waiting = next->next_waiting;
    delete next;
    count_live(Counting::nodes, -1);
  }
  draining = false;
}

Var::Var(Tensor value) : Var(std::move(value), false) {}

Var::Var(Tensor value, bool requires_grad) {
  if (!value.defined()) throw ValueError("a Var needs a tensor: this one holds nothing yet");
  Ref<Node> node(new Node);
  count_live(Counting::nodes, 1);
  node->id = take_id();
  // Elements that share a number cannot have gradients of their own, so a stretched leaf is written out.
  node->value = requires_grad && value.stretched() ? copy(value) : std::move(value);
  node->requires_grad = requires_grad;
  if (!requires_grad) node->op = "constant";
  node_ = std::move(node);
}

Var parameter(Tensor value) { return Var(std::move(value), true); }

void Var::refuse_empty() {
  throw ValueError("this Var holds nothing yet: give it a value, or build the layer before using it");
}

Tensor Var::grad() const {
  if (!requires_grad()) throw GraphError("grad: this Var takes no gradient; make it with parameter(...) or from one");
  return node_->grad.defined() ? node_->grad : zeros_like(value());
}

Tensor& Var::mutable_grad() const {
  if (!requires_grad()) throw GraphError("mutable_grad: this Var takes no gradient");
  if (!node_->grad.defined()) node_->grad = zeros_like(value());
  return node_->grad;
}

void Var::zero_grad() const {
  if (node_) node_->grad = Tensor();
}

Tensor& Var::mutable_value() const {
  value();
  return node_->value;
}

Var Var::detach() const { return Var(value()); }

const Tensor& Inputs::value(int k) const {
  const auto& edge = node_.inputs[static_cast<std::size_t>(k)];
  if (edge.node->value.version() != edge.version) {
    refuse_overwritten(node_.op, "input " + std::to_string(k) + ", " + describe(*edge.node) + ",");
  }
  return edge.node->value;
}

const Tensor& Inputs::made(int k, Node::Make make) const {
  value(k);  // refuses one that was overwritten
  return node_.inputs[static_cast<std::size_t>(k)].node->made(make);
}

const Tensor& Node::made(Make make) {
  if (!kept || kept->make != make || kept->from.get() != value.buffer().get() || kept->version != value.version())
    kept.reset(new Kept{make, make(value), value.buffer(), value.version()});
  return kept->made;
}

// The gradient of a view that nobody else can see is its input's gradient, looked at through the same view: adding
// there directly saves a tensor and a pass. A view that the caller still holds gets a gradient of its own, to be read
// later.
Node::Target Node::first_target() {
  // + 1: the list of run_backward holds every node once.
  auto passes_on = [](const Node& node) {
    return node.is_view && !node.grad.defined() && node.refs.load(std::memory_order_relaxed) == node.consumers + 1;
  };
  if (!passes_on(*this)) {
    const bool stretched = value.stretched();
    grad = stretched ? zeros_like(value) : empty_like(value);
    return {grad, !stretched};
  }
  // From this one down to what is not a view; a loop, because chains are long.
  thread_local std::vector<const Node*> views;
  views.clear();
  Node* base = this;
  for (; passes_on(*base); base = base->inputs[0].node.get()) views.push_back(base);
  Target target = base->target();
  if (target.fresh) fill_(target.grad, 0);  // a view may not cover all of it
  Tensor seen = target.grad;
  for (std::size_t i = views.size(); i > 0; --i) seen = views[i - 1]->view(seen);
  return {seen, false};
}

void Node::release_inputs() {
  for (const Edge& edge : inputs) edge.node->consumers -= edge.node->is_view ? 1 : 0;
  inputs.clear();
}

Node::Target Inputs::target(int k) { return node_.inputs[static_cast<std::size_t>(k)].node->target(); }

Tensor Inputs::grad(int k) {
  Node::Target target = this->target(k);
  if (target.fresh) fill_(target.grad, 0);
  return target.grad;
}

void Node::Target::add(const Tensor& dx) {
  if (fresh) copy_(grad, dx);
  else add_(grad, dx);
}

void Inputs::add(int k, const Tensor& dx) {
  if (needs(k)) target(k).add(dx);
}

const Tensor& Saved::get(const char* op) const {
  if (tensor_.version() != version_) refuse_overwritten(op, "its result");
  return tensor_;
}

namespace detail {

bool recording(VarList inputs) {
  if (!grad_enabled) return false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].requires_grad()) return true;
  }
  return false;
}

Var finish(Ref<Node> node, const char* op, Tensor&& value, VarList inputs) {
  count_live(Counting::nodes, 1);
  node->op = op;
  node->value = std::move(value);
  node->requires_grad = true;
  node->inputs.reserve(inputs.size());
  std::uint64_t newest = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Var& read = inputs[k];
    const std::uint32_t version = read.value().version();  // throws when it holds nothing
    const Ref<Node>& input = read.node();
    newest = std::max(newest, input->id);
    input->consumers += input->is_view ? 1 : 0;
    node->inputs.push_back({input, version});
  }
  node->id = take_id(newest);
  if (anomaly_enabled) check_finite(*node, node->value, "value");
  return Var(std::move(node));
}

Var unrecorded(const char* op, Tensor value) {
  Var result(std::move(value));
  result.node()->op = op;
  if (anomaly_enabled) check_finite(*result.node(), result.value(), "value");
  return result;
}

}  // namespace detail

void backward(const Var& loss, Graph graph) {
  if (loss.value().size() != 1) {
    throw GraphError(
        "backward: shape " + to_string(loss.shape()) +
        " is not a single number; take sum(...) or mean(...) first, or pass the gradient of the result as dy");
  }
  backward(loss, full(loss.shape(), 1, loss.dtype()), graph);
}

void backward(const Var& result, const Tensor& dy, Graph graph) {
  if (!result.requires_grad()) {
    throw GraphError(
        "backward: nothing that takes a gradient led to this result; parameters are made with parameter(...), and "
        "nothing is recorded while a NoGrad lives");
  }
  check_same_shape("backward (dy)", result.shape(), dy.shape());
  check_same_dtype("backward (dy)", result.value(), dy);
  run_backward(result.node(), dy, graph);
}

NoGrad::NoGrad() : before_(grad_enabled) { grad_enabled = false; }
NoGrad::~NoGrad() { grad_enabled = before_; }
DetectAnomaly::DetectAnomaly() : before_(anomaly_enabled) { anomaly_enabled = true; }
DetectAnomaly::~DetectAnomaly() { anomaly_enabled = before_; }

std::int64_t live_nodes() { return live_total(Counting::nodes); }

}  // namespace gradus
