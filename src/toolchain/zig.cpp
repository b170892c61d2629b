#include "toolchain/zig.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tokamak {

bool isZig(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  return name == "zig" || name.starts_with("zig-") || name.starts_with("zig.");
}

std::vector<std::string> compilerCommand(const std::string& program) {
  if (isZig(program)) return {program, "cc"};
  return {program};
}

std::string processorName(const std::string& program, const std::string& processor) {
  std::string name = processor;
  if (isZig(program)) std::ranges::replace(name, '-', '_');
  return name;
}

ZigCache::ZigCache(const std::string& program, std::string path) {
  if (isZig(program)) path_ = std::move(path);
}

ZigCache::~ZigCache() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> ZigCache::environment(std::vector<std::string> compilers) const {
  if (path_.empty()) return compilers;
  compilers.push_back("ZIG_GLOBAL_CACHE_DIR=" + path_);
  compilers.push_back("ZIG_LOCAL_CACHE_DIR=" + path_);
  return compilers;
}

}  // namespace tokamak
