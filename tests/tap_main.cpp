// The main function of every test binary, with a reporter that speaks TAP so that `meson test` counts cases, not
// binaries. Compiled once and linked into all of them, since doctest's implementation is the slow part.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <iostream>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

namespace {

// Prints `ok N - suite: name` or `not ok N - suite: name` for each test case. What failed goes to stderr, since
// `meson test --print-errorlogs` shows nothing else of a test that speaks TAP.
class TapReporter final : public doctest::IReporter {
 public:
  explicit TapReporter(const doctest::ContextOptions& options) : out_(*options.cout) {}

  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i) out_ << full_name(*query.data[i]) << '\n';
  }
  void test_run_start() override {}
  // A plan at the end: when a crash or an early exit keeps it from being printed, the reader of the log knows.
  void test_run_end(const doctest::TestRunStats&) override { out_ << "1.." << count_ << std::endl; }

  void test_case_start(const doctest::TestCaseData& test_case) override {
    name_ = full_name(test_case);
    failures_.str({});
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (stats.failure_flags & doctest::TestCaseFailureReason::Timeout) comment("took longer than its time limit");
    if (stats.failure_flags & doctest::TestCaseFailureReason::ShouldHaveFailedButDidnt) comment("should have failed");
    print(stats.testCaseSuccess);
  }
  void test_case_skipped(const doctest::TestCaseData& test_case) override {
    if (!test_case.m_skip) return;  // left out by a filter, so not part of this run
    out_ << "ok " << ++count_ << " - " << full_name(test_case) << " # SKIP" << std::endl;
  }

  void test_case_exception(const doctest::TestCaseException& exception) override {
    const std::lock_guard lock(mutex_);
    comment(exception.is_crash ? "crashed: " : "threw: ", exception.error_string.c_str());
    const doctest::String* contexts = get_stringified_contexts();
    for (int i = get_num_stringified_contexts(); i-- > 0;) comment("  with ", contexts[i].c_str());
  }
  void subcase_start(const doctest::SubcaseSignature& subcase) override { comment("in ", subcase.m_name.c_str()); }
  void subcase_end() override {}

  // doctest calls these two from whichever thread made the check.
  void log_assert(const doctest::AssertData& check) override {
    if (!check.m_failed) return;
    const std::lock_guard lock(mutex_);
    comment(place(check.m_file, check.m_line), doctest::assertString(check.m_at), "( ", check.m_expr, " )");
    if (check.m_threw) {
      comment("  threw: ", check.m_exception.c_str());
    } else if (check.m_at & doctest::assertType::is_normal) {
      comment("  values: ", check.m_decomp.c_str());
    } else {
      comment("  did not throw");
    }
    if (check.m_at & doctest::assertType::is_throws_as) comment("  wanted: ", check.m_exception_type);
    if (check.m_at & doctest::assertType::is_throws_with) {
      comment("  wanted: ", static_cast<const doctest::String&>(check.m_exception_string).c_str());
    }
    comment_contexts();
  }
  void log_message(const doctest::MessageData& message) override {
    const std::lock_guard lock(mutex_);
    comment(place(message.m_file, message.m_line), message.m_string.c_str());
    comment_contexts();
  }

 private:
  static std::string full_name(const doctest::TestCaseData& test_case) {
    std::string name = test_case.m_test_suite;
    if (!name.empty()) name += ": ";
    name += test_case.m_name;
    for (char& c : name) {
      if (c == '#' || c == '\n') c = ' ';  // both would end the name for a reader of TAP
    }
    return name;
  }

  static std::string place(const char* file, int line) { return std::string(file) + ":" + std::to_string(line) + ": "; }

  void comment_contexts() {
    const doctest::IContextScope* const* contexts = get_active_contexts();
    for (int i = 0; i < get_num_active_contexts(); ++i) {
      std::ostringstream text;
      contexts[i]->stringify(&text);
      comment("  with ", text.str());
    }
  }

  template <typename... Parts> void comment(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    std::istringstream lines(text.str());
    for (std::string line; std::getline(lines, line);) failures_ << "  " << line << '\n';
  }

  void print(bool success) {
    out_ << (success ? "ok " : "not ok ") << ++count_ << " - " << name_ << std::endl;
    if (!success) std::cerr << "FAILED " << name_ << '\n' << failures_.str() << std::flush;
  }

  std::ostream& out_;
  std::ostringstream failures_;
  std::string name_;
  std::mutex mutex_;
  int count_ = 0;
};

}  // namespace

REGISTER_REPORTER("tap", 1, TapReporter);
