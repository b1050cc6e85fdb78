// The published mistakes, each planted in a plain decoder, cell or formula that shares no line with the library's
// references, dumped as a trace, and named by the diagnosis. Mistakes of our own follow.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;
using reference::Arrays;

namespace {

using V = std::vector<double>;
using M = std::vector<V>;  // rows

double dot(const V& a, const V& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
V operator+(V a, const V& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
V operator*(double k, V a) {
  for (double& x : a) x *= k;
  return a;
}
V operator*(const M& W, const V& x) {
  V y;
  for (const V& row : W) y.push_back(dot(row, x));
  return y;
}
M flip(const M& W) {
  M out(W[0].size(), V(W.size()));
  for (std::size_t i = 0; i < W.size(); ++i)
    for (std::size_t j = 0; j < W[0].size(); ++j) out[j][i] = W[i][j];
  return out;
}
V each(V x, double (*f)(double)) {
  for (double& v : x) v = f(v);
  return x;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double tanh_of(double x) { return std::tanh(x); }
double relu(double x) { return x > 0 ? x : 0; }
V cat(V a, const V& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
V softmax(V e) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double x : e) top = std::max(top, x);
  for (double& x : e) sum += x = std::exp(x - top);
  return (1 / sum) * e;
}
const double minus_infinity = -std::numeric_limits<double>::infinity();

// xorshift64*, numbers in [-1, 1).
struct Random {
  std::uint64_t state = 88172645463325252u;
  double operator()() {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return static_cast<double>((state * 2685821657736338717u) >> 11) / 4503599627370496.0 - 1;
  }
  V operator()(std::size_t n, double scale = 1) {
    V x(n);
    for (double& v : x) v = scale * (*this)();
    return x;
  }
  M operator()(std::size_t rows, std::size_t columns, double scale) {
    M x(rows);
    for (V& row : x) row = (*this)(columns, scale);
    return x;
  }
};

Array array(const V& x) { return Array({x.size()}, x); }
Array array(const M& x) {
  Array out({x.size(), x[0].size()});
  for (std::size_t i = 0; i < x.size(); ++i) out.set_row({i}, x[i]);
  return out;
}
Array array(const std::vector<M>& x) {
  Array out({x.size(), x[0].size(), x[0][0].size()});
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x[i].size(); ++j) out.set_row({i, j}, x[i][j]);
  return out;
}

// ---- a decoder as a learner writes it; every step can be replaced

struct Plain {
  std::size_t B = 3, T = 4, T_enc = 5, d_s = 4, d_h = 6, d_attn = 7, d_emb = 3, d_c = 8, vocab = 9;
  bool luong = false, gated_by_lstm = false;
  M W_a, U_a, W, U, W_c, W_o;
  V v_a, b, b_c, b_o;
  std::vector<M> H, y;
  M s_0, cell_0;
  std::vector<std::vector<bool>> real;
  std::map<std::string, Array> extra;  // further arrays of the trace
  std::vector<std::string> hidden;     // names that the owner did not dump

  // What a step may look at. Index b and step t; `was` is the step before (zeros before the first).
  struct Now {
    std::size_t b, t;
    V y, s_prev, s, m_prev, m, c_prev, c, h_prev, h;
  };
  std::function<V(const Now&)> query, x, vector, features, logits;
  std::function<double(const V&, const V&)> score;
  std::function<M(const M&)> weights;  // scores of all rows at one step -> weights
  std::function<V(const V&, std::size_t)> context;
  std::function<void(Now&)> cell;

  explicit Plain(bool like_luong = false, bool lstm = false, bool square = false)
      : luong(like_luong), gated_by_lstm(lstm) {
    Random r;
    if (square) d_h = d_attn = d_s;
    const std::size_t gates = lstm ? 4 : 3, fed = luong ? d_c : d_h;
    if (luong) W_a = r(d_s, d_h, 1);
    else W_a = r(d_attn, d_s, 1), U_a = r(d_attn, d_h, 1), v_a = r(d_attn, 2);
    W = r(gates * d_s, d_emb + fed, .7), U = r(gates * d_s, d_s, .7), b = r(gates * d_s, .5);
    if (luong) W_c = r(d_c, d_h + d_s, .7), b_c = r(d_c, .3);
    W_o = r(vocab, luong ? d_c : d_s + d_h, 1), b_o = r(vocab);
    for (std::size_t i = 0; i < B; ++i) {
      H.push_back(r(T_enc, d_h, 1)), y.push_back(r(T, d_emb, 1)), s_0.push_back(r(d_s)), cell_0.push_back(r(d_s));
      real.emplace_back(T_enc, true);
      for (std::size_t k = 0; k < i; ++k) real[i][T_enc - 1 - k] = false;
    }
    if (luong) query = [](const Now& n) { return n.s; };
    else query = [](const Now& n) { return n.s_prev; };
    if (luong) x = [](const Now& n) { return cat(n.y, n.h_prev); };
    else x = [](const Now& n) { return cat(n.y, n.c); };
    if (luong) score = [this](const V& q, const V& h) { return dot(q, W_a * h); };
    else score = [this](const V& q, const V& h) { return dot(v_a, each(W_a * q + U_a * h, tanh_of)); };
    weights = [this](const M& e) {
      M a;
      for (std::size_t i = 0; i < e.size(); ++i) {
        V masked = e[i];
        for (std::size_t k = 0; k < masked.size(); ++k)
          if (!real[i][k]) masked[k] = minus_infinity;
        a.push_back(softmax(masked));
      }
      return a;
    };
    context = [this](const V& alpha, std::size_t i) {
      V c(d_h);
      for (std::size_t k = 0; k < T_enc; ++k) c = c + alpha[k] * H[i][k];
      return c;
    };
    cell = [this](Now& n) {
      const V input = x(n);
      n.s = gated_by_lstm ? lstm_step(n, W * input + b, U * n.s_prev) : gru_step(W * input + b, n.s_prev);
    };
    vector = [this](const Now& n) { return each(W_c * cat(n.c, n.s) + b_c, tanh_of); };
    features = [this](const Now& n) { return luong ? n.h : cat(n.s, n.c); };
    logits = [this](const Now& n) { return W_o * features(n) + b_o; };
  }

  // Blocks r, z, n. Bahdanau: z replaces.
  V gru_step(const V& a, const V& s) const {
    V r(d_s), z(d_s), out(d_s), rs(d_s);
    const V u = U * s;
    for (std::size_t k = 0; k < d_s; ++k)
      r[k] = sigmoid(a[k] + u[k]), z[k] = sigmoid(a[d_s + k] + u[d_s + k]), rs[k] = r[k] * s[k];
    const V un = U * rs;
    for (std::size_t k = 0; k < d_s; ++k)
      out[k] = (1 - z[k]) * s[k] + z[k] * std::tanh(a[2 * d_s + k] + un[2 * d_s + k]);
    return out;
  }
  V lstm_step(Now& n, const V& a, const V& u) const {
    V out(d_s);
    n.m = V(d_s);
    const auto gate = [&](std::size_t block, std::size_t k) { return a[block * d_s + k] + u[block * d_s + k]; };
    for (std::size_t k = 0; k < d_s; ++k) {
      n.m[k] = sigmoid(gate(1, k)) * n.m_prev[k] + sigmoid(gate(0, k)) * std::tanh(gate(2, k));
      out[k] = sigmoid(gate(3, k)) * std::tanh(n.m[k]);
    }
    return out;
  }

  Trace trace(const std::string& claim = "") const {
    const bool attends_first = !luong && !moves_first;
    std::vector<M> s(B), alpha(B, M(T)), c(B, M(T)), h(B, M(T)), z(B, M(T));
    std::vector<Now> now(B);
    for (std::size_t i = 0; i < B; ++i) {
      s[i] = {s_0[i]};
      now[i].c = V(d_h), now[i].h = V(d_c), now[i].s = s_0[i], now[i].m = cell_0[i];
    }
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t i = 0; i < B; ++i) {
        Now& n = now[i];
        n.b = i, n.t = t, n.y = y[i][t], n.s_prev = n.s, n.m_prev = n.m, n.c_prev = n.c, n.h_prev = n.h;
        if (!attends_first) cell(n);
      }
      M e(B, V(T_enc));
      for (std::size_t i = 0; i < B; ++i)
        for (std::size_t k = 0; k < T_enc; ++k) e[i][k] = score(query(now[i]), H[i][k]);
      const M a = weights(e);
      for (std::size_t i = 0; i < B; ++i) {
        Now& n = now[i];
        n.c = context(a[i], i);
        if (attends_first) cell(n);
        if (luong) n.h = vector(n);
        s[i].push_back(n.s), alpha[i][t] = a[i], c[i][t] = n.c, h[i][t] = n.h, z[i][t] = logits(n);
      }
    }
    Arrays out = {{"H", array(H)}, {"y_emb", array(y)},  {"s", array(s)},    {"alpha", array(alpha)},
                  {"c", array(c)}, {"logits", array(z)}, {"W", array(W)},    {"U", array(U)},
                  {"b", array(b)}, {"W_o", array(W_o)},  {"b_o", array(b_o)}};
    Array mask({B, T_enc});
    for (std::size_t i = 0; i < B; ++i)
      for (std::size_t k = 0; k < T_enc; ++k) mask.at({i, k}) = real[i][k];
    out["mask"] = mask;
    if (!W_a.empty()) out["W_a"] = array(W_a);
    if (!U_a.empty()) out["U_a"] = array(U_a), out["v_a"] = array(v_a);
    if (luong) out["W_c"] = array(W_c), out["b_c"] = array(b_c), out["htilde"] = array(h);
    if (gated_by_lstm) out["cell_0"] = array(cell_0);
    for (const auto& [name, value] : extra) out[name] = value;
    for (const std::string& name : hidden) out.erase(name);
    Meta meta;
    meta.claims = claim;
    return make_trace(out, meta);
  }
  bool moves_first = false;
};

struct Mutant {
  const char* what;
  const char* code;
  Kind kind;
  bool luong, lstm, square;
  std::function<void(Plain&)> plant;
};

void check_named(const std::string& what, const Trace& trace, const std::string& code, Kind kind) {
  CAPTURE(what);
  const Verdict v = diagnose(trace);
  INFO(v.text());
  CHECK(v.code() == code);
  const auto first = std::find_if(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.error; });
  if (first != v.findings.end()) CHECK(to_string(first->kind) == std::string(to_string(kind)));
}

Trace formula(Arrays a, const char* topic = "") {
  Meta meta;
  meta.topic = topic;
  return make_trace(std::move(a), meta);
}
Array one(double x) { return Array({}, {x}); }

M all_rows(const M& e, const std::function<V(const V&, std::size_t)>& f) {
  M out;
  for (std::size_t i = 0; i < e.size(); ++i) out.push_back(f(e[i], i));
  return out;
}
V masked(const Plain& p, V e, std::size_t i) {
  for (std::size_t k = 0; k < e.size(); ++k)
    if (!p.real[i][k]) e[k] = minus_infinity;
  return e;
}

using P = Plain;
using N = Plain::Now;

const std::vector<Mutant>& decoders() {
  const Kind convention = Kind::convention;
  static const std::vector<Mutant> list = {
      // ---- published
      {"B01 the state after the step is the query", "ATTN_QUERY_POST_STEP", convention, false, false, false,
       [](P& p) {
         p.moves_first = true;
         p.query = [](const N& n) { return n.s; };
         p.x = [](const N& n) { return cat(n.y, n.c_prev); };
       }},
      {"B02 Luong asks with the state before the step", "ATTN_QUERY_PRE_STEP", convention, true, false, false,
       [](P& p) { p.query = [](const N& n) { return n.s_prev; }; }},
      {"B04 weights from input and state alone", "ATTN_IGNORES_ENCODER", convention, false, false, false,
       [](P& p) {
         Random r{7};
         p.W_a = r(p.T_enc, p.d_emb + p.d_s, 1), p.U_a.clear(), p.v_a.clear();
         p.query = [](const N& n) { return cat(n.y, n.s_prev); };
         p.weights = [&p](const M&) { return M(p.B, V(p.T_enc)); };
         p.score = [](const V&, const V&) { return 0.0; };
       }},
      {"B06 the context is fed", "INPUT_FEED_CONTEXT", convention, true, false, false,
       [](P& p) {
         Random r{5};
         p.W = r(3 * p.d_s, p.d_emb + p.d_h, .7);
         p.x = [](const N& n) { return cat(n.y, n.c_prev); };
       }},
      {"B09 the memory cell is the query", "ATTN_QUERY_CELL_STATE", convention, false, true, false,
       [](P& p) { p.query = [](const N& n) { return n.m_prev; }; }},
      {"B11 W_a transposed", "LUONG_W_TRANSPOSED", convention, true, false, true,
       [](P& p) { p.score = [&p](const V& q, const V& h) { return dot(q, flip(p.W_a) * h); }; }},
      {"B13 softmax inside, relu outside", "ENERGY_ACTIVATIONS_SWAPPED", convention, false, false, false,
       [](P& p) {
         p.score = [&p](const V& q, const V& h) { return dot(p.v_a, softmax(p.W_a * q + p.U_a * h)); };
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](const V& x, std::size_t i) { return each(masked(p, x, i), relu); });
         };
       }},
      {"B14 no tanh in the attentional vector", "ATTN_VECTOR_NO_TANH", convention, true, false, false,
       [](P& p) { p.vector = [&p](const N& n) { return p.W_c * cat(n.c, n.s) + p.b_c; }; }},
      {"B16 the context is squashed", "CONTEXT_TANH", convention, false, false, false,
       [](P& p) { p.context = [f = p.context](const V& a, std::size_t i) { return each(f(a, i), tanh_of); }; }},
      {"B18 softmax over the batch", "SOFTMAX_AXIS_BATCH", Kind::axis, false, false, false,
       [](P& p) {
         p.real.assign(p.B, std::vector<bool>(p.T_enc, true));
         p.weights = [](const M& e) {
           return flip(all_rows(flip(e), [](const V& x, std::size_t) { return softmax(x); }));
         };
       }},
      {"B19 softmax over one number", "SOFTMAX_AXIS_SINGLETON", Kind::axis, false, false, false,
       [](P& p) {
         p.real.assign(p.B, std::vector<bool>(p.T_enc, true));
         p.weights = [](const M& e) { return all_rows(e, [](const V& x, std::size_t) { return V(x.size(), 1); }); };
       }},
      {"B21 values reshaped for transposed", "RESHAPE_FOR_TRANSPOSE", Kind::shape, false, false, false,
       [](P& p) {
         p.context = [&p](const V& a, std::size_t i) {
           V c(p.d_h);
           for (std::size_t k = 0; k < p.T_enc; ++k) {
             const std::size_t flat = i * p.T_enc + k;  // the buffer lies as (T, B, d)
             c = c + a[k] * p.H[flat % p.B][flat / p.B];
           }
           return c;
         };
       }},
      {"B27 no mask", "MASK_MISSING", Kind::mask, false, false, false,
       [](P& p) {
         p.weights = [](const M& e) { return all_rows(e, [](const V& x, std::size_t) { return softmax(x); }); };
       }},
      {"B28 mask multiplied into the scores", "MASK_MULT_BEFORE_SOFTMAX", Kind::mask, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](V x, std::size_t i) {
             for (std::size_t k = 0; k < x.size(); ++k) x[k] *= p.real[i][k];
             return softmax(x);
           });
         };
       }},
      {"B29 mask multiplied into the weights", "MASK_AFTER_NO_RENORM", Kind::mask, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](const V& x, std::size_t i) {
             V a = softmax(x);
             for (std::size_t k = 0; k < a.size(); ++k) a[k] *= p.real[i][k];
             return a;
           });
         };
       }},
      {"B34 a sentence of length 0", "ALL_MASKED_NAN", Kind::mask, false, false, false,
       [](P& p) {
         p.real[2].assign(p.T_enc, false);
         p.hidden = {"s", "c", "logits", "W", "U", "b", "W_o", "b_o", "y_emb"};
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](const V& x, std::size_t i) { return softmax(masked(p, x, i)); });
         };
       }},
      {"B37 a bias fills the padding", "PAD_NOT_ZERO", Kind::mask, false, false, false,
       [](P& p) {
         for (std::size_t i = 0; i < p.B; ++i)
           for (std::size_t k = 0; k < p.T_enc; ++k)
             if (!p.real[i][k]) p.H[i][k] = {.5, -.3, .2, .7, -.6, .1};
         p.weights = [](const M& e) { return all_rows(e, [](const V& x, std::size_t) { return softmax(x); }); };
       }},
      {"B64 the softmax overflows", "SOFTMAX_OVERFLOW", Kind::numerics, false, false, false,
       [](P& p) {
         p.real.assign(p.B, std::vector<bool>(p.T_enc, true));
         p.v_a = 400.0 * p.v_a;
         p.hidden = {"c", "logits", "W", "U", "b", "W_o", "b_o", "y_emb", "s"};
         p.weights = [](const M& e) {
           return all_rows(e, [](const V& x, std::size_t) {
             V a = x;
             double sum = 0;
             for (double& v : a) sum += v = std::exp(v);
             return (1 / sum) * a;
           });
         };
       }},
      {"B102 the reset gate is never used", "GRU_RESET_UNUSED", Kind::gru, false, false, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b, u = p.U * n.s_prev;
           n.s = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) {
             const double z = sigmoid(a[p.d_s + k] + u[p.d_s + k]);
             n.s[k] = (1 - z) * n.s_prev[k] + z * std::tanh(a[2 * p.d_s + k] + u[2 * p.d_s + k]);
           }
         };
       }},
      {"B104 LSTM without the tanh of its output", "LSTM_NO_OUTPUT_TANH", Kind::lstm, false, true, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b, u = p.U * n.s_prev;
           p.lstm_step(n, a, u);
           n.s = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) n.s[k] = sigmoid(a[3 * p.d_s + k] + u[3 * p.d_s + k]) * n.m[k];
         };
       }},

      // ---- our own
      {"query one step too old", "ATTN_QUERY_TWO_BACK", convention, false, false, false,
       [](P& p) {
         auto older = std::make_shared<M>(p.s_0), old = std::make_shared<M>(p.s_0);
         p.query = [older, old](const N& n) { return (*older)[n.b]; };
         p.cell = [f = p.cell, older, old](N& n) {
           (*older)[n.b] = n.s_prev;
           f(n);
         };
       }},
      {"query frozen at s_0", "ATTN_QUERY_FROZEN", convention, false, false, false,
       [](P& p) { p.query = [&p](const N& n) { return p.s_0[n.b]; }; }},
      {"no tanh in the energy", "ENERGY_NO_TANH", convention, false, false, false,
       [](P& p) { p.score = [&p](const V& q, const V& h) { return dot(p.v_a, p.W_a * q + p.U_a * h); }; }},
      {"relu in the energy", "ENERGY_RELU", convention, false, false, false,
       [](P& p) { p.score = [&p](const V& q, const V& h) { return dot(p.v_a, each(p.W_a * q + p.U_a * h, relu)); }; }},
      {"sigmoid in the energy", "ENERGY_SIGMOID", convention, false, false, false,
       [](P& p) {
         p.score = [&p](const V& q, const V& h) { return dot(p.v_a, each(p.W_a * q + p.U_a * h, sigmoid)); };
       }},
      {"v_a forgotten", "ENERGY_V_DROPPED", convention, false, false, false,
       [](P& p) {
         p.score = [&p](const V& q, const V& h) { return dot(V(p.d_attn, 1), each(p.W_a * q + p.U_a * h, tanh_of)); };
       }},
      {"a product in the energy", "ENERGY_PRODUCT", convention, false, false, false,
       [](P& p) {
         p.score = [&p](const V& q, const V& h) {
           V x = p.W_a * q;
           const V k = p.U_a * h;
           for (std::size_t i = 0; i < x.size(); ++i) x[i] *= k[i];
           return dot(p.v_a, each(x, tanh_of));
         };
       }},
      {"tanh around the score", "ENERGY_TANH_OUTSIDE", convention, false, false, false,
       [](P& p) { p.score = [f = p.score](const V& q, const V& h) { return std::tanh(f(q, h)); }; }},
      {"the score forgets the query", "SCORE_IGNORES_QUERY", convention, false, false, false,
       [](P& p) { p.score = [&p](const V&, const V& h) { return dot(p.v_a, each(p.U_a * h, tanh_of)); }; }},
      {"the score forgets the keys", "SCORE_IGNORES_KEYS", convention, false, false, false,
       [](P& p) { p.score = [&p](const V& q, const V&) { return dot(p.v_a, each(p.W_a * q, tanh_of)); }; }},
      {"scores over sqrt(d)", "SCALE_OVER_SQRT_D", convention, false, false, false,
       [](P& p) {
         p.score = [&p, f = p.score](const V& q, const V& h) {
           return f(q, h) / std::sqrt(static_cast<double>(p.d_s));
         };
       }},
      {"a temperature", "SCALE_OTHER", convention, false, false, false,
       [](P& p) { p.score = [f = p.score](const V& q, const V& h) { return f(q, h) / 3.3; }; }},
      {"scores negated", "SCORE_NEGATED", convention, false, false, false,
       [](P& p) { p.score = [f = p.score](const V& q, const V& h) { return -f(q, h); }; }},
      {"W_a transposed in the additive score", "ATTN_W_A_TRANSPOSED", convention, false, false, true,
       [](P& p) {
         p.score = [&p](const V& q, const V& h) { return dot(p.v_a, each(flip(p.W_a) * q + p.U_a * h, tanh_of)); };
       }},
      {"W_a and U_a exchanged", "ATTN_WEIGHTS_EXCHANGED", convention, false, false, true,
       [](P& p) {
         p.score = [&p](const V& q, const V& h) { return dot(p.v_a, each(p.U_a * q + p.W_a * h, tanh_of)); };
       }},
      {"keys backwards", "ATTN_KEYS_REVERSED", convention, false, false, false,
       [](P& p) {
         p.score = [&p, f = p.score](const V& q, const V& h) {
           for (std::size_t i = 0; i < p.B; ++i)
             for (std::size_t k = 0; k < p.T_enc; ++k)
               if (p.H[i][k] == h) return f(q, p.H[i][p.T_enc - 1 - k]);
           return 0.0;
         };
       }},
      {"softmax twice", "ATTN_SOFTMAX_TWICE", convention, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](const V& x, std::size_t i) { return softmax(softmax(masked(p, x, i))); });
         };
       }},
      {"scores over their sum", "WEIGHTS_OVER_SUM", convention, false, false, false,
       [](P& p) {
         p.real.assign(p.B, std::vector<bool>(p.T_enc, true));
         p.weights = [](const M& e) {
           return all_rows(e, [](const V& x, std::size_t) {
             return (1 / std::accumulate(x.begin(), x.end(), 0.0)) * x;
           });
         };
       }},
      {"sigmoid weights", "WEIGHTS_SIGMOID", convention, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](const V& x, std::size_t i) { return each(masked(p, x, i), sigmoid); });
         };
       }},
      {"no softmax", "SOFTMAX_MISSING", convention, false, false, false,
       [](P& p) {
         p.real.assign(p.B, std::vector<bool>(p.T_enc, true));
         p.weights = [](const M& e) { return e; };
       }},
      {"mask inverted", "MASK_INVERTED", Kind::mask, false, false, false,
       [](P& p) {
         for (std::size_t i = 0; i < p.B; ++i) p.real[i][p.T_enc - 1] = false;
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](V x, std::size_t i) {
             for (std::size_t k = 0; k < x.size(); ++k)
               if (p.real[i][k]) x[k] = minus_infinity;
             return softmax(x);
           });
         };
       }},
      {"mask filled with 1e-9", "MASK_FINITE_FILL", Kind::mask, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](V x, std::size_t i) {
             for (std::size_t k = 0; k < x.size(); ++k)
               if (!p.real[i][k]) x[k] = -3;
             return softmax(x);
           });
         };
       }},
      {"mask one too long", "MASK_OFF_BY_ONE", Kind::mask, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](V x, std::size_t i) {
             for (std::size_t k = 1; k < x.size(); ++k)
               if (!p.real[i][k - 1]) x[k] = minus_infinity;
             return softmax(x);
           });
         };
       }},
      {"the next sentence's mask", "MASK_OTHER_EXAMPLE", Kind::mask, false, false, false,
       [](P& p) {
         p.weights = [&p](const M& e) {
           return all_rows(e, [&](const V& x, std::size_t i) { return softmax(masked(p, x, (i + 1) % p.B)); });
         };
       }},
      {"B32 mask along the queries", "MASK_WRONG_AXIS", Kind::mask, false, false, false,
       [](P& p) {
         auto step = std::make_shared<std::size_t>(0);
         p.real[1] = {true, true, false, false, false}, p.real[2] = {true, false, false, false, false};
         p.weights = [&p, step](const M& e) {
           const std::size_t t = (*step)++;
           return all_rows(e, [&](const V& x, std::size_t i) { return softmax(p.real[i][t] ? x : V(x.size())); });
         };
       }},
      {"context of projected keys", "CONTEXT_OF_PROJECTED_KEYS", convention, false, false, true,
       [](P& p) {
         p.context = [&p](const V& a, std::size_t i) {
           V c(p.d_attn);
           for (std::size_t k = 0; k < p.T_enc; ++k) c = c + a[k] * (p.U_a * p.H[i][k]);
           return c;
         };
       }},
      {"context shifted", "CONTEXT_SHIFTED", convention, false, false, false,
       [](P& p) {
         p.context = [&p](const V& a, std::size_t i) {
           V c(p.d_h);
           for (std::size_t k = 0; k + 1 < p.T_enc; ++k) c = c + a[k] * p.H[i][k + 1];
           return c;
         };
       }},
      {"context averaged again", "CONTEXT_OVER_LENGTH", convention, false, false, false,
       [](P& p) {
         p.context = [&p, f = p.context](const V& a, std::size_t i) {
           return (1.0 / static_cast<double>(p.T_enc)) * f(a, i);
         };
       }},
      {"context halved", "CONTEXT_SCALED", convention, false, false, false,
       [](P& p) { p.context = [f = p.context](const V& a, std::size_t i) { return .5 * f(a, i); }; }},
      {"context without weights", "CONTEXT_MEAN", convention, false, false, false,
       [](P& p) {
         p.context = [&p](const V&, std::size_t i) {
           V c(p.d_h);
           double n = 0;
           for (std::size_t k = 0; k < p.T_enc; ++k)
             if (p.real[i][k]) c = c + p.H[i][k], ++n;
           return (1 / n) * c;
         };
       }},
      {"the last annotation only", "CONTEXT_LAST", convention, false, false, false,
       [](P& p) {
         p.context = [&p](const V&, std::size_t i) {
           std::size_t last = p.T_enc - 1;
           while (!p.real[i][last]) --last;
           return p.H[i][last];
         };
       }},
      {"another sentence's annotations", "CONTEXT_OTHER_EXAMPLE", Kind::axis, false, false, false,
       [](P& p) {
         p.context = [&p](const V& a, std::size_t i) {
           V c(p.d_h);
           for (std::size_t k = 0; k < p.T_enc; ++k) c = c + a[k] * p.H[(i + 1) % p.B][k];
           return c;
         };
       }},
      {"stale weights", "CONTEXT_STALE_WEIGHTS", convention, false, false, false,
       [](P& p) {
         auto last = std::make_shared<M>(p.B, V(p.T_enc));
         p.context = [f = p.context, last](const V& a, std::size_t i) {
           const V c = f((*last)[i], i);
           (*last)[i] = a;
           return c;
         };
       }},
      {"the cell reads the context late", "CELL_CONTEXT_LATE", convention, false, false, false,
       [](P& p) { p.x = [](const N& n) { return cat(n.y, n.c_prev); }; }},
      {"the context goes to the output only", "CONTEXT_NOT_IN_CELL", convention, false, false, false,
       [](P& p) {
         Random r{3};
         p.W = r(3 * p.d_s, p.d_emb, .7);
         p.x = [](const N& n) { return n.y; };
       }},
      {"the word that is to be predicted is read", "INPUT_OF_NEXT_STEP", Kind::data, false, false, false,
       [](P& p) { p.x = [&p](const N& n) { return cat(n.t + 1 < p.T ? p.y[n.b][n.t + 1] : V(p.d_emb), n.c); }; }},
      {"an old word is read", "INPUT_OF_LAST_STEP", Kind::data, false, false, false,
       [](P& p) { p.x = [&p](const N& n) { return cat(n.t ? p.y[n.b][n.t - 1] : V(p.d_emb), n.c); }; }},
      {"every step starts again", "STATE_NOT_CARRIED", Kind::data, false, false, false,
       [](P& p) {
         p.cell = [&p](N& n) { n.s = p.gru_step(p.W * p.x(n) + p.b, p.s_0[n.b]); };
       }},
      {"reset gate on the input", "GRU_RESET_ON_INPUT", Kind::gru, false, false, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b, u = p.U * n.s_prev;
           n.s = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) {
             const double r = sigmoid(a[k] + u[k]), z = sigmoid(a[p.d_s + k] + u[p.d_s + k]);
             n.s[k] = (1 - z) * n.s_prev[k] + z * std::tanh(r * a[2 * p.d_s + k] + u[2 * p.d_s + k]);
           }
         };
       }},
      {"no tanh in the candidate", "CANDIDATE_NO_TANH", Kind::gru, false, false, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b, u = p.U * n.s_prev;
           V r(p.d_s), z(p.d_s), rs(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) r[k] = sigmoid(a[k] + u[k]),
               z[k] = sigmoid(a[p.d_s + k] + u[p.d_s + k]), rs[k] = r[k] * n.s_prev[k];
           const V un = p.U * rs;
           n.s = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) n.s[k] = (1 - z[k]) * n.s_prev[k] + z[k] * (a[2
               * p.d_s + k] + un[2 * p.d_s + k]);
         };
       }},
      {"the cell forgets its state", "CELL_IGNORES_STATE", Kind::gru, false, false, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b;
           n.s = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) {
             const double z = sigmoid(a[p.d_s + k]);
             n.s[k] = (1 - z) * n.s_prev[k] + z * std::tanh(a[2 * p.d_s + k]);
           }
         };
       }},
      {"the forget gate is never used", "LSTM_FORGET_UNUSED", Kind::lstm, false, true, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b, u = p.U * n.s_prev;
           n.s = V(p.d_s), n.m = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) {
             const auto g = [&](std::size_t block) { return a[block * p.d_s + k] + u[block * p.d_s + k]; };
             n.m[k] = n.m_prev[k] + sigmoid(g(0)) * std::tanh(g(2));
             n.s[k] = sigmoid(g(3)) * std::tanh(n.m[k]);
           }
         };
       }},
      {"the memory opens one step late", "LSTM_OUTPUT_OF_OLD_CELL", Kind::lstm, false, true, false,
       [](P& p) {
         p.cell = [&p](N& n) {
           const V a = p.W * p.x(n) + p.b, u = p.U * n.s_prev;
           p.lstm_step(n, a, u);
           n.s = V(p.d_s);
           for (std::size_t k = 0; k < p.d_s; ++k) n.s[k] = sigmoid(a[3 * p.d_s + k] + u[3 * p.d_s + k])
               * std::tanh(n.m_prev[k]);
         };
       }},
      {"attentional vector of the old state", "ATTN_VECTOR_OLD_STATE", convention, true, false, false,
       [](P& p) { p.vector = [&p](const N& n) { return each(p.W_c * cat(n.c, n.s_prev) + p.b_c, tanh_of); }; }},
      {"attentional vector of the old context", "ATTN_VECTOR_OLD_CONTEXT", convention, true, false, false,
       [](P& p) { p.vector = [&p](const N& n) { return each(p.W_c * cat(n.c_prev, n.s) + p.b_c, tanh_of); }; }},
      {"the bias of the attentional vector is forgotten", "ATTN_VECTOR_BIAS_IGNORED", convention, true, false, false,
       [](P& p) { p.vector = [&p](const N& n) { return each(p.W_c * cat(n.c, n.s), tanh_of); }; }},
      {"the readout is a step late", "READOUT_CONTEXT_LATE", convention, false, false, false,
       [](P& p) { p.features = [](const N& n) { return cat(n.s, n.c_prev); }; }},
      {"the readout of the last attentional vector", "READOUT_HTILDE_LATE", convention, true, false, false,
       [](P& p) { p.features = [](const N& n) { return n.h_prev; }; }},
      {"logits through softmax", "LOGITS_SOFTMAXED", convention, false, false, false,
       [](P& p) { p.logits = [f = p.logits](const N& n) { return softmax(f(n)); }; }},
      {"logits without bias", "READOUT_BIAS_IGNORED", convention, false, false, false,
       [](P& p) { p.logits = [&p](const N& n) { return p.W_o * p.features(n); }; }},
  };
  return list;
}

}  // namespace

TEST_CASE("catalogue: mistakes in decoders are named from their traces") {
  for (const Mutant& m : decoders()) {
    if (std::string(m.code) == "ALL_MASKED_NAN" || std::string(m.code) == "SOFTMAX_OVERFLOW" ||
        std::string(m.code) == "ATTN_IGNORES_ENCODER")
      continue;
    Plain p(m.luong, m.lstm, m.square);
    m.plant(p);
    check_named(m.what, p.trace(m.luong ? "luong2015" : "bahdanau2014"), m.code, m.kind);
  }
}

TEST_CASE("catalogue: the plain decoders without a mistake keep their claims") {
  for (const bool luong : {false, true})
    for (const bool lstm : {false, true})
      for (const bool square : {false, true}) {
        Plain p(luong, lstm, square);
        const Verdict v = diagnose(p.trace(luong ? "luong2015" : "bahdanau2014"));
        CHECK_MESSAGE(v.code() == "", v.text());
        CHECK(v.checked);
      }
}

TEST_CASE("catalogue: B04, B34 and B64 on the numbers of one step") {
  // Weights from [y; s] alone.
  const V s = {.5, -.4};
  const M A = {{.2, .5, -.3}, {.1, -.4, .6}, {-.5, .3, .2}};
  const V alpha = softmax(A * V{1, .5, -.4});
  Arrays a = {{"H", Array({1, 3, 2}, {1, 0, 0, 1, -1, .5})},
              {"y_emb", Array({1, 1, 1}, {1})},
              {"s", Array({1, 2, 2}, {.5, -.4, .1, .2})},
              {"W_a", array(A)},
              {"alpha", Array({1, 1, 3}, alpha)}};
  Meta meta;
  meta.claims = "bahdanau2014";
  const Verdict located = diagnose(make_trace(a, meta));
  INFO(located.text());
  CHECK(located.find("ATTN_IGNORES_ENCODER") != nullptr);

  Plain empty;
  empty.real[2].assign(empty.T_enc, false);
  Trace t = empty.trace();  // softmax of minus infinities is NaN by itself
  const Verdict nan = diagnose(t);
  INFO(nan.text());
  CHECK(nan.code() == "ALL_MASKED_NAN");

  const Array e({2, 2}, {1000, 0, 1, 2}),
      overflow({2, 2}, {std::nan(""), 0, 1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0))});
  check_named("B64", formula({{"x", e}, {"softmax", overflow}}), "SOFTMAX_OVERFLOW", Kind::numerics);
}

TEST_CASE("catalogue: mistakes in cells and encoders") {
  Random r{11};
  const std::size_t B = 2, T = 4, d_x = 2, d = 3;
  const auto rows = [&](std::size_t width) {
    std::vector<M> x;
    for (std::size_t i = 0; i < B; ++i) x.push_back(r(T, width, 1));
    return x;
  };
  const auto elman = [&](const M& W, const M& U, const V& b, const V& x, const V& h) {
    return each(W * x + U * h + b, tanh_of);
  };
  const std::vector<M> x = rows(d_x);
  const M W = r(d, d_x, 1), U = r(d, d, 1), W2 = r(d, d_x, 1), U2 = r(d, d, 1);
  const V b = r(d), b2 = r(d);
  const Arrays weights = {{"x", array(x)}, {"W", array(W)}, {"U", array(U)}, {"b", array(b)}};
  Arrays both = weights;
  both["W_reverse"] = array(W2), both["U_reverse"] = array(U2), both["b_reverse"] = array(b2);
  {
    Arrays a = weights;  // B23: the recurrence runs over the batch
    std::vector<M> h(B, M(T));
    for (std::size_t t = 0; t < T; ++t) {
      V state(d);
      for (std::size_t i = 0; i < B; ++i) h[i][t] = state = elman(W, U, b, x[i][t], state);
    }
    a["h"] = array(h);
    check_named("B23", make_trace(a), "BATCH_TIME_SWAPPED", Kind::axis);
  }
  const std::size_t length[] = {4, 2};
  const auto forward = [&](std::size_t i) {
    M h(T, V(d));
    V state(d);
    for (std::size_t t = 0; t < length[i]; ++t) h[t] = state = elman(W, U, b, x[i][t], state);
    return h;
  };
  const auto backward = [&](std::size_t i, std::size_t from) {
    M h(T, V(d));
    V state(d);
    for (std::size_t t = from; t-- > 0;) {
      state = elman(W2, U2, b2, x[i][t], state);
      if (t < length[i]) h[t] = state;
    }
    return h;
  };
  both["lengths"] = Array({2}, {4, 2});
  std::vector<M> right(B, M(T)), padded = right;
  M both_ends(B), wrong_end(B);
  for (std::size_t i = 0; i < B; ++i) {
    const M f = forward(i), g = backward(i, length[i]), through = backward(i, T);
    for (std::size_t t = 0; t < T; ++t) right[i][t] = cat(f[t], g[t]), padded[i][t] = cat(f[t], through[t]);
    both_ends[i] = cat(f[length[i] - 1], g[0]), wrong_end[i] = right[i][length[i] - 1];
  }
  {
    Arrays a = both;
    a["h"] = array(right), a["start"] = array(both_ends);
    const Verdict v = diagnose(make_trace(a));
    CHECK_MESSAGE(v.code() == "", v.text());
    a["start"] = array(wrong_end);
    check_named("B24", make_trace(a), "BIDIR_FINAL_WRONG_END", Kind::axis);
  }
  {
    Arrays a = both;
    a["h"] = array(padded);
    check_named("B38", make_trace(a), "BWD_READS_PADDING", Kind::mask);
  }
  {
    Arrays a = both;  // B21: directions merged by a reshape
    Array stack({B, T, 2 * d});
    std::size_t at = 0;
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < B; ++i)
        for (std::size_t t = 0; t < T; ++t)
          for (std::size_t j = 0; j < d; ++j) stack.data[at++] = right[i][t][k * d + j];
    a["h"] = stack;
    check_named("B21", make_trace(a), "RESHAPE_FOR_TRANSPOSE", Kind::shape);
  }
  {
    // B26: two layers, the first two slices of h_n.
    Recipe recipe{.kind = TraceKind::recurrent, .layers = 2, .directions = 2, .starts = true};
    check_named("B26", make_example(recipe, {{"final", "bottom"}}, 2), "HN_SLICE", Kind::shape);
  }
  // FX-GRU on one step: x = 1, h = (.5, -1).
  const auto gru = [&](const V& h, const char* claim) {
    Arrays a = {{"x", Array({1, 1}, {1})},
                {"h0", Array({1, 2}, {.5, -1})},
                {"h", Array({1, 2}, h)},
                {"W_r", Array({2, 1}, {.4, -.6})},
                {"W_z", Array({2, 1}, {.7, -.2})},
                {"W_h", Array({2, 1}, {.5, .8})},
                {"U_r", Array({2, 2}, {.2, .1, 0, .3})},
                {"U_z", Array({2, 2}, {.1, -.3, .2, .4})},
                {"U_h", Array({2, 2}, {.9, -.7, .6, .2})},
                {"b_r", Array({2}, {.1, -.1})},
                {"b_z", Array({2}, {0, .2})},
                {"b_h", Array({2}, {.05, -.05})}};
    Meta meta;
    meta.claims = claim;
    return make_trace(a, meta);
  };
  const double r1 = sigmoid(.4 + .2 * .5 - .1 + .1), r2 = sigmoid(-.6 - .3 - .1), z1 = sigmoid(.7 + .05 + .3),
               z2 = sigmoid(-.2 + .1 - .4 + .2);
  const V before = {std::tanh(.5 + .9 * r1 * .5 + .7 * r2 + .05), std::tanh(.8 + .6 * r1 * .5 - .2 * r2 - .05)};
  const V after = {std::tanh(.5 + r1 * (.45 + .7) + .05), std::tanh(.8 + r2 * (.3 - .2) - .05)};
  const V unused = {std::tanh(.5 + .45 + .7 + .05), std::tanh(.8 + .3 - .2 - .05)};
  const auto keeps = [&](const V& n) { return V{z1 * .5 + (1 - z1) * n[0], -z2 + (1 - z2) * n[1]}; };
  const auto replaces = [&](const V& n) { return V{(1 - z1) * .5 + z1 * n[0], -(1 - z2) + z2 * n[1]}; };
  CHECK(diagnose(gru(keeps(before), "cho2014")).code() == "");
  check_named("B98", gru(keeps(after), "cho2014"), "GRU_RESET_AFTER", Kind::gru);
  check_named("B102", gru(keeps(unused), "cho2014"), "GRU_RESET_UNUSED", Kind::gru);
  const Verdict swapped = diagnose(gru(replaces(before), "cho2014"));  // B99: a convention, not a mistake
  CHECK_MESSAGE(swapped.code() == "", swapped.text());
  REQUIRE(swapped.find("GRU_UPDATE_SWAPPED") != nullptr);
  CHECK(!swapped.find("GRU_UPDATE_SWAPPED")->error);

  // B106: blocks i, f, g, o read as i, f, o, g.
  Recipe lstm{.kind = TraceKind::recurrent, .gates = 4};
  Trace order = make_example(lstm, {{"gate_order", "ifog"}}, 4);
  order.meta.gate_order = "i,f,g,o";
  check_named("B106", order, "LSTM_GATE_ORDER", Kind::lstm);
  check_named("B117", make_example(lstm, {{"layout", "U_transposed"}}, 4), "CKPT_LAYOUT", Kind::checkpoint);
}

TEST_CASE("catalogue: losses, data, optimisers, checkpoints, beams, dropout and the backward of one operation") {
  const double nan = std::nan("");
  const struct {
    const char* what;
    Arrays arrays;
    const char* code;
    Kind kind;
  } rows[] = {
      {"B39",
       {{"b", Array({3}, {1, 2, 3})},
        {"dY", Array({2, 3}, {1, 1, 1, 1, 1, 1})},
        {"db", Array({2, 3}, {1, 1, 1, 1, 1, 1})}},
       "UNBROADCAST_MISSING",
       Kind::broadcast},
      {"B39, first row",
       {{"b", Array({3}, {1, 2, 3})}, {"dY", Array({2, 3}, {1, 2, 3, 4, 5, 6})}, {"db", Array({3}, {1, 2, 3})}},
       "UNBROADCAST_MISSING",
       Kind::broadcast},
      {"B40",
       {{"b", Array({1}, {2})}, {"dY", Array({1, 2}, {1, 1})}, {"db", Array({1, 1}, {2})}},
       "UNBROADCAST_RANK",
       Kind::broadcast},
      {"B41",
       {{"prediction", Array({3}, {1, 2, 3})}, {"target", Array({3}, {1, 2, 3})}, {"loss", one(4.0 / 3)}},
       "LOSS_OUTER_BROADCAST",
       Kind::broadcast},
      {"B44",
       {{"x_scalar", Array({1}, {.3})}, {"dy", Array({3}, {1, 0, 0})}, {"dx", Array({1}, {3})}},
       "EXPAND_BACKWARD_COUNT",
       Kind::broadcast},
      {"B45", {{"uses", Array({2, 1}, {2, 5})}, {"grad", Array({1}, {5})}}, "GRAD_OVERWRITE", Kind::graph},
      {"B46",
       {{"through_first", Array({1}, {1})}, {"through_second", Array({1}, {1})}, {"grad", Array({1}, {3})}},
       "NO_TOPO_ORDER",
       Kind::graph},
      {"B48",
       {{"grad_once", Array({2}, {1, .5})}, {"grad_twice", Array({2}, {3, 1.5})}},
       "INTERIOR_GRAD_STALE",
       Kind::graph},
      {"B49",
       {{"w", one(2.6)}, {"grad", one(3.2)}, {"grad_before", one(4)}, {"lr", one(.1)}, {"w_new", one(1.88)}},
       "ZERO_GRAD_MISSING",
       Kind::graph},
      {"B50",
       {{"x", Array({2}, {0, 1})}, {"idx", Array({2}, {0, 0})}, {"dy", Array({2}, {1, 3})}, {"dx", Array({2}, {3, 0})}},
       "GATHER_OVERWRITE",
       Kind::graph},
      {"B51",
       {{"x", Array({1}, {.5})}, {"k", one(2)}, {"dx", Array({1}, {4 * std::exp(.5)})}},
       "INPLACE_AFTER_SAVE",
       Kind::graph},
      {"B52",
       {{"w", one(.8)}, {"b", one(1)}, {"h_0", one(.5)}, {"grad_w", one([] {
                                                            const double h1 = std::tanh(1.4),
                                                                         h2 = std::tanh(.8 * h1 + 1);
                                                            return (1 - h2 * h2) * (h1 + .8 * (1 - h1 * h1) * .5);
                                                          }())}},
       "STATE_NOT_DETACHED",
       Kind::graph},
      {"B54",
       {{"x", Array({3}, {1, 2, 3})}, {"dy_mean", one(1)}, {"dx", Array({3}, {0, 0, 0})}},
       "GRAPH_DROPPED",
       Kind::graph},
      {"B57, split",
       {{"w", one(2)}, {"grad_1", one(3)}, {"grad_2", one(4)}, {"lr", one(.1)}, {"w_new", one(1.7)}},
       "TIED_WEIGHT_SPLIT",
       Kind::graph},
      {"B57, twice",
       {{"w", one(2)}, {"grad_1", one(3)}, {"grad_2", one(4)}, {"lr", one(.1)}, {"w_new", one(.6)}},
       "TIED_WEIGHT_DOUBLE_STEP",
       Kind::graph},
      {"B66",
       {{"logits", Array({1, 3}, {5, 0, 0})},
        {"targets", Array({1}, {0})},
        {"loss", one(-std::log(softmax(softmax({5, 0, 0}))[0]))}},
       "DOUBLE_SOFTMAX",
       Kind::numerics},
      {"B68",
       {{"grad", Array({2}, {0, 0})}, {"max_norm", one(1)}, {"clipped", Array({2}, {nan, nan})}},
       "ZERO_NORM_NAN",
       Kind::numerics},
      {"B69",
       {{"x", Array({3}, {2, 2, 1})}, {"dy_max", one(1)}, {"dx", Array({3}, {1, 1, 0})}},
       "MAX_TIE_MASS",
       Kind::numerics},
      {"B74",
       {{"x", Array({3}, {1, 2, .5})}, {"dy_softmax", Array({3}, {1, 2, 4})}, {"dx", array([] {
                                                                                 V y = softmax({1, 2, .5});
                                                                                 const double dy[] = {1, 2, 4};
                                                                                 for (std::size_t i = 0; i < 3; ++i)
                                                                                   y[i] *= dy[i] - 7.0 / 3;
                                                                                 return y;
                                                                               }())}},
       "SOFTMAX_BACKWARD_MEAN",
       Kind::gradcheck},
      {"B85, none",
       {{"w", one(0)},
        {"grad", one(.5)},
        {"lr", one(.1)},
        {"t", one(1)},
        {"w_new", one(-.1 * .05 / (std::sqrt(.00025) + 1e-8))}},
       "ADAM_BIAS",
       Kind::optimizer},
      {"B85, exponent 2",
       {{"w", one(0)},
        {"grad", one(.5)},
        {"lr", one(.1)},
        {"t", one(1)},
        {"w_new", one(-.1 * (.05 / .19) / (std::sqrt(.00025 / (1 - .999 * .999)) + 1e-8))}},
       "ADAM_BIAS",
       Kind::optimizer},
      {"B87",
       {{"w", Array({2}, {0, 0})},
        {"grad", Array({2}, {3, 4})},
        {"lr", one(.1)},
        {"max_norm", one(1)},
        {"w_new", Array({2}, {-.3, -.4})}},
       "CLIP_AFTER_STEP",
       Kind::optimizer},
      {"B89, coupled",
       {{"w", one(2)},
        {"grad", one(.5)},
        {"lr", one(.1)},
        {"weight_decay", one(.1)},
        {"t", one(1)},
        {"w_new", one(2 - .1 * .7 / (.7 + 1e-8))}},
       "WD_COUPLED",
       Kind::optimizer},
      {"B89, updated",
       {{"w", one(2)},
        {"grad", one(.5)},
        {"lr", one(.1)},
        {"weight_decay", one(.1)},
        {"t", one(1)},
        {"w_new", one((2 - .1 * .5 / (.5 + 1e-8)) * .99)}},
       "WD_COUPLED",
       Kind::optimizer},
      {"B90",
       {{"w", one(0)},
        {"grad", one(.5)},
        {"lr", one(.1)},
        {"t", one(1)},
        {"w_new", one(-.1 * .5 / (std::sqrt(.00025 * .999) + 1e-8))}},
       "ADAM_DOUBLE_COMPLEMENT",
       Kind::optimizer},
      {"B91",
       {{"decoder_input", Array({1, 3}, {0, 1, 2})}, {"labels", Array({1, 3}, {0, 1, 2})}},
       "TF_SHIFT_MISSING",
       Kind::data},
      {"B93",
       {{"logits", Array({1, 2, 3})},
        {"targets", Array({1, 2})},
        {"mask", Array({1, 2}, {1, 0})},
        {"loss", one(std::log(3.0) / 2)}},
       "LOSS_DENOM_PADS",
       Kind::data},
      {"B94",
       {{"logits", Array({1, 2, 2}, {0, 0, std::log(9.0), 0})},
        {"targets", Array({1, 2})},
        {"mask", Array({1, 2}, {1, 0})},
        {"loss", one((std::log(2.0) - std::log(.9)) / 2)}},
       "LOSS_COUNTS_PADS",
       Kind::data},
      {"B109",
       {{"W_a", Array({2, 2})}, {"U_a", Array({2, 2})}, {"v_a", Array({2})}, {"grad_v_a", Array({2})}},
       "INIT_DEAD_SCORER",
       Kind::init},
      {"B111",
       {{"states", Array({2, 1}, {10, 20})}, {"parents", Array({2}, {1, 0})}, {"new_states", Array({2, 1}, {10, 20})}},
       "BEAM_STATE_NOT_REORDERED",
       Kind::beam},
      {"B112",
       {{"logp", Array({2}, {-2, -2.4})},
        {"length", Array({2}, {2, 4})},
        {"score", Array({2}, {-2 / 1.5, -2.4 / 1.5})}},
       "BEAM_LP_GLOBAL",
       Kind::beam},
      {"B113",
       {{"logp", Array({2}, {-3, -4})}, {"length", Array({2}, {3, 5})}, {"score", Array({2}, {-1.5, -1})}},
       "BEAM_LEN_OFF_BY_ONE",
       Kind::beam},
      {"B115",
       {{"w", one(0)},
        {"grad", one(-.1)},
        {"lr", one(.1)},
        {"t", one(2)},
        {"m", one(.05)},
        {"v", one(.00025)},
        {"w_new", one(.1 * .1 / (.1 + 1e-8))}},
       "CKPT_OPT_STATE_LOST",
       Kind::checkpoint},
      {"B117",
       {{"W", Array({2, 2}, {.6, -.2, .1, .7})}, {"x", Array({2}, {1, 0})}, {"Wx", Array({2}, {.6, -.2})}},
       "CKPT_LAYOUT",
       Kind::checkpoint},
      {"B119", {{"run_1", Array({3}, {2, 0, 2})}, {"run_2", Array({3}, {0, 2, 2})}}, "DROPOUT_IN_EVAL", Kind::dropout},
      {"B119, one run",
       {{"x", Array({3}, {.5, .3, .2})},
        {"keep", Array({3}, {1, 0, 1})},
        {"p", one(.4)},
        {"training", one(0)},
        {"y", Array({3}, {.5 / .6, 0, .2 / .6})}},
       "DROPOUT_IN_EVAL",
       Kind::dropout},
      // our own
      {"mean instead of sum",
       {{"b", Array({2}, {1, 2})}, {"dY", Array({3, 2}, {1, 2, 3, 4, 5, 9})}, {"db", Array({2}, {3, 5})}},
       "UNBROADCAST_MEAN",
       Kind::broadcast},
      {"duplicates averaged",
       {{"x", Array({2}, {0, 1})},
        {"idx", Array({3}, {0, 0, 1})},
        {"dy", Array({3}, {1, 3, 4})},
        {"dx", Array({2}, {2, 4})}},
       "GATHER_MEAN",
       Kind::graph},
      {"softmax backward, diagonal",
       {{"x", Array({2}, {0, 1})},
        {"dy_softmax", Array({2}, {1, -2})},
        {"dx", array(V{softmax({0, 1})[0] * softmax({0, 1})[1], -2 * softmax({0, 1})[0] * softmax({0, 1})[1]})}},
       "SOFTMAX_BACKWARD_DIAGONAL",
       Kind::gradcheck},
      {"clipped by value",
       {{"grad", Array({2}, {3, .5})}, {"max_norm", one(1)}, {"clipped", Array({2}, {1, .5})}},
       "CLIP_BY_VALUE",
       Kind::optimizer},
      {"always clipped",
       {{"grad", Array({2}, {.3, .4})}, {"max_norm", one(1)}, {"clipped", Array({2}, {.6, .8})}},
       "CLIP_ALWAYS",
       Kind::optimizer},
      {"Adam without a root",
       {{"w", one(1)}, {"grad", one(.5)}, {"lr", one(.1)}, {"t", one(1)}, {"w_new", one(1 - .1 * .5 / (.25 + 1e-8))}},
       "ADAM_NO_ROOT",
       Kind::optimizer},
      {"uphill",
       {{"w", one(1)}, {"grad", one(.5)}, {"lr", one(.1)}, {"t", one(1)}, {"w_new", one(1 + .1 * .5 / (.5 + 1e-8))}},
       "STEP_SIGN",
       Kind::optimizer},
      {"beams scattered",
       {{"states", Array({3, 1}, {1, 2, 3})},
        {"parents", Array({3}, {1, 2, 0})},
        {"new_states", Array({3, 1}, {3, 1, 2})}},
       "BEAM_PARENTS_INVERTED",
       Kind::beam},
      {"dropout unscaled",
       {{"x", Array({3}, {.5, .3, .2})},
        {"keep", Array({3}, {1, 0, 1})},
        {"p", one(.4)},
        {"y", Array({3}, {.5, 0, .2})}},
       "DROPOUT_NOT_SCALED",
       Kind::dropout},
      {"shifted the wrong way",
       {{"decoder_input", Array({1, 4}, {0, 1, 2, 3})}, {"labels", Array({1, 4}, {0, 0, 1, 2})}},
       "TF_SHIFT_WRONG_WAY",
       Kind::data},
      {"loss with the wrong sign",
       {{"logits", Array({1, 2}, {1, 0})}, {"targets", Array({1}, {0})}, {"loss", one(std::log(softmax({1, 0})[0]))}},
       "LOSS_SIGN",
       Kind::numerics},
      {"bias forgotten",
       {{"W", Array({1, 2}, {1, 2})}, {"b", Array({1}, {.5})}, {"x", Array({2}, {1, 1})}, {"Wx", Array({1}, {3})}},
       "BIAS_IGNORED",
       Kind::graph},
  };
  for (const auto& row : rows) check_named(row.what, formula(row.arrays), row.code, row.kind);
}

TEST_CASE("catalogue: conventions are reported as conventions") {
  const Verdict order =
      diagnose(make_example({.attentional = true}, {{"score", "general"}, {"join", "state_first"}}, 5));
  REQUIRE(order.find("CONCAT_ORDER") != nullptr);  // B14
  CHECK(!order.find("CONCAT_ORDER")->error);
  CHECK(order.code() == "");
  const Verdict forced = diagnose(formula({{"forced", Array({2, 3}, {1, 1, 1, 0, 0, 0})}}));  // B96
  REQUIRE(forced.find("TF_GRANULARITY") != nullptr);
  CHECK(forced.code() == "");
  const Verdict train = diagnose(formula({{"x", Array({3}, {.5, .3, .2})},
                                          {"keep", Array({3}, {1, 0, 1})},
                                          {"p", one(.5)},
                                          {"y", Array({3}, {1, 0, .4})}}));  // B118
  REQUIRE(train.find("DROPOUT_TRAIN_MODE") != nullptr);
  CHECK(train.code() == "");
}
