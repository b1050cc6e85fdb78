// Var: a tensor that remembers how it was computed, so that gradients can flow back.
//
//   Var w = parameter(tensor(Shape{2, 1}, {0.5, -1}, f64));
//   Var y = tanh(matmul(x, w));        // each op records a node: its value, its inputs, and a rule for the gradient
//   backward(sum(y));                  // walks the nodes backwards; w.grad() now holds d sum(y) / d w
//
// The nodes and their links are the tape. Every node has a higher id than its inputs, so backward needs no recursion:
// it collects the nodes that lead to the loss and visits them by falling id. The graph of a loss is freed as it is
// walked; leaves (parameters) keep their gradients, which add up until zero_grad.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/kernels/live_count.h"
#include "tensor/kernels/pool.h"
#include "tensor/kernels/room.h"
#include "tensor/kernels/small_list.h"
#include "tensor/tensor.h"

namespace gradus {

class Var;
class Inputs;

// One recorded step. First time here? Go on to Var, below, which is all that layers and lessons use; Node stands in
// front of it because Var's short functions look into it.
struct Node : Counted {
  struct Edge {
    Ref<Node> node;
    std::uint32_t version;  // of the input's buffer when the op read it
  };
  // What walks over the tape read stands first, in one line of the cache: most nodes are not in the nearest one.
  bool requires_grad = false;
  bool freed = false;            // backward has used this node up
  bool result_unread = false;    // its rule does not read in.result()
  bool is_view = false;          // looks at its only input's numbers in another way: see view()
  std::uint64_t id = 0;          // an input's is below its node's; within a thread it rises with creation
  std::uint64_t mark = 0;        // of the backward run that saw it last
  Node* next_waiting = nullptr;  // to be destroyed after this one
  std::uint32_t version = 0;     // of the value's buffer when it was recorded
  std::uint32_t consumers = 0;   // edges that point here, kept for views only
  const char* op;
  using Make = Tensor (*)(const Tensor& value);
  struct Kept {
    Make make;
    Tensor made;
    Ref<Buffer> from;
    std::uint32_t version;
    std::unique_ptr<Kept> next;
  };
  std::unique_ptr<Kept> kept;  // what made(...) gave, a list
  SmallList<Edge, 3> inputs;
  Tensor value;
  Tensor grad;  // undefined until something flows in; has the value's shape, and never its buffer

  Node(const char* name, Tensor&& made) : op(name), value(std::move(made)) { count_live(Counting::nodes, 1); }
  virtual ~Node() {
    release_inputs();
    count_live(Counting::nodes, -1);
  }
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* node, std::size_t bytes) { pool_free(node, bytes); }
  virtual void backward(const Tensor& dy, Inputs& inputs);        // adds into the inputs' gradients
  virtual void drop_rule() {}                                     // forgets the rule and what it saved
  virtual Tensor view(const Tensor& base) const { return base; }  // a view node: how it looks at its input
  // Where the gradient is added; `fresh` means that it holds nothing yet and is to be written instead.
  struct Target {
    Tensor grad;
    bool fresh;
    void add(const Tensor& dx);
  };
  // The same without a copy: the node's own gradient, or what it is a view of, made in `room`.
  Tensor& place(Room& room, bool& fresh) {
    fresh = false;
    return grad.defined() ? grad : first_place(room, fresh);
  }
  Tensor& first_place(Room& room, bool& fresh);
  // The gradient of a view that nobody else can see is its input's gradient, looked at through the same view: adding
  // there directly saves a tensor and a pass. A view that the caller still holds gets a gradient of its own, to be read
  // later. + 1: the list of run_backward holds every node once.
  bool passes_on() const { return is_view && !grad.defined() && refs.load(std::memory_order_relaxed) == consumers + 1; }
  const Tensor& made(Make make);  // make(value), kept until the value changes and it is asked for again
  void release_inputs() {
    for (const Edge& edge : inputs) {
      if (edge.node->is_view) --edge.node->consumers;
    }
    inputs.clear();
  }
  static void destroy(Node* node);  // frees a chain of any length without recursion
};

class Var {
 public:
  Var() = default;    // holds nothing
  Var(Tensor value);  // a constant: no gradient flows into it. Implicit, so that ops take tensors too
  Var(Tensor value, bool requires_grad);
  explicit Var(Ref<Node> node) : node_(std::move(node)) {}

  bool defined() const { return static_cast<bool>(node_); }
  const Tensor& value() const {
    if (!node_) refuse_empty();
    return node_->value;
  }
  const Shape& shape() const { return value().shape(); }
  std::int64_t size(Axis axis) const { return value().size(axis); }
  int rank() const { return value().rank(); }
  DType dtype() const { return value().dtype(); }
  double item() const { return value().item(); }
  bool requires_grad() const { return node_ && node_->requires_grad; }

  // The gradient that backward left here: zeros when nothing has flowed in yet. Along an axis that `expand` stretched
  // it is stored summed. Throws GraphError when this Var takes no gradient.
  Tensor grad() const;
  bool has_grad() const { return node_ && node_->grad.defined(); }
  Tensor& mutable_grad() const;  // for clipping; the gradient as stored
  void zero_grad() const;
  Tensor& mutable_value() const;  // for optimisers and checks: writing raises the version of the buffer
  Var detach() const;             // the same value, cut off from the tape

  const Ref<Node>& node() const { return node_; }

 private:
  [[noreturn]] static void refuse_empty();
  Ref<Node> node_;
};

Var parameter(Tensor value);  // a leaf that takes a gradient

// Several Vars as an argument, for the length of the call: a list in braces, a vector, or one alone. Nothing is copied.
class VarList {
 public:
  struct Item {
    Item(const Var& v) : var(v) {}
    Item(const Tensor& constant) : made(constant), var(made) {}
    Item(const Item&) = delete;
    Var made;
    const Var& var;
  };
  VarList(std::initializer_list<Item> list) : items_(list), size_(list.size()) {}
  VarList(const std::vector<Var>& list) : first_(list.data()), size_(list.size()) {}
  VarList(const Var& one) : first_(&one), size_(1) {}
  VarList(const Tensor& constant) : made_(constant), size_(1) {}
  VarList(const Var* const* some, std::size_t size) : some_(some), size_(size) {}
  std::size_t size() const { return size_; }
  const Var& operator[](std::size_t i) const {
    if (made_.defined()) return made_;
    return some_ ? *some_[i] : first_ ? first_[i] : items_.begin()[i].var;
  }

 private:
  std::initializer_list<Item> items_;
  const Var* first_ = nullptr;
  const Var* const* some_ = nullptr;
  Var made_;
  std::size_t size_;
};

// What a gradient rule sees: the inputs of its op, and where their gradients go.
class Inputs {
 public:
  explicit Inputs(Node& node) : node_(node) {}
  // Input k as the op read it. Throws GraphError when it has been overwritten since.
  const Tensor& value(int k) const {
    const Node::Edge& edge = node_.inputs[static_cast<std::size_t>(k)];
    if (edge.node->value.version() != edge.version) refuse_input(k);
    return edge.node->value;
  }
  const Tensor& result() const {  // what the op gave; throws as well
    if (node_.value.version() != node_.version) refuse_result();
    return node_.value;
  }
  // What `make` gives for it, made once while its value stays: a weight's row-major copy serves every time step.
  const Tensor& made(int k, Node::Make make) const;
  bool needs(int k) const { return node_.inputs[static_cast<std::size_t>(k)].node->requires_grad; }
  Tensor grad(int k);          // to add into; zeros at first
  Node::Target target(int k);  // to add into, or to write when it is fresh: saves a pass over zeros
  void add(int k, Tensor dx);  // grad(k) += dx; the first one is taken over where nobody else holds it
  Node& node(int k) { return *node_.inputs[static_cast<std::size_t>(k)].node; }
  const Node& op() const { return node_; }
  const Shape& shape(int k) const { return node_.inputs[static_cast<std::size_t>(k)].node->value.shape(); }
  int count() const { return static_cast<int>(node_.inputs.size()); }

 private:
  [[noreturn]] void refuse_input(int k) const;
  [[noreturn]] void refuse_result() const;
  Node& node_;
};

namespace detail {

template <class Rule> struct RecordedNode final : Node {
  RecordedNode(const char* name, Tensor&& made, Rule&& r) : Node(name, std::move(made)), rule(std::move(r)) {}
  void backward(const Tensor& dy, Inputs& in) override { (*rule)(dy, in); }
  void drop_rule() override { rule.reset(); }
  std::optional<Rule> rule;
};

// A node that looks at its input's numbers in another way (autograd/ops_view.cpp).
template <class View> struct ViewNode final : Node {
  ViewNode(const char* name, Tensor&& made, View v) : Node(name, std::move(made)), look(std::move(v)) {
    is_view = true;
  }
  void backward(const Tensor& dy, Inputs& in) override;
  Tensor view(const Tensor& base) const override { return look(base); }
  View look;
};

bool recording(const VarList& inputs);
Var finish(Node* node, const VarList& inputs);
Var unrecorded(const char* op, Tensor value);
bool detects_anomalies();  // on this thread

}  // namespace detail

enum class ResultIs { read, unread };  // by its own rule; unread lets the next op write over a large temporary

// Puts a step on the tape: `value` was computed by `op` from `inputs`, and rule(dy, inputs) adds to their gradients,
// where dy is the gradient of `value`. The rule must not hold the new Var itself: it gets dy as an argument, so no
// cycle arises.
template <class Rule>
Var record(const char* op, Tensor value, const VarList& inputs, Rule rule, ResultIs result = ResultIs::read) {
  if (!detail::recording(inputs)) return detail::unrecorded(op, std::move(value));
  Node* const node = new detail::RecordedNode<Rule>(op, std::move(value), std::move(rule));
  node->result_unread = result == ResultIs::unread;
  return detail::finish(node, inputs);
}

enum class Graph { free, keep };  // whether backward may use the graph up

// Adds d loss / d leaf to every leaf's gradient. `loss` must hold one number. Throws GraphError when there is nothing
// to differentiate, or when a part of the graph was used up by an earlier backward (it names that node).
void backward(const Var& loss, Graph graph = Graph::free);
// The same for a result of any shape, with the gradient of something further on given as `dy`.
void backward(const Var& result, const Tensor& dy, Graph graph = Graph::free);

// While one of these lives, nothing is recorded on this thread: for evaluation and for updates.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// While one of these lives, the first op whose value or gradient is NaN or infinite is named in a ValueError.
class DetectAnomaly {
 public:
  DetectAnomaly();
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool before_;
};

std::int64_t live_nodes();  // nodes in existence in all threads: the leak tests watch it

}  // namespace gradus
