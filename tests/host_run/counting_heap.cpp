// Every request to the heap of the process, counted. In a file of its own, so that no call is inlined into another's.
#include "host_run/counting_heap.h"

#include "runtime/cpu/stream_edges.h"

#ifndef TK_THREAD_SANITIZER  // which has its own operator new

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> heap_requests = 0;

void* counted(size_t bytes, size_t alignment) {
  heap_requests.fetch_add(1, std::memory_order_relaxed);
  // (glibc's malloc has a cache for each thread, which its aligned_alloc does not ask.)
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(bytes == 0 ? 1 : bytes)
                           : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
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

int64_t tokamak::heapRequests() { return heap_requests.load(); }

#else
int64_t tokamak::heapRequests() { return 0; }
#endif
