// CallContextPool: the contexts that the calls of one evaluator are enqueued with.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "host/run/call_context.h"

namespace tokamak {

/// Makes contexts as calls need them, up to a number.
/// Thread safety: any threads may use it side by side; a leased context belongs to one.
class CallContextPool {
 public:
  /// `intermediates`: where contexts get memory; null: from the device.
  CallContextPool(Device& device, int64_t most_contexts, int64_t workers_of_each,
                  IntermediateAllocator* intermediates = nullptr)
      : device_(device),
        most_contexts_(most_contexts),
        workers_of_each_(workers_of_each),
        intermediates_(intermediates) {}

  /// A context for the time in which one call is enqueued.
  class Lease {
   public:
    /// For a call on `stream` (null: on the context's own) that reads `inputs`. Waits while all contexts are taken.
    /// Errors: Cancelled.
    Lease(CallContextPool& pool, const Stream* stream, std::span<const Tensor> inputs,
          const std::stop_token& cancel = {})
        : pool_(pool), context_(pool.acquire(stream, inputs, cancel)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.release(context_); }
    CallContext& operator*() const { return context_; }

   private:
    CallContextPool& pool_;
    CallContext& context_;
  };

  /// Gives memory for intermediates back to the device, that of `own` and of every context that is not taken; takes
  /// one after the other, and waits for its last call. False when there was none. The calling thread has `own` by a
  /// lease.
  bool dropMemory(CallContext& own);
  /// For when no context is taken. Asking does not take a failure from those who wait for outputs, as synchronizing
  /// would.
  void waitUntilIdle();
  /// Whether nothing would be waited for.
  bool isIdle() const;

  int64_t size() const;
  int64_t arenaBytes() const;  ///< of all contexts and all kinds of memory

 private:
  struct Slot {
    std::unique_ptr<CallContext> context;
    bool is_taken = false;
  };

  CallContext& acquire(const Stream* stream, std::span<const Tensor> inputs, const std::stop_token& cancel);
  CallContext* choose(const Stream* stream, std::span<const Tensor> inputs);
  void release(CallContext& context);
  bool tryTake(CallContext& context);
  Slot& slotOf(const CallContext& context);

  Device& device_;
  const int64_t most_contexts_;
  const int64_t workers_of_each_;
  IntermediateAllocator* const intermediates_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  ///< the one used last comes first
  std::condition_variable_any is_free_;
};

}  // namespace tokamak
