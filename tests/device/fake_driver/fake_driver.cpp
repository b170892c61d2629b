// A CUDA driver without a GPU: the functions that Tokamak's CUDA device calls, on host memory, with a thread per
// stream. It is as strict as the real one where that matters: contexts have to be current, device memory has to be
// allocated, a lost context stays lost.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fake_cupti.h"
#include "fake_graph.h"
#include "fake_kernels.h"
#include "fake_memory.h"
#include "fake_settings.h"
#include "fake_stream.h"

namespace {

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;
constexpr int kInvalidHandle = 400;
constexpr int kNotFound = 500;
constexpr int kNotReady = 600;
constexpr int kPeerAccessAlreadyEnabled = 704;
constexpr int kCaptureUnsupported = 900;
constexpr int kCapturedEvent = 907;

const std::map<int, std::pair<const char*, const char*>> kErrors = {
    {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
    {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
    {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {704, {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"}},
};

using fake::kMostDevices;
fake::Context contexts[kMostDevices];
std::mutex contexts_mutex;
thread_local std::vector<fake::Context*> current;
std::atomic<int64_t> live_objects = 0;

// The fault that was asked for, a missing context, or the error that the context has.
int statusOf(const char* function) {
  if (const int fault = fake::faultOf(function); fault != 0) return fault;
  if (current.empty() || current.back() == nullptr || current.back()->users == 0) return kInvalidContext;
  return current.back()->lost.load();
}

// Whether somebody's capture forbids the calling thread what it is about to do.
bool isForbiddenByCapture() { return fake::captureMode() != 2 && fake::strictCaptures() > 0; }

#define TK_FAKE_CHECK(function)                                            \
  do {                                                                     \
    if (const int fault_ = statusOf(function); fault_ != 0) return fault_; \
  } while (false)

template <class T>
T* as(void* handle) {
  return static_cast<T*>(handle);
}

using fake::streamOf;

struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void* stream;
  const void* attributes;
  uint32_t attribute_count;
};

struct MemoryHandle {
  char bytes[64];
};
static_assert(sizeof(fake::Handle) <= sizeof(MemoryHandle));

struct KernelNode {
  void* function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;
  void* context;
};

std::atomic<int64_t> graph_launches = 0;
std::atomic<int64_t> graph_updates = 0;
std::atomic<int64_t> event_queries = 0;

fake::Launch launchOf(const LaunchConfig& config, const fake::Function& code, void* const* arguments) {
  fake::Launch launch;
  std::copy_n(config.grid, 3, launch.grid);
  std::copy_n(config.block, 3, launch.block);
  launch.shared_bytes = config.shared_bytes;
  for (size_t i = 0; i < code.argument_bytes.size(); ++i) {
    const auto* const bytes = static_cast<const std::byte*>(arguments[i]);
    launch.arguments.emplace_back(bytes, bytes + code.argument_bytes[i]);
  }
  return launch;
}

// Flags are written where the context reaches: its own device's memory, pinned memory, what it has opened, and that of
// devices whose access it has enabled.
bool isReached(uint64_t address) {
  const auto facts = fake::factsOf(address);
  if (!facts || facts->type != fake::kDeviceType || facts->is_imported) return true;
  return facts->device == current.back()->device || current.back()->peers[facts->device].load();
}

uint64_t loadFlag(uint64_t address) {
  return std::atomic_ref(*std::bit_cast<uint64_t*>(address)).load(std::memory_order_acquire);
}

}  // namespace

// A real driver ends the process at a stream that was destroyed, too, but not always.
fake::Stream* fake::streamOf(void* stream) {
  if (stream != nullptr && !Stream::isLive(stream)) {
    std::fputs("the fake driver: a stream that was destroyed\n", stderr);
    std::abort();
  }
  if (stream != nullptr) return as<fake::Stream>(stream);
  fake::Context& context = *current.back();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (context.default_stream == nullptr) context.default_stream = std::make_shared<fake::Stream>(context);
  return context.default_stream.get();
}

// NOLINTBEGIN(readability-identifier-naming): the names are the driver's
extern "C" {

int64_t fakeCudaLiveObjects() { return live_objects.load() + fake::liveAllocations(); }

int64_t fakeCudaGraphLaunches() { return graph_launches.load(); }
int64_t fakeCudaGraphUpdates() { return graph_updates.load(); }
int64_t fakeCudaEventQueries() { return event_queries.load(); }

int cuDriverGetVersion(int* version) {
  fake::readSettings();
  *version = fake::settings().version;
  return 0;
}

int cuInit(unsigned) {
  fake::readSettings();
  return fake::faultOf("cuInit");
}

int cuGetErrorName(int status, const char** text) {
  const auto found = kErrors.find(status);
  *text = found == kErrors.end() ? nullptr : found->second.first;
  return found == kErrors.end() ? kInvalidValue : 0;
}

int cuGetErrorString(int status, const char** text) {
  const auto found = kErrors.find(status);
  *text = found == kErrors.end() ? nullptr : found->second.second;
  return found == kErrors.end() ? kInvalidValue : 0;
}

int cuDeviceGetCount(int* count) {
  *count = fake::settings().devices;
  return fake::faultOf("cuDeviceGetCount");
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < 0 || ordinal >= std::min(fake::settings().devices, kMostDevices) ? kInvalidDevice : 0;
}

int cuDeviceGetName(char* text, int bytes, int) {
  std::strncpy(text, "Fake GPU", static_cast<size_t>(bytes));
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> kValues = {
      {1, 1024},    {8, 49152},  {10, 32}, {16, 4},      {38, 1 << 20}, {39, 2048},  {41, 1},  {75, 9}, {76, 0},
      {81, 233472}, {82, 65536}, {95, 1},  {97, 232448}, {106, 32},     {111, 1024}, {120, 1}, {122, 1}};
  const auto found = kValues.find(attribute);
  if (found == kValues.end()) return kInvalidValue;
  const auto asked = fake::settings().attributes.find(attribute);
  *value = asked != fake::settings().attributes.end() ? asked->second : found->second;
  if (attribute == fake::settings().lacks) *value = 0;
  return fake::faultOf("cuDeviceGetAttribute");
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = static_cast<size_t>(fake::settings().memory);
  return fake::faultOf("cuDeviceTotalMem_v2");
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  const std::lock_guard lock(contexts_mutex);
  if (contexts[device].users++ == 0) contexts[device].device = device;
  *context = &contexts[device];
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard lock(contexts_mutex);
  if (contexts[device].users == 0) return kInvalidContext;
  if (--contexts[device].users > 0) return 0;
  contexts[device].lost.store(0);
  contexts[device].default_stream = nullptr;
  for (auto& peer : contexts[device].peers) peer.store(false);
  return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  const std::lock_guard lock(contexts_mutex);
  *flags = 0;
  *is_active = contexts[device].users > 0 ? 1 : 0;
  return 0;
}

int cuCtxGetCurrent(void** context) {
  *context = current.empty() ? nullptr : current.back();
  return fake::faultOf("cuCtxGetCurrent");
}

int cuCtxSetCurrent(void* context) {
  if (current.empty()) current.push_back(nullptr);
  current.back() = as<fake::Context>(context);
  return 0;
}

int cuCtxPushCurrent_v2(void* context) {
  current.push_back(as<fake::Context>(context));
  return 0;
}

int cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return 0;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  TK_FAKE_CHECK("cuMemAlloc_v2");
  if (isForbiddenByCapture()) return kCaptureUnsupported;
  if (bytes == 0) return kInvalidValue;
  *address = fake::allocateDevice(bytes, fake::settings().memory, current.back()->device);
  return *address == 0 ? kOutOfMemory : 0;
}

int cuMemFree_v2(uint64_t address) {
  const bool is_released = fake::release(address, fake::kDeviceType);
  TK_FAKE_CHECK("cuMemFree_v2");
  return is_released ? 0 : kInvalidValue;
}

int cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  TK_FAKE_CHECK("cuMemHostAlloc");
  if (isForbiddenByCapture()) return kCaptureUnsupported;
  *address = fake::allocatePinned(bytes);
  return *address == nullptr ? kOutOfMemory : 0;
}

int cuMemFreeHost(void* address) {
  const bool is_released = fake::release(reinterpret_cast<uint64_t>(address), fake::kHostType);
  TK_FAKE_CHECK("cuMemFreeHost");
  return is_released ? 0 : kInvalidValue;
}

int cuPointerGetAttribute(void* value, int attribute, uint64_t address) {
  TK_FAKE_CHECK("cuPointerGetAttribute");
  const unsigned type = fake::typeOf(address);
  if (type == 0) return kInvalidValue;
  if (attribute == 2) *static_cast<unsigned*>(value) = type;
  if (attribute == 3) *static_cast<uint64_t*>(value) = address;
  if (attribute == 7) *static_cast<uint64_t*>(value) = fake::factsOf(address)->number;
  if (attribute == 8) *static_cast<unsigned*>(value) = 0;
  if (attribute == 9) *static_cast<int*>(value) = 0;  // all memory is the first device's
  return 0;
}

int cuMemGetAddressRange_v2(uint64_t* base, size_t* bytes, uint64_t address) {
  TK_FAKE_CHECK("cuMemGetAddressRange_v2");
  const auto facts = fake::factsOf(address);
  if (!facts) return kInvalidValue;
  *base = facts->base;
  *bytes = facts->bytes;
  return 0;
}

int cuDeviceCanAccessPeer(int* is_possible, int device, int peer) {
  if (const int fault = fake::faultOf("cuDeviceCanAccessPeer"); fault != 0) return fault;
  *is_possible = device != peer && fake::settings().has_peers ? 1 : 0;
  return 0;
}

int cuCtxEnablePeerAccess(void* peer, unsigned) {
  TK_FAKE_CHECK("cuCtxEnablePeerAccess");
  if (!fake::settings().has_peers) return kInvalidDevice;
  return current.back()->peers[as<fake::Context>(peer)->device].exchange(true) ? kPeerAccessAlreadyEnabled : 0;
}

int cuIpcGetMemHandle(MemoryHandle* handle, uint64_t base) {
  TK_FAKE_CHECK("cuIpcGetMemHandle");
  fake::Handle made;
  if (!fake::exportMemory(base, made)) return kInvalidValue;
  std::memcpy(handle->bytes, &made, sizeof(made));
  return 0;
}

int cuIpcOpenMemHandle_v2(uint64_t* base, MemoryHandle handle, unsigned) {
  TK_FAKE_CHECK("cuIpcOpenMemHandle_v2");
  fake::Handle theirs;
  std::memcpy(&theirs, handle.bytes, sizeof(theirs));
  *base = fake::importMemory(theirs);
  return *base == 0 ? kInvalidContext : 0;
}

int cuIpcCloseMemHandle(uint64_t base) {
  TK_FAKE_CHECK("cuIpcCloseMemHandle");
  return fake::closeImported(base) ? 0 : kInvalidValue;
}

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  TK_FAKE_CHECK("cuCtxGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return 0;
}

int cuStreamCreateWithPriority(void** stream, unsigned, int) {
  TK_FAKE_CHECK("cuStreamCreateWithPriority");
  *stream = new fake::Stream(*current.back());
  ++live_objects;
  return 0;
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  TK_FAKE_CHECK("cuMemcpyAsync");
  if (!fake::isLegal(to, bytes, true) || !fake::isLegal(from, bytes, true)) return kInvalidValue;
  const auto move = [=] { std::memmove(std::bit_cast<void*>(to), std::bit_cast<const void*>(from), bytes); };
  streamOf(stream)->push(fake::watched(fake::Activity::Copy, move));
  // As the real one: copies to pageable memory are over when the call returns.
  if (fake::typeOf(to) == 0) streamOf(stream)->synchronize();
  return current.back()->lost.load();
}

int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, void* stream) {
  TK_FAKE_CHECK("cuMemsetD8Async");
  if (!fake::isLegal(to, bytes, false)) return kInvalidValue;
  const auto set = [=] { std::memset(std::bit_cast<void*>(to), byte, bytes); };
  streamOf(stream)->push(fake::watched(fake::Activity::Fill, set));
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  TK_FAKE_CHECK("cuStreamCreate");
  *stream = new fake::Stream(*current.back());
  ++live_objects;
  return 0;
}

int cuStreamDestroy_v2(void* stream) {
  delete as<fake::Stream>(stream);
  --live_objects;
  return 0;
}

int cuStreamSynchronize(void* stream) {
  TK_FAKE_CHECK("cuStreamSynchronize");
  if (const auto captured = fake::captureOf(*streamOf(stream)); captured != nullptr) {
    const std::lock_guard lock(fake::captureMutex());
    captured->is_invalid = true;
    return kCaptureUnsupported;
  }
  if (isForbiddenByCapture()) return kCaptureUnsupported;
  streamOf(stream)->synchronize();
  return current.back()->lost.load();
}

int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  TK_FAKE_CHECK("cuStreamWaitEvent");
  std::shared_ptr<fake::Completion> point;
  std::shared_ptr<fake::Capture> of_event;
  fake::Tail tail;
  {
    const std::lock_guard lock(as<fake::Event>(event)->mutex);
    point = as<fake::Event>(event)->recorded;
    of_event = as<fake::Event>(event)->captured;
    tail = as<fake::Event>(event)->tail;
  }
  bool is_captured = false;
  const int status = fake::captureWait(*streamOf(stream), of_event, tail, is_captured);
  if (status != 0 || is_captured) return status;
  if (point != nullptr) streamOf(stream)->push([point] { point->wait(); });
  return 0;
}

int cuStreamBeginCapture_v2(void* stream, int mode) {
  TK_FAKE_CHECK("cuStreamBeginCapture_v2");
  return fake::beginCapture(*streamOf(stream), mode);
}

int cuStreamEndCapture(void* stream, void** graph) {
  TK_FAKE_CHECK("cuStreamEndCapture");
  fake::Graph* made = nullptr;
  const int status = fake::endCapture(*streamOf(stream), &made);
  *graph = made;
  if (made != nullptr) ++live_objects;
  return status;
}

int cuStreamIsCapturing(void* stream, int* status) {
  TK_FAKE_CHECK("cuStreamIsCapturing");
  *status = fake::captureOf(*streamOf(stream)) == nullptr ? 0 : 1;
  return 0;
}

int cuStreamGetCaptureInfo_v2(void* stream, int* status, uint64_t* id, void** graph, void* const** dependencies,
                              size_t* count) {
  TK_FAKE_CHECK("cuStreamGetCaptureInfo_v2");
  const auto captured = fake::captureOf(*streamOf(stream));
  *status = captured == nullptr ? 0 : 1;
  if (captured == nullptr) return 0;
  const std::lock_guard lock(fake::captureMutex());
  *id = captured->id;
  if (graph != nullptr) *graph = captured->graph.get();
  if (dependencies != nullptr) *dependencies = reinterpret_cast<void* const*>(streamOf(stream)->tail.data());
  if (count != nullptr) *count = streamOf(stream)->tail.size();
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, fake::captureMode());
  return 0;
}

int cuGraphDestroy(void* graph) {
  delete as<fake::Graph>(graph);
  --live_objects;
  return 0;
}

int cuGraphInstantiateWithFlags(void** exec, void* graph, uint64_t) {
  TK_FAKE_CHECK("cuGraphInstantiateWithFlags");
  *exec = fake::instantiate(*as<fake::Graph>(graph)).release();
  ++live_objects;
  return 0;
}

int cuGraphExecDestroy(void* exec) {
  delete as<fake::GraphExec>(exec);
  --live_objects;
  return 0;
}

int cuGraphLaunch(void* exec, void* stream) {
  ++graph_launches;
  TK_FAKE_CHECK("cuGraphLaunch");
  fake::launchGraph(*as<fake::GraphExec>(exec), *streamOf(stream));
  return 0;
}

int cuGraphExecKernelNodeSetParams_v2(void* exec, void* node, const KernelNode* params) {
  ++graph_updates;
  TK_FAKE_CHECK("cuGraphExecKernelNodeSetParams_v2");
  auto& graph = *as<fake::GraphExec>(exec);
  const auto found = graph.numbers.find(as<const fake::Node>(node));
  if (found == graph.numbers.end() || graph.items[found->second].kernel == nullptr) return kInvalidValue;
  const LaunchConfig config = {.grid = {params->grid[0], params->grid[1], params->grid[2]},
                               .block = {params->block[0], params->block[1], params->block[2]},
                               .shared_bytes = params->shared_bytes};
  const auto& code = *as<fake::Function>(params->function);
  graph.items[found->second].kernel = code.kernel;
  graph.items[found->second].launch = std::make_shared<const fake::Launch>(launchOf(config, code, params->arguments));
  return 0;
}

int cuUserObjectCreate(void** object, void* data, void (*destroy)(void*), unsigned, unsigned flags) {
  TK_FAKE_CHECK("cuUserObjectCreate");
  if (flags != 1) return kInvalidValue;
  *object = new std::shared_ptr<fake::UserObject>(new fake::UserObject{data, destroy});
  return 0;
}

int cuGraphRetainUserObject(void* graph, void* object, unsigned, unsigned flags) {
  TK_FAKE_CHECK("cuGraphRetainUserObject");
  if (flags != 1) return kInvalidValue;
  auto* const moved = as<std::shared_ptr<fake::UserObject>>(object);
  as<fake::Graph>(graph)->kept.push_back(std::move(*moved));
  delete moved;
  return 0;
}

int cuStreamWriteValue64_v2(void* stream, uint64_t address, uint64_t value, unsigned) {
  TK_FAKE_CHECK("cuStreamWriteValue64_v2");
  if (!fake::isLegal(address, 8, false) || !isReached(address)) return kInvalidValue;
  streamOf(stream)->push(
      [=] { std::atomic_ref(*std::bit_cast<uint64_t*>(address)).store(value, std::memory_order_release); });
  return 0;
}

int cuStreamWaitValue64_v2(void* stream, uint64_t address, uint64_t value, unsigned) {
  TK_FAKE_CHECK("cuStreamWaitValue64_v2");
  if (!fake::isLegal(address, 8, false) || !isReached(address)) return kInvalidValue;
  streamOf(stream)->push([=] {
    while (static_cast<int64_t>(loadFlag(address) - value) < 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
  return 0;
}

int cuEventCreate(void** event, unsigned) {
  TK_FAKE_CHECK("cuEventCreate");
  *event = new fake::Event;
  ++live_objects;
  return 0;
}

int cuEventDestroy_v2(void* event) {
  delete as<fake::Event>(event);
  --live_objects;
  return 0;
}

int cuEventRecord(void* event, void* stream) {
  TK_FAKE_CHECK("cuEventRecord");
  auto& recorded = *as<fake::Event>(event);
  const std::lock_guard lock(recorded.mutex);
  recorded.captured = fake::captureOf(*streamOf(stream));
  if (recorded.captured != nullptr) {
    const std::lock_guard inner(fake::captureMutex());
    recorded.tail = streamOf(stream)->tail;
    return 0;
  }
  recorded.recorded = streamOf(stream)->pushMark();
  return 0;
}

int cuEventQuery(void* event) {
  TK_FAKE_CHECK("cuEventQuery");
  ++event_queries;
  if (isForbiddenByCapture()) return kCaptureUnsupported;
  const std::lock_guard lock(as<fake::Event>(event)->mutex);
  if (as<fake::Event>(event)->captured != nullptr) return kCapturedEvent;
  const auto& point = as<fake::Event>(event)->recorded;
  return point == nullptr || point->isComplete() ? current.back()->lost.load() : kNotReady;
}

int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  TK_FAKE_CHECK("cuEventElapsedTime");
  const auto from = as<fake::Event>(begin)->recorded;
  const auto to = as<fake::Event>(end)->recorded;
  if (from == nullptr || to == nullptr) return kInvalidValue;
  if (!from->isComplete() || !to->isComplete()) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(to->time() - from->time()).count();
  return 0;
}

int cuEventSynchronize(void* event) {
  TK_FAKE_CHECK("cuEventSynchronize");
  std::shared_ptr<fake::Completion> point;
  {
    const std::lock_guard lock(as<fake::Event>(event)->mutex);
    if (as<fake::Event>(event)->captured != nullptr) return kCapturedEvent;
    point = as<fake::Event>(event)->recorded;
  }
  if (point != nullptr) point->wait();
  return current.back()->lost.load();
}

int cuModuleLoadData(void** module, const void* image) {
  TK_FAKE_CHECK("cuModuleLoadData");
  if (isForbiddenByCapture()) return kCaptureUnsupported;
  auto made = std::make_unique<fake::Module>();
  const int status = fake::loadModule(static_cast<const char*>(image), *made);
  if (status != 0) return status;
  *module = made.release();
  ++live_objects;
  return 0;
}

int cuModuleUnload(void* module) {
  delete as<fake::Module>(module);
  --live_objects;
  return statusOf("cuModuleUnload");
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  TK_FAKE_CHECK("cuModuleGetFunction");
  auto& functions = as<fake::Module>(module)->functions;
  const auto found = functions.find(name);
  if (found == functions.end()) return kNotFound;
  *function = &found->second;
  return 0;
}

int cuFuncGetAttribute(int* value, int attribute, void*) {
  TK_FAKE_CHECK("cuFuncGetAttribute");
  static const std::map<int, int> kValues = {{0, 1024}, {1, 128}, {3, 16}, {4, 40}};
  const auto found = kValues.find(attribute);
  *value = found == kValues.end() ? 0 : found->second;
  return 0;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  TK_FAKE_CHECK("cuFuncSetAttribute");
  if (attribute == 8 && value > 232448) return kInvalidValue;
  if (attribute == 8) as<fake::Function>(function)->dynamic_shared_limit = value;
  return 0;
}

int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** arguments, void**) {
  if (fake::settings().ignores_launches) return 0;
  TK_FAKE_CHECK("cuLaunchKernelEx");
  if (function == nullptr) return kInvalidHandle;
  const auto& code = *as<fake::Function>(function);
  const uint64_t blocks = uint64_t{config->grid[0]} * config->grid[1] * config->grid[2];
  const uint64_t threads = uint64_t{config->block[0]} * config->block[1] * config->block[2];
  if (blocks == 0 || threads == 0 || threads > 1024 || config->shared_bytes > code.dynamic_shared_limit)
    return kInvalidValue;
  fake::Launch launch = launchOf(*config, code, arguments);
  auto& stream = *streamOf(config->stream);
  if (fake::capture(stream, {.kernel = code.kernel, .function = &code, .launch = launch})) return 0;
  fake::Context* const context = current.back();
  const auto run = [kernel = code.kernel, launch = std::move(launch), context] {
    if (const int status = kernel(launch); status != 0) context->lost.store(status);
  };
  stream.push(fake::watched(fake::Activity::Kernel, run));
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
