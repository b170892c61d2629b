// Numbers that longer runs give the tests: TOKAMAK_FUZZ_PROGRAMS, how many programs; TOKAMAK_FUZZ_SEED, the first seed.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tokamak::generator {

inline uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace tokamak::generator
