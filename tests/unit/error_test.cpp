#include "base/require.h"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "error_of.h"

namespace tokamak {
namespace {

constexpr std::array kAllCodes = {
    ErrorCode::Usage,       ErrorCode::Parse,   ErrorCode::Definition,  ErrorCode::Schedule, ErrorCode::HostProgram,
    ErrorCode::Race,        ErrorCode::Bind,    ErrorCode::OutOfMemory, ErrorCode::Io,       ErrorCode::Device,
    ErrorCode::Unsupported, ErrorCode::Compile, ErrorCode::Internal};

TEST(Error, RequireRaisesItsCodeAndSentenceOnlyWhenTheConditionFails) {
  const auto requireEven = [](int value) { TK_REQUIRE(value % 2 == 0, Definition, "even: {} is odd", value); };
  EXPECT_NO_THROW(requireEven(2));
  const Error error = errorOf([&] { requireEven(3); });
  EXPECT_EQ(error.code(), ErrorCode::Definition);
  EXPECT_EQ(error.message(), "even: 3 is odd");
  EXPECT_STREQ(error.what(), "even: 3 is odd");
}

TEST(Error, CheckNamesItsPlaceInTheSource) {
  const Error error = errorOf([] { TK_CHECK(false, "the list has {} entries", 3); });
  EXPECT_EQ(error.code(), ErrorCode::Internal);
  EXPECT_EQ(error.message().find("internal error at tests/unit/error_test.cpp:"), 0U) << error.message();
  EXPECT_NE(error.message().find("the list has 3 entries"), std::string::npos);
}

TEST(Error, NotesFollowTheSentenceInnermostFirstAndEndWithTheirScope) {
  const auto outer_text = [] { return std::string("while reading a.fusion"); };
  const auto inner_text = [] { return std::string("while applying step 3"); };
  const ErrorNote outer(outer_text);
  const Error inside = errorOf([&] {
    const ErrorNote inner(inner_text);
    TK_RAISE(Schedule, "split: factor is 0");
  });
  EXPECT_STREQ(inside.what(), "split: factor is 0\n  while applying step 3\n  while reading a.fusion");
  EXPECT_EQ(inside.message(), "split: factor is 0");
  const Error after = errorOf([] { TK_RAISE(Schedule, "split: factor is 0"); });
  EXPECT_STREQ(after.what(), "split: factor is 0\n  while reading a.fusion");
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const ErrorCode code : kAllCodes) names.insert(errorCodeName(code));
  EXPECT_EQ(names.size(), kAllCodes.size());
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace tokamak
