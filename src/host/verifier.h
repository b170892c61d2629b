// The verifier of host programs: what a program must be like to be run, as a list of named invariants.
#pragma once

#include <string>
#include <vector>

#include "host/host_ir_container.h"
#include "ir/verifier.h"

namespace tokamak {

/// In the order in which they are checked: later ones rely on earlier ones.
std::vector<Invariant> hostInvariants();
/// The invariants as text, one "name: sentence" per line.
std::string hostLegalitySpec();

/// Every violation of the first invariant that does not hold; empty for a legal program.
std::vector<Violation> violationsOf(const HostIrContainer& program);
/// Errors: HostProgram with the first violation's message.
void verifyHostProgram(const HostIrContainer& program);

}  // namespace tokamak
