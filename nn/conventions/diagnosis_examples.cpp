// Generic traces made by any hypothesis, and the hypotheses held against each other.
#include "nn/conventions/diagnosis_examples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_stages.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// SplitMix64: a small generator that is the same everywhere.
struct Numbers {
  std::uint64_t state;
  double operator()() {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) / 4503599627370496.0 - 1;  // [-1, 1)
  }
  Array operator()(Dims shape, double scale = 1) {
    Array a(std::move(shape));
    for (double& x : a.data) x = scale * (*this)();
    return a;
  }
};

struct Sizes {
  std::size_t d_s, d_h, d_attn, d_emb, d_htilde, pairs, vocab;
};

std::string chosen(const Choices& choices, const std::string& field) {
  for (const auto& [name, id] : choices)
    if (name == field) return id;
  return "";
}

std::size_t width(const Parts& parts, const Sizes& n, std::size_t d_v, std::size_t layers) {
  std::size_t sum = 0;
  for (const Part& p : parts) {
    if (p.what == What::y_emb || p.what == What::first_input) sum += n.d_emb;
    else if (p.what == What::context) sum += d_v;
    else if (p.what == What::attentional || p.what == What::before_tanh) sum += n.d_htilde;
    else sum += p.what == What::all_states ? n.d_s * layers : n.d_s;
  }
  return sum;
}

void cell_parameters(Arrays& a, Numbers& r, const Recipe& recipe, const std::string& suffix, std::size_t d_in,
                     std::size_t d) {
  const std::size_t rows = recipe.gates * d;
  a["W" + suffix] = r({rows, d_in}, .8);
  a["U" + suffix] = r({rows, d}, .8);
  if (recipe.biases > 0) a["b" + suffix] = r({rows}, .6);
  if (recipe.biases > 1) a["b_u" + suffix] = r({rows}, .6);
}

// Numbers that the diagnosis estimates are set by hand when an example is made.
bool by_hand(Model& m, const std::string& field, const std::string& id) {
  if (field == "scale" && id == "estimated") m.decoder.attention.temperature = 1.7;
  else if (field == "mask" && id == "finite_fill") m.decoder.attention.mask_fill = -.7;
  else if (field == "sum" && id == "factor") m.context_factor = .6;
  else return false;
  return true;
}

void apply_choices(Model& m, const Choices& choices, const Arrays& a, const std::vector<Stage>& stages) {
  for (const Field& f : fields()) {
    const bool acts = std::any_of(f.stages.begin(), f.stages.end(),
                                  [&](Stage s) { return std::find(stages.begin(), stages.end(), s) != stages.end(); });
    const std::string id = chosen(choices, f.name);
    if (!acts) {
      if (!id.empty() && !stages.empty())
        throw std::invalid_argument("diagnosis example: " + std::string(f.name) + " plays no part here");
      continue;
    }
    if (id.empty()) {
      for (const Option& o : f.options) {  // the first one that fits and is no mistake
        Model copy = m;
        if (o.level != Level::error && o.apply(copy, a)) {
          m = copy;
          break;
        }
      }
      continue;
    }
    if (std::find(stages.begin(), stages.end(), Stage::heads) == stages.end() && by_hand(m, f.name, id)) continue;
    const Option* o = find_option(f.name, id);
    if (!o || !o->apply(m, a))
      throw std::invalid_argument("diagnosis example: " + std::string(f.name) + "=" + id + " does not apply here");
  }
}

Model base_model(const Recipe& recipe) {
  Model m;
  if (recipe.gates == 3) m.decoder.cell = GruConvention{};
  else if (recipe.gates == 4) m.decoder.cell = LstmConvention{};
  else m.decoder.cell = ElmanConvention{};
  m.decoder.layers = recipe.layers;
  m.heads.heads = recipe.kind == TraceKind::multi_head ? recipe.heads : 1;
  if (recipe.kind == TraceKind::multi_head) m.decoder.attention.score.score = Score::scaled_dot;
  return m;
}

Array lengths(const Recipe& recipe, std::size_t T) {
  Array mask({recipe.B, T}, Vec(recipe.B * T, 1));
  for (std::size_t b = 1; recipe.padded && b < recipe.B; ++b)
    for (std::size_t i = T - std::min(b, T - 1); i < T; ++i) mask.at({b, i}) = 0;
  return mask;
}

Arrays decoder_example(const Recipe& recipe, const Choices& choices, std::uint64_t seed, Model& m) {
  Numbers r{seed};
  const std::string score = chosen(choices, "score").empty() ? "additive" : chosen(choices, "score");
  Sizes n{5, 4, 7, 3, 8, 4, 9};
  const bool same = score == "dot" || score == "scaled_dot" || score == "cosine" ||
                    chosen(choices, "W_a") == "transposed" || score == "dot_beside_parameters";
  if (same) n.d_h = n.d_s;
  if (chosen(choices, "W_a") == "additive_transposed") n.d_attn = n.d_s;
  if (chosen(choices, "W_a") == "exchanged") n.d_h = n.d_s;
  if (chosen(choices, "U_a") == "transposed" || chosen(choices, "U_a") == "twice") n.d_attn = n.d_h;
  if (recipe.equal) n = {4, 4, 4, 4, 4, 2, 4};
  const std::string query = chosen(choices, "query");
  std::size_t d_q = n.d_s;
  if (query == "input") d_q = n.d_emb;
  if (query == "input_and_state") d_q = n.d_emb + n.d_s;
  if (query == "context_prev") d_q = n.d_h;
  if (query == "attentional_prev") d_q = n.d_htilde;
  if (query == "all_prev") d_q = n.d_s * recipe.layers;
  const std::size_t B = recipe.B, T = recipe.T_dec, T_enc = recipe.T_enc;
  Arrays a = {{"H", r({B, T_enc, n.d_h})}, {"y_emb", r({B, T, n.d_emb})}, {"mask", lengths(recipe, T_enc)}};
  if (score == "additive") a["W_a"] = r({n.d_attn, d_q}), a["U_a"] = r({n.d_attn, n.d_h}), a["v_a"] = r({n.d_attn}, 2);
  if (score == "concat" || score == "mlp") a["W_a"] = r({n.d_attn, d_q + n.d_h}), a["v_a"] = r({n.d_attn}, 2);
  if (score == "mlp") a["b_a"] = r({n.d_attn}), a["b_v"] = r({1});
  if (score == "general" || score == "dot_beside_parameters") a["W_a"] = r({d_q, n.d_h});
  if (score == "general_stored_transposed") a["W_a"] = r({n.d_h, d_q});
  if (score == "location") a["W_a"] = r({T_enc, d_q});
  if (chosen(choices, "v_a") == "b_a_ignored" || chosen(choices, "v_a") == "with_bias") a["b_a"] = r({n.d_attn});
  const std::size_t d_v = chosen(choices, "values") == "projected" ? (score == "additive" ? n.d_attn : d_q) : n.d_h;
  if (recipe.attentional) a["W_c"] = Array({1, 1}), a["b_c"] = r({n.d_htilde});
  if (recipe.maxout) {
    a["U_o"] = r({2 * n.pairs, n.d_s}), a["V_o"] = r({2 * n.pairs, n.d_emb}), a["C_o"] = r({2 * n.pairs, d_v});
    a["W_o"] = r({n.vocab, n.pairs});
  } else {
    a["W_o"] = Array({1, 1});
  }
  a["b_o"] = r({n.vocab});
  a["alpha"] = Array({B, T, T_enc});
  a["c"] = Array({B, T, d_v});
  if (recipe.attentional) a["htilde"] = Array({B, T, n.d_htilde});
  a["W"] = Array({recipe.gates * n.d_s, n.d_emb}), a["U"] = Array({recipe.gates * n.d_s, n.d_s});
  if (recipe.biases > 0) a["b"] = Array({recipe.gates * n.d_s});
  if (recipe.biases > 1) a["b_u"] = Array({recipe.gates * n.d_s});
  Choices all = choices;
  if (chosen(choices, "readout").empty())
    all.emplace_back("readout", recipe.attentional ? "htilde" : recipe.maxout ? "maxout" : "s,y,c");
  if (chosen(choices, "query").empty()) all.emplace_back("query", recipe.attentional ? "s_t" : "s_prev");
  if (chosen(choices, "input").empty())
    all.emplace_back("input", recipe.attentional ? "feeding" : chosen(all, "query") == "s_t" ? "c_prev" : "c_t");
  if (chosen(choices, "score").empty()) all.emplace_back("score", score);
  std::vector<Stage> stages = {Stage::score, Stage::weights,     Stage::context,
                               Stage::cell,  Stage::attentional, Stage::readout};
  if (recipe.starts) stages.push_back(Stage::start);
  {
    // Square blocks need to be seen by the options that read them.
    Model probe = base_model(recipe);
    apply_choices(probe, {}, a, {});
    const Option* o = find_option("input", chosen(all, "input"));
    o->apply(probe, a);
    const std::size_t d_in = width(probe.decoder.cell_input, n, d_v, recipe.layers);
    a["W"] = Array({recipe.gates * n.d_s, d_in});
  }
  apply_choices(m, all, a, stages);
  for (std::size_t l = 0; l < recipe.layers; ++l)
    cell_parameters(a, r, recipe, l ? "_l" + std::to_string(l) : "",
                    l                  ? n.d_s
                    : m.input_is_added ? n.d_emb
                                       : width(m.decoder.cell_input, n, d_v, recipe.layers),
                    n.d_s);
  if (recipe.attentional)
    a["W_c"] = r({n.d_htilde, m.vector_is_added ? n.d_s : width(m.decoder.attentional, n, d_v, recipe.layers)});
  if (!recipe.maxout)
    a["W_o"] = r({n.vocab, m.readout_is_added ? n.d_s : width(m.decoder.readout, n, d_v, recipe.layers)});
  if (recipe.gates == 4) a["cell_0"] = r({B, n.d_s});
  a["s_0"] = r({B, n.d_s});
  if (recipe.starts) {
    const InitialState from = m.decoder.initial;
    const std::size_t half = n.d_h / 2;
    const bool mean = from == InitialState::mean || from == InitialState::mean_of_all;
    a["W_s"] = r({n.d_s, from == InitialState::both_ends ? 2 * half : mean ? n.d_h : half});
    a["s_0"] = get(stage_outputs(m, a, {Stage::start}), "s_0");
  }
  if (recipe.layers > 1) {
    a["s_0_l0"] = r({B, n.d_s});
    if (recipe.gates == 4) a["cell_0_l0"] = r({B, n.d_s});
  }
  // Each sweep gets one more step right; when nothing changes, the decoder has run.
  a["s"] = Array({B, T + 1, n.d_s});
  for (std::size_t b = 0; b < B; ++b) a["s"].set_row({b, 0}, a["s_0"].row({b}));
  a["e"] = Array({B, T, T_enc});
  const std::vector<Stage> order = {Stage::score,       Stage::weights, Stage::context,
                                    Stage::attentional, Stage::cell,    Stage::readout};
  for (std::size_t sweep = 0; sweep < 3 * T + 6; ++sweep) {
    bool moved = false;
    for (Stage stage : order) {
      if (stage == Stage::attentional && !recipe.attentional) continue;
      const Array made = get(stage_outputs(m, a, {stage}), output_of(stage));
      Array& old = a[output_of(stage)];
      moved = moved || made.shape != old.shape ||
              !std::equal(made.data.begin(), made.data.end(), old.data.begin(),
                          [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
      old = made;
    }
    if (!moved) break;
    if (sweep + 1 == 3 * T + 6) throw std::invalid_argument("diagnosis example: the parts form a circle");
  }
  a.erase("e");
  if (!recipe.starts && recipe.layers == 1) a.erase("s_0");
  return a;
}

Arrays recurrent_example(const Recipe& recipe, const Choices& choices, std::uint64_t seed, Model& m) {
  Numbers r{seed};
  const std::size_t d = recipe.equal ? 4 : 5, d_x = recipe.equal || chosen(choices, "layout") == "W_transposed" ||
                                                            chosen(choices, "layout") == "both_transposed"
                                                        ? d
                                                        : 3;
  const std::size_t B = recipe.B, T = recipe.T_enc;
  Arrays a = {
      {"x", r({B, T, d_x})}, {"mask", lengths(recipe, T)}, {"h0", r({recipe.layers * recipe.directions, B, d})}};
  if (recipe.gates == 4) a["c0"] = r({recipe.layers * recipe.directions, B, d});
  const std::string merge = chosen(choices, "merge");
  const std::size_t between = recipe.directions *
                              (merge == "sum" || merge == "mean" ? 1
                               : recipe.directions == 2          ? 1
                                                                 : 1) *
                              d;
  for (std::size_t l = 0; l < recipe.layers; ++l)
    for (std::size_t k = 0; k < recipe.directions; ++k) {
      const bool narrow = merge == "sum" || merge == "mean";
      cell_parameters(a, r, recipe, (l ? "_l" + std::to_string(l) : "") + (k ? "_reverse" : ""),
                      l ? (narrow ? d : between) : d_x, d);
    }
  if (!recipe.padded) a.erase("mask");
  apply_choices(m, choices, a,
                recipe.starts ? std::vector<Stage>{Stage::run, Stage::ends} : std::vector<Stage>{Stage::run});
  Arrays out = stage_outputs(m, a, {Stage::run});
  a["h"] = get(out, "h");
  a["h_n"] = get(out, "h_n");
  if (find(out, "c_n")) a["c_n"] = get(out, "c_n");
  if (recipe.starts) a["start"] = get(stage_outputs(m, a, {Stage::ends}), "start");
  return a;
}

Arrays heads_example(const Recipe& recipe, const Choices& choices, std::uint64_t seed, Model& m) {
  Numbers r{seed};
  const std::size_t B = recipe.B, T_q = recipe.T_dec, T_k = recipe.T_enc, d_k = 3, d = d_k * recipe.heads;
  Arrays a = {
      {"query", r({B, T_q, d})}, {"key", r({B, T_k, d})}, {"value", r({B, T_k, d})}, {"mask", lengths(recipe, T_k)}};
  for (const char* which : {"Q", "K", "V", "O"}) {
    a[std::string("W_") + which] = r({d, d});
    a[std::string("b_") + which] = r({d}, .5);
  }
  a["alpha"] = Array({B, recipe.heads, T_q, T_k});
  apply_choices(m, choices, a, {Stage::heads});
  const Arrays out = stage_outputs(m, a, {Stage::heads});
  a["alpha"] = get(out, "alpha");
  a["output"] = get(out, "output");
  return a;
}

}  // namespace

Trace make_example(const Recipe& recipe, const Choices& choices, std::uint64_t seed) {
  Model m = base_model(recipe);
  Trace trace;
  Meta meta;
  meta.heads = recipe.kind == TraceKind::multi_head ? recipe.heads : 0;
  Arrays a = recipe.kind == TraceKind::decoder     ? decoder_example(recipe, choices, seed, m)
             : recipe.kind == TraceKind::recurrent ? recurrent_example(recipe, choices, seed, m)
                                                   : heads_example(recipe, choices, seed, m);
  return make_trace(std::move(a), meta);
}

Confusion confusion_matrix(const Recipe& recipe, const Choices& choices, std::uint64_t seed) {
  Confusion out;
  std::vector<Trace> all = {make_example(recipe, choices, seed)};
  out.names = {"as it should be"};
  out.codes = {""};
  for (const Field& f : fields()) {
    if (!chosen(choices, f.name).empty()) continue;
    for (const Option& o : f.options) {
      if (o.level != Level::error) continue;
      Choices with = choices;
      with.emplace_back(f.name, o.id);
      try {
        all.push_back(make_example(recipe, with, seed));
      } catch (const std::invalid_argument&) {
        continue;  // no such model of this kind
      }
      out.names.push_back(std::string(f.name) + "=" + o.id);
      out.codes.push_back(o.code);
    }
  }
  out.agrees.assign(all.size(), std::vector<bool>(all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Verdict verdict = diagnose(all[i]);
    std::set<std::string> alike;
    if (verdict.findings.empty()) alike.insert("");
    for (const Finding& f : verdict.findings) {
      if (!f.error) continue;
      if (f.alias.empty()) alike.insert(f.code);
      for (const std::string& name : f.alias) alike.insert(name);
    }
    for (std::size_t j = 0; j < all.size(); ++j)
      out.agrees[i][j] =
          i == j ? alike.count(out.codes[i]) > 0 : alike.count(out.codes[j]) > 0 && out.codes[j] != out.codes[i];
    out.largest_class = std::max(out.largest_class, alike.size());
  }
  return out;
}

std::string Confusion::picture() const {
  std::string text = std::to_string(names.size()) + " hypotheses, each run on a trace made by each other\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string others;
    for (std::size_t j = 0; j < names.size(); ++j)
      if (i != j && agrees[i][j]) others += (others.empty() ? "" : ", ") + names[j] + " (" + codes[j] + ")";
    if (!agrees[i][i]) others += others.empty() ? "not itself" : ", not itself";
    if (!others.empty()) text += "  " + names[i] + " (" + codes[i] + ") looks like " + others + "\n";
  }
  return text + "  largest class that cannot be told apart: " + std::to_string(largest_class) + "\n";
}

}  // namespace gradus::diagnosis
