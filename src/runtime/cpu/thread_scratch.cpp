#include "runtime/cpu/thread_scratch.h"

#include <cstddef>
#include <new>

namespace tokamak {

char* threadScratch(int64_t bytes) {
  constexpr std::align_val_t alignment{64};
  struct Memory {
    char* address = nullptr;
    int64_t size = 0;
    ~Memory() { operator delete(address, alignment); }
  };
  thread_local Memory memory;
  if (memory.size < bytes) {
    operator delete(memory.address, alignment);
    memory.address = nullptr;
    memory.size = 0;
    memory.address = static_cast<char*>(operator new(static_cast<size_t>(bytes), alignment));
    memory.size = bytes;
  }
  return memory.address;
}

}  // namespace tokamak
