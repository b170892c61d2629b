// NcclTeamTable: what one rank knows of a team in one epoch: its own works, who waits where, and whether it is broken.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/communication_error.h"
#include "dist/communication_request.h"
#include "dist/nccl/nccl_connection.h"
#include "dist/nccl/nccl_types.h"
#include "dist/operation_texts.h"
#include "dist/sockets/message.h"
#include "dist/sockets/rank_sockets.h"

namespace tokamak {

/// A member's part in one operation.
struct NcclArrival {
  CommunicationRequest request;
  int64_t group_size = 1;  ///< of the group's collectives
  int64_t group_position = 0;
  bool is_grouped = false;
};

/// Operations that are numbered together: the collectives of a team, or the sends from one rank to another.
struct NcclChannel {
  std::vector<int64_t> members;  ///< ranks; of sends: sender and receiver
  int64_t next = 0;              ///< number of this rank's next operation
  /// By operation and member: who told that he waits.
  std::map<int64_t, std::vector<std::shared_ptr<const NcclArrival>>> waiting = {};
  std::optional<nccl::UniqueId> id = {};
  /// Used by the channel's stream alone, until the table is closed.
  std::unique_ptr<NcclConnection> connection = {};
};

/// A work while it runs; made with the work, so that running it needs no memory.
struct NcclRun {
  struct Item {
    NcclChannel* channel = nullptr;
    std::shared_ptr<const NcclArrival> arrival = {};
    int64_t number = -1;
  };
  std::vector<Item> items = {};
  bool has_arrived = false;  ///< the stream has got there
  bool is_told = false;      ///< the others know that it waits
};

/// What the messages between tables are.
enum class NcclMessage : uint8_t {
  Id,       ///< of a channel: its communicator is made with it
  Waiting,  ///< a rank waits in an operation
  Last,     ///< what a rank that is waited for did last
  Broken,   ///< the team is
  Out,      ///< no work of the rank runs: it reads no memory of others any more
  Left,     ///< the rank leaves the job: how many operations of each channel it came to
};

/// NCCL compares nothing: ranks that do not mean the same communication wait for ever. While all goes well, ranks tell
/// each other nothing. Who waits for long tells the others what he waits in; they compare it with what they wait in,
/// who is through with it answers with what it was to him, and who has not come with what he did last. So mismatches
/// and missing ranks are named.
/// Thread safety: any threads may use it side by side.
class NcclTeamTable {
 public:
  /// The sockets outlive it.
  NcclTeamTable(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout);

  std::span<const int64_t> ranks() const { return ranks_; }
  int64_t epoch() const { return epoch_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  int64_t rank() const { return sockets_.rank(); }

  NcclChannel& collectives() { return collectives_; }
  /// Lives as long as the table.
  NcclChannel& transfers(int64_t from, int64_t to);

  /// Gives the work's operations their numbers. Errors: CommunicationError of a team that is broken, or that a rank has
  /// left before one of them.
  void begin(NcclRun& run);
  /// The stream has got to the work.
  void arrive(NcclRun& run);
  /// It waits for long: the others learn where.
  void tellWaiting(NcclRun& run);
  /// Nobody waits any longer. Breaks the team.
  void breakBecauseOfTime(const NcclRun& run);
  /// The work is over, and its communicator reads no memory any more.
  void end(NcclRun& run);
  /// Waits until no work of any member that lives runs, but no longer than this. For teams that are broken or left.
  void waitForOthers(std::chrono::milliseconds longest);

  /// Waits a moment for the channel's id, which its first member makes. Null: it is not there yet.
  const nccl::UniqueId* findId(NcclChannel& channel, std::chrono::microseconds longest);
  void giveId(NcclChannel& channel, const nccl::UniqueId& id);

  /// The first breakage stays. Tells the other members.
  void breakUp(Breakage breakage) noexcept;
  bool isBroken() const { return is_broken_.load(std::memory_order_acquire); }
  /// Whether the work cannot end because of what broke the team: one that a rank came to before it left can.
  bool isConcerned(const NcclRun& run) const;
  /// Errors: the CommunicationError of a broken team.
  void requireWhole() const;
  /// "Allreduce 7 of team (0 1 2 3)": the operation that is next on the channel, or this one.
  std::string nameOf(const NcclChannel& channel, CommunicationKind kind, std::optional<int64_t> number = {}) const;

  void receive(NcclMessage kind, int64_t rank, MessageReader& message);
  void noteDeath(int64_t rank);
  /// `message`: how many operations of each channel the rank has come to, as addCounts() wrote it; null: of none.
  void noteLeft(int64_t rank, MessageReader* message);
  void addCounts(MessageWriter& message) const;
  /// The rank leaves the job: whoever still uses the team gets an error. Ends its communicators.
  void close();

 private:
  static constexpr size_t kRemembered = 1024;  // operations that late ranks may be told of
  struct Remembered {
    const NcclChannel* channel = nullptr;
    int64_t number = -1;
    std::shared_ptr<const NcclArrival> arrival = {};
  };

  OperationPlace placeOf(const NcclChannel& channel, int64_t number) const;
  NcclChannel& channelAt(int64_t from, int64_t to);
  size_t positionIn(int64_t rank) const { return static_cast<size_t>(positionOf(ranks_, rank)); }
  MessageWriter messageOf(NcclMessage kind) const;
  void tellMembers(std::span<const int64_t> members, const MessageWriter& message);
  void breakLocked(Breakage breakage);
  void requireWholeLocked() const;
  void breakIfLeft(const NcclRun& run);
  std::optional<int64_t> findLeft(const NcclRun::Item& item) const;
  void compare(const NcclChannel& channel, int64_t number);
  void addOwn(const NcclRun& run);
  void tellWaitingLocked(NcclRun& run);
  MessageWriter waitingMessage(const NcclChannel& channel, int64_t number, const NcclArrival& arrival,
                               bool is_answer) const;
  const NcclArrival* findOwn(const NcclChannel& channel, int64_t number) const;
  void receiveWaiting(int64_t rank, MessageReader& message);
  void tellOutIfQuiet();
  void remember(const NcclRun& run);

  RankSockets& sockets_;
  const std::vector<int64_t> ranks_;
  const int64_t epoch_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Breakage> breakage_;  // does not change once is_broken_ is set
  std::atomic<bool> is_broken_ = false;
  bool is_left_ = false;  // by a member: it waits for others to be out
  bool is_out_told_ = false;
  std::vector<uint8_t> is_out_;                                                      // per member
  std::vector<std::optional<std::map<std::pair<int64_t, int64_t>, int64_t>>> left_;  // per member: its counts
  std::vector<LastOperation> last_;                                                  // per member
  LastOperation own_last_;
  std::vector<NcclRun*> runs_;
  NcclChannel collectives_;
  std::map<std::pair<int64_t, int64_t>, NcclChannel> transfers_;
  std::vector<Remembered> remembered_;  // a ring
  size_t remembered_count_ = 0;
};

}  // namespace tokamak
