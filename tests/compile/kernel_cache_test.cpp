// The kernel cache by itself: what is stored is found, by its whole key only; what is listed, collected and refused.
#include "toolchain/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_folder.h"
#include "error_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

TEST(KernelCache, findsWhatWasStored) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
  EXPECT_TRUE(cache.store(keyNumber(1), valueNumber(1)));
  EXPECT_TRUE(cache.store(keyNumber(2), ""));
  EXPECT_EQ(cache.find(keyNumber(1)), valueNumber(1));
  EXPECT_EQ(cache.find(keyNumber(2)), "");
  EXPECT_EQ(KernelCache(folder.path()).find(keyNumber(1)), valueNumber(1));
}

TEST(KernelCache, aStoredValueReplacesTheEarlierOne) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), "old");
  cache.store(keyNumber(1), "new");
  EXPECT_EQ(cache.find(keyNumber(1)), "new");
  EXPECT_EQ(folder.numberOfFiles(), size_t{1});
}

TEST(KernelCache, oneChangedPartOfTheKeyIsAMiss) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  const std::vector<CacheKey::Part> parts = {{"compiler", "cc 12"}, {"flags", "-O3"}, {"source", "void f(void) {}"}};
  cache.store(CacheKey(parts), "value");
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<CacheKey::Part> changed = parts;
    changed[i].text += " ";
    EXPECT_EQ(cache.find(CacheKey(changed)), std::nullopt) << parts[i].name;
  }
}

// A collision of names, made by hand: the entry of another key, whole in itself.
TEST(KernelCache, anEntryOfAnotherKeyUnderThisNameIsAMiss) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  cache.store(keyNumber(1), "value of 1");
  fs::copy_file(folder.fileOf(keyNumber(1)), folder.fileOf(keyNumber(2)));
  EXPECT_EQ(cache.find(keyNumber(2)), std::nullopt);
  cache.store(keyNumber(2), "value of 2");
  EXPECT_EQ(cache.find(keyNumber(2)), "value of 2");
}

TEST(KernelCache, filesAndFoldersAreForTheirOwnerOnly) {
  const CacheFolder folder;
  const mode_t before = umask(0);
  KernelCache cache(folder.path() + "/a/b");
  cache.store(keyNumber(1), "value");
  umask(before);
  EXPECT_EQ(fs::status(folder.path() + "/a").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder.path() + "/a/b").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder.path() + "/a/b/" + entryFileName(keyNumber(1).text())).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(KernelCache, aCacheThatIsOffKeepsNothing) {
  KernelCache cache;
  EXPECT_FALSE(cache.isOn());
  EXPECT_FALSE(cache.store(keyNumber(1), "value"));
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(cache.collect(0).files, 0);
}

TEST(KernelCache, listsTheLastUsedFirst) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  for (int i = 0; i < 3; ++i) {
    cache.store(keyNumber(i), valueNumber(i));
    fs::last_write_time(folder.fileOf(keyNumber(i)), fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  cache.find(keyNumber(0));
  const std::vector<CacheListing> list = cache.list();
  ASSERT_EQ(list.size(), size_t{3});
  EXPECT_EQ(list[0].key, keyNumber(0));
  EXPECT_EQ(list[1].key, keyNumber(2));
  EXPECT_EQ(list[2].key, keyNumber(1));
  EXPECT_EQ(list[0].value_bytes, 15'000);
}

TEST(KernelCache, staysBelowItsLimitAndKeepsWhatIsUsed) {
  const CacheFolder folder;
  constexpr int64_t kLimit = 200'000;
  KernelCache cache(folder.path(), {.limit_bytes = kLimit, .before_step = {}});
  cache.store(keyNumber(0), valueNumber(0));
  for (int i = 1; i < 60; ++i) {
    cache.store(keyNumber(i), valueNumber(i));
    EXPECT_EQ(cache.find(keyNumber(0)), valueNumber(0)) << "after " << i;
  }
  int64_t total = 0;
  for (const CacheListing& listing : cache.list()) total += listing.file.bytes;
  EXPECT_LE(total, kLimit + kLimit / 8);
  EXPECT_GE(total, kLimit / 2);
  EXPECT_EQ(cache.find(keyNumber(59)), valueNumber(59));
  EXPECT_EQ(cache.find(keyNumber(1)), std::nullopt);
}

TEST(KernelCache, collectsDamagedEntriesAndWhatDeadWritersLeft) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  for (int i = 0; i < 3; ++i) cache.store(keyNumber(i), valueNumber(i));
  fs::resize_file(folder.fileOf(keyNumber(1)), 100);
  const std::string old_part = folder.path() + "/.part-0123456789abcdef";
  const std::string young_part = folder.path() + "/.part-fedcba9876543210";
  writeFile(old_part, "half");
  writeFile(young_part, "half");
  writeFile(folder.path() + "/notes.txt", "somebody's");
  fs::last_write_time(old_part, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(cache.collect(1 << 30).files, 2);
  EXPECT_FALSE(fs::exists(old_part));
  EXPECT_TRUE(fs::exists(young_part));
  EXPECT_TRUE(fs::exists(folder.path() + "/notes.txt"));
  EXPECT_EQ(cache.list().size(), size_t{2});
  EXPECT_EQ(cache.collect(0).files, 2);
  EXPECT_TRUE(cache.list().empty());
}

TEST(KernelCache, faultsOfEntriesAreListed) {
  const CacheFolder folder;
  KernelCache cache(folder.path());
  for (int i = 0; i < 3; ++i) cache.store(keyNumber(i), valueNumber(i));
  fs::resize_file(folder.fileOf(keyNumber(0)), 100);
  fs::copy_file(folder.fileOf(keyNumber(1)), folder.fileOf(keyNumber(7)));
  writeFile(folder.fileOf(keyNumber(8)), encodeEntry("no parts", "value"));
  fs::permissions(folder.fileOf(keyNumber(8)), fs::perms::owner_all);
  std::vector<std::string> faults;
  for (const CacheListing& listing : cache.list())
    if (!listing.fault.empty()) faults.push_back(listing.fault);
  EXPECT_THAT(faults, testing::UnorderedElementsAre(HasSubstr("after its header"), "its name is not that of its key",
                                                    "its key is not made of parts"));
}

TEST(KernelCache, folderComesFromTheEnvironment) {
  const ScopedVariable home("HOME", "/home/somebody");
  {
    const ScopedVariable own("TOKAMAK_CACHE_DIR", "/a/b");
    EXPECT_EQ(defaultCacheDirectory(), "/a/b");
  }
  const ScopedVariable own("TOKAMAK_CACHE_DIR", std::nullopt);
  {
    const ScopedVariable shared("XDG_CACHE_HOME", "/shared");
    EXPECT_EQ(defaultCacheDirectory(), "/shared/tokamak");
  }
  {
    const ScopedVariable relative("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(defaultCacheDirectory(), "/home/somebody/.cache/tokamak");
  }
  const ScopedVariable shared("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(defaultCacheDirectory(), "/home/somebody/.cache/tokamak");
  const ScopedVariable no_home("HOME", "relative");
  EXPECT_THAT(errorOf([] { defaultCacheDirectory(); }).message(), HasSubstr("there is no home folder"));
}

}  // namespace
}  // namespace tokamak
