// How long a call of a one-kernel program takes on a processor: enqueued, and on the caller's thread; and how many
// calls two threads make.
//
//   bench_call_rate [--rounds N] [--json FILE]
//
// latency:  run() and waiting for its output, 64 elements; the median over rounds of 1,000 calls, in microseconds
// threads:  calls per second of one thread and of two, on tensors and streams of their own, of one program whose
//           kernel is one block of about 50 microseconds; the best round of each
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "compile/multi_device_executor.h"
#include "define/functions.h"
#include "define/structured.h"
#include "jit/jit_device.h"

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

struct Rate {
  const char* place;
  double latency_us = 0, least_us = 0;
  double one = 0, two = 0;  ///< calls per second
};

Rate measure(RunPlace place, int rounds) {
  JitCpuDevice device;
  Rate rate{place == RunPlace::Here ? "here" : "enqueued"};
  {
    const auto fusion = programOf(1);
    MultiDeviceExecutor executor(*fusion, device, {.evaluator = {.place = place}});
    Caller caller(device, executor.evaluator(), 64);
    constexpr int64_t kCalls = 1000;
    caller.call(kCalls);
    std::vector<double> times;
    for (int r = 0; r < rounds; ++r) times.push_back(secondsOf([&] { caller.call(kCalls); }) / kCalls * 1e6);
    std::ranges::sort(times);
    rate.latency_us = times[times.size() / 2];
    rate.least_us = times[0];
    std::printf("%s: latency %.2f us (least %.2f)\n", rate.place, rate.latency_us, rate.least_us);
  }
  const auto fusion = programOf(4);
  MultiDeviceExecutor executor(*fusion, device, {.evaluator = {.place = place}});
  Caller first(device, executor.evaluator(), 2048), second(device, executor.evaluator(), 2048);
  constexpr int64_t kCalls = 2000;
  first.call(kCalls);
  second.call(kCalls);
  for (int r = 0; r < rounds; ++r) {
    rate.one = std::max(rate.one, kCalls / secondsOf([&] { first.call(kCalls); }));
    const double seconds = secondsOf([&] {
      std::thread other([&] { second.call(kCalls); });
      first.call(kCalls);
      other.join();
    });
    rate.two = std::max(rate.two, 2 * kCalls / seconds);
  }
  std::printf("%s: one thread %.0f calls/s, two threads %.0f calls/s: %.2f times\n", rate.place, rate.one, rate.two,
              rate.two / rate.one);
  return rate;
}

bool writeJson(const char* path, int rounds, const std::vector<Rate>& rates) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\"processors\": %u, \"rounds\": %d, \"places\": {\n", std::thread::hardware_concurrency(),
               rounds);
  for (const Rate& rate : rates) {
    std::fprintf(file,
                 "  \"%s\": {\"latency_us\": %.2f, \"least_us\": %.2f, \"one_thread\": %.0f, \"two_threads\": %.0f, "
                 "\"times\": %.3f}%s\n",
                 rate.place, rate.latency_us, rate.least_us, rate.one, rate.two, rate.two / rate.one,
                 &rate == &rates.back() ? "" : ",");
  }
  std::fprintf(file, "}}\n");
  return std::fclose(file) == 0;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) {
  int rounds = 9;
  const char* json = nullptr;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--rounds") == 0) rounds = std::atoi(arguments[i + 1]);
    if (std::strcmp(arguments[i], "--json") == 0) json = arguments[i + 1];
  }
  const std::vector<tokamak::Rate> rates = {tokamak::measure(tokamak::RunPlace::OnStream, rounds),
                                            tokamak::measure(tokamak::RunPlace::Here, rounds)};
  if (json != nullptr && !tokamak::writeJson(json, rounds, rates)) {
    std::fprintf(stderr, "%s cannot be written\n", json);
    return 1;
  }
}
