// Where buffers are given back: as soon as the current stream comes after all uses, wherever the streams are joined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

const std::vector<std::string> kTensors = {"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]",
                                           "T2_g_float[iS4{i0}, iS5{i2}]", "T3_l_float[iS6{i2}]",
                                           "T4_l_float[iS7{i2}]",          "T5_l_float[iS8{i2}]",
                                           "T6_g_float[iS9{i0}, iS10{i2}]"};

std::string allocate(const std::string& tensor) {
  return "  " + tensor + " = ALLOCATE(buffer=" + tensor +
         ", mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)\n";
}

// Rows of T2 = -2 * T0 by way of T1, on workers that only `joins` orders before the caller's stream.
HostText rowsJoinedBy(const std::string& joins) {
  return {kTensors, "(@T0) -> (@T2)",
          allocate("@T1") + allocate("@T2") +
              "  GetCurrentStream into Stream 0\n"
              "  FOR i in iS0{i0}:\n"
              "    SetCurrentStream to Stream ( i % numberOfStreams )\n"
              "    Synchronize Stream 0\n"
              "    @T3 = HirAliasSelect( @T0, axis = iS0{i0}, index = i )\n"
              "    @T4 = HirAliasSelect( @T1, axis = iS2{i0}, index = i )\n"
              "    @T5 = HirAliasSelect( @T2, axis = iS4{i0}, index = i )\n"
              "    @T4 = -@T3;\n"
              "    @T5 = @T4 * float(2);\n"
              "    SetCurrentStream to Stream 0\n" +
              joins};
}

// Runs without a race and with the right values, in both modes; gives the names of the top level's statements.
std::string runAndShow(const HostText& text, int64_t rows = 7) {
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    RunBench bench;
    const Tensor in = bench.random(DataType::F32, {rows, 64}, 1);
    std::vector<double> expected;
    for (const double element : numbersOf(in)) expected.push_back(-2 * element);
    HostIrEvaluator evaluator(finishedProgramOf(text), bench.device, {.number_of_streams = 2, .mode = mode});
    EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in})).at(0)), expected);
  }
  return topLevelOf(*finishedProgramOf(text));
}

TEST(Frees, ComeAfterTheLoopThatJoinsItsWorkers) {
  EXPECT_EQ(runAndShow(rowsJoinedBy("    Synchronize Stream ( i % numberOfStreams )\n")),
            "ALLOCATE ALLOCATE GetCurrentStream FOR DEALLOCATE");
}

TEST(Frees, ComeAfterALaterLoopThatJoinsTheWorkers) {
  const std::string later = "  FOR i in iS0{i0}:\n    Synchronize Stream ( i % numberOfStreams )\n";
  EXPECT_EQ(runAndShow(rowsJoinedBy(later)), "ALLOCATE ALLOCATE GetCurrentStream FOR FOR DEALLOCATE");
}

TEST(Frees, ComeAfterALoopOverAllWorkers) {
  for (const std::string worker : {"i", "( i % numberOfStreams )"}) {
    const std::string all =
        "  FOR i in iS11{numberOfStreams}:\n    Synchronize Stream " + (worker == "i" ? "( i )" : worker) + "\n";
    EXPECT_EQ(runAndShow(rowsJoinedBy(all)), "ALLOCATE ALLOCATE GetCurrentStream FOR FOR DEALLOCATE");
  }
}

// Which workers there are is not known before the run: the program's end is after all of them.
TEST(Frees, ComeAtTheEndWhereTheJoinIsNotUnderstood) {
  HostText text = rowsJoinedBy("  Synchronize Stream ( 0 )\n  Synchronize Stream ( 1 )\n");
  EXPECT_EQ(runAndShow(text), "ALLOCATE ALLOCATE GetCurrentStream FOR Synchronize Synchronize DEALLOCATE");
  // A loop over other rows may have no iteration where the first one has some.
  text = rowsJoinedBy("  FOR i in iS1{i2}:\n    Synchronize Stream ( i % numberOfStreams )\n  @T2 = @T2 + float(0);\n");
  EXPECT_EQ(runAndShow(text), "ALLOCATE ALLOCATE GetCurrentStream FOR FOR pointwise DEALLOCATE");
}

std::string onOneWorker(const std::string& end) {
  return allocate("@T1") + allocate("@T2") + allocate("@T6") +
         "  GetCurrentStream into Stream 0\n"
         "  SetCurrentStream to Stream ( 0 )\n"
         "  Synchronize Stream 0\n"
         "  @T1 = -@T0;\n"
         "  @T6 = @T1 * float(2);\n" +
         end;
}

// T1 is allocated on the caller's stream, which the worker has waited for.
TEST(Frees, HappenOnTheStreamOfTheUses) {
  const HostText text{kTensors, "(@T0) -> (@T2)",
                      onOneWorker("  @T2 = @T6 + float(0);\n"
                                  "  SetCurrentStream to Stream 0\n"
                                  "  Synchronize Stream ( 0 )\n")};
  EXPECT_EQ(runAndShow(text),
            "ALLOCATE ALLOCATE ALLOCATE GetCurrentStream SetCurrentStream Synchronize pointwise pointwise DEALLOCATE "
            "pointwise DEALLOCATE SetCurrentStream Synchronize");
}

TEST(Frees, OfABufferOfTwoStreamsComeAfterTheJoin) {
  const HostText text{kTensors, "(@T0) -> (@T2)",
                      onOneWorker("  SetCurrentStream to Stream 0\n"
                                  "  Synchronize Stream ( 0 )\n"
                                  "  @T2 = @T6 + float(0);\n")};
  EXPECT_EQ(runAndShow(text),
            "ALLOCATE ALLOCATE ALLOCATE GetCurrentStream SetCurrentStream Synchronize pointwise pointwise DEALLOCATE "
            "SetCurrentStream Synchronize pointwise DEALLOCATE");
}

TEST(Frees, OfAProgramThatEndsOnAnotherStreamAreTheCallers) {
  const HostText text{kTensors, "(@T0) -> (@T2)",
                      onOneWorker("  SetCurrentStream to Stream 0\n"
                                  "  Synchronize Stream ( 0 )\n"
                                  "  @T2 = @T6 + float(0);\n"
                                  "  SetCurrentStream to Stream ( 1 )\n")};
  EXPECT_THAT(runAndShow(text), testing::EndsWith("pointwise DEALLOCATE SetCurrentStream"));
}

TEST(Frees, AreNotAddedToThoseOfTheProgram) {
  const HostText text{
      kTensors, "(@T0) -> (@T2)",
      allocate("@T1") + "  @T1 = -@T0;\n" + allocate("@T2") + "  @T2 = @T1 * float(2);\n  DEALLOCATE(buffer=@T1)\n"};
  EXPECT_EQ(runAndShow(text), "ALLOCATE pointwise ALLOCATE pointwise DEALLOCATE");
}

}  // namespace
}  // namespace tokamak
