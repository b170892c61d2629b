#include "runtime/cuda/cuda_point.h"

#include <mutex>

namespace tokamak {

CudaPointRef::~CudaPointRef() {
  if (point_ != nullptr && point_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) point_->pool->giveBack(*point_);
}

// An event that is destroyed before its point was reached is the driver's to clean up.
CudaPointPool::~CudaPointPool() {
  context_.quietly([&](const DriverLibrary& driver) {
    for (const auto& point : points_) driver.event_destroy(point->event);
  });
}

CudaPointRef CudaPointPool::take() {
  {
    const std::lock_guard lock(lock_);
    if (!unused_.empty()) {
      CudaPoint* const point = unused_.back();
      unused_.pop_back();
      return CudaPointRef(point);
    }
  }
  auto made = std::make_unique<CudaPoint>();
  made->pool = this;
  {
    const CurrentContext current(context_);
    context_.check(context_.driver().event_create(&made->event, driver::kEventDisableTiming), "{}: creating an event",
                   context_.name());
  }
  const std::lock_guard lock(lock_);
  unused_.reserve(points_.size() + 1);  // so that giving back needs no memory
  return CudaPointRef(points_.emplace_back(std::move(made)).get());
}

void CudaPointPool::giveBack(CudaPoint& point) {
  point.failure = nullptr;
  point.queue = nullptr;
  point.is_issued.store(false, std::memory_order_relaxed);
  point.is_told.store(false, std::memory_order_relaxed);
  const std::lock_guard lock(lock_);
  unused_.push_back(&point);
}

}  // namespace tokamak
