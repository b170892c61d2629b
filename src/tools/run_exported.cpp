#include "tools/run_exported.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "compile/exported_file.h"
#include "compile/load_executor.h"
#include "device/tensor_copies.h"
#include "tools/input_values.h"
#include "tools/output_places.h"
#include "tools/printed_tensors.h"
#include "tools/program_file.h"
#include "tools/run_steps.h"

namespace tokamak::tools {

namespace {

// What was decided when the program was exported, and what needs its fusion.
void requireUse(const RunOptions& options) {
  for (const char* option : {"--check", "--dump", "--explain", "--grouping", "--output-layouts", "--kernels",
                             "--stream-sync", "--stream-transfers", "--most-iterations", "--unproved"})
    TK_REQUIRE(!options.written.contains(option), Usage,
               "{}: it has no effect on an exported program, which is compiled already; leave it out", option);
}

std::vector<std::string> givenNames(const MultiDeviceExecutor& executor) {
  std::vector<std::string> names;
  for (const TensorView* output : executor.givenOutputs()) names.push_back(nameOf(*output));
  return names;
}

// Hidden outputs are those of updates in place.
void requirePrintable(const std::vector<std::string>& wanted, const HostIrContainer& program,
                      const std::vector<std::string>& given) {
  for (const TensorView* output : program.outputs()) {
    const std::string name = nameOf(*output);
    const bool is_hidden = !program.isInput(output) && std::ranges::find(given, name) == given.end();
    TK_REQUIRE(!is_hidden || std::ranges::find(wanted, name) == wanted.end(), Usage,
               "--print {}: it updates an input in place and is hidden, and an exported program gives {} alone; export "
               "it as an output that is not hidden",
               name, given.empty() ? "nothing" : joined(given));
  }
}

}  // namespace

bool isExportedFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 512> bytes = {};
  file.read(bytes.data(), bytes.size());
  return beginsLikeExportedFile({bytes.data(), static_cast<size_t>(file.gcount())});
}

int runExported(const RunOptions& options) {
  requireUse(options);
  Timeline timeline;
  const std::shared_ptr<Device> device = openDevice(options, options.trace.empty() ? nullptr : &timeline, nullptr);
  const auto load_start = SteadyClock::now();
  const std::unique_ptr<MultiDeviceExecutor> executor =
      loadExecutor(options.file, *device, {.run = {.streams = options.streams}});
  const HostIrContainer& program = executor->program();
  const double load_ms = millisecondsSince(load_start);
  PrintedTensors printed(const_cast<HostIrContainer&>(program), options.print, PrintedTensors::Inner::Refuse);
  RunReport report(reportForm(options), program.name(), options.device);
  InputSources sources;
  sources.sizes = readSizes(program, options.sizes);
  sources.seed = options.seed;
  sources.given = readAssignments("--input", options.inputs);
  OutputPlaces places(options.outputs);
  const std::vector<std::string> names = givenNames(*executor);
  requirePrintable(options.print, program, names);
  places.require(names, {{.what = "the program", .path = options.file},
                         {.what = "--trace " + options.trace, .path = options.trace}});
  const std::shared_ptr<Stream> stream = device->createStream();
  const InputValues inputs = makeInputs(program, sources, *device, stream);
  if (options.written.contains("--seed")) requireRandom(inputs, options.seed);
  const std::map<std::string, Tensor> printed_inputs = printed.copiesOf(program, inputs, stream);
  const auto plan_start = SteadyClock::now();
  const PlanSummary summary = executor->planFor(inputs.values).summary();
  RunTimes times{.compile = load_ms + millisecondsSince(plan_start), .first = 0, .later = {}, .is_loaded = true};
  std::vector<Tensor> outputs;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const auto start = SteadyClock::now();
    outputs = executor->runWithInput(inputs.values);
    for (const Tensor& output : outputs) output.waitReady();
    (i == 0 ? times.first : times.later.emplace_back()) = millisecondsSince(start);
  }
  for (Tensor& output : outputs) output = toHost(output, stream);
  reportOutputs(names, outputs, places, report);
  printed.report(printed_inputs, names, outputs, report);
  report.plan(summary, times);
  if (!options.trace.empty()) writeTrace(options, *device, timeline, report);
  report.finish();
  return 0;
}

}  // namespace tokamak::tools
