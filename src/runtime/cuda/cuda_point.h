// CudaPoint: a point in a CUDA stream's work, which an event refers to; and the pool of points.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "device/failure.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

class CudaQueue;
class CudaPointPool;

/// The recording stream writes it; others read it once `is_issued`.
struct CudaPoint {
  CudaPointPool* pool = nullptr;
  driver::Event event = nullptr;
  CudaQueue* queue = nullptr;
  uint64_t position = 0;
  std::shared_ptr<AsyncFailure> failure;  ///< of work before the point, or because of which it was skipped; or null
  std::atomic<bool> is_issued = false;    ///< it is recorded in the driver's stream
  std::atomic<bool> is_told = false;      ///< the failure has been reported
  std::atomic<int32_t> users = 0;
};

/// A shared reference to a point; the last one returns it to its pool.
class CudaPointRef {
 public:
  CudaPointRef() = default;
  explicit CudaPointRef(CudaPoint* point) : point_(point) { retain(); }
  CudaPointRef(const CudaPointRef& other) : point_(other.point_) { retain(); }
  CudaPointRef(CudaPointRef&& other) noexcept : point_(std::exchange(other.point_, nullptr)) {}
  CudaPointRef& operator=(CudaPointRef other) noexcept {
    std::swap(point_, other.point_);
    return *this;
  }
  ~CudaPointRef();

  CudaPoint* get() const { return point_; }
  CudaPoint* operator->() const { return point_; }
  explicit operator bool() const { return point_ != nullptr; }

 private:
  void retain() {
    if (point_ != nullptr) point_->users.fetch_add(1, std::memory_order_relaxed);
  }
  CudaPoint* point_ = nullptr;
};

/// Every recording gets a point of its own, so that earlier waits keep theirs. It does not allocate once warm.
class CudaPointPool {
 public:
  explicit CudaPointPool(DriverContext& context) : context_(context) {}
  CudaPointPool(const CudaPointPool&) = delete;
  CudaPointPool& operator=(const CudaPointPool&) = delete;
  ~CudaPointPool();

  CudaPointRef take();
  void giveBack(CudaPoint& point);

 private:
  DriverContext& context_;
  SpinLock lock_;
  std::vector<std::unique_ptr<CudaPoint>> points_;
  std::vector<CudaPoint*> unused_;
};

}  // namespace tokamak
