// A small safetensors file built byte by byte from the format's description, to hold a reader and a writer against.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace gradus::paper::safetensors {

// The 8 bytes of n, least significant first.
inline std::string little_endian_64(std::uint64_t n) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((n >> shift) & 0xff));
  return bytes;
}

// The 4 bytes of an F32, least significant first.
inline std::string f32_bytes(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return little_endian_64(bits).substr(0, 4);
}

// The 8 bytes of an F64, least significant first.
inline std::string f64_bytes(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return little_endian_64(bits);
}

// header length (8 bytes) | JSON, filled up with spaces to a multiple of 8 | the numbers of all tensors without a gap.
inline std::string assemble(std::string json, const std::string& numbers) {
  while (json.size() % 8 != 0) json.push_back(' ');
  return little_endian_64(json.size()) + json + numbers;
}

// Header of small_file(), before it is filled up: wide types first, as the format's own writer orders them.
inline std::string small_header() {
  return R"({"__metadata__":{"step":"7"},)"
         R"("W_a":{"dtype":"F64","shape":[1,3],"data_offsets":[0,24]},)"
         R"("v_a":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},)"
         R"("none":{"dtype":"F32","shape":[0,5],"data_offsets":[32,32]}})";
}

// W_a = [[0.5, -1, 3]] in F64, v_a = [1, -2] in F32, an empty tensor, and one metadata entry "step": "7".
inline std::string small_file() {
  return assemble(small_header(),
                  f64_bytes(0.5) + f64_bytes(-1.0) + f64_bytes(3.0) + f32_bytes(1.0F) + f32_bytes(-2.0F));
}

}  // namespace gradus::paper::safetensors
