#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/trace.h"

namespace tokamak {

namespace {

TEST(Timeline, WritesTracksSpansAndArrows) {
  Timeline timeline;
  timeline.nameTrack(0, "stream \"0\"\n");
  timeline.span(0, "mul", 1'000'000, 1'001'500);
  timeline.flowBegin(0, 7, 1'001'500);
  timeline.flowEnd(1, 7, 1'002'000);
  timeline.flowEnd(2, 7, 1'003'001);
  timeline.flowEnd(2, 8, 1'003'001);  // began before the timeline did: no arrow
  EXPECT_EQ(
      timeline.json(),
      "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"stream \\\"0\\\"\\u000a\"}},\n"
      "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"name\":\"mul\",\"ts\":0.000,\"dur\":1.500},\n"
      "{\"ph\":\"s\",\"pid\":1,\"tid\":0,\"name\":\"wait\",\"cat\":\"wait\",\"id\":1,\"ts\":1.500},\n"
      "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":1,\"name\":\"wait\",\"cat\":\"wait\",\"id\":1,\"ts\":2.000},\n"
      "{\"ph\":\"s\",\"pid\":1,\"tid\":0,\"name\":\"wait\",\"cat\":\"wait\",\"id\":2,\"ts\":1.500},\n"
      "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":2,\"name\":\"wait\",\"cat\":\"wait\",\"id\":2,\"ts\":3.001}\n"
      "]}\n");
}

TEST(Timeline, AnEmptyOneIsLegal) {
  EXPECT_EQ(Timeline().json(), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

TEST(Timeline, AFileThatCannotBeWrittenIsATypedError) {
  EXPECT_THROW(Timeline().write("/no/such/folder/trace.json"), Error);
}

}  // namespace

}  // namespace tokamak
