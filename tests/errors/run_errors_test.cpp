// Messages of bindings, statements and devices that a verified program does not get to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "base/trace.h"
#include "compile/multi_device_executor.h"
#include "define/structured.h"
#include "error_of.h"
#include "host/ir/text/host_parser.h"
#include "host/plan/recorder.h"
#include "ir/text/fusion_parser.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

std::unique_ptr<Fusion> parse(const std::string& text) { return parseFusion(text, "f.fusion"); }

const TensorView& firstInput(const Fusion& fusion) { return *asTensor(fusion.inputs()[0]); }

TEST(BindErrors, NameTensorAxisAndWhatCame) {
  const auto dense = parse("fusion f(T0: f32[n, 8]) -> T1 {\n  T1 = set(T0)\n}\n");
  const auto expanded = parse("fusion f(T0: f32[n, 1 ex 4]) -> T1 {\n  T1 = set(T0)\n}\n");
  const auto ordered = parse("fusion f(T0: f32[n, m] strided stride_order(0, 1)) -> T1 {\n  T1 = set(T0)\n}\n");
  ScalarBindings bindings;
  EXPECT_THAT(errorOf([&] { bindShape(firstInput(*dense), std::vector<int64_t>{-1, 8}, bindings); }).message(),
              HasSubstr("the size of axis 0 is -1; sizes cannot be negative"));
  const auto layout = [&](const Fusion& fusion, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    return errorOf([&] { requireLayout(firstInput(fusion), sizes, strides, bindings); }).message();
  };
  EXPECT_THAT(layout(*dense, {2, 7}, {7, 1}), HasSubstr("axis 1 must have size 8 (8), but has 7"));
  EXPECT_THAT(layout(*expanded, {2, 4}, {4, 1}),
              HasSubstr("axis 1 is an expanded broadcast axis; its stride must be 0, not 1"));
  EXPECT_THAT(layout(*ordered, {2, 3}, {3, 1}), HasSubstr("is smaller than the declared stride order allows"));
  EXPECT_THAT(errorOf([] { spanOf(std::vector<int64_t>{INT64_MAX}, std::vector<int64_t>{2}); }).message(),
              HasSubstr("does not fit 63 bits"));
}

// Runs statements over a recorder, without the verifier that an evaluator puts before them.
std::string messageOfRunning(const std::string& statements, const std::string& after = "") {
  const std::string text = "%HostIrContainer { (T0_g_float[iS0{4}, iS1{8}]) -> (T1_g_float[iS2{4}, iS3{8}]) :\n" +
                           statements + "} // %HostIrContainer\n" + after;
  const auto program = parseHostProgram(text, "p.host_ir");
  Recorder recorder(nullptr);
  RunStreams streams(recorder, 4);
  WorkCache works;
  StatementRunner runner(*program, recorder, recorder.callerStream(), streams, works);
  RunTensor input;
  input.sizes = {4, 8};
  input.strides = {8, 1};
  input.address = recorder.registerBuffer({.origin = StepBuffer::Origin::Input, .bytes = 128, .name = "T0"});
  runner.bind(asTensor(program->inputs()[0]), input);
  return errorOf([&] { runner.run(); }).message();
}

TEST(StatementErrors, NameTheStatementAndWhatIsLegal) {
  EXPECT_THAT(messageOfRunning(
                  "  T2_l_float[iS4{8}]\n     = HirAliasSelect( T0_g_float[iS0{4}, iS1{8}], axis = 7, index = 0 )\n"),
              HasSubstr("Select axis 7 is out of bounds for tensor T0: f32[4, 8] with 2 dimensions"));
  EXPECT_THAT(messageOfRunning("  SetCurrentStream to Stream 5\n"),
              HasSubstr("a stream is used before GetCurrentStream gave it"));
  EXPECT_THAT(
      messageOfRunning(
          "  T1_g_float[iS2{4}, iS3{8}] = ALLOCATE(buffer=T1_g_float[iS2{4}, iS3{8}], mem_type=global, size=32, "
          "zero_init=false, resets_to_zero=false)\n  DEALLOCATE(buffer=T1_g_float[iS2{4}, iS3{8}])\n"
          "  T1_g_float[iS2{4}, iS3{8}]\n     = Set( T0_g_float[iS0{4}, iS1{8}], cache_op=Streaming )\n"),
      HasSubstr("is read after its Deallocate"));
  EXPECT_THAT(messageOfRunning("  Wait Communication 3\n"), HasSubstr("Wait Communication 3: it was never posted"));
  EXPECT_THAT(
      messageOfRunning(
          "  T2_g_float[iS4{8}] = ALLOCATE(buffer=T2_g_float[iS4{8}], mem_type=global, size=8, zero_init=false, "
          "resets_to_zero=false)\n  DEALLOCATE(buffer=T9_g_float[iS5{8}])\n"),
      HasSubstr("must be precomputed before being retrieved"));
}

TEST(ExecutorErrors, CountInputsAndOutputs) {
  const auto fusion = parse("fusion f(T0: f32[n]) -> T1 {\n  T1 = set(T0)\n}\n");
  JitCpuDevice device;
  MultiDeviceExecutor executor(*fusion, device);
  EXPECT_EQ(errorOf([&] { executor.runWithInput({}); }).message(), "f: takes 1 inputs, 0 were given");
  const std::shared_ptr<Stream> stream = device.createStream();
  const Tensor tensor = Tensor::emptyOnHost(device, stream, DataType::F32, std::vector<int64_t>{4});
  const RunValue inputs[] = {tensor};
  const Tensor outputs[] = {tensor, tensor};
  EXPECT_EQ(errorOf([&] { executor.runWithInput(inputs, outputs); }).message(),
            "f: gives 1 outputs, storage for 2 was given");
}

TEST(DeviceErrors, SayWhatWasAskedFor) {
  JitCpuDevice device;
  EXPECT_THAT(errorOf([&] { Buffer::allocate(device, nullptr, 8, MemoryKind::Host); }).message(),
              HasSubstr("8 bytes were asked for without a stream"));
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto buffer = Buffer::allocate(device, stream, 64, MemoryKind::Host);
  EXPECT_THAT(
      errorOf([&] { Tensor(buffer, 0, DataType::F32, std::vector<int64_t>{2, 2}, std::vector<int64_t>{1}); }).message(),
      HasSubstr("one stride per axis is legal"));
  EXPECT_THAT(errorOf([] { Timeline().write("/nonexistent-folder/t.json"); }).message(),
              HasSubstr("cannot be written"));
  EXPECT_THAT(errorOf([] { BlockPool(0); }).message(), HasSubstr("legal are 1 to 4096"));
  Recorder recorder(nullptr);
  EXPECT_THAT(errorOf([&] { recorder.copy(recorder.callerStream(), nullptr, nullptr, 0); }).message(),
              HasSubstr("recording: a raw copy is not part of a host program that is planned"));
  HostIrContainer program;
  HostIrContainer other;
  TensorView* mine = program.tensor(DataType::F32, Axes{});
  TensorView* theirs = other.tensor(DataType::F32, Axes{});
  EXPECT_THAT(errorOf([&] { program.markAlias(mine, theirs); }).message(), HasSubstr("must belong to the container"));
  EXPECT_THAT(errorOf([&] { program.markView(theirs, mine); }).message(), HasSubstr("must belong to the container"));
  TensorView* source = program.tensor(DataType::F32, Axes{});
  program.markView(source, mine);
  EXPECT_THAT(errorOf([&] { program.markView(source, mine); }).message(), HasSubstr("already is a view of"));
}

}  // namespace
}  // namespace tokamak
