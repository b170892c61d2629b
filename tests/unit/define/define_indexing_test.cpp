#include "define/indexing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DefineIndexing : public testing::Test {
 protected:
  TensorView* floats(const Operands& shape) { return inputOf(fusion_, DataType::F32, shape); }
  TensorView* positions(const Operands& shape) { return inputOf(fusion_, DataType::I64, shape); }
  std::vector<std::string> program() const { return programOf(fusion_); }
  Fusion fusion_;
};

TEST_F(DefineIndexing, TheAxisHasThePositionsSizeAndTheOthersBroadcast) {
  EXPECT_EQ(describe(*take_along_axis(floats({4, 8, 1}), positions({1, 3, 5}), 1)), "f32[4, 3, 5]");
  EXPECT_EQ(describe(*take_along_axis(floats({4, 8}), positions({4, 1}), -1)), "f32[4, b1]");
}

TEST_F(DefineIndexing, AnEmbeddingIsOneOpForPositionsOfAnyRank) {
  TensorView* weight = floats({9, 8});
  EXPECT_EQ(describe(*embedding(weight, positions({4}))), "f32[4, 8]");
  EXPECT_EQ(describe(*embedding(weight, positions({2, 4}))), "f32[2, 4, 8]");
  EXPECT_EQ(describe(*embedding(weight, positions({}))), "f32[8]");
  EXPECT_THAT(program(), ElementsAre("broadcast i64[4, b1]", "take_along_axis f32[4, 8]", "broadcast f32[b1, 9, 8]",
                                     "broadcast i64[2, 4, b1]", "take_along_axis f32[2, 4, 8]", "broadcast i64[b1]",
                                     "broadcast i64[b1, b1]", "take_along_axis f32[b1, 8]", "squeeze f32[8]"));
}

TEST_F(DefineIndexing, EmbeddingScalesTheRowsThatItTakes) {
  EXPECT_EQ(describe(*embedding(floats({9, 8}), positions({4}), {.max_norm = 1.5})), "f32[4, 8]");
  EXPECT_THAT(program(), ElementsAre("broadcast i64[4, b1]", "take_along_axis f32[4, 8]", "mul f32[4, 8]", "sum f32[4]",
                                     "broadcast f32[4, b1]", "sqrt f32[4, b1]", "gt bool[4, b1]", "add f32[4, b1]",
                                     "truediv f32[4, b1]", "where f32[4, b1]", "mul f32[4, 8]"));
}

TEST_F(DefineIndexing, GatherReadsThePartThatThePositionsCover) {
  EXPECT_EQ(describe(*gather(floats({4, 8, 6}), 1, positions({3, 9, 6}))), "f32[3, 9, 6]");
  EXPECT_THAT(program(), ElementsAre("slice f32[3, 8, 6]", "take_along_axis f32[3, 9, 6]"));
}

TEST_F(DefineIndexing, IllegalUsesAreNamed) {
  const auto message = [](const auto& call) { return errorOf(call).message(); };
  TensorView* x = floats({4, 8});
  EXPECT_THAT(message([&] { take_along_axis(x, x, 0); }), HasSubstr("take_along_axis: positions are i32 or i64"));
  EXPECT_THAT(message([&] { take_along_axis(x, positions({4}), 0); }), HasSubstr("differ in rank"));
  EXPECT_THAT(message([&] { take_along_axis(x, positions({4, 8}), 2); }), HasSubstr("axis 2 is out of bounds"));
  EXPECT_THAT(message([&] { take_along_axis(x, positions({3, 8}), 1); }), HasSubstr("sizes along axis 0 are 4 and 3"));
  EXPECT_THAT(message([&] { gather(x, 0, positions({4})); }), HasSubstr("gather: "));
  EXPECT_THAT(message([&] { gather(x, 0, positions({4, 9})); }), HasSubstr("gather: axis 1 of the positions"));
  EXPECT_THAT(message([&] { index_select(x, 0, positions({4, 9})); }),
              HasSubstr("index_select: positions are a tensor of rank 1 or 0"));
  EXPECT_THAT(message([&] { embedding(floats({4}), positions({4})); }),
              HasSubstr("embedding: the weight has a row per index"));
  EXPECT_THAT(message([&] { embedding(positions({4, 4}), positions({4}), {.max_norm = 1}); }),
              HasSubstr("have no norm; those of a floating type have"));
  EXPECT_THAT(message([&] { embedding(floats({4, 4}), positions({4}), {.max_norm = -1}); }),
              HasSubstr("embedding: max_norm -1 with norm_type 2 is refused"));
  EXPECT_THAT(message([&] { embedding(floats({4, 4}), positions({4}), {.max_norm = 1, .norm_type = 0}); }),
              HasSubstr("embedding: max_norm 1 with norm_type 0 is refused"));
}

}  // namespace
}  // namespace tokamak
