// Handing work to a stream takes nothing from the heap, on any thread, once the device is warm.
// Not under ThreadSanitizer, which has its own operator new.
#include "runtime/cpu/stream_edges.h"

#ifndef TK_THREAD_SANITIZER

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.h"

namespace {

std::atomic<int64_t> heap_requests = 0;

void* counted(size_t bytes, size_t alignment) {
  heap_requests.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes, 16); }
void* operator new[](size_t bytes) { return counted(bytes, 16); }
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<size_t>(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept { std::free(memory); }

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
  CpuDevice device({.threads = 3});
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
  const int64_t before = heap_requests.load();
  for (uint64_t round = 10; round < 1000; ++round) step(round);
  EXPECT_EQ(heap_requests.load(), before);
}

}  // namespace

}  // namespace tokamak

#endif
