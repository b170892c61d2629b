// The fake driver's own heap functions (exports.map keeps them its own), so that a test that counts the requests of
// Tokamak does not count those of its driver.
#include <cstdlib>
#include <new>

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
