// Diagnosis: every known convention and every known mistake is run on the same input, and the one whose numbers agree
// is named. Each stage is checked alone where the trace allows it (alpha from the given states, c from the given alpha,
// s from the given inputs), so one wrong stage does not hide the others.
//
//   Verdict verdict = diagnose(read_trace("dump/"));      // claims come from meta.json
//   std::puts(verdict.text().c_str());                    // ATTN_QUERY_POST_STEP: the query is s_t, ...
#pragma once

#include <string>

#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

struct Options {
  std::string claim;         // replaces the trace's own claim unless it is empty
  bool gradients = true;     // compare grad_NAME with central differences where they are there
  std::size_t most = 60000;  // hypotheses tried at most, fewer on large traces
  std::size_t searches = 1;  // how many alike are made (one for each number of heads): they share the work of one
};

// Throws std::invalid_argument for an unknown claim, and for arrays that do not fit together.
Verdict diagnose(const Trace& trace, const Options& options = {});

// What the command line needs: reads, diagnoses, prints. exit_status: 0 no mistake, 1 a mistake, 2 nothing could be
// checked, 3 the file cannot be used (the text says why).
struct Answer {
  std::string text;
  int exit_status = 0;
};
Answer diagnose_file(const std::string& path, const std::string& claim = "", Lang lang = Lang::en, bool json = false);

}  // namespace gradus::diagnosis
