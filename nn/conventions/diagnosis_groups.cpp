#include "nn/conventions/diagnosis_groups.h"

#include <algorithm>
#include <functional>

#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/grammar_formulas.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

std::vector<Group> decoder_groups(const Bench& bench) {
  const bool states = bench.there("s"),
             cell = bench.there("W") && bench.there("U") && bench.there("y_emb") && (states || bench.there("s_0"));
  std::map<Stage, bool> active;
  const bool queries = states || bench.there("query") || cell;
  active[Stage::score] = active[Stage::weights] = queries || bench.there("e");
  active[Stage::context] = active[Stage::weights] || bench.there("alpha");
  active[Stage::cell] = cell;
  active[Stage::attentional] = bench.there("W_c") && (states || cell);
  active[Stage::readout] = bench.there("W_o") && (states || cell);
  if (!queries) active[Stage::score] = false;
  const Stage stages[] = {Stage::cell,    Stage::score,       Stage::weights,
                          Stage::context, Stage::attentional, Stage::readout};
  const std::map<Stage, std::vector<Stage>> readers = {
      {Stage::score, {Stage::weights}},
      {Stage::weights, {Stage::context}},
      {Stage::context, {Stage::cell, Stage::attentional, Stage::readout}},
      {Stage::cell, {Stage::score, Stage::attentional, Stage::readout}},
      {Stage::attentional, {Stage::cell, Stage::readout}},
      {Stage::readout, {}}};
  std::map<Stage, Stage> root;
  for (Stage s : stages) root[s] = s;
  const std::function<Stage(Stage)> top = [&](Stage s) { return root[s] == s ? s : top(root[s]); };
  for (Stage s : stages) {
    if (!active[s] || bench.there(output_of(s))) continue;
    for (Stage reader : readers.at(s))
      if (active[reader]) root[top(reader)] = top(s);
  }
  std::vector<Group> made;
  for (Stage s : stages) {
    if (!active[s]) continue;
    auto same = std::find_if(made.begin(), made.end(), [&](const Group& g) { return top(g.stages[0]) == top(s); });
    if (same == made.end()) made.push_back({{s}, {}, {}}), same = made.end() - 1;
    else same->stages.push_back(s);
    if (bench.there(output_of(s))) same->outputs.push_back(output_of(s));
  }
  for (Group& g : made)
    if (is_lstm(bench.base) && bench.there("m") && std::count(g.outputs.begin(), g.outputs.end(), "s"))
      g.outputs.push_back("m");
  std::erase_if(made, [](const Group& g) { return g.outputs.empty(); });
  if (bench.there("W_s") && bench.there("s_0")) made.push_back({{Stage::start}, {"s_0"}, {}});
  return made;
}

}  // namespace

std::vector<std::size_t> fields_of(const Bench& bench, const std::vector<Stage>& stages) {
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < bench.all.size(); ++i)
    if (std::find_first_of(bench.all[i].stages.begin(), bench.all[i].stages.end(), stages.begin(), stages.end()) !=
        bench.all[i].stages.end())
      fields.push_back(i);
  return fields;
}

std::vector<Group> groups_of(const Bench& bench) {
  std::vector<Group> made;
  if (bench.trace.kind == TraceKind::multi_head) {
    Group g{{Stage::heads}, {}, {}};
    for (const char* name : {"alpha", "output"})
      if (bench.there(name)) g.outputs.push_back(name);
    if (!g.outputs.empty()) made.push_back(g);
  } else if (bench.trace.kind == TraceKind::recurrent) {
    Group g{{Stage::run}, {}, {}};
    for (const char* name : {"h", "h_n", "c_n"})
      if (bench.there(name)) g.outputs.push_back(name);
    if (!g.outputs.empty()) made.push_back(g);
    if (bench.there("start") && bench.trace.directions == 2) made.push_back({{Stage::ends}, {"start"}, {}});
  } else {
    made = decoder_groups(bench);
  }
  for (Group& g : made) g.fields = fields_of(bench, g.stages);
  return made;
}

}  // namespace gradus::diagnosis
