// LoadedKernels: kernels from the file of an exported program: found by what they fit, never compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/kernel_maker.h"
#include "device/kernel_target.h"
#include "jit/exported_kernels.h"

namespace tokamak {

class KernelLibrary;

/// What a file has for one target.
struct LoadedKernelsOptions {
  KernelTarget target;
  std::string file;                       ///< in messages
  std::string sizes;                      ///< that the file was made for, in messages: "n = 1..65536, m = 4096"
  std::vector<ExportedLaunch> launches;   ///< whose codes are there
  std::vector<DataType> index_types;      ///< per code
  std::vector<std::string_view> kernels;  ///< per code, its kernel IR
  /// Makes a code runnable, which is asked for each launch that is used; `entry`: its function. Null: the interpreter
  /// runs its kernel IR. Errors: of loading it.
  std::function<std::shared_ptr<const KernelImage>(size_t code, const std::string& entry)> load;
  /// Asked for what the file does not have; null: that is an error.
  KernelMaker* fallback = nullptr;
  /// Held on to.
  std::shared_ptr<const void> contents;
};

/// Thread safety: as KernelMaker.
class LoadedKernels final : public KernelMaker {
 public:
  explicit LoadedKernels(LoadedKernelsOptions options);
  ~LoadedKernels() override;

  /// Errors: Bind where no kernel of the file fits the request, which says for each extent what the file has; Parse for
  /// a file that is damaged.
  KernelLaunch find(const WorkRequest& request) override;

 private:
  class Program;
  std::shared_ptr<const KernelCode> codeOf(const ExportedLaunch& launch);

  const LoadedKernelsOptions options_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<KernelCode>> codes_;
  std::unique_ptr<KernelLibrary> library_;
};

}  // namespace tokamak
