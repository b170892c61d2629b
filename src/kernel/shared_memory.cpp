#include "kernel/shared_memory.h"

#include "ir/interval_analysis.h"
#include "ir/scalar_simplifier.h"
#include "kernel/index_assumptions.h"

namespace tokamak::kir {

namespace {

// With what else is declared in the code (combinations, 16 KiB at most) it stays below what code may declare.
constexpr int64_t kMostInCode = 32 * 1024;
constexpr int64_t kAlignment = 16;

}  // namespace

SharedMemory sharedMemoryOf(const Kernel& kernel) {
  Fusion& fusion = *kernel.fusion;
  IntervalAnalysis analysis;
  assumeIndices(kernel, analysis);
  SharedMemory memory{.places = {}, .bytes = fusion.constant(0)};
  visitStatements(kernel.body, [&](const Statement& each) {
    const auto* allocate = std::get_if<Allocate>(&each.node);
    if (allocate == nullptr || allocate->tensor->memoryType() != MemoryType::Shared) return;
    if (!memory.places.try_emplace(allocate->tensor, memory.bytes).second) return;
    Scalar* bytes = fusion.mul(allocate->size, fusion.constant(sizeOf(allocate->tensor->dtype())));
    Scalar* units = fusion.ceilDiv(bytes, fusion.constant(kAlignment));
    memory.bytes = simplify(fusion.add(memory.bytes, fusion.mul(units, fusion.constant(kAlignment))), analysis);
  });
  return memory.bytes->constantInt().value_or(kMostInCode + 1) > kMostInCode ? memory : SharedMemory{};
}

int64_t launchedSharedBytes(const Kernel& kernel, const ScalarBindings& bindings) {
  const SharedMemory memory = sharedMemoryOf(kernel);
  return memory.bytes == nullptr ? 0 : evaluateInt(*memory.bytes, bindings);
}

}  // namespace tokamak::kir
