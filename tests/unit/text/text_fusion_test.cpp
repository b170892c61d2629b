#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "ir/clone.h"
#include "ir/equal.h"
#include "ir/fields.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "schedule/commands.h"
#include "unit/schedule/loop_commands.h"

namespace tokamak {
namespace {

std::unique_ptr<Fusion> parse(std::string_view text) {
  static const LoopCommands commands;
  return parseFusion(text, "t.fusion", {.scheduler = &commands});
}

// The program's text, which must read back as the same program with the same text.
std::string roundTrip(const Fusion& fusion) {
  const std::string text = printFusion(fusion);
  const auto again = parse(text);
  EXPECT_EQ(firstDifference(fusion, *again), "") << text;
  EXPECT_EQ(printFusion(*again), text);
  // The functions users call and the real commands read the canonical text as the same program.
  const auto defined =
      parseFusion(text, "t.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  EXPECT_EQ(firstDifference(fusion, *defined), "") << text;
  EXPECT_EQ(structuralHash(fusion), structuralHash(*again));
  EXPECT_EQ(firstDifference(fusion, *cloneFusion(fusion)), "") << text;
  return text;
}

struct CanonicalText : testing::TestWithParam<std::string> {};

TEST_P(CanonicalText, ReadsBackAsItself) {
  const auto fusion = parse(GetParam());
  EXPECT_EQ(roundTrip(*fusion), GetParam());
}

std::string body(const std::string& inputs, const std::string& statement, const std::string& more = "") {
  return "fusion f(" + inputs + ") -> T9 {\n  " + statement + "\n}\n" + more;
}

const std::string kTwo = "T0: f32[i0, i2]";

INSTANTIATE_TEST_SUITE_P(
    Forms, CanonicalText,
    testing::Values(
        "fusion empty() -> () {\n}\n", "fusion copy(T0: f32[i0]) -> T0 {\n}\n",
        "fusion \"a b\"(T0: bool[]) -> (T0, T0) {\n}\n",
        // element types and scalar inputs
        "fusion f(T0: f64[i0], T1: f32[i0], T2: f16[i0], T3: bf16[i0], T4: i32[i0], T5: i64[i0], T6: bool[i0]) -> () "
        "{\n}\n",
        "fusion f(alpha: f32, n: i64, flag: bool, T0: f32[n]) -> T0 {\n}\n",
        "fusion f(T0: f32[n], n: i64) -> T0 {\n}\n",
        // axes
        "fusion f(T0: f32[1, i0, 1 ex i0, 1 ex 32, 8, 0]) -> T0 {\n}\n",
        "fusion f(T0: f32[i{1}, b{2}, r{i0}, s{i0}, n{i0}, v{4}, ?{i0}]) -> T0 {\n}\n",
        "fusion f(T0: f32[i{i0}rf, b{1}rf ex i2]) -> T0 {\n}\n",
        "fusion f(T0: f32[( i0 * 8 ), ( ceilDiv(i0, 4) ), ( max(i0, 1) )]) -> T0 {\n}\n",
        // layout, memory, meshes
        "fusion f(T0: f32[i0, i2] strided, T1: f32[i0 strided, i2], T2: f32[i0, i2 strided, 1]) -> T0 {\n}\n",
        "fusion f(T0: f32[i0, i2] contiguity(none, true)) -> T0 {\n}\n",
        "fusion f(T0: f32[i0, i2] allocation(1, 0)) -> T0 {\n}\n",
        "fusion f(T0: f32[i0, 1, i2] allocation(2, 1, 0) strided) -> T0 {\n}\n",
        "fusion f(T0: f32[i0, i2] allocation(1, 0) contiguity(false, true)) -> T0 {\n}\n",
        "fusion f(T0: f32[i0, i2] stride_order(0, 1) stride_order_hint(1, 0)) -> T0 {\n}\n",
        "fusion f(T0: f32[i0] in host, T1: f32[i0] in pinned as global, T2: f32[i0] as shared, T3: f32[i0] as tensor) "
        "-> T0 {\n}\n",
        "fusion f(T0: f32[i0] mesh(0, 1), T1: f32[i0] mesh((0, 1), (2, 3)), T2: f32[i0] strided in host mesh(7)) -> "
        "T0 {\n}\n",
        "fusion f(T0: f32[i0] mesh((0, 1), (2, 3))) -> T2 {\n  T1: f32[r{i0}] mesh((0, 1), (2, 3)) partial(max, DIDx) "
        "partial(max, DIDy) = max(T0, axes=[0])\n  T2: f32[] mesh((0, 1), (2, 3)) = set(T1)\n}\n",
        // outputs
        "fusion f(T0: f32[i0], T1: f32[i0]) -> (T2 aliases T0, T3 aliases T1 hidden, T2) {\n  T2: f32[i0] = neg(T0)\n  "
        "T3: f32[i0] = exp(T1)\n}\n",
        "fusion f(T0: f32[i0]) -> T2 aliases T0 {\n  T2: f32[i0] = set(T0)\n}\n",
        // ops
        body(kTwo, "T9: f32[i0, r{i2}] = max(T0, axes=[1])"),
        body(kTwo, "T9: f32[r{i0}, r{i2}] = sum(T0, axes=[0, 1])"),
        body(kTwo, "T9: bf16[i0, i2] = cast(T0, dtype=bf16)"), body(kTwo, "T9: f32[i0, i2] = cast(T0, dtype=f32)"),
        body(kTwo, "T9: f32[i0, i2] = set(T0)"), body(kTwo, "T9: f32[i0, i2] = set(T0, cache_op=AllLevels)"),
        body(kTwo, "T9: f32[i0, i2] = add(T0, 0.5)"), body(kTwo, "T9: f32[i0, i2] = clamp(T0, -inf, nan)"),
        body(kTwo, "T9: f32[i0, i2] = mul(T0, -0.0)"), body(kTwo, "T9: bool[i0, i2] = lt(T0, 1e+20)"),
        body(kTwo + ", s: f32", "T9: f32[i0, i2] = mul(T0, ( rsqrt(s) ))"),
        body("T0: bool[i0], T1: f32[i0]", "T9: f32[i0] = where(T0, T1, 0.1)"),
        body("T0: bool[i0]", "T9: f32[i0] = where(T0, 1.0, 0.1)"),
        body("T0: bool[i0]", "T9: i64[i0] = where(T0, 1, 2)"), body("T0: i32[i0]", "T9: i32[i0] = add(T0, 7)"),
        body("T0: i64[i0]", "T9: i64[i0] = mod(T0, -9223372036854775808)"),
        body("T0: f64[i0]", "T9: f64[i0] = add(T0, 0.1)"),
        body("T0: f64[i0]", "T9: f64[i0] = addcmul(T0, T0, T0, 2.0)"),
        body(kTwo + ", T1: f32[i3, i2], T2: f32[i3]", "T9: f32[i0, i3, r{i2}] = linear(T0, T1, bias=T2)"),
        body(kTwo + ", T1: f32[i3, i2]", "T9: f32[i0, i3, r{i2}] = linear(T0, T1)"),
        body(kTwo + ", T1: f32[i2, 8]", "T9: f32[i0, 8, r{i2}] = matmul(T0, T1)"),
        body(kTwo, "T9: f32[i2, i0] = permute(T0, order=[1, 0])"),
        body(kTwo, "T9: f32[1, i0, i2] = broadcast(T0, flags=[true, false, false])"),
        body("T0: f32[1, i0]", "T9: f32[i0] = squeeze(T0, flags=[true, false])"),
        body("T0: f32[1, i0]", "T9: f32[1 ex 8, i0] = expand(T0, shape=[8, i0])"),
        body(kTwo, "T9: f32[( i0 * i2 )] = reshape(T0, shape=[( i0 * i2 )])"),
        body(kTwo, "T9: f32[i2] = select(T0, axis=0, index=3)"),
        body(kTwo, "T9: f32[i0, i2] = slice(T0, starts=[0, 0], stops=[i0, i2], steps=[1, 1])"),
        body(kTwo, "T9: f32[3, ( ceilDiv(i2, 2) )] = slice(T0, starts=[1, 0], stops=[4, i2], steps=[1, 2])"),
        body(kTwo, "T9: f32[( i0 + 3 ), i2] = pad(T0, widths=[3, 0, 0, 0], value=-inf_f32)"),
        body(kTwo + ", T1: f32[i3, i2]", "T9: f32[( i0 + i3 ), i2] = cat([T0, T1], axis=0)"),
        body(kTwo + ", T1: f32[i0, i3]", "T9: f32[i0, ( i2 + i3 )] = cat([T0, T1], axis=1)"),
        body("", "T9: f32[4, 1] = full(shape=[4, 1], value=0.5_f32, dtype=f32)"),
        body("", "T9: bool[] = full(value=true, dtype=bool)"),
        body("n: i64", "T9: i64[n] = iota(length=n, start=0, step=1, dtype=i64)"),
        body("n: i64", "T9: f32[n] = iota(length=n, start=0.5, step=-1.0, dtype=f32)"),
        // symbols that no input has, default sizes, names that mean something elsewhere
        "fusion f() -> T1 {\n  symbol n: i64\n  symbol scale: f32\n  T1: f32[n] = full(shape=[n], value=scale, "
        "dtype=f32)\n}\nsizes { n = 12 }\n",
        "fusion f(T0: f32[i0, i2]) -> T0 {\n}\nsizes { i0 = 4, i2 = 0 }\n",
        "fusion f(T0: f32[Streaming]) -> T1 {\n  T1: f32[Streaming] = set(T0, cache_op=AllLevels)\n}\n",
        "fusion f(T0: f32[AllLevels]) -> T1 {\n  T1: f32[AllLevels] = set(T0, cache_op=\"AllLevels\")\n}\n",
        "fusion f(T0: f32[strided strided, i, in] in host) -> T0 {\n}\n",
        // types that the op alone would not give
        body(kTwo, "T9: f32[i0, i2] stride_order(0, 1) in host = exp(T0)"),
        body(kTwo + ", T1: f32[i3, i4]", "T9: f32[i3, i2] = add(T0, T1)"),
        body(kTwo, "T9: f32[i0, i2 strided] mesh(0, 1) = exp(T0)"),
        // schedules
        body(kTwo, "T9: f32[i0, i2] = exp(T0)",
             "schedule {\n  split(T9, axis=0, factor=128)\n  parallelize(T9, axis=0, type=Stream)\n}\n"),
        body(kTwo, "T9: f32[i0, i2] = exp(T0)",
             "schedule {\n  split(T9, axis=1, factor=( i0 / 2 ), inner_split=false)\n}\n"),
        body(kTwo, "T9: f32[i0, i2] = exp(T0)",
             "schedule {\n  parallelize(T0, axis=0, type=DIDx)\n  merge(T9, axis=0)\n  split(T9, axis=0, factor=4)\n  "
             "reorder(T9, order=[1, 0])\n"
             "  parallelize(T9, axis=0, type=TIDx)\n  parallelize(T9, axis=1, type=BIDx)\n}\n"),
        body("T0: f32[i0, i2, i3]", "T9: f32[i0, i2, i3] = exp(T0)",
             "schedule {\n  reorder(T9, order=[1, 2, 0])\n  merge(T9, axis=1)\n  reorder(T9, order=[1, 0])\n}\n"),
        body("T0: f32[Stream]", "T9: f32[Stream] = exp(T0)",
             "schedule {\n  parallelize(T9, axis=0, type=\"Stream\")\n}\n")));

// Every process of these tests makes the list, so that it is made without regular expressions.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Values keep the type that their suffix says, whatever the tensor's type is.
std::vector<std::string> formsWithLiterals() {
  const std::string inputs = "T0: DTYPE[i0], n: i64";
  const std::string statements[] = {"T9: DTYPE[] = full(value=VALUE, dtype=DTYPE)",
                                    "T9: DTYPE[3] = full(shape=[3], value=VALUE, dtype=DTYPE)",
                                    "T9: DTYPE[n] = iota(length=n, start=VALUE, step=VALUE, dtype=DTYPE)",
                                    "T9: DTYPE[( i0 + 3 )] = pad(T0, widths=[1, 2], value=VALUE)",
                                    "T9: DTYPE[( i0 - 1 )] = pad(T0, widths=[-3, 2], value=VALUE)"};
  std::vector<std::string> forms;
  for (const DataType dtype : kAllDataTypes) {
    for (const std::string& statement : statements) {
      if (dtype == DataType::Bool && statement.find("iota") != std::string::npos) continue;  // bool cannot count
      const std::string text = replaced(body(inputs, statement), "DTYPE", dataTypeName(dtype));
      for (const char* value : {"0.5", "-0.1", "-0.0", "inf", "-1.0_f32", "nan_f32", "0.5_f16", "-inf_bf16", "1", "-1",
                                "16777217", "1_i32", "-1_i32", "true", "false"})
        forms.push_back(replaced(text, "VALUE", value));
    }
  }
  return forms;
}

// Operands of the result's type are not converted, so that each is one op, also along axes that the functions take
// away.
std::vector<std::string> formsOfReductions() {
  std::vector<std::string> forms;
  for (const DataType dtype : kAllDataTypes) {
    for (const std::string op : {"sum", "prod", "max", "min"}) {
      if (isHalfType(dtype)) continue;  // computed in f32
      for (const std::string axis : {"i0", "1", "0", "4"}) {
        const std::string_view type = dataTypeName(dtype);
        forms.push_back(body(fmt::format("T0: {}[i2, {}]", type, axis),
                             fmt::format("T9: {}[i2, r{{{}}}] = {}(T0, axes=[1])", type, axis, op)));
      }
    }
  }
  return forms;
}

INSTANTIATE_TEST_SUITE_P(Literals, CanonicalText, testing::ValuesIn(formsWithLiterals()));
INSTANTIATE_TEST_SUITE_P(Reductions, CanonicalText, testing::ValuesIn(formsOfReductions()));

TEST(FusionText, FreeFormsAreReadAndPrintedCanonically) {
  const auto fusion = parse(R"(// Softmax by hand.
    fusion softmax(T0: bf16[i0, i2]) -> T7 {
      T1 = cast(T0, dtype=f32) T2 = max(T1, [-1])   // positional, negative
      T3 = sub(T1, broadcast(T2, flags=[false, true]))
      T4: f32[i0, i2] = exp(T3)
      T5: f32[i0] = sum(in=T4, axes=[1])  // without its reduction axis
      T6 = mul(T4, reciprocal(broadcast(T5, flags=[false, true])))
      T7 = cast(T6, bf16)
    }
    sizes { i0 = 4, i2 = 0x8, }
    schedule { split(T7, axis=0, factor=(128)) parallelize(T7, axis=0, type=Stream) })");
  EXPECT_EQ(roundTrip(*fusion), R"(fusion softmax(T0: bf16[i0, i2]) -> T7 {
  T1: f32[i0, i2] = cast(T0, dtype=f32)
  T2: f32[i0, r{i2}] = max(T1, axes=[1])
  T8: f32[i0, 1] = broadcast(T2, flags=[false, true])
  T3: f32[i0, i2] = sub(T1, T8)
  T4: f32[i0, i2] = exp(T3)
  T5: f32[i0, r{i2}] = sum(T4, axes=[1])
  T9: f32[i0, 1] = broadcast(T5, flags=[false, true])
  T10: f32[i0, 1] = reciprocal(T9)
  T6: f32[i0, i2] = mul(T4, T10)
  T7: bf16[i0, i2] = cast(T6, dtype=bf16)
}
sizes { i0 = 4, i2 = 8 }
schedule {
  split(T7, axis=0, factor=128)
  parallelize(T7, axis=0, type=Stream)
}
)");
}

TEST(FusionText, TheDesignsExampleIsReadWithCompositesAndPropagation) {
  const auto fusion =
      parseFusion(R"(// Row-wise softmax; blocks of 128 rows are dealt out to host streams.
    fusion softmax(T0: bf16[i0, i2]) -> T7 {
      T1 = cast(T0, dtype=f32)
      T2 = max(T1, axes=[1], keepdim=true)
      T3 = sub(T1, T2)
      T4 = exp(T3)
      T5 = sum(T4, axes=[1], keepdim=true)
      T6 = div(T4, T5)
      T7 = cast(T6, dtype=bf16)
    }
    schedule {
      split(T7, axis=0, factor=128)
      parallelize(T7, axis=0, type=Stream)
      propagate(T7)
    })",
                  "softmax.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
  EXPECT_THAT(roundTrip(*fusion), testing::StartsWith(R"(fusion softmax(T0: bf16[i0, i2]) -> T7 {
  T1: f32[i0, i2] = cast(T0, dtype=f32)
  T8: f32[i0, r{i2}] = max(T1, axes=[1])
  T2: f32[i0, 1] = broadcast(T8, flags=[false, true])
  T3: f32[i0, i2] = sub(T1, T2)
  T4: f32[i0, i2] = exp(T3)
  T9: f32[i0, r{i2}] = sum(T4, axes=[1])
  T5: f32[i0, 1] = broadcast(T9, flags=[false, true])
  T6: f32[i0, i2] = div(T4, T5)
  T7: bf16[i0, i2] = cast(T6, dtype=bf16)
}
schedule {
)"));
}

TEST(FusionText, AMarkOnAnAxisThatWasSplitIsNotLost) {
  const std::string text =
      body("T0: f32[i0, i2]", "T9: f32[i0, i2] = exp(T0)",
           "schedule {\n  parallelize(T9, axis=1, type=Stream)\n  split(T9, axis=1, factor=2)\n}\n");
  EXPECT_EQ(printFusion(*parse(text)), text);
}

TEST(FusionText, NodesWithoutNamesAreNumberedAroundThoseThatHaveOne) {
  Fusion fusion("f");
  Scalar* unnamed = fusion.symbol("");
  Scalar* also_unnamed = fusion.symbol("T3");  // means a tensor
  Scalar* i2 = fusion.symbol("i2");
  Scalar* i2_again = fusion.symbol("i2");
  Axes axes;
  for (Scalar* extent : {unnamed, i2, also_unnamed, i2_again}) axes.push_back(fusion.axis({.extent = extent}));
  TensorView* in = fusion.tensor(DataType::F32, axes);
  fusion.addInput(in);
  const auto exp = *findOp("exp");
  const auto apply = [&](TensorView* operand) {
    return asTensor(defineExpr(fusion, exp.kind,
                               {{FieldRole::Spelling, "function", *exp.spelling},
                                {FieldRole::OperandList, "in", std::vector<Val*>{operand}}})
                        ->output(0));
  };
  TensorView* a = apply(in);
  TensorView* b = apply(a);
  b->setLabel(4);
  TensorView* c = apply(b);
  c->setLabel(4);  // taken
  fusion.addOutput(c);
  EXPECT_EQ(roundTrip(fusion),
            "fusion f(T5: f32[i0, i2, i3, i4]) -> T7 {\n"
            "  T6: f32[i0, i2, i3, i4] = exp(T5)\n  T4: f32[i0, i2, i3, i4] = exp(T6)\n  T7: f32[i0, i2, i3, i4] = "
            "exp(T4)\n}\n");
  EXPECT_EQ(a->label(), -1) << "numbers are given at print time";
}

TEST(FusionText, AThousandOpsAreReadFast) {
  std::string text = "fusion f(T0: f32[i0, i2]) -> T1000 {\n";
  for (int i = 1; i <= 1000; ++i)
    text += "  T" + std::to_string(i) + ": f32[i0, i2] = add(T" + std::to_string(i - 1) + ", T0)\n";
  text += "}\n";
  const auto start = std::chrono::steady_clock::now();
  const auto fusion = parse(text);
  EXPECT_EQ(printFusion(*fusion), text);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
  EXPECT_LT(seconds, 5)
      << "a thousand ops take milliseconds; this bound only tells linear from quadratic on a slow machine";
  EXPECT_TRUE(isEqual(*fusion, *parse(text)));
}

TEST(FusionText, TheFirstDifferenceIsNamed) {
  const auto difference = [](const std::string& a, const std::string& b) {
    return firstDifference(*parse(a), *parse(b));
  };
  const std::string text = body(kTwo, "T9: f32[i0, i2] = exp(T0)");
  EXPECT_EQ(difference(text, text), "");
  EXPECT_EQ(difference(text, body(kTwo, "T9: f32[i0, i2] = log(T0)")), "statement 0: exp: function: exp and log");
  EXPECT_EQ(difference(text, body("T0: f32[i0, i0]", "T9: f32[i0, i0] = exp(T0)")),
            "input 0: the axes of T0: f32[i0, i2] and T0: f32[i0, i0]");
  EXPECT_EQ(difference(text, body("T0: f32[i0, i2] strided", "T9: f32[i0, i2] = exp(T0)")),
            "input 0: the contiguity of T0: f32[i0, i2] and T0: f32[i0, i2] strided");
  EXPECT_EQ(difference(text, body("T1: f32[i0, i2]", "T9: f32[i0, i2] = exp(T1)")),
            "input 0: the names of T0: f32[i0, i2] and T1: f32[i0, i2]");
  EXPECT_EQ(
      difference(
          body(kTwo, "T8: f32[i0, i2] mesh(0) partial(sum, DIDx) = exp(T0)\n  T9: f32[i0, i2] mesh(0) = set(T8)"),
          body(kTwo, "T8: f32[i0, i2] mesh(0) = exp(T0)\n  T9: f32[i0, i2] mesh(0) = set(T8)")),
      "statement 0: exp: out: the partials of T8: f32[i0, i2] mesh(0) partial(sum, DIDx) and T8: f32[i0, i2] mesh(0)");
  EXPECT_EQ(difference(text, body(kTwo, "T9: f32[i0, i2] = exp(T0)\n  T3: f32[i0, i2] = exp(T0)")),
            "1 and 2 statements");
  EXPECT_EQ(difference(text, body(kTwo + ", s: f32", "T9: f32[i0, i2] = exp(T0)")), "1 and 2 inputs");
  EXPECT_EQ(difference(text, text + "sizes { i0 = 4 }"), "0 and 1 default sizes");
  EXPECT_EQ(difference(text + "sizes { i0 = 4 }", text + "sizes { i0 = 5 }"), "the default size of i0");
  EXPECT_EQ(difference(text, text + "schedule { split(T9, axis=0, factor=4) }"),
            "output 0: the loop domains of T9: f32[i0, i2] and T9: f32[i0, i2]");
  EXPECT_EQ(difference(text + "schedule { split(T9, axis=0, factor=4) }",
                       text + "schedule { split(T9, axis=0, factor=4) parallelize(T9, axis=0, type=Stream) }"),
            "output 0: the loop domains of T9: f32[i0, i2] and T9: f32[i0, i2]");
  EXPECT_EQ(difference("fusion f(T0: f32[i0]) -> T1 aliases T0 { T1 = exp(T0) }",
                       "fusion f(T0: f32[i0]) -> T1 { T1 = exp(T0) }"),
            "1 and 0 aliased outputs");
  EXPECT_EQ(difference("fusion f() -> () {}", "fusion g() -> () {}"), "names: \"f\" and \"g\"");
}

// A resolver whose add converts nothing but knows a composite, and counts what it is asked.
class CountingResolver final : public CallResolver {
 public:
  std::optional<std::vector<Val*>> call(Fusion& fusion, std::string_view name,
                                        std::span<const CallArgument> arguments) const override {
    ++calls;
    if (name != "twice") return std::nullopt;
    const std::vector<CallArgument> both = {arguments[0], arguments[0]};
    return opResolver().call(fusion, "add", both);
  }
  std::vector<std::string_view> names() const override { return {"twice"}; }
  mutable int calls = 0;
};

TEST(FusionText, CompositesComeFromTheResolverAndExactTypedOpsDoNot) {
  const CountingResolver resolver;
  const auto fusion = parseFusion("fusion f(T0: f32[i0]) -> T1 { T1 = twice(exp(T0)) }", "f", {.resolver = &resolver});
  EXPECT_EQ(resolver.calls, 2) << "exp and twice, whose results have no types";
  const std::string text = printFusion(*fusion);
  EXPECT_EQ(text, "fusion f(T0: f32[i0]) -> T1 {\n  T2: f32[i0] = exp(T0)\n  T1: f32[i0] = add(T2, T2)\n}\n");
  static_cast<void>(parseFusion(text, "f", {.resolver = &resolver}));
  EXPECT_EQ(resolver.calls, 2) << "the canonical text says types and needs no conversion";
  const auto ask = [&](const char* body_text) {
    const int before = resolver.calls;
    static_cast<void>(parseFusion(body_text, "f", {.resolver = &resolver}));
    return resolver.calls - before;
  };
  EXPECT_EQ(ask("fusion f(T0: f32[i0, i2]) -> () { T1: f32[i0] = sum(T0, axes=[-1]) }"), 1) << "negative axes";
  EXPECT_EQ(ask("fusion f(T0: bf16[i0]) -> () { T1: bf16[r{i0}] = sum(T0, axes=[0]) }"), 1) << "half types";
  EXPECT_EQ(ask("fusion f(T0: f32[i0]) -> () { T1: f32[i0] = add(T0, 1) }"), 0);
  EXPECT_EQ(ask("fusion f(T0: f32[i0], s: i64) -> () { T1: i64[i0] = add(T0, s) }"), 1) << "mixed types";
}

}  // namespace
}  // namespace tokamak
