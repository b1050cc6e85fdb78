// Files as the system sees them: what is no regular file, limits, permissions, links, and a kill at every system call.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "nn/formats/npy.h"
#include "nn/formats/safetensors.h"
#include "tests/tensor/check.h"
#include "tests/tensor/child.h"

using namespace gradus;
using namespace gradus::testing;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "gradus-files-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TensorFile filled(double value, std::int64_t size = 1000) {
  TensorFile file;
  file.tensors = {{"a", full(Shape{size}, value, f32)}, {"b", full(Shape{size}, value, f64)}};
  file.metadata["value"] = std::to_string(value);
  return file;
}

std::string read_refusal(const fs::path& path) {
  return message_of<FileError>([&] { read_safetensors(path); });
}
std::string write_refusal(const fs::path& path, const TensorFile& file) {
  return message_of<FileError>([&] { write_safetensors(path, file); });
}

// Does `work` in a child that stops at every entry to and exit from a system call. Throws std::runtime_error where this
// machine does not allow it.
class Stepped {
 public:
  explicit Stepped(const std::function<void()>& work) : child_(fork()) {
    if (child_ == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(42);
      std::raise(SIGSTOP);
      try {
        work();
      } catch (...) { _exit(1); }
      _exit(0);
    }
    wait();
    if (!WIFSTOPPED(status_)) throw std::runtime_error("ptrace is not allowed here");
  }
  ~Stepped() { kill(); }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  // On to the next stop; false when the work was done before, which must have gone well.
  bool next() {
    if (::ptrace(PTRACE_SYSCALL, child_, nullptr, nullptr) != 0) throw std::runtime_error("ptrace failed");
    wait();
    if (WIFSTOPPED(status_)) return true;
    CHECK(status_ == 0);
    child_ = -1;
    return false;
  }
  bool skip(int stops) {
    for (int i = 0; i < stops; ++i) {
      if (!next()) return false;
    }
    return true;
  }
  void kill() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    wait();
    child_ = -1;
  }

 private:
  void wait() {
    if (child_ < 0 || ::waitpid(child_, &status_, 0) != child_) throw std::runtime_error("no child");
  }
  pid_t child_;
  int status_ = 0;
};

}  // namespace

TEST_SUITE("files") {
  TEST_CASE("what is written is read, in both formats") {
    const Folder folder;
    write_safetensors(folder / "x.safetensors", filled(2.5));
    CHECK(to_safetensors(read_safetensors(folder / "x.safetensors")) == to_safetensors(filled(2.5)));
    const Tensor x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64);
    write_npy(folder / "x.npy", transpose(x));
    CHECK(read_npy(folder / "x.npy").to_vector() == std::vector<double>{1, 4, 2, 5, 3, 6});
    CHECK(content(folder / "x.npy") == to_npy(transpose(x)));
    CHECK(folder.entries() == 2);
  }

  TEST_CASE("a path without a folder, and one in Chinese") {
    const Folder folder;
    CHECK(in_child([&] {
            fs::current_path(folder.path());
            write_safetensors("bare.safetensors", filled(1));
            return read_safetensors("bare.safetensors").tensors.size() == 2;
          }) == 0);
    const fs::path path = folder / "\xE6\xB3\xA8\xE6\x84\x8F.safetensors";
    write_safetensors(path, filled(1));
    CHECK(read_safetensors(path).tensors.size() == 2);
  }

  TEST_CASE("what cannot be read is refused at once, with path and cause") {
    const Folder folder;
    fs::create_directory(folder / "directory");
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    fs::create_symlink("loop", folder / "loop");
    put(folder / "empty", "");
    put(folder / "file", "x");
    const struct {
      fs::path path;
      const char* says;
    } rows[] = {
        {folder / "absent", "No such file or directory"},
        {folder / "directory", "Is a directory"},
        {folder / "fifo", "it is no regular file"},
        {folder / "loop", "Too many levels of symbolic links"},
        {folder / "file/below", "Not a directory"},
        {folder / "empty", "it has 0 bytes"},
        {folder / std::string(300, 'n'), "File name too long"},
        {"/dev/zero", "it is no regular file"},
        {"", "No such file or directory"},
    };
    for (const auto& row : rows) {
      CAPTURE(row.path);
      const auto start = std::chrono::steady_clock::now();
      const std::string text = read_refusal(row.path);
      CAPTURE(text);
      CHECK(opens_with(text, "cannot read " + row.path.string()));
      CHECK(contains(text, row.says));
      CHECK(opens_with(message_of<FileError>([&] { read_npy(row.path); }), "cannot read " + row.path.string()));
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200));
    }
  }

  TEST_CASE("a damaged file: the text says which, why, and what to do") {
    const Folder folder;
    put(folder / "cut.safetensors", to_safetensors(filled(1)).substr(0, 500));
    CHECK(
        read_refusal(folder / "cut.safetensors") ==
        "cannot read " + (folder / "cut.safetensors").string() +
            ": it was cut off: its tensors need 12000 bytes of data, 332 are there. The file is damaged or of another "
            "kind: make it again, or name another one");
  }

  TEST_CASE("a header that asks for terabytes costs nothing, even in a file that seems that long") {
    const Folder folder;
    const fs::path path = folder / "sparse";
    put(path, std::string("\0\0\0\0\0\0\0\1", 8));
    fs::resize_file(path, std::uint64_t{1} << 40);
    CHECK(contains(read_refusal(path), "the limit is 16777216"));
    const std::string header = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
    put(path, std::string("5\0\0\0\0\0\0\0", 8) + header);
    fs::resize_file(path, std::uint64_t{1} << 40);
    CHECK(contains(read_refusal(path), "bytes follow the last tensor"));
  }

  TEST_CASE("what cannot be written is refused with path and cause, and nothing is left") {
    const Folder folder;
    fs::create_directory(folder / "directory");
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    fs::create_symlink("loop", folder / "loop");
    fs::create_directories(folder / "taken.tmp");
    const std::size_t before = folder.entries();
    const struct {
      fs::path path;
      const char* says;
    } rows[] = {
        {folder / "directory", "Is a directory"},
        {folder / "fifo", "it is no regular file"},
        {folder / "loop", "Too many levels of symbolic links"},
        {folder / "absent/x", "No such file or directory"},
        {folder / "taken", "Is a directory"},
        {folder / std::string(254, 'n'), "File name too long"},
        {"/dev/full", "it is no regular file"},
        {"", "No such file or directory"},
    };
    for (const auto& row : rows) {
      CAPTURE(row.path);
      const std::string text = write_refusal(row.path, filled(1));
      CAPTURE(text);
      CHECK(opens_with(text, "cannot write " + row.path.string()));
      CHECK(contains(text, row.says));
    }
    CHECK(folder.entries() == before);
  }

  TEST_CASE("a file size limit is an error, not the end of the program; the old file stays") {
    const Folder folder;
    const fs::path path = folder / "x";
    write_safetensors(path, filled(1, 10));
    const std::string old = content(path);
    CHECK(in_child([&] {
            const rlimit small{4096, 4096};
            setrlimit(RLIMIT_FSIZE, &small);
            for (int twice = 0; twice < 2; ++twice) {
              const std::string text = write_refusal(path, filled(2, 10000));
              if (text != "cannot write " + path.string() + ": File too large") return false;
            }
            sigset_t blocked;
            pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
            return sigismember(&blocked, SIGXFSZ) == 0;
          }) == 0);
    CHECK(content(path) == old);
    CHECK(folder.entries() == 1);
    // Outside of the writer the signal still ends a program that asked for nothing else.
    CHECK(in_child([&] {
            const rlimit small{10, 10};
            setrlimit(RLIMIT_FSIZE, &small);
            try {
              write_safetensors(path, filled(2));
            } catch (const FileError&) {}
            const int file = ::creat((folder / "y").c_str(), 0600);
            return ::write(file, "0123456789abc", 10) == 10 && ::write(file, "x", 1) == 1;
          }) == 128 + SIGXFSZ);
  }

  TEST_CASE("a directory that may not be written") {
    const Folder folder;
    write_safetensors(folder / "x", filled(1));
    const std::string old = content(folder / "x");
    fs::permissions(folder.path(), fs::perms(0555));
    CHECK(in_child([&] {
            if (::getuid() == 0 && ::setuid(65534) != 0) return false;  // root may write everywhere
            return write_refusal(folder / "x", filled(2)) ==
                       "cannot write " + (folder / "x").string() + ": Permission denied" &&
                   write_refusal(folder / "y", filled(2)) ==
                       "cannot write " + (folder / "y").string() + ": Permission denied";
          }) == 0);
    CHECK(content(folder / "x") == old);
    CHECK(folder.entries() == 1);
  }

  TEST_CASE("an old file keeps its permissions, a new one gets the usual ones, a link stays a link") {
    const Folder folder;
    const auto mode = [](const fs::path& path) { return static_cast<int>(fs::status(path).permissions()); };
    for (int permissions : {0644, 0600, 0664, 0444}) {
      CAPTURE(permissions);
      const fs::path path = folder / std::to_string(permissions);
      write_safetensors(path, filled(1));
      fs::permissions(path, fs::perms(permissions));
      write_safetensors(path, filled(2));
      CHECK(mode(path) == permissions);
      CHECK(read_safetensors(path).metadata.at("value") == "2.000000");
    }
    const mode_t before = ::umask(027);
    write_safetensors(folder / "new", filled(1));
    ::umask(before);
    CHECK(mode(folder / "new") == 0640);

    fs::create_symlink("new", folder / "link");
    write_safetensors(folder / "link", filled(3));
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(read_safetensors(folder / "new").metadata.at("value") == "3.000000");
  }

  TEST_CASE("a file left beside by a killed program is used again; one that is being written is not touched") {
    const Folder folder;
    put(folder / "x.tmp", std::string(1000000, 'x'));
    write_safetensors(folder / "x", filled(1));
    CHECK(content(folder / "x") == to_safetensors(filled(1)));
    CHECK(folder.entries() == 1);

    put(folder / "aim", "precious");
    fs::create_symlink("aim", folder / "x.tmp");
    CHECK(opens_with(write_refusal(folder / "x", filled(2)), "cannot write " + (folder / "x").string()));
    CHECK(content(folder / "aim") == "precious");
  }

  TEST_CASE("several programs that write one file at once: it is always whole") {
    const Folder folder;
    const fs::path path = folder / "x";
    write_safetensors(path, filled(9));
    pid_t children[3];
    for (int i = 0; i < 3; ++i) {
      children[i] = fork();
      if (children[i] == 0) {
        bool good = true;
        for (int round = 0; round < 40; ++round) {
          try {
            write_safetensors(path, filled(i));
          } catch (const FileError& error) {
            good = good && contains(error.what(), "another program is writing it");
          } catch (...) { good = false; }
        }
        _exit(good ? 0 : 1);
      }
    }
    for (int round = 0; round < 40; ++round) {
      const std::string bytes = to_safetensors(read_safetensors(path));
      CHECK((bytes == to_safetensors(filled(0)) || bytes == to_safetensors(filled(1)) ||
             bytes == to_safetensors(filled(2)) || bytes == to_safetensors(filled(9))));
    }
    for (pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      CHECK(status == 0);
    }
    CHECK(folder.entries() == 1);
  }

  TEST_CASE("killed at every system call of a save: the old file or the new one, never a mixture") {
    const Folder folder;
    const fs::path path = folder / "x";
    write_safetensors(path, filled(1));
    const std::string old_bytes = content(path), new_bytes = to_safetensors(filled(2));
    int stops = 0, old_seen = 0;
    try {
      while (true) {
        Stepped child([&] { write_safetensors(path, filled(2)); });
        if (!child.skip(++stops)) break;
        child.kill();
        CAPTURE(stops);
        const std::string found = content(path);
        CHECK((found == old_bytes || found == new_bytes));
        old_seen += found == old_bytes;
        CHECK(folder.entries() <= 2);  // the file itself and the one beside
        write_safetensors(path, filled(1));
        CHECK(folder.entries() == 1);
        REQUIRE(stops < 500);
      }
    } catch (const std::runtime_error& error) {
      MESSAGE("not tried: " << error.what());
      return;
    }
    CHECK(stops > 20);
    CHECK(old_seen >= 10);
    CHECK(stops - 1 - old_seen >= 3);
  }

  TEST_CASE("another program saves between any two system calls of a save: the file is whole all the time") {
    const Folder folder;
    const fs::path path = folder / "x";
    const std::string files[] = {to_safetensors(filled(1)), to_safetensors(filled(2)), to_safetensors(filled(3))};
    int stops = 0, refused = 0;
    try {
      while (true) {
        // Every other time that program starts once more and is killed, so that a new file lies beside.
        const bool leaves_another = ++stops % 2 == 0;
        write_safetensors(path, filled(1));
        Stepped child([&] { write_safetensors(path, filled(2)); });
        if (!child.skip(stops / 2 + 1)) break;
        CAPTURE(stops);
        try {
          write_safetensors(path, filled(3));
          if (leaves_another) put(folder / "x.tmp", "left");
        } catch (const FileError& error) {
          CHECK(contains(error.what(), "another program is writing it at this moment"));
          ++refused;
        }
        do {
          const std::string found = content(path);
          CHECK((found == files[0] || found == files[1] || found == files[2]));
        } while (child.next());
        CHECK(content(path) != files[0]);
        CHECK((folder.entries() == 1 || leaves_another));
        REQUIRE(stops < 500);
      }
    } catch (const std::runtime_error& error) {
      MESSAGE("not tried: " << error.what());
      return;
    }
    CHECK(refused >= 10);
    CHECK(stops - 1 - refused >= 10);
  }

  TEST_CASE("killed at 50 random times") {
    const Folder folder;
    const fs::path path = folder / "x";
    write_safetensors(path, filled(0, 20000));
    Numbers numbers(7);
    for (int trial = 0; trial < 50; ++trial) {
      const pid_t child = fork();
      if (child == 0) {
        try {
          for (int i = 0;; ++i) write_safetensors(path, filled(i, 20000));
        } catch (...) { _exit(1); }
      }
      ::usleep(static_cast<useconds_t>(numbers.below(4000)));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      CHECK(WIFSIGNALED(status));
      const TensorFile file = read_safetensors(path);
      const double value = file.tensors[0].second.at({0});
      CHECK(file.metadata.at("value") == std::to_string(value));
      CHECK(to_safetensors(file) == to_safetensors(filled(value, 20000)));
    }
    write_safetensors(path, filled(0));
    CHECK(folder.entries() == 1);
  }
}
