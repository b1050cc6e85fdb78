// Pictures: the text byte for byte, the SVG's structure, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "lessons/common/axis.h"
#include "lessons/common/plot.h"

using namespace gradus;

namespace {

LineChart accuracy_chart() {
  LineChart chart;
  chart.title = "Accuracy against length";
  chart.x_label = "length";
  chart.y_label = "accuracy";
  chart.series = {{"attention", {5, 10, 20, 40, 60, 80}, {1, 1, 1, 1, 1, 0.99}},
                  {"no attention", {5, 10, 20, 40, 60, 80}, {1, 0.98, 0.76, 0.27, 0.17, 0.13}}};
  chart.lines = {{"chance 10 %", 0.1}};
  chart.y_min = 0;
  chart.y_max = 1;
  chart.percent = true;
  chart.height = 9;
  return chart;
}

Heatmap alignment() {
  Heatmap map;
  map.title = "Alignment";
  map.row_label = "output";
  map.column_label = "input";
  map.rows = {"I", "love", "China"};
  map.columns = {"我", "爱", "中国", "<pad>"};
  map.values = {0.9, 0.06, 0.04, 7, 0.05, 0.9, 0.05, 7, 0.01, 0.02, 0.97, 7};
  map.masked = {false, false, false, true, false, false, false, true, false, false, false, true};
  return map;
}

Heatmap diagonal(std::size_t size) {
  Heatmap map;
  map.row_count = map.column_count = size;
  map.low = 0;
  map.high = 1;
  for (std::size_t r = 0; r < size; ++r) {
    for (std::size_t c = 0; c < size; ++c) map.values.push_back(r == c ? 1 : r == c + 1 ? 0.5 : 0);
  }
  return map;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

int widest_line(const std::string& text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    width = std::max(width, display_width(text.substr(at, end - at)));
    at = end + 1;
  }
  return width;
}

// Whether every element that is opened is closed, in order: enough of XML for what draw_svg writes.
bool well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

}  // namespace

TEST_SUITE("plot") {
  TEST_CASE("a chart in ASCII, 40 columns") {
    CHECK(draw_text(accuracy_chart(), {.width = 40}) ==
          "Accuracy against length\n"
          "accuracy\n"
          "100 % +&-&...o........o.......o........o\n"
          "      |   ---\n"
          "      |      x-\n"
          "      |        --\n"
          " 50 % +          --\n"
          "      |            ---\n"
          "      |               x------\n"
          "      |______________________-x--------x\n"
          "  0 % +\n"
          "      ++-+---+--------+-------+--------+\n"
          "       5    20       40      60       80\n"
          "                   length\n"
          "o attention   x no attention\n"
          "__ chance 10 %   & several at one place\n");
  }

  TEST_CASE("a chart with line characters and Chinese words") {
    LineChart chart = accuracy_chart();
    chart.title = "准确率与长度";
    chart.series[0].name = "有注意力";
    chart.lang = Lang::zh;
    chart.height = 5;
    CHECK(draw_text(chart, {.unicode = true, .width = 30}) ==
          "准确率与长度\n"
          "accuracy\n"
          "100 % ┤&&-·●·····●·····●·····●\n"
          "      │   -○-\n"
          "      │      ---\n"
          "      │         -○-----○-----○\n"
          "  0 % ┤┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄\n"
          "      └┬┬──┬─────┬─────┬─────┬\n"
          "       5  20    40    60    80\n"
          "              length\n"
          "● 有注意力   ○ no attention\n"
          "┄┄ chance 10 %   & 多条重合\n");
  }

  TEST_CASE("pictures keep to the width, with colour too") {
    const LineChart chart = accuracy_chart();
    for (const int width : {20, 21, 30, 40, 79, 80, 200}) {
      for (const bool unicode : {false, true}) {
        CAPTURE(width);
        const Terminal terminal = {.is_tty = true, .colour = unicode, .unicode = unicode, .width = width};
        CHECK(widest_line(draw_text(chart, terminal)) <= std::min(width, 80));
        CHECK(widest_line(draw_text(alignment(), terminal)) <= std::min(width, 80));
        CHECK(widest_line(draw_text(diagonal(7), terminal)) <= std::min(width, 80));
        CHECK(widest_line(draw_text(diagonal(80), terminal)) <= std::min(width, 80));
      }
    }
  }

  TEST_CASE("a picture without colour has no escape sequence, one with colour the same text") {
    const std::string plain = draw_text(accuracy_chart(), {.unicode = true, .width = 60});
    std::string coloured = draw_text(accuracy_chart(), {.colour = true, .unicode = true, .width = 60});
    CHECK(plain.find('\x1b') == std::string::npos);
    CHECK(coloured.find('\x1b') != std::string::npos);
    for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
      coloured.erase(at, coloured.find('m', at) - at + 1);
    }
    CHECK(coloured == plain);
  }

  TEST_CASE("charts of nothing, of one point, of gaps and of flat lines") {
    LineChart chart;
    CHECK_FALSE(draw_text(chart, {}).empty());
    CHECK(well_formed(draw_svg(chart)));
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const Series rows[] = {{"one point", {3}, {4}},
                           {"flat", {0, 1}, {2, 2}},
                           {"gap", {0, 1, 2}, {1, nan, 3}},
                           {"all gaps", {0, 1}, {nan, infinity}},
                           {"x not a number", {nan, 1}, {1, 2}},
                           {"huge", {0, 1}, {-1e300, 1e300}},
                           {"tiny", {0, 1}, {0, 5e-324}},
                           {"close", {0, 1}, {1e16, 1e16 + 2}},
                           {"largest", {0, 1}, {-1.7e308, 1.7e308}},
                           {"many", std::vector<double>(5000, 1), std::vector<double>(5000, 2)}};
    for (const Series& series : rows) {
      CAPTURE(series.name);
      chart.series = {series};
      CHECK(widest_line(draw_text(chart, {})) <= 80);
      const std::string svg = draw_svg(chart);
      CHECK(well_formed(svg));
      CHECK(svg.find("nan") == std::string::npos);
    }
  }

  TEST_CASE("a small matrix shows its numbers, Chinese labels stand over them, pads are hatched") {
    CHECK(draw_text(alignment(), {.width = 80}) ==
          "Alignment\n"
          "output (down)   input (right)\n"
          "         我    爱  中国 <pad>\n"
          "I      0.90  0.06  0.04 /////\n"
          "love   0.05  0.90  0.05 /////\n"
          "China  0.01  0.02  0.97 /////\n"
          "// masked\n");
  }

  TEST_CASE("a matrix without room for numbers is shaded") {
    CHECK(draw_text(alignment(), {.unicode = true, .width = 20}) ==
          "Alignment\n"
          "output ↓   input →\n"
          "            <\n"
          "            p\n"
          "            a\n"
          "          中d\n"
          "      我爱国>\n"
          "I     ██    //\n"
          "love    ██  //\n"
          "China     ██//\n"
          "0.01 [ ·░▒▓█] 0.97\n"
          "// masked\n");
  }

  TEST_CASE("a large matrix is put together in blocks and says so") {
    const std::string text = draw_text(diagonal(80), {.width = 80});
    CHECK(text.find("one character: the largest of 2 x 2 values") != std::string::npos);
    CHECK(count(text, "@") == 40 + 1);
    CHECK(count(draw_text(diagonal(20), {.width = 80}), "@@") == 20);
  }

  TEST_CASE("the same picture twice is the same bytes") {
    CHECK(draw_svg(accuracy_chart()) == draw_svg(accuracy_chart()));
    CHECK(draw_text(diagonal(30), {}) == draw_text(diagonal(30), {}));
  }

  TEST_CASE("SVG: title, description with the numbers, marks and dashes beside the colours") {
    LineChart chart = accuracy_chart();
    chart.title = "a < b & \"c\" \x1b 中文";
    const std::string svg = draw_svg(chart);
    CHECK(well_formed(svg));
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(svg.find("<title>a &lt; b &amp; &quot;c&quot; \\x1b 中文</title>") != std::string::npos);
    CHECK(svg.find("attention: 5 100 %, 10 100 %, 20 100 %, 40 100 %, 60 100 %, 80 99 %.") != std::string::npos);
    CHECK(svg.find("chance 10 %: 10 %.") != std::string::npos);
    CHECK(count(svg, "stroke-dasharray=\"7 4\"") == 2);
    CHECK(count(svg, "fill=\"#0072b2\"") == 6 + 1);
  }

  TEST_CASE("SVG of a matrix: numbers in the cells, hatched pads, best column in the description") {
    const std::string svg = draw_svg(alignment());
    CHECK(well_formed(svg));
    CHECK(svg.find("China: 中国 0.97.") != std::string::npos);
    CHECK(svg.find(">0.97</text>") != std::string::npos);
    CHECK(svg.find(">masked</text>") != std::string::npos);
    CHECK(svg.find(">7.00<") == std::string::npos);
    CHECK(well_formed(draw_svg(diagonal(80))));
    CHECK(well_formed(draw_svg(Heatmap())));
  }

  TEST_CASE("CSV") {
    CHECK(to_csv(alignment()).starts_with("row,column,row_label,column_label,value\n0,0,I,我,0.9\n0,1,I,爱,0.06\n"));
    CHECK(to_csv(alignment()).find("0,3,I,<pad>,\n") != std::string::npos);
    LineChart chart;
    chart.series = {{"a, \"b\"", {1}, {0.1}}};
    CHECK(to_csv(chart) == "series,x,y\n\"a, \"\"b\"\"\",1,0.1\n");
  }

  TEST_CASE("lengths that do not agree are refused with both numbers") {
    LineChart chart;
    chart.series = {{"loss", {1, 2}, {1}}};
    CHECK_THROWS_WITH(draw_text(chart, {}), "plot: curve \"loss\" has 2 x and 1 y; give one y for each x");
    chart.series.assign(9, {"s", {}, {}});
    CHECK_THROWS_AS(draw_svg(chart), std::invalid_argument);
    chart.series = {{"loss", {1, 2}, {0, 1}}};
    chart.y_log = true;
    CHECK_THROWS_WITH(draw_text(chart, {}), "plot: 0 on a logarithmic axis; leave it out or use a linear one");
    Heatmap map = alignment();
    map.values.pop_back();
    CHECK_THROWS_WITH(draw_text(map, {}), "plot: 11 values for 3 rows and 4 columns");
    map = alignment();
    map.masked.pop_back();
    CHECK_THROWS_AS(draw_svg(map), std::invalid_argument);
    CHECK_THROWS_AS(save_plot(alignment(), "x.png"), std::invalid_argument);
  }

  TEST_CASE("axes are labelled at round numbers") {
    struct Row {
      std::vector<double> values;
      AxisWish wish;
      std::string ticks;
    };
    const Row rows[] = {
        {{0, 1}, {.percent = true, .round_ends = true, .max_ticks = 5}, "0 %|25 %|50 %|75 %|100 %"},
        {{0.13, 0.97}, {.round_ends = true}, "0|0.2|0.4|0.6|0.8|1"},
        {{1, 4500}, {}, "1000|2000|3000|4000"},
        {{1, 4500}, {.max_ticks = 2}, "2000|4000"},
        {{5, 10, 80}, {.ticks_at_values = true}, "5|10|80"},
        {{0.002, 2.3}, {.log = true}, "0.01|0.1|1"},
        {{1, 30}, {.log = true}, "1|2|5|10|20"},
        {{-3, 3}, {.round_ends = true, .max_ticks = 4}, "-4|-2|0|2|4"},
        {{7}, {.round_ends = true, .max_ticks = 3}, "0|5|10|15"},
        {{}, {}, "0|0.2|0.4|0.6|0.8|1"},
    };
    for (const Row& row : rows) {
      std::string ticks;
      for (const Tick& tick : make_axis(row.values, row.wish).ticks) ticks += (ticks.empty() ? "" : "|") + tick.text;
      CHECK(ticks == row.ticks);
    }
    CHECK_THROWS_AS(make_axis({}, {.low = 1, .high = 1}), std::invalid_argument);
  }
}
