// How long a call of a one-kernel program takes on a processor: enqueued, and on the caller's thread; and how many
// calls two threads make.
//
//   bench_call_rate [--rounds N]
//
// latency:  run() and waiting for its output, 64 elements; the median over rounds of 1,000 calls, in microseconds
// threads:  calls per second of one thread and of two, on tensors and streams of their own, of one program whose
// kernel is one block of about 50
//           microseconds; the best round of each
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "define/functions.h"
#include "define/structured.h"
#include "host/multi_device_executor.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {
namespace {

using Clock = std::chrono::steady_clock;

double secondsOf(const std::function<void()>& run) {
  const auto begin = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// out = f(f(... in)) as one kernel.
std::unique_ptr<Fusion> programOf(int ops) {
  auto fusion = std::make_unique<Fusion>("calls");
  const Axes axes = {fusion->axis({.extent = fusion->symbol("n")})};
  TensorView* tensor = fusion->tensor(DataType::F32, axes);
  fusion->addInput(tensor);
  for (int i = 0; i < ops; ++i) tensor = ops == 1 ? add(tensor, 1.0) : sin(tensor);
  fusion->addOutput(tensor);
  return fusion;
}

class Caller {
 public:
  Caller(CpuDevice& device, HostIrEvaluator& program, int64_t elements)
      : program_(program), stream_(device.createStream()) {
    const int64_t sizes[] = {elements};
    in_.push_back(Tensor::emptyOnHost(device, stream_, DataType::F32, sizes));
    out_.push_back(Tensor::emptyOnHost(device, stream_, DataType::F32, sizes));
    std::fill_n(static_cast<float*>(in_[0].hostData()), elements, 0.5F);
  }
  void call(int64_t times) {
    for (int64_t i = 0; i < times; ++i) {
      program_.run(in_, out_, *stream_);
      out_[0].waitReady();
    }
  }

 private:
  HostIrEvaluator& program_;
  std::shared_ptr<Stream> stream_;
  std::vector<Tensor> in_, out_;
};

void measure(RunPlace place, int rounds) {
  CpuDevice device;
  const char* const name = place == RunPlace::Here ? "here" : "enqueued";
  {
    const auto fusion = programOf(1);
    MultiDeviceExecutor executor(*fusion, device, {.evaluator = {.place = place}});
    Caller caller(device, executor.evaluator(), 64);
    constexpr int64_t kCalls = 1000;
    caller.call(kCalls);
    std::vector<double> times;
    for (int r = 0; r < rounds; ++r) times.push_back(secondsOf([&] { caller.call(kCalls); }) / kCalls * 1e6);
    std::ranges::sort(times);
    std::printf("%s: latency %.2f us (least %.2f)\n", name, times[times.size() / 2], times[0]);
  }
  const auto fusion = programOf(4);
  MultiDeviceExecutor executor(*fusion, device, {.evaluator = {.place = place}});
  Caller first(device, executor.evaluator(), 2048), second(device, executor.evaluator(), 2048);
  constexpr int64_t kCalls = 2000;
  first.call(kCalls);
  second.call(kCalls);
  double one = 0;
  double two = 0;
  for (int r = 0; r < rounds; ++r) {
    one = std::max(one, kCalls / secondsOf([&] { first.call(kCalls); }));
    two = std::max(two, 2 * kCalls / secondsOf([&] {
                          std::thread other([&] { second.call(kCalls); });
                          first.call(kCalls);
                          other.join();
                        }));
  }
  std::printf("%s: one thread %.0f calls/s, two threads %.0f calls/s: %.2f times\n", name, one, two, two / one);
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) {
  int rounds = 9;
  if (count == 3 && std::strcmp(arguments[1], "--rounds") == 0) rounds = std::atoi(arguments[2]);
  tokamak::measure(tokamak::RunPlace::OnStream, rounds);
  tokamak::measure(tokamak::RunPlace::Here, rounds);
}
