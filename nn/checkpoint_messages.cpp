// Compares all before it complains, so that one message tells everything.
#include "nn/checkpoint_messages.h"

#include <algorithm>
#include <charconv>

#include "nn/formats/bytes.h"

namespace gradus {
namespace {

using formats::printable;

std::string describe(const Tensor& x) { return to_string(x.shape()) + " " + to_string(x.dtype()); }

}  // namespace

std::vector<std::uint64_t> whole_numbers(const std::string& text) {
  std::vector<std::uint64_t> numbers(1);
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    const auto [next, error] = std::from_chars(at, end, numbers.back());
    if (error != std::errc() || (next != end && *next != ' ')) return {};
    if (next == end) return numbers;
    at = next + 1;
    numbers.push_back(0);
  }
}

void require_same(const std::filesystem::path& path, const TensorFile& file, const TensorFile& here) {
  std::vector<std::string> lines;
  for (const auto& [name, x] : here.tensors) {
    const Tensor* saved = file.find(name);
    if (!saved) lines.push_back("missing in the file: " + name + " " + describe(x));
    else if (describe(*saved) != describe(x))
      lines.push_back("differs: " + name + " is " + describe(x) + " here, " + describe(*saved) + " in the file");
  }
  for (const auto& [name, x] : file.tensors) {
    if (!here.find(name)) lines.push_back("only in the file: " + printable(name) + " " + describe(x));
  }
  for (const auto& [key, value] : here.metadata) {
    const auto saved = file.metadata.find(key);
    if (key.starts_with(note_prefix)) continue;
    if (saved == file.metadata.end()) {
      lines.push_back("missing in the file: " + key);
      continue;
    }
    // A generator whose state is all zeros would stay there for ever.
    const std::vector<std::uint64_t> numbers = whole_numbers(saved->second);
    if (numbers.size() != whole_numbers(value).size() || numbers == std::vector<std::uint64_t>(4) ||
        (key == "gradus.checkpoint" && saved->second != value))
      lines.push_back("cannot be used: " + key + " is '" + printable(saved->second) + "' in the file");
  }
  for (const auto& [key, value] : file.metadata) {
    if (!key.starts_with(note_prefix) && !here.metadata.contains(key))
      lines.push_back("only in the file: " + printable(key));
  }
  if (lines.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 20); ++i) text += "\n  " + lines[i];
  if (lines.size() > 20) text += "\n  and " + std::to_string(lines.size() - 20) + " more";
  throw FileError("cannot load " + path.string() + ": it was saved from another model or run" + text +
                  "\nNothing was changed. Build the model with the sizes that were saved, or train anew");
}

}  // namespace gradus
