#include "tools/bench_command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/require.h"
#include "base/usable_processors.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/text/fusion_parser.h"
#include "jit/open_device.h"
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

// Extents that no input has by itself are given like scalar inputs.
void giveOtherExtents(Fusion& fusion, InputSources& sources) {
  for (Scalar* symbol : fusion.allSymbols()) {
    const bool is_extent = std::ranges::any_of(tensorsOf(fusion.inputs()), [&](const TensorView* tensor) {
      return std::ranges::any_of(shapeOf(*tensor),
                                 [&](const IterDomain* axis) { return axis->visibleExtent() == symbol; });
    });
    if (is_extent || fusion.isInput(symbol)) continue;
    fusion.addInput(symbol);
    if (const auto size = sources.sizes.find(symbol->name()); size != sources.sizes.end())
      sources.given[symbol->name()] = std::to_string(size->second);
    else if (const auto known = fusion.defaultSizes().find(symbol); known != fusion.defaultSizes().end())
      sources.given[symbol->name()] = std::to_string(known->second);
  }
}

InputSources sourcesOf(const BenchOptions& options, ProgramFile& file) {
  InputSources sources;
  sources.drawn_elements = int64_t{1} << 20;
  sources.sizes = readSizes(file.program(), options.sizes);
  sources.seed = options.seed;
  sources.given = readAssignments("--input", options.inputs);
  giveOtherExtents(*file.fusion, sources);
  return sources;
}

// A program that is called again and again, with memory for all.
struct Calls {
  Calls(HostIrEvaluator& called, const InputValues& inputs, const std::vector<std::pair<Val*, RunValue>>& values,
        const std::shared_ptr<Stream>& on)
      : evaluator(called), stream(on) {
    for (const auto& value : inputs.values) {
      if (const auto* tensor = std::get_if<Tensor>(&value))
        in.push_back(*tensor);
      else
        scalars.push_back(std::get<ScalarValue>(value));
    }
    out = evaluator.runWithInput(values);
    for (const Tensor& tensor : out) tensor.waitReady();
  }
  void run() { evaluator.run(in, out, *stream, scalars); }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const auto* tensors : {&in, &out})
      for (const Tensor& tensor : *tensors) sum += denseBytesOf(tensor);
    return sum;
  }

  HostIrEvaluator& evaluator;
  std::shared_ptr<Stream> stream;
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  std::vector<ScalarValue> scalars;
};

struct Measured {
  CallTimes times;
  CallTimes copy_times;
  double latency_us = 0;  // of one run of many on a processor: from the call until the host knows that it is done
};

Measured measureOnGpu(Device& device, Calls& calls, int64_t bytes, int64_t repeat) {
  Stopwatch watch(device, calls.stream);
  const int64_t half = std::max<int64_t>(1, bytes / 2);
  const Tensor from = Tensor::empty(device, calls.stream, DataType::Bool, {&half, 1}, MemoryKind::Device);
  const Tensor to = Tensor::empty(device, calls.stream, DataType::Bool, {&half, 1}, MemoryKind::Device);
  device.fill(*calls.stream, from.data(), 1, half);
  const auto [times, copy_times] =
      watch.time(repeat, [&] { calls.run(); }, [&] { device.copy(*calls.stream, to.data(), from.data(), half); });
  return {.times = times, .copy_times = copy_times};
}

Measured measureOnProcessor(Device& device, Calls& calls, int64_t bytes, int64_t repeat) {
  Stopwatch watch(device, calls.stream);
  CopyLoop copy(device, calls.stream, bytes);
  const auto run_program = [&] { calls.run(); };
  const int64_t train = watch.trainOf(run_program);
  const auto [times, copy_times] = watch.time(repeat, run_program, [&] { copy.run(); }, train);
  return {.times = times, .copy_times = copy_times, .latency_us = watch.latency(repeat, run_program)};
}

// What is told of a program.
struct Row {
  std::string label;
  std::string device;
  bool is_gpu = false;
  int64_t steps = 0;
  int64_t bytes = 0;
  double compile_ms = 0;
  Measured measured;
};

void printRow(const Row& row) {
  const CallTimes& times = row.measured.times;
  const CallTimes& copy = row.measured.copy_times;
  fmt::print(
      "{}: {} steps, {:.2f} MB, {:.2f} us, {:.0f} GB/s; copy of as many bytes {:.2f} us: {:.1f} % (best of "
      "each: {:.1f} %); compile {:.1f} ms\n",
      row.label, row.steps, static_cast<double>(row.bytes) / 1e6, times.median,
      static_cast<double>(row.bytes) / times.median / 1e3, copy.median, 100.0 * copy.median / times.median,
      100.0 * copy.best / times.best, row.compile_ms);
}

void appendRow(const Row& row, const std::string& path) {
  const CallTimes& times = row.measured.times;
  const CallTimes& copy = row.measured.copy_times;
  nlohmann::json line = {{"case", row.label},
                         {"device", row.device},
                         {"steps", row.steps},
                         {"bytes", row.bytes},
                         {"us", times.median},
                         {"copy_us", copy.median},
                         {"best_us", times.best},
                         {"best_copy_us", copy.best},
                         {"percent_of_copy", 100.0 * copy.median / times.median},
                         {"compile_ms", row.compile_ms}};
  if (!row.is_gpu) {
    line["latency_us"] = row.measured.latency_us;
    line["best_processor_us"] = times.best_processor;
    line["best_copy_processor_us"] = copy.best_processor;
  }
  std::ofstream rows(path, std::ios::app);
  rows << line.dump() << "\n" << std::flush;
  TK_REQUIRE(rows.good(), Io, "bench: '{}' cannot be written: {}", path, std::strerror(errno));
}

void requireBenchable(const BenchOptions& options) {
  TK_REQUIRE(options.device == "cpu" || options.device == "cuda", Usage, "--device {}: it must be one of cpu, cuda",
             options.device);
  TK_REQUIRE(options.repeat >= 1, Usage, "--repeat {}: it must be at least 1", options.repeat);
}

std::shared_ptr<Device> openToBench(const BenchOptions& options) {
  if (options.device == "cuda") return openCudaDevice(0);
  return openCpuDevice({.runner = kernelRunnerNamed(options.kernels), .target = cpuTarget(usableProcessors())});
}

Row bench(const BenchOptions& options, ProgramFile& file) {
  const bool is_cuda = options.device == "cuda";
  const std::shared_ptr<Device> device = openToBench(options);
  const std::shared_ptr<Stream> stream = device->createStream();
  const InputSources sources = sourcesOf(options, file);
  const InputValues inputs = makeInputs(*file.fusion, sources, *device, stream);
  if (options.written.contains("--seed")) requireRandom(inputs, options.seed);
  if (!is_cuda) makeAnyKernel(*device, stream);
  const auto compile_start = SteadyClock::now();
  std::unique_ptr<HostIrContainer> program =
      lowerToHostProgram(*file.fusion, {.grouping = groupingNamed(options.grouping),
                                        .target = is_cuda ? device->kernelTarget() : cpuTarget(),
                                        .output_views = OutputViews::Copy,
                                        .output_layouts = outputLayoutsNamed(options.output_layouts)});
  const std::vector<std::pair<Val*, RunValue>> values = boundValues(*program, inputs.values, inputs.bindings);
  // On a processor whoever measures waits for each result: the calls run on this thread, as those of peers do.
  HostIrEvaluator evaluator(std::move(program), *device,
                            {.number_of_streams = options.streams,
                             .segments = segmentModeOf(options.grouping),
                             .place = is_cuda ? RunPlace::OnStream : RunPlace::Here});
  const PlanSummary summary =
      withOwnSizeErrors(file, inputs.bindings, [&] { return evaluator.planFor(values).summary(); });
  const std::chrono::duration<double, std::milli> compile = SteadyClock::now() - compile_start;
  Calls calls(evaluator, inputs, values, stream);
  const int64_t bytes = options.bytes > 0 ? options.bytes : calls.bytes();
  return {.label = options.label.empty() ? file.fusion->name() : options.label,
          .device = device->properties().description,
          .is_gpu = is_cuda,
          .steps = summary.steps,
          .bytes = bytes,
          .compile_ms = compile.count(),
          .measured = is_cuda ? measureOnGpu(*device, calls, bytes, options.repeat)
                              : measureOnProcessor(*device, calls, bytes, options.repeat)};
}

}  // namespace

int benchCommand(const BenchOptions& options) {
  requireBenchable(options);
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
    const Row row = bench(options, file);
    printRow(row);
    if (!options.json.empty()) appendRow(row, options.json);
    return 0;
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
}

}  // namespace tokamak::tools
