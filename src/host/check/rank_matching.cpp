#include "host/check/rank_matching.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace tokamak {

namespace {

// One communication among a class's works.
struct Place {
  int32_t work = 0;
  int32_t request = 0;
};

// What the ranks of a class post in one team, or to (from) one peer, in order.
struct Sequence {
  int32_t team_map = -1;
  RankPeer peer;
  std::vector<Place> places;
};

struct ClassSequences {
  std::vector<Sequence> teams;
  std::vector<Sequence> transfers[2];                      // receives, sends
  std::unordered_map<int64_t, int32_t> number_of_peer[2];  // by form and value
};

int64_t keyOf(RankPeer peer) { return 2 * peer.value + (peer.form == RankPeer::Form::Relative ? 1 : 0); }

// By the teams and peers of the recorded rank: all ranks of a class have the same pattern of them.
ClassSequences sequencesOf(const RankJob& job, const RankClass& of) {
  ClassSequences made;
  std::map<const std::vector<int64_t>*, size_t> team_numbers;
  std::map<std::pair<bool, int64_t>, int32_t> peer_numbers;
  for (size_t w = 0; w < of.works->works.size(); ++w) {
    const PostedWork& work = of.works->works[w];
    for (size_t r = 0; r < work.requests.size(); ++r) {
      const PostedRequest& posted = work.requests[r];
      const Place place = {.work = static_cast<int32_t>(w), .request = static_cast<int32_t>(r)};
      if (!isPointToPoint(posted.request.kind)) {
        const auto [known, is_new] = team_numbers.emplace(job.teamOf(of.recorded, posted), made.teams.size());
        if (is_new) made.teams.push_back({.team_map = posted.team, .peer = {}, .places = {}});
        made.teams[known->second].places.push_back(place);
        continue;
      }
      const bool sends = posted.request.kind == CommunicationKind::Send;
      const RankPeer peer = sends ? posted.send_to : posted.receive_from;
      std::vector<Sequence>& transfers = made.transfers[sends ? 1 : 0];
      const auto number = static_cast<int32_t>(transfers.size());
      const auto [known, is_new] = peer_numbers.try_emplace({sends, job.peerOf(of.recorded, peer)}, number);
      if (is_new) transfers.push_back({.team_map = -1, .peer = peer, .places = {}});
      transfers[static_cast<size_t>(known->second)].places.push_back(place);
      made.number_of_peer[sends ? 1 : 0].try_emplace(keyOf(peer), known->second);
    }
  }
  return made;
}

class RankMatcher {
 public:
  RankMatcher(const RankJob& job, int64_t limit)
      : job_(job), limit_(static_cast<size_t>(limit)), class_of_(static_cast<size_t>(job.ranks), -1) {
    for (size_t c = 0; c < job.classes.size(); ++c) {
      sequences_.push_back(sequencesOf(job, job.classes[c]));
      for (const int64_t rank : job.classes[c].ranks) class_of_[static_cast<size_t>(rank)] = static_cast<int32_t>(c);
    }
  }

  RankMatching match() {
    matchTeams();
    for (int64_t rank = 0; rank < job_.ranks; ++rank) matchTransfers(rank);
    return std::move(made_);
  }

 private:
  // What one rank posts: a sequence of its class.
  struct Side {
    int32_t of = 0;
    const Sequence* sequence = nullptr;
    int64_t rank = 0;
    bool operator==(const Side& other) const { return of == other.of && sequence == other.sequence; }
  };

  static bool isBefore(const Side& a, const Side& b) {
    return std::tie(a.of, a.sequence, a.rank) < std::tie(b.of, b.sequence, b.rank);
  }
  const RankClass& classOf(const Side& side) const { return job_.classes[static_cast<size_t>(side.of)]; }
  const PostedWork& workOf(const Side& side, size_t n) const {
    return classOf(side).works->works[static_cast<size_t>(side.sequence->places[n].work)];
  }
  const PostedRequest& postedOf(const Side& side, size_t n) const {
    return workOf(side, n).requests[static_cast<size_t>(side.sequence->places[n].request)];
  }
  CommunicationRequest requestOf(const Side& side, size_t n) const {
    return job_.requestOf(classOf(side), postedOf(side, n), side.rank);
  }
  bool isFull() const { return made_.findings.size() >= limit_; }

  void add(RankFinding finding) {
    if (!isFull()) made_.findings.push_back(std::move(finding));
  }

  // "`Communication 0 (...)` (Allreduce of 16 f32 (sum)) on rank 3".
  std::string inWords(const Side& side, size_t n) const {
    return fmt::format("`{}` ({}) on rank {}", statementOf(classOf(side), postedOf(side, n)),
                       requestInWords(requestOf(side, n)), side.rank);
  }

  // --- collectives ---

  void matchTeams() {
    std::map<int32_t, std::vector<Side>> members;  // per team
    for (int64_t rank = 0; rank < job_.ranks; ++rank) {
      const int32_t of = class_of_[static_cast<size_t>(rank)];
      if (of < 0) continue;
      for (const Sequence& sequence : sequences_[static_cast<size_t>(of)].teams) {
        const int32_t team = job_.team_maps[static_cast<size_t>(sequence.team_map)][static_cast<size_t>(rank)];
        members[team].push_back({.of = of, .sequence = &sequence, .rank = rank});
      }
    }
    for (const auto& [number, sides] : members) matchTeam(job_.teams[static_cast<size_t>(number)], sides);
  }

  void matchTeam(const std::vector<int64_t>& team, const std::vector<Side>& sides) {
    std::vector<Side> kinds = sides;
    std::ranges::sort(kinds, isBefore);
    const auto repeated = std::ranges::unique(kinds);
    kinds.erase(repeated.begin(), repeated.end());
    matchPermutations(team, sides);
    matchExchanges(team, sides, kinds);
    if (sides.size() != team.size()) addAbsent(team, sides);
    std::vector<std::pair<int32_t, const Sequence*>> key;
    for (const Side& side : kinds) key.emplace_back(side.of, side.sequence);
    if (!known_teams_.insert(std::move(key)).second) return;
    for (size_t i = 1; i < kinds.size(); ++i) compareCollectives(team, kinds[0], kinds[i]);
    for (size_t n = 0; n < kinds[0].sequence->places.size() && made_.findings.empty(); ++n) {
      RankMeeting& meeting = made_.meetings.emplace_back();
      for (const Side& side : kinds) meeting.push_back({.of = side.of, .work = side.sequence->places[n].work});
    }
  }

  void addAbsent(const std::vector<int64_t>& team, const std::vector<Side>& sides) {
    const auto isThere = [&](int64_t rank) { return std::ranges::find(sides, rank, &Side::rank) != sides.end(); };
    const int64_t absent = *std::ranges::find_if_not(team, isThere);
    add({.kind = RankFinding::Kind::Missing,
         .first_rank = sides[0].rank,
         .second_rank = absent,
         .first_statement = statementOf(classOf(sides[0]), postedOf(sides[0], 0)),
         .message = fmt::format("{} is communication 0 of team {}, and rank {} of that team posts none; all ranks of a "
                                "team have to post the same, in the same order",
                                inWords(sides[0], 0), teamInWords(team), absent)});
  }

  // Each pair of kinds of members, at each number, up to the first difference.
  void compareCollectives(const std::vector<int64_t>& team, const Side& a, const Side& b) {
    const size_t common = std::min(a.sequence->places.size(), b.sequence->places.size());
    for (size_t n = 0; n < common; ++n) {
      const std::string difference = differenceAt(team, a, b, n);
      if (difference.empty()) continue;
      add({.kind = RankFinding::Kind::Mismatch,
           .first_rank = a.rank,
           .second_rank = b.rank,
           .first_statement = statementOf(classOf(a), postedOf(a, n)),
           .second_statement = statementOf(classOf(b), postedOf(b, n)),
           .message = fmt::format("communication {} of team {} is {} and {}: {}; all ranks of a team have to post the "
                                  "same, in the same order",
                                  n, teamInWords(team), inWords(a, n), inWords(b, n), difference)});
      return;
    }
    if (a.sequence->places.size() == b.sequence->places.size()) return;
    const Side& more = a.sequence->places.size() > common ? a : b;
    const Side& less = a.sequence->places.size() > common ? b : a;
    add({.kind = RankFinding::Kind::Missing,
         .first_rank = more.rank,
         .second_rank = less.rank,
         .first_statement = statementOf(classOf(more), postedOf(more, common)),
         .second_statement = statementOf(classOf(less), postedOf(less, common - 1)),
         .message = fmt::format("{} is communication {} of team {}, and rank {} posts only {}, the last one by `{}`; "
                                "all ranks of a team have to post the same, in the same order",
                                inWords(more, common), common, teamInWords(team), less.rank, common,
                                statementOf(classOf(less), postedOf(less, common - 1)))});
  }

  std::string differenceAt(const std::vector<int64_t>& team, const Side& a, const Side& b, size_t n) const {
    const CommunicationRequest first = requestOf(a, n);
    const CommunicationRequest second = requestOf(b, n);
    if (first.kind == CommunicationKind::CollectivePermute && second.kind == CommunicationKind::CollectivePermute)
      return first.dtype == second.dtype ? "" : "the dtypes differ";  // the rest is each pair's
    std::string difference = differenceOf(first, a.rank, second, b.rank, team);
    if (!difference.empty()) return difference;
    const auto [position, size] = placeInGroup(a, n);
    const auto [other_position, other_size] = placeInGroup(b, n);
    if (position == other_position && size == other_size) return "";
    return fmt::format("it is number {} of a group of {} there, and number {} of {} here", position, size,
                       other_position, other_size);
  }

  // Among the collectives of the work.
  std::pair<int64_t, int64_t> placeInGroup(const Side& side, size_t n) const {
    const std::vector<PostedRequest>& requests = workOf(side, n).requests;
    const auto isCollective = [](const PostedRequest& posted) { return !isPointToPoint(posted.request.kind); };
    const auto own = requests.begin() + side.sequence->places[n].request;
    return {std::count_if(requests.begin(), own, isCollective), std::ranges::count_if(requests, isCollective)};
  }

  // Of each member: that its receiver receives from it, as much as it sends.
  void matchPermutations(const std::vector<int64_t>& team, const std::vector<Side>& sides) {
    const Side& first = sides[0];
    std::map<int64_t, const Side*> side_of;
    for (const Side& side : sides) side_of[side.rank] = &side;
    for (size_t n = 0; n < first.sequence->places.size() && !isFull(); ++n) {
      if (postedOf(first, n).request.kind != CommunicationKind::CollectivePermute) continue;
      for (const Side& side : sides) {
        if (n >= side.sequence->places.size()) continue;
        const PostedRequest& sent = postedOf(side, n);
        const auto receiver = side_of.find(job_.peerOf(side.rank, sent.send_to));
        if (receiver == side_of.end() || n >= receiver->second->sequence->places.size()) continue;
        const PostedRequest& received = postedOf(*receiver->second, n);
        if (sent.request.kind != CommunicationKind::CollectivePermute ||
            received.request.kind != CommunicationKind::CollectivePermute)
          continue;
        const bool fits = job_.peerOf(receiver->second->rank, received.receive_from) == side.rank &&
                          sent.request.counts[0] == received.request.received[0];
        if (!fits) return addPair(team, side, *receiver->second, n);
      }
    }
  }

  // Of each AllToAll: that each kind of member expects of every other member what that one sends.
  void matchExchanges(const std::vector<int64_t>& team, const std::vector<Side>& sides,
                      const std::vector<Side>& receivers) {
    for (size_t n = 0; n < sides[0].sequence->places.size() && !isFull(); ++n) {
      if (postedOf(sides[0], n).request.kind != CommunicationKind::AllToAll) continue;
      for (const Side& receiver : receivers) {
        for (const Side& sender : sides) {
          if (n < sender.sequence->places.size() && n < receiver.sequence->places.size() &&
              !isExchange(team, sender, receiver, n))
            return addPair(team, sender, receiver, n);
        }
      }
    }
  }

  // Or no AllToAll, which is told elsewhere.
  bool isExchange(const std::vector<int64_t>& team, const Side& sender, const Side& receiver, size_t n) const {
    const CommunicationRequest& sent = postedOf(sender, n).request;
    const CommunicationRequest& expected = postedOf(receiver, n).request;
    if (sent.kind != CommunicationKind::AllToAll || expected.kind != CommunicationKind::AllToAll) return true;
    const std::vector<int64_t>& received = expected.received.empty() ? expected.counts : expected.received;
    return sent.counts[static_cast<size_t>(positionOf(team, receiver.rank))] ==
           received[static_cast<size_t>(positionOf(team, sender.rank))];
  }

  void addPair(const std::vector<int64_t>& team, const Side& sender, const Side& receiver, size_t n) {
    const std::string difference =
        differenceOf(requestOf(sender, n), sender.rank, requestOf(receiver, n), receiver.rank, team);
    add({.kind = RankFinding::Kind::Mismatch,
         .first_rank = sender.rank,
         .second_rank = receiver.rank,
         .first_statement = statementOf(classOf(sender), postedOf(sender, n)),
         .second_statement = statementOf(classOf(receiver), postedOf(receiver, n)),
         .message = fmt::format("communication {} of team {} is {} and {}: {}", n, teamInWords(team),
                                inWords(sender, n), inWords(receiver, n), difference)});
  }

  // --- transfers ---

  void matchTransfers(int64_t rank) {
    const int32_t of = class_of_[static_cast<size_t>(rank)];
    if (of < 0) return;
    for (const bool sends : {true, false}) {
      for (const Sequence& sequence : sequences_[static_cast<size_t>(of)].transfers[sends ? 1 : 0]) {
        const Side own = {.of = of, .sequence = &sequence, .rank = rank};
        const int64_t peer = job_.peerOf(rank, sequence.peer);
        const Sequence* const theirs = transfersOf(peer, rank, sends ? 0 : 1);
        const Side other = {.of = class_of_[static_cast<size_t>(peer)], .sequence = theirs, .rank = peer};
        if (theirs == nullptr)
          addNoTransfer(own, peer, sends);
        else if (sends && known_pairs_.insert({own.sequence, other.sequence}).second)
          compareTransfers(own, other);
        if (isFull()) return;
      }
    }
  }

  // What `rank` sends to (receives from) `peer`.
  const Sequence* transfersOf(int64_t rank, int64_t peer, size_t direction) const {
    const int32_t of = class_of_[static_cast<size_t>(rank)];
    if (of < 0) return nullptr;
    const ClassSequences& known = sequences_[static_cast<size_t>(of)];
    const auto& numbers = known.number_of_peer[direction];
    auto found = numbers.find(keyOf({RankPeer::Form::Relative, job_.frame.offset(rank, peer)}));
    if (found == numbers.end()) found = numbers.find(keyOf({RankPeer::Form::Absolute, peer}));
    if (found == numbers.end()) return nullptr;
    return &known.transfers[direction][static_cast<size_t>(found->second)];
  }

  void addNoTransfer(const Side& own, int64_t peer, bool sends) {
    add({.kind = RankFinding::Kind::Missing,
         .first_rank = own.rank,
         .second_rank = peer,
         .first_statement = statementOf(classOf(own), postedOf(own, 0)),
         .message = fmt::format("{} is transfer 0 from rank {} to rank {}, and rank {} {} that rank nothing; post its "
                                "other side there",
                                inWords(own, 0), sends ? own.rank : peer, sends ? peer : own.rank, peer,
                                sends ? "receives from" : "sends to")});
  }

  void compareTransfers(const Side& sender, const Side& receiver) {
    const size_t sent = sender.sequence->places.size();
    const size_t received = receiver.sequence->places.size();
    const size_t common = std::min(sent, received);
    for (size_t n = 0; n < common; ++n) {
      const std::string difference =
          differenceOf(requestOf(sender, n), sender.rank, requestOf(receiver, n), receiver.rank, {});
      if (!difference.empty()) return addTransfer(sender, receiver, n, difference);
      made_.meetings.push_back({{.of = sender.of, .work = sender.sequence->places[n].work},
                                {.of = receiver.of, .work = receiver.sequence->places[n].work}});
    }
    if (sent == received) return;
    const Side& more = sent > received ? sender : receiver;
    const Side& less = sent > received ? receiver : sender;
    add({.kind = RankFinding::Kind::Missing,
         .first_rank = more.rank,
         .second_rank = less.rank,
         .first_statement = statementOf(classOf(more), postedOf(more, common)),
         .second_statement = statementOf(classOf(less), postedOf(less, common - 1)),
         .message = fmt::format("{} is transfer {} from rank {} to rank {}, and rank {} has only {} of them, the last "
                                "one by `{}`; post its other side there",
                                inWords(more, common), common, sender.rank, receiver.rank, less.rank, common,
                                statementOf(classOf(less), postedOf(less, common - 1)))});
  }

  void addTransfer(const Side& sender, const Side& receiver, size_t n, const std::string& difference) {
    add({.kind = RankFinding::Kind::Mismatch,
         .first_rank = sender.rank,
         .second_rank = receiver.rank,
         .first_statement = statementOf(classOf(sender), postedOf(sender, n)),
         .second_statement = statementOf(classOf(receiver), postedOf(receiver, n)),
         .message = fmt::format("transfer {} from rank {} to rank {} is {} and {}: {}", n, sender.rank, receiver.rank,
                                inWords(sender, n), inWords(receiver, n), difference)});
  }

  const RankJob& job_;
  const size_t limit_;
  std::vector<int32_t> class_of_;  // per rank; -1: it posts nothing
  std::vector<ClassSequences> sequences_;
  std::set<std::vector<std::pair<int32_t, const Sequence*>>> known_teams_;
  std::set<std::pair<const Sequence*, const Sequence*>> known_pairs_;
  RankMatching made_;
};

}  // namespace

RankMatching matchRanks(const RankJob& job, int64_t limit) { return RankMatcher(job, limit).match(); }

}  // namespace tokamak
