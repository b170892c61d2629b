// From a fusion to a host program: graph passes, segments, streams, buffers.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "compile/compile_options.h"
#include "device/kernel_target.h"
#include "host/ir/host_ir_container.h"
#include "host/lower/lower_streams.h"

namespace tokamak {

enum class Grouping : uint8_t {
  Single,    ///< each op alone
  Segments,  ///< ops that need not stand alone are merged maximally into segments
  Fused,     ///< the fusion is simplified (graph/), then ops are merged as long as they can be one kernel
  Whole,     ///< ops that depend on one another are one kernel, by the schedule that they have
};

/// Whether groups are meant for SegmentMode::Kernels.
inline bool makesKernels(Grouping grouping) { return grouping == Grouping::Fused || grouping == Grouping::Whole; }

struct HostLoweringOptions {
  Grouping grouping = Grouping::Fused;
  StreamSync stream_sync = StreamSync::Hoisted;
  StreamTransfers stream_transfers = StreamTransfers::None;  ///< of programs over devices
  std::optional<KernelTarget> target = std::nullopt;         ///< what Fused merges for; by default a processor
  OutputViews output_views = OutputViews::Give;
  OutputLayouts output_layouts = OutputLayouts::Inferred;
  /// Called with the program as lower-streams left it, before the buffer passes.
  std::function<void(const HostIrContainer&)> after_streams = {};
};

/// Clones the fusion's live ops, in topological order, into a program: ops that stand alone as statements, other groups
/// (of more than one op) as PostOnStream. All its tensors are Global; outputs that update an input become aliases of
/// it. Of a fusion over devices (meshes, device axes, partial tensors) reshardings are Sets of their own
/// (host/lower/lower_reshardings.h lowers them), other groups are of tensors on one mesh, and no graph passes run.
std::unique_ptr<HostIrContainer> makeHostProgram(const Fusion& fusion, const HostLoweringOptions& options = {});

/// lower-streams and the passes after it, on a program that makeHostProgram made or a text holds.
/// Errors: HostProgram for a malformed program; those of the passes.
void finishHostProgram(HostIrContainer& program, const HostLoweringOptions& options);

/// The program over ranks that a fusion over devices is: marks are propagated, ops made local by reshardings
/// (graph/propagate_shardings.h, graph/make_reshardings.h), and these lowered to communications. What each rank runs is
/// made by localProgram() and finishHostProgram(). Errors: those of these; HostProgram for tensors without a place.
std::unique_ptr<HostIrContainer> lowerToRanks(const Fusion& fusion, const HostLoweringOptions& options);

/// The whole way for one device: makeHostProgram, lower-streams, contract-stream-buffers, place-allocations,
/// insert-deallocations.
/// Errors: Unsupported for a fusion over devices.
std::unique_ptr<HostIrContainer> lowerToHostProgram(const Fusion& fusion, const HostLoweringOptions& options);

}  // namespace tokamak
