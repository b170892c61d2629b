#include "analysis/tensor_part.h"

#include <algorithm>

#include "analysis/device_mesh.h"

namespace tokamak {

std::vector<IndexRange> partOf(const TensorView& tensor, std::span<const int64_t> sizes, const ScalarBindings& bindings,
                               int64_t rank) {
  std::vector<IndexRange> part;
  for (const int64_t size : sizes) part.push_back({.start = 0, .extent = size});
  const Axes shape = shapeOf(tensor);
  for (const Shard& shard : shardsOf(tensor)) {
    const auto axis = static_cast<size_t>(std::ranges::find(shape, shard.logical) - shape.begin());
    const int64_t chunk = evaluateInt(*shard.chunk, bindings);
    part[axis] = shardRange(sizes[axis], chunk, (*coordinatesOf(tensor.mesh(), rank))[shard.dimension]);
  }
  return part;
}

}  // namespace tokamak
