// Drawing the questions, showing the pictures, judging the answers.
#include "lessons/11_conventions/quiz.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "lessons/11_conventions/show.h"
#include "lessons/common/interrupt.h"

namespace gradus::lesson11 {
namespace {

constexpr std::size_t most_answers = 5;

struct Answer {
  std::string en, zh;
  Foretold foretold;
};

struct Question {
  Choices choices;
  std::vector<Answer> answers;
  std::size_t right = 0;  // index into answers
};

// One question for every mistake that the pictures can show, and one decoder of each paper that keeps its claim. The
// answers to one question would all give different pictures, so there is always enough to tell them apart.
std::vector<Question> draw_questions(Generator& generator) {
  std::vector<Question> questions;
  for (Claim claim : {Claim::bahdanau2014, Claim::luong2015}) {
    const Answer keeps{"it is what it claims to be", "它名副其实", {}};
    std::vector<const Mistake*> own;
    for (const Mistake& m : mistakes()) {
      if (std::find(m.claims.begin(), m.claims.end(), claim) != m.claims.end()) own.push_back(&m);
    }
    for (std::size_t q = 0; q <= own.size(); ++q) {  // the last one: no mistake
      const Choices base = draw_right(claim, generator);
      const auto answer_of = [&](const Mistake& m) {
        Choices planted = base;
        m.plant(planted);
        return Answer{m.en, m.zh, foretell(planted)};
      };
      Question question{q < own.size() ? with_mistake(*own[q], base) : base, {}, 0};
      std::vector<Answer> answers{keeps};
      answers[0].foretold = foretell(base);
      if (q < own.size()) answers.insert(answers.begin(), answer_of(*own[q]));
      if (q < own.size() && answers[0].foretold == answers[1].foretold) continue;  // the pictures cannot show it
      std::vector<const Mistake*> others = own;
      shuffle_(others, generator);
      for (const Mistake* m : others) {
        const Answer answer = answer_of(*m);
        const bool new_picture = std::none_of(answers.begin(), answers.end(),
                                              [&](const Answer& other) { return other.foretold == answer.foretold; });
        if (answers.size() < most_answers && new_picture) answers.push_back(answer);
      }
      const std::string right = answers[0].en;
      shuffle_(answers, generator);
      while (answers[question.right].en != right) ++question.right;
      question.answers = std::move(answers);
      questions.push_back(std::move(question));
    }
  }
  shuffle_(questions, generator);
  return questions;
}

// The weights of the shortest sentence, which has three words and three positions of padding, and what they sum to.
std::string weights_of(const DecoderRun& run, Lang lang) {
  const std::string_view pad = tr(lang, "pad", "填充");
  std::string out(tr(lang, "weights of a sentence with 3 words and 3 positions of padding:\n",
                     "一个句子的权重，它有 3 个词和 3 个填充位置：\n"));
  out += "       h_1   h_2   h_3";
  for (int i = 0; i < 3; ++i) out += pad_left(pad, 6);
  out += "     " + std::string(tr(lang, "sum", "总和")) + "\n";
  for (std::size_t t = 0; t < run.weights.size(); ++t) {
    out += fmt::format("  {:>2} ", t + 1);
    double total = 0;
    const std::int64_t last = run.weights[t].shape()[0] - 1;
    for (std::int64_t i = 0; i < run.weights[t].shape()[1]; ++i) {
      const double weight = run.weights[t].value().at({last, i});
      total += weight;
      out += weight == 0 ? "     ." : fmt::format("  {:.2f}", weight);
    }
    out += fmt::format("    {:.2f}\n", total);
  }
  return out;
}

// Largest difference between a context and the weighted sum of the encoder states.
double off_the_sum(const DecoderRun& run, const Var& H) {
  double most = 0;
  for (std::size_t t = 0; t < run.contexts.size(); ++t) {
    const Var mixed = sum(expand_new(run.weights[t], Axis{2}, H.shape()[2]) * H, Axis{1});
    for (double gap : (run.contexts[t] - mixed).value().to_vector()) most = std::max(most, std::fabs(gap));
  }
  return most;
}

std::string shown(const Subject& subject, const Pictures& p, const Terminal& terminal, Lang lang) {
  const auto block = [&](const std::string& heading, const Probe& probe) {
    std::vector<std::string> lines{heading};
    if (probe.matrix.values.empty()) lines.push_back("  " + std::string(tr(lang, "(no weights)", "（没有权重）")));
    else
      for (std::string& line : small_picture(probe.matrix, terminal)) lines.push_back(std::move(line));
    return lines;
  };
  std::string out = side_by_side({block("|d alpha_t / d y_k|", p.influence), block("|d s_t / d h_i|", p.route),
                                  block("|d logits_t / d h_i|", p.source)},
                                 terminal);
  NoGrad no_grad;
  const DecoderRun run = subject.decoder().run(subject.inputs);
  if (run.weights.empty()) return out;
  out += weights_of(run, lang);
  out += fmt::format(fmt::runtime(tr(lang, "largest |c_t - sum of alpha_ti h_i|: {:.1g}\n",
                                     "最大的 |c_t - alpha_ti h_i 之和|：{:.1g}\n")),
                     off_the_sum(run, subject.inputs.H));
  return out;
}

void say_wrapped(const std::string& label, const std::string& text, int width) {
  const int indent = 2 + display_width(label);
  const std::string wrapped = wrap_to_width(text, width - indent);
  std::string out = "  " + label;
  for (char c : wrapped) {
    out += c;
    if (c == '\n') out += std::string(static_cast<std::size_t>(indent), ' ');
  }
  say(out + "\n");
}

// The verdict: what a diagnosis of the very decoder on the screen says, and which probes gave it away.
void say_verdict(const Subject& subject, const Pictures& p, const Choices& choices, int width, Lang lang) {
  const diagnosis::Verdict verdict = diagnose(subject.decoder(), subject.inputs, choices.claim);
  for (const diagnosis::Finding& f : verdict.findings) {
    if (!f.error) continue;
    say_wrapped("", f.code + ": " + f.sentence.in(lang), width);
    say_wrapped(std::string(tr(lang, "used   ", "所用  ")), f.used.in(lang), width);
    say_wrapped(std::string(tr(lang, "paper  ", "论文  ")), f.paper.in(lang), width);
    say_wrapped(std::string(tr(lang, "fix    ", "修改  ")), f.fix.in(lang), width);
    say_wrapped(std::string(tr(lang, "test   ", "测试  ")), f.test.in(lang), width);
  }
  for (const Probe* probe : {&p.influence, &p.route, &p.source, &p.sums, &p.padding, &p.hull}) {
    if (!probe->passed && probe->can_tell) say_wrapped(probe->name + ": ", probe->sentence.in(lang), width);
  }
  say_wrapped(std::string(tr(lang, "built: ", "实际：")), words(choices, lang), width);
}

// Lines from standard input; nothing at its end, or once Ctrl-C was pressed while waiting.
class Lines {
 public:
  std::optional<std::string> next() {
    while (text_.find('\n') == std::string::npos && !ended_ && !interrupted()) {
      pollfd waiting{STDIN_FILENO, POLLIN, 0};
      if (::poll(&waiting, 1, 200) <= 0) continue;
      char buffer[256];
      const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
      if (got > 0) text_.append(buffer, static_cast<std::size_t>(got));
      else ended_ = true;
    }
    if (interrupted() || text_.empty()) return std::nullopt;
    const std::size_t length = std::min(text_.find('\n'), text_.size());
    const std::string line = text_.substr(0, length);
    text_.erase(0, length + 1);
    return line;
  }

 private:
  std::string text_;
  bool ended_ = false;
};

// The number typed, 0 for the end. The claim is said once more: it stands far above.
std::size_t read_answer(Claim claim, std::size_t count, Lines& lines, Lang lang) {
  while (true) {
    say(fmt::format(
        fmt::runtime(tr(lang, "It claims: {}. Your answer, 1 to {}, or q: ", "它声称：{}。你的答案，1 到 {}，或 q：")),
        title(claim), count));
    std::optional<std::string> typed = lines.next();
    if (!typed) {
      say("\n");
      return 0;
    }
    std::string& line = *typed;
    if (isatty(STDIN_FILENO) == 0) say(printable(line) + "\n");  // a terminal shows it by itself
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (line == "q" || line == "Q") return 0;
    if (line.size() == 1 && line[0] >= '1' && static_cast<std::size_t>(line[0] - '0') <= count) {
      return static_cast<std::size_t>(line[0] - '0');
    }
  }
}

// On a terminal the verdict stays until its reader goes on; false at q. A pipe holds answers only.
bool read_on(Lines& lines, Lang lang) {
  if (isatty(STDIN_FILENO) == 0) return true;
  say(tr(lang, "Enter for the next one, or q: ", "按回车看下一题，或 q："));
  const std::optional<std::string> typed = lines.next();
  return typed && !typed->starts_with('q') && !typed->starts_with('Q');
}

}  // namespace

int quiz(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  const int width = std::min(terminal.width, 80);
  Generator generator(options.seed, "quiz");
  const std::vector<Question> questions = draw_questions(generator);
  say(wrap_to_width(
          fmt::format(
              fmt::runtime(
                  tr(lang,
                     "{} decoders, trained as you wait. Each claims to be from a paper. The "
                     "pictures say what depends on what: a dot is exactly zero. What does "
                     "it really do? (seed {}; another --seed asks in another order)",
                     "{} 个解码器，现场训练。每个都声称来自某篇论文。图里是谁依赖谁（s_0 视为常数）：点表示恰好为零。"
                     "它实际上做了什么？（种子 {}；换一个 --seed，题目的顺序就不同）")),
              questions.size(), options.seed),
          width) +
      "\n");
  Lines lines;
  std::size_t asked = 0, right = 0;
  for (const Question& question : questions) {
    Trainee trainee(question.choices, options.seed, asked);
    trainee.train(200, [](const Trainee&) {});
    if (interrupted()) break;
    const Subject one = subject(trainee, options.seed, 5, 3);
    const Pictures pictures = look_at(one, question.choices);
    // From here to the prompt at most 23 lines: on a terminal of 24 all of it can be seen at once.
    say(fmt::format(fmt::runtime(tr(lang, "\n{}. It claims: {}\n", "\n{}. 它声称：{}\n")), asked + 1,
                    title(question.choices.claim)));
    say(shown(one, pictures, terminal, lang));
    for (std::size_t i = 0; i < question.answers.size(); ++i) {
      say(fmt::format("  {}  {}\n", i + 1, tr(lang, question.answers[i].en, question.answers[i].zh)));
    }
    const std::size_t answer = read_answer(question.choices.claim, question.answers.size(), lines, lang);
    if (answer == 0) break;
    ++asked;
    const bool hit = answer - 1 == question.right;
    right += hit;
    say(hit ? std::string(tr(lang, "Right.\n", "答对了。\n"))
            : fmt::format(fmt::runtime(tr(lang, "No, it is {}: {}.\n", "不对，应是 {}：{}。\n")), question.right + 1,
                          tr(lang, question.answers[question.right].en, question.answers[question.right].zh)));
    say_verdict(one, pictures, question.choices, width, lang);
    say(fmt::format(fmt::runtime(tr(lang, "score: {} of {}\n", "得分：{} / {}\n")), right, asked));
    if (asked < questions.size() && !read_on(lines, lang)) break;
  }
  say(fmt::format(fmt::runtime(tr(lang, "You named {} of {}.\n", "你说对了 {} 个，共 {} 个。\n")), right, asked));
  return 0;
}

}  // namespace gradus::lesson11
