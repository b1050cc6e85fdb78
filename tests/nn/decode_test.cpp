// The two loops over decoder steps: teacher forcing against single steps, greedy decoding against teacher forcing, and
// what each computes how often.
#include "nn/decode.h"

#include "tests/nn/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const DecoderSizes sizes{9, 3, 4, 6, 5};  // vocab, d_emb, d_s, d_h, d_attn

template <class Model> Model model_of(const DecoderOptions& options, std::uint64_t seed = 1) {
  Generator g(seed);
  return drawn(Model(sizes, options, g), seed, 0.9);
}

Embedding table(std::uint64_t seed = 2) {
  Generator g(seed);
  return drawn(Embedding(sizes.vocab, sizes.d_emb, g), seed, 2);
}

// Calls f with each decoder.
void for_each_decoder(const std::function<void(const std::string&, const Decoder&, const Linear& bridge)>& f) {
  const BahdanauDecoder bahdanau = model_of<BahdanauDecoder>({}),
                        maxout = model_of<BahdanauDecoder>(
                            {.cell = CellKind::lstm, .layers = 2, .readout_time = ReadoutTime::s_prev, .maxout = true});
  const LuongDecoder feeding = model_of<LuongDecoder>({.score = ScoreKind::general}),
                     plain_luong = model_of<LuongDecoder>(
                         {.score = ScoreKind::concat, .cell = CellKind::lstm, .layers = 2, .input_feeding = false});
  const PlainDecoder plain = model_of<PlainDecoder>({});
  f("Bahdanau", bahdanau, bahdanau.bridge);
  f("Bahdanau, two layers of LSTM, maxout of s_{t-1}", maxout, maxout.bridge);
  f("Luong with feeding", feeding, feeding.bridge);
  f("Luong, two layers of LSTM, no feeding", plain_luong, plain_luong.bridge);
  f("no attention", plain, plain.bridge);
}

struct Setting {
  Var H, h_first;
  std::optional<Mask> mask;
};
Setting setting_for(const Linear& bridge, std::uint64_t seed) {
  Numbers numbers(seed);
  return {leaf(Shape{3, 5, 6}, numbers), leaf(Shape{3, bridge.W.shape()[1]}, numbers), mask_from_lengths({5, 3, 1}, 5)};
}

// Nodes of the products that have so many rows.
int products(const Var& result, std::int64_t rows) {
  return count_nodes(result, [rows](const Node& node) {
    const Shape& shape = node.value.shape();
    return std::string(node.op) == "linear" && shape.without(Axis{shape.rank() - 1}).size() == rows;
  });
}

}  // namespace

TEST_SUITE("nn decode") {
  TEST_CASE("teacher forcing is the steps one by one, and one readout") {
    for_each_decoder([](const std::string& name, const Decoder& model, const Linear& bridge) {
      CAPTURE(name);
      const Setting s = setting_for(bridge, 3);
      Numbers numbers(4);
      const Var y_emb = drawn_tensor(Shape{3, 4, 3}, numbers);
      const Memory memory = model.remember(s.H, s.mask);
      const State s_0 = model.start(s.h_first);
      const Decoded d = decode_teacher(model, y_emb, s_0, memory);
      CHECK(bitwise(select(d.states, Axis{1}, 0), s_0));
      State s_prev = s_0;
      for (std::int64_t t = 0; t < 4; ++t) {
        const Var y = select(y_emb, Axis{1}, t);
        const Step step = model.step(y, s_prev, memory);
        CHECK(bitwise(select(d.states, Axis{1}, t + 1), step.s_t));
        CHECK(gap(select(d.logits, Axis{1}, t), model.logits(model.features(step, y, s_prev))) <= exact);
        if (step.weights.defined()) {
          CHECK(bitwise(select(d.weights, Axis{1}, t), step.weights));
          CHECK(bitwise(select(d.contexts, Axis{1}, t), step.context));
        }
        s_prev = step.s_t;
      }
    });
  }

  TEST_CASE("the results have the shapes of the table: logits, states with s_0, weights, contexts; weights sum to 1") {
    for_each_decoder([](const std::string& name, const Decoder& model, const Linear& bridge) {
      CAPTURE(name);
      const Setting s = setting_for(bridge, 5);
      const Decoded d =
          decode_teacher(model, zeros(Shape{3, 4, 3}, f64), model.start(s.h_first), model.remember(s.H, s.mask));
      CHECK(d.logits.shape() == Shape{3, 4, 9});
      CHECK(d.states.shape() == Shape{3, 5, 4});
      if (name == "no attention") {
        CHECK(!d.weights.defined());
        CHECK(!d.contexts.defined());
        return;
      }
      CHECK(d.weights.shape() == Shape{3, 4, 5});
      CHECK(d.contexts.shape() == Shape{3, 4, 6});
      for (double total : vec(sum(d.weights, Axis{2}))) CHECK(near(total, 1, exact));
    });
  }

  TEST_CASE("a longer target begins like a shorter one: nothing looks ahead") {
    for_each_decoder([](const std::string& name, const Decoder& model, const Linear& bridge) {
      CAPTURE(name);
      const Setting s = setting_for(bridge, 6);
      Numbers numbers(7);
      const Var y_emb = drawn_tensor(Shape{3, 6, 3}, numbers);
      const Memory memory = model.remember(s.H, s.mask);
      const Decoded whole = decode_teacher(model, y_emb, model.start(s.h_first), memory);
      const Decoded begin = decode_teacher(model, narrow(y_emb, Axis{1}, 0, 2), model.start(s.h_first), memory);
      CHECK(gap(narrow(whole.logits, Axis{1}, 0, 2), begin.logits) <= exact);
      CHECK(gap(narrow(whole.states, Axis{1}, 0, 3), begin.states) <= exact);
    });
  }

  TEST_CASE("the logits of a step depend on its own input and those before, never on a later one") {
    for_each_decoder([](const std::string& name, const Decoder& model, const Linear& bridge) {
      CAPTURE(name);
      const Setting s = setting_for(bridge, 8);
      Numbers numbers(9);
      const Var y_emb = leaf(Shape{3, 4, 3}, numbers);
      const Decoded d = decode_teacher(model, y_emb, model.start(s.h_first), model.remember(s.H, s.mask));
      backward(weighted(select(d.logits, Axis{1}, 1), 10));
      CHECK(largest(select(y_emb.grad(), Axis{1}, 0)) > 1e-6);
      CHECK(largest(select(y_emb.grad(), Axis{1}, 1)) > 1e-6);
      CHECK(all_zero(narrow(y_emb.grad(), Axis{1}, 2, 2)));
    });
  }

  TEST_CASE("U_a h_i is computed once per sequence, not once per step") {
    for (std::int64_t T_dec : {1, 4, 11}) {
      CAPTURE(T_dec);
      const BahdanauDecoder model = model_of<BahdanauDecoder>({});
      const Setting s = setting_for(model.bridge, 11);
      const Decoded d =
          decode_teacher(model, zeros(Shape{3, T_dec, 3}, f64), model.start(s.h_first), model.remember(s.H, s.mask));
      CHECK(products(d.states, 3 * 5) == 1);
    }
  }

  TEST_CASE("the concat score splits W_a, so that its half for h_i is computed once as well") {
    const LuongDecoder model = model_of<LuongDecoder>({.score = ScoreKind::concat});
    const Setting s = setting_for(model.bridge, 12);
    const Decoded d =
        decode_teacher(model, zeros(Shape{3, 4, 3}, f64), model.start(s.h_first), model.remember(s.H, s.mask));
    CHECK(products(d.states, 3 * 5) == 1);
  }

  TEST_CASE("the readout of all steps is one product") {
    for_each_decoder([](const std::string& name, const Decoder& model, const Linear& bridge) {
      CAPTURE(name);
      const Setting s = setting_for(bridge, 13);
      const Decoded d =
          decode_teacher(model, zeros(Shape{3, 7, 3}, f64), model.start(s.h_first), model.remember(s.H, s.mask));
      const bool maxout = name.find("maxout") != std::string::npos;
      CHECK(products(d.logits, 3 * 7) == (maxout ? 2 : 1));
    });
  }

  // ---- greedy

  TEST_CASE("greedy decoding agrees with teacher forcing on its own output: tokens and weights") {
    for_each_decoder([](const std::string& name, const Decoder& model, const Linear& bridge) {
      CAPTURE(name);
      const Setting s = setting_for(bridge, 14);
      const Embedding embedding = table();
      const Memory memory = model.remember(s.H, s.mask);
      const State s_0 = model.start(s.h_first);
      const Greedy greedy = decode_greedy(model, embedding, s_0, memory, 7, 8);
      REQUIRE(greedy.tokens.shape() == Shape{3, 8});
      Ids inputs(Shape{3, 8}, 7);  // the start token, then its own tokens, one place later
      for (std::int64_t b = 0; b < 3; ++b) {
        for (std::int64_t t = 1; t < 8; ++t) inputs.at(b, t) = greedy.tokens.at(b, t - 1);
      }
      const Decoded forced = decode_teacher(model, embedding(inputs), s_0, memory);
      CHECK(argmax(forced.logits.value(), Axis{2}) == greedy.tokens);
      if (forced.weights.defined()) CHECK(gap(Var(greedy.weights), forced.weights) <= exact);
      else CHECK(!greedy.weights.defined());
    });
  }

  TEST_CASE("greedy decoding uses its own tokens: another table gives other tokens after the first step") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    const Setting s = setting_for(model.bridge, 15);
    const Memory memory = model.remember(s.H, s.mask);
    const State s_0 = model.start(s.h_first);
    const Embedding one = table(2);
    const Greedy a = decode_greedy(model, one, s_0, memory, 7, 6);
    // Only the row of the start token is kept: the first step is the same, the next ones read other rows.
    Embedding other = clone(one, f64);
    for (std::int64_t row = 0; row < 9; ++row) {
      for (std::int64_t k = 0; k < 3 && row != 7; ++k) other.E.mutable_value().set({row, k}, -9);
    }
    const Greedy b = decode_greedy(model, other, s_0, memory, 7, 6);
    CHECK(column(a.tokens, 0) == column(b.tokens, 0));
    CHECK(!bitwise(narrow(Var(a.weights), Axis{1}, 2, 1), narrow(Var(b.weights), Axis{1}, 2, 1)));
  }

  TEST_CASE("the start token matters, and all tokens lie in the vocabulary") {
    const PlainDecoder model = model_of<PlainDecoder>({}, 3);
    const Setting s = setting_for(model.bridge, 16);
    std::set<std::vector<std::int32_t>> outputs;
    for (std::int32_t start = 0; start < 9; ++start) {
      const Greedy greedy = decode_greedy(model, table(), model.start(s.h_first), Memory{}, start, 5);
      for (std::int32_t token : greedy.tokens.values()) CHECK((token >= 0 && token < 9));
      outputs.insert(greedy.tokens.values());
    }
    CHECK(outputs.size() > 1);
  }

  TEST_CASE("rows are decoded each on their own: a batch is a loop") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    const Setting s = setting_for(model.bridge, 17);
    const Greedy all = decode_greedy(model, table(), model.start(s.h_first), model.remember(s.H, s.mask), 7, 6);
    const std::vector<std::int64_t> lengths{5, 3, 1};
    for (std::int64_t b = 0; b < 3; ++b) {
      const Var H = narrow(narrow(s.H, Axis{0}, b, 1), Axis{1}, 0, lengths[static_cast<std::size_t>(b)]);
      const Greedy alone = decode_greedy(model, table(), model.start(narrow(s.h_first, Axis{0}, b, 1)),
                                         model.remember(H, std::nullopt), 7, 6);
      for (std::int64_t t = 0; t < 6; ++t) CHECK(all.tokens.at(b, t) == alone.tokens.at(0, t));
    }
  }

  TEST_CASE("greedy decoding records nothing and leaves recording as it found it") {
    struct Watched : Decoder {  // a decoder that counts its recorded steps
      BahdanauDecoder inner = model_of<BahdanauDecoder>({});
      mutable int steps = 0, recorded = 0;
      Memory remember(const Var& H, const std::optional<Mask>& mask) const override { return inner.remember(H, mask); }
      State start(const Var& from_encoder) const override { return inner.start(from_encoder); }
      Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
        const Step result = inner.step(y_emb, s_prev, memory);
        ++steps;
        recorded += result.s_t.requires_grad();
        return result;
      }
      Var features(const Step& step, const Var& y_emb, const State& s_prev) const override {
        return inner.features(step, y_emb, s_prev);
      }
      Var logits(const Var& features) const override { return inner.logits(features); }
    } model;
    const Setting s = setting_for(model.inner.bridge, 18);
    decode_greedy(model, table(), model.start(s.h_first), model.remember(s.H, s.mask), 7, 6);
    CHECK(model.steps == 6);
    CHECK(model.recorded == 0);
    CHECK(model.start(s.h_first).requires_grad());
  }

  TEST_CASE("greedy decoding of length 0 gives no tokens") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    const Setting s = setting_for(model.bridge, 19);
    CHECK(decode_greedy(model, table(), model.start(s.h_first), model.remember(s.H, s.mask), 7, 0).tokens.shape() ==
          Shape{3, 0});
  }

  TEST_CASE("greedy decoding refuses a start token outside the vocabulary") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    const Setting s = setting_for(model.bridge, 20);
    for (std::int32_t start : {-1, 9}) {
      CHECK(contains(message_of<IndexError>([&] {
                       decode_greedy(model, table(), model.start(s.h_first), model.remember(s.H, s.mask), start, 3);
                     }),
                     std::to_string(start)));
    }
  }

  // ---- data

  TEST_CASE("labels shifted by one: a model that copies its input has a high loss, and a low one if they are not") {
    const Ids sentence(Shape{1, 4}, {0, 1, 2, 3});
    const Ids inputs(Shape{1, 3}, {0, 1, 2}), labels(Shape{1, 3}, {1, 2, 3});
    Tensor copied = zeros(Shape{1, 3, 4}, f64);
    for (std::int64_t t = 0; t < 3; ++t) copied.set({0, t, inputs.at(0, t)}, 5);
    CHECK(prints_as(cross_entropy(copied, labels).item(), 5.0200, 4));
    CHECK(prints_as(cross_entropy(copied, inputs).item(), 0.0200, 4));
  }

  TEST_CASE("padding in the target changes neither the loss nor any gradient") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    auto gradients = [&](std::int64_t T_dec, std::int32_t pad) {
      zero_grad(parameters(model));
      const Setting s = setting_for(model.bridge, 21);
      Ids inputs(Shape{3, T_dec}, pad), targets(Shape{3, T_dec}, pad);
      for (std::int64_t b = 0; b < 3; ++b) {
        for (std::int64_t t = 0; t < 2; ++t) {
          inputs.at(b, t) = static_cast<std::int32_t>(b + t);
          targets.at(b, t) = static_cast<std::int32_t>(b + t + 1);
        }
      }
      const Decoded d = decode_teacher(model, table()(inputs), model.start(s.h_first), model.remember(s.H, s.mask));
      const Var loss = cross_entropy(d.logits, targets, mask_from_lengths({2, 2, 2}, T_dec));
      std::vector<double> all{loss.item()};
      backward(loss);
      for (const Parameter& p : parameters(model)) {
        const auto g = vec(p.var.grad());
        all.insert(all.end(), g.begin(), g.end());
      }
      return all;
    };
    CHECK(gap(gradients(5, 8), gradients(2, 8)) <= exact);
    CHECK(gradients(5, 8) == gradients(5, 0));
  }

  // ---- refusals

  TEST_CASE("teacher forcing refuses embeddings that are not (B, T_dec, d_emb)") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    const Setting s = setting_for(model.bridge, 22);
    for (const Shape& shape : {Shape{3, 3}, Shape{3}, Shape{3, 4, 3, 1}}) {
      CAPTURE(to_string(shape));
      const std::string text = message_of<ShapeError>(
          [&] { decode_teacher(model, zeros(shape, f64), model.start(s.h_first), model.remember(s.H, s.mask)); });
      CHECK(opens_with(text, "shape error in teacher forcing: y_emb\n"));
      CHECK(contains(text, to_string(shape)));
      CHECK(contains(text, "(B, T_dec, d_emb)"));
    }
  }

  TEST_CASE("teacher forcing on an empty target is an error that speaks of the target") {
    const BahdanauDecoder model = model_of<BahdanauDecoder>({});
    const Setting s = setting_for(model.bridge, 23);
    const std::string text = message_of<ShapeError>([&] {
      decode_teacher(model, zeros(Shape{3, 0, 3}, f64), model.start(s.h_first), model.remember(s.H, s.mask));
    });
    CHECK(opens_with(text, "decode_teacher: "));
  }
}
