// What the host spends on a launch, beside the driver's bare call, in one run:
//
//   bench_launch_latency [--json FILE] [--rounds N]
//
// bare N:    cuLaunchKernel(Ex) of an empty kernel with N pointers, its arguments packed once
// step N:    the same kernel as one of 100 launch steps of a plan that is replayed with the same pointers
// patched N: the same with other pointers in every call
// program:   a one-kernel program (T1 = T0 + 1) through HostIrEvaluator::run, beside the bare launch; where kernels can
//            be compiled
// bare graph, 100 kernels: cuGraphLaunch of 100 empty kernels in a row, and a plan of them, per call
//
// The variants take turns in every round; a round is 200 launches, after which the device is waited for. Figures are
// medians over rounds, in microseconds. TOKAMAK_CUDA_DRIVER may name the tests' fake driver, with
// TOKAMAK_FAKE_CUDA=ignores_launches=1: then the figures are what is spent here alone.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "compile/multi_device_executor.h"
#include "define/functions.h"
#include "device/replay.h"
#include "jit/jit_device.h"
#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/cuda_queue.h"
#include "toolchain/nvrtc.h"

namespace tokamak {
namespace {

constexpr int64_t kLaunches = 200;
constexpr int64_t kSteps = 100;

struct Case {
  std::string name;
  int64_t launches = kLaunches;  ///< of a round
  std::function<void()> run;     ///< a round
  std::vector<double> microseconds = {};
};

double medianOf(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

// An empty kernel with so many pointers.
CudaFunction emptyKernel(const CudaDevice& device, int64_t arguments) {
  const std::string name = fmt::format("empty_{}", arguments);
  if (device.properties().description == "Fake GPU") {
    std::string image = fmt::format("fake module\n{} nothing", name);
    for (int64_t i = 0; i < arguments; ++i) image += " 8";
    return CudaModule::load(device.context(), image + "\n")->function(name);
  }
  std::string source = fmt::format("extern \"C\" __global__ void {}(", name);
  for (int64_t i = 0; i < arguments; ++i) source += fmt::format("{}float* p{}", i == 0 ? "" : ", ", i);
  const CudaProperties& gpu = device.cudaProperties();
  NvrtcCompiler compiler({.architecture = fmt::format("sm_{}{}", gpu.capability_major, gpu.capability_minor)});
  return CudaModule::load(device.context(), compiler.compile(source + ") {}\n")->image)->function(name);
}

class Latency {
 public:
  Latency() : device_(std::make_unique<JitCudaDevice>(0)), stream_(device_->createStream()) {
    memory_ = static_cast<char*>(device_->allocate(kBytes, MemoryKind::Device, *stream_));
  }
  Latency(const Latency&) = delete;
  Latency& operator=(const Latency&) = delete;
  ~Latency() {
    device_->synchronize(*stream_);
    device_->release(memory_, kBytes, MemoryKind::Device, *stream_);
  }

  std::vector<Case>& cases() { return cases_; }
  std::string deviceName() const { return device_->properties().description; }

  void addLaunches(int64_t arguments) {
    works_.push_back(std::make_unique<CudaKernelWork>(emptyKernel(*device_, arguments), CudaLaunch{.block = {32, 1, 1}},
                                                      arguments, std::vector<uint64_t>{}, "empty"));
    const CudaKernelWork& work = *works_.back();
    addBare(work, arguments);
    add(fmt::format("step {}", arguments), replayRound(work, arguments, false));
    add(fmt::format("patched {}", arguments), replayRound(work, arguments, true));
    if (arguments == 4) addBareGraph(work, arguments);
    if (arguments == 4) addCalls("100 kernels, same pointers", work, arguments, false);
    if (arguments == 4) addCalls("100 kernels, other pointers", work, arguments, true);
  }

  // The whole way of a call through the evaluator.
  void addProgram() {
    auto fusion = std::make_shared<Fusion>("one_kernel");
    TensorView* in = fusion->tensor(DataType::F32, {fusion->axis({.extent = fusion->symbol("i0")})});
    fusion->addInput(in);
    fusion->addOutput(add1(in));
    auto executor = std::make_shared<MultiDeviceExecutor>(
        *fusion, *device_,
        MultiDeviceExecutorParams{.lowering = {.grouping = Grouping::Single},
                                  .evaluator = {.segments = SegmentMode::Kernels}});
    const std::array<int64_t, 1> sizes = {32};
    const auto tensor = [&] { return Tensor::empty(*device_, stream_, DataType::F32, sizes, MemoryKind::Device); };
    auto inputs = std::make_shared<std::vector<Tensor>>(1, tensor());
    auto outputs = std::make_shared<std::vector<Tensor>>(1, tensor());
    add("one-kernel program", [=, this] {
      for (int64_t i = 0; i < kLaunches; ++i) executor->evaluator().run(*inputs, *outputs, *stream_);
    });
  }

  void measure(int rounds) {
    constexpr int kWarm = 5;
    for (int round = 0; round < rounds + kWarm; ++round) {
      for (Case& one : cases_) {
        device_->synchronize(*stream_);
        const auto start = std::chrono::steady_clock::now();
        one.run();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        if (round >= kWarm) one.microseconds.push_back(took.count() / static_cast<double>(one.launches));
      }
    }
  }

 private:
  static constexpr int64_t kBytes = 1 << 20;
  static constexpr int64_t kCalls = 10;  // of 100 kernels

  static TensorView* add1(TensorView* in) { return tokamak::add(in, 1.0); }

  void add(std::string name, std::function<void()> run, int64_t launches = kLaunches) {
    cases_.push_back({.name = std::move(name), .launches = launches, .run = std::move(run)});
  }

  void addBare(const CudaKernelWork& work, int64_t arguments) {
    auto values = std::make_shared<std::vector<void*>>(static_cast<size_t>(arguments), memory_);
    auto pointers = std::make_shared<std::vector<void*>>(work.argumentsOf(*values, nullptr));
    driver::LaunchConfig config = work.config();
    config.stream = CudaDevice::queueOf(*stream_).stream();
    add(fmt::format("bare {}", arguments), [=, this, function = work.function()] {
      const CurrentContext current(*device_->context());
      const DriverLibrary& driver = device_->context()->driver();
      for (int64_t i = 0; i < kLaunches; ++i) driver.launch(&config, function, pointers->data(), nullptr);
    });
  }

  void addBareGraph(const CudaKernelWork& work, int64_t arguments) {
    auto packed = std::make_shared<PackedSteps>(stepsOf(work, arguments, kSteps));
    const std::vector<void*> bases(static_cast<size_t>(arguments), memory_);
    packed->patch(bases, {});
    auto graph = std::make_shared<CudaGraph>(device_->captureStreams(), *packed);
    add(
        "bare graph",
        [=, this] {
          const CurrentContext current(*device_->context());
          for (int64_t i = 0; i < kCalls; ++i) graph->launch(CudaDevice::queueOf(*stream_).stream());
        },
        kCalls);
  }

  static ReplaySteps stepsOf(const CudaKernelWork& work, int64_t arguments, int64_t steps) {
    ReplaySteps list{.base_count = static_cast<size_t>(arguments)};
    for (int64_t i = 0; i < steps; ++i) {
      list.steps.push_back({.first_slot = static_cast<uint32_t>(list.slots.size()),
                            .slot_count = static_cast<uint32_t>(arguments),
                            .work = &work});
      for (int32_t base = 0; base < arguments; ++base) list.slots.push_back({base, 0});
    }
    return list;
  }

  std::shared_ptr<Replay> replayOf(const CudaKernelWork& work, int64_t arguments, int64_t steps) {
    return device_->prepareReplay(stepsOf(work, arguments, steps));
  }

  std::function<void()> replayRound(const CudaKernelWork& work, int64_t arguments, bool is_patched) {
    // One at a time, so that no graph hides what a step costs.
    auto replay = replayOf(work, arguments, 1);
    return [=, this] {
      std::vector<void*> bases(static_cast<size_t>(arguments), memory_);
      const std::array<Stream*, 1> streams = {stream_.get()};
      for (int64_t i = 0; i < kLaunches; ++i) {
        if (is_patched) std::ranges::fill(bases, memory_ + 64 * (i % 2));
        replay->run(streams, bases, {});
      }
    };
  }

  void addCalls(std::string name, const CudaKernelWork& work, int64_t arguments, bool is_patched) {
    auto replay = replayOf(work, arguments, kSteps);
    add(
        std::move(name),
        [=, this] {
          std::vector<void*> bases(static_cast<size_t>(arguments), memory_);
          const std::array<Stream*, 1> streams = {stream_.get()};
          for (int64_t i = 0; i < kCalls; ++i) {
            if (is_patched) std::ranges::fill(bases, memory_ + 64 * (i % 2));
            replay->run(streams, bases, {});
          }
        },
        kCalls);
  }

  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<Stream> stream_;
  char* memory_ = nullptr;
  std::vector<std::unique_ptr<CudaKernelWork>> works_;
  std::vector<Case> cases_;
};

void writeJson(const std::string& file, const std::string& device, const std::vector<Case>& cases) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  TK_REQUIRE(out != nullptr, Usage, "'{}' cannot be written", file);
  fmt::print(out, "{{\"device\": \"{}\", \"microseconds\": {{", device);
  for (size_t i = 0; i < cases.size(); ++i)
    fmt::print(out, "{}\n  \"{}\": {:.3f}", i == 0 ? "" : ",", cases[i].name, medianOf(cases[i].microseconds));
  fmt::print(out, "\n}}}}\n");
  std::fclose(out);
}

int run(int count, char** arguments) {
  std::string json;
  int rounds = 101;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--json") == 0) json = arguments[i + 1];
    if (std::strcmp(arguments[i], "--rounds") == 0) rounds = std::max(1, std::atoi(arguments[i + 1]));
  }
  Latency latency;
  for (const int64_t number : {0, 4, 20, 64}) latency.addLaunches(number);
  try {
    NvrtcCompiler compiler;
    if (latency.deviceName() != "Fake GPU") latency.addProgram();
  } catch (const Error& error) {
    fmt::print(stderr, "no one-kernel program: {}\n", error.message().substr(0, error.message().find('\n')));
  }
  latency.measure(rounds);
  fmt::print("{}: medians in us\n", latency.deviceName());
  for (const Case& one : latency.cases()) fmt::print("  {:<28} {:8.3f}\n", one.name, medianOf(one.microseconds));
  if (!json.empty()) writeJson(json, latency.deviceName(), latency.cases());
  return 0;
}

}  // namespace
}  // namespace tokamak

int main(int count, char** arguments) {
  try {
    return tokamak::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
