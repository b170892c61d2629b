// Products with activations on the CUDA device: by the fake library on the fake driver, and by generated kernels.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "compile/temporary_folder.h"
#include "device/matrix_programs.h"
#include "device/work.h"
#include "fake_cuda.h"
#include "graph/product_group.h"
#include "product_group_bench.h"

namespace tokamak {
namespace {

// The fake library and a folder of its own for what it chooses.
struct FakeProducts {
  TemporaryFolder folder;
  ScopedVariable cache{"TOKAMAK_CACHE_DIR", folder.path()};
  std::unique_ptr<CudaDevice> device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
};

TEST(CudaProductGroups, AreOneCallThatGivesWhatTheReferenceSays) {
  FakeProducts fake;
  GroupBench bench(*fake.device);
  for (const char* type : {"f32", "bf16"}) {
    for (const GroupProgram& program : programsOf(type)) {
      bench.expectRight(program.text, program.rounded_once);
      EXPECT_EQ(bench.steps(), 1) << program.text;
    }
  }
}

TEST(CudaProductGroups, FollowOneAnotherInOnePlan) {
  FakeProducts fake;
  GroupBench bench(*fake.device);
  bench.expectRight(
      "fusion mlp(T0: f32[8, 16], T1: f32[32, 16], T2: f32[32], T3: f32[16, 32]) -> T7 { T4 = linear(T0, T1, T2) "
      "T5 = gelu_tanh(T4) T6 = linear(T5, T3) T7 = relu(T6) }");
  EXPECT_EQ(bench.steps(), 2);
}

TEST(CudaProductGroups, AreDealtOutByStreamLoops) {
  FakeProducts fake;
  GroupBench bench(*fake.device);
  bench.expectRight(
      "fusion f(T0: f32[4, 8, 16], T1: f32[4, 16, 24]) -> T3 { T2 = matmul(T0, T1) T3 = relu(T2) } "
      "schedule { parallelize(T3, axis=0, type=Stream) }");
}

// The fake GPU has four multiprocessors: a third more than a quarter or half of them.
TEST(CudaProductGroups, InStreamLoopsAreAskedForWithTheirShareOfTheDevice) {
  FakeProducts fake;
  GroupBench bench(*fake.device);
  const auto text = [](int64_t products, const char* schedule) {
    return fmt::format(
        "fusion f(T0: f32[{0}, 8, 16], T1: f32[{0}, 16, 24]) -> T3 {{ T2 = matmul(T0, T1) T3 = relu(T2) }} {1}",
        products, schedule);
  };
  const char* const loop = "schedule { parallelize(T3, axis=0, type=Stream) }";
  bench.expectRight(text(4, loop));
  EXPECT_EQ(libraryMultiprocessors(), 2);
  bench.expectRight(text(2, loop));
  EXPECT_EQ(libraryMultiprocessors(), 3);
  bench.expectRight(text(4, ""));
  EXPECT_EQ(libraryMultiprocessors(), 0);
}

// A segment's operands are told once each; the product takes one of them twice.
TEST(CudaProductGroups, MayReadOneTensorTwice) {
  FakeProducts fake;
  GroupBench bench(*fake.device);
  bench.expectRight("fusion f(T0: f32[16, 16]) -> T2 { T1 = linear(T0, T0) T2 = gelu_tanh(T1) }");
  EXPECT_EQ(bench.steps(), 1);
}

TEST(CudaProductGroups, AreGroupsWhateverTheLibrarySays) {
  for (const char* type : {"f32", "bf16", "f16"}) {
    for (const GroupProgram& program : refusedPrograms(type)) {
      const auto host = makeHostProgram(*fusionOf(program.text), {.target = activatingTarget()});
      ASSERT_EQ(host->topLevel().exprs.size(), 1U) << program.text;
      const auto* post = host->topLevel().exprs[0]->as<PostOnStream>();
      EXPECT_TRUE(post != nullptr && productGroupOf(*post->segment)) << program.text;
    }
  }
}

// What the library refuses with an activation is a product and a kernel: that runs on the processor here.
TEST(CudaProductGroups, TheirActivationIsAProgramOfItsOwn) {
  RunBench host;
  for (const char* type : {"f32", "bf16", "f16"}) {
    for (const char* name : {"relu", "gelu_tanh"}) {
      const auto fusion =
          fusionOf(fmt::format("fusion f(T0: {0}[i0, 16], T1: {0}[24, 16]) -> T9 {{ T8 = linear(T0, T1) T9 = {1} }}",
                               type, activationOf(name, type)));
      const auto group = productGroupOf(*fusion, *fusion->outputs()[0]);
      ASSERT_TRUE(group);
      const auto alone =
          fusionOf(fmt::format("fusion f(T8: {0}[8, 24]) -> T9 {{ T9 = {1} }}", type, activationOf(name, type)));
      const Tensor product = drawn(host, *asTensor(alone->inputs()[0]), 2, 1);
      const Tensor result = host.empty(product.dtype(), {8, 24}, {1, 8});
      ScalarBindings sizes;
      for (Scalar* symbol : fusion->allSymbols()) sizes[symbol] = int64_t{8};
      const auto describe = [](const Tensor& tensor) {
        return OperandDesc{.dtype = tensor.dtype(),
                           .sizes = {tensor.sizes().begin(), tensor.sizes().end()},
                           .strides = {tensor.strides().begin(), tensor.strides().end()},
                           .alignment = 64};
      };
      const MatrixProgram program = activationProgram(*group, describe(product), describe(result), sizes);
      const auto work = host.device.prepare(program.request());
      const std::array<void*, 2> addresses = {product.data(), result.data()};
      host.device.launch(*host.stream, *work, addresses);
      host.device.synchronize(*host.stream);
      EXPECT_EQ(differenceFromOracle(*alone, oracleInputsOf({product}), {result}), "") << type << " " << name;
    }
  }
}

TEST(CudaProductGroups, WithoutElementsAreNothing) {
  FakeProducts fake;
  const auto work = GroupRequest("relu", "f32").prepare(*fake.device, 0);
  EXPECT_EQ(work->name(), "linear+relu 0x24x16");
  EXPECT_EQ(work->pieceCount(), 0U);
  const auto stream = fake.device->createStream();
  fake.device->launch(*stream, *work, std::array<void*, 3>{});
  fake.device->synchronize(*stream);
}

TEST(CudaProductGroups, AreAskedForOncePerActivation) {
  FakeProducts fake;
  const int64_t before = libraryQuestions();
  const GroupRequest request("relu", "f32");
  const auto one = request.prepare(*fake.device, 8);
  EXPECT_EQ(one->pieceCount(), 1U);
  const auto again = request.prepare(*fake.device, 8);
  EXPECT_EQ(libraryQuestions() - before, 1);
  GroupBench(*fake.device).expectRight("fusion f(T0: f32[8, 16], T1: f32[24, 16]) -> T8 { T8 = linear(T0, T1) }");
  EXPECT_EQ(libraryQuestions() - before, 2);
}

// The fake library has no kernel for f16.
TEST(CudaProductGroups, ThatTheLibraryRefusesArePreparedInPieces) {
  FakeProducts fake;
  try {
    const auto work = GroupRequest("relu", "f16").prepare(*fake.device, 8);
    EXPECT_EQ(work->name(), "linear+relu 8x24x16");
    EXPECT_EQ(work->pieceCount(), 2U);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    GTEST_SKIP() << error.message();
  }
}

}  // namespace
}  // namespace tokamak
