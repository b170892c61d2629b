// What the local transport promises beyond the suite: deaths at each point of each operation, and faults from a seed.
#include "dist/local/local_communicator.h"

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/require.h"
#include "error_of.h"
#include "jit/open_device.h"
#include "ranks_fixture.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kLongest{20};  // that a test that fails waits

TestJob localJob(int64_t ranks, LocalOptions options) {
  std::vector<std::shared_ptr<Device>> devices;
  if (options.timeout > kLongest) options.timeout = kLongest;
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openCpuDevice({.threads = 1}));
  return TestJob(makeLocalCommunicators(devices, options));
}

// A kind each, over some sizes.
std::vector<OperationForm> someForms(size_t count) {
  std::vector<OperationForm> forms;
  constexpr std::array kKinds = {Kind::Allreduce, Kind::Allgather, Kind::Broadcast, Kind::ReduceScatter,
                                 Kind::AllToAll,  Kind::Gather,    Kind::Scatter,   Kind::CollectivePermute};
  for (size_t i = 0; i < count; ++i) forms.push_back({.kind = kKinds[i % kKinds.size()], .count = 100});
  return forms;
}

struct Outcome {
  int64_t done = 0;  // operations, before the failure
  std::optional<CommunicationError> failure;
};

// Runs the forms one by one, until one fails; those that do not have the model's results.
Outcome runUntilFailure(TestRank& rank, std::span<const OperationForm> forms) {
  Outcome outcome;
  try {
    const auto team = rank.communicator().team(firstRanks(rank.communicator().size()));
    for (const OperationForm& form : forms) {
      rank.start(*team, operationOf(form, team->ranks()), static_cast<uint64_t>(outcome.done));
      rank.check();
      ++outcome.done;
    }
  } catch (const Error&) {
    outcome.failure = communicationError(std::current_exception());
  }
  return outcome;
}

constexpr std::array kPoints = {OperationPoint::BeforeArrival, OperationPoint::AfterArrival,
                                OperationPoint::BetweenParts, OperationPoint::BeforeEnd};

TEST(LocalCommunicators, ADeathAtEachPointOfEachOperationIsTheSameErrorOnEverySurvivor) {
  const std::vector<OperationForm> forms = someForms(9);  // one more, at which all have been told
  for (int64_t operation = 0; operation < 8; ++operation) {
    for (const OperationPoint point : kPoints) {
      const LocalFaults faults = {.death = LocalDeath{.rank = 1, .operation = operation, .point = point}};
      const auto begin = std::chrono::steady_clock::now();
      localJob(3, {.faults = faults}).run([&](TestRank& rank) {
        const Outcome outcome = runUntilFailure(rank, forms);
        // Who had all parts already may have gone on to the next one; who waited for the other survivor to have its
        // parts of the one before has not.
        EXPECT_GE(outcome.done, operation - 1);
        EXPECT_LE(outcome.done, operation + 1);
        ASSERT_TRUE(outcome.failure.has_value());
        EXPECT_EQ(outcome.failure->fault(), CommunicationFault::Died);
        EXPECT_EQ(outcome.failure->rank(), 1);
        EXPECT_EQ(outcome.failure->message(), "rank 1 died in " +
                                                  std::string(enumName(forms[static_cast<size_t>(operation)].kind)) +
                                                  " " + std::to_string(operation) + " of team (0 1 2)");
        if (rank.rank() == 1) {
          EXPECT_EQ(failureOf([&] { rank.communicator().team(firstRanks(3)); }).fault(), CommunicationFault::Died);
          return;
        }
        const std::vector<int64_t> survivors = rank.communicator().alive(firstRanks(3));
        EXPECT_EQ(survivors, (std::vector<int64_t>{0, 2}));
        EXPECT_EQ(failureOf([&] { rank.communicator().exchange("any", firstRanks(3), {}); }).rank(), 1);
        const auto team = rank.communicator().team(survivors);
        rank.start(*team, operationOf({.count = 9}, survivors), 1);
        rank.check();
      });
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    }
  }
}

TEST(LocalCommunicators, ADeathBreaksEveryTeamOfTheRankAndEndsExchanges) {
  const LocalFaults faults = {.death = LocalDeath{.rank = 2, .operation = 0}};
  localJob(3, {.faults = faults}).run([](TestRank& rank) {
    const std::array<int64_t, 2> first = {0, 2};
    const std::array<int64_t, 2> second = {1, 2};
    const CommunicationRequest request = {.kind = Kind::Allreduce, .counts = {1}};
    if (rank.rank() == 1) {  // waits on the host
      const auto team = rank.communicator().team(second);
      rank.communicator().exchange("formed", firstRanks(3), {});
      EXPECT_EQ(failureOf([&] { rank.communicator().exchange("never", second, {}); }).message(),
                "rank 2 died in Allreduce 0 of team (0 2)");
      EXPECT_EQ(failureOf([&] { team->requireWhole(); }).message(), "rank 2 died in Allreduce 0 of team (0 2)");
      return;
    }
    const auto team = rank.communicator().team(first);
    if (rank.rank() == 2) rank.communicator().team(second);
    rank.communicator().exchange("formed", firstRanks(3), {});
    void* const buffer = rank.memory(4);
    EXPECT_TRUE(rank.failureOfPost(*team, {&request, 1}, {buffer, buffer}).has_value());
  });
}

TEST(LocalCommunicators, RandomDeathsInRandomSequencesLeaveNobodyWaiting) {
  int64_t deaths = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const int64_t ranks = 2 + static_cast<int64_t>(seed % 4);
    std::vector<OperationForm> forms;
    for (int i = 0; i < 20; ++i) forms.push_back(randomForm(random, ranks));
    const LocalFaults faults = {
        .seed = seed, .longest_delay = std::chrono::microseconds(100), .reorders = true, .death_chance = 0.005};
    std::atomic<int64_t> failed = 0;
    std::atomic<int64_t> dead = -1;
    localJob(ranks, {.faults = faults}).run([&](TestRank& rank) {
      const Outcome outcome = runUntilFailure(rank, forms);
      if (!outcome.failure) return;
      EXPECT_EQ(outcome.failure->fault(), CommunicationFault::Died) << outcome.failure->what();
      ++failed;
      int64_t nobody = -1;
      const bool is_first = dead.compare_exchange_strong(nobody, outcome.failure->rank());
      EXPECT_EQ(is_first ? outcome.failure->rank() : nobody, outcome.failure->rank()) << "all are told of one death";
    });
    deaths += failed > 0 ? 1 : 0;
  }
  EXPECT_GT(deaths, 10);
  EXPECT_LT(deaths, 40);
}

TEST(LocalCommunicators, ARankThatHangsInAnOperationIsNamed) {
  bool hangs_inside = false;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const LocalFaults faults = {.seed = seed, .longest_delay = milliseconds(300)};
    localJob(2, {.timeout = milliseconds(40), .faults = faults}).run([&](TestRank& rank) {
      const Outcome outcome = runUntilFailure(rank, std::vector<OperationForm>(20, {.count = 10}));
      ASSERT_TRUE(outcome.failure.has_value());
      EXPECT_EQ(outcome.failure->fault(), CommunicationFault::TimedOut);
      EXPECT_THAT(outcome.failure->message(),
                  testing::StartsWith("rank " + std::to_string(outcome.failure->rank()) + " did not come to "));
      const bool is_inside = outcome.failure->message().find("the end of Allreduce") != std::string::npos;
      if (is_inside && rank.rank() == 0) hangs_inside = true;
    });
  }
  EXPECT_TRUE(hangs_inside);
}

TEST(LocalCommunicators, ADeathEndsTheExchangesOfTheRankItself) {
  const LocalFaults faults = {.death = LocalDeath{.rank = 1, .operation = 0}};
  localJob(2, {.faults = faults}).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    const auto team = rank.communicator().team(ranks);
    const CommunicationRequest request = {.kind = Kind::Allreduce, .counts = {1}};
    const auto work = team->prepare(request);
    rank.communicator().exchange("prepared", ranks, {});
    void* const buffer = rank.memory(4);
    if (rank.rank() == 1) rank.device().callback(rank.current(), [] { std::this_thread::sleep_for(milliseconds(50)); });
    rank.post(team->stream(), work, {buffer, buffer});
    if (rank.rank() == 1) {  // it is dead before the other one comes
      EXPECT_EQ(failureOf([&] { rank.communicator().exchange("never", ranks, {}); }).message(),
                "rank 1 died in Allreduce 0 of team (0 1)");
    }
  });
}

TEST(LocalCommunicators, TheSameSeedGivesTheSameFaults) {
  const auto outcomesOf = [](uint64_t seed) {
    const LocalFaults faults = {.seed = seed, .death_chance = 0.02};
    std::vector<std::string> outcomes(3);
    localJob(3, {.faults = faults}).run([&](TestRank& rank) {
      const Outcome outcome = runUntilFailure(rank, someForms(8));
      if (outcome.failure && outcome.failure->rank() == rank.rank())
        outcomes[static_cast<size_t>(rank.rank())] = outcome.failure->message();
    });
    return outcomes;
  };
  std::set<std::vector<std::string>> different;
  for (uint64_t seed = 0; seed < 12; ++seed) different.insert(outcomesOf(seed));
  EXPECT_GT(different.size(), 3U);
  // Where two ranks die in one operation, either may be the first.
  int64_t same = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) same += outcomesOf(seed) == outcomesOf(seed) ? 1 : 0;
  EXPECT_GE(same, 10);
}

TEST(LocalCommunicators, AWorkBelongsToOneStream) {
  localJob(2, {}).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const auto work = team->prepare({.kind = Kind::Allreduce, .counts = {1}});
    void* const buffer = rank.memory(4);
    rank.device().synchronize(rank.current());
    if (rank.rank() == 1) return;  // the first one waits for this rank
    const auto other = rank.device().createStream();
    rank.device().launch(team->stream(), *work, std::array<void*, 2>{buffer, buffer});
    std::this_thread::sleep_for(milliseconds(50));
    rank.device().launch(*other, *work, std::array<void*, 2>{buffer, buffer});
    EXPECT_EQ(
        errorOf([&] { rank.device().synchronize(*other); }).message(),
        "Allreduce of 1 f32 (sum): the work runs already, on another stream; it belongs to one stream of its team");
    EXPECT_EQ(failureOf([&] { rank.device().synchronize(team->stream()); }).fault(), CommunicationFault::Failed);
  });
}

TEST(LocalCommunicators, AGroupOfAnySizeTellsTheOthersWhereItIsSkipped) {
  constexpr size_t kMany = 3000;  // whose addresses are more than a stream's queue takes in
  for (const bool fails : {false, true}) {
    localJob(2, {}).run([&](TestRank& rank) {
      const auto team = rank.communicator().team(firstRanks(2));
      const std::vector<CommunicationRequest> group(kMany, {.kind = Kind::Allreduce, .counts = {1}});
      const float one = 1;
      std::vector<void*> addresses(2 * kMany, rank.upload(std::as_bytes(std::span(&one, 1))));
      for (size_t i = 0; i < kMany; ++i) addresses[2 * i + 1] = rank.memory(4);
      if (fails && rank.rank() == 1)
        rank.device().callback(rank.current(), [] { TK_RAISE(Device, "a fault of the test"); });
      if (rank.rank() == 0 || !fails) {
        const auto failure = rank.failureOfPost(*team, group, addresses);
        EXPECT_EQ(failure ? failure->message() : "",
                  fails ? "rank 1 cannot take part in Allreduce 0 of team (0 1): a fault of the test" : "");
      } else {
        rank.wait(rank.post(*team, group, addresses));
      }
      if (!fails) {
        const Bytes sum = rank.download(addresses.back(), 4);
        const float two = 2;
        EXPECT_EQ(firstDifference(DataType::F32, sum, std::as_bytes(std::span(&two, 1))), "");
      }
    });
  }
}

TEST(LocalCommunicators, OptionsThatCannotBeAreRefused) {
  const auto messageOf = [](std::vector<std::shared_ptr<Device>> devices, const LocalOptions& options) {
    return errorOf([&] { makeLocalCommunicators(devices, options); }).message();
  };
  EXPECT_EQ(messageOf({}, {}), "local communicators: no devices were given; a job has a rank on each");
  EXPECT_EQ(messageOf({openCpuDevice()}, {.timeout = milliseconds(0)}),
            "local communicators: a time-out of 0 ms was asked for; it has to be positive");
}

// Says that its memory is a GPU's.
class ElsewhereDevice final : public CpuDevice {
 public:
  const DeviceProperties& properties() const override { return properties_; }

 private:
  const DeviceProperties properties_ = {.name = "cuda:0", .description = "", .ordinal = 0, .architecture = ""};
};

TEST(LocalCommunicators, DevicesWithMemoryOfTheirOwnAreRefused) {
  const std::vector<std::shared_ptr<Device>> devices = {std::make_shared<ElsewhereDevice>()};
  const Error error = errorOf([&] { makeLocalCommunicators(devices); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(),
            "local communicators: cuda:0 has memory of its own; they are for devices whose memory is the host's");
}

}  // namespace

}  // namespace tokamak
