// What lesson 11 shows: twelve small pictures side by side, a verdict under each letter, and the table of the checks.
#pragma once

#include "lessons/11_conventions/exam.h"
#include "lessons/common/metrics.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson11 {

// A matrix as a few lines without a title: a dot is exactly zero, everything else is the darker the larger it is.
std::vector<std::string> small_picture(const Matrix& matrix, const Terminal& terminal);
// Blocks of lines next to each other, as many as fit, then the next row of blocks.
std::string side_by_side(const std::vector<std::vector<std::string>>& blocks, const Terminal& terminal);

// The influence matrices of all decoders, A to L, in the terminal and as one SVG file.
std::string influences(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                       Lang lang);
std::string influences_svg(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, Lang lang);

// Letter, claim, verdict and sentence, how it was built, right or not.
std::string verdicts(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                     Lang lang);
// What the three checks say of each, and how well it learned its task.
std::string checks(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                   Lang lang);

// What name_mistake of the exercise, the library's or the learner's, says of those for which it has a name.
std::string names(const std::vector<Trainee>& trainees, const std::vector<Exam>& exams, const Terminal& terminal,
                  Lang lang);

// One decoder in full: its pictures with numbers, all three checks, and the whole verdict.
std::string in_detail(char letter, const Trainee& trainee, const Exam& exam, const Terminal& terminal, Lang lang);

// cpu_seconds: 0 for a run that is not the default one.
void add_targets(Metrics& metrics, const std::vector<Trainee>& trainees, const std::vector<Exam>& exams,
                 double cpu_seconds);

}  // namespace gradus::lesson11
