// Resharding steps: the communications and slices by which devices get what a resharding asks for, one after the other.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/sharding.h"
#include "base/text.h"

namespace tokamak {

/// One row of the table in docs/devices_design.md, section 6.
struct ReshardingStep {
  enum class Kind : uint8_t {
    Slice,          ///< what a device keeps of what it has; nothing is sent
    Allgather,      ///< along `dimension`: a chunk of an axis becomes the whole axis
    Gather,         ///< chunks over the only dimension, on other ranks: to each of these
    Scatter,        ///< a whole tensor, on other ranks: a chunk to each of these
    Broadcast,      ///< a whole tensor to other ranks
    SendRecv,       ///< what the i-th rank of a mesh has to the i-th rank of another one
    AllToAll,       ///< along `dimension`: a chunk of an axis becomes a chunk of another one
    Allreduce,      ///< along `dimension`: terms become their reduction
    Reduce,         ///< terms over the only dimension, to the only rank of another mesh, which has one of them
    ReduceScatter,  ///< along `dimension`: terms become a chunk of their reduction
  };
  Kind kind = Kind::Slice;
  size_t dimension = 0;
  Sharding to;
};
template <>
struct EnumNames<ReshardingStep::Kind> {
  static constexpr std::string_view names[] = {"Slice",    "Allgather", "Gather",    "Scatter", "Broadcast",
                                               "SendRecv", "AllToAll",  "Allreduce", "Reduce",  "ReduceScatter"};
};

/// The steps from one sharding to another, of which every one changes one thing: one dimension of the mesh, or the
/// ranks. Those that leave less to be sent come first. Both have a mesh; none where nothing changes.
/// Between meshes of several dimensions that are cut differently the whole tensor is sent.
/// Errors: HostProgram, beginning with `operation`, unless canReshard().
std::vector<ReshardingStep> reshardingSteps(std::string_view operation, const Sharding& from, const Sharding& to);

/// Whether a tensor of sharding `from` may be set to one of `to` at all: what is partial was so, as terms come of
/// reductions alone.
bool canReshard(const Sharding& from, const Sharding& to);

}  // namespace tokamak
