// Calls on the callers' threads, of several threads at once: right results, and failures that are their own caller's.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/ir/text/host_parser.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "ir/clone.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr int64_t kCallsOfEach = 200;
constexpr int64_t kRowsOfEach = 256;
constexpr int64_t kRowLength = 64;

const char* const kSquareOfSum =
    "fusion f(T0: f32[n, m]) -> T3 { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) T3 = mul(T2, T1) } sizes { n = 4, m = 64 }";

Tensor filledRows(Device& device, const std::shared_ptr<Stream>& stream, int64_t rows, float value) {
  const int64_t sizes[] = {rows, kRowLength};
  Tensor made = Tensor::emptyOnHost(device, stream, DataType::F32, sizes);
  std::fill_n(static_cast<float*>(made.hostData()), made.numel(), value);
  return made;
}

int64_t countOther(const Tensor& tensor, float value) {
  const auto* data = static_cast<const float*>(tensor.hostDataToRead());
  return tensor.numel() - std::count(data, data + tensor.numel(), value);
}

// What a thread saw of calls on its own stream.
struct Seen {
  int64_t wrong = 0;            ///< elements
  int64_t done_at_return = 0;   ///< calls
  int64_t others_failures = 0;  ///< raised here
};

Seen callOften(HostIrEvaluator& evaluator, int64_t thread) {
  Device& device = evaluator.device();
  const std::shared_ptr<Stream> stream = device.createStream();
  Seen seen;
  for (int64_t i = 0; i < kCallsOfEach; ++i) {
    const auto x = static_cast<float>(thread * 100 + i % 50);
    Tensor in[] = {filledRows(device, stream, kRowsOfEach, x)};
    Tensor out[] = {filledRows(device, stream, kRowsOfEach, -1)};
    try {
      evaluator.run(in, out, *stream);
      seen.done_at_return += device.isDone(*out[0].readyEvent()) ? 1 : 0;
      seen.wrong += countOther(out[0], (2 * x + 1) * (2 * x));
    } catch (const Error&) {
      ++seen.others_failures;
    }
  }
  return seen;
}

// Op by op there are intermediates, in memory that a call has for itself.
TEST(InlineThreads, TwoCallOneProgram) {
  for (const Grouping grouping : {Grouping::Fused, Grouping::Single}) {
    RunBench bench;
    MultiDeviceExecutor executor(*fusionOf(kSquareOfSum), bench.device,
                                 {.lowering = {.grouping = grouping}, .evaluator = {.place = RunPlace::Here}});
    Seen seen[2];
    std::thread first([&] { seen[0] = callOften(executor.evaluator(), 0); });
    std::thread second([&] { seen[1] = callOften(executor.evaluator(), 1); });
    first.join();
    second.join();
    for (const Seen& it : seen) {
      EXPECT_EQ(it.wrong, 0) << "grouping " << static_cast<int>(grouping);
      EXPECT_EQ(it.others_failures, 0);
      // ThreadSanitizer's events are work of the stream, which its own thread runs.
      EXPECT_GT(it.done_at_return, kThreadSanitizer ? -1 : kCallsOfEach / 2);
    }
  }
}

// The threads share the fusion, and each lowers a clone of it.
TEST(InlineThreads, TwoLowerClonesOfOneConstFusion) {
  RunBench bench;
  const std::unique_ptr<const Fusion> fusion = fusionOf(kSquareOfSum);
  std::atomic<int64_t> wrong = 0;
  const auto work = [&](int64_t thread) {
    for (int64_t i = 0; i < 3; ++i) {
      MultiDeviceExecutor executor(
          *cloneFusion(*fusion), bench.device,
          {.lowering = {.grouping = Grouping::Single}, .evaluator = {.place = RunPlace::Here}});
      const auto x = static_cast<float>(thread + i);
      const RunValue inputs[] = {filledRows(bench.device, bench.device.createStream(), 4, x)};
      wrong += countOther(executor.runWithInput(inputs).at(0), (2 * x + 1) * (2 * x));
    }
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  EXPECT_EQ(wrong.load(), 0);
}

// A call that does not fit is refused before anything of it runs.
TEST(InlineThreads, ARefusedCallIsItsCallersAlone) {
  RunBench bench;
  MultiDeviceExecutor executor(*fusionOf(kSquareOfSum), bench.device, {.evaluator = {.place = RunPlace::Here}});
  Seen seen;
  std::jthread other([&] { seen = callOften(executor.evaluator(), 1); });
  for (int64_t i = 0; i < kCallsOfEach; ++i) {
    Tensor out[] = {filledRows(bench.device, bench.stream, 4, -1)};
    const Tensor misfit[] = {filledRows(bench.device, bench.stream, 3, 1)};
    const Error error = errorOf([&] { executor.evaluator().run(misfit, out, *bench.stream); });
    ASSERT_EQ(error.code(), ErrorCode::Bind) << error.message();
    ASSERT_EQ(countOther(out[0], -1), 0);
    const Tensor in[] = {filledRows(bench.device, bench.stream, 4, 3)};
    executor.evaluator().run(in, out, *bench.stream);
    ASSERT_EQ(countOther(out[0], 42), 0);
  }
  other.join();
  EXPECT_EQ(seen.wrong, 0);
  EXPECT_EQ(seen.others_failures, 0);
}

// --- failures of the work itself ---

// Doubles, and writes beyond the end unless the length is a multiple of 64, which the interpreter sees.
const char* const kOneTooMany = R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> (T1_g_float[iS1{i0}]) :
  LaunchKernel(Kernel0, grid={( ceilDiv(i0, 64) ), 1, 1}, block={1, 1, 1}, )"
                                R"(Inputs: {T0_g_float[iS0{i0}], }, Outputs: {T1_g_float[iS1{i0}], })
} // %HostIrContainer
Kernel0{
  kernel twice(T0: f32[n:1], n: i64) -> T1: f32[n:1] BIDx in ( ceilDiv(n, 64) ) {
    for k in 0..64 {
      if ( ( ( BIDx * 64 ) + k ) < ( n + 1 ) ) {
        T1[( ( BIDx * 64 ) + k )] = add(T0[( ( BIDx * 64 ) + k )], T0[( ( BIDx * 64 ) + k )])
      }
    }
  }
}
)";

class InlineFailures : public testing::Test {
 protected:
  InlineFailures() {
    std::unique_ptr<HostIrContainer> program = parseHostProgram(kOneTooMany, "twice.host_ir");
    finishHostProgram(*program, {});
    evaluator = std::make_unique<HostIrEvaluator>(std::move(program), bench.device,
                                                  HostIrEvaluatorParams{.place = RunPlace::Here});
  }
  static constexpr int64_t kGood = 64;
  static constexpr int64_t kBad = 100;

  Tensor lineOf(int64_t count, float value) {
    return bench.numbers(DataType::F32, {count}, std::vector<double>(static_cast<size_t>(count), value));
  }
  // Into memory that is given, so that nothing is before the call on its stream.
  void call(const Tensor& in, const Tensor& out, const std::shared_ptr<Stream>& stream) {
    evaluator->runWithInput({{evaluator->program().inputs()[0], in}, {evaluator->program().outputs()[0], out}}, stream);
  }
  // Calls of which each other one fails, on a stream of their own; `start` runs when their memory is ready.
  void failAndSucceedInTurn(const std::function<void()>& start) {
    const Tensor bad = lineOf(kBad, 1);
    const Tensor good = lineOf(kGood, 1);
    const Tensor lost = lineOf(kBad, -1);
    const Tensor right = lineOf(kGood, -1);
    bench.device.synchronize(*bench.stream);
    if (start) start();
    const std::shared_ptr<Stream> stream = bench.device.createStream();
    for (int i = 0; i < 20; ++i) {
      call(bad, lost, stream);
      ASSERT_EQ(errorOf([&] { lost.waitReady(); }).code(), ErrorCode::Definition);
      call(good, right, stream);
      ASSERT_EQ(countOther(right, 2), 0);
    }
  }
  RunBench bench{{.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted}};
  std::unique_ptr<HostIrEvaluator> evaluator;
};

// The caller waits for a call with memory that host code reads: it raises what failed, and nothing is left behind.
TEST_F(InlineFailures, AreRaisedByTheCallThatHasThem) {
  std::vector<float> memory(kBad, 1.0F);
  const auto borrowed = [&](int64_t count) {
    const int64_t sizes[] = {count};
    const int64_t strides[] = {1};
    return Tensor::borrow(bench.device, memory.data(), DataType::F32, sizes, strides, MemoryKind::Host);
  };
  const Tensor lost = lineOf(kBad, -1);
  const Tensor right = lineOf(kGood, -1);
  bench.device.synchronize(*bench.stream);
  for (int i = 0; i < 20; ++i) {
    const Error error = errorOf([&] { call(borrowed(kBad), lost, nullptr); });
    ASSERT_EQ(error.code(), ErrorCode::Definition);
    ASSERT_THAT(error.what(), HasSubstr("kernel twice: "));
    call(borrowed(kGood), right, nullptr);
    ASSERT_EQ(countOther(right, 2), 0);
  }
}

// With a stream of the caller's the call returns; who asks for what it made is told, and the stream is good again.
TEST_F(InlineFailures, LeaveTheStreamToTheNextCall) { failAndSucceedInTurn({}); }

TEST_F(InlineFailures, OfOneStreamAreNotThoseOfAnother) {
  std::atomic<int64_t> wrong = 0;
  std::atomic<int64_t> foreign = 0;
  std::vector<Tensor> lines;
  for (int64_t i = 0; i < kCallsOfEach; ++i) lines.push_back(lineOf(kGood, static_cast<float>(i)));
  const Tensor results = lineOf(kGood, -1);
  std::jthread other;
  failAndSucceedInTurn([&] {
    other = std::jthread([&] {
      const std::shared_ptr<Stream> stream = bench.device.createStream();
      for (int64_t i = 0; i < kCallsOfEach; ++i) {
        try {
          call(lines[static_cast<size_t>(i)], results, stream);
          wrong += countOther(results, static_cast<float>(2 * i));
        } catch (const Error&) {
          ++foreign;
        }
      }
    });
  });
  other.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(foreign.load(), 0);
}

}  // namespace
}  // namespace tokamak
