// The shape doctor: which tensor is wrong, what it should be, why, and what to do.
//
//   shape error in additive attention: W_a
//     has      (16, 8)
//     needs    (d_attn, d_s) = (8, 16)
//     from     v_a (d_attn) = (8), s_prev (B, d_s) = (4, 16)
//     fix      transpose W_a once, where it is made
//     test     CHECK(score.W_a.shape() == Shape{d_attn, d_s});
//
// The letters of a contract are unknowns, and every axis of every tensor is an equation between them. The tensors named
// are the fewest whose equations have to be struck out for the others to agree. Where several sets are equally small,
// the one that a transposition, an exchange or an axis of length 1 would mend is likelier than one that needs other
// sizes, and what is passed in is likelier to be wrong than what the layer was made with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/doctor/contract.h"
#include "tensor/doctor/said.h"
#include "tensor/error.h"

namespace gradus {

// What a fix does to the tensor. None of them stretches anything; where * lacks an axis, `repeat` says how to ask for
// it.
enum class FixKind {
  transpose,     // a matrix: its two axes exchanged
  swap_axes,     // axes a and b exchanged
  insert_axis,   // an axis of length 1 at a
  drop_axis,     // the axis a of length 1 taken away
  reshape,       // neighbouring axes split or merged, as in (B T, d) and (B, T, d)
  exchange,      // with the tensor called `other`
  pass_other,    // it has the shape of `other`: the wrong one of two was passed
  resize,        // made anew with the lengths that it needs
  equal_widths,  // a dot product between d_s and d_h that differ: another score, or other widths
  multiply,      // `other` is the matrix product that was meant by *
  repeat,        // `other` repeats one operand of * along the axis that it lacks, in the open
};

struct ShapeFix {
  FixKind kind = FixKind::resize;
  int a = 0, b = 0;
  Shape to;           // the shape afterwards, where all of it is known
  std::string other;  // see FixKind
};

struct ShapeReport {
  std::string where;              // "additive": the name that the contract was checked under
  std::string tensor;             // "W_a"
  std::vector<std::string> also;  // others that have the same mistake
  Shape has;
  std::string symbols;  // "(d_attn, d_s)"
  Extents needs;        // (8, 16); -1 where no other tensor tells
  struct Source {
    std::string name, symbols;  // "s_prev", "(B, d_s)"
    Shape shape;                // (4, 16); of a number known to the layer: (16)
    bool number = false;
  };
  std::vector<Source> from;  // what the needed lengths were derived from
  ShapeFix fix;
  bool parameter = false, grid = false, number = false;  // made with the layer; ids or a mask; no tensor but a width
  std::string instead;    // it may as well be this one: nothing else decides between the two
  std::string forgotten;  // what is missing in a sum: "d_h" where d_emb + d_h is needed
  std::string test;       // one line of C++

  // Its parts in words: "shape error in additive attention: W_a", "(16, 8)", "(d_attn, d_s) = (8, 16)", the fix.
  std::string headline(Lang lang) const;
  std::string found() const;
  std::string needed() const;
  std::string change(Lang lang) const;
  // All of it, in lines of at most 80 columns for ordinary sizes. Ends without a newline.
  std::string text(Lang lang, const std::string& place = "") const;
};

// The report on what `contract` refused. `given` as in Contract::check.
ShapeReport examine(const Contract& contract, const char* where, const std::vector<Given>& given);
// The same where one of several contracts was meant: the one that needs the smallest change speaks.
ShapeReport examine_nearest(const std::vector<const Contract*>& contracts, const char* where,
                            const std::vector<Given>& given);
// The same for a dot product of rows "query" and "keys" (or "H"): unless a rearrangement mends it, their widths are
// what is named.
ShapeReport examine_dot(const Contract& contract, const char* where, const std::vector<Given>& given);
// Two widths that a dot product needs to be equal. Each is a tensor whose last axis it is, or a number as (number).
struct Wide {
  std::string name;
  Shape shape;
};
ShapeReport examine_widths(const char* where, const Wide& query, const Wide& keys);
// A prediction of 1 to 3 axes and its target, which must have one shape.
ShapeReport examine_same(const char* where, const Shape& prediction, const Shape& target);
// left * right, whose shapes differ.
ShapeReport examine_product(const Shape& left, const Shape& right);

// `text` in Chinese by the first entry of `known` that it fits, as it is where none does. A % in the entry's English
// stands for what changes; in its Chinese $0 puts the first of these, and @0 puts it translated in its turn.
std::string in_chinese(std::string_view text, std::span<const Said> known);
// what() of one of the library's errors, by the table of those (chinese.cpp).
std::string in_chinese(const std::string& error);

// What to show for any error: the report in `lang`, or what() in it; with the place in the learner's code where the program
// was compiled with debug lines (place.h).
std::string explain(const std::exception& error, Lang lang);

}  // namespace gradus
