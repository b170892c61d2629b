// Cache entries: what one file of the kernel cache holds, a key of named parts and a value, and the bytes it is written
// as.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// What a compiled kernel depends on: named parts in an order ("compiler", "flags", "target", "source"). Two keys are
/// equal when all parts are.
class CacheKey {
 public:
  struct Part {
    std::string name;
    std::string text;
    bool operator==(const Part&) const = default;
  };

  CacheKey() = default;
  explicit CacheKey(std::vector<Part> parts) : parts_(std::move(parts)) {}

  const std::vector<Part>& parts() const { return parts_; }
  /// The text of the part of this name, or an empty one.
  std::string_view part(std::string_view name) const;
  /// All parts in one text from which they can be told apart.
  std::string text() const;
  /// Reads what text() wrote; nothing where it is something else.
  static std::optional<CacheKey> parse(std::string_view text);
  bool operator==(const CacheKey&) const = default;

 private:
  std::vector<Part> parts_;
};

/// The version of the bytes of an entry and of what keys mean; entries of others are misses.
inline constexpr uint32_t kCacheFormat = 1;

/// The name of the file that keeps the value of a key: from 128 bits of the SHA-256 of the key's text.
std::string entryFileName(std::string_view key_text);
/// Whether a file of the cache's folder has the name of an entry.
bool isEntryFileName(std::string_view name);

/// An entry's bytes:
///
///     8 bytes   "TKKERNEL"
///     4 bytes   kCacheFormat               (all numbers are little-endian)
///     4 bytes   0
///     8 bytes   size of the key in bytes
///     8 bytes   size of the value in bytes
///    32 bytes   SHA-256 of everything before and after these 32 bytes
///               the key's text, the value
std::string encodeEntry(std::string_view key_text, std::string_view value);

/// What the bytes of a file say; views into them. `fault` is empty when the file is whole.
struct DecodedEntry {
  std::string_view key_text;
  std::string_view value;
  std::string fault;
};

/// Checks everything that an entry says about itself.
DecodedEntry decodeEntry(std::string_view bytes);

}  // namespace tokamak
