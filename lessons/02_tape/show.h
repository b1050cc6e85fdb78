// What the lesson shows, section by section; each returns the text and adds what must come out to `metrics`.
#pragma once

#include <string>

#include "lessons/02_tape/fit.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson02 {

struct Show {
  const Terminal& terminal;
  Lang lang;
  Metrics& metrics;
  std::string say(std::string_view english, std::string_view chinese) const {
    return std::string(tr(lang, english, chinese));
  }
};

// y = p tanh(p) with p = w x: p is used twice.
Tape worked_example();
std::string on_vars(const Show& show);         // the same on the engine's tape, and how far apart the gradients are
std::string shared_numbers(const Show& show);  // exact gradients, and what two wrong walks make of them
std::string costs(const Show& show);           // visits and depth of a recursive walk, and a long chain on Vars
std::string accumulation(const Show& show);    // two steps of training with and without zero_grad
std::string refusals(const Show& show);        // what the engine says when a gradient would be wrong

LineChart fit_chart(const Weights& before, const Weights& after, Lang lang);
std::string fit_table(const Fit& scalars, const Fit& vars, const Show& show);
// Targets and numbers of both fits.
void add_fit(const Fit& scalars, const Fit& vars, Metrics& metrics);

}  // namespace gradus::lesson02
