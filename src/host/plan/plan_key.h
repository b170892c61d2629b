// The key of a plan: what a call's values must have in common with those that the plan was recorded with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/tensor.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Element type, memory kind, sizes, strides and the alignment of the address. Takes nothing from the heap beyond the
/// key's growth.
void addToKey(const Tensor& tensor, std::vector<int64_t>& key);
/// That of the address in bytes, as far as a key tells it: at most 16, the widest access of kernels.
int64_t alignmentOf(const Tensor& tensor);
uint64_t hashOfKey(std::span<const int64_t> key);
/// Which scalar, and its value bit by bit.
void addToKey(const Scalar& scalar, const ScalarValue& value, std::vector<int64_t>& key);

}  // namespace tokamak
