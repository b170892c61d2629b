// CacheFolder: a kernel cache in a folder of one test, keys and values for it, and a look at what it holds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "toolchain/kernel_cache.h"

namespace tokamak {

inline CacheKey keyNumber(int number) {
  return CacheKey(std::vector<CacheKey::Part>{{"kind", "test"}, {"source", "kernel " + std::to_string(number)}});
}

/// A value that says which key it belongs to, as large as a small kernel.
inline std::string valueNumber(int number, size_t bytes = 15'000) {
  std::string value;
  while (value.size() < bytes) value += std::to_string(number) + " is the number of this value; ";
  value.resize(bytes);
  return value;
}

class CacheFolder {
 public:
  CacheFolder() : path_(parent_ / "cache") {}
  const std::string& path() const { return path_; }
  const TemporaryFolder& parent() const { return parent_; }
  std::string fileOf(const CacheKey& key) const { return path_ + "/" + entryFileName(key.text()); }

  size_t numberOfFiles() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  TemporaryFolder parent_;
  std::string path_;
};

}  // namespace tokamak
