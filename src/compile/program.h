// Program: the front door. A fusion, compiled for a device, is called like a function.
//
//   Fusion fusion("softmax_rows");
//   fusion.output("y", softmax(fusion.input("x", DataType::F32, {"n", "m"}), 1));
//   const std::unique_ptr<Device> device = openCpuDevice();
//   Program program = compile(fusion, *device);
//   const std::vector<Tensor> outputs = program.run({Tensor::wrap(*device, data, {4, 8})});
//   std::span<const float> y = outputs[0].read<float>();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "compile/compile_options.h"
#include "device/run_value.h"
#include "ir/fusion.h"

namespace tokamak {

class HostIrContainer;
class MultiDeviceExecutor;

/// What a program holds, and did since it was compiled.
struct ProgramStatistics {
  int64_t plans = 0;         ///< that are kept
  int64_t plan_bytes = 0;    ///< of the host, by estimate; those of forgotten plans under way included
  int64_t known_calls = 0;   ///< whose plan was there
  int64_t new_calls = 0;     ///< that made theirs
  int64_t forgotten = 0;     ///< plans that had to go
  int64_t contexts = 0;      ///< for calls under way
  int64_t device_bytes = 0;  ///< of the contexts' intermediates
};

/// A compiled fusion. What depends on sizes (kernels, the plan) is made when they are first met, and kept.
/// Thread safety: any threads may use one program side by side. Calls overlap unless the memory that they access orders
/// them (docs/call_order.md).
class TOKAMAK_EXPORT Program {
 public:
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;
  /// Waits for the calls under way.
  ~Program();

  const std::string& name() const;
  Device& device() const;
  /// In the order in which run() takes and gives them.
  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;

  /// All that may be slow, for inputs of these sizes, by the names of extents: {{"n", 4096}, {"m", 512}}. A later run()
  /// with such inputs compiles nothing, as long as they are dense and aligned to 16 bytes. Scalar inputs of integer and
  /// bool types are told by name, too.
  /// Errors: Bind for an extent that is missing, or that the program does not have; of compilers.
  void prepare(const std::map<std::string, ScalarValue>& sizes);

  /// Runs with tensors and scalars for all inputs, and memory for as many outputs as the caller likes; gives the
  /// outputs that are not hidden. Without a stream the call returns when it is done if it accesses memory that the host
  /// may read and that somebody else owns; else at once: Tensor::read(), hostData() and waitReady() wait. With a
  /// stream, the work is done there.
  /// Errors: Bind for what does not fit the program, before anything runs; others as the work raises them, here or
  /// where somebody waits.
  std::vector<Tensor> run(std::span<const RunValue> inputs, std::span<const Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr);
  /// For programs that take tensors alone, such as those that another program gave.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr);
  std::vector<Tensor> run(std::initializer_list<RunValue> inputs, std::initializer_list<Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr);

  /// Never waits.
  ProgramStatistics statistics() const;
  /// The host program in words (docs/host_text.md).
  std::string hostText() const;

  /// For code of this library: compile/multi_device_executor.h.
  MultiDeviceExecutor& executor() { return *executor_; }

 private:
  friend Program compile(const Fusion& fusion, Device& device, const CompileOptions& options);
  explicit Program(std::unique_ptr<MultiDeviceExecutor> executor);
  const HostIrContainer& hostProgram() const;

  std::unique_ptr<MultiDeviceExecutor> executor_;
};

/// Compiles what does not depend on sizes: the fusion is simplified, cut into segments, and lowered to a host program.
/// The fusion may go, and threads may compile one side by side; the device outlives the program, and all tensors.
/// Errors: Definition and others of what the fusion says.
TOKAMAK_EXPORT Program compile(const Fusion& fusion, Device& device, const CompileOptions& options = {});

/// A fusion from its text (docs/text.md); `file` is its name in messages. Errors: Parse, Definition, Schedule, with the
/// place.
TOKAMAK_EXPORT std::unique_ptr<Fusion> readFusion(std::string_view text, std::string_view file = "fusion");

}  // namespace tokamak
