#include "tools/run_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/dump_options.h"
#include "base/output_file.h"
#include "base/require.h"
#include "base/say.h"
#include "base/text.h"
#include "base/trace.h"
#include "compile/host_program.h"
#include "compile/lower_fusion.h"
#include "device/tensor_copies.h"
#include "host/ir/text/host_printer.h"
#include "host/run/host_ir_evaluator.h"
#include "interop/npy.h"
#include "ir/clone.h"
#include "ir/ops/host/for_loop.h"
#include "ir/text/fusion_printer.h"
#include "jit/jit_device.h"
#include "oracle/reference.h"
#include "runtime/cpu/cpu_device.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/kernels_option.h"
#include "tools/lowering_options.h"
#include "tools/output_places.h"
#include "tools/printed_tensors.h"
#include "tools/program_file.h"
#include "tools/run_exported.h"
#include "tools/run_on_ranks.h"
#include "tools/run_over_processes.h"
#include "tools/run_report.h"
#include "tools/run_steps.h"
#include "tools/size_errors.h"
#include "tools/tensor_numbers.h"

namespace tokamak::tools {

namespace {

template <class Value>
Value choose(const std::string& option, const std::string& text,
             std::initializer_list<std::pair<std::string_view, Value>> choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  TK_RAISE(Usage, "{} {}: it must be one of {}", option, text, joined(names));
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
  void onNoCompiler(const std::string& reason) override { say(sentenceOnNoCompiler(reason)); }
  bool wantsPasses() const override { return dump_->wants("kernel_passes", name_); }
  void onKernelPass(std::string_view pass, const std::string& kernel) override {
    fmt::print("// after {}\n{}", pass, kernel);
  }

 private:
  const DumpOptions* dump_;
  std::string name_;
  Explain explain_;
};

std::unique_ptr<HostIrContainer> compile(ProgramFile& file, const RunOptions& options, const DumpOptions& dump,
                                         const Device& device) {
  HostLoweringOptions lowering;
  lowering.grouping = groupingNamed(options.grouping);
  lowering.stream_sync = choose<StreamSync>("--stream-sync", options.stream_sync,
                                            {{"hoisted", StreamSync::Hoisted}, {"in-loop", StreamSync::InLoop}});
  TK_REQUIRE(!options.written.contains("--stream-transfers"), Usage,
             "--stream-transfers: it has no effect on one device, which has all parts; leave it out, or add --ranks");
  lowering.output_layouts = outputLayoutsNamed(options.output_layouts);
  if (options.device != "cpu") lowering.target = device.kernelTarget();
  // The interpreter's products are the processor's.
  if (options.device == "interpreter") lowering.target->product_activations = {};
  const std::string name = file.program().name();
  lowering.after_streams = [&](const HostIrContainer& program) {
    if (dump.wants("host_ir", name)) fmt::print("{}{}", tensorNumbers(program), printHostProgram(program));
  };
  if (file.fusion != nullptr && dump.wants("fusion", name)) fmt::print("{}", printFusion(*file.fusion));
  std::unique_ptr<HostIrContainer> program;
  if (file.fusion != nullptr) {
    if (dump.wants("segments", name)) {
      const std::unique_ptr<HostIrContainer> groups = makeHostProgram(*file.fusion, lowering);
      fmt::print("{}{}", tensorNumbers(*groups), printHostProgram(*groups));
    }
    program = lowerToHostProgram(*file.fusion, lowering);
  } else {
    program = std::move(file.host_program);
    finishHostProgram(*program, lowering);
  }
  if (dump.wants("host_ir_final", name)) fmt::print("{}{}", tensorNumbers(*program), printHostProgram(*program));
  return program;
}

oracle::StoredTensor stored(const Tensor& tensor) {
  return {tensor.dtype(), tensor.sizes(), tensor.strides(), static_cast<const std::byte*>(tensor.hostDataToRead())};
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

bool check(const Fusion& fusion, std::vector<oracle::Input> inputs, const std::vector<Tensor>& outputs,
           const ScalarBindings& bindings, RunReport& report) {
  oracle::Reference reference(fusion, std::move(inputs), bindings);
  bool is_ok = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::Comparison comparison = reference.compare(i, stored(outputs[i]));
    is_ok = is_ok && comparison.isOk();
    report.check(nameOf(*fusion.outputs()[i]), comparison);
  }
  return is_ok;
}

// As the text says: what gives an output may be another tensor.
std::vector<std::string> outputNames(const Fusion& program) {
  std::vector<std::string> names;
  for (const TensorView* output : program.outputs()) names.push_back(nameOf(*output));
  return names;
}

void explainViews(const Plan& plan) {
  for (const PlanOutput& output : plan.outputs()) {
    if (output.is_view) fmt::print("output {}: {}\n", output.name, plan.describeView(output));
  }
  for (const std::string& sentence : plan.copiedViews()) fmt::print("output {}\n", sentence);
}

void requireCheckable(const RunOptions& options, const ProgramFile& file) {
  if (!options.check) return;
  TK_REQUIRE(file.fusion != nullptr, Usage, "--check: the oracle knows fusions, and {} holds a host program",
             options.file);
  TK_REQUIRE(options.repeat == 1 || file.fusion->outputAliases().empty(), Usage,
             "--check --repeat {}: the program updates its inputs in place, so that only the first run can be checked",
             options.repeat);
}

// An option that nothing can come of is a mistake.
void requireEffect(const RunOptions& options, const ProgramFile& file) {
  TK_REQUIRE(options.device != "cuda" || options.threads == 0, Usage,
             "--threads {}: it has no effect with --device cuda, where kernels run on the GPU; leave it out",
             options.threads);
  const bool has_kernels = groupingNamed(options.grouping) == Grouping::Fused;
  TK_REQUIRE(options.device != "interpreter" || has_kernels || file.fusion == nullptr, Usage,
             "--device interpreter: it has no effect with --grouping {}, which makes no kernels; leave one of them out",
             options.grouping);
  TK_REQUIRE(options.kernels == "compiled" || options.device == "cpu", Usage,
             "--kernels {}: it has no effect with --device {}; leave one of them out", options.kernels, options.device);
  TK_REQUIRE(options.kernels == "compiled" || has_kernels || file.fusion == nullptr, Usage,
             "--kernels {}: it has no effect with --grouping {}, which makes no kernels; leave one of them out",
             options.kernels, options.grouping);
  TK_REQUIRE(!options.explain || has_kernels || file.fusion == nullptr, Usage,
             "--explain: it has no effect with --grouping {}, which makes no kernels; leave one of them out",
             options.grouping);
}

// Of a program that is compiled. Host programs that were written by hand may use streams without a loop.
void requireLoops(const RunOptions& options, const ProgramFile& file, const HostIrContainer& program) {
  bool has_loop = file.fusion == nullptr;
  forEachStatement(program.topLevel(), [&](const Expr& expr) { has_loop = has_loop || expr.is<ForLoop>(); });
  const auto isMarked = [](const TensorView* tensor) {
    return std::ranges::any_of(tensor->domain().loop,
                               [](const IterDomain* axis) { return axis->parallelType() == ParallelType::Stream; });
  };
  for (const char* option : {"--streams", "--stream-sync", "--most-iterations"}) {
    if (has_loop || !options.written.contains(option)) continue;
    const std::vector<TensorView*> tensors = file.fusion->allTensors();
    const auto marked = std::ranges::find_if(tensors, isMarked);
    TK_REQUIRE(
        marked == tensors.end(), Usage,
        "{}: it has no effect, as the program has no stream loop: what {} is computed by is no op of parts along "
        "the axis that is marked (docs/streams.md); leave it out, or mark another axis",
        option, toString(**marked));
    TK_RAISE(Usage,
             "{}: it has no effect, as the program has no stream loop; leave it out, or mark an axis by "
             "parallelize(T1, axis=0, type=Stream)",
             option);
  }
}

int runProgram(ProgramFile& file, const RunOptions& options, const DumpOptions& dump) {
  requireCheckable(options, file);
  requireEffect(options, file);
  using Inner = PrintedTensors::Inner;
  PrintedTensors printed(file.program(), options.print, file.fusion != nullptr ? Inner::BecomeOutputs : Inner::Refuse);
  RunReport report(reportForm(options), file.program().name(), options.device);
  InputSources sources;
  sources.sizes = readSizes(file.program(), options.sizes);
  sources.seed = options.seed;
  sources.given = readAssignments("--input", options.inputs);
  OutputPlaces places(options.outputs);

  Timeline timeline;
  KernelPrinter kernels(dump, file.program().name(), options.explain ? Explain::Yes : Explain::No);
  const std::shared_ptr<Device> opened = openDevice(options, options.trace.empty() ? nullptr : &timeline, &kernels);
  Device& device = *opened;
  if (options.explain && options.device != "cuda") fmt::print("kernels: {}\n", describeKernels(runnerOf(options)));
  const auto lowering_start = SteadyClock::now();
  std::unique_ptr<HostIrContainer> program = compile(file, options, dump, device);
  const bool may_be_kernels = file.fusion == nullptr && groupingNamed(options.grouping) == Grouping::Fused;
  const SegmentMode segments =
      may_be_kernels ? segmentModeFor(*program, device.kernelTarget()) : segmentModeOf(options.grouping);
  const double lowering_ms = millisecondsSince(lowering_start);
  const std::shared_ptr<Stream> stream = device.createStream();
  const std::vector<std::string> output_names = outputNames(file.fusion != nullptr ? *file.fusion : *program);
  requireLoops(options, file, *program);
  places.require(output_names, {{.what = "the program", .path = options.file},
                                {.what = "--trace " + options.trace, .path = options.trace}});
  if (!options.trace.empty()) OutputFile::requireWritable("--trace", options.trace);
  const InputValues inputs = makeInputs(file.fusion != nullptr ? *file.fusion : *program, sources, device, stream);
  if (options.written.contains("--seed")) requireRandom(inputs, options.seed);
  const std::string name = program->name();
  const std::vector<std::pair<Val*, RunValue>> values = boundValues(*program, inputs.values, inputs.bindings);
  const std::map<std::string, Tensor> printed_inputs = printed.copiesOf(*program, inputs, stream);
  // Taken before the run: an in-place update changes its input.
  std::vector<oracle::Input> reference_inputs =
      options.check ? oracleInputs(inputs, stream) : std::vector<oracle::Input>();

  HostIrEvaluatorParams params;
  params.number_of_streams = options.streams;
  params.most_iterations = options.most_iterations;
  const auto plan_start = SteadyClock::now();
  params.segments = segments;
  HostIrEvaluator evaluator(std::move(program), device, params);
  Plan& plan = withOwnSizeErrors(file, inputs.bindings, [&]() -> Plan& { return evaluator.planFor(values); });
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
  reportOutputs(output_names, outputs, places, report);
  printed.report(printed_inputs, output_names, outputs, report);
  if (options.explain) explainViews(plan);
  report.plan(plan.summary(), times);
  if (!options.trace.empty()) writeTrace(options, device, timeline, report);
  const bool is_ok =
      !options.check || check(*file.fusion, std::move(reference_inputs), outputs, inputs.bindings, report);
  report.finish();
  return is_ok ? 0 : 1;
}

}  // namespace

int runCommand(const RunOptions& options) {
  requireDevice(options);
  TK_REQUIRE(options.repeat >= 1, Usage, "--repeat {}: it must be at least 1", options.repeat);
  TK_REQUIRE(!options.json || (options.dump.empty() && !options.explain), Usage,
             "--json: standard output is one JSON object, and --dump and --explain print texts there; leave them out");
  TK_REQUIRE(!options.json || !options.quiet, Usage,
             "--quiet: it has no effect with --json, which prints one object; leave one of them out");
  TK_REQUIRE(!options.written.contains("--machine") || options.written.contains("--ranks") || options.comm != "local",
             Usage, "--machine: it has no effect without --ranks, or --comm of processes; leave it out");
  if (choose<bool>("--comm", options.comm, {{"local", false}, {"mpi", true}, {"nccl", true}, {"peer", true}}))
    return runOverProcesses(options);
  if (isExportedFile(options.file) || options.file.ends_with(".tk")) return runExported(options);
  const DumpOptions dump = dumpOptions(options);
  ProgramFile file = readProgram(options.file, options.ranks);
  try {
    if (options.written.contains("--ranks")) return runOnRanks(file, options);
    for (const char* option : {"--unproved", "--timeout", "--operations"})
      TK_REQUIRE(!options.written.contains(option), Usage,
                 "{}: it has no effect without --ranks or --comm mpi; leave it out", option);
    return runProgram(file, options, dump);
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
}

}  // namespace tokamak::tools
