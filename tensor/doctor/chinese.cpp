// What the library's own errors say, in Chinese: those that a learner meets.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "tensor/doctor/doctor.h"

namespace gradus {
namespace {

constexpr std::array<Said, 26> errors{{
    {"%: shapes % and % differ. Nothing is stretched silently: use expand or expand_new where an axis is meant to "
     "repeat",
     "$0：形状 $1 与 $2 不同。什么都不会默默拉伸：想让哪个轴重复，就用 expand 或 expand_new 写明"},
    {"%: % meets %; convert one of them with .to(...)", "$0：一个是 $1，另一个是 $2；用 .to(...) 转换其中一个"},
    {"%: Axis{%} is not an axis of shape %; axes are counted from 0 to %",
     "$0：形状 $2 没有 Axis{$1} 这个轴；轴从 0 数到 $3"},
    {"%: axis % of shape % is empty and has no %", "$0：形状 $2 的轴 $1 是空的，没有 $3"},
    {"matmul: % x %: both must have at least two axes; for a product with a vector use dot(x, v, Axis{...})",
     "matmul：$0 乘 $1：两者都至少要有两个轴；与向量相乘用 dot(x, v, Axis{...})"},
    {"matmul: % x %: ranks differ; reshape (B, T, d) to (B * T, d) for a product with a matrix, or repeat the matrix "
     "over "
     "the batch with expand_new",
     "matmul：$0 乘 $1：轴的个数不同；与矩阵相乘时先把 (B, T, d) reshape 成 (B * T, d)，或者用 expand_new "
     "让矩阵沿批次重复"},
    {"matmul: % x %: inner sizes % and % differ; the second operand looks transposed",
     "matmul：$0 乘 $1：中间的大小 $2 与 $3 不同；第二个像是转置了"},
    {"matmul: % x %: inner sizes % and % differ", "matmul：$0 乘 $1：中间的大小 $2 与 $3 不同"},
    {"matmul: % x %: batch axis % has % and % entries; they must be equal",
     "matmul：$0 乘 $1：批次轴 $2 的长度是 $3 和 $4，必须相等"},
    {"transpose: shape % is no matrix; name the two axes: transpose(x, Axis{a}, Axis{b})",
     "transpose：形状 $0 不是矩阵；写明两个轴：transpose(x, Axis{a}, Axis{b})"},
    {"narrow: % positions from % in steps of % do not fit on axis % of shape %",
     "narrow：从 $1 开始、间隔 $2 的 $0 个位置，在形状 $4 的轴 $3 上放不下"},
    {"select: index % on axis % is outside shape %", "select：轴 $1 上的下标 $0 超出了形状 $2"},
    {"expand: axis % of shape % is not of length 1; only such an axis can be stretched (expand_new makes one)",
     "expand：形状 $1 的轴 $0 长度不是 1；只有长度为 1 的轴可以拉伸（expand_new 可以添一个）"},
    {"expand_new: a tensor of shape % has no place for a new Axis{%}",
     "expand_new：形状 $0 里没有新的 Axis{$1} 的位置"},
    {"reshape: % holds % numbers and % needs %", "reshape：$0 里有 $1 个数，$2 需要 $3 个"},
    {"item: shape % holds % numbers, not one", "item：形状 $0 里有 $1 个数，不是一个"},
    {"at: % indices for shape %; give one per axis", "at：给了 $0 个下标，形状是 $1；每个轴给一个"},
    {"at: index % on axis % is outside shape %", "at：轴 $1 上的下标 $0 超出了形状 $2"},
    {"this tensor holds nothing yet: make it with zeros, full or tensor first",
     "这个张量还是空的：先用 zeros、full 或 tensor 做出来"},
    {"this Var holds nothing yet: give it a value, or build the layer before using it",
     "这个 Var 还是空的：先给它一个值，或者先把层建好再用"},
    {"grad: this Var takes no gradient; make it with parameter(...) or from one",
     "grad：这个 Var 不接收梯度；要用 parameter(...) 来做，或由参数算出"},
    {"mutable_grad: this Var takes no gradient", "mutable_grad：这个 Var 不接收梯度"},
    {"backward: % was used up by an earlier backward. Compute the result again, or pass Graph::keep to the first "
     "backward; "
     "a state carried over from the last batch wants detach()",
     "backward：$0 已被先前的反向用掉；重新算一遍结果，或让第一次反向带上 Graph::keep；从上一批传下来的状态要 "
     "detach()"},
    {"backward of '%': % was changed in place after the op had read it, so its gradient would be wrong; write to a "
     "copy(...), or change it after backward",
     "'$0' 的反向：$1 在运算读过之后被就地改写，梯度会出错；请写到 copy(...) 里，或者反向之后再改"},
    {"backward: shape % is not a single number; take sum(...) or mean(...) first, or pass the gradient of the result "
     "as dy",
     "backward：形状 $0 不是单个的数；先取 sum(...) 或 mean(...)，或者把结果的梯度作为 dy 传进去"},
    {"backward: nothing that takes a gradient led to this result; parameters are made with parameter(...), and nothing "
     "is "
     "recorded while a NoGrad lives",
     "backward：没有任何接收梯度的东西通向这个结果；参数要用 parameter(...) 来做，有 NoGrad 在时什么也不记录"},
}};

// What the text has in the places of the pattern's %; false where it is another text.
bool matches(std::string_view text, std::string_view pattern, std::vector<std::string_view>& found) {
  found.clear();
  const std::size_t first = pattern.find('%');
  if (first == pattern.npos) return text == pattern;
  if (text.substr(0, first) != pattern.substr(0, first)) return false;
  text.remove_prefix(first);
  for (std::size_t at = first; at < pattern.size();) {
    const std::size_t next = std::min(pattern.find('%', at + 1), pattern.size());
    const std::string_view literal = pattern.substr(at + 1, next - at - 1);
    const bool last = next == pattern.size();
    if (last && !text.ends_with(literal)) return false;
    const std::size_t end = last ? text.size() - literal.size() : text.find(literal);
    if (end == text.npos) return false;
    found.push_back(text.substr(0, end));
    text.remove_prefix(end + literal.size());
    at = next;
  }
  return true;
}

}  // namespace

std::string in_chinese(std::string_view text, std::span<const Said> known) {
  std::vector<std::string_view> found;
  for (const Said& entry : known) {
    if (!matches(text, entry.en, found)) continue;
    std::string out;
    for (const char* c = entry.zh; *c != '\0'; ++c) {
      const bool place = (*c == '$' || *c == '@') && c[1] >= '0' && c[1] <= '9';
      if (!place) {
        out += *c;
        continue;
      }
      const bool translate = *c == '@';
      const std::string_view part = found.at(static_cast<std::size_t>(*++c - '0'));
      out += translate ? in_chinese(part, known) : std::string(part);
    }
    return out;
  }
  return std::string(text);
}

std::string in_chinese(const std::string& error) { return in_chinese(error, errors); }

}  // namespace gradus
