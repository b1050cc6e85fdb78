// The tape: recording, walking back, freeing.
#include "autograd/var.h"

#include <algorithm>

#include "autograd/kernels/tape_order.h"
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

[[noreturn]] void refuse_freed(const Node& node) {
  throw GraphError("backward: " + describe(node) +
                   " was used up by an earlier backward. Compute the result again, or pass Graph::keep to the first "
                   "backward; a state carried over from the last batch wants detach()");
}

// Every gradient that `node` added to has its value's shape, and under DetectAnomaly is finite.
void check_gradients(const Node& node) {
  for (const auto& edge : node.inputs) {
    const Tensor& grad = edge.node->grad;
    if (!grad.defined()) continue;
    if (grad.shape() != edge.node->value.shape()) {
      throw GraphError("backward of '" + std::string(node.op) + "': a gradient of shape " + to_string(grad.shape()) +
                       " reached " + describe(*edge.node) + "; a gradient has its value's shape");
    }
    if (anomaly_enabled) check_finite(node, grad, "input gradients");
  }
}

void run_backward(const Ref<Node>& root, const Tensor& dy, Graph graph) {
  auto [nodes, untouched] = newest_first(root.get());
  for (std::size_t i = 0; i < nodes.size() && !untouched; ++i) {
    Node* node = nodes[i].get();
    if (node && node->freed) refuse_freed(*node);
    // What an earlier kept backward left between the leaves.
    if (node && !node->inputs.empty() && node->grad.defined()) node->grad = Tensor();
  }
  if (!root->grad.defined()) root->grad = zeros_like(root->value);
  add_(root->grad, dy);
  for (Ref<Node>& node : nodes) {
    if (!node || node->inputs.empty()) continue;  // a leaf keeps what it has received
    if (node->grad.defined()) {
      Inputs inputs(*node);
      node->backward(node->grad, inputs);
      check_gradients(*node);
    }
    if (graph == Graph::free && !node.unique()) {  // somebody holds it, but the graph ends here
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
  }
  draining = false;
}

Var::Var(Tensor value) : Var(std::move(value), false) {}

Var::Var(Tensor value, bool requires_grad) {
  if (!value.defined()) throw ValueError("a Var needs a tensor: this one holds nothing yet");
  // Elements that share a number cannot have gradients of their own, so a stretched leaf is written out.
  if (requires_grad && value.stretched()) value = copy(value);
  node_ = Ref<Node>(new Node(requires_grad ? "leaf" : "constant", std::move(value)));
  node_->id = take_id();
  node_->requires_grad = requires_grad;
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

void Inputs::refuse_input(int k) const {
  const auto& edge = node_.inputs[static_cast<std::size_t>(k)];
  refuse_overwritten(node_.op, "input " + std::to_string(k) + ", " + describe(*edge.node) + ",");
}

void Inputs::refuse_result() const { refuse_overwritten(node_.op, "its result"); }

const Tensor& Inputs::made(int k, Node::Make make) const {
  value(k);  // refuses one that was overwritten
  return node_.inputs[static_cast<std::size_t>(k)].node->made(make);
}

Tensor& Node::first_place(Room& room, bool& fresh) {
  if (!passes_on()) {
    fresh = !value.stretched();
    return grad = fresh ? empty_like(value) : zeros_like(value);
  }
  // From this one down to what is not a view; a loop, because chains are long.
  thread_local std::vector<const Node*> views;
  views.clear();
  Node* base = this;
  for (; base->passes_on(); base = base->inputs[0].node.get()) views.push_back(base);
  Tensor* seen = &base->place(room, fresh);
  if (fresh) fill_(*seen, 0);  // a view may not cover all of it
  fresh = false;
  for (std::size_t i = views.size(); i > 0; --i) seen = &room.make(views[i - 1]->view(*seen));
  return *seen;
}

Node::Target Inputs::target(int k) {
  Room room;
  bool fresh = false;
  const Tensor& grad = node(k).place(room, fresh);
  return {grad, fresh};
}

Tensor Inputs::grad(int k) {
  Node::Target target = this->target(k);
  if (target.fresh) fill_(target.grad, 0);
  return target.grad;
}

void Node::Target::add(const Tensor& dx) {
  if (fresh) copy_(grad, dx);
  else add_(grad, dx);
}

void Inputs::add(int k, Tensor dx) {
  if (!needs(k)) return;
  Node& input = node(k);
  const Tensor& x = input.value;
  const bool alike = dx.made_dense() && x.contiguous() && dx.shape() == x.shape() && dx.dtype() == x.dtype();
  if (alike && !input.grad.defined() && !input.passes_on() && dx.buffer().unique()) input.grad = std::move(dx);
  else target(k).add(dx);
}

namespace detail {

bool detects_anomalies() { return anomaly_enabled; }
bool recording(const VarList& inputs) {
  if (!grad_enabled) return false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].requires_grad()) return true;
  }
  return false;
}

Var finish(Node* node, const VarList& inputs) {
  Var result{Ref<Node>(node)};
  node->version = node->value.version();
  node->requires_grad = true;
  node->inputs.reserve(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Var& read = inputs[k];
    const std::uint32_t version = read.value().version();  // throws when it holds nothing
    Node& input = *read.node();
    if (input.id > node->id) node->id = input.id;  // the largest of them
    if (input.is_view) ++input.consumers;
    node->inputs.emplace_back(read.node(), version);
  }
  node->id = take_id(node->id);
  if (anomaly_enabled) check_finite(*node, node->value, "value");
  return result;
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
