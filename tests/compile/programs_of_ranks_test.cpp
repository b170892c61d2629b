// The program of one rank: what it takes and gives, and how its calls are kept apart.
#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/program.h"
#include "dist/open_communicator.h"
#include "error_of.h"
#include "fusions_of_ranks.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

// One thread per rank, each with its program of `text`, on one device.
class ProgramsOfRanks {
 public:
  ProgramsOfRanks(const std::string& text, size_t ranks)
      : communicators_(openLocalCommunicators(std::vector<std::shared_ptr<Device>>(ranks, device))) {
    for (const auto& communicator : communicators_) programs.push_back(compile(*readFusion(text), *communicator));
  }
  void inThreads(const std::function<void(size_t rank)>& work) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < programs.size(); ++rank) threads.emplace_back([&work, rank] { work(rank); });
    for (std::thread& thread : threads) thread.join();
  }

  const std::shared_ptr<Device> device = openCpuDevice({.threads = 1});

 private:
  std::vector<std::unique_ptr<Communicator>> communicators_;

 public:
  std::vector<Program> programs;  // gone before their communicators
};

TEST(ProgramsOfOneRank, WriteTheCallersOutputsByThePlanOfTheFirstCall) {
  ProgramsOfRanks ranks(kProductOfRanks, 2);
  std::vector<std::vector<float>> given(2, std::vector<float>(3));
  ranks.inThreads([&](size_t rank) {
    const auto x = rank == 0 ? std::vector<float>{1, 1, 1, 1} : std::vector<float>{2, 2, 2, 2};
    const auto w = rank == 0 ? std::vector<float>{1, 0, 1, 0, 1, 0} : std::vector<float>{0, 2, 0, 2, 0, 2};
    const Tensor inputs[] = {Tensor::wrap(*ranks.device, x, {2, 2}), Tensor::wrap(*ranks.device, w, {3, 2})};
    const std::shared_ptr<Stream> stream = ranks.device->createStream();
    for (int call = 0; call < 3; ++call) {
      std::ranges::fill(given[rank], 0.0F);
      Tensor outputs[] = {Tensor::wrap(*ranks.device, given[rank], {1, 3})};
      ranks.programs[rank].runInto(inputs, outputs, *stream);
      ranks.device->synchronize(*stream);
    }
  });
  EXPECT_EQ(given, (std::vector<std::vector<float>>{{-5, -5, -5}, {-5, -5, -5}}));
  for (const Program& program : ranks.programs) {
    EXPECT_EQ(program.statistics().new_calls, 1);
    EXPECT_EQ(program.statistics().known_calls, 2);
  }
}

TEST(ProgramsOfOneRank, HaveTheInputsAndOutputsOfTheirRank) {
  const ProgramsOfRanks ranks(kTransferOfRanks, 3);
  EXPECT_EQ(ranks.programs[0].inputNames(), std::vector<std::string>{"a"});
  EXPECT_EQ(ranks.programs[0].outputNames(), std::vector<std::string>{"d"});
  EXPECT_EQ(ranks.programs[1].inputNames(), std::vector<std::string>{"b"});
  EXPECT_EQ(ranks.programs[1].outputNames(), std::vector<std::string>{"c"});
  EXPECT_TRUE(ranks.programs[2].inputNames().empty() && ranks.programs[2].outputNames().empty());
}

TEST(ProgramsOfOneRank, LackOutputsThatPropagationPutsElsewhere) {
  const ProgramsOfRanks ranks("fusion f(a: f32[2] mesh(1)) -> b { b: f32[2] = neg(a) }", 2);
  EXPECT_TRUE(ranks.programs[0].inputNames().empty() && ranks.programs[0].outputNames().empty());
  EXPECT_EQ(ranks.programs[1].outputNames(), std::vector<std::string>{"b"});
}

// Each is one error on each rank, whatever the call did wrong before it began; then they meet.
TEST(ProgramsOfOneRank, TellTheOthersOfCallsThatFailBeforeTheyBegin) {
  ProgramsOfRanks ranks(kProductOfRanks, 2);
  const std::vector<float> x(4, 1);
  const std::vector<float> w(6, 1);
  std::vector<std::string> told(2);
  ranks.inThreads([&](size_t rank) {
    const Tensor in = Tensor::wrap(*ranks.device, x, {2, 2});
    const Tensor weight = Tensor::wrap(*ranks.device, w, {3, 2});
    const std::vector<std::vector<Argument>> wrong = {{in}, {{"x", in}, {"v", weight}}, {in, in}};
    for (const std::vector<Argument>& inputs : wrong) {
      const std::vector<Argument> right = {in, weight};
      told[rank] = errorOf([&] { ranks.programs[rank].run(rank == 0 ? inputs : right); }).message();
    }
    const Tensor output = ranks.programs[rank].run({in, weight})[0];
    const std::span<const float> given = output.read<float>();
    EXPECT_EQ(std::vector<float>(given.begin(), given.end()), (std::vector<float>{-4, -4, -4}));
  });
  EXPECT_THAT(told[0], testing::HasSubstr("w"));
  EXPECT_THAT(told[1], testing::HasSubstr("rank 0"));
}

// The first calls of rank 0 wait for rank 1, which comes when one of them was refused.
TEST(ProgramsOfOneRank, RefuseACallWhileAnotherThreadIssuesOne) {
  ProgramsOfRanks ranks(kProductOfRanks, 2);
  const std::vector<float> x(4, 1);
  const std::vector<float> w(6, 1);
  const auto call = [&](size_t rank) {
    ranks.programs[rank].run({Tensor::wrap(*ranks.device, x, {2, 2}), Tensor::wrap(*ranks.device, w, {3, 2})});
  };
  std::promise<std::string> refusal;
  const auto callOfRank0 = [&] {
    try {
      call(0);
    } catch (const Error& error) {
      refusal.set_value(error.what());
    }
  };
  std::thread one(callOfRank0);
  std::thread other(callOfRank0);
  const std::string said = refusal.get_future().get();
  call(1);
  one.join();
  other.join();
  EXPECT_EQ(said,
            "f: two threads call it at the same time; calls that communicate come one after the other, in the "
            "same order on all ranks");
}

}  // namespace
}  // namespace tokamak
