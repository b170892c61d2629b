// What the log of a rank's operations promises: order, room, cost, and the file that an error leaves.
#include "dist/operation_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "base/log.h"
#include "compile/temporary_folder.h"
#include "error_of.h"
#include "ranks_fixture.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using testing::HasSubstr;

const std::vector<int64_t> kTeam = {0, 1, 2};

OperationRuns sumRuns(OperationLog& log, int64_t epoch = 0) {
  const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {16}};
  return log.runsOf({&sum, 1}, kTeam, epoch);
}

std::string contentsOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the lines say behind the times.
std::vector<std::string> linesOfOperations(const OperationLog& log) {
  std::vector<std::string> lines;
  for (const LoggedOperation& operation : log.operations()) {
    const std::string line = describe(operation);
    lines.push_back(line.substr(line.find_first_of("prdf")));
  }
  return lines;
}

TEST(OperationLog, HasEachOperationWithItsStateAndTimes) {
  OperationLog log(1, 3, "");
  OperationRuns sum = sumRuns(log, 2);
  const CommunicationRequest from_0 = {.kind = Kind::Recv, .dtype = DataType::F16, .counts = {4}, .receive_from = 0};
  const CommunicationRequest parts = {.kind = Kind::Allgather, .counts = {3, 3, 2}};
  OperationRuns transfer = log.runsOf({&from_0, 1}, kTeam, 0);
  OperationRuns group = log.runsOf(std::vector{parts, from_0}, kTeam, 0);
  log.post(sum);
  log.start(sum, 7);
  log.post(transfer);
  log.end(sum);
  log.start(transfer, 1);
  log.post(group);
  log.post(sum);
  log.fail(sum, std::make_exception_ptr(std::runtime_error("why")));
  EXPECT_EQ(linesOfOperations(log),
            (std::vector<std::string>{"done              64  Allreduce 7 of team (0 1 2) in epoch 2: 16 f32",
                                      "running            8  transfer 1 from rank 0 to rank 1 of team (0 1 2): 4 f16",
                                      "posted            40  Allgather of team (0 1 2): 8 f32 and 1 more",
                                      "failed            64  Allreduce of team (0 1 2) in epoch 2: 16 f32"}));
  const std::vector<LoggedOperation> operations = log.operations();
  EXPECT_LE(0, operations[0].posted);
  EXPECT_LE(operations[0].posted, operations[0].started);
  EXPECT_LE(operations[0].started, operations[0].ended);
  EXPECT_EQ(operations[1].ended, -1);
  EXPECT_EQ(operations[2].started, -1);
  EXPECT_LE(operations[3].posted, operations[3].ended);
  EXPECT_THAT(log.text(), HasSubstr("rank 1 of 3: the last 4 of 4 operations; microseconds since "));
}

TEST(OperationLog, KeepsTheLast1024) {
  OperationLog log(0, 3, "");
  OperationRuns runs = sumRuns(log);
  for (int64_t number = 0; number < 3000; ++number) {
    log.post(runs);
    log.start(runs, number);
    log.end(runs);
  }
  const std::vector<LoggedOperation> operations = log.operations();
  ASSERT_EQ(operations.size(), 1024U);
  EXPECT_EQ(log.count(), 3000);
  for (size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(operations[i].number, 1976 + static_cast<int64_t>(i));
    EXPECT_EQ(operations[i].state, OperationState::Done);
  }
}

// Runs of a work start in the order in which they were posted, however many wait, and whatever was posted between.
TEST(OperationLog, FindsTheRunThatStarts) {
  OperationLog log(0, 3, "");
  OperationRuns first = sumRuns(log, 1);
  OperationRuns second = sumRuns(log, 2);
  for (int i = 0; i < 100; ++i) {
    log.post(first);
    log.post(second);
  }
  for (int64_t i = 0; i < 100; ++i) {
    log.start(second, i);
    log.end(second);
  }
  log.start(first, 0);
  const std::vector<LoggedOperation> operations = log.operations();
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(operations[i].epoch, i % 2 == 0 ? 1 : 2);
    EXPECT_EQ(operations[i].number, i % 2 == 1 ? static_cast<int64_t>(i / 2) : i == 0 ? 0 : -1);
  }
}

TEST(OperationLog, HasWhatStartsAlsoWhereItsPostIsForgotten) {
  OperationLog log(0, 3, "");
  OperationRuns waiting = sumRuns(log, 1);
  OperationRuns others = sumRuns(log, 2);
  for (int i = 0; i < 1025; ++i) log.post(i == 0 || i == 6 || i == 7 ? waiting : others);  // the first has no place
  for (int64_t number = 0; number < 3; ++number) {
    log.start(waiting, number);
    log.end(waiting);
  }
  log.start(waiting, 3);  // one that nobody posted
  std::vector<int64_t> numbers;
  std::vector<int64_t> posted;
  for (const LoggedOperation& operation : log.operations()) {
    if (operation.epoch != 1) continue;
    numbers.push_back(operation.number);
    posted.push_back(std::min<int64_t>(operation.posted, 0));
  }
  EXPECT_THAT(numbers, testing::ElementsAre(1, 2, 0, 3));
  EXPECT_EQ(std::ranges::count(posted, -1), 2);
}

TEST(OperationLog, TakesNothingFromTheHeap) {
  if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer has a heap of its own";
  OperationLog log(0, 3, "");
  OperationRuns runs = sumRuns(log);
  const size_t before = mallinfo2().uordblks;
  for (int64_t number = 0; number < 10'000; ++number) {
    log.post(runs);
    log.start(runs, number);
    log.end(runs);
  }
  EXPECT_EQ(mallinfo2().uordblks, before);
}

TEST(OperationLog, TakesLessThan100NanosecondsForAnOperation) {
  OperationLog log(0, 3, "");
  OperationRuns runs = sumRuns(log);
  double least = 1e9;
  for (int round = 0; round < 200; ++round) {
    constexpr int kRuns = 1000;
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t number = 0; number < kRuns; ++number) {
      log.post(runs);
      log.start(runs, number);
      log.end(runs);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / kRuns);
  }
  std::printf("%.0f ns for an operation\n", least);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(least, 100);
#endif
}

TEST(OperationLog, AnErrorLeavesAFilePerRank) {
  const TemporaryFolder folder;
  const std::string name = folder.path() + "/ops";
  const ScopedVariable variable("TOKAMAK_OPERATIONS", name);
  OperationLog log(2, 3, "");
  EXPECT_EQ(log.file(), name + ".2");
  OperationRuns runs = sumRuns(log);
  log.post(runs);
  log.start(runs, 0);
  EXPECT_EQ(contentsOf(log.file()), "");
  log.fail(runs, std::make_exception_ptr(std::runtime_error("rank 1 died")));
  const std::string text = contentsOf(log.file());
  EXPECT_THAT(text, HasSubstr("rank 2 of 3: the last 1 of 1 operations"));
  EXPECT_THAT(text, HasSubstr("\nerror: rank 1 died\n"));
  EXPECT_THAT(text, HasSubstr("failed            64  Allreduce 0 of team (0 1 2): 16 f32\n"));
  log.noteError("the same once more");  // and the first cause stays, until something else was done
  EXPECT_EQ(contentsOf(log.file()), text);
  log.post(runs);
  log.noteError("another error");
  EXPECT_THAT(contentsOf(log.file()), HasSubstr("\nerror: another error\n"));
}

TEST(OperationLog, AFileOfTheCallersComesBeforeTheVariables) {
  const ScopedVariable variable("TOKAMAK_OPERATIONS", "of_the_variable");
  EXPECT_EQ(OperationLog(0, 1, "given").file(), "given.0");
  const ScopedVariable none("TOKAMAK_OPERATIONS", std::nullopt);
  EXPECT_EQ(OperationLog(0, 1, "").file(), "");
}

TEST(OperationLog, AFileThatCannotBeWrittenIsSaidAndNoMore) {
  OperationLog log(0, 1, "/none/of/these");
  EXPECT_THAT(errorOf([&] { log.write(log.file()); }).message(),
              HasSubstr("operations: '/none/of/these.0' cannot be written"));
  static std::vector<std::string> said;
  said.clear();
  setLogFunction([](std::string_view text) { said.emplace_back(text); });
  log.noteError("rank 1 died");
  setLogFunction(nullptr);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("the last operations of rank 0 cannot be written: "));
}

// Of each transport.
TEST_P(TransportTest, EachRankLogsItsOperationsAndWhatTheyBecame) {
  job(2).run([](TestRank& rank) {
    const auto ranks = firstRanks(2);
    const auto team = rank.communicator().team(ranks);
    const auto log = rank.communicator().operations();
    ASSERT_NE(log, nullptr);
    rank.start(*team, operationOf({.count = 20}, ranks), 1);
    rank.start(*team, operationOf({.kind = Kind::Broadcast, .dtype = DataType::I64, .count = 3}, ranks), 2);
    rank.check();
    const CommunicationRequest transfer = {
        .kind = rank.rank() == 0 ? Kind::Send : Kind::Recv, .counts = {5}, .send_to = 1, .receive_from = 0};
    rank.wait(rank.post(*team, {&transfer, 1}, {rank.memory(64), rank.memory(64)}));
    rank.device().synchronize(rank.current());
    rank.communicator().exchange("before", ranks, {});
    if (rank.rank() == 1) team->leave(std::make_exception_ptr(std::runtime_error("enough")));
    const CommunicationRequest sum = {.kind = Kind::Allreduce, .counts = {4}};
    if (rank.rank() == 0) {
      const auto failure = rank.failureOfPost(*team, {&sum, 1}, {rank.memory(64), rank.memory(64)});
      EXPECT_TRUE(failure.has_value());
    }
    const std::vector<std::string> lines = linesOfOperations(*log);
    ASSERT_GE(lines.size(), 3U);
    EXPECT_EQ(lines[0], "done              80  Allreduce 0 of team (0 1): 20 f32");
    EXPECT_EQ(lines[1], "done              24  Broadcast 1 of team (0 1): 3 i64");
    EXPECT_EQ(lines[2], "done              20  transfer 0 from rank 0 to rank 1 of team (0 1): 5 f32");
    if (lines.size() > 3) {
      EXPECT_THAT(lines[3], testing::StartsWith("failed            16  Allreduce "));
    }
    for (const LoggedOperation& operation : log->operations()) {
      if (operation.state != OperationState::Done) continue;
      EXPECT_LE(0, operation.posted);
      EXPECT_LE(operation.posted, operation.started);
      EXPECT_LE(operation.started, operation.ended);
    }
  });
}

}  // namespace

}  // namespace tokamak
