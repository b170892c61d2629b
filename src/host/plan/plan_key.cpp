#include "host/plan/plan_key.h"

#include <bit>
#include <type_traits>

namespace tokamak {

int64_t alignmentOf(const Tensor& tensor) {
  return int64_t{1} << std::countr_zero(reinterpret_cast<uintptr_t>(tensor.data()) | 16U);
}

uint64_t hashOfKey(std::span<const int64_t> key) {
  uint64_t hash = 0x9e3779b97f4a7c15U;
  for (const int64_t word : key) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return hash;
}

void addToKey(const Tensor& tensor, std::vector<int64_t>& key) {
  key.push_back(static_cast<int64_t>(tensor.dtype()) | static_cast<int64_t>(tensor.kind()) << 8 | tensor.rank() << 16 |
                alignmentOf(tensor) << 24);
  for (const int64_t size : tensor.sizes()) key.push_back(size);
  for (const int64_t stride : tensor.strides()) key.push_back(stride);
}

void addToKey(const Scalar& scalar, const ScalarValue& value, std::vector<int64_t>& key) {
  key.push_back(scalar.id());
  key.push_back(std::visit(
      [](auto v) {
        if constexpr (std::is_same_v<decltype(v), double>)
          return std::bit_cast<int64_t>(v);
        else
          return static_cast<int64_t>(v);
      },
      value));
}

}  // namespace tokamak
