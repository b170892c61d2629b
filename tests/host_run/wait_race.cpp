// Replays the plan of two streamed copies without one of its necessary waits, input made and output used on the caller's stream. Built
// with ThreadSanitizer, it exits with that tool's code exactly when a wait is missing: `wait_race none` or `wait_race NUMBER`.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "define/callables.h"
#include "host/checker.h"
#include "host/multi_device_executor.h"
#include "host_run/two_sets.h"
#include "ir/text/fusion_parser.h"
#include "runtime/cpu/cpu_device.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

constexpr int64_t kBytes = kTwoSetsRows * kTwoSetsColumns * 4;

int run(std::string_view which) {
  CpuDevice device({.threads = 2});
  const auto fusion =
      parseFusion(kTwoSets, "two_sets", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  MultiDeviceExecutor executor(*fusion, device);
  const std::shared_ptr<Stream> stream = device.createStream();
  const int64_t sizes[] = {kTwoSetsRows, kTwoSetsColumns};
  const RunValue inputs[] = {Tensor::empty(device, stream, DataType::F32, sizes, MemoryKind::Device)};
  const Tensor outputs[] = {Tensor::empty(device, stream, DataType::F32, sizes, MemoryKind::Device)};
  std::vector<char> result(kBytes);

  const Plan& whole = executor.planFor(inputs, outputs);
  StepList steps = whole.recorded();
  if (which != "none") {
    int64_t number = std::atoll(which.data());
    for (const WaitNeed& need : listNecessaryWaits(steps)) {
      if (!need.is_necessary || number-- > 0) continue;
      steps.steps.erase(steps.steps.begin() + need.step);
      break;
    }
  }
  std::vector<std::unique_ptr<Stream>> workers;
  std::vector<Stream*> borrowed;
  for (int32_t i = 1; i < steps.stream_count; ++i)
    borrowed.push_back(workers.emplace_back(device.createStream()).get());
  Plan plan(device, steps, whole.outputs(), borrowed, stream);

  void* const in[] = {std::get<Tensor>(inputs[0]).data()};
  void* const out[] = {outputs[0].data()};
  device.fill(*stream, in[0], 1, kBytes);
  plan.replay(in, out, *stream);
  device.copy(*stream, result.data(), out[0], kBytes);
  device.synchronize(*stream);
  for (Stream* worker : borrowed) device.synchronize(*worker);
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
