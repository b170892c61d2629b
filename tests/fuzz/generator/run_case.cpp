#include "run_case.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "device/tensor_copies.h"
#include "draw_schedule.h"
#include "ir/text/fusion_printer.h"
#include "ir/verifier.h"
#include "jit/jit_device.h"
#include "minimise.h"
#include "oracle/index.h"
#include "oracle/reference.h"
#include "random.h"

namespace tokamak::generator {

namespace {

RunConfig drawConfig(uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15ULL + 7);
  RunConfig config;
  config.streams = random.between(1, 5);
  config.threads = random.between(1, 3);
  config.sync = random.chance(70) ? StreamSync::Hoisted : StreamSync::InLoop;
  const int64_t grouping = random.below(100);
  config.grouping = grouping < 50 ? Grouping::Single : grouping < 80 ? Grouping::Segments : Grouping::Fused;
  config.gives_outputs = random.chance(50);
  config.seed = seed;
  return config;
}

// Results of one run, as dense row-major bytes.
struct Results {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<DataType> types;
  std::vector<std::vector<std::byte>> bytes;
};

// The test's memory as the device has it: itself, or with a stream a copy.
Tensor placed(StoredData& data, Device& device, const std::shared_ptr<Stream>& stream) {
  void* const address = data.bytes.data() + data.offset * sizeOf(data.dtype);
  const MemoryKind kind = stream == nullptr ? MemoryKind::Device : MemoryKind::Host;
  const Tensor own = Tensor::borrow(device, address, data.dtype, data.sizes, data.strides, kind);
  return stream == nullptr ? own : toDevice(own, device, stream, MemoryKind::Device);
}

// What was placed, back in the test's memory: a copy's buffer begins with the first byte that an element touches.
void fetch(const Tensor& tensor, StoredData& data, const std::shared_ptr<Stream>& stream) {
  if (stream == nullptr || tensor.numel() == 0) return;
  const Tensor copy = toHost(tensor, stream);
  std::byte* const first = data.bytes.data() + data.offset * sizeOf(data.dtype) - copy.offsetBytes();
  std::memcpy(first, copy.buffer()->address(), static_cast<size_t>(copy.buffer()->bytes()));
}

std::vector<std::byte> denseBytes(const Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.hostData());
  const int64_t width = sizeOf(tensor.dtype());
  std::vector<std::byte> bytes;
  oracle::forEachIndex(tensor.sizes(), [&](std::span<const int64_t> index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.strides()[i];
    bytes.insert(bytes.end(), data + offset * width, data + (offset + 1) * width);
  });
  return bytes;
}

// Poisoned storage for an output: dense, permuted or with gaps.
StoredData drawStorage(DataType dtype, std::vector<int64_t> sizes, Random& random) {
  StoredData data{.dtype = dtype, .sizes = std::move(sizes), .strides = {}, .bytes = {}};
  const size_t rank = data.sizes.size();
  data.strides.assign(rank, 1);
  const bool has_gaps = random.chance(30);
  const bool is_turned = random.chance(20);
  int64_t next = 1;
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = is_turned ? i : rank - 1 - i;
    const int64_t step = has_gaps ? random.between(1, 2) : 1;
    data.strides[axis] = next * step;
    next *= std::max<int64_t>(1, data.sizes[axis]) * step + (has_gaps ? random.between(0, 2) : 0);
  }
  data.bytes.assign(static_cast<size_t>(next * sizeOf(dtype)), kPoison);
  return data;
}

bool hasIntactGaps(const StoredData& data) {
  std::vector<bool> is_element(data.bytes.size(), false);
  const int64_t width = sizeOf(data.dtype);
  oracle::forEachIndex(data.sizes, [&](std::span<const int64_t> index) {
    int64_t offset = data.offset;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * data.strides[i];
    std::fill_n(is_element.begin() + offset * width, width, true);
  });
  for (size_t i = 0; i < data.bytes.size(); ++i) {
    if (!is_element[i] && data.bytes[i] != kPoison) return false;
  }
  return true;
}

std::vector<bool> isUpdated(const Fusion& fusion) {
  std::vector<bool> updated(fusion.inputs().size(), false);
  for (const auto& [output, alias] : fusion.outputAliases()) {
    for (size_t i = 0; i < fusion.inputs().size(); ++i) updated[i] = updated[i] || fusion.inputs()[i] == alias.target;
  }
  return updated;
}

// One fusion, lowered for one mode, run any number of times.
class Runner {
 public:
  Runner(const Fusion& fusion, const std::vector<InputData>& inputs, const RunConfig& config, const RunPlace& place,
         HostIrEvaluatorParams::Mode mode, const std::vector<oracle::OracleTensor>& expected)
      : fusion_(fusion),
        inputs_(inputs),
        config_(config),
        expected_(expected),
        device_(place.device != nullptr ? *place.device : deviceWith(config.threads)),
        stream_(place.stream),
        executor_(fusion, device_,
                  {.lowering = loweringOf(config),
                   .evaluator = {
                       .number_of_streams = config.streams,
                       .mode = mode,
                       .segments = config.grouping == Grouping::Fused ? SegmentMode::Kernels : SegmentMode::OpByOp}}) {}

  /// Empty problem when the run itself is right; the values are not looked at.
  std::optional<Problem> run(Results& results) {
    BoundInputs bound(inputs_, device_, stream_);
    std::vector<StoredData> storage;
    std::vector<std::pair<Tensor, StoredData*>> stored;
    std::vector<Tensor> given;
    Random random(config_.seed);
    storage.reserve(fusion_.outputs().size());
    for (size_t i = 0; i < fusion_.outputs().size() && config_.gives_outputs; ++i) {
      TensorView* output = fusion_.outputs()[i];
      if (fusion_.outputAliases().contains(output)) {
        given.emplace_back();
        continue;
      }
      storage.push_back(drawStorage(output->dtype(), expected_[i].sizes, random));
      given.push_back(placed(storage.back(), device_, stream_));
      stored.emplace_back(given.back(), &storage.back());
    }
    const std::vector<Tensor> outputs = executor_.runWithInput(bound.values(), given);
    for (const Tensor& output : outputs) output.waitReady();
    results = {};
    for (const Tensor& output : outputs) {
      results.sizes.emplace_back(output.sizes().begin(), output.sizes().end());
      results.types.push_back(output.dtype());
      results.bytes.push_back(denseBytes(stream_ == nullptr ? output : toHost(output, stream_)));
    }
    for (const auto& [tensor, data] : stored) fetch(tensor, *data, stream_);
    if (const auto changed = bound.findChanged(isUpdated(fusion_)))
      return Problem{"input changed", fmt::format("input {} was written", *changed)};
    for (const StoredData& data : storage) {
      if (!hasIntactGaps(data))
        return Problem{"gap written", "memory between the elements of a given output was written"};
    }
    return std::nullopt;
  }

  int64_t steps() {
    const BoundInputs bound(inputs_, device_, stream_);
    return executor_.planFor(bound.values()).summary().steps;
  }
  const HostIrContainer& program() const { return executor_.program(); }

 private:
  const Fusion& fusion_;
  const std::vector<InputData>& inputs_;
  const RunConfig& config_;
  const std::vector<oracle::OracleTensor>& expected_;
  Device& device_;
  std::shared_ptr<Stream> stream_;
  MultiDeviceExecutor executor_;
};

std::optional<Problem> differenceOf(const Results& a, const Results& b, const std::string& what) {
  for (size_t i = 0; i < a.bytes.size(); ++i) {
    if (a.sizes[i] != b.sizes[i]) return Problem{what, fmt::format("output {}: other sizes", i)};
    if (a.bytes[i] == b.bytes[i]) continue;
    const auto at = std::ranges::mismatch(a.bytes[i], b.bytes[i]).in1 - a.bytes[i].begin();
    return Problem{what,
                   fmt::format("output {}: other bits, first in element {} (row-major)", i, at / sizeOf(a.types[i]))};
  }
  return std::nullopt;
}

std::optional<Problem> compareWithOracle(const Results& results, const oracle::Reference& reference,
                                         const std::string& mode) {
  const std::vector<oracle::OracleTensor>& expected = reference.exact().outputs;
  if (results.bytes.size() != expected.size()) return Problem{mode + ": outputs", "another number of outputs"};
  for (size_t i = 0; i < results.bytes.size(); ++i) {
    if (results.sizes[i] != expected[i].sizes)
      return Problem{mode + ": sizes", fmt::format("output {}: other sizes", i)};
    const oracle::Comparison comparison = reference.compare(
        i, {.dtype = results.types[i], .sizes = results.sizes[i], .strides = {}, .data = results.bytes[i].data()});
    if (!comparison.isOk())
      return Problem{mode + ": values", fmt::format("output {}: {}", i, oracle::toString(comparison))};
  }
  return std::nullopt;
}

}  // namespace

std::string toString(const RunConfig& config) {
  return fmt::format("{} streams, {} threads, {}, {}, outputs {}", config.streams, config.threads,
                     config.sync == StreamSync::Hoisted ? "hoisted" : "in-loop",
                     config.grouping == Grouping::Single     ? "single"
                     : config.grouping == Grouping::Segments ? "segments"
                                                             : "fused",
                     config.gives_outputs ? "given" : "allocated");
}

HostLoweringOptions loweringOf(const RunConfig& config) {
  return {.grouping = config.grouping, .stream_sync = config.sync, .target = config.target};
}

Device& deviceWith(int64_t threads) {
  static std::map<int64_t, std::unique_ptr<CpuDevice>> devices;
  auto& device = devices[threads];
  if (device == nullptr)
    device = std::make_unique<JitCpuDevice>(CpuDeviceOptions{.threads = threads, .poisons_memory = true});
  return *device;
}

BoundInputs::BoundInputs(const std::vector<InputData>& data, Device& device, std::shared_ptr<Stream> stream)
    : data_(data), stream_(std::move(stream)) {
  copies_.reserve(data.size());
  for (const InputData& input : data) {
    if (const auto* scalar = std::get_if<ScalarValue>(&input)) {
      copies_.emplace_back();
      values_.emplace_back(*scalar);
      continue;
    }
    values_.emplace_back(placed(copies_.emplace_back(std::get<StoredData>(input)), device, stream_));
  }
}

std::optional<size_t> BoundInputs::findChanged(const std::vector<bool>& updated) {
  for (size_t i = 0; i < data_.size(); ++i) {
    const auto* tensor = std::get_if<StoredData>(&data_[i]);
    if (tensor == nullptr || updated[i]) continue;
    fetch(std::get<Tensor>(values_[i]), copies_[i], stream_);
    if (tensor->bytes != copies_[i].bytes) return i;
  }
  return std::nullopt;
}

Case drawCase(uint64_t seed, const CaseOptions& options, std::string& problem) {
  Case drawn{.program = drawProgram(seed, options.program), .config = drawConfig(seed)};
  drawn.config.grouping = options.grouping.value_or(drawn.config.grouping);
  drawn.config.target = options.target;
  const auto accepts = [&](const Program& program) {
    std::unique_ptr<Fusion> fusion;
    try {
      fusion = buildScheduled(program);
      lowerToHostProgram(*fusion, loweringOf(drawn.config));
      return true;
    } catch (const Error& error) {
      const bool is_typed = error.code() == ErrorCode::Schedule || error.code() == ErrorCode::HostProgram ||
                            error.code() == ErrorCode::Definition;
      if (!is_typed && problem.empty())
        problem = fmt::format("seed {}: a schedule is refused with code {}: {}", seed, errorCodeName(error.code()),
                              error.what());
    }
    try {
      if (fusion != nullptr) verify(*fusion, Stage::Scheduled);
    } catch (const Error& error) {
      if (problem.empty())
        problem = fmt::format("seed {}: a refused schedule left a broken fusion: {}", seed, error.what());
    }
    return false;
  };
  const DrawnSchedule schedule = drawSchedule(drawn.program, seed ^ 0x5ced01e5ULL, accepts);
  drawn.streamed = schedule.streamed;
  drawn.refused = schedule.refused;
  return drawn;
}

std::optional<Problem> findProblem(const Fusion& streamed, const Fusion& plain, const std::vector<InputData>& inputs,
                                   const RunConfig& config, const RunOptions& options, RunTally& tally) {
  using Mode = HostIrEvaluatorParams::Mode;
  const oracle::Reference reference(plain, toOracle(inputs));
  const oracle::Evaluation& exact = reference.exact();
  const char* mode = "plan";
  try {
    verify(streamed, Stage::Scheduled);
    Runner planned(streamed, inputs, config, options.place, Mode::Plan, exact.outputs);
    Results first;
    if (auto problem = planned.run(first)) return problem;
    if (auto problem = compareWithOracle(first, reference, mode)) return problem;
    mode = "replay";
    Results again;
    for (int64_t i = 1; i < options.replays; ++i) {
      if (auto problem = planned.run(again)) return problem;
      if (auto problem = differenceOf(first, again, "replays differ")) return problem;
    }
    tally.runs += options.replays;
    for (const oracle::OracleTensor& output : exact.outputs) tally.elements += output.count();
    tally.steps += planned.steps();
    tally.views += std::ssize(planned.program().views());
    if (options.runs_direct) {
      mode = "direct";
      Runner direct(streamed, inputs, config, options.place, Mode::Direct, exact.outputs);
      if (auto problem = direct.run(again)) return problem;
      if (auto problem = differenceOf(first, again, "direct and plan differ")) return problem;
      ++tally.runs;
    }
    if (options.runs_unstreamed) {
      mode = "unstreamed";
      Runner unstreamed(plain, inputs, config, options.place, Mode::Plan, exact.outputs);
      if (auto problem = unstreamed.run(again)) return problem;
      if (auto problem = compareWithOracle(again, reference, mode)) return problem;
      ++tally.runs;
    }
  } catch (const Error& error) {
    return Problem{fmt::format("{}: error {}", mode, errorCodeName(error.code())), error.what()};
  }
  return std::nullopt;
}

std::optional<Problem> findProblem(const Case& drawn, const RunOptions& options, RunTally& tally) {
  ++tally.programs;
  tally.streamed_programs += drawn.streamed > 0 ? 1 : 0;
  tally.ops += drawn.program.opCount();
  tally.refused += drawn.refused;
  const std::vector<InputData> inputs = drawData(drawn.program, drawn.program.seed);
  return findProblem(*buildScheduled(drawn.program), *build(drawn.program), inputs, drawn.config, options, tally);
}

Case minimiseCase(const Case& drawn, const RunOptions& options, const std::string& kind) {
  Case small = drawn;
  const auto fails = [&](const Program& program) {
    RunTally tally;
    Case candidate = small;
    candidate.program = program;
    try {
      lowerToHostProgram(*buildScheduled(program), loweringOf(candidate.config));
      const auto problem = findProblem(candidate, options, tally);
      return problem && problem->kind == kind;
    } catch (const Error&) {
      return false;
    }
  };
  small.program = minimise(small.program, fails, {.max_attempts = 1500});
  return small;
}

std::string report(const Case& drawn, const Problem& problem) {
  std::string text =
      fmt::format("seed {}: {}: {}\n{}\n{}{}", drawn.config.seed, problem.kind, problem.text, toString(drawn.config),
                  toString(drawn.program), printFusion(*buildScheduled(drawn.program)));
  return text + fmt::format("replay: random_programs --seed {}\n", drawn.config.seed);
}

std::vector<InputData> drawDataFor(const Fusion& fusion, uint64_t seed) {
  Random random(seed);
  ScalarBindings sizes;
  for (const auto& [symbol, size] : fusion.defaultSizes()) sizes[symbol] = size;
  std::vector<InputData> data;
  for (Val* input : fusion.inputs()) {
    if (input->kind() == ValKind::Scalar) {
      data.emplace_back(convertValue(random.between(1, 4), input->dtype()));
      continue;
    }
    const TensorView& tensor = *asTensor(input);
    StoredData stored = {.dtype = tensor.dtype(), .sizes = sizesOf(tensor, sizes)};
    stored.strides = freshStrides(tensor, stored.sizes);
    stored.bytes.assign(
        static_cast<size_t>(std::max<int64_t>(1, spanOf(stored.sizes, stored.strides)) * sizeOf(stored.dtype)),
        kPoison);
    oracle::forEachIndex(stored.sizes, [&](std::span<const int64_t> index) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * stored.strides[i];
      const int64_t number = stored.dtype == DataType::Bool ? random.below(2) : random.between(-8, 8);
      oracle::storeElement(stored.dtype, {.number = static_cast<double>(number), .integer = number},
                           stored.bytes.data() + offset * sizeOf(stored.dtype));
    });
    data.emplace_back(std::move(stored));
  }
  return data;
}

}  // namespace tokamak::generator
