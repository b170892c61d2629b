#include "simulate/communication_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

struct Moves {
  double steps = 1;
  std::vector<MovedBytes> moved = {};
};

double mostOf(std::span<const MovedBytes> moved) {
  double most = 0;
  for (const MovedBytes& bytes : moved) most = std::max({most, bytes.sent, bytes.received});
  return most;
}

// The collectives of a team, by kind and algorithm.
class CollectiveMoves {
 public:
  CollectiveMoves(const RankMeeting& meeting, TransportAlgorithm algorithm)
      : meeting_(meeting),
        request_(*meeting.parties[0].asks),
        algorithm_(algorithm),
        members_(meeting.parties.size()),
        width_(static_cast<double>(sizeOf(request_.dtype))) {}

  Moves moves() const {
    const bool is_ring = algorithm_ == TransportAlgorithm::Ring;
    switch (request_.kind) {
      case Kind::Allgather: return is_ring ? ofAllParts(1, 0) : directAllgather();
      case Kind::ReduceScatter: return ofAllParts(0, 1);
      case Kind::Gather:
      case Kind::Scatter: return rooted();
      case Kind::Broadcast: return is_ring ? pipeline() : directBroadcast();
      case Kind::Reduce: return pipeline();
      case Kind::AllToAll: return allToAll();
      default: return directBroadcast();  // SendRecv
    }
  }

  // Of an Allreduce. (Ring: a ReduceScatter and an Allgather of equal parts.)
  Moves ringAllreduce() const {
    const double most = 2 * bytesOf(0) * (members() - 1) / members();
    return {2 * (members() - 1), std::vector<MovedBytes>(members_, {most, most})};
  }
  Moves treeAllreduce() const {
    return {2 * std::ceil(std::log2(members())), std::vector<MovedBytes>(members_, {2 * bytesOf(0), 2 * bytesOf(0)})};
  }

 private:
  double members() const { return static_cast<double>(members_); }
  double bytesOf(size_t part) const { return width_ * static_cast<double>(request_.counts[part]); }
  double allBytes() const {
    return width_ * static_cast<double>(std::accumulate(request_.counts.begin(), request_.counts.end(), int64_t{0}));
  }

  // Around the ring, a member passes on all parts but the next one's, or all but its own.
  Moves ofAllParts(size_t kept_by_sender, size_t kept_by_receiver) const {
    Moves made{members() - 1, {}};
    for (size_t i = 0; i < members_; ++i)
      made.moved.push_back({allBytes() - bytesOf((i + kept_by_sender) % members_),
                            allBytes() - bytesOf((i + kept_by_receiver) % members_)});
    return made;
  }

  Moves directAllgather() const {
    Moves made{members() - 1, {}};
    for (size_t i = 0; i < members_; ++i) made.moved.push_back({bytesOf(i) * (members() - 1), allBytes() - bytesOf(i)});
    return made;
  }

  size_t root() const {
    const auto isRoot = [&](const MeetingParty& party) { return party.rank == request_.root; };
    return static_cast<size_t>(std::ranges::find_if(meeting_.parties, isRoot) - meeting_.parties.begin());
  }

  Moves rooted() const {
    Moves made{members() - 1, {}};
    const bool gathers = request_.kind == Kind::Gather;
    for (size_t i = 0; i < members_; ++i) {
      const double bytes = i == root() ? allBytes() - bytesOf(i) : bytesOf(i);
      made.moved.push_back((i == root()) == gathers ? MovedBytes{0, bytes} : MovedBytes{bytes, 0});
    }
    return made;
  }

  // From the root on (or to it), each member passes all on to the next, but for the last (or from the first).
  Moves pipeline() const {
    Moves made{members() - 1, std::vector<MovedBytes>(members_, {bytesOf(0), bytesOf(0)})};
    const size_t last = (root() + members_ - 1) % members_;
    if (request_.kind == Kind::Broadcast) {
      made.moved[root()].received = 0;
      made.moved[last].sent = 0;
    } else {
      made.moved[root()].sent = 0;
      made.moved[(root() + 1) % members_].received = 0;
    }
    return made;
  }

  Moves directBroadcast() const {
    Moves made{std::max(1.0, members() - 1), std::vector<MovedBytes>(members_, {0, bytesOf(0)})};
    made.moved[root()] = {bytesOf(0) * (members() - 1), 0};
    return made;
  }

  Moves allToAll() const {
    Moves made{members() - 1, std::vector<MovedBytes>(members_)};
    for (size_t from = 0; from < members_; ++from) {
      const std::vector<int64_t>& counts = meeting_.parties[from].asks->counts;
      for (size_t to = 0; to < members_; ++to) {
        if (to == from) continue;
        made.moved[from].sent += width_ * static_cast<double>(counts[to]);
        made.moved[to].received += width_ * static_cast<double>(counts[to]);
      }
    }
    return made;
  }

  const RankMeeting& meeting_;
  const CommunicationRequest& request_;
  const TransportAlgorithm algorithm_;
  const size_t members_;
  const double width_;
};

bool isOverNetwork(const RankMeeting& meeting, const Machine& machine) {
  const auto hostOf = [&](const MeetingParty& party) { return party.rank / machine.ranks_per_host; };
  const int64_t first = hostOf(meeting.parties[0]);
  const bool is_over =
      std::ranges::any_of(meeting.parties, [&](const MeetingParty& party) { return hostOf(party) != first; });
  TK_REQUIRE(!is_over || machine.network.has_value(), Usage,
             "machine {}: ranks {} and {} are of several hosts, which have {} rank(s) each, and it has no network",
             machine.name, meeting.parties.front().rank, meeting.parties.back().rank, machine.ranks_per_host);
  return is_over;
}

Moves transferMoves(const RankMeeting& meeting) {
  const CommunicationRequest& request = *meeting.parties[0].asks;
  const double bytes = static_cast<double>(request.counts[0] * sizeOf(request.dtype));
  return {1, {{bytes, 0}, {0, bytes}}};
}

}  // namespace

CommunicationCost costOf(const RankMeeting& meeting, const Machine& machine, const MachineTransport& transport) {
  const CommunicationRequest& request = *meeting.parties[0].asks;
  TK_REQUIRE(!isReducing(request.kind) || transport.algorithm == TransportAlgorithm::Ring, Unsupported,
             "simulation: {}: a transport that moves parts directly cannot reduce; take one with rings",
             describe(request));
  CommunicationCost cost;
  cost.is_over_network = isOverNetwork(meeting, machine);
  const MachineLink& link = cost.is_over_network ? *machine.network : machine.host_link;
  const double step = transport.step_latency + link.latency;
  const double bandwidth = bandwidthFraction(transport, static_cast<int64_t>(meeting.parties.size())) * link.bandwidth;
  cost.latency = transport.latency;
  if (meeting.parties.size() == 1) {
    const auto counts = std::span(request.counts);
    const double bytes =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}) * sizeOf(request.dtype));
    cost.stays_in_memory = true;
    cost.moved = {{bytes, bytes}};
    cost.seconds = 2 * bytes / machine.memory_bandwidth;
    return cost;
  }
  const auto take = [&](Moves moves) {
    cost.latency = transport.latency + moves.steps * step;
    cost.seconds = mostOf(moves.moved) / bandwidth;
    cost.moved = std::move(moves.moved);
  };
  if (meeting.is_transfer) {
    take(transferMoves(meeting));
    return cost;
  }
  const CollectiveMoves all(meeting, transport.algorithm);
  if (request.kind != CommunicationKind::Allreduce) {
    take(all.moves());
    return cost;
  }
  take(all.ringAllreduce());
  const double ring = cost.latency + cost.seconds;
  const CommunicationCost by_ring = cost;
  take(all.treeAllreduce());
  return ring <= cost.latency + cost.seconds ? by_ring : cost;
}

}  // namespace tokamak
