#include "runtime/cuda/cuda_trace.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <dlfcn.h>

#include "base/require.h"
#include "runtime/cuda/activity_trace.h"
#include "runtime/cuda/event_trace.h"

namespace tokamak {

namespace {

// CUPTI watches the driver that the loader finds. Of another one, which somebody named, it sees nothing, unless he
// names a CUPTI for it, too.
void requireWatchedDriver(const DriverLibrary& driver) {
  if (std::getenv("TOKAMAK_CUPTI") != nullptr) return;
  void* const loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void* const watched = loaded == nullptr ? nullptr : dlsym(loaded, "cuInit");
  TK_REQUIRE(watched == reinterpret_cast<void*>(driver.init), Unsupported,
             "CUPTI: it does not watch the driver '{}', which is not the loader's libcuda.so.1", driver.path);
}

// Without the list of what was tried.
std::string inOneLine(const std::string& text) {
  return text.substr(0, std::min(text.find(" Tried:"), text.find('\n')));
}

}  // namespace

std::unique_ptr<CudaTrace> CudaTrace::start(std::shared_ptr<DriverContext> context, TraceObserver& observer) {
  std::string reason;
  try {
    requireWatchedDriver(context->driver());
    return std::make_unique<ActivityTrace>(context, observer);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    reason = inOneLine(error.message());
  }
  return std::make_unique<EventTrace>(std::move(context), observer, std::move(reason));
}

}  // namespace tokamak
