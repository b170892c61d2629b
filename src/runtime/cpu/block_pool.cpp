#include "runtime/cpu/block_pool.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <utility>

#include "base/require.h"
#include "base/say.h"
#include "base/start_threads.h"
#include "runtime/cpu/futex.h"
#include "runtime/cpu/open_mp.h"

namespace tokamak {

namespace {

// Of one call on the caller's threads, which raise nothing.
struct Parts {
  static constexpr int64_t kMost = 2048;

  const void* function;
  void (*run_range)(const void* function, int64_t begin, int64_t end);
  int64_t blocks;
  int64_t count;
  std::atomic<int64_t> ended = 0;
  std::array<std::atomic<uint64_t>, kMost / 64> begun = {};  // a bit for each part
  std::atomic<bool> has_failed = false;
  SpinLock failure_lock;
  std::exception_ptr failure;

  void run(int64_t part) {
    try {
      TK_REQUIRE(0 <= part && part < count, Usage, "parallel-for of the caller: part {} was asked for; there are {}",
                 part, count);
      const uint64_t bit = uint64_t{1} << static_cast<uint64_t>(part % 64);
      const uint64_t before = begun[static_cast<size_t>(part / 64)].fetch_or(bit, std::memory_order_relaxed);
      TK_REQUIRE((before & bit) == 0, Usage,
                 "parallel-for of the caller: part {} was asked for twice; it has to call each of {} bodies once", part,
                 count);
      if (!has_failed.load(std::memory_order_relaxed))
        run_range(function, blocks * part / count, blocks * (part + 1) / count);
    } catch (...) {
      const std::lock_guard lock(failure_lock);
      if (failure == nullptr) failure = std::current_exception();
      has_failed.store(true, std::memory_order_relaxed);
    }
    ended.fetch_add(1, std::memory_order_acq_rel);
  }
};

}  // namespace

BlockPool::BlockPool(int64_t threads, std::shared_ptr<ParallelFor> callers)
    : threads_(threads), callers_(std::move(callers)) {
  TK_REQUIRE(threads >= 1 && threads <= kMostThreads, Usage, "block pool: {} threads were asked for; legal are 1 to {}",
             threads, kMostThreads);
}

BlockPool::~BlockPool() {
  if (!home_.isHere()) {
    for (std::thread& worker : workers_) abandonThread(worker);
    return;
  }
  stop_.store(true);
  posts_.fetch_add(1);
  futexWake(&posts_, INT_MAX);
  for (std::thread& worker : workers_) worker.join();
}

void BlockPool::start() {
  const std::string why =
      startThreads(workers_, threads_ - 1, [this](int64_t number) { help(static_cast<size_t>(number)); });
  if (!why.empty()) {
    say("{} of {} threads run blocks: no further one can be started: {}", workers_.size() + 1, threads_, why);
  }
}

void BlockPool::run(int64_t blocks, const void* function, RangeFunction run_range) {
  if (blocks <= 1 || threads_ == 1) return run_range(function, 0, blocks);
  if (callers_ != nullptr) return runOnCallers(blocks, function, run_range);
  Job job;
  job.function = function;
  job.run_range = run_range;
  const OpenMp* const runtime = OnOpenMp::current();
  if (runtime != nullptr) {
    const int64_t threads = std::min({threads_, runtime->threads(), blocks});
    share(blocks, threads, job);
    runOnOpenMp(*runtime, threads, job);
  } else {
    share(blocks, threads_, job);
    runOnOwn(job);
  }
  if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

void BlockPool::share(int64_t blocks, int64_t threads, Job& job) {
  job.grain = std::max<int64_t>(1, blocks / (threads * 8));  // small for balance, large for low overhead
  const int64_t shares = std::min({threads, blocks, static_cast<int64_t>(kMaxShares)});
  job.shares = std::span(job.share_memory).first(static_cast<size_t>(shares));
  for (int64_t i = 0; i < shares; ++i) {
    job.shares[static_cast<size_t>(i)] = {.next = blocks * i / shares, .end = blocks * (i + 1) / shares};
  }
}

void BlockPool::runOnOpenMp(const OpenMp& runtime, int64_t threads, Job& job) {
  if (threads == 1) return takePart(job, 0);
  runtime.run(
      threads,
      [](void* context, int64_t thread) { takePart(*static_cast<Job*>(context), static_cast<size_t>(thread)); }, &job);
}

void BlockPool::runOnOwn(Job& job) {
  std::call_once(started_, [this] { start(); });
  lock_.lock();
  job.following = jobs_;
  jobs_ = &job;
  lock_.unlock();
  posts_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0)
    futexWake(&posts_, static_cast<int>(std::min(job.shares.back().end - 1, threads_ - 1)));

  takePart(job, 0);
  lock_.lock();  // from here on nobody joins
  Job** link = &jobs_;
  while (*link != &job) link = &(*link)->following;
  *link = job.following;
  lock_.unlock();
  const auto isAlone = [&] { return job.helpers.load(std::memory_order_acquire) == 0; };
  if (lingerUntil(isAlone)) return;
  while (const uint32_t helpers = job.helpers.load(std::memory_order_acquire)) futexWait(job.helpers, helpers);
}

void BlockPool::runOnCallers(int64_t blocks, const void* function, RangeFunction run_range) const {
  constexpr int64_t kPartsPerThread = 8;  // small enough to even out, large enough to be cheap
  Parts parts = {.function = function,
                 .run_range = run_range,
                 .blocks = blocks,
                 .count = std::min({blocks, threads_ * kPartsPerThread, Parts::kMost})};
  callers_->run(parts.count, [](void* context, int64_t part) { static_cast<Parts*>(context)->run(part); }, &parts);
  if (parts.failure != nullptr) std::rethrow_exception(parts.failure);
  const int64_t ended = parts.ended.load(std::memory_order_acquire);
  TK_REQUIRE(
      ended == parts.count, Usage,
      "parallel-for of the caller: {} bodies had ended when it returned; it has to call each of {} once and wait",
      ended, parts.count);
}

void BlockPool::takePart(Job& job, size_t thread) {
  for (size_t i = 0; i < job.shares.size(); ++i) takeFrom(job.shares[(thread + i) % job.shares.size()], job);
}

void BlockPool::takeFrom(Share& share, Job& job) {
  while (!share.isTaken()) {
    const int64_t begin = share.cursor().fetch_add(job.grain, std::memory_order_relaxed);
    if (begin >= share.end) return;
    try {
      job.run_range(job.function, begin, std::min(begin + job.grain, share.end));
    } catch (...) {
      const std::lock_guard lock(job.failure_lock);
      if (job.failure == nullptr) job.failure = std::current_exception();
      for (Share& each : job.shares) each.drop();
    }
  }
}

// The last access to the job. Its owner may be gone after the count; then only the address is used.
void BlockPool::leave(Job& job) {
  const void* const word = &job.helpers;
  if (job.helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) futexWake(word, 1);
}

BlockPool::Job* BlockPool::join() {
  const std::lock_guard lock(lock_);
  for (Job* job = jobs_; job != nullptr; job = job->following) {
    if (std::ranges::all_of(job->shares, [](Share& share) { return share.isTaken(); })) continue;
    job->helpers.fetch_add(1, std::memory_order_relaxed);
    return job;
  }
  return nullptr;
}

void BlockPool::help(size_t thread) {
  uint32_t seen = 0;
  while (true) {
    // In this order: the end is posted behind stop_, so who saw that post sees stop_, and nobody else sleeps.
    seen = posts_.load(std::memory_order_seq_cst);
    if (stop_.load()) return;
    if (Job* const job = join()) {
      takePart(*job, thread);
      leave(*job);
      continue;
    }
    const auto hasNews = [&] { return posts_.load(std::memory_order_seq_cst) != seen; };
    if (lingerUntil(hasNews)) continue;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (!hasNews()) futexWait(posts_, seen);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

}  // namespace tokamak
