#include "runtime/cuda/cupti_records.h"

#ifdef TOKAMAK_HAS_CUPTI
#include <cupti.h>

#include "device/work.h"
#endif

namespace tokamak {

#ifdef TOKAMAK_HAS_CUPTI

namespace {

template <class Record>
CuptiRecord workIn(const void* record) {
  const auto& work = *static_cast<const Record*>(record);
  return {.kind = CuptiRecord::Kind::Work, .call = work.correlationId, .begin = work.start, .end = work.end};
}

CuptiRecord labelIn(const void* record) {
  const auto& label = *static_cast<const CUpti_ActivityExternalCorrelation*>(record);
  if (label.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return {};
  return {.kind = CuptiRecord::Kind::Label, .call = label.correlationId, .label = label.externalId};
}

}  // namespace

uint32_t cuptiHeaderVersion() { return CUPTI_API_VERSION; }

// Labels are told of calls only while these are recorded; cuBLASLt's go through the runtime library.
std::span<const int> cuptiKinds() {
  static constexpr int kKinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                   CUPTI_ACTIVITY_KIND_DRIVER,
                                   CUPTI_ACTIVITY_KIND_RUNTIME,
                                   CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                   CUPTI_ACTIVITY_KIND_MEMCPY,
                                   CUPTI_ACTIVITY_KIND_MEMCPY2,
                                   CUPTI_ACTIVITY_KIND_MEMSET};
  return kKinds;
}

size_t cuptiRecordBytes(int kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(TOKAMAK_CUPTI_KERNEL);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(TOKAMAK_CUPTI_MEMCPY);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(TOKAMAK_CUPTI_MEMCPYPTOP);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(TOKAMAK_CUPTI_MEMSET);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    default: return 0;
  }
}

int cuptiLabelKind() { return CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0; }

// The build names the newest structure of each kind that the header has: the library writes that one.
CuptiRecord readCuptiRecord(const void* record) {
  switch (static_cast<const CUpti_Activity*>(record)->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return workIn<TOKAMAK_CUPTI_KERNEL>(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return workIn<TOKAMAK_CUPTI_MEMCPY>(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return workIn<TOKAMAK_CUPTI_MEMCPYPTOP>(record);
    case CUPTI_ACTIVITY_KIND_MEMSET: return workIn<TOKAMAK_CUPTI_MEMSET>(record);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return labelIn(record);
    default: return {};
  }
}

#else

uint32_t cuptiHeaderVersion() { return 0; }
std::span<const int> cuptiKinds() { return {}; }
size_t cuptiRecordBytes(int /*kind*/) { return 0; }
int cuptiLabelKind() { return 0; }
CuptiRecord readCuptiRecord(const void* /*record*/) { return {}; }

#endif

}  // namespace tokamak
