// The verifier of host programs: the named invariants of a program that can run.
#pragma once

#include <string>
#include <vector>

#include "host/ir/host_ir_container.h"
#include "ir/verifier.h"

namespace tokamak {

/// The stage of a host program.
enum class HostStage : uint8_t {
  Written,   ///< before passes: some results have no memory yet
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
