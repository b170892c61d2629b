// Kernel makers that compile: a segment at given sizes is specialised, scheduled, lowered, generated and compiled when
// it is asked for.
#pragma once

#include <memory>

#include "device/kernel_maker.h"
#include "device/kernel_observer.h"
#include "device/kernel_target.h"
#include "device/work.h"

namespace tokamak {

class KernelLibrary;
struct BoundKernel;
struct FoundKernel;

/// What a device takes of a found kernel.
KernelLaunch launchOf(FoundKernel found);

/// What is known of it.
KernelNotes notesOf(const FoundKernel& found);

/// What the interpreter takes of it.
std::shared_ptr<const InterpretedKernel> interpretedOf(const std::shared_ptr<const BoundKernel>& bound);

/// Kernels that the interpreter runs.
/// Thread safety: as KernelMaker.
class InterpreterJit final : public KernelMaker {
 public:
  /// `observer` may be null; outlives this.
  explicit InterpreterJit(const KernelTarget& target, KernelObserver* observer = nullptr);
  ~InterpreterJit() override;

  KernelLaunch find(const WorkRequest& request) override;
  KernelNotes notesOn(const WorkRequest& request) override;

 private:
  std::unique_ptr<KernelLibrary> library_;
};

}  // namespace tokamak
