// What comes from outside: other frameworks' names, missing and misshaped arrays, damaged and hostile files.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <system_error>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"
#include "nn/conventions/reference/decoder.h"
#include "nn/formats/json.h"
#include "nn/formats/npy.h"
#include "nn/formats/safetensors.h"
#include "tests/machine_speed.h"
#include "tests/nn/chinese.h"
#include "tests/slower.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;
using reference::Arrays;
using reference::Dims;
using testing::check_chinese;

namespace {

namespace fs = std::filesystem;

const std::string traces = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/traces/";

// A directory of its own that is gone afterwards.
struct Folder {
  fs::path path;
  Folder() {
    static int count = 0;
    path = fs::temp_directory_path() /
           ("gradus-diagnosis-" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + "-" +
            std::to_string(count++));
    fs::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
};

Tensor tensor_of(const Array& a) {
  Extents sizes;
  for (std::size_t d : a.shape) sizes.insert(sizes.rank(), static_cast<std::int64_t>(d));
  return tensor(Shape(sizes), std::span<const double>(a.data), f64);
}

// Whatever is refused is refused in both languages.
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    check_chinese(error_in_chinese(error.what()));
    return error.what();
  }
  return "";
}

Arrays decoder() { return make_example({}, {}, 1).arrays; }

}  // namespace

TEST_CASE("trace: names of PyTorch, Keras, ONNX and OpenNMT are read as ours") {
  const Trace made = make_example({.attentional = true}, {{"score", "general"}}, 3);
  const Arrays& a = made.arrays;
  Arrays onmt;  // OpenNMT-py: its W_in is our W_a transposed
  onmt["memory_bank"] = a.at("H");
  onmt["memory_mask"] = a.at("mask");
  onmt["dec_emb"] = a.at("y_emb");
  onmt["dec_states"] = a.at("s");
  onmt["attns.std"] = a.at("alpha");
  onmt["align_vectors"] = a.at("alpha");
  onmt.erase("attns.std");
  onmt["context"] = a.at("c");
  onmt["attn_h"] = a.at("htilde");
  onmt["decoder.attn.linear_in.weight"] = transposed(a.at("W_a"));
  onmt["decoder.attn.linear_out.weight"] = a.at("W_c");
  onmt["decoder.attn.linear_out.bias"] = a.at("b_c");
  onmt["decoder.rnn.weight_ih_l0"] = a.at("W");
  onmt["decoder.rnn.weight_hh_l0"] = a.at("U");
  onmt["decoder.rnn.bias_ih_l0"] = a.at("b");
  onmt["decoder.rnn.bias_hh_l0"] = a.at("b_u");
  onmt["encoder.rnn.weight_ih_l0"] = a.at("W");  // the encoder's cell is not the decoder's
  onmt["generator.0.weight"] = a.at("W_o");
  onmt["generator.0.bias"] = a.at("b_o");
  onmt["logits"] = a.at("logits");
  Meta luong;
  luong.claims = "luong2015";
  const Trace read = make_trace(onmt, luong);
  CHECK(read.framework == "OpenNMT");
  CHECK(read.arrays.at("W_a").data == a.at("W_a").data);
  CHECK(read.ignored == std::vector<std::string>{"encoder.rnn.weight_ih_l0"});
  const Verdict v = diagnose(read);
  INFO(v.text());
  CHECK(v.code() == "");
  CHECK(std::count(v.choices.begin(), v.choices.end(), "score=general") == 1);

  const Trace bahdanau = make_example({}, {}, 4);
  const Arrays& b = bahdanau.arrays;
  Arrays keras = b;
  for (const char* name : {"W", "U", "b", "b_u", "W_a", "U_a", "v_a"}) keras.erase(name);
  keras["decoder/gru/kernel:0"] = transposed(b.at("W"));
  keras["decoder/gru/recurrent_kernel:0"] = transposed(b.at("U"));
  Array bias({2, b.at("b").data.size()});
  bias.set_row({0}, b.at("b").data);
  bias.set_row({1}, b.at("b_u").data);
  keras["decoder/gru/bias:0"] = bias;
  keras["attention/W1/kernel:0"] = transposed(b.at("W_a"));
  keras["attention/W2/kernel:0"] = transposed(b.at("U_a"));
  Array column({b.at("v_a").data.size(), 1}, b.at("v_a").data);
  keras["attention/V/kernel:0"] = column;
  const Trace turned = make_trace(keras);
  CHECK(turned.framework == "Keras");
  for (const char* name : {"W", "U", "b", "b_u", "W_a", "U_a", "v_a"}) {
    CAPTURE(name);
    CHECK(turned.arrays.at(name).data == b.at(name).data);
  }
  CHECK(diagnose(turned).code() == "");

  // A layer whose name means nothing here is left out, and its bias is not the cell's.
  for (const char* layer : {"head", "fc_out", "classifier"}) {
    CAPTURE(layer);
    Arrays torch = b, beside = keras;
    for (Arrays* x : {&torch, &beside}) x->erase("W_o"), x->erase("b_o");
    torch[std::string("decoder.") + layer + ".weight"] = b.at("W_o");
    torch[std::string("decoder.") + layer + ".bias"] = b.at("b_o");
    const Trace read_torch = make_trace(torch);
    const bool known = std::string(layer) != "head";
    CHECK(read_torch.arrays.at("b").data == b.at("b").data);
    CHECK(read_torch.arrays.count("W_o") == known);
    CHECK(read_torch.arrays.count("b_o") == known);
    beside[std::string("decoder/") + layer + "_2/kernel:0"] = transposed(b.at("W_o"));
    beside[std::string("decoder/") + layer + "_2/bias:0"] = b.at("b_o");
    const Trace read_keras = make_trace(beside);
    for (const char* name : {"W", "U", "b", "b_u"}) {
      CAPTURE(name);
      CHECK(read_keras.arrays.at(name).data == b.at(name).data);
    }
  }

  // Time first, and one example without a batch axis.
  const auto turn = [](Array x) {
    Array out({x.dim(1), x.dim(0), x.dim(2)});
    for (std::size_t i = 0; i < x.dim(0); ++i)
      for (std::size_t j = 0; j < x.dim(1); ++j) out.set_row({j, i}, x.row({i, j}));
    return out;
  };
  Arrays first = b;
  for (const char* name : {"H", "y_emb", "s", "alpha", "c", "logits"}) first[name] = turn(b.at(name));
  Meta meta;
  meta.layout = "time_major";
  CHECK(diagnose(make_trace(first, meta)).code() == "");
  Arrays single = make_example({.B = 1}, {}, 5).arrays;
  for (const char* name : {"H", "y_emb", "s", "alpha", "c", "logits", "mask"})
    single[name].shape.erase(single[name].shape.begin());
  CHECK(diagnose(make_trace(single)).code() == "");
}

TEST_CASE("trace: TensorFlow 1's kernels over [x, h] are split, their gradients with them") {
  const auto joint = [](const Array& W, const Array& U) {  // (gates d, d_in) and (gates d, d)
    Array kernel = transposed(W);
    const Array below = transposed(U);
    kernel.data.insert(kernel.data.end(), below.data.begin(), below.data.end());
    kernel.shape[0] += below.shape[0];
    return kernel;
  };
  const Trace made = make_example({.gates = 4, .biases = 1}, {{"gate_order", "igfo"}, {"forget_bias", "one"}}, 8);
  Arrays a = made.arrays;
  a["decoder/lstm_cell/kernel:0"] = joint(a.at("W"), a.at("U")), a["decoder/lstm_cell/bias:0"] = a.at("b");
  a["encoder/lstm_cell/kernel:0"] = Array({9, 28}), a["encoder/lstm_cell/bias:0"] = Array({28});
  a["grad_decoder/lstm_cell/kernel:0"] = a.at("decoder/lstm_cell/kernel:0");
  for (const char* name : {"W", "U", "b"}) a.erase(name);
  Meta meta;
  meta.claims = "tensorflow1";
  const Trace read = make_trace(a, meta);
  CHECK(read.framework == "TensorFlow 1");
  for (const char* name : {"W", "U", "b"}) {
    CAPTURE(name);
    CHECK(read.arrays.at(name).data == made.arrays.at(name).data);
  }
  CHECK(read.gradients.at("U").data == made.arrays.at("U").data);
  CHECK(read.read.at("U") == "kernel[7:]");
  CHECK(read.ignored == std::vector<std::string>{"encoder/lstm_cell/bias:0", "encoder/lstm_cell/kernel:0"});
  CHECK(diagnose(read).code() == "");
  a["grad_kernel"] = a.at("grad_decoder/lstm_cell/kernel:0");
  a.erase("grad_decoder/lstm_cell/kernel:0");
  CHECK(make_trace(a, meta).gradients.at("U").data == made.arrays.at("U").data);
  // Without the 1, the claim is not kept.
  Arrays plain = make_example({.gates = 4, .biases = 1}, {{"gate_order", "igfo"}}, 8).arrays;
  plain["kernel"] = joint(plain.at("W"), plain.at("U")), plain["bias"] = plain.at("b");
  for (const char* name : {"W", "U", "b"}) plain.erase(name);
  CHECK(diagnose(make_trace(plain, meta)).exit_status() == 1);
}

TEST_CASE("trace: layers and directions are read in every spelling of a cell's parameters, behind any path") {
  const Trace made = make_example({.kind = TraceKind::recurrent, .layers = 2, .directions = 2, .biases = 1},
                                  {{"gate_order", "rzn"}, {"reset", "before"}}, 4);
  const auto rows = [](const Array& a, std::size_t from, std::size_t to) {  // of three blocks
    const std::size_t n = a.data.size() / 3;
    Dims shape = a.shape;
    shape[0] = shape[0] / 3 * (to - from);
    const auto start = a.data.begin();
    return Array(shape, {start + static_cast<std::ptrdiff_t>(from * n), start + static_cast<std::ptrdiff_t>(to * n)});
  };
  const auto over = [](const Array& W, const Array& U) {  // TensorFlow 1's (d_in + d, columns)
    Array kernel = transposed(W);
    const Array below = transposed(U);
    kernel.data.insert(kernel.data.end(), below.data.begin(), below.data.end());
    kernel.shape[0] += below.shape[0];
    return kernel;
  };
  for (const std::string spelling : {"Keras", "gates", "TensorFlow 1"})
    for (const std::string path : {"", "model.attn."}) {
      CAPTURE(spelling);
      CAPTURE(path);
      Arrays a = made.arrays;
      for (const auto& [ours, theirs] : {std::pair<std::string, std::string>("", "_l0"),
                                         {"_l1", "_l1"},
                                         {"_reverse", "_l0_reverse"},
                                         {"_l1_reverse", "_l1_backward"}}) {
        const Array W = a.at("W" + ours), U = a.at("U" + ours), b = a.at("b" + ours);
        for (const char* name : {"W", "U", "b"}) a.erase(name + ours);
        const auto put = [&, at = theirs](const std::string& name, const Array& x) { a[path + name + at] = x; };
        if (spelling == "Keras") {
          put("kernel", transposed(W)), put("recurrent_kernel", transposed(U)), put("bias", b);
        } else if (spelling == "gates") {
          for (std::size_t k = 0; k < 3; ++k) {
            const std::string gate = std::string("_") + "run"[k];
            put("W" + gate, rows(W, k, k + 1)), put("U" + gate, rows(U, k, k + 1)), put("b" + gate, rows(b, k, k + 1));
          }
        } else {
          put("gates.kernel", over(rows(W, 0, 2), rows(U, 0, 2))), put("gates.bias", rows(b, 0, 2));
          put("candidate.kernel", over(rows(W, 2, 3), rows(U, 2, 3))), put("candidate.bias", rows(b, 2, 3));
        }
      }
      const Trace read = make_trace(a);
      for (const auto& [name, x] : made.arrays) {
        CAPTURE(name);
        REQUIRE(read.arrays.count(name));
        CHECK(read.arrays.at(name).data == x.data);
      }
      CHECK(read.ignored.empty());
      CHECK(diagnose(read).code() == "");
    }
}

TEST_CASE("trace: what the owner says is understood in the letters of every framework, or refused") {
  const Trace cell = make_example({.kind = TraceKind::recurrent, .gates = 4}, {{"gate_order", "igfo"}}, 2);
  const Trace gru = make_example({.kind = TraceKind::recurrent}, {{"gate_order", "zrn"}}, 2);
  const auto says = [](const Trace& t, const char* order) {
    Meta meta;
    meta.gate_order = order;
    return error_of([&] { (void)diagnose(make_trace(t.arrays, meta)); });
  };
  for (const char* order : {"i,j,f,o", "i,c,f,o", "i, g, f, o", "igfo"}) {
    CAPTURE(order);
    Meta meta;
    meta.gate_order = order;
    CHECK(says(cell, order) == "");
    CHECK(diagnose(make_trace(cell.arrays, meta)).code() == "");
  }
  for (const char* order : {"z,r,h", "z,r,c", "u,r,n"}) {
    CAPTURE(order);
    Meta meta;
    meta.gate_order = order;
    CHECK(says(gru, order) == "");
    CHECK(diagnose(make_trace(gru.arrays, meta)).code() == "");
  }
  CHECK(says(gru, "i,f,g,o").find("\"i,f,g,o\" is no order of a GRU's gates r, z (or u), n (or h, c)") !=
        std::string::npos);
  CHECK(says(cell, "r,z,n").find("no order of an LSTM's gates i, f, g (or j, c), o") != std::string::npos);
  CHECK(says(cell, "i,f,g,g").find("no order") != std::string::npos);
  Meta meta;
  meta.layout = "batch_last";
  CHECK(error_of([&] { (void)make_trace(cell.arrays, meta); }).find("time_major") != std::string::npos);
  const Verdict typed = diagnose(make_trace(gru.arrays, parse_meta("{\"clam\": \"pytorch\", \"made_with\": \"me\"}")));
  CHECK(typed.text().find("'clam' is no key that is read here; these are claims, gate_order, layout, heads, "
                          "linear_before_reset, topic") != std::string::npos);
  CHECK(typed.text().find("made_with") == std::string::npos);
}

TEST_CASE("trace: a decoder's loss is checked on its logits where targets are there") {
  Arrays a = make_example({}, {}, 4).arrays;
  const Array logits = a.at("logits");
  const std::size_t B = logits.dim(0), T = logits.dim(1), vocab = logits.dim(2);
  Array targets({B, T}), y_mask({B, T});
  double sum = 0;
  for (std::size_t k = 0; k < B * T; ++k) {
    targets.data[k] = static_cast<double>(k * 5 % vocab);
    y_mask.data[k] = k + 1 < B * T;  // the last one is padding
    double total = 0;
    for (std::size_t v = 0; v < vocab; ++v) total += std::exp(logits.data[k * vocab + v]);
    if (y_mask.data[k] != 0) sum += std::log(total) - logits.data[k * vocab + k * 5 % vocab];
  }
  const double real = static_cast<double>(B * T - 1);
  a["targets"] = targets, a["loss"] = Array({}, {sum / real});
  const Verdict unsaid = diagnose(make_trace(a));
  INFO(unsaid.text());
  CHECK(unsaid.code() == "");
  CHECK(unsaid.text().find("if some targets are padding, dump y_mask") != std::string::npos);
  a["y_mask"] = y_mask;
  const Verdict right = diagnose(make_trace(a));
  INFO(right.text());
  CHECK(right.code() == "");
  CHECK(right.follows.en.find("the loss is the mean over the real tokens") != std::string::npos);
  a["loss"].data[0] = sum / (real + 1);
  CHECK(diagnose(make_trace(a)).code() == "LOSS_DENOM_PADS");
  a["loss"].data[0] = sum / 3 + .1;
  CHECK(diagnose(make_trace(a)).code() == "UNKNOWN");
}

TEST_CASE("trace: a safetensors file's metadata hold the number of heads too") {
  const Folder folder;
  TensorFile file;
  Arrays a = make_example({.kind = TraceKind::multi_head}, {}, 1).arrays;
  a.erase("alpha");
  for (const auto& [name, x] : a) file.tensors.emplace_back(name, tensor_of(x));
  file.metadata["heads"] = "2";
  folder.write("heads.safetensors", to_safetensors(file));
  CHECK(read_trace(folder.path / "heads.safetensors").meta.heads == 2);
  for (const char* bad : {"two", "0", "2]"}) {
    file.metadata["heads"] = bad;
    folder.write("bad.safetensors", to_safetensors(file));
    CHECK(diagnose_file((folder.path / "bad.safetensors").string()).exit_status == 3);
  }
}

TEST_CASE("trace: of arrays that make no trace, the missing part is named") {
  const Trace cell = make_example({.kind = TraceKind::recurrent}, {}, 1);
  const auto without = [](Arrays a, std::initializer_list<const char*> names) {
    for (const char* name : names) a.erase(name);
    return a;
  };
  Arrays kernel = without(cell.arrays, {"W", "U", "h", "h_n", "h0", "b", "b_u"});
  kernel["kernel"] = Array({8, 20});
  Arrays gates = without(cell.arrays, {"W", "U", "b", "b_u"});
  gates["cell/gates/kernel"] = Array({8, 10});
  Arrays uneven = gates;
  uneven["cell/candidate/kernel"] = Array({7, 5});
  const struct {
    Arrays arrays;
    std::vector<const char*> says;
  } rows[] = {
      {without(cell.arrays, {"U"}), {"look like a cell; missing: W_hh (gates * d, d)", "--help"}},
      {without(cell.arrays, {"W", "U"}), {"W_ih and W_hh are missing"}},
      {without(cell.arrays, {"x"}), {"missing: x (B, T, d_in)"}},
      {without(cell.arrays, {"h", "h_n"}), {"missing: h (B, T, d)"}},
      {without(decoder(), {"H"}), {"the encoder's states H (B, T_enc, d_h) are missing"}},
      {without(decoder(), {"alpha", "c", "s", "logits"}), {"one of s, alpha, c, e, htilde, logits is missing"}},
      {kernel, {"kernel (8, 20)", "recurrent_kernel", "needs h or h0"}},
      {gates, {"candidate.kernel (d_in + d, d) is missing"}},
      {uneven, {"need (d_in + d, 2 d) and (d_in + d, d)"}},
  };
  for (const auto& row : rows) {
    const std::string error = error_of([&] { (void)diagnose(make_trace(row.arrays)); });
    CAPTURE(error);
    for (const char* part : row.says) {
      CAPTURE(part);
      CHECK(error.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("trace: the same arrays in float32 are judged with float32's tolerance") {
  Arrays a = make_example({}, {{"query", "s_t"}}, 6).arrays;
  for (auto& [name, x] : a)
    for (double& v : x.data) v = static_cast<double>(static_cast<float>(v));
  Meta meta;
  meta.claims = "bahdanau2014";
  const Verdict v = diagnose(make_trace(a, meta));  // stored as float64, computed in float32
  INFO(v.text());
  CHECK(v.code() == "ATTN_QUERY_POST_STEP");
}

TEST_CASE("trace: what is missing or misshaped is named, with the shape that is needed and where that comes from") {
  const struct {
    const char* what;
    std::function<void(Arrays&)> change;
    std::vector<const char*> says;
  } rows[] = {
      {"W_a transposed",
       [](Arrays& a) { a["W_a"] = transposed(a["W_a"]); },
       {"W_a has shape (5, 7)", "(d_attn, d_s) = (7, 5)", "v_a (7)", "looks transposed"}},
      {"U_a too narrow",
       [](Arrays& a) {
         a["U_a"] = Array({7, 3});
       },
       {"U_a has shape (7, 3)", "d_h"}},
      {"time first",
       [](Arrays& a) { std::swap(a["y_emb"].shape[0], a["y_emb"].shape[1]); },
       {"y_emb has shape (4, 3, 3)", "time_major"}},
      {"states without s_0",
       [](Arrays& a) { a["s"].shape[1] = 4, a["s"].data.resize(3 * 4 * 5), a.erase("s_0"); },
       {"s has shape (3, 4, 5)", "T_dec + 1", "s_0"}},
      {"too few weights",
       [](Arrays& a) {
         a["alpha"] = Array({3, 4, 5});
       },
       {"alpha has shape (3, 4, 5)", "T_enc"}},
      {"a wide context is another width", [](Arrays& a) { a["b_o"] = Array({4}); }, {"b_o has shape (4)", "vocab"}},
      {"odd gates",
       [](Arrays& a) {
         a["U"] = Array({10, 5}), a["W"] = Array({10, 7}), a["b"] = Array({10}), a["b_u"] = Array({10});
       },
       {"1 (Elman), 3 (GRU) or 4 (LSTM)"}},
      {"NaN in a parameter", [](Arrays& a) { a["v_a"].data[2] = std::nan(""); }, {"v_a holds NaN", "place 2"}},
      {"infinity in an input",
       [](Arrays& a) { a["H"].data[0] = std::numeric_limits<double>::infinity(); },
       {"H holds an infinity"}},
      {"half a mask", [](Arrays& a) { a["mask"].data[0] = .5; }, {"mask holds"}},
      {"a mask of another size",
       [](Arrays& a) {
         a["mask"] = Array({3, 4});
       },
       {"mask has shape (3, 4)", "(3, 6)"}},
      {"a length too long",
       [](Arrays& a) {
         a.erase("mask"), a["lengths"] = Array({3}, {6, 7, 1});
       },
       {"lengths[1]", "0 to 6"}},
      {"half a length",
       [](Arrays& a) {
         a.erase("mask"), a["lengths"] = Array({3}, {6, 2.5, 1});
       },
       {"lengths[1]"}},
      {"lengths against a mask",
       [](Arrays& a) {
         a["lengths"] = Array({3}, {6, 6, 6});
       },
       {"mask and lengths disagree", "row 1"}},
      {"two names for one", [](Arrays& a) { a["encoder_outputs"] = a["H"]; }, {"both", "read as H"}},
      {"no examples",
       [](Arrays& a) {
         a["H"] = Array({0, 6, 4});
         for (const char* n : {"mask", "s", "alpha", "c", "logits", "y_emb"}) a.erase(n);
         a["c"] = Array({0, 1, 4});
       },
       {"empty"}},
      {"a gate is missing",
       [](Arrays& a) {
         a["U_r"] = a["U_z"] = Array({5, 5});
       },
       {"one W each"}},
      {"a number in place of a matrix", [](Arrays& a) { a["W"] = Array({}, {1}); }, {"should be a matrix"}},
      {"nothing known",
       [](Arrays& a) {
         a = {{"foo", Array({2})}, {"bar", Array({3})}};
       },
       {"belong to nothing", "foo"}},
      {"nothing at all", [](Arrays& a) { a.clear(); }, {"no array"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    Arrays a = decoder();
    row.change(a);
    const std::string error = error_of([&] { (void)diagnose(make_trace(a)); });
    CAPTURE(error);
    CHECK(error != "");
    for (const char* part : row.says) {
      CAPTURE(part);
      CHECK(error.find(part) != std::string::npos);
    }
  }
  Options options;
  options.claim = "bahdanau2041";
  CHECK(error_of([&] { (void)diagnose(make_trace(decoder()), options); }).find("bahdanau2014") != std::string::npos);
  CHECK(error_of([&] { (void)diagnose(make_trace(decoder()), options); }).find("keras, onnx") != std::string::npos);
}

TEST_CASE("trace: files that cannot be used give exit status 3 and a reason, at once") {
  const Folder folder;
  const Arrays a = decoder();
  TensorFile file;
  for (const auto& [name, x] : a) file.tensors.emplace_back(name, tensor_of(x));
  file.metadata["claims"] = "bahdanau2014";
  const std::string good = to_safetensors(file);
  folder.write("good.safetensors", good);
  CHECK(diagnose_file((folder.path / "good.safetensors").string()).exit_status == 0);

  const auto refused = [&](const std::string& what, const fs::path& path) {
    CAPTURE(what);
    const std::clock_t start = std::clock();
    const Answer answer = diagnose_file(path.string());
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    CHECK(answer.exit_status == 3);
    CHECK(answer.text.size() > 20);
    CHECK(seconds < .5 * testing::slower);
    check_chinese(diagnose_file(path.string(), "", Lang::zh).text);
  };
  refused("nothing there", folder.path / "none");
  fs::create_directories(folder.path / "empty");
  refused("an empty directory", folder.path / "empty");
  folder.write("empty.safetensors", "");
  refused("an empty file", folder.path / "empty.safetensors");
  for (std::size_t n : {1u, 7u, 8u, 9u, 100u}) {
    folder.write("cut.safetensors", good.substr(0, n));
    refused("cut at " + std::to_string(n), folder.path / "cut.safetensors");
  }
  folder.write("cut.safetensors", good.substr(0, good.size() - 1));
  refused("one byte short", folder.path / "cut.safetensors");
  folder.write("huge.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}");
  refused("a header of 2^63", folder.path / "huge.safetensors");
  folder.write("text.safetensors", "this is no model at all, only a sentence");
  refused("text", folder.path / "text.safetensors");
  folder.write("trace.npz", std::string("PK\x03\x04") + std::string(60, '\0'));
  refused("a zip", folder.path / "trace.npz");
  CHECK(diagnose_file((folder.path / "trace.npz").string()).text.find("unzip") != std::string::npos);
  const auto npy = [&](const char* name, const std::string& bytes, const std::string& meta = "") {
    fs::create_directories(folder.path / name);
    std::ofstream(folder.path / name / "H.npy", std::ios::binary) << bytes;
    if (!meta.empty()) std::ofstream(folder.path / name / "meta.json", std::ios::binary) << meta;
    refused(name, folder.path / name);
  };
  const std::string h = to_npy(tensor_of(a.at("H")));
  npy("npy_cut", h.substr(0, h.size() / 2));
  npy("npy_text", "not an array");
  npy("npy_alone", h);
  npy("meta_broken", h, "{\"claims\": ");
  npy("meta_list", h, "[1, 2]");
  npy("meta_number", h, "{\"claims\": 7}");
  npy("meta_deep", h, std::string(100000, '['));
  npy("meta_heads", h, "{\"heads\": -3}");
  npy("meta_topic", h, "{\"topic\": \"weather\"}");
  std::error_code made;
  fs::create_symlink(folder.path / "loop", folder.path / "loop", made);
  if (!made) refused("a symlink to itself", folder.path / "loop");
  // Every byte of a short header flipped: refused or read as something else, never a crash.
  TensorFile small;
  small.tensors.emplace_back("H", tensor_of(Array({1, 2, 2}, {1, 2, 3, 4})));
  small.tensors.emplace_back("alpha", tensor_of(Array({1, 1, 2}, {.25, .75})));
  const std::string bytes = to_safetensors(small);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ flip);
      folder.write("flip.safetensors", bad);
      const Answer answer = diagnose_file((folder.path / "flip.safetensors").string());
      CHECK(answer.exit_status >= 0);
      CHECK(answer.exit_status <= 3);
      CHECK(!answer.text.empty());
      if (answer.exit_status == 3)
        check_chinese(diagnose_file((folder.path / "flip.safetensors").string(), "", Lang::zh).text);
    }
}

TEST_CASE("verdict: text in two languages and JSON say the same") {
  const std::string path = traces + "torch_bahdanau_query_s_t";
  const Answer en = diagnose_file(path), zh = diagnose_file(path, "", Lang::zh),
               json = diagnose_file(path, "", Lang::en, true);
  for (const Answer* answer : {&en, &zh, &json}) CHECK(answer->exit_status == 1);
  CHECK(en.text.rfind("ATTN_QUERY_POST_STEP: the query is s_t", 0) == 0);
  CHECK(zh.text.rfind("ATTN_QUERY_POST_STEP: 查询是 s_t", 0) == 0);
  for (const char* word : {"解码器", "注意力权重", "论文"}) {
    CAPTURE(word);
    CHECK(zh.text.find(word) != std::string::npos);
  }
  const Json parsed = parse_json(json.text);
  CHECK(parsed.at("code").as_string() == "ATTN_QUERY_POST_STEP");
  CHECK(parsed.at("findings").as_array().at(0).at("sentence").at("zh").as_string().find("查询") != std::string::npos);
  CHECK(parsed.at("agreement").as_double() < 1e-9);
  CHECK(parsed.at("next").as_double() > 1e-4);
  // Another claim, another answer: under Luong the query is right and the rest is not.
  const Answer luong = diagnose_file(path, "luong2015");
  CHECK(luong.exit_status == 1);
  CHECK(luong.text.find("ATTN_QUERY_POST_STEP") == std::string::npos);
  CHECK(diagnose_file(path, "nobody1999").exit_status == 3);
}

namespace {

// Bahdanau's decoder with states of d numbers, B 8, T_dec and T_enc 20.
Arrays wide_decoder(std::size_t d) {
  std::mt19937_64 draw(3);
  std::normal_distribution<double> normal;
  Arrays a;
  const auto add = [&](const char* name, const reference::Dims& shape) {
    Array& x = a[name] = Array(shape);
    const double size = shape.size() == 2 ? 1 / std::sqrt(static_cast<double>(shape[1])) : 1;
    for (double& v : x.data) v = size * normal(draw);
  };
  add("H", {8, 20, 2 * d}), add("y_emb", {8, 20, d}), add("s_0", {8, d});
  add("W_a", {d, d}), add("U_a", {d, 2 * d}), add("v_a", {d});
  add("W", {3 * d, 3 * d}), add("U", {3 * d, d});
  Arrays made = reference::decode(reference::bahdanau2014(), a);
  a.merge(made);
  return a;
}

}  // namespace

TEST_CASE("diagnosis: a full diagnosis of a decoder takes less than a second, wrong or unknown, small or large") {
  // On a core that has nothing else to do. The least of five, since what other programs do to the caches and the clock
  // only ever adds to processor time; where they do it all the time, the yardstick beside it tells.
  const auto seconds = [](const Trace& t, std::string& code) {
    double least = 1e9, yard = 1e9;
    for (int k = 0; k < 5 && (k == 0 || least >= testing::slowness(yard)); ++k) {
      yard = std::min(yard, testing::yardstick());
      const std::clock_t start = std::clock();
      code = diagnose(t).code();
      least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least / testing::slowness(yard);
  };
  std::string code;
  const Recipe large{.B = 16, .T_dec = 20, .T_enc = 30};
  CHECK(seconds(make_example(large, {{"query", "two_back"}}, 1), code) < 1 * testing::slower);
  CHECK(code == "ATTN_QUERY_TWO_BACK");
  CHECK(seconds(make_example(large, {{"axis", "batch"}}, 1), code) < 1 * testing::slower);
  CHECK(code == "SOFTMAX_AXIS_BATCH");
  Arrays strange = make_example({}, {}, 1).arrays;
  for (double& x : strange.at("alpha").data) x = x * x / (1 + x);
  CHECK(seconds(make_trace(strange), code) < 1 * testing::slower);
  CHECK(code == "UNKNOWN");
  Meta meta;
  meta.claims = "bahdanau2014";
  CHECK(seconds(make_trace(wide_decoder(64), meta), code) < 1 * testing::slower);
  CHECK(code == "");
  Arrays wide = wide_decoder(32);
  Array& s = wide.at("s");
  for (std::size_t k = 0; k < s.data.size(); ++k)
    if (k / s.dim(2) % s.dim(1)) s.data[k] += 0.3 * std::sin(s.data[k]);
  CHECK(seconds(make_trace(wide, meta), code) < 1 * testing::slower);
  CHECK(code == "UNKNOWN");
  // Those of the exams that took longest, of every kind of trace.
  for (const std::string name :
       {"mutation/033_luong_DROPTERM", "mutation/024_luong_SWAPVAR", "mutation/007_bahdanau_USEVAR",
        "mutation/061_bilstm_USEVAR", "mutation/067_bilstm_SWAPVAR", "mutation/second/003_bahdanau_CMP",
        "mutation/second/027_luong_DROPFACTOR", "mutation/second/030_luong_SWAPVAR", "mutation/second/069_mha_CONST",
        "kinds/luong_keys_and_feeding", "kinds/luong_mask_from_logits_alone", "exam11/case08"}) {
    CAPTURE(name);
    const std::string path = GRADUS_SOURCE_ROOT "/tests/fixtures/" + name + ".safetensors";
    CHECK(seconds(read_trace(path), code) < 1 * testing::slower);
  }
}
