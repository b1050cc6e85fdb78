// A fence around somebody else's program: no network, no files but those that it needs, nothing that outlives it.
// As far as the system allows: Linux namespaces, Landlock and seccomp, which need no privilege. Elsewhere only the limits of
// process.h remain.
#pragma once

#include <filesystem>
#include <vector>

namespace gradus {

// Directories and files that may be read; nothing may be written.
struct Sandbox {
  std::vector<std::filesystem::path> readable;
};

// What this system can do.
struct Fences {
  bool network = false;  // no network, and no process outlives the program
  bool files = false;    // only Sandbox::readable, and nothing of other files is changed
};
Fences fences_here();

// To be called between fork and exec. Goes on in a new process whose parent, the caller, waits for it and leaves as it
// did (128 + signal when a signal ended it).
void enter(const Sandbox& sandbox);

}  // namespace gradus
