// Peer reads: what a rank copies from memory of other members in a communication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"

namespace tokamak {

/// Elements that a member copies; members by position in the channel.
struct PeerPiece {
  size_t member = 0;  ///< whose memory it is; may be the own one
  int64_t from = 0;   ///< in that member's input
  int64_t to = 0;     ///< in the own output
  int64_t count = 0;
};

/// Of a legal request, on the rank that is `own` among the members of its channel: the team, or of a Send or Recv
/// sender and receiver. All members may only read memory of others, nobody writes it.
struct PeerReads {
  std::vector<size_t> owners = {};     ///< others whose input this rank reads; of Allreduce, also their results
  std::vector<size_t> readers = {};    ///< others that read this rank's
  std::vector<PeerPiece> pieces = {};  ///< what is copied to the output; the own part, too
  /// Of a reduction, in a team of several: the part of all members' inputs that this rank reduces.
  int64_t terms_begin = 0;
  int64_t terms_count = 0;
};
/// Of AllToAll, `from` of the pieces is known to the owner alone: sentBefore() of its request.
PeerReads peerReads(const CommunicationRequest& request, const CommunicationOperands& operands,
                    std::span<const int64_t> members, size_t own);
/// Where what `member` gets begins in what the rank of this AllToAll sends.
int64_t sentBefore(const CommunicationRequest& request, size_t member);

}  // namespace tokamak
