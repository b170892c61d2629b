#include "runtime/cuda/cuda_timer.h"

namespace tokamak {

/// Recorded where it is launched.
class CudaTimer::Stamp final : public CudaWork {
 public:
  explicit Stamp(std::shared_ptr<DriverContext> context) : context_(std::move(context)) {
    const CurrentContext current(*context_);
    context_->check(context_->driver().event_create(&event_, driver::kEventTiming), "making a timer");
  }
  Stamp(const Stamp&) = delete;
  Stamp& operator=(const Stamp&) = delete;
  ~Stamp() override {
    context_->quietly([&](const DriverLibrary& driver) { driver.event_destroy(event_); });
  }

  std::string_view name() const override { return "timer"; }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const>) const override {
    context.check(context.driver().event_record(event_, stream), "recording a timer");
  }
  driver::Event event() const { return event_; }

 private:
  std::shared_ptr<DriverContext> context_;
  driver::Event event_ = nullptr;
};

CudaTimer::CudaTimer(CudaDevice& device)
    : device_(device),
      start_(std::make_unique<Stamp>(device.context())),
      stop_(std::make_unique<Stamp>(device.context())) {}

CudaTimer::~CudaTimer() = default;

void CudaTimer::start(Stream& stream) { device_.launch(stream, *start_, {}); }
void CudaTimer::stop(Stream& stream) { device_.launch(stream, *stop_, {}); }

double CudaTimer::microseconds() {
  DriverContext& context = *device_.context();
  const CurrentContext current(context);
  context.check(context.driver().event_synchronize(stop_->event()), "waiting for a timer");
  float milliseconds = 0;
  context.check(context.driver().event_elapsed(&milliseconds, start_->event(), stop_->event()), "reading a timer");
  return 1000.0 * static_cast<double>(milliseconds);
}

}  // namespace tokamak
