#include "dist/part_moves.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace tokamak {

namespace {

constexpr int64_t kBytesPerCopy = 256 * 1024;     // that a thread takes at a time
constexpr int64_t kElementsPerShare = 32 * 1024;  // the same, of a reduction
constexpr int64_t kElementsPerBlock = 1024;       // that stay in the first-level cache

FunctionId functionOf(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::Sum: return FunctionId::add;
    case ReductionKind::Prod: return FunctionId::mul;
    case ReductionKind::Max: return FunctionId::maximum;
    case ReductionKind::Min: return FunctionId::minimum;
  }
  return FunctionId::add;
}

}  // namespace

void copyPart(void* to, const void* from, int64_t bytes, BlockPool& pool) {
  if (to == from || bytes == 0) return;
  pool.parallelFor((bytes + kBytesPerCopy - 1) / kBytesPerCopy, [&](int64_t block) {
    const int64_t begin = block * kBytesPerCopy;
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<size_t>(std::min(kBytesPerCopy, bytes - begin)));
  });
}

PartReduction::PartReduction(ReductionKind kind, DataType dtype)
    : size_(sizeOf(dtype)), combine_(functionLoop(functionOf(kind), computeType(dtype))) {
  if (!isHalfType(dtype)) return;
  widen_ = castLoop(DataType::F32, dtype);
  narrow_ = castLoop(dtype, DataType::F32);
}

void PartReduction::run(void* out, std::span<const void* const> terms, int64_t offset, int64_t count,
                        BlockPool& pool) const {
  pool.parallelFor((count + kElementsPerShare - 1) / kElementsPerShare, [&](int64_t share) {
    const int64_t end = std::min(count, (share + 1) * kElementsPerShare);
    for (int64_t i = share * kElementsPerShare; i < end; i += kElementsPerBlock)
      runBlock(static_cast<std::byte*>(out) + i * size_, terms, offset + i, std::min(kElementsPerBlock, end - i));
  });
}

// In memory of its own until all terms are read, as the result may be in the place of any of them.
void PartReduction::runBlock(std::byte* out, std::span<const void* const> terms, int64_t offset, int64_t count) const {
  alignas(64) std::array<std::byte, kElementsPerBlock * sizeof(double)> sum;
  alignas(64) std::array<std::byte, kElementsPerBlock * sizeof(float)> wide;
  const auto termAt = [&](size_t term) { return static_cast<const std::byte*>(terms[term]) + offset * size_; };
  const auto bytes = static_cast<size_t>(count * size_);
  if (widen_ != nullptr)
    widen_(sum.data(), termAt(0), count);
  else
    std::memcpy(sum.data(), termAt(0), bytes);
  for (size_t term = 1; term < terms.size(); ++term) {
    const void* next = termAt(term);
    if (widen_ != nullptr) {
      widen_(wide.data(), next, count);
      next = wide.data();
    }
    const std::array<const void*, 2> operands = {sum.data(), next};
    combine_(sum.data(), operands.data(), count);
  }
  if (narrow_ != nullptr)
    narrow_(out, sum.data(), count);
  else
    std::memcpy(out, sum.data(), bytes);
}

}  // namespace tokamak
