#include "ir/verifier.h"

#include <algorithm>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "ir/clone.h"
#include "ir/fields.h"
#include "ir/ops/host/start_coalescing.h"
#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "unit/fusion_mutator.h"

namespace tokamak {
namespace {

using M = FusionMutator;

// T0, T1 -> T2 = T0 + T1; T3 = max(T2) over axis 1; T4 = T2 as f64; T5 = set(T2), written into T0. With parts by name,
// for mutants.
struct Sample {
  Sample() {
    rows = fusion.symbol("i0");
    in = input();
    other = input();
    sum = give(PointwiseOp{nullptr, FunctionId::add, {in, other}});
    largest = give(ReductionOp{nullptr, sum, ReductionKind::Max, {1}});
    wide = give(CastOp{nullptr, sum, DataType::F64});
    copy = give(LoadStoreOp{nullptr, sum});
    for (TensorView* output : {largest, wide, copy}) fusion.addOutput(output);
    fusion.aliasOutput(copy, in);
    int64_t label = 0;
    for (TensorView* tensor : fusion.allTensors()) tensor->setLabel(label++);
  }

  TensorView* input() {
    TensorView* tensor =
        fusion.tensor(DataType::F32, {fusion.axis({.extent = rows}), fusion.axis({.extent = fusion.constant(8)})});
    fusion.addInput(tensor);
    return tensor;
  }

  template <class Op>
  TensorView* give(Op op) {
    op.infer(ShapeRule(fusion, Op::info.name));
    return asTensor(fusion.appendOp(std::move(op))->output(0));
  }

  // Of T2, over a mesh of two dimensions.
  void makePartial(std::vector<Partial> partials) {
    sum->setMesh({.shape = {2, 2}, .devices = {0, 1, 2, 3}});
    sum->setPartials(std::move(partials));
  }

  // Splits axis 0 of T2 by 4 and merges the inner part with axis 1.
  void schedule() {
    TensorDomain& domain = sum->mutableDomain();
    IterDomain* outer = fusion.axis({.extent = fusion.ceilDiv(rows, fusion.constant(4))});
    IterDomain* inner = fusion.axis({.extent = fusion.constant(4)});
    IterDomain* merged = fusion.axis({.extent = fusion.constant(32)});
    fusion.domainExpr({DomainExprKind::Split, {domain.logical[0], nullptr}, {outer, inner}, fusion.constant(4), true});
    fusion.domainExpr({DomainExprKind::Merge, {inner, domain.logical[1]}, {merged, nullptr}});
    domain.loop = {outer, merged};
    outer->parallelize(ParallelType::BIDx);
    merged->parallelize(ParallelType::Vectorize);
  }

  Fusion fusion{"sample"};
  Fusion stranger{"stranger"};
  Scalar* rows;
  TensorView* in;
  TensorView* other;
  TensorView* sum;
  TensorView* largest;
  TensorView* wide;
  TensorView* copy;
};

struct Mutant {
  const char* invariant;
  const char* what;
  std::function<void(Sample&)> make;
};

DomainExpr& step(IterDomain* axis) { return const_cast<DomainExpr&>(*axis->definition()); }

// Mutants that break the fusion in both stages.
const std::vector<Mutant> kMutants = {
    {"vals-owned", "an operand of another fusion",
     [](Sample& s) { M::op<PointwiseOp>(s.sum->definition()).ins[0] = s.stranger.tensor(DataType::F32, Axes{}); }},
    {"vals-owned", "an input of another fusion",
     [](Sample& s) { M::inputs(s.fusion).push_back(s.stranger.symbol("x")); }},
    {"vals-owned", "an output of another fusion",
     [](Sample& s) { M::outputs(s.fusion).push_back(s.stranger.tensor(DataType::F32, Axes{})); }},
    {"axes-owned", "an axis of another fusion", [](Sample& s) { M::owner(s.sum->logical()[0]) = &s.stranger; }},
    {"axes-owned", "an extent of another fusion",
     [](Sample& s) { M::extent(s.in->logical()[0]) = s.stranger.symbol("x"); }},
    {"ops-are-math", "a host op", [](Sample& s) { s.fusion.appendOp(StartCoalescing{}); }},
    {"one-definition", "a result of two ops", [](Sample& s) { M::outputs(s.copy->definition()) = {s.wide}; }},
    {"definition-links", "a definition that gives something else",
     [](Sample& s) { M::definition(s.wide) = s.copy->definition(); }},
    {"definition-links", "a lost definition", [](Sample& s) { M::definition(s.wide) = nullptr; }},
    {"definition-links", "an input with a definition", [](Sample& s) { M::definition(s.in) = s.wide->definition(); }},
    {"use-links", "a lost use", [](Sample& s) { M::uses(s.sum).pop_back(); }},
    {"use-links", "a use named twice", [](Sample& s) { M::uses(s.in).push_back(M::uses(s.in).front()); }},
    {"use-links", "a use by an op that reads something else",
     [](Sample& s) { M::uses(s.wide).push_back(s.copy->definition()); }},
    {"inputs-undefined", "a computed input", [](Sample& s) { M::inputs(s.fusion).push_back(s.sum); }},
    {"inputs-undefined", "an input twice", [](Sample& s) { M::inputs(s.fusion).push_back(s.in); }},
    {"operands-before", "a cycle",
     [](Sample& s) {
       Expr* expr = s.sum->definition();
       M::inputs(expr) = {s.in, s.copy};
       M::uses(s.other).clear();
       M::uses(s.copy) = {expr};
     }},
    {"operands-before", "an op before its operand's", [](Sample& s) { M::number(s.sum->definition()) = 100; }},
    {"operands-given", "an operand that nothing computes",
     [](Sample& s) { M::inputs(s.fusion).erase(M::inputs(s.fusion).begin() + 1); }},
    {"outputs-given", "an output that nothing computes",
     [](Sample& s) { s.fusion.addOutput(s.fusion.tensor(DataType::F32, Axes{})); }},
    {"function-types", "operands of two types", [](Sample& s) { M::dtype(s.other) = DataType::F64; }},
    {"function-types", "operands of a half type",
     [](Sample& s) { M::dtype(s.in) = M::dtype(s.other) = DataType::BF16; }},
    {"function-types", "an operand too many",
     [](Sample& s) { M::op<PointwiseOp>(s.sum->definition()).ins.push_back(s.in); }},
    {"extents", "an extent of a floating type",
     [](Sample& s) { M::extent(s.in->logical()[0]) = s.fusion.symbol("f", DataType::F32); }},
    {"extents", "a negative extent", [](Sample& s) { M::extent(s.in->logical()[0]) = s.fusion.constant(-1); }},
    {"extents", "an expanded axis that is no broadcast axis",
     [](Sample& s) { M::expandedExtent(s.in->logical()[0]) = s.rows; }},
    {"type-rules", "a result of another type", [](Sample& s) { M::dtype(s.wide) = DataType::F32; }},
    {"type-rules", "a result of another size",
     [](Sample& s) { M::extent(s.copy->logical()[1]) = s.fusion.constant(9); }},
    {"type-rules", "an attribute that the result does not follow",
     [](Sample& s) { M::op<ReductionOp>(s.largest->definition()).axes = {0}; }},
    {"type-rules", "an attribute that the type rule refuses",
     [](Sample& s) { M::op<ReductionOp>(s.largest->definition()).axes = {7}; }},
    {"axes-unshared", "two tensors with one axis",
     [](Sample& s) { s.copy->mutableDomain().logical = s.copy->mutableDomain().loop = s.wide->logical(); }},
    {"contiguity", "a flag too few", [](Sample& s) { s.in->mutableDomain().contiguity.pop_back(); }},
    {"contiguity", "a flag of a reduction axis", [](Sample& s) { s.largest->mutableDomain().contiguity[1] = true; }},
    {"contiguity", "a missing flag", [](Sample& s) { s.in->mutableDomain().contiguity[0] = std::nullopt; }},
    {"stride-orders", "an axis twice", [](Sample& s) { s.in->mutableDomain().stride_order = {1, 1}; }},
    {"stride-orders", "a hint of the wrong rank",
     [](Sample& s) { s.largest->mutableDomain().stride_order_hint = {1, 0}; }},
    {"meshes", "a rank in two places", [](Sample& s) { s.in->setMesh({.shape = {2}, .devices = {3, 3}}); }},
    {"meshes", "a negative rank", [](Sample& s) { s.sum->setMesh({.shape = {2}, .devices = {0, -1}}); }},
    {"meshes", "a place without a rank", [](Sample& s) { s.wide->setMesh({.shape = {2, 2}, .devices = {0, 1}}); }},
    {"parallel-types-once", "two axes of one device dimension",
     [](Sample& s) {
       for (IterDomain* axis : s.in->loop()) axis->parallelize(ParallelType::DIDx);
     }},
    {"partials", "terms over a mesh that is not there",
     [](Sample& s) { s.sum->setPartials({{.kind = ReductionKind::Sum, .type = ParallelType::DIDx}}); }},
    {"partials", "terms over a dimension that the mesh lacks",
     [](Sample& s) { s.makePartial({{ReductionKind::Sum, ParallelType::DIDz}}); }},
    {"partials", "terms over threads", [](Sample& s) { s.makePartial({{ReductionKind::Sum, ParallelType::TIDx}}); }},
    {"partials", "terms twice over one dimension",
     [](Sample& s) {
       s.makePartial({{ReductionKind::Sum, ParallelType::DIDx}, {ReductionKind::Sum, ParallelType::DIDx}});
     }},
    {"partials", "terms that are combined in two ways",
     [](Sample& s) {
       s.makePartial({{ReductionKind::Sum, ParallelType::DIDx}, {ReductionKind::Max, ParallelType::DIDy}});
     }},
    {"partials", "terms over a dimension that has parts of an axis",
     [](Sample& s) {
       s.sum->axis(0)->parallelize(ParallelType::DIDx);
       s.makePartial({{ReductionKind::Sum, ParallelType::DIDx}});
     }},
    {"whole-interface", "a partial input",
     [](Sample& s) {
       s.in->setMesh({.shape = {2}, .devices = {0, 1}});
       s.in->setPartials({{ReductionKind::Sum, ParallelType::DIDx}});
     }},
    {"whole-interface", "a partial output",
     [](Sample& s) {
       s.largest->setMesh({.shape = {2}, .devices = {0, 1}});
       s.largest->setPartials({{ReductionKind::Max, ParallelType::DIDx}});
     }},
    {"labels", "a name of two tensors", [](Sample& s) { s.copy->setLabel(s.in->label()); }},
    {"aliases", "an aliased tensor that is no output",
     [](Sample& s) { M::outputAliases(s.fusion)[s.sum] = {s.other, false}; }},
    {"aliases", "an alias of a computed tensor",
     [](Sample& s) { M::outputAliases(s.fusion)[s.copy] = {s.sum, false}; }},
    {"aliases", "an alias of another type", [](Sample& s) { M::outputAliases(s.fusion)[s.wide] = {s.other, false}; }},
    {"aliases", "an alias of another rank",
     [](Sample& s) { M::outputAliases(s.fusion)[s.largest] = {s.other, false}; }},
    {"aliases", "two outputs in one buffer",
     [](Sample& s) {
       TensorView* second = s.give(LoadStoreOp{nullptr, s.sum});
       s.fusion.addOutput(second);
       M::outputAliases(s.fusion)[second] = {s.in, false};
     }},
    {"transforms", "an allocation axis from elsewhere",
     [](Sample& s) { s.wide->mutableDomain().allocation = {s.wide->logical()[0], s.fusion.axis({.extent = s.rows})}; }},
    {"transforms", "an axis missing in memory",
     [](Sample& s) { s.wide->mutableDomain().allocation = {s.wide->logical()[0]}; }},
    {"transforms", "a root that does not give the shape",
     [](Sample& s) { s.wide->mutableDomain().root = {s.fusion.axis({.extent = s.rows})}; }},
    {"step-extents", "a shape split from a root of another size",
     [](Sample& s) {
       IterDomain* root = s.fusion.axis({.extent = s.rows});
       s.wide->mutableDomain().root = {root};
       s.fusion.domainExpr({DomainExprKind::Split,
                            {root, nullptr},
                            {s.wide->logical()[0], s.wide->logical()[1]},
                            s.fusion.constant(8)});
     }},
};

const std::vector<Mutant>& definitionMutants() {
  static const std::vector<Mutant> list = {
      {"loop-is-logical", "a reordered loop domain",
       [](Sample& s) { std::ranges::reverse(s.sum->mutableDomain().loop); }},
      {"serial", "an axis of blocks", [](Sample& s) { s.sum->axis(0)->parallelize(ParallelType::BIDx); }},
  };
  return list;
}

const std::vector<Mutant>& scheduledMutants() {
  static const std::vector<Mutant> list = {
      {"transforms", "a loop axis lost", [](Sample& s) { s.sum->mutableDomain().loop.pop_back(); }},
      {"transforms", "a loop axis twice", [](Sample& s) { s.sum->mutableDomain().loop.push_back(s.sum->axis(0)); }},
      {"transforms", "an axis beside what was made of it",
       [](Sample& s) { s.sum->mutableDomain().loop.push_back(s.sum->logical()[1]); }},
      {"transforms", "an axis from nowhere",
       [](Sample& s) { s.sum->mutableDomain().loop.push_back(s.fusion.axis({.extent = s.rows})); }},
      {"transforms", "a logical axis lost", [](Sample& s) { s.wide->mutableDomain().loop.pop_back(); }},
      {"transforms", "an axis that two steps use",
       [](Sample& s) {
         s.fusion.domainExpr({DomainExprKind::Split,
                              {s.sum->logical()[0], nullptr},
                              {s.fusion.axis({}), s.fusion.axis({})},
                              s.fusion.constant(4)});
       }},
      {"transforms", "a result that names another step",
       [](Sample& s) { M::definition(step(s.sum->axis(1)).in[0]) = s.sum->axis(1)->definition(); }},
      {"transforms", "a split without a factor", [](Sample& s) { step(s.sum->axis(0)).factor = nullptr; }},
      {"step-extents", "a split by zero", [](Sample& s) { step(s.sum->axis(0)).factor = s.fusion.constant(0); }},
      {"step-extents", "a split by another factor",
       [](Sample& s) { step(s.sum->axis(0)).factor = s.fusion.constant(8); }},
      {"step-extents", "an outer split named an inner one",
       [](Sample& s) { step(s.sum->axis(0)).is_inner_factor = false; }},
      {"step-extents", "a merge to another size", [](Sample& s) { M::extent(s.sum->axis(1)) = s.fusion.constant(33); }},
      {"parallel-types-once", "two axes of blocks", [](Sample& s) { s.sum->axis(1)->parallelize(ParallelType::BIDx); }},
      {"vectorized", "a vector of unknown length",
       [](Sample& s) { s.wide->axis(0)->parallelize(ParallelType::Vectorize); }},
      {"vectorized", "a vector that is not innermost",
       [](Sample& s) { s.sum->axis(0)->parallelize(ParallelType::Vectorize); }},
      {"inline-positions", "more shared loops than loops",
       [](Sample& s) { s.sum->mutableDomain().inline_position = 3; }},
      {"inline-positions", "less than none", [](Sample& s) { s.sum->mutableDomain().inline_position = -1; }},
      {"inline-positions", "an inlined input", [](Sample& s) { s.in->mutableDomain().inline_position = 1; }},
      {"inline-positions", "an inlined tensor that nothing reads",
       [](Sample& s) { s.wide->mutableDomain().inline_position = 1; }},
      {"inline-positions", "a shared vector", [](Sample& s) { s.sum->mutableDomain().inline_position = 2; }},
  };
  return list;
}

void expectKilled(const std::vector<Mutant>& list, Stage stage, std::set<std::string>& killing) {
  for (const Mutant& mutant : list) {
    Sample sample;
    if (stage == Stage::Scheduled) sample.schedule();
    mutant.make(sample);
    const auto violations = violationsOf(sample.fusion, stage);
    ASSERT_FALSE(violations.empty()) << mutant.what << " lives";
    EXPECT_EQ(violations.front().invariant, mutant.invariant) << mutant.what << ": " << violations.front().message;
    EXPECT_FALSE(violations.front().message.empty());
    killing.insert(mutant.invariant);
  }
}

TEST(Verifier, ALegalFusionHasNoViolation) {
  Sample sample;
  EXPECT_NO_THROW(verify(sample.fusion, Stage::Definition));
  sample.schedule();
  EXPECT_NO_THROW(verify(sample.fusion, Stage::Scheduled));
  EXPECT_NO_THROW(verify(*cloneFusion(sample.fusion), Stage::Scheduled));
}

TEST(Verifier, EveryInvariantKillsAMutant) {
  for (const Stage stage : {Stage::Definition, Stage::Scheduled}) {
    std::set<std::string> killing;
    expectKilled(kMutants, stage, killing);
    expectKilled(stage == Stage::Definition ? definitionMutants() : scheduledMutants(), stage, killing);
    for (const Invariant& invariant : invariantsOf(stage)) {
      EXPECT_TRUE(killing.contains(std::string(invariant.name))) << invariant.name << " has no mutant that it kills";
    }
  }
}

TEST(Verifier, OfAUnitExtentsMayBeOtherFormulasAndNothingElse) {
  const auto invariantOfCopy = [](const std::vector<IterKind>& kinds, DataType dtype) {
    Fusion fusion("unit");
    TensorView* in = fusion.tensor(DataType::F32, {fusion.axis({.extent = fusion.symbol("n")})});
    fusion.addInput(in);
    Axes axes;
    for (const IterKind kind : kinds) axes.push_back(fusion.axis({.kind = kind, .extent = fusion.symbol("chunk")}));
    fusion.appendOp(LoadStoreOp{.out = fusion.tensor(dtype, axes), .in = in});
    const auto violations = violationsOf(fusion, Stage::Segment);
    return violations.empty() ? std::string() : std::string(violations.front().invariant);
  };
  EXPECT_EQ(invariantOfCopy({IterKind::Iteration}, DataType::F32), "");
  EXPECT_EQ(invariantOfCopy({IterKind::Iteration, IterKind::Iteration}, DataType::F32), "type-rules-of-slices");
  EXPECT_EQ(invariantOfCopy({IterKind::Reduction}, DataType::F32), "type-rules-of-slices");
  EXPECT_EQ(invariantOfCopy({IterKind::Iteration}, DataType::F64), "type-rules-of-slices");
}

TEST(Verifier, DoesNotChangeTheFusion) {
  Sample sample;
  sample.schedule();
  const Scalar* before = sample.fusion.symbol("before");
  verify(sample.fusion, Stage::Scheduled);
  EXPECT_EQ(sample.fusion.symbol("after")->id(), before->id() + 1);
}

TEST(Verifier, AViolationIsRaisedWithItsInvariantAndStage) {
  Sample sample;
  sample.fusion.addOutput(sample.fusion.tensor(DataType::F32, Axes{}));
  try {
    verify(sample.fusion, Stage::Definition);
    ADD_FAILURE() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Definition);
    EXPECT_EQ(error.message().find("fusion sample breaks outputs-given (definition stage): nothing computes output"),
              0U)
        << error.message();
  }
}

TEST(Verifier, TheLegalitySpecNamesEveryInvariantOnce) {
  for (const Stage stage : {Stage::Definition, Stage::Scheduled, Stage::Segment}) {
    const std::string spec = legalitySpec(stage);
    const auto invariants = invariantsOf(stage);
    EXPECT_EQ(std::ranges::count(spec, '\n'), static_cast<int64_t>(invariants.size()));
    for (const Invariant& invariant : invariants) {
      EXPECT_NE(spec.find(std::string(invariant.name) + ": " + std::string(invariant.sentence)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tokamak
