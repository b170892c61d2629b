// Programs are grouped for the GPU that runs them: one of few multiprocessors, without clusters, with little shared
// memory.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "compile/multi_device_executor.h"
#include "define/callables.h"
#include "device/fake_cuda.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "error_of.h"
#include "host/ir/text/host_printer.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

std::unique_ptr<Fusion> suiteProgram(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(TOKAMAK_TEST_DIR "/../examples/suite/" + name + ".fusion").rdbuf();
  return parseFusion(text.str(), name, {.resolver = &definingResolver()});
}

std::string programFor(const Fusion& fusion, const KernelTarget& target) {
  return printHostProgram(*lowerToHostProgram(fusion, {.target = target}));
}

class GpuTargets : public testing::TestWithParam<const char*> {};

TEST_P(GpuTargets, AProgramIsGroupedForItsDevice) {
  const FakeSettings settings(GetParam());
  const std::unique_ptr<CudaDevice> device = openFakeDevice();
  int others = 0;
  for (const char* name : {"layer_norm_bwd", "rms_norm_bwd", "softmax_fwd", "gelu_bwd_sum_outer"}) {
    const std::unique_ptr<Fusion> fusion = suiteProgram(name);
    MultiDeviceExecutor executor(*fusion, *device);
    const std::string program = printHostProgram(executor.program());
    EXPECT_EQ(program, programFor(*fusion, device->kernelTarget()));
    others += program == programFor(*fusion, hopperTarget()) ? 0 : 1;
  }
  EXPECT_GE(others, 2);
}

INSTANTIATE_TEST_SUITE_P(Gpus, GpuTargets,
                         testing::Values("attribute=16:4", "attribute=16:64 attribute=120:0",
                                         "attribute=16:40 attribute=120:0 attribute=97:49152"));

TEST(GpuTarget, ComputesNothingWithoutAMakerOfKernels) {
  CudaDevice device(0, {.driver = TOKAMAK_FAKE_DRIVER});
  const std::unique_ptr<Fusion> fusion = parseFusion("fusion f(T0: f32[4]) -> T1 { T1 = exp(T0) }", "f");
  const Expr& op = *fusion->exprs().front();
  const OperandDesc desc{DataType::F32, {4}, {1}, 256};
  const std::vector<OperandDesc> operands = {desc, desc};
  const ScalarBindings none;
  EXPECT_FALSE(device.makesKernels());
  const Error error = errorOf([&] { device.prepare({.expr = op, .operands = operands, .bindings = none}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(), "T1 = exp(T0): this device makes no kernels, and a GPU computes with nothing else");
}

TEST(GpuTarget, IsWhatTheDriverSays) {
  const FakeSettings settings("attribute=16:40 attribute=120:0 attribute=97:49152");
  const std::unique_ptr<CudaDevice> device = openFakeDevice();
  const KernelTarget target = device->kernelTarget();
  EXPECT_EQ(target.multiprocessors, 40);
  EXPECT_EQ(target.shared_bytes_per_block, 49152);
  EXPECT_FALSE(target.has_clusters);
}

}  // namespace
}  // namespace tokamak
