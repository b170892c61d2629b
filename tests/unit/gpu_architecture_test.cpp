#include "device/gpu_architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"

namespace tokamak {
namespace {

TEST(GpuArchitecture, TargetsAreThoseOfTheLargestGpu) {
  EXPECT_EQ(gpuTarget("sm_90a", "--arch"), hopperTarget());
  EXPECT_EQ(gpuTarget("sm_80", "--arch").shared_bytes_per_block, 163 * 1024);
  EXPECT_FALSE(gpuTarget("sm_89", "--arch").has_clusters);
  // After all known ones, and between two.
  EXPECT_EQ(gpuTarget("sm_199", "--arch"), gpuTarget("sm_121", "--arch"));
  EXPECT_EQ(gpuTarget("sm_88", "--arch"), gpuTarget("sm_87", "--arch"));
}

TEST(GpuArchitecture, NamesAreChecked) {
  for (const char* name : {"", "90", "sm_", "sm_x", "sm_-90", "sm_90b", "sm_90aa", "compute_90"}) {
    const Error error = errorOf([&] { gpuTarget(name, "--arch"); });
    EXPECT_EQ(error.code(), ErrorCode::Usage) << name;
    EXPECT_THAT(error.message(), testing::HasSubstr("expected sm_ and a compute capability")) << name;
  }
  EXPECT_EQ(errorOf([] { gpuTarget("sm_70", "--arch"); }).message(),
            "--arch sm_70: kernels are made for sm_80 and later");
}

TEST(GpuArchitecture, CodeRunsOnLaterMinorVersionsUnlessItIsOfOneAlone) {
  EXPECT_TRUE(gpuRuns("sm_80", "sm_80"));
  EXPECT_TRUE(gpuRuns("sm_86", "sm_80"));
  EXPECT_FALSE(gpuRuns("sm_80", "sm_86"));
  EXPECT_FALSE(gpuRuns("sm_90a", "sm_89"));
  EXPECT_TRUE(gpuRuns("sm_90a", "sm_90"));
  EXPECT_TRUE(gpuRuns("sm_90a", "sm_90a"));
  EXPECT_TRUE(gpuRuns("sm_103a", "sm_100f"));
  EXPECT_FALSE(gpuRuns("sm_103a", "sm_100a"));
  EXPECT_FALSE(gpuRuns("sm_110a", "sm_103"));
  EXPECT_FALSE(gpuRuns("", "sm_80"));
  EXPECT_FALSE(gpuRuns("sm_80", "avx2"));
}

}  // namespace
}  // namespace tokamak
