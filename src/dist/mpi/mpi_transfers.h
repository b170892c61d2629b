// MPI transfers: which bytes of a communication go from member to member, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"

namespace tokamak {

enum class TransferMemory : uint8_t { Input, Output, Scratch };

/// Bytes between memory of this rank and a member of the team, in one message.
struct Transfer {
  size_t member = 0;  ///< position in the team
  TransferMemory memory = TransferMemory::Input;
  int64_t offset = 0;  ///< bytes
  int64_t bytes = 0;   ///< at most MpiFunctions::kMostBytes
};

/// Bytes from the input to the output.
struct OwnCopy {
  int64_t from = 0;
  int64_t to = 0;
  int64_t bytes = 0;
};

/// Elements that this rank reduces once `receives` of the transfers' receives, from the first on, are over; then as
/// many result sends from the first on can start.
struct ReductionStep {
  size_t receives = 0;
  size_t result_sends = 0;
  int64_t count = 0;     ///< elements
  int64_t own_term = 0;  ///< of the input, in bytes
  int64_t result = 0;    ///< in bytes
  TransferMemory result_memory = TransferMemory::Output;
  std::vector<int64_t> terms;  ///< by member, of the scratch memory, in bytes; of this rank: not used
};

/// A rank's part in a communication. What one member sends another, and what that one receives, are the same messages
/// in the same order, of sends and receives, and of result sends and receives.
///
/// An Allreduce is a reduction of a share on each member, from parts of all, and results sent to all: in the order of
/// the team whatever the share, with as few bytes as any order takes. A piece of a share is reduced, and its result
/// sent, while the next ones arrive.
struct Transfers {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  std::vector<OwnCopy> copies;
  std::vector<ReductionStep> steps;
  std::vector<Transfer> result_sends;
  std::vector<Transfer> result_receives;
  int64_t scratch_bytes = 0;
};

/// Of a legal request, for the team's member at `position`.
Transfers transfersOf(const CommunicationRequest& request, std::span<const int64_t> team, size_t position);

}  // namespace tokamak
