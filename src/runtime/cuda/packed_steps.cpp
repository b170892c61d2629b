#include "runtime/cuda/packed_steps.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/cuda_workspace.h"

namespace tokamak {

void PackedStep::makeReady(DriverContext& context, driver::Stream on) {
  if (is_ready && ready_on == on) return;
  work->makeReadyOn(context, on);
  if (kernel.workspace != nullptr) workspace = kernel.workspace->workspaceOf(on);
  ready_on = on;
  is_ready = true;
}

void PackedStep::enqueue(DriverContext& context, driver::Stream on) {
  if (kernel.kernel != nullptr)
    kernel.kernel->launch(context, on, arguments.data());
  else
    work->enqueue(context, on, values);
}

PackedSteps::PackedSteps(ReplaySteps list) : list_(std::move(list)) {
  values_.resize(list_.slots.size());
  steps_.resize(list_.steps.size());
  known_.resize(list_.base_count + list_.parameter_count);
  std::vector<std::vector<Use>> uses(known_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const ReplayStep& from = list_.steps[i];
    PackedStep& step = steps_[i];
    step.action = from.action;
    step.stream = from.stream;
    step.event = from.event;
    step.bytes = from.bytes;
    step.values = std::span(values_).subspan(from.first_slot, from.slot_count);
    for (uint32_t slot = from.first_slot; slot < from.first_slot + from.slot_count; ++slot) {
      const ReplaySlot& passed = list_.slots[slot];
      const bool is_parameter = passed.base == ReplaySlot::kParameter;
      const auto number =
          is_parameter ? list_.base_count + static_cast<size_t>(passed.offset) : static_cast<size_t>(passed.base);
      uses[number].push_back({slot, static_cast<uint32_t>(i), is_parameter ? 0 : passed.offset});
    }
    if (from.action != ReplayStep::Action::Launch) continue;
    step.work = static_cast<const CudaWork*>(from.work);
    step.kernel = step.work->kernelLaunch();
    if (step.kernel.kernel != nullptr) step.arguments = step.kernel.kernel->argumentsOf(step.values, &step.workspace);
  }
  for (const std::vector<Use>& of_source : uses) {
    first_use_.push_back(uses_.size());
    uses_.insert(uses_.end(), of_source.begin(), of_source.end());
  }
  first_use_.push_back(uses_.size());
  changed_.reserve(steps_.size());
  moved_.reserve(steps_.size());
}

void PackedSteps::takeChanges() {
  for (const uint32_t step : changed_) steps_[step].is_changed = false;
  changed_.clear();
}

// Called for each of many values in every call: what is known already is only read.
void PackedSteps::markMoved(uint32_t number) {
  PackedStep& step = steps_[number];
  if (step.is_moved) return;
  step.is_moved = true;
  moved_.push_back(number);
  if (!std::exchange(step.is_changed, true)) changed_.push_back(number);
}

void PackedSteps::patch(size_t first_source, std::span<void* const> values) {
  const std::span known = std::span(known_).subspan(first_source, values.size());
  if (!is_fresh_ && std::ranges::equal(known, values)) return;
  for (size_t v = 0; v < values.size(); ++v) {
    if (known[v] == values[v] && !is_fresh_) continue;
    known[v] = values[v];
    const size_t end = first_use_[first_source + v + 1];
    for (size_t i = first_use_[first_source + v]; i < end; ++i) {
      const Use& use = uses_[i];
      values_[use.slot] = static_cast<std::byte*>(values[v]) + use.offset;
      markMoved(use.step);
    }
  }
}

void PackedSteps::patch(std::span<void* const> bases, std::span<void* const> parameters) {
  for (const uint32_t step : moved_) steps_[step].is_moved = false;
  moved_.clear();
  patch(0, bases.first(list_.base_count));
  patch(list_.base_count, parameters.first(list_.parameter_count));
  is_fresh_ = false;
}

int64_t PackedSteps::hostBytes() const {
  size_t arguments = 0;
  for (const PackedStep& step : steps_) arguments += step.arguments.size();
  return list_.hostBytes() + static_cast<int64_t>(steps_.size() * (sizeof(PackedStep) + 2 * sizeof(uint32_t)) +
                                                  (arguments + values_.size() + known_.size()) * sizeof(void*) +
                                                  uses_.size() * sizeof(Use) + first_use_.size() * sizeof(size_t));
}

}  // namespace tokamak
