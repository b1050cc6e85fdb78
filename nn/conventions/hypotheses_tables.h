// Inside the library of hypotheses: its tables, one file a part of the model, and the words that entries are written
// with.
#pragma once

#include <variant>

#include "nn/conventions/hypotheses.h"

namespace gradus::diagnosis {

std::vector<Field> attention_fields();
std::vector<Field> decoder_fields();
std::vector<Field> cell_fields();
std::vector<Field> run_fields();
std::vector<Field> head_fields();

inline bool has(const reference::Arrays& arrays, const char* name) { return reference::find(arrays, name) != nullptr; }
inline reference::AttentionConvention& attention(Model& m) { return m.decoder.attention; }
inline reference::ScoreConvention& score(Model& m) { return m.decoder.attention.score; }
inline reference::GruConvention* gru(Model& m) { return std::get_if<reference::GruConvention>(&m.decoder.cell); }
inline reference::LstmConvention* lstm(Model& m) { return std::get_if<reference::LstmConvention>(&m.decoder.cell); }
inline reference::ElmanConvention* elman(Model& m) { return std::get_if<reference::ElmanConvention>(&m.decoder.cell); }

// Sets a member of the cell if it is there: put(gru(m), &GruConvention::reset, GruReset::after).
template <class C, class T> bool put(C* cell, T C::*member, const T& value) {
  if (cell) cell->*member = value;
  return cell != nullptr;
}
// The same where the new value must differ from the one that stands there, so that nothing is counted twice.
template <class T> bool change(T& member, const T& value) {
  const bool differs = !(member == value);
  member = value;
  return differs;
}

// The first option of a field that most models take, with nothing to say about it.
inline Option usual(bool (*apply)(Model&, const reference::Arrays&) = [](Model&, const reference::Arrays&) {
  return true;
}) {
  Option option;
  option.id = "usual";
  option.level = Level::benign;
  option.apply = apply;
  return option;
}

}  // namespace gradus::diagnosis
