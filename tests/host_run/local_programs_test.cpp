// Programs of ranks without communications: for every op form and every axis that its inputs or outputs have, the ranks
// together compute what the program on one device does, or all of them refuse it. The axis is sharded wherever it goes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/domain_graph.h"
#include "analysis/shards.h"
#include "host/ir/verifier.h"
#include "host/local/local_program.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/streams/stream_forms.h"
#include "ir/ops/host/post_on_stream.h"
#include "schedule/transforms.h"

namespace tokamak {
namespace {

const std::map<char, int64_t> kEvenSizes = {{'a', 4}, {'b', 6}, {'c', 8}, {'d', 4}, {'k', 6}, {'m', 8}, {'n', 10}};
const std::map<char, int64_t> kOddSizes = {{'a', 3}, {'b', 5}, {'c', 7}, {'d', 1}, {'k', 5}, {'m', 2}, {'n', 9}};
const std::map<char, int64_t> kNoElements = {{'a', 2}, {'b', 0}, {'c', 3}, {'d', 2}, {'k', 2}, {'m', 0}, {'n', 3}};

struct ShardedWay {
  std::string name;
  std::map<char, int64_t> sizes;
  Extents extents = Extents::Numbers;
  Grouping grouping = Grouping::Single;
  std::vector<int64_t> mesh = {3};
  size_t stride = 1;  ///< one axis of so many
};

std::ostream& operator<<(std::ostream& out, const ShardedWay& way) { return out << way.name; }

const ShardedWay kShardedWays[] = {
    {.name = "numbers", .sizes = kOddSizes},
    {.name = "numbers_of_two", .sizes = kOddSizes, .mesh = {2}},
    {.name = "of_no_elements", .sizes = kNoElements, .mesh = {2}},
    {.name = "symbols", .sizes = kEvenSizes, .extents = Extents::Symbols, .mesh = {2}},
    {.name = "segments", .sizes = kOddSizes, .grouping = Grouping::Segments},
    {.name = "segments_of_symbols",
     .sizes = kEvenSizes,
     .extents = Extents::Symbols,
     .grouping = Grouping::Segments,
     .mesh = {2}},
    {.name = "kernels",
     .sizes = kEvenSizes,
     .extents = Extents::Symbols,
     .grouping = Grouping::Fused,
     .mesh = {2},
     .stride = 7},
    {.name = "two_axes", .sizes = kOddSizes, .mesh = {2, 3}},
    {.name = "two_axes_of_symbols",
     .sizes = kEvenSizes,
     .extents = Extents::Symbols,
     .grouping = Grouping::Segments,
     .mesh = {2, 2}},
};

// Every tensor of the program, those of segments too, once.
void forEachTensor(const HostIrContainer& program, const std::function<void(TensorView&)>& visit) {
  std::set<TensorView*> seen;
  const auto add = [&](TensorView* tensor) {
    if (seen.insert(tensor).second) visit(*tensor);
  };
  for (TensorView* tensor : program.allTensors()) add(tensor);
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* post = expr.as<PostOnStream>();
    if (post == nullptr) return;
    for (TensorView* tensor : post->segment->fusion->allTensors()) add(tensor);
  });
}

// Shards each of the axes, and all that map to it, over a dimension of the mesh. False where a reduction runs over one,
// whose result would be a partial one, or where a tensor has one twice.
bool shard(HostIrContainer& program, const std::vector<const IterDomain*>& axes, const std::vector<int64_t>& shape) {
  const DomainGraph graph(program);
  const int64_t ranks = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
  DeviceMesh mesh{.shape = shape, .devices = std::vector<int64_t>(static_cast<size_t>(ranks))};
  std::iota(mesh.devices.begin(), mesh.devices.end(), int64_t{0});
  struct Mark {
    TensorView* tensor;
    IterDomain* axis;
    size_t dimension;
  };
  std::vector<Mark> marks;
  bool is_whole = true;
  forEachTensor(program, [&](TensorView& tensor) {
    tensor.setMesh(mesh);
    for (size_t dimension = 0; dimension < axes.size(); ++dimension) {
      const IterDomain& axis = *axes[dimension];
      int64_t found = 0;
      for (IterDomain* own : tensor.logical()) {
        const auto maps = [&](AxisMapping mapping) { return own == &axis || graph.mapsTo(*own, axis, mapping); };
        if (own->isReduction() && maps(AxisMapping::Reduction)) is_whole = false;
        if (own->isReduction() || !maps(AxisMapping::Exact)) continue;
        marks.push_back({&tensor, own, dimension});
        if (++found > 1) is_whole = false;
      }
    }
  });
  const auto isTwice = [&](const Mark& mark) {
    return std::ranges::count(marks, mark.axis, &Mark::axis) > 1;  // the axes map to one another
  };
  if (std::ranges::any_of(marks, isTwice)) return false;
  for (const Mark& mark : marks) {
    const auto position = std::ranges::find(mark.tensor->loop(), mark.axis) - mark.tensor->loop().begin();
    split(mark.tensor, position, shape[mark.dimension], SplitSide::Outer);
    mark.tensor->axis(position)->parallelize(*deviceTypeOf(mesh, mark.dimension));
  }
  return is_whole;
}

// The part of each axis that a rank has.
std::vector<IndexRange> partOf(const TensorView& tensor, std::span<const int64_t> sizes, int64_t rank) {
  std::vector<IndexRange> parts;
  for (const int64_t n : sizes) parts.push_back({.start = 0, .extent = n});
  const Axes shape = shapeOf(tensor);
  for (const Shard& shard : shardsOf(tensor)) {
    const auto axis = static_cast<size_t>(std::ranges::find(shape, shard.logical) - shape.begin());
    const int64_t n = sizes[axis];
    parts[axis] =
        shardRange(n, (n + shard.devices - 1) / shard.devices, (*coordinatesOf(tensor.mesh(), rank))[shard.dimension]);
  }
  return parts;
}

// Copies between the part of a whole tensor and a tensor of its size.
enum class Copy : uint8_t { OutOfWhole, IntoWhole };
void copyPart(const Tensor& whole, const std::vector<IndexRange>& part, const Tensor& own, Copy direction) {
  const int64_t width = sizeOf(whole.dtype());
  auto* const of_whole = static_cast<std::byte*>(whole.hostData());
  auto* const of_own = static_cast<std::byte*>(own.hostData());
  std::vector<int64_t> index(part.size(), 0);
  for (int64_t n = 0; n < own.numel(); ++n) {
    int64_t from = 0;
    int64_t to = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      from += (part[i].start + index[i]) * whole.strides()[i];
      to += index[i] * own.strides()[i];
    }
    std::byte* const in_whole = of_whole + from * width;
    std::byte* const in_own = of_own + to * width;
    if (direction == Copy::OutOfWhole)
      std::memcpy(in_own, in_whole, static_cast<size_t>(width));
    else
      std::memcpy(in_whole, in_own, static_cast<size_t>(width));
    for (size_t i = part.size(); i-- > 0 && ++index[i] == part[i].extent;) index[i] = 0;
  }
}

std::vector<int64_t> extentsOf(const std::vector<IndexRange>& part) {
  std::vector<int64_t> extents;
  for (const IndexRange& range : part) extents.push_back(range.extent);
  return extents;
}

class LocalPrograms : public testing::TestWithParam<ShardedWay> {
 protected:
  LocalPrograms() : bench_({.threads = 2, .poisons_memory = true}) {}

  // Why the ranks refuse the program, or nothing where they ran it; what is wrong becomes a failure.
  std::optional<std::string> run(const Fusion& plain, const HostIrContainer& sharded,
                                 const std::vector<RunValue>& inputs) {
    ScalarBindings bindings;
    for (size_t i = 0; i < inputs.size(); ++i)
      bindShape(*asTensor(plain.inputs()[i]), std::get<Tensor>(inputs[i]).sizes(), bindings);
    std::vector<Tensor> outputs;
    for (const TensorView* output : plain.outputs())
      outputs.push_back(bench_.empty(output->dtype(), sizesOf(*output, bindings)));
    std::optional<std::string> refusal;
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      std::unique_ptr<HostIrContainer> local;
      const Error error = errorOf([&] { local = localProgram(sharded, {.number = rank, .ranks = ranks()}); });
      if (local == nullptr) {
        EXPECT_EQ(error.code(), ErrorCode::HostProgram) << error.message();
        EXPECT_TRUE(rank == 0 || refusal.has_value()) << "rank 0 runs what rank " << rank << " refuses";
        refusal = error.message();
      } else {
        EXPECT_FALSE(refusal.has_value()) << "rank " << rank << " runs what rank 0 refuses: " << *refusal;
        runRank(sharded, std::move(local), rank, inputs, outputs);
      }
    }
    if (!refusal) {
      EXPECT_EQ(differenceFromOracle(plain, oracleInputsOf(inputs), outputs), "");
    }
    return refusal;
  }

  void runRank(const HostIrContainer& sharded, std::unique_ptr<HostIrContainer> local, int64_t rank,
               const std::vector<RunValue>& inputs, std::vector<Tensor>& outputs) {
    try {
      verifyHostProgram(*local);
      finishHostProgram(*local, {.grouping = GetParam().grouping});
      std::vector<RunValue> own;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const auto& whole = std::get<Tensor>(inputs[i]);
        const std::vector<IndexRange> part = partOf(*asTensor(sharded.inputs()[i]), whole.sizes(), rank);
        const std::vector<int64_t> sizes = extentsOf(part);
        Tensor piece = bench_.empty(whole.dtype(), sizes, freshStrides(*asTensor(local->inputs()[i]), sizes));
        copyPart(whole, part, piece, Copy::OutOfWhole);
        own.emplace_back(std::move(piece));
      }
      const bool makes_kernels = GetParam().grouping == Grouping::Fused;
      HostIrEvaluator evaluator(std::move(local), bench_.device,
                                {.segments = makes_kernels ? SegmentMode::Kernels : SegmentMode::OpByOp});
      const std::vector<Tensor> given = evaluator.runWithInput(bound(evaluator.program(), own));
      for (size_t i = 0; i < given.size(); ++i) {
        const std::vector<IndexRange> part = partOf(*sharded.outputs()[i], outputs[i].sizes(), rank);
        ASSERT_EQ(std::vector<int64_t>(given[i].sizes().begin(), given[i].sizes().end()), extentsOf(part));
        static_cast<void>(bytesOf(given[i]));  // waits for it
        copyPart(outputs[i], part, given[i], Copy::IntoWhole);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << "rank " << rank << ": " << errorCodeName(error.code()) << ": " << error.message();
    }
  }

  static int64_t ranks() {
    const std::vector<int64_t>& shape = GetParam().mesh;
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
  }

  RunBench bench_;
};

TEST_P(LocalPrograms, ComputeTogetherWhatOneDeviceDoesOrAreRefused) {
  const ShardedWay& way = GetParam();
  const HostLoweringOptions lowering{.grouping = way.grouping};
  int64_t sharded = 0;
  int64_t refused = 0;
  size_t next = 0;
  for (const OpForm& form : opForms()) {
    const auto plain = fusionOf(textOf(form, way.sizes, way.extents, ""));
    const std::vector<RunValue> inputs = bench_.inputsOf(*plain);
    const size_t taken = plain->inputs().size();
    for (size_t i = 0; i < taken + plain->outputs().size(); ++i) {
      const TensorView& whole = i < taken ? *asTensor(plain->inputs()[i]) : *plain->outputs()[i - taken];
      const size_t rank = shapeOf(whole).size();
      for (size_t axis = 0; axis < rank; ++axis) {
        if ((way.mesh.size() == 2 && rank == 1) || ++next % (way.stride * static_cast<size_t>(kShare)) != 0) continue;
        SCOPED_TRACE(fmt::format("{}\naxis {} of {} {}", textOf(form, way.sizes, way.extents, ""), axis,
                                 i < taken ? "input" : "output", i < taken ? i : i - taken));
        const auto program = makeHostProgram(*plain, lowering);
        const Axes shape = shapeOf(i < taken ? *asTensor(program->inputs()[i]) : *program->outputs()[i - taken]);
        std::vector<const IterDomain*> axes = {shape[axis]};
        if (way.mesh.size() == 2) axes.push_back(shape[(axis + 1) % rank]);
        if (!shard(*program, axes, way.mesh)) continue;
        ++(run(*plain, *program, inputs) ? refused : sharded);
      }
    }
  }
  std::cout << sharded << " sharded, " << refused << " refused\n";
  EXPECT_GT(sharded, 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, LocalPrograms, testing::ValuesIn(kShardedWays),
                         [](const auto& instance) { return instance.param.name; });

// The mean over the rows of T0, of which each rank has a chunk: terms of a sum of what the number of all rows divides,
// which are the outputs here. T4
// is the rank's part of T1, which all of them have.
const HostText kMeanOfParts = {
    {"T0_g_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{3}] (DeviceMesh{0 1 2 3})",
     "T1_g_float[iS3{n}] (DeviceMesh{0 1 2 3})", "T3_g_float[iS4{3}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx})",
     "T4_g_float[ideviceIdx.x5{4}, iS6{( ceilDiv(n, 4) )}] (DeviceMesh{0 1 2 3})"},
    "(@T0, @T1) -> (@T3, @T4)",
    "  PostOnStream(HostUnit0, Inputs:{@T0, }, Outputs:{@T3, })\n  @T4 = Set( @T1 )\n",
    R"(Domains:{
  T0:{
    outer split iS9{n} by 4 -> ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}
    logical [iS9{n}, iS2{3}]
  }
  T4:{
    outer split iS10{n} by 4 -> ideviceIdx.x5{4}, iS6{( ceilDiv(n, 4) )}
    logical [iS10{n}]
  }
}
HostUnit0{
  %Fusion mean { (T0_l_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{3}] (DeviceMesh{0 1 2 3})) -> (T2_l_float[rS6{n}, iS7{3}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx})) :
    T1_l_float[ideviceIdx.x3{4}, iS4{( ceilDiv(n, 4) )}, iS5{3}] (DeviceMesh{0 1 2 3})
       = T0_l_float[ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}, iS2{3}] (DeviceMesh{0 1 2 3})
       / ( f32(n) );
    T2_l_float[rS6{n}, iS7{3}] (DeviceMesh{0 1 2 3}) (Partial{sum DIDx})
       = reduction( T1_l_float[ideviceIdx.x3{4}, iS4{( ceilDiv(n, 4) )}, iS5{3}] (DeviceMesh{0 1 2 3}), op = add, initial value = float(0), allreduce = false )
  } // %Fusion
  Domains:{
    T0:{
      outer split iS9{n} by 4 -> ideviceIdx.x0{4}, iS1{( ceilDiv(n, 4) )}
      logical [iS9{n}, iS2{3}]
    }
    T1:{
      outer split iS10{n} by 4 -> ideviceIdx.x3{4}, iS4{( ceilDiv(n, 4) )}
      logical [iS10{n}, iS5{3}]
    }
  }
}
)"};

TEST(MeanOfParts, IsTheSumOfWhatTheRanksComputeForEachWayToRun) {
  RunBench bench;
  const auto program = hostProgramOf(kMeanOfParts);
  for (const SegmentMode segments : {SegmentMode::OpByOp, SegmentMode::Kernels}) {
    for (const Mode mode : kModes) {
      for (const int64_t n : {8, 10, 5}) {  // parts of 2, 2, 2, 2; of 3, 3, 3, 1; of 2, 2, 1, 0
        const Tensor whole = bench.numbers(DataType::F32, {n}, std::vector<double>(static_cast<size_t>(n), 7));
        std::vector<double> mean(3, 0);
        for (int64_t rank = 0; rank < 4; ++rank) {
          const IndexRange rows = shardRange(n, (n + 3) / 4, rank);
          std::vector<double> elements;  // row i is i, 2 i, 3 i
          for (int64_t i = rows.start; i < rows.start + rows.extent; ++i)
            for (const int factor : {1, 2, 3}) elements.push_back(static_cast<double>(factor * i));
          auto local = localProgram(*program, {.number = rank, .ranks = 4});
          finishHostProgram(*local, {});
          HostIrEvaluator evaluator(std::move(local), bench.device, {.mode = mode, .segments = segments});
          const Tensor own = bench.numbers(DataType::F32, {rows.extent, 3}, elements);
          const std::vector<Tensor> given = evaluator.runWithInput(bound(evaluator.program(), {own, whole}));
          const std::vector<double> partial = numbersOf(given[0]);
          for (size_t i = 0; i < 3; ++i) mean[i] += partial[i];
          EXPECT_EQ(numbersOf(given[1]), std::vector<double>(static_cast<size_t>(rows.extent), 7));
        }
        for (size_t i = 0; i < 3; ++i)
          EXPECT_NEAR(mean[i], static_cast<double>(i + 1) * static_cast<double>(n - 1) / 2, 1e-5);
      }
    }
  }
}

TEST(MeanOfParts, ATensorOfAnotherSizeIsRefused) {
  RunBench bench;
  auto local = localProgram(*hostProgramOf(kMeanOfParts), {.number = 3, .ranks = 4});
  finishHostProgram(*local, {});
  HostIrEvaluator evaluator(std::move(local), bench.device, {});
  const Tensor whole = bench.random(DataType::F32, {10}, 1);
  const Tensor own = bench.random(DataType::F32, {3, 3}, 2);
  EXPECT_EQ(
      refusalOf([&] { evaluator.runWithInput(bound(evaluator.program(), {own, whole})); }),
      "bind: T0: f32[( n - ( min(n, ( ( ceilDiv(n, 4) ) * 3 )) ) ), 3]: axis 0 must have size 1 (( n - ( min(n, ( ( "
      "ceilDiv(n, 4) ) * 3 )) ) )), but has 3");
}

}  // namespace
}  // namespace tokamak
