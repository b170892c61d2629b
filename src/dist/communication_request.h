// CommunicationRequest: one communication of a team as one of its ranks takes part in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/math/reduction_op.h"
#include "symbolic/data_type.h"

namespace tokamak {

/// What moves. The first ones are CommunicationType, in its order.
enum class CommunicationKind : uint8_t {
  Gather,
  Allgather,
  Scatter,
  Reduce,
  Allreduce,
  ReduceScatter,
  Broadcast,
  SendRecv,
  AllToAll,
  CollectivePermute,
  Send,
  Recv,
};
template <>
struct EnumNames<CommunicationKind> {
  static constexpr std::string_view names[] = {"Gather",    "Allgather",         "Scatter",   "Reduce",
                                               "Allreduce", "ReduceScatter",     "Broadcast", "SendRecv",
                                               "AllToAll",  "CollectivePermute", "Send",      "Recv"};
};

constexpr CommunicationKind communicationKind(CommunicationType type) { return static_cast<CommunicationKind>(type); }
constexpr CommunicationKind communicationKind(P2pType type) {
  return type == P2pType::Send ? CommunicationKind::Send : CommunicationKind::Recv;
}
constexpr bool isPointToPoint(CommunicationKind kind) {
  return kind == CommunicationKind::Send || kind == CommunicationKind::Recv;
}
constexpr bool isReducing(CommunicationKind kind) {
  return kind == CommunicationKind::Reduce || kind == CommunicationKind::Allreduce ||
         kind == CommunicationKind::ReduceScatter;
}

/// One communication. Buffers are dense arrays of elements; parts of several members lie one behind the other, in the
/// order of the team. An input may be the output itself, or the part of it that comes from this rank (of
/// ReduceScatter: the output may be the part of the input that this rank gets), where the kind is not AllToAll or
/// CollectivePermute; otherwise they do not overlap.
///
/// | kind | counts | input of a member | output of a member |
/// |---|---|---|---|
/// | Allgather, Gather | one per member | its part | all parts; of Gather: the root's alone |
/// | Scatter | one per member | the root's: all parts | its part |
/// | ReduceScatter | one per member | all parts | its part of the reduction |
/// | AllToAll | what this rank sends to each | parts for each | parts from each (`received`) |
/// | Allreduce, Reduce | one | its term | the reduction; of Reduce: the root's alone |
/// | Broadcast | one | the root's | all; the root may do without |
/// | SendRecv | one | the root's | the other member's; a team of one rank copies |
/// | CollectivePermute | one, sent to `send_to` | what it sends | from `receive_from`, of `received` |
/// | Send | one, sent to `send_to` | what it sends | none |
/// | Recv | one, from `receive_from` | none | what it receives |
///
/// A reduction takes its terms in the order of the team, half types in f32, and rounds once. Sums and products of bool
/// do not exist (they would be i64); max and min propagate NaN.
struct CommunicationRequest {
  CommunicationKind kind = CommunicationKind::Allreduce;
  DataType dtype = DataType::F32;
  std::vector<int64_t> counts = {};    ///< elements
  std::vector<int64_t> received = {};  ///< elements; of AllToAll and CollectivePermute, empty: as `counts`
  ReductionKind reduction = ReductionKind::Sum;
  int64_t root = -1;          ///< a rank; of Gather, Scatter, Reduce, Broadcast and SendRecv (who sends)
  int64_t send_to = -1;       ///< a rank
  int64_t receive_from = -1;  ///< a rank
  uint64_t program = 0;       ///< a hash of the program that makes it, the same on all ranks; 0: of none
};

/// Elements of the buffers that the member at `position` of a team of `size` ranks has; 0 where it has none.
struct BufferCounts {
  int64_t input = 0;
  int64_t output = 0;
};

/// Errors: Usage, naming the kind and what is legal, for a request that a member of this team cannot make.
void requireLegal(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank);
/// Of a legal request. A root that may do without an output has one here.
BufferCounts bufferCounts(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank);
/// "Allreduce of 16 f32 (sum)", "Broadcast of 4 i64 from rank 1", "Allgather of 3 + 3 + 2 f32".
std::string describe(const CommunicationRequest& request);
/// What differs between requests that two members made for one communication: "the dtypes differ". Empty: they belong
/// together.
std::string differenceOf(const CommunicationRequest& a, int64_t rank_of_a, const CommunicationRequest& b,
                         int64_t rank_of_b, std::span<const int64_t> team);
/// Where `rank` stands in the team, or -1.
int64_t positionOf(std::span<const int64_t> team, int64_t rank);

}  // namespace tokamak
