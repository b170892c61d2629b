#include "host/lower/host_passes.h"

#include <algorithm>

#include "host/lower/buffer_passes.h"
#include "host/lower/lower_reshardings.h"
#include "host/lower/lower_streams.h"

namespace tokamak {

namespace {

constexpr HostPass kPasses[] = {
    {"lower-reshardings", "turns Sets that change what devices have into communications, and waits for them",
     [](HostIrContainer& program) { lowerReshardings(program); }},
    {"lower-streams", "turns axes marked Stream into host loops whose iterations are dealt out to streams",
     [](HostIrContainer& program) { lowerStreams(program, StreamSync::Hoisted); }},
    {"lower-streams-in-loop", "the same, tied to the caller's stream in every iteration (for comparison)",
     [](HostIrContainer& program) { lowerStreams(program, StreamSync::InLoop); }},
    {"lower-streams-direct", "the same; parts that devices have are exchanged in loops, each with the rank that has it",
     [](HostIrContainer& program) { lowerStreams(program, StreamSync::Hoisted, StreamTransfers::Direct); }},
    {"lower-streams-permute", "the same, by one collective permutation per iteration",
     [](HostIrContainer& program) { lowerStreams(program, StreamSync::Hoisted, StreamTransfers::Permute); }},
    {"lower-streams-ring", "the same; parts that devices have, and sums of them, travel from rank to rank",
     [](HostIrContainer& program) { lowerStreams(program, StreamSync::Hoisted, StreamTransfers::Ring); }},
    {"contract-stream-buffers", "allocates intermediates of a stream loop slice by slice, in its iterations",
     contractStreamBuffers},
    {"place-allocations", "allocates every result that nothing else allocates", placeAllocations},
    {"insert-deallocations", "gives buffers back after their last use", insertDeallocations},
};

}  // namespace

std::span<const HostPass> hostPasses() { return kPasses; }

const HostPass* findHostPass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, name, &HostPass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

}  // namespace tokamak
