#include "device/planning_device.h"

#include "graph/product_group.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

PlanningDevice::PlanningDevice(const KernelTarget& target)
    : target_(target),
      properties_({.name = "planning",
                   .description = "no device",
                   .memory_bytes = INT64_MAX,
                   .host_reads_device_memory = target.kind == TargetKind::Cpu,
                   .takes_parameters = true,
                   .activates_products = target.kind == TargetKind::Cuda,
                   .has_copy_engines = target.kind == TargetKind::Cuda}) {}

std::unique_ptr<Stream> PlanningDevice::makeStream() { return std::make_unique<Stream>(); }
std::unique_ptr<Event> PlanningDevice::createEvent() { return std::make_unique<Event>(); }

void* PlanningDevice::allocate(int64_t bytes, MemoryKind, Stream&) {
  constexpr uintptr_t kAlignment = 256;
  const uintptr_t address = next_;
  next_ += (static_cast<uintptr_t>(bytes) / kAlignment + 1) * kAlignment;
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): never followed
}

bool PlanningDevice::isLibraryCall(const WorkRequest& request) const {
  const auto* post = request.expr.as<PostOnStream>();
  return request.expr.info().is_library || (post != nullptr && productGroupOf(*post->segment));
}

}  // namespace tokamak
