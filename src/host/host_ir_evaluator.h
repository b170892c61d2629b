// HostIrEvaluator: runs a host program on a device: records it once per set of sizes, then replays the plan.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/ranges.h"
#include "device/output_allocator.h"
#include "device/tensor.h"
#include "host/host_ir_container.h"
#include "host/plan.h"
#include "host/scalar_parameters.h"
#include "host/statement_runner.h"
#include "host/unit_mode.h"

namespace tokamak {

struct HostIrEvaluatorParams {
  enum class Mode : uint8_t {
    Plan,    ///< record once per plan key, then replay
    Direct,  ///< evaluate every statement on every call
  };
  int64_t number_of_streams = 4;
  Mode mode = Mode::Plan;
  UnitMode units = UnitMode::OpByOp;
  /// Prove every new plan free of races, as recorded and as replayed. Errors: Race.
  bool checks_plans = true;
  /// Where outputs come from that the caller does not give; null: the device. Outlives the evaluator and its outputs. Not in direct mode.
  OutputAllocator* output_allocator = nullptr;
};

/// A value for an input or, to be written into, an output.
using RunValue = std::variant<Tensor, ScalarValue>;

class HostIrEvaluator {
 public:
  /// Errors: HostProgram when an input is an alias, or an output is computed by nothing.
  HostIrEvaluator(std::unique_ptr<HostIrContainer> program, Device& device, HostIrEvaluatorParams params = {});
  ~HostIrEvaluator();

  const HostIrContainer& program() const { return *program_; }
  Device& device() const { return *device_; }

  /// Runs with every input bound, and as many outputs as the caller likes (results land there). Gives the outputs in order; each
  /// carries its ready event. Returns once everything is enqueued; the caller may let go of the tensors it gave.
  /// Errors: Bind for missing, extra or ill-fitting values, before anything is enqueued.
  std::vector<Tensor> runWithInput(const std::vector<std::pair<Val*, RunValue>>& values);

  /// The hot entry: input tensors in the program's order, outputs all given, on the caller's stream; scalar inputs in the program's
  /// order. Outputs get a ready event. After the first call with the same sizes, strides, alignments and steering scalars it takes nothing
  /// from the heap. The caller holds on to the tensors until the work is done. On a stream that the caller records (Device::joinCapture()) the call becomes
  /// part of the recording, with the scalars of this call; then outputs get no ready event, and the caller holds on to the tensors as long as it is run.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
           std::span<const ScalarValue> scalars = {});

  /// The plan that these values would run; records it if it is new, runs nothing. Good until a call finds no memory: other plans then give up
  /// theirs.
  Plan& planFor(const std::vector<std::pair<Val*, RunValue>>& values);

 private:
  struct Call;
  struct CachedPlan;

  Call bind(const std::vector<std::pair<Val*, RunValue>>& values) const;
  void requirePlaces(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  void validate(const Call& call, ScalarBindings& scalars) const;
  /// Whether the caller gave memory of its own for an output: not none, and not the input that the output updates.
  bool isGiven(const Call& call, size_t output) const;
  void requireGivenWritten(const Call& call, const StatementRunner& runner, std::span<void* const> addresses) const;
  void makeKey(const Call& call, std::vector<int64_t>& key) const;
  bool isParameter(const Scalar& scalar) const;
  Plan* knownPlan() const;
  Plan& findPlan(const Call& call);
  std::unique_ptr<Plan> record(const Call& call);
  std::vector<Tensor> runPlan(const Call& call);
  std::vector<Tensor> runDirect(const Call& call);
  std::shared_ptr<Event> takeEvent();
  /// Per buffer of the plan's steps: an output's that the program allocates, else null.
  using FreshOutputs = std::vector<std::shared_ptr<Buffer>>;
  FreshOutputs allocateOutputs(const Plan& plan, const Call& call);
  static const Tensor& givenOutput(const Plan& plan, const Call& call, int32_t buffer);
  static const Tensor& callersMemory(const Call& call, const void* address);
  std::shared_ptr<Buffer> allocateOutput(int64_t bytes, MemoryKind kind);
  bool dropPlansBut(const Plan* needed);
  void waitForInputs(std::span<const Tensor> inputs, Stream& stream);
  void keepUntilDone(const Call& call);
  void waitUntilDone() const;

  std::unique_ptr<HostIrContainer> program_;
  Device* device_;
  HostIrEvaluatorParams params_;
  const RangeName run_name_;  ///< of a call: "run softmax"
  /// What a call gave, until its work is done.
  struct InFlight {
    std::unique_ptr<Event> done;
    std::vector<Tensor> tensors;
  };

  std::vector<TensorView*> input_tensors_;
  std::vector<Scalar*> input_scalars_;
  std::vector<size_t> scalars_by_id_;                   ///< numbers of input scalars
  std::unique_ptr<const ScalarParameters> parameters_;  ///< none in direct mode, or where the device takes none
  ParameterValues parameter_values_;
  std::vector<bool> is_updated_;      ///< per input tensor: the program writes it
  std::vector<int64_t> in_place_of_;  ///< per output: the number of the input tensor it is an alias of, or -1
  std::shared_ptr<WorkCache> works_;  ///< for direct runs; lives as long as the streams they run on
  std::shared_ptr<Stream> home_;
  WorkCache recorded_works_;  ///< as the recorder prepared it
  std::shared_ptr<RunStreams> streams_;
  std::vector<std::shared_ptr<Event>> ready_events_;
  std::vector<std::unique_ptr<CachedPlan>> plans_;
  std::vector<InFlight> in_flight_;
  std::vector<int64_t> key_;
  std::vector<void*> input_addresses_;
  std::vector<void*> output_addresses_;
  std::mutex mutex_;
};

}  // namespace tokamak
