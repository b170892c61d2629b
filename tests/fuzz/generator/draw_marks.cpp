#include "draw_marks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "analysis/device_mesh.h"
#include "schedule/transforms.h"

namespace tokamak::generator {

namespace {

DeviceMesh drawMesh(Random& random, int64_t ranks) {
  static const std::vector<std::vector<int64_t>> kShapes = {{2}, {3}, {4}, {2, 2}, {2, 3}, {1, 2}, {3, 1}};
  DeviceMesh mesh;
  do mesh.shape = kShapes[static_cast<size_t>(random.below(static_cast<int64_t>(kShapes.size())))];
  while (std::accumulate(mesh.shape.begin(), mesh.shape.end(), int64_t{1}, std::multiplies()) > ranks);
  std::vector<int64_t> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), int64_t{0});
  for (size_t i = all.size(); i-- > 1;)
    std::swap(all[i], all[static_cast<size_t>(random.below(static_cast<int64_t>(i) + 1))]);
  const int64_t count = std::accumulate(mesh.shape.begin(), mesh.shape.end(), int64_t{1}, std::multiplies());
  mesh.devices.assign(all.begin(), all.begin() + count);
  if (random.below(2) == 0) std::ranges::sort(mesh.devices);
  return mesh;
}

// Deals axes of the tensor out over dimensions of its mesh.
void drawShards(TensorView& tensor, Random& random) {
  const DeviceMesh mesh = tensor.mesh();
  std::set<const IterDomain*> dealt;
  for (size_t d = 0; d < mesh.shape.size(); ++d) {
    const Axes shape = shapeOf(tensor);
    if (shape.empty() || random.below(3) == 0) continue;
    IterDomain* axis = shape[static_cast<size_t>(random.below(static_cast<int64_t>(shape.size())))];
    const bool is_single = axis->isBroadcast() && axis->expandedExtent() == nullptr;
    if (is_single || !dealt.insert(axis).second) continue;
    const auto position = std::ranges::find(tensor.loop(), axis) - tensor.loop().begin();
    const auto size = axis->visibleExtent()->constantInt();
    const bool is_index = size == mesh.shape[d];
    // Also chunks that are longer than they need be: 9 by 6.
    const bool is_by_factor = size && *size > 1 && random.below(4) == 0;
    int64_t chunk = 0;
    if (is_by_factor) {
      for (int64_t c = 1; c <= *size; ++c)
        if ((*size + c - 1) / c == mesh.shape[d]) chunk = c;
    }
    if (chunk > 0)
      split(&tensor, position, chunk, SplitSide::Inner);
    else if (!is_index || random.below(2) == 0)
      split(&tensor, position, mesh.shape[d], SplitSide::Outer);
    tensor.axis(position)->parallelize(*deviceTypeOf(mesh, d));
  }
}

}  // namespace

void drawMarks(Fusion& fusion, Random& random, int64_t ranks, DrawnMarks which) {
  const DeviceMesh main = drawMesh(random, ranks);
  const bool is_mixed = random.below(3) == 0;
  for (TensorView* tensor : fusion.allTensors()) {
    if (which == DrawnMarks::OfFew && random.below(4) != 0) continue;
    const int64_t chance = random.below(10);
    if (is_mixed && chance == 0) continue;
    tensor->setMesh(is_mixed && chance < 3 ? drawMesh(random, ranks) : main);
    drawShards(*tensor, random);
  }
  const auto isMarked = [](const TensorView* tensor) { return !tensor->mesh().empty(); };
  if (std::ranges::none_of(fusion.allTensors(), isMarked)) fusion.outputs()[0]->setMesh(main);
  // An output that updates an input has its marks: none, here.
  for (const auto& [output, alias] : fusion.outputAliases()) {
    for (TensorView* tensor : {output, asTensor(alias.target)}) {
      fusion.clearLoops(*tensor);
      tensor->setMesh(main);
    }
  }
}

void drawStream(Fusion& fusion, Random& random) {
  std::vector<TensorView*> tensors = fusion.allTensors();
  std::erase_if(tensors, [&](const TensorView* tensor) { return fusion.isInput(tensor) || tensor->axisCount() == 0; });
  if (tensors.empty()) return;
  TensorView* tensor = tensors[static_cast<size_t>(random.below(static_cast<int64_t>(tensors.size())))];
  const int64_t axis = random.below(tensor->axisCount());
  if (random.below(3) != 0) split(tensor, axis, 1 + random.below(4), SplitSide::Outer);
  parallelize(tensor, axis, ParallelType::Stream);
}

}  // namespace tokamak::generator
