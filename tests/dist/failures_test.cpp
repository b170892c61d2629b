// What every transport promises where a communication cannot come to its end: an error on all ranks, and no wait.
#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "error_of.h"
#include "ranks_fixture.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using std::chrono::milliseconds;
using testing::HasSubstr;

// Enough for what these tests ask for.
constexpr int64_t kBytes = 4096;

std::vector<void*> buffersFor(TestRank& rank, std::span<const CommunicationRequest> group) {
  std::vector<void*> addresses;
  for (size_t i = 0; i < 2 * group.size(); ++i) addresses.push_back(rank.memory(kBytes));
  return addresses;
}

std::optional<CommunicationError> failureOfGroup(TestRank& rank, TeamCommunicator& team,
                                                 std::span<const CommunicationRequest> group) {
  return rank.failureOfPost(team, group, buffersFor(rank, group));
}

// A team of these ranks that works, of the epoch behind `epoch`.
void expectNewTeam(TestRank& rank, std::span<const int64_t> ranks, int64_t epoch) {
  const auto team = rank.communicator().team(ranks);
  EXPECT_EQ(team->epoch(), epoch + 1);
  for (uint64_t seed = 0; seed < 3; ++seed) rank.start(*team, operationOf({.count = 20}, ranks), seed);
  rank.check();
}

struct MismatchCase {
  std::string name;
  std::vector<CommunicationRequest> of_rank_0;
  std::vector<CommunicationRequest> of_rank_1;
  std::string message;  ///< behind "communication 0 of team (0 1) is "
  bool ends_on_rank_0 = false;
};

std::vector<MismatchCase> mismatchCases() {
  const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
  const CommunicationRequest from_0 = {.kind = Kind::Broadcast, .counts = {4}, .root = 0};
  const CommunicationRequest from_1 = {.kind = Kind::Broadcast, .counts = {4}, .root = 1};
  const CommunicationRequest of_program = {.kind = Kind::Allreduce, .counts = {4}, .program = 1};
  const CommunicationRequest of_other = {.kind = Kind::Allreduce, .counts = {4}, .program = 2};
  const CommunicationRequest doubles = {.kind = Kind::Allreduce, .dtype = DataType::F64, .counts = {4}};
  const CommunicationRequest more = {.kind = Kind::Allreduce, .counts = {5}};
  const CommunicationRequest largest = {.kind = Kind::Allreduce, .counts = {4}, .reduction = ReductionKind::Max};
  const CommunicationRequest parts = {.kind = Kind::Allgather, .counts = {4, 3}};
  const CommunicationRequest other_parts = {.kind = Kind::Allgather, .counts = {4, 4}};
  const CommunicationRequest dealt = {.kind = Kind::AllToAll, .counts = {4, 3}, .received = {4, 2}};
  const CommunicationRequest stays = {.kind = Kind::CollectivePermute, .counts = {4}, .send_to = 0, .receive_from = 0};
  const CommunicationRequest to_0 = {.kind = Kind::CollectivePermute, .counts = {4}, .send_to = 0, .receive_from = 0};
  return {
      {"Kinds",
       {sum},
       {from_0},
       "Allreduce of 4 f32 (sum) on rank 0 and Broadcast of 4 f32 from rank 0 on rank 1: the kinds differ; all ranks "
       "of a team have to post the same, in the same order"},
      {"Dtypes",
       {sum},
       {doubles},
       "Allreduce of 4 f32 (sum) on rank 0 and Allreduce of 4 f64 (sum) on rank 1: the dtypes differ"},
      {"Counts",
       {sum},
       {more},
       "Allreduce of 4 f32 (sum) on rank 0 and Allreduce of 5 f32 (sum) on rank 1: the counts differ"},
      {"CountsOfParts",
       {parts},
       {other_parts},
       "Allgather of 4 + 3 f32 on rank 0 and Allgather of 4 + 4 f32 on rank 1: the counts differ"},
      {"Reductions",
       {sum},
       {largest},
       "Allreduce of 4 f32 (sum) on rank 0 and Allreduce of 4 f32 (max) on rank 1: the reductions differ"},
      {"Roots",
       {from_0},
       {from_1},
       "Broadcast of 4 f32 from rank 0 on rank 0 and Broadcast of 4 f32 from rank 1 on rank 1: the roots differ"},
      {"DealtCounts",
       {dealt},
       {dealt},
       "AllToAll of 4 + 3 f32 for 4 + 2 on rank 0 and AllToAll of 4 + 3 f32 for 4 + 2 on rank 1: rank 0 sends 3 "
       "elements to rank 1, which expects 4"},
      {"Peers",
       {stays},
       {to_0},
       "CollectivePermute of 4 f32 to rank 0 from rank 0 on rank 0 and CollectivePermute of 4 f32 to rank 0 from rank "
       "0 on rank 1: rank 0 sends to rank 0, and rank 1 receives from rank 0",
       true},
      {"Programs",
       {of_program},
       {of_other},
       "Allreduce of 4 f32 (sum) on rank 0 and Allreduce of 4 f32 (sum) on rank 1: they are of two programs",
       true},
      {"Groups",
       {sum, sum},
       {sum},
       "Allreduce of 4 f32 (sum) on rank 0 and Allreduce of 4 f32 (sum) on rank 1: it is number 0 of a group of 2 "
       "there, and number 0 of 1 here"},
  };
}

TEST_P(TransportTest, AMismatchIsAnErrorOnAllRanksThatNamesBothAndWhatDiffers) {
  for (const MismatchCase& mismatch : mismatchCases()) {
    SCOPED_TRACE(mismatch.name);
    if (mismatch.ends_on_rank_0 && !GetParam().compares_all) continue;
    job(2).run([&](TestRank& rank) {
      const auto ranks = firstRanks(2);
      const auto team = rank.communicator().team(ranks);
      const auto failure = failureOfGroup(rank, *team, rank.rank() == 0 ? mismatch.of_rank_0 : mismatch.of_rank_1);
      ASSERT_TRUE(failure.has_value());
      EXPECT_EQ(failure->fault(), CommunicationFault::Mismatch);
      EXPECT_EQ(failure->code(), ErrorCode::Device);
      EXPECT_THAT(failure->message(), testing::StartsWith("communication 0 of team (0 1) is " + mismatch.message));
      expectNewTeam(rank, ranks, 0);
    });
  }
}

TEST_P(TransportTest, AMismatchIsNoticedBeforeAllHaveCome) {
  job(3).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(3));
    if (rank.rank() == 2) {  // which comes once the others have been told
      rank.communicator().exchange("told", firstRanks(3), {});
      EXPECT_EQ(failureOf([&] { team->requireWhole(); }).fault(), CommunicationFault::Mismatch);
      return;
    }
    const CommunicationRequest request = {.kind = Kind::Allreduce, .counts = {rank.rank() + 4}};
    const auto failure = failureOfGroup(rank, *team, {&request, 1});
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->fault(), CommunicationFault::Mismatch);
    rank.communicator().exchange("told", firstRanks(3), {});
  });
}

TEST_P(TransportTest, AMismatchBetweenASendAndAReceiveIsAnErrorOnBoth) {
  job(2).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const CommunicationRequest request = {.kind = rank.rank() == 0 ? Kind::Send : Kind::Recv,
                                          .counts = {rank.rank() + 4},
                                          .send_to = 1,
                                          .receive_from = 0};
    const auto failure = failureOfGroup(rank, *team, {&request, 1});
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->message(),
              "communication 0 of team (0 1) is Send of 4 f32 to rank 1 on rank 0 and Recv of 5 f32 from rank 0 on "
              "rank 1: rank 0 sends 4 elements to rank 1, which expects 5; all ranks of a team have to post the same, "
              "in the same order");
  });
}

TEST_P(TransportTest, AFailureOfATeamIsStickyUntilItIsFormedAnew) {
  job(2).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto team = rank.communicator().team(ranks);
      EXPECT_EQ(team->epoch(), epoch);
      const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
      const CommunicationRequest other = {.kind = Kind::Allreduce, .counts = {4 + rank.rank()}};
      const auto work = team->prepare(sum);
      const auto first = failureOfGroup(rank, *team, {&other, 1});
      ASSERT_TRUE(first.has_value());
      EXPECT_EQ(failureOf([&] { team->prepare(sum); }).message(), first->message());
      EXPECT_EQ(failureOf([&] { team->requireWhole(); }).message(), first->message());
      // A plan that has its works already.
      rank.device().launch(team->stream(), *work, buffersFor(rank, {&sum, 1}));
      EXPECT_EQ(failureOf([&] { rank.device().synchronize(team->stream()); }).message(), first->message());
      rank.communicator().exchange("seen", ranks, {});
    }
    expectNewTeam(rank, ranks, 2);
  });
}

TEST_P(TransportTest, OtherTeamsOfARankAreNotBroken) {
  job(3).run([](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto all = rank.communicator().team(ranks);
    if (rank.rank() < 2) {
      const auto pair = rank.communicator().team(firstRanks(2));
      const CommunicationRequest request = {.kind = Kind::Allreduce, .counts = {4 + rank.rank()}};
      EXPECT_TRUE(failureOfGroup(rank, *pair, {&request, 1}).has_value());
    }
    rank.start(*all, operationOf({.count = 20}, ranks), 1);
    rank.check();
  });
}

TEST_P(TransportTest, WorkBehindAFailureTellsTheOthers) {
  job(3).run([](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto team = rank.communicator().team(ranks);
    if (rank.rank() == 1)
      rank.device().callback(rank.current(), [] { throw std::runtime_error("the kernel before has failed"); });
    const CommunicationRequest request = {.kind = Kind::Allreduce, .counts = {4}};
    const auto failure = rank.rank() == 1 ? std::nullopt : failureOfGroup(rank, *team, {&request, 1});
    const std::string told = "rank 1 cannot take part in Allreduce 0 of team (0 1 2): the kernel before has failed";
    if (rank.rank() == 1) {
      rank.wait(rank.post(*team, {&request, 1}, buffersFor(rank, {&request, 1})));
      EXPECT_THROW(rank.device().synchronize(rank.current()), std::runtime_error);
      EXPECT_EQ(failureOf([&] { team->requireWhole(); }).message(), told);
    } else {
      ASSERT_TRUE(failure.has_value());
      EXPECT_EQ(failure->fault(), CommunicationFault::Failed);
      EXPECT_EQ(failure->rank(), 1);
      EXPECT_EQ(failure->message(), told);
    }
    expectNewTeam(rank, ranks, 0);
  });
}

TEST_P(TransportTest, ARankThatLeavesATeamTellsTheOthers) {
  job(3).run([](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto team = rank.communicator().team(ranks);
    if (rank.rank() == 2) {
      team->leave(std::make_exception_ptr(std::runtime_error("no memory for the next call")));
      team->leave(std::make_exception_ptr(7));  // too late to be told
      EXPECT_EQ(failureOf([&] { team->requireWhole(); }).rank(), 2);
    } else {
      const CommunicationRequest request = {.kind = Kind::Broadcast, .counts = {4}, .root = 0};
      const auto failure = failureOfGroup(rank, *team, {&request, 1});
      ASSERT_TRUE(failure.has_value());
      EXPECT_EQ(failure->fault(), CommunicationFault::Failed);
      EXPECT_EQ(failure->message(), "rank 2 left team (0 1 2): no memory for the next call");
    }
    rank.communicator().exchange("seen", ranks, {});
    expectNewTeam(rank, ranks, 0);
  });
}

TEST_P(TransportTest, ARankThatLeavesBecauseOfAnotherNamesThat) {
  job(3).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(3));
    const CommunicationError known(CommunicationFault::TimedOut, 1, "rank 1 did not come");
    team->leave(std::make_exception_ptr(known));
    const auto failure = failureOf([&] { team->requireWhole(); });
    EXPECT_EQ(failure.fault(), CommunicationFault::TimedOut);
    EXPECT_EQ(failure.rank(), 1);
    EXPECT_EQ(failure.message(), "rank 1 did not come");
    rank.communicator().exchange("seen", firstRanks(3), {});
    expectNewTeam(rank, firstRanks(3), 0);
  });
}

TEST_P(TransportTest, ARankThatLeavesForAnUnknownReasonSaysSo) {
  job(1).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(1));
    team->leave(std::make_exception_ptr(7));
    EXPECT_EQ(failureOf([&] { team->requireWhole(); }).message(), "rank 0 left team (0): an exception of another type");
  });
}

TEST_P(TransportTest, ARankThatDoesNotComeInTimeIsNamed) {
  job(3, milliseconds(100)).run([](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto team = rank.communicator().team(ranks);
    rank.start(*team, operationOf({.count = 4}, ranks), 1);
    rank.check();
    if (rank.rank() == 1) std::this_thread::sleep_for(milliseconds(400));
    const CommunicationRequest request = {.kind = Kind::Allgather, .counts = {4, 4, 4}};
    const auto begin = std::chrono::steady_clock::now();
    const auto failure = failureOfGroup(rank, *team, {&request, 1});  // the one that is late is told at once
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2100));
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->fault(), CommunicationFault::TimedOut);
    EXPECT_EQ(failure->rank(), 1);
    EXPECT_EQ(failure->message(),
              "rank 1 did not come to Allgather 1 of team (0 1 2) within 100 ms; the last one that it came to is "
              "Allreduce 0");
  });
}

TEST_P(TransportTest, ARankThatNeverCameIsNamed) {
  job(2, milliseconds(60)).run([](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    if (rank.rank() == 1) return;
    const CommunicationRequest request = {.kind = Kind::Recv, .counts = {4}, .receive_from = 1};
    const auto failure = failureOfGroup(rank, *team, {&request, 1});
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->message(),
              "rank 1 did not come to transfer 0 from rank 1 to rank 0 of team (0 1) within 60 ms; it came to none of "
              "this team yet");
  });
}

TEST_P(TransportTest, ARankThatHasLeftTheJobIsNamed) {
  TestJob job = TransportTest::job(3);
  job.run([&](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto team = rank.communicator().team(ranks);
    rank.start(*team, operationOf({.count = 4}, ranks), 1);
    if (rank.rank() == 2) {
      job.leave(2);  // its work is done first
      return rank.abandon();
    }
    rank.check();
    const CommunicationRequest request = {.kind = Kind::Reduce, .counts = {4}, .root = 0};
    const auto failure = failureOfGroup(rank, *team, {&request, 1});
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->fault(), CommunicationFault::Left);
    EXPECT_EQ(failure->rank(), 2);
    EXPECT_EQ(failure->message(), "rank 2 left the job before Reduce 1 of team (0 1 2)");
    EXPECT_EQ(rank.communicator().alive(ranks), firstRanks(2));
    EXPECT_EQ(failureOf([&] { rank.communicator().team(ranks); }).message(), "rank 2 left the job");
    EXPECT_EQ(failureOf([&] { rank.communicator().exchange("any", ranks, {}); }).message(), "rank 2 left the job");
    expectNewTeam(rank, rank.communicator().alive(ranks), -1);
  });
}

TEST_P(TransportTest, AnExchangeThatARankDoesNotComeToEndsInTime) {
  job(3, milliseconds(80)).run([](TestRank& rank) {
    const auto ranks = firstRanks(3);
    const auto meet = [&] { rank.communicator().exchange("sizes", ranks, {}); };
    if (rank.rank() == 1) std::this_thread::sleep_for(milliseconds(300));
    const CommunicationError failure = failureOf(meet);
    EXPECT_EQ(failure.fault(), CommunicationFault::TimedOut);
    EXPECT_EQ(failure.message(), "exchange \"sizes\" of ranks (0 1 2): rank 1 did not come within 80 ms");
    if (rank.rank() != 1) std::this_thread::sleep_for(milliseconds(250));
    EXPECT_EQ(rank.communicator().exchange("sizes", ranks, {}).size(), 3U);  // the late one met those of its call
  });
}

struct UsageCase {
  CommunicationRequest request;
  std::string message;
};

TEST_P(TransportTest, RequestsThatARankCannotMakeAreRefused) {
  const std::vector<UsageCase> cases = {
      {{.kind = Kind::Allgather, .counts = {1, 2}}, "Allgather: 2 counts were given; a team of 3 takes 3"},
      {{.kind = Kind::Allreduce, .counts = {1, 2}}, "Allreduce: 2 counts were given; a team of 3 takes 1"},
      {{.kind = Kind::Allreduce, .counts = {-1}}, "Allreduce: a count of -1 elements; a count is not negative"},
      {{.kind = Kind::Allreduce, .counts = {1}, .received = {1}},
       "Allreduce: counts of what is received were given; AllToAll and CollectivePermute alone take them"},
      {{.kind = Kind::AllToAll, .counts = {1, 1, 1}, .received = {1}},
       "AllToAll: 1 counts were given; a team of 3 takes 3"},
      {{.kind = Kind::Gather, .counts = {1, 1, 1}, .root = 3},
       "Gather: the root is rank 3, which is not of the team (0 1 2)"},
      {{.kind = Kind::SendRecv, .counts = {1}, .root = 0},
       "SendRecv: a team of 3 ranks; it is of two, or of one that copies"},
      {{.kind = Kind::Send, .counts = {1}, .send_to = 5},
       "Send: the receiver is rank 5, which is not of the team (0 1 2)"},
      {{.kind = Kind::Recv, .counts = {1}}, "Recv: the sender is rank -1, which is not of the team (0 1 2)"},
      {{.kind = Kind::Send, .counts = {1}, .send_to = 0}, "Send: rank 0 is its own peer; it has to be another"},
      {{.kind = Kind::Reduce, .dtype = DataType::Bool, .counts = {1}, .root = 0},
       "Reduce: a sum of bool is i64, which has to be cast to before; legal are max and min"},
  };
  job(3).run([&](TestRank& rank) {
    if (rank.rank() != 0) return;
    const auto team = rank.communicator().team(firstRanks(3));
    for (const UsageCase& usage : cases) {
      const Error error = errorOf([&] { team->prepare(usage.request); });
      EXPECT_EQ(error.code(), ErrorCode::Usage);
      EXPECT_EQ(error.message(), usage.message);
    }
    EXPECT_EQ(errorOf([&] { team->prepare(std::span<const CommunicationRequest>()); }).message(),
              "team (0 1 2): an empty group was given; it has nothing to communicate");
    EXPECT_EQ(errorOf([&] { team->stream(P2pType::Send, 0); }).message(),
              "team (0 1 2): rank 0 has no stream to send rank 0; it takes another rank of the team");
    EXPECT_EQ(errorOf([&] { team->stream(P2pType::Recv, 3); }).code(), ErrorCode::Usage);
    team->requireWhole();
  });
}

TEST_P(TransportTest, ListsOfRanksThatCannotBeAreRefused) {
  job(3).run([](TestRank& rank) {
    if (rank.rank() != 0) return;
    using Ranks = std::vector<int64_t>;
    Communicator& communicator = rank.communicator();
    const auto messageOf = [](const auto& call) {
      const Error error = errorOf(call);
      EXPECT_EQ(error.code(), ErrorCode::Usage);
      return error.message();
    };
    EXPECT_EQ(messageOf([&] { communicator.team(Ranks{0, 3}); }),
              "team: rank 3 is not of the job, which has 3 ranks, from 0 on");
    EXPECT_EQ(messageOf([&] { communicator.alive(Ranks{-1}); }),
              "alive: rank -1 is not of the job, which has 3 ranks, from 0 on");
    EXPECT_EQ(messageOf([&] { communicator.team(Ranks{0, 1, 0}); }), "team: rank 0 is named twice in (0 1 0)");
    EXPECT_EQ(messageOf([&] { communicator.exchange("size", Ranks{1, 2}, {}); }),
              "exchange \"size\": rank 0 is not one of (1 2); each of them makes the call itself");
  });
}

// What is found when the work runs is an error of its rank, and the others are told.
void expectBindError(const std::function<TestJob(int64_t)>& jobOf, const CommunicationRequest& request,
                     const std::function<std::vector<void*>(TestRank&)>& wrong, const std::string& message) {
  jobOf(2).run([&](TestRank& rank) {
    const auto team = rank.communicator().team(firstRanks(2));
    const bool is_wrong = rank.rank() == 0;
    if (is_wrong) {
      rank.wait(rank.post(*team, {&request, 1}, wrong(rank)));
      const Error error = errorOf([&] { rank.device().synchronize(rank.current()); });
      EXPECT_EQ(error.code(), ErrorCode::Bind);
      EXPECT_EQ(error.message(), message);
    } else {
      const auto failure = failureOfGroup(rank, *team, {&request, 1});
      ASSERT_TRUE(failure.has_value());
      EXPECT_THAT(failure->message(), HasSubstr("rank 0 cannot take part in "));
      EXPECT_THAT(failure->message(), HasSubstr(message));
    }
  });
}

TEST_P(TransportTest, BuffersThatAreMissingOrOverlapAreAnErrorOnAllRanks) {
  const auto jobOf = [](int64_t ranks) { return job(ranks); };
  const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
  const CommunicationRequest gathered = {.kind = Kind::Allgather, .counts = {4, 4}};
  const CommunicationRequest dealt = {.kind = Kind::AllToAll, .counts = {4, 4}};
  expectBindError(
      jobOf, sum, [](TestRank& rank) { return std::vector<void*>{nullptr, rank.memory(64)}; },
      "Allreduce of 4 f32 (sum): rank 0 gives no input of 4 elements");
  expectBindError(
      jobOf, sum, [](TestRank& rank) { return std::vector<void*>{rank.memory(64), nullptr}; },
      "Allreduce of 4 f32 (sum): rank 0 gives no output of 4 elements");
  const auto overlapping = [](int64_t distance) {
    return [distance](TestRank& rank) {
      auto* const buffer = static_cast<std::byte*>(rank.memory(128));
      return std::vector<void*>{buffer + distance, buffer};
    };
  };
  expectBindError(jobOf, sum, overlapping(4), "Allreduce of 4 f32 (sum): the input and the output of rank 0 overlap");
  expectBindError(jobOf, gathered, overlapping(16),
                  "Allgather of 4 + 4 f32: the input and the output of rank 0 overlap");
  expectBindError(jobOf, dealt, overlapping(0), "AllToAll of 4 + 4 f32: the input and the output of rank 0 overlap");
}

TEST_P(TransportTest, MemoryIsKeptUntilOthersAreOutOfIt) {
  // Rank 0 leaves while the others read its large buffer; then its memory is written, which ThreadSanitizer would see.
  for (int64_t pause = 0; pause < 8; ++pause) {
    job(3).run([&](TestRank& rank) {
      constexpr int64_t kCount = 300'000;
      const auto ranks = firstRanks(3);
      const auto team = rank.communicator().team(ranks);
      void* const input = rank.memory(4 * kCount, 1);
      void* const output = rank.memory(3 * 4 * kCount, 0);
      const CommunicationRequest request = {.kind = Kind::Allgather, .counts = {kCount, kCount, kCount}};
      const auto work = team->prepare(request);
      rank.communicator().exchange("prepared", ranks, {});
      const Posted posted = rank.post(team->stream(), work, {input, output});
      if (rank.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(150 * pause));
        team->leave(std::make_exception_ptr(std::runtime_error("enough")));
      }
      rank.device().waitDone(*posted.event);
      rank.device().waitOver(rank.current(), *posted.event);
      rank.device().fill(rank.current(), input, 2, 4 * kCount);
      rank.device().synchronize(rank.current());
      const Bytes gathered = rank.download(output, 3 * 4 * kCount);
      const auto isWrittenLater = [](std::byte byte) { return byte == std::byte{2}; };
      EXPECT_TRUE(std::none_of(gathered.begin(), gathered.end(), isWrittenLater));
      rank.wait(posted);
      const auto failure = rank.failure();  // none where all was over before
      EXPECT_EQ(failure ? failure->message() : "rank 0 left team (0 1 2): enough", "rank 0 left team (0 1 2): enough");
    });
  }
}

}  // namespace

}  // namespace tokamak
