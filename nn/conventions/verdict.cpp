// Verdicts as text and as JSON.
#include "nn/conventions/verdict.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

#include "nn/formats/json.h"

namespace gradus::diagnosis {

namespace {

std::string scientific(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "NaN" : "inf";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific, 1).ptr;
  return std::string(text, end);
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

void line(std::string& out, const char* label, const std::string& text) {
  if (text.empty()) return;
  std::string padded = label;
  out += "  " + padded + "  " + text + "\n";
}

// Of a stage that nothing explains, the nearest miss; the next best belongs to another stage then.
std::string how_sure(const Verdict& v, bool zh) {
  const Finding* unknown = v.find("UNKNOWN");
  std::string text = zh ? "把握：" : "how sure: ";
  if (unknown && unknown->kind != Kind::shape) {
    text += zh ? "没有假设与" + unknown->where.zh + "相符，最接近的相差 "
               : "no hypothesis gives " + unknown->where.en + ", the nearest differs by ";
    text += scientific(v.agreement);
  } else {
    text += (zh ? "最佳假设相差 " : "the best hypothesis differs by ") + scientific(v.agreement);
    if (std::isfinite(v.next)) text += (zh ? "，其次相差 " : ", the next one by ") + scientific(v.next);
  }
  return text + (zh ? "，共试 " : ", ") + std::to_string(v.tried) + (zh ? " 个假设\n" : " hypotheses tried\n");
}

// A Latin word, a number or a formula stands apart from the Chinese around it.
std::string spaced(const std::string& text) {
  const auto han = [&](std::size_t at) {  // a character of U+4000 .. U+9FFF, three bytes
    return at < text.size() && static_cast<unsigned char>(text[at]) >= 0xe4 &&
           static_cast<unsigned char>(text[at]) <= 0xe9;
  };
  const auto latin = [&](std::size_t at, const char* bracket) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || std::strchr(bracket, text[at]));
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = han(at) ? 3 : 1;
    out += text.substr(at, n);
    at += n;
    if (n == 3 ? latin(at, "([") : latin(at - 1, ")]}") && han(at)) out += ' ';
  }
  return out;
}

Json words(const Words& w) { return Json::object({{"en", w.en}, {"zh", spaced(w.zh)}}); }

}  // namespace

std::string Verdict::code() const {
  for (const Finding& f : findings)
    if (f.error) return f.code;
  return "";
}

const Finding* Verdict::find(const std::string& wanted) const {
  for (const Finding& f : findings)
    if (f.code == wanted) return &f;
  return nullptr;
}

bool Verdict::leaves_open(const std::string& field) const {
  for (const Open& o : open)
    if (o.field == field) return true;
  return false;
}

int Verdict::exit_status() const { return !code().empty() ? 1 : checked ? 0 : 2; }

std::string Verdict::text(Lang lang) const {
  const bool zh = lang == Lang::zh;
  std::string out;
  std::size_t errors = 0;
  for (const Finding& f : findings) errors += f.error;
  const std::string who = subject.in(lang);
  if (errors == 0 && !checked) {
    out += zh ? "无法判断：" + who + "，文件里没有可以核对的结果\n"
              : "CANNOT TELL: " + who + ", the trace holds nothing that can be checked\n";
  } else if (errors == 0) {
    const std::string as_far = zh ? "就此输入所能判断，" : "as far as this input tells ";
    const std::string kept =
        (claim_is_open ? as_far : "") + (zh ? "与所声称的 " + claim + " 一致" : "it keeps its claim, " + claim);
    const std::string but = std::to_string(findings.size());
    const std::string own = zh ? "对照所声称的 " + claim + " 没有发现错误；另有 " + but + " 处约定值得留意，见下"
                               : "no mistake against its claim, " + claim + "; conventions to note: " + but;
    const std::string against = claim.empty()      ? (zh ? "没有发现错误" : "no mistake found")
                                : findings.empty() ? kept
                                                   : (claim_is_open ? as_far : "") + own;
    out += (zh ? "正常：" : "OK: ") + who + (zh ? "，" : ", ") + against + "\n";
  }
  for (const Finding& f : findings) {
    const std::string head = f.error ? f.code : (zh ? "约定 " : "convention ") + f.code;
    out += head + ": " + f.sentence.in(lang) + "\n";
    line(out, zh ? "位置" : "where  ", f.where.in(lang));
    // A mistake in a formula is no matter of taste.
    const bool formula = f.error && f.kind == Kind::convention;
    line(out, zh ? "类别" : "kind   ", formula ? (zh ? "公式" : "formula") : Words(name_of(f.kind)).in(lang));
    line(out, zh ? "所用" : "used   ", f.used.in(lang));
    const bool of_paper = !f.error || f.paper.en.find("et al.") != f.paper.en.npos;
    line(out, zh ? (of_paper ? "论文" : "应为") : (of_paper ? "paper  " : "right  "), f.paper.in(lang));
    // Of a choice there is nothing to mend; the other one may be wanted.
    line(out, f.error ? (zh ? "修改" : "fix    ") : (zh ? "另法" : "instead"), f.fix.in(lang));
    if (f.error) line(out, zh ? "测试" : "test   ", f.test.in(lang));
    if (f.alias.size() > 1) {
      line(out, zh ? "无法区分" : "cannot be told apart here:", joined(f.alias, ", "));
      line(out, zh ? "可以区分的输入" : "an input that tells:", f.tell.in(lang));
    }
  }
  if (!follows.empty()) out += (zh ? "遵循：" : "follows: ") + follows.in(lang) + "\n";
  if (checked) out += how_sure(*this, zh);
  std::vector<std::string> what, tell;
  const auto once = [](std::vector<std::string>& list, const std::string& words) {
    if (std::find(list.begin(), list.end(), words) == list.end()) list.push_back(words);
  };
  for (const Open& o : open) once(what, o.what.in(lang)), once(tell, o.tell.in(lang));
  if (!what.empty())
    out += (zh ? "此输入无法判断：" : "this input cannot tell: ") + joined(what, zh ? "、" : ", ") + "\n" +
           (zh ? "  可以判断的输入：" : "  one that can: ") + joined(tell, zh ? "；" : "; ") + "\n";
  for (const Words& note : notes) out += (zh ? "注意：" : "note: ") + note.in(lang) + "\n";
  return zh ? spaced(out) : out;
}

std::string Verdict::json() const {
  Json list = Json::array(), left = Json::array(), said = Json::array(), chosen = Json::array();
  for (const Finding& f : findings) {
    Json alias = Json::array();
    for (const std::string& a : f.alias) alias.push_back(a);
    list.push_back(Json::object({{"code", f.code},
                                 {"error", f.error},
                                 {"kind", f.error && f.kind == Kind::convention ? "formula" : to_string(f.kind)},
                                 {"where", words(f.where)},
                                 {"sentence", words(f.sentence)},
                                 {"used", words(f.used)},
                                 {"paper", words(f.paper)},
                                 {"fix", words(f.fix)},
                                 {"test", words(f.test)},
                                 {"alias", alias},
                                 {"tell", words(f.tell)}}));
  }
  for (const Open& o : open)
    left.push_back(Json::object({{"field", o.field}, {"what", words(o.what)}, {"tell", words(o.tell)}}));
  for (const Words& note : notes) said.push_back(words(note));
  for (const std::string& choice : choices) chosen.push_back(choice);
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
  return to_text(Json::object({{"code", code().empty() ? Json() : Json(code())},
                               {"claims", claim.empty() ? Json() : Json(claim)},
                               {"subject", words(subject)},
                               {"follows", words(follows)},
                               {"choices", chosen},
                               {"findings", list},
                               {"open", left},
                               {"notes", said},
                               {"checked", checked},
                               {"agreement", number(agreement)},
                               {"next", number(next)},
                               {"tried", static_cast<std::int64_t>(tried)}})) +
         "\n";
}

}  // namespace gradus::diagnosis
