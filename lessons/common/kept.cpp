// Which run's results stand in a lesson's output directory, and how the next one takes their place.
#include "lessons/common/kept.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/common/files.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

// The run's metrics.json; null where there is none or where it is damaged: then nothing is known of a run.
Json metrics_in(const fs::path& directory) {
  try {
    return parse_json(read_file(directory / "metrics.json"));
  } catch (const FileError&) { return {}; } catch (const std::invalid_argument&) {
    return {};
  }
}

bool has(const Json& run, std::string_view name) { return run.is_object() && run.find(name) != nullptr; }

// The checkpoints in a directory.
std::vector<fs::path> models_in(const fs::path& directory) {
  std::vector<fs::path> models;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".safetensors") models.push_back(entry.path());
  return models;
}

int rank(const Json& run) {
  const std::string& mode = run.at("mode").as_string();
  return mode == "quick" ? 0 : mode == "full" ? 2 : 1;
}

[[noreturn]] void fail(const fs::filesystem_error& error) {
  throw FileError(std::string("the results of this run could not be put in their place: ") + error.what());
}

}  // namespace

std::optional<Json> finished_run(const fs::path& directory) {
  Json run = metrics_in(directory);
  if (!has(run, "interrupted") || !has(run, "mode") || !has(run, "steps") || run.at("interrupted").as_bool())
    return std::nullopt;
  if (has(run, "runs") && models_in(directory).empty()) return std::nullopt;
  return run;
}

bool is_shorter(const Json& run, const Json& than) {
  return rank(run) < rank(than) || run.at("steps").as_integer() < than.at("steps").as_integer();
}

void prepare_beside(const fs::path& directory, bool resumes) {
  const fs::path beside = directory / beside_a_finished_run;
  const Json last = metrics_in(beside);
  try {
    if (resumes && has(last, "interrupted") && last.at("interrupted").as_bool()) return;
    fs::remove_all(beside);
    make_writable_directory(beside);
    if (!resumes) return;
    for (const fs::path& model : models_in(directory)) fs::copy_file(model, beside / model.filename());
  } catch (const fs::filesystem_error& error) { fail(error); }
}

void take_place(const fs::path& directory) {
  const fs::path beside = directory / beside_a_finished_run;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(beside))
      fs::rename(entry.path(), directory / entry.path().filename());
    fs::remove(beside);
  } catch (const fs::filesystem_error& error) { fail(error); }
}

}  // namespace gradus
