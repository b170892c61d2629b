#include "simulate/program_simulation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/tensor_part.h"
#include "base/require.h"
#include "host/local/local_program.h"
#include "host/run/host_ir_evaluator.h"
#include "simulate/communication_cost.h"
#include "simulate/meetings.h"
#include "simulate/model_device.h"
#include "simulate/rank_classes.h"
#include "simulate/rank_steps.h"

namespace tokamak {

namespace {

bool isOn(const TensorView& tensor, int64_t rank) { return tensor.mesh().empty() || hasRank(tensor.mesh(), rank); }

Tensor partOn(const TensorView& whole, const TensorView& own, const ScalarBindings& extents, int64_t rank,
              Device& device, const std::shared_ptr<Stream>& stream) {
  std::vector<int64_t> sizes;
  for (const IndexRange& range : partOf(whole, sizesOf(whole, extents), extents, rank)) sizes.push_back(range.extent);
  const std::vector<int64_t> strides = freshStrides(own, sizes);
  int64_t bytes = 0;
  TK_REQUIRE(!__builtin_mul_overflow(spanOf(sizes, strides), sizeOf(own.dtype()), &bytes), OutOfMemory,
             "{}: its size in bytes does not fit 63 bits", nameOf(whole));
  return {Buffer::allocate(device, stream, bytes, own.memoryKind()), 0, own.dtype(), sizes, strides};
}

// What the rank's plan is recorded with: its parts of the inputs, and extents that no input has.
std::vector<std::pair<Val*, RunValue>> valuesOf(const HostIrContainer& program, const HostIrContainer& local,
                                                const ScalarBindings& extents, int64_t rank, Device& device) {
  const std::shared_ptr<Stream> stream = device.createStream();
  std::vector<std::pair<Val*, RunValue>> values;
  size_t next = 0;
  for (Val* input : program.inputs()) {
    const TensorView* tensor = asTensor(input);
    if (tensor != nullptr && !isOn(*tensor, rank)) continue;
    Val* own = local.inputs()[next++];
    if (tensor == nullptr)
      values.emplace_back(own, convertValue(int64_t{1}, own->dtype()));
    else
      values.emplace_back(own, partOn(*tensor, *asTensor(own), extents, rank, device, stream));
  }
  for (Scalar* symbol : local.allSymbols()) {
    if (symbol->name().empty() || local.isInput(symbol)) continue;
    for (const auto& [known, value] : extents)
      if (known->name() == symbol->name()) values.emplace_back(symbol, value);
  }
  return values;
}

RankSteps recordRank(const HostIrContainer& program, const ScalarBindings& extents, const Machine& machine,
                     const SimulationOptions& options, int64_t rank) {
  const auto describeRank = [&] { return fmt::format("for rank {}", rank); };
  const ErrorNote note(describeRank);
  const auto device = std::make_shared<ModelDevice>();
  ModelCommunicator communicator(rank, options.ranks, device);
  std::unique_ptr<HostIrContainer> local =
      localProgram(program, {.number = rank, .ranks = options.ranks, .extents = WholeExtents::Given});
  if (options.finish) options.finish(*local);
  HostIrEvaluatorParams params;
  params.number_of_streams = options.number_of_streams;
  params.segments = options.segments;
  params.most_iterations = options.most_iterations;
  params.checks_plans = false;  // that is the checker's affair, and takes longer than all else here
  params.communicator = &communicator;
  HostIrEvaluator evaluator(std::move(local), *device, params);
  const auto values = valuesOf(program, evaluator.program(), extents, rank, *device);
  return rankSteps(evaluator.planFor(values), machine);
}

// Where somebody never comes nothing is known, and nothing starts.
std::vector<CommunicationCost> costsOf(std::span<const RankMeeting> meetings, const Machine& machine,
                                       const MachineTransport& transport) {
  std::vector<CommunicationCost> costs;
  for (const RankMeeting& meeting : meetings) {
    if (meeting.parties.size() == meeting.expected)
      costs.push_back(costOf(meeting, machine, transport));
    else
      costs.push_back({.moved = std::vector<MovedBytes>(meeting.parties.size())});
  }
  return costs;
}

void requireNobodyStuck(const SimulatedJob& made, const JobTimes& times, std::span<const RankSteps> ranks) {
  constexpr size_t kMost = 4;
  std::string text;
  for (const int32_t stuck : std::span(times.stuck).first(std::min(kMost, times.stuck.size()))) {
    const auto task = static_cast<size_t>(stuck);
    const auto behind = std::ranges::upper_bound(made.first_task, task);
    const auto rank_class = static_cast<size_t>(behind - made.first_task.begin()) - 1;
    const size_t rank = made.representatives[rank_class];
    text += fmt::format("{}rank {} in {}", text.empty() ? "" : ", ", rank,
                        ranks[rank].tasks[task - made.first_task[rank_class]].text);
  }
  TK_REQUIRE(
      times.stuck.empty(), HostProgram,
      "simulation: ranks wait for others that never come: {}; each communication needs all ranks of its team, in "
      "the same order",
      text);
}

enum class Alone : uint8_t { Compute, Communication };

// The job where all that is not of this kind takes no time.
double secondsOf(const SimulatedJob& made, Alone kind) {
  Job job = made.job;
  for (size_t i = 0; i < job.activities.size(); ++i) {
    if (made.is_communication[i] == (kind == Alone::Compute))
      job.activities[i] = {.latency = 0, .seconds = 0, .uses = {}, .parties = job.activities[i].parties};
  }
  for (JobTask& task : job.tasks) {
    task.issued = 0;
    if (kind == Alone::Compute) task.holds = {};
  }
  return timesOf(job).seconds;
}

SimulatedClass classOf(size_t number, const RankJobParts& parts, const SimulatedJob& made, const JobTimes& times) {
  SimulatedClass result;
  for (size_t rank = 0; rank < parts.ranks.size(); ++rank)
    if (parts.classes[rank] == number) result.ranks.push_back(static_cast<int64_t>(rank));
  const RankSteps& steps = parts.ranks[made.representatives[number]];
  result.peak_bytes = steps.peak_bytes;
  result.streams = steps.streams;
  for (size_t kind = 0; kind < kRankResources; ++kind) {
    const size_t resource = number * kRankResources + kind;
    if (times.seconds > 0) result.busy[kind] = times.busy[resource] / (made.job.capacities[resource] * times.seconds);
  }
  for (size_t i = 0; i < steps.tasks.size(); ++i) {
    const RankTask& task = steps.tasks[i];
    result.tasks.push_back({.stream = task.stream,
                            .text = task.text,
                            .span = times.tasks[made.first_task[number] + i],
                            .after = task.after,
                            .is_communication = task.isCommunication()});
  }
  return result;
}

}  // namespace

double ProgramSimulation::overlap() const {
  return seconds > 0 ? std::max(compute_seconds, communication_seconds) / seconds : 1;
}

ProgramSimulation simulate(const HostIrContainer& program, const ScalarBindings& extents, const Machine& machine,
                           const SimulationOptions& options) {
  constexpr int64_t kMostRanks = 1024;
  TK_REQUIRE(0 < options.ranks && options.ranks <= kMostRanks, Usage,
             "simulation: {} ranks were asked for; 1 to {} are legal", options.ranks, kMostRanks);
  requireLegal(machine);
  const MachineTransport& transport = transportNamed(machine, options.transport);
  std::vector<RankSteps> ranks;
  for (int64_t rank = 0; rank < options.ranks; ++rank)
    ranks.push_back(recordRank(program, extents, machine, options, rank));
  const std::vector<RankMeeting> meetings = findMeetings(ranks);
  const std::vector<CommunicationCost> costs = costsOf(meetings, machine, transport);
  std::vector<size_t> classes(ranks.size());
  std::iota(classes.begin(), classes.end(), size_t{0});
  if (options.simulated == SimulatedRanks::Classes) classes = rankClasses(ranks, meetings, costs);
  const RankJobParts parts = {ranks, classes, meetings, costs, machine, transport};
  const SimulatedJob made = rankJob(parts);
  const JobTimes times = timesOf(made.job);
  requireNobodyStuck(made, times, ranks);
  ProgramSimulation result{.seconds = times.seconds,
                           .compute_seconds = secondsOf(made, Alone::Compute),
                           .communication_seconds = secondsOf(made, Alone::Communication),
                           .classes = {}};
  for (size_t i = 0; i < made.representatives.size(); ++i) result.classes.push_back(classOf(i, parts, made, times));
  return result;
}

std::vector<double> predictedSeconds(std::span<const SimulationCandidate> candidates, const Machine& machine,
                                     const SimulationOptions& options) {
  std::vector<double> seconds;
  for (const SimulationCandidate& candidate : candidates)
    seconds.push_back(simulate(*candidate.program, candidate.extents, machine, options).seconds);
  return seconds;
}

std::string nameOf(const SimulatedClass& ranks) {
  if (ranks.ranks.size() == 1) return fmt::format("rank {}", ranks.ranks[0]);
  return fmt::format("{} ranks as rank {}", ranks.ranks.size(), ranks.ranks[0]);
}

void traceSimulation(const ProgramSimulation& simulation, TraceObserver& trace) {
  const auto nanoseconds = [](double seconds) { return static_cast<int64_t>(std::llround(seconds * 1e9)); };
  int64_t first_track = 1;
  uint64_t flow = 0;
  for (const SimulatedClass& ranks : simulation.classes) {
    for (size_t i = 0; i < ranks.streams.size(); ++i)
      trace.nameTrack(first_track + static_cast<int64_t>(i), fmt::format("{}: {}", nameOf(ranks), ranks.streams[i]));
    for (const SimulatedTask& task : ranks.tasks) {
      const int64_t track = first_track + task.stream;
      trace.span(track, task.text, nanoseconds(task.span.start), nanoseconds(task.span.end));
      for (const int32_t earlier : task.after) {
        const SimulatedTask& before = ranks.tasks[static_cast<size_t>(earlier)];
        if (before.stream == task.stream) continue;
        trace.flowBegin(first_track + before.stream, ++flow, nanoseconds(before.span.end));
        trace.flowEnd(track, flow, nanoseconds(task.span.start));
      }
    }
    first_track += static_cast<int64_t>(ranks.streams.size());
  }
}

}  // namespace tokamak
