// Zig as a C compiler: what `zig cc` needs that gcc and clang do not.
#pragma once

#include <string>
#include <vector>

namespace tokamak {

/// Whether a program is zig, by its file's name: "zig", "zig-0.15", "zig.exe".
bool isZig(const std::string& program);

/// The words with which a compilation starts: {program}, or {program, "cc"} for zig.
std::vector<std::string> compilerCommand(const std::string& program);

/// A processor as -march takes it: zig writes x86_64_v3 for x86-64-v3.
std::string processorName(const std::string& program, const std::string& processor);

/// The folder in which zig keeps what it makes, which it has no switch for; removed at the end of the scope, with what
/// it holds. Other compilers get none.
class ZigCache {
 public:
  /// `path`: of a folder that does not exist.
  ZigCache(const std::string& program, std::string path);
  ZigCache(const ZigCache&) = delete;
  ZigCache& operator=(const ZigCache&) = delete;
  ~ZigCache();

  /// The environment of a compiler, with what tells zig of the folder.
  std::vector<std::string> environment(std::vector<std::string> compilers) const;

 private:
  std::string path_;  // empty: of another compiler
};

}  // namespace tokamak
