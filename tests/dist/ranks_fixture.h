// Ranks under test: a transport as the suite's parameter, and what a test does on each rank of a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "communication_model.h"
#include "device/device.h"
#include "dist/communication_error.h"
#include "dist/communicator.h"

namespace tokamak {

/// One transport under test.
struct TransportCase {
  std::string name;
  /// The communicators of a job of so many ranks, as far as this process drives them: all of them, or one.
  /// None where the job is larger than what there is, and where this process is none of its ranks.
  std::function<std::vector<std::unique_ptr<Communicator>>(int64_t ranks, std::chrono::milliseconds timeout)> make;
  /// Where ranks are processes: returns when all of a job of so many have called it.
  std::function<void(int64_t ranks)> meet = {};
  /// Whether operations are compared that come to an end on one rank, whatever the others mean.
  bool compares_all = true;
};

/// The transports under test: under mpirun (under_mpirun.py) its processes, else those whose ranks are threads.
std::vector<TransportCase> transportCases();
std::vector<TransportCase> localTransportCases();
std::vector<TransportCase> mpiTransportCases();
/// Over NCCL; of $TOKAMAK_TEST_NCCL, on GPUs alone: "threads" of this process, or "processes" that launchers start.
std::vector<TransportCase> ncclTransportCases();
/// Over peer copies; of $TOKAMAK_TEST_PEER, on GPUs alone, which $WORLD_SIZE ranks share: "threads" of this process, or
/// "processes" that launchers start.
std::vector<TransportCase> peerTransportCases();
bool isUnderMpirun();

/// A communication that was posted; waited for where its event is.
struct Posted {
  std::shared_ptr<const Work> work;
  std::shared_ptr<Event> event;
};

/// One rank in a test: memory of its device, a stream of the caller's, and communications as host programs post them.
class TestRank {
 public:
  explicit TestRank(Communicator& communicator);
  TestRank(const TestRank&) = delete;
  TestRank& operator=(const TestRank&) = delete;
  ~TestRank();

  int64_t rank() const { return rank_; }
  Communicator& communicator() { return communicator_; }
  Device& device() { return *device_; }
  Stream& current() { return *current_; }

  /// Memory of the device that lives as long as this. `fill`: each byte.
  void* memory(int64_t bytes, uint8_t fill = 0xEE);
  void* upload(std::span<const std::byte> bytes);
  /// What the current stream has there.
  Bytes download(const void* from, int64_t bytes);

  /// Behind the work of the current stream. `addresses`: as TeamCommunicator::prepare() says.
  Posted post(TeamCommunicator& team, std::span<const CommunicationRequest> group, const std::vector<void*>& addresses);
  /// A work of a team, on the stream where it belongs.
  Posted post(Stream& stream, std::shared_ptr<const Work> work, const std::vector<void*>& addresses);
  void wait(const Posted& posted);
  /// Posts this rank's part of an operation with the model's input; see check().
  void start(TeamCommunicator& team, const Operation& operation, uint64_t seed);
  /// Waits for what was started and compares with the model: outputs, and that nothing else was written.
  void check();
  /// Forgets what was started.
  void abandon() { started_.clear(); }
  /// Posts and waits: the failure of that, also where another rank has broken the team before; or nothing.
  std::optional<CommunicationError> failureOfPost(TeamCommunicator& team, std::span<const CommunicationRequest> group,
                                                  const std::vector<void*>& addresses);
  /// The failure of what the current stream waits for, or nothing.
  std::optional<CommunicationError> failure();

 private:
  struct Started {
    Operation operation;
    uint64_t seed = 0;
    Posted posted;
    void* input = nullptr;
    void* output = nullptr;
  };
  struct Block {
    void* address = nullptr;
    int64_t bytes = 0;
  };

  Communicator& communicator_;
  const int64_t rank_;
  const std::shared_ptr<Device> device_;
  std::shared_ptr<Stream> current_;
  std::vector<Block> blocks_;
  std::vector<Posted> posted_;
  std::vector<Started> started_;
};

/// The ranks of a job: a thread for each that this process drives.
class TestJob {
 public:
  explicit TestJob(std::vector<std::unique_ptr<Communicator>> communicators,
                   std::function<void(int64_t ranks)> meet = {})
      : communicators_(std::move(communicators)), meet_(std::move(meet)) {}

  /// Runs on each rank; what it raises is a failure of the test. The ranks leave when all are done.
  void run(const std::function<void(TestRank&)>& body);
  /// The rank leaves the job before the others; it is one that this process drives.
  void leave(int64_t rank);

 private:
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::function<void(int64_t ranks)> meet_;
};

/// The ranks from 0 to n - 1.
std::vector<int64_t> firstRanks(int64_t n);
/// The failure behind an exception, also where it is one of work that was skipped because of it.
std::optional<CommunicationError> communicationError(const std::exception_ptr& error);
/// What the call raises. A call that raises nothing, or something else, fails the test.
CommunicationError failureOf(const std::function<void()>& call);

class TransportTest : public testing::TestWithParam<TransportCase> {
 protected:
  static TestJob job(int64_t ranks, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    return TestJob(GetParam().make(ranks, timeout), GetParam().meet);
  }
};

}  // namespace tokamak
