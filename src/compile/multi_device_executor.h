// MultiDeviceExecutor: a fusion, lowered to a host program and run: as kernels, unless asked for something else.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compile/lower_fusion.h"
#include "host/run/host_ir_evaluator.h"

namespace tokamak {

struct MultiDeviceExecutorParams {
  HostLoweringOptions lowering;     ///< without a target: for the device
  HostIrEvaluatorParams evaluator;  ///< without `segments`: as makesKernels() says
};

/// A fusion as a host program, with its evaluator: on one device, or as one rank of a job does its part of it.
/// Thread safety: that of its evaluator: any threads may call side by side. Making one may make scalars in the fusion
/// that is given: threads that make executors of one fusion do so one after the other, or each of a clone.
class MultiDeviceExecutor {
 public:
  /// Which outputs of a host program calls give, and where the others come from.
  struct Outputs {
    std::vector<size_t> given;                        ///< numbers of those that are not hidden
    std::vector<std::pair<size_t, size_t>> in_place;  ///< the others, and which input tensors they are
  };
  /// Those of a program that a fusion was lowered to, for one device.
  static Outputs outputsOf(const Fusion& fusion);

  /// The fusion is cloned; `device` outlives the executor. With params.evaluator.communicator a fusion over devices is
  /// what this rank of it does: inputs and outputs are those that the rank has, with the sizes of its parts
  /// (lowerToRanks(), localProgram()). All ranks make theirs and call them alike.
  /// Errors: those of the lowering; Unsupported for a fusion over devices without a communicator.
  MultiDeviceExecutor(const Fusion& fusion, Device& device, const MultiDeviceExecutorParams& params = {});

  /// The same for this rank, on the communicator's device; params.evaluator.communicator says nothing.
  /// Errors: the same.
  MultiDeviceExecutor(const Fusion& fusion, Communicator& communicator, const MultiDeviceExecutorParams& params = {});

  /// A program that was lowered before, with the outputs of its fusion.
  MultiDeviceExecutor(std::unique_ptr<HostIrContainer> program, Outputs outputs, Device& device,
                      const HostIrEvaluatorParams& params);

  /// The program that runs.
  const HostIrContainer& program() const { return evaluator_->program(); }
  HostIrEvaluator& evaluator() { return *evaluator_; }
  /// What a call gives: the program's outputs but for hidden ones.
  std::vector<TensorView*> givenOutputs() const;
  const Outputs& outputs() const { return outputs_; }

  /// `inputs` in the fusion's order; `outputs`: storage for results that are not hidden, as many first ones as the
  /// caller likes (an undefined tensor leaves one out). Gives all outputs that are not hidden. The stream, the order of
  /// calls and when they return: as HostIrEvaluator::runWithInput() says.
  /// Errors: Bind.
  std::vector<Tensor> runWithInput(std::span<const RunValue> inputs, std::span<const Tensor> outputs = {},
                                   const std::shared_ptr<Stream>& stream = nullptr, const PrepareOptions& options = {});
  /// HostIrEvaluator::run() with the outputs that are not hidden. Errors: Bind.
  void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
               std::span<const ScalarValue> scalars = {}, CallMemo* memo = nullptr);
  /// How the outputs that a call with these inputs gives lie, without memory for any.
  std::vector<OutputLayout> outputLayouts(std::span<const RunValue> inputs, const PrepareOptions& options = {});
  /// The plan these inputs would run.
  Plan& planFor(std::span<const RunValue> inputs, std::span<const Tensor> outputs = {},
                const PrepareOptions& options = {});
  /// The same, which stays as long as it is held.
  std::shared_ptr<Plan> sharedPlanFor(std::span<const RunValue> inputs, std::span<const Tensor> outputs = {},
                                      const PrepareOptions& options = {});

 private:
  MultiDeviceExecutor(std::pair<std::unique_ptr<HostIrContainer>, Outputs> lowered, Device& device,
                      const HostIrEvaluatorParams& params);
  std::vector<std::pair<Val*, RunValue>> bind(std::span<const RunValue> inputs, std::span<const Tensor> outputs) const;

  std::unique_ptr<HostIrEvaluator> evaluator_;
  Outputs outputs_;
};

}  // namespace tokamak
