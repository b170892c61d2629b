#include "dist/peer_copy/peer_reads.h"

#include <numeric>

namespace tokamak {

namespace {

using Kind = CommunicationKind;

// Whether `reader` reads input of `owner`, where one of them is the rank of the request.
bool isRead(const CommunicationRequest& request, int64_t owner, int64_t reader, bool is_own_input) {
  switch (request.kind) {
    case Kind::Gather:
    case Kind::Reduce: return reader == request.root;
    case Kind::Scatter:
    case Kind::Broadcast:
    case Kind::SendRecv: return owner == request.root;
    case Kind::CollectivePermute: return is_own_input ? reader == request.send_to : owner == request.receive_from;
    case Kind::Send: return is_own_input && reader != owner;
    case Kind::Recv: return !is_own_input && reader != owner;
    default: return true;
  }
}

}  // namespace

int64_t sentBefore(const CommunicationRequest& request, size_t member) {
  return std::accumulate(request.counts.begin(), request.counts.begin() + static_cast<std::ptrdiff_t>(member),
                         int64_t{0});
}

PeerReads peerReads(const CommunicationRequest& request, const CommunicationOperands& operands,
                    std::span<const int64_t> members, size_t own) {
  PeerReads reads;
  const bool reduces = isReducing(request.kind) && members.size() > 1;
  if (reduces) {
    const bool has_part = request.kind != Kind::Reduce;
    reads.terms_begin = has_part ? operands.offsets[own] : 0;
    if (request.kind == Kind::Allreduce)
      reads.terms_count = operands.offsets[own + 1] - operands.offsets[own];
    else
      reads.terms_count = operands.counts.output;
  }
  // The own part, and then the others', each rank beginning with another one.
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t other = (own + i) % members.size();
    if (other != own && isRead(request, members[own], members[other], true)) reads.readers.push_back(other);
    if (!isRead(request, members[other], members[own], false)) continue;
    if (other != own) reads.owners.push_back(other);
    if (reduces) continue;
    PeerPiece piece = {.member = other, .count = operands.counts.output};
    if (request.kind == Kind::Allgather || request.kind == Kind::Gather || request.kind == Kind::AllToAll) {
      piece.to = operands.offsets[other];
      piece.count = operands.offsets[other + 1] - piece.to;
    }
    if (request.kind == Kind::Scatter) piece.from = operands.offsets[own];
    if (piece.count > 0) reads.pieces.push_back(piece);
  }
  return reads;
}

}  // namespace tokamak
