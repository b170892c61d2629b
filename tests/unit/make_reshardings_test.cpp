// The pass make-reshardings: what it chooses, and what it refuses. (Values and locality: tests/fuzz/reshardings_test.)
#include "graph/make_reshardings.h"

#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::unique_ptr<Fusion> markedFusion(const std::string& text) {
  return parseFusion(text, "t.fusion", {.scheduler = &scheduleCommands()});
}

std::string resharded(const std::string& text) { return printFusion(*makeReshardings(*markedFusion(text))); }

std::string refusalOfMarks(const std::string& text) {
  const Error error = errorOf([&] { makeReshardings(*markedFusion(text)); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram);
  return error.message();
}

const std::string kDealtRows = "split(T0, axis=0, factor=2, inner_split=false) parallelize(T0, axis=0, type=DIDx) ";

TEST(MakeReshardings, ATensorWithoutAMeshIsOnThatOfItsOperandOrReader) {
  const std::string text = resharded(
      "fusion f(T0: f32[8], T1: f32[8] mesh(0, 1), T5: f32[8] mesh(2)) -> (T3, T4, T6) {\n"
      "  T2: f32[8] = add(T0, T1)\n  T3: f32[8] = exp(T2)\n  T4: f32[4] = full(shape=[4], value=1.0)\n"
      "  T6: f32[8] = neg(T5)\n}\n");
  for (const char* const given : {"T0: f32[8] mesh(0, 1)", "T2: f32[8] mesh(0, 1)", "T3: f32[8] mesh(0, 1)",
                                  "T4: f32[4] mesh(0, 1)", "T6: f32[8] mesh(2)"})
    EXPECT_THAT(text, HasSubstr(given));
  EXPECT_THAT(text, testing::Not(HasSubstr("set(")));
}

TEST(MakeReshardings, AFusionWithoutMeshesStaysAsItIs) {
  const std::string text = "fusion f(T0: f32[8]) -> T1 {\n  T1: f32[8] = exp(T0)\n}\n";
  EXPECT_EQ(resharded(text), text);
}

TEST(MakeReshardings, OneSetServesAllReadersThatAskForTheSame) {
  const std::string text = resharded(
      "fusion f(T0: f32[8] mesh(0, 1)) -> (T1, T2) {\n  T1: f32[8] mesh(0, 1) = exp(T0)\n"
      "  T2: f32[8] mesh(0, 1) = neg(T0)\n}\nschedule { " +
      kDealtRows + "}\n");
  EXPECT_THAT(text, HasSubstr("  T3: f32[8] mesh(0, 1) = set(T0)\n  T1: f32[8] mesh(0, 1) = exp(T3)\n"
                              "  T2: f32[8] mesh(0, 1) = neg(T3)\n"));
}

TEST(MakeReshardings, EachKindOfReductionHasItsTerms) {
  for (const std::string kind : {"sum", "prod", "max", "min"}) {
    const std::string text = resharded(fmt::format(
        "fusion f(T0: f32[8, 4] mesh(0, 1)) -> T1 {{\n  T1: f32[r{{8}}, 4] mesh(0, 1) = {}(T0, axes=[0])\n}}\n"
        "schedule {{ {}}}\n",
        kind, kDealtRows));
    EXPECT_THAT(text, HasSubstr(fmt::format("T2: f32[r{{8}}, 4] mesh(0, 1) partial({0}, DIDx) = {0}(T0, axes=[0])\n"
                                            "  T1: f32[4] mesh(0, 1) = set(T2)\n",
                                            kind)));
  }
}

TEST(MakeReshardings, AnIotaOfPartsIsLocalAndAReductionIsDoneWhereItsOperandIs) {
  EXPECT_THAT(resharded("fusion f() -> T0 {\n  T0: i64[8] mesh(0, 1) = iota(length=8, start=0, step=1, "
                        "dtype=i64)\n}\nschedule { " +
                        kDealtRows + "}\n"),
              testing::Not(HasSubstr("set(")));
  EXPECT_THAT(resharded("fusion f(T0: f32[8] mesh(0, 1)) -> T1 {\n  T1: f32[r{8}] mesh(2, 3) = sum(T0, axes=[0])\n}\n"
                        "schedule { " +
                        kDealtRows + "}\n"),
              HasSubstr("  T2: f32[r{8}] mesh(0, 1) partial(sum, DIDx) = sum(T0, axes=[0])\n"
                        "  T1: f32[] mesh(2, 3) = set(T2)\n"));
}

TEST(MakeReshardings, AReshapeIsLocalWherePartsProvablyHaveEquallyManyElements) {
  const auto reshaped = [](const std::string& from, const std::string& to) {
    return resharded("fusion f(T0: f32[" + from + "] mesh(0, 1)) -> T1 {\n  T1: f32[" + to +
                     "] mesh(0, 1) = reshape(T0, shape=[" + to + "])\n}\nschedule { " + kDealtRows +
                     "split(T1, axis=0, factor=2, inner_split=false) parallelize(T1, axis=0, type=DIDx) }\n");
  };
  for (const auto& [from, to] : {std::pair("24", "4, 6"), std::pair("2 * n * m", "2 * n, m"),
                                 std::pair("2 * n, 6", "12 * n"), std::pair("n, 6", "n, 2, 3")})
    EXPECT_THAT(reshaped(from, to), testing::Not(HasSubstr("set("))) << from;
  // Whether two divides n is not known, and six elements are no rows of four.
  for (const auto& [from, to] : {std::pair("6 * n", "n, 6"), std::pair("12", "3, 4")})
    EXPECT_THAT(reshaped(from, to), HasSubstr("set(")) << from;
}

TEST(MakeReshardings, MarksThatNothingGivesAreRefused) {
  EXPECT_EQ(refusalOfMarks("fusion f(T0: f32[8] mesh(0, 1)) -> T2 {\n  T1: f32[r{8}] mesh(0, 1) partial(sum, DIDx) = "
                           "sum(T0, axes=[0])\n  T2: f32[] mesh(0, 1) = set(T1)\n}\n"),
            "make-reshardings: T1 is partial(sum, DIDx), and sum has no operand with parts of an axis to combine over "
            "DIDx; mark that of an operand, or leave partial out");
  EXPECT_EQ(refusalOfMarks("fusion f(T0: f32[8] mesh(0, 1)) -> T2 {\n  T1: f32[8] mesh(0, 1) partial(sum, DIDx) = "
                           "set(T0)\n  T2: f32[8] mesh(0, 1) = set(T1)\n}\n"),
            "make-reshardings: T1 is partial(sum, DIDx), and T0, of which it is set, is not; leave partial out");
  EXPECT_EQ(refusalOfMarks("fusion f(T0: f32[8] mesh(0, 1)) -> T1 aliases T0 {\n  T1: f32[8] mesh(0, 1) = exp(T0)\n}\n"
                           "schedule { " +
                           kDealtRows + "}\n"),
            "make-reshardings: T1 updates T0, and its ranks have other parts of it; give both the same marks");
}

}  // namespace
}  // namespace tokamak
