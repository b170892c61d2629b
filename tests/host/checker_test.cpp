// What the checker says about programs written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "host/check/checker.h"
#include "host/step_list_builder.h"

namespace tokamak {

namespace {

using Kind = RaceReport::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Kind> kindsOf(const StepList& list) {
  std::vector<Kind> kinds;
  for (const RaceReport& report : checkStepList(list)) kinds.push_back(report.kind);
  return kinds;
}

std::string onlyMessage(const StepList& list) {
  const auto reports = checkStepList(list);
  EXPECT_EQ(reports.size(), 1U);
  return reports.empty() ? "" : reports[0].message;
}

// T1[rows of 16 bytes] = op(T0) on two workers, with what a test leaves out.
struct Streamed {
  StepListBuilder builder{3};
  int32_t in = builder.input(64);
  int32_t out = builder.output(64);

  void rows(int32_t stream, int64_t begin, int64_t end) {
    builder.work(
        stream,
        {readOf(in, begin * 16, 4, {{(end - begin) * 4, 4}}), writeOf(out, begin * 16, 4, {{(end - begin) * 4, 4}})},
        "T1 = op(T0)");
  }
};

TEST(HostChecker, AcceptsWorkersThatStartAfterAndEndBeforeTheCaller) {
  Streamed p;
  for (const int32_t worker : {1, 2}) {
    p.builder.synchronise(worker, 0);
    p.rows(worker, worker - 1, worker);
    p.builder.synchronise(0, worker);
  }
  EXPECT_TRUE(checkStepList(p.builder.list).empty());
  EXPECT_NO_THROW(requireRaceFree(p.builder.list));
}

TEST(HostChecker, NamesAWorkerThatDoesNotWaitForTheCaller) {
  Streamed p;
  p.rows(1, 0, 2);
  p.builder.synchronise(0, 1);
  const auto reports = checkStepList(p.builder.list);
  ASSERT_EQ(reports.size(), 2U);  // it reads the input and writes the output
  EXPECT_EQ(reports[0].first, RaceReport::kEntry);
  EXPECT_EQ(reports[0].second, 0);
  EXPECT_EQ(reports[0].first_bytes, (ByteRange{0, 64}));
  EXPECT_EQ(reports[0].second_bytes, (ByteRange{0, 32}));
  EXPECT_EQ(
      reports[0].message,
      "race on T0: the caller before the program (stream 0) uses bytes [0, 64) and step 0 `T1 = op(T0)` (stream 1) "
      "reads bytes [0, 32), and nothing orders them; record an event on stream 0 at the start of the program and let "
      "stream 1 wait for it before step 0");
}

TEST(HostChecker, NamesAWorkerThatTheCallerDoesNotWaitFor) {
  Streamed p;
  p.builder.synchronise(1, 0);
  p.rows(1, 0, 1);
  const auto reports = checkStepList(p.builder.list);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[1].second, 3);
  EXPECT_THAT(
      reports[1].message,
      HasSubstr(
          "step 2 `T1 = op(T0)` (stream 1) writes bytes [0, 16) and the caller after the program (stream 0) uses"));
  EXPECT_THAT(reports[1].message,
              HasSubstr("record an event on stream 1 after step 2 and let stream 0 wait for it at the end"));
}

TEST(HostChecker, SaysThatTheCallerTakesBackTheMemoryOfIntermediates) {
  StepListBuilder builder(2);
  const int32_t scratch = builder.intermediate(32);
  builder.allocate(0, scratch);
  builder.synchronise(1, 0);
  builder.work(1, {builder.whole(scratch, writeOf)});
  const auto reports = checkStepList(builder.list);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_THAT(reports[0].message, HasSubstr("and the caller after the program (stream 0) takes back bytes [0, 32)"));
}

TEST(HostChecker, NamesRowsThatTwoWorkersWrite) {
  Streamed p;
  p.builder.synchronise(1, 0);
  p.builder.synchronise(2, 0);
  p.rows(1, 0, 2);
  p.rows(2, 1, 3);
  p.builder.synchronise(0, 1);
  p.builder.synchronise(0, 2);
  EXPECT_EQ(
      onlyMessage(p.builder.list),
      "race on T1: step 4 `T1 = op(T0)` (stream 1) writes bytes [0, 32) and step 5 `T1 = op(T0)` (stream 2) writes "
      "bytes [16, 48), and nothing orders them; record an event on stream 1 after step 4 and let stream 2 wait for it "
      "before step 5");
}

TEST(HostChecker, KnowsThatColumnsOfDifferentWorkersDoNotMeet) {
  StepListBuilder builder(3);
  const int32_t out = builder.output(64);
  const auto column = [&](int64_t c) { return writeOf(out, c * 4, 4, {{4, 16}}); };
  builder.synchronise(1, 0);
  builder.synchronise(2, 0);
  builder.work(1, {column(0)});
  builder.work(2, {column(1)});
  builder.work(1, {column(2)});
  builder.synchronise(0, 1);
  builder.synchronise(0, 2);
  EXPECT_TRUE(checkStepList(builder.list).empty());
}

TEST(HostChecker, TakesAWaitForTheLastRecordBeforeIt) {
  Streamed p;
  const int32_t event = p.builder.event();
  p.builder.wait(1, event);  // nothing recorded yet: no edge
  p.builder.record(0, event);
  p.rows(1, 0, 1);
  p.builder.synchronise(0, 1);
  EXPECT_THAT(kindsOf(p.builder.list), ElementsAre(Kind::Race, Kind::Race));
}

TEST(HostChecker, OrdersACommunicationByPostAndJoinOnly) {
  StepListBuilder builder(1);
  const int32_t in = builder.input(32);
  const int32_t out = builder.output(32);
  const int32_t event = builder.event();
  builder.post(0, event, {builder.whole(in, readOf), builder.whole(out, writeOf)});
  builder.work(0, {builder.whole(out, readOf)}, "T2 = op(T1)");
  builder.join(0, event);
  EXPECT_EQ(
      onlyMessage(builder.list),
      "race on T1: step 0 `communicate` (communication 0 posted on stream 0) writes bytes [0, 32) and step 1 `T2 = "
      "op(T1)` (stream 0) reads bytes [0, 32), and nothing orders them; join communication 0 on stream 0 before step "
      "1");
  std::swap(builder.list.steps[1], builder.list.steps[2]);
  EXPECT_TRUE(checkStepList(builder.list).empty());
}

TEST(HostChecker, TakesTwoCommunicationsForUnordered) {
  StepListBuilder builder(1);
  const int32_t out = builder.output(32);
  const std::vector<int32_t> events = {builder.event(), builder.event()};
  for (const int32_t event : events) builder.post(0, event, {builder.whole(out, writeOf)});
  for (const int32_t event : events) builder.join(0, event);
  EXPECT_THAT(onlyMessage(builder.list), HasSubstr("join communication 0 on stream 0 before step 1"));
}

TEST(HostChecker, NamesAJoinWithoutAPost) {
  StepListBuilder builder(1);
  builder.join(0, builder.event());
  EXPECT_EQ(onlyMessage(builder.list),
            "step 0 `join` (stream 0) joins communication 0, which was not posted before; post it first");
}

TEST(HostChecker, NamesMemoryThatIsFreedWhileAnotherStreamUsesIt) {
  StepListBuilder builder(2);
  const int32_t temporary = builder.intermediate(32);
  builder.allocate(0, temporary);
  builder.synchronise(1, 0);
  builder.work(1, {builder.whole(temporary, writeOf)}, "T0 = op()");
  builder.release(0, temporary);
  builder.synchronise(0, 1);
  EXPECT_THAT(onlyMessage(builder.list),
              HasSubstr("step 3 `T0 = op()` (stream 1) writes bytes [0, 32) and step 4 `release T0` "
                        "(stream 0) releases bytes [0, 32)"));
}

TEST(HostChecker, DemandsThatTheCallerOutlivesIntermediates) {
  StepListBuilder builder(2);
  const int32_t temporary = builder.intermediate(32);
  builder.allocate(1, temporary);
  builder.release(1, temporary);
  EXPECT_THAT(kindsOf(builder.list), ElementsAre(Kind::Race, Kind::Race));  // both unordered before the exit
  builder.synchronise(0, 1);
  EXPECT_TRUE(checkStepList(builder.list).empty());
}

TEST(HostChecker, DemandsThatAnArenaIsUsedAfterTheCallersStart) {
  StepListBuilder builder(2);
  const int32_t arena = builder.intermediate(64);
  builder.allocate(0, arena);
  builder.work(1, {writeOf(arena, 16, 16)});
  builder.synchronise(0, 1);
  EXPECT_THAT(kindsOf(builder.list), ElementsAre(Kind::Race));
}

TEST(HostChecker, NamesEveryMistakeInALifeTime) {
  StepListBuilder builder(1);
  const int32_t in = builder.input(32);
  const int32_t t = builder.intermediate(32);
  builder.work(0, {builder.whole(t, readOf)}, "T2 = op(T1)");
  builder.allocate(0, t);
  builder.allocate(0, t);
  builder.release(0, t);
  builder.work(0, {builder.whole(t, readOf)}, "T3 = op(T1)");
  builder.release(0, t);
  builder.release(0, in);
  std::vector<std::string> messages;
  for (const RaceReport& report : checkStepList(builder.list)) messages.push_back(report.message);
  EXPECT_THAT(
      messages,
      ElementsAre(
          "step 0 `T2 = op(T1)` (stream 0) uses T1 before it is allocated; allocate an intermediate first",
          "step 2 `allocate T1` (stream 0) allocates T1, which step 1 `allocate T1` (stream 0) allocated "
          "already; every allocation is a buffer of its own",
          "step 4 `T3 = op(T1)` (stream 0) uses T1 after step 3 `release T1` (stream 0) released it; release "
          "it after its last use",
          "step 5 `release T1` (stream 0) releases T1, which step 3 `release T1` (stream 0) released already; "
          "release it once",
          "step 6 `release T0` (stream 0) releases T0, which belongs to the caller; release intermediates only"));
}

TEST(HostChecker, NamesAccessesOutsideTheirBuffer) {
  StepListBuilder builder(1);
  const int32_t out = builder.output(32);
  builder.work(0, {writeOf(out, 16, 4, {{5, 4}})}, "T0 = op()");
  EXPECT_EQ(onlyMessage(builder.list),
            "step 0 `T0 = op()` (stream 0) accesses bytes [16, 36) of T0, which has 32 bytes");
  builder.list.steps[0].accesses[0] = writeOf(out, 0, 4, {{2, -4}});
  EXPECT_THAT(kindsOf(builder.list), ElementsAre(Kind::OutOfBounds));
  builder.list.steps[0].accesses[0] = writeOf(out, 0, 4, {{3, int64_t{1} << 62}});
  EXPECT_THAT(kindsOf(builder.list), ElementsAre(Kind::OutOfBounds));
  builder.list.steps[0].accesses[0] = writeOf(out, 100, 4, {{0, 4}});  // nothing is touched
  EXPECT_TRUE(checkStepList(builder.list).empty());
}

TEST(HostChecker, AcceptsInPlaceStepsElementByElementOnly) {
  StepListBuilder builder(1);
  const int32_t out = builder.output(64);
  const Access rows = readOf(out, 0, 4, {{4, 16}, {4, 4}});
  builder.work(0, {rows, writeOf(out, 0, 4, {{16, 4}})}, "T0 = neg(T0)");
  EXPECT_TRUE(checkStepList(builder.list).empty());
  builder.list.steps[0].accesses[1] = writeOf(out, 0, 4, {{4, 4}, {4, 16}});
  EXPECT_EQ(onlyMessage(builder.list),
            "overlap in T0: step 0 `T0 = neg(T0)` (stream 0) reads bytes [0, 64) and writes bytes "
            "[0, 64) of it; a result may lie in an operand only element by element");
  builder.list.steps[0].accesses = {writeOf(out, 4, 4, {{4, 4}}), readOf(out, 0, 4, {{4, 4}})};
  EXPECT_THAT(onlyMessage(builder.list), HasSubstr("reads bytes [0, 16) and writes bytes [4, 20)"));
}

TEST(HostChecker, NamesBytesThatAStepWritesTwice) {
  StepListBuilder builder(1);
  const int32_t out = builder.output(64);
  builder.work(0, {writeOf(out, 0, 4, {{8, 4}}), writeOf(out, 28, 4, {{8, 4}})}, "T0, T1 = op()");
  EXPECT_THAT(onlyMessage(builder.list), HasSubstr("writes bytes [0, 32) and writes bytes [28, 60)"));
  builder.list.steps[0].accesses = {writeOf(out, 0, 4, {{4, 2}})};
  EXPECT_THAT(onlyMessage(builder.list), HasSubstr("writes some of bytes [0, 10) more than once"));
  builder.list.steps[0].accesses = {writeOf(out, 0, 4, {{4, 4}, {3, 0}})};  // an expanded axis
  EXPECT_TRUE(checkStepList(builder.list).empty());
}

TEST(HostChecker, RaisesTheFirstProblemsInWords) {
  Streamed p;
  for (int64_t i = 0; i < 4; ++i) p.rows(1, i, i + 1);
  try {
    requireRaceFree(p.builder.list);
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Race);
    EXPECT_THAT(error.message(),
                HasSubstr("check: the host program has 16 problems, the first 5:\n  1. race on T0: the caller"));
    EXPECT_THAT(error.message(), HasSubstr("\n  5. "));
  }
}

TEST(HostChecker, StopsAtTheReportLimit) {
  Streamed p;
  for (int64_t i = 0; i < 4; ++i) p.rows(1, i, i + 1);
  EXPECT_EQ(checkStepList(p.builder.list, {.report_limit = 3}).size(), 3U);
}

TEST(HostChecker, ListsTheWaitsWithoutWhichThereWouldBeARace) {
  Streamed p;
  p.builder.synchronise(1, 0);  // steps 0, 1
  p.rows(1, 0, 1);
  p.builder.synchronise(2, 0);  // steps 3, 4: implied by the next one
  p.builder.synchronise(2, 1);  // steps 5, 6: the only way from the caller to stream 2
  p.rows(2, 1, 2);
  p.builder.synchronise(1, 2);  // steps 8, 9
  p.builder.synchronise(0, 1);  // steps 10, 11
  std::vector<int64_t> necessary;
  std::vector<int64_t> redundant;
  for (const WaitNeed& need : listNecessaryWaits(p.builder.list))
    (need.is_necessary ? necessary : redundant).push_back(need.step);
  EXPECT_THAT(necessary, ElementsAre(1, 9, 11));
  EXPECT_THAT(redundant, ElementsAre(4, 6));  // each alone
}

TEST(HostChecker, RefusesListsThatAreNoProgram) {
  const auto messageOf = [](const StepList& list) -> std::string {
    try {
      checkStepList(list);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::HostProgram);
      return error.message();
    }
    return "nothing was raised";
  };
  Streamed p;
  p.rows(1, 0, 1);
  StepList list = p.builder.list;
  list.stream_count = 0;
  EXPECT_EQ(messageOf(list), "check: a program has 0 streams; at least the caller's is needed");
  list.stream_count = 1;
  EXPECT_EQ(messageOf(list), "check: step 0 is on stream 1 of a program with 1 streams");
  list = p.builder.list;
  list.steps[0].accesses[0].buffer = 7;
  EXPECT_EQ(messageOf(list), "check: step 0 uses buffer 7 of a program with 2 buffers");
  list.steps[0].accesses[0] = readOf(0, 0, -1);
  EXPECT_EQ(messageOf(list), "check: step 0 accesses elements of -1 bytes; at least 0 is legal");
  list.steps[0].accesses[0] = readOf(0, 0, 4, {{-2, 4}});
  EXPECT_EQ(messageOf(list), "check: step 0 accesses an axis of size -2; at least 0 is legal");
  list = p.builder.list;
  list.steps[0].kind = StepKind::Wait;
  EXPECT_EQ(messageOf(list), "check: step 0 names event -1 of a program with 0 events");
  list.steps[0].kind = StepKind::Allocate;
  EXPECT_EQ(messageOf(list),
            "check: step 0 allocates or releases with 2 accesses; one write of the whole buffer is legal");
}

TEST(HostChecker, NamesBuffersWithoutANameByTheirOrigin) {
  StepListBuilder builder(1);
  const std::vector<int32_t> buffers = {builder.input(8), builder.output(8), builder.intermediate(8)};
  for (StepBuffer& buffer : builder.list.buffers) buffer.name.clear();
  builder.allocate(0, 2);
  for (const int32_t buffer : buffers) builder.work(0, {readOf(buffer, 8, 1)}, "");
  std::vector<std::string> messages;
  for (const RaceReport& report : checkStepList(builder.list)) messages.push_back(report.message);
  EXPECT_THAT(messages,
              ElementsAre("step 1 `work` (stream 0) accesses bytes [8, 9) of input 0, which has 8 bytes",
                          "step 2 `work` (stream 0) accesses bytes [8, 9) of output 0, which has 8 bytes",
                          "step 3 `work` (stream 0) accesses bytes [8, 9) of intermediate 0, which has 8 bytes"));
}

}  // namespace

}  // namespace tokamak
