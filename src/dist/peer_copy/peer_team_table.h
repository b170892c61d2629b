// PeerTeamTable: what one rank knows of a team in one epoch: who has come to which operation, with which memory, how
// far he has told his GPU, and whether the team is broken.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
#include "dist/operation_texts.h"
#include "dist/peer_copy/peer_memory.h"
#include "dist/sockets/message.h"
#include "dist/sockets/rank_sockets.h"

namespace tokamak {

/// What a member's GPU writes into flags of others: the number of the operation, counted from 1. They only ever grow.
enum class PeerFlag : uint8_t {
  Ready,    ///< its input can be read
  Reduced,  ///< of an Allreduce: its part of the result can be read
  Done,     ///< it has read what it needs
};
inline constexpr size_t kPeerFlags = 3;

/// A member's part in one operation, the same in every run of a work.
struct PeerArrival {
  CommunicationRequest request;
  int64_t group_size = 1;  ///< of the group's collectives
  int64_t group_position = 0;
};

/// Operations that are numbered together: the collectives of a team, or the sends from one rank to another.
struct PeerChannel {
  /// A member in one operation.
  struct Visit {
    std::shared_ptr<const PeerArrival> arrival = {};  ///< null: it has not come
    PeerAddress input = {};
    PeerAddress output = {};
    std::array<uint8_t, kPeerFlags> is_told = {};  ///< per flag: its GPU has been told to write it
  };

  std::vector<int64_t> members = {};                  ///< ranks; of sends: sender and receiver
  int64_t next = 0;                                   ///< number of this rank's next operation
  int64_t mismatched = -1;                            ///< number of an operation by which members do not mean the same
  uint64_t* flags = nullptr;                          ///< this rank's: per member, those that it writes
  std::vector<PeerAddress> flags_of;                  ///< per member, once it has come to an operation
  std::map<int64_t, std::vector<Visit>> visits = {};  ///< by operation, per member
};

/// A work while it runs.
struct PeerRun {
  struct Item {
    PeerChannel* channel = nullptr;
    size_t member = 0;  ///< this rank's position in the channel
    std::shared_ptr<const PeerArrival> arrival = {};
    std::vector<size_t> owners = {};   ///< members whose input this rank reads
    std::vector<size_t> readers = {};  ///< members that read this rank's memory
    int64_t number = -1;
    PeerAddress input = {};
    PeerAddress output = {};
    bool is_ready_told = false;  ///< to the GPU

    /// Members whose flag of this kind this rank waits for.
    std::span<const size_t> awaited(PeerFlag flag) const;
  };
  std::vector<Item> items = {};
};

/// What the messages between tables are, and between jobs.
enum class PeerMessage : uint8_t {
  Arrived,  ///< a rank has come to an operation
  Told,     ///< its GPU was told to write a flag
  Broken,   ///< the team is
  Out,      ///< no work of the rank runs: it reads no memory of others any more
  Left,     ///< the rank leaves the job: how many operations of each channel it came to
  Freed,    ///< numbers of allocations that are gone
};

/// Thread safety: any threads may use it side by side.
class PeerTeamTable {
 public:
  /// The sockets, the memory and the flags outlive it.
  PeerTeamTable(RankSockets& sockets, PeerMemory& memory, PeerFlags& flags, std::vector<int64_t> ranks, int64_t epoch,
                std::chrono::milliseconds timeout);

  std::span<const int64_t> ranks() const { return ranks_; }
  int64_t epoch() const { return epoch_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  int64_t rank() const { return sockets_.rank(); }

  /// They live as long as the table. Errors: of PeerFlags::take().
  PeerChannel& collectives();
  PeerChannel& transfers(int64_t from, int64_t to);

  /// Gives the work's operations their numbers; one that a rank has left before breaks the team. From now on no rank of
  /// this team is gone, but by death, until the work is over or the team is broken.
  /// Errors: CommunicationError of a team that is broken.
  void begin(PeerRun& run);
  /// The others learn that this rank has come, and where its memory is: from now on they may read it, behind the flag.
  /// What does not fit those who are there breaks the team.
  void arrive(PeerRun& run);
  /// This rank's GPU has been told to write a flag of these members.
  void tellFlag(const PeerRun::Item& item, PeerFlag flag, std::span<const size_t> members);

  /// Whether all members of all operations have come; waits a moment for it.
  bool haveArrived(const PeerRun& run, std::chrono::microseconds longest);
  /// Of operations that all have come to. Errors: CommunicationError where they do not mean the same.
  void requireAgreement(const PeerRun& run) const;
  /// Whether the GPUs were told to write all flags that this work waits for; waits a moment for it.
  bool areTold(const PeerRun& run, PeerFlag flag, std::chrono::microseconds longest);
  /// Of an operation that all have come to.
  PeerChannel::Visit visitOf(const PeerRun::Item& item, size_t member) const;
  /// Where that member's flags are, if it has come to an operation of this channel before.
  std::optional<PeerAddress> findFlagsOf(const PeerChannel& channel, size_t member) const;

  /// A flag that a member's GPU was told to write, and did not.
  struct Missing {
    size_t item = 0;
    size_t member = 0;
    PeerFlag flag = PeerFlag::Ready;
  };
  /// Nobody waits any longer: for who has not come, for what a GPU did not write, or for who told his GPU nothing.
  /// Breaks the team.
  void breakBecauseOfTime(const PeerRun& run, std::optional<Missing> missing);
  /// The work is over, and this rank reads no memory of others any more.
  void end(PeerRun& run);
  /// Waits until no work of any member that lives runs, but no longer than this. For teams that are broken or left.
  void waitForOthers(std::chrono::milliseconds longest);

  /// The first breakage stays. Tells the other members.
  void breakUp(Breakage breakage) noexcept;
  bool isBroken() const { return is_broken_.load(std::memory_order_acquire); }
  /// Whether the work cannot end because of what broke the team: one that a rank came to before it left can.
  bool isConcerned(const PeerRun& run) const;
  /// Errors: the CommunicationError of a broken team.
  void requireWhole() const;
  /// "Allreduce 7 of team (0 1 2 3)": the operation that is next on the channel, or this one.
  std::string nameOf(const PeerChannel& channel, CommunicationKind kind, std::optional<int64_t> number = {}) const;

  void receive(PeerMessage kind, int64_t rank, MessageReader& message);
  void noteDeath(int64_t rank);
  /// `message`: how many operations of each channel the rank has come to, as addCounts() wrote it; null: of none.
  void noteLeft(int64_t rank, MessageReader* message);
  void addCounts(MessageWriter& message) const;
  /// The rank leaves the job: whoever still uses the team gets an error.
  void close();

 private:
  OperationPlace placeOf(const PeerChannel& channel, int64_t number) const;
  PeerChannel& channelAt(int64_t from, int64_t to);
  std::pair<int64_t, int64_t> endsOf(const PeerChannel& channel) const;
  size_t positionIn(int64_t rank) const { return static_cast<size_t>(positionOf(ranks_, rank)); }
  MessageWriter messageOf(PeerMessage kind) const;
  MessageWriter messageOf(PeerMessage kind, const PeerChannel& channel, int64_t number) const;
  void tellMembers(std::span<const int64_t> members, const MessageWriter& message);
  static PeerChannel::Visit& visitAt(PeerChannel& channel, int64_t number, size_t member);
  void breakLocked(Breakage breakage);
  void breakIfLeft(const PeerRun& run);
  std::optional<int64_t> findLeft(const PeerRun::Item& item) const;
  void compare(PeerChannel& channel, int64_t number);
  void receiveArrived(int64_t rank, MessageReader& message);
  void receiveTold(int64_t rank, MessageReader& message);
  void tellOutIfQuiet();
  void addFlags(PeerChannel& channel);
  template <class IsThere>
  bool waitUntil(std::chrono::microseconds longest, const IsThere& is_there);

  RankSockets& sockets_;
  PeerMemory& memory_;
  PeerFlags& flags_;
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
  std::vector<PeerRun*> runs_;
  PeerChannel collectives_;
  std::map<std::pair<int64_t, int64_t>, PeerChannel> transfers_;
};

}  // namespace tokamak
