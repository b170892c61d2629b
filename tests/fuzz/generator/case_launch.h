// CaseLaunch: a program's kernel and its data; the kernel, or another version of it, run by the interpreter from the
// same inputs.
#pragma once

#include "device/work.h"
#include "generator/draw_data.h"
#include "jit/prepared_kernel.h"
#include "kernel/interpreter/kernel_interpreter.h"

namespace tokamak::generator {

class CaseLaunch {
 public:
  /// Errors: as prepareKernel. The fusion and the inputs must outlive the launch.
  CaseLaunch(const Fusion& fusion, const std::vector<InputData>& inputs, const KernelRecipe& recipe);

  /// A kernel that was written for the fusion.
  CaseLaunch(const Fusion& fusion, const std::vector<InputData>& inputs, kir::Kernel kernel);

  const PreparedKernel& prepared() const { return prepared_; }

  struct Result {
    std::vector<std::string> findings;
    std::vector<StoredData> outputs;
  };
  /// Runs a kernel of the same parameters. Outputs are poisoned before.
  Result run(const kir::Kernel& kernel, const ScalarBindings& bindings, const InterpreterOptions& options) const;

  /// A result with poisoned outputs, and the buffers of a launch that fills it.
  Result poisoned() const { return {{}, outputs_}; }
  std::vector<KernelBuffer> buffersOf(Result& result) const;

  /// Values for the symbols of a kernel that was read from the text of the prepared one: symbols are told by their
  /// place.
  ScalarBindings bindingsFor(const kir::Kernel& parsed) const;

 private:
  // Buffers for the fusion's tensors; gives what they are like.
  std::vector<OperandDesc> makeBuffers(const Fusion& fusion, const std::vector<InputData>& inputs,
                                       ScalarBindings& bindings);

  std::vector<StoredData> inputs_;
  std::vector<StoredData> outputs_;
  PreparedKernel prepared_;
};

}  // namespace tokamak::generator
