#include "jit/kernel_collector.h"

#include "graph/product_group.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

KernelCollector::KernelCollector(const KernelTarget& target, std::function<void(const PreparedKernel&)> take,
                                 KernelPassOptions passes, KernelObserver* observer)
    : target_(target),
      library_({.target = target,
                .indices = indicesFor(target),
                .compile =
                    [this](const KernelCode&) {
                      ++codes_made_;
                      return nullptr;
                    },
                .passes = std::move(passes),
                .observer = observer}),
      take_(std::move(take)),
      properties_({.name = "collector",
                   .description = "no device",
                   .memory_bytes = INT64_MAX,
                   .takes_parameters = true,
                   .activates_products = true}) {}

std::unique_ptr<Stream> KernelCollector::makeStream() { return std::make_unique<Stream>(); }
std::unique_ptr<Event> KernelCollector::createEvent() { return std::make_unique<Event>(); }

void* KernelCollector::allocate(int64_t bytes, MemoryKind, Stream&) {
  constexpr uintptr_t kAlignment = 256;
  const uintptr_t address = next_;
  next_ += (static_cast<uintptr_t>(bytes) / kAlignment + 1) * kAlignment;
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): never followed
}

std::shared_ptr<const Work> KernelCollector::prepare(const WorkRequest& request) {
  const auto* post = request.expr.as<PostOnStream>();
  if (request.expr.info().is_library || (post != nullptr && productGroupOf(*post->segment)))
    return std::make_shared<const Work>();
  FoundKernel found = library_.find(request);
  const BoundKernel& bound = *found.bound;
  take_({.kernel = bound.code->kernel,
         .bindings = bound.bindings,
         .elements = bound.elements,
         .operands = std::move(found.operands),
         .name = std::move(found.name)});
  return std::make_shared<const Work>();
}

}  // namespace tokamak
