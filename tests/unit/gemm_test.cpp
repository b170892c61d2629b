#include "runtime/cpu/gemm.h"
#include "device/work.h"

#include "define/structured.h"
#include "error_of.h"
#include "program_of.h"
#include "unit/op_by_op.h"
#include "unit/products.h"

namespace tokamak {
namespace {

const std::vector<Product> kProducts = {
    {{3, 4}, {4, 5}},
    {{1, 7}, {7, 1}},
    {{260, 9}, {9, 530}},
    {{5, 1100}, {1100, 3}},
    {{2, 3, 4, 5}, {5, 6}},
    {{2, 1, 4, 5}, {3, 5, 6}},
    {{7}, {7}},
    {{7}, {3, 7, 2}},
    {{2, 4, 7}, {7}},
    {{0, 4}, {4, 5}},
    {{3, 0}, {0, 5}},
    {{1, 3, 4}, {2, 4, 1}},
    {{3, 4}, {5, 4}, true},
    {{2, 3, 4}, {5, 4}, true, true},
    {{270, 7}, {530, 7}, true, true},
    {{3, 0}, {5, 0}, true, true},
    {{4}, {5, 4}, true, true},
    {{2, 0, 4}, {5, 4}, true, true},
};

TEST(Gemm, ProductsOfAllShapesLayoutsAndTypesAreTheOracles) {
  ASSERT_NE(OpenBlas::load(), nullptr) << "libopenblas.so.0 is needed for this test";
  const ProductType types[] = {DataType::F32,
                               DataType::F64,
                               DataType::F16,
                               DataType::BF16,
                               DataType::I32,
                               DataType::I64,
                               {DataType::BF16, DataType::F32},
                               {DataType::F16, DataType::F32}};
  for (const ProductType& type : types) {
    for (size_t number = 0; number < kProducts.size(); ++number) {
      for (const Layout in : kAllLayouts) {
        for (const Layout out : kAllLayouts) {
          // The oracle is slow: large products only with some layouts, in two types.
          const bool is_large = kProducts[number].a[0] > 200 || kProducts[number].b[0] > 200;
          if (is_large && (in != out || (type.operands != DataType::F32 && type.operands != DataType::BF16))) continue;
          const Values values = number % 2 == 0 ? Values::Normal : Values::Exact;
          SCOPED_TRACE(fmt::format("{} product {} in={} out={}", toString(type), number, static_cast<int>(in),
                                   static_cast<int>(out)));
          Fusion fusion;
          fusion.addOutput(defineProduct(fusion, kProducts[number], type));
          const auto prepare = [](const Expr& expr, std::span<const OperandDesc> operands,
                                  const ScalarBindings& bindings) {
            return prepareMatmulWork(expr, operands, bindings);
          };
          static_cast<void>(expectAsOracle(fusion, {}, {.in = in, .out = out, .values = values, .prepare = prepare}));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Gemm, ResultsDoNotDependOnTheNumberOfThreads) {
  Fusion fusion;
  fusion.addOutput(defineProduct(fusion, {{2, 300, 20}, {20, 530}}, DataType::F32));
  std::vector<std::vector<std::vector<std::byte>>> results;
  for (const int64_t threads : {1, 2, 3}) {
    const auto prepare = [](const Expr& expr, std::span<const OperandDesc> operands, const ScalarBindings& bindings) {
      return prepareMatmulWork(expr, operands, bindings);
    };
    results.push_back(expectAsOracle(fusion, {}, {.values = Values::Normal, .threads = threads, .prepare = prepare}));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Gemm, WithoutTheLibraryTheElementRuleComputes) {
  for (const Product& product : kProducts) {
    Fusion fusion;
    fusion.addOutput(defineProduct(fusion, product, DataType::F32));
    const auto prepare = [](const Expr& expr, std::span<const OperandDesc> operands, const ScalarBindings& bindings) {
      return prepareMatmulWork(expr, operands, bindings, nullptr);
    };
    static_cast<void>(expectAsOracle(fusion, {}, {.values = Values::Normal, .prepare = prepare}));
  }
}

TEST(Gemm, SizesThatDoNotFitAreErrors) {
  Fusion fusion;
  Scalar* n = fusion.symbol("n");
  const TensorView* out =
      define<MatmulOp>(inputOf(fusion, DataType::F32, {2, n}), inputOf(fusion, DataType::F32, {n, 3}));
  const auto matrix = [](int64_t rows, int64_t columns) {
    return OperandDesc{.dtype = DataType::F32, .sizes = {rows, columns}, .strides = {columns, 1}};
  };
  const auto errorFor = [&](const std::vector<OperandDesc>& operands) {
    return errorOf([&] { static_cast<void>(prepareMatmulWork(*out->definition(), operands, {})); });
  };
  EXPECT_EQ(errorFor({matrix(2, 4), matrix(5, 3), matrix(2, 3)}).message(),
            "matmul: the inner size of the right operand is 5; with the other operands it must be 4");
  EXPECT_EQ(errorFor({matrix(2, 4), matrix(4, 3), matrix(3, 3)}).code(), ErrorCode::Bind);
  EXPECT_EQ(errorFor({matrix(2, 4), matrix(4, 3)}).code(), ErrorCode::Bind);
}

}  // namespace
}  // namespace tokamak
