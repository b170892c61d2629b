// RfactorChain: a reduction that a schedule does in several steps, as the one op that the text shows.
#pragma once

#include <optional>
#include <vector>

#include "ir/fields.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// `parts[0]` reads what the whole reduction read, `result` reads the last part.
struct RfactorChain {
  std::vector<const TensorView*> parts;
  const TensorView* result = nullptr;
  /// Axes of the operand's shape that the whole reduction runs over, sorted.
  std::vector<int64_t> axes;
};

/// Whether the tensor was made by an rfactor: a part of the chain of the reduction that reads it.
bool isRfactorPart(const TensorView& tensor);
/// The chain that ends in this tensor; nothing when no part is before it.
std::optional<RfactorChain> rfactorChainOf(const TensorView& result);
/// The tensor that the chain which this part belongs to ends in.
const TensorView* rfactorResultOf(const TensorView& part);
/// The fields of the one reduction that the chain stands for.
Fields fieldsOf(const RfactorChain& chain);

}  // namespace tokamak
