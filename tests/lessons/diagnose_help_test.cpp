// The help of `./gradus diagnose`.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "lessons/common/terminal.h"
#include "lessons/runner/diagnose_help.h"
#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace_names.h"

using namespace gradus;

namespace {

std::string page() {
  std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/docs/diagnosis.md");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// As a word of its own, so that c is not found in context.
bool names(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_word(text[at - 1])) && (at + name.size() == text.size() || !is_word(text[at + name.size()])))
      return true;
  return false;
}

}  // namespace

TEST_CASE("diagnose --help names every array with its shape, every claim and every key, in 80 columns") {
  for (const Lang lang : {Lang::en, Lang::zh}) {
    const std::string help = diagnose_help(lang);
    for (std::size_t at = 0; at < help.size();) {
      const std::size_t end = help.find('\n', at);
      CHECK_MESSAGE(display_width(help.substr(at, end - at)) <= 80, help.substr(at, end - at));
      at = end + 1;
    }
    for (const auto* table :
         {&diagnosis::decoder_names(), &diagnosis::recurrent_names(), &diagnosis::multi_head_names()})
      for (const diagnosis::TraceName& n : *table) {
        CHECK_MESSAGE(help.find("  " + std::string(n.name) + " " + n.shape) != std::string::npos, std::string(n.name));
        if (n.output) CHECK_MESSAGE(names(help, "grad_" + std::string(n.name)), std::string(n.name));
      }
    for (const diagnosis::Claim& claim : diagnosis::claims())
      CHECK_MESSAGE(names(help, claim.name), std::string(claim.name));
    for (const char* said : {"\"claims\"", "\"gate_order\"", "\"layout\"", "\"heads\"", "\"topic\"", "\"time_major\"",
                             "\"r,z,n\"", "\"i,g,f,o\"", "(or j, c)", "W_ih", "recurrent_kernel", "gates.kernel",
                             "memory_bank", "cross_entropy", "PyTorch", "NumPy", "np.save", "meta.json"}) {
      if (lang == Lang::zh && std::string(said) == "(or j, c)") continue;
      CHECK_MESSAGE(help.find(said) != std::string::npos, std::string(said));
    }
  }
}

TEST_CASE("docs/diagnosis.md names every array, claim and output that the tables have") {
  const std::string text = page();
  REQUIRE(text.size() > 1000);
  for (const auto* table : {&diagnosis::decoder_names(), &diagnosis::recurrent_names(), &diagnosis::multi_head_names(),
                            &diagnosis::cell_names()})
    for (const diagnosis::TraceName& n : *table) CHECK_MESSAGE(names(text, n.name), std::string(n.name));
  for (const diagnosis::Claim& claim : diagnosis::claims())
    CHECK_MESSAGE(names(text, claim.name), std::string(claim.name));
}
