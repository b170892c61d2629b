// Program: the front door. A fusion, compiled for a device, is called like a function.
//
//   Fusion fusion("softmax_rows");
//   fusion.output("y", softmax(fusion.input("x", DataType::F32, {"n", "m"}), 1));
//   CpuDevice device;
//   Program program = compile(fusion, device);
//   const std::vector<Tensor> outputs = program.run({Tensor::wrap(device, data, {4, 8})});
//   std::span<const float> y = outputs[0].read<float>();
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/multi_device_executor.h"
#include "device/tensor.h"

namespace tokamak {

using CompileOptions = MultiDeviceExecutorParams;

/// A compiled fusion. What depends on sizes (kernels, the plan) is made when they are first met, and kept.
/// Thread safety: any threads may use one program side by side. Calls overlap unless the memory that they access orders
/// them (docs/call_order.md).
class Program {
 public:
  Program(const Fusion& fusion, Device& device, const CompileOptions& options = {});

  const std::string& name() const { return executor_->program().name(); }
  Device& device() const { return executor_->evaluator().device(); }
  /// In the order in which run() takes and gives them.
  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;

  /// All that may be slow, for inputs of these sizes, by the names of extents: {{"n", 4096}, {"m", 512}}. A later run()
  /// with such inputs compiles nothing, as long as they are dense and aligned to 16 bytes. Scalar inputs of
  /// integer and bool types are told by name, too.
  /// Errors: Bind for an extent that is missing, or that the program does not have; of compilers.
  void prepare(const std::map<std::string, ScalarValue>& sizes);

  /// Runs with tensors and scalars for all inputs, and memory for as many outputs as the caller likes; gives the outputs that
  /// are not hidden. It may return before the work is done: Tensor::read(), hostData() and waitReady() wait. With a
  /// stream, the work is done there.
  /// Errors: Bind for what does not fit the program, before anything runs; others as the work raises them, here or
  /// where somebody waits.
  std::vector<Tensor> run(std::span<const RunValue> inputs, std::span<const Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr);
  std::vector<Tensor> run(std::initializer_list<RunValue> inputs, std::initializer_list<Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr);

  /// The host program that runs.
  const HostIrContainer& hostProgram() const { return executor_->program(); }
  MultiDeviceExecutor& executor() { return *executor_; }

 private:
  std::unique_ptr<MultiDeviceExecutor> executor_;
};

/// Compiles what does not depend on sizes: the fusion is simplified, cut into segments, and lowered to a host program.
/// The fusion may go; the device outlives the program. Errors: Definition and others of what the fusion says.
Program compile(const Fusion& fusion, Device& device, const CompileOptions& options = {});

/// A fusion from its text (docs/text.md); `file` is its name in messages. Errors: Parse, Definition, Schedule, with the place.
std::unique_ptr<Fusion> readFusion(std::string_view text, std::string_view file = "fusion");

}  // namespace tokamak
