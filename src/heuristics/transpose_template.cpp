#include "heuristics/transpose_template.h"

#include <algorithm>
#include <utility>

#include "heuristics/access_contiguity.h"
#include "heuristics/reduction_structure.h"
#include "ir/extent_assumptions.h"
#include "schedule/cache.h"
#include "schedule/memory.h"
#include "schedule/transforms.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

namespace {

constexpr int64_t kBlockY = 32;

// Lines of tiles are 128 bytes of narrow elements, 256 of wide ones: 64 by 64 elements of 2 and 4 bytes.
int64_t threadsAlong(int64_t vector) { return vector > 4 ? 8 : 16; }

size_t movingAxes(const AccessContiguity::Access& access) {
  return static_cast<size_t>(std::ranges::count_if(
      access.strides, [](const Scalar* stride) { return stride == nullptr || !stride->isConstantInt(0); }));
}

std::optional<size_t> unitAxisOf(const AccessContiguity::Access& access) {
  for (size_t i = access.strides.size(); i-- > 0;) {
    if (access.strides[i] != nullptr && access.strides[i]->isConstantInt(1)) return i;
  }
  return std::nullopt;
}

// A tile's elements along in_axis and along out_axis.
struct TileShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t vector = 1;  // elements of a vectorised access
};

TileShape squareTile(int64_t vector) {
  const int64_t width = threadsAlong(vector) * vector;
  return {.in = width, .out = width, .vector = vector};
}

// Of narrow types 256 bytes are read at a time.
TileShape outputTile(int64_t vector) {
  constexpr int64_t kWide = 128;
  TileShape shape = squareTile(vector);
  if (vector > 4) shape.in = kWide;
  return shape;
}

// Splits axes a and b into tiles with these sides: [tiles][a][b].
void tile(TensorView& tensor, const AxisNumbers& others, std::pair<int64_t, int64_t> a_and_b,
          std::pair<int64_t, int64_t> sides) {
  Fusion& fusion = tensor.fusion();
  AxisNumbers order = others;
  order.push_back(a_and_b.first);
  order.push_back(a_and_b.second);
  if (order != axisRange(0, tensor.axisCount())) reorder(&tensor, order);
  const int64_t a = tensor.axisCount() - 2;
  split(&tensor, a + 1, fusion.constant(sides.second));
  split(&tensor, a, fusion.constant(sides.first));
  // [others][a tiles][a][b tiles][b]
  AxisNumbers tiles_first = axisRange(0, a + 1);
  tiles_first.insert(tiles_first.end(), {a + 2, a + 1, a + 3});
  reorder(&tensor, tiles_first);
}

// Distributes the last two loops, those of a tile, over the threads of a block.
void distribute(TensorView& tensor, const TileShape& shape, std::pair<int64_t, int64_t> sides) {
  Fusion& fusion = tensor.fusion();
  mergeRange(tensor, 0, tensor.axisCount() - 2);
  parallelize(&tensor, 0, ParallelType::BIDx);
  split(&tensor, 2, fusion.constant(shape.vector));
  // The threads along x have the shorter side; what a longer one has more goes to threads along y.
  const int64_t along = std::min(shape.in, shape.out) / shape.vector;
  const int64_t lines = sides.second / shape.vector / along;
  const int64_t down = kBlockY * shape.in / std::min(shape.in, shape.out);
  if (lines > 1) split(&tensor, 2, fusion.constant(along));
  split(&tensor, 1, fusion.constant(std::min(down / lines, sides.first)));
  if (lines > 1) merge(&tensor, 2);
  // [BIDx][unroll][TIDy][TIDx][vector]
  parallelize(&tensor, 1, ParallelType::Unroll);
  parallelize(&tensor, 2, ParallelType::TIDy);
  parallelize(&tensor, 3, ParallelType::TIDx);
  parallelize(&tensor, 4, ParallelType::Vectorize);
}

// Schedules a cache in shared memory with the axes [others][out_axis][in_axis].
void scheduleShared(TensorView& cache, const AxisNumbers& others, std::pair<int64_t, int64_t> out_and_in,
                    const TileShape& shape) {
  cache.setMemoryType(MemoryType::Shared);
  tile(cache, others, out_and_in, {shape.out, shape.in});
  // Tiles have the order of the output's: along in_axis first.
  const int64_t tiles = cache.axisCount() - 2;
  AxisNumbers as_output = axisRange(0, cache.axisCount());
  std::swap(as_output[static_cast<size_t>(tiles) - 2], as_output[static_cast<size_t>(tiles) - 1]);
  reorder(&cache, as_output);
  distribute(cache, shape, {shape.out, shape.in});
  pad_buffer(&cache, 2, 1);
}

// Whether the cache holds the output, because it has fewer bytes than the inputs. With as many bytes wide tiles of the
// output are a little faster if all are whole.
bool isOutputTiled(const TransposedOutput& transposed, int64_t vector) {
  const TensorView& output = *transposed.output;
  if (transposed.has_untransposed_input) return false;
  int64_t read_bytes = 0;
  for (const TransposedOutput::Input& input : transposed.inputs) read_bytes += sizeOf(input.tensor->dtype());
  if (read_bytes != sizeOf(output.dtype())) return read_bytes > sizeOf(output.dtype());
  const TileShape shape = outputTile(vector);
  Fusion& fusion = output.fusion();
  IntervalAnalysis analysis;
  assumeExtents(analysis, fusion);
  Scalar* extent = output.logical()[transposed.in_axis]->extent();
  return shape.in > shape.out && analysis.isProvablyDivisible(*extent, *fusion.constant(shape.in));
}

}  // namespace

std::optional<TransposedOutput> findTranspose(Fusion& fusion, TensorView& output, const Strides& strides) {
  const AccessContiguity contiguity(fusion, output, strides);
  const AccessContiguity::Access& written = contiguity.accesses().back();
  const auto out_axis = unitAxisOf(written);
  const auto isExpanded = [](const IterDomain* axis) { return axis->expandedExtent() != nullptr; };
  if (written.tensor != &output || !out_axis || output.logical().size() < 2) return std::nullopt;
  if (std::ranges::any_of(output.logical(), isExpanded)) return std::nullopt;
  TransposedOutput result;
  result.output = &output;
  result.out_axis = *out_axis;
  std::optional<size_t> in_axis;
  for (size_t i = 0; i + 1 < contiguity.accesses().size(); ++i) {
    const AccessContiguity::Access& read = contiguity.accesses()[i];
    const Scalar* along_out = read.strides[*out_axis];
    const bool is_strided = along_out == nullptr || !(along_out->isConstantInt(0) || along_out->isConstantInt(1));
    if (!is_strided) {
      result.has_untransposed_input |= movingAxes(read) == movingAxes(written);
      continue;
    }
    const auto unit = unitAxisOf(read);
    if (!unit || (in_axis && *in_axis != *unit) || movingAxes(read) != movingAxes(written)) return std::nullopt;
    in_axis = unit;
    auto* tensor = const_cast<TensorView*>(read.tensor);
    TransposedOutput::Input input{tensor, {}};
    const Axes shape = shapeOf(*tensor);
    if (std::ranges::any_of(shape, isExpanded)) return std::nullopt;
    for (size_t k = 0; k < shape.size(); ++k) {
      const auto found = std::ranges::find(contiguity.coordinates(), read.index[k]);
      const bool is_known = found != contiguity.coordinates().end();
      const int64_t axis = is_known ? found - contiguity.coordinates().begin() : -1;
      // An operand of a concatenation, say, has another extent.
      const bool is_whole = is_known ? contiguity.extents()[static_cast<size_t>(axis)] == shape[k]->visibleExtent()
                                     : read.index[k]->isConstantInt(0) && shape[k]->isBroadcast();
      if (!is_whole) return std::nullopt;
      input.axes.push_back(axis);
    }
    if (std::ranges::count(contiguity.accesses(), read.tensor, &AccessContiguity::Access::tensor) > 1)
      return std::nullopt;
    result.inputs.push_back(std::move(input));
  }
  if (!in_axis || *in_axis == *out_axis) return std::nullopt;
  for (const TransposedOutput::Input& input : result.inputs) {
    for (size_t i = 0; i < contiguity.coordinates().size(); ++i) {
      const bool is_there = std::ranges::find(input.axes, static_cast<int64_t>(i)) != input.axes.end();
      if (!is_there && !output.logical()[i]->isBroadcast()) return std::nullopt;
    }
  }
  result.in_axis = *in_axis;
  return result;
}

std::vector<TensorView*> scheduleTranspose(const TransposedOutput& transposed, int64_t vector) {
  TensorView& output = *transposed.output;
  const auto out_axis = static_cast<int64_t>(transposed.out_axis);
  const auto in_axis = static_cast<int64_t>(transposed.in_axis);
  const bool is_output_tiled = isOutputTiled(transposed, vector);
  const TileShape shape = is_output_tiled ? outputTile(vector) : squareTile(vector);
  std::vector<TensorView*> caches;
  AxisNumbers others;
  for (const int64_t i : axisRange(0, static_cast<int64_t>(output.logical().size()))) {
    if (i != out_axis && i != in_axis) others.push_back(i);
  }
  if (is_output_tiled) {
    caches.push_back(cache_before(&output));
    scheduleShared(*caches[0], others, {out_axis, in_axis}, shape);
  }
  for (const TransposedOutput::Input& input : transposed.inputs) {
    if (is_output_tiled) break;
    TensorView* cache = cache_after(input.tensor);
    const auto axisOf = [&](int64_t axis) { return std::ranges::find(input.axes, axis) - input.axes.begin(); };
    AxisNumbers order;
    for (size_t i = 0; i < input.axes.size(); ++i) {
      if (input.axes[i] < 0) order.push_back(static_cast<int64_t>(i));
    }
    // Axes of the output that the input does not have are 1 long.
    for (const int64_t other : others) {
      if (std::ranges::find(input.axes, other) != input.axes.end()) order.push_back(axisOf(other));
    }
    scheduleShared(*cache, order, {axisOf(out_axis), axisOf(in_axis)}, shape);
    caches.push_back(cache);
  }
  tile(output, others, {in_axis, out_axis}, {shape.in, shape.out});
  distribute(output, shape, {shape.in, shape.out});
  return caches;
}

}  // namespace tokamak
