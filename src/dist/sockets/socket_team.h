// SocketTeam: what one rank knows of a team in one epoch, whose ranks talk over sockets: whether it is broken, and who
// is out of it.
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
#include <utility>
#include <vector>

#include "dist/communication_error.h"
#include "dist/communication_request.h"
#include "dist/operation_texts.h"
#include "dist/sockets/message.h"
#include "dist/sockets/rank_sockets.h"
#include "dist/team_state.h"

namespace tokamak {

/// What the messages between teams are, and between jobs. An engine's own ones have numbers from kOwnMessages on.
enum class SocketMessage : uint8_t {
  Broken,  ///< the team is
  Out,     ///< no work of the rank runs: it reads no memory of others any more
  Left,    ///< the rank leaves the job: how many operations of each channel it came to
};
inline constexpr uint8_t kOwnMessages = 3;

/// A member's part in one operation, the same in every run of a work.
struct SocketArrival {
  CommunicationRequest request;
  int64_t group_size = 1;  ///< of the group's collectives
  int64_t group_position = 0;
  bool is_grouped = false;
};

/// Operations that are numbered together: the collectives of a team, or the sends from one rank to another.
struct SocketChannel {
  explicit SocketChannel(std::vector<int64_t> of) : members(std::move(of)) {}

  std::vector<int64_t> members;  ///< ranks; of sends: sender and receiver
  int64_t next = 0;              ///< number of this rank's next operation
};

/// An operation of a work. `Channel`: the engine's SocketChannel.
template <class Channel>
struct SocketOperation {
  Channel* channel = nullptr;
  std::shared_ptr<const SocketArrival> arrival = {};
  int64_t number = -1;  ///< -1: it has not begun
};

class SocketTeam : public TeamState {
 public:
  /// The sockets outlive it.
  SocketTeam(RankSockets& sockets, std::vector<int64_t> ranks, int64_t epoch, std::chrono::milliseconds timeout);

  int64_t rank() const { return sockets_.rank(); }

  void breakUp(Breakage breakage) noexcept override;
  bool isBroken() const override { return is_broken_.load(std::memory_order_acquire); }
  void requireWhole() const override;
  /// Waits until no work of any member that lives runs, but no longer than this. For teams that are broken or left.
  void waitForOthers(std::chrono::milliseconds longest);

  /// A message of that rank, behind the numbers that name the team.
  void receive(uint8_t kind, int64_t rank, MessageReader& message);
  virtual void noteDeath(int64_t rank) = 0;
  /// `message`: how many operations of each channel the rank has come to, as addCounts() wrote it; null: of none.
  virtual void noteLeft(int64_t rank, MessageReader* message) = 0;
  virtual void addCounts(MessageWriter& message) const = 0;
  /// The rank leaves the job: whoever still uses the team gets an error.
  virtual void close();

 protected:
  using Ends = std::pair<int64_t, int64_t>;  // sender and receiver; -1 both: of the collectives

  /// A message of the engine's own, with the mutex held.
  virtual void receiveOwn(uint8_t kind, int64_t rank, MessageReader& message) = 0;
  /// With the mutex held: no work of this rank runs.
  virtual bool isQuiet() const = 0;

  MessageWriter messageOf(uint8_t kind) const;
  MessageWriter messageOf(SocketMessage kind) const { return messageOf(static_cast<uint8_t>(kind)); }
  void tellMembers(std::span<const int64_t> members, const MessageWriter& message);
  void breakLocked(Breakage breakage);
  /// Others may wait for this rank to read their memory no more.
  void tellOutIfQuiet();

  RankSockets& sockets_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Breakage> breakage_;  // does not change once is_broken_ is set
  std::atomic<bool> is_broken_ = false;
  bool is_left_ = false;  // by a member: it waits for others to be out
  bool is_out_told_ = false;
  std::vector<uint8_t> is_out_;                               // per member
  std::vector<std::optional<std::map<Ends, int64_t>>> left_;  // per member: its counts
  std::vector<LastOperation> last_;                           // per member
};

}  // namespace tokamak
