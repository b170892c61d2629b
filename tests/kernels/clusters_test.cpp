// Rows that the blocks of a cluster share: how they are lowered and written, and what the interpreter finds where a
// barrier is missing.
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/source.h"
#include "define/callables.h"
#include "heuristics/schedule_parameters.h"
#include "ir/text/fusion_parser.h"
#include "kernel/bind_kernel.h"
#include "kernel/interpreter/kernel_interpreter.h"
#include "kernel/parse_kernel.h"
#include "kernels/kernel_case.h"
#include "lower/lower_kernel.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- parameters ---

std::string softmaxOfRows(int64_t columns) {
  return fmt::format("fusion f(T0: bf16[i0, {}]) -> T1 {{ T1 = cast(softmax(T0), dtype=bf16) }}", columns);
}

TEST(Clusters, MayBeChosenByHand) {
  KernelTarget target = hopperTarget();
  target.parameter_overrides = "cluster=2,threads=256,persistent_batches=2,persistent_grid=30,together=2";
  EXPECT_EQ(toString(chosenFor(softmaxOfRows(8192), target)),
            "vector 8, threads 256, persistent batches 2, rows 1, unroll 1, outer grid split 1, cluster 2, persistent "
            "grid 30, together 2");
  // There are none so large; a row that is not kept is read in several iterations.
  target.parameter_overrides = "cluster=100,threads=32,persistent_batches=8,together=2";
  EXPECT_EQ(chosenFor(softmaxOfRows(131072), target).cluster, 8);
  EXPECT_EQ(chosenFor(softmaxOfRows(131072), target).rows_together, 1);
  KernelTarget older = target;
  older.has_clusters = false;
  EXPECT_EQ(chosenFor(softmaxOfRows(131072), older).cluster, 1);
  // Nothing needs whole rows of elementwise programs.
  EXPECT_EQ(chosenFor("fusion f(T0: f32[i0, 64]) -> T1 { T1 = exp(T0) }", target).cluster, 1);
}

// --- lowering and source ---

constexpr std::string_view kRow = "fusion f(T0: f32[i0, 32]) -> T1 {\n  T1 = sum(T0, axes=[1])\n}\n";

TEST(Clusters, AreLaidAlongX) {
  const auto fusion = parseScheduled(std::string(kRow) + R"(schedule {
  split(T1, axis=1, factor=4)
  parallelize(T1, axis=0, type=BIDx)
  parallelize(T1, axis=2, type=CIDx)
  parallelize(T1, axis=1, type=TIDx)
})");
  const kir::Kernel kernel = lowerKernel(fusion, "k");
  EXPECT_EQ(kernel.clusterBlocks(), 4);
  const std::string text = kernelSource(kernel, Dialect::Cuda).text;
  EXPECT_THAT(text, HasSubstr("(blockIdx.x % 4)"));
  EXPECT_THAT(text, HasSubstr("(blockIdx.x / 4)"));
  EXPECT_THAT(text, HasSubstr("mapa.u64"));
  EXPECT_THAT(text, HasSubstr("barrier.cluster.arrive.release.aligned"));
  EXPECT_THAT(messageOf(ErrorCode::Unsupported, [&] { kernelSource(kernel, Dialect::C); }),
              HasSubstr("on the processor blocks have no clusters; k is spread over CIDx"));
}

// Each block of a cluster has columns of its own, of which blocks of other clusters have other rows.
TEST(Clusters, StandBesideCombinationsAcrossTheGrid) {
  const auto fusion = parseScheduled(R"(
fusion f(T0: f32[64, 32]) -> T1 {
  T1 = sum(T0, axes=[0])
}
schedule {
  split(T1, axis=0, factor=4, inner_split=false)
  split(T1, axis=2, factor=8)
  parallelize(T1, axis=0, type=BIDx)
  parallelize(T1, axis=2, type=CIDx)
  parallelize(T1, axis=3, type=TIDx)
})");
  const kir::Kernel kernel = lowerKernel(fusion, "k");
  EXPECT_EQ(kir::workspaceOf(kernel, {}).counters, 4);
  std::vector<float> in(64 * 32);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 32);
  std::vector<float> out(32, 0.0F);
  const std::vector<KernelBuffer> buffers = {{in.data(), 64 * 32, true}, {out.data(), 32, false}};
  for (const uint64_t seed : {0U, 1U, 2U}) {
    EXPECT_THAT(interpretKernel(kernel, buffers, {}, {.seed = seed}), IsEmpty());
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<float>(64 * i));
  }
}

TEST(Clusters, AreRefusedWhereTheyCannotBe) {
  const auto refusal = [](const std::string& text) {
    return messageOf(ErrorCode::Schedule, [&] { lowerKernel(parseScheduled(text), "k"); });
  };
  EXPECT_EQ(refusal(std::string(kRow) + "schedule { parallelize(T1, axis=1, type=CIDx) }"),
            "CIDx has the extent 32; a cluster has a constant number of blocks, 1 to 8");
  EXPECT_THAT(refusal(R"(
fusion f(T0: f32[64, 32]) -> T2 {
  T1 = sum(T0, axes=[0])
  T2 = sum(T1, axes=[0])
}
schedule {
  split(T2, axis=0, factor=4)
  parallelize(T2, axis=1, type=CIDx)
  parallelize(T1, axis=0, type=BIDx)
})"),
              HasSubstr("is combined across a cluster, but is computed from a tensor that is combined across blocks"));
}

// --- what the interpreter finds ---

// A block's number goes to all blocks of its cluster, twice.
constexpr std::string_view kTwice = R"(
kernel twice() -> T0: i64[4:1] CIDx in 2 BIDx in 2 TIDx in 3 {
  T1: i64[2] shared
  arrive cluster
  wait cluster
  if TIDx == 0 {
    for r in 0..2 {
      T1[CIDx] of block r = i64(BIDx * 2 + CIDx)
    }
  }
  arrive cluster
  wait cluster
  let t: i64 = add(T1[0], T1[1])
  arrive cluster
  wait cluster
  if TIDx == 1 {
    for r in 0..2 {
      T1[CIDx] of block r = t
    }
  }
  arrive cluster
  wait cluster
  if TIDx == 2 {
    T0[BIDx * 2 + CIDx] = T1[1 - CIDx]
  }
}
)";

std::vector<std::string> findings(const std::string& text, std::vector<int64_t>& out) {
  const kir::Kernel kernel = kir::parseKernel(text, "clusters");
  out.assign(4, -1);
  const std::vector<KernelBuffer> buffers = {{out.data(), 4, false}};
  return interpretKernel(kernel, buffers, {}, {.most_findings = 100});
}

// Without barrier number `dropped`.
std::string without(int dropped) {
  constexpr std::string_view kBarrier = "  arrive cluster\n  wait cluster\n";
  std::string text(kTwice);
  size_t at = text.find(kBarrier);
  for (int i = 0; i < dropped; ++i) at = text.find(kBarrier, at + 1);
  return text.erase(at, kBarrier.size());
}

TEST(Clusters, ExchangeWithoutRaces) {
  std::vector<int64_t> out;
  EXPECT_THAT(findings(std::string(kTwice), out), IsEmpty());
  EXPECT_THAT(out, ElementsAre(1, 1, 5, 5));
}

TEST(Clusters, NeedEachOfTheirBarriers) {
  std::vector<int64_t> out;
  EXPECT_THAT(findings(without(0), out), testing::Contains(HasSubstr("while block 1 may not have begun")));
  EXPECT_THAT(findings(without(1), out), testing::Contains(HasSubstr("race: write by thread 0 of block 1, read by")));
  EXPECT_THAT(findings(without(2), out), testing::Contains(HasSubstr("race: ")));
  EXPECT_THAT(findings(without(3), out), testing::Contains(HasSubstr("race: write by thread 1 of block 0, read by")));
}

TEST(Clusters, EndAfterWhatIsWrittenIntoThem) {
  std::vector<int64_t> out;
  EXPECT_THAT(findings(R"(
kernel left() -> T0: i64[4:1] CIDx in 2 BIDx in 2 TIDx in 1 {
  T1: i64[2] shared
  arrive cluster
  wait cluster
  T0[BIDx * 2 + CIDx] = 1
  T1[CIDx] of block 1 - CIDx = 1
})",
                       out),
              testing::Contains(HasSubstr("while block 0 may have ended")));
}

}  // namespace
}  // namespace tokamak
