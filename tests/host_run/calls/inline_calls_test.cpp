// Calls on the caller's thread: done when they return, unless something is before them; with the order and the
// failures of enqueued ones.
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "jit/jit_device.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

const char* const kAddOne = "fusion f(T0: f32[n]) -> T1 { T1 = add(T0, 1.0) } sizes { n = 64 }";

// Notes the thread that runs it, and fails if asked.
class NotingWork final : public CpuWork {
 public:
  void run(void* const* addresses, BlockPool& /*pool*/) const override {
    static_cast<std::vector<std::thread::id>*>(addresses[0])->push_back(std::this_thread::get_id());
    if (fails) throw std::runtime_error("lost");
  }
  bool fails = false;
};

class EnteredStream : public testing::Test {
 protected:
  void launch() {
    void* const addresses[] = {&threads};
    device.launch(*stream, work, addresses);
  }
  std::vector<std::thread::id> threads;
  NotingWork work;
  JitCpuDevice device{{.threads = 2}};
  std::shared_ptr<Stream> stream = device.createStream();
  std::unique_ptr<Event> event = device.createEvent();
};

TEST_F(EnteredStream, RunsWorkOnTheCallersThreadInOrder) {
  launch();
  device.synchronize(*stream);
  ASSERT_TRUE(device.tryEnterStream(*stream));
  EXPECT_FALSE(device.tryEnterStream(*stream));
  launch();
  EXPECT_EQ(threads.size(), 2U);
  launch();
  device.leaveStream(*stream);
  launch();
  device.synchronize(*stream);
  const std::thread::id here = std::this_thread::get_id();
  ASSERT_EQ(threads.size(), 4U);
  EXPECT_NE(threads[0], here);
  EXPECT_EQ(threads[1], here);
  EXPECT_EQ(threads[2], here);
  EXPECT_NE(threads[3], here);
}

TEST_F(EnteredStream, IsNotEnteredWhileItHasWork) {
  uint64_t flag = 0;
  device.waitFlag(*stream, &flag, 1);
  EXPECT_FALSE(device.tryEnterStream(*stream));
  launch();
  const auto other = device.createStream();
  device.writeFlag(*other, &flag, 1);
  device.synchronize(*stream);
  EXPECT_NE(threads.at(0), std::this_thread::get_id());
}

TEST_F(EnteredStream, KeepsWhatOthersGiveItUntilItIsLeft) {
  ASSERT_TRUE(device.tryEnterStream(*stream));
  std::thread other([&] {
    launch();
    device.record(*event, *stream);
  });
  other.join();
  EXPECT_FALSE(device.isDone(*event));
  EXPECT_TRUE(threads.empty());
  launch();
  device.leaveStream(*stream);
  device.synchronize(*event);
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[0], std::this_thread::get_id());
}

TEST_F(EnteredStream, FailsLikeOneThatWasNot) {
  const std::unique_ptr<Event> before = device.createEvent();
  launch();
  device.record(*before, *stream);
  device.synchronize(*stream);
  work.fails = true;
  ASSERT_TRUE(device.tryEnterStream(*stream));
  launch();
  launch();  // skipped
  device.record(*event, *stream);
  device.leaveStream(*stream);
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_EQ(device.failureOf(*before), nullptr);
  work.fails = false;
  launch();  // skipped: nobody was told yet
  device.waitDone(*event);
  EXPECT_NE(device.failureOf(*event), nullptr);
  EXPECT_THROW(device.synchronize(*event), std::runtime_error);
  EXPECT_THROW(device.synchronize(*stream), SkippedError);  // of the third
  launch();
  device.synchronize(*stream);
  EXPECT_EQ(threads.size(), 3U);
}

class InlineCalls : public testing::Test {
 protected:
  InlineCalls() {
    in[0] = bench.numbers(DataType::F32, {64}, std::vector<double>(64, 1));
    out[0] = bench.empty(DataType::F32, {64});
  }
  RunBench bench;
  MultiDeviceExecutor executor{*fusionOf(kAddOne), bench.device, {.evaluator = {.place = RunPlace::Here}}};
  Tensor in[1], out[1];
};

TEST_F(InlineCalls, AreDoneWhenTheyReturn) {
  for (int i = 0; i < 100; ++i) {
    bench.device.synchronize(*bench.stream);  // allocations are work of the stream, too
    executor.evaluator().run(in, out, *bench.stream);
    // ThreadSanitizer's events are work of the stream, which its own thread runs.
    ASSERT_TRUE(kThreadSanitizer || bench.device.isDone(*out[0].readyEvent()));
    out[0].waitReady();
    ASSERT_EQ(static_cast<const float*>(out[0].data())[63], static_cast<float>(i + 2));
    std::swap(in[0], out[0]);
  }
}

TEST_F(InlineCalls, AreEnqueuedBehindWhatTheyWaitFor) {
  uint64_t flag = 0;
  const std::shared_ptr<Stream> other = bench.device.createStream();
  executor.evaluator().run(in, out, *bench.stream);
  bench.device.waitFlag(*other, &flag, 1);
  executor.evaluator().run(in, out, *other);         // its stream is not idle
  executor.evaluator().run(out, in, *bench.stream);  // what it reads is not there
  EXPECT_FALSE(bench.device.isDone(*in[0].readyEvent()));
  bench.device.writeFlag(*std::shared_ptr<Stream>(bench.device.createStream()), &flag, 1);
  EXPECT_EQ(numbersOf(in[0]), std::vector<double>(64, 3));
}

TEST_F(InlineCalls, OfPlansWithWorkersAreEnqueued) {
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2]) -> T1 { T1 = add(T0, 1.0) } sizes { i0 = 8, i2 = 64 } schedule { parallelize(T1, "
      "axis=0, type=Stream) }");
  MultiDeviceExecutor streamed(*fusion, bench.device, {.evaluator = {.place = RunPlace::Here}});
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), streamed.runWithInput(inputs)), "");
}

}  // namespace
}  // namespace tokamak
