// InFlightCalls: what calls use is held until they are done, and let go by whoever sees first that they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "device/tensor.h"

namespace tokamak {

/// The calls of one device that may be under way. A caller may let go of its tensors as soon as it has enqueued a call;
/// their memory would go back on a stream that knows nothing of the work. Waits for streams and events
/// (Device::synchronize), DlpackExchange::collect() and later calls let go of what is done.
/// Thread safety: any threads may use it side by side. What is held is let go without the lock, on any of them.
class InFlightCalls {
 public:
  struct Call {
    std::shared_ptr<Event> done;
    std::vector<Tensor> tensors;
    std::shared_ptr<void> works;
  };

  /// Calls that end in the order in which they are added. Letting go looks only at the first ones.
  class Sequence {
   public:
    explicit Sequence(InFlightCalls& all);
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;
    ~Sequence();

    /// Lets go of calls before it that are done.
    void add(Call call);
    /// Blocks until all are done, and leaves failures to those who synchronize.
    void waitUntilDone() const;
    /// False when there was nothing.
    bool letGoOfAll();

   private:
    friend class InFlightCalls;
    void takeDone(std::vector<Call>& taken);

    InFlightCalls& all_;
    std::deque<Call> calls_;
  };

  explicit InFlightCalls(Device& device) : device_(device) {}

  /// Costs a look at a counter when nothing is held.
  void letGoOfWhatIsDone() {
    if (count_.load(std::memory_order_relaxed) != 0) letGo();
  }

 private:
  void letGo();

  Device& device_;
  std::atomic<int64_t> count_ = 0;
  std::mutex mutex_;
  std::vector<Sequence*> sequences_;
};

}  // namespace tokamak
