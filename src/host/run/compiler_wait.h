// CompilerWait: one call's interest in the kernels of its plan while compilers make them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/compilation.h"
#include "device/prepare_options.h"
#include "host/check/step_list.h"

namespace tokamak {

/// From its making on the call wants all kernels. Those that it has not waited for when it is destroyed it gives up.
/// Thread safety: one thread at a time.
class CompilerWait {
 public:
  explicit CompilerWait(const StepList& list);
  CompilerWait(const CompilerWait&) = delete;
  CompilerWait& operator=(const CompilerWait&) = delete;
  ~CompilerWait();

  /// Returns when no launch of the list's steps has to wait for a compiler. The first failure in the order of the steps
  /// is raised at once; compilers of others go on.
  /// Errors: Cancelled; those of compilers; what the progress function raises.
  void wait(const PrepareOptions& options);

 private:
  void waitFor(Compilation& compilation, const PrepareOptions& options);
  void tellProgress(const PrepareOptions& options);

  const StepList& list_;
  std::vector<std::shared_ptr<Compilation>> wanted_;  // each once
  int64_t told_ = -1;
  bool gives_up_ = true;
};

/// Errors: Cancelled where the caller asked for it.
void requireNotCancelled(const std::stop_token& cancel);

}  // namespace tokamak
