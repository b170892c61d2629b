#include "jit/kernel_collector.h"

#include "device/work.h"

namespace tokamak {

KernelCollector::KernelCollector(const KernelTarget& target, std::function<void(const PreparedKernel&)> take,
                                 KernelPassOptions passes, KernelObserver* observer)
    : PlanningDevice(target),
      library_({.target = target,
                .indices = indicesFor(target),
                .compile =
                    [this](const KernelCode&) {
                      ++codes_made_;
                      return nullptr;
                    },
                .passes = std::move(passes),
                .observer = observer}),
      take_(std::move(take)) {}

std::shared_ptr<const Work> KernelCollector::prepare(const WorkRequest& request) {
  if (isLibraryCall(request)) return std::make_shared<const Work>();
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
