// Strict reading and exact writing of safetensors.
#include "nn/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>

#include "nn/formats/bytes.h"
#include "nn/formats/json.h"

namespace gradus {

namespace {

using formats::Bytes;
using formats::Stored;

constexpr std::uint64_t longest_header = std::uint64_t{16} << 20;  // known models stay far below
constexpr std::string_view metadata_key = "__metadata__";

struct Entry {
  std::string what;  // for messages: tensor 'W_a'
  const std::string* name;
  const Stored* stored;
  Shape shape;
  std::int64_t begin, end;  // bytes after the header
};

const Stored& stored_of(const Json& dtype, std::string_view what) {
  for (const Stored& stored : formats::stored_kinds()) {
    if (stored.safetensors == dtype.as_string()) return stored;
  }
  throw FileError(fmt::format("{} has the dtype '{}'; Gradus reads F64, F32, F16, BF16, BOOL and the integers", what,
                              formats::printable(dtype.as_string(), 12)));
}

Extents lengths_of(const Json& lengths, std::string_view what) {
  if (lengths.as_array().size() > static_cast<std::size_t>(max_rank)) {
    throw FileError(fmt::format("{} has {} axes; Gradus has at most {}", what, lengths.as_array().size(), max_rank));
  }
  Extents extents;
  for (const Json& length : lengths.as_array()) {
    if (length.as_integer() < 0) throw FileError(fmt::format("{} has the length {}", what, length.as_integer()));
    extents.insert(extents.rank(), length.as_integer());
  }
  return extents;
}

Entry entry_of(const Json::Member& member) {
  Entry entry;
  Extents lengths;
  entry.name = &member.first;
  entry.what = "tensor '" + formats::printable(member.first) + "'";
  try {
    for (const auto& [key, value] : member.second.as_object()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        throw FileError(
            fmt::format("{} has a member '{}' that the format does not know", entry.what, formats::printable(key)));
      }
    }
    entry.stored = &stored_of(member.second.at("dtype"), entry.what);
    lengths = lengths_of(member.second.at("shape"), entry.what);
    const Json::Array& offsets = member.second.at("data_offsets").as_array();
    if (offsets.size() != 2) {
      throw FileError(fmt::format("{} has {} data_offsets; begin and end are wanted", entry.what, offsets.size()));
    }
    entry.begin = offsets[0].as_integer();
    entry.end = offsets[1].as_integer();
  } catch (const FileError&) { throw; } catch (const std::invalid_argument& error) {
    throw FileError(entry.what + ": " + error.what());
  }
  const std::int64_t needed = formats::checked_bytes(entry.what, lengths, entry.stored->width);
  entry.shape = Shape(lengths);
  if (entry.begin < 0 || entry.end < entry.begin || entry.end - entry.begin != needed) {
    throw FileError(fmt::format("{} of shape {} in {} needs {} bytes, but its data_offsets are {} and {}", entry.what,
                                to_string(entry.shape), entry.stored->safetensors, needed, entry.begin, entry.end));
  }
  return entry;
}

// Every byte of the data must belong to exactly one tensor.
void check_places(const std::vector<Entry>& entries, std::uint64_t available) {
  std::vector<const Entry*> by_place;
  for (const Entry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(), [](const Entry* a, const Entry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  std::int64_t reached = 0;
  for (const Entry* entry : by_place) {
    if (entry->begin < reached) {
      throw FileError(fmt::format("{} begins at byte {} of the data, inside the tensor before it, which ends at {}",
                                  entry->what, entry->begin, reached));
    }
    if (entry->begin > reached) {
      throw FileError(fmt::format("{} begins at byte {} of the data; the {} bytes before it belong to no tensor",
                                  entry->what, entry->begin, entry->begin - reached));
    }
    reached = entry->end;
  }
  const auto wanted = static_cast<std::uint64_t>(reached);
  if (wanted > available) {
    throw FileError(fmt::format("it was cut off: its tensors need {} bytes of data, {} are there", wanted, available));
  }
  if (wanted < available) throw FileError(fmt::format("{} bytes follow the last tensor", available - wanted));
}

std::string header_of(const Bytes& bytes) {
  if (bytes.size < 8) {
    throw FileError(
        fmt::format("it has {} bytes; a safetensors file opens with the 8 bytes of its header's length", bytes.size));
  }
  std::uint64_t length = 0;
  bytes.read(0, &length, 8);
  if (length > longest_header) {
    throw FileError(fmt::format("its header would be {} bytes long; the limit is {}", length, longest_header));
  }
  if (length > bytes.size - 8) {
    throw FileError(fmt::format("it was cut off: its header needs {} bytes, {} are there", length, bytes.size - 8));
  }
  std::string header(static_cast<std::size_t>(length), '\0');
  bytes.read(8, header.data(), header.size());
  if (!header.starts_with('{'))
    throw FileError("its header does not open with '{', as that of a safetensors file does");
  // A value of JSON takes some 50 bytes of memory, and two bytes of a file can ask for one. Headers of tensors have
  // more letters than commas.
  const auto values =
      std::count_if(header.begin(), header.end(), [](char c) { return c == ',' || c == '[' || c == '{'; });
  if (static_cast<std::size_t>(values) > header.size() / 4 + 64) {
    throw FileError("its header has more commas and brackets than a list of tensors can have");
  }
  return header;
}

TensorFile parse(const Bytes& bytes) {
  formats::require_little_endian();
  const std::string header = header_of(bytes);
  Json json;
  try {
    json = parse_json(header, 3);
  } catch (const std::invalid_argument& error) { throw FileError(std::string("its header: ") + error.what()); }

  TensorFile file;
  std::vector<Entry> entries;
  for (const Json::Member& member : json.as_object()) {
    if (member.first != metadata_key) {
      entries.push_back(entry_of(member));
      continue;
    }
    if (!member.second.is_object()) throw FileError("its __metadata__ is no object");
    for (const auto& [key, value] : member.second.as_object()) {
      if (!value.is_string()) {
        throw FileError(fmt::format("its __metadata__ '{}' is no string", formats::printable(key)));
      }
      file.metadata.emplace(key, value.as_string());
    }
  }
  const std::uint64_t data = 8 + header.size();
  check_places(entries, bytes.size - data);
  file.tensors.reserve(entries.size());
  for (const Entry& entry : entries) {
    const std::uint64_t at = data + static_cast<std::uint64_t>(entry.begin);
    file.tensors.emplace_back(*entry.name, formats::fetch(entry.what, bytes, at, entry.stored->kind, entry.shape));
  }
  return file;
}

// A file as the pieces to write one after the other, which point into what is kept beside them.
class Pieces {
 public:
  explicit Pieces(const TensorFile& file);
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  std::vector<std::string_view> all;

 private:
  std::string header_;
  std::vector<Tensor> kept_;
};

Pieces::Pieces(const TensorFile& file) {
  formats::require_little_endian();
  std::set<std::string_view> names;
  for (const auto& [name, x] : file.tensors) {
    if (name == metadata_key) throw ValueError("safetensors: no tensor can have the name __metadata__");
    if (!names.insert(name).second) {
      throw ValueError("safetensors: two tensors have the name '" + formats::printable(name) + "'");
    }
    if (!x.defined()) throw ValueError("safetensors: tensor '" + formats::printable(name) + "' holds nothing");
  }

  // Wide numbers first: then every number lies at a multiple of its own width.
  std::vector<std::array<std::int64_t, 2>> offsets(file.tensors.size());
  std::int64_t reached = 0;
  all.emplace_back();
  for (DType dtype : {f64, f32}) {
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
      const Tensor& x = file.tensors[i].second;
      if (x.dtype() != dtype) continue;
      const std::int64_t bytes = x.size() * static_cast<std::int64_t>(bytes_of(dtype));
      offsets[i] = {reached, reached + bytes};
      reached += bytes;
      if (bytes == 0) continue;
      kept_.push_back(contiguous(x));
      dispatch(dtype, [&](auto t) {
        const auto* first = reinterpret_cast<const char*>(kept_.back().data<decltype(t)>());
        all.emplace_back(first, static_cast<std::size_t>(bytes));
      });
    }
  }

  Json json = Json::object();
  if (!file.metadata.empty()) {
    Json::Object entries;
    for (const auto& [key, value] : file.metadata) entries.emplace_back(key, value);
    json.set(metadata_key, Json::object(std::move(entries)));
  }
  Json::Object members = json.as_object();
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    const auto& [name, x] = file.tensors[i];
    Json entry = Json::object({{"dtype", x.dtype() == f64 ? "F64" : "F32"}});
    entry.set("shape", Json::Array(x.shape().begin(), x.shape().end()));
    entry.set("data_offsets", Json::Array{offsets[i][0], offsets[i][1]});
    members.emplace_back(name, std::move(entry));
  }
  std::string text;
  try {
    text = to_text(Json::object(std::move(members)), 0);
  } catch (const std::invalid_argument& error) {
    throw ValueError(std::string("safetensors: a name or an entry of the metadata is not UTF-8 text: ") + error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > longest_header) {
    throw ValueError(
        fmt::format("safetensors: names and metadata take {} bytes; the limit is {}", text.size(), longest_header));
  }
  const std::uint64_t length = text.size();
  header_.resize(8);
  std::memcpy(header_.data(), &length, 8);
  header_ += text;
  all.front() = header_;
}

}  // namespace

const Tensor* TensorFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

TensorFile parse_safetensors(std::string_view bytes) { return parse(formats::from_memory(bytes)); }

TensorFile read_safetensors(const std::filesystem::path& path) { return formats::read_with(path, parse); }

std::string to_safetensors(const TensorFile& file) {
  std::string bytes;
  const Pieces pieces(file);
  for (std::string_view piece : pieces.all) bytes += piece;
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  formats::replace_file(path, Pieces(file).all);
}

}  // namespace gradus
