#include "runtime/cuda/cuda_replay.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "device/capture.h"

namespace tokamak {

namespace {

// Microseconds of the host, as measured on an H200 (benchmarks/launch_latency.cpp says the same for this machine).
constexpr double kLaunchCost = 3.5;
constexpr double kGraphCost = 2.0;
constexpr double kUpdateCost = 0.4;

}  // namespace

CudaReplay::CudaReplay(CudaDevice& device, ReplaySteps steps)
    : device_(device), packed_(std::move(steps)), mode_event_(device.createEvent()) {
  for (int32_t e = 0; e < packed_.eventCount(); ++e) events_.push_back(device.createEvent());
  launches_ = std::ranges::count(packed_.steps(), ReplayStep::Action::Launch, &PackedStep::action);
  const auto isOfHost = [](const PackedStep& step) { return step.work != nullptr && step.work->hostWork() != nullptr; };
  may_be_graph_ = device.usesGraphs() && launches_ > 1 && std::ranges::none_of(packed_.steps(), isOfHost);
}

void CudaReplay::run(std::span<Stream* const> streams, std::span<void* const> bases,
                     std::span<void* const> parameters) {
  const CurrentContext current(*device_.context());
  packed_.patch(bases, parameters);
  // (A graph does not pay for one run.)
  const bool is_first = !std::exchange(was_called_, true);
  if (may_be_graph_ && !is_first && chooseMode() == Mode::Graph && runGraph(streams)) return;
  changeMode(Mode::Stepwise, streams);
  runStepwise(streams);
}

void CudaReplay::runInto(Capture& capture, Stream& stream, std::span<void* const> bases,
                         std::span<void* const> parameters) {
  const CurrentContext current(*device_.context());
  packed_.patch(bases, parameters);
  auto lanes = std::make_shared<CaptureLanes>(device_.captureStreams(), packed_.streamCount(), packed_.eventCount());
  lanes->makeReady(packed_);
  lanes->capture(packed_, CudaDevice::queueOf(stream).stream());
  capture.keep(std::move(lanes));
}

// Plans that cannot be captured (a library call that waits, a fill of pageable memory) always run step by step.
CudaReplay::Mode CudaReplay::chooseMode() {
  try {
    return graph_ == nullptr ? captureGraph() : modeOfChanges();
  } catch (const Error&) {
    may_be_graph_ = false;  // the graph stays until the end: it may still run
    return Mode::Stepwise;
  }
}

CudaReplay::Mode CudaReplay::captureGraph() {
  graph_ = std::make_unique<CudaGraph>(device_.captureStreams(), packed_);
  return Mode::Graph;
}

CudaReplay::Mode CudaReplay::modeOfChanges() {
  bool needs_capture = false;
  bool has_moved = false;
  for (const uint32_t step : packed_.changed()) {
    if (graph_->canUpdate(packed_, step)) continue;
    needs_capture = true;
    has_moved = has_moved || packed_.steps()[step].is_moved;
  }
  if (needs_capture) {
    if (has_moved) return Mode::Stepwise;
    graph_->captureAgain(packed_);
    return Mode::Graph;
  }
  const auto changes = static_cast<double>(packed_.changed().size());
  if (kGraphCost + kUpdateCost * changes >= kLaunchCost * static_cast<double>(launches_)) return Mode::Stepwise;
  if (changes > 0) graph_->update(packed_);
  return Mode::Graph;
}

// False if the stream has earlier work in the host's queue.
bool CudaReplay::runGraph(std::span<Stream* const> streams) {
  changeMode(Mode::Graph, streams);
  CudaQueue& queue = CudaDevice::queueOf(*streams[0]);
  return queue.tryIssue([&] { graph_->launch(queue.stream()); });
}

// A graph runs on the caller's stream only: workers wait for it, and it for them.
void CudaReplay::changeMode(Mode mode, std::span<Stream* const> streams) {
  if (std::exchange(mode_, mode) == mode) return;
  for (Stream* const worker : streams.subspan(1)) {
    Stream& before = mode == Mode::Graph ? *worker : *streams[0];
    Stream& after = mode == Mode::Graph ? *streams[0] : *worker;
    device_.record(*mode_event_, before);
    device_.wait(after, *mode_event_);
  }
}

void CudaReplay::runStepwise(std::span<Stream* const> streams) {
  for (PackedStep& step : packed_.steps()) {
    Stream& stream = *streams[static_cast<size_t>(step.stream)];
    using Action = ReplayStep::Action;
    switch (step.action) {
      case Action::Launch: CudaDevice::queueOf(stream).launch(step); break;
      case Action::Fill: device_.fill(stream, step.values[0], 0, step.bytes); break;
      case Action::Record: device_.record(*events_[static_cast<size_t>(step.event)], stream); break;
      case Action::Wait: device_.wait(stream, *events_[static_cast<size_t>(step.event)]); break;
    }
  }
}

std::unique_ptr<Replay> CudaDevice::prepareReplay(ReplaySteps steps) {
  return std::make_unique<CudaReplay>(*this, std::move(steps));
}

}  // namespace tokamak
