#include "tools/bench_command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/require.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/text/fusion_parser.h"
#include "jit/open_device.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_timer.h"
#include "tools/copy_loop.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/kernels_option.h"
#include "tools/lowering_options.h"
#include "tools/program_file.h"
#include "tools/size_errors.h"

namespace tokamak::tools {

namespace {

using SteadyClock = std::chrono::steady_clock;

// Of one call, in microseconds.
struct Taken {
  double wall = 0;
  double processor = 0;  // of all threads of the process together
};

// Of many calls, in microseconds. On a busy machine the best one says more than the median, and what the processors
// took, which others do not add to, more than the time that passed.
struct CallTimes {
  double median = 0;
  double best = 0;
  double best_processor = 0;
};

CallTimes timesOf(std::vector<Taken> calls) {
  std::ranges::sort(calls, {}, &Taken::wall);
  return {calls[calls.size() / 2].wall, calls.front().wall,
          std::ranges::min_element(calls, {}, &Taken::processor)->processor};
}

double processorMicroseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

// Times work on one stream of a device, in microseconds.
class Stopwatch {
 public:
  Stopwatch(Device& device, std::shared_ptr<Stream> stream) : device_(device), stream_(std::move(stream)) {
    if (auto* cuda = dynamic_cast<CudaDevice*>(&device)) {
      timer_ = std::make_unique<CudaTimer>(*cuda);
      makeFlush();
    }
  }

  /// Two calls over `repeat` turns, after some that do not count. They take turns, so that what else the machine does
  /// meets both. In a turn each is made `train` times, one right after the other.
  std::pair<CallTimes, CallTimes> time(int64_t repeat, const std::function<void()>& one,
                                       const std::function<void()>& other, int64_t train = 1) {
    constexpr int64_t kWarm = 3;
    std::vector<Taken> of_one;
    std::vector<Taken> of_other;
    for (int64_t i = 0; i < kWarm + repeat; ++i) {
      const Taken first = timeTrain(one, train);
      const Taken second = timeTrain(other, train);
      if (i < kWarm) continue;
      of_one.push_back(first);
      of_other.push_back(second);
    }
    return {timesOf(std::move(of_one)), timesOf(std::move(of_other))};
  }

  /// The median of `repeat` calls, each waited for and none of anything else between them: caches hold what the last
  /// one left there.
  double latency(int64_t repeat, const std::function<void()>& call) {
    return time(repeat, call, [] {}).first.median;
  }

  /// How many calls take about as long as handing work over and waiting for it is little of: 1 where one call does.
  int64_t trainOf(const std::function<void()>& call) {
    constexpr double kLong = 1000;
    constexpr int64_t kMost = 64;
    double shortest = kLong;
    for (int i = 0; i < 5; ++i) shortest = std::min(shortest, timeTrain(call, 1).wall);
    return timer_ != nullptr ? 1 : std::clamp<int64_t>(static_cast<int64_t>(kLong / shortest), 1, kMost);
  }

 private:
  Taken timeTrain(const std::function<void()>& call, int64_t train) {
    if (timer_ != nullptr) flush();
    const double processor = processorMicroseconds();
    const auto start = SteadyClock::now();
    if (timer_ != nullptr) timer_->start(*stream_);
    for (int64_t i = 0; i < train; ++i) call();
    if (timer_ != nullptr) timer_->stop(*stream_);
    device_.synchronize(*stream_);
    const std::chrono::duration<double, std::micro> wall = SteadyClock::now() - start;
    const double calls = static_cast<double>(train);
    return {.wall = (timer_ != nullptr ? timer_->microseconds() : wall.count()) / calls,
            .processor = (processorMicroseconds() - processor) / calls};
  }

  // Reading a gibibyte takes everything else out of the cache, and gives the host time to be ahead.
  void makeFlush() {
    constexpr std::string_view kFlush = "fusion flush(T0: f32[16384, 16384]) -> T1 { T1 = sum(T0, axes=[1]) }";
    const auto fusion = parseFusion(kFlush, "flush", {.resolver = &definingResolver()});
    flush_ = std::make_unique<HostIrEvaluator>(
        lowerToHostProgram(*fusion, {.grouping = Grouping::Fused, .target = device_.kernelTarget()}), device_,
        HostIrEvaluatorParams{.segments = SegmentMode::Kernels});
    const std::vector<int64_t> sizes = {16384, 16384};
    flush_in_ = Tensor::empty(device_, stream_, DataType::F32, sizes, MemoryKind::Device);
    flush_out_ = Tensor::empty(device_, stream_, DataType::F32, {sizes.data(), 1}, MemoryKind::Device);
    device_.fill(*stream_, flush_in_.data(), 1, flush_in_.buffer()->bytes());
  }
  void flush() { flush_->run({&flush_in_, 1}, {&flush_out_, 1}, *stream_); }

  Device& device_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<CudaTimer> timer_;
  std::unique_ptr<HostIrEvaluator> flush_;
  Tensor flush_in_;
  Tensor flush_out_;
};

int64_t denseBytesOf(const Tensor& tensor) { return tensor.numel() * sizeOf(tensor.dtype()); }

// The compiler is found and asked what it is before the first kernel of a process; that is no part of a program's time.
void makeAnyKernel(Device& device, const std::shared_ptr<Stream>& stream) {
  constexpr std::string_view kAny = "fusion any(T0: f32[4]) -> T1 { T1 = neg(T0) }";
  const auto fusion = parseFusion(kAny, "any", {.resolver = &definingResolver()});
  HostIrEvaluator evaluator(lowerToHostProgram(*fusion, {.grouping = Grouping::Fused}), device,
                            {.segments = SegmentMode::Kernels});
  const int64_t size = 4;
  Tensor in = Tensor::empty(device, stream, DataType::F32, {&size, 1}, MemoryKind::Device);
  Tensor out = Tensor::empty(device, stream, DataType::F32, {&size, 1}, MemoryKind::Device);
  device.fill(*stream, in.data(), 0, denseBytesOf(in));
  evaluator.run({&in, 1}, {&out, 1}, *stream);
  device.synchronize(*stream);
}

}  // namespace

int benchCommand(const BenchOptions& options) {
  TK_REQUIRE(options.device == "cpu" || options.device == "cuda", Usage, "--device {}: it must be one of cpu, cuda",
             options.device);
  TK_REQUIRE(options.repeat >= 1, Usage, "--repeat {}: it must be at least 1", options.repeat);
  ProgramFile file = readProgram(options.file);
  TK_REQUIRE(file.fusion != nullptr, Usage, "{}: it holds a host program; only fusions are measured", options.file);
  const bool is_cuda = options.device == "cuda";
  TK_REQUIRE(!is_cuda || options.kernels == "compiled", Usage,
             "--kernels {}: it has no effect with --device cuda; leave one of them out", options.kernels);
  if (is_cuda) {
    const std::string reason = reasonForNoCuda();
    TK_REQUIRE(reason.empty(), Unsupported, "--device cuda: no CUDA device: {}", reason);
  }
  try {
    const CpuDeviceOptions cpu = {.runner = kernelRunnerNamed(options.kernels),
                                  .target = cpuTarget(usableProcessors())};
    const std::shared_ptr<Device> device = is_cuda ? openCudaDevice(0) : openCpuDevice(cpu);
    const std::shared_ptr<Stream> stream = device->createStream();
    InputSources sources;
    sources.drawn_elements = int64_t{1} << 20;
    sources.sizes = readSizes(file.program(), options.sizes);
    sources.seed = options.seed;
    sources.given = readAssignments("--input", options.inputs);
    // Extents that no input has by itself are given like scalar inputs.
    for (Scalar* symbol : file.fusion->allSymbols()) {
      const bool is_extent = std::ranges::any_of(tensorsOf(file.fusion->inputs()), [&](const TensorView* tensor) {
        return std::ranges::any_of(shapeOf(*tensor),
                                   [&](const IterDomain* axis) { return axis->visibleExtent() == symbol; });
      });
      if (is_extent || file.fusion->isInput(symbol)) continue;
      file.fusion->addInput(symbol);
      if (const auto size = sources.sizes.find(symbol->name()); size != sources.sizes.end())
        sources.given[symbol->name()] = std::to_string(size->second);
      else if (const auto known = file.fusion->defaultSizes().find(symbol); known != file.fusion->defaultSizes().end())
        sources.given[symbol->name()] = std::to_string(known->second);
    }
    const InputValues inputs = makeInputs(*file.fusion, sources, *device, stream);
    if (options.written.contains("--seed")) requireRandom(inputs, options.seed);
    if (!is_cuda) makeAnyKernel(*device, stream);
    const auto compile_start = SteadyClock::now();
    const KernelTarget target = is_cuda ? device->kernelTarget() : KernelTarget{};
    std::unique_ptr<HostIrContainer> program =
        lowerToHostProgram(*file.fusion, {.grouping = groupingNamed(options.grouping),
                                          .target = target,
                                          .output_views = OutputViews::Copy,
                                          .output_layouts = outputLayoutsNamed(options.output_layouts)});
    std::vector<std::pair<Val*, RunValue>> values;
    for (size_t i = 0; i < program->inputs().size(); ++i) values.emplace_back(program->inputs()[i], inputs.values[i]);
    for (Scalar* symbol : program->allSymbols()) {
      for (const auto& [known, value] : inputs.bindings) {
        if (known->name() == symbol->name() && !symbol->name().empty() && !program->isInput(symbol))
          values.emplace_back(symbol, value);
      }
    }
    // On a processor whoever measures waits for each result: the calls run on this thread, as those of peers do.
    HostIrEvaluator evaluator(std::move(program), *device,
                              {.number_of_streams = options.streams,
                               .segments = segmentModeOf(options.grouping),
                               .place = is_cuda ? RunPlace::OnStream : RunPlace::Here});
    const PlanSummary summary =
        withOwnSizeErrors(file, inputs.bindings, [&] { return evaluator.planFor(values).summary(); });
    const std::chrono::duration<double, std::milli> compile = SteadyClock::now() - compile_start;
    std::vector<Tensor> in;
    std::vector<ScalarValue> scalars;
    for (const auto& value : inputs.values) {
      if (const auto* tensor = std::get_if<Tensor>(&value))
        in.push_back(*tensor);
      else
        scalars.push_back(std::get<ScalarValue>(value));
    }
    std::vector<Tensor> out = evaluator.runWithInput(values);
    int64_t bytes = 0;
    for (const auto* tensors : {&in, &out})
      for (const Tensor& tensor : *tensors) bytes += denseBytesOf(tensor);
    if (options.bytes > 0) bytes = options.bytes;
    for (const Tensor& tensor : out) tensor.waitReady();

    Stopwatch watch(*device, stream);
    const auto run_program = [&] { evaluator.run(in, out, *stream, scalars); };
    CallTimes times;
    CallTimes copy_times;
    // Of one run of many: from the call until the host knows that it is done.
    double latency_us = 0;
    if (is_cuda) {
      const int64_t half = std::max<int64_t>(1, bytes / 2);
      const Tensor from = Tensor::empty(*device, stream, DataType::Bool, {&half, 1}, MemoryKind::Device);
      const Tensor to = Tensor::empty(*device, stream, DataType::Bool, {&half, 1}, MemoryKind::Device);
      device->fill(*stream, from.data(), 1, half);
      std::tie(times, copy_times) =
          watch.time(options.repeat, run_program, [&] { device->copy(*stream, to.data(), from.data(), half); });
    } else {
      CopyLoop copy(*device, stream, bytes);
      const auto run_copy = [&] { copy.run(); };
      const int64_t train = watch.trainOf(run_program);
      std::tie(times, copy_times) = watch.time(options.repeat, run_program, run_copy, train);
      latency_us = watch.latency(options.repeat, run_program);
    }
    const double program_us = times.median;
    const double copy_us = copy_times.median;
    const std::string label = options.label.empty() ? file.fusion->name() : options.label;
    fmt::print(
        "{}: {} steps, {:.2f} MB, {:.2f} us, {:.0f} GB/s; copy of as many bytes {:.2f} us: {:.1f} % (best of "
        "each: {:.1f} %); compile {:.1f} ms\n",
        label, summary.steps, static_cast<double>(bytes) / 1e6, program_us,
        static_cast<double>(bytes) / program_us / 1e3, copy_us, 100.0 * copy_us / program_us,
        100.0 * copy_times.best / times.best, compile.count());
    if (!options.json.empty()) {
      nlohmann::json row = {{"case", label},
                            {"device", device->properties().description},
                            {"steps", summary.steps},
                            {"bytes", bytes},
                            {"us", program_us},
                            {"copy_us", copy_us},
                            {"best_us", times.best},
                            {"best_copy_us", copy_times.best},
                            {"percent_of_copy", 100.0 * copy_us / program_us},
                            {"compile_ms", compile.count()}};
      if (!is_cuda) {
        row["latency_us"] = latency_us;
        row["best_processor_us"] = times.best_processor;
        row["best_copy_processor_us"] = copy_times.best_processor;
      }
      std::ofstream rows(options.json, std::ios::app);
      rows << row.dump() << "\n" << std::flush;
      TK_REQUIRE(rows.good(), Io, "bench: '{}' cannot be written: {}", options.json, std::strerror(errno));
    }
    return 0;
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
}

}  // namespace tokamak::tools
