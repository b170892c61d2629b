// Plan: a host program recorded at one set of sizes, ready to be replayed without evaluating an expression, looking up a map
// or allocating on the heap.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/replay.h"
#include "device/tensor.h"
#include "host/step_list.h"

namespace tokamak {

/// An output of a plan: where it lies and what it looks like.
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

class Plan {
 public:
  /// `recorded` as it came from the recorder; `worker(i)` gives the device's stream for recorded stream i >= 1. `home` orders the
  /// arena's memory. The device, the streams and the works outlive the plan.
  Plan(Device& device, StepList recorded, std::vector<PlanOutput> outputs, std::vector<Stream*> workers,
       std::shared_ptr<Stream> home);
  ~Plan();
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

  /// Enqueues the program on `stream` and the worker streams and returns. inputs[i], output_buffers[i]: the addresses of input i
  /// and of output buffer i; parameters[i]: parameterBits() of parameter i. `done` is recorded behind it, and not moved by others before the next
  /// call. Thread-safe; calls that overlap are ordered one after the other.
  void replay(std::span<void* const> inputs, std::span<void* const> output_buffers, std::span<void* const> parameters,
              Stream& stream, const std::shared_ptr<Event>& done);

  /// The same into what a caller records of `stream`, with intermediates of its own, which the recording holds.
  void replayInto(Capture& capture, std::span<void* const> inputs, std::span<void* const> output_buffers,
                  std::span<void* const> parameters, Stream& stream);

  /// An event that is done when the calls so far are; null when there was none.
  const Event* lastCall() const { return last_call_.get(); }

  /// A sentence for each output that could have been a view and is copied.
  const std::vector<std::string>& copiedViews() const { return copied_views_; }
  void tellCopiedViews(std::vector<std::string> sentences) { copied_views_ = std::move(sentences); }
  /// Where an output that is a view lies, in words: "a view of T0".
  std::string describeView(const PlanOutput& output) const;

  /// The steps in words, a line each.
  std::string toString() const;

 private:
  void compile();
  std::string describeIntermediates() const;
  void joinWorkers(Event& done);
  void setBases(std::span<void* const> inputs, std::span<void* const> output_buffers,
                std::span<const std::shared_ptr<Buffer>> arenas);
  void addPassed(const Step& step, ReplaySteps& replay);

  Device* device_;
  StepList recorded_;
  StepList list_;
  std::vector<PlanOutput> outputs_;
  std::vector<Stream*> streams_;
  std::shared_ptr<Stream> home_;
  PlanSummary summary_;

  std::vector<std::string> copied_views_;

  std::unique_ptr<Replay> replay_;
  std::vector<const Scalar*> parameters_;
  std::vector<std::shared_ptr<Buffer>> arenas_;
  std::shared_ptr<Event> last_call_;  // null before the first one
  Stream* last_stream_ = nullptr;

  std::mutex mutex_;
  std::vector<void*> bases_;
};

}  // namespace tokamak
