#include "base/profiler_range.h"

#ifdef TOKAMAK_HAS_NVTX
#include <string>

#include <nvtx3/nvToolsExt.h>
#endif

namespace tokamak {

#ifdef TOKAMAK_HAS_NVTX

namespace {

// NVTX looks for a profiler at its first call in a process; without one all its handles are null.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("tokamak");
  return made;
}

const void* tell(std::string_view text) {
  return domain() == nullptr ? nullptr : nvtxDomainRegisterStringA(domain(), std::string(text).c_str());
}

}  // namespace

RangeName::RangeName(std::string_view text) : handle_(tell(text)) {
  if (handle_ == nullptr) handle_ = &kUnheard;
}

void Range::open(const void* name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = static_cast<nvtxStringHandle_t>(const_cast<void*>(name));
  nvtxDomainRangePushEx(domain(), &attributes);
}

void Range::close() { nvtxDomainRangePop(domain()); }

std::string_view describeRanges() { return "NVTX 3, domain tokamak"; }

#else

RangeName::RangeName(std::string_view /*text*/) : handle_(&kUnheard) {}
void Range::open(const void* /*name*/) {}
void Range::close() {}
std::string_view describeRanges() { return "none (built without nvtx3/nvToolsExt.h)"; }

#endif

}  // namespace tokamak
