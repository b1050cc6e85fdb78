// The errors that a user of Gradus can meet. Each text says what was tried, what was found and what to do.
#pragma once

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

namespace gradus {

// Base of all of them. What knows no tensor (plots and tables of lessons/common/, JSON, references and diagnosis in
// nn/conventions/) throws a plain std::invalid_argument; that is the base of Error, so catching it catches both.
// To show an error to a learner: what(), or explain(error, lang) of tensor/doctor/doctor.h, which adds the line of the
// learner's code.
struct Error : std::invalid_argument {
  explicit Error(const std::string& text);
  std::array<void*, 32> calls{};  // return addresses from where it was made outwards; null where there are no more
};
struct ShapeReport;
struct ShapeError : Error {  // shapes, ranks or axes that do not fit
  using Error::Error;
  explicit ShapeError(const ShapeReport& found);  // what() is the report in English
  std::shared_ptr<const ShapeReport> report;      // where the shape doctor was asked: tensor/doctor/doctor.h
};
struct DTypeError : Error {  // f32 met f64: nothing is promoted silently
  using Error::Error;
};
struct IndexError : Error {  // a position or token id outside its range
  using Error::Error;
};
struct ValueError : Error {  // a number that the operation cannot work with
  using Error::Error;
};
struct GraphError : Error {  // backward asked of a graph that cannot give it
  using Error::Error;
};
struct FileError : Error {  // a file that is missing, damaged or cannot be written
  using Error::Error;
};

}  // namespace gradus
