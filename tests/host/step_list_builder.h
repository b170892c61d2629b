// Building lists of steps by hand and by generators.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "device/work.h"
#include "host/check/step_list.h"

namespace tokamak {

/// Reads `element_bytes` per element of a strided box.
inline Access readOf(int32_t buffer, int64_t offset, int64_t element_bytes, std::vector<Access::Dim> dims = {}) {
  return {
      .buffer = buffer, .is_write = false, .offset = offset, .element_bytes = element_bytes, .dims = std::move(dims)};
}

inline Access writeOf(int32_t buffer, int64_t offset, int64_t element_bytes, std::vector<Access::Dim> dims = {}) {
  Access access = readOf(buffer, offset, element_bytes, std::move(dims));
  access.is_write = true;
  return access;
}

/// Adds steps to a list, giving buffers, events and communications their numbers.
class StepListBuilder {
 public:
  StepList list;

  explicit StepListBuilder(int32_t stream_count = 1) { list.stream_count = stream_count; }

  int32_t input(int64_t bytes) { return buffer(StepBuffer::Origin::Input, bytes); }
  int32_t output(int64_t bytes) { return buffer(StepBuffer::Origin::Output, bytes); }
  int32_t intermediate(int64_t bytes) { return buffer(StepBuffer::Origin::Intermediate, bytes); }

  Access whole(int32_t buffer, Access (*make)(int32_t, int64_t, int64_t, std::vector<Access::Dim>)) const {
    return make(buffer, 0, list.buffers[static_cast<size_t>(buffer)].bytes, {});
  }

  int64_t work(int32_t stream, std::vector<Access> accesses, std::string text = "work") {
    return add(StepKind::Work, stream, -1, std::move(accesses), std::move(text));
  }
  int64_t allocate(int32_t stream, int32_t buffer) {
    return add(StepKind::Allocate, stream, -1, {whole(buffer, writeOf)}, "allocate " + nameOf(buffer));
  }
  int64_t release(int32_t stream, int32_t buffer) {
    return add(StepKind::Release, stream, -1, {whole(buffer, writeOf)}, "release " + nameOf(buffer));
  }
  int32_t event() { return list.event_count++; }
  int64_t record(int32_t stream, int32_t event) { return add(StepKind::Record, stream, event, {}, "record"); }
  int64_t wait(int32_t stream, int32_t event) { return add(StepKind::Wait, stream, event, {}, "wait"); }
  /// Lets stream `waiting` wait for all that is on stream `recorded`, with an event of its own.
  void synchronise(int32_t waiting, int32_t recorded) {
    const int32_t own = event();
    record(recorded, own);
    wait(waiting, own);
  }
  int64_t post(int32_t stream, int32_t event, std::vector<Access> accesses) {
    return add(StepKind::Post, stream, event, std::move(accesses), "communicate");
  }
  int64_t join(int32_t stream, int32_t event) { return add(StepKind::Join, stream, event, {}, "join"); }

 private:
  std::string nameOf(int32_t buffer) const { return list.buffers[static_cast<size_t>(buffer)].name; }

  int32_t buffer(StepBuffer::Origin origin, int64_t bytes) {
    const auto number = static_cast<int32_t>(list.buffers.size());
    int64_t of_origin = 0;
    for (const StepBuffer& other : list.buffers) of_origin += other.origin == origin ? 1 : 0;
    list.buffers.push_back({.origin = origin, .number = of_origin, .bytes = bytes, .name = fmt::format("T{}", number)});
    return number;
  }

  int64_t add(StepKind kind, int32_t stream, int32_t event, std::vector<Access> accesses, std::string text) {
    Step step;
    step.kind = kind;
    step.stream = stream;
    step.event = event;
    step.accesses = std::move(accesses);
    step.text = std::move(text);
    list.steps.push_back(std::move(step));
    return static_cast<int64_t>(list.steps.size()) - 1;
  }
};

}  // namespace tokamak
