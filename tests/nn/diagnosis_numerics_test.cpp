// Right models whose numbers are not exact: half precision, noise, NaN. No mistake may be named on any of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;
using reference::Arrays;

namespace {

// To the nearest number with a fraction of so many bits: 11 are float16, 8 bfloat16.
double rounded(double x, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

void round_all(Array& a, int bits) {
  for (double& x : a.data) x = rounded(x, bits);
}

void round_all(Arrays& arrays, int bits) {
  for (auto& [name, a] : arrays) round_all(a, bits);
}

Verdict diagnosed(const Arrays& arrays, const std::string& claim, bool single = false) {
  Meta meta;
  meta.claims = claim;
  return diagnose(make_trace(arrays, meta, single));
}

std::size_t errors(const Verdict& v) {
  return static_cast<std::size_t>(
      std::count_if(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.error; }));
}

bool says(const Verdict& v, const std::string& en) { return v.text().find(en) != std::string::npos; }

}  // namespace

TEST_CASE("diagnosis of numbers: noise on right weights is given no name") {
  for (const double size : {3e-5, 1e-4, 1e-3, 4e-3})
    for (const unsigned seed : {1u, 2u, 3u}) {
      CAPTURE(size);
      CAPTURE(seed);
      const Arrays a = make_example({}, {}, seed).arrays;
      Arrays kept;
      for (const char* name : {"H", "mask", "s", "W_a", "U_a", "v_a", "alpha"}) kept[name] = a.at(name);
      std::mt19937_64 draw(seed);
      std::normal_distribution<double> normal;
      for (double& x : kept["alpha"].data) x = static_cast<float>(x * (1 + size * normal(draw)));
      const Verdict v = diagnosed(kept, "bahdanau2014", true);
      INFO(v.text());
      REQUIRE(v.code() == "UNKNOWN");
      CHECK(errors(v) == 1);
      CHECK(v.findings[0].kind == Kind::numerics);
      CHECK(says(v, "agree with the claimed convention to"));
    }
}

TEST_CASE("diagnosis of numbers: in half precision what can be told is told, right or wrong") {
  for (const int bits : {11, 8}) {
    CAPTURE(bits);
    for (const unsigned seed : {1u, 2u, 3u}) {
      CAPTURE(seed);
      Arrays a = make_example({}, {}, seed).arrays;
      round_all(a, bits);
      const Verdict v = diagnosed(a, "bahdanau2014", true);
      INFO(v.text());
      CHECK(v.code() == "");
      CHECK(v.exit_status() == 0);
      CHECK(says(v, bits == 11 ? "(float16)" : "(bfloat16)"));
      CHECK(v.text(Lang::zh).find("半精度") != std::string::npos);
    }
    Arrays late = make_example({}, {{"query", "s_t"}, {"input", "c_prev"}}, 4).arrays;
    round_all(late, bits);
    const Verdict v = diagnosed(late, "bahdanau2014", true);
    INFO(v.text());
    CHECK(v.code() == "ATTN_QUERY_POST_STEP");
  }
  // One array alone, computed or given.
  for (const std::string name : {"alpha", "c", "s", "logits", "H", "W_a"}) {
    CAPTURE(name);
    Arrays a = make_example({}, {}, 5).arrays;
    round_all(a.at(name), 11);
    const Verdict v = diagnosed(a, "bahdanau2014");
    INFO(v.text());
    CHECK(v.code() == "");
  }
}

TEST_CASE("diagnosis of numbers: NaN and infinities are reported once, and the rest is answered for") {
  const Arrays whole = make_example({}, {}, 3).arrays;
  const auto spoil = [](Array& a, std::size_t from, double value) {  // of every example, from this step on
    const std::size_t B = a.dim(0), row = a.data.size() / B, step = row / a.dim(1);
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t k = from * step; k < row; ++k) a.data[b * row + k] = value;
  };
  const double nan = std::nan("");
  {
    Arrays a = whole;  // an overflow at the third step, and all that follows from it
    spoil(a.at("alpha"), 2, nan), spoil(a.at("c"), 2, nan), spoil(a.at("s"), 3, nan), spoil(a.at("logits"), 2, nan);
    const Verdict v = diagnosed(a, "bahdanau2014");
    INFO(v.text());
    REQUIRE(v.code() == "UNKNOWN");
    CHECK(errors(v) == 1);
    CHECK(v.findings[0].kind == Kind::numerics);
    CHECK(says(v, "alpha[0, 2, 0] is NaN, at step 3"));
    CHECK(says(v, "steps from 3 on are left aside"));
    CHECK(std::find(v.choices.begin(), v.choices.end(), "query=s_prev") != v.choices.end());
  }
  for (const char* name : {"c", "s", "logits", "alpha"}) {
    CAPTURE(name);
    Arrays a = whole;  // one number of the second example
    Array& spoiled = a.at(name);
    spoiled.data[spoiled.data.size() / 3 + spoiled.dim(2)] = HUGE_VAL;
    const Verdict v = diagnosed(a, "bahdanau2014");
    INFO(v.text());
    CHECK(v.code() == "UNKNOWN");
    CHECK(errors(v) == 1);
    CHECK(v.findings[0].kind == Kind::numerics);
    CHECK(says(v, std::string(name) + "[1, 1, 0] is an infinity"));
    CHECK(says(v, "example 1 is left aside"));
    CHECK(v.tried < 20'000);
  }
  {
    Arrays a = whole;  // the contexts from the first step on: what lies between weights and cell is not looked at
    spoil(a.at("c"), 0, nan);
    const Verdict v = diagnosed(a, "bahdanau2014");
    INFO(v.text());
    CHECK(errors(v) == 1);
    CHECK(says(v, "c is left aside"));
  }
  {
    Arrays a = make_example({.kind = TraceKind::recurrent}, {}, 3).arrays;
    a.at("h").data[0] = nan;
    const Verdict v = diagnosed(a, "");
    INFO(v.text());
    CHECK(errors(v) == 1);
    CHECK(v.findings[0].kind == Kind::numerics);
    CHECK(says(v, "h[0, 0, 0] is NaN, at step 1"));
  }
}

TEST_CASE("diagnosis of numbers: stages for which arrays are missing are said not to be checked") {
  Arrays a = make_example({}, {}, 3).arrays;
  const Verdict whole = diagnosed(a, "bahdanau2014");
  INFO(whole.text());
  CHECK(!says(whole, "not checked"));
  for (const char* name : {"W", "U", "b", "b_u"}) a.erase(name);
  const Verdict v = diagnosed(a, "bahdanau2014");
  INFO(v.text());
  CHECK(v.code() == "");
  CHECK(says(v, "not checked, as arrays are missing: the decoder's cell (s) needs "));
  CHECK(says(v, "as far as this input tells no mistake against its claim"));
}
