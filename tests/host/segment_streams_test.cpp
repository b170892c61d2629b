#include <gtest/gtest.h>

#include "base/error.h"
#include "compile/multi_device_executor.h"
#include "jit/jit_device.h"
#include "program_of.h"

namespace tokamak {
namespace {

std::vector<float> run(const Fusion& fusion, Grouping grouping, const std::vector<int64_t>& sizes) {
  JitCpuDevice device({.poisons_memory = true});
  MultiDeviceExecutor executor(fusion, device, {.lowering = {.grouping = grouping}});
  const std::shared_ptr<Stream> stream = device.createStream();
  const Tensor input = Tensor::emptyOnHost(device, stream, DataType::F32, sizes);
  for (int64_t i = 0; i < input.numel(); ++i)
    static_cast<float*>(input.hostData())[i] = static_cast<float>(i % 13) - 6.0F;
  const RunValue inputs[] = {input};
  const std::vector<Tensor> outputs = executor.runWithInput(inputs);
  const auto* data = static_cast<const float*>(outputs[0].hostData());
  return {data, data + outputs[0].numel()};
}

constexpr const char* kSoftmaxRows = R"(
fusion rows(T0: f32[i0, i2]) -> T5 {
  T1 = max(T0, axes=[1], keepdim=true)
  T2 = exp(sub(T0, T1))
  T3 = sum(T2, axes=[1], keepdim=true)
  T5 = div(T2, T3)
}
)";

TEST(UnitStreams, AUnitRunsOnSlicesAndGivesTheSameBits) {
  const std::string marks[] = {"parallelize(T5, axis=0, type=Stream)",
                               "split(T5, axis=0, factor=3)\n  parallelize(T5, axis=0, type=Stream)"};
  const std::vector<float> whole = run(*fusionFrom(kSoftmaxRows), Grouping::Single, {7, 5});
  for (const std::string& mark : marks) {
    const auto fusion = fusionFrom(kSoftmaxRows + std::string("schedule {\n  ") + mark + "\n}\n");
    const auto program = lowerToHostProgram(*fusion, {.grouping = Grouping::Segments});
    bool has_loop = false;
    for (const Expr* expr : program->topLevel().exprs) has_loop = has_loop || expr->name() == "FOR";
    EXPECT_TRUE(has_loop) << mark;
    EXPECT_EQ(run(*fusion, Grouping::Segments, {7, 5}), whole) << mark;
  }
}

TEST(UnitStreams, AUnitThatReducesOverTheAxisIsCutBeforeIt) {
  const auto fusion = fusionFrom(std::string(kSoftmaxRows) + "schedule {\n  parallelize(T5, axis=1, type=Stream)\n}\n");
  const auto program = lowerToHostProgram(*fusion, {.grouping = Grouping::Segments});
  std::string names;
  for (const Expr* expr : program->topLevel().exprs) names += std::string(expr->name()) + " ";
  EXPECT_NE(names.find("PostOnStream"), std::string::npos) << names;
  EXPECT_NE(names.find("FOR"), std::string::npos) << names;
  EXPECT_EQ(run(*fusion, Grouping::Segments, {7, 5}), run(*fusionFrom(kSoftmaxRows), Grouping::Single, {7, 5}));
}

}  // namespace
}  // namespace tokamak
