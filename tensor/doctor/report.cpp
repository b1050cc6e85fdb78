// The doctor's report in words, English and Chinese.
#include <algorithm>
#include <iterator>

#include "tensor/doctor/doctor.h"
#include "tensor/doctor/place.h"

namespace gradus {
namespace {

// What a contract is checked under, and what that is called. A name that is not listed is shown as it is.
struct Named {
  const char* where;
  Said name;
};
constexpr Named places[] = {
    {"additive", {"additive attention", "加性注意力"}},
    {"dot", {"dot attention", "点积注意力"}},
    {"general", {"general attention", "general 注意力"}},
    {"concat", {"concat attention", "concat 注意力"}},
    {"cosine", {"cosine attention", "余弦注意力"}},
    {"scaled_dot", {"scaled dot attention", "缩放点积注意力"}},
    {"attend", {"attend", "加权求和（attend）"}},
    {"Elman", {"Elman cell", "Elman 单元"}},
    {"GRU", {"GRU", "GRU 单元"}},
    {"LSTM", {"LSTM", "LSTM 单元"}},
    {"run", {"run over a sequence", "循环网络（run）"}},
    {"Linear", {"Linear", "线性层"}},
    {"Embedding", {"Embedding", "嵌入层"}},
    {"BahdanauDecoder", {"Bahdanau decoder", "Bahdanau 解码器"}},
    {"LuongDecoder", {"Luong decoder", "Luong 解码器"}},
    {"PlainDecoder", {"plain decoder", "无注意力的解码器"}},
    {"decode_teacher", {"teacher forcing", "教师强制"}},
    {"cross_entropy", {"cross entropy", "交叉熵"}},
    {"mse", {"mean squared error", "均方误差"}},
};

std::string place_name(const std::string& where, Lang lang) {
  const Named* known =
      std::find_if(std::begin(places), std::end(places), [&](const Named& named) { return where == named.where; });
  return known == std::end(places) ? where : known->name.in(lang);
}

// "(4, 16)"; a letter where no number is known.
std::string numbers(const ShapeReport& report) {
  std::vector<std::string> letters{""};
  for (char c : report.symbols) {
    if (c == ',') letters.emplace_back();
    else if (c != '(' && c != ')' && !(c == ' ' && letters.back().empty())) letters.back() += c;
  }
  const std::size_t leading = letters[0] == "..." ? 1 : 0;
  std::string text = leading ? "(..." : "(";
  for (int axis = 0; axis < report.needs.rank(); ++axis) {
    if (text.size() > 1) text += ", ";
    const std::size_t place = static_cast<std::size_t>(axis) + leading;
    text += report.needs[axis] >= 0  ? std::to_string(report.needs[axis])
            : place < letters.size() ? letters[place]
                                     : "?";
  }
  return text + ")";
}

std::string reshaped(const std::string& name, const Shape& to) {
  std::string text = "reshape(" + name + ", Shape{";
  for (int axis = 0; axis < to.rank(); ++axis) text += (axis > 0 ? ", " : "") + std::to_string(to[axis]);
  return text + "})";
}

// Which lengths have to change: "d_s = 16", "B = 4, d_s = 16".
std::string wanted_lengths(const ShapeReport& report) {
  std::string text;
  std::size_t start = report.symbols.find('(') + 1;
  const bool leading = report.symbols.compare(start, 3, "...") == 0;
  if (leading) start = report.symbols.find(' ', start) + 1;
  const int offset = report.has.rank() - report.needs.rank();
  for (int axis = 0; axis < report.needs.rank(); ++axis) {
    const std::size_t end = report.symbols.find_first_of(",)", start);
    // Without letters, where one operand has to be like the other, axes have their numbers only.
    const bool lettered = report.symbols.find('(') != std::string::npos;
    const std::string letter =
        lettered ? report.symbols.substr(start, end - start) : "Axis{" + std::to_string(axis) + "}";
    start = end + 2;
    const bool there = axis + offset >= 0 && (leading || offset == 0);  // too few axes: then none is the same
    const bool same = there && report.has[axis + offset] == report.needs[axis];
    if (same || report.needs[axis] < 0) continue;
    text += (text.empty() ? "" : ", ") + letter + " = " + std::to_string(report.needs[axis]);
  }
  return text;
}

std::string resize_words(const ShapeReport& r, bool zh) {
  const std::string& t = r.tensor;
  const bool wrong_rank = r.symbols.find("...") == std::string::npos && r.has.rank() != r.needs.rank();
  const std::string lengths = wanted_lengths(r);
  std::string text;
  if (!r.forgotten.empty() && r.forgotten != "*") {
    text = zh ? "漏了 " + r.forgotten + "：让 " + t + " 满足 " + lengths
              : r.forgotten + " was forgotten: make " + t + " with " + lengths;
  } else if (r.forgotten == "*") {
    text = zh ? "各个门的矩阵上下叠放：让 " + t + " 满足 " + lengths
              : "the gates are stacked: make " + t + " with " + lengths;
  } else if (r.grid && r.needs.rank() == 2 && t == "mask") {
    text = zh ? "mask_from_lengths(lengths, " + std::to_string(r.needs[1]) + ")，每个样本一行"
              : "mask_from_lengths(lengths, " + std::to_string(r.needs[1]) + "), one row an example";
  } else if (wrong_rank) {
    text = zh ? "把 " + t + " 做成 " + r.symbols + " = " + numbers(r)
              : (r.parameter ? "make " : "pass ") + t + " as " + r.symbols + " = " + numbers(r);
  } else if (r.parameter) {
    text = zh ? "在创建 " + t + " 的地方改成 " + lengths : "make " + t + " with " + lengths + ", where it is made";
  } else {
    text = zh ? "传入 " + lengths + " 的 " + t : "pass " + t + " with " + lengths;
  }
  return text;
}

std::string fix_words(const ShapeReport& r, Lang lang) {
  const bool zh = lang == Lang::zh;
  std::string others;
  for (const std::string& name : r.also) others += (others.empty() ? "" : zh ? "、" : ", ") + name;
  const bool alone = others.empty() || r.fix.kind == FixKind::exchange;
  const std::string t = alone ? r.tensor : r.tensor + (zh ? "、" : ", ") + others;
  const std::string same = alone ? "" : zh ? "（" + others + " 同样）" : " (" + others + " likewise)";
  const bool batch_first = r.symbols.rfind("(B, ", 0) == 0;
  const std::string shape = r.symbols + " = " + numbers(r);
  switch (r.fix.kind) {
    case FixKind::transpose:
      if (r.parameter) return zh ? "在创建 " + t + " 的地方转置一次" : "transpose " + t + " once, where it is made";
      [[fallthrough]];
    case FixKind::swap_axes: {
      if (r.grid) return zh ? "构造 " + t + " 时批次在前：" + shape : "build " + t + " batch first: " + shape;
      std::string call = "transpose(" + r.tensor;
      if (r.fix.kind == FixKind::swap_axes)
        call += ", Axis{" + std::to_string(r.fix.a) + "}, Axis{" + std::to_string(r.fix.b) + "}";
      call += ")";
      const bool order = batch_first && r.fix.a == 0;
      if (zh) return "传入 " + call + (order ? "：批次在前" : "") + same;
      return "pass " + call + (order ? ": batch first" : "") + same;
    }
    case FixKind::insert_axis:
      if (r.grid) return zh ? "把 " + t + " 做成 " + shape : "build " + t + " as " + shape;
      return zh ? "传入 " + reshaped(r.tensor, r.fix.to) + "：批次为 1 也要有批次轴" + same
                : "pass " + reshaped(r.tensor, r.fix.to) + ": a batch of one has its axis" + same;
    case FixKind::drop_axis:
    case FixKind::reshape:
      if (r.grid) return zh ? "把 " + t + " 做成 " + shape : "build " + t + " as " + shape;
      if (r.parameter) {
        return zh ? "在创建 " + t + " 的地方用 " + reshaped(r.tensor, r.fix.to)
                  : "use " + reshaped(r.tensor, r.fix.to) + " where it is made";
      }
      return (zh ? "传入 " : "pass ") + reshaped(r.tensor, r.fix.to) + same;
    case FixKind::exchange:
      return zh ? "交换 " + t + " 和 " + r.fix.other : "exchange " + t + " and " + r.fix.other;
    case FixKind::pass_other:
      if (t == "keys" && r.fix.other == "H")
        return zh ? "传入 score.keys(H)，不是 H 本身" : "pass score.keys(H), not H itself";
      if (t == "values" && r.fix.other == "keys")
        return zh ? "values 就是 H，不是 score.keys(H)" : "values are H itself, not score.keys(H)";
      return zh ? "传入 " + t + "；这里传的是 " + r.fix.other : "pass " + t + "; this is " + r.fix.other;
    case FixKind::resize:
      return resize_words(r, zh);
    case FixKind::equal_widths:
      return zh ? "用 general 打分，或加一个桥接层，或令 d_s = 2 d_hidden"
                : "the general score, or a bridge to d_h, or d_s = 2 d_hidden";
    case FixKind::repeat:
      return zh ? "少一个轴，要重复就明写 " + r.fix.other : "an axis is missing; repeat it openly: " + r.fix.other;
    case FixKind::multiply:
      return zh ? "* 是逐元素乘；矩阵乘法是 " + r.fix.other : "* is elementwise; the product is " + r.fix.other;
  }
  return "";
}

}  // namespace

std::string ShapeReport::headline(Lang lang) const {
  const bool zh = lang == Lang::zh;
  const std::string opening = place_name(where, lang);
  const bool latin = static_cast<unsigned char>(opening.back()) < 0x80;
  std::string text =
      zh ? opening + (latin ? " " : "") + "的形状错误：" + tensor : "shape error in " + opening + ": " + tensor;
  for (const std::string& name : also) text += (zh ? "、" : ", ") + name;
  return text;
}

std::string ShapeReport::found() const { return number ? std::to_string(has[0]) : to_string(has); }

std::string ShapeReport::needed() const {
  return symbols + " = " + (number ? std::to_string(needs[0]) : numbers(*this));
}

std::string ShapeReport::change(Lang lang) const {
  const std::string words = fix_words(*this, lang);
  if (instead.empty() || fix.kind == FixKind::multiply) return words;
  return words + (lang == Lang::zh ? "；或改 " + instead : "; or change " + instead);
}

std::string ShapeReport::text(Lang lang, const std::string& place) const {
  const bool zh = lang == Lang::zh;
  // Chinese characters are two columns wide, so the labels of both languages end in column 11.
  const auto line = [&](const char* en, const char* chinese, const std::string& rest) {
    return std::string("\n  ") + (zh ? std::string(chinese) + "     " : (en + std::string(9, ' ')).substr(0, 9)) + rest;
  };
  std::string text = headline(lang);
  if (!place.empty()) text += line("place", "位置", place);
  text += line("has", "现在", found()) + line("needs", "需要", needed());
  std::string evidence;
  std::size_t width = 11;
  for (const Source& source : from) {
    const std::string letters = source.symbols.empty() ? "" : source.symbols + " = ";
    const std::string part = source.number     ? source.name + " = " + std::to_string(source.shape[0])
                             : letters.empty() ? source.name + " = " + to_string(source.shape)
                                               : source.name + " " + letters + to_string(source.shape);
    if (!evidence.empty()) {
      evidence += ",";
      const bool fits = width + part.size() + 3 <= 80;
      evidence += fits ? " " : "\n" + std::string(11, ' ');
      width = fits ? width + 2 : 11;
    }
    evidence += part;
    width += part.size();
  }
  if (!evidence.empty()) text += line("from", "依据", evidence);
  return text + line("fix", "修改", change(lang)) + line("test", "测试", test);
}

ShapeError::ShapeError(const ShapeReport& found)
    : Error(found.text(Lang::en)), report(std::make_shared<const ShapeReport>(found)) {}

std::string explain(const std::exception& error, Lang lang) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  const std::string place = ours ? place_of(*ours) : "";
  const auto* shape = dynamic_cast<const ShapeError*>(&error);
  if (shape && shape->report) return shape->report->text(lang, place);
  const std::string text = lang == Lang::zh ? in_chinese(error.what()) : error.what();
  if (place.empty()) return text;
  return text + (lang == Lang::zh ? "\n  位置     " : "\n  place    ") + place;
}

}  // namespace gradus
