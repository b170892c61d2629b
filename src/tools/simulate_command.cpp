#include "tools/simulate_command.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "base/require.h"
#include "base/text.h"
#include "base/trace.h"
#include "compile/lower_fusion.h"
#include "report/run_record.h"
#include "report/timeline_picture.h"
#include "schedule/shardings_aside.h"
#include "simulate/program_simulation.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/integer_in.h"
#include "tools/lowering_options.h"
#include "tools/machine_file.h"
#include "tools/output_places.h"
#include "tools/pipeline_choice.h"
#include "tools/program_file.h"
#include "tools/size_errors.h"

namespace tokamak::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<RankResource, const char*> kResources[] = {
    {RankResource::Multiprocessors, "multiprocessors"},
    {RankResource::Memory, "memory"},
    {RankResource::LinkOut, "link out"},
    {RankResource::LinkIn, "link in"},
    {RankResource::NetworkOut, "network out"},
    {RankResource::NetworkIn, "network in"},
    {RankResource::HostIn, "host in"},
    {RankResource::HostOut, "host out"},
    {RankResource::CopyEngines, "copy engines"},
};

struct Sweep {
  std::string name;
  std::vector<int64_t> values;
};

// "s=1,2,4"
std::optional<Sweep> readSweep(const SimulateOptions& options) {
  if (options.sweep.empty()) return std::nullopt;
  const auto [name, list] = *readAssignments("--sweep", {options.sweep}).begin();
  Sweep sweep{.name = name, .values = {}};
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::optional<int64_t> value = integerIn<int64_t>(list.substr(begin, end - begin));
    TK_REQUIRE(value && *value > 0, Usage, "--sweep {}: {} is no positive integer; it takes NAME=N,N,...",
               options.sweep, list.substr(begin, end - begin));
    sweep.values.push_back(*value);
    begin = end + 1;
  }
  for (const std::string& size : options.sizes)
    TK_REQUIRE(!size.starts_with(name + "="), Usage, "--sweep {}: --size {} gives that extent a value; leave one out",
               options.sweep, size);
  return sweep;
}

// Empty: the model is to choose.
std::string givenTransport(const SimulateOptions& options, const Machine& machine) {
  if (!options.transport.empty()) return options.transport;
  if (machine.transports.size() == 1) return machine.transports.begin()->first;
  std::vector<std::string> names;
  for (const auto& [name, transport] : machine.transports) names.push_back(name);
  TK_REQUIRE(!names.empty() && options.sweep.empty(), Usage, "--transport: {} has {}; say which one", options.machine,
             names.empty() ? "none" : joined(names));
  return "";
}

class Simulator {
 public:
  explicit Simulator(const SimulateOptions& options)
      : options_(options), machine_(readMachine(options.machine)), file_(readProgram(options.file, options.ranks)) {
    lowering_.grouping = groupingNamed(options.grouping);
    const std::optional<StreamTransfers> transfers = transfersFor(file_, options.stream_transfers);
    is_choosing_transfers_ = !transfers;
    lowering_.stream_transfers = transfers.value_or(StreamTransfers::None);
    simulation_ = {.ranks = options.ranks,
                   .transport = givenTransport(options, machine_),
                   .number_of_streams = options.streams,
                   .segments = segmentModeOf(options.grouping),
                   .most_iterations = options.most_iterations,
                   .simulated = options.all_ranks ? SimulatedRanks::All : SimulatedRanks::Classes};
    given_transport_ = simulation_.transport;
    is_over_ranks_ = file_.host_program != nullptr || hasShardings(*file_.fusion);
    if (is_over_ranks_) simulation_.finish = [this](HostIrContainer& local) { finishHostProgram(local, lowering_); };
  }

  void run() {
    const std::optional<Sweep> sweep = readSweep(options_);
    if (!options_.trace.empty()) OutputFile::requireWritable("--trace", options_.trace);
    if (!options_.svg.empty()) OutputFile::requireWritable("--svg", options_.svg);
    try {
      if (sweep)
        runSweep(*sweep);
      else
        runOnce();
    } catch (const Error& error) {
      throw withPlace(error, file_);
    }
  }

 private:
  ProgramSimulation simulated(const std::vector<std::string>& sizes) {
    if (is_choosing_transfers_) return simulatedByChoice(sizes);
    if (program_ == nullptr)
      program_ = file_.host_program != nullptr ? std::move(file_.host_program)
                 : is_over_ranks_              ? lowerToRanks(*file_.fusion, lowering_)
                                               : lowerToHostProgram(*file_.fusion, lowering_);
    ScalarBindings extents = givenExtents(*program_, sizes);
    return withOwnSizeErrors(file_, extents, [&] {
      choose(extents);
      return simulate(*program_, extents, machine_, simulation_);
    });
  }

  // Also with the transfers that are chosen.
  ProgramSimulation simulatedByChoice(const std::vector<std::string>& sizes) {
    ScalarBindings known;
    const auto extentsOf = [&](HostIrContainer& program) { return known = givenExtents(program, sizes); };
    return withOwnSizeErrors(file_, known, [&] {
      PipelineOptions pipeline = pipelineOptions();
      pipeline.transport = given_transport_;
      ChosenTransfers best = chooseTransfers(*file_.fusion, extentsOf, machine_, pipeline);
      program_ = std::move(best.program);
      chosen_ = std::move(best.pipeline);
      simulation_.transport = chosen_->best.transport;
      lowering_.stream_transfers = chosen_->best.transfers;
      return simulate(*program_, best.extents, machine_, simulation_);
    });
  }

  PipelineOptions pipelineOptions() const {
    return {.ranks = simulation_.ranks,
            .transport = simulation_.transport,
            .lowering = lowering_,
            .number_of_streams = simulation_.number_of_streams,
            .segments = simulation_.segments,
            .most_iterations = simulation_.most_iterations};
  }

  // The transport and the numbers of chunks that are not given.
  void choose(ScalarBindings& extents) {
    const std::vector<const Scalar*> open = openChunkNumbers(*program_, extents);
    if (open.empty() && !simulation_.transport.empty()) return;
    chosen_ = choosePipeline(*program_, extents, machine_, pipelineOptions());
    simulation_.transport = chosen_->best.transport;
    for (const Scalar* symbol : open) extents[symbol] = chosen_->best.chunks.at(symbol->name());
  }

  void runOnce() {
    const ProgramSimulation simulation = simulated(options_.sizes);
    if (options_.json)
      fmt::print("{}\n", jsonOf(simulation).dump());
    else
      print(simulation);
    if (!options_.trace.empty()) writeTrace(simulation);
    if (!options_.svg.empty()) writePicture(simulation);
  }

  void runSweep(const Sweep& sweep) {
    TK_REQUIRE(options_.trace.empty(), Usage, "--trace: it has no effect with --sweep; leave one of them out");
    TK_REQUIRE(options_.svg.empty(), Usage, "--svg: it has no effect with --sweep; leave one of them out");
    std::optional<std::pair<double, int64_t>> best;
    Json rows = Json::array();
    for (const int64_t value : sweep.values) {
      std::vector<std::string> sizes = options_.sizes;
      sizes.push_back(fmt::format("{}={}", sweep.name, value));
      const ProgramSimulation simulation = simulated(sizes);
      if (!best || simulation.seconds < best->first) best = {simulation.seconds, value};
      if (!options_.json)
        fmt::print("{} = {}: {:.1f} us, overlap {:.3f}\n", sweep.name, value, simulation.seconds * 1e6,
                   simulation.overlap());
      rows.push_back(jsonOf(simulation));
      rows.back()[sweep.name] = value;
    }
    if (options_.json)
      fmt::print("{}\n", Json({{"rows", rows}, {"best", best->second}}).dump());
    else
      fmt::print("best: {} = {}, {:.1f} us\n", sweep.name, best->second, best->first * 1e6);
  }

  Json jsonOf(const ProgramSimulation& simulation) const {
    Json json = {{"program", programName()},
                 {"machine", machine_.name},
                 {"transport", simulation_.transport},
                 {"ranks", options_.ranks},
                 {"us", simulation.seconds * 1e6},
                 {"compute_us", simulation.compute_seconds * 1e6},
                 {"communication_us", simulation.communication_seconds * 1e6},
                 {"overlap", simulation.overlap()},
                 {"classes", Json::array()}};
    if (!options_.stream_transfers.empty()) json["transfers"] = nameOf(lowering_.stream_transfers);
    if (chosen_) json["chosen"] = textOf(*chosen_, machine_);
    for (const SimulatedClass& ranks : simulation.classes) {
      Json busy = Json::object();
      for (const auto& [resource, name] : kResources) busy[name] = ranks.busy[static_cast<size_t>(resource)];
      json["classes"].push_back({{"ranks", ranks.ranks}, {"busy", busy}, {"peak_bytes", ranks.peak_bytes}});
    }
    return json;
  }

  // "copy", or "copy, ring transfers".
  std::string way() const {
    if (lowering_.stream_transfers == StreamTransfers::None) return simulation_.transport;
    return fmt::format("{}, {} transfers", simulation_.transport, nameOf(lowering_.stream_transfers));
  }

  const std::string& programName() const { return program_->name(); }

  void print(const ProgramSimulation& simulation) const {
    if (chosen_) fmt::print("{}\n", textOf(*chosen_, machine_));
    fmt::print("{} on {} rank(s) of {}, by {}: {:.1f} us\n", programName(), options_.ranks, machine_.name, way(),
               simulation.seconds * 1e6);
    fmt::print("  compute alone {:.1f} us, communication alone {:.1f} us, overlap {:.3f}\n",
               simulation.compute_seconds * 1e6, simulation.communication_seconds * 1e6, simulation.overlap());
    for (const SimulatedClass& ranks : simulation.classes) {
      std::vector<std::string> busy;
      for (const auto& [resource, name] : kResources) {
        const double share = ranks.busy[static_cast<size_t>(resource)];
        if (share > 0) busy.push_back(fmt::format("{} {:.1f} %", name, share * 100));
      }
      fmt::print("{}: busy: {}; peak memory {} bytes\n", nameOf(ranks), busy.empty() ? "nothing" : joined(busy),
                 ranks.peak_bytes);
    }
  }

  void writeTrace(const ProgramSimulation& simulation) const {
    Timeline timeline;
    traceSimulation(simulation, timeline);
    timeline.write(options_.trace);
    if (!options_.json) fmt::print("trace: {}\n", options_.trace);
  }

  void writePicture(const ProgramSimulation& simulation) const {
    RunRecord record;
    record.startRun();
    traceSimulation(simulation, record);
    record.endRun();
    const std::string name =
        fmt::format("{} on {} rank(s) of {}, by {}, predicted", programName(), options_.ranks, machine_.name, way());
    writeText("--svg", options_.svg, timelinePicture(record, name));
    if (!options_.json) fmt::print("picture: {}\n", options_.svg);
  }

  const SimulateOptions& options_;
  Machine machine_;
  ProgramFile file_;
  bool is_over_ranks_ = false;  // what it is lowered to: a rank runs its part of it
  bool is_choosing_transfers_ = false;
  std::string given_transport_;  // empty: any that the machine has
  HostLoweringOptions lowering_;
  SimulationOptions simulation_;
  std::unique_ptr<HostIrContainer> program_;
  std::optional<ChosenPipeline> chosen_;
};

}  // namespace

int simulateCommand(const SimulateOptions& options) {
  Simulator(options).run();
  return 0;
}

}  // namespace tokamak::tools
