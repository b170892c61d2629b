#include "dist/communication_request.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

static_assert(
    std::ranges::equal(EnumNames<CommunicationType>::names,
                       std::span(EnumNames<Kind>::names).first<std::size(EnumNames<CommunicationType>::names)>()));

bool hasRoot(Kind kind) {
  return kind == Kind::Gather || kind == Kind::Scatter || kind == Kind::Reduce || kind == Kind::Broadcast ||
         kind == Kind::SendRecv;
}

bool hasCountPerMember(Kind kind) {
  return kind == Kind::Gather || kind == Kind::Allgather || kind == Kind::Scatter || kind == Kind::ReduceScatter ||
         kind == Kind::AllToAll;
}

bool hasReceived(Kind kind) { return kind == Kind::AllToAll || kind == Kind::CollectivePermute; }

int64_t sumOf(std::span<const int64_t> counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

std::span<const int64_t> receivedOf(const CommunicationRequest& request) {
  return request.received.empty() ? request.counts : request.received;
}

void requireCounts(const CommunicationRequest& request, std::span<const int64_t> counts, int64_t members) {
  const int64_t expected = hasCountPerMember(request.kind) ? members : 1;
  TK_REQUIRE(static_cast<int64_t>(counts.size()) == expected, Usage, "{}: {} counts were given; a team of {} takes {}",
             enumName(request.kind), counts.size(), members, expected);
  for (const int64_t count : counts)
    TK_REQUIRE(count >= 0, Usage, "{}: a count of {} elements; a count is not negative", enumName(request.kind), count);
}

void requireMember(const CommunicationRequest& request, std::span<const int64_t> team, std::string_view what,
                   int64_t rank) {
  TK_REQUIRE(positionOf(team, rank) >= 0, Usage, "{}: the {} is rank {}, which is not of the team ({})",
             enumName(request.kind), what, rank, joined(team, " "));
}

// What two members say of a communication between them, where the request of each has its own side of it.
std::string pairDifference(const CommunicationRequest& from, int64_t sender, const CommunicationRequest& to,
                           int64_t receiver, std::span<const int64_t> team) {
  int64_t sent = from.counts[0];
  int64_t received = receivedOf(to)[0];
  if (from.kind == Kind::AllToAll) {
    sent = from.counts[static_cast<size_t>(positionOf(team, receiver))];
    received = receivedOf(to)[static_cast<size_t>(positionOf(team, sender))];
  } else if (from.kind == Kind::CollectivePermute) {
    if ((from.send_to == receiver) != (to.receive_from == sender))
      return fmt::format("rank {} sends to rank {}, and rank {} receives from rank {}", sender, from.send_to, receiver,
                         to.receive_from);
    if (from.send_to != receiver) return {};
  }
  if (sent == received) return {};
  return fmt::format("rank {} sends {} elements to rank {}, which expects {}", sender, sent, receiver, received);
}

}  // namespace

int64_t positionOf(std::span<const int64_t> team, int64_t rank) {
  const auto found = std::ranges::find(team, rank);
  return found == team.end() ? -1 : found - team.begin();
}

void requireLegal(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank) {
  const auto members = static_cast<int64_t>(team.size());
  requireCounts(request, request.counts, members);
  requireCounts(request, receivedOf(request), members);
  TK_REQUIRE(request.received.empty() || hasReceived(request.kind), Usage,
             "{}: counts of what is received were given; AllToAll and CollectivePermute alone take them",
             enumName(request.kind));
  if (hasRoot(request.kind)) requireMember(request, team, "root", request.root);
  TK_REQUIRE(request.kind != Kind::SendRecv || members <= 2, Usage,
             "SendRecv: a team of {} ranks; it is of two, or of one that copies", members);
  const bool is_permute = request.kind == Kind::CollectivePermute;
  if (is_permute || request.kind == Kind::Send) requireMember(request, team, "receiver", request.send_to);
  if (is_permute || request.kind == Kind::Recv) requireMember(request, team, "sender", request.receive_from);
  const int64_t peer = request.kind == Kind::Send ? request.send_to : request.receive_from;
  TK_REQUIRE(!isPointToPoint(request.kind) || peer != rank, Usage, "{}: rank {} is its own peer; it has to be another",
             enumName(request.kind), rank);
  const bool is_extreme = request.reduction == ReductionKind::Max || request.reduction == ReductionKind::Min;
  TK_REQUIRE(!isReducing(request.kind) || request.dtype != DataType::Bool || is_extreme, Usage,
             "{}: a {} of bool is i64, which has to be cast to before; legal are max and min", enumName(request.kind),
             enumName(request.reduction));
}

BufferCounts bufferCounts(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank) {
  const auto position = static_cast<size_t>(positionOf(team, rank));
  const bool is_root = request.root == rank;
  const int64_t first = request.counts[0];
  switch (request.kind) {
    case Kind::Allgather: return {request.counts[position], sumOf(request.counts)};
    case Kind::Gather: return {request.counts[position], is_root ? sumOf(request.counts) : 0};
    case Kind::Scatter: return {is_root ? sumOf(request.counts) : 0, request.counts[position]};
    case Kind::ReduceScatter: return {sumOf(request.counts), request.counts[position]};
    case Kind::AllToAll: return {sumOf(request.counts), sumOf(receivedOf(request))};
    case Kind::Allreduce: return {first, first};
    case Kind::Reduce: return {first, is_root ? first : 0};
    case Kind::Broadcast: return {is_root ? first : 0, first};
    case Kind::SendRecv: return {is_root ? first : 0, !is_root || team.size() == 1 ? first : 0};
    case Kind::CollectivePermute: return {first, receivedOf(request)[0]};
    case Kind::Send: return {first, 0};
    case Kind::Recv: return {0, first};
  }
  return {};
}

std::string describe(const CommunicationRequest& request) {
  std::string text =
      fmt::format("{} of {} {}", enumName(request.kind), joined(request.counts, " + "), dataTypeName(request.dtype));
  if (!request.received.empty()) text += fmt::format(" for {}", joined(request.received, " + "));
  if (isReducing(request.kind)) text += fmt::format(" ({})", enumName(request.reduction));
  if (request.kind == Kind::Gather || request.kind == Kind::Reduce)
    text += fmt::format(" to rank {}", request.root);
  else if (hasRoot(request.kind))
    text += fmt::format(" from rank {}", request.root);
  if (request.kind == Kind::Send || request.kind == Kind::CollectivePermute)
    text += fmt::format(" to rank {}", request.send_to);
  if (request.kind == Kind::Recv || request.kind == Kind::CollectivePermute)
    text += fmt::format(" from rank {}", request.receive_from);
  return text;
}

std::string differenceOf(const CommunicationRequest& a, int64_t rank_of_a, const CommunicationRequest& b,
                         int64_t rank_of_b, std::span<const int64_t> team) {
  if (a.kind != b.kind && !(isPointToPoint(a.kind) && isPointToPoint(b.kind))) return "the kinds differ";
  if (a.program != b.program) return "they are of two programs";
  if (a.dtype != b.dtype) return "the dtypes differ";
  if (isPointToPoint(a.kind))
    return a.kind == Kind::Send ? pairDifference(a, rank_of_a, b, rank_of_b, team)
                                : pairDifference(b, rank_of_b, a, rank_of_a, team);
  if (hasReceived(a.kind)) {
    const std::string there = pairDifference(a, rank_of_a, b, rank_of_b, team);
    return there.empty() ? pairDifference(b, rank_of_b, a, rank_of_a, team) : there;
  }
  if (a.counts != b.counts) return "the counts differ";
  if (isReducing(a.kind) && a.reduction != b.reduction) return "the reductions differ";
  if (hasRoot(a.kind) && a.root != b.root) return "the roots differ";
  return {};
}

}  // namespace tokamak
