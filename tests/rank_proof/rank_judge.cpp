#include "rank_proof/rank_judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace tokamak {

namespace {

using Kind = RankStatement::Kind;

struct Touch {
  int64_t buffer = 0;  // 2 * op: its input, + 1: its output
  bool is_write = false;
};

// What a stream has to do, in order.
struct Item {
  enum class Kind : uint8_t { Compute, Work, Record, Wait };
  Kind kind = Kind::Compute;
  std::vector<Touch> touches;
  std::vector<int64_t> ops;  // of a Work
  int64_t event = -1;        // of Record and Wait: a number of its own for each record
};

using Queue = std::vector<Item>;

// The streams of one rank: those that it names, one per team, one per peer and direction, one for groups of transfers.
class RankQueues {
 public:
  RankQueues(const RankText& text, int64_t rank) : text_(text), rank_(rank), groups_(groupsOf(text)) {
    queues_.resize(2);
    enqueue();
  }

  std::vector<Queue> queues() { return std::move(queues_); }
  const std::string& fault() const { return fault_; }

 private:
  size_t streamOf(const std::string& name) {
    const auto [known, is_new] = numbers_.emplace(name, queues_.size());
    if (is_new) queues_.emplace_back();
    return known->second;
  }

  std::vector<Touch> touchesOf(int64_t op) const {
    const BufferCounts has = elementsOf(text_.ops[static_cast<size_t>(op)], rank_);
    std::vector<Touch> touches;
    if (has.input > 0) touches.push_back({.buffer = 2 * op});
    if (has.output > 0) touches.push_back({.buffer = 2 * op + 1, .is_write = true});
    return touches;
  }

  std::string teamName(const RankOp& op) const {
    if (isPointToPoint(op.kind)) return "all";
    std::string name = "team";
    for (const int64_t rank : op.team) name += fmt::format(" {}", rank);
    return name;
  }

  void launch(const std::vector<int64_t>& ops, bool is_group) {
    const RankOp& first = text_.ops[static_cast<size_t>(ops[0])];
    std::string name = teamName(first);
    if (!is_group && isPointToPoint(first.kind)) name = fmt::format("{} {}", enumName(first.kind), first.peer);
    const size_t stream = streamOf(name);
    const int64_t before = next_event_++;
    queues_[current_].push_back({.kind = Item::Kind::Record, .event = before});
    queues_[stream].push_back({.kind = Item::Kind::Wait, .event = before});
    Item work = {.kind = Item::Kind::Work, .ops = ops};
    for (const int64_t op : ops) {
      const std::vector<Touch> touches = touchesOf(op);
      work.touches.insert(work.touches.end(), touches.begin(), touches.end());
    }
    queues_[stream].push_back(std::move(work));
    const int64_t after = next_event_++;
    queues_[stream].push_back({.kind = Item::Kind::Record, .event = after});
    for (const int64_t op : ops) done_[op] = after;
  }

  void compute(std::vector<Touch> touches) {
    queues_[current_].push_back({.kind = Item::Kind::Compute, .touches = std::move(touches)});
  }

  void enqueue() {
    std::set<int64_t> open;  // nobody has waited for
    std::vector<int64_t> group;
    bool is_in_group = false;
    for (const RankStatement& statement : text_.statements) {
      switch (statement.kind) {
        case Kind::Write: compute({{.buffer = 2 * statement.op, .is_write = true}}); break;
        case Kind::Read: compute({{.buffer = 2 * statement.op + 1}}); break;
        case Kind::ReadInput: compute({{.buffer = 2 * statement.op}}); break;
        case Kind::StartGroup: is_in_group = true; break;
        case Kind::EndGroup:
          is_in_group = false;
          if (!group.empty()) launch(group, true);
          group.clear();
          break;
        case Kind::SetStream: current_ = static_cast<size_t>(statement.stream); break;
        case Kind::Synchronize: {
          const int64_t event = next_event_++;
          queues_[static_cast<size_t>(statement.stream)].push_back({.kind = Item::Kind::Record, .event = event});
          queues_[current_].push_back({.kind = Item::Kind::Wait, .event = event});
          break;
        }
        case Kind::Post:
          open.insert(statement.op);
          if (is_in_group)
            group.push_back(statement.op);
          else
            launch({statement.op}, false);
          break;
        case Kind::Wait: {
          const int64_t own_group = groups_[static_cast<size_t>(statement.op)];
          const auto done = done_.find(statement.op);
          if (done == done_.end()) {
            fault_ = fmt::format("rank {} waits for what it has not posted", rank_);
            return;
          }
          queues_[current_].push_back({.kind = Item::Kind::Wait, .event = done->second});
          std::erase_if(open, [&](int64_t op) {
            return op == statement.op || (own_group >= 0 && groups_[static_cast<size_t>(op)] == own_group);
          });
          break;
        }
      }
    }
    if (!open.empty()) fault_ = fmt::format("rank {} does not wait for all that it posts", rank_);
    // The caller uses all memory again behind its stream.
    std::vector<Touch> all;
    for (size_t op = 0; op < 2 * text_.ops.size(); ++op)
      all.push_back({.buffer = static_cast<int64_t>(op), .is_write = true});
    queues_[0].push_back({.kind = Item::Kind::Compute, .touches = std::move(all)});
  }

  const RankText& text_;
  const int64_t rank_;
  const std::vector<int64_t> groups_;
  std::vector<Queue> queues_;
  std::map<std::string, size_t> numbers_;
  std::map<int64_t, int64_t> done_;
  size_t current_ = 0;
  int64_t next_event_ = 0;
  std::string fault_;
};

struct State {
  std::vector<std::vector<uint8_t>> places;                        // per rank and stream
  std::vector<std::vector<uint8_t>> begun;                         // whether the Work there has started
  std::vector<std::vector<std::pair<int16_t, int16_t>>> arrivals;  // per channel and member: what arrived, in order
};

class AllOrders {
 public:
  AllOrders(const RankTexts& program, int64_t most_states) : program_(program), most_states_(most_states) {
    for (size_t rank = 0; rank < program.size(); ++rank) {
      RankQueues queues(program[rank], static_cast<int64_t>(rank));
      if (fault_.empty()) fault_ = queues.fault();
      queues_.push_back(queues.queues());
    }
    numberChannels();
  }

  std::optional<RankVerdict> judge() {
    if (!fault_.empty()) return RankVerdict{.fault = fault_};
    State start;
    for (const std::vector<Queue>& queues : queues_) {
      start.places.emplace_back(queues.size(), 0);
      start.begun.emplace_back(queues.size(), 0);
    }
    start.arrivals.resize(members_);
    std::vector<State> waiting = {std::move(start)};
    std::unordered_set<std::string> seen;
    while (!waiting.empty() && fault_.empty()) {
      State state = std::move(waiting.back());
      waiting.pop_back();
      settle(state);
      if (!fault_.empty()) break;
      if (!seen.insert(keyOf(state)).second) continue;
      if (static_cast<int64_t>(seen.size()) > most_states_) return std::nullopt;
      findRaces(state);
      const size_t known = waiting.size();
      addNext(state, waiting);
      if (waiting.size() == known && !isDone(state)) fault_ = "not all is done in the end";
    }
    return RankVerdict{.fault = fault_, .states = static_cast<int64_t>(seen.size())};
  }

 private:
  struct Seat {
    size_t number = 0;  // among the members of all channels
    std::vector<size_t> others;
    std::vector<int64_t> order;  // of the ops that have the seat, as they are written
  };

  const Item* headOf(const State& state, size_t rank, size_t stream) const {
    const Queue& queue = queues_[rank][stream];
    const size_t place = state.places[rank][stream];
    return place < queue.size() ? &queue[place] : nullptr;
  }

  const RankOp& op(size_t rank, int64_t number) const { return program_[rank].ops[static_cast<size_t>(number)]; }

  std::string channelOf(size_t rank, int64_t number) const {
    const RankOp& it = op(rank, number);
    const auto own = static_cast<int64_t>(rank);
    if (it.kind == CommunicationKind::Send) return fmt::format("{} to {}", own, it.peer);
    if (it.kind == CommunicationKind::Recv) return fmt::format("{} to {}", it.peer, own);
    std::string name = "team";
    for (const int64_t member : it.team) name += fmt::format(" {}", member);
    return name;
  }

  // A seat for each member of each channel.
  void numberChannels() {
    std::map<std::string, std::map<int64_t, size_t>> channels;
    for (size_t rank = 0; rank < program_.size(); ++rank) {
      for (const RankStatement& statement : program_[rank].statements) {
        if (statement.kind != Kind::Post) continue;
        const RankOp& it = op(rank, statement.op);
        std::vector<int64_t> members = it.team;
        if (isPointToPoint(it.kind)) members = {static_cast<int64_t>(rank), it.peer};
        std::map<int64_t, size_t>& seats = channels[channelOf(rank, statement.op)];
        for (const int64_t member : members)
          if (seats.emplace(member, members_).second) ++members_;
        Seat& seat = seats_[{rank, channelOf(rank, statement.op)}];
        seat.order.push_back(statement.op);
      }
    }
    for (auto& [key, seat] : seats_) {
      const std::map<int64_t, size_t>& seats = channels[key.second];
      seat.number = seats.at(static_cast<int64_t>(key.first));
      for (const auto& [member, number] : seats)
        if (number != seat.number) seat.others.push_back(number);
    }
  }

  const Seat& seatOf(size_t rank, int64_t number) const { return seats_.at({rank, channelOf(rank, number)}); }

  // Records, and waits for what is recorded: nothing else can prevent them.
  void settle(State& state) {
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (size_t rank = 0; rank < queues_.size(); ++rank) {
        for (size_t stream = 0; stream < queues_[rank].size(); ++stream) {
          const Item* head = headOf(state, rank, stream);
          if (head == nullptr) continue;
          const bool passes = head->kind == Item::Kind::Record ||
                              (head->kind == Item::Kind::Wait && isRecorded(state, rank, head->event));
          if (!passes) continue;
          ++state.places[rank][stream];
          goes_on = true;
        }
      }
    }
  }

  bool isRecorded(const State& state, size_t rank, int64_t event) const {
    for (size_t stream = 0; stream < queues_[rank].size(); ++stream) {
      const Queue& queue = queues_[rank][stream];
      for (size_t i = 0; i < state.places[rank][stream]; ++i)
        if (queue[i].kind == Item::Kind::Record && queue[i].event == event) return true;
    }
    return false;
  }

  void findRaces(const State& state) {
    for (size_t rank = 0; rank < queues_.size(); ++rank) {
      for (size_t a = 0; a < queues_[rank].size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          const Item* first = headOf(state, rank, a);
          const Item* second = headOf(state, rank, b);
          if (first == nullptr || second == nullptr) continue;
          for (const Touch& one : first->touches)
            for (const Touch& other : second->touches)
              if (one.buffer == other.buffer && (one.is_write || other.is_write))
                fault_ = fmt::format("rank {} has a race on buffer {}", rank, one.buffer);
        }
      }
    }
  }

  // One step of one stream.
  void addNext(const State& state, std::vector<State>& waiting) {
    for (size_t rank = 0; rank < queues_.size(); ++rank) {
      for (size_t stream = 0; stream < queues_[rank].size(); ++stream) {
        const Item* head = headOf(state, rank, stream);
        if (head == nullptr || head->kind == Item::Kind::Record || head->kind == Item::Kind::Wait) continue;
        if (head->kind == Item::Kind::Work && state.begun[rank][stream] == 0) {
          State next = state;
          begin(next, rank, *head);
          next.begun[rank][stream] = 1;
          waiting.push_back(std::move(next));
          continue;
        }
        if (head->kind == Item::Kind::Work && !isOver(state, rank, *head)) continue;
        State next = state;
        ++next.places[rank][stream];
        next.begun[rank][stream] = 0;
        waiting.push_back(std::move(next));
      }
    }
  }

  void begin(State& state, size_t rank, const Item& work) {
    for (const int64_t number : work.ops) {
      const Seat& seat = seatOf(rank, number);
      auto& arrived = state.arrivals[seat.number];
      const size_t n = arrived.size();
      if (seat.order[n] != number) fault_ = fmt::format("rank {} has transfers in two orders", rank);
      arrived.emplace_back(static_cast<int16_t>(rank), static_cast<int16_t>(number));
      for (const size_t other : seat.others) {
        if (n >= state.arrivals[other].size()) continue;
        const auto [their_rank, their_number] = state.arrivals[other][n];
        compare(rank, number, static_cast<size_t>(their_rank), their_number);
      }
    }
  }

  void compare(size_t rank, int64_t number, size_t other_rank, int64_t other_number) {
    const RankOp& a = op(rank, number);
    const RankOp& b = op(other_rank, other_number);
    const bool is_transfer = isPointToPoint(a.kind);
    const bool fits = a.count == b.count && a.is_double == b.is_double && a.root == b.root &&
                      (is_transfer || a.kind == b.kind) && (!isReducing(a.kind) || a.reduction == b.reduction);
    const bool is_in_place = is_transfer || placeInGroup(rank, number) == placeInGroup(other_rank, other_number);
    if (!fits || !is_in_place) fault_ = fmt::format("ranks {} and {} meet in what differs", rank, other_rank);
  }

  // Position among the collectives that are launched as one, and how many these are.
  std::pair<int64_t, int64_t> placeInGroup(size_t rank, int64_t number) const {
    for (const Queue& queue : queues_[rank]) {
      for (const Item& item : queue) {
        const auto own = std::ranges::find(item.ops, number);
        if (own == item.ops.end()) continue;
        return {own - item.ops.begin(), static_cast<int64_t>(item.ops.size())};
      }
    }
    return {};
  }

  bool isOver(const State& state, size_t rank, const Item& work) const {
    return std::ranges::all_of(work.ops, [&](int64_t number) {
      const Seat& seat = seatOf(rank, number);
      const auto& own = state.arrivals[seat.number];
      const std::pair<int16_t, int16_t> arrival = {static_cast<int16_t>(rank), static_cast<int16_t>(number)};
      const auto n = static_cast<size_t>(std::ranges::find(own, arrival) - own.begin());
      return std::ranges::all_of(seat.others, [&](size_t other) { return state.arrivals[other].size() > n; });
    });
  }

  bool isDone(const State& state) const {
    for (size_t rank = 0; rank < queues_.size(); ++rank)
      for (size_t stream = 0; stream < queues_[rank].size(); ++stream)
        if (headOf(state, rank, stream) != nullptr) return false;
    // What arrived and met nobody is never over, so that its stream is not at its end.
    return true;
  }

  static std::string keyOf(const State& state) {
    std::string key;
    for (const auto& places : state.places) key.append(places.begin(), places.end());
    for (const auto& begun : state.begun) key.append(begun.begin(), begun.end());
    for (const auto& arrived : state.arrivals) {
      key += static_cast<char>(arrived.size());
      for (const auto& [rank, number] : arrived) {
        key += static_cast<char>(rank);
        key += static_cast<char>(number);
      }
    }
    return key;
  }

  const RankTexts& program_;
  const int64_t most_states_;
  std::vector<std::vector<Queue>> queues_;  // per rank
  std::map<std::pair<size_t, std::string>, Seat> seats_;
  size_t members_ = 0;
  std::string fault_;
};

}  // namespace

std::optional<RankVerdict> judgeByAllOrders(const RankTexts& program, int64_t most_states) {
  return AllOrders(program, most_states).judge();
}

}  // namespace tokamak
