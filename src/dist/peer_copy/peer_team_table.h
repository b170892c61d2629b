// PeerTeamTable: what one rank knows of a team in one epoch: who has come to which operation, with which memory, how
// far he has told his GPU.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dist/peer_copy/peer_memory.h"
#include "dist/sockets/message.h"
#include "dist/sockets/socket_team_table.h"

namespace tokamak {

/// What a member's GPU writes into flags of others: the number of the operation, counted from 1. They only ever grow.
enum class PeerFlag : uint8_t {
  Ready,    ///< its input can be read
  Reduced,  ///< of an Allreduce: its part of the result can be read
  Done,     ///< it has read what it needs
};
inline constexpr size_t kPeerFlags = 3;

struct PeerChannel : SocketChannel {
  explicit PeerChannel(std::vector<int64_t> of) : SocketChannel(std::move(of)), flags_of(members.size()) {}

  /// A member in one operation.
  struct Visit {
    std::shared_ptr<const SocketArrival> arrival = {};  ///< null: it has not come
    PeerAddress input = {};
    PeerAddress output = {};
    std::array<uint8_t, kPeerFlags> is_told = {};  ///< per flag: its GPU has been told to write it
  };

  int64_t mismatched = -1;                            ///< number of an operation by which members do not mean the same
  uint64_t* flags = nullptr;                          ///< this rank's: per member, those that it writes
  std::vector<PeerAddress> flags_of;                  ///< per member, once it has come to an operation
  std::map<int64_t, std::vector<Visit>> visits = {};  ///< by operation, per member
};

/// A work while it runs.
struct PeerRun {
  struct Item : SocketOperation<PeerChannel> {
    size_t member = 0;                 ///< this rank's position in the channel
    std::vector<size_t> owners = {};   ///< members whose input this rank reads
    std::vector<size_t> readers = {};  ///< members that read this rank's memory
    PeerAddress input = {};
    PeerAddress output = {};
    bool is_ready_told = false;  ///< to the GPU

    /// Members whose flag of this kind this rank waits for.
    std::span<const size_t> awaited(PeerFlag flag) const;
  };
  std::vector<Item> items = {};

  bool isAwaited() const { return true; }
};

/// What the messages between tables are, and between jobs, beside a SocketMessage.
enum class PeerMessage : uint8_t {
  Arrived = kOwnMessages,  ///< a rank has come to an operation
  Told,                    ///< its GPU was told to write a flag
  Freed,                   ///< numbers of allocations that are gone
};

/// Thread safety: any threads may use it side by side.
class PeerTeamTable final : public SocketTeamTable<PeerChannel, PeerRun> {
 public:
  /// The sockets, the memory and the flags outlive it.
  PeerTeamTable(RankSockets& sockets, PeerMemory& memory, PeerFlags& flags, std::vector<int64_t> ranks, int64_t epoch,
                std::chrono::milliseconds timeout);

  /// As SocketTeamTable says. Errors: of PeerFlags::take().
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

 private:
  MessageWriter messageOf(PeerMessage kind, const PeerChannel& channel, int64_t number) const;
  static PeerChannel::Visit& visitAt(PeerChannel& channel, int64_t number, size_t member);
  void receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) override;
  void compare(PeerChannel& channel, int64_t number);
  void receiveArrived(int64_t rank, MessageReader& message);
  void receiveTold(int64_t rank, MessageReader& message);
  void addFlags(PeerChannel& channel);
  template <class IsThere>
  bool waitUntil(std::chrono::microseconds longest, const IsThere& is_there);

  PeerMemory& memory_;
  PeerFlags& flags_;
};

}  // namespace tokamak
