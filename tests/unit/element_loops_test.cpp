#include "runtime/cpu/element_loops.h"
#include "device/work.h"

#include <functional>

#include <gmock/gmock.h>

#include "define/functions.h"
#include "define/indexing.h"
#include "define/shapes.h"
#include "define/structured.h"
#include "error_of.h"
#include "host/sanitized_share.h"
#include "ir/all_ops.h"
#include "program_of.h"
#include "unit/op_by_op.h"

namespace tokamak {
namespace {

// The three sizes that a case's tensors are made of, as symbols or as numbers.
struct Sizes {
  Fusion& fusion;
  Operand n;
  Operand m;
  Operand k;
};

struct OpCase {
  const char* name;
  std::function<TensorView*(const Sizes&, DataType)> define;
  std::vector<DataType> types = {DataType::F32, DataType::BF16, DataType::I64, DataType::Bool};
};

const std::vector<DataType> kNumbers = {DataType::F32, DataType::F64, DataType::F16, DataType::I32, DataType::I64};

const std::vector<OpCase> kCases = {
    {"set", [](const Sizes& s, DataType t) { return set(inputOf(s.fusion, t, {s.n, s.m, s.k})); }},
    {"add",
     [](const Sizes& s, DataType t) {
       return add(inputOf(s.fusion, t, {s.n, s.m, s.k}), inputOf(s.fusion, t, {s.n, s.m, s.k}));
     },
     kNumbers},
    {"add_broadcast",
     [](const Sizes& s, DataType t) {
       return add(mul(inputOf(s.fusion, t, {s.n, 1, s.k}), inputOf(s.fusion, t, {s.m, 1})), 3);
     },
     kNumbers},
    {"where",
     [](const Sizes& s, DataType t) {
       return where(inputOf(s.fusion, DataType::Bool, {s.m, s.k}), inputOf(s.fusion, t, {s.n, s.m, s.k}),
                    inputOf(s.fusion, t, {s.n, s.m, 1}));
     }},
    {"cast", [](const Sizes& s,
                DataType t) { return cast(cast(inputOf(s.fusion, t, {s.n, s.k}), DataType::F64), DataType::F16); }},
    {"broadcast", [](const Sizes& s,
                     DataType t) { return broadcast(inputOf(s.fusion, t, {s.n, s.k}), {true, false, true, false}); }},
    {"expand",
     [](const Sizes& s, DataType t) { return set(expand(inputOf(s.fusion, t, {s.n, 1, s.k}), {s.n, s.m, s.k})); }},
    {"squeeze", [](const Sizes& s, DataType t) { return squeeze(inputOf(s.fusion, t, {s.n, 1, s.k, 1}), {1, 3}); }},
    {"permute", [](const Sizes& s, DataType t) { return permute(inputOf(s.fusion, t, {s.n, s.m, s.k}), {2, 0, 1}); }},
    {"transpose", [](const Sizes& s, DataType t) { return transpose(inputOf(s.fusion, t, {s.n, s.m, s.k})); }},
    {"transposed_add",
     [](const Sizes& s, DataType t) {
       return add(inputOf(s.fusion, t, {s.k, s.m}), transpose(inputOf(s.fusion, t, {s.m, s.k})));
     },
     kNumbers},
    {"slice_whole",
     [](const Sizes& s, DataType t) {
       return slice(inputOf(s.fusion, t, {s.n, s.m, s.k}), {0, 0, 0}, {s.n, s.m, s.k}, {1, 1, 2});
     }},
    {"pad",
     [](const Sizes& s, DataType t) { return pad(inputOf(s.fusion, t, {s.n, s.m, s.k}), {1, 2, 0, 0, 3, 1}, 1); }},
    {"pad_and_cut",
     [](const Sizes& s, DataType t) {
       return pad(pad(inputOf(s.fusion, t, {s.n, s.k}), {2, 2, 3, 0}), {-1, -2, 1, -2}, 1);
     }},
    {"cat_outer",
     [](const Sizes& s, DataType t) {
       return cat(
           {inputOf(s.fusion, t, {s.n, s.k}), inputOf(s.fusion, t, {s.m, s.k}), inputOf(s.fusion, t, {s.n, s.k})}, 0);
     }},
    {"cat_inner",
     [](const Sizes& s, DataType t) {
       return cat(
           {inputOf(s.fusion, t, {s.n, s.k}), inputOf(s.fusion, t, {s.n, s.m}), inputOf(s.fusion, t, {s.n, s.n})}, 1);
     }},
    {"reshape_merge",
     [](const Sizes& s, DataType t) {
       TensorView* in = inputOf(s.fusion, t, {s.n, s.m, s.k});
       const Axes shape = shapeOf(*in);
       return reshape(in, {s.n, s.fusion.mul(shape[1]->visibleExtent(), shape[2]->visibleExtent())});
     }},
    {"reshape_split",
     [](const Sizes& s, DataType t) {
       TensorView* in = inputOf(s.fusion, t, {s.n, s.m, s.k});
       const Axes shape = shapeOf(*in);
       Scalar* columns = s.fusion.mul(shape[1]->visibleExtent(), shape[2]->visibleExtent());
       return reshape(reshape(permute(in, {2, 1, 0}), {columns, s.n}), {s.m, s.k, 1, s.n});
     }},
    {"select", [](const Sizes& s,
                  DataType t) { return select(pad(inputOf(s.fusion, t, {s.n, s.m, s.k}), {0, 0, 1, 1, 0, 0}), 1, 1); }},
    {"take_inner",
     [](const Sizes& s, DataType t) {
       return take_along_axis(inputOf(s.fusion, t, {s.n, s.m}), inputOf(s.fusion, DataType::I32, {s.n, s.k}), 1);
     }},
    {"take_middle",
     [](const Sizes& s, DataType t) {
       return take_along_axis(inputOf(s.fusion, t, {1, s.m, s.k}), inputOf(s.fusion, DataType::I64, {s.n, s.n, 1}), 1);
     }},
    {"embedding",
     [](const Sizes& s, DataType t) {
       return embedding(inputOf(s.fusion, t, {s.n, s.k}), inputOf(s.fusion, DataType::I64, {s.m, s.n}));
     }},
    {"full", [](const Sizes& s, DataType t) { return full(s.fusion, {s.n, s.k}, 1, t); }},
    {"full_fraction", [](const Sizes& s, DataType t) { return full(s.fusion, {s.n, s.k}, 0.1, t); }, kNumbers},
    {"iota", [](const Sizes& s, DataType t) { return iota(s.fusion, s.k, -5, 3, t); }, kNumbers},
    {"sum_inner", [](const Sizes& s, DataType t) { return sum(inputOf(s.fusion, t, {s.n, s.m, s.k}), {2}); }},
    {"sum_outer", [](const Sizes& s, DataType t) { return sum(inputOf(s.fusion, t, {s.n, s.m, s.k}), {0}); }},
    {"sum_middle", [](const Sizes& s, DataType t) { return sum(inputOf(s.fusion, t, {s.n, s.m, s.k}), {1}); }},
    {"sum_outer_and_inner",
     [](const Sizes& s, DataType t) { return sum(inputOf(s.fusion, t, {s.n, s.m, s.k}), {0, 2}); }},
    {"sum_all", [](const Sizes& s, DataType t) { return sum(inputOf(s.fusion, t, {s.n, s.m, s.k})); }},
    {"sum_expanded",
     [](const Sizes& s, DataType t) { return sum(expand(inputOf(s.fusion, t, {s.n, 1}), {s.n, s.k}), {1}); }},
    {"prod", [](const Sizes& s, DataType t) { return prod(inputOf(s.fusion, t, {s.n, s.k}), {1}); }},
    {"max",
     [](const Sizes& s, DataType t) { return max(inputOf(s.fusion, t, {s.n, s.m, s.k}), {1, 2}, {.keepdim = true}); }},
    {"min", [](const Sizes& s, DataType t) { return min(inputOf(s.fusion, t, {s.n, s.m, s.k}), {0, 1}); }},
    {"matmul",
     [](const Sizes& s, DataType t) {
       return define<MatmulOp>(inputOf(s.fusion, t, {s.n, s.k}), inputOf(s.fusion, t, {s.k, s.m}));
     },
     kNumbers},
    {"matmul_batched",
     [](const Sizes& s, DataType t) {
       return define<MatmulOp>(inputOf(s.fusion, t, {s.n, 1, s.k, s.m}), inputOf(s.fusion, t, {2, s.m, 3}));
     },
     kNumbers},
    {"matmul_vector",
     [](const Sizes& s, DataType t) {
       return define<MatmulOp>(inputOf(s.fusion, t, {s.k}), inputOf(s.fusion, t, {s.n, s.k, s.m}));
     },
     kNumbers},
    {"dot",
     [](const Sizes& s, DataType t) {
       return define<MatmulOp>(inputOf(s.fusion, t, {s.k}), inputOf(s.fusion, t, {s.k}));
     },
     kNumbers},
    {"linear",
     [](const Sizes& s, DataType t) {
       return define<LinearOp>(inputOf(s.fusion, t, {s.n, s.k}), inputOf(s.fusion, t, {s.m, s.k}));
     },
     kNumbers},
    {"linear_bias",
     [](const Sizes& s, DataType t) {
       return define<LinearOp>(inputOf(s.fusion, t, {2, s.n, s.k}), inputOf(s.fusion, t, {s.m, s.k}),
                               inputOf(s.fusion, t, {s.m}));
     },
     kNumbers},
};

class ElementLoops : public testing::TestWithParam<OpCase> {};

// Sanitizers look at one in three: every type, size and layout comes, though not each with each.
constexpr int64_t kSharePerCase = kShare > 1 ? 3 : 1;

TEST_P(ElementLoops, GiveWhatTheOracleGivesForAllLayoutsAndSizes) {
  constexpr int64_t sizes[][3] = {{3, 5, 7}, {1, 4, 6},   {0, 3, 2},    {3, 0, 2},
                                  {2, 3, 0}, {17, 9, 33}, {2, 3, 1500}, {3, 40, 41}};
  int64_t next = 0;
  for (const DataType type : GetParam().types) {
    for (const auto& [n, m, k] : sizes) {
      for (const bool is_symbolic : {true, false}) {
        for (const Layout in : kAllLayouts) {
          if (++next % kSharePerCase != 0) continue;
          const Layout out =
              kAllLayouts[(static_cast<size_t>(in) + static_cast<size_t>(k) + (is_symbolic ? 0 : 1)) % 4];
          SCOPED_TRACE(fmt::format("{} n={} m={} k={} symbolic={} in={} out={}", dataTypeName(type), n, m, k,
                                   is_symbolic, static_cast<int>(in), static_cast<int>(out)));
          Fusion fusion;
          ScalarBindings bindings;
          const auto size = [&](const char* name, int64_t value) -> Operand {
            if (!is_symbolic) return value;
            Scalar* symbol = fusion.symbol(name);
            bindings[symbol] = value;
            return symbol;
          };
          const Sizes named{fusion, size("n", n), size("m", m), size("k", k)};
          fusion.addOutput(GetParam().define(named, type));
          static_cast<void>(
              expectAsOracle(fusion, bindings, {.in = in, .out = out, .seed = static_cast<uint32_t>(k + 1)}));
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ElementLoops, testing::ValuesIn(kCases),
                         [](const auto& instance) { return instance.param.name; });

TEST(ElementLoopsOf, EveryFunctionOnEveryTypeItTakes) {
  int count = 0;
  for (const FunctionInfo& info : allFunctions()) {
    for (const DataType type : kAllDataTypes) {
      if (!functionTypes(info.id, type)) continue;
      for (const Values values : {Values::Normal, Values::Special}) {
        SCOPED_TRACE(fmt::format("{} {}", info.name, dataTypeName(type)));
        Fusion fusion;
        std::vector<Operand> operands;
        for (int i = 0; i < info.arity; ++i) operands.emplace_back(inputOf(fusion, type, {1100}));
        fusion.addOutput(asTensor(applyFunction(info.id, operands)));
        static_cast<void>(expectAsOracle(fusion, {}, {.values = values, .seed = static_cast<uint32_t>(++count)}));
      }
    }
  }
  EXPECT_GT(count, 500);
}

TEST(ElementLoopsOf, EveryCastRoundsOnce) {
  for (const DataType from : kAllDataTypes) {
    for (const DataType to : kAllDataTypes) {
      SCOPED_TRACE(fmt::format("{} to {}", dataTypeName(from), dataTypeName(to)));
      for (const Values values : {Values::Exact, Values::Normal, Values::Special}) {
        Fusion fusion;
        fusion.addOutput(cast(inputOf(fusion, from, {5000}), to));
        static_cast<void>(expectAsOracle(fusion, {}, {.values = values}));
      }
    }
  }
}

TEST(ElementLoopsOf, LongReductionsStayWithinTheBoundOnAnyNumberOfThreads) {
  for (const ReductionKind kind : {ReductionKind::Sum, ReductionKind::Max}) {
    if (kShare > 1 && kind == ReductionKind::Max) continue;  // sums alone under sanitizers
    for (const std::vector<int64_t>& axes : std::vector<std::vector<int64_t>>{{0}, {1}, {0, 1}}) {
      Fusion fusion;
      fusion.addOutput(reduce(kind, inputOf(fusion, DataType::F32, {700, 900}), axes));
      const auto one = expectAsOracle(fusion, {}, {.values = Values::Normal, .threads = 1});
      const auto two = expectAsOracle(fusion, {}, {.values = Values::Normal, .threads = 2});
      const auto three = expectAsOracle(fusion, {}, {.values = Values::Normal, .threads = 3});
      EXPECT_EQ(one, two);
      EXPECT_EQ(one, three);
    }
  }
}

TEST(ElementLoopsOf, MaxAndMinGiveNaNWhereThereIsOne) {
  for (const ReductionKind kind : {ReductionKind::Max, ReductionKind::Min}) {
    for (const int64_t axis : {0, 1}) {
      Fusion fusion;
      fusion.addOutput(reduce(kind, inputOf(fusion, DataType::F32, {50, 60}), {axis}));
      static_cast<void>(expectAsOracle(fusion, {}, {.values = Values::Special}));
    }
  }
}

TEST(ElementLoopsOf, TheResultMayBeTheOperandItself) {
  Fusion fusion;
  TensorView* in = inputOf(fusion, DataType::F32, {3000});
  TensorView* out = add(exp(in), in);
  const Expr* add_expr = out->definition();
  std::vector<float> x(3000);
  std::vector<float> y(3000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = 2;
  const OperandDesc desc{.dtype = DataType::F32, .sizes = {3000}, .strides = {1}};
  BlockPool pool(2);
  void* addresses[] = {y.data(), x.data(), x.data()};
  prepareElementWork(*add_expr, std::vector{desc, desc, desc}, {})->run(addresses, pool);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<float>(i) + 2);
}

TEST(ElementLoopsOf, APartOfAnIotaKnowsWhereItLies) {
  Fusion fusion;
  TensorView* out = iota(fusion, 100, 7, 2, DataType::I32);
  std::vector<int32_t> part(10);
  const OperandDesc desc{.dtype = DataType::I32, .sizes = {10}, .strides = {1}};
  BlockPool pool(1);
  void* addresses[] = {part.data()};
  const int64_t offsets[] = {40};
  prepareElementWork(*out->definition(), std::span(&desc, 1), {}, offsets)->run(addresses, pool);
  EXPECT_EQ(part[0], 7 + 2 * 40);
  EXPECT_EQ(part[9], 7 + 2 * 49);
}

TEST(ElementLoopsOf, PartsOfOperandsMeetPartsOfTheResult) {
  Fusion fusion;
  TensorView* out = pad(inputOf(fusion, DataType::I64, {8, 3}), {0, 0, 1, 1}, 9);
  const std::vector<int64_t> rows = {1, 2, 3, 4, 5, 6};  // rows 4 and 5
  std::vector<int64_t> result(10);
  const OperandDesc descs[] = {{.dtype = DataType::I64, .sizes = {2, 3}, .strides = {3, 1}},
                               {.dtype = DataType::I64, .sizes = {2, 5}, .strides = {5, 1}}};
  BlockPool pool(1);
  void* addresses[] = {const_cast<int64_t*>(rows.data()), result.data()};
  const int64_t offsets[] = {4};
  prepareElementWork(*out->definition(), descs, {}, offsets)->run(addresses, pool);
  EXPECT_EQ(result, (std::vector<int64_t>{9, 1, 2, 3, 9, 9, 4, 5, 6, 9}));
}

TEST(ElementLoopsOf, SizesThatDoNotFitAreErrors) {
  Fusion fusion;
  Scalar* n = fusion.symbol("n");
  Scalar* m = fusion.symbol("m");
  const TensorView* sum_of_two = add(inputOf(fusion, DataType::F32, {n}), inputOf(fusion, DataType::F32, {m}));
  const auto desc = [](int64_t size) { return OperandDesc{.dtype = DataType::F32, .sizes = {size}, .strides = {1}}; };
  const auto prepare = [&](const TensorView* out, const std::vector<OperandDesc>& descs,
                           const ScalarBindings& bindings) {
    return errorOf([&] { static_cast<void>(prepareElementWork(*out->definition(), descs, bindings)); });
  };
  EXPECT_EQ(prepare(sum_of_two, {desc(4), desc(5), desc(4)}, {{n, int64_t{4}}, {m, int64_t{5}}}).message(),
            "add: m is 5 and n is 4; they must be equal");
  EXPECT_EQ(prepare(sum_of_two, {desc(4), desc(3), desc(4)}, {}).code(), ErrorCode::Bind);
  EXPECT_EQ(prepare(sum_of_two, {desc(4), desc(4)}, {}).code(), ErrorCode::Bind);
  EXPECT_EQ(
      prepare(sum_of_two, {desc(4), OperandDesc{.dtype = DataType::F64, .sizes = {4}, .strides = {1}}, desc(4)}, {})
          .code(),
      ErrorCode::Bind);
  TensorView* in = inputOf(fusion, DataType::F32, {n});
  const TensorView* cut = slice(in, 0, m, n);
  EXPECT_EQ(prepare(cut, {desc(4), desc(3)}, {{m, int64_t{2}}, {n, int64_t{4}}}).code(), ErrorCode::Bind);

  const TensorView* taken = take_along_axis(in, inputOf(fusion, DataType::I64, {m}), 0);
  const OperandDesc positions{.dtype = DataType::I64, .sizes = {3}, .strides = {1}};
  EXPECT_THAT(prepare(taken, {desc(4), positions, desc(3)}, {{m, int64_t{3}}, {n, int64_t{5}}}).message(),
              testing::HasSubstr("has size 4, indices go up to 4"));
}

}  // namespace
}  // namespace tokamak
