// KernelCache: compiled kernels, and what was found out about compilers and libraries, on disk, by everything that they
// depend on. Never a wrong kernel, never an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/cache_directory.h"
#include "toolchain/cache_entry.h"

namespace tokamak {

/// The steps of writing an entry, for tests that stop or fail at each of them.
enum class CacheStep : uint8_t { Create, Write, Close, Rename, Collect };

struct CacheOptions {
  int64_t limit_bytes = int64_t{1} << 30;  ///< the folder is kept below this: what was not used for longest goes
  /// Asked before each step; anything but 0 is an error number with which the step fails.
  std::function<int(CacheStep)> before_step;
};

/// What is known of one file of the cache.
struct CacheListing {
  DirectoryFile file;
  CacheKey key;
  int64_t value_bytes = 0;
  std::string fault;  ///< empty: the entry is whole; else why it is a miss
};

/// What a collection removed.
struct CacheCollection {
  int64_t files = 0;
  int64_t bytes = 0;
};

/// An entry is a file of its own, written under another name and renamed, so that readers see all of it or nothing,
/// however many processes write. Nothing is synced to the disk: a file that a crash of the machine cut short has a
/// wrong checksum and is a miss.
/// Thread safety: any threads, and any processes on one folder, may use it side by side.
class KernelCache {
 public:
  /// Keeps nothing, finds nothing.
  KernelCache() = default;
  /// Errors: as CacheDirectory.
  explicit KernelCache(const std::string& directory, CacheOptions options = {});
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// The cache in defaultCacheDirectory(); where that is refused, one that keeps nothing, and the reason is said once
  /// in the log.
  static std::shared_ptr<KernelCache> openDefault();

  bool isOn() const { return directory_ != nullptr; }
  /// The folder; empty when the cache is off.
  std::string path() const { return directory_ == nullptr ? std::string() : directory_->path(); }

  /// The value that was stored with exactly this key. A file that is damaged or not ours is a miss.
  std::optional<std::string> find(const CacheKey& key) const;
  /// Keeps a value; false when that is not possible (a full or read-only disk), which is no error.
  bool store(const CacheKey& key, std::string_view value);

  /// All entries, the last used first.
  std::vector<CacheListing> list() const;
  /// Removes damaged entries and what dead writers left, then the entries not used for longest until `limit_bytes` are
  /// left.
  CacheCollection collect(int64_t limit_bytes);

 private:
  bool write(const std::string& temporary_name, std::string_view bytes);
  void collectIfLarge(int64_t stored_bytes);
  int failureBefore(CacheStep step) const;
  CacheCollection removeOldest(std::vector<DirectoryFile> files, int64_t limit_bytes);

  std::unique_ptr<CacheDirectory> directory_;
  CacheOptions options_;
  std::atomic<int64_t> bytes_until_collection_{0};
};

}  // namespace tokamak
