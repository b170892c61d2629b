// Fusions over devices from C++: executors with a communicator, each with the parts that its rank has.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile/program_on_ranks.h"
#include "dist/open_communicator.h"
#include "error_of.h"
#include "fusions_of_ranks.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

// The weights are updated in place by the sum of all rows, of which each rank has some.
const char* const kUpdate = R"(
fusion f(w: f32[2] mesh(0, 1), x: f32[4, 2] mesh(0, 1)) -> (new aliases w hidden, d) {
  term: f32[2] mesh(0, 1) partial(sum, DIDx) = sum(x, axes=[0])
  step: f32[2] mesh(0, 1) = set(term)
  new: f32[2] mesh(0, 1) = w + step
  d: f32[2] mesh(0, 1) = neg(step)
}
schedule {
  split(x, axis=0, factor=2, inner_split=false)
  parallelize(x, axis=0, type=DIDx)
}
)";

class RanksOfFusions : public testing::TestWithParam<Mode> {
 protected:
  // What each rank gives in the second of two calls; all of them, which share a device, call at once.
  std::vector<std::vector<std::vector<double>>> runOn(const std::string& text,
                                                      const std::vector<std::vector<RunValue>>& inputs) {
    const std::shared_ptr<Device> device(std::shared_ptr<Device>(), &bench_.device);
    const std::vector<std::shared_ptr<Device>> devices(inputs.size(), device);
    const auto communicators = makeLocalCommunicators(devices);
    std::vector<std::unique_ptr<MultiDeviceExecutor>> executors;
    for (const auto& communicator : communicators) {
      const HostIrEvaluatorParams params{.mode = GetParam(), .communicator = communicator.get()};
      executors.push_back(std::make_unique<MultiDeviceExecutor>(
          *fusionOf(text), bench_.device, MultiDeviceExecutorParams{.lowering = {}, .evaluator = params}));
    }
    std::vector<std::vector<std::vector<double>>> given(inputs.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < inputs.size(); ++i) {
      threads.emplace_back([&, i] {
        executors[i]->runWithInput(inputs[i]);
        for (const Tensor& output : executors[i]->runWithInput(inputs[i])) given[i].push_back(numbersOf(output));
      });
    }
    for (std::thread& thread : threads) thread.join();
    return given;
  }

  RunValue numbers(std::vector<int64_t> sizes, const std::vector<double>& elements) {
    return bench_.numbers(DataType::F32, std::move(sizes), elements);
  }

  RunBench bench_;
};

using Given = std::vector<std::vector<std::vector<double>>>;

TEST_P(RanksOfFusions, ComputeTheirPartsOfPartsOfTheInputs) {
  // x is 1 1 2 2 in both rows, w is 1 0 0 2 in all rows.
  const Given given = runOn(kProductOfRanks, {{numbers({2, 2}, {1, 1, 1, 1}), numbers({3, 2}, {1, 0, 1, 0, 1, 0})},
                                              {numbers({2, 2}, {2, 2, 2, 2}), numbers({3, 2}, {0, 2, 0, 2, 0, 2})}});
  EXPECT_EQ(given, (Given{{{-5, -5, -5}}, {{-5, -5, -5}}}));
}

TEST_P(RanksOfFusions, TakeAndGiveWhatTheirRankHas) {
  const Given given = runOn(kTransferOfRanks, {{numbers({2}, {1, 2})}, {numbers({2}, {3, 5})}, {}});
  EXPECT_EQ(given, (Given{{{-2, -3}}, {{-3, -5}}, {}}));
}

TEST_P(RanksOfFusions, UpdateInputsInPlace) {
  const RunValue weights[] = {numbers({2}, {1, 2}), numbers({2}, {1, 2})};
  const Given given =
      runOn(kUpdate, {{weights[0], numbers({2, 2}, {1, 2, 3, 4})}, {weights[1], numbers({2, 2}, {5, 6, 7, 8})}});
  EXPECT_EQ(given, (Given{{{-16, -20}}, {{-16, -20}}}));
  for (const RunValue& weight : weights) EXPECT_EQ(numbersOf(std::get<Tensor>(weight)), (std::vector<double>{33, 42}));
}

INSTANTIATE_TEST_SUITE_P(Modes, RanksOfFusions, testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(instance.param == Mode::Plan ? "plan" : "direct");
});

TEST(FusionsOverRanks, RunByAnExecutorOfTheFusionAndTheCommunicator) {
  RunBench bench;
  const std::shared_ptr<Device> device(std::shared_ptr<Device>(), &bench.device);
  const auto communicators = openLocalCommunicators(std::vector<std::shared_ptr<Device>>{device});
  MultiDeviceExecutor executor(*fusionOf("fusion f(x: f32[2] mesh(0)) -> y { y: f32[2] mesh(0) = neg(x) }"),
                               *communicators[0]);
  const RunValue inputs[] = {bench.numbers(DataType::F32, {2}, {1, 2})};
  EXPECT_EQ(numbersOf(executor.runWithInput(inputs)[0]), (std::vector<double>{-1, -2}));
}

TEST(FusionsOverRanks, AreRefusedWithoutACommunicator) {
  RunBench bench;
  EXPECT_EQ(refusalOf([&] { MultiDeviceExecutor(*fusionOf(kTransferOfRanks), bench.device); }),
            "unsupported: lower f: a is spread over the devices 0 of a mesh, and this is for one device; run it over "
            "ranks (--ranks), or leave the mesh out");
}

TEST(FusionsOverRanks, AreWholeFromInputsToOutputsOnRanksThatAreThreads) {
  RunBench bench;
  ProgramOnRanks program(*fusionOf(kProductOfRanks), {.ranks = 2});
  const RunValue inputs[] = {bench.numbers(DataType::F32, {2, 4}, {1, 1, 2, 2, 1, 1, 2, 2}),
                             bench.numbers(DataType::F32, {3, 4}, {1, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0, 2})};
  EXPECT_EQ(numbersOf(program.run(inputs, {}, bench.device, bench.stream)[0]),
            (std::vector<double>{-5, -5, -5, -5, -5, -5}));
}

}  // namespace
}  // namespace tokamak
