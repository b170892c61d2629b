#include "toolchain/cache_entry.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "toolchain/sha256.h"

namespace tokamak {

namespace {

constexpr std::string_view kMagic = "TKKERNEL";
constexpr std::string_view kSuffix = ".kernel";
constexpr size_t kNameBytes = 16;
constexpr size_t kKeySizeAt = 16;
constexpr size_t kValueSizeAt = 24;
constexpr size_t kChecksumAt = 32;
constexpr size_t kHeaderBytes = 64;

template <class Number>
std::string littleEndian(Number number) {
  std::string result;
  for (size_t i = 0; i < sizeof number; ++i) result += static_cast<char>(number >> (8 * i) & 0xff);
  return result;
}

uint64_t numberAt(std::string_view bytes, size_t offset, size_t count) {
  uint64_t result = 0;
  for (size_t i = 0; i < count; ++i) result |= uint64_t{static_cast<uint8_t>(bytes[offset + i])} << (8 * i);
  return result;
}

Sha256Digest checksumOf(std::string_view before, std::string_view after) {
  Sha256 running;
  running.add(before);
  running.add(after);
  return running.finish();
}

DecodedEntry damaged(std::string fault) { return {.fault = std::move(fault)}; }

// Takes a text from the front, up to `end`, which is dropped.
std::optional<std::string_view> takeUntil(std::string_view& text, char end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view result = text.substr(0, at);
  text.remove_prefix(at + 1);
  return result;
}

}  // namespace

std::string_view CacheKey::part(std::string_view name) const {
  const auto found = std::ranges::find(parts_, name, &Part::name);
  return found == parts_.end() ? std::string_view() : found->text;
}

std::string CacheKey::text() const {
  std::string result;
  for (const Part& part : parts_) result += fmt::format("{} {}\n{}\n", part.name, part.text.size(), part.text);
  return result;
}

std::optional<CacheKey> CacheKey::parse(std::string_view text) {
  std::vector<Part> parts;
  while (!text.empty()) {
    const auto name = takeUntil(text, ' ');
    const auto size = name ? takeUntil(text, '\n') : std::nullopt;
    if (!size) return std::nullopt;
    size_t bytes = 0;
    const auto [end, failure] = std::from_chars(size->data(), size->data() + size->size(), bytes);
    if (failure != std::errc() || end != size->data() + size->size()) return std::nullopt;
    if (text.size() <= bytes || text[bytes] != '\n') return std::nullopt;
    parts.push_back({std::string(*name), std::string(text.substr(0, bytes))});
    text.remove_prefix(bytes + 1);
  }
  return CacheKey(std::move(parts));
}

std::string entryFileName(std::string_view key_text) {
  Sha256 running;
  running.add(fmt::format("format {}\n", kCacheFormat));  // so that programs of different formats do not share files
  running.add(key_text);
  return hexOf(running.finish(), kNameBytes).append(kSuffix);
}

bool isEntryFileName(std::string_view name) {
  if (name.size() != 2 * kNameBytes + kSuffix.size() || !name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  return name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string encodeEntry(std::string_view key_text, std::string_view value) {
  std::string result(kMagic);
  result += littleEndian(kCacheFormat);
  result += littleEndian(uint32_t{0});
  result += littleEndian(uint64_t{key_text.size()});
  result += littleEndian(uint64_t{value.size()});
  std::string body(key_text);
  body += value;
  const Sha256Digest checksum = checksumOf(result, body);
  result.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
  return result + body;
}

DecodedEntry decodeEntry(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return damaged(fmt::format("it has {} bytes, fewer than a header", bytes.size()));
  if (!bytes.starts_with(kMagic)) return damaged("it does not start like an entry");
  if (const uint64_t format = numberAt(bytes, kMagic.size(), 4); format != kCacheFormat)
    return damaged(fmt::format("it is of format {}, this is {}", format, kCacheFormat));
  const uint64_t key_bytes = numberAt(bytes, kKeySizeAt, 8);
  const uint64_t value_bytes = numberAt(bytes, kValueSizeAt, 8);
  const std::string_view body = bytes.substr(kHeaderBytes);
  if (key_bytes > body.size() || value_bytes != body.size() - key_bytes)
    return damaged(
        fmt::format("it has {} bytes after its header, which says {} + {}", body.size(), key_bytes, value_bytes));
  const Sha256Digest checksum = checksumOf(bytes.substr(0, kChecksumAt), body);
  if (std::memcmp(checksum.data(), bytes.data() + kChecksumAt, checksum.size()) != 0)
    return damaged("its checksum is wrong");
  return {body.substr(0, key_bytes), body.substr(key_bytes), {}};
}

}  // namespace tokamak
