#include "tools/run_command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/dump_options.h"
#include "base/error.h"
#include "base/trace.h"
#include "device/tensor_copies.h"
#include "host/host_ir_evaluator.h"
#include "host/lower_fusion.h"
#include "host/text/host_printer.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/text/fusion_printer.h"
#include "oracle/compare.h"
#include "oracle/evaluate.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/find_cuda.h"
#include "runtime/npy.h"
#include "segment/product_group.h"
#include "tools/error_place.h"
#include "tools/grouping_option.h"
#include "tools/input_values.h"
#include "tools/program_file.h"

namespace tokamak::tools {

namespace {

using SteadyClock = std::chrono::steady_clock;

double millisecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

template <class Value>
Value choose(const std::string& option, const std::string& text,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  TK_RAISE(Usage, "{} {}: it must be one of {}", option, text, fmt::join(names, ", "));
}

DumpOptions dumpOptions(const RunOptions& options) {
  const char* environment = std::getenv("TOKAMAK_DUMP");
  std::string text = environment == nullptr ? "" : environment;
  if (!text.empty() && !options.dump.empty()) text += ',';
  return DumpOptions(text + options.dump);
}

enum class Explain : uint8_t { No, Yes };

// Dumps of kernels, as they are made ready, and why they are.
class KernelPrinter final : public KernelObserver {
 public:
  KernelPrinter(const DumpOptions& dump, std::string name, Explain explain)
      : dump_(&dump), name_(std::move(name)), explain_(explain) {}
  void onChoice(const KernelNews& news) override {
    if (explain_ == Explain::Yes) fmt::print("kernel of {}: {}\n  for {}\n", news.program, news.reason, news.choice);
  }
  void onShared(const std::string& program, const std::string& known) override {
    if (explain_ == Explain::Yes) fmt::print("kernel of {}: of the same structure as one of {}\n", program, known);
  }
  void onKernel(const Fusion& fusion, const std::string& kernel, const std::string& source) override {
    if (dump_->wants("schedule", name_)) fmt::print("{}", printFusion(fusion));
    if (dump_->wants("kernel_ir", name_)) fmt::print("{}", kernel);
    if (dump_->wants("source", name_)) fmt::print("{}", source);
  }
  bool wantsPasses() const override { return dump_->wants("kernel_passes", name_); }
  void onKernelPass(std::string_view pass, const std::string& kernel) override {
    fmt::print("// after {}\n{}", pass, kernel);
  }

 private:
  const DumpOptions* dump_;
  std::string name_;
  Explain explain_;
};

std::unique_ptr<HostIrContainer> compile(ProgramFile& file, const RunOptions& options, const DumpOptions& dump) {
  HostLoweringOptions lowering;
  lowering.grouping = groupingNamed(options.grouping);
  lowering.stream_sync = choose<StreamSync>("--stream-sync", options.stream_sync,
                                            {{"hoisted", StreamSync::Hoisted}, {"in-loop", StreamSync::InLoop}});
  if (options.device != "cpu") lowering.target = hopperTarget();
  // The interpreter's products are the processor's.
  if (options.device == "interpreter") lowering.target->product_activations = {};
  const std::string name = file.program().name();
  lowering.after_streams = [&](const HostIrContainer& program) {
    if (dump.wants("host_ir", name)) fmt::print("{}", printHostProgram(program));
  };
  if (file.fusion != nullptr && dump.wants("fusion", name)) fmt::print("{}", printFusion(*file.fusion));
  std::unique_ptr<HostIrContainer> program;
  if (file.fusion != nullptr) {
    if (dump.wants("segments", name)) {
      const std::unique_ptr<HostIrContainer> groups =
          makeHostProgram(*file.fusion, lowering.grouping, lowering.target.value_or(KernelTarget{}));
      fmt::print("{}", printHostProgram(*groups));
    }
    program = lowerToHostProgram(*file.fusion, lowering);
  } else {
    program = std::move(file.host_program);
    finishHostProgram(*program, lowering);
  }
  if (dump.wants("host_ir_final", name)) fmt::print("{}", printHostProgram(*program));
  return program;
}

// What can be said before the program is read.
void requireDevice(const RunOptions& options) {
  const std::string& name = options.device;
  TK_REQUIRE(name == "cpu" || name == "cuda" || name == "interpreter", Usage,
             "--device {}: it must be one of cpu, cuda, interpreter", name);
  if (name != "cuda") return;
  const std::string reason = reasonForNoCuda();
  TK_REQUIRE(reason.empty(), Unsupported, "--device cuda: no CUDA device: {}", reason);
}

std::unique_ptr<Device> openDevice(const RunOptions& options, TraceObserver* trace, KernelObserver* kernels) {
  if (options.device == "cuda") return openCudaDevice(0, {.poisons_memory = true, .kernels = kernels, .trace = trace});
  const bool is_interpreter = options.device == "interpreter";
  return std::make_unique<CpuDevice>(
      CpuDeviceOptions{.threads = options.threads,
                       .poisons_memory = true,
                       .trace = trace,
                       .kernels = kernels,
                       .runner = is_interpreter ? KernelRunner::Interpreted : KernelRunner::Compiled});
}

// A file that cannot be written is found before the program runs. One that was not there is not left behind.
void requireWritable(const std::string& option, const std::string& path) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  std::FILE* const file = std::fopen(path.c_str(), "ae");
  TK_REQUIRE(file != nullptr, Io, "{}: '{}' cannot be written: {}", option, path, std::strerror(errno));
  std::fclose(file);
  if (!is_there) std::filesystem::remove(path, ignored);
}

// A quick fingerprint of the elements: FNV-1a over the dense bytes.
uint64_t checksum(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3ULL;
  return hash;
}

oracle::StoredTensor stored(const Tensor& tensor) {
  return {tensor.dtype(), tensor.sizes(), tensor.strides(), static_cast<const std::byte*>(tensor.hostData())};
}

std::vector<oracle::Input> oracleInputs(const InputValues& inputs, const std::shared_ptr<Stream>& stream) {
  std::vector<oracle::Input> result;
  for (const auto& value : inputs.values) {
    if (const auto* tensor = std::get_if<Tensor>(&value))
      result.emplace_back(oracle::load(stored(toHost(*tensor, stream))));
    else
      result.emplace_back(std::get<ScalarValue>(value));
  }
  return result;
}

bool check(const Fusion& fusion, const std::vector<oracle::Input>& inputs, const std::vector<Tensor>& outputs,
           const ScalarBindings& bindings) {
  oracle::Options options;
  options.bindings = bindings;
  const oracle::Evaluation exact = oracle::evaluate(fusion, inputs, options);
  options.mode = oracle::Mode::Typed;
  const oracle::Evaluation typed = oracle::evaluate(fusion, inputs, options);
  bool is_ok = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::Comparison comparison = oracle::compare(stored(outputs[i]), exact.outputs[i], &typed.outputs[i]);
    is_ok = is_ok && comparison.isOk();
    fmt::print("check {}: {}\n", nameOf(*fusion.outputs()[i]), comparison.isOk() ? "ok" : "MISMATCH");
    fmt::print("  {}\n", toString(comparison));
  }
  return is_ok;
}

struct RunTimes {
  double compile = 0;
  double first = 0;
  std::vector<double> later;
};

void printOutputs(const std::vector<TensorView*>& views, const std::vector<Tensor>& outputs,
                  const std::map<std::string, std::string>& files) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string label = nameOf(*views[i]);
    fmt::print("{}: {}[{}] checksum {:016x}\n", label, dataTypeName(outputs[i].dtype()),
               fmt::join(outputs[i].sizes(), ", "), checksum(denseBytes(outputs[i])));
    if (const auto path = files.find(label); path != files.end()) writeNpy(path->second, outputs[i]);
  }
}

void explainViews(const Plan& plan) {
  for (const PlanOutput& output : plan.outputs()) {
    if (output.is_view) fmt::print("output {}: {}\n", output.name, plan.describeView(output));
  }
  for (const std::string& sentence : plan.copiedViews()) fmt::print("output {}\n", sentence);
}

void printSummary(const PlanSummary& summary, RunTimes times) {
  fmt::print(
      "plan: {} steps on {} streams, {} waits kept of {} written, peak {} bytes ({} intermediates + {} outputs)\n",
      summary.steps, summary.streams, summary.waits_kept, summary.waits_written, summary.peakBytes(),
      summary.arena_bytes, summary.output_bytes);
  fmt::print("time: compile {:.2f} ms, first run {:.2f} ms", times.compile, times.first);
  if (!times.later.empty()) {
    std::ranges::sort(times.later);
    fmt::print(", median of {} more {:.3f} ms", times.later.size(), times.later[times.later.size() / 2]);
  }
  fmt::print("\n");
}

void requireCheckable(const RunOptions& options, const ProgramFile& file) {
  if (!options.check) return;
  TK_REQUIRE(file.fusion != nullptr, Usage, "--check: the oracle knows fusions, and {} holds a host program",
             options.file);
  TK_REQUIRE(options.repeat == 1 || file.fusion->outputAliases().empty(), Usage,
             "--check --repeat {}: the program updates its inputs in place, so that only the first run can be checked",
             options.repeat);
}

// Units of a host program that was written by hand, or for --grouping units, need not be kernels.
UnitMode unitModeFor(const HostIrContainer& program, const RunOptions& options) {
  if (groupingNamed(options.grouping) != Grouping::Fused) return UnitMode::OpByOp;
  const KernelTarget target = options.device == "cpu" ? cpuTarget() : hopperTarget();
  bool may_be_kernels = true;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* post = expr.as<PostOnStream>();
    if (post == nullptr || !may_be_kernels || productGroupOf(*post->unit)) return;
    may_be_kernels = !whyNoKernel(*cloneFusion(*post->unit->fusion), target);
  });
  return may_be_kernels ? UnitMode::Kernels : UnitMode::OpByOp;
}

int runProgram(ProgramFile& file, const RunOptions& options, const DumpOptions& dump) {
  requireCheckable(options, file);
  InputSources sources;
  sources.sizes = readSizes(file.program(), options.sizes);
  sources.seed = options.seed;
  for (const std::string& text : options.inputs) sources.given.insert(splitAssignment("--input", text));
  std::map<std::string, std::string> output_files;
  for (const std::string& text : options.outputs) output_files.insert(splitAssignment("--output", text));

  const auto lowering_start = SteadyClock::now();
  std::unique_ptr<HostIrContainer> program = compile(file, options, dump);
  const UnitMode units = file.fusion == nullptr ? unitModeFor(*program, options) : unitModeOf(options.grouping);
  const double lowering_ms = millisecondsSince(lowering_start);
  Timeline timeline;
  KernelPrinter kernels(dump, program->name(), options.explain ? Explain::Yes : Explain::No);
  const std::unique_ptr<Device> opened = openDevice(options, options.trace.empty() ? nullptr : &timeline, &kernels);
  Device& device = *opened;
  const std::shared_ptr<Stream> stream = device.createStream();
  const std::vector<TensorView*> output_views = program->outputs();
  for (const auto& [name, path] : output_files) {
    TK_REQUIRE(std::ranges::any_of(output_views, [&](const TensorView* tv) { return nameOf(*tv) == name; }), Usage,
               "--output {}={}: the program has no such output", name, path);
    requireWritable("--output " + name, path);
  }
  if (!options.trace.empty()) requireWritable("--trace", options.trace);
  const InputValues inputs = makeInputs(file.fusion != nullptr ? *file.fusion : *program, sources, device, stream);
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < program->inputs().size(); ++i) values.emplace_back(program->inputs()[i], inputs.values[i]);
  const std::string name = program->name();
  // Extents that no input has (of full, iota, ...) are given like scalar inputs. The compiled program has symbols of its own.
  std::map<std::string, ScalarValue> sizes;
  for (const auto& [symbol, value] : inputs.bindings) sizes.emplace(symbol->name(), value);
  for (Scalar* symbol : program->allSymbols()) {
    const auto size = sizes.find(symbol->name());
    if (size != sizes.end() && !symbol->name().empty() && !program->isInput(symbol))
      values.emplace_back(symbol, size->second);
  }
  // Taken before the run: an in-place update changes its input.
  const std::vector<oracle::Input> reference_inputs =
      options.check ? oracleInputs(inputs, stream) : std::vector<oracle::Input>();

  HostIrEvaluatorParams params;
  params.number_of_streams = options.streams;
  const auto plan_start = SteadyClock::now();
  params.units = units;
  HostIrEvaluator evaluator(std::move(program), device, params);
  Plan& plan = evaluator.planFor(values);
  RunTimes times{.compile = lowering_ms + millisecondsSince(plan_start), .first = 0, .later = {}};
  if (dump.wants("plan", name)) fmt::print("{}", plan.toString());

  std::vector<Tensor> outputs;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const auto start = SteadyClock::now();
    outputs = evaluator.runWithInput(values);
    for (const Tensor& output : outputs) output.waitReady();
    (i == 0 ? times.first : times.later.emplace_back()) = millisecondsSince(start);
  }
  for (Tensor& output : outputs) output = toHost(output, stream);
  printOutputs(output_views, outputs, output_files);
  if (options.explain) explainViews(plan);
  printSummary(plan.summary(), std::move(times));
  if (!options.trace.empty()) {
    std::string source;
    if (options.device == "cuda") {
      auto& cuda = static_cast<CudaDevice&>(device);
      cuda.reportTrace();
      source = ", times by " + cuda.traceSource();
    }
    timeline.write(options.trace);
    fmt::print("trace: {}{}\n", options.trace, source);
  }
  if (!options.check) return 0;
  return check(*file.fusion, reference_inputs, outputs, inputs.bindings) ? 0 : 1;
}

}  // namespace

int runCommand(const RunOptions& options) {
  requireDevice(options);
  TK_REQUIRE(options.repeat >= 1, Usage, "--repeat {}: it must be at least 1", options.repeat);
  const DumpOptions dump = dumpOptions(options);
  ProgramFile file = readProgram(options.file);
  try {
    return runProgram(file, options, dump);
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
}

}  // namespace tokamak::tools
