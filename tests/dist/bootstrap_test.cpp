// How ranks hear of one another: bootstraps, and the sockets between processes that are forked, and killed.
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <latch>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "compile/temporary_folder.h"
#include "dist/sockets/bootstrap.h"
#include "dist/sockets/message.h"
#include "dist/sockets/rank_sockets.h"
#include "dist/sockets/socket.h"
#include "error_of.h"
#include "rank_processes.h"
#include "ranks_fixture.h"

namespace tokamak {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string textOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class NoListener : public RankSockets::Listener {
 public:
  void receive(int64_t /*rank*/, std::span<const std::byte> /*message*/) override {}
  void noteDeath(int64_t /*rank*/) override {}
};

TEST(Bootstrap, ProcessesExchangeByTagsAndSubsets) {
  constexpr int64_t kRanks = 4;
  const int64_t port = freePort();
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    children.push_back(forkRank([=] {
      const auto bootstrap = tcpBootstrap({.rank = rank, .size = kRanks, .port = port, .timeout = seconds(10)});
      NoListener listener;
      RankSockets sockets(*bootstrap, seconds(10), listener);
      const std::vector<int64_t> some = {3, 0, 2};
      bool is_right = sockets.alive(firstRanks(kRanks)) == firstRanks(kRanks);
      for (int round = 0; round < 50; ++round) {
        const auto wordOf = [&](int64_t of) { return std::string(static_cast<size_t>(round * of), 'x') + 'e'; };
        const auto check = [&](const char* tag, const std::vector<int64_t>& ranks) {
          const auto theirs = sockets.exchange(tag, ranks, bytesOf(wordOf(rank)));
          for (size_t i = 0; i < ranks.size(); ++i) is_right = is_right && textOf(theirs[i]) == wordOf(ranks[i]);
        };
        if (rank != 1 && round % 2 == 0) check("some", some);  // before that of all here, and behind it there
        check("all", firstRanks(kRanks));
        if (rank != 1 && round % 2 != 0) check("some", some);
      }
      const std::string large(3'000'000, static_cast<char>('a' + rank));  // more than a socket takes at once
      const auto theirs = sockets.exchange("large", firstRanks(kRanks), bytesOf(large));
      for (size_t i = 0; i < theirs.size(); ++i) is_right = is_right && textOf(theirs[i])[2'999'999] == 'a' + char(i);
      sockets.leave();
      return is_right;
    }));
  for (const pid_t child : children) EXPECT_TRUE(endsRightly(child, Clock::now() + seconds(20)));
}

// What a survivor of a death is told, and when.
bool isToldOfDeath(RankSockets& sockets, int64_t dead) {
  const std::vector<int64_t> ranks = firstRanks(sockets.size());
  try {
    while (true) sockets.exchange("round", ranks, bytesOf("round"));
  } catch (const CommunicationError& error) {
    return error.fault() == CommunicationFault::Died && error.rank() == dead &&
           error.message() == "rank " + std::to_string(dead) + " died" &&
           std::ssize(sockets.alive(ranks)) == sockets.size() - 1 &&
           sockets.exchange("told", sockets.alive(ranks), {}).size() == ranks.size() - 1;  // before one of them leaves
  }
}

TEST(Bootstrap, AKilledRankIsATypedErrorOnAllWithinTwoSeconds) {
  constexpr int kTimes = 60;
  constexpr int64_t kRanks = 3;
  for (int time = 0; time < kTimes; ++time) {
    const int64_t dead = time % kRanks;
    const int64_t port = freePort();
    std::array<int, 2> started = {};
    ASSERT_EQ(pipe(started.data()), 0);
    std::vector<pid_t> children;
    for (int64_t rank = 0; rank < kRanks; ++rank)
      children.push_back(forkRank([=] {
        const auto bootstrap = tcpBootstrap({.rank = rank, .size = kRanks, .port = port, .timeout = seconds(20)});
        NoListener listener;
        RankSockets sockets(*bootstrap, seconds(20), listener);
        sockets.exchange("here", firstRanks(kRanks), {});
        [[maybe_unused]] const ssize_t written = write(started[1], "x", 1);
        const bool is_right = isToldOfDeath(sockets, dead);
        sockets.leave();
        return is_right;
      }));
    std::array<char, 1> byte = {};
    for (int64_t rank = 0; rank < kRanks; ++rank) ASSERT_EQ(read(started[0], byte.data(), 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * (time % 7)));
    const auto death = Clock::now();
    kill(children[static_cast<size_t>(dead)], SIGKILL);
    for (int64_t rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(endsRightly(children[static_cast<size_t>(rank)], death + seconds(2)), rank != dead)
          << "rank " << rank << ", time " << time;
    close(started[0]);
    close(started[1]);
  }
}

// Who waits may hear of that before its own socket tells of the death.
TEST(Bootstrap, ARankThatLeavesSaysWhoIsDead) {
  const auto bootstraps = threadBootstraps(3, seconds(10));
  std::latch is_told(1);
  std::vector<std::thread> threads;
  for (const auto& bootstrap : bootstraps)
    threads.emplace_back([&] {
      NoListener listener;
      RankSockets sockets(*bootstrap, seconds(10), listener);
      sockets.exchange("start", firstRanks(3), {});
      if (sockets.rank() == 0) sockets.noteGone(CommunicationFault::Died, 2);
      if (sockets.rank() == 1) {
        const CommunicationError failure = failureOf([&] { sockets.exchange("more", firstRanks(3), {}); });
        EXPECT_EQ(failure.fault(), CommunicationFault::Died);
        EXPECT_EQ(failure.message(), "rank 2 died");
        EXPECT_EQ(failureOf([&] { sockets.exchange("rest", firstRanks(2), {}); }).message(),
                  "rank 0 left the job; before that, rank 2 died");
      }
      if (sockets.rank() == 2) is_told.wait();
      if (sockets.rank() == 1) is_told.count_down();
      sockets.leave();
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Bootstrap, AFunctionOfTheCallerMayExchange) {
  const auto echo = [](std::span<const std::byte> bytes) {
    return std::vector<std::vector<std::byte>>{{bytes.begin(), bytes.end()}};
  };
  const auto bootstrap = functionBootstrap(0, 1, echo);
  EXPECT_EQ(textOf(bootstrap->exchange(bytesOf("word"))[0]), "word");
  EXPECT_EQ(errorOf([] { functionBootstrap(0, 1, nullptr); }).message(),
            "bootstrap: no function was given that exchanges bytes");
  EXPECT_EQ(errorOf([&] { functionBootstrap(2, 2, echo); }).message(),
            "bootstrap: rank 2 of a job of 2; ranks are numbered from 0 on");
  EXPECT_EQ(errorOf([&] { functionBootstrap(0, 2, echo)->exchange({}); }).message(),
            "bootstrap: the exchange gave the bytes of 1 ranks; there are 2");
}

TEST(Bootstrap, ThreadsThatDoNotComeAreNamed) {
  EXPECT_EQ(errorOf([] { threadBootstraps(0, seconds(1)); }).message(),
            "bootstrap: a job of 0 ranks; it has at least one");
  const auto bootstraps = threadBootstraps(2, milliseconds(30));
  const CommunicationError failure = failureOf([&] { bootstraps[0]->exchange({}); });
  EXPECT_EQ(failure.fault(), CommunicationFault::TimedOut);
  EXPECT_EQ(failure.message(), "bootstrap: rank 1 did not come within 30 ms");
}

TEST(Messages, ThatEndEarlyHaveZerosUnlessTheyAreOurOwn) {
  MessageWriter writer;
  writer.add(int64_t{7});
  MessageReader of_strangers(writer.bytes());
  EXPECT_EQ(of_strangers.number(), 7);
  EXPECT_EQ(of_strangers.number(), 0);
  EXPECT_TRUE(of_strangers.numbers().empty());
  MessageReader of_ours(writer.bytes(), ShortMessage::IsAFault);
  EXPECT_EQ(of_ours.number(), 7);
  const Error error = errorOf([&] { of_ours.number(); });
  EXPECT_EQ(error.code(), ErrorCode::Internal);
  EXPECT_THAT(error.message(), testing::HasSubstr("a message of another rank has 0 bytes where 8 are expected"));
}

TEST(Bootstrap, TheEnvironmentOfMpirunIsReadWhereNobodyElseSaysTheRank) {
  for (const char* variable : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"}) unsetenv(variable);
  const ScopedVariable rank("OMPI_COMM_WORLD_RANK", "1");
  const ScopedVariable size("OMPI_COMM_WORLD_SIZE", "2");
  const ScopedVariable local_rank("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  EXPECT_EQ(localRankFromEnvironment(5), 1);
  {
    const ScopedVariable all_here("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    const TcpBootstrapOptions options = tcpBootstrapFromEnvironment();
    EXPECT_EQ(options.rank, 1);
    EXPECT_EQ(options.size, 2);
    EXPECT_EQ(options.address, "127.0.0.1");
    EXPECT_EQ(options.port, 29500);
    const ScopedVariable port("MASTER_PORT", "1234");
    EXPECT_EQ(tcpBootstrapFromEnvironment().port, 1234);
  }
  const ScopedVariable some_here("OMPI_COMM_WORLD_LOCAL_SIZE", "1");
  EXPECT_EQ(errorOf([] { tcpBootstrapFromEnvironment(); }).message(),
            "bootstrap: $MASTER_ADDR is not set; it is the address of rank 0");
  const ScopedVariable torchrun_local("LOCAL_RANK", "0");
  EXPECT_EQ(localRankFromEnvironment(5), 0);
}

TEST(Bootstrap, TheRankOnAMachineIsTheRankWhereNobodySaysIt) {
  for (const char* variable : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}) unsetenv(variable);
  EXPECT_EQ(localRankFromEnvironment(5), 5);
}

TEST(Bootstrap, OneRankAloneNeedsNoPort) {
  const auto one = tcpBootstrap({.rank = 0, .size = 1});
  const auto another = tcpBootstrap({.rank = 0, .size = 1});
  EXPECT_EQ(one->exchange(std::as_bytes(std::span("a", 1))).size(), 1U);
  EXPECT_EQ(another->exchange({}).size(), 1U);
}

TEST(Bootstrap, TheEnvironmentOfLaunchersIsRead) {
  const ScopedVariable rank("RANK", "3");
  const ScopedVariable size("WORLD_SIZE", "8");
  const ScopedVariable address("MASTER_ADDR", "node0");
  {
    const ScopedVariable port("MASTER_PORT", "1234");
    const TcpBootstrapOptions options = tcpBootstrapFromEnvironment();
    EXPECT_EQ(options.rank, 3);
    EXPECT_EQ(options.size, 8);
    EXPECT_EQ(options.address, "node0");
    EXPECT_EQ(options.port, 1234);
    const ScopedVariable of_agent("TORCHELASTIC_USE_AGENT_STORE", "True");
    EXPECT_EQ(tcpBootstrapFromEnvironment().port, 2234);
    const ScopedVariable last("MASTER_PORT", "65000");
    EXPECT_EQ(tcpBootstrapFromEnvironment().port, 64000);
    const ScopedVariable own("TOKAMAK_BOOTSTRAP_PORT", "99");
    EXPECT_EQ(tcpBootstrapFromEnvironment().port, 99);
  }
  EXPECT_EQ(errorOf([] { tcpBootstrapFromEnvironment(); }).message(),
            "bootstrap: $MASTER_PORT is not set; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are what torchrun and "
            "other launchers set");
  const ScopedVariable wrong("MASTER_PORT", "12x");
  EXPECT_EQ(errorOf([] { tcpBootstrapFromEnvironment(); }).message(),
            "bootstrap: $MASTER_PORT is '12x'; it takes a number");
}

TEST(Bootstrap, WithoutAnAddressOfRankZeroTheVariableIsNamed) {
  const ScopedVariable rank("RANK", "0");
  const ScopedVariable size("WORLD_SIZE", "2");
  unsetenv("MASTER_ADDR");
  EXPECT_EQ(errorOf([] { tcpBootstrapFromEnvironment(); }).message(),
            "bootstrap: $MASTER_ADDR is not set; it is the address of rank 0");
}

TEST(Bootstrap, AddressesAndPortsThatCannotBeAreRefused) {
  EXPECT_EQ(errorOf([] { tcpBootstrap({.rank = 4, .size = 4}); }).message(),
            "bootstrap: rank 4 of a job of 4; ranks are numbered from 0 on");
  EXPECT_EQ(errorOf([] { tcpBootstrap({.rank = 0, .size = 1, .port = 65536}); }).message(),
            "bootstrap: port 65536; legal are 1 to 65535");
  const FileDescriptor taken = listenAt(0);
  EXPECT_THAT(errorOf([&] { tcpBootstrap({.rank = 0, .size = 2, .port = portOf(taken)}); }).message(),
              testing::HasSubstr(": Address already in use; $TOKAMAK_BOOTSTRAP_PORT names another one"));
  EXPECT_THAT(
      errorOf([] { tcpBootstrap({.rank = 1, .size = 2, .address = "no.such.host.invalid", .port = 1}); }).message(),
      testing::StartsWith("ranks: the address 'no.such.host.invalid' of a rank is unknown: "));
}

TEST(Bootstrap, RanksThatDoNotComeAreNamed) {
  const int64_t port = freePort();
  const auto make = [&](int64_t rank, int64_t size) {
    return tcpBootstrap({.rank = rank, .size = size, .port = port, .timeout = milliseconds(60)});
  };
  EXPECT_EQ(failureOf([&] { make(0, 3); }).message(), "bootstrap: rank 1 did not come within 60 ms");
  EXPECT_EQ(failureOf([&] { make(2, 3); }).message(),
            "bootstrap: rank 0 did not come within 60 ms to 127.0.0.1, port " + std::to_string(port));
}

TEST(Bootstrap, TwoProcessesOfOneRankAreTold) {
  const int64_t port = freePort();
  const auto joinAs = [&](int64_t rank, int64_t size) {
    return [=] {
      const auto bootstrap = tcpBootstrap({.rank = rank, .size = size, .port = port, .timeout = seconds(5)});
      bootstrap->exchange({});
    };
  };
  std::thread twin(
      [&] { EXPECT_EQ(failureOf(joinAs(1, 3)).message(), "bootstrap: two processes say that they are rank 1 of 3"); });
  std::thread other(
      [&] { EXPECT_EQ(failureOf(joinAs(1, 3)).message(), "bootstrap: two processes say that they are rank 1 of 3"); });
  EXPECT_EQ(failureOf(joinAs(0, 3)).fault(), CommunicationFault::Mismatch);
  twin.join();
  other.join();
  std::thread larger([&] {
    EXPECT_EQ(failureOf(joinAs(1, 4)).message(),
              "bootstrap: a process says that it is rank 1 of 4; rank 0 is one of 3");
  });
  EXPECT_EQ(failureOf(joinAs(0, 3)).rank(), 1);
  larger.join();
}

TEST(Bootstrap, ARankThatIsGoneBeforeTheExchangeIsNamedToAll) {
  const int64_t port = freePort();
  const auto make = [&](int64_t rank) {
    return tcpBootstrap({.rank = rank, .size = 3, .port = port, .timeout = seconds(5)});
  };
  std::thread gone([&] { make(1); });
  std::thread told([&] {
    const auto bootstrap = make(2);
    EXPECT_EQ(failureOf([&] { bootstrap->exchange({}); }).message(), "bootstrap: rank 1 died");
  });
  const auto bootstrap = make(0);
  gone.join();
  EXPECT_EQ(failureOf([&] { bootstrap->exchange({}); }).fault(), CommunicationFault::Died);
  told.join();
}

// A bootstrap whose other rank has a card, and no sockets behind it.
TEST(Bootstrap, RanksThatNobodyReachesAreNamed) {
  NoListener listener;
  std::vector<std::byte> own;
  const auto alone = [&](std::span<const std::byte> bytes) {
    own.assign(bytes.begin(), bytes.end());
    return std::vector<std::vector<std::byte>>{own, own};
  };
  EXPECT_EQ(
      failureOf([&] { RankSockets sockets(*functionBootstrap(0, 2, alone), milliseconds(50), listener); }).message(),
      "rank 1 did not connect to rank 0 within 50 ms");
  // Its listener has gone with it, and rank 1 has the same card.
  const std::vector<std::byte> stale = own;
  const auto behind = [&](std::span<const std::byte> bytes) {
    return std::vector<std::vector<std::byte>>{stale, {bytes.begin(), bytes.end()}};
  };
  EXPECT_THAT(
      failureOf([&] { RankSockets sockets(*functionBootstrap(1, 2, behind), milliseconds(50), listener); }).message(),
      testing::MatchesRegex("rank 1 cannot reach rank 0 at port [0-9]+ of \\(127.0.0.1\\) within 50 ms"));
}

}  // namespace

}  // namespace tokamak
