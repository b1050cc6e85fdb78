// A contract: the shapes that a layer's tensors must have, in the letters of its paper.
//
//   constexpr Contract additive("score",
//                               "W_a (d_attn, d_s)  U_a (d_attn, d_h)  v_a (d_attn);"
//                               "s_prev (B, d_s)  keys (B, T_enc, d_attn)");
//   additive.check("additive", {W_a, U_a, v_a, s_prev, keys});
//
// A letter stands for one number wherever it occurs. check() binds each letter where it is met first and compares it
// from then on: some thirty comparisons of whole numbers, so it may run at every step. Only when they do not fit is the
// shape doctor called (doctor.h): it finds out which tensor disagrees with the others.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "tensor/shape.h"

namespace gradus {

// One entry handed to check(): a tensor, ids, a mask, or a number that the layer knows. Whatever holds nothing (an
// absent bias, no mask) and the number 0 are left out of the comparison.
struct Given {
  const Shape* shape = nullptr;
  std::int64_t number = 0;
  bool grid = false;  // ids or a mask: not made by views
  Given() = default;
  Given(std::int64_t known) : number(known) {}
  Given(const Shape& known) : shape(&known) {}
  template <class T>
  requires requires(const T& x) { x.shape(); }
  Given(const T& x) {
    grid = requires { x.values(); };
    if constexpr (requires { x.defined(); }) shape = x.defined() ? &x.shape() : nullptr;
    else shape = &x.shape();
  }
  template <class T>
  requires requires(const T& x) { x->shape(); }
  Given(const T& x) : Given(x ? Given(*x) : Given()) {}  // std::optional<Mask>, const Mask*
  bool there() const { return shape || number != 0; }
};

class Contract {
 public:
  static constexpr int max_rows = 16, max_symbols = 16;

  // factor * symbol; "G d_s" is as many d_s as the cell has gates, and G is one of the numbers given.
  struct Term {
    int symbol = -1, factor = 1;
    bool gates = false;
  };
  struct Length {  // of one axis: "d_s", "3 d_s", "d_emb + d_h"
    std::array<Term, 3> terms{};
    int count = 0;
  };
  struct Row {
    std::string_view name;
    std::array<Length, max_rank> axes{};
    int rank = 0;
    bool letters = true;     // every length is one letter, as most are
    bool gates = false;      // the number G
    bool leading = false;    // "(..., d_in)": any axes in front, at least one
    bool number = false;     // no parentheses: a number that the layer was made with, or G. Never wrong itself
    bool parameter = false;  // stands before the ';': made with the layer
  };

  // `owner` is what the parameters are fields of, for the regression test. A misspelled text does not compile.
  constexpr Contract(std::string_view owner, std::string_view text) : owner_(owner) { parse(text); }

  // One entry per row, in order. Throws ShapeError with the doctor's report; `where` opens it.
  void check(const char* where, std::initializer_list<Given> given) const {
    if (!fits(given.begin(), given.size())) refuse(where, given);
  }
  // The same for a dot product: what is said first is that the query and the keys differ in width.
  void check_dot(const char* where, std::initializer_list<Given> given) const {
    if (!fits(given.begin(), given.size())) refuse_dot(where, given);
  }
  bool fits(const Given* given, std::size_t count) const;

  std::string_view owner() const { return owner_; }
  int rows() const { return rows_; }
  const Row& row(int i) const { return table_[static_cast<std::size_t>(i)]; }
  int symbols() const { return symbols_; }
  std::string_view symbol(int i) const { return names_[static_cast<std::size_t>(i)]; }
  int find(std::string_view name) const;  // the row of that name, or -1

 private:
  [[noreturn]] void refuse(const char* where, std::initializer_list<Given> given) const;
  [[noreturn]] void refuse_dot(const char* where, std::initializer_list<Given> given) const;
  static constexpr bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '~';
  }
  static constexpr std::string_view word(std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == ' ') ++at;
    const std::size_t start = at;
    while (at < text.size() && in_word(text[at])) ++at;
    return text.substr(start, at - start);
  }
  static constexpr bool next_is(std::string_view text, std::size_t& at, char c) {
    while (at < text.size() && text[at] == ' ') ++at;
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  constexpr int symbol_of(std::string_view name) {
    for (int i = 0; i < symbols_; ++i) {
      if (names_[static_cast<std::size_t>(i)] == name) return i;
    }
    if (symbols_ == max_symbols) throw "a contract has at most 16 letters";
    names_[static_cast<std::size_t>(symbols_)] = name;
    return symbols_++;
  }
  constexpr Term term(std::string_view text, std::size_t& at) {
    Term result;
    std::string_view name = word(text, at);
    if (name == "G") {
      result.gates = true;
      name = word(text, at);
    } else if (!name.empty() && name[0] >= '2' && name[0] <= '9') {
      result.factor = name[0] - '0';
      name = word(text, at);
    }
    if (name.empty()) throw "a letter is missing in a contract";
    result.symbol = symbol_of(name);
    return result;
  }
  constexpr void parse(std::string_view text) {
    std::size_t at = 0;
    bool parameters = text.find(';') != std::string_view::npos;
    while (at < text.size()) {
      if (next_is(text, at, ';')) {
        parameters = false;
        continue;
      }
      if (rows_ == max_rows) throw "a contract has at most 16 rows";
      Row& row = table_[static_cast<std::size_t>(rows_++)];
      row.name = word(text, at);
      if (text.substr(at, 2) == "()") {  // a function of the layer, as in decoder.cell.W()
        row.name = {row.name.data(), row.name.size() + 2};
        at += 2;
      }
      row.parameter = parameters;
      if (row.name.empty()) throw "a name is missing in a contract";
      if (!next_is(text, at, '(')) {
        row.number = true;
        row.gates = row.name == "G";
        row.rank = 1;
        row.axes[0].terms[0].symbol = symbol_of(row.name.substr(row.name.rfind('.') + 1));
        row.axes[0].count = 1;
        continue;
      }
      do {
        while (at < text.size() && text[at] == ' ') ++at;
        if (text.substr(at, 3) == "...") {
          row.leading = true;
          row.letters = false;
          at += 3;
          continue;
        }
        Length& length = row.axes[static_cast<std::size_t>(row.rank++)];
        do length.terms[static_cast<std::size_t>(length.count++)] = term(text, at);
        while (next_is(text, at, '+'));
        const Term& alone = length.terms[0];
        if (length.count > 1 || alone.gates || alone.factor > 1) row.letters = false;
      } while (next_is(text, at, ','));
      if (!next_is(text, at, ')')) throw "a ')' is missing in a contract";
    }
  }

  std::string_view owner_;
  std::array<Row, max_rows> table_{};
  std::array<std::string_view, max_symbols> names_{};
  int rows_ = 0, symbols_ = 0;
};

}  // namespace gradus
