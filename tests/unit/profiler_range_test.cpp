#include "base/profiler_range.h"

#include <type_traits>

#include <gtest/gtest.h>

namespace tokamak {

namespace {

TEST(Ranges, ANameOfATextIsMadeAndOneOfNothingIsNot) {
  EXPECT_TRUE(RangeName("wait").isMade());
  EXPECT_FALSE(RangeName().isMade());
  const Range told_to_nobody{RangeName()};
}

// Streams and compilers may run while the process ends; what they use is never destroyed.
TEST(Ranges, NamesHaveNoDestructors) {
  static constexpr std::string_view kTexts[] = {"record", "wait"};
  static const std::array names = rangeNames(kTexts);
  EXPECT_TRUE(std::is_trivially_destructible_v<decltype(names)>);
  for (const RangeName name : names) EXPECT_TRUE(name.isMade());
}

}  // namespace

}  // namespace tokamak
