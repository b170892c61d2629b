#include "compile/multi_device_executor.h"

#include <algorithm>
#include <utility>

#include "analysis/device_mesh.h"
#include "base/require.h"
#include "dist/communicator.h"
#include "host/local/local_program.h"
#include "schedule/shardings_aside.h"

namespace tokamak {

namespace {

HostLoweringOptions loweringFor(const Device& device, HostLoweringOptions options) {
  if (!options.target) options.target = device.kernelTarget();
  return options;
}

HostIrEvaluatorParams evaluationOf(const MultiDeviceExecutorParams& params) {
  HostIrEvaluatorParams evaluator = params.evaluator;
  if (!evaluator.segments)
    evaluator.segments = makesKernels(params.lowering.grouping) ? SegmentMode::Kernels : SegmentMode::OpByOp;
  return evaluator;
}

MultiDeviceExecutorParams through(Communicator& communicator, MultiDeviceExecutorParams params) {
  params.evaluator.communicator = &communicator;
  return params;
}

// A rank lacks inputs and outputs of meshes that it is not in, as the program over ranks says, where all have one.
MultiDeviceExecutor::Outputs outputsOnRank(const HostIrContainer& program, const MultiDeviceExecutor::Outputs& all,
                                           int64_t rank) {
  const auto isHere = [&](const TensorView* tensor) { return tensor->mesh().empty() || hasRank(tensor->mesh(), rank); };
  const std::vector<TensorView*> inputs = tensorsOf(program.inputs());
  const auto here = [&](const std::vector<TensorView*>& tensors, size_t number) {
    return static_cast<size_t>(
        std::count_if(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(number), isHere));
  };
  MultiDeviceExecutor::Outputs own;
  for (const size_t i : all.given)
    if (isHere(program.outputs()[i])) own.given.push_back(here(program.outputs(), i));
  for (const auto& [output, input] : all.in_place)
    if (isHere(program.outputs()[output]))
      own.in_place.emplace_back(here(program.outputs(), output), here(inputs, input));
  return own;
}

std::pair<std::unique_ptr<HostIrContainer>, MultiDeviceExecutor::Outputs> lowered(const Fusion& fusion,
                                                                                  const HostLoweringOptions& lowering,
                                                                                  const Communicator* communicator) {
  MultiDeviceExecutor::Outputs outputs = MultiDeviceExecutor::outputsOf(fusion);
  if (communicator == nullptr || !hasShardings(fusion)) return {lowerToHostProgram(fusion, lowering), outputs};
  const std::unique_ptr<HostIrContainer> program = lowerToRanks(fusion, lowering);
  auto local = localProgramInJob(
      *program, {.number = communicator->rank(), .ranks = communicator->size(), .backend = communicator->backend()});
  finishHostProgram(*local, lowering);
  return {std::move(local), outputsOnRank(*program, outputs, communicator->rank())};
}

}  // namespace

MultiDeviceExecutor::MultiDeviceExecutor(const Fusion& fusion, Device& device, const MultiDeviceExecutorParams& params)
    : MultiDeviceExecutor(lowered(fusion, loweringFor(device, params.lowering), params.evaluator.communicator), device,
                          evaluationOf(params)) {}

MultiDeviceExecutor::MultiDeviceExecutor(const Fusion& fusion, Communicator& communicator,
                                         const MultiDeviceExecutorParams& params)
    : MultiDeviceExecutor(fusion, *communicator.device(), through(communicator, params)) {}

MultiDeviceExecutor::MultiDeviceExecutor(std::unique_ptr<HostIrContainer> program, Outputs outputs, Device& device,
                                         const HostIrEvaluatorParams& params)
    : evaluator_(std::make_unique<HostIrEvaluator>(std::move(program), device, params)), outputs_(std::move(outputs)) {}

MultiDeviceExecutor::MultiDeviceExecutor(std::pair<std::unique_ptr<HostIrContainer>, Outputs> lowered, Device& device,
                                         const HostIrEvaluatorParams& params)
    : MultiDeviceExecutor(std::move(lowered.first), std::move(lowered.second), device, params) {}

MultiDeviceExecutor::Outputs MultiDeviceExecutor::outputsOf(const Fusion& fusion) {
  Outputs outputs;
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    const auto alias = fusion.outputAliases().find(fusion.outputs()[i]);
    if (alias == fusion.outputAliases().end() || !alias->second.is_hidden) {
      outputs.given.push_back(i);
      continue;
    }
    const std::vector<TensorView*> inputs = tensorsOf(fusion.inputs());
    const auto updated = std::ranges::find(inputs, alias->second.target);
    outputs.in_place.emplace_back(i, static_cast<size_t>(updated - inputs.begin()));
  }
  return outputs;
}

std::vector<TensorView*> MultiDeviceExecutor::givenOutputs() const {
  std::vector<TensorView*> given;
  for (const size_t i : outputs_.given) given.push_back(program().outputs()[i]);
  return given;
}

std::vector<std::pair<Val*, RunValue>> MultiDeviceExecutor::bind(std::span<const RunValue> inputs,
                                                                 std::span<const Tensor> outputs) const {
  const HostIrContainer& target = evaluator_->program();
  TK_REQUIRE(inputs.size() == target.inputs().size(), Bind, "{}: takes {} inputs, {} were given", target.name(),
             target.inputs().size(), inputs.size());
  TK_REQUIRE(outputs.size() <= outputs_.given.size(), Bind, "{}: gives {} outputs, storage for {} was given",
             target.name(), outputs_.given.size(), outputs.size());
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(target.inputs()[i], inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].isDefined()) values.emplace_back(target.outputs()[outputs_.given[i]], outputs[i]);
  }
  return values;
}

std::vector<Tensor> MultiDeviceExecutor::runWithInput(std::span<const RunValue> inputs, std::span<const Tensor> outputs,
                                                      const std::shared_ptr<Stream>& stream,
                                                      const PrepareOptions& options) {
  std::vector<Tensor> all = evaluator_->runWithInput(bind(inputs, outputs), stream, options);
  std::vector<Tensor> visible;
  for (const size_t i : outputs_.given) visible.push_back(std::move(all[i]));
  return visible;
}

void MultiDeviceExecutor::runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
                                  std::span<const ScalarValue> scalars, CallMemo* memo) {
  if (outputs_.in_place.empty()) return evaluator_->run(inputs, outputs, stream, scalars, memo);
  TK_REQUIRE(outputs.size() == outputs_.given.size(), Bind, "{}: gives {} outputs, storage for {} was given",
             program().name(), outputs_.given.size(), outputs.size());
  std::vector<Tensor> all(program().outputs().size());
  for (size_t i = 0; i < outputs_.given.size(); ++i) all[outputs_.given[i]] = outputs[i];
  for (const auto& [output, input] : outputs_.in_place) {
    if (input < inputs.size()) all[output] = inputs[input];
  }
  evaluator_->run(inputs, all, stream, scalars, memo);
  for (size_t i = 0; i < outputs_.given.size(); ++i) outputs[i] = std::move(all[outputs_.given[i]]);
}

std::vector<OutputLayout> MultiDeviceExecutor::outputLayouts(std::span<const RunValue> inputs,
                                                             const PrepareOptions& options) {
  return evaluator_->outputLayouts(bind(inputs, {}), outputs_.given, options);
}

Plan& MultiDeviceExecutor::planFor(std::span<const RunValue> inputs, std::span<const Tensor> outputs,
                                   const PrepareOptions& options) {
  return evaluator_->planFor(bind(inputs, outputs), options);
}

std::shared_ptr<Plan> MultiDeviceExecutor::sharedPlanFor(std::span<const RunValue> inputs,
                                                         std::span<const Tensor> outputs,
                                                         const PrepareOptions& options) {
  return evaluator_->sharedPlanFor(bind(inputs, outputs), options);
}

}  // namespace tokamak
