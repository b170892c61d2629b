// CudaReplay: replays a plan's steps on a CUDA device, one by one or as a graph, with arguments packed once and
// patched.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/capture.h"
#include "device/replay.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/packed_steps.h"

namespace tokamak {

/// A plan of more than one launch becomes a graph at its second call. Calls with other addresses or parameters update
/// the graph's kernels, or are issued step by step if that costs less. Steps that cannot be updated (library calls,
/// fills) are captured again once a call repeats the addresses of the last one.
class CudaReplay final : public Replay {
 public:
  CudaReplay(CudaDevice& device, ReplaySteps steps);

  void run(std::span<Stream* const> streams, std::span<void* const> bases, std::span<void* const> parameters) override;
  void runInto(Capture& capture, Stream& stream, std::span<void* const> bases,
               std::span<void* const> parameters) override;
  int64_t hostBytes() const override { return static_cast<int64_t>(sizeof(CudaReplay)) + packed_.hostBytes(); }

 private:
  enum class Mode : uint8_t { Stepwise, Graph };

  Mode chooseMode();
  Mode captureGraph();
  Mode modeOfChanges();
  bool runGraph(std::span<Stream* const> streams);
  void runStepwise(std::span<Stream* const> streams);
  void changeMode(Mode mode, std::span<Stream* const> streams);

  CudaDevice& device_;
  PackedSteps packed_;
  std::vector<std::unique_ptr<Event>> events_;
  std::unique_ptr<Event> mode_event_;
  std::unique_ptr<CudaGraph> graph_;
  Mode mode_ = Mode::Stepwise;
  bool may_be_graph_ = false;
  bool was_called_ = false;
  int64_t launches_ = 0;
};

}  // namespace tokamak
