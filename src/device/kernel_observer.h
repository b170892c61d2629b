// KernelObserver: is told about every kernel that a device makes ready, and why.
#pragma once

#include <string>
#include <string_view>

#include "base/export.h"

namespace tokamak {

class Fusion;

/// New code for a program.
struct KernelNews {
  std::string program;
  std::string choice;  ///< what the code was made for: constants, layouts, alignment, schedule
  std::string reason;  ///< what differs from the nearest code that was there: "extent i2 was 4096, is 4104"
};

/// Told of kernels as they are made.
/// Thread safety: its functions are called from many threads side by side and have to bear that.
class TOKAMAK_EXPORT KernelObserver {
 public:
  virtual ~KernelObserver();
  /// The scheduled fusion, the kernel's text, and the source text that is compiled (empty where the kernel is
  /// interpreted). May be called from many threads.
  virtual void onKernel(const Fusion& fusion, const std::string& kernel, const std::string& source) = 0;
  /// Before onKernel. May be called from many threads.
  virtual void onChoice(const KernelNews&) {}
  /// A segment or an op that is like one whose kernels are known shares them. May be called from many threads.
  virtual void onShared(const std::string& /*program*/, const std::string& /*known*/) {}
  /// The kernel's text as it was lowered ("lower") and after each pass; asked for by `wantsPasses`.
  virtual void onKernelPass(std::string_view /*pass*/, const std::string& /*kernel*/) {}
  virtual bool wantsPasses() const { return false; }
  /// The device makes no kernels because there is no C compiler, for this reason: segments run op by op, several
  /// times slower. Once per device, when the first program with segments is given to it. May be called from any thread.
  virtual void onNoCompiler(const std::string& /*reason*/) {}
};

/// What a person is told then, without an end.
inline std::string sentenceOnNoCompiler(const std::string& reason) {
  return "segments run op by op, several times slower than as kernels (exported programs bring theirs): " + reason;
}

}  // namespace tokamak
