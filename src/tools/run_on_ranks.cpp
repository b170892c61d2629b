#include "tools/run_on_ranks.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "base/require.h"
#include "compile/agreed_steps.h"
#include "compile/host_program.h"
#include "compile/program_on_ranks.h"
#include "compile/unsharded_fusion.h"
#include "jit/open_device.h"
#include "oracle/reference.h"
#include "schedule/shardings_aside.h"
#include "tools/input_values.h"
#include "tools/kernels_option.h"
#include "tools/lowering_options.h"
#include "tools/output_places.h"
#include "tools/pipeline_choice.h"
#include "tools/run_report.h"
#include "tools/run_steps.h"

namespace tokamak::tools {

namespace {

void requireRanksUse(const RunOptions& options, const ProgramFile& file) {
  TK_REQUIRE(options.ranks > 0 || options.comm != "local", Usage, "--ranks {}: it must be at least 1", options.ranks);
  TK_REQUIRE(file.host_program != nullptr || hasShardings(*file.fusion), Usage,
             "--ranks: the fusion of {} has no mesh, so that one device computes all of it; give its tensors meshes "
             "(docs/devices_design.md), or leave --ranks out",
             options.file);
  TK_REQUIRE(options.device == "cpu" || isOnGpus(options), Usage,
             "--ranks --device {}: ranks are threads of this process, on the CPU", options.device);
  TK_REQUIRE(file.host_program == nullptr || !options.written.contains("--stream-transfers"), Usage,
             "--stream-transfers: {} is a host program, which says itself what is sent; leave it out", options.file);
  for (const char* option : {"--trace", "--dump", "--explain", "--print", "--output-layouts", "--kernels"})
    TK_REQUIRE(!options.written.contains(option), Usage, "{}: it has no effect with --ranks; leave one of them out",
               option);
}

oracle::StoredTensor storedOnHost(const Tensor& tensor) {
  return {tensor.dtype(), tensor.sizes(), tensor.strides(), static_cast<const std::byte*>(tensor.hostDataToRead())};
}

// The program on one device, with the inputs as they are before it runs.
struct Expected {
  std::unique_ptr<Fusion> fusion;  // of a host program
  std::unique_ptr<oracle::Reference> reference;
};

Expected expectedOf(const ProgramFile& file, const InputValues& inputs) {
  Expected expected;
  ScalarBindings bindings = inputs.bindings;
  std::vector<oracle::Input> values;
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    if (const auto* tensor = std::get_if<Tensor>(&inputs.values[i])) {
      values.emplace_back(oracle::load(storedOnHost(*tensor)));
      continue;
    }
    values.emplace_back(std::get<ScalarValue>(inputs.values[i]));
    bindings[asScalar(file.program().inputs()[i])] = std::get<ScalarValue>(inputs.values[i]);
  }
  if (file.host_program != nullptr) expected.fusion = unshardedFusion(*file.host_program, bindings);
  const Fusion& whole = file.host_program != nullptr ? *expected.fusion : *file.fusion;
  if (file.host_program != nullptr) bindings.clear();  // its sizes are numbers
  expected.reference = std::make_unique<oracle::Reference>(whole, std::move(values), bindings);
  return expected;
}

bool checkOutputs(const oracle::Reference& reference, const std::vector<std::string>& names,
                  const std::vector<Tensor>& outputs, RunReport& report) {
  bool is_ok = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::Comparison comparison = reference.compare(i, storedOnHost(outputs[i]));
    is_ok = is_ok && comparison.isOk();
    report.check(names[i], comparison);
  }
  return is_ok;
}

RanksOptions ranksOptionsOf(const RunOptions& options, const ProgramFile& file, Communicator* process) {
  RanksOptions made{.ranks = options.ranks};
  made.process = process;
  made.lowering.grouping = groupingNamed(options.grouping);
  const KernelTarget target = isOnGpus(options) ? process->device()->kernelTarget() : cpuTarget(1);
  if (isOnGpus(options)) made.lowering.target = target;
  made.lowering.stream_transfers = streamTransfersNamed(options.stream_transfers).value_or(StreamTransfers::None);
  made.device = {.threads = options.threads > 0 ? options.threads : 1, .poisons_memory = true};
  made.communication = {.timeout = std::chrono::seconds(options.timeout), .operations = options.operations};
  made.run.number_of_streams = options.streams;
  made.run.most_iterations = options.most_iterations;
  made.runs_proved = options.unproved ? RunsProved::No : RunsProved::Yes;
  const bool may_be_kernels = file.host_program != nullptr && made.lowering.grouping == Grouping::Fused;
  made.run.segments = may_be_kernels ? segmentModeFor(*file.host_program, target) : segmentModeOf(options.grouping);
  return made;
}

// The program over ranks, with the transfers that are chosen where `options` says so, and gives numbers of chunks that
// nobody gave. `text`: what was chosen, as a text, or "".
std::unique_ptr<HostIrContainer> loweredFor(ProgramFile& file, const RunOptions& options, const RanksOptions& ranks,
                                            InputValues& inputs, std::string& text) {
  const auto extentsOf = [&](const HostIrContainer& program) {
    ScalarBindings extents;
    for (Scalar* symbol : program.allSymbols())
      for (const auto& [known, value] : inputs.bindings)
        if (known->name() == symbol->name()) extents[symbol] = value;
    return extents;
  };
  const Machine machine = machineOr(options.machine);
  const std::string own = options.comm == "peer" ? "copy" : options.comm;
  const PipelineOptions pipeline = {.ranks = ranks.process != nullptr ? ranks.process->size() : ranks.ranks,
                                    .transport = machine.transports.contains(own) ? own : "",
                                    .lowering = ranks.lowering,
                                    .number_of_streams = ranks.run.number_of_streams,
                                    .segments = ranks.run.segments.value_or(SegmentMode::Kernels),
                                    .most_iterations = ranks.run.most_iterations};
  std::unique_ptr<HostIrContainer> program;  // null: the file's
  std::optional<ChosenPipeline> chosen;
  if (!streamTransfersNamed(options.stream_transfers)) {
    ChosenTransfers best = chooseTransfers(*file.fusion, extentsOf, machine, pipeline);
    program = std::move(best.program);
    chosen = std::move(best.pipeline);
  } else {
    if (file.host_program == nullptr) program = lowerToRanks(*file.fusion, ranks.lowering);
    const HostIrContainer& of = program != nullptr ? *program : *file.host_program;
    ScalarBindings extents = extentsOf(of);
    chosen = chooseOpenChunks(of, extents, machine, pipeline);
  }
  if (!chosen) return program;
  for (Scalar* symbol : file.program().allSymbols())
    if (const auto number = chosen->best.chunks.find(symbol->name()); number != chosen->best.chunks.end())
      inputs.bindings[symbol] = number->second;
  text = textOf(*chosen, machine);
  return program;
}

bool isFirst(const Communicator* process) { return process == nullptr || process->rank() == 0; }

}  // namespace

bool isOnGpus(const RunOptions& options) { return options.comm == "nccl" || options.comm == "peer"; }

int runOnRanks(ProgramFile& file, const RunOptions& options, Communicator* process) {
  const auto step = [&](std::string_view name, const std::function<void()>& run) {
    if (process != nullptr) return agree(*process, name, run);
    run();
  };
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 1});
  const std::shared_ptr<Stream> stream = device->createStream();
  RunReport report(reportForm(options), file.program().name(), isOnGpus(options) ? "cuda" : options.device);
  std::optional<OutputPlaces> places;
  InputValues inputs;
  std::vector<std::string> names;
  Expected expected;
  std::unique_ptr<ProgramOnRanks> program;
  RunTimes times;
  std::string chosen;
  step("prepare", [&] {
    requireRanksUse(options, file);
    const InputSources sources{.given = readAssignments("--input", options.inputs),
                               .sizes = readSizes(file.program(), options.sizes),
                               .seed = options.seed};
    inputs = makeInputs(file.program(), sources, *device, stream);
    for (const TensorView* output : file.program().outputs()) names.push_back(nameOf(*output));
    places.emplace(options.outputs);
    places->require(names, {{.what = "the program", .path = options.file}});
    const RanksOptions ranks = ranksOptionsOf(options, file, process);
    const auto compile_start = SteadyClock::now();
    std::unique_ptr<HostIrContainer> lowered = loweredFor(file, options, ranks, inputs, chosen);
    if (options.check && isFirst(process)) expected = expectedOf(file, inputs);
    if (lowered == nullptr) lowered = std::move(file.host_program);
    program = std::make_unique<ProgramOnRanks>(std::move(lowered), ranks);
    times = {.compile = millisecondsSince(compile_start), .first = 0, .later = {}};
  });
  std::vector<Tensor> outputs;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const auto start = SteadyClock::now();
    outputs = program->run(inputs.values, inputs.bindings, *device, stream);
    (i == 0 ? times.first : times.later.emplace_back()) = millisecondsSince(start);
  }
  bool is_ok = true;
  step("report", [&] {
    if (!isFirst(process)) return;
    reportOutputs(names, outputs, *places, report);
    if (!chosen.empty()) report.chosen(chosen);
    report.ranks(program->ranks(), process == nullptr ? "threads of this process" : "processes", times);
    is_ok = !options.check || checkOutputs(*expected.reference, names, outputs, report);
    report.finish();
  });
  const int64_t code = is_ok ? 0 : 1;
  return static_cast<int>(process == nullptr ? code : saidByFirst(*process, code));
}

}  // namespace tokamak::tools
