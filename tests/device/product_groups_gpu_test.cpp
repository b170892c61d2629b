// Products with activations by cuBLASLt, where there is a GPU: as exact as the reference asks, and what becomes of NaN.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile/temporary_folder.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "product_group_bench.h"
#include "toolchain/kernel_cache.h"

namespace tokamak {
namespace {

class CudaGpuProductGroups : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
    device_ = std::make_unique<JitCudaDevice>(0);
  }
  std::unique_ptr<CudaDevice> device_;
};

// relu as exact as the reference asks, gelu as exact as the library's tanh.
void expectRight(GroupBench& bench, const GroupProgram& program) {
  if (program.name == std::string("relu"))
    bench.expectRight(program.text, program.rounded_once);
  else
    bench.expectNear(program.text, program.rounded_once);
}

TEST_P(CudaGpuProductGroups, GiveWhatTheReferenceSays) {
  GroupBench bench(*device_);
  for (const GroupProgram& program : programsOf(GetParam())) expectRight(bench, program);
}

TEST_P(CudaGpuProductGroups, OfLargeMatricesGiveWhatTheReferenceSays) {
  GroupBench bench(*device_);
  for (const char* name : {"relu", "gelu_tanh"}) {
    const GroupProgram program =
        groupProgram("T0: {0}[256, 512], T1: {0}[384, 512], T2: {0}[384]", "linear(T0, T1, T2)", name, GetParam());
    expectRight(bench, program);
    EXPECT_EQ(bench.steps(), 1);
  }
}

// What is done unless somebody asks for more.
TEST_P(CudaGpuProductGroups, ThatChangeNothingButWhoComputesGiveWhatTheReferenceSays) {
  GroupBench bench(*device_, kExactProductActivations);
  for (const GroupProgram& program : programsOf(GetParam())) bench.expectRight(program.text);
}

TEST_P(CudaGpuProductGroups, AreOneCall) {
  for (const char* name : {"relu", "gelu_tanh"})
    EXPECT_EQ(GroupRequest(name, GetParam()).prepare(*device_, 64)->pieceCount(), 1U) << name;
}

TEST_P(CudaGpuProductGroups, ThatTheLibraryRefusesGiveWhatTheReferenceSays) {
  GroupBench bench(*device_);
  for (const GroupProgram& program : refusedPrograms(GetParam())) bench.expectRight(program.text);
}

// What comes of a product with a bias of NaN (column 3) and infinity (column 5).
std::vector<double> withSpecialBias(CudaDevice& device, const KernelTarget& target, const char* name,
                                    const char* type) {
  RunBench host;
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto fusion = fusionOf(
      fmt::format("fusion f(T0: {0}[8, 16], T1: {0}[24, 16], T2: {0}[24]) -> T9 {{ T8 = linear(T0, T1, T2) T9 = {1} }}",
                  type, activationOf(name, type)));
  std::vector<double> bias(24, 0.0);
  bias[3] = std::nan("");
  bias[5] = INFINITY;
  const DataType dtype = asTensor(fusion->inputs()[0])->dtype();
  const std::vector<RunValue> values = {host.random(dtype, {8, 16}, 1), host.random(dtype, {24, 16}, 2),
                                        host.numbers(dtype, {24}, bias)};
  std::vector<RunValue> on_device;
  for (const RunValue& value : values)
    on_device.emplace_back(toDevice(std::get<Tensor>(value), device, stream, MemoryKind::Device));
  MultiDeviceExecutor executor(*fusion, device, {.lowering = {.target = target}});
  return numbersOf(toHost(executor.runWithInput(on_device).at(0), stream));
}

TEST_P(CudaGpuProductGroups, PassOnWhatIsNoNumber) {
  for (const char* name : {"relu", "gelu_tanh"}) {
    const std::vector<double> numbers = withSpecialBias(*device_, device_->kernelTarget(), name, GetParam());
    for (size_t row = 0; row < 8; ++row) {
      EXPECT_TRUE(std::isnan(numbers[row * 24 + 3])) << name << ": " << numbers[row * 24 + 3];
      EXPECT_EQ(numbers[row * 24 + 5], INFINITY) << name;
    }
  }
}

// Why relu may be the library's.
TEST_P(CudaGpuProductGroups, ReluOfNaNByTheLibraryIsNaN) {
  const std::vector<double> numbers = withSpecialBias(*device_, activatingTarget(), "relu", GetParam());
  for (size_t row = 0; row < 8; ++row) {
    EXPECT_TRUE(std::isnan(numbers[row * 24 + 3])) << numbers[row * 24 + 3];
    EXPECT_EQ(numbers[row * 24 + 5], INFINITY);
  }
}

// Where the library refuses a record, it is written anew: the file is another one then.
std::map<std::string, uint64_t> filesIn(const std::string& folder) {
  std::map<std::string, uint64_t> numbers;
  for (const CacheListing& entry : KernelCache(folder).list()) {
    struct stat facts = {};
    if (entry.key.part("kind") == "cuBLASLt choice" && stat((folder + "/" + entry.file.name).c_str(), &facts) == 0)
      numbers[entry.file.name] = facts.st_ino;
  }
  return numbers;
}

TEST_P(CudaGpuProductGroups, TakeRecordedChoicesAndGiveTheSameBits) {
  const TemporaryFolder folder;
  const ScopedVariable cache("TOKAMAK_CACHE_DIR", folder.path());
  std::map<std::string, uint64_t> files;
  std::vector<std::vector<std::byte>> results;
  for (const bool is_first : {true, false}) {
    JitCudaDevice device(0);
    GroupBench bench(device);
    size_t number = 0;
    for (const GroupProgram& program : programsOf(GetParam())) {
      expectRight(bench, program);
      if (is_first)
        results.push_back(bench.bytes());
      else
        EXPECT_EQ(bench.bytes(), results.at(number++)) << program.text;
    }
    if (is_first) files = filesIn(folder.path());
  }
  EXPECT_GE(files.size(), 2U);
  EXPECT_EQ(filesIn(folder.path()), files);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaGpuProductGroups, testing::Values("f32", "bf16", "f16"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace tokamak
