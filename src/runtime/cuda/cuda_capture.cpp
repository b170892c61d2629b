#include "runtime/cuda/cuda_capture.h"

#include <chrono>
#include <utility>

namespace tokamak {

namespace {

struct Kept {
  std::shared_ptr<CaptureRemains> remains;
  std::shared_ptr<void> used;
};

void destroyKept(void* data) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(data));
  kept->remains->add(std::move(kept->used));
}

}  // namespace

void CaptureRemains::expect() {
  const std::lock_guard lock(mutex_);
  ++expected_;
}

void CaptureRemains::add(std::shared_ptr<void> used) {
  const std::lock_guard lock(mutex_);
  --expected_;
  used_.push_back(std::move(used));
  // Its device is gone: it cannot be given back to anybody.
  if (is_closed_) static_cast<void>(new std::vector<std::shared_ptr<void>>(std::move(used_)));
  changed_.notify_all();
}

void CaptureRemains::letGo() {
  std::vector<std::shared_ptr<void>> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(used_);
}

void CaptureRemains::close() {
  std::vector<std::shared_ptr<void>> gone;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1), [&] { return expected_ == 0; });
  is_closed_ = true;
  gone.swap(used_);
  lock.unlock();
}

void CudaCapture::keep(std::shared_ptr<void> used) {
  const CurrentContext current(context_);
  const DriverLibrary& driver = context_.driver();
  remains_->expect();
  Kept* const kept = std::make_unique<Kept>(Kept{remains_, std::move(used)}).release();
  driver::UserObject object = nullptr;
  const driver::Result made = driver.user_object_create(&object, kept, destroyKept, 1, driver::kNoDestructorSync);
  if (made != driver::kSuccess) destroyKept(kept);  // else it is the object's
  context_.check(made, "{}: holding on to what a capture uses", context_.name());
  context_.check(driver.graph_retain(graph_, object, 1, driver::kRetainMove), "{}: holding on to what a capture uses",
                 context_.name());
}

}  // namespace tokamak
