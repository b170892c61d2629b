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
  /// and of output buffer i; parameters[i]: parameterBits() of parameter i. Thread-safe; calls that overlap are ordered one after the other.
  void replay(std::span<void* const> inputs, std::span<void* const> output_buffers, std::span<void* const> parameters,
              Stream& stream);

  /// An event that is done when the calls so far are; belongs to the plan.
  const Event& lastCall() const { return *last_call_; }

  /// The steps in words, a line each.
  std::string toString() const;

 private:
  enum class Action : uint8_t { Launch, Fill, Record, Wait };
  struct ReplayStep {
    Action action;
    int32_t stream;
    int32_t event;
    uint32_t first_address;
    uint32_t address_count;
    const Work* work;
    int64_t bytes;
  };

  static constexpr int32_t kParameter = -1;  ///< as the buffer of an address: parameter number `offset` instead

  void compile();
  void addPassed(const Step& step);

  Device* device_;
  StepList recorded_;
  StepList list_;
  std::vector<PlanOutput> outputs_;
  std::vector<Stream*> streams_;
  std::shared_ptr<Stream> home_;
  PlanSummary summary_;

  std::vector<ReplayStep> steps_;
  std::vector<StepAddress> addresses_;
  std::vector<const Scalar*> parameters_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::shared_ptr<Buffer>> arenas_;
  std::unique_ptr<Event> last_call_;
  Stream* last_stream_ = nullptr;

  std::mutex mutex_;
  std::vector<void*> bases_;
  std::vector<void*> scratch_;
};

}  // namespace tokamak
