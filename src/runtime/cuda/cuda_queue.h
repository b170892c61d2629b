// CudaQueue: a stream of a CUDA device: the driver's stream, and a thread for work of the host.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>

#include "base/home_process.h"
#include "base/profiler_range.h"
#include "device/arena.h"
#include "device/failure.h"
#include "device/work.h"
#include "runtime/cuda/cuda_point.h"
#include "runtime/cuda/cuda_work.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

class CudaTrace;
struct PackedStep;

/// Work is issued to the driver at once, on the caller's thread. Callbacks are not the driver's host functions: these
/// may not call the driver, run one after the other for all streams, and cannot skip later work when they fail.
/// So the stream's own thread runs callbacks and other work of the host (fills and flags in pageable memory) once the
/// GPU has got there; until then later work is in a queue of the host. Without callbacks there is no such thread.
///
/// Any thread may call the issuing functions, callbacks of this stream included. They raise errors that the driver
/// returns at once; later ones, and those on the stream's thread, are failures of the stream.
class CudaQueue final : public StreamClock {
 public:
  /// `raise_count`: the number of raised failures of this device. Errors: Device.
  CudaQueue(int64_t index, DriverContext& context, const RaiseCount& raise_count);
  /// For a caller's driver stream, which may be destroyed once the queue has been reset.
  CudaQueue(int64_t index, DriverContext& context, const RaiseCount& raise_count, driver::Stream adopted);
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;
  ~CudaQueue() override;

  /// Traces the GPU's work from here on; call it before any work.
  void observe(CudaTrace& trace) { trace_ = &trace; }

  /// `point` becomes the one after everything issued so far.
  void record(const CudaPointRef& point);
  void wait(const CudaPointRef& point, WaitFor what);
  /// Clears failures for later work.
  void startAnew();
  void copy(void* to, const void* from, int64_t bytes);
  void fill(void* to, uint8_t byte, int64_t bytes);
  /// A work of the host (cuda_host_work.h) runs on the stream's thread.
  void launch(const CudaWork& work, std::span<void* const> addresses);
  /// The same with packed arguments; the device's context is current.
  void launch(PackedStep& step);
  /// Calls `tell`, which issues work to the driver, unless work is to be skipped; the device's context is current.
  /// False, without the call, while earlier work is in the host's queue.
  template <class Tell>
  bool tryIssue(const Tell& tell) {
    const Lock lock(mutex_);
    if (isDeferring()) return false;
    if (failure_ != nullptr && skips(raise_count_.load(), position_)) return true;
    gpu_position_.store(++position_);
    tell();
    return true;
  }
  void callback(std::function<void()> function);
  void writeFlag(uint64_t* flag, uint64_t value);
  void waitFlag(const uint64_t* flag, uint64_t value);

  /// Waits until the driver has everything issued so far; not on the stream's own thread, which gives it that.
  void waitHandedOver();
  /// Waits for everything issued so far. Returns the unreported failure, or one because of which work was skipped since
  /// it was reported, or null; it counts as reported then. Errors: Device.
  std::shared_ptr<AsyncFailure> synchronize();
  /// Waits for a point of this queue. Errors: Device.
  void synchronize(const CudaPoint& point);
  /// Never blocks.
  bool isDone(const CudaPoint& point);
  /// Notes that failures before `point` have been reported.
  void noteTold(const CudaPoint& point);
  /// Waits for all work and clears its failure, for a new user of the queue.
  void reset();

  driver::Stream stream() const { return stream_; }
  bool isAdopted() const { return is_adopted_; }
  driver::Stream handle() const { return stream_; }
  /// Of an adopted stream. When removeUser() has returned to the last one, its owner may destroy it.
  void addUser();
  void removeUser();
  bool isAdopted(driver::Stream stream) const { return is_adopted_ && stream_ == stream; }
  /// The graph into which the stream's owner captures it; null if its work runs. Errors: Device.
  driver::Graph capturedGraph() const { return is_adopted_ ? askForGraph() : nullptr; }
  int64_t index() const override { return index_; }
  /// The point after everything issued so far, as the arena counts.
  uint64_t mark();
  bool isDone(uint64_t position) const override;
  bool waitDone(uint64_t position) override;
  /// Whether the calling thread is the stream's thread.
  bool isRunHere() const;

 private:
  /// Work is skipped after a failure; Always is for commands that others wait for.
  enum class Kind : uint8_t { Work, Always };
  struct Command {
    Kind kind = Kind::Work;
    uint32_t raise_count = 0;  // when issued
    uint64_t position = 0;
    std::function<void(const Command&)> run;
    const CudaHostWork* host_work = nullptr;  // is told where it is skipped
  };
  using Lock = std::unique_lock<std::mutex>;

  template <class Run>
  void issue(Kind kind, const Run& run);
  void defer(Kind kind, std::function<void(const Command&)> run);
  void deferLocked(Kind kind, std::function<void(const Command&)> run, const CudaHostWork* host_work = nullptr);
  bool isDeferring() const { return is_running_ || !commands_.empty(); }
  uint64_t issuedPosition() const { return isDeferring() ? processed_ : position_; }

  void launchOnThread(const CudaHostWork& work, std::span<void* const> addresses);
  void runAll();
  void execute(Command& command);
  bool isSkipping(uint32_t raise_count) const;
  bool skips(uint32_t raise_count, uint64_t position);
  void startAnewLocked();
  void adopt(const std::shared_ptr<AsyncFailure>& failure, uint32_t raise_count);
  void keepFailure(std::exception_ptr cause);
  template <class Tell>
  void told(std::string_view name, RangeName range, const Tell& tell);
  void recordNow(CudaPoint& point);
  void waitNow(const CudaPoint& point);
  driver::Graph askForGraph() const;
  void finishGpuWork();
  void noteDone(uint64_t position) const;
  driver::Result probe(const DriverLibrary& driver, uint64_t issued) const;
  void requireNotRunHere(const char* operation) const;

  const int64_t index_;
  const HomeProcess home_;
  DriverContext& context_;
  const RaiseCount& raise_count_;
  driver::Stream stream_ = nullptr;
  const bool is_adopted_ = false;
  CudaTrace* trace_ = nullptr;

  mutable std::mutex mutex_;  // guards all below, but for what the thread does while is_running_
  // Of a forked child they are never destroyed: that would wait for the parent's threads.
  std::unique_ptr<std::condition_variable> wake_ = std::make_unique<std::condition_variable>();  // of the thread
  std::unique_ptr<std::condition_variable> processed_changed_ = std::make_unique<std::condition_variable>();
  std::deque<Command> commands_;  // not yet told to the driver
  bool is_running_ = false;       // the thread is at a command
  bool is_closing_ = false;
  uint64_t position_ = 0;                   // after the last thing issued
  uint64_t processed_ = 0;                  // after the last command of the thread
  std::atomic<uint64_t> gpu_position_ = 0;  // after the last thing the driver was told
  mutable std::atomic<uint64_t> done_ = 0;  // everything up to here is over
  mutable driver::Event probe_ = nullptr;   // asks the driver how far it is, on behalf of the arena
  mutable uint64_t probed_ = 0;             // where it was recorded; 0: nowhere
  std::shared_ptr<AsyncFailure> failure_;   // why work is skipped that was issued before it was raised
  std::shared_ptr<AsyncFailure> untold_;    // why work was skipped that nobody was told of
  uint64_t untold_at_ = 0;                  // the position before which that stood
  int64_t users_ = 0;                       // of an adopted stream
  bool is_left_ = false;                    // by the last of them: `probe_` stands for all of it
  std::thread thread_;
};

}  // namespace tokamak
