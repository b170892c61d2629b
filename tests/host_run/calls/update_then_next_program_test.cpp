// A program of many steps and the program that reads what it wrote, by the caller's handle or by the one that was
// returned: the second waits for the first.
#include <algorithm>

#include <gtest/gtest.h>

#include "host_run/call_sequence.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

const char* const kTwelveSteps =
    "fusion f(T0: f32[n, n]) -> T12 { T1 = add(T0, 1.0) T2 = add(T1, 1.0) T3 = add(T2, 1.0) T4 = add(T3, 1.0) "
    "T5 = add(T4, 1.0) T6 = add(T5, 1.0) T7 = add(T6, 1.0) T8 = add(T7, 1.0) T9 = add(T8, 1.0) T10 = add(T9, 1.0) "
    "T11 = add(T10, 1.0) T12 = add(T11, 1.0) } sizes { n = 512 }";
const char* const kTwice = "fusion g(T0: f32[m, n]) -> T1 { T1 = mul(T0, 2.0) } sizes { m = 512, n = 512 }";
constexpr int64_t kSize = 512;

// What the first program does with its input, and which tensor the second one reads.
enum class First : uint8_t { Gives, WritesIntoGiven, Updates, UpdatesHidden };
enum class Second : uint8_t { ReadsReturned, ReadsCallers, ReadsPartOfCallers };

class UpdateThenNextProgram : public testing::Test {
 protected:
  // Of how many turns the second program read something else than what the first one writes.
  int64_t countWrong(First first, Second second, int64_t turns) {
    const auto steps = fusionOf(kTwelveSteps);
    if (first == First::Updates || first == First::UpdatesHidden)
      steps->aliasOutput(steps->outputs()[0], asTensor(steps->inputs()[0]), first == First::UpdatesHidden);
    MultiDeviceExecutor writer(*steps, bench_.device, {.lowering = {.grouping = Grouping::Single}});
    const auto twice = fusionOf(kTwice);
    MultiDeviceExecutor reader(*twice, bench_.device, {});
    int64_t wrong = 0;
    for (int64_t turn = 0; turn < turns; ++turn) {
      const Tensor input = filled(1);
      std::vector<Tensor> given;
      if (first == First::WritesIntoGiven) given.push_back(filled(0));
      const std::vector<Tensor> made = writer.runWithInput(std::vector<RunValue>{input}, given);
      const Tensor callers = given.empty() ? input : given[0];
      const Tensor read = second == Second::ReadsReturned  ? made.at(0)
                          : second == Second::ReadsCallers ? callers
                                                           : callers.slice(0, kSize / 2, kSize);
      const Tensor doubled = reader.runWithInput(std::vector<RunValue>{read}).at(0);
      const auto* const elements = static_cast<const float*>(doubled.hostDataToRead());
      if (!std::all_of(elements, elements + doubled.numel(), [](float x) { return x == 26; })) ++wrong;
    }
    return wrong;
  }

 private:
  Tensor filled(float number) {
    Tensor tensor = bench_.empty(DataType::F32, {kSize, kSize});
    std::fill_n(static_cast<float*>(tensor.hostData()), tensor.numel(), number);
    return tensor;
  }

  RunBench bench_;
};

TEST_F(UpdateThenNextProgram, ReadsAHiddenUpdate) {
  EXPECT_EQ(countWrong(First::UpdatesHidden, Second::ReadsCallers, repetitions(200)), 0);
}

TEST_F(UpdateThenNextProgram, ReadsTheCallersOutput) {
  EXPECT_EQ(countWrong(First::WritesIntoGiven, Second::ReadsCallers, repetitions(200)), 0);
}

TEST_F(UpdateThenNextProgram, ReadsTheReturnedOutput) {
  EXPECT_EQ(countWrong(First::WritesIntoGiven, Second::ReadsReturned, repetitions(200)), 0);
}

TEST_F(UpdateThenNextProgram, ReadsAVisibleUpdateByTheInput) {
  EXPECT_EQ(countWrong(First::Updates, Second::ReadsCallers, repetitions(200)), 0);
}

TEST_F(UpdateThenNextProgram, ReadsPartsOfWhatWasUpdatedOrGiven) {
  for (const First first : {First::UpdatesHidden, First::Updates, First::WritesIntoGiven})
    EXPECT_EQ(countWrong(first, Second::ReadsPartOfCallers, repetitions(50)), 0);
}

TEST_F(UpdateThenNextProgram, ReadsWhatAFreshOutputHolds) {
  EXPECT_EQ(countWrong(First::Gives, Second::ReadsReturned, repetitions(50)), 0);
}

}  // namespace
}  // namespace tokamak
