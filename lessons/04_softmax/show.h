// What came out of the training: losses, how often it is right, and whether its probabilities mean what they say.
#pragma once

#include <string>
#include <vector>

#include "lessons/04_softmax/classifier.h"
#include "lessons/common/metrics.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"
#include "nn/formats/json.h"

namespace gradus::lesson04 {

// Points that fall into one range of confidence (the largest probability), and the share of them that was right.
struct Bin {
  double low = 0, high = 0, confidence = 0, right = 0;
  std::int64_t count = 0;
};
struct Evaluation {
  double loss = 0, accuracy = 0, confidence = 0;
  double divergence = 0;      // mean over points of sum_k p log(p / q), with p by Bayes' rule and q of the model
  double miscalibration = 0;  // mean |confidence - right| over the bins
  std::vector<Bin> bins;
};
// log_q (N, 3) in f64.
Evaluation evaluate(const Tensor& log_q, const Points& points);
Json to_json(const Evaluation& result);
// log softmax(z / T), from log softmax(z).
Tensor cooled(const Tensor& log_q, double T);

struct Named {
  Words name;
  Evaluation result;
};
// One sentence: whose probabilities can be believed.
std::string verdict(const Evaluation& once, const Evaluation& twice, Lang lang);
std::string results_table(const std::vector<Named>& rows, const Terminal& terminal, Lang lang);
std::string calibration_table(const Evaluation& once, const Evaluation& twice, const Terminal& terminal, Lang lang);
// The same model with its logits divided by T: the order of the classes stays.
std::string temperature_table(const Tensor& log_q, const Points& points, const Terminal& terminal, Lang lang);
// W and b of the model beside those of Bayes' rule, both with the mean over the classes taken off.
std::string weights_table(const Classifier& model, const Terminal& terminal, Lang lang);
// z and p for one point, and p by Bayes' rule.
std::string answer_table(const Classifier& model, double x_1, double x_2, const Terminal& terminal, Lang lang);

LineChart loss_chart(const std::vector<double>& once, const std::vector<double>& twice, double best, Lang lang);
Heatmap confidence_map(const Classifier& model, Lang lang);

// Targets of what is by hand; the largest difference of the gradient by hand from the tape's is measured elsewhere.
void report_by_hand(double hand_against_tape, Metrics& metrics);
// Targets of the training and what is compared over seeds: the results of Bayes' rule, softmax once, softmax twice; how
// far the loss with two softmaxes ended above its floor.
void report_trained(const std::vector<Named>& results, double above_floor, Metrics& metrics);

// With 3 classes no loss of softmax(softmax(z)) gets below this: at best the inner softmax says (1, 0, 0).
double floor_of_two();

}  // namespace gradus::lesson04
