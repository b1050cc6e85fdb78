// A run as one safetensors file: parameters under their names, the optimiser's tensors under "optimizer.", and 64-bit
// state as text in the metadata, where no dtype can round it.
#include "nn/checkpoint.h"

#include <algorithm>

#include "nn/checkpoint_messages.h"

namespace gradus {
namespace {

const std::string optimizer_prefix = "optimizer.";

// What saving now would write. Its tensors are the run's own, not copies.
TensorFile file_of(const Training& training) {
  TensorFile file;
  file.metadata["gradus.checkpoint"] = "1";
  for (const Parameter& p : training.parameters) {
    if (p.name.starts_with(optimizer_prefix)) {
      throw ValueError("checkpoint: parameter '" + p.name + "' must not open with 'optimizer.'; give it another name");
    }
    file.tensors.emplace_back(p.name, p.var.value());
  }
  if (training.optimizer) {
    const OptimizerState state = training.optimizer->state();
    for (const auto& [name, x] : state.tensors) file.tensors.emplace_back(optimizer_prefix + name, x);
    file.metadata["optimizer.steps"] = std::to_string(static_cast<std::uint64_t>(state.steps));
  }
  for (const auto& [name, generator] : training.generators) {
    std::string& words = file.metadata["generator." + name];
    if (!words.empty()) throw ValueError("checkpoint: two generators have the name '" + name + "'");
    for (std::uint64_t word : generator->state()) words += (words.empty() ? "" : " ") + std::to_string(word);
  }
  if (training.step) file.metadata["step"] = std::to_string(static_cast<std::uint64_t>(*training.step));
  if (training.notes) {
    for (const auto& [key, value] : *training.notes) file.metadata[note_prefix + key] = value;
  }
  return file;
}

std::map<std::string, std::string> notes_of(const TensorFile& file) {
  std::map<std::string, std::string> notes;
  for (const auto& [key, value] : file.metadata) {
    if (key.starts_with(note_prefix)) notes[key.substr(note_prefix.size())] = value;
  }
  return notes;
}

void copy_parameters(const TensorFile& file, const std::vector<Parameter>& parameters) {
  for (const Parameter& p : parameters) copy_(p.var.mutable_value(), *file.find(p.name));
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Training& training) {
  write_safetensors(path, file_of(training));
}

void load_checkpoint(const std::filesystem::path& path, const Training& training) {
  const TensorFile file = read_safetensors(path);
  require_same(path, file, file_of(training));
  copy_parameters(file, training.parameters);
  if (training.optimizer) {
    OptimizerState state;
    for (const auto& [name, x] : file.tensors) {
      if (name.starts_with(optimizer_prefix)) state.tensors.emplace_back(name.substr(optimizer_prefix.size()), x);
    }
    state.steps = static_cast<std::int64_t>(whole_numbers(file.metadata.at("optimizer.steps"))[0]);
    training.optimizer->restore(state);
  }
  for (const auto& [name, generator] : training.generators) {
    Generator::State state{};
    std::ranges::copy(whole_numbers(file.metadata.at("generator." + name)), state.begin());
    generator->restore(state);
  }
  if (training.step) *training.step = static_cast<std::int64_t>(whole_numbers(file.metadata.at("step"))[0]);
  if (training.notes) *training.notes = notes_of(file);
}

void load_parameters(const std::filesystem::path& path, const std::vector<Parameter>& parameters) {
  TensorFile file = read_safetensors(path);
  std::erase_if(file.tensors, [](const auto& t) { return t.first.starts_with(optimizer_prefix); });
  const TensorFile here = file_of({parameters});
  file.metadata = here.metadata;
  require_same(path, file, here);
  copy_parameters(file, parameters);
}

std::map<std::string, std::string> checkpoint_notes(const std::filesystem::path& path) {
  return notes_of(read_safetensors(path));
}

}  // namespace gradus
