// Hooks of the interface for C: a caller's functions as what the library calls.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "device/intermediate_allocator.h"
#include "device/output_allocator.h"
#include "device/prepare_options.h"
#include "runtime/cpu/parallel_for.h"
#include "tokamak/c.h"

struct tokamak_cancel {
  std::stop_source stop;
};

namespace tokamak::c {

/// Null for null. Errors: Usage for a struct without functions.
std::shared_ptr<ParallelFor> parallelForOf(const tokamak_parallel_for* given);
std::unique_ptr<OutputAllocator> outputAllocatorOf(const tokamak_allocator* given);
std::unique_ptr<IntermediateAllocator> intermediateAllocatorOf(const tokamak_allocator* given);

/// Whose progress function cancels, too.
/// Thread safety: one thread at a time, that of the call.
class GivenPrepareOptions {
 public:
  /// Errors: Usage; Unsupported.
  explicit GivenPrepareOptions(const tokamak_prepare_options* given);
  const PrepareOptions& options() const { return options_; }

 private:
  PrepareOptions options_;
};

}  // namespace tokamak::c
