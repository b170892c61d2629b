#include "lower/lower_kernel.h"

#include <cctype>

#include <fmt/format.h>

#include "analysis/addresses.h"
#include "analysis/device_marks.h"
#include "base/profiler_range.h"
#include "base/require.h"
#include "kernel/complete_kernel.h"
#include "lower/loop_nests.h"
#include "lower/pipeline.h"
#include "lower/statement_builder.h"

namespace tokamak {

std::string kernelNameOf(const Fusion& fusion) {
  std::string name = "tokamak_" + fusion.name();
  for (const TensorView* output : fusion.outputs()) {
    if (output->label() < 0) continue;
    name += fmt::format("_T{}", output->label());
    break;
  }
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

kir::Kernel lowerKernel(std::shared_ptr<Fusion> fusion, std::string name, int64_t alignment,
                        const KernelPassOptions& options, UpdateMemory updates) {
  static const RangeName range_name("lower kernel");
  const Range range(range_name);
  kir::Kernel kernel;
  kernel.alignment = alignment;
  kernel.name = std::move(name);
  for (Val* input : fusion->inputs()) {
    if (TensorView* tensor = asTensor(input)) kernel.tensors.push_back(tensor);
  }
  for (TensorView* output : fusion->outputs()) {
    TK_REQUIRE(!fusion->isInput(output), Unsupported, "a kernel gives its input {} as output", toString(*output));
    kernel.tensors.push_back(output);
  }
  for (const TensorView* tensor : kernel.tensors) const_cast<TensorView*>(tensor)->setMemoryType(MemoryType::Global);
  kernel.strides = globalStrides(*fusion);
  for (const auto& [output, alias] : fusion->outputAliases()) {
    if (updates == UpdateMemory::Inputs) kernel.updates[output] = asTensor(alias.target);
  }
  kir::labelTensors(*fusion);
  LoopNests nests(*fusion);
  requireOneDevice("lower kernel", *fusion);
  kir::labelTensors(*fusion);
  kernel.body = StatementBuilder(*fusion, nests, kernel.strides).build();
  kernel.dimensions = nests.dimensions();
  kernel.fusion = std::move(fusion);
  kernel.symbols = kir::symbolsOf(kernel);
  return runKernelPasses(std::move(kernel), options);
}

}  // namespace tokamak
