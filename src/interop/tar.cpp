#include "interop/tar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/require.h"

namespace tokamak {

namespace {

constexpr size_t kBlock = 512;

// A field of a header, by its place in it (IEEE Std 1003.1-1988, 10.1.1).
struct Field {
  size_t offset;
  size_t size;
};
constexpr Field kName = {0, 100};
constexpr Field kMode = {100, 8};
constexpr Field kOwner = {108, 8};
constexpr Field kGroup = {116, 8};
constexpr Field kSize = {124, 12};
constexpr Field kTime = {136, 12};
constexpr Field kSum = {148, 8};
constexpr Field kType = {156, 1};
constexpr Field kMagicField = {257, 8};

size_t paddedSize(size_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

void put(std::string& header, Field field, std::string_view text) { header.replace(field.offset, text.size(), text); }

void putOctal(std::string& header, Field field, uint64_t value) {
  put(header, field, fmt::format("{:0{}o}", value, field.size - 1));
}

// Of all bytes of the header, its own field taken as blanks.
uint64_t sumOf(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool is_own = i >= kSum.offset && i < kSum.offset + kSum.size;
    sum += is_own ? uint64_t{' '} : static_cast<uint8_t>(header[i]);
  }
  return sum;
}

std::string headerOf(const TarEntry& entry) {
  std::string header(kBlock, '\0');
  put(header, kName, entry.name);
  putOctal(header, kMode, 0644);
  putOctal(header, kOwner, 0);
  putOctal(header, kGroup, 0);
  putOctal(header, kSize, entry.bytes.size());
  putOctal(header, kTime, 0);
  put(header, kType, "0");
  put(header, kMagicField,
      std::string_view("ustar\0"
                       "00",
                       8));
  put(header, kSum, fmt::format("{:06o}", sumOf(header)) + std::string("\0 ", 2));
  return header;
}

std::optional<uint64_t> octalAt(std::string_view header, Field field) {
  const std::string_view digits = header.substr(field.offset, field.size - 1);
  uint64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool isZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

}  // namespace

std::string writeTar(const std::vector<TarEntry>& entries) {
  std::string archive;
  for (const TarEntry& entry : entries) {
    TK_REQUIRE(!entry.name.empty() && entry.name.size() <= kName.size, Usage,
               "archive: the name '{}' has {} bytes; 1 to {} are legal", entry.name, entry.name.size(), kName.size);
    archive += headerOf(entry);
    archive += entry.bytes;
    archive.append(paddedSize(entry.bytes.size()) - entry.bytes.size(), '\0');
  }
  archive.append(2 * kBlock, '\0');
  return archive;
}

TarContents readTar(std::string_view archive) {
  TarContents contents;
  const auto damaged = [](std::string fault) { return TarContents{.entries = {}, .fault = std::move(fault)}; };
  size_t at = 0;
  while (true) {
    if (archive.size() - at < 2 * kBlock) return damaged(fmt::format("it ends after {} bytes", archive.size()));
    const std::string_view header = archive.substr(at, kBlock);
    if (isZero(header)) break;
    const std::string_view field = header.substr(kName.offset, kName.size);
    TarEntry entry{.name = std::string(field.substr(0, field.find('\0'))), .bytes = {}};
    const std::optional<uint64_t> size = octalAt(header, kSize);
    if (!size || *size > archive.size() - at - kBlock)
      return damaged(fmt::format("the entry at byte {} ends behind its end", at));
    entry.bytes = archive.substr(at + kBlock, *size);
    if (header != headerOf(entry)) return damaged(fmt::format("the header at byte {} is none of an exported file", at));
    const size_t end = at + kBlock + paddedSize(*size);
    if (end > archive.size() || !isZero(archive.substr(at + kBlock + *size, end - at - kBlock - *size)))
      return damaged(fmt::format("what follows the entry at byte {} is not empty", at));
    const auto isNamed = [&](const TarEntry& other) { return other.name == entry.name; };
    if (std::ranges::any_of(contents.entries, isNamed)) return damaged(fmt::format("{} is there twice", entry.name));
    contents.entries.push_back(std::move(entry));
    at = end;
  }
  if (archive.size() - at != 2 * kBlock || !isZero(archive.substr(at))) return damaged("something follows its end");
  return contents;
}

}  // namespace tokamak
