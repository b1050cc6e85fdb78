// The errors that a user of Gradus can meet. Each text says what was tried, what was found and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace gradus {

// Base of all of them: catch this one to show `what()` to a learner.
struct Error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
struct ShapeError : Error {  // shapes, ranks or axes that do not fit
  using Error::Error;
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
