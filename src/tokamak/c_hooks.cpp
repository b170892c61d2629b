// The interface for C: what a caller hooks into the library.
#include "tokamak/c_hooks.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/require.h"
#include "tokamak/c_objects.h"

namespace tokamak::c {

namespace {

class CallersThreads final : public ParallelFor {
 public:
  explicit CallersThreads(const tokamak_parallel_for& given) : given_(given) {}
  void run(int64_t parts, Body body, void* context) override {
    const int status = given_.run(given_.context, parts, body, context);
    TK_REQUIRE(status == 0, Device, "parallel-for of the caller: it gave {}; 0 says that all bodies have ended",
               status);
  }

 private:
  tokamak_parallel_for given_;
};

tokamak_memory_kind kindOf(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device: return TOKAMAK_MEMORY_DEVICE;
    case MemoryKind::Pinned: return TOKAMAK_MEMORY_PINNED;
    case MemoryKind::Host: return TOKAMAK_MEMORY_HOST;
  }
  return TOKAMAK_MEMORY_ANY;
}

// For outputs or for intermediates: the block's keeper gives it back, and needs nothing else.
template <class Base>
class CallersMemory final : public Base {
 public:
  explicit CallersMemory(const tokamak_allocator& given) : given_(given) {}
  MemoryBlock allocate(int64_t bytes, MemoryKind kind, Stream& stream) override {
    void* const handle = stream.nativeHandle();
    void* const address = given_.allocate(given_.context, bytes, kindOf(kind), handle);
    TK_REQUIRE(address != nullptr, OutOfMemory, "the caller's allocator has no {} bytes", bytes);
    std::shared_ptr<void> keeper(address, [given = given_, bytes, kind, handle](void* memory) {
      given.release(given.context, memory, bytes, kindOf(kind), handle);
    });
    return {.address = address, .keeper = std::move(keeper)};
  }

 private:
  tokamak_allocator given_;
};

template <class Base>
std::unique_ptr<Base> memoryOf(const tokamak_allocator* given, const char* parameter) {
  if (given == nullptr) return nullptr;
  const tokamak_allocator known = c::known(given, parameter);
  TK_REQUIRE(known.allocate != nullptr && known.release != nullptr, Usage, "{}: allocate or release is null",
             parameter);
  return std::make_unique<CallersMemory<Base>>(known);
}

}  // namespace

std::shared_ptr<ParallelFor> parallelForOf(const tokamak_parallel_for* given) {
  if (given == nullptr) return nullptr;
  const tokamak_parallel_for known = c::known(given, "parallel_for");
  TK_REQUIRE(known.run != nullptr, Usage, "parallel_for: run is null");
  return std::make_shared<CallersThreads>(known);
}

std::unique_ptr<OutputAllocator> outputAllocatorOf(const tokamak_allocator* given) {
  return memoryOf<OutputAllocator>(given, "output_allocator");
}

std::unique_ptr<IntermediateAllocator> intermediateAllocatorOf(const tokamak_allocator* given) {
  return memoryOf<IntermediateAllocator>(given, "intermediate_allocator");
}

GivenPrepareOptions::GivenPrepareOptions(const tokamak_prepare_options* given) {
  const tokamak_prepare_options known = c::known(given, "options");
  if (known.cancel != nullptr) options_.cancel = known.cancel->stop.get_token();
  if (known.progress == nullptr) return;
  options_.progress = [known](const CompileProgress& progress) {
    const int status = known.progress(known.progress_context, progress.done, progress.all);
    TK_REQUIRE(status == 0, Cancelled, "the caller's progress function cancelled it: it gave {}", status);
  };
}

}  // namespace tokamak::c

using tokamak::c::guarded;
using tokamak::c::required;

void tokamak_set_log(void (*log)(void* context, const char* text), void* context, void (*release)(void* context)) {
  try {
    if (log == nullptr) {
      if (release != nullptr) release(context);
      return tokamak::setLogFunction(nullptr);
    }
    const std::shared_ptr<void> held(context, [release](void* given) {
      if (release != nullptr) release(given);
    });
    tokamak::setLogFunction([log, held](std::string_view text) { log(held.get(), std::string(text).c_str()); });
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it has been let go
  }
}

tokamak_error* tokamak_cancel_create(tokamak_cancel** cancel) {
  return guarded([&] {
    required(cancel, "cancel");
    *cancel = new tokamak_cancel();
  });
}

void tokamak_cancel_request(tokamak_cancel* cancel) { cancel->stop.request_stop(); }
void tokamak_cancel_free(tokamak_cancel* cancel) { delete cancel; }
