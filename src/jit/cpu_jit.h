// CpuJit: kernels that the machine's C compiler compiles.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "device/kernel_maker.h"
#include "device/kernel_observer.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "toolchain/kernel_compiler.h"

namespace tokamak {

class KernelLibrary;

/// Compilers and loaded code are the process' own: all such makers share them.
/// Thread safety: as KernelMaker.
class CpuJit final : public KernelMaker {
 public:
  enum class Compiler : uint8_t {
    Wanted,  ///< where there is none no kernels are made, which is told
    Needed,  ///< where there is none that is an error
  };

  /// `observer` may be null; outlives this.
  explicit CpuJit(const KernelTarget& target, Compiler compiler = Compiler::Wanted, KernelObserver* observer = nullptr);
  ~CpuJit() override;

  /// The first call looks for a compiler. Where there is none, the observer is told, or, without one, the log of
  /// the process is, once. Errors: Unsupported where a compiler is needed.
  bool makesKernels() override;
  /// Kernels with threads get no image.
  KernelLaunch find(const WorkRequest& request) override;
  KernelNotes notesOn(const WorkRequest& request) override;

 private:
  std::unique_ptr<KernelLibrary> library_;
  const Compiler compiler_;
  KernelObserver* const observer_;
  std::once_flag looked_;
  std::string why_no_compiler_;  ///< empty where there is one
};

/// "compiled by /usr/bin/cc (its version)", or "none, segments run op by op: why". May ask the compiler what it is.
std::string describeCpuJit();

/// Where the code of this process' kernels came from so far.
CompileCounts kernelCompileCounts();

}  // namespace tokamak
