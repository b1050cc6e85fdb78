#include "nn/conventions/diagnosis_rows.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "nn/conventions/diagnosis_parts.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/grammar_formulas.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

std::string commas(const std::string& letters) {
  std::string text;
  for (char c : letters) text += std::string(text.empty() ? "" : ", ") + c;
  return text;
}

std::string gate_order_of(const Model& model) {
  if (const auto* gru = std::get_if<GruConvention>(&model.decoder.cell)) return gru->gate_order;
  if (const auto* lstm = std::get_if<LstmConvention>(&model.decoder.cell)) return lstm->gate_order;
  return "h";
}

Finding of_blocks(const Bench& bench, const Group& group, const std::string& which, const std::string& read,
                  const std::string& right) {
  Finding f;
  f.code = "GATE_ORDER_DIFFERS";
  f.kind = is_lstm(bench.base) ? Kind::lstm : Kind::gru;
  f.where = bench.where_of(group);
  f.sentence = {"the blocks of " + which + " are read in the order " + read +
                    ", those of the other parameters in the order " + right,
                which + " 的各块按 " + read + " 的顺序读取，其余参数按 " + right + " 的顺序"};
  f.used = {which + ": gates " + read, which + "：门的顺序 " + read};
  f.paper = {which + ": gates " + right + ", as of all stacked parameters",
             which + "：门的顺序 " + right + "，与其余堆叠参数相同"};
  f.fix = {"reorder the blocks of all parameters alike when you load them", "载入时把所有参数的块按同一顺序重排"};
  f.test = {"saturate one block of the bias at a time (+20, -20): CHECK(it plays the role that its name says);",
            "每次只让偏置的一块饱和（+20、-20）：CHECK(它的作用与名称相符);"};
  return f;
}

Array all_rows_like(const Array& a, std::size_t row) {
  Array out = a;
  const std::size_t n = a.data.size() / a.dim(0);
  for (std::size_t k = 0; k < out.data.size(); ++k) out.data[k] = a.data[row * n + k % n];
  return out;
}

// Of row b alone from what `on` has, relative to the largest number of each of the trace's outputs; infinite where a
// number is none.
double row_difference(const Bench& bench, const Group& group, const Arrays& on, const Arrays& got, std::size_t b) {
  double most = 0;
  for (const std::string& name : group.outputs) {
    const Array *made = reference::find(got, name), &wanted = get(on, name);
    if (!made || made->shape != wanted.shape) return infinite;
    const std::size_t n = wanted.data.size() / wanted.dim(0);
    double size = 1e-300;
    for (double x : get(bench.given, name).data) size = std::max(size, std::fabs(x));
    for (std::size_t k = b * n; k < (b + 1) * n; ++k) {
      const double off = std::fabs(made->data[k] - wanted.data[k]);
      if (!std::isfinite(off)) return infinite;
      most = std::max(most, off / size);
    }
  }
  return most;
}

// How sentences that the batch holds several times were repeated by mistake: "tiled", "interleaved", or nullptr.
const char* repeated(const Bench& bench, const std::vector<std::size_t>& from) {
  if (!bench.there("H")) return nullptr;
  const Array& H = get(bench.given, "H");
  const std::size_t B = from.size(), n = H.data.size() / H.dim(0);
  const auto equal = [&](std::size_t a, std::size_t b) {
    const auto row = [&](std::size_t k) { return H.data.begin() + static_cast<std::ptrdiff_t>(k * n); };
    return std::equal(row(a), row(a + 1), row(b));
  };
  for (std::size_t beams = 2; beams < B; ++beams) {
    const std::size_t sentences = B / beams;
    if (B % beams || sentences < 2) continue;
    bool in_turn = true, in_blocks = true;  // the order of the file, and the other one read
    for (std::size_t b = 0; b < B; ++b) {
      const std::size_t block = b / beams, turn = b % sentences;
      in_blocks = in_blocks && equal(b, block * beams) && equal(from[b], turn * beams);
      in_turn = in_turn && equal(b, turn) && equal(from[b], block);
    }
    if (in_blocks) return "tiled";
    if (in_turn) return "interleaved";
  }
  return nullptr;
}

Finding of_rows(const Bench& bench, const Group& group, const char* code, const Said& what,
                const std::vector<std::size_t>& from) {
  std::string rows, rows_zh;
  for (std::size_t b = 0; b < from.size(); ++b) {
    rows += (b ? ", " : "") + std::to_string(b) + " from " + std::to_string(from[b]);
    rows_zh += (b ? "，" : "") + std::string("第 ") + std::to_string(b) + " 行取第 " + std::to_string(from[b]) + " 行";
  }
  Finding f;
  f.code = code;
  f.kind = Kind::axis;
  f.where = bench.where_of(group);
  f.sentence = {"numbers of another row of the batch are read, of " + std::string(what.en) + ": row " + rows,
                std::string(what.zh) + "取自批内的另一行：" + rows_zh};
  if (const char* how = repeated(bench, from)) {
    const bool tiled = std::string(how) == "tiled";
    f.sentence.en += tiled
                         ? "; each sentence stands there once a beam, and it was tiled (0, 1, 2, 0, 1, 2) where the "
                           "rows are interleaved (0, 0, 1, 1, 2, 2): repeat for repeat_interleave"
                         : "; each sentence stands there once a beam, and it was interleaved (0, 0, 1, 1, 2, 2) where "
                           "the rows are tiled (0, 1, 2, 0, 1, 2): repeat_interleave for repeat";
    f.sentence.zh += tiled ? "；每个句子按束重复：应逐行重复（0, 0, 1, 1, 2, 2），却整体平铺（0, 1, 2, 0, 1, 2），"
                             "即把 repeat_interleave 写成了 repeat"
                           : "；每个句子按束重复：应整体平铺（0, 1, 2, 0, 1, 2），却逐行重复（0, 0, 1, 1, 2, 2），"
                             "即把 repeat 写成了 repeat_interleave";
  }
  f.used = {"row b reads " + std::string(what.en) + " of row b'", "第 b 行读取第 b' 行的" + std::string(what.zh)};
  f.paper = {"row b reads its own", "第 b 行读取自己的"};
  f.fix = {"repeat, sort and index all arrays of the batch in one and the same order",
           "批内所有数组按同一顺序重复、排序和索引"};
  f.test = {"run row 1 alone: CHECK(row 1 is unchanged);", "单独运行第 1 行：CHECK(第 1 行不变);"};
  return f;
}

// Of each row the one whose numbers of these arrays it has read, by itself if it may be; B where there is none.
struct RowsRead {
  std::vector<std::size_t> from;
  double agreement = 0;
  std::size_t tried = 0;
  bool other_ones() const {  // all are explained, and not by themselves
    bool own = true;
    for (std::size_t b = 0; b < from.size(); ++b) own = own && from[b] == b;
    return !own && !std::count(from.begin(), from.end(), from.size());
  }
};
RowsRead rows_read(Bench& bench, const Group& group, const Model& model, const std::vector<const char*>& names,
                   const Arrays& given) {
  const std::size_t B = get(given, group.outputs.front()).dim(0);
  RowsRead read{std::vector<std::size_t>(B, B), 0, 0};
  for (std::size_t other = 0; other < B; ++other) {
    Arrays on = given;
    for (const char* name : names)
      if (const Array* a = reference::find(given, name)) on[name] = all_rows_like(*a, other);
    try {
      const Arrays got = stage_outputs(model, on, group.stages);
      ++read.tried, bench.work += bench.work_of(group, on);
      for (std::size_t b = 0; b < B; ++b) {
        const double r = row_difference(bench, group, given, got, b);
        if (!(r < bench.tolerance) || (read.from[b] < B && other != b)) continue;
        read.from[b] = other, read.agreement = std::max(read.agreement, r);
      }
    } catch (const std::invalid_argument&) {
      break;  // sizes that do not go with this hypothesis
    }
  }
  return read;
}

}  // namespace

bool explained_by_rows(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  struct Source {
    const char* code;
    Said what;
    std::vector<const char*> names;
  };
  static const std::vector<Source> sources = {
      {"MEMORY_OTHER_EXAMPLE", {"the memory and its mask", "记忆与它的掩码"}, {"H", "mask"}},
      {"MEMORY_OTHER_EXAMPLE", {"the memory", "记忆"}, {"H"}},
      {"MASK_OTHER_EXAMPLE", {"the mask", "掩码"}, {"mask"}},
      {"INPUT_OTHER_EXAMPLE", {"the decoder's input", "解码器的输入"}, {"y_emb"}},
      {"STATE_OTHER_EXAMPLE", {"the decoder's state", "解码器的状态"}, {"s", "m", "s_0", "cell_0", "query"}}};
  constexpr std::size_t most_rows = 32, least_numbers = 3;
  if (bench.trace.kind != TraceKind::decoder || group.stages.front() == Stage::start) return false;
  const std::size_t B = get(bench.given, group.outputs.front()).dim(0);
  std::size_t left = bench.budget_for(group, bench.seen);
  if (B < 2 || B > most_rows || get(bench.given, group.outputs.front()).data.size() < least_numbers * B) return false;
  // Nearly all differ in the first two steps already.
  std::vector<std::size_t> every_row(B);
  for (std::size_t b = 0; b < B; ++b) every_row[b] = b;
  const bool long_enough = bench.there("s") && get(bench.given, "s").dim(1) > 3;
  const Arrays few = long_enough ? part_of_decoder(bench.given, every_row, 2) : Arrays();
  for (const Source& source : sources)
    for (const Scored& s : free_ones) {
      const bool reads =
          std::any_of(source.names.begin(), source.names.end(), [&](const char* name) { return bench.there(name); });
      const auto model =
          !reads || bench.trouble(group, s.hypothesis).violations ? std::nullopt : bench.build(group, s.hypothesis);
      if (!model || left < B) continue;
      left -= B;
      const bool at_once = few.empty() || Bench::whole_batch(*model);
      RowsRead read = rows_read(bench, group, *model, source.names, at_once ? bench.given : few);
      bench.tried += read.tried;
      if (!at_once && read.other_ones()) read = rows_read(bench, group, *model, source.names, bench.given);
      if (!read.other_ones()) continue;
      report.adopt(group, s.hypothesis);
      if (!report.verdict.find(source.code))
        report.verdict.findings.push_back(of_rows(bench, group, source.code, source.what, read.from));
      report.verdict.agreement = std::max(report.verdict.agreement, read.agreement);
      return true;
    }
  return false;
}

bool explained_by_blocks(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  const bool cell = std::any_of(group.stages.begin(), group.stages.end(),
                                [](Stage s) { return s == Stage::cell || s == Stage::run; });
  const Array* U = reference::find(bench.given, "U");
  if (!cell || !U || U->shape.size() != 2 || bench.trace.layers > 1 || !bench.trace.gates_by_name.empty()) return false;
  const std::size_t d = U->shape[1], gates = U->shape[0] / d;
  std::size_t left = bench.budget_for(group, bench.seen);
  if (gates < 3) return false;
  std::vector<std::size_t> own(gates);
  for (std::size_t k = 0; k < gates; ++k) own[k] = k;
  for (const Scored& s : free_ones) {
    const auto model = bench.trouble(group, s.hypothesis).violations ? std::nullopt : bench.build(group, s.hypothesis);
    if (!model) continue;
    const std::string letters = gate_order_of(*model);
    for (const std::vector<const char*>& names :
         std::vector<std::vector<const char*>>{{"b", "b_u"}, {"b"}, {"b_u"}, {"U"}, {"W"}, {"U", "b_u"}, {"W", "b"}}) {
      std::string which;
      for (const char* name : names)
        if (bench.there(name)) which += (which.empty() ? "" : ", ") + std::string(name);
      if (!std::all_of(names.begin(), names.end(), [&](const char* name) { return bench.there(name); })) continue;
      std::vector<std::size_t> from = own;
      while (std::next_permutation(from.begin(), from.end())) {
        if (left == 0) return false;
        --left, ++bench.tried;
        Model other = *model;
        other.edits.push_back([names, from, d](Arrays& a) {
          for (const char* name : names)
            for (const char* direction : {"", "_reverse"})
              if (const auto found = a.find(name + std::string(direction)); found != a.end()) {
                const Array was = found->second;
                const std::size_t n = d * was.data.size() / was.dim(0);  // numbers of a block
                for (std::size_t k = 0; k < was.data.size(); ++k)
                  found->second.data[k] = was.data[from[k / n] * n + k % n];
              }
        });
        double r = bench.residual(group, other, bench.first.empty() ? bench.seen : bench.first);
        if (r < bench.tolerance) r = bench.residual(group, other, bench.given);
        else report.verdict.next = std::min(report.verdict.next, r);
        if (!(r < bench.tolerance)) continue;
        report.adopt(group, s.hypothesis);
        std::string read(gates, '?');  // the gate whose place a block has in the file
        for (std::size_t k = 0; k < gates; ++k) read[from[k]] = letters[k];
        report.verdict.findings.push_back(of_blocks(bench, group, which, commas(read), commas(letters)));
        report.verdict.agreement = std::max(report.verdict.agreement, r);
        return true;
      }
    }
  }
  return false;
}

}  // namespace gradus::diagnosis
