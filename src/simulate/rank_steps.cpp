#include "simulate/rank_steps.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/memory_kind.h"

namespace tokamak {

namespace {

double bytesOf(const Access& access) {
  double bytes = static_cast<double>(access.element_bytes);
  for (const Access::Dim& dim : access.dims) bytes *= static_cast<double>(dim.size);
  return bytes;
}

// Tasks that the next one waits for.
using Frontier = std::vector<int32_t>;

void join(Frontier& into, const Frontier& other) {
  Frontier both;
  std::ranges::set_union(into, other, std::back_inserter(both));
  into = std::move(both);
}

RankTask taskOf(const Step& step, const StepList& list) {
  RankTask task{.stream = step.stream};
  if (step.kind == StepKind::Fill) {
    task.bytes = bytesOf(step.accesses[0]);
    task.text = "fill";
    return task;
  }
  task.text = step.text;
  task.work = std::static_pointer_cast<const ModelWork>(step.work);
  task.bytes = static_cast<double>(task.work->operandBytes());
  if (task.isCommunication()) return task;
  for (const Access& access : step.accesses) {
    if (list.buffers[static_cast<size_t>(access.buffer)].kind == MemoryKind::Device) continue;
    (access.is_write ? task.to_host : task.from_host) += bytesOf(access);
    task.bytes = std::max(task.bytes - bytesOf(access), 0.0);
  }
  return task;
}

std::vector<std::string> streamNames(const Plan& plan) {
  std::vector<std::string> names = {"caller"};
  for (const PlanStream& stream : plan.streams())
    names.push_back(stream.of_team != nullptr ? fmt::format("communication {}", names.size())
                                              : fmt::format("stream {}", stream.worker));
  return names;
}

}  // namespace

RankSteps rankSteps(const Plan& plan, const Machine& machine) {
  const StepList& list = plan.steps();
  RankSteps made{.tasks = {}, .streams = streamNames(plan)};
  std::vector<Frontier> streams(static_cast<size_t>(list.stream_count));
  std::vector<Frontier> events(static_cast<size_t>(list.event_count));
  double issued = 0;
  for (const Step& step : list.steps) {
    Frontier& frontier = streams[static_cast<size_t>(step.stream)];
    if (step.kind == StepKind::Record || step.kind == StepKind::Wait) {
      Frontier& event = events[static_cast<size_t>(step.event)];
      issued += machine.host_event;
      if (step.kind == StepKind::Record)
        event = frontier;
      else
        join(frontier, event);
      continue;
    }
    issued += machine.host_launch;
    RankTask task = taskOf(step, list);
    task.issued = issued;
    task.after = std::exchange(frontier, {static_cast<int32_t>(made.tasks.size())});
    made.tasks.push_back(std::move(task));
  }
  for (const StepBuffer& buffer : list.buffers)
    if (buffer.kind == MemoryKind::Device) made.peak_bytes += buffer.bytes;
  return made;
}

}  // namespace tokamak
