// Agreement of ranks: that they are about to run the same, before any of them does.
#pragma once

#include <string>
#include <vector>

#include "dist/communicator.h"
#include "host/ir/host_ir_container.h"
#include "symbolic/scalar.h"

namespace tokamak {

struct RunFact {
  std::string name;
  std::string value;
  bool is_of_equal_chunks = false;  ///< RankOrigin::Value

  bool operator==(const RunFact&) const = default;
};

/// What a rank is about to run: facts by name, in an order of its own.
using RunFacts = std::vector<RunFact>;

/// Of a rank's part of a program: the version of the library, the whole program, and the values of RankOrigin that
/// `bindings` tell.
RunFacts factsOf(const HostIrContainer& program, const ScalarBindings& bindings);

/// Compares what the members of the team have for each name; where a member has none, nothing. Every member calls it.
/// Blocks until all have, or until the team is broken. Errors: CommunicationError: a Mismatch that lists, on each
/// member in the same words, what differs and between which two ranks; and where a member does not come.
/// Gives whether `is_told` of any member.
bool requireAgreement(TeamCommunicator& team, Device& device, const std::string& program, const RunFacts& facts,
                      bool is_told = false);

}  // namespace tokamak
