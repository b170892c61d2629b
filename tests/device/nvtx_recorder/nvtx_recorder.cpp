// A profiler for tests: NVTX loads it when $NVTX_INJECTION64_PATH names it, and it writes what it is told to the file
// $TOKAMAK_RANGES_LOG, a line each:
//   register DOMAIN TEXT          a text becomes a name
//   push THREAD DOMAIN TEXT       TEXT is "?" where the name is not a registered one
//   pop THREAD DOMAIN
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>

#define NVTX_NO_IMPL  // NOLINT(readability-identifier-naming): the name is NVTX's
#include <nvtx3/nvToolsExt.h>

namespace {

// Texts stay where they are: their addresses are the handles that callers get.
struct Recorder {
  std::mutex mutex;
  std::deque<std::string> texts;
  int threads = 0;
  std::FILE* log = nullptr;
};

// Streams may end ranges while the process does.
Recorder& recorder() {
  static Recorder& made = *new Recorder;
  return made;
}

int threadNumber() {
  thread_local const int number = recorder().threads++;
  return number;
}

const char* textOf(const void* handle) { return static_cast<const std::string*>(handle)->c_str(); }

const std::string* keep(const char* text) { return &recorder().texts.emplace_back(text); }

nvtxDomainHandle_t NVTX_API createDomain(const char* name) {
  const std::lock_guard lock(recorder().mutex);
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<std::string*>(keep(name)));
}

nvtxStringHandle_t NVTX_API registerString(nvtxDomainHandle_t domain, const char* text) {
  const std::lock_guard lock(recorder().mutex);
  std::fprintf(recorder().log, "register %s %s\n", textOf(domain), text);
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<std::string*>(keep(text)));
}

int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const std::lock_guard lock(recorder().mutex);
  const bool is_registered = attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  std::fprintf(recorder().log, "push %d %s %s\n", threadNumber(), textOf(domain),
               is_registered ? textOf(attributes->message.registered) : "?");
  return 0;
}

int NVTX_API pop(nvtxDomainHandle_t domain) {
  const std::lock_guard lock(recorder().mutex);
  std::fprintf(recorder().log, "pop %d %s\n", threadNumber(), textOf(domain));
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is NVTX's
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const char* const file = std::getenv("TOKAMAK_RANGES_LOG");
  recorder().log = file == nullptr ? nullptr : std::fopen(file, "w");
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  if (recorder().log == nullptr || callbacks == nullptr) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  if (size <= NVTX_CBID_CORE2_DomainCreateA) return 0;
  const auto take = [&](NvtxCallbackIdCore2 id, auto* function) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  take(NVTX_CBID_CORE2_DomainCreateA, createDomain);
  take(NVTX_CBID_CORE2_DomainRegisterStringA, registerString);
  take(NVTX_CBID_CORE2_DomainRangePushEx, push);
  take(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
