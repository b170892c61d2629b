// Where part_axes says that an op can be done part by part, local programs do it; where it does not, they refuse.
#include "analysis/part_axes.h"

#include <gtest/gtest.h>

#include "analysis/marked_parts.h"
#include "host/local/local_ops.h"
#include "unit/shardings/random_program.h"
#include "unit/shardings/sharding_case.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

const DeviceMesh kMesh{.shape = {2}, .devices = {0, 1}};

int64_t positionOf(const TensorView& tensor, int64_t axis) {
  const IterDomain* logical = shapeOf(tensor)[static_cast<size_t>(axis)];
  return std::ranges::find(tensor.loop(), logical) - tensor.loop().begin();
}

void deal(TensorView& tensor, int64_t axis, const std::vector<AxisCut>& cuts) {
  const int64_t position = positionOf(tensor, axis);
  for (const AxisCut& cut : cuts)
    split(&tensor, position, cut.factor, cut.is_inner_factor ? SplitSide::Inner : SplitSide::Outer);
  parallelize(&tensor, position, ParallelType::DIDx);
}

// Whether both ranks can do the op as its tensors are marked.
bool isLocal(const Expr& op) {
  for (const int64_t rank : {0, 1}) {
    Fusion target;
    LocalTensors tensors(target, rank, PartExtents::Computed);
    try {
      requireLocal(op, tensors, WholeReads::Refused);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::HostProgram) << error.message();
      return false;
    }
  }
  return true;
}

// Deals axis `axis` of the result of the op out, and all that goes along with it. False where a reshape has no chunks
// for it.
bool dealAlong(const Expr& op, int64_t axis) {
  const PartAxes axes(op);
  TensorView& result = *asTensor(op.output(0));
  Fusion& fusion = result.fusion();
  const std::vector<AxisCut> halves = {{.factor = fusion.constant(2), .is_inner_factor = false}};
  Scalar* chunk = partsOfCuts(result, axis, halves, 2)->chunk;
  for (const Val* val : op.inputs()) {
    if (TensorView* operand = asTensor(const_cast<Val*>(val))) set_device_mesh(operand, kMesh);
  }
  set_device_mesh(&result, kMesh);
  deal(result, axis, halves);
  for (const PartAxisPair& pair : axes.along(axis)) {
    auto& operand = const_cast<TensorView&>(*pair.operand);
    std::vector<AxisCut> cuts = halves;
    if (!pair.isSameIndex()) {
      const auto parts = partsOfElements(operand, pair.operand_axis, *pair.operand_elements,
                                         *fusion.mul(chunk, pair.result_elements), 2);
      if (!parts) return false;
      cuts = parts->cuts;
    }
    deal(operand, pair.operand_axis, cuts);
  }
  return true;
}

TEST(PartAxes, AreWhereLocalProgramsDoAnOpPartByPart) {
  std::mt19937_64 random(192);
  std::map<std::pair<std::string, bool>, int64_t> seen;
  for (int64_t i = 0; i < test::caseCount(1'000); ++i) {
    const test::RandomProgram model(random);
    std::vector<std::string> names;
    for (size_t k = 0; k < model.tensors().size(); ++k) names.push_back(fmt::format("t{}", k));
    const std::string text = model.text(names);
    const auto program = fusionFrom(text);
    for (size_t k = 0; k < program->allExprs().size(); ++k) {
      for (int64_t axis = 0; axis < std::ssize(shapeOf(*asTensor(program->allExprs()[k]->output(0)))); ++axis) {
        const auto copy = cloneFusion(*program);
        const Expr& op = *copy->allExprs()[k];
        if (shapeOf(*asTensor(op.output(0)))[static_cast<size_t>(axis)]->isBroadcast()) continue;
        const bool is_expected = PartAxes(op).isLocalAlong(axis);
        if (!dealAlong(op, axis)) continue;
        EXPECT_EQ(isLocal(op), is_expected) << callName(op) << " along " << axis << " of\n" << printFusion(*copy);
        ++seen[{std::string(callName(op)), is_expected}];
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  for (const char* op : {"add", "sum", "permute", "flip", "slice", "pad", "cat", "reshape", "matmul", "linear",
                         "take_along_axis", "select", "broadcast"})
    EXPECT_GT((seen[{op, true}]), 0) << op;
  for (const char* op : {"flip", "slice", "pad", "cat", "reshape"}) EXPECT_GT((seen[{op, false}]), 0) << op;
}

// An expanded axis has one element, which no index tells: both sides show the same part of it, or it has none.
TEST(PartAxes, OfExpandedAxesAreWhatLocalProgramsDo) {
  struct Case {
    const char* op;
    int64_t axis;
    bool is_local;
  };
  const Case cases[] = {
      {"neg(e)", 0, true},
      {"add(e, z)", 0, true},
      {"slice(e, starts=[0, 0], stops=[4, 6])", 0, false},
      {"slice(e, starts=[2, 0], stops=[8, 6])", 0, false},
      {"slice(e, starts=[0, 0], stops=[8, 4])", 0, true},
      {"reshape(e, shape=[48])", 0, true},
      {"reshape(e, shape=[2, 4, 6])", 0, true},
      {"reshape(e, shape=[2, 4, 6])", 1, false},
      {"reshape(e, shape=[2, 24])", 0, true},
      {"pad(e, widths=[0, 2, 0, 0])", 0, false},
      {"sum(e, axes=[1])", 0, true},
  };
  for (const Case& each : cases) {
    const auto program = fusionFrom(fmt::format(
        "fusion f(x: f32[1, 6], z: f32[8, 6]) -> y {{\n  e = expand(x, shape=[8, 6])\n  y = {}\n}}\n", each.op));
    const Expr& op = *program->allExprs().back();
    EXPECT_EQ(PartAxes(op).isLocalAlong(each.axis), each.is_local) << each.op;
    if (!dealAlong(op, each.axis)) continue;
    EXPECT_EQ(isLocal(op), each.is_local) << each.op << "\n" << printFusion(*program);
  }
}

}  // namespace
}  // namespace tokamak
