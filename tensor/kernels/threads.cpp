// The threads that wait for parts.
//
// A caller publishes its work and takes parts from the first one on; helpers that see it enter, take parts from the last
// one back, and leave. So a part falls to the same core time after time, more or less, and finds its numbers in that
// core's cache: columns of a weight and of its gradient. The caller never waits for a helper to come: when all parts are
// taken it closes the work, and waits only until those inside have left. A helper looks for new work for a moment,
// because the next product of a step follows within microseconds, and then sleeps.
//
// Where other programs keep the cores busy, help costs more than it brings: a helper that loses its core in the middle of
// a part makes the caller wait for milliseconds, and one that finds no core but the caller's takes that away. Then the
// caller works alone for a while, the helpers asleep: thirty times what was lost, and twice as long each time that it
// happens again soon. So a busy machine costs a hundredth, and one that is free again is used within a second.
#include "tensor/kernels/threads.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

#include "tensor/error.h"

namespace gradus {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr microseconds looks_for_work{100}, normal_wait{20}, time_to_come{1'000};
constexpr microseconds alone_at_least{5'000}, alone_at_most{1'000'000};
constexpr int alone_after_loss = 30;
// Once there is a second thread, counting references takes locked instructions: small models stay without.
constexpr std::int64_t parts_worth_a_thread = 8;

// Where this thread runs; -1 where nobody tells.
int core() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

class Helpers {
 public:
  ~Helpers() {
    stop_ = true;
    ++calls_;
    calls_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }

  // False: somebody else's parts are being computed, or the time to work alone is not over.
  bool run(int count, std::int64_t n, std::int64_t length, detail::Part part, void* work) {
    const Clock::time_point start = Clock::now();
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    const Release release{busy_};
    if (start < alone_until_) return false;
    if (helpers_.empty() && n / length < parts_worth_a_thread) return false;
    if (!call_up(count)) return false;
    n_ = n, length_ = length, part_ = part, work_ = work, helpers_wanted_ = count;
    parts_ = (n + length - 1) / length;
    failed_at_ = n;
    failure_ = nullptr;
    core_ = core();
    met_ = false;
    taken_.store(0, std::memory_order_relaxed);
    from_the_end_.store(0, std::memory_order_relaxed);
    open_ = true;
    ++calls_;
    calls_.notify_all();  // a call to the system only where somebody sleeps
    std::int64_t from_the_start = 0;
    take_parts([&] { return from_the_start++; });
    const Clock::time_point done = Clock::now();
    open_ = false;
    Clock::duration lost{};
    while (inside_ > 0) {
      lost = Clock::now() - done;
      if (lost > normal_wait) std::this_thread::yield();  // perhaps it waits for this very core
      else pause();
    }
    lost -= std::max<Clock::duration>(normal_wait, done - start);  // up to there, alone would have been no quicker
    unhelped_ = from_the_end_ == 0 ? unhelped_ + (done - start) : Clock::duration{};
    const bool nobody_comes = from_the_end_ == 0 && (met_ || unhelped_ > time_to_come);
    if (lost > Clock::duration::zero() || nobody_comes) work_alone(Clock::now(), lost);
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  struct Release {
    std::atomic_flag& flag;
    ~Release() { flag.clear(std::memory_order_release); }
  };

  bool at_callers_core() const {
    const int here = core();
    return here >= 0 && here == core_;
  }

  void work_alone(Clock::time_point now, Clock::duration lost) {
    if (now - alone_until_ > alone_) alone_ = {};  // since then it went well for as long
    const Clock::duration longer = std::min<Clock::duration>(2 * alone_, alone_at_most);
    alone_ = std::max<Clock::duration>({longer, alone_after_loss * lost, alone_at_least});
    alone_until_ = now + alone_;
    unhelped_ = {};
  }

  // So many helpers exist, or none can be had.
  bool call_up(int count) {
    try {
      while (static_cast<int>(helpers_.size()) < count)
        helpers_.emplace_back([this, number = static_cast<int>(helpers_.size())] { help(number); });
    } catch (const std::system_error&) {}
    return !helpers_.empty();
  }

  template <class Next> void take_parts(Next next) {
    while (taken_.fetch_add(1, std::memory_order_relaxed) < parts_) {
      const std::int64_t first = next() * length_;
      try {
        part_(work_, first, std::min(n_, first + length_));
      } catch (...) {
        const std::lock_guard lock(failing_);
        if (first < failed_at_) failure_ = std::current_exception();
        failed_at_ = std::min(failed_at_, first);
      }
    }
  }

  void help(int number) {
    int seen = 0;
    while (!stop_) {
      const Clock::time_point since = Clock::now();
      while (calls_ == seen && !at_callers_core() && Clock::now() - since < looks_for_work) {
        for (int i = 0; i < 32 && calls_ == seen; ++i) pause();
      }
      calls_.wait(seen);
      seen = calls_;
      // Entering is announced first and then looked whether there still is work: the caller closes it first and then
      // looks whether somebody is inside. One of the two sees the other.
      ++inside_;
      if (open_ && number < helpers_wanted_) {
        if (at_callers_core()) met_ = true;
        else take_parts([&] { return parts_ - 1 - from_the_end_.fetch_add(1, std::memory_order_relaxed); });
      }
      --inside_;
    }
  }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::mutex failing_;
  std::vector<std::thread> helpers_;
  Clock::time_point alone_until_{};
  Clock::duration alone_{}, unhelped_{};  // for how long, last time; how much work was shared since anybody came
  // The work: written while nobody is inside, read by those inside.
  std::int64_t n_ = 0, length_ = 1, parts_ = 0, failed_at_ = 0;
  detail::Part part_ = nullptr;
  void* work_ = nullptr;
  int helpers_wanted_ = 0;
  std::exception_ptr failure_;
  alignas(64) std::atomic<std::int64_t> taken_{0}, from_the_end_{0};
  alignas(64) std::atomic<int> calls_{0};
  alignas(64) std::atomic<int> inside_{0};
  std::atomic<int> core_{-1};  // the caller's
  std::atomic<bool> open_{false}, stop_{false};
  std::atomic<bool> met_{false};  // a helper found itself on the caller's core
};

}  // namespace

void use_threads(int count) {
  if (count < 1) throw ValueError("use_threads: " + std::to_string(count) + " threads; at least one is needed");
  detail::thread_limit = count;
}

namespace detail {

// For tests, which declare it themselves: parts run in this thread from the last to the first, so that what depends on
// another part shows every time, and not when two threads happen to meet.
thread_local bool parts_backwards = false;

}  // namespace detail

void detail::run_parts(std::int64_t n, std::int64_t length, Part part, void* work) {
  if (parts_backwards) {
    for (std::int64_t i = (n - 1) / length; i >= 0; --i) part(work, i * length, std::min(n, (i + 1) * length));
    return;
  }
  static Helpers helpers;
  if (!helpers.run(thread_limit - 1, n, length, part, work)) part(work, 0, n);
}

}  // namespace gradus
