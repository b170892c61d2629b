// Part moves: copies and reductions between memory of ranks, by blocks that the pool's threads share out.
#pragma once

#include <cstdint>
#include <span>

#include "ir/ops/math/reduction_op.h"
#include "loops/typed_loops.h"
#include "runtime/cpu/block_pool.h"
#include "symbolic/data_type.h"

namespace tokamak {

/// Copies; does nothing where both are one address. Else they do not overlap.
void copyPart(void* to, const void* from, int64_t bytes, BlockPool& pool);

/// Elementwise reductions of arrays, as CommunicationRequest says.
class PartReduction {
 public:
  PartReduction() = default;
  /// A legal pair of a reducing request.
  PartReduction(ReductionKind kind, DataType dtype);

  /// out[i] = terms[0][offset + i] combined with terms[1][offset + i] and so on, for 0 <= i < count. `out` may be that
  /// part of one of the terms. `terms`: addresses of arrays.
  void run(void* out, std::span<const void* const> terms, int64_t offset, int64_t count, BlockPool& pool) const;

 private:
  void runBlock(std::byte* out, std::span<const void* const> terms, int64_t offset, int64_t count) const;

  int64_t size_ = 0;  // bytes of an element
  FunctionLoop combine_ = nullptr;
  CastLoop widen_ = nullptr;  // of half types alone
  CastLoop narrow_ = nullptr;
};

}  // namespace tokamak
