// The fake driver's compiled code: a text whose lines name a kernel, one of the functions that are built in here, and
// the bytes of each argument:
//   fake module
//   my_kernel add_one 8 8 8
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake {

struct Launch {
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t shared_bytes = 0;
  std::vector<std::vector<std::byte>> arguments;
};

/// The status that the context has after the kernel: 0, or the error that it ran into.
using Kernel = int (*)(const Launch&);

struct Function {
  Kernel kernel = nullptr;
  std::vector<size_t> argument_bytes;
  int64_t dynamic_shared_limit = 48 * 1024;
};

struct Module {
  std::map<std::string, Function> functions;
};

/// 0, or the status with which an image is refused.
int loadModule(const char* image, Module& module);

}  // namespace fake
