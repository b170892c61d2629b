// KernelCompiler: C source to code in this process: what is loaded, else what is kept on disk, else compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <semaphore>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "toolchain/c_compiler.h"
#include "toolchain/kernel_cache.h"
#include "toolchain/once_map.h"
#include "toolchain/shared_object.h"

namespace tokamak {

struct KernelCompilerOptions {
  CCompilerOptions compiler;
  std::shared_ptr<KernelCache> cache;  ///< null: KernelCache::openDefault()
  int64_t parallel = 0;                ///< compiler processes at a time; 0: as many as processors
};

/// Where the objects came from that were asked for.
struct CompileCounts {
  int64_t compiled = 0;
  int64_t from_disk = 0;
};

/// Generated C as loaded code, from the cache or a compiler's process.
/// Thread safety: any threads may use it side by side; requests for one source compile it once.
class KernelCompiler {
 public:
  /// Errors: as CCompiler.
  explicit KernelCompiler(const KernelCompilerOptions& options = {});

  const CCompiler& compiler() const { return compiler_; }
  const KernelCache& cache() const { return *cache_; }

  /// The loaded code of `source`; unloaded when nobody holds it. Code without the symbol `entry` (if one is named) is
  /// none, and kept nowhere. Errors: Compile, Io; Cancelled when `stop` asks for it, which kills the compiler. Others
  /// who ask for the source meanwhile compile it then.
  /// `is_from_disk`, where it is given, becomes whether the code was kept there, and this request found it.
  std::shared_ptr<const SharedObject> compile(const std::string& source, const std::string& entry = {},
                                              const std::stop_token& stop = {}, bool* is_from_disk = nullptr);
  /// The image of a shared object, which may be for another processor: kept on disk, or compiled. Errors: Compile, Io.
  std::string imageOf(const std::string& source);
  /// The same for several sources, compiled side by side. The first failure in their order is raised.
  std::vector<std::shared_ptr<const SharedObject>> compileAll(std::span<const std::string> sources);

  CompileCounts counts() const { return {compiled_.load(), from_disk_.load()}; }

 private:
  struct Image {
    std::string bytes;
    CompileLevel level;
  };
  Image compileImage(std::string_view source, const std::stop_token& stop);
  std::shared_ptr<const SharedObject> load(std::string_view image, const std::string& entry) const;
  std::shared_ptr<const SharedObject> loadOrCompile(const CacheKey& key, const std::string& entry,
                                                    const std::stop_token& stop, bool* is_from_disk);
  std::shared_ptr<const SharedObject> loadFromDisk(const CacheKey& key, const std::string& entry) const;
  std::shared_ptr<const SharedObject> loadOrKeepSource(std::string_view image, std::string_view source,
                                                       const std::string& entry) const;

  std::shared_ptr<KernelCache> cache_;
  CCompiler compiler_;
  int64_t parallel_;
  std::counting_semaphore<> processes_;
  OnceMap<SharedObject> objects_;
  std::atomic<int64_t> compiled_{0};
  std::atomic<int64_t> from_disk_{0};
};

}  // namespace tokamak
