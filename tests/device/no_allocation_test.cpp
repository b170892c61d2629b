// Handing work to a stream takes nothing from the heap, on any thread, once the device is warm.
// Not under ThreadSanitizer, which has its own operator new.
#include "runtime/cpu/stream_edges.h"

#ifndef TK_THREAD_SANITIZER

#include <array>
#include <bit>

#include <gtest/gtest.h>

#include "compile/multi_device_executor.h"
#include "define/structured.h"
#include "device/replay.h"
#include "fake_cuda.h"
#include "host_run/counting_heap.h"
#include "jit/jit_device.h"
#include "program_of.h"

namespace tokamak {

namespace {

class Share final : public CpuWork {
 public:
  void run(void* const* addresses, BlockPool& pool) const override {
    auto* const values = static_cast<int64_t*>(addresses[0]);
    pool.parallelFor(16, [&](int64_t block) { ++values[block]; });
  }
};

TEST(CpuDevice, AWarmDeviceTakesNothingFromTheHeap) {
  JitCpuDevice device({.threads = 3});
  const auto a = device.createStream();
  const auto b = device.createStream();
  const auto event = device.createEvent();
  const Share work;
  alignas(8) uint64_t flag = 0;
  const auto step = [&](uint64_t round) {
    void* const memory = device.allocate(1000, MemoryKind::Device, *a);
    device.fill(*a, memory, 0, 1000);
    const std::array<void*, 1> addresses = {memory};
    device.launch(*a, work, addresses);
    device.record(*event, *a);
    device.wait(*b, *event);
    device.copy(*b, memory, static_cast<char*>(memory) + 500, 500);
    device.writeFlag(*b, &flag, round);
    device.waitFlag(*a, &flag, round);
    device.callback(*a, [] {});
    device.release(memory, 1000, MemoryKind::Device, *a);
    device.synchronize(*event);
    device.synchronize(*a);
  };
  for (uint64_t round = 1; round < 10; ++round) step(round);
  const int64_t before = heapRequests();
  for (uint64_t round = 10; round < 1000; ++round) step(round);
  EXPECT_EQ(heapRequests(), before);
}

TEST(CudaDevice, AWarmDeviceTakesNothingFromTheHeap) {
  const auto device = openFakeDevice();
  const auto a = device->createStream();
  const auto b = device->createStream();
  const auto event = device->createEvent();
  const CudaFunction add_one =
      CudaModule::load(device->context(), "fake module\nadd_one add_one 8 8 8\n")->function("add_one");
  const CudaKernelWork work(add_one, {.block = {64, 1, 1}}, 2, {64}, "add one");
  auto* const flag = static_cast<uint64_t*>(device->allocate(8, MemoryKind::Pinned, *a));
  device->fill(*a, flag, 0, 8);
  const auto step = [&](uint64_t round) {
    void* const memory = device->allocate(1024, MemoryKind::Device, *a);
    device->fill(*a, memory, 0, 1024);
    const std::array<void*, 2> addresses = {memory, memory};
    device->launch(*a, work, addresses);
    device->record(*event, *a);
    device->wait(*b, *event);
    device->copy(*b, memory, static_cast<char*>(memory) + 512, 512);
    device->writeFlag(*b, flag, round);
    device->waitFlag(*a, flag, round);
    device->release(memory, 1024, MemoryKind::Device, *a);
    device->synchronize(*event);
    device->synchronize(*a);
    device->synchronize(*b);
  };
  for (uint64_t round = 1; round < 10; ++round) step(round);
  const int64_t before = heapRequests();
  for (uint64_t round = 10; round < 200; ++round) step(round);
  EXPECT_EQ(heapRequests(), before);
  device->release(flag, 8, MemoryKind::Pinned, *a);
}

// Twenty kernels of eight addresses each, the half of them on a worker; every call brings other addresses and another
// parameter.
TEST(CudaReplay, TakesNothingFromTheHeap) {
  const auto device = openFakeDevice();
  const auto stream = device->createStream();
  const auto worker = device->createStream();
  const CudaFunction function =
      CudaModule::load(device->context(), "fake module\nnothing nothing 8 8 8 8 8 8 8 8\n")->function("nothing");
  const CudaKernelWork work(function, {.block = {64, 1, 1}}, 8, {}, "nothing");
  using Action = ReplayStep::Action;
  ReplaySteps list{.stream_count = 2, .event_count = 2, .base_count = 7, .parameter_count = 1};
  const auto launch = [&](int32_t on) {
    list.steps.push_back({.action = Action::Launch,
                          .stream = on,
                          .first_slot = static_cast<uint32_t>(list.slots.size()),
                          .slot_count = 8,
                          .work = &work});
    for (int32_t base = 0; base < 7; ++base) list.slots.push_back({base, 8 * base});
    list.slots.push_back({ReplaySlot::kParameter, 0});
  };
  for (int i = 0; i < 10; ++i) launch(0);
  list.steps.push_back({.action = Action::Record, .stream = 0, .event = 0});
  list.steps.push_back({.action = Action::Wait, .stream = 1, .event = 0});
  for (int i = 0; i < 10; ++i) launch(1);
  list.steps.push_back({.action = Action::Record, .stream = 1, .event = 1});
  list.steps.push_back({.action = Action::Wait, .stream = 0, .event = 1});
  const auto replay = device->prepareReplay(std::move(list));
  char* const memory = static_cast<char*>(device->allocate(1 << 20, MemoryKind::Device, *stream));
  const std::array<Stream*, 2> streams = {stream.get(), worker.get()};
  const auto call = [&](int64_t round) {
    std::array<void*, 7> bases = {};
    for (size_t i = 0; i < bases.size(); ++i) bases[i] = memory + (round % 3) * 4096 + static_cast<int64_t>(i) * 256;
    const std::array<void*, 1> parameters = {std::bit_cast<void*>(round)};
    replay->run(streams, bases, parameters);
    device->synchronize(*stream);
  };
  for (int64_t round = 0; round < 10; ++round) call(round);
  const int64_t before = heapRequests();
  for (int64_t round = 10; round < 200; ++round) call(round);
  EXPECT_EQ(heapRequests(), before);
  device->release(memory, 1 << 20, MemoryKind::Device, *stream);
}

// A whole call: key, plan, launches of a library as a graph and one by one, ready events.
TEST(CudaProgram, TakesNothingFromTheHeapByTheHotEntry) {
  const auto device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
  const std::shared_ptr<Stream> stream = device->createStream();
  Fusion fusion("cube");
  TensorView* in = inputOf(fusion, DataType::F32, {8, 8});
  fusion.addOutput(define<MatmulOp>(define<MatmulOp>(in, in), in));
  MultiDeviceExecutor executor(fusion, *device);
  const std::array<int64_t, 2> sizes = {8, 8};
  const auto matrix = [&] { return Tensor::empty(*device, stream, DataType::F32, sizes, MemoryKind::Device); };
  const Tensor input = matrix();
  device->fill(*stream, input.data(), 0, 256);
  std::array<Tensor, 2> outputs = {matrix(), matrix()};
  const auto call = [&](int round) {
    // Three times the same output, then the other one.
    executor.evaluator().run({&input, 1}, {&outputs[static_cast<size_t>(round / 3 % 2)], 1}, *stream);
    if (round % 10 == 0) device->synchronize(*stream);
  };
  const auto countOver = [&](int first, int end) {
    const int64_t before = heapRequests();
    for (int round = first; round < end; ++round) call(round);
    return heapRequests() - before;
  };
  // Capturing takes memory; a graph that is launched again takes none, nor does a call whose addresses changed.
  for (int round = 0; round < 30; ++round) call(round);
  EXPECT_EQ(countOver(30, 31), 0);
  call(31);  // is captured
  EXPECT_EQ(countOver(32, 34), 0);
  device->synchronize(*stream);
}

}  // namespace

}  // namespace tokamak

#endif
