// The fake CUDA driver for tests: what it is asked to do, and what it still holds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <dlfcn.h>

#include "compile/temporary_folder.h"
#include "jit/jit_device.h"

namespace tokamak {

/// Settings as tests/device/fake_driver/fake_settings.h lists them.
class FakeSettings : ScopedVariable {
 public:
  explicit FakeSettings(const std::string& settings) : ScopedVariable("TOKAMAK_FAKE_CUDA", settings) {}
};

inline std::unique_ptr<CudaDevice> openFakeDevice(CudaDeviceOptions options = {}, int64_t ordinal = 0) {
  options.driver = TOKAMAK_FAKE_DRIVER;
  return std::make_unique<JitCudaDevice>(ordinal, options);
}

inline int64_t askFakeDriver(const char* question) {
  void* const driver = dlopen(TOKAMAK_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<int64_t (*)()>(dlsym(driver, question))();
}

/// Streams, events, modules, graphs and allocations that the fake driver was not told to destroy.
inline int64_t liveDriverObjects() { return askFakeDriver("fakeCudaLiveObjects"); }
/// How often graphs were launched, and kernels in them changed, ever.
inline int64_t graphLaunches() { return askFakeDriver("fakeCudaGraphLaunches"); }
inline int64_t graphUpdates() { return askFakeDriver("fakeCudaGraphUpdates"); }
/// How often it was asked whether an event was reached, ever.
inline int64_t eventQueries() { return askFakeDriver("fakeCudaEventQueries"); }
/// How often the fake library was asked for a kernel, ever.
inline int64_t libraryQuestions() { return askFakeDriver("fakeCublasQuestions"); }
/// On how many multiprocessors the kernel was to run that it was asked for last; 0: all.
inline int64_t libraryMultiprocessors() { return askFakeDriver("fakeCublasMultiprocessors"); }
/// How often it was asked whether it can run an algorithm.
inline int64_t libraryExaminations() { return askFakeDriver("fakeCublasExaminations"); }

}  // namespace tokamak
