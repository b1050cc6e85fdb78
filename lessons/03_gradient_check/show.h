// What the lesson shows, section by section; each returns the text and adds what must come out to `metrics`.
#pragma once

#include <string>
#include <vector>

#include "lessons/03_gradient_check/three_nets.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson03 {

struct Show {
  const Terminal& terminal;
  Lang lang;
  Metrics& metrics;
  std::string say(std::string_view english, std::string_view chinese) const {
    return std::string(tr(lang, english, chinese));
  }
};

std::string by_hand(const Show& show);                 // 1/x at 2, to follow with a pencil
LineChart step_chart(Lang lang);                       // error against step, four quotients
std::string step_table(const Show& show);              // the same as numbers
std::string twelve_wrong_backwards(const Show& show);  // the table, and what weaker checks let through
std::string float32(const Show& show);
std::string nothing_tested(const Show& show);  // the objective sum(softmax(x))
std::string kink(const Show& show);
std::string refusals(const Show& show);    // what the library's check refuses, with its codes
std::string small_swap(const Show& show);  // what the check cannot see
std::string duals(const Show& show);
std::string fused(const Show& show);  // one formula, one step on the tape

LineChart training_chart(const std::vector<Training>& nets, Lang lang);
std::string nets_table(const std::vector<Training>& nets, std::uint64_t seed, const Show& show);

// Value, slope and quotients of a typed formula ("x * tanh(x) at 0.5").
std::string ask_formula(const std::string& input, const Terminal& terminal, Lang lang);

}  // namespace gradus::lesson03
