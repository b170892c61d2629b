// CudaGraph: a plan's steps as one executable CUDA graph, whose kernels' addresses can be updated without a new
// capture.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/capture_lanes.h"
#include "runtime/cuda/driver_context.h"
#include "runtime/cuda/packed_steps.h"

namespace tokamak {

class CudaGraph {
 public:
  /// Captures the steps with their present values, which it takes (PackedSteps::takeChanges()). Errors: Device,
  /// OutOfMemory.
  CudaGraph(std::shared_ptr<StreamPool> pool, PackedSteps& packed);
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  /// What was launched is over.
  ~CudaGraph();

  /// Captures once more; what was launched is over. Errors: as the constructor's; then there is no graph any more.
  void captureAgain(PackedSteps& packed);
  /// Whether this step's values can be changed without capturing again.
  bool canUpdate(const PackedSteps& packed, uint32_t step) const;
  /// Updates the kernels of changed steps, all of which can be updated. Earlier launches keep the old values. Errors:
  /// Device.
  void update(PackedSteps& packed);
  /// The context is current. Errors: Device.
  void launch(driver::Stream stream);

 private:
  void destroy();
  driver::Graph captured(PackedSteps& packed);

  std::shared_ptr<StreamPool> pool_;
  DriverContext* context_;
  CaptureLanes lanes_;
  driver::Stream origin_ = nullptr;
  driver::Graph graph_ = nullptr;
  driver::GraphExec exec_ = nullptr;
  std::vector<driver::GraphNode> nodes_;  // per step; null where it is no kernel
};

}  // namespace tokamak
