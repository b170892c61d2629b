// Local programs: a host program over ranks as one of them runs it (docs/devices_design.md, section 1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/ir/host_ir_container.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

/// How a rank finds an extent n that no input of its own tells whole, but by chunks of ceilDiv(n, d).
enum class WholeExtents : uint8_t {
  OfParts,  ///< d times its own chunk: all have to have the same
  Given,    ///< who runs the program knows all ranks' inputs, and binds the symbol n
};

/// A rank of a job of `ranks` ranks: 0 <= number < ranks.
struct JobRank {
  int64_t number = 0;
  int64_t ranks = 1;
  WholeExtents extents = WholeExtents::OfParts;
  std::optional<CommunicatorBackend> backend = {};  ///< that carries its communications; none: the one that they name
};

/// What `rank` does of the program: an ordinary host program, in which nothing but communications knows of devices.
///
/// - Tensors have the sizes that the rank has, and neither meshes nor device marks; segments are copied likewise. What
///   is computed of extents stays whole: where a segment does so, they become scalar inputs of it.
/// - Statements, inputs, outputs and loops of meshes without the rank are left out. A Communication stays where the
///   rank is in its team. Its `team` and `root` are those of the rank, and the side of which it has nothing is null.
/// - A Set of a whole tensor to a sharded one on the same ranks is a Set of a slice.
/// - An extent n that no input tells whole, but by chunks of ceilDiv(n, d), is d times the size of a chunk, which has a
///   symbol of its own; or it stays a symbol that is given with the inputs (WholeExtents).
///
/// What is reduced over parts is a term of the rank: the result is marked partial, and only communications that combine
/// the terms, or move them, read it. The copy does not say so any more.
///
/// It stands before planning. Before: the program is legal (verifyHostProgram), and every statement but
/// communications is local (requireLocal in host/local/local_ops.h). After: it is legal.
/// Thread safety: one thread at a time per program: it makes scalars in it.
/// Errors: HostProgram, naming the statement, the tensor and the axis: for shards that are refused (shardsOf), meshes
/// with ranks outside of the job, ops that are not local, views along sharded axes, sharded operands of LaunchKernel,
/// segments whose tensors have other shards than what they are posted with, statements some of whose tensors the rank
/// does not have, and extents that nothing tells.
std::unique_ptr<HostIrContainer> localProgram(const HostIrContainer& program, JobRank rank);

/// The same, of a program that all ranks of the job are to run: where one of them lacks what a statement needs, all are
/// refused, and nobody waits for it. Errors: as localProgram(), with a note that names another rank.
std::unique_ptr<HostIrContainer> localProgramInJob(const HostIrContainer& program, JobRank rank);

}  // namespace tokamak
