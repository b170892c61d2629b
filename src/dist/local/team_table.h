// TeamTable: where the works of a team's ranks meet, which are threads of one process.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dist/communication_error.h"
#include "dist/communication_request.h"
#include "dist/operation_texts.h"
#include "dist/team_state.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

/// How far a member has come with one operation.
enum class MeetingStage : uint8_t {
  Absent,
  Arrived,  ///< others may read its input
  Reduced,  ///< of Allreduce: its part of the result can be read
  Done,     ///< it has read what it needs
  Out,      ///< its memory is not touched any more
};

/// What a member brings to a meeting. What it points to stays until the member is out.
struct Arrival {
  const CommunicationRequest* request = nullptr;
  const void* input = nullptr;
  void* output = nullptr;
  int64_t group_size = 1;      ///< operations of this channel in the work
  int64_t group_position = 0;  ///< among those
};

/// One operation, where the members of a channel meet. Members are numbered in the order of the channel.
struct Meeting {
  explicit Meeting(size_t members) : arrivals(members), stages(members, MeetingStage::Absent), is_reading(members) {}

  int64_t number = -1;
  CommunicationKind kind = CommunicationKind::Gather;  // of who came first
  std::vector<Arrival> arrivals;
  std::vector<MeetingStage> stages;
  std::vector<uint8_t> is_reading;
  int64_t reading = 0;  // how many
  int64_t present = 0;  // that have arrived
  int64_t out = 0;
};

/// Operations that are numbered together: the collectives of a team, or the sends from one rank to another.
struct Channel {
  explicit Channel(std::vector<int64_t> of) : members(std::move(of)), next(members.size()), edges(members.size()) {}

  const std::vector<int64_t> members;  ///< ranks; of sends: sender and receiver
  // What ThreadSanitizer orders a member's threads with others by: when it arrives, has its part of the result, and
  // when its memory has been read.
  struct Edges {
    uint64_t arrived = 0;
    uint64_t reduced = 0;
    uint64_t read = 0;
  };
  std::vector<int64_t> next;                       // the number of each member's next operation
  std::vector<std::unique_ptr<Meeting>> meetings;  // number n is at n % size
  std::vector<Edges> edges;
  std::condition_variable changed;
};

/// A member's visit of a meeting.
struct Visit {
  Channel* channel = nullptr;
  size_t member = 0;
  Meeting* meeting = nullptr;  ///< null: it has not arrived
};

/// ThreadSanitizer is told of the edges alone that every transport gives: who reads a member's memory comes after that
/// member arrived, and before it is out.
/// Thread safety: all ranks use it side by side.
class TeamTable final : public TeamState {
 public:
  /// `timeout`: of each wait for others.
  TeamTable(std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout);

  /// With room for `operations` of a member at a time. Lives as long as the table.
  Channel& collectives(int64_t operations);
  Channel& sends(int64_t from, int64_t to, int64_t operations);

  /// Comes to the channel's next operation, without waiting. What does not fit those who are there breaks the team.
  /// Errors: CommunicationError of a team that is broken before.
  void arrive(Visit& visit, const Arrival& arrival);
  /// Waits until all have arrived; the member reads from then on. Errors: CommunicationError.
  void waitForAll(const Visit& visit);
  /// This member has come so far.
  void reach(const Visit& visit, MeetingStage stage);
  /// Waits until these members (null: all) have. Errors: CommunicationError.
  using IsAwaited = bool (*)(const Meeting& meeting, size_t member, size_t other, std::span<const int64_t> ranks);
  void waitFor(const Visit& visit, MeetingStage stage, IsAwaited is_awaited);
  /// Comes before (and after) reads of another member's input; of its part of the result.
  static void beginReading(const Visit& visit, size_t other) { receiveEdge(&visit.channel->edges[other].arrived); }
  static void beginReadingResult(const Visit& visit, size_t other) {
    receiveEdge(&visit.channel->edges[other].reduced);
  }
  static void endReading(const Visit& visit, size_t other) { sendEdge(&visit.channel->edges[other].read); }
  /// Stays until nobody reads any more, where the team is broken, and goes. Never fails.
  void depart(Visit& visit) noexcept;

  void breakUp(Breakage breakage) noexcept override;
  bool isBroken() const override;
  void requireWhole() const override;
  /// A rank has come to its last operation: whoever waits for another one of it, now or later, breaks the team.
  void noteLeft(int64_t rank);

  /// The number of the member's next operation on the channel.
  int64_t nextNumber(const Channel& channel, size_t member) const;
  /// "Allreduce 7 of team (0 1 2 3)".
  std::string operationName(const Channel& channel, CommunicationKind kind, int64_t number) const;
  /// Bits that are the same in every run.
  uint64_t keyOf(const Channel& channel, int64_t number) const;

 private:
  Meeting& meetingAt(Channel& channel, int64_t number);
  static void reserve(Channel& channel, size_t operations);
  void compareWithOthers(const Channel& channel, const Meeting& meeting, size_t member);
  void breakLocked(Breakage breakage);
  void breakIfMissed(const Channel& channel, const Meeting& meeting);
  void breakBecauseOfTime(const Channel& channel, const Meeting& meeting, size_t missing, MeetingStage stage);
  [[noreturn]] void raiseBreakage() const;

  mutable std::mutex mutex_;
  std::optional<Breakage> breakage_;
  std::vector<uint8_t> has_left_;         // per rank of the team
  std::vector<LastOperation> last_seen_;  // per rank of the team
  Channel collectives_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Channel>> sends_;
};

}  // namespace tokamak
