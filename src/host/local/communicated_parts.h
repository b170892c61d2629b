// Communicated parts: that a communication brings each rank of its team the part that the rank's mesh says.
#pragma once

#include "ir/ops/host/communication.h"

namespace tokamak {

/// Checks a Communication of a program over all ranks, with the team as it is named; rows of a mesh are alike. The
/// i-th member that has a part of what is dealt out has the i-th part: the team has all of them, in the order of the
/// mesh. Along other axes, whoever gets something has the same part of it as who sends it. Reductions combine the terms
/// of all ranks over which their input is partial; other communications leave terms as they are.
/// Errors: HostProgram, naming the communication, the tensors, the team, and what would be legal; also where it has no
/// input or no output, which only programs of one rank may lack.
void requireCommunicatedParts(const Communication& op);

}  // namespace tokamak
