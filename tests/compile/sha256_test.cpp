// The digest against the examples of FIPS 180-4, and in pieces.
#include <gtest/gtest.h>

#include "toolchain/sha256.h"

namespace tokamak {
namespace {

TEST(Sha256, equalsThePublishedExamples) {
  EXPECT_EQ(hexOf(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexOf(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexOf(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexOf(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, isTheSameHoweverTheTextIsCut) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t length = 0; length <= text.size(); length += 13) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    for (size_t cut = 0; cut <= length; cut += 11) {
      Sha256 running;
      running.add(whole.substr(0, cut));
      running.add(whole.substr(cut));
      EXPECT_EQ(running.finish(), sha256(whole)) << length << " cut at " << cut;
    }
  }
}

TEST(Sha256, hexDigitsMayBeFewer) { EXPECT_EQ(hexOf(sha256("abc"), 4), "ba7816bf"); }

}  // namespace
}  // namespace tokamak
