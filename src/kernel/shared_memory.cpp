#include "kernel/shared_memory.h"

namespace tokamak::kir {

namespace {

// With what else is declared in the code (combinations, 16 KiB at most) it stays below what code may declare.
constexpr int64_t kMostInCode = 32 * 1024;
constexpr int64_t kAlignment = 16;

}  // namespace

SharedMemory sharedMemoryOf(const Kernel& kernel) {
  SharedMemory memory;
  visitStatements(kernel.body, [&](const Statement& each) {
    const auto* allocate = std::get_if<Allocate>(&each.node);
    if (allocate == nullptr || allocate->tensor->memoryType() != MemoryType::Shared) return;
    if (!memory.places.try_emplace(allocate->tensor, memory.bytes).second) return;
    const int64_t bytes = allocate->size->constantInt().value_or(0) * sizeOf(allocate->tensor->dtype());
    memory.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  });
  return memory.bytes > kMostInCode ? memory : SharedMemory{};
}

}  // namespace tokamak::kir
