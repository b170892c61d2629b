#include "heuristics/tiles.h"

#include <algorithm>

#include "heuristics/axis_groups.h"
#include "heuristics/kernel_rows.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

constexpr int64_t kThreadsAcross = 32;

// Lines of tiles are 128 bytes of narrow elements, 256 of wide ones: 64 by 64 elements of 2 and 4 bytes.
int64_t threadsAlong(int64_t vector) { return vector > 4 ? 8 : 16; }

size_t movingAxes(const AxisGroups::Access& access) {
  return static_cast<size_t>(std::ranges::count_if(
      access.strides, [](const Scalar* stride) { return stride == nullptr || !stride->isConstantInt(0); }));
}

std::optional<size_t> unitAxisOf(const AxisGroups::Access& access) {
  for (size_t i = access.strides.size(); i-- > 0;) {
    if (access.strides[i] != nullptr && access.strides[i]->isConstantInt(1)) return i;
  }
  return std::nullopt;
}

// [..., a, b], a and b being the axes `first` and `second` of the shape: [tiles][a][b], with both cut into tiles.
void tile(TensorView& tensor, const AxisNumbers& others, int64_t first, int64_t second, int64_t vector) {
  Fusion& fusion = tensor.fusion();
  AxisNumbers order = others;
  order.push_back(first);
  order.push_back(second);
  if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
  const int64_t a = tensor.axisCount() - 2;
  Scalar* width = fusion.constant(threadsAlong(vector) * vector);
  split(&tensor, a + 1, width);
  split(&tensor, a, width);
  // [others][a tiles][a][b tiles][b]
  AxisNumbers tiles_first = axisRange(0, a + 1);
  tiles_first.insert(tiles_first.end(), {a + 2, a + 1, a + 3});
  reorder(&tensor, tiles_first);
}

// The last two loops, a and b, over the threads of a block.
void spread(TensorView& tensor, int64_t tiles, int64_t vector) {
  Fusion& fusion = tensor.fusion();
  mergeRange(tensor, 0, tiles);
  parallelize(&tensor, 0, ParallelType::BIDx);
  split(&tensor, 2, fusion.constant(vector));
  split(&tensor, 1, fusion.constant(std::min(kThreadsAcross, threadsAlong(vector) * vector)));
  // [BIDx][unroll][TIDy][TIDx][vector]
  parallelize(&tensor, 1, ParallelType::Unroll);
  parallelize(&tensor, 2, ParallelType::TIDy);
  parallelize(&tensor, 3, ParallelType::TIDx);
  parallelize(&tensor, 4, ParallelType::Vectorize);
}

}  // namespace

std::optional<TransposedOutput> findTranspose(Fusion& fusion, TensorView& output, const Strides& strides) {
  const AxisGroups groups(fusion, output, strides);
  const AxisGroups::Access& written = groups.accesses().back();
  const auto out_axis = unitAxisOf(written);
  const auto isExpanded = [](const IterDomain* axis) { return axis->expandedExtent() != nullptr; };
  if (written.tensor != &output || !out_axis || output.logical().size() < 2) return std::nullopt;
  if (std::ranges::any_of(output.logical(), isExpanded)) return std::nullopt;
  TransposedOutput result;
  result.output = &output;
  result.out_axis = *out_axis;
  std::optional<size_t> in_axis;
  for (size_t i = 0; i + 1 < groups.accesses().size(); ++i) {
    const AxisGroups::Access& read = groups.accesses()[i];
    const Scalar* along_out = read.strides[*out_axis];
    const bool is_far = along_out == nullptr || !(along_out->isConstantInt(0) || along_out->isConstantInt(1));
    if (!is_far) continue;
    const auto unit = unitAxisOf(read);
    if (!unit || (in_axis && *in_axis != *unit) || movingAxes(read) != movingAxes(written)) return std::nullopt;
    in_axis = unit;
    auto* tensor = const_cast<TensorView*>(read.tensor);
    TransposedOutput::Input input{tensor, {}};
    const Axes shape = shapeOf(*tensor);
    if (std::ranges::any_of(shape, isExpanded)) return std::nullopt;
    for (size_t k = 0; k < shape.size(); ++k) {
      const auto found = std::ranges::find(groups.coordinates(), read.index[k]);
      const bool is_known = found != groups.coordinates().end();
      const int64_t axis = is_known ? found - groups.coordinates().begin() : -1;
      // A part that only some of the output is made of has another extent.
      const bool is_whole = is_known ? groups.extents()[static_cast<size_t>(axis)] == shape[k]->visibleExtent()
                                     : read.index[k]->isConstantInt(0) && shape[k]->isBroadcast();
      if (!is_whole) return std::nullopt;
      input.axes.push_back(axis);
    }
    if (std::ranges::count(groups.accesses(), read.tensor, &AxisGroups::Access::tensor) > 1) return std::nullopt;
    result.inputs.push_back(std::move(input));
  }
  if (!in_axis || *in_axis == *out_axis) return std::nullopt;
  for (const TransposedOutput::Input& input : result.inputs) {
    for (size_t i = 0; i < groups.coordinates().size(); ++i) {
      const bool is_there = std::ranges::find(input.axes, static_cast<int64_t>(i)) != input.axes.end();
      if (!is_there && !output.logical()[i]->isBroadcast()) return std::nullopt;
    }
  }
  result.in_axis = *in_axis;
  return result;
}

std::vector<TensorView*> scheduleTiles(const TransposedOutput& transposed, int64_t vector) {
  TensorView& output = *transposed.output;
  std::vector<TensorView*> caches;
  const auto rank = static_cast<int64_t>(output.logical().size());
  AxisNumbers others;
  for (const int64_t i : axisRange(0, rank)) {
    if (static_cast<size_t>(i) != transposed.out_axis && static_cast<size_t>(i) != transposed.in_axis)
      others.push_back(i);
  }
  for (const TransposedOutput::Input& input : transposed.inputs) {
    TensorView* cache = cache_after(input.tensor);
    cache->setMemoryType(MemoryType::Shared);
    const auto axisOf = [&](int64_t axis) { return std::ranges::find(input.axes, axis) - input.axes.begin(); };
    AxisNumbers order;
    for (size_t i = 0; i < input.axes.size(); ++i) {
      if (input.axes[i] < 0) order.push_back(static_cast<int64_t>(i));
    }
    // Axes of the output that the input does not have are 1 long.
    for (const int64_t other : others) {
      if (std::ranges::find(input.axes, other) != input.axes.end()) order.push_back(axisOf(other));
    }
    const auto out = axisOf(static_cast<int64_t>(transposed.out_axis));
    const auto in = axisOf(static_cast<int64_t>(transposed.in_axis));
    tile(*cache, order, out, in, vector);
    // Tiles are numbered as those of the output: along in_axis first.
    const int64_t tiles = cache->axisCount() - 2;
    AxisNumbers as_output = axisRange(0, cache->axisCount());
    std::swap(as_output[static_cast<size_t>(tiles) - 2], as_output[static_cast<size_t>(tiles) - 1]);
    reorder(cache, as_output);
    spread(*cache, tiles, vector);
    pad_buffer(cache, 2, 1);
    caches.push_back(cache);
  }
  tile(output, others, static_cast<int64_t>(transposed.in_axis), static_cast<int64_t>(transposed.out_axis), vector);
  spread(output, output.axisCount() - 2, vector);
  return caches;
}

}  // namespace tokamak
