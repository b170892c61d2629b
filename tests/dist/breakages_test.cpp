// That a process goes on after breakages: new teams form, and nothing of the broken ones is kept.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include <malloc.h>

#include "ranks_fixture.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

int64_t breakages() {
  const char* const given = std::getenv("TOKAMAK_BREAKAGES");
  return given == nullptr ? 1000 : std::atoll(given);
}

int64_t threadsOfThisProcess() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t threads = 0;
  while (status >> word)
    if (word == "Threads:") status >> threads;
  return threads;
}

// One operation that ends, and one that cannot, as this rank or another one leaves the team.
void breakOnce(Communicator& communicator, int64_t epoch) {
  TestRank rank(communicator);
  const std::vector<int64_t> ranks = firstRanks(communicator.size());
  const auto team = communicator.team(ranks);
  ASSERT_EQ(team->epoch(), epoch);
  rank.start(*team, operationOf({.count = 20}, ranks), static_cast<uint64_t>(epoch));
  rank.check();
  communicator.exchange("done", ranks, {});
  if (rank.rank() == epoch % communicator.size())
    return team->leave(std::make_exception_ptr(std::runtime_error("a fault of the rank's own code")));
  const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
  const auto failure = rank.failureOfPost(*team, {&sum, 1}, {rank.memory(64), rank.memory(64)});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->message(),
            "rank " + std::to_string(epoch % communicator.size()) + " left team (0 1): a fault of the rank's own code");
}

TEST_P(TransportTest, ManyBreakagesLeaveNeitherMemoryNorThreads) {
  constexpr int64_t kFirst = 100;  // until all is as large as it gets
  // Bytes per breakage: a stream of the CPU remembers its last 4,096 failures, the fake NCCL its ids.
  constexpr int64_t kRemembered = 700;
  const int64_t count = breakages();
  job(2).run([&](TestRank& rank) {
    const auto ranks = firstRanks(2);
    size_t heap = 0;
    int64_t threads = 0;
    for (int64_t epoch = 0; epoch < count; ++epoch) {
      breakOnce(rank.communicator(), epoch);
      if (testing::Test::HasFatalFailure()) return;
      if (epoch + 1 == kFirst || epoch + 1 == count) rank.communicator().exchange("all", ranks, {});
      if (epoch + 1 != kFirst) continue;
      heap = mallinfo2().uordblks;
      threads = threadsOfThisProcess();
      rank.communicator().exchange("measured", ranks, {});
    }
    const auto growth = static_cast<int64_t>(mallinfo2().uordblks - heap);
    if (rank.rank() == 0)
      std::printf("%lld breakages: the heap grew by %lld bytes over the last %lld\n", static_cast<long long>(count),
                  static_cast<long long>(growth), static_cast<long long>(count - kFirst));
    if (!kThreadSanitizer) {
      EXPECT_LT(growth, kRemembered * (count - kFirst));
    }
    EXPECT_LE(threadsOfThisProcess(), threads + 2);
    rank.communicator().exchange("seen", ranks, {});
  });
}

}  // namespace

}  // namespace tokamak
