// The tape made visible: as text for the terminal, and as a Graphviz graph (`dot -Tsvg tape.dot`).
#pragma once

#include <string>

#include "autograd/var.h"

namespace gradus {

// One line per node that leads to `result`, oldest first: id, op, shape, norm of the value ("-": written over) and of the
// gradient ("-": none yet), inputs. Print it before backward frees the graph, or after backward(result, Graph::keep).
std::string print_tape(const Var& result);
std::string tape_to_dot(const Var& result);

}  // namespace gradus
