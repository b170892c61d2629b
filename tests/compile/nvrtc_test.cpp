// NVRTC: found or its absence explained, cubins for sm_90a with what their kernels take, kept on disk.
#include "toolchain/nvrtc.h"
#include "nvrtc_search.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache_folder.h"
#include "error_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

constexpr const char* kCudaSource = R"(
extern "C" __global__ void scale(const float* __restrict__ a, float* __restrict__ b, long n) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] * 2.0f + 1.0f;
}
extern "C" __global__ void turn(const float* __restrict__ a, float* __restrict__ b) {
  __shared__ float tile[256];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = tile[255 - threadIdx.x];
}
)";

#define TK_NEED_NVRTC() \
  if (const std::string reason = reasonForNoNvrtc(); !reason.empty()) GTEST_SKIP() << reason

TEST(Nvrtc, compilesForTheArchitectureAndSaysWhatKernelsTake) {
  TK_NEED_NVRTC();
  NvrtcCompiler compiler;
  const std::shared_ptr<const Cubin> cubin = compiler.compile(kCudaSource);
  EXPECT_TRUE(
      cubin->image.starts_with("\x7f"
                               "ELF"));
  ASSERT_EQ(cubin->resources.size(), size_t{2});
  for (const KernelResources& kernel : cubin->resources) {
    EXPECT_GT(kernel.registers, 0);
    EXPECT_EQ(kernel.spill_store_bytes, 0);
    EXPECT_EQ(kernel.shared_bytes, kernel.kernel == "turn" ? 1024 : 0);
  }
  EXPECT_THAT(compiler.version(), HasSubstr("NVRTC 1"));
  EXPECT_EQ(compiler.compile(kCudaSource), cubin);
}

TEST(Nvrtc, spillsAreSeen) {
  TK_NEED_NVRTC();
  // More live values than the 16 registers that the flag leaves.
  std::string source = "extern \"C\" __global__ void crowded(const float* a, float* b) {\n";
  for (int i = 0; i < 64; ++i)
    source += "  float x" + std::to_string(i) + " = a[threadIdx.x * 64 + " + std::to_string(i) + "];\n";
  source += "  __syncthreads();\n";
  for (int i = 0; i < 64; ++i)
    source += "  b[threadIdx.x * 64 + " + std::to_string(63 - i) + "] = x" + std::to_string(i) + ";\n";
  source += "}\n";
  NvrtcCompiler compiler({.architecture = "sm_90a", .extra_flags = {"--maxrregcount=16"}});
  const std::shared_ptr<const Cubin> cubin = compiler.compile(source);
  ASSERT_EQ(cubin->resources.size(), size_t{1});
  EXPECT_GT(cubin->resources[0].spill_store_bytes, 0);
  EXPECT_GT(cubin->resources[0].spill_load_bytes, 0);
  EXPECT_GT(cubin->resources[0].stack_bytes, 0);
}

TEST(Nvrtc, mistakesAreNamed) {
  TK_NEED_NVRTC();
  NvrtcCompiler compiler;
  const Error error = errorOf([&] { compiler.compile("__global__ void f() { nothing(); }"); });
  EXPECT_EQ(error.code(), ErrorCode::Compile);
  EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("compiling generated CUDA for sm_90a by NVRTC"),
                                              HasSubstr("identifier \"nothing\" is undefined")));
}

TEST(Nvrtc, anUnknownArchitectureIsUnsupported) {
  TK_NEED_NVRTC();
  NvrtcCompiler compiler({.architecture = "sm_12345", .extra_flags = {}});
  const Error error = errorOf([&] { compiler.compile(kCudaSource); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr(": it does not know sm_12345; it knows sm_75, sm_80, "));
}

TEST(Nvrtc, anUnknownFlagIsUnsupported) {
  TK_NEED_NVRTC();
  NvrtcCompiler compiler({.architecture = "sm_90a", .extra_flags = {"--no-such-flag"}});
  const Error error = errorOf([&] { compiler.compile(kCudaSource); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("for sm_90a: it does not take the flags"));
}

TEST(Nvrtc, cubinsAndWhereTheLibraryIsAreKept) {
  TK_NEED_NVRTC();
  const CacheFolder folder;
  const auto cache = std::make_shared<KernelCache>(folder.path());
  const std::shared_ptr<const Cubin> made = NvrtcCompiler({}, cache).compile(kCudaSource);
  EXPECT_EQ(cache->list().size(), size_t{2});
  NvrtcCompiler other({}, cache);
  const std::shared_ptr<const Cubin> kept = other.compile(kCudaSource);
  EXPECT_EQ(kept->image, made->image);
  EXPECT_EQ(kept->resources, made->resources);
  EXPECT_EQ(cache->list().size(), size_t{2});
  EXPECT_EQ(cache->find(other.keyOf(kCudaSource)).has_value(), true);
  EXPECT_NE(other.keyOf(kCudaSource),
            NvrtcCompiler({.architecture = "sm_100a", .extra_flags = {}}, cache).keyOf(kCudaSource));
}

TEST(Nvrtc, compilesFromManyThreads) {
  TK_NEED_NVRTC();
  NvrtcCompiler compiler;
  std::vector<std::string> kernels(6);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kernels.size(); ++i)
      threads.emplace_back([&, i] {
        const std::string name = "k" + std::to_string(i);
        kernels[i] =
            compiler.compile("extern \"C\" __global__ void " + name + "(int* a) { *a = 1; }")->resources.at(0).kernel;
      });
  }
  for (size_t i = 0; i < kernels.size(); ++i) EXPECT_EQ(kernels[i], "k" + std::to_string(i));
}

TEST(Nvrtc, aLibraryThatIsNotThereIsExplained) {
  const ScopedVariable named("TOKAMAK_NVRTC", "/nonexistent/libnvrtc.so");
  const Error error = errorOf([] { NvrtcCompiler(); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("/nonexistent/libnvrtc.so: cannot open shared object file"));
}

TEST(Nvrtc, aLibraryThatIsSomethingElseIsExplained) {
  const ScopedVariable named("TOKAMAK_NVRTC", "libc.so.6");
  EXPECT_THAT(errorOf([] { NvrtcCompiler(); }).message(), HasSubstr("libc.so.6: it lacks functions of NVRTC"));
  EXPECT_THAT(errorOf([] { NvrtcLibrary::open("libc.so.6"); }).message(),
              HasSubstr("'libc.so.6' cannot be used: it lacks functions"));
}

TEST(Nvrtc, isLookedForInToolkitsAndPythonPackages) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "toolkit/lib64");
  std::filesystem::create_directories(folder / "env/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib");
  std::filesystem::create_directories(folder / "packages/nvidia/cu13/lib");
  const std::vector<std::string> files = {
      folder / "toolkit/lib64/libnvrtc.so.12", folder / "packages/nvidia/cu13/lib/libnvrtc.so.13",
      folder / "env/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"};
  for (const std::string& file : files) writeFile(file, "");
  const ScopedVariable named("TOKAMAK_NVRTC", std::nullopt);
  const ScopedVariable toolkit("CUDA_PATH", folder / "toolkit");
  const ScopedVariable environment("VIRTUAL_ENV", folder / "env");
  const ScopedVariable packages("PYTHONPATH", "relative:" + folder / "packages");
  EXPECT_THAT(nvrtcCandidates(), testing::IsSupersetOf(files));
  EXPECT_EQ(nvrtcCandidates()[0], "libnvrtc.so.13");
}

TEST(CubinReport, readsEveryKernelOfALog) {
  const char* const log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k0' for 'sm_90a'\n"
      "ptxas info    : Function properties for k0\n"
      "ptxas         .     24 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Compile time = 3.175 ms\n"
      "ptxas info    : Compiling entry function 'k1' for 'sm_90a'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers, 380 bytes cmem[0]\n";
  const std::vector<KernelResources> resources = resourcesIn(log);
  ASSERT_EQ(resources.size(), size_t{2});
  EXPECT_EQ(resources[0], (KernelResources{.kernel = "k0",
                                           .registers = 255,
                                           .stack_bytes = 24,
                                           .spill_store_bytes = 8,
                                           .spill_load_bytes = 16,
                                           .shared_bytes = 1024,
                                           .barriers = 1}));
  EXPECT_EQ(resources[1], (KernelResources{.kernel = "k1", .registers = 10}));
  EXPECT_TRUE(resourcesIn("nonsense\n").empty());
}

}  // namespace
}  // namespace tokamak
