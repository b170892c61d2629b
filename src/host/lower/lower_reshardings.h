// Lowers reshardings: Sets that change what devices have become communications (docs/devices_design.md, section 6).
#pragma once

#include "host/ir/host_ir_container.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

struct ReshardingOptions {
  CommunicatorBackend backend = CommunicatorBackend::Local;  ///< of the Communications
};

/// lower-reshardings. Each Set of the top level and of loops' bodies whose operand and result have other shards, meshes
/// or partials becomes the Communications, slices, packs and unpacks that have its effect, of which no rank sends more
/// than the table of the page says; then Waits are placed (host/lower/place_waits.h). What is sent lies together: an
/// operand in another order, and one that may be a view, is copied before; a result in another order is one more Set.
/// What a body needs beside slices is allocated in it.
///
/// It stands before localProgram(), which every rank has of its result. Before: reshardings are Sets, those of streams
/// on slices (lower-streams).
/// After: what it made is local or a Communication.
/// Errors: HostProgram, naming the Set, for results without a mesh, and for partial ones (reshardingSteps()); those of
/// shardsOf().
void lowerReshardings(HostIrContainer& program, const ReshardingOptions& options = {});

}  // namespace tokamak
