// The verifier of host programs: what a program must be like to be run, as a list of named invariants.
#pragma once

#include <string>
#include <vector>

#include "host/ir/host_ir_container.h"
#include "ir/verifier.h"

namespace tokamak {

/// How far a host program has come.
enum class HostStage : uint8_t {
  Written,   ///< the passes are still to come: some results have no memory yet
  Finished,  ///< ready to run
};

/// In the order in which they are checked: later ones rely on earlier ones.
std::vector<Invariant> hostInvariants();
/// The invariants as text, one "name: sentence" per line.
std::string hostLegalitySpec();

/// Every violation of the first invariant that does not hold; empty for a legal program.
std::vector<Violation> violationsOf(const HostIrContainer& program, HostStage stage = HostStage::Finished);
/// Errors: HostProgram with the first violation's message.
void verifyHostProgram(const HostIrContainer& program, HostStage stage = HostStage::Finished);

}  // namespace tokamak
