// gradus-diagnose: what convention a model follows that was dumped elsewhere, and what deviates from the paper.
#include "lessons/runner/commands.h"
#include "lessons/runner/diagnose_help.h"
#include "nn/conventions/diagnosis.h"

namespace gradus {

namespace {

int diagnose(const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus diagnose",
      .about_en =
          "Says which convention a dumped model follows, what deviates from the paper that it claims, and how to mend "
          "it. "
          "Exit code: 0 no mistake, 1 a mistake, 2 nothing could be checked, 3 the file cannot be used.",
      .about_zh =
          "判断一个导出的模型遵循哪种约定、哪里与它所声称的论文不符、怎样改正。"
          "退出码：0 没有错误，1 有错误，2 无法检查，3 文件不能用。",
      .options = OptionSet::display,
      .words = {{"FILE", "a .safetensors file, or a directory of .npy files; without it: how to make one, as below",
                 ".safetensors 文件，或装有 .npy 文件的目录；省略则说明如何导出（同下）", false, false}},
      .extras = {{"--claims", "PAPER", "what the model says it is, such as bahdanau2014",
                  "模型声称遵循的论文，如 bahdanau2014"},
                 {"--json", "", "the verdict as JSON", "以 JSON 输出结论"}},
      .stop_at_word = false};
  ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code == 0) parsed.text += diagnose_help(parsed.options.lang);  // help was asked for
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  if (parsed.words.empty()) {
    say(diagnose_help(lang));
    return 2;
  }
  const auto claim = parsed.extras.find("--claims");
  const diagnosis::Answer answer = diagnosis::diagnose_file(
      parsed.words[0], claim == parsed.extras.end() ? "" : claim->second, lang, parsed.extras.contains("--json"));
  say(answer.text);
  return answer.exit_status;
}

}  // namespace

}  // namespace gradus

int main(int argc, char** argv) { return gradus::program_main(argc, argv, gradus::diagnose); }
