#include "host/check/step_uses.h"

#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

void requireAccessForm(const StepList& list, size_t step, const Access& access) {
  TK_REQUIRE(access.buffer >= 0 && static_cast<size_t>(access.buffer) < list.buffers.size(), HostProgram,
             "check: step {} uses buffer {} of a program with {} buffers", step, access.buffer, list.buffers.size());
  TK_REQUIRE(access.element_bytes >= 0, HostProgram,
             "check: step {} accesses elements of {} bytes; at least 0 is legal", step, access.element_bytes);
  for (const Access::Dim& dim : access.dims) {
    TK_REQUIRE(dim.size >= 0, HostProgram, "check: step {} accesses an axis of size {}; at least 0 is legal", step,
               dim.size);
  }
}

}  // namespace

void requireForm(const StepList& list) {
  TK_REQUIRE(list.stream_count >= 1, HostProgram, "check: a program has {} streams; at least the caller's is needed",
             list.stream_count);
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const Step& step = list.steps[i];
    TK_REQUIRE(step.stream >= 0 && step.stream < list.stream_count, HostProgram,
               "check: step {} is on stream {} of a program with {} streams", i, step.stream, list.stream_count);
    TK_REQUIRE(!isEventKind(step.kind) || (step.event >= 0 && step.event < list.event_count), HostProgram,
               "check: step {} names event {} of a program with {} events", i, step.event, list.event_count);
    TK_REQUIRE(!isMemoryKind(step.kind) || (step.accesses.size() == 1 && step.accesses[0].is_write), HostProgram,
               "check: step {} allocates or releases with {} accesses; one write of the whole buffer is legal", i,
               step.accesses.size());
    for (const Access& access : step.accesses) requireAccessForm(list, i, access);
  }
}

StepUses::StepUses(const StepList& list) {
  for (size_t i = 0; i < list.steps.size(); ++i) {
    first_.push_back(uses_.size());
    const Step& step = list.steps[i];
    for (const Access& access : step.accesses) {
      const StepBuffer& buffer = list.buffers[static_cast<size_t>(access.buffer)];
      const auto bounds = boundsOf(access);
      ByteBox box;
      if (isMemoryKind(step.kind)) {
        box = wholeBox(buffer.bytes);
      } else if (bounds.has_value() && fits(*bounds, buffer)) {
        box = byteBoxOf(access);
      }
      const AccessMode mode = access.is_write ? AccessMode::Write : AccessMode::Read;
      uses_.push_back({std::move(box), static_cast<int64_t>(i), access.buffer, mode});
    }
  }
  first_.push_back(uses_.size());
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    const auto number = static_cast<int32_t>(b);
    const ByteBox whole = wholeBox(list.buffers[b].bytes);
    uses_.push_back({whole, kEntryStep, number, AccessMode::Write});
    exit_.push_back({whole, static_cast<int64_t>(list.steps.size()), number, AccessMode::Write});
  }
}

}  // namespace tokamak
