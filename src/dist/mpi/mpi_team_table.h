// MpiTeamTable: what one rank knows of a team in one epoch: who has come to which operation, and whether it is broken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/communication_error.h"
#include "dist/communication_request.h"
#include "dist/mpi/mpi_world.h"
#include "dist/operation_texts.h"
#include "dist/team_state.h"

namespace tokamak {

/// A member's arrival at an operation: from then on its memory is ready to receive data.
struct MpiArrival {
  CommunicationRequest request;
  int64_t group_size = 1;
  int64_t group_position = 0;
  int64_t tag = 0;  ///< of data for this member; results have the next one
};

/// One operation, from the first arrival that is known here until this rank is done with it.
struct MpiMeeting {
  std::vector<std::optional<MpiArrival>> arrivals;  ///< by member of the channel
  size_t present = 0;
  CommunicationKind kind = CommunicationKind::Gather;  ///< of who came first

  bool isComplete() const { return present == arrivals.size(); }
};

/// Operations that are numbered together: the collectives of a team, or the sends from one rank to another.
struct MpiChannel {
  std::vector<int64_t> members;  ///< ranks; of sends: sender and receiver
  int64_t next = 0;              ///< number of this rank's next operation
  std::map<int64_t, MpiMeeting> meetings = {};
};

/// All members tell all of each operation that they come to. So each sees for itself whether they fit, the same on all
/// ranks; and who has told where its data are to go has its memory ready for them. A member sends data once all have
/// come, and none once it has told that it knows of a breakage: what was sent before arrives before that is read. So a
/// receiver waits for data, or for that word of the sender, and then calls the receive off.
/// Thread safety: all is called with the world's mutex held, but what TeamState has.
class MpiTeamTable final : public TeamState {
 public:
  /// The world outlives it.
  MpiTeamTable(MpiWorld& world, const MpiJobKey& job, std::vector<int64_t> ranks, int64_t epoch,
               std::chrono::milliseconds timeout);

  MpiChannel& collectives() { return collectives_; }
  MpiChannel& transfers(int64_t from, int64_t to);

  /// A member, this one or another, has come to the operation. What does not fit those who are there breaks the team.
  void noteArrival(MpiChannel& channel, int64_t number, size_t member, MpiArrival arrival);
  /// A rank has come to its last operation: whoever waits for another one of it breaks the team.
  void noteLeft(int64_t rank);
  void noteDeath(int64_t rank);
  /// A member sends no more data; why it does not.
  void noteOut(int64_t rank, Breakage breakage);
  /// A member does not answer.
  void noteSilent(int64_t rank) { is_out_[positionIn(rank)] = 1; }
  bool isOut(int64_t rank) const { return is_out_[positionIn(rank)] != 0; }
  /// Of an operation that this rank has come to and another one has not, where that one has left. Breaks the team.
  void breakIfMissed(const MpiChannel& channel, int64_t number);
  /// That nobody waits for any longer.
  void breakBecauseOfTime(const MpiChannel& channel, int64_t number);
  void breakAtEndBecauseOfTime(const MpiChannel& channel, int64_t number, int64_t rank);

  void breakUp(Breakage breakage) noexcept override;
  bool isBroken() const override { return is_broken_.load(std::memory_order_acquire); }
  /// Of a broken team.
  const Breakage& breakage() const { return *breakage_; }
  void requireWhole() const override;
  /// As breakUp().
  void breakLocked(Breakage breakage);

  std::string operationName(const MpiChannel& channel, CommunicationKind kind, int64_t number) const;

  /// Memory for one work at a time; what is given back is given out again.
  struct Scratch {
    std::unique_ptr<std::byte[]> bytes;
    int64_t size = 0;
  };
  Scratch takeScratch(int64_t bytes);
  void giveBack(Scratch scratch);

 private:
  OperationPlace placeOf(const MpiChannel& channel, int64_t number) const;
  LastOperation& lastOf(int64_t rank) { return last_[positionIn(rank)]; }
  void compare(const MpiChannel& channel, int64_t number, const MpiMeeting& meeting, size_t member);
  std::string deathText(const MpiChannel& channel, int64_t rank) const;

  MpiWorld& world_;
  const MpiJobKey job_;
  std::optional<Breakage> breakage_;  // does not change once is_broken_ is set
  std::atomic<bool> is_broken_ = false;
  std::vector<uint8_t> is_out_;      // per rank of the team
  std::vector<uint8_t> has_left_;    // per rank of the team
  std::vector<LastOperation> last_;  // per rank of the team
  MpiChannel collectives_;
  std::map<std::pair<int64_t, int64_t>, MpiChannel> transfers_;
  Scratch scratch_;
};

}  // namespace tokamak
