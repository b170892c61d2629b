#include "tools/cache_command.h"

#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/require.h"
#include "toolchain/c_compiler.h"
#include "toolchain/cache_compare.h"
#include "toolchain/kernel_cache.h"
#include "toolchain/nvrtc.h"

namespace tokamak::tools {

namespace {

constexpr size_t kShownCharacters = 100;

std::string shortened(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.size() <= kShownCharacters ? std::string(line) : std::string(line.substr(0, kShownCharacters)) + "...";
}

std::string timeOf(const timespec& time) {
  tm parts = {};
  localtime_r(&time.tv_sec, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

// What an entry is about, in a line: its source's first line, the product that something was chosen for, or the
// compiler that it describes.
std::string subjectOf(const CacheListing& listing) {
  for (const char* const part : {"source", "product", "compiler", "environment"})
    if (const std::string_view text = listing.key.part(part); !text.empty()) return shortened(text);
  return {};
}

int listEntries(const KernelCache& cache) {
  const std::vector<CacheListing> entries = cache.list();
  int64_t total = 0;
  for (const CacheListing& entry : entries) total += entry.file.bytes;
  fmt::print("{}: {} entries, {} bytes\n", cache.path(), entries.size(), total);
  for (const CacheListing& entry : entries) {
    fmt::print("{}  {}  {:>9}  {}\n", entry.file.name, timeOf(entry.file.changed), entry.file.bytes,
               entry.fault.empty() ? fmt::format("{}: {}", entry.key.part("kind"), subjectOf(entry))
                                   : fmt::format("damaged: {}", entry.fault));
  }
  return 0;
}

int verifyEntries(const KernelCache& cache) {
  const std::vector<CacheListing> entries = cache.list();
  int64_t damaged = 0;
  for (const CacheListing& entry : entries) {
    if (entry.fault.empty()) continue;
    ++damaged;
    fmt::print("{}: {}\n", entry.file.name, entry.fault);
  }
  fmt::print("{}: {} entries, {} damaged{}\n", cache.path(), entries.size(), damaged,
             damaged == 0 ? "" : " (they count as not there; tokamak cache gc removes them)");
  return damaged == 0 ? 0 : 1;
}

int64_t readBytes(const std::string& text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  TK_REQUIRE(failure == std::errc() && number >= 0 && shift >= 0 && number <= (INT64_MAX >> shift), Usage,
             "--limit {}: a number of bytes is expected, which K, M or G may follow", text);
  return number << shift;
}

int collectEntries(KernelCache& cache, int64_t limit_bytes) {
  const CacheCollection removed = cache.collect(limit_bytes);
  fmt::print("{}: removed {} files, {} bytes; {} entries are left\n", cache.path(), removed.files, removed.bytes,
             cache.list().size());
  return 0;
}

std::string readSource(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TK_REQUIRE(file.is_open() && !std::filesystem::is_directory(path), Io, "{}: cannot be opened for reading", path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

CacheKey keyOfFile(const CacheCommandOptions& options) {
  TK_REQUIRE(!options.file.empty(), Usage, "tokamak cache why FILE: the source of a kernel is expected");
  const std::string source = readSource(options.file);
  if (!options.file.ends_with(".cu")) return CCompiler().keyOf(source);
  return NvrtcCompiler(
             {.architecture = options.architecture.empty() ? "sm_90a" : options.architecture, .extra_flags = {}})
      .keyOf(source);
}

int explain(const KernelCache& cache, const CacheKey& asked) {
  const std::string name = entryFileName(asked.text());
  if (cache.find(asked)) {
    fmt::print("kept: {}\n", name);
    return 0;
  }
  const std::vector<CacheListing> entries = cache.list();
  for (const CacheListing& entry : entries)
    if (entry.file.name == name) fmt::print("not kept: {}: {}\n", name, entry.fault);
  const CacheListing* const nearest = nearestEntry(entries, asked);
  if (nearest == nullptr) {
    fmt::print("not kept: there is no {} in {}\n", asked.part("kind"), cache.path());
    return 0;
  }
  fmt::print("not kept; the nearest is {}\n", nearest->file.name);
  for (const KeyDifference& difference : differencesOf(nearest->key, asked))
    fmt::print("  {} differs in line {}\n    kept:  {}\n    asked: {}\n", difference.part, difference.line,
               difference.kept_line, difference.asked_line);
  return 0;
}

}  // namespace

int cacheCommand(const CacheCommandOptions& options) {
  TK_REQUIRE(options.file.empty() || options.action == "why", Usage,
             "tokamak cache {}: it takes no file, but {} is given", options.action, options.file);
  TK_REQUIRE(options.limit.empty() || options.action == "gc", Usage,
             "tokamak cache {}: --limit {} has no effect; it is for gc", options.action, options.limit);
  TK_REQUIRE(options.architecture.empty() || options.file.ends_with(".cu"), Usage,
             "tokamak cache {}: --arch {} has no effect; it is for why and a CUDA source, *.cu", options.action,
             options.architecture);
  const int64_t limit_bytes = readBytes(options.limit.empty() ? "1G" : options.limit);
  KernelCache cache(defaultCacheDirectory());
  if (options.action == "ls") return listEntries(cache);
  if (options.action == "verify") return verifyEntries(cache);
  if (options.action == "gc") return collectEntries(cache, limit_bytes);
  TK_REQUIRE(options.action == "why", Usage, "tokamak cache {}: there are ls, why, gc and verify", options.action);
  return explain(cache, keyOfFile(options));
}

}  // namespace tokamak::tools
