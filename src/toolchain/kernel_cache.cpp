#include "toolchain/kernel_cache.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <ranges>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/leftovers.h"
#include "base/say.h"

namespace tokamak {

namespace {

constexpr std::string_view kTemporaryPrefix = ".part-";
// A writer needs milliseconds: an older file has no writer any more.
constexpr time_t kTemporarySeconds = 600;
constexpr size_t kChunkBytes = 64 << 10;

bool isEarlier(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) < std::tie(b.tv_sec, b.tv_nsec);
}

std::string temporaryName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_nsec) << 32 ^ static_cast<uint64_t>(getpid());
  }
  return fmt::format("{}{:016x}", kTemporaryPrefix, number);
}

bool isAbandoned(const DirectoryFile& file) {
  return file.name.starts_with(kTemporaryPrefix) && file.changed.tv_sec + kTemporarySeconds < time(nullptr);
}

void sayOnce(std::string_view message) {
  static std::atomic_flag is_said = ATOMIC_FLAG_INIT;
  if (!is_said.test_and_set()) say("compiled kernels are not kept: {}", message);
}

}  // namespace

KernelCache::KernelCache(const std::string& directory, CacheOptions options)
    : directory_(std::make_unique<CacheDirectory>(directory)), options_(std::move(options)) {}

std::shared_ptr<KernelCache> KernelCache::openDefault() {
  try {
    return std::make_shared<KernelCache>(defaultCacheDirectory());
  } catch (const Error& error) {
    sayOnce(error.message());
    return std::make_shared<KernelCache>();
  }
}

int KernelCache::failureBefore(CacheStep step) const { return options_.before_step ? options_.before_step(step) : 0; }

std::optional<std::string> KernelCache::find(const CacheKey& key) const {
  if (!isOn()) return std::nullopt;
  const std::string key_text = key.text();
  const TrustedFile file = directory_->read(entryFileName(key_text));
  if (!file.fault.empty()) return std::nullopt;
  const DecodedEntry entry = decodeEntry(file.bytes);
  // Two keys may have one name; only the key decides.
  if (!entry.fault.empty() || entry.key_text != key_text) return std::nullopt;
  return std::string(entry.value);
}

bool KernelCache::write(const std::string& temporary_name, std::string_view bytes) {
  if (failureBefore(CacheStep::Create) != 0) return false;
  FileDescriptor file(openat(directory_->descriptor(), temporary_name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.isOpen()) return false;
  while (!bytes.empty()) {
    const std::string_view chunk = bytes.substr(0, kChunkBytes);
    if (failureBefore(CacheStep::Write) != 0 || !writeAll(file.get(), chunk)) return false;
    bytes.remove_prefix(chunk.size());
  }
  if (failureBefore(CacheStep::Close) != 0) return false;
  return file.closeNow();  // some file systems report a full disk only here
}

bool KernelCache::store(const CacheKey& key, std::string_view value) {
  if (!isOn()) return false;
  const std::string key_text = key.text();
  const std::string bytes = encodeEntry(key_text, value);
  const std::string temporary_name = temporaryName();
  const LeftoverPath leftover(fmt::format("{}/{}", directory_->path(), temporary_name));
  const int folder = directory_->descriptor();
  const bool is_stored = write(temporary_name, bytes) && failureBefore(CacheStep::Rename) == 0 &&
                         renameat(folder, temporary_name.c_str(), folder, entryFileName(key_text).c_str()) == 0;
  if (!is_stored) {
    directory_->remove(temporary_name);
    return false;
  }
  collectIfLarge(static_cast<int64_t>(bytes.size()));
  return true;
}

// The folder is looked through at the first store and then whenever a sixteenth of the limit has been added.
void KernelCache::collectIfLarge(int64_t stored_bytes) {
  if (bytes_until_collection_.fetch_sub(stored_bytes) > stored_bytes) return;
  bytes_until_collection_ = options_.limit_bytes / 16;
  if (failureBefore(CacheStep::Collect) != 0) return;
  removeOldest(directory_->files(), options_.limit_bytes);
}

std::vector<CacheListing> KernelCache::list() const {
  std::vector<CacheListing> result;
  if (!isOn()) return result;
  for (DirectoryFile& file : directory_->files()) {
    if (!isEntryFileName(file.name)) continue;
    CacheListing& listing = result.emplace_back();
    const TrustedFile contents = directory_->peek(file.name);
    listing.file = std::move(file);
    listing.fault = contents.fault;
    if (!listing.fault.empty()) continue;
    const DecodedEntry entry = decodeEntry(contents.bytes);
    listing.fault = entry.fault;
    listing.value_bytes = static_cast<int64_t>(entry.value.size());
    if (!listing.fault.empty()) continue;
    std::optional<CacheKey> key = CacheKey::parse(entry.key_text);
    if (key) listing.key = std::move(*key);
    if (!key) listing.fault = "its key is not made of parts";
    if (listing.fault.empty() && entryFileName(entry.key_text) != listing.file.name)
      listing.fault = "its name is not that of its key";
  }
  std::ranges::sort(
      result, [](const CacheListing& a, const CacheListing& b) { return isEarlier(b.file.changed, a.file.changed); });
  return result;
}

CacheCollection KernelCache::removeOldest(std::vector<DirectoryFile> files, int64_t limit_bytes) {
  CacheCollection result;
  const auto drop = [&](const DirectoryFile& file) {
    if (!directory_->remove(file.name)) return;
    ++result.files;
    result.bytes += file.bytes;
  };
  std::ranges::for_each(files | std::views::filter(isAbandoned), drop);
  std::erase_if(files, [](const DirectoryFile& file) { return !isEntryFileName(file.name); });
  std::ranges::sort(files,
                    [](const DirectoryFile& a, const DirectoryFile& b) { return isEarlier(a.changed, b.changed); });
  int64_t total = 0;
  for (const DirectoryFile& file : files) total += file.bytes;
  for (const DirectoryFile& file : files) {
    if (total <= limit_bytes) break;
    drop(file);
    total -= file.bytes;
  }
  return result;
}

CacheCollection KernelCache::collect(int64_t limit_bytes) {
  CacheCollection result;
  if (!isOn()) return result;
  for (const CacheListing& listing : list()) {
    if (listing.fault.empty() || !directory_->remove(listing.file.name)) continue;
    ++result.files;
    result.bytes += listing.file.bytes;
  }
  const CacheCollection old = removeOldest(directory_->files(), limit_bytes);
  return {result.files + old.files, result.bytes + old.bytes};
}

}  // namespace tokamak
