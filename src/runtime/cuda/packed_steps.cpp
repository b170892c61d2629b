#include "runtime/cuda/packed_steps.h"

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

void PackedSteps::patch(size_t source, void* value) {
  if (known_[source] == value && !is_fresh_) return;
  known_[source] = value;
  const size_t end = first_use_[source + 1];
  for (size_t i = first_use_[source]; i < end; ++i) {
    const Use& use = uses_[i];
    values_[use.slot] = static_cast<std::byte*>(value) + use.offset;
    PackedStep& step = steps_[use.step];
    if (!std::exchange(step.is_changed, true)) changed_.push_back(use.step);
    if (!std::exchange(step.is_moved, true)) moved_.push_back(use.step);
  }
}

void PackedSteps::patch(std::span<void* const> bases, std::span<void* const> parameters) {
  for (const uint32_t step : moved_) steps_[step].is_moved = false;
  moved_.clear();
  for (size_t i = 0; i < list_.base_count; ++i) patch(i, bases[i]);
  for (size_t i = 0; i < list_.parameter_count; ++i) patch(list_.base_count + i, parameters[i]);
  is_fresh_ = false;
}

}  // namespace tokamak
