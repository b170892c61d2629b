#include "runtime/cpu/interpreted_work.h"

#include <bit>

#include "base/require.h"
#include "device/work.h"
#include "kernel/interpreter/kernel_interpreter.h"

namespace tokamak {

namespace {

ScalarValue valueOf(const Scalar& parameter, void* passed) {
  const auto bits = reinterpret_cast<int64_t>(passed);
  switch (parameterType(parameter)) {
    case DataType::F64: return std::bit_cast<double>(bits);
    case DataType::Bool: return bits != 0;
    default: return bits;
  }
}

class InterpretedWork final : public CpuWork {
 public:
  InterpretedWork(KernelLaunch launch, size_t operand_count)
      : launch_(std::move(launch)), operand_count_(operand_count) {}

  std::string_view name() const override { return launch_.name; }
  int64_t hostBytes() const override { return static_cast<int64_t>(sizeof(InterpretedWork)) + launch_.hostBytes(); }

  void run(void* const* addresses, BlockPool&) const override {
    const InterpretedKernel& bound = *launch_.interpreted;
    const kir::Kernel& kernel = *bound.kernel;
    std::vector<KernelBuffer> buffers;
    for (size_t i = 0; i < bound.elements.size(); ++i)
      buffers.push_back(
          {addresses[launch_.operands[i]], bound.elements[i], !kernel.fusion->isOutput(kernel.tensors[i])});
    ScalarBindings bindings = bound.bindings;
    for (size_t i = 0; i < launch_.parameters.size(); ++i)
      bindings[kernel.symbols[i]] = valueOf(*kernel.symbols[i], addresses[operand_count_ + launch_.parameters[i]]);
    const std::vector<std::string> findings = interpretKernel(kernel, buffers, bindings);
    TK_REQUIRE(findings.empty() || !launch_.is_given, Definition, "kernel {}: {}", launch_.name, findings[0]);
    TK_CHECK(findings.empty(), "the kernel of {} is wrong: {}", launch_.name, findings[0]);
  }

 private:
  KernelLaunch launch_;
  size_t operand_count_;
};

}  // namespace

std::shared_ptr<const CpuWork> makeInterpretedWork(KernelLaunch launch, size_t operand_count) {
  return std::make_shared<InterpretedWork>(std::move(launch), operand_count);
}

}  // namespace tokamak
