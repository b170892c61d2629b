// Calls that their caller cancels while kernels are made, and what they tell meanwhile.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compile/program.h"
#include "define/functions.h"
#include "define/reductions.h"
#include "define/shapes.h"
#include "device/kernel_observer.h"
#include "error_of.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

using testing::ElementsAre;

// Of numbers that no other test, and no earlier run, has compiled kernels for.
double freshNumber() {
  static std::atomic<int> calls = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<double>(now % 1'000'000'000) + getpid() % 1000 / 1024.0 + ++calls;
}

// `kernels` of them, as each reads what all rows of the one before gave.
Program freshProgram(Device& device, double factor, int kernels = 1) {
  Fusion fusion("scaled");
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  for (int i = 0; i < kernels; ++i) {
    x = mul(exp(x), factor + i);
    if (i + 1 < kernels) x = sub(x, broadcast(sum(x, {0}), {true, false}));
  }
  fusion.output("y", x);
  return compile(fusion, device);
}

const std::map<std::string, ScalarValue> kSizes = {{"n", int64_t{64}}, {"m", int64_t{32}}};

float valueOfFirst(Program& program, Device& device) {
  const std::vector<float> numbers(64 * 32, 0.0F);
  return program.run({Tensor::wrap(device, numbers, {64, 32})}).at(0).read<float>()[77];
}

class Cancelling : public testing::Test {
 protected:
  std::shared_ptr<Device> device_ = openCpuDevice({.threads = 2});
  double factor_ = freshNumber();
};

TEST_F(Cancelling, ATokenThatAskedBeforeStopsPrepareAndRun) {
  Program program = freshProgram(*device_, factor_);
  std::stop_source stop;
  stop.request_stop();
  const PrepareOptions options = {.cancel = stop.get_token(), .progress = {}};
  const Error error = errorOf([&] { program.prepare(kSizes, options); });
  EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  EXPECT_EQ(error.message(), "the caller cancelled it; nothing of it ran");
  const std::vector<float> numbers(64 * 32, 0.0F);
  const Tensor input = Tensor::wrap(*device_, numbers, {64, 32});
  EXPECT_EQ(errorOf([&] { program.run({input}, {}, nullptr, options); }).code(), ErrorCode::Cancelled);
  EXPECT_EQ(program.statistics().plans, 0);
  EXPECT_EQ(valueOfFirst(program, *device_), static_cast<float>(factor_));
  // Also where no kernel is missing.
  EXPECT_EQ(errorOf([&] { program.run({input}, {}, nullptr, options); }).code(), ErrorCode::Cancelled);
}

TEST_F(Cancelling, WhenTheLastKernelIsThereStillRunsNothing) {
  Program program = freshProgram(*device_, factor_);
  std::stop_source stop;
  const auto cancels = [&](const CompileProgress& progress) {
    if (progress.done == progress.all) stop.request_stop();
  };
  const PrepareOptions options = {.cancel = stop.get_token(), .progress = cancels};
  EXPECT_EQ(errorOf([&] { program.prepare(kSizes, options); }).code(), ErrorCode::Cancelled);
  EXPECT_EQ(program.statistics().plans, 0);
  EXPECT_EQ(valueOfFirst(program, *device_), static_cast<float>(factor_));
}

TEST_F(Cancelling, WhileCompilersWorkLeavesTheProgramAsItWas) {
  Program program = freshProgram(*device_, factor_, 3);
  std::stop_source stop;
  std::vector<int64_t> done;
  const auto cancels = [&](const CompileProgress& progress) {
    done.push_back(progress.done);
    stop.request_stop();
  };
  const PrepareOptions options = {.cancel = stop.get_token(), .progress = cancels};
  EXPECT_EQ(errorOf([&] { program.prepare(kSizes, options); }).code(), ErrorCode::Cancelled);
  ASSERT_EQ(done.size(), 1);
  EXPECT_EQ(program.statistics().plans, 0);
  program.prepare(kSizes);
  EXPECT_EQ(program.statistics().plans, 1);
}

// What a caller's signal handler would raise.
TEST_F(Cancelling, ATickThatRaisesEndsTheCall) {
  struct Signal {};
  Program program = freshProgram(*device_, factor_, 3);
  int ticks = 0;
  const auto raises = [&] {
    ++ticks;
    throw Signal();
  };
  const PrepareOptions options = {.cancel = {}, .progress = {}, .tick = raises};
  EXPECT_THROW(program.prepare(kSizes, options), Signal);
  EXPECT_EQ(ticks, 1);
  EXPECT_EQ(program.statistics().plans, 0);
  program.prepare(kSizes);
  EXPECT_EQ(program.statistics().plans, 1);
  program.prepare(kSizes, options);
  EXPECT_EQ(ticks, 1);
}

// As if the caller lost patience while kernels are lowered: the second one is not begun, the first one is given up.
TEST_F(Cancelling, WhileKernelsAreLoweredLeavesTheProgramAsItWas) {
  class Impatient final : public KernelObserver {
   public:
    void onKernel(const Fusion&, const std::string&, const std::string&) override {
      ++kernels;
      stop.request_stop();
    }
    std::stop_source stop;
    int kernels = 0;
  };
  Impatient observer;
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 2, .kernels = &observer});
  Program program = freshProgram(*device, factor_, 3);
  const PrepareOptions options = {.cancel = observer.stop.get_token(), .progress = {}};
  EXPECT_EQ(errorOf([&] { program.prepare(kSizes, options); }).code(), ErrorCode::Cancelled);
  EXPECT_EQ(observer.kernels, 1);
  program.prepare(kSizes);
  EXPECT_GT(observer.kernels, 1);
  EXPECT_EQ(program.statistics().plans, 1);
}

// All contexts of the program are taken by a call that prepares.
TEST_F(Cancelling, WhileOtherCallsPrepare) {
  Fusion fusion("scaled");
  fusion.output("y", mul(exp(fusion.input("x", DataType::F32, {"n", "m"})), factor_));
  Program program = compile(fusion, *device_, {.calls_in_flight = 1});
  const std::vector<float> numbers(64 * 32, 0.0F);
  const Tensor input = Tensor::wrap(*device_, numbers, {64, 32});
  std::stop_source stop;
  std::atomic<bool> is_preparing = false;
  std::atomic<bool> goes_on = false;
  std::jthread first([&] {
    const auto holds = [&](const CompileProgress&) {
      is_preparing = true;
      while (!goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    program.run({input}, {}, nullptr, {.cancel = {}, .progress = holds});
  });
  while (!is_preparing) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Error error(ErrorCode::Internal, "");
  std::jthread second([&] {
    error = errorOf([&] { program.run({input}, {}, nullptr, {.cancel = stop.get_token(), .progress = {}}); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  stop.request_stop();
  second.join();
  EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  EXPECT_EQ(error.message(), "the caller cancelled it while other calls made their kernels");
  goes_on = true;
  first.join();
  EXPECT_EQ(valueOfFirst(program, *device_), static_cast<float>(factor_));
}

TEST_F(Cancelling, ProgressCountsKernelsUpToAll) {
  Program program = freshProgram(*device_, factor_, 3);
  std::vector<int64_t> done;
  int64_t all = 0;
  const auto caller = std::this_thread::get_id();
  const PrepareOptions options = {.cancel = {}, .progress = [&](const CompileProgress& progress) {
                                    EXPECT_EQ(std::this_thread::get_id(), caller);
                                    done.push_back(progress.done);
                                    all = progress.all;
                                    program.statistics();  // no lock is held
                                  }};
  program.prepare(kSizes, options);
  ASSERT_GE(done.size(), 2);
  EXPECT_GE(all, 2);
  EXPECT_LT(done.front(), all);
  EXPECT_EQ(done.back(), all);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  done.clear();
  program.prepare(kSizes, options);
  EXPECT_THAT(done, ElementsAre()) << "all was there";
}

TEST_F(Cancelling, WhatProgressRaisesTheCallRaises) {
  Program program = freshProgram(*device_, factor_);
  struct Impatience {};
  const PrepareOptions options = {.cancel = {}, .progress = [](const CompileProgress&) { throw Impatience(); }};
  EXPECT_THROW(program.prepare(kSizes, options), Impatience);
  EXPECT_EQ(valueOfFirst(program, *device_), static_cast<float>(factor_));
}

// The kernel is one for both: of one program, of two that share it, and of two devices.
TEST_F(Cancelling, OneOfTwoWhoWaitLeavesTheOtherItsKernel) {
  const std::shared_ptr<Device> other = openCpuDevice({.threads = 2});
  for (int round = 0; round < 9; ++round) {
    const double factor = freshNumber();
    Program first = freshProgram(*device_, factor);
    Program second = freshProgram(round % 3 == 2 ? *other : *device_, factor);
    Program& stays = round % 3 == 0 ? first : second;
    std::stop_source stop;
    std::atomic<int> waiting = 0;
    const PrepareOptions gives_up = {.cancel = stop.get_token(), .progress = [&](const auto&) { ++waiting; }};
    const PrepareOptions waits = {.cancel = {}, .progress = [&](const auto&) { ++waiting; }};
    ErrorCode code = ErrorCode::Internal;
    {
      const std::jthread one([&] { code = errorOf([&] { first.prepare(kSizes, gives_up); }).code(); });
      const std::jthread two([&] { stays.prepare(kSizes, waits); });
      while (waiting < 1) std::this_thread::yield();
      stop.request_stop();
    }
    // It may have been too late.
    EXPECT_TRUE(code == ErrorCode::Cancelled || first.statistics().plans == 1);
    EXPECT_EQ(valueOfFirst(first, *device_), static_cast<float>(factor));
    EXPECT_EQ(valueOfFirst(stays, stays.device()), static_cast<float>(factor));
  }
}

// Threads prepare and run one program at many sizes, and cancel each other.
TEST_F(Cancelling, ByManyThreadsNeverFailsThoseWhoWait) {
  Program program = freshProgram(*device_, factor_);
  std::vector<std::jthread> threads;
  std::atomic<int> served = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int64_t size = 1; size <= 3; ++size) {
        const std::map<std::string, ScalarValue> sizes = {{"n", size}, {"m", int64_t{8}}};
        std::stop_source stop;
        if (i % 2 == 0) {
          program.prepare(sizes, {.cancel = stop.get_token(), .progress = {}});
          ++served;
          continue;
        }
        const auto cancels = [&](const CompileProgress&) { stop.request_stop(); };
        const Error error = errorOf([&] { program.prepare(sizes, {.cancel = stop.get_token(), .progress = cancels}); });
        EXPECT_TRUE(error.code() == ErrorCode::Cancelled || error.message() == "nothing was raised") << error.what();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(served, 9);
  EXPECT_EQ(program.statistics().plans, 3);
}

}  // namespace
}  // namespace tokamak
