// Ranks over NCCL that are processes: one of them is killed, or stopped, in the middle of an operation. Each has a fake
// NCCL of its own, so that their operation does not end: what the others are told comes from the sockets.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "dist/sockets/bootstrap.h"
#include "fake_nccl.h"
#include "rank_processes.h"
#include "ranks_fixture.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// TOKAMAK_RANK_FAULTS=1000: so many ranks are killed.
int64_t rankFaults() {
  const char* const given = std::getenv("TOKAMAK_RANK_FAULTS");
  return given == nullptr ? 60 : std::atoll(given);
}

// What is wrong with what this rank was told; empty: nothing.
std::string wrongIn(const std::optional<CommunicationError>& failure, CommunicationFault fault,
                    const std::string& message) {
  if (!failure) return "nothing was raised";
  if (failure->fault() != fault || failure->rank() != 1 || failure->message() != message)
    return "told: " + failure->message();
  return {};
}

// The last operation failed, and the team of who is left works.
std::string wrongAfter(TestRank& rank, int64_t left) {
  const std::vector<LoggedOperation> operations = rank.communicator().operations()->operations();
  if (operations.size() != 1 || operations[0].state != OperationState::Failed) return "the operation is not logged";
  const std::vector<int64_t> alive = rank.communicator().alive(firstRanks(rank.communicator().size()));
  if (std::ssize(alive) != left) return "the dead one is taken to be alive";
  const std::vector<int64_t> own = {rank.rank()};
  const auto team = rank.communicator().team(own);
  rank.start(*team, operationOf({.count = 20}, own), 1);
  rank.check();
  return testing::Test::HasFailure() ? "the new team gives wrong results" : "";
}

struct Fault {
  int signal = SIGKILL;
  milliseconds timeout = seconds(30);
  CommunicationFault fault = CommunicationFault::Died;
  std::string message;
  int64_t left = 1;
};

// A rank; it writes a byte when its operation has started. Whether all is as it should be.
bool runRank(int64_t number, int64_t port, int started, const Fault& fault) {
  const auto bootstrap = tcpBootstrap({.rank = number, .size = 2, .port = port, .timeout = seconds(20)});
  const std::shared_ptr<Device> device = openFakeDevice({}, number);
  const auto communicator = ncclCommunicator(
      *bootstrap, device, {.library = TOKAMAK_FAKE_DRIVER, .timeout = fault.timeout, .reduction_kernels = {}});
  TestRank rank(*communicator);
  const auto team = communicator->team(firstRanks(2));
  const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
  const Posted posted = rank.post(*team, {&sum, 1}, {rank.memory(64), rank.memory(64)});
  rank.wait(posted);
  while (communicator->operations()->operations()[0].state == OperationState::Posted)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  [[maybe_unused]] const ssize_t written = write(started, "x", 1);
  if (number == 1 && fault.signal == SIGSTOP) ::raise(SIGSTOP);  // before it has told anybody that it waits
  const auto begin = Clock::now();
  const std::optional<CommunicationError> failure = rank.failure();
  const bool is_late = Clock::now() - begin > fault.timeout + seconds(2);
  std::string wrong = wrongIn(failure, fault.fault, fault.message);
  if (is_late) wrong = "told too late";
  if (wrong.empty()) wrong = wrongAfter(rank, fault.left);
  if (!wrong.empty()) std::fprintf(stderr, "rank %d: %s\n", static_cast<int>(number), wrong.c_str());
  return wrong.empty();
}

// Rank 1 of 2 gets the signal; how long rank 0 took to end.
milliseconds hitOneOfTwo(const Fault& fault, std::chrono::microseconds pause) {
  const int64_t port = freePort();
  std::array<int, 2> started = {};
  if (pipe(started.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t survivor = forkRank([&] { return runRank(0, port, started[1], fault); });
  const pid_t victim = forkRank([&] { return runRank(1, port, started[1], fault); });
  std::array<char, 1> byte = {};
  close(started[1]);
  for (int64_t rank = 0; rank < 2; ++rank) EXPECT_EQ(read(started[0], byte.data(), 1), 1);
  std::this_thread::sleep_for(pause);
  const auto hit = Clock::now();
  kill(victim, fault.signal);
  // Whoever leaves waits a second for each team with one that is stopped.
  const milliseconds limit = fault.signal == SIGSTOP ? fault.timeout + seconds(5) : milliseconds(2000);
  EXPECT_TRUE(endsRightly(survivor, hit + limit));
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - hit);
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  close(started[0]);
  return took;
}

TEST(NcclProcesses, AKilledRankIsATypedErrorWithinTwoSecondsThatNamesItAndTheOperation) {
  if (kThreadSanitizer) GTEST_SKIP() << "processes are forked from one with threads";
  const FakeSettings settings(kFakeGpus);
  const Fault death = {.message = "rank 1 died before the end of Allreduce 0 of team (0 1)"};
  milliseconds longest(0);
  for (int64_t time = 0; time < rankFaults(); ++time) {
    SCOPED_TRACE(time);
    longest = std::max(longest, hitOneOfTwo(death, std::chrono::microseconds(300 * (time % 7))));
  }
  std::printf("%lld deaths; the survivors ended after %lld ms at most\n", static_cast<long long>(rankFaults()),
              static_cast<long long>(longest.count()));
}

TEST(NcclProcesses, AStoppedRankIsATypedErrorAtTheTimeOutThatNamesItAndTheOperation) {
  if (kThreadSanitizer) GTEST_SKIP() << "processes are forked from one with threads";
  const FakeSettings settings(kFakeGpus);
  const Fault hang = {
      .signal = SIGSTOP,
      .timeout = milliseconds(300),
      .fault = CommunicationFault::TimedOut,
      .message = "rank 1 did not come to Allreduce 0 of team (0 1) within 300 ms; it came to none of this team yet",
      .left = 2};
  hitOneOfTwo(hang, milliseconds(1));
}

}  // namespace

}  // namespace tokamak
