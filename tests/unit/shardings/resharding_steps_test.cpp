// Resharding steps: which communications a change of meshes, shards and partials takes, in which order.
#include "analysis/resharding_steps.h"

#include <gtest/gtest.h>

#include "analysis/shards.h"
#include "error_of.h"
#include "schedule/shard.h"
#include "schedule/shardings_aside.h"

namespace tokamak {
namespace {

using Form = MeshUse::Form;

DeviceMesh line(std::vector<int64_t> ranks) {
  const auto count = static_cast<int64_t>(ranks.size());
  return {.shape = {count}, .devices = std::move(ranks)};
}
const DeviceMesh kLine = line({0, 1, 2, 3});
const DeviceMesh kSquare = {.shape = {2, 2}, .devices = {0, 1, 2, 3}};

// An axis that is dealt out in chunks of this many indices.
MeshUse chunk(Fusion& fusion, int64_t axis, int64_t indices) {
  return {.form = Form::Chunk, .parts = {.axis = axis, .chunk = fusion.constant(indices)}};
}
const MeshUse kWhole = {};
const MeshUse kTerms = {.form = Form::Partial};

// "Slice Allgather(1)": the kinds, with the dimension where it is not the first one.
std::string stepsOf(const Sharding& from, const Sharding& to) {
  std::string text;
  for (const ReshardingStep& step : reshardingSteps("test", from, to)) {
    text += (text.empty() ? "" : " ") + std::string(enumName(step.kind));
    if (step.dimension != 0) text += "(" + std::to_string(step.dimension) + ")";
  }
  return text;
}

TEST(ReshardingSteps, OnOneMeshTakeWhatMakesLessFirst) {
  Fusion f;
  const auto square = [](MeshUse y, MeshUse x) { return Sharding{.mesh = kSquare, .uses = {y, x}}; };
  EXPECT_EQ(stepsOf(square(kWhole, kWhole), square(kWhole, kWhole)), "");
  EXPECT_EQ(stepsOf(square(chunk(f, 0, 4), kWhole), square(kWhole, chunk(f, 1, 2))), "Slice(1) Allgather");
  EXPECT_EQ(stepsOf(square(kTerms, kWhole), square(kWhole, chunk(f, 1, 2))), "Slice(1) Allreduce");
  EXPECT_EQ(stepsOf(square(kTerms, chunk(f, 0, 4)), square(chunk(f, 1, 2), kWhole)), "ReduceScatter Allgather(1)");
  EXPECT_EQ(stepsOf(square(chunk(f, 0, 4), kWhole), square(chunk(f, 1, 2), kWhole)), "AllToAll");
  // Terms are not packed; the blocks are as long as before.
  EXPECT_EQ(stepsOf(square(kTerms, chunk(f, 0, 4)), square(kWhole, chunk(f, 1, 2))), "Allreduce AllToAll(1)");
  EXPECT_EQ(stepsOf(square(kTerms, chunk(f, 1, 2)), square(chunk(f, 1, 2), chunk(f, 0, 4))),
            "Allreduce AllToAll(1) Slice");
  EXPECT_EQ(stepsOf(square(kTerms, chunk(f, 1, 2)), square(chunk(f, 1, 2), kWhole)), "Allgather(1) ReduceScatter");
  // The sum over fewer ranks, whose parts go on.
  EXPECT_EQ(stepsOf(square(kTerms, kTerms), square(chunk(f, 0, 4), kWhole)), "ReduceScatter Allreduce(1)");
}

TEST(ReshardingSteps, OnOneMeshFreeAnAxisBeforeAnotherDimensionHasPartsOfIt) {
  Fusion f;
  const auto square = [](MeshUse y, MeshUse x) { return Sharding{.mesh = kSquare, .uses = {y, x}}; };
  EXPECT_EQ(stepsOf(square(chunk(f, 0, 4), kWhole), square(kWhole, chunk(f, 0, 4))), "Allgather Slice(1)");
  // Each has what the other one is to have.
  EXPECT_EQ(stepsOf(square(chunk(f, 0, 4), chunk(f, 1, 2)), square(chunk(f, 1, 2), chunk(f, 0, 4))),
            "Allgather AllToAll(1) Slice");
  // Other chunks of the same axis.
  EXPECT_EQ(stepsOf(square(chunk(f, 0, 5), kWhole), square(chunk(f, 0, 6), kWhole)), "Allgather Slice");
}

TEST(ReshardingSteps, ToOtherRanksSendChunksWhereBothHaveAsMany) {
  Fusion f;
  const Sharding rows = {.mesh = kLine, .uses = {chunk(f, 0, 2)}};
  const DeviceMesh other = line({4, 5, 6, 3});
  EXPECT_EQ(stepsOf(rows, {.mesh = other, .uses = {chunk(f, 0, 2)}}), "SendRecv");
  EXPECT_EQ(stepsOf(rows, {.mesh = other, .uses = {chunk(f, 1, 2)}}), "AllToAll SendRecv");
  EXPECT_EQ(stepsOf(rows, wholeOn(other)), "Gather");
  EXPECT_EQ(stepsOf(rows, wholeOn(line({7}))), "Gather");
  EXPECT_EQ(stepsOf(rows, {.mesh = line({4, 5}), .uses = {chunk(f, 0, 4)}}), "Gather Scatter");
  EXPECT_EQ(stepsOf(rows, {.mesh = line({1, 2}), .uses = {chunk(f, 0, 4)}}), "Gather Scatter");
  const Sharding terms = {.mesh = kLine, .uses = {kTerms}};
  EXPECT_EQ(stepsOf(terms, {.mesh = other, .uses = {chunk(f, 0, 2)}}), "ReduceScatter SendRecv");
  EXPECT_EQ(stepsOf(terms, wholeOn(other)), "Reduce Broadcast");
  EXPECT_EQ(stepsOf(terms, wholeOn(line({2}))), "Reduce");
}

TEST(ReshardingSteps, ToOtherRanksSendWhatIsWholeFromOneOfThem) {
  Fusion f;
  EXPECT_EQ(stepsOf(wholeOn(kLine), wholeOn(line({3, 4}))), "Broadcast");
  EXPECT_EQ(stepsOf(wholeOn(kLine), wholeOn(line({3, 1}))), "Slice");
  EXPECT_EQ(stepsOf(wholeOn(kLine), {.mesh = line({4, 5}), .uses = {chunk(f, 0, 4)}}), "Scatter");
  EXPECT_EQ(stepsOf(wholeOn(line({7})), {.mesh = kSquare, .uses = {chunk(f, 0, 4), chunk(f, 1, 2)}}),
            "Broadcast Slice Slice(1)");
  EXPECT_EQ(stepsOf({.mesh = kSquare, .uses = {chunk(f, 0, 4), chunk(f, 1, 2)}},
                    {.mesh = line({4, 5}), .uses = {chunk(f, 0, 4)}}),
            "Allgather Allgather(1) Scatter");
}

TEST(ReshardingSteps, OfMeshesOfTheSameRanksNeedNoRankMore) {
  Fusion f;
  const Sharding rows = {.mesh = kLine, .uses = {chunk(f, 0, 2)}};
  EXPECT_EQ(stepsOf(rows, wholeOn(line({3, 2, 1, 0}))), "Allgather Slice");
  EXPECT_EQ(stepsOf(rows, {.mesh = kSquare, .uses = {chunk(f, 0, 4), chunk(f, 1, 2)}}), "Allgather Slice");
  EXPECT_EQ(stepsOf({.mesh = kLine, .uses = {kTerms}}, wholeOn(kSquare)), "Allreduce Slice");
  EXPECT_EQ(stepsOf(rows, {.mesh = line({3, 2, 1, 0}), .uses = {chunk(f, 1, 2)}}), "AllToAll SendRecv");
}

TEST(ReshardingSteps, RefuseTermsThatNobodyHas) {
  const Error error =
      errorOf([] { reshardingSteps("test", wholeOn(kLine), Sharding{.mesh = kLine, .uses = {kTerms}}); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram);
  EXPECT_EQ(
      error.message(),
      "test: the result is partial over dimension 0 of its mesh, and the operand is not partial alike; terms come "
      "of reductions alone: leave `partial` out");
}

// --- shardings of tensors ---

TEST(Shardings, ComeBackFromTheTensorThatHasThem) {
  Fusion f;
  Scalar* n = f.symbol("n");
  const auto tensor = [&] {
    return f.tensor(DataType::F32, {f.axis({.extent = n}), f.axis({.extent = f.constant(2)})});
  };
  Sharding sharding = {.mesh = kSquare, .uses = {chunk(f, 1, 1), kTerms}};
  TensorView* placed = tensor();
  shard(*placed, sharding);
  EXPECT_TRUE(shardingOf(*placed) == sharding);
  TensorView* chunks = tensor();
  sharding.uses = {{.form = Form::Chunk, .parts = evenParts(*chunks, 0, 2)}, kWhole};
  shard(*chunks, sharding);
  TensorView* copy = tensor();
  shard(*copy, shardingOf(*chunks));
  EXPECT_TRUE(shardingOf(*copy) == shardingOf(*chunks));
  EXPECT_EQ(shardingOf(*chunks).dimensionOf(0), 0);
  EXPECT_EQ(shardingOf(*chunks).dimensionOf(1), -1);
  EXPECT_FALSE(shardingOf(*chunks).isWhole());
}

TEST(Shardings, AreAsideAsLongAsTheirGuardLives) {
  Fusion f;
  TensorView* tensor = f.tensor(DataType::F32, {f.axis({.extent = f.constant(8)}), f.axis({.extent = f.constant(2)})});
  shard(*tensor, {.mesh = kSquare, .uses = {{.form = Form::Chunk, .parts = evenParts(*tensor, 0, 2)}, chunk(f, 1, 1)}});
  const Sharding before = shardingOf(*tensor);
  {
    const ShardingsAside aside(f);
    EXPECT_FALSE(hasShardings(f));
    EXPECT_EQ(tensor->loop(), tensor->logical());
  }
  EXPECT_TRUE(hasShardings(f));
  EXPECT_TRUE(shardingOf(*tensor) == before);
}

TEST(Shardings, TellOfTermsOverADimensionThatTheMeshLacks) {
  Fusion f;
  TensorView* tensor = f.tensor(DataType::F32, {f.axis({.extent = f.constant(8)})});
  tensor->setMesh(kLine);
  tensor->setPartials({{.kind = ReductionKind::Sum, .type = ParallelType::DIDy}});
  const Error error = errorOf([&] { shardingOf(*tensor); });
  EXPECT_EQ(error.code(), ErrorCode::HostProgram);
  EXPECT_NE(error.message().find("it is partial(sum, DIDy), and its mesh has 1 dimension(s)"), std::string::npos)
      << error.message();
}

}  // namespace
}  // namespace tokamak
