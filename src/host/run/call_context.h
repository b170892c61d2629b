// CallContext: what a call needs besides its plan: streams, memory for intermediates, lists. One call at a time is
// enqueued with it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/capture.h"
#include "device/hazard_tracker.h"
#include "device/in_flight_calls.h"
#include "device/intermediate_allocator.h"
#include "device/tensor.h"
#include "host/plan/plan.h"
#include "host/run/scalar_parameters.h"
#include "host/run/statement_runner.h"

namespace tokamak {

/// The memory and the worker streams are shared by all calls that are enqueued with the context, of whatever plan:
/// each starts after the one before.
/// Thread safety: one thread at a time, which has it by a lease, but for arenaBytes().
class CallContext {
 public:
  /// `index`: among the contexts of its evaluator.
  /// `intermediates` may be null: their memory is the device's.
  CallContext(Device& device, size_t index, int64_t worker_count, IntermediateAllocator* intermediates = nullptr);
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;
  ~CallContext();

  /// Where calls without a stream of the caller's run.
  const std::shared_ptr<Stream>& home() const { return home_; }
  const std::shared_ptr<RunStreams>& workers() const { return workers_; }

  /// Enqueues the plan on `stream` and the worker streams and returns; `done` is recorded behind it. `inputs` and
  /// `outputs` hold the addresses of the
  /// inputs and of the output buffers, and the plan's intermediates were reserved.
  void replay(Plan& plan, Stream& stream, const std::shared_ptr<Event>& done);
  /// The same into what a caller records of `stream`, with intermediates of its own, which the recording holds.
  void replayInto(Plan& plan, Capture& capture, Stream& stream);
  /// For a call on the context's own stream: what failed there was another call's.
  void startAnew();
  /// For a call without a plan: `stream` goes on behind the last call, and `done` stands for the new one.
  void startAfterLastCall(Stream& stream);
  void noteCall(Stream& stream, const std::shared_ptr<Event>& done);
  /// Makes memory for the plan's intermediates. Errors: OutOfMemory.
  void reserve(const Plan& plan);

  /// Holds on to what a call uses.
  void keepUntilDone(InFlightCalls::Call call) { in_flight_.add(std::move(call)); }
  /// The last call with this context; null before the first.
  const Event* lastCall() const { return last_call_.get(); }
  const Stream* lastStream() const { return last_stream_; }
  bool isIdle() const { return last_call_ == nullptr || device_.isDone(*last_call_); }
  void waitUntilIdle();
  /// Waits, and gives memory for intermediates and tensors that were kept back; false when there was nothing.
  bool dropMemory();
  /// Any thread may ask.
  int64_t arenaBytes() const { return arena_bytes_.load(std::memory_order_relaxed); }

  // Of the call that is being enqueued.
  std::vector<int64_t> key;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  ParameterValues parameters;
  OrderedCall ordered;

 private:
  void growArena(const PlanArena& needed);
  std::shared_ptr<Buffer> allocate(const PlanArena& needed);
  void joinWorkers(Stream& stream, Event& done);

  Device& device_;
  const size_t index_;
  IntermediateAllocator* const intermediates_;
  std::shared_ptr<Stream> home_;
  std::shared_ptr<RunStreams> workers_;
  std::array<std::shared_ptr<Buffer>, kAllMemoryKinds.size()> arenas_;
  std::atomic<int64_t> arena_bytes_ = 0;
  bool has_fresh_arena_ = false;  ///< that no call has used
  std::shared_ptr<Event> last_call_;
  Stream* last_stream_ = nullptr;
  InFlightCalls::Sequence in_flight_;
  std::vector<void*> bases_;
  std::vector<Stream*> streams_;
};

}  // namespace tokamak
