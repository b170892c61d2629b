#include "kernel/bind_kernel.h"

#include <algorithm>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "kernel/gpu_launch_limits.h"

namespace tokamak::kir {

void bindBuffer(const Kernel& kernel, size_t tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                ScalarBindings& bindings) {
  const TensorView& view = *kernel.tensors[tensor];
  bindShape(view, sizes, bindings);
  const Axes shape = shapeOf(view);
  const std::vector<Scalar*>& expected = kernel.strides.at(&view);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (expected[i]->isSymbol()) bindings.try_emplace(expected[i], strides[i]);
  }
  // (Strides of a tensor without elements mean nothing.)
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i]->isBroadcast() || sizes[i] == 1) continue;
    const int64_t stride = evaluateInt(*expected[i], bindings);
    TK_REQUIRE(stride == strides[i], Bind, "{}: axis {} of {} has stride {}, the kernel was compiled for {}",
               kernel.name, i, toString(view), strides[i], stride);
  }
}

std::vector<Scalar*> givenSymbols(const Kernel& kernel) {
  std::vector<Scalar*> given = kernel.symbols;
  for (const TensorView* tensor : kernel.tensors) {
    for (const IterDomain* axis : shapeOf(*tensor)) std::erase(given, axis->visibleExtent());
    for (const Scalar* stride : kernel.strides.at(tensor)) std::erase(given, stride);
  }
  return given;
}

LaunchSize launchSize(const Kernel& kernel, const ScalarBindings& bindings) {
  LaunchSize size;
  for (const LaunchDimension& dimension : kernel.dimensions)
    (isThreadType(dimension.type) ? size.threads : size.blocks) *= evaluateInt(*dimension.extent, bindings);
  return size;
}

void requireLaunchableOnGpu(const Kernel& kernel, const ScalarBindings& bindings) {
  int64_t threads = 1;
  for (const LaunchDimension& dimension : kernel.dimensions) {
    const int64_t extent = evaluateInt(*dimension.extent, bindings);
    const bool is_thread = isThreadType(dimension.type);
    const int64_t most_blocks = kMostGpuBlocks[dimension.type == ParallelType::BIDx ? 0 : 1];
    const int64_t most = is_thread ? kMostGpuBlockThreads : most_blocks;
    TK_REQUIRE(
        extent <= most, Unsupported,
        "kernel {}: at these sizes it has {} {} along {}; a GPU takes at most {}; split the axis, and give {} the "
        "part of a constant size, or export smaller sizes",
        kernel.name, extent, is_thread ? "threads" : "blocks", parallelTypeName(dimension.type), most,
        parallelTypeName(dimension.type));
    if (is_thread) threads *= extent;
  }
  TK_REQUIRE(threads <= kMostGpuBlockThreads, Unsupported,
             "kernel {}: at these sizes its blocks have {} threads; a GPU takes at most {}", kernel.name, threads,
             kMostGpuBlockThreads);
}

KernelWorkspace workspaceOf(const Kernel& kernel, const ScalarBindings& bindings) {
  const GridReduce* grid = gridReduceOf(kernel);
  if (grid == nullptr) return {};
  KernelWorkspace workspace{.counters = 1};
  int64_t members = 1;
  for (const LaunchDimension& dimension : kernel.dimensions) {
    if (isThreadType(dimension.type)) continue;
    const bool is_member = std::ranges::find(grid->dimensions, dimension.type) != grid->dimensions.end();
    (is_member ? members : workspace.counters) *= evaluateInt(*dimension.extent, bindings);
  }
  constexpr int64_t kAlignment = 16;
  const auto aligned = [](int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  workspace.bytes = aligned(workspace.counters * 4);
  for (const GridReduce::Value& value : grid->values) {
    int64_t threads = 1;
    for (const ParallelType type : value.spread) threads *= evaluateInt(*kernel.dimension(type)->extent, bindings);
    workspace.bytes += aligned(workspace.counters * members * threads * value.count * sizeOf(value.tensor->dtype()));
  }
  return workspace;
}

}  // namespace tokamak::kir
