// Plan: a host program recorded at given sizes. Replays evaluate no expression, look nothing up, and do not allocate on
// the heap.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/spin_lock.h"
#include "device/device.h"
#include "device/replay.h"
#include "device/tensor.h"
#include "host/check/step_list.h"

namespace tokamak {

/// An output of a plan: its memory, sizes and strides.
struct PlanOutput {
  StepAddress at;  ///< in a buffer of origin Output or, for outputs that are views of an input, Input
  DataType dtype = DataType::F32;
  MemoryKind kind = MemoryKind::Device;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  std::string name = {};
  bool is_view = false;  ///< of an input or of another output, whose memory it shares
};

struct PlanSummary {
  int64_t steps = 0;
  int64_t streams = 0;        ///< that have work, the caller's included
  int64_t waits_written = 0;  ///< in the program
  int64_t waits_kept = 0;
  int64_t arena_bytes = 0;   ///< of intermediates, held as long as the plan
  int64_t output_bytes = 0;  ///< of outputs that the program allocates, per call
  int64_t peakBytes() const { return arena_bytes + output_bytes; }
};

/// Memory that a call needs for intermediates of one kind.
struct PlanArena {
  MemoryKind kind = MemoryKind::Device;
  int64_t bytes = 0;
};

/// A stream of a plan besides the caller's: a worker of the call's context, or a stream of a team.
struct PlanStream {
  static constexpr int64_t kFirstCopies = -2;  ///< and downwards: workers for copies ahead (copyAhead())
  int64_t worker = -1;
  Stream* of_team = nullptr;
};

/// A recorded program.
/// Thread safety: any threads may read it, note calls and wait for them at the same time. replayFor(), and the replay
/// that it returns, belong to the thread with that context; tellCopiedViews() comes before all that.
class Plan {
 public:
  /// `recorded` as it came from the recorder; streams[i]: what recorded stream i + 1 is. `contexts`: how many may
  /// replay it.
  /// The device and the works outlive the plan.
  Plan(Device& device, StepList recorded, std::vector<PlanOutput> outputs, std::vector<PlanStream> streams = {},
       size_t contexts = 1);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const PlanSummary& summary() const { return summary_; }
  const std::vector<PlanOutput>& outputs() const { return outputs_; }
  /// The steps as they are replayed.
  const StepList& steps() const { return list_; }
  /// The steps as they were recorded.
  const StepList& recorded() const { return recorded_; }
  /// The scalars whose values every call gives.
  std::span<const Scalar* const> parameters() const { return parameters_; }
  /// Bytes of the buffer that output buffer `number` needs when the caller does not give it.
  int64_t outputBufferBytes(int64_t number) const;

  /// What it runs on, besides the caller's stream.
  std::span<const PlanStream> streams() const { return streams_; }
  /// Holds on to what its works and streams belong to.
  void keep(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }
  std::span<const PlanArena> arenas() const { return arenas_; }
  /// "while allocating 4096 bytes of intermediates, the largest of them T1 (2048 bytes), T3 (2048 bytes)"
  std::string describeIntermediates() const;
  /// An estimate of its bytes on the host's heap: steps, works (shared ones, too), and a replay per context that has
  /// called it.
  int64_t hostBytes() const { return host_bytes_.load(std::memory_order_relaxed); }

  /// Computes the start of each buffer from the addresses of inputs, output buffers and arenas (per memory kind).
  void fillBases(std::span<void* const> inputs, std::span<void* const> output_buffers,
                 std::span<const std::shared_ptr<Buffer>> arenas, std::vector<void*>& bases) const;
  /// The replay of context `index`, for one call at a time.
  Replay& replayFor(size_t index);

  /// Context `index` enqueues a call that ends with `done`.
  void noteCall(size_t index, const std::shared_ptr<Event>& done);
  /// The event of the last call; null when there was none. Valid until the next call.
  const Event* lastCall() const;
  /// Whether all calls are over.
  bool isOver() const;
  void waitUntilOver() const;

  /// A sentence for each output that could have been a view and is copied.
  const std::vector<std::string>& copiedViews() const { return copied_views_; }
  void tellCopiedViews(std::vector<std::string> sentences) { copied_views_ = std::move(sentences); }
  /// For messages, of an output that is a view: "a view of T0".
  std::string describeView(const PlanOutput& output) const;

  /// The steps in words, a line each.
  std::string toString() const;

 private:
  void compile();
  void addPassed(const Step& step, ReplaySteps& replay);

  std::shared_ptr<const void> owner_;
  Device* device_;
  StepList recorded_;
  StepList list_;
  std::vector<PlanOutput> outputs_;
  std::vector<PlanStream> streams_;
  PlanSummary summary_;

  std::vector<std::string> copied_views_;

  ReplaySteps replay_steps_;
  std::vector<std::unique_ptr<Replay>> replays_;  // by context
  std::vector<const Scalar*> parameters_;
  std::vector<PlanArena> arenas_;
  std::atomic<int64_t> host_bytes_ = 0;

  mutable SpinLock calls_lock_;
  std::vector<std::shared_ptr<Event>> calls_;  // the last one by context
  std::shared_ptr<Event> last_call_;
};

}  // namespace tokamak
