// PostedCommunications: what one run of a local program has posted and not waited for yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "host/run/rank_communications.h"

namespace tokamak {

class Recorder;

/// To post is: an event on the current stream, a wait for it on the team's stream, the work, an event behind it. To
/// wait is: the current stream waits for that event. A recorder writes the same down.
/// Memory that a communication uses stays in use until a Wait for it.
/// Thread safety: one thread at a time.
class PostedCommunications {
 public:
  /// `device`: the teams', or a recorder.
  PostedCommunications(Device& device, RankCommunications& ranks);

  /// A statement that communicates; between startGroup() and endGroup() it becomes part of the group.
  /// Errors: those of requestOf() and RankCommunications::prepare().
  void post(const Expr& statement, int64_t number, const CommunicationMemory& memory, const ScalarBindings& scalars,
            Stream& current);
  void startGroup() { is_grouping_ = true; }
  void endGroup(int64_t number, Stream& current);
  /// Errors: HostProgram when nothing was posted under this number.
  void wait(int64_t number, Stream& current);

  /// Errors: HostProgram when a communication that nobody waited for uses the memory.
  void requireUnused(const RunStorage& storage, const std::string& name) const;
  /// At the end of the program. Errors: HostProgram when nobody waited for a communication.
  void requireAllWaitedFor() const;
  /// After an error: memory that is let go now is used no more when `stream`, or a worker, comes to its next work.
  void joinInto(Stream& stream, RunStreams& workers);

 private:
  struct Posted {
    std::string text;  // of the statement
    std::shared_ptr<Event> done;
    std::vector<std::shared_ptr<RunStorage>> uses;
    bool is_waited_for = false;
  };
  struct Waiting {
    RankRequest request;
    RunTensor in;
    RunTensor out;
    int64_t number = 0;
  };

  void launch(std::vector<RankRequest> requests, RankCommunications::Posted how, std::vector<int64_t> numbers,
              std::string text, Stream& current);

  Device& device_;
  RankCommunications& ranks_;
  Recorder* recorder_;
  bool is_grouping_ = false;
  std::vector<std::unique_ptr<Waiting>> group_;  // their requests point into them
  std::string group_text_;
  std::unordered_map<int64_t, std::shared_ptr<Posted>> by_number_;
  std::vector<std::shared_ptr<Posted>> posted_;  // those that nobody waited for
};

}  // namespace tokamak
