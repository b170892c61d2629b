#include "host/run/call_context_pool.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace tokamak {

CallContext& CallContextPool::acquire(const Stream* stream, std::span<const Tensor> inputs,
                                      const std::stop_token& cancel) {
  std::unique_lock lock(mutex_);
  CallContext* chosen = nullptr;
  is_free_.wait(lock, cancel, [&] { return (chosen = choose(stream, inputs)) != nullptr; });
  TK_REQUIRE(chosen != nullptr, Cancelled, "the caller cancelled it while other calls made their kernels");
  const auto slot = std::ranges::find(slots_, chosen, [](const Slot& it) { return it.context.get(); });
  slot->is_taken = true;
  std::rotate(slots_.begin(), slot, slot + 1);
  return *chosen;
}

// One whose last call the new one follows anyway, on the same stream or by what it reads; else one that is idle, a new
// one, or the one whose last call is the oldest. Null while all are taken.
CallContext* CallContextPool::choose(const Stream* stream, std::span<const Tensor> inputs) {
  const auto isFollowed = [&](const CallContext& context) {
    if (stream != nullptr) return context.lastStream() == stream;
    const Event* last = context.lastCall();
    return last != nullptr &&
           std::ranges::any_of(inputs, [&](const Tensor& it) { return it.readyEvent().get() == last; });
  };
  for (const Slot& slot : slots_) {
    if (!slot.is_taken && isFollowed(*slot.context)) return slot.context.get();
  }
  for (const Slot& slot : slots_) {
    if (!slot.is_taken && slot.context->isIdle()) return slot.context.get();
  }
  if (static_cast<int64_t>(slots_.size()) < most_contexts_) {
    auto made = std::make_unique<CallContext>(device_, slots_.size(), workers_of_each_, intermediates_);
    return slots_.emplace_back(Slot{.context = std::move(made)}).context.get();
  }
  const auto oldest = std::find_if(slots_.rbegin(), slots_.rend(), [](const Slot& slot) { return !slot.is_taken; });
  return oldest == slots_.rend() ? nullptr : oldest->context.get();
}

void CallContextPool::release(CallContext& context) {
  {
    const std::lock_guard lock(mutex_);
    slotOf(context).is_taken = false;
  }
  is_free_.notify_one();
}

bool CallContextPool::dropMemory(CallContext& own) {
  bool has_dropped = own.dropMemory();
  std::vector<CallContext*> others;
  {
    const std::lock_guard lock(mutex_);
    for (const Slot& slot : slots_) others.push_back(slot.context.get());
  }
  for (CallContext* other : others) {
    if (!tryTake(*other)) continue;
    has_dropped = other->dropMemory() || has_dropped;
    release(*other);
  }
  return has_dropped;
}

bool CallContextPool::tryTake(CallContext& context) {
  const std::lock_guard lock(mutex_);
  return !std::exchange(slotOf(context).is_taken, true);
}

CallContextPool::Slot& CallContextPool::slotOf(const CallContext& context) {
  return *std::ranges::find(slots_, &context, [](const Slot& it) { return it.context.get(); });
}

void CallContextPool::waitUntilIdle() {
  const std::lock_guard lock(mutex_);
  for (const Slot& slot : slots_) slot.context->waitUntilIdle();
}

bool CallContextPool::isIdle() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.context->isIdle(); });
}

int64_t CallContextPool::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(slots_.size());
}

int64_t CallContextPool::arenaBytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const Slot& slot : slots_) bytes += slot.context->arenaBytes();
  return bytes;
}

}  // namespace tokamak
