#include "fake_kernels.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace fake {

namespace {

template <class T>
T argument(const Launch& launch, size_t index) {
  T value = {};
  std::memcpy(static_cast<void*>(&value), launch.arguments[index].data(),
              std::min(sizeof(T), launch.arguments[index].size()));
  return value;
}

// (in, out, count): out = in + 1, an element for each thread.
int addOne(const Launch& launch) {
  const auto* const in = argument<const double*>(launch, 0);
  auto* const out = argument<double*>(launch, 1);
  const int64_t threads = int64_t{launch.grid[0]} * launch.block[0];
  for (int64_t i = 0; i < std::min(threads, argument<int64_t>(launch, 2)); ++i) out[i] = in[i] + 1;
  return 0;
}

// (out, values...): the grid, the block, the shared memory and the values, 8 bytes each.
int storeArguments(const Launch& launch) {
  auto* out = argument<int64_t*>(launch, 0);
  for (const uint32_t size : launch.grid) *out++ = size;
  for (const uint32_t size : launch.block) *out++ = size;
  *out++ = launch.shared_bytes;
  for (size_t i = 1; i < launch.arguments.size(); ++i) *out++ = argument<int64_t>(launch, i);
  return 0;
}

int illegalAddress(const Launch&) { return 700; }

int nothing(const Launch&) { return 0; }

Kernel builtin(const std::string& name) {
  if (name == "add_one") return addOne;
  if (name == "store_arguments") return storeArguments;
  if (name == "illegal_address") return illegalAddress;
  if (name == "nothing") return nothing;
  return nullptr;
}

}  // namespace

int loadModule(const char* image, Module& module) {
  std::istringstream lines(image);
  std::string line;
  std::getline(lines, line);
  if (line != "fake module") return 200;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    std::string function;
    words >> name >> function;
    Function made{.kernel = builtin(function)};
    if (made.kernel == nullptr) return 218;
    for (size_t bytes = 0; words >> bytes;) made.argument_bytes.push_back(bytes);
    module.functions[name] = std::move(made);
  }
  return 0;
}

}  // namespace fake
