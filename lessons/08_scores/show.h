// What the trained readers can do, and where they look.
#pragma once

#include <string>
#include <vector>

#include "lessons/08_scores/reader.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson08 {

// A reader with what was seen of it.
struct Trained {
  Reader reader;
  std::vector<double> losses;                     // one a step
  Skill before, after;                            // on 8 pairs, as in training
  Skill on_4, on_16;                              // on other numbers of pairs
  std::vector<double> leads_before, leads_after;  // of each word's own key
};

std::string skill_table(const std::vector<Trained>& all, const Terminal& terminal, Lang lang);
// One sentence: which readers answer every question.
std::string verdict(const std::vector<Trained>& all, Lang lang);
// The words whose own key starts furthest behind, and what has become of them.
std::string lost_table(const Trained& trained, const Terminal& terminal, Lang lang);
// Targets, and what is compared over seeds.
void add_numbers(const std::vector<Trained>& all, Metrics& metrics);
LineChart loss_chart(const std::vector<Trained>& all, Lang lang);
// The same eight pairs, asked for each of their words in turn: rows are questions, columns pairs.
Heatmap question_map(const Reader& reader, std::uint64_t seed, Lang lang);
// q . k of every question word with every key word: what the general score has made of two languages.
Heatmap dictionary_map(const Reader& reader, Lang lang);
// Scores, weights and the answer for one lookup.
std::string answer_table(const Reader& reader, const Lookups& lookup, const Terminal& terminal, Lang lang);

}  // namespace gradus::lesson08
