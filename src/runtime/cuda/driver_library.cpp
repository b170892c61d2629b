#include "runtime/cuda/driver_library.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

namespace {

constexpr const char* kName = "libcuda.so.1";
constexpr int kOldestVersion =
    12000;  // 12.0: launches with attributes, 64-bit stream memory operations without conditions

// Where the loader may not look: containers, WSL, distributions.
constexpr const char* kFolders[] = {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu", "/usr/lib64"};

std::vector<std::string> candidates() {
  std::vector<std::string> result = {kName};
  for (const char* const folder : kFolders) result.push_back(fmt::format("{}/{}", folder, kName));
  return result;
}

void* openFirst(const std::vector<std::string>& files, std::string& reason) {
  for (const std::string& file : files) {
    if (void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) return handle;
    const char* const fault = dlerror();
    if (reason.empty()) reason = fault == nullptr ? "it cannot be loaded" : fault;
  }
  return nullptr;
}

// Never closed: the driver has threads and exit handlers of its own.
void* openDriver(const std::string& named) {
  std::string reason;
  if (!named.empty()) {
    void* const handle = openFirst({named}, reason);
    TK_REQUIRE(handle != nullptr, Unsupported, "the CUDA driver '{}' cannot be loaded: {}", named, reason);
    return handle;
  }
  if (void* const loaded = dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr) return loaded;
  void* const handle = openFirst(candidates(), reason);
  TK_REQUIRE(handle != nullptr, Unsupported, "there is no CUDA driver: {} (searched: {})", reason,
             joined(candidates()));
  return handle;
}

template <class Function>
void resolve(void* handle, const DriverLibrary& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  TK_REQUIRE(function != nullptr, Unsupported, "'{}' is no CUDA driver of version {}.{} or later: it has no {}",
             library.path, kOldestVersion / 1000, kOldestVersion % 1000 / 10, name);
}

// The entry names carry the version of their interface.
void resolveAll(void* handle, DriverLibrary& l) {
  const auto get = [&](const char* name, auto& function) { resolve(handle, l, name, function); };
  get("cuGetErrorName", l.error_name);
  get("cuGetErrorString", l.error_string);
  get("cuDeviceGetCount", l.device_count);
  get("cuDeviceGet", l.device_get);
  get("cuDeviceGetName", l.device_name);
  get("cuDeviceGetAttribute", l.device_attribute);
  get("cuDeviceTotalMem_v2", l.device_memory);
  get("cuDevicePrimaryCtxRetain", l.primary_retain);
  get("cuDevicePrimaryCtxRelease_v2", l.primary_release);
  get("cuDevicePrimaryCtxGetState", l.primary_state);
  get("cuCtxGetCurrent", l.context_get);
  get("cuCtxSetCurrent", l.context_set);
  get("cuCtxPushCurrent_v2", l.context_push);
  get("cuCtxPopCurrent_v2", l.context_pop);
  get("cuMemAlloc_v2", l.memory_allocate);
  get("cuMemFree_v2", l.memory_free);
  get("cuMemHostAlloc", l.host_allocate);
  get("cuMemFreeHost", l.host_free);
  get("cuPointerGetAttribute", l.pointer_attribute);
  get("cuMemGetAddressRange_v2", l.address_range);
  get("cuMemcpyAsync", l.copy_async);
  get("cuMemsetD8Async", l.fill_async);
  get("cuDeviceCanAccessPeer", l.peer_possible);
  get("cuCtxEnablePeerAccess", l.peer_enable);
  get("cuIpcGetMemHandle", l.handle_get);
  get("cuIpcOpenMemHandle_v2", l.handle_open);
  get("cuIpcCloseMemHandle", l.handle_close);
  get("cuCtxGetStreamPriorityRange", l.stream_priorities);
  get("cuStreamCreateWithPriority", l.stream_create_with);
  get("cuStreamCreate", l.stream_create);
  get("cuStreamDestroy_v2", l.stream_destroy);
  get("cuStreamSynchronize", l.stream_synchronize);
  get("cuStreamWaitEvent", l.stream_wait_event);
  get("cuStreamWriteValue64_v2", l.stream_write_value);
  get("cuStreamWaitValue64_v2", l.stream_wait_value);
  get("cuStreamBeginCapture_v2", l.capture_begin);
  get("cuStreamEndCapture", l.capture_end);
  get("cuStreamIsCapturing", l.capture_status);
  get("cuStreamGetCaptureInfo_v2", l.capture_info);
  get("cuThreadExchangeStreamCaptureMode", l.capture_mode);
  get("cuGraphDestroy", l.graph_destroy);
  get("cuGraphInstantiateWithFlags", l.graph_instantiate);
  get("cuGraphExecDestroy", l.graph_exec_destroy);
  get("cuGraphLaunch", l.graph_launch);
  get("cuGraphExecKernelNodeSetParams_v2", l.graph_set_kernel);
  get("cuUserObjectCreate", l.user_object_create);
  get("cuGraphRetainUserObject", l.graph_retain);
  get("cuEventCreate", l.event_create);
  get("cuEventDestroy_v2", l.event_destroy);
  get("cuEventRecord", l.event_record);
  get("cuEventQuery", l.event_query);
  get("cuEventSynchronize", l.event_synchronize);
  get("cuEventElapsedTime", l.event_elapsed);
  get("cuModuleLoadData", l.module_load);
  get("cuModuleUnload", l.module_unload);
  get("cuModuleGetFunction", l.module_function);
  get("cuFuncGetAttribute", l.function_get);
  get("cuFuncSetAttribute", l.function_set);
  get("cuLaunchKernelEx", l.launch);
}

void requireVersion(const DriverLibrary& library) {
  int version = 0;
  const driver::Result status = library.driver_version(&version);
  TK_REQUIRE(status == driver::kSuccess && version >= kOldestVersion, Unsupported,
             "the driver '{}' supports CUDA {}.{}; {}.{} or later is needed", library.path, version / 1000,
             version % 1000 / 10, kOldestVersion / 1000, kOldestVersion % 1000 / 10);
}

std::unique_ptr<DriverLibrary> load(const std::string& named) {
  void* const handle = openDriver(named);
  auto library = std::make_unique<DriverLibrary>();
  library->path = named.empty() ? kName : named;
  resolve(handle, *library, "cuDriverGetVersion", library->driver_version);
  resolve(handle, *library, "cuInit", library->init);
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(library->init), &info) != 0 && info.dli_fname != nullptr)
    library->path = info.dli_fname;
  requireVersion(*library);  // an old driver lacks functions, and its version says more than their names
  resolveAll(handle, *library);
  return library;
}

const DriverLibrary* loadOnce(const std::string& named) {
  static std::mutex mutex;
  // Never destroyed: threads may use it while the process exits.
  static auto& loaded = *new std::map<std::string, std::unique_ptr<DriverLibrary>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<DriverLibrary>& library = loaded[named];
  if (library == nullptr) library = load(named);
  return library.get();
}

}  // namespace

const DriverLibrary& DriverLibrary::start(const std::string& named) {
  const char* const given = std::getenv("TOKAMAK_CUDA_DRIVER");
  const DriverLibrary& library = *loadOnce(named.empty() && given != nullptr ? given : named);
  requireVersion(library);
  const driver::Result status = library.init(0);
  TK_REQUIRE(status == driver::kSuccess, Unsupported, "the CUDA driver does not start: {}", library.describe(status));
  int count = 0;
  const driver::Result counted = library.device_count(&count);
  TK_REQUIRE(counted == driver::kSuccess, Unsupported, "the CUDA driver does not count its devices: {}",
             library.describe(counted));
  TK_REQUIRE(count > 0, Unsupported, "the CUDA driver sees no device");
  return library;
}

std::string DriverLibrary::describe(driver::Result status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(status, &name) != driver::kSuccess || name == nullptr) return fmt::format("error {}", status);
  if (error_string(status, &text) != driver::kSuccess || text == nullptr) text = "no text";
  return fmt::format("{} ({}): {}", name, status, text);
}

}  // namespace tokamak
