// Infix expressions, slices and names of tensors: each is a longer text in the canonical form.
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "ir/equal.h"
#include "ir/text/foreign_names.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

std::unique_ptr<Fusion> parseDefined(const std::string& text) {
  return parseFusion(text, "t.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
}

std::string canonical(const std::string& text) {
  const auto fusion = parseDefined(text);
  const std::string printed = printFusion(*fusion);
  const auto again = parseDefined(printed);
  EXPECT_EQ(firstDifference(*fusion, *again), "") << printed;
  EXPECT_EQ(printFusion(*again), printed);
  return printed;
}

constexpr std::string_view kHead = "fusion f(T0: f32[n, m], T1: f32[n, m], a: f32) -> T9 {\n";

std::string withStatement(const std::string& statement) { return fmt::format("{}  T9 = {}\n}}\n", kHead, statement); }

struct SameProgram {
  const char* expression;
  const char* calls;
};

struct Expressions : testing::TestWithParam<SameProgram> {};

TEST_P(Expressions, AreTheCallsOfTheSameMeaning) {
  EXPECT_EQ(canonical(withStatement(GetParam().expression)), canonical(withStatement(GetParam().calls)));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Expressions,
    testing::Values(
        // precedence, associativity, signs
        SameProgram{"T0 * 2 + T1", "add(mul(T0, 2), T1)"}, SameProgram{"T0 + T1 * 2", "add(T0, mul(T1, 2))"},
        SameProgram{"T0 - T1 - a", "sub(sub(T0, T1), a)"}, SameProgram{"T0 - (T1 - a)", "sub(T0, sub(T1, a))"},
        SameProgram{"T0 / T1 * 2.0", "mul(div(T0, T1), 2.0)"}, SameProgram{"-T0", "neg(T0)"},
        SameProgram{"-T0 * T1", "mul(neg(T0), T1)"}, SameProgram{"T0 - -T1", "sub(T0, neg(T1))"},
        SameProgram{"-2 * T0", "mul(-2, T0)"}, SameProgram{"-T0 ** 2", "neg(pow(T0, 2))"},
        SameProgram{"T0 ** T1 ** 2", "pow(T0, pow(T1, 2))"}, SameProgram{"T0 ** -2", "pow(T0, -2)"},
        SameProgram{"2.0 ** T0", "pow(2.0, T0)"}, SameProgram{"(T0)", "set(T0)"}, SameProgram{"T0", "set(T0)"},
        SameProgram{"!(T0 > 0)", "logical_not(gt(T0, 0))"}, SameProgram{"2 * 3 * T0", "mul(6, T0)"},
        // comparisons and logic
        SameProgram{"T0 < T1 && T0 != 0 || T1 >= a", "logical_or(logical_and(lt(T0, T1), ne(T0, 0)), ge(T1, a))"},
        SameProgram{"a > T0", "gt(a, T0)"}, SameProgram{"(T0 < T1) == (T1 <= T0)", "eq(lt(T0, T1), le(T1, T0))"},
        SameProgram{"(T0 < T1) ^ (T0 > T1) | (T0 == T1) & (T0 > a)",
                    "bitwise_or(bitwise_xor(lt(T0, T1), gt(T0, T1)), bitwise_and(eq(T0, T1), gt(T0, a)))"},
        SameProgram{"iota(n) << 2 + 1", "bitwise_left_shift(iota(n), 3)"},
        SameProgram{"iota(n) % 2", "mod(iota(n), 2)"},
        // within calls and lists, and calls within
        SameProgram{"exp(T0 + 1) / 2.0", "div(exp(add(T0, 1)), 2.0)"},
        SameProgram{"cat([T0 + 1, -T1], axis=0)", "cat([add(T0, 1), neg(T1)], axis=0)"},
        SameProgram{"max(T0, axis=1) * 2", "mul(max(T0, axes=[1]), 2)"},
        SameProgram{"T0 @ transpose(T1) + 1", "add(matmul(T0, transpose(T1)), 1)"},
        SameProgram{"where(T0 > 0, T0, 0.1 * T0)", "where(gt(T0, 0), T0, mul(0.1, T0))"},
        SameProgram{"T0 * max(n, 2)", "mul(T0, max(n, 2))"}, SameProgram{"T0 * -n", "mul(T0, ( 0 - n ))"},
        // one axis
        SameProgram{"sum(T0, dim=1)", "sum(T0, axes=[1])"}, SameProgram{"sum(T0, axis=-1)", "sum(T0, axes=[1])"},
        SameProgram{"sum(T0, 0)", "sum(T0, axes=[0])"}, SameProgram{"sum(T0, dim=[0, 1])", "sum(T0, axes=[0, 1])"},
        SameProgram{"softmax(T0, dim=0)", "softmax(T0, axis=0)"},
        SameProgram{"cat([T0, T1], dim=1)", "cat([T0, T1], axis=1)"},
        // slices
        SameProgram{"T0[0:2, :]", "slice(T0, starts=[0, 0], stops=[2, m], steps=[1, 1])"},
        SameProgram{"T0[0:2]", "slice(T0, starts=[0, 0], stops=[2, m], steps=[1, 1])"},
        SameProgram{"T0[:, 1::2]", "slice(T0, starts=[0, 1], stops=[n, m], steps=[1, 2])"},
        SameProgram{"T0[1:-1]", "slice(T0, starts=[1, 0], stops=[n - 1, m], steps=[1, 1])"},
        SameProgram{"T0[:, :]", "set(T0)"}, SameProgram{"T0[2]", "select(T0, axis=0, index=2)"},
        SameProgram{"T0[:, -1]", "select(T0, axis=1, index=m - 1)"},
        SameProgram{"T0[1, 2]", "select(select(T0, axis=1, index=2), axis=0, index=1)"},
        SameProgram{"T0[0, 1:3]", "select(slice(T0, starts=[0, 1], stops=[n, 3], steps=[1, 1]), axis=0, index=0)"},
        SameProgram{"-exp(T0)[0] ** 2", "neg(pow(select(exp(T0), axis=0, index=0), 2))"},
        SameProgram{"(T0 + T1)[n / 2:]", "slice(add(T0, T1), starts=[n / 2, 0], stops=[n, m], steps=[1, 1])"}));

// An expression with all its parentheses, as calls, and without those that precedence makes superfluous.
struct Written {
  std::string calls;
  std::string text;
  int level = 100;
};

class ExpressionMaker {
 public:
  explicit ExpressionMaker(unsigned seed) : random_(seed) {}

  Written make(int depth) {
    if (depth == 0) return leaf();
    if (below(5) == 0) {
      const Written inner = make(depth - 1);
      return {"neg(" + inner.calls + ")", "-" + enclosed(inner, 10), 10};
    }
    static constexpr struct {
      const char* symbol;
      const char* call;
      int level;
    } kOperators[] = {{"+", "add", 8}, {"-", "sub", 8}, {"*", "mul", 9}, {"/", "div", 9}};
    const auto& op = kOperators[below(4)];
    const Written left = make(depth - 1);
    const Written right = make(below(static_cast<unsigned>(depth)));
    return {fmt::format("{}({}, {})", op.call, left.calls, right.calls),
            fmt::format("{} {} {}", enclosed(left, op.level), op.symbol, enclosed(right, op.level + 1)), op.level};
  }

 private:
  int below(unsigned limit) { return static_cast<int>(random_() % limit); }
  Written leaf() {
    static constexpr const char* kLeaves[] = {"T0", "T1", "exp(T0)", "sigmoid(T1)"};
    const std::string text = kLeaves[below(4)];
    return {text, text};
  }
  static std::string enclosed(const Written& inner, int level) {
    return inner.level < level ? "(" + inner.text + ")" : inner.text;
  }

  std::mt19937 random_;
};

TEST(Expressions, OfAnyShapeAreTheirCalls) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Written written = ExpressionMaker(seed).make(1 + static_cast<int>(seed % 6));
    EXPECT_EQ(canonical(withStatement(written.text)), canonical(withStatement(written.calls))) << written.text;
  }
}

TEST(Expressions, NestAsDeepAsCallsAndNoDeeper) {
  const auto nested = [](size_t levels) {
    return withStatement(std::string(levels, '(') + "T0 + 1" + std::string(levels, ')'));
  };
  EXPECT_NO_THROW(parseDefined(nested(200)));
  EXPECT_THROW(parseDefined(nested(201)), Error);
  EXPECT_THROW(parseDefined(withStatement(std::string(201, '-') + "T0")), Error);
  std::string sum = "T0";
  for (int i = 0; i < 3000; ++i) sum += " + T1";
  EXPECT_NO_THROW(parseDefined(withStatement(sum)));
}

TEST(TensorNames, AreKeptInTheCanonicalText) {
  EXPECT_EQ(canonical("fusion f(x: f32[n], scale: f32) -> y { h = exp(x) * scale  y: f32[n] = h + 1 }"),
            "fusion f(x: f32[n], scale: f32) -> y {\n"
            "  T1: f32[n] = exp(x)\n"
            "  h: f32[n] = mul(T1, scale)\n"
            "  y: f32[n] = add(h, 1.0)\n"
            "}\n");
}

TEST(TensorNames, AndNumbersCanBeMixed) {
  EXPECT_EQ(canonical("fusion f(T7: f32[n], x: f32[n]) -> (y aliases T7, T0) { y = T7 + exp(x) T0 = y * 2 }"),
            "fusion f(T7: f32[n], x: f32[n]) -> (y aliases T7, T0) {\n"
            "  T2: f32[n] = exp(x)\n"
            "  y: f32[n] = add(T7, T2)\n"
            "  T0: f32[n] = mul(y, 2.0)\n"
            "}\n");
}

TEST(TensorNames, OfSchedulesAreTheirTensors) {
  const std::string text =
      "fusion f(x: f32[n]) -> y {\n"
      "  y: f32[n] = exp(x)\n"
      "}\n"
      "schedule {\n"
      "  split(y, axis=0, factor=4)\n"
      "  parallelize(y, axis=0, type=Stream)\n"
      "}\n";
  EXPECT_EQ(canonical(text), text);
  EXPECT_THAT(canonical("fusion f(x: f32[n]) -> y { y = exp(x) } schedule { c = cache_before(y) }"),
              testing::HasSubstr("  c: f32[n] = exp(x)\n  y: f32[n] = set(c)\n"));
}

TEST(TensorNames, MayBeWordsOfTheLanguage) {
  for (const char* name : {"exp", "mesh", "hidden", "aliases", "sizes", "Streaming", "axis", "in"}) {
    const std::string text =
        fmt::format("fusion f({0}: f32[n]) -> y {{ y = exp(set({0}, cache_op=\"Streaming\")) }}", name);
    EXPECT_THAT(canonical(text), testing::HasSubstr(fmt::format("fusion f({}: f32[n])", name)));
  }
}

TEST(TensorNames, AreTensorsOfTheirOwn) {
  EXPECT_THAT(canonical("fusion f(x: f32[n]) -> z { y = relu(x) z = y }"), testing::HasSubstr("z: f32[n] = set(y)"));
  EXPECT_THAT(canonical("fusion f(x: f32[n]) -> y { y = x }"), testing::HasSubstr("y: f32[n] = set(x)"));
}

TEST(Extents, ThatAreGivenAsNumbersMakeOpsSayWhetherTheyTakeThem) {
  const std::map<std::string, int64_t> extents = {{"n", 4}, {"m", 5}, {"k", 1}, {"s", 2}};
  const ParseOptions options = {.resolver = &definingResolver(), .extents = &extents};
  const std::string text =
      "fusion f(x: f32[n], y: f32[m], z: f32[k], s: i64) -> w { symbol q: i64\n w = x + y } sizes { n = 1, m = 2 }";
  try {
    parseFusion(text, "t.fusion", options);
    FAIL() << "sizes of 4 and 5 were added";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("add: the operands' sizes along axis 0 are 4 and 5"));
  }
  EXPECT_NO_THROW(parseFusion("fusion f(x: f32[n], z: f32[k]) -> x {} sizes { n = 4, k = 1 }", "t.fusion", options));
}

TEST(DivisionComments, AreRefusedBehindAnOperand) {
  for (const char* statement :
       {"a + x // 2", "x//2", "x // n", "x // -2.0", "(a + x) // 2", "x[0:2] // 2", "exp(x) // 2  // half", "x  // 2",
        "x // (n + 1)", "x // max(a, 1)", "x // 2_f32", "(a + x // 2\n)", "exp(x // 2\n)", "exp(x + a // 2)\n)"}) {
    const std::string text = fmt::format("fusion f(x: f32[n], a: f32[n]) -> y {{\n  y = {}\n}}", statement);
    try {
      parseDefined(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("reads like the divisor of a floor division")) << text;
    }
  }
}

TEST(DivisionComments, OtherCommentsAreComments) {
  const std::string plain = canonical("fusion f(x: f32[n], a: f32[n]) -> y {\n  y = exp(x)\n}");
  for (const char* comment :
       {" // rows", " // 2 rows", " // 2.", "  // n", "  // x * a", "  // max(x, 1)", " // mean (of n)", " // (n, 4)",
        " // [n]", " // x is kept", " //", " // n, m", "\n  // 2", "\n// x", " // = 2", " // step 2", " /// 2"}) {
    EXPECT_EQ(canonical(fmt::format("fusion f(x: f32[n], a: f32[n]) -> y {{\n  y = exp(x){}\n}}", comment)), plain)
        << comment;
  }
}

TEST(ForeignNames, MethodsAndModulesAreLookedUp) {
  for (const auto& [written, wanted] : {std::pair{"x.astype(f16)", "cast(x, dtype=f32)"},
                                        {"torch.nn.functional.gelu(x)", "gelu(x)"},
                                        {"np.softmax(x)", "softmax(x)"},
                                        {"(x + 1).T", "transpose(x)"},
                                        {"x[0:2].clip(0, 1)", "clamp(x, low, high)"}}) {
    try {
      parseDefined(fmt::format("fusion f(x: f32[4, 4]) -> y {{ y = {} }}", written));
      ADD_FAILURE() << written;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(fmt::format("did you mean '{}'?", wanted))) << written;
    }
  }
}

TEST(ForeignNames, AreFoundInAnySpelling) {
  const std::vector<std::string_view> ours = {"relu", "layer_norm", "ne"};
  for (const auto& [written, wanted] : {std::pair{"ReLU", "; did you mean 'relu'?"},
                                        {"relu_", "; did you mean 'relu'?"},
                                        {"clip_", "; did you mean 'clamp(x, low, high)'?"},
                                        {"LayerNorm", "; did you mean 'layer_norm(x, weight, bias)'?"},
                                        {"Conv2d", "; nothing here does what 'conv2d' does"},
                                        {"___", ""}})
    EXPECT_EQ(suggestionForCall(written, ours), wanted) << written;
  EXPECT_EQ(suggestionForMethod("shape", ours), "; sizes have names: those of x: f32[n, m] are n and m");
}

TEST(ForeignNames, BehindThePrefixOfScalarFunctionsAreLookedUp) {
  for (const auto& [written, wanted] :
       {std::pair{"function.logical_xor(x, x)",
                  "unknown function 'logical_xor'; expected an elementwise function of "
                  "scalars; did you mean 'ne(x, y)'?"},
        {"x + function.logical_xor(n, 1)", "did you mean 'ne(x, y)'?"},
        {"function.add(x, x)", "'function.' stands before functions of scalars alone; expected add(...) of tensors"},
        {"function.softmax(x)", "expected softmax(...) of tensors"},
        {"function.(x)", "unknown function '('"},
        {"function.", "expected the name of a function"}}) {
    try {
      parseDefined(fmt::format("fusion f(x: f32[4], n: i64) -> y {{ y = {} }}", written));
      ADD_FAILURE() << written;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(wanted)) << written;
    }
  }
}

TEST(ForeignNames, SuggestCallsThatRead) {
  const std::string head =
      "fusion f(x: f32[4, 4], y: f32[4, 4], mask: bool[4, 4], q: f32[1, 1, 4, 4], k: f32[1, 1, 4, 4], v: f32[1, 1, 4, "
      "4], "
      "weight: f32[4], bias: f32[4], value: f32, index: i64[4, 4], logits: f32[4, 9], target: i64[4], low: f32, high: "
      "f32, "
      "length: i64, start: i64, step: i64, n: i64, classes: i64, seed: i64, offset: i64) -> r { r = ";
  for (const std::string_view name : foreignNames()) {
    if (findCallable(name) != nullptr) continue;  // ours by now: nobody is told the hint
    const std::string hint = suggestionForCall(name, {});
    std::string call = hint.substr(hint.find('\'') + 1);
    call = call.substr(0, call.rfind('\''));
    // Places where a list or a number has to be filled in.
    for (const auto& [from, to] : {std::pair{"shape)", "[16])"},
                                   {"shape,", "[4],"},
                                   {"order)", "[1, 0])"},
                                   {"a, b)", "0, 1)"},
                                   {"groups)", "2)"},
                                   {", axis, index)", ", 0, mask_index)"},
                                   {"index, axis)", "index, 0)"}}) {
      if (const size_t at = call.find(from); at != std::string::npos)
        call.replace(at, std::string_view(from).size(), to);
    }
    if (call.find("mask_index") != std::string::npos) call = "index_select(x, 0, target)";
    if (call.starts_with("expand(")) call = "expand(x, [4, 4])";
    if (call.starts_with("bitwise")) call.replace(call.find('x', call.find('(')), 1, "index");
    if (const size_t y = call.find(", y)"); call.starts_with("bitwise") && y != std::string::npos)
      call.replace(y, 4, ", index)");
    if (call.starts_with("batch_norm")) call = "embedding(x, target)";
    if (call.starts_with("group_norm")) call = "group_norm(x, 2)";
    EXPECT_NO_THROW(parseDefined(head + call + " }")) << name << ": " << call;
  }
}

}  // namespace
}  // namespace tokamak
