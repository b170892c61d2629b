// What the MPI transport promises beyond the suite: how it starts, which library it loads, and what it does with errors
// of MPI, stopped processes and messages of jobs that are not there yet.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>

#include <sys/wait.h>

#include "base/error.h"
#include "dist/mpi/mpi_communicator.h"
#include "dist/mpi/mpi_job.h"
#include "dist/mpi/mpi_library.h"
#include "error_of.h"
#include "fake_mpi.h"
#include "jit/open_device.h"
#include "rank_processes.h"
#include "ranks_fixture.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using std::chrono::milliseconds;
using testing::HasSubstr;

// Communicators of a fake that the test holds.
TestJob jobOn(const FakeMpi& mpi, int64_t ranks, milliseconds timeout) {
  const std::vector<std::shared_ptr<MpiWorld>> worlds = mpi.worlds();
  std::vector<std::unique_ptr<Communicator>> made(worlds.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < worlds.size(); ++rank)
    threads.emplace_back([&, rank] {
      if (static_cast<int64_t>(rank) < ranks)
        made[rank] = mpiCommunicator(worlds[rank], openCpuDevice({.threads = 1}), {.timeout = timeout, .ranks = ranks});
    });
  for (std::thread& thread : threads) thread.join();
  std::erase(made, nullptr);
  return TestJob(std::move(made));
}

TEST(MpiCommunicators, OptionsThatCannotBeAreRefused) {
  const FakeMpi mpi(2);
  const auto worlds = mpi.worlds();
  const auto device = openCpuDevice({.threads = 1});
  const auto messageOf = [&](const MpiOptions& options) {
    const Error error = errorOf([&] { mpiCommunicator(worlds[1], device, options); });
    EXPECT_EQ(error.code(), ErrorCode::Usage);
    return error.message();
  };
  EXPECT_EQ(messageOf({.timeout = milliseconds(0)}),
            "MPI communicator: a time-out of 0 ms was asked for; it has to be positive");
  EXPECT_EQ(messageOf({.ranks = 3}), "MPI communicator: 3 ranks were asked for; mpirun has started 2 processes");
  EXPECT_EQ(messageOf({.ranks = 0}), "MPI communicator: 0 ranks were asked for; mpirun has started 2 processes");
  EXPECT_EQ(messageOf({.ranks = 1}), "MPI communicator: this process is rank 1, and of the ranks there are 1");
}

TEST(MpiCommunicators, AnMpiThatDoesNotStartOrHasNoThreadsIsRefused) {
  FakeMpi broken(1);
  broken.fail(0, FakeMpi::Call::Start, 17);
  const Error failure = errorOf([&] { MpiWorld world(broken.functionsOf(0)); });
  EXPECT_EQ(failure.code(), ErrorCode::Device);
  EXPECT_EQ(failure.message(), "MPI: the start failed: error 17 of the fake");
  const FakeMpi without(1, {.has_all_threads = false});
  const Error error = errorOf([&] { MpiWorld world(without.functionsOf(0)); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("MPI was started without MPI_THREAD_MULTIPLE"));
}

TEST(MpiCommunicators, ARankThatDoesNotComeIsNamedWhenTheyAreMade) {
  const FakeMpi mpi(2);
  const auto worlds = mpi.worlds();
  const CommunicationError failure =
      failureOf([&] { mpiCommunicator(worlds[0], openCpuDevice({.threads = 1}), {.timeout = milliseconds(50)}); });
  EXPECT_EQ(failure.message(), "exchange \"communicator\" of ranks (0 1): rank 1 did not come within 50 ms");
}

TEST(MpiCommunicators, MessagesOfOneJobDoNotReachAnother) {
  const FakeMpi mpi(3);
  const auto worlds = mpi.worlds();
  const auto device = openCpuDevice({.threads = 2});
  // Each makes a job of two, and another one of two, while rank 2 is in neither; then one of three.
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      for (int round = 0; round < 3 && rank < 2; ++round) {
        const auto pair = mpiCommunicator(worlds[rank], device, {.timeout = std::chrono::seconds(10), .ranks = 2});
        const auto own = std::byte{static_cast<uint8_t>(round)};
        EXPECT_EQ(pair->exchange("round", firstRanks(2), {&own, 1}), (std::vector<Bytes>{{own}, {own}}));
      }
      const auto all = mpiCommunicator(worlds[rank], device, {.timeout = std::chrono::seconds(10)});
      EXPECT_EQ(all->size(), 3);
      EXPECT_EQ(all->exchange("all", firstRanks(3), {}).size(), 3U);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// One may see the end of a process that another does not watch yet.
TEST(MpiCommunicators, ARankThatLeavesSaysWhoIsDead) {
  const FakeMpi mpi(3);
  const auto worlds = mpi.worlds();
  std::latch has_left(1);
  std::latch is_told(1);
  const auto seeTheEndOfTwo = [](MpiWorld& world) {
    const pid_t child = forkRank([] { return true; });
    const std::lock_guard lock(world.mutex());
    world.watch(2, child);
    while (!world.isDead(2)) world.poll();
    waitpid(child, nullptr, 0);
  };
  const auto isToldOfTwo = [&](MpiWorld& world, Communicator& communicator) {
    const CommunicationError failure = failureOf([&] { communicator.exchange("more", firstRanks(3), {}); });
    EXPECT_EQ(failure.fault(), CommunicationFault::Died);
    EXPECT_EQ(failure.message(), "rank 2 died");
    has_left.wait();
    {
      const std::lock_guard lock(world.mutex());
      for (int i = 0; i < 3; ++i) world.poll();
    }
    EXPECT_EQ(failureOf([&] { communicator.team(firstRanks(3)); }).message(), "rank 2 died");
    EXPECT_EQ(failureOf([&] { communicator.team(firstRanks(2)); }).message(),
              "rank 0 left the job; before that, rank 2 died");
    is_told.count_down();
  };
  std::vector<std::thread> threads;
  for (const auto& world : worlds)
    threads.emplace_back([&, world] {
      {
        const auto communicator =
            mpiCommunicator(world, openCpuDevice({.threads = 1}), {.timeout = milliseconds(5000)});
        communicator->exchange("start", firstRanks(3), {});
        if (world->rank() == 0) seeTheEndOfTwo(*world);
        if (world->rank() == 1) isToldOfTwo(*world, *communicator);
        if (world->rank() == 2) is_told.wait();
      }
      if (world->rank() == 0) has_left.count_down();
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(MpiCommunicators, AnErrorOfMpiIsOneOfItsRankAndTheOthersAreTold) {
  for (const FakeMpi::Call call : {FakeMpi::Call::Receive, FakeMpi::Call::Test}) {
    FakeMpi mpi(2);
    jobOn(mpi, 2, std::chrono::seconds(5)).run([&](TestRank& rank) {
      const auto ranks = firstRanks(2);
      const auto team = rank.communicator().team(ranks);
      const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {100'000}};
      const std::vector<void*> buffers = {rank.memory(400'000), rank.memory(400'000)};
      rank.wait(rank.post(*team, {&sum, 1}, buffers));
      rank.device().synchronize(rank.current());
      if (rank.rank() == 1) {
        mpi.fail(1, call, 5);
        rank.wait(rank.post(*team, {&sum, 1}, buffers));
        const Error error = errorOf([&] { rank.device().synchronize(rank.current()); });
        EXPECT_EQ(error.code(), ErrorCode::Device);
        EXPECT_THAT(error.message(), HasSubstr("failed: error 5 of the fake"));
        mpi.fail(1, call, 0);
      } else {
        const auto failure = rank.failureOfPost(*team, {&sum, 1}, buffers);
        ASSERT_TRUE(failure.has_value());
        EXPECT_EQ(failure->fault(), CommunicationFault::Failed);
        EXPECT_THAT(failure->message(), HasSubstr("rank 1 cannot take part in Allreduce 1 of team (0 1): MPI: "));
      }
    });
  }
}

// The one that is stopped has not come: nobody has sent it anything, and the others go on without it.
TEST(MpiCommunicators, AStoppedProcessThatHasNotComeIsNamedInTime) {
  FakeMpi mpi(3);
  jobOn(mpi, 3, milliseconds(100)).run([&](TestRank& rank) {
    if (rank.rank() == 2) return mpi.stop(2);
    const auto ranks = firstRanks(3);
    const auto team = rank.communicator().team(ranks);
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {1000}};
    const std::vector<void*> buffers = {rank.memory(4000), rank.memory(4000)};
    const auto begin = std::chrono::steady_clock::now();
    const auto failure = rank.failureOfPost(*team, {&sum, 1}, buffers);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(100 + 2000));
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->fault(), CommunicationFault::TimedOut);
    EXPECT_EQ(failure->rank(), 2);
    EXPECT_FALSE(mpi.hasEnded(rank.rank()));
  });
}

TEST(MpiCommunicators, TagsBeginAnewBehindTheLargest) {
  const FakeMpi mpi(2, {.largest_tag = 9});
  jobOn(mpi, 2, std::chrono::seconds(5)).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    for (uint64_t seed = 0; seed < 30; ++seed) {
      rank.start(*team, operationOf({.count = 2000}, team->ranks()), seed);
      rank.check();
    }
  });
}

// Rank 1 is stopped when it has come, so that rank 0 sends to it.
TEST(MpiCommunicators, AProcessThatIsStoppedAmongDataEndsTheJob) {
  FakeMpi mpi(2);
  std::atomic<bool> is_stopped = false;
  jobOn(mpi, 2, milliseconds(300)).run([&](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {100'000}};
    const std::vector<void*> buffers = {rank.memory(400'000), rank.memory(400'000)};
    if (rank.rank() == 1) {
      const Posted posted = rank.post(*team, {&sum, 1}, buffers);
      std::this_thread::sleep_for(milliseconds(100));
      mpi.stop(1);
      is_stopped = true;
      rank.wait(posted);
      EXPECT_EQ(rank.failure()->fault(), CommunicationFault::TimedOut);
      return;
    }
    while (!is_stopped) std::this_thread::yield();
    const auto failure = rank.failureOfPost(*team, {&sum, 1}, buffers);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->message(), "rank 1 did not come to the end of Allreduce 0 of team (0 1) within 300 ms");
    EXPECT_TRUE(mpi.hasEnded(0));
  });
}

TEST(MpiCommunicators, AWorkThatRunsAlreadyIsRefusedAndTheTeamBroken) {
  const FakeMpi mpi(2);
  jobOn(mpi, 2, std::chrono::seconds(5)).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    const auto team = rank.communicator().team(ranks);
    if (rank.rank() == 1) return (void)rank.communicator().exchange("seen", ranks, {});
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {1}};
    const auto work = team->prepare(sum);
    void* const buffer = rank.memory(4);
    rank.device().synchronize(rank.current());
    const auto other = rank.device().createStream();
    rank.device().launch(team->stream(), *work, std::vector<void*>{buffer, buffer});
    std::this_thread::sleep_for(milliseconds(50));  // it runs, and waits for rank 1
    rank.device().launch(*other, *work, std::vector<void*>{buffer, buffer});
    const Error error = errorOf([&] { rank.device().synchronize(*other); });
    EXPECT_EQ(
        error.message(),
        "Allreduce of 1 f32 (sum): the work runs already, on another stream; it belongs to one stream of its team");
    EXPECT_EQ(failureOf([&] { rank.device().synchronize(team->stream()); }).fault(), CommunicationFault::Failed);
    rank.communicator().exchange("seen", ranks, {});
  });
}

// Says that its memory is a GPU's.
class GpuLikeDevice final : public CpuDevice {
 public:
  const DeviceProperties& properties() const override { return properties_; }

 private:
  const DeviceProperties properties_ = {.name = "cuda:0", .description = "", .ordinal = 0, .architecture = ""};
};

TEST(MpiCommunicators, DevicesWithMemoryOfTheirOwnAndOtherVersionsAreRefused) {
  const FakeMpi mpi(1);
  const auto world = mpi.worlds()[0];
  const Error error = errorOf([&] { mpiCommunicator(world, std::make_shared<GpuLikeDevice>(), {}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(),
            "MPI communicator: cuda:0 has memory of its own; it is for devices whose memory is the host's");
  const FakeMpi pair(2);
  const auto worlds = pair.worlds();
  std::thread other([&] {  // a rank of another version
    MpiJob job(worlds[1], openCpuDevice({.threads = 1}), 2, MpiOptions{.timeout = std::chrono::seconds(5)});
    const std::string facts = "0.0.9\nsystem\n1";
    job.exchange("communicator", firstRanks(2), std::as_bytes(std::span(facts)));
  });
  const CommunicationError failure = failureOf(
      [&] { mpiCommunicator(worlds[0], openCpuDevice({.threads = 1}), {.timeout = std::chrono::seconds(5)}); });
  other.join();
  EXPECT_EQ(failure.fault(), CommunicationFault::Mismatch);
  EXPECT_THAT(failure.message(), HasSubstr("and rank 1 has 0.0.9; all ranks have to have the same"));
}

// For the time that it lives.
class TokamakMpi {
 public:
  explicit TokamakMpi(const std::string& file) {
    const char* const known = std::getenv("TOKAMAK_MPI");
    if (known != nullptr) known_ = known;
    setenv("TOKAMAK_MPI", file.c_str(), 1);
  }
  TokamakMpi(const TokamakMpi&) = delete;
  TokamakMpi& operator=(const TokamakMpi&) = delete;
  ~TokamakMpi() { setenv("TOKAMAK_MPI", known_.c_str(), 1); }

 private:
  std::string known_;
};

TEST(MpiLibrary, ThatIsMissingOrAnotherOneIsAnErrorThatSaysWhatWasSearched) {
  const auto errorWith = [](const std::string& file) {
    const TokamakMpi named(file);
    const Error error = errorOf([] { mpiFunctions(); });
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    return error.message();
  };
  EXPECT_THAT(errorWith("/none/libtokamak_mpi.so"),
              HasSubstr("MPI: TOKAMAK_MPI: /none/libtokamak_mpi.so: cannot open"));
  EXPECT_EQ(errorWith("libm.so.6"), "'libm.so.6' is no libtokamak_mpi.so: it has no tokamak_mpi_functions");
  EXPECT_EQ(errorWith(TOKAMAK_OTHER_MPI_LIBRARY),
            "'" TOKAMAK_OTHER_MPI_LIBRARY
            "' has version 0 of its interface, and 1 is needed; build both from one source");
  // Beside this program there is none, nor where the loader looks.
  const std::string searched = errorWith("");
  EXPECT_THAT(searched, HasSubstr("MPI: there is no libtokamak_mpi.so, which is built where MPI's header is"));
  EXPECT_THAT(searched, HasSubstr("/libtokamak_mpi.so: cannot open shared object file"));
}

}  // namespace

}  // namespace tokamak
