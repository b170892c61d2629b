#include "toolchain/program_search.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/require.h"

namespace tokamak {

namespace {

bool isProgram(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

#if defined(__x86_64__)
struct Leaf {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Leaf leafAt(uint32_t leaf, uint32_t part = 0) {
  Leaf result;
  __get_cpuid_count(leaf, part, &result.a, &result.b, &result.c, &result.d);
  return result;
}

// What the operating system saves of the registers: it may have switched features off.
uint32_t savedRegisters() {
  constexpr uint32_t kHasXgetbv = 1u << 27;
  if ((leafAt(1).c & kHasXgetbv) == 0) return 0;
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}
#endif

}  // namespace

std::optional<std::string> findProgram(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string_view::npos) {
    const std::string path(name);
    return isProgram(path) ? std::optional(path) : std::nullopt;
  }
  const char* const variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
    // A relative folder would depend on where the process stands.
    if (!folder.starts_with('/')) continue;
    const std::string path = fmt::format("{}/{}", folder, name);
    if (isProgram(path)) return path;
  }
  return std::nullopt;
}

std::string fileIdentity(const std::string& path) {
  struct stat status = {};
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(path, failure);
  TK_REQUIRE(!failure && stat(real.c_str(), &status) == 0, Io, "'{}' cannot be looked at: {}", path,
             failure ? failure.message() : std::strerror(errno));
  return fmt::format("{} {} bytes, changed {}.{:09}, file {}", real.string(), status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ino);
}

std::string processorIdentity() {
  utsname system = {};
  uname(&system);
  std::string result = system.machine;
#if defined(__x86_64__)
  std::string name;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const Leaf text = leafAt(leaf);
    for (const uint32_t word : {text.a, text.b, text.c, text.d})
      for (int i = 0; i < 4; ++i) name += static_cast<char>(word >> (8 * i) & 0xff);
  }
  result += fmt::format(" '{}'", name.c_str());
  // Of leaf 1 the second register numbers the core that asks; it is left out.
  const Leaf first = leafAt(1);
  result += fmt::format(" {:08x} {:08x} {:08x}", first.a, first.c, first.d);
  constexpr std::pair<uint32_t, uint32_t> kLeaves[] = {{7, 0}, {7, 1}, {0xd, 1}, {0x19, 0}, {0x24, 0}, {0x80000001, 0}};
  for (const auto& [leaf, part] : kLeaves) {
    const Leaf features = leafAt(leaf, part);
    // Of leaf 0xd only the first register is about features, the second is the size of what is saved now.
    result += leaf == 0xd ? fmt::format(" {:08x}", features.a)
                          : fmt::format(" {:08x}:{:08x}:{:08x}:{:08x}", features.a, features.b, features.c, features.d);
  }
  result += fmt::format(" saved {:08x}", savedRegisters());
#else
  result += fmt::format(" {:016x} {:016x}", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
  return result;
}

}  // namespace tokamak
