// The shape doctor: which tensor it names, what it says, and that its fixes mend the program.
#include <fstream>
#include <set>
#include <sstream>

#include "nn/attention.h"
#include "nn/decoders.h"
#include "nn/layers.h"
#include "tests/nn/check.h"
#include "tests/nn/shape_mistakes.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

// The report of a program that must fail; nothing when it ran.
std::optional<ShapeReport> report_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const ShapeError& error) {
    REQUIRE_MESSAGE(error.report, error.what());
    return *error.report;
  }
  return std::nullopt;
}

std::string title(const Mistake& m) {
  return std::string(m.program) + ": " + m.tensor + " " + std::to_string(static_cast<int>(m.how));
}

// Columns on a terminal: what is encoded in three bytes here is a Chinese character, two wide.
std::size_t columns(const std::string& line) {
  std::size_t width = 0;
  for (char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) width += byte >= 0xe0 ? 2 : 1;
  }
  return width;
}

std::string file(const std::string& path) {
  std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// As a page shows it.
std::string indented(const std::string& text) {
  std::string result = "    ";
  for (char c : text) result += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return result;
}

bool same_numbers(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && elements(a) == elements(b); }

// A line of a report as text and as the code that it is: if it cannot be pasted, this file does not compile.
struct Pasted {
  const char* text;
  std::function<void()> run;
};
#define PASTED(...)                        \
  Pasted {                                 \
#__VA_ARGS__ ";", [&] { __VA_ARGS__; } \
  }

// What `program` proposes for its parameters, and for what else is no plain variable, is one of `lines`, which hold.
void check_pasted(const std::string& program_name, const std::vector<Pasted>& lines) {
  std::set<std::string> texts;
  for (const Pasted& line : lines) {
    line.run();
    texts.insert(line.text);
  }
  const Program& p = program(program_name);
  for (const Mistake& m : mistakes()) {
    if (m.program != program_name) continue;
    World world = p.make(different);
    make(m, world, different);
    const auto report = report_of([&] { p.run(world); });
    REQUIRE(report);
    if (!report->parameter && report->tensor.find('.') == std::string::npos) continue;
    CHECK_MESSAGE(texts.count(report->test) == 1, report->test);
  }
}

Tensor numbers_of(const Shape& shape) {
  Numbers numbers(3);
  return drawn_tensor(shape, numbers);
}

}  // namespace

TEST_SUITE("the shape doctor") {
  TEST_CASE("every program runs while its tensors are right") {
    for (const Program& p : programs()) {
      CAPTURE(std::string(p.name));
      CHECK_NOTHROW(p.run(p.make(different)));
    }
  }

  TEST_CASE("each of the mistakes: the right tensor, what it has and needs, and the proposed fix mends the program") {
    CHECK(mistakes().size() >= 40);
    for (const Mistake& m : mistakes()) {
      CAPTURE(title(m));
      const Program& p = program(m.program);
      const World right = p.make(different);
      World world = right;
      make(m, world, different);
      const auto report = report_of([&] { p.run(world); });
      REQUIRE(report);
      CAPTURE(report->text(Lang::en));
      CHECK(report->tensor == std::string(m.tensor));
      CHECK(report->has == world.shape(m.tensor));
      CHECK(report->symbols == std::string(m.symbols));
      if (std::string(m.symbols).find("...") == std::string::npos) {
        Extents needs = right.shape(m.tensor);
        if (m.fix == FixKind::insert_axis) needs[0] = 1;  // one example is left of the batch
        CHECK(report->needs == needs);
      } else {
        CHECK(report->needs[0] == right.shape(m.tensor)[right.shape(m.tensor).rank() - 1]);
      }
      CHECK(report->fix.kind == m.fix);
      CHECK(report->fix.other == (m.fix == FixKind::resize ? "" : m.other));
      CHECK(report->from.empty() == (m.program == std::string("Embedding")));  // E stands alone
      for (const auto& source : report->from) CHECK(source.name != report->tensor);
      apply(*report, world, right);
      if (m.fix == FixKind::insert_axis) CHECK_NOTHROW(p.run(world));
      else CHECK(same_numbers(p.run(world), p.run(right)));
    }
  }

  // Where lengths are equal, evidence is missing. Then a mistake may pass, or two tensors may be equally likely (the
  // report names both); what must not happen is that another tensor alone is blamed.
  TEST_CASE("no tensor is blamed wrongly where lengths happen to be equal") {
    struct Row {
      const char* name;
      Sizes sizes;
    };
    const Row rows[] = {
        {"all", {4, 4, 4, 4, 4, 4, 4, 4, 4}},
        {"B = T", {5, 5, 5, 3, 16, 6, 2, 11, 9}},
        {"d_s = d_attn", {3, 7, 4, 6, 16, 6, 2, 11, 9}},
        {"d_s = d_h", {3, 7, 4, 16, 16, 6, 2, 11, 9}},
        {"d_h = d_attn", {3, 7, 4, 5, 6, 6, 2, 11, 9}},
        {"d_s = d_emb", {3, 7, 4, 5, 16, 6, 5, 11, 9}},
        {"B = d_s", {5, 7, 4, 5, 16, 6, 2, 11, 9}},
        {"T = d_h", {3, 16, 4, 5, 16, 6, 2, 11, 9}},
        {"vocab = T_dec", {3, 7, 11, 5, 16, 6, 2, 11, 9}},
        {"B = 1", {1, 7, 4, 5, 16, 6, 2, 11, 9}},
        {"d_in = d_s", {3, 7, 4, 5, 16, 6, 2, 11, 5}},
    };
    for (const Row& row : rows) {
      int thrown = 0;
      for (const Mistake& m : mistakes()) {
        CAPTURE(std::string(row.name));
        CAPTURE(title(m));
        const Program& p = program(m.program);
        const World right = p.make(row.sizes);
        World world = right;
        make(m, world, row.sizes);
        if (world.shape(m.tensor) == right.shape(m.tensor)) continue;
        const auto report = report_of([&] { p.run(world); });
        if (!report) continue;  // the wrong shape is a right one here
        ++thrown;
        CAPTURE(report->text(Lang::en));
        const bool named = report->tensor == m.tensor || report->instead == m.tensor ||
                           std::count(report->also.begin(), report->also.end(), m.tensor) == 1 ||
                           (m.how == Break::exchanged && report->tensor == m.other);
        CHECK(named);
      }
      CHECK(thrown >= 20);
    }
  }

  TEST_CASE("states time first or a mask time first: nothing decides, so the report names both") {
    for (const char* wrong : {"H", "mask"}) {
      World world = program("Bahdanau remember").make(different);
      make({"", wrong, Break::swapped_01, "", FixKind::resize}, world, different);
      const auto report = report_of([&] { program("Bahdanau remember").run(world); });
      REQUIRE(report);
      CHECK(report->tensor == "H");
      CHECK(report->instead == "mask");
      CHECK(contains(report->text(Lang::en), "pass transpose(H, Axis{0}, Axis{1}): batch first; or change mask"));
    }
  }

  TEST_CASE("no fix changes or repeats a number: what is not made anew holds as many as before") {
    for (const Mistake& m : mistakes()) {
      CAPTURE(title(m));
      World world = program(m.program).make(different);
      make(m, world, different);
      const auto report = report_of([&] { program(m.program).run(world); });
      REQUIRE(report);
      for (Lang lang : {Lang::en, Lang::zh}) CHECK(!contains(report->text(lang), "expand"));
      const FixKind kind = report->fix.kind;
      if (kind == FixKind::resize || kind == FixKind::pass_other || kind == FixKind::exchange) continue;
      CHECK(report->fix.to.size() == report->has.size());
    }
  }

  TEST_CASE("reports fit into 80 columns, in both languages, and are eight lines at most") {
    for (const Mistake& m : mistakes()) {
      World world = program(m.program).make(different);
      make(m, world, different);
      const auto report = report_of([&] { program(m.program).run(world); });
      REQUIRE(report);
      for (Lang lang : {Lang::en, Lang::zh}) {
        std::istringstream text(report->text(lang));
        int lines = 0;
        for (std::string line; std::getline(text, line); ++lines) {
          CAPTURE(line);
          CHECK(columns(line) <= 80);
        }
        CHECK(lines >= 5);
        CHECK(lines <= 8);
      }
    }
  }

  TEST_CASE("the proposed line can be pasted beside a decoder or a cell, and holds there") {
    const std::int64_t B = different.B, d_s = different.d_s, d_h = different.d_h, d_emb = different.d_emb;
    const std::int64_t vocab = different.vocab, d_in = different.d_in, d_c = d_s, d_1 = d_h / 2;
    const DecoderSizes sizes{vocab, d_emb, d_s, d_h, different.d_attn};
    Generator generator(1, "pasted");
    {
      const BahdanauDecoder decoder(sizes, {}, generator);
      check_pasted("Bahdanau", {PASTED(CHECK(decoder.cell.W().shape() == Shape{3 * d_s, d_emb + d_h})),
                                PASTED(CHECK(decoder.cell.U().shape() == Shape{3 * d_s, d_s})),
                                PASTED(CHECK(decoder.readout.W.shape() == Shape{vocab, d_s + d_emb + d_h}))});
      check_pasted("Bahdanau start", {PASTED(CHECK(decoder.bridge.W.shape() == Shape{d_s, d_1}))});
    }
    {
      const LuongDecoder decoder(sizes, {}, generator);
      const State s_prev = decoder.start(zeros(Shape{B, d_1}));
      check_pasted("Luong", {PASTED(CHECK(decoder.cell.W().shape() == Shape{3 * d_s, d_emb + d_c})),
                             PASTED(CHECK(decoder.W_c.shape() == Shape{d_c, d_h + d_s})),
                             PASTED(CHECK(decoder.readout.W.shape() == Shape{vocab, d_c})),
                             PASTED(CHECK(s_prev.attentional.shape() == Shape{B, d_c}))});
    }
    {
      const PlainDecoder decoder(sizes, {}, generator);
      check_pasted("plain", {PASTED(CHECK(decoder.cell.W().shape() == Shape{3 * d_s, d_emb}))});
    }
    const Recurrent cell(CellKind::gru, d_in, d_s, 1, pytorch(), generator);
    check_pasted("run", {PASTED(CHECK(cell.W().shape() == Shape{3 * d_s, d_in}))});
  }

  // ---- in words

  TEST_CASE("a transposed W_a, in English and Chinese") {
    Generator generator(1, "doctor");
    Score score(ScoreKind::additive, 16, 12, 8, generator);
    score.W_a = Var(transpose(score.W_a.value()));
    const Var s_prev = zeros(Shape{4, 16}), keys = zeros(Shape{4, 6, 8});
    const auto report = report_of([&] { score(s_prev, keys); });
    REQUIRE(report);
    CHECK(report->text(Lang::en) ==
          "shape error in additive attention: W_a\n"
          "  has      (16, 8)\n"
          "  needs    (d_attn, d_s) = (8, 16)\n"
          "  from     v_a (d_attn) = (8), s_prev (B, d_s) = (4, 16)\n"
          "  fix      transpose W_a once, where it is made\n"
          "  test     CHECK(score.W_a.shape() == Shape{d_attn, d_s});");
    CHECK(report->text(Lang::zh, "lesson.cpp:34") ==
          "加性注意力的形状错误：W_a\n"
          "  位置     lesson.cpp:34\n"
          "  现在     (16, 8)\n"
          "  需要     (d_attn, d_s) = (8, 16)\n"
          "  依据     v_a (d_attn) = (8), s_prev (B, d_s) = (4, 16)\n"
          "  修改     在创建 W_a 的地方转置一次\n"
          "  测试     CHECK(score.W_a.shape() == Shape{d_attn, d_s});");
    CHECK(message_of<ShapeError>([&] { score(s_prev, keys); }) == report->text(Lang::en));
    CHECK(contains(file("docs/diagnosis.md"), indented(report->text(Lang::en))));
    CHECK(contains(file("docs/diagnosis.zh.md"), indented(report->text(Lang::zh))));
  }

  TEST_CASE("a context that was forgotten in the width of the cell is called by its name") {
    const Program& p = program("Bahdanau");
    World world = p.make(different);
    world.numbers["cell.W()"] = numbers_of(Shape{15, 2});
    const auto report = report_of([&] { p.run(world); });
    REQUIRE(report);
    CHECK(report->forgotten == "d_h");
    CHECK(contains(report->text(Lang::en), "fix      d_h was forgotten: make cell.W() with d_emb + d_h = 18"));
    CHECK(contains(report->text(Lang::zh), "修改     漏了 d_h：让 cell.W() 满足 d_emb + d_h = 18"));
    CHECK(contains(report->text(Lang::en), "test     CHECK(decoder.cell.W().shape() == Shape{3 * d_s, d_emb + d_h});"));
  }

  TEST_CASE("one gate's matrix where all are stacked is called so") {
    const Program& p = program("GRU");
    World world = p.make(different);
    world.numbers["U"] = numbers_of(Shape{5, 5});
    const auto report = report_of([&] { p.run(world); });
    REQUIRE(report);
    CHECK(contains(report->text(Lang::en), "fix      the gates are stacked: make U with 3 d_s = 15"));
  }

  TEST_CASE("errors that are not about shapes are explained by their own text") {
    CHECK(contains(explain(ValueError("dropout: p is 2"), Lang::zh), "dropout: p is 2"));
    CHECK(explain(std::runtime_error("other"), Lang::en) == "other");
  }

  TEST_CASE("the errors that a learner meets are known in Chinese, shapes and numbers included") {
    const auto chinese = [](const std::function<void()>& mistake) -> std::string {
      try {
        mistake();
      } catch (const Error& error) { return explain(error, Lang::zh); }
      return "nothing was thrown";
    };
    const Tensor x = zeros(Shape{2, 3}, f64), row = zeros(Shape{3}, f64);
    const Var w = parameter(zeros(Shape{2, 3}, f64));
    const auto begins = [&](const std::string& begin, const std::function<void()>& mistake) {
      const std::string text = chinese(mistake);
      CHECK_MESSAGE(text.starts_with(begin), text);
      CHECK_MESSAGE(text.find(" of ") == text.npos, text);
    };
    begins("-：形状 (2, 3) 与 (3) 不同。", [&] { (void)(Var(x) - Var(row)); });
    begins("+：一个是 f64，另一个是 f32；", [&] { (void)(Var(x) + Var(zeros(Shape{2, 3}, f32))); });
    begins("sum：形状 (2, 3) 没有 Axis{2} 这个轴；轴从 0 数到 1", [&] { (void)sum(Var(x), Axis{2}); });
    begins("matmul：(2, 3) 乘 (2, 3)：中间的大小 3 与 2 不同；第二个像是转置了", [&] { (void)matmul(Var(x), Var(x)); });
    begins("matmul：(2, 3) 乘 (2, 4)：中间的大小 3 与 2 不同", [&] {
      (void)matmul(Var(x), Var(zeros(Shape{2, 4}, f64)));
    });
    begins("matmul：(2, 3) 乘 (3)：两者都至少要有两个轴", [&] { (void)matmul(Var(x), Var(row)); });
    begins("matmul：(1, 2, 3) 乘 (2, 3)：轴的个数不同", [&] { (void)matmul(Var(zeros(Shape{1, 2, 3}, f64)), Var(x)); });
    begins("matmul：(1, 2, 3) 乘 (2, 3, 2)：批次轴 0 的长度是 1 和 2", [&] {
      (void)matmul(Var(zeros(Shape{1, 2, 3}, f64)), Var(zeros(Shape{2, 3, 2}, f64)));
    });
    begins("transpose：形状 (3) 不是矩阵", [&] { (void)transpose(row); });
    begins("narrow：从 1 开始、间隔 2 的 3 个位置，在形状 (2, 3) 的轴 1 上放不下",
           [&] { (void)narrow(x, Axis{1}, 1, 3, 2); });
    begins("select：轴 0 上的下标 5 超出了形状 (2, 3)", [&] { (void)select(x, Axis{0}, 5); });
    begins("expand：形状 (2, 3) 的轴 0 长度不是 1", [&] { (void)expand(x, Axis{0}, 4); });
    begins("expand_new：形状 (2, 3) 里没有新的 Axis{5} 的位置", [&] { (void)expand_new(x, Axis{5}, 4); });
    begins("reshape：(2, 3) 里有 6 个数，(4) 需要 4 个", [&] { (void)reshape(x, Shape{4}); });
    begins("item：形状 (2, 3) 里有 6 个数", [&] { (void)x.item(); });
    begins("at：给了 1 个下标，形状是 (2, 3)", [&] { (void)x.at({1}); });
    begins("at：轴 1 上的下标 7 超出了形状 (2, 3)", [&] { (void)x.at({1, 7}); });
    begins("max：形状 (2, 0) 的轴 1 是空的，没有 max", [&] { (void)max(Var(zeros(Shape{2, 0}, f64)), Axis{1}); });
    begins("这个 Var 还是空的", [&] { (void)Var().value(); });
    begins("这个张量还是空的", [&] { (void)Tensor().to_vector(); });
    begins("grad：这个 Var 不接收梯度", [&] { (void)Var(x).grad(); });
    begins("mutable_grad：这个 Var 不接收梯度", [&] { (void)Var(x).mutable_grad(); });
    begins("backward：形状 (2, 3) 不是单个的数", [&] { backward(w * 2.0); });
    begins("backward：没有任何接收梯度的东西通向这个结果", [&] { backward(sum(Var(x))); });
    begins("backward：'sum' (", [&] {
      const Var loss = sum(w * w);
      backward(loss);
      backward(loss);
    });
    begins("'*' 的反向：", [&] {
      const Var v = parameter(full(Shape{2}, 1, f64)), loss = sum(v * v);
      fill_(v.mutable_value(), 2);
      backward(loss);
    });
  }

  // ---- dot with d_s unlike d_h

  TEST_CASE("dot, cosine and scaled dot: d_s unlike d_h is named first, before anything else that is wrong") {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::cosine, ScoreKind::scaled_dot}) {
      Score score;
      score.kind = kind;
      for (const Shape& query : {Shape{3, 5}, Shape{4, 5}}) {  // right batch, and wrong batch
        const auto report = report_of([&] { score(zeros(query), zeros(Shape{3, 7, 16})); });
        REQUIRE(report);
        CHECK(report->fix.kind == FixKind::equal_widths);
        CHECK(report->tensor == "query");
        CHECK(report->has == query);
        CHECK(report->symbols == "(B, d_s = d_h)");
        CHECK(report->from[0].shape == Shape{3, 7, 16});
        for (const char* remedy : {"general score", "bridge", "d_s = 2 d_hidden"})
          CHECK(contains(report->text(Lang::en), remedy));
        for (const char* remedy : {"general 打分", "桥接", "d_s = 2 d_hidden"})
          CHECK(contains(report->text(Lang::zh), remedy));
      }
    }
  }

  TEST_CASE("when a dot score is made for d_s unlike d_h, the widths themselves are named") {
    Generator generator(1, "doctor");
    const auto report = report_of([&] { Score(ScoreKind::dot, 5, 16, 6, generator); });
    REQUIRE(report);
    CHECK(report->text(Lang::en) ==
          "shape error in dot attention: d_s\n"
          "  has      5\n"
          "  needs    d_s = d_h = 16\n"
          "  from     d_h = 16\n"
          "  fix      the general score, or a bridge to d_h, or d_s = 2 d_hidden\n"
          "  test     CHECK(d_s == d_h);");
  }

  TEST_CASE("each remedy for a dot of d_s and d_h makes it run") {
    Generator generator(1, "doctor");
    const Tensor s = numbers_of(Shape{3, 5}).to(f32), H = numbers_of(Shape{3, 7, 16}).to(f32);
    const Score general(ScoreKind::general, 5, 16, 6, generator);
    CHECK_NOTHROW(general(s, general.keys(H)));
    const Score dot(ScoreKind::dot, 16, 16, 6, generator);
    const Linear bridge(5, 16, generator);
    CHECK_NOTHROW(dot(bridge(s), dot.keys(H)));
    const std::int64_t d_hidden = 8;
    CHECK_NOTHROW(dot(numbers_of(Shape{3, 2 * d_hidden}).to(f32), dot.keys(H)));
  }

  TEST_CASE("encoder states that a bidirectional encoder doubled are met with the same remedies") {
    Generator generator(1, "doctor");
    const Score score(ScoreKind::dot, 8, 8, 6, generator);
    const auto report = report_of([&] { score.keys(zeros(Shape{3, 7, 16})); });
    REQUIRE(report);
    CHECK(report->fix.kind == FixKind::equal_widths);
    CHECK(contains(report->text(Lang::en), "d_s = 2 d_hidden"));
  }

  // ---- W_a * s_prev

  TEST_CASE("* where a product of matrices was meant: the proposal runs, and gives the product") {
    struct Row {
      Shape left, right;
      const char* call;
      Var (*run)(const Var& left, const Var& right);
      Shape result;
    };
    const Row rows[] = {
        {{8, 16},
         {4, 16},
         "matmul(right, transpose(left))",
         [](const Var& l, const Var& r) { return matmul(r, transpose(l)); },
         {4, 8}},
        {{8, 16}, {16, 4}, "matmul(left, right)", [](const Var& l, const Var& r) { return matmul(l, r); }, {8, 4}},
        {{8, 16}, {4, 8}, "matmul(right, left)", [](const Var& l, const Var& r) { return matmul(r, l); }, {4, 16}},
        {{8, 16},
         {8, 4},
         "matmul(transpose(left), right)",
         [](const Var& l, const Var& r) { return matmul(transpose(l), r); },
         {16, 4}},
        {{8, 16},
         {4, 6, 16},
         "matmul(reshape(right, Shape{24, 16}), transpose(left))",
         [](const Var& l, const Var& r) {
           return matmul(reshape(r, Shape{24, 16}), transpose(l));
         },
         {24, 8}},
        {{4, 6, 16},
         {8, 16},
         "matmul(reshape(left, Shape{24, 16}), transpose(right))",
         [](const Var& l, const Var& r) {
           return matmul(reshape(l, Shape{24, 16}), transpose(r));
         },
         {24, 8}},
        {{8},
         {4, 6, 8},
         "dot(right, left, Axis{2})",
         [](const Var& l, const Var& r) { return dot(r, l, Axis{2}); },
         {4, 6}},
        {{4, 8}, {8}, "dot(left, right, Axis{1})", [](const Var& l, const Var& r) { return dot(l, r, Axis{1}); }, {4}},
    };
    for (const Row& row : rows) {
      CAPTURE(std::string(row.call));
      const Var left = numbers_of(row.left), right = numbers_of(row.right);
      const auto report = report_of([&] { left* right; });
      REQUIRE(report);
      CHECK(report->fix.kind == FixKind::multiply);
      CHECK(report->fix.other == row.call);
      CHECK(contains(report->text(Lang::en), std::string("* is elementwise; the product is ") + row.call));
      CHECK(contains(report->text(Lang::zh), std::string("* 是逐元素乘；矩阵乘法是 ") + row.call));
      CHECK(row.run(left, right).shape() == row.result);
    }
  }

  TEST_CASE("* of a query and keys: the missing axis is named, and repeating it has to be written") {
    const Var query = numbers_of(Shape{2, 3}), keys = numbers_of(Shape{2, 5, 3});
    for (bool left : {true, false}) {
      const auto report = report_of([&] { left ? query* keys : keys* query; });
      REQUIRE(report);
      CHECK(report->fix.kind == FixKind::repeat);
      CHECK(report->fix.other == std::string("expand_new(") + (left ? "left" : "right") + ", Axis{1}, 5)");
      CHECK(contains(report->text(Lang::en), "an axis is missing; repeat it openly: " + report->fix.other));
    }
    CHECK((expand_new(query, Axis{1}, 5) * keys).shape() == Shape{2, 5, 3});
  }

  TEST_CASE("* of shapes that no product fits asks for one shape") {
    const auto report = report_of([] { Var(zeros(Shape{2, 3})) * Var(zeros(Shape{5, 7})); });
    REQUIRE(report);
    CHECK(report->fix.kind == FixKind::resize);
    CHECK(Extents(report->needs) == Extents{2, 3});
  }

  // ---- contracts

  constexpr Contract cell("cell", "G  W (G d_s, d_in)  b (G d_s); x (B, d_in)  s (B, d_s)");

  Given of(const Shape& shape, bool grid = false) {
    Given given;
    given.shape = &shape;
    given.grid = grid;
    return given;
  }
  bool fits(const Contract& contract, const std::vector<Given>& given) {
    return contract.fits(given.data(), given.size());
  }

  TEST_CASE("a contract binds letters where it meets them, and leaves out what is not there") {
    const Shape W{15, 9}, b{15}, x{3, 9}, s{3, 5}, flat{15, 1};
    CHECK(fits(cell, {3, of(W), of(b), of(x), of(s)}));
    CHECK(fits(cell, {3, of(W), {}, {}, of(s)}));
    CHECK(fits(cell, {3, {}, {}, {}, {}}));
    CHECK_FALSE(fits(cell, {4, of(W), {}, {}, {}}));              // 15 is no multiple of 4
    CHECK_FALSE(fits(cell, {5, of(W), of(b), of(x), of(s)}));     // d_s would be 3
    CHECK_FALSE(fits(cell, {3, of(W), of(flat), of(x), of(s)}));  // two axes
  }

  TEST_CASE("a number that contradicts a tensor is seen, whichever comes first") {
    constexpr Contract before("", "k  x (k)"), after("", "x (k)  k");
    const Shape five{5};
    CHECK(fits(before, {5, of(five)}));
    CHECK_FALSE(fits(before, {6, of(five)}));
    CHECK(fits(after, {of(five), 5}));
    CHECK_FALSE(fits(after, {of(five), 6}));
  }

  // ---- what is found from bare contracts

  TEST_CASE("sums of which no term is known are evidence for each other") {
    constexpr Contract sums("", "P (a + b)  Q (a + b)  R (a + b)");
    const Shape five{5}, six{6};
    const ShapeReport report = examine(sums, "", {of(six), of(five), of(five)});
    CHECK(report.tensor == "P");
    CHECK(report.needs == Extents{5});
    CHECK(report.from.at(0).name == "Q");
  }

  TEST_CASE("a tensor is not taken for another one of which nothing is known") {
    constexpr Contract two("", "w (k); s (B)  U (B, T, k)  V (B, T, h)");
    const Shape w{6}, s{3}, U{3, 7, 9};
    const ShapeReport report = examine(two, "", {of(w), of(s), of(U), {}});
    CHECK(report.tensor == "U");
    CHECK(report.fix.kind == FixKind::resize);
  }

  TEST_CASE("as many numbers are not enough for a reshape: axes must be split or merged") {
    constexpr Contract one("", "a b c  x (a, b, c)");
    const Shape merged{6, 4}, torn{12, 2};
    CHECK(examine(one, "", {2, 3, 4, of(merged)}).fix.kind == FixKind::reshape);
    CHECK(examine(one, "", {2, 3, 4, of(torn)}).fix.kind == FixKind::resize);
  }

  TEST_CASE("a mask and a tensor are not exchanged") {
    constexpr Contract pair("", "a b c d  P (a, b)  mask (c, d)");
    const Shape P{4, 5}, mask{2, 3};
    CHECK(examine(pair, "", {2, 3, 4, 5, of(P), of(mask)}).fix.kind == FixKind::exchange);
    CHECK(examine(pair, "", {2, 3, 4, 5, of(P), of(mask, true)}).fix.kind == FixKind::resize);
  }

  TEST_CASE("a contract reads what it says") {
    CHECK(cell.rows() == 5);
    CHECK(cell.row(1).name == "W");
    CHECK(cell.row(1).parameter);
    CHECK_FALSE(cell.row(3).parameter);
    CHECK(cell.find("s") == 4);
    CHECK(cell.find("U") == -1);
  }

  // ---- several at once

  TEST_CASE("keys and values from states laid out time first: both are named, with one fix") {
    const Program& p = program("Bahdanau");
    const World right = p.make(different);
    World world = right;
    make({"", "keys", Break::swapped_01, "", FixKind::resize}, world, different);
    make({"", "values", Break::swapped_01, "", FixKind::resize}, world, different);
    world.masks.erase("mask");
    const auto report = report_of([&] { p.run(world); });
    REQUIRE(report);
    CHECK(report->fix.kind == FixKind::swap_axes);
    CHECK(std::set<std::string>{report->tensor, report->also.at(0)} == std::set<std::string>{"keys", "values"});
    CHECK(contains(report->text(Lang::en),
                   "fix      pass transpose(keys, Axis{0}, Axis{1}): batch first (values likewise)"));
    CHECK(contains(report->text(Lang::zh), "修改     传入 transpose(keys, Axis{0}, Axis{1})：批次在前（values 同样）"));
    apply(*report, world, right);
    CHECK_NOTHROW(p.run(world));
  }
}
