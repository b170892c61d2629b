// Shards of tensors: their meaning, their refusals, and that the parts of all ranks make up the tensor.
#include "analysis/shards.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/device_mesh.h"
#include "error_of.h"
#include "ir/text/fusion_printer.h"
#include "program_of.h"
#include "schedule/rfactor.h"
#include "schedule/transforms.h"
#include "unit/symbolic/random_scalars.h"

namespace tokamak {
namespace {

using testing::ElementsAre;

// "x: axis 0, chunks of ( ceilDiv(n, 4) ) over dimension 1"
std::vector<std::string> textsOf(const TensorView& tensor) {
  std::vector<std::string> texts;
  for (const Shard& shard : shardsOf(tensor)) {
    const auto axis = std::ranges::find(tensor.logical(), shard.logical) - tensor.logical().begin();
    texts.push_back(fmt::format("{}: axis {}, {} of {} over dimension {} of {}", parallelTypeName(shard.type), axis,
                                shard.form == ShardForm::Index ? "an index" : "chunks", toString(*shard.chunk),
                                shard.dimension, shard.devices));
  }
  return texts;
}

// The shards of T0 in a fusion with one input of this type.
std::vector<std::string> shardsIn(std::string_view type, std::string_view schedule) {
  const auto fusion =
      fusionFrom(fmt::format("fusion f(T0: {}) -> T1 {{ T1 = set(T0) }} schedule {{ {} }}", type, schedule));
  return textsOf(*asTensor(fusion->inputs()[0]));
}

// What is said of a mark of a tensor with a mesh, by the command that makes it, or else by who asks for its shards.
std::string refusalIn(std::string_view text) {
  const Error error = errorOf([&] {
    const auto fusion = fusionFrom(text);
    for (const TensorView* tensor : fusion->allTensors()) shardsOf(*tensor);
  });
  constexpr std::string_view kCommand = "parallelize: ";
  const bool is_of_command = error.message().starts_with(kCommand);
  EXPECT_EQ(error.code(), is_of_command ? ErrorCode::Schedule : ErrorCode::HostProgram);
  return error.message().substr(is_of_command ? kCommand.size() : 0);
}

std::string refusal(std::string_view type, std::string_view schedule) {
  return refusalIn(fmt::format("fusion f(T0: {}) -> T1 {{ T1 = set(T0) }} schedule {{ {} }}", type, schedule));
}

TEST(Shards, AnAxisItselfHasAnIndexForEachDevice) {
  EXPECT_THAT(shardsIn("f32[8, 2, n] mesh(5, 7)", "parallelize(T0, axis=1, type=DIDx)"),
              ElementsAre("DIDx: axis 1, an index of 1 over dimension 0 of 2"));
}

TEST(Shards, TheOuterPartOfASplitHasAChunkForEachDevice) {
  EXPECT_THAT(shardsIn("f32[n] mesh(0, 1, 2, 3)",
                       "split(T0, axis=0, factor=4, inner_split=false) parallelize(T0, axis=0, type=DIDx)"),
              ElementsAre("DIDx: axis 0, chunks of ( ceilDiv(n, 4) ) over dimension 0 of 4"));
  EXPECT_THAT(shardsIn("f32[9] mesh(0, 1)", "split(T0, axis=0, factor=6) parallelize(T0, axis=0, type=DIDx)"),
              ElementsAre("DIDx: axis 0, chunks of 6 over dimension 0 of 2"));
}

TEST(Shards, ThePartOfAPartHasTheChunksOfBoth) {
  EXPECT_THAT(shardsIn("f32[10] mesh(0, 1)",
                       "split(T0, axis=0, factor=4, inner_split=false) split(T0, axis=0, factor=2, inner_split=false) "
                       "parallelize(T0, axis=0, type=DIDx)"),
              ElementsAre("DIDx: axis 0, chunks of 6 over dimension 0 of 2"));
}

TEST(Shards, MarksMeanDimensionsFromTheLastOne) {
  EXPECT_THAT(shardsIn("f32[2, 3, 4] mesh(((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)))",
                       "parallelize(T0, axis=2, type=DIDx) parallelize(T0, axis=1, type=DIDy)"),
              ElementsAre("DIDy: axis 1, an index of 1 over dimension 1 of 3",
                          "DIDx: axis 2, an index of 1 over dimension 2 of 4"));
}

TEST(Shards, AMeshAloneIsAMarkOfAReplicatedTensor) { EXPECT_THAT(shardsIn("f32[n] mesh(0, 1)", ""), ElementsAre()); }

TEST(Shards, OfAnExpandedAxisAreOfWhatItShows) {
  EXPECT_THAT(shardsIn("f32[1 ex 9] mesh(0, 1)",
                       "split(T0, axis=0, factor=2, inner_split=false) parallelize(T0, axis=0, type=DIDx)"),
              ElementsAre("DIDx: axis 0, chunks of 5 over dimension 0 of 2"));
}

TEST(Shards, RefusalsNameTensorAndAxis) {
  const std::string outer = "split(T0, axis=0, factor=2, inner_split=false) ";
  EXPECT_EQ(refusal("f32[4]", "parallelize(T0, axis=0, type=DIDx)"),
            "DIDx on axis 0 (iDIDx{4}) of T0: the tensor has no mesh; give it one, as in mesh(0, 1), or leave the mark "
            "out");
  EXPECT_EQ(refusal("f32[2] mesh(0, 1)", "parallelize(T0, axis=0, type=DIDy)"),
            "DIDy on axis 0 (iDIDy{2}) of T0: the mesh has 1 dimension(s); DIDx is the last one, DIDy the one before, "
            "DIDz the one before that");
  EXPECT_EQ(refusal("f32[n] mesh((0, 1), (2, 3))",
                    outer + "split(T0, axis=1, factor=2, inner_split=false) parallelize(T0, axis=0, type=DIDx) "
                            "parallelize(T0, axis=1, type=DIDy)"),
            "DIDx on axis 0 (iDIDx{2}) of T0 and DIDy on axis 1 (iDIDy{2}) of T0: both are parts of one axis; a device "
            "has one run of indices, so mark another axis");
  EXPECT_EQ(
      refusal("f32[n] mesh(0, 1)", outer + "parallelize(T0, axis=0, type=DIDx) parallelize(T0, axis=1, type=Stream)"),
      "DIDx on axis 0 (iDIDx{2}) of T0 and Stream on axis 1 (iStream{( ceilDiv(n, 2) )}) of T0: both are parts "
      "of one axis; a device has one run of indices, so mark another axis");
  EXPECT_EQ(refusal("f32[n] mesh(0, 1)", "split(T0, axis=0, factor=2) parallelize(T0, axis=1, type=DIDx)"),
            "DIDx on axis 1 (iDIDx{2}) of T0: it is the inner part of a split, whose indices are not consecutive in "
            "the tensor; mark the outer part");
  EXPECT_EQ(refusal("f32[2, 2] mesh(0, 1, 2, 3)", "merge(T0, axis=0) parallelize(T0, axis=0, type=DIDx)"),
            "DIDx on axis 0 (iDIDx{4}) of T0: it is a merged axis, of which a rank would have no run of indices; mark "
            "one of the axes before the merge");
  EXPECT_EQ(refusal("f32[2, n] mesh(0, 1)", "merge(T0, axis=0) " + outer + "parallelize(T0, axis=0, type=DIDx)"),
            "DIDx on axis 0 (iDIDx{2}) of T0: parts of a merged axis are not a view of the buffer; split and "
            "mark one of the axes before the merge");
  EXPECT_EQ(refusal("f32[2, 2] mesh(0, 1)", "swizzle(T0, axis_x=0, axis_y=1) parallelize(T0, axis=1, type=DIDx)"),
            "DIDx on axis 1 (iDIDx{2}) of T0: parts of a swizzled axis are not a view of the buffer; mark an axis that "
            "is not swizzled");
  EXPECT_EQ(
      refusal("f32[n] mesh(0, 1)", "parallelize(T0, axis=0, type=DIDx)"),
      "DIDx on axis 0 (iDIDx{n}) of T0: it has n parts, and dimension 0 of the mesh has 2 devices; split the axis "
      "by 2 with inner_split=false, and mark the outer part");
  EXPECT_EQ(refusal("f32[n] mesh(0, 0)", ""), "shards: T0: its mesh names rank 0 twice; each stands in one place");
  EXPECT_EQ(refusal("f32[n] mesh(0, -1)", ""), "shards: T0: its mesh names rank -1; ranks are 0 or more");
}

TEST(Shards, OneMarkOnTwoAxesIsRefused) {
  const auto fusion = fusionFrom("fusion f(T0: f32[2, 2] mesh(0, 1)) -> T1 { T1 = set(T0) }");
  TensorView& x = *asTensor(fusion->inputs()[0]);
  for (IterDomain* axis : x.loop()) axis->parallelize(ParallelType::DIDx);
  EXPECT_EQ(errorOf([&] { shardsOf(x); }).message(),
            "DIDx on axis 0 (iDIDx{2}) of T0 and on axis 1 (iDIDx{2}) of T0: one dimension of the mesh has parts of "
            "one axis");
}

TEST(Shards, AMeshThatIsNotFilledIsRefused) {
  Fusion fusion;
  TensorView* x = fusion.input("x", DataType::F32, {"n"});
  x->setMesh({.shape = {2, 2}, .devices = {0, 1, 2}});
  EXPECT_EQ(errorOf([&] { shardsOf(*x); }).message(),
            "shards: x: its mesh of the shape [2, 2] has 3 ranks; it needs one for each place");
  EXPECT_NE(printFusion(fusion).find("mesh(0, 1, 2)"), std::string::npos) << "it is printed all the same";
}

TEST(Shards, OfReductionsAreRefused) {
  EXPECT_EQ(refusalIn("fusion f(T0: f32[2, 8]) -> T1 { T1: f32[r{2}, 8] mesh(0, 1) = sum(T0, axes=[0]) } "
                      "schedule { parallelize(T1, axis=0, type=DIDx) }"),
            "DIDx on axis 0 (rDIDx{2}) of T1: it is a reduction axis, of which the tensor has no parts; mark the axis "
            "of the operand");
  EXPECT_EQ(refusalIn("fusion f(T0: f32[2, 8]) -> T1 { T1: f32[2, r{8}] mesh(0, 1) = sum(T0, axes=[1]) } schedule { "
                      "split(T1, axis=1, factor=4) T2 = rfactor(T1, axes=[1]) parallelize(T1, axis=0, type=DIDx) }"),
            "DIDx on axis 0 (iDIDx{2}) of T1: it belongs to a reduction that rfactor has cut, whose parts one kernel "
            "computes; leave rfactor out, and mark the reduction");
}

TEST(Shards, MeshesBelongToAJob) {
  const auto fusion = fusionFrom("fusion f(T0: f32[n] mesh(0, 4)) -> T1 { T1 = set(T0) }");
  const TensorView& x = *asTensor(fusion->inputs()[0]);
  requireMeshWithin("run f", x, 5);
  EXPECT_EQ(errorOf([&] { requireMeshWithin("run f", x, 4); }).message(),
            "run f: T0: its mesh names rank 4, and the job has 4 rank(s): 0 to 3");
}

TEST(DeviceMesh, RanksHaveCoordinatesAndTeams) {
  const DeviceMesh mesh{.shape = {2, 3}, .devices = {7, 1, 5, 4, 0, 9}};
  EXPECT_EQ(coordinatesOf(mesh, 0), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(coordinatesOf(mesh, 2), std::nullopt);
  EXPECT_EQ(coordinatesOf({.shape = {2, 0}, .devices = {0}}, 0), std::nullopt);
  EXPECT_THAT(teamOf(mesh, 0, 1), ElementsAre(4, 0, 9));
  EXPECT_THAT(teamOf(mesh, 0, 0), ElementsAre(1, 0));
  EXPECT_EQ(deviceTypeOf(mesh, 0), ParallelType::DIDy);
  EXPECT_EQ(deviceTypeOf({.shape = {1, 1, 1, 1}, .devices = {0}}, 0), std::nullopt);
}

TEST(Shards, AShortAndAnEmptyLastChunk) {
  const auto sizes = [](int64_t n, int64_t chunk, int64_t devices) {
    std::vector<int64_t> found;
    for (int64_t r = 0; r < devices; ++r) found.push_back(shardRange(n, chunk, r).extent);
    return found;
  };
  EXPECT_THAT(sizes(10, 3, 4), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(sizes(5, 2, 4), ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(sizes(0, 0, 2), ElementsAre(0, 0));
  EXPECT_EQ(shardRange(5, 2, 3).start, 5);
}

// --- a property over random tensors, splits and meshes ---

// A tensor whose axes are split at random, some of them over a random mesh.
class RandomShards {
 public:
  explicit RandomShards(std::mt19937_64& random) : random_(random) {
    const size_t rank = 1 + below(3);
    makeMesh(std::min(rank, 1 + below(3)));
    std::vector<size_t> axes(rank);
    std::iota(axes.begin(), axes.end(), size_t{0});
    std::ranges::shuffle(axes, random_);
    sizes_.resize(rank);
    Axes logical(rank);
    std::map<size_t, std::vector<int64_t>> factors;  // axis -> factors of splits, negative: of the outer part
    for (size_t i = 0; i < rank; ++i) {
      const bool is_sharded = i < mesh_.shape.size() && below(5) != 0;
      if (is_sharded) types_[axes[i]] = *deviceTypeOf(mesh_, i);
      logical[axes[i]] = makeAxis(axes[i], is_sharded ? mesh_.shape[i] : 0, factors[axes[i]]);
    }
    tensor_ = fusion.tensor(DataType::F32, logical);
    tensor_->setMesh(mesh_);
    for (size_t i = 0; i < rank; ++i) splitAxis(*logical[i], factors[i], i);
    std::vector<int64_t> order(static_cast<size_t>(tensor_->axisCount()));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::shuffle(order, random_);
    reorder(tensor_, order);
  }

  Fusion fusion;
  TensorView& tensor() const { return *tensor_; }
  const DeviceMesh& mesh() const { return mesh_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  const ScalarBindings& bindings() const { return bindings_; }

 private:
  size_t below(size_t count) { return random_() % count; }

  void makeMesh(size_t dimensions) {
    int64_t count = 1;
    for (size_t i = 0; i < dimensions; ++i) {
      mesh_.shape.push_back(static_cast<int64_t>(1 + below(4)));
      count *= mesh_.shape.back();
    }
    mesh_.devices.resize(static_cast<size_t>(count) + below(3));
    std::iota(mesh_.devices.begin(), mesh_.devices.end(), int64_t{0});
    std::ranges::shuffle(mesh_.devices, random_);
    mesh_.devices.resize(static_cast<size_t>(count));
  }

  IterDomain* makeAxis(size_t number, int64_t devices, std::vector<int64_t>& factors) {
    auto n = static_cast<int64_t>(below(12));
    bool is_constant = false;
    switch (devices == 0 ? 0 : 1 + below(4)) {
      case 1: n = devices, is_constant = true; break;  // the axis itself
      case 2: {                                        // split into parts of a size
        const auto size = static_cast<int64_t>(1 + below(4));
        n = size * devices - static_cast<int64_t>(below(static_cast<size_t>(size)));
        factors = {size};
        is_constant = true;
        break;
      }
      case 3: factors = {-devices * static_cast<int64_t>(1 + below(3)), -devices}; break;  // parts of parts
      case 4: factors = {-devices}; break;
      default: break;
    }
    sizes_[number] = n;
    Scalar* extent = is_constant || below(2) == 0 ? fusion.constant(n) : fusion.symbol("n");
    if (extent->isSymbol()) bindings_[extent] = ScalarValue{n};
    return fusion.axis({.extent = extent});
  }

  void splitAxis(IterDomain& logical, const std::vector<int64_t>& factors, size_t number) {
    IterDomain* axis = &logical;
    const auto positionOf = [&](const IterDomain* of) {
      return std::ranges::find(tensor_->loop(), of) - tensor_->loop().begin();
    };
    for (const int64_t factor : factors) {
      const int64_t position = positionOf(axis);
      split(tensor_, position, std::abs(factor), factor < 0 ? SplitSide::Outer : SplitSide::Inner);
      axis = tensor_->loop()[static_cast<size_t>(position)];
    }
    if (types_.contains(number)) axis->parallelize(types_[number]);
    // What is inside of a rank's part, or an axis that all have, may be split on.
    const IterDomain* inside = factors.empty() && !types_.contains(number) ? axis
                               : axis->definition() != nullptr             ? axis->definition()->out[1]
                                                                           : nullptr;
    if (inside != nullptr && below(2) == 0)
      split(tensor_, positionOf(inside), static_cast<int64_t>(1 + below(4)),
            below(2) == 0 ? SplitSide::Inner : SplitSide::Outer);
  }

  std::mt19937_64& random_;
  TensorView* tensor_ = nullptr;
  DeviceMesh mesh_;
  std::vector<int64_t> sizes_;
  ScalarBindings bindings_;
  std::map<size_t, ParallelType> types_;
};

// The model: each iteration of the loop nest has an element, or none where an index passes the end of what was split;
// it is done by the ranks whose coordinate in the dimension of each marked loop is that loop's index.
class LoopNest {
 public:
  explicit LoopNest(const RandomShards& shards) : shards_(shards) {}

  // Element -> the coordinates of the marked loops, by mark.
  using Owner = std::map<ParallelType, int64_t>;
  std::map<std::vector<int64_t>, Owner> owners() {
    run(0);
    return owners_;
  }

 private:
  int64_t sizeOf(const IterDomain& axis) const { return evaluateInt(*axis.extent(), shards_.bindings()); }

  void run(size_t depth) {
    const TensorView& tensor = shards_.tensor();
    if (depth == tensor.loop().size()) return visit();
    const IterDomain* axis = tensor.loop()[depth];
    for (int64_t i = 0; i < sizeOf(*axis); ++i) {
      index_[axis] = i;
      run(depth + 1);
    }
  }

  // Nothing where it passes the end.
  std::optional<int64_t> indexOf(const IterDomain& axis) const {
    if (const auto found = index_.find(&axis); found != index_.end()) return found->second;
    const auto outer = indexOf(*axis.use()->out[0]);
    const auto inner = indexOf(*axis.use()->out[1]);
    if (!outer || !inner) return std::nullopt;
    const int64_t index = *outer * sizeOf(*axis.use()->out[1]) + *inner;
    return index < sizeOf(axis) ? std::optional(index) : std::nullopt;
  }

  void visit() {
    std::vector<int64_t> element;
    for (const IterDomain* axis : shards_.tensor().logical()) {
      const auto index = indexOf(*axis);
      if (!index) return;
      element.push_back(*index);
    }
    Owner owner;
    for (const IterDomain* axis : shards_.tensor().loop()) {
      if (isDeviceType(axis->parallelType())) owner[axis->parallelType()] = index_[axis];
    }
    EXPECT_TRUE(owners_.emplace(element, owner).second) << "an element is computed twice";
  }

  const RandomShards& shards_;
  std::map<const IterDomain*, int64_t> index_;
  std::map<std::vector<int64_t>, Owner> owners_;
};

void expectPartsOf(const RandomShards& shards, int64_t rank, const std::vector<Shard>& found,
                   const std::map<std::vector<int64_t>, LoopNest::Owner>& owners) {
  const std::vector<int64_t> coordinates = *coordinatesOf(shards.mesh(), rank);
  std::vector<IndexRange> ranges;
  for (const int64_t n : shards.sizes()) ranges.push_back({.start = 0, .extent = n});
  for (const Shard& shard : found) {
    const auto& logical = shards.tensor().logical();
    const auto axis = static_cast<size_t>(std::ranges::find(logical, shard.logical) - logical.begin());
    const int64_t r = coordinates[shard.dimension];
    const ScalarRange range = shardRange(shard, r);
    ranges[axis] = shardRange(shards.sizes()[axis], evaluateInt(*shard.chunk, shards.bindings()), r);
    ASSERT_EQ(evaluateInt(*range.start, shards.bindings()), ranges[axis].start) << toString(*range.start);
    ASSERT_EQ(evaluateInt(*range.extent, shards.bindings()), ranges[axis].extent) << toString(*range.extent);
  }
  int64_t own = 0;
  for (const auto& [element, owner] : owners) {
    const bool is_own = std::ranges::all_of(
        owner, [&](const auto& mark) { return coordinates[*meshDimension(shards.mesh(), mark.first)] == mark.second; });
    own += is_own ? 1 : 0;
    bool is_in_part = true;
    for (size_t i = 0; i < element.size(); ++i)
      is_in_part = is_in_part && element[i] >= ranges[i].start && element[i] < ranges[i].start + ranges[i].extent;
    ASSERT_EQ(is_in_part, is_own) << "rank " << rank;
  }
  const int64_t elements = std::accumulate(ranges.begin(), ranges.end(), int64_t{1},
                                           [](int64_t count, const IndexRange& r) { return count * r.extent; });
  ASSERT_EQ(elements, own) << "rank " << rank;
}

TEST(ShardsProperty, ARankHasTheElementsThatItsIterationsCompute) {
  std::mt19937_64 random(31);
  int64_t sharded = 0;
  for (int64_t i = 0; i < test::caseCount(3'000) && !testing::Test::HasFailure(); ++i) {
    const RandomShards shards(random);
    const std::vector<Shard> found = shardsOf(shards.tensor());
    sharded += found.empty() ? 0 : 1;
    const auto owners = LoopNest(shards).owners();
    const int64_t elements =
        std::accumulate(shards.sizes().begin(), shards.sizes().end(), int64_t{1}, std::multiplies());
    ASSERT_EQ(static_cast<int64_t>(owners.size()), elements);
    for (const int64_t rank : shards.mesh().devices) expectPartsOf(shards, rank, found, owners);
  }
  EXPECT_GT(sharded, test::caseCount(3'000) / 2);
}

}  // namespace
}  // namespace tokamak
