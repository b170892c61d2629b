// What propagate-shardings decides, op by op and rule by rule.
#include "graph/propagate_shardings.h"

#include <chrono>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "define/functions.h"
#include "schedule/set_device_mesh.h"
#include "schedule/transforms.h"
#include "unit/shardings/sharding_case.h"

namespace tokamak {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The commands that deal axis `axis` of the tensor out over two or more devices.
std::string dealOut(const std::string& tensor, int axis, int devices = 2, const std::string& type = "DIDx") {
  return fmt::format("split({0}, axis={1}, factor={2}, inner_split=false) parallelize({0}, axis={1}, type={3})\n",
                     tensor, axis, devices, type);
}

// What `statement`, whose result is y, gives y where axis `axis` of x is dealt out over two devices: "1 DIDx 4".
std::string resultOf(const std::string& x_type, const std::string& statement, int axis,
                     const std::string& others = "") {
  const std::vector<std::string> found = shardingsOf(fmt::format(
      "fusion f(x: {} mesh(0, 1){}) -> y {{ {} }}\nschedule {{ {} }}", x_type, others, statement, dealOut("x", axis)));
  for (const std::string& line : found) {
    if (line.starts_with("y:")) return line.size() == 2 ? "" : line.substr(3);
  }
  return "no mesh";
}

// What x gets where axis `axis` of y is dealt out.
std::string operandOf(const std::string& x_type, const std::string& statement, int axis) {
  const std::vector<std::string> found = shardingsOf(fmt::format(
      "fusion f(in: {0}) -> y {{ x: {0} = neg(in) {1} }}\nschedule {{ set_device_mesh(y, mesh(0, 1)) {2} }}", x_type,
      statement, dealOut("y", axis)));
  for (const std::string& line : found) {
    if (line.starts_with("x:")) return line.size() == 2 ? "" : line.substr(3);
  }
  return "no mesh";
}

TEST(PropagateShardings, CommandsSayWhatAndWhy) {
  const auto fusion =
      fusionFrom("fusion f(x: f32[n, 8] mesh(0, 1), w: f32[6, 8]) -> y { h = exp(x) y = linear(h, w) }\nschedule { " +
                 dealOut("x", 0) + "}");
  EXPECT_EQ(
      explainShardings(*fusion),
      "fusion f(x: f32[n, 8] mesh(0, 1), w: f32[6, 8]) -> y {\n"
      "  h: f32[n, 8] = exp(x)\n"
      "  y: f32[n, 6, r{8}] = linear(h, w)\n"
      "}\n"
      "schedule {\n"
      "  split(x, axis=0, factor=2, inner_split=false)\n"
      "  parallelize(x, axis=0, type=DIDx)\n"
      "  set_device_mesh(h, mesh=mesh(0, 1))  // as x, which exp reads\n"
      "  split(h, axis=0, factor=2, inner_split=false)  // DIDx of x: axis 0 is its axis 0\n"
      "  parallelize(h, axis=0, type=DIDx)\n"
      "  set_device_mesh(y, mesh=mesh(0, 1))  // as h, which linear reads\n"
      "  split(y, axis=0, factor=2, inner_split=false)  // DIDx of h: axis 0 is its axis 0\n"
      "  parallelize(y, axis=0, type=DIDx)\n"
      "  set_device_mesh(w, mesh=mesh(0, 1))  // as y, which linear gives; an input without a mesh is replicated\n"
      "}\n");
}

TEST(PropagateShardings, AFusionWithoutMarksStaysAsItIs) {
  const std::string text = "fusion f(x: f32[n]) -> y { y = exp(x) }\n";
  EXPECT_THAT(commandsFor(text), IsEmpty());
  EXPECT_EQ(explainShardings(*fusionFrom(text)), printFusion(*fusionFrom(text)));
}

TEST(PropagateShardings, ElementwiseOpsKeepParts) {
  EXPECT_EQ(resultOf("f32[n, 8]", "y = exp(x)", 0), "0 DIDx ( ceilDiv(n, 2) )");
  EXPECT_EQ(resultOf("f32[n, 8]", "y = x + z", 1, ", z: f32[n, 8]"), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[n, 8]", "y = cast(x, dtype=f16)", 1), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[9]", "y = set(x)", 0), "0 DIDx 5");
  EXPECT_EQ(resultOf("f32[8, 8]", "y = x + permute(x, order=[1, 0])", 0), "0 DIDx 4") << "of x alone; the other is 1";
}

TEST(PropagateShardings, PartsOfASizeAndPartsOfPartsAreKept) {
  const std::string text = "fusion f(x: f32[10] mesh(0, 1)) -> y { y = exp(x) }\nschedule { ";
  EXPECT_THAT(shardingsOf(text + "split(x, axis=0, factor=6) parallelize(x, axis=0, type=DIDx) }"),
              Contains("y: 0 DIDx 6"));
  EXPECT_THAT(shardingsOf(text + "split(x, axis=0, factor=4, inner_split=false) split(x, axis=0, factor=2) "
                                 "parallelize(x, axis=0, type=DIDx) }"),
              Contains("y: 0 DIDx 6"));
  EXPECT_THAT(shardingsOf("fusion f(x: f32[2, n] mesh(0, 1)) -> y { y = exp(x) }\n"
                          "schedule { parallelize(x, axis=0, type=DIDx) }"),
              Contains("y: 0 DIDx 1"));
}

TEST(PropagateShardings, ReductionsKeepWhatTheyDoNotReduce) {
  EXPECT_EQ(resultOf("f32[6, 8]", "y = sum(x, axes=[1])", 0), "0 DIDx 3");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = max(x, axes=[0])", 1), "0 DIDx 4");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = sum(x, axes=[1])", 1), "") << "replicated";
  EXPECT_EQ(operandOf("f32[6, 8]", "y = sum(x, axes=[1])", 0), "0 DIDx 3");
}

TEST(PropagateShardings, MovementOfAxesKeepsParts) {
  EXPECT_EQ(resultOf("f32[4, 6, 8]", "y = permute(x, order=[2, 0, 1])", 2), "0 DIDx 4");
  EXPECT_EQ(resultOf("f32[4, 6]", "y = unsqueeze(x, axis=1)", 1), "2 DIDx 3");
  EXPECT_EQ(resultOf("f32[4, 1, 6]", "y = squeeze(x, axis=1)", 2), "1 DIDx 3");
  EXPECT_EQ(resultOf("f32[1, 6]", "y = expand(x, shape=[4, 6])", 1), "1 DIDx 3");
  EXPECT_EQ(operandOf("f32[1, 6]", "y = expand(x, shape=[4, 6])", 0), "") << "the operand has one element there";
  EXPECT_EQ(operandOf("f32[4, 6]", "y = permute(x, order=[1, 0])", 0), "1 DIDx 3");
}

TEST(PropagateShardings, ExpandedAxesShowTheSamePart) {
  EXPECT_THAT(
      shardingsOf("fusion f(x: f32[1 ex 4, 6] mesh(0, 1)) -> y { y = exp(x) }\nschedule { " + dealOut("x", 0) + "}"),
      Contains("y: 0 DIDx 2"));
}

TEST(PropagateShardings, ElementsThatMoveAlongTheAxisDoNotKeepParts) {
  EXPECT_EQ(resultOf("f32[6, 8]", "y = flip(x, axes=[0])", 0), "");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = flip(x, axes=[0])", 1), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = x[1:5, :]", 0), "");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = x[1:5, :]", 1), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = pad(x, widths=[1, 1, 0, 0])", 0), "");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = pad(x, widths=[1, 1, 0, 0])", 1), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = cat([x, x], axis=0)", 0), "");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = cat([x, x], axis=0)", 1), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = select(x, axis=0, index=1)", 0), "");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = select(x, axis=0, index=1)", 1), "0 DIDx 4");
  EXPECT_EQ(operandOf("f32[6, 8]", "y = flip(x, axes=[0])", 0), "");
}

TEST(PropagateShardings, IndexedAxesStayWhole) {
  EXPECT_EQ(resultOf("f32[6, 8]", "y = take_along_axis(x, i, axis=0)", 1, ", i: i64[4, 8]"), "1 DIDx 4");
  EXPECT_EQ(resultOf("f32[6, 8]", "y = take_along_axis(x, i, axis=0)", 0, ", i: i64[4, 8]"), "");
  EXPECT_EQ(resultOf("i64[6, 8]", "y = take_along_axis(t, x, axis=0)", 0, ", t: f32[5, 8]"), "0 DIDx 3")
      << "positions are read one by one, what they choose from is whole";
}

TEST(PropagateShardings, ChunksMoveThroughReshapesWhereTheyHaveEquallyManyElements) {
  EXPECT_EQ(resultOf("f32[4, 6]", "y = reshape(x, shape=[24])", 0), "0 DIDx 12");
  EXPECT_EQ(resultOf("f32[24]", "y = reshape(x, shape=[4, 6])", 0), "0 DIDx 2");
  EXPECT_EQ(resultOf("f32[2, 6]", "y = reshape(x, shape=[12])", 0), "0 DIDx 6");
  EXPECT_EQ(resultOf("f32[12]", "y = reshape(x, shape=[2, 6])", 0), "0 DIDx 1");
  EXPECT_EQ(resultOf("f32[6, 4]", "y = reshape(x, shape=[4, 6])", 0), "0 DIDx 2");
  EXPECT_EQ(resultOf("f32[3, 4]", "y = reshape(x, shape=[12])", 0), "0 DIDx 8") << "2 and 1 rows are 8 and 4 elements";
  EXPECT_EQ(resultOf("f32[12]", "y = reshape(x, shape=[3, 4])", 0), "") << "6 elements are no rows";
  EXPECT_EQ(resultOf("f32[4, 6]", "y = reshape(x, shape=[24])", 1), "") << "parts of inner axes lie apart";
  EXPECT_EQ(resultOf("f32[5, 4, 6]", "y = reshape(x, shape=[5, 24])", 0), "0 DIDx 3");
  EXPECT_EQ(resultOf("f32[n, 6]", "y = reshape(x, shape=[n, 2, 3])", 0), "0 DIDx ( ceilDiv(n, 2) )");
  EXPECT_EQ(resultOf("f32[2 * n, 6]", "y = reshape(x, shape=[12 * n])", 0), "0 DIDx ( n * 6 )");
  EXPECT_EQ(resultOf("f32[n, 6]", "y = reshape(x, shape=[6 * n])", 0), "") << "whether 2 divides n is not known";
  EXPECT_THAT(shardingsOf("fusion f(x: f32[2, n] mesh(0, 1)) -> y { y = reshape(x, shape=[2 * n]) }\n"
                          "schedule { parallelize(x, axis=0, type=DIDx) }"),
              Contains("y: 0 DIDx n"));
  EXPECT_EQ(operandOf("f32[4, 6]", "y = reshape(x, shape=[24])", 0), "0 DIDx 2");
  EXPECT_EQ(operandOf("f32[24]", "y = reshape(x, shape=[4, 6])", 0), "0 DIDx 12");
}

TEST(PropagateShardings, AResultIsNotMarkedWhereItsOwnOpHasNoPartsOfTheKind) {
  EXPECT_EQ(operandOf("f32[24]", "f = flip(x, axes=[0]) y = neg(f)", 0), "");
  EXPECT_THAT(shardingsOf("fusion f(x: f32[24]) -> y { r = reshape(x, shape=[4, 6]) y = neg(r) }\n"
                          "schedule { set_device_mesh(y, mesh(0, 1, 2)) " +
                          dealOut("y", 0, 3) + "}"),
              ElementsAre("x:", "r:", "y: 0 DIDx 2"))
      << "chunks of 12, 12 and 0";
  EXPECT_THAT(shardingsOf("fusion f(x: f32[2, 6]) -> y { h = neg(x) r = reshape(h, shape=[12]) y = neg(r) }\n"
                          "schedule { set_device_mesh(y, mesh(0, 1, 2)) " +
                          dealOut("y", 0, 3) + "}"),
              ElementsAre("x:", "h:", "r:", "y: 0 DIDx 4"))
      << "4 elements are no rows of 6";
}

TEST(PropagateShardings, LinearAsksWeightBiasAndInput) {
  const std::string both = "fusion f(x: f32[6, 8] mesh(0, 1), w: f32[4, 8] mesh(0, 1)) -> y { y = linear(x, w) }\n";
  EXPECT_THAT(shardingsOf(both + "schedule { " + dealOut("x", 0) + dealOut("w", 0) + "}"), Contains("y: 1 DIDx 2"));
  EXPECT_THAT(shardingsOf(both + "schedule { " + dealOut("x", 0) + dealOut("w", 1) + "}"), Contains("y: 0 DIDx 3"));
  EXPECT_THAT(shardingsOf(both + "schedule { " + dealOut("x", 1) + dealOut("w", 1) + "}"), Contains("y:"))
      << "sums over parts";
  EXPECT_THAT(
      shardingsOf("fusion f(x: f32[6, 8], w: f32[4, 8], b: f32[4] mesh(0, 1)) -> y { y = linear(x, w, bias=b) }\n"
                  "schedule { " +
                  dealOut("b", 0) + "}"),
      Contains("y: 1 DIDx 2"));
  EXPECT_THAT(commandsFor("fusion f(x: f32[6, 8] mesh(0, 1), w: f32[4, 8] mesh(2, 3)) -> y { y = linear(x, w) }\n"),
              ElementsAre("set_device_mesh(y, mesh=mesh(2, 3))"));
}

TEST(PropagateShardings, MatmulAsksItsSecondOperandFirst) {
  const std::string both =
      "fusion f(a: f32[2, 6, 8] mesh(0, 1), b: f32[2, 8, 4] mesh(0, 1)) -> y { y = matmul(a, b) }\n";
  EXPECT_THAT(shardingsOf(both + "schedule { " + dealOut("a", 1) + dealOut("b", 2) + "}"), Contains("y: 2 DIDx 2"));
  EXPECT_THAT(shardingsOf(both + "schedule { " + dealOut("a", 1) + "}"), Contains("y: 1 DIDx 3"));
  EXPECT_THAT(shardingsOf(both + "schedule { " + dealOut("a", 0) + "}"), Contains("y: 0 DIDx 1"));
  EXPECT_THAT(
      shardingsOf("fusion f(a: f32[8, 8] mesh(0, 1)) -> y { y = matmul(a, a) }\nschedule { " + dealOut("a", 0) + "}"),
      Contains("y:"))
      << "as rows and as columns";
}

TEST(PropagateShardings, AxesOfSeveralOperandsMeetInOneMesh) {
  const std::string mesh = "mesh((0, 1), (2, 3))";
  EXPECT_THAT(
      shardingsOf("fusion f(x: f32[6, 8] " + mesh + ", w: f32[4, 8] " + mesh +
                  ") -> y { y = linear(x, w) }\nschedule { " + dealOut("x", 0, 2, "DIDy") + dealOut("w", 0) + "}"),
      Contains("y: 0 DIDy 3 1 DIDx 2"));
  EXPECT_THAT(shardingsOf("fusion f(x: f32[6, 8] " + mesh + ", z: f32[6, 8] " + mesh +
                          ") -> y { y = x + z }\nschedule { " + dealOut("x", 0, 2, "DIDy") + dealOut("z", 0) + "}"),
              Contains("y: 0 DIDy 3"))
      << "no axis comes twice";
}

TEST(PropagateShardings, OtherOpsAskTheOperandWithMostDeviceAxesFirst) {
  const std::string text = "fusion f(x: f32[6, 8] mesh(0, 1), z: f32[6, 8] mesh(2, 3)) -> y { y = x + z }\n";
  EXPECT_THAT(commandsFor(text), ElementsAre("set_device_mesh(y, mesh=mesh(0, 1))"));
  EXPECT_THAT(commandsFor(text + "schedule { " + dealOut("z", 1) + "}"),
              ElementsAre("set_device_mesh(y, mesh=mesh(2, 3))", "split(y, axis=1, factor=2, inner_split=false)",
                          "parallelize(y, axis=1, type=DIDx)"));
}

TEST(PropagateShardings, BackwardsTheReaderWithMostDeviceAxesDecides) {
  const std::string text =
      "fusion f(x: f32[6, 8]) -> (y, z) { h = exp(x) y: f32[6, 8] mesh(0, 1) = neg(h) z: f32[6, 8] mesh(2, 3) = abs(h) "
      "}\n";
  EXPECT_THAT(commandsFor(text),
              ElementsAre("set_device_mesh(h, mesh=mesh(0, 1))", "set_device_mesh(x, mesh=mesh(0, 1))"));
  EXPECT_THAT(commandsFor(text + "schedule { " + dealOut("z", 0) + "}"),
              ElementsAre("set_device_mesh(h, mesh=mesh(2, 3))", "split(h, axis=0, factor=2, inner_split=false)",
                          "parallelize(h, axis=0, type=DIDx)", "set_device_mesh(x, mesh=mesh(2, 3))"));
}

TEST(PropagateShardings, OpsWithoutOperandsAreReachedBackwards) {
  EXPECT_THAT(
      shardingsOf("fusion f(x: f32[6] mesh(0, 1)) -> y { c = full([6], 2.0, dtype=f32) y = x * c }\nschedule { " +
                  dealOut("x", 0) + "}"),
      ElementsAre("x: 0 DIDx 3", "c: 0 DIDx 3", "y: 0 DIDx 3"));
  EXPECT_THAT(
      shardingsOf("fusion f(x: i64[6] mesh(0, 1)) -> y { c = iota(6) y = x * c }\nschedule { " + dealOut("x", 0) + "}"),
      Contains("y: 0 DIDx 3"));
}

TEST(PropagateShardings, WhatIsReachedBackwardsIsFollowedForwards) {
  EXPECT_THAT(shardingsOf("fusion f(x: f32[6]) -> (y, z) { h = exp(x) y: f32[6] mesh(0, 1) = neg(h) z = abs(h) }\n"
                          "schedule { " +
                          dealOut("y", 0) + "}"),
              ElementsAre("x:", "h: 0 DIDx 3", "y: 0 DIDx 3", "z: 0 DIDx 3"));
}

TEST(PropagateShardings, WhatHasAMeshIsNotTouched) {
  const std::string text =
      "fusion f(x: f32[6, 8] mesh(0, 1)) -> y { r: f32[6, 8] mesh(0, 1) = exp(x) s: f32[6, 8] mesh(0, 1) = neg(r) "
      "y = s + x }\nschedule { " +
      dealOut("x", 0) + dealOut("s", 1) + "}";
  EXPECT_THAT(shardingsOf(text), ElementsAre("x: 0 DIDx 3", "r:", "s: 1 DIDx 4", "y: 1 DIDx 4"))
      << "a mesh alone says that a tensor is replicated; s comes before x";
}

TEST(PropagateShardings, AStreamAxisIsTaken) {
  EXPECT_THAT(commandsFor("fusion f(x: f32[6, 8] mesh(0, 1)) -> y { y = exp(x) }\nschedule { parallelize(y, axis=0, "
                          "type=Stream) " +
                          dealOut("x", 0) + "}"),
              ElementsAre("set_device_mesh(y, mesh=mesh(0, 1))"));
  EXPECT_THAT(commandsFor("fusion f(x: f32[6, 8] mesh(0, 1)) -> y { y = exp(x) }\nschedule { merge(y, axis=0) "
                          "parallelize(y, axis=0, type=Stream) " +
                          dealOut("x", 0) + "}"),
              ElementsAre("set_device_mesh(y, mesh=mesh(0, 1))"));
}

TEST(PropagateShardings, LoopsThatAScheduleMadeStayAsTheyAre) {
  const std::string text = "fusion f(x: f32[6, 8] mesh(0, 1)) -> y { h = exp(x) y = neg(h) }\nschedule { ";
  const std::string deal = dealOut("x", 0);
  EXPECT_THAT(commandsFor(text + deal + "inline_at(h, position=1) }"),
              ElementsAre("set_device_mesh(h, mesh=mesh(0, 1))", "set_device_mesh(y, mesh=mesh(0, 1))"))
      << "shared loops";
  EXPECT_THAT(commandsFor(text + deal + "split(h, axis=0, factor=2, inner_split=false) }"),
              ElementsAre("set_device_mesh(h, mesh=mesh(0, 1))", "parallelize(h, axis=0, type=DIDx)",
                          "set_device_mesh(y, mesh=mesh(0, 1))", "split(y, axis=0, factor=2, inner_split=false)",
                          "parallelize(y, axis=0, type=DIDx)"))
      << "the same split";
  EXPECT_THAT(commandsFor(text + deal + "split(h, axis=0, factor=3) }"),
              ElementsAre("set_device_mesh(h, mesh=mesh(0, 1))", "set_device_mesh(y, mesh=mesh(0, 1))"))
      << "another split";
  EXPECT_THAT(
      commandsFor(text + deal + "split(h, axis=0, factor=2, inner_split=false) parallelize(h, axis=0, type=BIDx) }"),
      ElementsAre("set_device_mesh(h, mesh=mesh(0, 1))", "set_device_mesh(y, mesh=mesh(0, 1))"))
      << "a part that is marked";
  EXPECT_THAT(commandsFor("fusion f(x: f32[6, 8] mesh(0, 1)) -> y { y = sum(x, axes=[1]) }\nschedule { " + deal +
                          "split(y, axis=1, factor=4) T9 = rfactor(y, axes=[1]) }"),
              ElementsAre("set_device_mesh(T9, mesh=mesh(0, 1))", "set_device_mesh(y, mesh=mesh(0, 1))"))
      << "a reduction that rfactor has cut";
}

TEST(PropagateShardings, OutputsThatUpdateInputsHaveTheirMarks) {
  const auto update = [](const std::string& w, const std::string& out, const std::string& schedule) {
    return shardingsOf("fusion f(w: f32[6]" + w + ", g: f32[6] mesh(0, 1)) -> (out aliases w) { out" + out +
                       " = w - g }\nschedule { " + schedule + "}");
  };
  EXPECT_THAT(update(" mesh(0, 1)", "", dealOut("w", 0)), ElementsAre("w: 0 DIDx 3", "g:", "out: 0 DIDx 3"));
  EXPECT_THAT(update("", "", dealOut("g", 0)), ElementsAre("w:", "g: 0 DIDx 3", "out:")) << "the input is replicated";
  EXPECT_THAT(update("", ": f32[6] mesh(0, 1)", dealOut("out", 0)), ElementsAre("w: 0 DIDx 3", "g:", "out: 0 DIDx 3"));
  const auto fusion = fusionFrom("fusion f(w: f32[6], g: f32[6] mesh(0, 1)) -> (out aliases w) { out = w - g }\n");
  EXPECT_THAT(
      explainShardings(*fusion),
      HasSubstr("set_device_mesh(out, mesh=mesh(0, 1))  // as g, which sub reads; it updates an input without a "
                "mesh, which is replicated\n  set_device_mesh(w, mesh=mesh(0, 1))  // as out, which updates it\n"));
  const auto marked = fusionFrom("fusion f(w: f32[6] mesh(0, 1), g: f32[6]) -> (out aliases w) { out = w - g }\n");
  EXPECT_THAT(explainShardings(*marked),
              HasSubstr("set_device_mesh(out, mesh=mesh(0, 1))  // as w, which it updates\n"));
}

TEST(PropagateShardings, ATypeThatASymbolHasTheNameOfIsQuoted) {
  EXPECT_THAT(
      commandsFor("fusion f(x: f32[DIDx] mesh(0, 1)) -> y { y = exp(x) }\nschedule { split(x, axis=0, factor=2, "
                  "inner_split=false) parallelize(x, axis=0, type=\"DIDx\") }"),
      Contains("parallelize(y, axis=0, type=\"DIDx\")"));
}

TEST(PropagateShardings, ExtentsThatAreEqualAtRunTimeAloneHaveTheirOwnParts) {
  EXPECT_THAT(
      shardingsOf("fusion f(x: f32[n] mesh(0, 1), z: f32[m]) -> y { y = z + x }\nschedule { " + dealOut("x", 0) + "}"),
      Contains("y: 0 DIDx ( ceilDiv(m, 2) )"));
  EXPECT_THAT(shardingsOf("fusion f(x: f32[2] mesh(0, 1), z: f32[m]) -> y { w = exp(z) y = w + x }\n"
                          "schedule { parallelize(x, axis=0, type=DIDx) }"),
              ElementsAre("x: 0 DIDx 1", "z:", "w:", "y: 0 DIDx 1"))
      << "m is 2, which its parts do not tell";
}

TEST(PropagateShardings, MarksThatAreNotLegalAreRefusedAndNothingChanges) {
  const auto fusion = fusionFrom(
      "fusion f(x: f32[2] mesh(0, 1)) -> y { h = exp(x) y = neg(h) }\nschedule { parallelize(h, axis=0, "
      "type=DIDx) }");
  const std::string before = printFusion(*fusion);
  const Error error = errorOf([&] { giveShardings(*fusion); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram);
  EXPECT_EQ(error.message(),
            "DIDx on axis 0 (iDIDx{2}) of h: the tensor has no mesh; give it one, as in mesh(0, 1), or leave the mark "
            "out");
  EXPECT_EQ(printFusion(*fusion), before);
}

// A decoder block over four ranks, from its weights alone: rows of those that go in, columns of those that come out.
TEST(PropagateShardings, ADecoderBlockIsTensorParallelFromItsWeights) {
  std::stringstream file;
  file << std::ifstream(TOKAMAK_TEST_DIR "/../examples/llama_block.fusion").rdbuf();
  // So that it is known that each rank has whole heads.
  const std::string text = std::regex_replace(file.str(), std::regex("kv \\*"), "4 * kv *");
  const auto fusion = fusionFrom(std::regex_replace(text, std::regex("tokens, kv, "), "tokens, 4 * kv, "));
  for (const auto& [label, axis] : std::map<int64_t, int64_t>{{2, 0}, {3, 0}, {4, 0}, {5, 1}, {7, 0}, {8, 0}, {9, 1}}) {
    TensorView* weight = tensorOf(*fusion, label);
    set_device_mesh(weight, {.shape = {4}, .devices = {0, 1, 2, 3}});
    split(weight, axis, 4, SplitSide::Outer);
    parallelize(weight, axis, ParallelType::DIDx);
  }
  expectPromises(*fusion);
  giveShardings(*fusion);
  std::vector<std::string> sums;  // products and reductions over parts
  for (const Expr* expr : fusion->allExprs()) {
    const TensorView& result = *asTensor(expr->output(0));
    EXPECT_FALSE(result.mesh().empty()) << toString(result);
    const auto isSharded = [](const TensorView* tensor) { return !shardsOf(*tensor).empty(); };
    if (!isSharded(&result) && std::ranges::any_of(tensorsOf(expr->inputs()), isSharded))
      sums.emplace_back(callName(*expr));
  }
  EXPECT_THAT(sums, ElementsAre("linear", "linear")) << "what attention and the MLP give";
  EXPECT_EQ(shardsOf(*tensorOf(*fusion, 33)).size(), 1U) << "heads of the attention";
  EXPECT_THAT(shardsOf(*tensorOf(*fusion, 60)), IsEmpty());
}

// Every second pair of tensors is reached backwards: the worst case for rounds of passes.
TEST(PropagateShardings, AChainThatGoesBackAndForthTakesLinearTime) {
  const auto secondsFor = [](int64_t links) {
    Fusion fusion;
    std::vector<TensorView*> ends;
    for (int64_t i = 0; i <= links; ++i) {
      TensorView* x = fusion.input(fmt::format("x{}", i), DataType::F32, {8});
      ends.push_back(neg(x));
    }
    for (int64_t i = 0; i < links; ++i)
      fusion.addOutput(add(ends[static_cast<size_t>(i)], ends[static_cast<size_t>(i) + 1]));
    set_device_mesh(ends[0], {.shape = {2}, .devices = {0, 1}});
    split(ends[0], 0, 2, SplitSide::Outer);
    parallelize(ends[0], 0, ParallelType::DIDx);
    const auto start = std::chrono::steady_clock::now();
    const size_t commands = giveShardings(fusion).size();
    EXPECT_EQ(commands, static_cast<size_t>(links) * 2 * 3 + static_cast<size_t>(links) + 1);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double first = secondsFor(1'000);
  EXPECT_LT(secondsFor(4'000), 12 * first + 0.2) << "of which a thousand took " << first;
}

}  // namespace
}  // namespace tokamak
