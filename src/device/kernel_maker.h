// KernelMaker: where a device gets its kernels from: a compiler (jit/), or a file that has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/kernel_launch.h"
#include "device/work.h"

namespace tokamak {

/// What code was made for, in words.
struct CodeNote {
  std::string choice;  ///< constants, layouts, alignment, schedule
  std::string reason;  ///< what differed from the nearest code that was there
};

/// What is known of a kernel, for people.
struct KernelNotes {
  struct Parameter {
    std::string name;
    int64_t value = 0;
    bool is_flag = false;
  };
  CodeNote code;
  std::vector<Parameter> parameters;          ///< of its schedule; none where the schedule was given
  std::vector<CodeNote> all_codes;            ///< of this kernel's structure on the device, oldest first
  std::shared_ptr<const KernelImage> image;   ///< null: interpreted
  std::shared_ptr<const kir::Kernel> kernel;  ///< null: nothing is known
};

/// Belongs to one device.
/// Thread safety: any threads may ask side by side, for ops of one fusion one at a time.
class KernelMaker {
 public:
  KernelMaker() = default;
  KernelMaker(const KernelMaker&) = delete;
  KernelMaker& operator=(const KernelMaker&) = delete;
  virtual ~KernelMaker() = default;

  /// Whether there are kernels at all. May look for a compiler. Errors: Unsupported where there have to be.
  virtual bool makesKernels() { return true; }
  /// The kernel of a segment or an op for these operands, or the one that the program brings. It may still be compiled
  /// when this returns.
  /// Errors: Schedule or Unsupported when it cannot be one kernel; Bind, also where a launch does not fit its kernel;
  /// Compile.
  virtual KernelLaunch find(const WorkRequest& request) = 0;
  /// What is known of the kernel that find() gives, which has been asked for it. Errors: as find().
  virtual KernelNotes notesOn(const WorkRequest& /*request*/) { return {}; }
};

}  // namespace tokamak
