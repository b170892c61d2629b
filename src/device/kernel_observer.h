// KernelObserver: is told about every kernel that a device makes ready.
#pragma once

#include <string>

namespace tokamak {

class Fusion;

class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  /// The scheduled fusion, the kernel's text, and the source text that is compiled (empty where the kernel is interpreted). May be called from many
  /// threads.
  virtual void onKernel(const Fusion& fusion, const std::string& kernel, const std::string& source) = 0;
};

}  // namespace tokamak
