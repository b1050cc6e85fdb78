// Names of four frameworks and shapes of three layouts brought into one form, with every misfit named.
#include "nn/conventions/trace.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "nn/conventions/trace_names.h"
#include "nn/formats/bytes.h"
#include "nn/formats/json.h"
#include "nn/formats/npy.h"
#include "nn/formats/safetensors.h"

namespace gradus::diagnosis {

namespace {

using reference::Array;
using reference::Arrays;
using reference::Dims;
using reference::find;
using reference::get;
using reference::Row;
using reference::to_string;
using reference::Vec;

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument("trace: " + text); }

// ---- names

std::string with_dots(std::string name) {
  if (const std::size_t colon = name.rfind(':'); colon != std::string::npos) name.resize(colon);  // "kernel:0"
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

// Our name of a cell parameter: "weight_ih_l1_reverse" -> "W_l1_reverse"; empty if it is none.
struct CellName {
  std::string name;
  bool transposed = false;
};

// "kernel_l1_backward" is "kernel" of "_l1_reverse", "W_r_l0" is "W_r" of "".
struct OfLayer {
  std::string stem, layer;
};

OfLayer of_layer(std::string name) {
  std::string layer;
  const auto cut = [&](const char* end) {
    if (!name.ends_with(end)) return false;
    name.resize(name.size() - std::string(end).size());
    return true;
  };
  if (cut("_reverse") || cut("_backward")) layer = "_reverse";
  else cut("_forward");
  std::size_t digits = 0;
  while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[name.size() - 1 - digits]))) ++digits;
  const std::size_t at = name.size() - digits;
  if ((digits == 1 || digits == 2) && at > 2 && name.compare(at - 2, 2, "_l") == 0) {
    if (name.substr(at) != "0") layer = name.substr(at - 2) + layer;
    name.resize(at - 2);
  }
  return {name, layer};
}

CellName cell_name(const std::string& tail) {
  const OfLayer own = of_layer(tail);
  for (const TraceName& part : cell_names()) {
    if (own.stem == part.name) return {part.name + own.layer};
    for (const std::string other : part.others) {
      if (own.stem + "*" == other) return {part.name + own.layer, true};
      if (own.stem == other) return {part.name + own.layer};
    }
  }
  return {};
}

// A matrix of a linear layer may be called by the layer's name alone, with .weight behind it, and has its bias beside it.
bool is_matrix(const std::string& ours) {
  return ours == "v_a" || ours == "in_proj" || (ours.size() > 1 && std::isupper(static_cast<unsigned char>(ours[0])));
}

// Empty where the papers have none.
std::string bias_of(const std::string& matrix) {
  if (matrix == "U_a") return "b_a2";
  if (matrix == "v_a") return "b_v";
  if (matrix == "in_proj") return "in_proj_bias";
  return matrix[0] == 'W' ? "b" + matrix.substr(1) : "";
}

// Finds `name` or a tail of it ("decoder.attn.W_a" -> "W_a") in the table. A star after an alias: stored transposed.
CellName named(const std::vector<TraceName>& table, const std::string& name, bool cells) {
  for (std::string tail = with_dots(name);;) {
    std::string bare = tail;
    bool weight = false, bias = false;
    if (bare.size() > 7 && bare.ends_with(".weight")) bare.resize(bare.size() - 7), weight = true;
    if (bare.size() > 5 && bare.ends_with(".bias")) bare.resize(bare.size() - 5), bias = true;
    for (const TraceName& alias : table) {
      std::vector<std::string> spelled = {alias.name};
      spelled.insert(spelled.end(), alias.others.begin(), alias.others.end());
      for (std::string other : spelled) {
        const bool flip = other.ends_with("*");
        if (flip) other.pop_back();
        if (tail == other) return {alias.name, flip};
        if (bare != other || !is_matrix(alias.name)) continue;  // decoder.attn.bias is not of the weights, attn
        if (weight) return {alias.name, flip};
        if (bias && !flip && !bias_of(alias.name).empty()) return {bias_of(alias.name)};
      }
    }
    if (cells)
      if (CellName found = cell_name(tail); !found.name.empty()) return found;
    const std::size_t dot = tail.find('.');
    if (dot == std::string::npos) return {};
    tail = tail.substr(dot + 1);
  }
}

// "bias" and "kernel" alone are a cell's. fc.bias beside fc.weight is a linear layer's, and so is dense.kernel where a
// cell has its recurrent_kernel elsewhere: of a whole model's parameters many are.
bool is_of_another_layer(const Arrays& values, const std::string& name) {
  const std::string dotted = with_dots(name);
  const std::size_t dot = dotted.rfind('.');
  if (dot == std::string::npos) return false;
  const std::string stem = dotted.substr(0, dot + 1), own = dotted.substr(dot + 1);
  if (own != "bias" && own != "kernel") return false;
  for (const auto* table : {&decoder_names(), &multi_head_names()})
    if (!named(*table, name, false).name.empty()) return false;
  bool linear = false, here = false, elsewhere = false;
  for (const auto& [other, a] : values) {
    const std::string its = with_dots(other);
    linear = linear || (own == "bias" && its == stem + "weight");
    if (its.ends_with("recurrent_kernel")) (its == stem + "recurrent_kernel" ? here : elsewhere) = true;
  }
  return linear || (elsewhere && !here);
}

// Gradients come under the names of their parameters, "gates/kernel:0", or under shorter ones: "gates.kernel", "kernel".
void name_as_values(Arrays& gradients, const Arrays& values) {
  for (const auto& [name, g] : Arrays(gradients)) {
    if (values.count(name)) continue;
    const OfLayer own = of_layer(with_dots(name));
    // The one start without a layer is the top one's, not that of _l0.
    if (const std::string last = own.stem.substr(own.stem.rfind('.') + 1); last == "s_0" || last == "cell_0") continue;
    std::vector<std::string> same, not_of_encoder;
    for (const auto& [other, a] : values) {
      const OfLayer its = of_layer(with_dots(other));
      if (its.layer != own.layer || (its.stem != own.stem && !its.stem.ends_with("." + own.stem))) continue;
      same.push_back(other);
      if (its.stem.find("encoder.") == std::string::npos) not_of_encoder.push_back(other);
    }
    if (same.size() > 1) same = not_of_encoder;
    if (same.size() != 1 || gradients.count(same[0])) continue;
    auto part = gradients.extract(name);
    part.key() = same[0], gradients.insert(std::move(part));
  }
}

// ---- shapes

std::string shown(const std::string& name, const Array& a) { return name + " " + to_string(a.shape); }

Array swap_axes(const Array& x) {
  if (x.shape.size() < 2) return x;
  const std::size_t A = x.shape[0], B = x.shape[1], inner = A > 0 && B > 0 ? x.data.size() / (A * B) : 0;
  Dims shape = x.shape;
  std::swap(shape[0], shape[1]);
  Array out(shape);
  for (std::size_t i = 0; i < A; ++i)
    for (std::size_t j = 0; j < B; ++j)
      for (std::size_t k = 0; k < inner; ++k) out.data[(j * A + i) * inner + k] = x.data[(i * B + j) * inner + k];
  return out;
}

Array flipped(const std::string& name, const Array& a) {
  if (a.shape.size() == 1) return a;
  if (a.shape.size() != 2) refuse(shown(name, a) + " should be a matrix");
  return transposed(a);
}

// Symbols like d_s, each with its value and the tensor that it was read from.
class Symbols {
 public:
  void need(const Arrays& arrays, const std::string& name, const std::vector<std::string>& symbols) {
    const Array* a = find(arrays, name);
    if (!a) return;
    bool fits = a->shape.size() == symbols.size();
    if (fits) {
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto known = values_.find(symbols[i]);
        if (known != values_.end() && known->second.first != a->shape[i]) fits = false;
      }
    }
    if (!fits) misfit(name, *a, symbols);
    for (std::size_t i = 0; i < symbols.size(); ++i)
      values_.emplace(symbols[i], std::pair(a->shape[i], shown(name, *a)));
  }
  void set(const std::string& symbol, std::size_t value, const std::string& from) {
    values_.emplace(symbol, std::pair(value, from));
  }
  std::size_t value(const std::string& symbol) const {
    const auto known = values_.find(symbol);
    return known == values_.end() ? 0 : known->second.first;
  }

 private:
  [[noreturn]] void misfit(const std::string& name, const Array& a, const std::vector<std::string>& symbols) const {
    std::string letters, numbers, why;
    Dims needed;
    for (const std::string& symbol : symbols) {
      const auto known = values_.find(symbol);
      letters += (letters.empty() ? "" : ", ") + symbol;
      numbers += (numbers.empty() ? "" : ", ") +
                 (known == values_.end() ? std::string("?") : std::to_string(known->second.first));
      needed.push_back(known == values_.end() ? 0 : known->second.first);
      if (known != values_.end()) why += (why.empty() ? "" : ", ") + symbol + " from " + known->second.second;
    }
    std::string fix;
    if (needed.size() == 2 && a.shape == Dims{needed[1], needed[0]}) fix = "; it looks transposed: dump " + name + ".T";
    if (needed.size() > 2 && a.shape.size() == needed.size() && a.shape[1] == needed[0] && a.shape[0] != needed[0])
      fix = "; axes 0 and 1 look exchanged: dump it batch first, or say \"layout\": \"time_major\" in meta.json";
    refuse(name + " has shape " + to_string(a.shape) + ", needs (" + letters + ") = (" + numbers + ")" +
           (why.empty() ? "" : ": " + why) + fix);
  }

  std::map<std::string, std::pair<std::size_t, std::string>> values_;
};

void need_finite(const Arrays& arrays, const std::set<std::string>& outputs) {
  for (const auto& [name, a] : arrays) {
    if (outputs.count(name)) continue;
    for (std::size_t i = 0; i < a.data.size(); ++i)
      if (!std::isfinite(a.data[i]))
        refuse(name + " holds " + (std::isnan(a.data[i]) ? "NaN" : "an infinity") + " at flat place " +
               std::to_string(i) + "; parameters and inputs must be finite");
  }
}

// mask from lengths or padding; lengths from mask. B and T of what is masked.
void complete_mask(Arrays& arrays, std::size_t B, std::size_t T) {
  if (const Array* padding = find(arrays, "padding")) {
    Array mask = *padding;
    for (double& x : mask.data) x = x == 0 ? 1 : 0;
    arrays.emplace("mask", mask);
    arrays.erase("padding");
  }
  if (const Array* lengths = find(arrays, "lengths")) {
    Array flat = *lengths;
    if (flat.data.size() != B)
      refuse(shown("lengths", flat) + " needs one number for each of B = " + std::to_string(B));
    Array mask({B, T});
    for (std::size_t b = 0; b < B; ++b) {
      const double n = flat.data[b];
      if (!(n >= 0 && n <= static_cast<double>(T)) || n != std::floor(n))
        refuse("lengths[" + std::to_string(b) + "] = " + std::to_string(n) + " is no whole number from 0 to " +
               std::to_string(T));
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) mask.at({b, i}) = 1;
    }
    const Array* given = find(arrays, "mask");
    if (given && given->shape == mask.shape) {
      for (std::size_t i = 0; i < mask.data.size(); ++i)
        if ((given->data[i] != 0) != (mask.data[i] != 0))
          refuse("mask and lengths disagree at row " + std::to_string(i / T) + ", position " + std::to_string(i % T) +
                 "; mask is true for real positions (say key_padding_mask for the opposite)");
    }
    if (!given) arrays["mask"] = mask;
    arrays.erase("lengths");
  }
  if (const Array* mask = find(arrays, "mask")) {
    if (mask->shape != Dims{B, T})
      refuse("mask has shape " + to_string(mask->shape) + ", needs (B, T_enc) = " + to_string({B, T}));
    for (double x : mask->data)
      if (x != 0 && x != 1) refuse("mask holds " + std::to_string(x) + "; only true (1) and false (0) have a meaning");
  }
}

// ---- gates

// A part of a parameter that the file has in parts, and the shape of that part.
struct Part {
  std::string name;
  Dims shape;
};

// Puts parts side by side along an axis, in the place of all of them. Of a gradient some parts may be missing: absent is
// 1 there, under the same name. false where there is none, or one has another shape, which then stands there alone.
bool join(Arrays& bag, Arrays& absent, const std::string& whole, const std::vector<Part>& parts, std::size_t axis) {
  const auto there = [&](const Part& part) { return bag.count(part.name) > 0; };
  if (std::none_of(parts.begin(), parts.end(), there)) return false;
  for (const Part& part : parts) {
    if (!there(part) || bag[part.name].shape == part.shape) continue;
    const Array misfit = bag[part.name];
    for (const Part& any : parts) bag.erase(any.name);
    bag[whole] = misfit;
    return false;
  }
  Dims shape = parts[0].shape;
  shape[axis] = 0;
  for (const Part& part : parts) shape[axis] += part.shape[axis];
  Array all(shape), none(shape);
  const std::size_t rows = axis ? shape[0] : 1, width = rows ? all.data.size() / rows : 0;
  std::size_t column = 0;
  for (const Part& part : parts) {
    const Array own = there(part) ? bag[part.name] : Array(part.shape);
    const std::size_t n = rows ? own.data.size() / rows : 0;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t k = 0; k < n; ++k) {
        all.data[r * width + column + k] = own.data[r * n + k];
        none.data[r * width + column + k] = there(part) ? 0 : 1;
      }
    column += n;
  }
  const bool complete = std::all_of(parts.begin(), parts.end(), there);
  for (const Part& part : parts) bag.erase(part.name);
  bag[whole] = all;
  if (!complete) absent[whole] = none;
  return true;
}

// Whether these are the recurrent weights of a GRU or an LSTM whose gates come one by one.
bool has_separate_gates(const Arrays& values, const std::string& layer = "") {
  const auto has = [&](const char* name) { return values.count(name + layer) > 0; };
  return (has("U_r") && (has("U_z") || has("U_u"))) || (has("U_i") && has("U_f"));
}

// Stacks W_r, W_z, W_n (or W_i, W_f, W_g, W_o) into W, likewise U and b, of every layer, and their gradients. Returns
// the order.
std::string stack_gates(Arrays& values, Arrays& gradients, Arrays& absent, std::map<std::string, std::string>& read) {
  std::set<std::string> layers;
  for (const auto& [name, a] : values)
    if (const OfLayer own = of_layer(name); has_separate_gates(values, own.layer)) layers.insert(own.layer);
  std::string order;
  for (const std::string& layer : layers) {
    const auto has = [&](const std::string& name) { return values.count(name + layer) > 0; };
    const bool gru = has("U_r");
    std::vector<std::string> gates =
        gru ? std::vector<std::string>{"r", "z", "n"} : std::vector<std::string>{"i", "f", "g", "o"};
    order = gru ? "rzn" : "ifgo";
    // One letter a gate: b_c beside U_n is no gate's, it is the bias of Luong's W_c.
    const std::pair<const char*, const char*> letters[] = {{"z", "u"}, {"n", "h"}, {"n", "c"}, {"g", "c"}, {"g", "j"}};
    for (const auto& [gate, other] : letters)
      if (const auto at = std::find(gates.begin(), gates.end(), gate);
          at != gates.end() && !has("U_" + *at) && has(std::string("U_") + other))
        *at = other;
    for (const std::string kind : {"W", "U", "b", "b_u"}) {
      std::vector<Part> parts;
      std::string there;
      bool known_elsewhere = true;  // b_o is a readout's too
      for (const std::string& gate : gates) {
        const std::string name = kind + "_" + gate + layer;
        if (!values.count(name)) continue;
        parts.push_back({name, values[name].shape});
        there += (there.empty() ? "" : ", ") + name;
        known_elsewhere = known_elsewhere && !named(decoder_names(), name, false).name.empty();
      }
      if (kind[0] == 'b' && parts.size() != gates.size() && known_elsewhere) continue;
      if (parts.size() != gates.size())
        refuse("the gates " + order + " need one " + kind +
               " each; there are only: " + (there.empty() ? "none" : there));
      for (const Part& part : parts) {
        if (part.shape.empty()) refuse(shown(part.name, values[part.name]) + " is a single number");
        if (part.shape != parts[0].shape)
          refuse(part.name + " has shape " + to_string(part.shape) + ", but " + parts[0].name + " has " +
                 to_string(parts[0].shape) + "; all gates of a cell have one shape");
      }
      Arrays none;
      join(values, none, kind + layer, parts, 0);
      join(gradients, absent, kind + layer, parts, 0);
      read[kind + layer] = there;
    }
  }
  return order;
}

// Keras's bias of a GRU: (2, 3 d) with reset_after, else (3 d).
void split_keras_bias(Arrays& arrays) {
  for (const auto& [name, both] : Arrays(arrays)) {
    const OfLayer own = of_layer(name);
    if (own.stem != "b" || both.shape.size() != 2 || both.shape[0] != 2 || arrays.count("b_u" + own.layer)) continue;
    const std::size_t n = both.shape[1];
    const auto middle = both.data.begin() + static_cast<std::ptrdiff_t>(n);
    arrays[name] = Array({n}, {both.data.begin(), middle});
    arrays["b_u" + own.layer] = Array({n}, {middle, both.data.end()});
  }
}

// TensorFlow 1 keeps one kernel over [x, h], (d_in + d, gates * d): of all gates of an LSTM or an Elman cell; of a
// GRUCell one of the gates r and u, which is z, and one of the candidate. What a gradient is of, the parameters say.
class JointKernels {
 public:
  explicit JointKernels(const Arrays& values) {
    std::set<std::size_t> widths;  // that a state may have
    for (const auto& [name, a] : values) {
      const std::string decoder = named(decoder_names(), name, false).name;
      const std::string alone = named(recurrent_names(), name, false).name;
      const bool state = decoder == "s" || decoder == "s_0" || alone == "h" || alone == "h0" || alone == "h_n";
      if (!state || a.shape.empty() || !widths.empty()) continue;
      widths.insert(a.shape.back());
      const bool both = std::any_of(values.begin(), values.end(), [](const auto& entry) {
        return of_layer(with_dots(entry.first)).layer.ends_with("_reverse");
      });
      if (both && a.shape.back() % 2 == 0) widths.insert(a.shape.back() / 2);
    }
    for (const auto& [name, a] : values) {
      const OfLayer own = of_layer(with_dots(name));
      if (!own.stem.ends_with("kernel") || own.stem.ends_with("recurrent_kernel")) continue;
      const std::string path = own.stem.substr(0, own.stem.size() - 6);
      if (!path.empty() && path.back() != '.') continue;
      if (!named(decoder_names(), name, false).name.empty() || a.shape.size() != 2) continue;
      if (find_part(values, path + "recurrent_kernel", own.layer) != values.end()) continue;
      if (path.ends_with("gates.")) {
        add_gru(values, path.substr(0, path.size() - 6), own.layer);
        continue;
      }
      for (const std::size_t d : widths)
        if (!path.ends_with("candidate.") && a.shape[0] > d && (a.shape[1] == d || a.shape[1] == 4 * d)) {
          cells_.push_back({path, own.layer, false, d, {{name, a.shape}}, {}});
          break;
        }
    }
  }

  // As Keras has them: kernel (d_in, gates * d) and recurrent_kernel (d, gates * d).
  void split(Arrays& values, Arrays& gradients, Arrays& absent) const {
    for (const Cell& cell : cells_) {
      Arrays none;
      for (auto [bag, missing] : {std::pair(&values, &none), std::pair(&gradients, &absent)}) {
        if (join(*bag, *missing, cell.path + "kernel" + cell.layer, cell.kernels, 1))
          put(*bag, cell), put(*missing, cell);
        if (!cell.biases.empty()) join(*bag, *missing, cell.path + "bias" + cell.layer, cell.biases, 0);
      }
    }
  }

  bool found() const { return !cells_.empty(); }
  bool found_gru() const {
    return std::any_of(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.gru; });
  }
  // How a message calls the rows of x, W, and of h, U.
  void say_rows(std::map<std::string, std::string>& read) const {
    for (const Cell& cell : cells_) {
      if (!read.count("W" + cell.layer)) continue;
      const std::string n = std::to_string(cell.d_in()), kernel = "kernel" + cell.layer,
                        name = cell.gru ? "gates." + kernel + ", candidate." + kernel : kernel;
      read["W" + cell.layer] = name + "[:" + n + "]", read["U" + cell.layer] = name + "[" + n + ":]";
    }
  }

 private:
  struct Cell {
    std::string path, layer;
    bool gru;
    std::size_t d;
    std::vector<Part> kernels, biases;  // side by side; no biases: those of the file have their name already
    std::size_t d_in() const { return kernels[0].shape[0] - d; }
  };

  static Arrays::const_iterator find_part(const Arrays& bag, const std::string& stem, const std::string& layer) {
    return std::find_if(bag.begin(), bag.end(), [&](const auto& entry) {
      const OfLayer own = of_layer(with_dots(entry.first));
      return own.stem == stem && own.layer == layer;
    });
  }

  void add_gru(const Arrays& values, const std::string& path, const std::string& layer) {
    const auto part = [&](const char* tail) { return find_part(values, path + tail, layer); };
    const auto gates = part("gates.kernel"), candidate = part("candidate.kernel");
    const Dims g = gates->second.shape;
    if (candidate == values.end())
      refuse(shown(gates->first, gates->second) + " is TensorFlow 1's; candidate.kernel (d_in + d, d) is missing");
    const Dims n = candidate->second.shape;
    if (n.size() != 2 || n[0] != g[0] || 2 * n[1] != g[1] || n[0] <= n[1])
      refuse(shown(gates->first, gates->second) + " and " + shown(candidate->first, candidate->second) +
             " need (d_in + d, 2 d) and (d_in + d, d)");
    Cell cell{path, layer, true, n[1], {{gates->first, g}, {candidate->first, n}}, {}};
    const auto b = part("gates.bias"), b_n = part("candidate.bias");
    if (b != values.end() && b_n != values.end() && b->second.shape.size() == 1 && b_n->second.shape.size() == 1)
      cell.biases = {{b->first, b->second.shape}, {b_n->first, b_n->second.shape}};
    cells_.push_back(cell);
  }

  static void put(Arrays& bag, const Cell& cell) {
    const auto found = bag.find(cell.path + "kernel" + cell.layer);
    if (found == bag.end()) return;
    const Array all = found->second;
    const std::size_t columns = all.shape[1];
    const auto middle = all.data.begin() + static_cast<std::ptrdiff_t>(cell.d_in() * columns);
    found->second = Array({cell.d_in(), columns}, {all.data.begin(), middle});
    bag[cell.path + "recurrent_kernel" + cell.layer] = Array({cell.d, columns}, {middle, all.data.end()});
  }

  std::vector<Cell> cells_;
};

// Names of a cell's parameters that mean something else elsewhere: W_o, R, the bias of a layer called fc.
bool is_of_a_cell(const std::string& own) {
  static const std::set<std::string> whole = {"W", "R", "B", "kernel", "recurrent_kernel", "bias"};
  if (whole.count(own)) return true;
  const std::size_t n = own.size();
  const std::string kind = n > 2 ? own.substr(0, n - 2) : "", gates = "rzunhcifgjo";
  return (kind == "W" || kind == "U" || kind == "b" || kind == "b_u") && own[n - 2] == '_' &&
         gates.find(own[n - 1]) != std::string::npos;
}

// They are known by standing together. The path before them is cut off where one path alone has such a cell, and layers
// are spelled in one way. Returns what the file calls them.
std::map<std::string, std::string> cut_path_of_cell(Arrays& values, Arrays& gradients, bool attends) {
  const auto path_of = [](const std::string& dotted) { return dotted.substr(0, dotted.rfind('.') + 1); };
  std::map<std::string, Arrays> of_path;
  for (const auto& [name, a] : values) {
    const OfLayer own = of_layer(with_dots(name));
    const std::string path = path_of(own.stem);
    of_path[path][own.stem.substr(path.size())];
  }
  std::set<std::string> paths;
  for (const auto& [path, own] : of_path) {
    const bool of_encoder = attends && path.find("enc") != std::string::npos;
    const bool onnx = own.count("W") && own.count("R");
    const bool keras = own.count("recurrent_kernel") && !named(decoder_names(), path + "bias", false).name.empty();
    if (!of_encoder && (onnx || keras || has_separate_gates(own))) paths.insert(path);
  }
  std::map<std::string, std::string> called;
  if (paths.size() != 1) return called;
  const std::string path = *paths.begin();
  for (const auto& [name, a] : Arrays(values)) {
    const OfLayer own = of_layer(with_dots(name));
    const std::string stem = own.stem.substr(path_of(own.stem).size()), bare = stem + own.layer;
    if (path_of(own.stem) != path || !is_of_a_cell(stem) || bare == name || values.count(bare)) continue;
    for (Arrays* bag : {&values, &gradients})
      if (auto part = bag->extract(name)) part.key() = bare, bag->insert(std::move(part));
    called[bare] = name;
  }
  return called;
}

// ---- one kind of trace after the other

bool any(const Arrays& raw, const std::vector<TraceName>& table, std::initializer_list<const char*> wanted) {
  for (const auto& [name, a] : raw) {
    const CellName is = named(table, name, true);
    if (std::any_of(wanted.begin(), wanted.end(), [&](const char* want) { return is.name == want; })) return true;
  }
  return false;
}

Arrays rename(const Arrays& raw, const std::vector<TraceName>& table, bool cells, Trace& trace, bool gradients) {
  Arrays out;
  std::map<std::string, std::string> from;
  for (const auto& [name, a] : raw) {
    CellName is = named(table, name, cells);
    if (is.name.empty()) {
      if (!gradients) trace.ignored.push_back(name), trace.foreign[name] = a;
      continue;
    }
    // A whole model has an encoder too: its cell is not the decoder's.
    if (trace.kind == TraceKind::decoder && with_dots(name).find("encoder.") != std::string::npos && is.name != "H") {
      if (!gradients) trace.ignored.push_back(name);
      continue;
    }
    if (from.count(is.name))
      refuse("both " + from[is.name] + " and " + name + " are read as " + is.name + "; leave one out");
    from[is.name] = name;
    out[is.name] = is.transposed ? flipped(name, a) : a;
    if (!gradients) trace.read[is.name] = name;
  }
  // Tables know v_a as a column or a row of a matrix.
  for (const char* name : {"v_a", "b_v"})
    if (auto v = out.find(name);
        v != out.end() && v->second.shape.size() == 2 && (v->second.shape[0] == 1 || v->second.shape[1] == 1))
      v->second.shape = {v->second.data.size()};
  if (auto second = out.find("b_a2"); second != out.end()) {
    auto [first, fresh] = out.emplace("b_a", second->second);
    if (!fresh && !gradients) out["b_a_query"] = first->second;  // where each term has its own tanh
    if (!fresh && first->second.shape == second->second.shape && !gradients)
      for (std::size_t i = 0; i < first->second.data.size(); ++i) first->second.data[i] += second->second.data[i];
    out.erase("b_a2");
  }
  return out;
}

// ONNX's W, R, B, with the axis of directions or, of one direction, without it: R (gates * d, d) is nothing else then.
bool has_onnx_names(const Arrays& values) {
  const Array *W = find(values, "W"), *R = find(values, "R");
  if (!W || !R) return false;
  if (W->shape.size() == 3) return true;
  return W->shape.size() == 2 && R->shape.size() == 2 && W->dim(0) == R->dim(0) && R->dim(1) > 0 &&
         R->dim(0) % R->dim(1) == 0 && !any(values, recurrent_names(), {"U"});
}

// Whether 1s and 0s (rows, T) stand apart in every row, as those of lengths do.
bool is_of_lengths(const Array& mask) {
  for (std::size_t b = 0; b < mask.dim(0); ++b) {
    std::size_t changes = 0;
    const Row row = mask.row({b});
    for (std::size_t t = 1; t < row.size(); ++t) changes += (row[t] != 0) != (row[t - 1] != 0);
    if (changes > 1) return false;
  }
  return true;
}

// Under time_major an array without features may lie either way: PyTorch wants its padding mask batch first even then.
// The shape tells, or else a mask's rows; where B = T the other way round is kept, to be tried, too.
void bring_rows_to_the_front(Trace& trace, std::initializer_list<const char*> names, std::size_t B, std::size_t T) {
  for (const char* name : names) {
    const auto found = trace.arrays.find(name);
    if (found == trace.arrays.end() || found->second.shape != Dims{T, B}) continue;
    Array turned = swap_axes(found->second);
    if (T != B || (!is_of_lengths(found->second) && is_of_lengths(turned))) std::swap(found->second, turned);
    if (T != B || turned.data == found->second.data) continue;
    const bool inverted = std::string(name) == "padding";
    if (inverted)
      for (double& x : turned.data) x = x == 0 ? 1 : 0;
    trace.turned[inverted ? "mask" : name] = turned;
  }
}

// One example without a batch axis becomes a batch of one.
void add_batch(Arrays& arrays, std::initializer_list<const char*> names, std::size_t rank) {
  for (const char* name : names)
    if (auto a = arrays.find(name); a != arrays.end() && a->second.shape.size() + 1 == rank)
      a->second.shape.insert(a->second.shape.begin(), 1);
}

// Scores that were dumped behind their mask hold its fill, -1e9 or -infinity, and nothing else there: what they say stands
// in the weights that are made of them.
void read_masked_scores(Trace& trace, std::size_t B, std::size_t T_enc) {
  Arrays& a = trace.arrays;
  const Array* e = find(a, "e");
  if (!e || e->shape.size() != 3 || e->dim(0) != B || e->dim(2) != T_enc) return;
  constexpr double far_below = -1e3;
  double least_fill = 0, most = 0;
  std::size_t filled = 0;
  for (double x : e->data) {
    if (x < far_below) ++filled, least_fill = filled == 1 ? x : std::max(least_fill, x);
    else most = std::max(most, std::fabs(x));
  }
  if (!filled || filled == e->data.size() || !std::isfinite(most) || -least_fill < 100 * most) return;
  Array weights = *e, real({B, T_enc}, Vec(B * T_enc, 1));
  bool same_at_all_steps = true;
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t t = 0; t < e->dim(1); ++t) {
      const Row scores = e->row({b, t});
      Vec row(scores.begin(), scores.end());
      double sum = 0;
      for (std::size_t i = 0; i < T_enc; ++i) {
        const bool here = row[i] >= far_below;
        if (t == 0) real.at({b, i}) = here;
        else same_at_all_steps = same_at_all_steps && real.at({b, i}) == (here ? 1 : 0);
        row[i] = here ? std::exp(row[i] - most) : 0;
        sum += row[i];
      }
      if (sum == 0) return;  // nothing but fill
      for (double& x : row) x /= sum;
      weights.set_row({b, t}, row);
    }
  const std::string name = trace.read["e"];
  a.erase("e");
  std::string en = name + " was dumped behind its mask", zh = name + " 是加掩码之后导出的";
  if (!find(a, "alpha")) a["alpha"] = weights, en += ": the weights are its softmax", zh += "：权重取其 softmax";
  else en += ": it is seen through the weights", zh += "：通过权重检查";
  if (!find(a, "mask") && same_at_all_steps)
    a["mask"] = real, en += ", and what it fills is taken for the mask", zh += "，被填充的位置当作掩码";
  trace.notes.push_back({en, zh});
}

// Whether states (B, T, d_s) begin with others than these (B, d_s). Where nothing else tells how many steps there are,
// the first ones are not among them then.
bool starts_elsewhere(const Array& states, const Array& first) {
  if (first.shape != Dims{states.dim(0), states.dim(2)}) return false;
  double most = 0, size = 0;
  for (std::size_t b = 0; b < states.dim(0); ++b)
    for (std::size_t k = 0; k < states.dim(2); ++k) {
      most = std::max(most, std::fabs(states.at({b, 0, k}) - first.at({b, k})));
      size = std::max(size, std::fabs(first.at({b, k})));
    }
  constexpr double by_more_than_rounding = 0.05;
  return most > by_more_than_rounding * size;
}

void read_decoder(Trace& trace) {
  Arrays& a = trace.arrays;
  const std::initializer_list<const char*> sequences = {"H",     "y_emb", "s",      "m",      "e",
                                                        "alpha", "c",     "htilde", "logits", "query"};
  const bool single_example = get(a, "H").shape.size() == 2;
  if (single_example) add_batch(a, {"lengths"}, 1);
  for (Arrays* bag : {&a, &trace.gradients}) {
    if (single_example) {
      add_batch(*bag, sequences, 3);
      add_batch(*bag, {"s_0", "cell_0", "mask", "padding", "y_mask", "targets"}, 2);
    }
    if (trace.meta.layout == "time_major")
      for (const char* name : sequences)
        if (auto found = bag->find(name); found != bag->end()) found->second = swap_axes(found->second);
  }
  if (get(a, "H").shape.size() != 3) refuse(shown("H", get(a, "H")) + " needs (B, T_enc, d_h)");
  const std::size_t B = get(a, "H").shape[0], T_enc = get(a, "H").shape[1];
  for (Arrays* bag : {&a, &trace.gradients}) {
    // A single step may come without its time axis.
    for (const char* name : {"y_emb", "e", "alpha", "c", "htilde", "logits", "query"})
      if (auto found = bag->find(name);
          found != bag->end() && found->second.shape.size() == 2 && found->second.shape[0] == B)
        found->second.shape.insert(found->second.shape.begin() + 1, 1);
    for (const char* name : {"s_0", "cell_0"})
      if (auto found = bag->find(name);
          found != bag->end() && found->second.shape.size() == 3 && found->second.shape[0] == 1)
        found->second.shape.erase(found->second.shape.begin());
  }
  if (trace.meta.layout == "time_major") {
    bring_rows_to_the_front(trace, {"mask", "padding"}, B, T_enc);
    std::size_t steps = 0;
    for (const char* name : {"y_emb", "logits", "alpha", "e", "c", "htilde"})
      if (const Array* y = find(a, name); y && y->shape.size() == 3) steps = y->shape[1];
    bring_rows_to_the_front(trace, {"y_mask", "targets"}, B, steps);
  }
  complete_mask(a, B, T_enc);
  if (B == 0 || T_enc == 0) refuse(shown("H", get(a, "H")) + " is empty; give at least one example and one position");

  if (const Array* W = find(a, "W"); W && W->shape.size() != 2)
    refuse(shown(trace.read["W"], *W) + " should be a matrix");
  Symbols is;
  is.need(a, "H", {"B", "T_enc", "d_h"});
  is.need(a, "y_emb", {"B", "T_dec", "d_emb"});
  is.need(a, "alpha", {"B", "T_dec", "T_enc"});
  is.need(a, "e", {"B", "T_dec", "T_enc"});
  if (const Array* c = find(a, "c"); c && c->shape.size() == 3 && c->shape[2] != get(a, "H").shape[2]) {
    is.need(a, "c", {"B", "T_dec", "d_v"});  // values may be projected
  } else {
    is.need(a, "c", {"B", "T_dec", "d_h"});
  }
  is.need(a, "query", {"B", "T_dec", "d_q"});
  is.need(a, "htilde", {"B", "T_dec", "d_htilde"});
  is.need(a, "logits", {"B", "T_dec", "vocab"});
  is.need(a, "targets", {"B", "T_dec"});
  const std::size_t T_dec = is.value("T_dec");
  if (T_dec) is.set("T_dec + 1", T_dec + 1, "T_dec = " + std::to_string(T_dec) + " steps");
  for (const auto& [name, of_first] : {std::pair("s", "s_0"), std::pair("m", "cell_0")}) {
    auto s = a.find(name);
    if (s == a.end() || s->second.shape.size() != 3 || s->second.shape[1] == 0) continue;
    const Array* first = find(a, of_first);
    if (T_dec ? s->second.shape[1] != T_dec : !(first && starts_elsewhere(s->second, *first))) continue;
    if (!first || first->shape != Dims{B, s->second.shape[2]})
      refuse(std::string(name) + " has shape " + to_string(s->second.shape) + ", needs (B, T_dec + 1, d_s) with " +
             name + "[:, 0] = " + of_first + ", T_dec = " + std::to_string(T_dec) + "; put " + of_first +
             " in front or give it as " + of_first + " (B, d_s)");
    const std::size_t steps = s->second.shape[1], d_s = s->second.shape[2];
    Array whole({B, steps + 1, d_s});
    for (std::size_t b = 0; b < B; ++b) {
      whole.set_row({b, 0}, first->row({b}));
      for (std::size_t t = 0; t < steps; ++t) whole.set_row({b, t + 1}, s->second.row({b, t}));
    }
    s->second = whole;
  }
  is.need(a, "s", {"B", "T_dec + 1", "d_s"});
  is.need(a, "m", {"B", "T_dec + 1", "d_s"});
  is.need(a, "U", {"gates d_s", "d_s"});
  is.need(a, "s_0", {"B", "d_s"});
  is.need(a, "cell_0", {"B", "d_s"});
  is.need(a, "W", {"gates d_s", "input"});
  is.need(a, "b", {"gates d_s"});
  is.need(a, "b_u", {"gates d_s"});
  if (find(a, "W") && find(a, "U")) {
    const Array& U = get(a, "U");
    const std::size_t gates = U.shape[1] ? U.shape[0] / U.shape[1] : 0;
    if (gates * U.shape[1] != U.shape[0] || (gates != 1 && gates != 3 && gates != 4))
      refuse(shown(trace.read["U"], U) + " needs (gates * d_s, d_s) with 1 (Elman), 3 (GRU) or 4 (LSTM) gates");
  }
  is.need(a, "v_a", {"d_attn"});
  if (find(a, "U_a")) {
    is.need(a, "U_a", {"d_attn", "d_h"});
    is.need(a, "b_a", {"d_attn"});
    if (const Array* W_a = find(a, "W_a")) {
      const std::size_t d_s = is.value("d_s"), d_q = is.value("d_q"), d_emb = is.value("d_emb"), n = W_a->dim(0);
      const std::size_t q = W_a->shape.size() == 2 ? W_a->shape[1] : 0;
      const bool fits =
          W_a->shape.size() == 2 && n == is.value("d_attn") &&
          (q == d_s || q == d_q || q == d_emb || q == d_emb + d_s || q == is.value("d_h") || (d_s && q % d_s == 0));
      if (!fits && (d_s || d_q)) is.need(a, "W_a", {"d_attn", d_s ? "d_s" : "d_q"});
    }
  }
  is.need(a, "W_o", {"vocab", "readout"});
  is.need(a, "b_o", {"vocab"});
  is.need(a, "W_c", {"d_htilde", "joined"});
  is.need(a, "b_c", {"d_htilde"});
  is.need(a, "U_o", {"2 pairs", "d_s"});
  is.need(a, "V_o", {"2 pairs", "d_emb"});
  is.need(a, "C_o", {"2 pairs", "d_h"});
  for (const auto& [name, of_first] : {std::pair("s", "s_0"), std::pair("m", "cell_0")}) {
    const Array* s = find(a, name);
    if (!s || find(a, of_first)) continue;
    Array first({B, s->shape[2]});
    for (std::size_t b = 0; b < B; ++b) first.set_row({b}, s->row({b, 0}));
    a[of_first] = first;
  }
  for (std::size_t l = 1; find(a, "W_l" + std::to_string(l)); ++l) trace.layers = l + 1;
  read_masked_scores(trace, B, T_enc);
  need_finite(a, {"s", "m", "e", "alpha", "c", "htilde", "logits", "loss"});
}

// Where the real positions do not come first, they are brought to the front, and what is handed out at the others behind
// them. Where that is the output before (zeros before any), as Keras has it, it says nothing more and becomes zeros.
struct Moved {
  bool any = false, held = false;
};
Moved bring_to_the_front(Arrays& arrays, Arrays& gradients, std::size_t directions, double near) {
  const Array mask = get(arrays, "mask");
  const std::size_t B = mask.dim(0), T = mask.dim(1);
  std::vector<std::vector<std::size_t>> from(B);
  Moved moved;
  for (std::size_t b = 0; b < B; ++b) {
    for (const bool real : {true, false})
      for (std::size_t t = 0; t < T; ++t)
        if ((mask.at({b, t}) != 0) == real) from[b].push_back(t);
    moved.any = moved.any || !std::is_sorted(from[b].begin(), from[b].end());
  }
  if (!moved.any) return moved;
  if (auto found = arrays.find("h"); found != arrays.end() && found->second.shape.size() == 3) {
    Array& h = found->second;
    const std::size_t d = h.dim(2) / directions;
    Array zeros = h;
    moved.held = true;
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t k = 0; k < directions; ++k) {
        Vec last(d);
        for (std::size_t step = 0; step < T; ++step) {
          const std::size_t t = k ? T - 1 - step : step;
          double* out = &h.data[(b * T + t) * h.dim(2) + k * d];
          for (std::size_t j = 0; j < d; ++j) {
            if (mask.at({b, t}) != 0) last[j] = out[j];
            else moved.held = moved.held && std::fabs(out[j] - last[j]) <= near, zeros.at({b, t, k * d + j}) = 0;
          }
        }
      }
    if (moved.held) h = zeros;
  }
  for (Arrays* bag : {&arrays, &gradients})
    for (const char* name : {"x", "h", "c", "mask", "real"}) {
      auto found = bag->find(name);
      if (found == bag->end() || found->second.shape.size() < 2 || found->second.dim(0) != B ||
          found->second.dim(1) != T)
        continue;
      const Array own = found->second;
      const std::size_t n = own.data.size() / (B * T);
      for (std::size_t b = 0; b < B; ++b)
        for (std::size_t t = 0; t < T; ++t)
          for (std::size_t j = 0; j < n; ++j)
            found->second.data[(b * T + t) * n + j] = own.data[(b * T + from[b][t]) * n + j];
    }
  return moved;
}

double near(const Trace& trace) { return trace.single ? 1e-5 : 1e-9; }

// A mask that may begin with padding or have holes. A masked step leaves the state as it is, so the real positions alone
// are the run.
void bring_real_positions_to_the_front(Trace& trace) {
  if (!find(trace.arrays, "mask")) return;
  Arrays own;
  for (const char* name : {"x", "h", "c", "mask"})
    if (const Array* a = find(trace.arrays, name)) own[name] = *a;
  const Moved moved = bring_to_the_front(trace.arrays, trace.gradients, trace.directions, near(trace));
  if (!moved.any) return;
  trace.as_padded = own;
  trace.notes.push_back(
      {std::string("the mask's real positions do not come first; a masked step is expected to keep the state") +
           (moved.held ? ", and the output before it is handed out again, zeros before the first" : ""),
       std::string("掩码的有效位置不在前面；被遮住的一步应当保持状态不变") +
           (moved.held ? "，并再次给出之前的输出（第一步之前为零）" : "")});
}

// One number that stands behind all ends, such as pad_packed_sequence's padding_value, says no more than a zero there.
void read_padding_value_as_zero(Trace& trace) {
  const Array* mask = find(trace.arrays, "mask");
  const auto found = trace.arrays.find("h");
  if (!mask || found == trace.arrays.end()) return;
  Array& h = found->second;
  std::vector<double*> behind;
  for (std::size_t row = 0, width = h.dim(2); row < mask->data.size(); ++row)
    for (std::size_t k = 0; k < width && mask->data[row] == 0; ++k) behind.push_back(&h.data[row * width + k]);
  if (behind.size() < 2 || *behind[0] == 0) return;
  const double value = *behind[0];
  if (!std::all_of(behind.begin(), behind.end(),
                   [&](const double* x) { return *x == value || (std::isnan(*x) && std::isnan(value)); }))
    return;
  for (double* x : behind) *x = 0;
  std::ostringstream text;
  text << value;
  trace.behind_the_end = {"outputs behind the end are " + text.str() + ", a padding value",
                          "结束之后的输出为填充值 " + text.str()};
}

// ONNX's W, R (directions, gates * d, ...) and B (directions, 2 * gates * d), or their gradients, under our names.
void split_by_direction(Arrays& bag, std::size_t directions) {
  for (const auto& [name, parts] : {std::pair("W", 1), std::pair("U", 1), std::pair("b", 2)}) {
    const auto found = bag.find(name);
    if (found == bag.end() || found->second.shape.size() < 2 || found->second.shape[0] != directions) continue;
    const Array all = found->second;
    const std::size_t halves = static_cast<std::size_t>(parts), n = all.data.size() / directions / halves;
    Dims shape(all.shape.begin() + 1, all.shape.end());
    shape[0] /= halves;
    for (std::size_t k = 0; k < directions * halves; ++k) {
      const auto start = all.data.begin() + static_cast<std::ptrdiff_t>(k * n);
      const std::string ours = std::string(name) + (k % halves ? "_u" : "") + (k / halves ? "_reverse" : "");
      bag[ours] = Array(shape, {start, start + static_cast<std::ptrdiff_t>(n)});
    }
  }
}

// ONNX's Y (T, directions, B, d), or (B, T, directions, d) with layout = 1, and what comes with it.
void bring_batch_first(Arrays& bag, bool already) {
  if (already) {
    for (const char* name : {"h0", "c0"})
      if (auto first = bag.find(name); first != bag.end()) first->second = swap_axes(first->second);
  } else if (auto x = bag.find("x"); x != bag.end()) {
    x->second = swap_axes(x->second);
  }
  const auto found = bag.find("h");
  if (found == bag.end() || found->second.shape.size() != 4) return;
  Array& Y = found->second;
  if (!already) {
    const Array own = Y;
    const std::size_t T = own.shape[0], D = own.shape[1], B = own.shape[2], d = own.shape[3];
    Y = Array({B, T, D, d});
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t k = 0; k < D; ++k)
        for (std::size_t b = 0; b < B; ++b)
          for (std::size_t j = 0; j < d; ++j) Y.at({b, t, k, j}) = own.at({t, k, b, j});
  }
  Y.shape = {Y.shape[0], Y.shape[1], Y.shape[2] * Y.shape[3]};
}

void read_recurrent(Trace& trace) {
  Arrays& a = trace.arrays;
  Arrays& g = trace.gradients;
  for (const char* name : {"W", "U"})
    if (!find(a, name))
      refuse(std::string("a recurrent cell needs ") +
             (name[0] == 'W' ? "W_ih (gates * d, d_in)" : "W_hh (gates * d, d)") +
             ", and it is missing; it may also be called " +
             (name[0] == 'W' ? "weight_ih, kernel or W" : "weight_hh, recurrent_kernel or U"));
  bool axes_of_onnx = false;  // Y tells the layout of all
  if (trace.framework == "ONNX") {
    const Array W = get(a, "W"), U = get(a, "U");
    if (W.shape.size() != 3 || U.shape.size() != 3 || W.shape[0] != U.shape[0] || W.shape[0] < 1 || W.shape[0] > 2)
      refuse("ONNX's W and R need (directions, gates * d, ...), got " + shown("W", W) + " and " + shown("R", U));
    trace.directions = W.shape[0];
    if (const Array* B = find(a, "b"); B && (B->shape != Dims{trace.directions, 2 * U.shape[1]}))
      refuse(shown("B", *B) + " needs (directions, 2 * gates * d) = " + to_string({trace.directions, 2 * U.shape[1]}));
    for (Arrays* bag : {&a, &g}) split_by_direction(*bag, trace.directions);
    const Array* Y = find(a, "h") ? find(a, "h") : find(g, "h");
    if (Y && Y->shape.size() == 4) {
      axes_of_onnx = true;
      const std::size_t D = trace.directions;
      const bool batch_first = Y->shape[2] == D && (Y->shape[1] != D || trace.meta.layout != "time_major");
      if (!batch_first && Y->shape[1] != D)
        refuse(shown("Y", *Y) + " has no axis of " + std::to_string(D) + " directions");
      for (Arrays* bag : {&a, &g}) bring_batch_first(*bag, batch_first);
    }
  }
  for (Arrays* bag : {&a, &g}) split_keras_bias(*bag);
  const Array &W = get(a, "W"), &U = get(a, "U");
  if (W.shape.size() != 2 || U.shape.size() != 2)
    refuse("W and U should be matrices (gates * d, d_in) and (gates * d, d), got " + shown(trace.read["W"], W) +
           " and " + shown(trace.read["U"], U));
  const std::size_t d = U.shape[1], gates = d ? U.shape[0] / d : 0;
  if (d == 0 || gates * d != U.shape[0] || (gates != 1 && gates != 3 && gates != 4))
    refuse(shown(trace.read["U"], U) + " needs (gates * d, d) with 1 (Elman), 3 (GRU) or 4 (LSTM) gates" +
           (U.shape[0] && U.shape[1] % U.shape[0] == 0 ? "; it looks transposed" : ""));
  if (find(a, "U_reverse")) trace.directions = 2;
  for (std::size_t l = 1; find(a, "W_l" + std::to_string(l)); ++l) trace.layers = l + 1;
  if (trace.meta.layout == "time_major" && !axes_of_onnx)
    for (const char* name : {"x", "h", "c"})
      for (Arrays* bag : {&a, &g})
        if (auto found = bag->find(name); found != bag->end() && found->second.shape.size() == 3)
          found->second = swap_axes(found->second);
  // One step of a cell: (B, d) becomes (B, 1, d).
  if (get(a, "x").shape.size() == 2)
    for (const char* name : {"x", "h", "c"})
      for (Arrays* bag : {&a, &g})
        if (auto found = bag->find(name); found != bag->end() && found->second.shape.size() == 2)
          found->second.shape.insert(found->second.shape.begin() + 1, 1);
  const std::size_t states = trace.layers * trace.directions;
  for (const char* name : {"h0", "c0", "h_n", "c_n"})
    for (Arrays* bag : {&a, &g})
      if (auto found = bag->find(name); found != bag->end() && found->second.shape.size() == 2 && states == 1)
        found->second.shape.insert(found->second.shape.begin(), 1);
  Symbols is;
  is.set("states", states,
         std::to_string(trace.layers) + " layers, " + std::to_string(trace.directions) + " directions");
  is.need(a, "U", {"gates d", "d"});
  is.need(a, "W", {"gates d", "d_in"});
  is.need(a, "b", {"gates d"});
  is.need(a, "b_u", {"gates d"});
  is.need(a, "x", {"B", "T", "d_in"});
  const std::size_t B = is.value("B"), T = is.value("T");
  if (B == 0 || T == 0) refuse(shown("x", get(a, "x")) + " is empty; give at least one example and one step");
  is.need(a, "h0", {"states", "B", "d"});
  is.need(a, "c0", {"states", "B", "d"});
  is.need(a, "h_n", {"states", "B", "d"});
  is.need(a, "c_n", {"states", "B", "d"});
  is.need(a, "h", {"B", "T", "width"});
  const std::size_t width = is.value("width");
  if (width && width != d && width != trace.directions * d)
    refuse(shown("h", get(a, "h")) + " needs (B, T, " + std::to_string(trace.directions) +
           " * d), d = " + std::to_string(d) + " from " + shown(trace.read["U"], U));
  if (trace.meta.layout == "time_major") bring_rows_to_the_front(trace, {"mask", "padding"}, B, T);
  complete_mask(a, B, T);
  bring_real_positions_to_the_front(trace);
  read_padding_value_as_zero(trace);
  need_finite(a, {"h", "c", "h_n", "c_n", "start"});
}

// What needs a projection that is missing cannot be checked, and says nothing against the rest.
void leave_out_what_no_projection_gives(Trace& trace) {
  Arrays& a = trace.arrays;
  if (!find(a, "W_Q") && !find(a, "W_K") && !find(a, "W_V")) return;
  std::string missing;
  std::vector<const char*> open;
  for (const char* name : {"W_Q", "W_K"})
    if (!find(a, name)) missing += (missing.empty() ? "" : ", ") + std::string(name), open = {"alpha", "output"};
  if (!find(a, "W_V")) {
    missing += (missing.empty() ? "" : ", ") + std::string("W_V");
    if (open.empty()) open = {"output"};
  }
  if (missing.empty()) return;
  std::string en, zh;
  const auto say = [&](const char* more, const char* more_zh) {
    en += (en.empty() ? "" : ", ") + std::string(more), zh += (zh.empty() ? "" : "、") + std::string(more_zh);
  };
  for (const char* name : open)
    if (a.erase(name)) say(name, name);
  if (!trace.gradients.empty()) trace.gradients.clear(), say("the gradients", "梯度");
  if (!en.empty())
    trace.notes.push_back({"not checked, as arrays are missing (" + missing + "): " + en,
                           "因缺少数组（" + missing + "）而没有检查：" + zh});
}

void read_multi_head(Trace& trace) {
  Arrays& a = trace.arrays;
  if (auto memory = a.find("memory"); memory != a.end()) {
    a.emplace("key", memory->second);
    a.emplace("value", memory->second);
    a.erase("memory");
  }
  if (find(a, "query")) {
    a.emplace("key", get(a, "query"));
    a.emplace("value", get(a, "key"));
  }
  for (const char* name : {"query", "key", "value"}) {
    auto found = a.find(name);
    if (found == a.end()) refuse(std::string("multi-head attention needs ") + name + " (B, T, d)");
    if (found->second.shape.size() == 2) found->second.shape.insert(found->second.shape.begin(), 1);
    if (trace.meta.layout == "time_major") found->second = swap_axes(found->second);
    if (found->second.shape.size() != 3) refuse(shown(name, found->second) + " needs (B, T, d)");
  }
  if (trace.meta.layout == "time_major") {
    for (const char* name : {"query", "key", "value"})
      if (auto found = trace.gradients.find(name); found != trace.gradients.end())
        found->second = swap_axes(found->second);
    const Array& query = get(a, "query");
    const std::size_t B = query.dim(0), T_q = query.dim(1);
    // Some transpose before they dump what comes out, others do not.
    if (const Array* output = find(a, "output"); output && output->shape.size() == 3) {
      const bool turns = output->dim(0) == T_q && output->dim(1) == B;
      if (turns && T_q == B) trace.turned["output"] = *output;
      for (Arrays* bag : {&a, &trace.gradients})
        if (auto found = bag->find("output"); turns && found != bag->end()) found->second = swap_axes(found->second);
    } else if (auto found = trace.gradients.find("output"); found != trace.gradients.end()) {
      found->second = swap_axes(found->second);
    }
    bring_rows_to_the_front(trace, {"mask", "padding"}, B, get(a, "key").dim(1));
  }
  for (Arrays* bag : {&a, &trace.gradients}) {
    if (auto all = bag->find("in_proj"); all != bag->end()) {
      if (all->second.shape.size() != 2 || all->second.shape[0] % 3)
        refuse(shown("in_proj_weight", all->second) + " needs (3 d, d)");
      const std::size_t rows = all->second.shape[0] / 3, columns = all->second.shape[1];
      const Array* bias = find(*bag, "in_proj_bias");
      const char* names[] = {"Q", "K", "V"};
      for (std::size_t k = 0; k < 3; ++k) {
        const auto part = [&](const Array& from, std::size_t n) {
          const auto start = from.data.begin() + static_cast<std::ptrdiff_t>(k * n);
          return Vec(start, start + static_cast<std::ptrdiff_t>(n));
        };
        (*bag)[std::string("W_") + names[k]] = Array({rows, columns}, part(all->second, rows * columns));
        if (bias) {
          if (bias->data.size() != 3 * rows)
            refuse(shown("in_proj_bias", *bias) + " needs (3 d) = " + std::to_string(3 * rows));
          (*bag)[std::string("b_") + names[k]] = Array({rows}, part(*bias, rows));
        }
      }
      bag->erase("in_proj");
      bag->erase("in_proj_bias");
    }
  }
  leave_out_what_no_projection_gives(trace);
  const std::size_t B = get(a, "query").shape[0], T_k = get(a, "key").shape[1];
  complete_mask(a, B, T_k);
  Symbols is;
  is.need(a, "query", {"B", "T_q", "d_q"});
  is.need(a, "key", {"B", "T_k", "d_k"});
  is.need(a, "value", {"B", "T_k", "d_v"});
  is.need(a, "W_Q", {"heads d_k", "d_q"});
  is.need(a, "W_K", {"heads d_k", "d_k"});
  if (auto alpha = a.find("alpha"); alpha != a.end()) {
    Array& w = alpha->second;
    if (w.shape.size() == 2 && B == 1) w.shape.insert(w.shape.begin(), 1);
    if (w.shape.size() == 3 && w.shape[0] != B && B && w.shape[0] % B == 0)
      w.shape = {B, w.shape[0] / B, w.shape[1], w.shape[2]};
    if (w.shape.size() == 4) is.need(a, "alpha", {"B", "heads", "T_q", "T_k"});
    else is.need(a, "alpha", {"B", "T_q", "T_k"});
    if (w.shape.size() == 4 && !trace.meta.heads) trace.meta.heads = w.shape[1];
  }
  if (auto out = a.find("output"); out != a.end() && out->second.shape.size() == 2 && B == 1)
    out->second.shape.insert(out->second.shape.begin(), 1);
  is.need(a, "output", {"B", "T_q", "d_out"});
  trace.heads_known = trace.meta.heads > 0 || !a.count("W_Q");
  if (!trace.meta.heads) trace.meta.heads = 1;
  need_finite(a, {"alpha", "output"});
}

}  // namespace

Arrays under_another_mask(const Trace& trace, const Array& mask) {
  Arrays arrays = trace.arrays, none;
  for (const auto& [name, a] : trace.as_padded) arrays[name] = a;
  arrays["real"] = get(arrays, "mask"), arrays["mask"] = mask;
  bring_to_the_front(arrays, none, trace.directions, near(trace));
  return arrays;
}

Trace make_trace(Arrays raw, const Meta& meta, bool single) {
  Trace trace;
  trace.meta = meta;
  trace.single = single;
  if (raw.empty()) refuse("there is no array in it; ./gradus diagnose --help lists the names");
  if (!meta.layout.empty() && meta.layout != "time_major")
    refuse("meta.json: no layout is called \"" + meta.layout +
           "\"; \"time_major\" says that sequences are (T, B, ...), batch first needs no word");
  for (const auto& [name, a] : raw) {
    std::size_t n = 1;
    for (std::size_t d : a.shape) n *= d;
    if (n != a.data.size()) refuse(shown(name, a) + " holds " + std::to_string(a.data.size()) + " numbers");
  }
  Arrays values, gradients;
  for (const auto& [name, a] : raw) {
    if (name.rfind("grad_", 0) == 0) gradients[name.substr(5)] = a;
    else values[name] = a;
  }
  name_as_values(gradients, values);
  for (const auto& [name, a] : Arrays(values)) {
    if (!is_of_another_layer(values, name)) continue;
    trace.ignored.push_back(name), trace.foreign[name] = a;
    values.erase(name), gradients.erase(name);
  }
  const std::map<std::string, std::string> called =
      cut_path_of_cell(values, gradients, any(values, decoder_names(), {"H"}));
  const bool onnx = has_onnx_names(values);
  if (onnx) {
    const bool without_axis = values["W"].shape.size() == 2;  // of directions, where there is one
    for (Arrays* bag : {&values, &gradients}) {
      for (const auto& [theirs, ours] : {std::pair("R", "U"), std::pair("B", "b")})
        if (auto found = bag->find(theirs); found != bag->end()) {
          const Array a = found->second;
          bag->erase(found), (*bag)[ours] = a;
        }
      for (const char* name : {"W", "U", "b"})
        if (auto found = bag->find(name); found != bag->end() && without_axis) {
          Array& a = found->second;
          if (name[0] == 'b') a.shape = {a.data.size()};  // (2, gates * d) are the same numbers
          a.shape.insert(a.shape.begin(), 1);
        }
    }
  }
  Arrays absent;
  const JointKernels joint(values);
  joint.split(values, gradients, absent);
  // linear_query is a head's projection, or that of an additive score.
  const bool steps = any(values, decoder_names(), {"H"}) && any(values, decoder_names(), {"y_emb", "s", "v_a"});
  const bool heads = (!steps && any(values, multi_head_names(), {"in_proj", "W_Q"})) ||
                     (values.count("Q") && values.count("K")) || meta.topic == "multi_head";
  const bool decoder = !heads && any(values, decoder_names(), {"H"}) &&
                       any(values, decoder_names(), {"alpha", "c", "s", "e", "htilde", "logits"});
  const bool separate_gates = has_separate_gates(values);
  const bool cell = any(values, recurrent_names(), {"U"}) || separate_gates;
  const bool recurrent = !heads && !decoder && cell && any(values, recurrent_names(), {"x"}) &&
                         any(values, recurrent_names(), {"h", "h_n"});
  if (!meta.topic.empty() && meta.topic != "multi_head") {
    trace.arrays = std::move(raw);
    return trace;
  }
  if (!heads && !decoder && !recurrent) {
    trace.arrays = std::move(raw);
    return trace;
  }
  trace.kind = heads ? TraceKind::multi_head : decoder ? TraceKind::decoder : TraceKind::recurrent;
  const auto& table = heads ? multi_head_names() : decoder ? decoder_names() : recurrent_names();
  if (decoder && values.count("h") && values.count("s")) values.erase("h");
  const auto spelled = [&](const char* part) {
    return std::any_of(values.begin(), values.end(),
                       [&](const auto& entry) { return entry.first.find(part) != std::string::npos; });
  };
  if (spelled("linear_in") || spelled("linear_context") || spelled("memory_bank")) trace.framework = "OpenNMT";
  else if (spelled("kernel")) trace.framework = "Keras";
  else if (spelled("weight_ih") || spelled("in_proj_weight")) trace.framework = "PyTorch";
  if (onnx) trace.framework = "ONNX";
  if (joint.found()) trace.framework = "TensorFlow 1";
  // Gates that came one by one are stacked before anything else looks like W_o.
  const std::string order =
      separate_gates && !heads ? stack_gates(values, gradients, absent, trace.read) : std::string();
  const std::map<std::string, std::string> stacked = trace.read;
  trace.arrays = rename(values, table, !heads, trace, false);
  for (const auto& [name, file] : stacked) trace.read[name] = file;
  trace.gradients = rename(gradients, table, !heads, trace, true);
  trace.absent = rename(absent, table, !heads, trace, true);
  trace.gates_by_name = joint.found_gru() ? "rzn" : order;
  joint.say_rows(trace.read);
  for (auto& [name, file] : trace.read)
    if (const auto whole = called.find(file); whole != called.end()) file = whole->second;
  if (trace.kind == TraceKind::decoder) {
    for (Arrays* bag : {&trace.arrays, &trace.gradients}) split_keras_bias(*bag);
    read_decoder(trace);
  } else if (trace.kind == TraceKind::recurrent) {
    read_recurrent(trace);
  } else {
    read_multi_head(trace);
  }
  std::sort(trace.ignored.begin(), trace.ignored.end());
  return trace;
}

std::string missing_part(const Arrays& raw) {
  const auto has = [&](const std::vector<TraceName>& table, std::initializer_list<const char*> names) {
    return any(raw, table, names);
  };
  const auto& cell = recurrent_names();
  const bool W = has(cell, {"W", "W_r", "W_i"}), U = has(cell, {"U", "U_r", "U_i"});
  const bool x = has(cell, {"x"}), h = has(cell, {"h", "h_n"});
  const bool H = has(decoder_names(), {"H"});
  const bool made = has(decoder_names(), {"alpha", "c", "s", "e", "htilde", "logits"});
  const bool attends = has(decoder_names(), {"alpha", "e", "htilde", "W_a", "U_a", "v_a", "W_c"});
  for (const auto& [name, a] : raw)
    if (W && !U && with_dots(name).ends_with("kernel"))
      return shown(name, a) +
             " is there, and recurrent_kernel (d, gates * d) is not. One kernel over [x, h], as TensorFlow 1 has it, "
             "is "
             "(d_in + d, 4 d) for an LSTM and needs h or h0 beside it, whose last axis is d; a GRUCell has "
             "gates.kernel "
             "(d_in + d, 2 d) and candidate.kernel (d_in + d, d)";
  if (H && !made) return "these look like a decoder: one of s, alpha, c, e, htilde, logits is missing, to compare with";
  if (attends && !H) return "these look like a decoder: the encoder's states H (B, T_enc, d_h) are missing";
  if (!(W || U)) return x && h ? "these look like a cell: its weights W_ih and W_hh are missing" : "";
  std::string parts;
  const auto miss = [&](bool there, const char* what) {
    if (!there) parts += (parts.empty() ? "" : ", ") + std::string(what);
  };
  miss(W, "W_ih (gates * d, d_in)"), miss(U, "W_hh (gates * d, d)");
  miss(x, "x (B, T, d_in)"), miss(h, "h (B, T, d)");
  return parts.empty() ? "" : "these look like a cell; missing: " + parts;
}

Meta parse_meta(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object()) refuse("meta.json should be an object, is " + std::string(json.kind()));
  Meta meta;
  const auto word = [&](const char* key, std::string& to) {
    if (const Json* value = json.find(key)) {
      if (!value->is_string())
        refuse(std::string("meta.json: ") + key + " should be text, is " + std::string(value->kind()));
      to = value->as_string();
    }
  };
  word("claim", meta.claims);
  word("claims", meta.claims);
  word("gate_order", meta.gate_order);
  word("layout", meta.layout);
  word("topic", meta.topic);
  if (const Json* heads = json.find("heads")) {
    if (!heads->is_integer() || heads->as_integer() < 1 || heads->as_integer() > 4096)
      refuse("meta.json: heads should be a number from 1 to 4096");
    meta.heads = static_cast<std::size_t>(heads->as_integer());
  }
  if (const Json* after = json.find("linear_before_reset"))
    meta.linear_before_reset = after->is_integer() ? after->as_integer() != 0 : after->is_bool() && after->as_bool();
  for (const auto& [key, value] : json.as_object())
    if (key != "claims" && key != "claim" && key != "gate_order" && key != "layout" && key != "topic" &&
        key != "heads" && key != "linear_before_reset")
      meta.ignored.push_back(key);
  return meta;
}

namespace {

Array to_array(const Tensor& x, bool& single) {
  Array out;
  for (int i = 0; i < x.rank(); ++i) out.shape.push_back(static_cast<std::size_t>(x.size(Axis{i})));
  out.data = x.to_vector();
  if (x.dtype() == f32) single = true;
  return out;
}

std::string text_of(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) refuse(path.string() + " is no regular file");
  const auto size = std::filesystem::file_size(path, failed);
  if (failed || size > (1u << 20)) refuse(path.string() + " is larger than 1 MiB; meta.json holds a few words");
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in) refuse("cannot read " + path.string());
  return text;
}

// What numpy.savez and torch.save write is a zip, and often the first thing that is tried.
void refuse_zip(const std::filesystem::path& path) {
  const formats::Bytes bytes = formats::from_file(path);
  std::string start(4, '\0');
  if (bytes.size < start.size()) return;
  bytes.read(0, start.data(), start.size());
  if (start == "PK\x03\x04")
    refuse(path.string() +
           " is a zip: unzip an .npz into a directory and give that one; of a .pt, dump the tensors as ./gradus "
           "diagnose --help shows");
}

}  // namespace

Trace read_trace(const std::filesystem::path& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (failed || !std::filesystem::exists(status))
    refuse("there is nothing at " + path.string() +
           " that can be read; give a directory of .npy files or a .safetensors file");
  Arrays arrays;
  Meta meta;
  bool single = false;
  if (std::filesystem::is_directory(status)) {
    std::vector<std::filesystem::path> files;
    for (auto entry = std::filesystem::directory_iterator(path, failed);
         !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
      if (entry->path().extension() == ".npy") files.push_back(entry->path());
      if (files.size() > 4096) refuse(path.string() + " holds more than 4096 arrays");
    }
    if (failed) refuse("cannot list " + path.string() + ": " + failed.message());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) { arrays[file.stem().string()] = to_array(read_npy(file), single); }
    if (files.empty())
      refuse("there is no .npy file in " + path.string() + "; ./gradus diagnose --help shows how to dump one");
    if (const auto file = path / "meta.json"; std::filesystem::exists(file, failed)) {
      try {
        meta = parse_meta(text_of(file));
      } catch (const std::invalid_argument& error) { throw std::invalid_argument(file.string() + ": " + error.what()); }
    }
  } else {
    refuse_zip(path);
    const TensorFile file = read_safetensors(path);
    for (const auto& [name, tensor] : file.tensors) arrays[name] = to_array(tensor, single);
    const auto word = [&](const char* key, std::string& to) {
      if (const auto found = file.metadata.find(key); found != file.metadata.end()) to = found->second;
    };
    word("claim", meta.claims);
    word("claims", meta.claims);
    word("gate_order", meta.gate_order);
    word("layout", meta.layout);
    word("topic", meta.topic);
    if (std::string after; word("linear_before_reset", after), !after.empty())
      meta.linear_before_reset = after != "0" && after != "false" && after != "False";
    if (std::string heads; word("heads", heads), !heads.empty())
      meta.heads = parse_meta("{\"heads\": " + heads + "}").heads;
  }
  try {
    return make_trace(std::move(arrays), meta, single);
  } catch (const std::invalid_argument& error) { throw std::invalid_argument(path.string() + ": " + error.what()); }
}

}  // namespace gradus::diagnosis
