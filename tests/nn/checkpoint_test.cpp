// Checkpoints: a resumed run is the uninterrupted one bit for bit, and a file that does not fit changes nothing.
#include "nn/checkpoint.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "autograd/ops.h"
#include "nn/cells.h"
#include "nn/formats/safetensors.h"
#include "nn/layers.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::testing;
namespace fs = std::filesystem;

namespace {

struct Model {
  Gru cell;
  Linear out;
  void visit(Visitor& v) {
    v("cell", cell);
    v("out", out);
  }
};
Model make_model(std::uint64_t seed, std::int64_t d_s = 5) {
  Generator init(seed, "init");
  return {Gru(3, d_s, cho2014(), init), Linear(d_s, 2, init)};
}

// A run with everything that can be lost: moments, the order of the data, noise, the step, notes.
struct Run {
  explicit Run(std::uint64_t seed, std::int64_t d_s = 5, DType dtype = f32, bool with_sgd = false)
      : model(clone(make_model(seed, d_s), dtype)), data(seed, "data"), noise(seed, "noise") {
    if (with_sgd) optimizer = std::make_unique<Sgd>(parameters(model), SgdOptions{.rate = 0.05, .momentum = 0.9});
    else optimizer = std::make_unique<Adam>(parameters(model), AdamOptions{.rate = 0.02});
  }
  Training training() {
    return {parameters(model), optimizer.get(), {{"data", &data}, {"noise", &noise}}, &step, &notes};
  }
  // One step of training on sequences whose order and noise come from the generators.
  double train() {
    const DType dtype = model.out.W.dtype();
    std::vector<std::int64_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
    shuffle_(order, data);
    zero_grad(parameters(model));
    Var s = zeros(Shape{4, model.cell.U.size(Axis{1})}, dtype);
    Var loss = zeros(Shape{}, dtype);
    for (int t = 0; t < 4; ++t) {
      Tensor x =
          random_normal(Shape{4, 3}, static_cast<double>(order[static_cast<std::size_t>(t)]) / 8, 0.3, noise, dtype);
      s = model.cell.step(x, s);
      loss = loss + sum(square(model.out(s) - Var(narrow(x, Axis{1}, 0, 2))));
    }
    backward(loss);
    clip_gradients(parameters(model), 1.0);
    optimizer->step();
    ++step;
    notes["last"] = std::to_string(step);
    return loss.item();
  }

  Model model;
  std::unique_ptr<Optimizer> optimizer;
  Generator data, noise;
  std::int64_t step = 0;
  std::map<std::string, std::string> notes;
};

// Everything that a run consists of, as bytes.
std::string bits(Run& run) {
  std::string all;
  const auto add = [&](const Tensor& x) {
    const Tensor dense = contiguous(x);
    dispatch(x.dtype(), [&](auto t) {
      all.append(reinterpret_cast<const char*>(dense.data<decltype(t)>()),
                 static_cast<std::size_t>(x.size()) * sizeof t);
    });
  };
  for (const Parameter& p : parameters(run.model)) add(p.var.value());
  const OptimizerState state = run.optimizer->state();
  for (const auto& [name, x] : state.tensors) add(x);
  all += " " + std::to_string(state.steps) + " " + std::to_string(run.step) + " " + run.notes["last"];
  for (const Generator* generator : {&run.data, &run.noise}) {
    for (std::uint64_t word : generator->state()) all += " " + std::to_string(word);
  }
  return all;
}

class Place {
 public:
  Place() {
    std::string name = (fs::temp_directory_path() / "gradus-checkpoint-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    folder_ = name;
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  fs::path file() const { return folder_ / "model.safetensors"; }

 private:
  fs::path folder_;
};

std::string load_refusal(const fs::path& path, const Training& training) {
  return message_of<FileError>([&] { load_checkpoint(path, training); });
}

}  // namespace

TEST_SUITE("checkpoint") {
  TEST_CASE("k steps, a save, a load into a fresh program and k steps are 2k steps, bit for bit") {
    const Place place;
    for (bool with_sgd : {false, true}) {
      for (DType dtype : {f32, f64}) {
        for (int k : {0, 1, 7}) {
          CAPTURE(with_sgd);
          CAPTURE(to_string(dtype));
          CAPTURE(k);
          Run whole(1, 5, dtype, with_sgd), first(1, 5, dtype, with_sgd), second(99, 5, dtype, with_sgd);
          for (int i = 0; i < 2 * k; ++i) whole.train();
          for (int i = 0; i < k; ++i) first.train();
          save_checkpoint(place.file(), first.training());
          CHECK(bits(second) != bits(first));
          load_checkpoint(place.file(), second.training());
          CHECK(bits(second) == bits(first));
          for (int i = 0; i < k; ++i) second.train();
          CHECK(bits(second) == bits(whole));
        }
      }
    }
  }

  TEST_CASE("saving changes nothing, and the same run gives the same bytes") {
    const Place place;
    Run run(1);
    for (int i = 0; i < 3; ++i) run.train();
    const std::string before = bits(run);
    save_checkpoint(place.file(), run.training());
    const std::string first = to_safetensors(read_safetensors(place.file()));
    save_checkpoint(place.file(), run.training());
    CHECK(bits(run) == before);
    CHECK(to_safetensors(read_safetensors(place.file())) == first);
  }

  TEST_CASE("weights are row-major in the file and keep their strides in the model") {
    const Place place;
    Run run(1), other(2);
    const Tensor& W = run.model.cell.W.value();
    CHECK_FALSE(W.contiguous());  // otherwise this test shows nothing
    save_checkpoint(place.file(), run.training());
    const TensorFile file = read_safetensors(place.file());
    CHECK(file.find("cell.W")->shape() == W.shape());
    CHECK(file.find("cell.W")->to_vector() == elements(W));
    const Extents strides = other.model.cell.W.value().strides();
    load_checkpoint(place.file(), other.training());
    CHECK(other.model.cell.W.value().strides() == strides);
    CHECK(elements(other.model.cell.W.value()) == elements(W));
  }

  TEST_CASE("what is in the file: names that others can read, 64-bit state as text") {
    const Place place;
    Run run(1);
    run.train();
    run.data.restore({~std::uint64_t{0}, 1, (std::uint64_t{1} << 53) + 1, 0});
    run.step = (std::int64_t{1} << 60) + 1;
    save_checkpoint(place.file(), run.training());
    const TensorFile file = read_safetensors(place.file());
    CHECK(file.find("cell.U") != nullptr);
    CHECK(file.find("optimizer.m.cell.U") != nullptr);
    CHECK(file.find("optimizer.v.out.b") != nullptr);
    CHECK(file.metadata.at("generator.data") == "18446744073709551615 1 9007199254740993 0");
    CHECK(file.metadata.at("step") == "1152921504606846977");
    CHECK(file.metadata.at("optimizer.steps") == "1");
    CHECK(file.metadata.at("note.last") == "1");
    CHECK(file.metadata.at("gradus.checkpoint") == "1");
    Run again(2);
    load_checkpoint(place.file(), again.training());
    CHECK(again.data.state() == run.data.state());
    CHECK(again.step == run.step);
  }

  TEST_CASE("a file that does not fit: all differences in one text, and nothing is changed") {
    const Place place;
    Run saved(1);
    for (int i = 0; i < 3; ++i) saved.train();
    save_checkpoint(place.file(), saved.training());
    const TensorFile good = read_safetensors(place.file());
    const auto changed = [&](const std::function<void(TensorFile&)>& change) {
      TensorFile file = good;
      change(file);
      write_safetensors(place.file(), file);
    };
    const auto without = [](const std::string& name) {
      return [name](TensorFile& file) { std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; }); };
    };
    const auto put = [](const std::string& name, Tensor x) {
      return [name, x](TensorFile& file) {
        std::erase_if(file.tensors, [&](const auto& t) { return t.first == name; });
        file.tensors.emplace_back(name, x);
      };
    };
    const auto entry = [](const std::string& key, const std::string& value) {
      return [key, value](TensorFile& file) { file.metadata[key] = value; };
    };
    const auto no_entry = [](const std::string& key) { return [key](TensorFile& file) { file.metadata.erase(key); }; };
    const struct {
      const char* what;
      std::function<void(TensorFile&)> change;
      const char* says;
    } rows[] = {
        {"a parameter is missing", without("cell.U"), "\n  missing in the file: cell.U (15, 5) f32\n"},
        {"a moment is missing", without("optimizer.v.out.b"), "\n  missing in the file: optimizer.v.out.b (2) f32\n"},
        {"a parameter too many", put("cell.W_y", zeros(Shape{3})), "\n  only in the file: cell.W_y (3) f32\n"},
        {"a moment too many", put("optimizer.w.x", zeros(Shape{3})), "\n  only in the file: optimizer.w.x (3) f32\n"},
        {"transposed", put("cell.W", zeros(Shape{3, 15})),
         "\n  differs: cell.W is (15, 3) f32 here, (3, 15) f32 in the file\n"},
        {"flat", put("cell.W", zeros(Shape{45})), "differs: cell.W is (15, 3) f32 here, (45) f32 in the file"},
        {"one axis more", put("out.b", zeros(Shape{1, 2})), "differs: out.b is (2) f32 here, (1, 2) f32 in the file"},
        {"f64", put("out.b", zeros(Shape{2}, f64)), "differs: out.b is (2) f32 here, (2) f64 in the file"},
        {"a moment in f64", put("optimizer.m.out.b", zeros(Shape{2}, f64)), "differs: optimizer.m.out.b is (2) f32"},
        {"a name that rings", put("\a\x1b[31m", zeros(Shape{2})), "only in the file: \\x07\\x1b[31m (2)"},
        {"no version", no_entry("gradus.checkpoint"), "missing in the file: gradus.checkpoint\n"},
        {"another version", entry("gradus.checkpoint", "2"), "cannot be used: gradus.checkpoint is '2' in the file\n"},
        {"no step", no_entry("step"), "missing in the file: step\n"},
        {"a step of text", entry("step", "seven"), "cannot be used: step is 'seven'"},
        {"a step of -1", entry("step", "-1"), "cannot be used: step is '-1'"},
        {"a step of 1.5", entry("step", "1.5"), "cannot be used: step is '1.5'"},
        {"an empty step", entry("step", ""), "cannot be used: step is ''"},
        {"a step with a space", entry("step", " 7"), "cannot be used: step is ' 7'"},
        {"a step of 2^64", entry("step", "18446744073709551616"), "cannot be used: step is '18446744073709551616'"},
        {"two steps", entry("step", "7 8"), "cannot be used: step is '7 8'"},
        {"no steps of the optimiser", no_entry("optimizer.steps"), "missing in the file: optimizer.steps\n"},
        {"no generator", no_entry("generator.data"), "missing in the file: generator.data\n"},
        {"a generator too many", entry("generator.extra", "1 2 3 4"), "only in the file: generator.extra\n"},
        {"three words", entry("generator.data", "1 2 3"), "cannot be used: generator.data is '1 2 3'"},
        {"five words", entry("generator.data", "1 2 3 4 5"), "cannot be used: generator.data"},
        {"two spaces", entry("generator.data", "1 2  3 4"), "cannot be used: generator.data"},
        {"a generator of zeros", entry("generator.noise", "0 0 0 0"), "cannot be used: generator.noise is '0 0 0 0'"},
    };
    Run run(2);
    run.train();
    const std::string before = bits(run);
    const std::uint32_t version = run.model.cell.W.value().version();
    for (const auto& row : rows) {
      CAPTURE(row.what);
      changed(row.change);
      const std::string text = load_refusal(place.file(), run.training());
      CAPTURE(text);
      CHECK(opens_with(text, "cannot load " + place.file().string() + ": it was saved from another model or run\n"));
      CHECK(contains(text, row.says));
      CHECK(contains(text, "\nNothing was changed."));
      CHECK(bits(run) == before);
      CHECK(run.model.cell.W.value().version() == version);
    }
    changed([](TensorFile&) {});
    load_checkpoint(place.file(), run.training());  // so it was the changes that were refused
    CHECK(bits(run) == bits(saved));
  }

  TEST_CASE("another model, another optimiser, a part left out") {
    const Place place;
    Run saved(1);
    saved.train();
    save_checkpoint(place.file(), saved.training());
    Run wide(1, 6), sgd(1, 5, f32, true), f64_run(1, 5, f64);
    std::string text = load_refusal(place.file(), wide.training());
    CHECK(contains(text, "differs: cell.U is (18, 6) f32 here, (15, 5) f32 in the file"));
    CHECK(contains(text, "differs: out.W is (2, 6) f32 here, (2, 5) f32 in the file"));
    text = load_refusal(place.file(), sgd.training());
    CHECK(contains(text, "missing in the file: optimizer.u.cell.W"));
    CHECK(contains(text, "only in the file: optimizer.m.cell.W"));
    text = load_refusal(place.file(), f64_run.training());
    CHECK(contains(text, "differs: out.b is (2) f64 here, (2) f32 in the file"));
    Training part = saved.training();
    part.optimizer = nullptr;
    part.step = nullptr;
    part.generators.pop_back();
    text = load_refusal(place.file(), part);
    CHECK(contains(text, "only in the file: optimizer.v.out.W"));
    CHECK(contains(text, "only in the file: optimizer.steps"));
    CHECK(contains(text, "only in the file: step"));
    CHECK(contains(text, "only in the file: generator.noise"));
  }

  TEST_CASE("many differences: the first 20 and how many more") {
    const Place place;
    TensorFile file;
    for (int i = 0; i < 30; ++i) file.tensors.emplace_back("extra." + std::to_string(i), zeros(Shape{}));
    file.metadata["gradus.checkpoint"] = "1";
    write_safetensors(place.file(), file);
    const std::string text = load_refusal(place.file(), {});
    CHECK(contains(text, "extra.19 ()"));
    CHECK_FALSE(contains(text, "extra.20"));
    CHECK(contains(text, "\n  and 10 more\n"));
  }

  TEST_CASE("weights alone: from a checkpoint, and from a file of any other program") {
    const Place place;
    Run saved(1), other(2);
    for (int i = 0; i < 3; ++i) saved.train();
    save_checkpoint(place.file(), saved.training());
    const std::string moments = bits(other);
    load_parameters(place.file(), parameters(other.model));
    CHECK(elements(other.model.cell.U.value()) == elements(saved.model.cell.U.value()));
    CHECK(elements(other.model.out.W.value()) == elements(saved.model.out.W.value()));
    CHECK(other.step == 0);

    const std::vector<Parameter> single = {{"w", parameter(zeros(Shape{2, 3}))}};
    TensorFile file;
    file.tensors.emplace_back("w", full(Shape{2, 3}, 4));
    file.metadata["format"] = "pt";
    write_safetensors(place.file(), file);
    load_parameters(place.file(), single);
    CHECK(single[0].var.value().at({1, 2}) == 4);
    const std::string text = message_of<FileError>([&] { load_parameters(place.file(), parameters(other.model)); });
    CHECK(contains(text, "missing in the file: cell.U"));
    CHECK(contains(text, "only in the file: w (2, 3) f32"));
  }

  TEST_CASE("notes") {
    const Place place;
    Run run(1);
    run.notes = {{"d_s", "5"}, {"vocabulary", "\xE6\xB3\xA8 \"a\"\n"}, {"", ""}};
    save_checkpoint(place.file(), run.training());
    CHECK(checkpoint_notes(place.file()) == run.notes);
    Run other(2);
    other.notes = {{"old", "gone"}};
    load_checkpoint(place.file(), other.training());
    CHECK(other.notes == run.notes);
    Training no_notes = other.training();
    no_notes.notes = nullptr;
    load_checkpoint(place.file(), no_notes);
    CHECK(other.notes == run.notes);
  }

  TEST_CASE("names that would not come back are refused before anything is written") {
    const Place place;
    const Var x = parameter(zeros(Shape{1}));
    Generator generator(1);
    const auto text = [&](const Training& training) {
      return message_of<ValueError>([&] { save_checkpoint(place.file(), training); });
    };
    CHECK(contains(text({{{"a", x}, {"a", x}}}), "two tensors have the name 'a'"));
    CHECK(contains(text({{{"optimizer.m", x}}}), "must not open with 'optimizer.'"));
    CHECK(contains(text({{}, nullptr, {{"data", &generator}, {"data", &generator}}}), "two generators have the name"));
    CHECK(contains(text({{{"\xFF", x}}}), "not UTF-8"));
    CHECK_FALSE(fs::exists(place.file()));
  }

  TEST_CASE("a file that is missing or damaged") {
    const Place place;
    Run run(1);
    CHECK(contains(load_refusal(place.file(), run.training()), "No such file or directory"));
    save_checkpoint(place.file(), run.training());
    fs::resize_file(place.file(), fs::file_size(place.file()) - 1);
    const std::string before = bits(run);
    CHECK(contains(load_refusal(place.file(), run.training()), "it was cut off"));
    CHECK(bits(run) == before);
  }
}
