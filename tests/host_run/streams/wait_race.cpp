// Replays the plan of two streamed copies without one of its necessary waits, input made and output used on the
// caller's stream. Built with ThreadSanitizer, it exits with that tool's code exactly when a wait is missing:
// `wait_race none` or `wait_race NUMBER`.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compile/multi_device_executor.h"
#include "define/callables.h"
#include "device/work.h"
#include "host/check/checker.h"
#include "host_run/streams/two_sets.h"
#include "ir/text/fusion_parser.h"
#include "jit/jit_device.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

constexpr int64_t kBytes = kTwoSetsRows * kTwoSetsColumns * 4;

// Enqueues the steps as Plan::replay does. (A Plan made of the changed list would see to its arena's waits again.)
void replay(Device& device, const StepList& list, const std::vector<void*>& buffers,
            const std::vector<Stream*>& streams) {
  std::vector<std::unique_ptr<Event>> events;
  for (int32_t e = 0; e < list.event_count; ++e) events.push_back(device.createEvent());
  for (const Step& step : list.steps) {
    Stream& on = *streams.at(static_cast<size_t>(step.stream));
    if (step.kind == StepKind::Record) device.record(*events.at(static_cast<size_t>(step.event)), on);
    if (step.kind == StepKind::Wait) device.wait(on, *events.at(static_cast<size_t>(step.event)));
    if (step.kind != StepKind::Work) continue;
    std::vector<void*> addresses;
    for (const StepAddress& address : step.addresses) {
      addresses.push_back(static_cast<std::byte*>(buffers.at(static_cast<size_t>(address.buffer))) + address.offset);
    }
    device.launch(on, *step.work, addresses);
  }
}

StepList withoutNecessaryWait(StepList list, int64_t number) {
  for (const WaitNeed& need : listNecessaryWaits(list)) {
    if (!need.is_necessary || number-- > 0) continue;
    list.steps.erase(list.steps.begin() + need.step);
    break;
  }
  return list;
}

int run(std::string_view which) {
  // What the works use outlives the streams, whose end waits for them.
  std::vector<char> input(kBytes), output(kBytes), result(kBytes), arena;
  JitCpuDevice device({.threads = 2});
  const auto fusion =
      parseFusion(kTwoSets, "two_sets", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  MultiDeviceExecutor executor(*fusion, device, {.lowering = {.grouping = Grouping::Single}, .evaluator = {}});
  const int64_t sizes[] = {kTwoSetsRows, kTwoSetsColumns}, strides[] = {kTwoSetsColumns, 1};
  const auto borrowed = [&](std::vector<char>& memory) {
    return Tensor::borrow(device, memory.data(), DataType::F32, sizes, strides, MemoryKind::Device);
  };
  const RunValue inputs[] = {borrowed(input)};
  const Tensor outputs[] = {borrowed(output)};
  const StepList& whole = executor.planFor(inputs, outputs).steps();
  const StepList steps = which == "none" ? whole : withoutNecessaryWait(whole, std::stoll(std::string(which)));

  std::vector<void*> buffers;
  for (const StepBuffer& buffer : steps.buffers) {
    if (buffer.origin == StepBuffer::Origin::Arena) arena.resize(static_cast<size_t>(buffer.bytes));
    buffers.push_back(buffer.origin == StepBuffer::Origin::Input    ? input.data()
                      : buffer.origin == StepBuffer::Origin::Output ? output.data()
                                                                    : arena.data());
  }
  std::vector<std::shared_ptr<Stream>> owned;
  std::vector<Stream*> streams;
  for (int32_t i = 0; i < steps.stream_count; ++i) streams.push_back(owned.emplace_back(device.createStream()).get());
  device.fill(*streams[0], input.data(), 1, kBytes);
  replay(device, steps, buffers, streams);
  device.copy(*streams[0], result.data(), output.data(), kBytes);
  for (Stream* stream : streams) device.synchronize(*stream);
  const bool is_right = which != "none" || result == std::vector<char>(kBytes, 1);
  if (!is_right) std::fputs("the copies are wrong\n", stderr);
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace tokamak

int main(int argc, char** argv) {
  if (argc == 2) return tokamak::run(argv[1]);
  std::fputs("usage: wait_race none|NUMBER\n", stderr);
  return 2;
}
