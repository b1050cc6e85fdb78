// What can be asked of a decoder that says nothing about itself but the paper that it claims: probes, the self check,
// the reference check, and a diagnosis.
#pragma once

#include "lessons/11_conventions/trainee.h"
#include "nn/conventions/diagnosis.h"

namespace gradus::lesson11 {

// A trained model in f64, with inputs for the checks: real sentences of lengths 6, 4 and 3, `steps` decoder steps. At
// padded positions, where a real encoder leaves zeros, other numbers stand: on zeros some mistakes of the mask look
// alike.
struct Subject {
  Model model;
  DecoderInputs inputs;
  DecoderUnderTest decoder() const { return under_test(model.decoder); }
};
Subject subject(const Trainee& trainee, std::uint64_t seed, std::int64_t steps, std::int64_t sentences);

// The pictures, and what they say against the claimed paper (Luong's with or without feeding, as the decoder has it).
struct Pictures {
  Probe influence, intervention, route, source, sums, padding, hull;
};
Pictures look_at(const Subject& subject, const Choices& choices);
// What the pictures say, in the terms of foretell: the same for a decoder whose theory is right.
Foretold read(const Pictures& pictures);

struct Exam {
  double accuracy = 0;
  Pictures pictures;
  GradientReport self;        // G1
  ReferenceReport reference;  // G2, against the claimed paper's decoder with this decoder's GRU and readout
  diagnosis::Verdict verdict;
  bool right = false;  // the verdict's codes and choices are those that the decoder was built with
  std::string named;   // what name_mistake of the exercise says, where it can be asked
};
Exam examine(const Trainee& trainee, std::uint64_t seed, std::int64_t sequences);

// Every hypothesis on the decoder's run, against the claim.
diagnosis::Verdict diagnose(const DecoderUnderTest& decoder, const DecoderInputs& inputs, Claim claim);
// Whether the exercise has a name for it: it claims to be Bahdanau's, and has none of the mistakes or one of those of
// exercise.h. And that name.
bool can_be_named(const Choices& choices);
std::string name_for(const Choices& choices);
// The codes of the mistakes that a verdict names, joined by " + "; "-" for none.
std::string codes_of(const diagnosis::Verdict& verdict);
bool is_right(const diagnosis::Verdict& verdict, const Choices& choices);

}  // namespace gradus::lesson11
