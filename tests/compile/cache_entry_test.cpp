// Entries as bytes: every truncation and every flipped bit is seen; keys print and parse.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolchain/cache_entry.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

CacheKey sampleKey() {
  return CacheKey({{"compiler", "cc 12.2"}, {"flags", ""}, {"source", "void f(void) {\n}\nflags 3\nabc\n"}});
}

TEST(CacheKey, printsAndParses) {
  EXPECT_EQ(CacheKey::parse(sampleKey().text()), sampleKey());
  EXPECT_EQ(CacheKey::parse(""), CacheKey());
  EXPECT_EQ(sampleKey().part("compiler"), "cc 12.2");
  EXPECT_EQ(sampleKey().part("nothing"), "");
}

TEST(CacheKey, otherTextsAreRefused) {
  for (const char* const text :
       {"a", "a 3", "a 3\n", "a 3\nabc", "a 3\nabcd\n", "a -1\nabc\n", "a x\nabc\n", "a 3x\nabc\n",
        "a 99999999999999999999999\nabc\n", "a 18446744073709551615\nabc\n", "\n", " \n"})
    EXPECT_EQ(CacheKey::parse(text), std::nullopt) << text;
}

TEST(CacheKey, everyPrefixIsRefused) {
  const std::string text = sampleKey().text();
  for (size_t length = 1; length < text.size(); ++length) {
    const auto parsed = CacheKey::parse(text.substr(0, length));
    // A prefix that ends with a part is a key of fewer parts.
    EXPECT_TRUE(!parsed || parsed->parts().size() < sampleKey().parts().size()) << length;
  }
}

TEST(CacheKey, textOfDifferentPartsDiffers) {
  const CacheKey one(std::vector<CacheKey::Part>{{"a", "x"}, {"b", "y"}});
  const CacheKey other(std::vector<CacheKey::Part>{{"a", "x\nb 1\ny"}});
  EXPECT_NE(one.text(), other.text());
}

TEST(CacheEntry, fileNamesAreNamesOfEntries) {
  const std::string name = entryFileName(sampleKey().text());
  EXPECT_TRUE(isEntryFileName(name)) << name;
  EXPECT_EQ(name.size(), size_t{32 + 7});
  for (const std::string& other : {std::string("x.kernel"), "../" + name.substr(3), name + "x", std::string(".part-0")})
    EXPECT_FALSE(isEntryFileName(other)) << other;
}

TEST(CacheEntry, comesBackWhole) {
  const std::string value("\0\1binary\xff", 9);
  const std::string bytes = encodeEntry(sampleKey().text(), value);
  const DecodedEntry entry = decodeEntry(bytes);
  EXPECT_EQ(entry.fault, "");
  EXPECT_EQ(entry.key_text, sampleKey().text());
  EXPECT_EQ(entry.value, value);
}

TEST(CacheEntry, everyTruncationAndAnyAdditionIsSeen) {
  const std::string bytes = encodeEntry(sampleKey().text(), std::string(500, 'v'));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(decodeEntry(std::string_view(bytes).substr(0, length)).fault, "") << length;
  EXPECT_NE(decodeEntry(bytes + "x").fault, "");
}

TEST(CacheEntry, everyFlippedBitIsSeen) {
  const std::string bytes = encodeEntry(sampleKey().text(), std::string(500, 'v'));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(decodeEntry(damaged).fault, "") << "bit " << bit;
  }
}

TEST(CacheEntry, faultsAreSaid) {
  std::string bytes = encodeEntry("key", "value");
  EXPECT_THAT(decodeEntry("short").fault, HasSubstr("5 bytes, fewer than a header"));
  EXPECT_THAT(decodeEntry(std::string(200, 'x')).fault, HasSubstr("does not start like an entry"));
  EXPECT_THAT(decodeEntry(bytes + "x").fault, HasSubstr("9 bytes after its header, which says 3 + 5"));
  bytes.back() = 'X';
  EXPECT_THAT(decodeEntry(bytes).fault, HasSubstr("checksum is wrong"));
  bytes[8] = 7;
  EXPECT_THAT(decodeEntry(bytes).fault, HasSubstr("of format 7, this is 1"));
}

}  // namespace
}  // namespace tokamak
