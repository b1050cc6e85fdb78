// What `diagnose --help` says beyond its options: the names that a trace may use, from the tables that read it.
#pragma once

#include <string>

#include "lessons/common/options.h"

namespace gradus {

// Arrays with shapes and other spellings, gradients, meta.json, claims, and how to dump from PyTorch, TensorFlow/Keras
// and NumPy. At most 80 columns wide.
std::string diagnose_help(Lang lang);

}  // namespace gradus
