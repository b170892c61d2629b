#include "kernel/shared_memory.h"

#include "kernel/index_assumptions.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak::kir {

namespace {

// Static shared memory is limited to 48 KiB, of which block reductions take 16 KiB at most.
constexpr int64_t kMostInCode = 32 * 1024;
constexpr int64_t kAlignment = 16;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Buffer -> size in elements.
using SharedBuffers = std::map<const TensorView*, Scalar*, ById>;

SharedBuffers sharedBuffersOf(const Kernel& kernel) {
  SharedBuffers buffers;
  visitStatements(kernel.body, [&](const Statement& each) {
    const auto* allocate = std::get_if<Allocate>(&each.node);
    if (allocate != nullptr && allocate->tensor->memoryType() == MemoryType::Shared)
      buffers.try_emplace(allocate->tensor, allocate->size);
  });
  return buffers;
}

bool fitsIntoCode(const SharedBuffers& buffers) {
  int64_t total = 0;
  for (const auto& [tensor, size] : buffers) {
    const auto elements = size->constantInt();
    if (!elements) return false;
    total += aligned(*elements * sizeOf(tensor->dtype()));
  }
  return total <= kMostInCode;
}

}  // namespace

SharedMemory sharedMemoryOf(const Kernel& kernel) {
  const SharedBuffers buffers = sharedBuffersOf(kernel);
  if (fitsIntoCode(buffers)) return {};
  Fusion& fusion = *kernel.fusion;
  IntervalAnalysis analysis;
  assumeIndices(kernel, analysis);
  SharedMemory memory{.offsets = {}, .bytes = fusion.constant(0)};
  for (const auto& [tensor, size] : buffers) {
    memory.offsets[tensor] = memory.bytes;
    Scalar* bytes = fusion.mul(size, fusion.constant(sizeOf(tensor->dtype())));
    Scalar* units = fusion.ceilDiv(bytes, fusion.constant(kAlignment));
    memory.bytes = simplify(fusion.add(memory.bytes, fusion.mul(units, fusion.constant(kAlignment))), analysis);
  }
  return memory;
}

int64_t launchedSharedBytes(const Kernel& kernel, const ScalarBindings& bindings) {
  const SharedBuffers buffers = sharedBuffersOf(kernel);
  if (fitsIntoCode(buffers)) return 0;
  int64_t total = 0;
  for (const auto& [tensor, size] : buffers) total += aligned(evaluateInt(*size, bindings) * sizeOf(tensor->dtype()));
  return total;
}

}  // namespace tokamak::kir
