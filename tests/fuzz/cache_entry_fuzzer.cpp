// Any bytes as an entry of the kernel cache: a miss, or exactly what was stored with its key. Most inputs are entries
// with a few bytes exchanged, cut or repeated, of which some are sealed again with a right checksum, so that what reads
// keys and logs sees damage, too.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "toolchain/cache_entry.h"
#include "toolchain/cubin_report.h"
#include "toolchain/kernel_cache.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace tokamak;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

CacheKey storedKey() {
  return CacheKey(
      {{"kind", "CUDA"}, {"compiler", "NVRTC 13.0"}, {"flags", ""}, {"source", "void f() {\n}\nflags 3\n"}});
}

// As the compiler keeps a kernel: its log and its code.
std::string storedValue() {
  return CacheKey(
             {{"log",
               "ptxas info    : Compiling entry function 'f' for 'sm_90a'\nptxas info    : Function properties for f\n"
               "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
               "ptxas info    : Used 24 registers, used 1 barriers, 1040 bytes smem\n"},
              {"image", std::string("\x7f"
                                    "ELF\0\1\2\3",
                                    8)}})
      .text();
}

// What is read from a text that the cache gave: nothing, or a key that writes the same text.
void readKey(std::string_view text) {
  const std::optional<CacheKey> key = CacheKey::parse(text);
  if (!key) return;
  const std::optional<CacheKey> again = CacheKey::parse(key->text());
  require(again && *again == *key, "a key's text is another key");
  resourcesIn(key->part("log"));
}

struct Folder {
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path = "/tmp/tokamak_cache_entry_fuzzer_" + std::to_string(getpid());
};

// The file of the stored key holds these bytes.
void findInFolder(std::string_view bytes, const DecodedEntry& entry) {
  static const Folder scratch;
  static KernelCache cache(scratch.path);
  const std::string key = storedKey().text();
  const std::string path = scratch.path + "/" + entryFileName(key);
  std::ofstream(path, std::ios::binary) << bytes;
  require(chmod(path.c_str(), 0600) == 0, "the entry cannot be written");
  const std::optional<std::string> found = cache.find(storedKey());
  const bool is_whole = entry.fault.empty() && entry.key_text == key;
  require(found.has_value() == is_whole, is_whole ? "a whole entry is a miss" : "a damaged entry is found");
  if (found) require(*found == entry.value, "the cache gives another value");
  cache.list();
  cache.collect(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const DecodedEntry entry = decodeEntry(bytes);
  if (entry.fault.empty()) {
    require(encodeEntry(entry.key_text, entry.value) == bytes, "a whole entry is written otherwise");
    readKey(entry.key_text);
    readKey(entry.value);
  }
  resourcesIn(bytes);
  // Files take time.
  static int64_t whole = 0;
  static int64_t damaged = 0;
  if (entry.fault.empty() ? ++whole % 4 == 0 : ++damaged % 32 == 0) findInFolder(bytes, entry);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (below(8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto damage = [&](std::string& text) {
    for (size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0: text[at] = static_cast<char>(below(256)); break;
        case 1: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
        case 2: text.resize(at); break;
        case 3: text.insert(at, text.substr(below(text.size()), below(40))); break;
        default: text.replace(at, 1, std::to_string(random() * (below(2) == 0 ? 1ULL : 0x100000001ULL))); break;
      }
    }
  };
  std::string key = storedKey().text();
  std::string value = storedValue();
  const size_t sealed = below(4);
  if (sealed == 0) damage(key);
  if (sealed <= 1) damage(value);
  std::string bytes = encodeEntry(key, value);
  if (sealed >= 2 && below(16) != 0) damage(bytes);
  const size_t length = std::min(bytes.size(), max_size);
  std::copy_n(bytes.begin(), length, data);
  return length;
}
