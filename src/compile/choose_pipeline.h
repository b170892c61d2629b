// Choose pipeline: into how many chunks stream loops with communication are cut, by which transport they send, and how
// ranks exchange the parts that loops run along, if nobody says so. The model of the machine decides
// (simulate/program_simulation.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compile/lower_fusion.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/loop_limit.h"
#include "host/ir/segment_mode.h"
#include "simulate/machine.h"

namespace tokamak {

struct PipelineOptions {
  int64_t ranks = 1;
  std::string transport = {};         ///< of all communications; empty: any that the machine has
  HostLoweringOptions lowering = {};  ///< of each rank's program
  int64_t number_of_streams = 4;
  SegmentMode segments = SegmentMode::Kernels;
  int64_t most_iterations = kMostIterations;
};

/// Numbers of iterations, by the name of the extent.
using ChunkNumbers = std::map<std::string, int64_t>;

struct PipelineTrial {
  ChunkNumbers chunks;
  std::string transport;
  StreamTransfers transfers = StreamTransfers::None;
  double seconds = 0;  ///< predicted
};

struct ChosenPipeline {
  PipelineTrial best;
  std::vector<PipelineTrial> trials;  ///< all that was predicted, in order
};

/// The extents of stream loops that nobody gives a value: named symbols that are in no type of an input and not in
/// `extents`, as of `symbol chunks: i64` and split(y, axis=0, factor=chunks, inner_split=false). By name.
std::vector<const Scalar*> openChunkNumbers(const HostIrContainer& program, const ScalarBindings& extents);

/// The fastest, by the model, of these: each open number is 1, 2, 3, 4, 6, 8, 12, ... 64, up to the extent of the axis
/// that is cut; numbers are chosen one after the other, those to come being 1. The smallest one is taken that is within
/// 1 % of the fastest. Each transport that can do all that the program needs is tried, and the fastest taken. The
/// result is the same on all ranks.
/// Before: `program` is one over ranks, with all marks; `extents` has the values of all its symbols but the open ones.
/// Errors: those of simulate(), if no transport can.
ChosenPipeline choosePipeline(const HostIrContainer& program, const ScalarBindings& extents, const Machine& machine,
                              const PipelineOptions& options);

/// A fusion over devices, lowered with the transfers that were chosen.
struct ChosenTransfers {
  std::unique_ptr<HostIrContainer> program;
  ScalarBindings extents;  ///< of the program, with the numbers of chunks
  ChosenPipeline pipeline;
};

/// The fastest, by the model, of all StreamTransfers with what choosePipeline() chooses for each: the first one, in
/// their order, that is within 1 % of the fastest. Transfers that change nothing of the program are not tried.
/// `extents`: those of a program that it is given. `options.lowering.stream_transfers` has no effect. The result is the
/// same on all ranks. Errors: those of lowerToRanks() and choosePipeline(), if no transfers can.
ChosenTransfers chooseTransfers(const Fusion& fusion, const std::function<ScalarBindings(HostIrContainer&)>& extents,
                                const Machine& machine, const PipelineOptions& options);

/// "none", "direct", "permute" or "ring".
std::string_view nameOf(StreamTransfers transfers);

/// "a = 4, b = 2", by name.
std::string toString(const ChunkNumbers& chunks);

}  // namespace tokamak
