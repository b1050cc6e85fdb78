// The printed tape and the Graphviz file, letter by letter (node numbers aside, which depend on what ran before).
#include "autograd/print_tape.h"

#include <cctype>

#include "autograd/ops.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

// Node numbers counted from the oldest of the graph: #1, #2, ...
std::string renumbered(std::string text, const std::vector<Var>& nodes) {
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const std::string id = std::to_string(nodes[i].node()->id), name = "#" + std::to_string(i + 1);
    for (std::size_t at = 0; (at = text.find(id, at)) != std::string::npos;) {
      const bool starts = at == 0 || !std::isdigit(static_cast<unsigned char>(text[at - 1]));
      const bool ends =
          at + id.size() == text.size() || !std::isdigit(static_cast<unsigned char>(text[at + id.size()]));
      const bool is_id = starts && ends && (at == 0 || text[at - 1] != '.');
      if (!is_id) {
        at += 1;
        continue;
      }
      text.replace(at, id.size(), name);
      at += name.size();
    }
  }
  return text;
}

// Without the blanks that fill columns.
std::string squeezed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == ' ' && (out.empty() || out.back() == ' ' || out.back() == '\n')) continue;
    if (c == '\n' && !out.empty() && out.back() == ' ') out.pop_back();
    out += c;
  }
  return out;
}

// Far above the numbers that the texts hold, so that none of them looks like a node number.
void raise_node_numbers() {
  while (Var(zeros(Shape{})).node()->id < 100'000) {}
}

}  // namespace

TEST_SUITE_BEGIN("printed tape");

TEST_CASE("before backward: nodes in order, norms of values, no gradients") {
  raise_node_numbers();
  const Var x = parameter(tensor(Shape{2}, {3, 4}, f64));
  const Var y = x * x;
  const Var loss = sum(y);
  CHECK(squeezed(renumbered(print_tape(loss), {x, y, loss})) ==
        "node op shape |value| |grad| from\n"
        "#1 leaf (2) 5 -\n"
        "#2 * (2) 18.36 - #1 #1\n"
        "#3 sum () 25 - #2\n");
}
TEST_CASE("after a kept backward: norms of gradients") {
  raise_node_numbers();
  const Var x = parameter(tensor(Shape{2}, {3, 4}, f64));
  const Var y = x * x;
  const Var loss = sum(y);
  backward(loss, Graph::keep);
  CHECK(squeezed(renumbered(print_tape(loss), {x, y, loss})) ==
        "node op shape |value| |grad| from\n"
        "#1 leaf (2) 5 10\n"
        "#2 * (2) 18.36 1.414 #1 #1\n"
        "#3 sum () 25 1 #2\n");
}
TEST_CASE("constants are shown as such") {
  raise_node_numbers();
  const Var x = parameter(tensor(Shape{1}, {2}, f64)), c = tensor(Shape{1}, {8}, f64);
  const Var y = x / c;
  CHECK(squeezed(renumbered(print_tape(y), {x, c, y})) ==
        "node op shape |value| |grad| from\n#1 leaf (1) 2 -\n#2 constant (1) 8 -\n#3 / (1) 0.25 - #1 #2\n");
}
TEST_CASE("a leaf alone is a tape of one line") {
  raise_node_numbers();
  const Var x = parameter(tensor(Shape{2, 1}, {0, 2}, f64));
  CHECK(squeezed(renumbered(print_tape(x), {x})) == "node op shape |value| |grad| from\n#1 leaf (2, 1) 2 -\n");
}
TEST_CASE("a node that is used twice is printed once") {
  const Var x = parameter(tensor(Shape{2}, {3, 4}, f64));
  const Var h = tanh(x);
  const std::string text = print_tape(sum(h * h + h));
  CHECK(text.find("tanh") == text.rfind("tanh"));
}
TEST_CASE("the Graphviz file is complete") {
  raise_node_numbers();
  const Var x = parameter(tensor(Shape{2}, {3, 4}, f64));
  const Var y = x * x;
  const Var loss = sum(y);
  backward(loss, Graph::keep);
  std::string text = tape_to_dot(loss);
  for (auto [var, name] : {std::pair{x, "A"}, std::pair{y, "B"}, std::pair{loss, "C"}}) {
    const std::string id = "n" + std::to_string(var.node()->id);
    for (std::size_t at; (at = text.find(id)) != std::string::npos;) text.replace(at, id.size(), name);
  }
  CHECK(text ==
        "digraph tape {\n"
        "  rankdir=LR;\n"
        "  node [shape=box, fontname=\"monospace\"];\n"
        "  A [label=\"leaf (2)\\n|value| 5\\n|grad| 10\", style=rounded];\n"
        "  B [label=\"* (2)\\n|value| 18.36\\n|grad| 1.414\"];\n"
        "  A -> B;\n"
        "  A -> B;\n"
        "  C [label=\"sum ()\\n|value| 25\\n|grad| 1\"];\n"
        "  B -> C;\n"
        "}\n");
}
TEST_CASE("printing an empty Var is an error") {
  CHECK_THROWS_AS(print_tape(Var()), ValueError);
  CHECK_THROWS_AS(tape_to_dot(Var()), ValueError);
}
TEST_CASE("printing changes nothing: backward works afterwards and nothing leaks") {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  {
    const Var x = parameter(tensor(Shape{2}, {3, 4}, f64));
    const Var loss = sum(x * x);
    print_tape(loss);
    tape_to_dot(loss);
    backward(loss);
    CHECK(same(elements(x.grad()), {6, 8}));
  }
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}
TEST_CASE("after backward has used the graph up only the result is left to print") {
  const Var x = parameter(tensor(Shape{2}, {3, 4}, f64));
  const Var loss = sum(x * x);
  backward(loss);
  const std::string text = print_tape(loss);
  CHECK(contains(text, "sum"));
  CHECK_FALSE(contains(text, "leaf"));
}

TEST_SUITE_END();

}  // namespace gradus::testing
