// Pictures and tables of lesson 11.
#include "lessons/11_conventions/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/11_conventions/parts.h"
#include "lessons/common/table.h"

namespace gradus::lesson11 {
namespace {

std::string letter(std::size_t i) { return std::string(1, static_cast<char>('A' + i)); }

double worst(const std::vector<GradientEntry>& entries) {
  double most = 0;
  for (const GradientEntry& entry : entries) most = std::max(most, entry.error);
  return most;
}

// 0: exactly zero; 1 to 4: how dark, against the largest number of the matrix.
int shade(double value, double largest) {
  const double part = std::fabs(value) / largest;
  return value == 0 ? 0 : part < 1e-3 ? 1 : part < 0.03 ? 2 : part < 0.3 ? 3 : 4;
}

double largest(const Matrix& matrix) {
  double most = 0;
  for (double value : matrix.values) most = std::max(most, std::fabs(value));
  return most;
}

std::string passes(bool passed, Lang lang) {
  return std::string(passed ? tr(lang, "passes", "通过") : tr(lang, "FAILS", "不通过"));
}

// Every line wrapped by itself, its continuation under the text behind the label.
std::string hanging(const std::string& text, int width) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, line_end - at);
    const int indent = line.starts_with("  ") ? 11 : 2;
    if (display_width(line) <= width) {
      out += line + "\n";
    } else {
      const std::string wrapped = wrap_to_width(line, width - indent);
      for (char c : wrapped) {
        out += c;
        if (c == '\n') out += std::string(static_cast<std::size_t>(indent), ' ');
      }
      out += "\n";
    }
    at = line_end + 1;
  }
  return out;
}

std::string self_check_cell(const Exam& exam, Lang lang) {
  return fmt::format("{} ({:.0e})", passes(exam.self.passed, lang), worst(exam.self.entries));
}

// How far the output that differs most is from the paper's; parameters of another shape end the comparison at once.
std::string reference_cell(const Exam& exam, Lang lang) {
  double most = 0;
  for (const ValueEntry& output : exam.reference.outputs) most = std::max(most, output.error);
  if (exam.reference.verdict == ReferenceVerdict::unusable) {
    return fmt::format("{} ({})", passes(false, lang), tr(lang, "shapes", "形状"));
  }
  return fmt::format("{} ({:.0e})", passes(exam.reference.passed, lang), most);
}

}  // namespace

std::vector<std::string> small_picture(const Matrix& matrix, const Terminal& terminal) {
  static constexpr const char* drawn[] = {" ·", "░░", "▒▒", "▓▓", "██"};
  static constexpr const char* ascii[] = {" .", "--", "++", "**", "##"};
  std::vector<std::string> lines{"    "};
  for (const std::string& column : matrix.columns) lines[0] += pad_left(column.substr(column.rfind('_') + 1), 2) + " ";
  const double most = largest(matrix);
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    std::string line = pad_left(matrix.rows[r].substr(matrix.rows[r].rfind('_') + 1), 3) + " ";
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      const int dark = shade(matrix.at(r, c), most);
      line += std::string(terminal.unicode ? drawn[dark] : ascii[dark]) + " ";
    }
    lines.push_back(line);
  }
  return lines;
}

std::string side_by_side(const std::vector<std::vector<std::string>>& blocks, const Terminal& terminal) {
  int width = 0;
  for (const auto& block : blocks) {
    for (const std::string& line : block) width = std::max(width, display_width(line));
  }
  const auto across = static_cast<std::size_t>(std::max(1, std::min(terminal.width, 80) / (width + 1)));
  std::string out;
  for (std::size_t first = 0; first < blocks.size(); first += across) {
    const std::size_t last = std::min(first + across, blocks.size());
    std::size_t height = 0;
    for (std::size_t i = first; i < last; ++i) height = std::max(height, blocks[i].size());
    for (std::size_t row = 0; row < height; ++row) {
      std::string line;
      for (std::size_t i = first; i < last; ++i) {
        line += pad_right(row < blocks[i].size() ? blocks[i][row] : "", width + 1);
      }
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    out += "\n";
  }
  return out;
}

std::string influences(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                       Lang lang) {
  std::vector<std::vector<std::string>> blocks;
  for (std::size_t i = 0; i < exams.size(); ++i) {
    std::vector<std::string> block{fmt::format("{}  {}", letter(i), title(trainees[i].choices.claim))};
    const Matrix& matrix = exams[i].pictures.influence.matrix;
    if (matrix.values.empty()) {
      block.push_back("    " + std::string(tr(lang, "(no weights)", "（没有权重）")));
    } else {
      for (std::string& line : small_picture(matrix, terminal)) block.push_back(std::move(line));
    }
    blocks.push_back(std::move(block));
  }
  const std::string legend = terminal.unicode ? "· ░ ▒ ▓ █" : ". - + * #";
  const std::string heading = fmt::format(
      fmt::runtime(tr(lang,
                      "Influence |d alpha_t / d y_k|: how much the weights of step t (row) change when the decoder's "
                      "input at step k (column) does. {}: exactly 0, then larger. Beside the letter, what each decoder "
                      "claims to be.",
                      "影响 |d alpha_t / d y_k|：第 k 步（列）的解码器输入改变时，第 t 步（行）的权重随之改变多少。"
                      "{}：恰好为 0，之后越来越大。字母旁边是每个解码器自称的身份。")),
      legend);
  return wrap_to_width(heading, std::min(terminal.width, 80)) + "\n\n" + side_by_side(blocks, terminal);
}

std::string influences_svg(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, Lang lang) {
  static constexpr const char* colours[] = {"#ffffff", "#d3dcea", "#9db4d3", "#5078b0", "#08306b"};
  constexpr int cell = 24, left = 30, top = 56, wide = 190, high = 210, across = 4;
  const int rows = static_cast<int>((exams.size() + across - 1) / across);
  const int width = across * wide + 20, height = rows * high + 50;
  const std::string heading(tr(lang, "Influence of the decoder's inputs (columns) on its attention (rows)",
                               "解码器各步输入（列）对其注意力（行）的影响"));
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif\" font-size=\"13\" "
      "fill=\"#222222\">\n<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{2}</text>\n",
      width, height, heading);
  for (std::size_t i = 0; i < exams.size(); ++i) {
    const int x0 = static_cast<int>(i % across) * wide + 16, y0 = static_cast<int>(i / across) * high + 40;
    out += fmt::format("<text x=\"{}\" y=\"{}\"><tspan font-weight=\"bold\">{}</tspan>  {}</text>\n", x0, y0 + 18,
                       letter(i), title(trainees[i].choices.claim));
    const Matrix& matrix = exams[i].pictures.influence.matrix;
    if (matrix.values.empty()) {
      out += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#666666\">{}</text>\n", x0 + left, y0 + top + 20,
                         tr(lang, "no weights", "没有权重"));
    }
    const double most = largest(matrix);
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">y{}</text>\n",
                         x0 + left + static_cast<int>(c) * cell + cell / 2, y0 + top - 8, c + 1);
    }
    for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
      const int y = y0 + top + static_cast<int>(r) * cell;
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"11\">α{}</text>\n", x0 + left - 5,
                         y + 16, r + 1);
      for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
        const int x = x0 + left + static_cast<int>(c) * cell;
        out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#d9d9d9\"/>\n", x,
                           y, cell, cell, colours[shade(matrix.at(r, c), most)]);
        if (matrix.at(r, c) == 0) {
          out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"1.5\" fill=\"#888888\"/>\n", x + cell / 2, y + cell / 2);
        }
      }
    }
  }
  return out + "</svg>\n";
}

std::string verdicts(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                     Lang lang) {
  int right = 0, wrong_ones = 0, self = 0, reference = 0;
  for (std::size_t i = 0; i < exams.size(); ++i) {
    right += exams[i].right;
    if (trainees[i].choices.codes.empty()) continue;
    ++wrong_ones;
    self += exams[i].self.passed;
    reference += exams[i].reference.passed;
  }
  std::string out =
      wrap_to_width(fmt::format(fmt::runtime(tr(lang,
                                                "Verdict: {} of {} were found out. Of the {} that are not what they "
                                                "claim, {} pass the self check and {} pass the reference check.",
                                                "结论：{} / {} 判对。不符合自己声称的有 {} 个，其中 {} 个通过自检，{} "
                                                "个通过参照检查。")),
                                right, exams.size(), wrong_ones, self, reference),
                    std::min(terminal.width, 80)) +
      "\n\n";
  const int width = std::min(terminal.width, 80);
  const auto indented = [&](const std::string& label, const std::string& text) {
    const std::string wrapped = wrap_to_width(text, width - 4 - display_width(label));
    std::string lines, indent(static_cast<std::size_t>(4 + display_width(label)), ' ');
    for (std::size_t at = 0; at <= wrapped.size();) {
      const std::size_t end = std::min(wrapped.find('\n', at), wrapped.size());
      lines += (lines.empty() ? "    " + label : indent) + wrapped.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return lines;
  };
  for (std::size_t i = 0; i < exams.size(); ++i) {
    const diagnosis::Verdict& verdict = exams[i].verdict;
    const std::string codes = codes_of(verdict);
    out += fmt::format(
        fmt::runtime(tr(lang, "{}   claims {}: {}   {}\n", "{}   声称 {}：{}   {}\n")), letter(i),
        title(trainees[i].choices.claim), codes == "-" ? std::string(tr(lang, "keeps its claim", "名副其实")) : codes,
        exams[i].right ? tr(lang, "right", "判对") : paint(terminal, Colour::red, tr(lang, "WRONG", "判错")));
    for (const diagnosis::Finding& f : verdict.findings) {
      if (f.error) out += indented("", f.sentence.in(lang));
    }
    out += indented(std::string(tr(lang, "built: ", "实际：")), words(trainees[i].choices, lang));
  }
  return out;
}

std::string checks(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                   Lang lang) {
  Table table({"", std::string(tr(lang, "built as claimed", "与声称相符")), std::string(tr(lang, "accuracy", "准确率")),
               std::string(tr(lang, "self check", "自检")), std::string(tr(lang, "reference check", "参照检查")),
               std::string(tr(lang, "diagnosis", "诊断"))},
              {Align::left, Align::left, Align::right, Align::left, Align::left, Align::left});
  for (std::size_t i = 0; i < exams.size(); ++i) {
    table.add_row({letter(i),
                   std::string(trainees[i].choices.codes.empty() ? tr(lang, "yes", "是") : tr(lang, "no", "否")),
                   fmt::format("{:.0f} %", 100 * exams[i].accuracy), self_check_cell(exams[i], lang),
                   reference_cell(exams[i], lang),
                   std::string(exams[i].right ? tr(lang, "right", "判对") : tr(lang, "WRONG", "判错"))});
  }
  return table.text(terminal);
}

std::string names(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                  Lang lang) {
  Table table({"", std::string(tr(lang, "built with", "实际")), "name_mistake", ""});
  for (std::size_t i = 0; i < exams.size(); ++i) {
    if (!can_be_named(trainees[i].choices)) continue;
    const std::string expected = name_for(trainees[i].choices);
    table.add_row({letter(i), expected, exams[i].named,
                   std::string(exams[i].named == expected ? tr(lang, "right", "判对") : tr(lang, "WRONG", "判错"))});
  }
  return fmt::format(fmt::runtime(tr(lang, "The names of the exercise, where it has one; name_mistake: {}\n",
                                     "练习里有名字的那几个；name_mistake：{}\n")),
                     taught_parts().whose.in(lang)) +
         table.text(terminal);
}

std::string in_detail(char name, const Trainee& trainee, const Exam& exam, const Terminal& terminal, Lang lang) {
  const int width = std::min(terminal.width, 80);
  std::string out = fmt::format(fmt::runtime(tr(lang,
                                                "Decoder {}, which claims to be that of {}; it writes {:.0f} % "
                                                "of its words right\n\n",
                                                "解码器 {}，自称是 {} 的；它写对了 {:.0f} % 的词\n\n")),
                                name, title(trainee.choices.claim), 100 * exam.accuracy);
  const Pictures& p = exam.pictures;
  for (const Probe* probe : {&p.influence, &p.intervention, &p.route, &p.source, &p.sums, &p.padding, &p.hull}) {
    out += probe->picture(width, lang) + "\n";
  }
  out += fmt::format("{}: {}\n{}: {}\n\n", tr(lang, "self check", "自检"), self_check_cell(exam, lang),
                     tr(lang, "reference check", "参照检查"), reference_cell(exam, lang));
  if (exam.reference.verdict == ReferenceVerdict::unusable) out += wrap_to_width(exam.reference.note, width) + "\n\n";
  out += hanging(exam.verdict.text(lang), width);
  out += fmt::format("\n{}{}\n", tr(lang, "built: ", "实际："), words(trainee.choices, lang));
  return out;
}

void add_targets(Metrics& metrics, const std::vector<Trainee>& trainees, const std::vector<Exam>& exams,
                 double cpu_seconds) {
  double right = 0, wrong_ones = 0, self = 0, reference = 0, kept = 0, kept_pass = 0, most = 0, least = 1;
  for (std::size_t i = 0; i < exams.size(); ++i) {
    right += exams[i].right;
    least = std::min(least, exams[i].accuracy);
    if (trainees[i].choices.codes.empty()) {
      kept += 1;
      kept_pass += exams[i].self.passed && exams[i].reference.passed;
    } else {
      wrong_ones += 1;
      self += exams[i].self.passed;
      reference += exams[i].reference.passed;
      most = std::max(most, worst(exams[i].self.entries));
    }
  }
  const Words twelve("twelve decoders", "十二个解码器");
  const auto of = [](double some, double all) { return fmt::format("{:.0f} / {:.0f}", some, all); };
  metrics.across_seeds("checks", twelve, {"found out", "判对"}, of(right, static_cast<double>(exams.size())));
  metrics.across_seeds("checks", twelve, {"wrong ones that pass the self check", "通过自检的错误解码器"},
                       of(self, wrong_ones));
  metrics.across_seeds("checks", twelve, {"wrong ones that pass the reference check", "通过参照检查的错误解码器"},
                       of(reference, wrong_ones));
  metrics.across_seeds("checks", twelve, {"right ones that pass both", "两项检查都通过的正确解码器"},
                       of(kept_pass, kept));
  metrics.set("wrong decoders", wrong_ones);
  metrics.set("lowest accuracy", least);
  bool all_named = true;
  for (std::size_t i = 0; i < exams.size(); ++i) {
    if (can_be_named(trainees[i].choices)) all_named = all_named && exams[i].named == name_for(trainees[i].choices);
  }
  metrics.holds({"name_mistake, where the exercise has a name", "name_mistake，练习里有名字的"},
                {"all right", "全部判对"}, all_named);
  metrics.at_least({"decoders diagnosed rightly, of 12", "12 个解码器里诊断正确的"}, 12, right);
  metrics.at_least({"wrong decoders that pass the self check", "通过自检的错误解码器"}, wrong_ones, self);
  metrics.at_most({"largest error that their self check sees", "它们的自检看到的最大误差"}, 1e-8, most);
  metrics.at_most({"wrong decoders that pass the reference check", "通过参照检查的错误解码器"}, 0, reference);
  metrics.at_least({"right decoders that pass both checks", "两项检查都通过的正确解码器"}, kept, kept_pass);
  if (cpu_seconds > 0)
    metrics.seconds_at_most({"seconds of CPU time, for two cores", "CPU 时间（秒），两个核合计"}, 20, cpu_seconds);
}

}  // namespace gradus::lesson11
