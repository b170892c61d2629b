// Product groups: which products and activations are one, and which are not.
#include "graph/product_group.h"
#include "program_of.h"

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "error_of.h"
#include "graph/fusion_passes.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

// "linear+gelu_tanh -> T4", for each group.
std::string productGroupsOf(const std::string& text) {
  std::string words;
  const auto fusion = simplifyFusion(*fusionFrom(text));
  for (const ProductGroup& group : productGroups(*fusion)) {
    EXPECT_EQ(group.exprs.front(), group.product);
    EXPECT_EQ(group.exprs.back(), group.result->definition());
    words += fmt::format("{}{}+{} -> {}", words.empty() ? "" : ", ", group.product->info().name,
                         activationName(group.activation), nameOf(*group.result));
  }
  return words;
}

constexpr const char* kInputs = "T0: {0}[8, 16], T1: {0}[24, 16], T2: {0}[24]";

// Of T3, the product.
std::string groupsBehindLinear(const std::string& outputs, const std::string& body, const char* type = "bf16") {
  return productGroupsOf(fmt::format("fusion f({}) -> {} {{ T3 = linear(T0, T1, T2) {} }}",
                                     fmt::format(fmt::runtime(kInputs), type), outputs, body));
}

TEST(ProductGroups, AreProductsAndTheirActivationInTheProductsType) {
  for (const char* type : {"bf16", "f16"}) {
    const auto cast = [&](const char* call) { return fmt::format("T4 = cast({}, dtype={})", call, type); };
    EXPECT_EQ(groupsBehindLinear("T4", cast("gelu_tanh(T3)"), type), "linear+gelu_tanh -> T4");
    EXPECT_EQ(groupsBehindLinear("T4", cast("relu(T3)"), type), "linear+relu -> T4");
    EXPECT_EQ(groupsBehindLinear("T4", cast("gelu_tanh(cast(T3, dtype=f32))"), type), "linear+gelu_tanh -> T4");
  }
  EXPECT_EQ(groupsBehindLinear("T4", "T4 = gelu_tanh(T3)", "f32"), "linear+gelu_tanh -> T4");
  EXPECT_EQ(groupsBehindLinear("T4", "T4 = relu(T3)", "f32"), "linear+relu -> T4");
  EXPECT_EQ(
      productGroupsOf("fusion f(T0: f32[4, 8, 16], T1: f32[4, 16, 8]) -> T3 { T2 = matmul(T0, T1) T3 = relu(T2) }"),
      "matmul+relu -> T3");
  EXPECT_EQ(
      productGroupsOf("fusion f(T0: f32[8, 16], T1: f32[8, 16]) -> T3 { T2 = linear(T0, T1) T3 = gelu_tanh(T2) }"),
      "linear+gelu_tanh -> T3");
}

TEST(ProductGroups, AreReadByWhoeverLikesToAtTheirEnd) {
  EXPECT_EQ(groupsBehindLinear("T4, T5", "T4 = relu(T3) T5 = exp(T4)", "f32"), "linear+relu -> T4");
  EXPECT_EQ(groupsBehindLinear("T5, T6", "T4 = cast(gelu_tanh(T3), dtype=bf16) T5 = neg(T4) T6 = sum(T4, axes=[0])"),
            "linear+gelu_tanh -> T4");
}

TEST(ProductGroups, FollowOneAnother) {
  EXPECT_EQ(productGroupsOf("fusion mlp(T0: bf16[8, 16], T1: bf16[32, 16], T2: bf16[32], T3: bf16[16, 32]) -> T7 { "
                            "T4 = linear(T0, T1, T2) T5 = cast(gelu_tanh(T4), dtype=bf16) T6 = linear(T5, T3) "
                            "T7 = cast(relu(T6), dtype=bf16) }"),
            "linear+gelu_tanh -> T5, linear+relu -> T7");
}

TEST(ProductGroups, AreNoneWhereTheProductIsNeededElsewhere) {
  EXPECT_EQ(groupsBehindLinear("T4, T3", "T4 = cast(gelu_tanh(T3), dtype=bf16)"), "");
  EXPECT_EQ(groupsBehindLinear("T4, T5", "T4 = cast(relu(T3), dtype=bf16) T5 = neg(T3)"), "");
  EXPECT_EQ(groupsBehindLinear("T4, T5", "T4 = relu(T3) T5 = neg(T3)", "f32"), "");
  // The value in f32, before it is rounded.
  EXPECT_EQ(groupsBehindLinear("T5, T6", "T4 = gelu_tanh(T3) T5 = cast(T4, dtype=bf16) T6 = neg(T4)"), "");
}

TEST(ProductGroups, AreNoneOfOtherTypes) {
  EXPECT_EQ(groupsBehindLinear("T4", "T4 = gelu_tanh(T3)"), "");                   // stays f32
  EXPECT_EQ(groupsBehindLinear("T4", "T4 = cast(gelu_tanh(T3), dtype=f16)"), "");  // of a bf16 product

  EXPECT_EQ(groupsBehindLinear("T4", "T4 = gelu_tanh(T3)", "f64"), "");
  EXPECT_EQ(groupsBehindLinear("T4", "T4 = relu(T3)", "i64"), "");
  // Rounded to bf16 on the way.
  EXPECT_EQ(groupsBehindLinear("T4", "T4 = relu(cast(cast(T3, dtype=bf16), dtype=f32))", "f32"), "");
}

TEST(ProductGroups, AreNoneOfOtherFunctions) {
  for (const char* call : {"gelu(T3)", "leaky_relu(T3)", "silu(T3)", "tanh(T3)", "neg(T3)", "relu(mul(T3, 2.0))",
                           "gelu_tanh(add(T3, 1.0))", "relu(neg(T3))"})
    EXPECT_EQ(groupsBehindLinear("T4", fmt::format("T4 = {}", call), "f32"), "") << call;
  // One constant is another.
  EXPECT_EQ(groupsBehindLinear("T9",
                               "T4 = mul(mul(T3, T3), T3) T5 = mul(add(T3, mul(T4, 0.0447)), 0.7978845608028654) "
                               "T9 = mul(mul(T3, 0.5), add(tanh(T5), 1.0))",
                               "f32"),
            "");
}

TEST(ProductGroups, AreAsTheirFormulaIsWritten) {
  EXPECT_EQ(groupsBehindLinear("T9",
                               "T4 = mul(mul(T3, T3), T3) T5 = mul(add(T3, mul(T4, 0.044715)), 0.7978845608028654) "
                               "T9 = mul(mul(T3, 0.5), add(tanh(T5), 1.0))",
                               "f32"),
            "linear+gelu_tanh -> T9");
}

TEST(ProductGroups, AreNoneWhereSomethingIsBetween) {
  EXPECT_EQ(groupsBehindLinear("T5", "T4 = reshape(T3, shape=[192]) T5 = relu(T4)", "f32"), "");
  EXPECT_EQ(groupsBehindLinear("T5", "T4 = permute(T3, order=[1, 0]) T5 = relu(T4)", "f32"), "");
  EXPECT_EQ(productGroupsOf("fusion f(T0: f32[8, 16]) -> T1 { T1 = relu(T0) }"), "");
  EXPECT_EQ(
      productGroupsOf("fusion f(T0: f32[8, 16], T1: f32[16, 8]) -> T3 { T2 = exp(matmul(T0, T1)) T3 = relu(T2) }"), "");
}

// The statements that compute, by name; units with the number of their ops.
std::string statementsFor(const std::string& text, const KernelTarget& target, Grouping grouping = Grouping::Fused) {
  std::string words;
  const auto program = makeHostProgram(*fusionFrom(text), {.grouping = grouping, .target = target});
  for (const Expr* expr : program->topLevel().exprs) {
    const auto* post = expr->as<PostOnStream>();
    words += words.empty() ? "" : " ";
    words +=
        post == nullptr ? std::string(callName(*expr)) : fmt::format("unit:{}", post->segment->fusion->exprs().size());
    if (post != nullptr && productGroupOf(*post->segment)) words += "*";
  }
  return words;
}

std::string mlpWith(const char* activation, const char* type) {
  return fmt::format(
      "fusion mlp(T0: {1}[8, 16], T1: {1}[32, 16], T2: {1}[32], T3: {1}[16, 32]) -> T9 {{ T4 = linear(T0, T1, T2) "
      "T5 = cast({0}(T4), dtype={1}) T6 = linear(T5, T3) T9 = cast(add(T6, T0), dtype={1}) }}",
      activation, type);
}

TEST(ProductGroups, AreOneStatementWhereTheTargetAllowsIt) {
  KernelTarget target = hopperTarget();
  EXPECT_EQ(statementsFor(mlpWith("relu", "f32"), target), "unit:2* linear unit:2");
  EXPECT_EQ(statementsFor(mlpWith("relu", "bf16"), target), "unit:4* linear unit:4");
  // gelu is as exact as ours, and what is to be rounded is rounded, unless somebody does not mind.
  EXPECT_EQ(statementsFor(mlpWith("gelu_tanh", "f32"), target), "linear unit:9 linear unit:2");
  EXPECT_EQ(statementsFor(mlpWith("gelu_tanh", "bf16"), target), "linear unit:11 linear unit:4");
  target.product_activations = kAllProductActivations;
  EXPECT_EQ(statementsFor(mlpWith("gelu_tanh", "f32"), target), "unit:10* linear unit:2");
  EXPECT_EQ(statementsFor(mlpWith("gelu_tanh", "bf16"), target), "unit:12* linear unit:4");
  EXPECT_EQ(statementsFor(mlpWith("relu", "bf16"), target, Grouping::Segments), "linear unit:3 linear unit:4");
  EXPECT_EQ(statementsFor(mlpWith("relu", "f32"), cpuTarget()), "linear relu linear unit:2");
}

// A variable of the environment, while it lives.
class Asked {
 public:
  explicit Asked(const char* value) { setenv(kName, value, 1); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() { unsetenv(kName); }

 private:
  static constexpr const char* kName = "TOKAMAK_PRODUCT_ACTIVATIONS";
};

TEST(ProductGroups, MayBeAskedForByTheEnvironment) {
  EXPECT_EQ(hopperTarget().product_activations, kExactProductActivations);
  {
    const Asked asked("relu,gelu_tanh_of_halves");
    EXPECT_EQ(chosenProductActivations(), (ProductActivations{.relu = true, .gelu_tanh_of_halves = true}));
  }
  {
    const Asked asked("all");
    EXPECT_EQ(hopperTarget().product_activations, kAllProductActivations);
  }
  {
    const Asked asked("none");
    EXPECT_EQ(chosenProductActivations(), ProductActivations());
  }
  const Asked asked("relu,gelu");
  const Error error = errorOf([] { static_cast<void>(chosenProductActivations()); });
  EXPECT_EQ(error.code(), ErrorCode::Usage);
  EXPECT_EQ(error.message(),
            "TOKAMAK_PRODUCT_ACTIVATIONS=relu,gelu: 'gelu' is none of relu, gelu_tanh, gelu_tanh_of_halves, all, none");
}

}  // namespace
}  // namespace tokamak
