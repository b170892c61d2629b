// NcclTeamTable: what one rank knows of a team in one epoch: its own works, who waits where, and whether it is broken.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dist/nccl/nccl_connection.h"
#include "dist/nccl/nccl_types.h"
#include "dist/operation_texts.h"
#include "dist/sockets/message.h"
#include "dist/sockets/socket_team_table.h"

namespace tokamak {

/// Its members wait for one another in one communicator.
struct NcclChannel : SocketChannel {
  using SocketChannel::SocketChannel;

  /// By operation and member: who told that he waits.
  std::map<int64_t, std::vector<std::shared_ptr<const SocketArrival>>> waiting = {};
  std::optional<nccl::UniqueId> id = {};
  /// Used by the channel's stream alone, until the table is closed.
  std::unique_ptr<NcclConnection> connection = {};
};

/// A work while it runs; made with the work, so that running it needs no memory.
struct NcclRun {
  std::vector<SocketOperation<NcclChannel>> items = {};
  bool has_arrived = false;  ///< the stream has got there
  bool is_told = false;      ///< the others know that it waits

  bool isAwaited() const { return has_arrived; }
};

/// What the messages between tables are, beside a SocketMessage.
enum class NcclMessage : uint8_t {
  Id = kOwnMessages,  ///< of a channel: its communicator is made with it
  Waiting,            ///< a rank waits in an operation
  Last,               ///< what a rank that is waited for did last
};

/// NCCL compares nothing: ranks that do not mean the same communication wait for ever. While all goes well, ranks tell
/// each other nothing. Who waits for long tells the others what he waits in; they compare it with what they wait in,
/// who is through with it answers with what it was to him, and who has not come with what he did last. So mismatches
/// and missing ranks are named.
/// Thread safety: any threads may use it side by side.
class NcclTeamTable final : public SocketTeamTable<NcclChannel, NcclRun> {
 public:
  /// The sockets outlive it.
  NcclTeamTable(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout);

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

  /// Waits a moment for the channel's id, which its first member makes. Null: it is not there yet.
  const nccl::UniqueId* findId(NcclChannel& channel, std::chrono::microseconds longest);
  void giveId(NcclChannel& channel, const nccl::UniqueId& id);

  /// Ends its communicators, too.
  void close() override;

 private:
  static constexpr size_t kRemembered = 1024;  // operations that late ranks may be told of
  struct Remembered {
    const NcclChannel* channel = nullptr;
    int64_t number = -1;
    std::shared_ptr<const SocketArrival> arrival = {};
  };

  void receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) override;
  void compare(const NcclChannel& channel, int64_t number);
  void addOwn(const NcclRun& run);
  void tellWaitingLocked(NcclRun& run);
  MessageWriter waitingMessage(const NcclChannel& channel, int64_t number, const SocketArrival& arrival,
                               bool is_answer) const;
  const SocketArrival* findOwn(const NcclChannel& channel, int64_t number) const;
  void receiveWaiting(int64_t rank, MessageReader& message);
  void remember(const NcclRun& run);

  LastOperation own_last_;
  std::vector<Remembered> remembered_;  // a ring
  size_t remembered_count_ = 0;
};

}  // namespace tokamak
