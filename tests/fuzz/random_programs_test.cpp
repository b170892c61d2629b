// Random programs: legal by construction, evaluated by the reference, exact where they claim it; and the minimiser.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "generator/coverage.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/minimise.h"
#include "ir/fields.h"
#include "oracle/reference.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_FUZZ_PROGRAMS raises it for longer runs; TOKAMAK_FUZZ_SEED is then the first seed.
const uint64_t kPrograms = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 2000);
const uint64_t kFirstSeed = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);

// Definitions before uses, results with one definition, outputs reachable, sizes of the reference as the axes say.
void checkInvariants(const Fusion& fusion, const oracle::Evaluation& evaluation) {
  for (const Expr* expr : fusion.exprs()) {
    for (const Val* input : expr->inputs()) {
      const bool is_leaf = fusion.isInput(input) || input->kind() == ValKind::Scalar;
      EXPECT_TRUE(input->definition() == nullptr ? is_leaf : input->definition()->id() < expr->id());
    }
    for (const Val* output : expr->outputs()) EXPECT_EQ(output->definition(), expr);
  }
  for (size_t i = 0; i < fusion.outputs().size(); ++i) {
    const TensorView* output = fusion.outputs()[i];
    const oracle::OracleTensor& value = evaluation.outputs[i];
    EXPECT_EQ(value.dtype, output->dtype());
    std::vector<int64_t> sizes;
    for (const IterDomain* axis : shapeOf(*output))
      sizes.push_back(evaluateInt(*axis->visibleExtent(), evaluation.bindings));
    EXPECT_EQ(value.sizes, sizes);
    EXPECT_EQ(value.count(), oracle::countOf(sizes));
  }
}

TEST(RandomPrograms, AreLegalAndEvaluatedAndExactWhereTheyClaimIt) {
  Coverage coverage;
  int64_t ops = 0;
  int64_t elements = 0;
  int64_t exact = 0;
  int64_t open = 0;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kPrograms; ++seed) {
    Program program;
    ASSERT_NO_THROW(program = drawProgram(seed)) << "seed " << seed;
    SCOPED_TRACE(toString(program));
    ASSERT_GE(program.opCount(), 1);
    const auto fusion = build(program);
    coverage.add(*fusion);
    ops += program.opCount();
    oracle::Evaluation evaluation;
    const auto inputs = toOracle(drawData(program, seed));
    ASSERT_NO_THROW(evaluation = oracle::evaluate(*fusion, inputs));
    checkInvariants(*fusion, evaluation);
    const bool claims_exact = program.values == Values::Exact || program.values == Values::Positions;
    for (const oracle::OracleTensor& output : evaluation.outputs) {
      for (const oracle::Element& element : output.elements) {
        ++elements;
        exact += static_cast<int64_t>(element.bound == 0);
        open += static_cast<int64_t>(std::isinf(element.bound));
        ASSERT_TRUE(!claims_exact || element.bound <= oracle::kOpenSign);
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << kPrograms << " programs, " << ops << " ops, " << elements << " output elements (" << exact << " exact, "
            << open << " without promise) in " << seconds.count() << " s\n"
            << coverage.report();
  EXPECT_GT(exact, elements / 2);
  EXPECT_LT(open, elements / 10);
}

// The typed mode is a correct program too: it must lie within the bounds of the exact mode.
TEST(RandomPrograms, TypedEvaluationLiesWithinTheBounds) {
  for (uint64_t seed = kFirstSeed + 100000; seed < kFirstSeed + 100000 + kPrograms / 4; ++seed) {
    const Program program = drawProgram(seed);
    SCOPED_TRACE(toString(program));
    const auto fusion = build(program);
    const oracle::Reference reference(*fusion, toOracle(drawData(program, seed)));
    for (size_t i = 0; i < fusion->outputs().size(); ++i) {
      const oracle::OracleTensor& typed = reference.typed(0).outputs[i];
      const std::vector<std::byte> bytes = oracle::store(typed);
      const oracle::Comparison comparison =
          reference.compare(i, {.dtype = typed.dtype, .sizes = typed.sizes, .strides = {}, .data = bytes.data()});
      ASSERT_TRUE(comparison.isOk()) << "output " << i << ": " << toString(comparison);
    }
  }
}

TEST(RandomPrograms, ComeBackFromTheirSeed) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Program program = drawProgram(seed);
    EXPECT_EQ(toString(program), toString(drawProgram(seed)));
    const auto first = drawData(program, seed);
    const auto second = drawData(program, seed);
    for (size_t i = 0; i < first.size(); ++i) {
      const auto* tensor = std::get_if<StoredData>(&first[i]);
      EXPECT_TRUE(tensor == nullptr || tensor->bytes == std::get<StoredData>(second[i]).bytes);
    }
  }
  EXPECT_NE(toString(drawProgram(1)), toString(drawProgram(2)));
}

TEST(RandomPrograms, DrawEveryOpAndEveryFunction) {
  Coverage coverage;
  constexpr uint64_t kEnough = 2000;  // of which most are never run: drawing is quick
  for (uint64_t seed = 1; seed <= std::max(kPrograms, kEnough); ++seed) coverage.add(*build(drawProgram(seed)));
  const auto isDrawn = [&](std::string_view name) {
    return std::ranges::any_of(coverage.cells(), [&](const auto& entry) { return entry.first.op == name; });
  };
  for (const FunctionInfo& info : allFunctions()) EXPECT_TRUE(isDrawn(info.name)) << info.name;
  for (const OpKind kind : allOpKinds()) {
    if (opList(kind) != OpList::Math || kind == OpKind::PointwiseOp || kind == OpKind::ReductionOp) continue;
    EXPECT_TRUE(isDrawn(opInfo(kind).name)) << opInfo(kind).name;
  }
}

// A planted failure: whatever contains a broadcast of a reduction "miscompiles".
TEST(Minimiser, CutsAPlantedFailureToAtMostThreeOps) {
  const Fails fails = [](const Program& program) {
    for (const Node& node : program.nodes) {
      if (node.kind != NodeKind::Op || node.op != OpKind::BroadcastOp) continue;
      const Node& operand = program.nodes[static_cast<size_t>(node.operands[0].node)];
      if (operand.kind == NodeKind::Op && operand.op == OpKind::ReductionOp) return true;
    }
    return false;
  };
  int64_t minimised = 0;
  for (uint64_t seed = 1; minimised < 20; ++seed) {
    const Program program = drawProgram(seed);
    if (!fails(program) || program.opCount() < 8) continue;
    const Program small = minimise(program, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_TRUE(isLegal(small));
    EXPECT_LE(small.opCount(), 3) << toString(program) << toString(small);
    EXPECT_EQ(small.outputs.size(), 1U);
    EXPECT_TRUE(small.in_place.empty());
    ++minimised;
  }
}

// A planted wrong result: slices with a step read one element too far left, seen by comparing with the reference.
TEST(Minimiser, KeepsAWrongResultWrong) {
  const Fails fails = [](const Program& program) {
    const auto hasStep = [](const Node& node) {
      return node.kind == NodeKind::Op && node.op == OpKind::SliceOp &&
             std::any_of(node.numbers.begin() + static_cast<int64_t>(node.numbers.size() / 3 * 2), node.numbers.end(),
                         [](int64_t step) { return step > 1; });
    };
    Program wrong = program;
    for (Node& node : wrong.nodes) {
      if (!hasStep(node)) continue;
      const size_t rank = node.numbers.size() / 3;
      for (size_t i = 0; i < rank; ++i) {
        if (node.numbers[i] > 0) {
          --node.numbers[i];
          --node.numbers[rank + i];
        }
      }
    }
    if (!isLegal(wrong)) return false;
    const auto inputs = toOracle(drawData(program, program.seed));
    const auto expected = oracle::evaluate(*build(program), inputs);
    const auto actual = oracle::evaluate(*build(wrong), inputs, {.mode = oracle::Mode::typed(), .bindings = {}});
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      const oracle::OracleTensor& output = actual.outputs[i];
      const std::vector<std::byte> bytes = oracle::store(output);
      if (output.sizes != expected.outputs[i].sizes) continue;
      if (!oracle::compare({.dtype = output.dtype, .sizes = output.sizes, .strides = {}, .data = bytes.data()},
                           expected.outputs[i])
               .isOk())
        return true;
    }
    return false;
  };
  int64_t minimised = 0;
  for (uint64_t seed = 1; seed <= 3000 && minimised < 5; ++seed) {
    const Program program = drawProgram(seed);
    if (program.opCount() < 6 || !fails(program)) continue;
    const Program small = minimise(program, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_LE(small.opCount(), 3) << toString(program) << toString(small);
    ++minimised;
  }
  EXPECT_EQ(minimised, 5);
}

}  // namespace
}  // namespace tokamak
