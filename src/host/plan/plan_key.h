// The key of a plan: the properties of a call's values that the plan depends on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/tensor.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Appends element type, memory kind, sizes, strides and alignment. Allocates for the key's growth only.
void addToKey(const Tensor& tensor, std::vector<int64_t>& key);
/// The alignment in bytes in a key: at most 16, the widest access of kernels.
int64_t alignmentOf(const Tensor& tensor);
uint64_t hashOfKey(std::span<const int64_t> key);
/// Appends the scalar's number and the bits of its value.
void addToKey(const Scalar& scalar, const ScalarValue& value, std::vector<int64_t>& key);

}  // namespace tokamak
