#include "runtime/cuda/cuda_graph.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/profiler_range.h"

namespace tokamak {

CudaGraph::CudaGraph(std::shared_ptr<StreamPool> pool, PackedSteps& packed)
    : pool_(std::move(pool)),
      context_(pool_->context().get()),
      lanes_(pool_, packed.streamCount(), packed.eventCount()) {
  try {
    captureAgain(packed);
  } catch (...) {
    destroy();
    throw;
  }
}

CudaGraph::~CudaGraph() { destroy(); }

void CudaGraph::destroy() {
  context_->quietly([&](const DriverLibrary& driver) {
    if (exec_ != nullptr) driver.graph_exec_destroy(std::exchange(exec_, nullptr));
    if (graph_ != nullptr) driver.graph_destroy(std::exchange(graph_, nullptr));
    if (origin_ != nullptr) driver.stream_destroy(std::exchange(origin_, nullptr));
  });
}

// A capture that went wrong has to be ended, too, so that the streams can be used again.
driver::Graph CudaGraph::captured(PackedSteps& packed) {
  const DriverLibrary& driver = context_->driver();
  lanes_.makeReady(packed);
  context_->check(driver.capture_begin(origin_, driver::kCaptureRelaxed), "{}: beginning a capture", context_->name());
  driver::Graph graph = nullptr;
  try {
    nodes_ = lanes_.capture(packed, origin_);
  } catch (...) {
    driver.capture_end(origin_, &graph);
    if (graph != nullptr) driver.graph_destroy(graph);
    throw;
  }
  context_->check(driver.capture_end(origin_, &graph), "{}: capturing a plan of {} steps", context_->name(),
                  packed.steps().size());
  return graph;
}

void CudaGraph::captureAgain(PackedSteps& packed) {
  static const RangeName range_name("capture graph");
  const Range range(range_name);
  const CurrentContext current(*context_);
  destroy();
  context_->check(context_->driver().stream_create(&origin_, driver::kStreamNonBlocking), "{}: creating a stream",
                  context_->name());
  graph_ = captured(packed);
  context_->check(context_->driver().graph_instantiate(&exec_, graph_, 0), "{}: making a graph of {} steps",
                  context_->name(), packed.steps().size());
  packed.takeChanges();
}

bool CudaGraph::canUpdate(const PackedSteps& packed, uint32_t step) const {
  const CudaKernelWork* const kernel = packed.steps()[step].kernel.kernel;
  return kernel != nullptr && (nodes_[step] != nullptr || !kernel->hasBlocks());
}

void CudaGraph::update(PackedSteps& packed) {
  static const RangeName range_name("update graph");
  const Range range(range_name);
  for (const uint32_t i : packed.changed()) {
    PackedStep& step = packed.steps()[i];
    if (nodes_[i] == nullptr) continue;
    step.makeReady(*context_, lanes_.lane(step));
    const driver::LaunchConfig& config = step.kernel.kernel->config();
    driver::KernelNode node{.function = step.kernel.kernel->function(),
                            .shared_bytes = config.shared_bytes,
                            .arguments = step.arguments.data()};
    std::ranges::copy(config.grid, node.grid);
    std::ranges::copy(config.block, node.block);
    context_->check(context_->driver().graph_set_kernel(exec_, nodes_[i], &node), "{}: other addresses for {}",
                    context_->name(), step.work->name());
  }
  packed.takeChanges();
}

void CudaGraph::launch(driver::Stream stream) {
  static const RangeName range_name("launch graph");
  const Range range(range_name);
  context_->check(context_->driver().graph_launch(exec_, stream), "{}: launching a graph of {} steps", context_->name(),
                  nodes_.size());
}

}  // namespace tokamak
