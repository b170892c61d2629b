// Why a kernel is not in the cache: the nearest entry and the lines in which its key differs.
#include "toolchain/cache_compare.h"

#include <gtest/gtest.h>

namespace tokamak {
namespace {

CacheKey key(const std::string& flags, const std::string& source, const std::string& kind = "C kernel") {
  return CacheKey({{"kind", kind}, {"compiler", "cc 12"}, {"flags", flags}, {"source", source}});
}

CacheListing listing(const std::string& name, CacheKey key, const std::string& fault = "") {
  return {.file = {.name = name, .bytes = 0, .changed = {}}, .key = std::move(key), .value_bytes = 0, .fault = fault};
}

TEST(CacheCompare, namesPartsAndLinesThatDiffer) {
  const auto differences = differencesOf(key("-O2", "a\nb\nc\n"), key("-O3", "a\nx\nc\n"));
  ASSERT_EQ(differences.size(), size_t{2});
  EXPECT_EQ(differences[0].part, "flags");
  EXPECT_EQ(differences[0].kept_line, "-O2");
  EXPECT_EQ(differences[0].asked_line, "-O3");
  EXPECT_EQ(differences[1].part, "source");
  EXPECT_EQ(differences[1].line, 2);
  EXPECT_EQ(differences[1].kept_line, "b");
  EXPECT_EQ(differences[1].asked_line, "x");
  EXPECT_TRUE(differencesOf(key("-O2", "a"), key("-O2", "a")).empty());
}

TEST(CacheCompare, aLongerSourceDiffersBehindTheEndOfTheOther) {
  const auto differences = differencesOf(key("", "a\n"), key("", "a\nb\n"));
  ASSERT_EQ(differences.size(), size_t{1});
  EXPECT_EQ(differences[0].line, 2);
  EXPECT_EQ(differences[0].kept_line, "");
  EXPECT_EQ(differences[0].asked_line, "b");
}

TEST(CacheCompare, theNearestHasFewestDifferentPartsThenMostCommonLines) {
  const CacheKey asked = key("-O3", "a\nb\nc\nd\n");
  const std::vector<CacheListing> entries = {
      listing("two parts", key("-O2", "a\nb\nc\n")), listing("other kind", key("-O3", "a\nb\nc\nd\n", "CUDA kernel")),
      listing("one line", key("-O3", "a\nx\ny\nz\n")), listing("three lines", key("-O3", "a\nx\nc\nd\n")),
      listing("damaged", asked, "its checksum is wrong")};
  EXPECT_EQ(nearestEntry(entries, asked), &entries[3]);
  EXPECT_EQ(nearestEntry(entries, key("-O2", "a\n")), &entries[0]);
  EXPECT_EQ(nearestEntry(entries, key("", "", "no kind")), nullptr);
}

}  // namespace
}  // namespace tokamak
