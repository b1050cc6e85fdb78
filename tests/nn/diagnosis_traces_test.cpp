// Traces of models that were made elsewhere: each is named as its owner would name it, from the files alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/formats/json.h"
#include "tests/slower.h"

using namespace gradus;
using namespace gradus::diagnosis;

namespace {

const std::string traces = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/traces/";

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("diagnosis: traces of PyTorch, Keras and ONNX are named as expected, each in under a second") {
  const Json expected = parse_json(file(traces + "expected.json"));
  REQUIRE(expected.as_object().size() >= 35);
  for (const auto& entry : expected.as_object()) {
    const std::string name = entry.first;
    const Json& says = entry.second;
    CAPTURE(name);
    const std::clock_t start = std::clock();
    const Verdict verdict = diagnose(read_trace(traces + name));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const std::string code = says.at("code").is_null() ? "" : says.at("code").as_string();
    CHECK_MESSAGE(verdict.code() == code, verdict.text());
    CHECK(verdict.checked);
    CHECK(seconds < 1 * testing::slower);
  }
}

TEST_CASE("diagnosis: what a trace follows is said in the words of the papers") {
  const struct {
    const char *trace, *choice;
  } rows[] = {
      {"torch_gru", "reset=after"},
      {"torch_gru", "gate_order=rzn"},
      {"torch_gru", "update=keeps"},
      {"torch_gru.safetensors", "reset=after"},
      {"torch_lstm", "gate_order=ifgo"},
      {"torch_lstm.safetensors", "gate_order=ifgo"},
      {"torch_grucell", "reset=after"},
      {"torch_gru_state_dict", "reset=after"},
      {"keras_gru_reset_after", "reset=after"},
      {"keras_gru_reset_after", "gate_order=zrn"},
      {"keras_gru_reset_before", "reset=before"},
      {"keras_gru_reset_before", "gate_order=zrn"},
      {"onnx_gru_lbr0", "reset=before"},
      {"onnx_gru_lbr1", "reset=after"},
      {"onnx_gru_lbr1", "gate_order=zrn"},
      {"tensorflow1_lstm", "gate_order=igfo"},
      {"tensorflow1_lstm", "forget_bias=one"},
      {"tensorflow1_gru", "gate_order=rzn"},
      {"tensorflow1_gru", "reset=before"},
      {"tensorflow1_gru", "update=keeps"},
      {"torch_bahdanau", "query=s_prev"},
      {"torch_bahdanau", "input=c_t"},
      {"torch_bahdanau", "readout=maxout"},
      {"torch_bahdanau", "update=replaces"},
      {"torch_bahdanau", "reset=before"},
      {"torch_bahdanau_readout_s_prev", "readout_time=s_prev"},
      {"torch_bahdanau_z_keeps", "update=keeps"},
      {"torch_bahdanau_grucell", "readout=s,c"},
      {"torch_bahdanau_grucell", "reset=after"},
      {"torch_hybrid_dot_s_prev", "score=dot"},
      {"torch_hybrid_dot_s_prev", "query=s_prev"},
      {"torch_luong_general_feed", "input=feeding"},
      {"torch_luong_dot", "input=none"},
      {"torch_luong_dot", "score=dot"},
      {"torch_luong_concat_feed_lstm", "score=concat"},
      {"torch_luong_concat_feed_lstm", "gate_order=ifgo"},
      {"torch_luong_location_feed", "score=location"},
      {"torch_multi_head", "split=usual"},
      {"torch_rnn", "candidate=usual"},
  };
  for (const auto& row : rows) {
    const std::string trace = row.trace, choice = row.choice;
    CAPTURE(trace);
    CAPTURE(choice);
    const Verdict verdict = diagnose(read_trace(traces + trace));
    CHECK_MESSAGE(std::count(verdict.choices.begin(), verdict.choices.end(), choice) == 1, verdict.text());
  }
}

TEST_CASE("diagnosis: what a trace cannot tell is said, with an input that can") {
  CHECK(diagnose(read_trace(traces + "torch_gru_blind")).leaves_open("reset"));
  const Verdict one = diagnose(read_trace(traces + "torch_bahdanau_one_position"));
  for (const char* field : {"query", "axis", "energy", "mask"}) {
    CAPTURE(field);
    CHECK(one.leaves_open(field));
  }
  CHECK(diagnose(read_trace(traces + "torch_bahdanau_weights_only")).leaves_open("query"));
  CHECK(!diagnose(read_trace(traces + "torch_bahdanau")).leaves_open("query"));
}
