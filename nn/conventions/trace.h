// A trace: what somebody dumped from a model, here or in another framework, under one set of names and shapes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/conventions/reference/array.h"
#include "tensor/doctor/said.h"

namespace gradus::diagnosis {

// What the numbers belong to.
enum class TraceKind { decoder, recurrent, multi_head, formula };

// What the owner knows and says, from meta.json or a safetensors file's metadata. All of it may be empty.
struct Meta {
  std::string claims;                            // "bahdanau2014", "luong2015", "cho2014", "pytorch", ...
  std::string gate_order;                        // "r,z,n": of the stacked weights
  std::string layout;                            // "time_major": axes 0 and 1 of sequences are exchanged when reading
  std::string topic;                             // of a formula trace, where the names alone do not say
  std::size_t heads = 0;                         // of multi-head attention, where alpha does not show it
  std::optional<bool> linear_before_reset = {};  // an attribute of ONNX's GRU
  std::vector<std::string> ignored;              // keys of meta.json that nothing reads
};

// Arrays batch first under the names of docs/diagnosis.md, in the shapes of the papers: W and U stacked gate over gate,
// (out, in).
struct Trace {
  TraceKind kind = TraceKind::formula;
  reference::Arrays arrays;
  reference::Arrays gradients;              // of the arrays with the same names; of outputs: what backward was given
  reference::Arrays absent;                 // 1 where the file has a gradient of other gates of that parameter alone
  std::map<std::string, std::string> read;  // our name -> the name in the file
  std::vector<std::string> ignored;         // names in the file that nothing here reads
  reference::Arrays foreign;                // and what stands under them
  Meta meta;
  std::vector<Words> notes;   // what reading had to decide
  Words behind_the_end;       // h there, where that is one number other than 0 in the file
  bool heads_known = true;    // false: neither alpha nor the owner says how many heads there are
  bool single = false;        // some array is float32: tolerances are wider
  std::string gates_by_name;  // "rzn", "ifgo": the gates came one by one, so their order is known; else empty
  std::string framework;      // "PyTorch", "Keras", "TensorFlow 1", "ONNX", "OpenNMT" or empty, from the names
  std::size_t directions = 1, layers = 1;  // of a recurrent trace
  reference::Arrays turned;     // under time_major, of arrays whose shape does not tell (B = T): the other way round
  reference::Arrays as_padded;  // of a run whose real positions do not come first: x, h, c, mask as they were
};

// Brings names and shapes into order. Throws std::invalid_argument that names the tensor, the shape that it has, the
// shape that is needed and what that was derived from.
Trace make_trace(reference::Arrays raw, const Meta& meta = {}, bool single = false);

// A directory of .npy files with an optional meta.json, or a .safetensors file. Throws std::invalid_argument (FileError
// from the formats) with the path and what to do.
Trace read_trace(const std::filesystem::path& path);

// The arrays of a run with the positions that another mask (B, T), in the file's order, calls real in front; "real" is
// the trace's own mask, moved likewise.
reference::Arrays under_another_mask(const Trace& trace, const reference::Array& mask);

// Of arrays that make no trace: what they look like and which part is missing. Empty if they look like nothing.
std::string missing_part(const reference::Arrays& raw);

// what() of what is thrown here and by diagnose, in Chinese (trace_errors.cpp); as it is where it is not known.
std::string error_in_chinese(const std::string& error);

// The metadata as meta.json has it. Throws std::invalid_argument for text that is no JSON object.
Meta parse_meta(std::string_view json);

}  // namespace gradus::diagnosis
