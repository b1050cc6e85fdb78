// Files that are whole or not there: written beside their place and renamed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace gradus {

// Replaces the file at once; keeps the permissions of the one that it replaces. Throws FileError with path and
// cause, and then the old file is untouched and nothing is left beside it.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// The whole file. Throws FileError with path and cause (a directory, too large for memory, not there).
std::string read_file(const std::filesystem::path& file);

// Makes the directory and those above it, and proves that a file can be written there; throws FileError with
// path and cause. To be called before an hour of training, not after it.
void make_writable_directory(const std::filesystem::path& directory);

// The commit that the checkout around `start` (or above it) is at, 40 hex digits; "unknown" outside of a checkout.
std::string git_revision(const std::filesystem::path& start);

// Where this program's file is; empty if the system does not tell.
std::filesystem::path executable_path();

}  // namespace gradus
