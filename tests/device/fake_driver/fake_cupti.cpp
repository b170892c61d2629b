// CUPTI's activity records of what the fake driver's streams run; nothing where its header was not there. As strict as
// the real one where that matters: labels are told only while the driver's calls are recorded, records come in buffers
// of the caller's, and its clock is its own.
#include "fake_cupti.h"

#ifdef TOKAMAK_HAS_CUPTI

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <cupti.h>

#include "fake_settings.h"

namespace {

constexpr uint64_t kClockOffset = 1'700'000'000'000'000'000;  // the real one counts from 1970

struct Record {
  CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_INVALID;
  uint32_t call = 0;
  uint64_t label = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct State {
  std::mutex mutex;
  std::set<int> kinds;
  std::vector<Record> records;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  uint32_t calls = 0;
};

// Streams may run while the process ends.
State& state() {
  static State& made = *new State;
  return made;
}

thread_local std::vector<uint64_t> labels;

uint64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return kClockOffset + static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

CUpti_ActivityKind kindOf(fake::Activity activity) {
  switch (activity) {
    case fake::Activity::Kernel: return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case fake::Activity::Copy: return CUPTI_ACTIVITY_KIND_MEMCPY;
    case fake::Activity::Fill: return CUPTI_ACTIVITY_KIND_MEMSET;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

// The bytes of a record as the library writes it; all that nobody reads is 0xFF.
template <class Made>
std::vector<uint8_t> bytesOf(const Record& record) {
  Made made;
  std::memset(&made, 0xFF, sizeof made);
  made.kind = record.kind;
  made.correlationId = record.call;
  if constexpr (requires { made.externalId; }) {
    made.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    made.externalId = record.label;
  } else {
    made.start = record.begin;
    made.end = record.end;
  }
  const auto* const first = reinterpret_cast<const uint8_t*>(&made);
  return {first, first + sizeof made};
}

std::vector<uint8_t> bytesOf(const Record& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return bytesOf<CUpti_ActivityExternalCorrelation>(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return bytesOf<TOKAMAK_CUPTI_MEMCPY>(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return bytesOf<TOKAMAK_CUPTI_MEMCPYPTOP>(record);
    case CUPTI_ACTIVITY_KIND_MEMSET: return bytesOf<TOKAMAK_CUPTI_MEMSET>(record);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return bytesOf<CUpti_ActivityAPI>(record);
    default: return bytesOf<TOKAMAK_CUPTI_KERNEL>(record);
  }
}

CUptiResult faultOf(const char* function) { return static_cast<CUptiResult>(fake::faultOf(function)); }

size_t bytesOfKind(CUpti_ActivityKind kind) { return bytesOf({.kind = kind}).size(); }

}  // namespace

std::function<void()> fake::watched(Activity activity, std::function<void()> work) {
  const CUpti_ActivityKind kind = kindOf(activity);
  uint32_t call = 0;
  {
    const std::lock_guard lock(state().mutex);
    call = ++state().calls;
    const bool tells_labels = state().kinds.contains(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) &&
                              state().kinds.contains(CUPTI_ACTIVITY_KIND_DRIVER);
    if (tells_labels && !labels.empty())
      state().records.push_back(
          {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, .call = call, .label = labels.back()});
    if (!state().kinds.contains(kind)) return work;
  }
  return [=, work = std::move(work)] {
    const uint64_t begin = now();
    work();
    const uint64_t end = now();
    const std::lock_guard lock(state().mutex);
    state().records.push_back({.kind = kind, .call = call, .begin = begin, .end = end});
  };
}

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION + (fake::settings().cupti_is_newer ? 1U : 0U);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_NOT_INITIALIZED ? "CUPTI_ERROR_NOT_INITIALIZED" : nullptr;
  return *text == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = now();
  return faultOf("cuptiGetTimestamp");
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(state().mutex);
  state().request = request;
  state().complete = complete;
  return faultOf("cuptiActivityRegisterCallbacks");
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (const CUptiResult fault = faultOf("cuptiActivityEnable"); fault != CUPTI_SUCCESS) return fault;
  const std::lock_guard lock(state().mutex);
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  return CUPTI_SUCCESS;
}

// Buffers of which only the first 4 KiB are used, so that there are several.
CUptiResult cuptiActivityFlushAll(uint32_t) {
  std::vector<Record> records;
  {
    const std::lock_guard lock(state().mutex);
    records.swap(state().records);
  }
  for (auto next = records.begin(); next != records.end();) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0;
    size_t most_records = 0;
    state().request(&buffer, &bytes, &most_records);
    if (buffer == nullptr) return CUPTI_ERROR_OUT_OF_MEMORY;
    size_t used = 0;
    for (; next != records.end(); ++next) {
      const std::vector<uint8_t> record = bytesOf(*next);
      if (used + record.size() > std::min<size_t>(bytes, 4096)) break;
      std::memcpy(buffer + used, record.data(), record.size());
      used += record.size();
    }
    state().complete(nullptr, 0, buffer, bytes, used);
  }
  return faultOf("cuptiActivityFlushAll");
}

// `record`: null, or the one before.
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  auto* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + bytesOfKind((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return CUPTI_ERROR_INVALID_PARAMETER;
  if (const CUptiResult fault = faultOf("cuptiActivityPushExternalCorrelationId"); fault != CUPTI_SUCCESS) return fault;
  labels.push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  if (labels.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *last = labels.back();
  labels.pop_back();
  return CUPTI_SUCCESS;
}

}  // extern "C"

#else

std::function<void()> fake::watched(Activity, std::function<void()> work) { return work; }

#endif
