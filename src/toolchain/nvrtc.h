// NvrtcCompiler: CUDA C++ source without headers to a cubin of one architecture, with what its kernels take.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/cache_entry.h"
#include "toolchain/cubin_report.h"
#include "toolchain/kernel_cache.h"
#include "toolchain/nvrtc_library.h"
#include "toolchain/once_map.h"

namespace tokamak {

struct NvrtcOptions {
  std::string architecture = "sm_90a";
  std::vector<std::string> extra_flags;
};

/// Compiled CUDA code. It is a file image for the driver's module loader.
struct Cubin {
  std::string image;
  std::string log;  ///< what the compiler said
  std::vector<KernelResources> resources;
  bool is_from_disk = false;  ///< it was kept there
  double seconds = 0;         ///< that it took to get it
};

/// NVRTC, loaded when something is to be compiled.
/// Thread safety: any threads may compile side by side.
class NvrtcCompiler {
 public:
  /// Finds the library, or remembers in `cache` (null: nothing is kept) where it was found, and then loads it only when
  /// something is to be compiled. Errors: Unsupported when there is no NVRTC, with everywhere it was looked for.
  explicit NvrtcCompiler(const NvrtcOptions& options = {}, std::shared_ptr<KernelCache> cache = nullptr);

  /// "NVRTC 13.0".
  const std::string& version() const { return version_; }
  const std::vector<std::string>& flags() const { return flags_; }
  /// Everything that the cubin of `source` depends on.
  CacheKey keyOf(std::string_view source) const;

  /// The cubin of `source`: one that is in use, one kept on disk, else compiled. May be called from many threads at
  /// once.
  /// Errors: Compile with the compiler's first lines; Unsupported for an architecture that it does not know.
  std::shared_ptr<const Cubin> compile(const std::string& source);

 private:
  Cubin compileNow(const std::string& source);
  void identify();
  bool remember(const CacheKey& key);
  const NvrtcLibrary& library();

  std::string architecture_;
  std::shared_ptr<KernelCache> cache_;
  std::string file_;      ///< the library's
  std::string identity_;  ///< of that file
  std::string version_;
  std::mutex mutex_;  ///< guards library_
  std::optional<NvrtcLibrary> library_;
  std::vector<std::string> flags_;
  OnceMap<Cubin> cubins_;
};

}  // namespace tokamak
