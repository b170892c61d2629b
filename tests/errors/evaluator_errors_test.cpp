// Messages of calls whose tensors do not fit together, and of memory that the host or the program cannot use.
#include <gtest/gtest.h>

#include "error_of.h"
#include "host/ir/text/host_parser.h"
#include "host/plan/recorder.h"
#include "host/run/host_ir_evaluator.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

using Mode = HostIrEvaluatorParams::Mode;

const std::string kIn = "T0_g_float[iS0{i0}, iS1{i2}]";
const std::string kOther = "T1_g_float[iS2{i0}, iS3{i2}]";
const std::string kOut = "T2_g_float[iS4{i0}, iS5{i2}]";
const std::string kRow = "T3_g_float[iS6{i2}]";

std::string program(const std::string& signature, const std::string& body, const std::string& sections = "") {
  return "%HostIrContainer { " + signature + " :\n" + body + "}\n" + sections;
}

class EvaluatorErrors : public testing::TestWithParam<Mode> {
 protected:
  Tensor rows(int64_t i0) const {
    const int64_t sizes[] = {i0, 2};
    const Tensor made = Tensor::emptyOnHost(device_, stream_, DataType::F32, sizes);
    std::fill_n(static_cast<float*>(made.hostData()), made.numel(), 1.0F);
    return made;
  }
  // Inputs first, then the outputs that are defined.
  static std::vector<std::pair<Val*, RunValue>> values(const HostIrContainer& program, std::vector<Tensor> inputs,
                                                       std::vector<Tensor> outputs) {
    std::vector<std::pair<Val*, RunValue>> result;
    for (size_t i = 0; i < inputs.size(); ++i) result.emplace_back(program.inputs()[i], inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].isDefined()) result.emplace_back(program.outputs()[i], outputs[i]);
    }
    return result;
  }
  // The refusal of a call, after which the same evaluator runs with the inputs alone.
  std::string refusal(const std::string& text, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    HostIrEvaluator evaluator(parseHostProgram(text, "test.host_ir"), device_, {.mode = GetParam()});
    const Error error = errorOf([&] { evaluator.runWithInput(values(evaluator.program(), inputs, outputs)); });
    EXPECT_NE(error.code(), ErrorCode::Internal) << error.what();
    std::vector<Tensor> apart = inputs;
    for (Tensor& input : apart) input = rows(3);
    for (const Tensor& output : evaluator.runWithInput(values(evaluator.program(), apart, {}))) output.waitReady();
    return error.message();
  }

  mutable JitCpuDevice device_{{.threads = 1, .poisons_memory = true}};
  std::shared_ptr<Stream> stream_ = device_.createStream();
};

TEST_P(EvaluatorErrors, AnInputThatIsUpdatedInPlaceMayBeWritten) {
  const Tensor mine = rows(3);
  mine.buffer()->forbidWriting();
  const std::string add = program("(" + kIn + ", " + kOther + ") -> (" + kOut + ")",
                                  "  " + kOut + "\n     = " + kIn + "\n     + " + kOther + ";\n",
                                  "Aliases:{\n  " + kOut + " -> " + kIn + "\n}\n");
  EXPECT_EQ(refusal(add, {mine, rows(3)}, {}),
            "input T0: f32[i0, i2] is updated in place, but the given tensor may not be written");
}

TEST_P(EvaluatorErrors, AnInputThatIsUpdatedInPlaceIsGivenOnce) {
  const Tensor both = rows(3);
  const std::string add = program("(" + kIn + ", " + kOther + ") -> (" + kOut + ")",
                                  "  " + kOut + "\n     = " + kIn + "\n     + " + kOther + ";\n",
                                  "Aliases:{\n  " + kOut + " -> " + kIn + "\n}\n");
  EXPECT_EQ(
      refusal(add, {both, both}, {}),
      "input T0: f32[i0, i2] is updated in place, but the tensor given for it overlaps the one given for input T1: "
      "f32[i0, i2]");
}

TEST_P(EvaluatorErrors, OutputsThatAreOneTensorAreGivenOneTensor) {
  const std::string twice =
      program("(" + kIn + ") -> (" + kOther + ", " + kOut + ")",
              "  " + kOther + "\n     = -" + kIn + ";\n  " + kOut + "\n     = " + kOther + "\n     + " + kOther + ";\n",
              "Aliases:{\n  " + kOut + " -> " + kOther + "\n}\n");
  EXPECT_EQ(refusal(twice, {rows(3)}, {rows(3), rows(3)}),
            "outputs T1: f32[i0, i2] and T2: f32[i0, i2] are one tensor by alias, but two were given");
}

// The first row of the input.
const std::string kRowOfInput =
    program("(" + kIn + ") -> (" + kRow + ")", "  " + kRow + " = HirAliasSelect( " + kIn + ", axis = 0, index = 0 )\n");

TEST_P(EvaluatorErrors, AViewIsNotWrittenElsewhere) {
  const int64_t two[] = {2};
  EXPECT_EQ(refusal(kRowOfInput, {rows(3)}, {Tensor::emptyOnHost(device_, stream_, DataType::F32, two)}),
            "output T3: f32[i2] is a view of another tensor, so that it cannot be written into memory of the caller's; "
            "give none for it");
}

INSTANTIATE_TEST_SUITE_P(Modes, EvaluatorErrors, testing::Values(Mode::Plan, Mode::Direct),
                         [](const auto& instance) { return instance.param == Mode::Plan ? "plan" : "direct"; });

// The recorder is a device whose memory the host cannot read.
TEST(MemoryErrors, NameTheKindAndTheDevice) {
  Recorder device(nullptr);
  const int64_t sizes[] = {2, 2};
  const int64_t strides[] = {2, 1};
  float elements[4] = {};
  const auto tensorIn = [&](MemoryKind kind) {
    return Tensor::borrow(device, elements, DataType::F32, sizes, strides, kind);
  };
  EXPECT_EQ(
      errorOf([&] { static_cast<void>(tensorIn(MemoryKind::Device).hostData()); }).message(),
      "host data: a tensor of sizes [2, 2] in device memory of device recorder cannot be read by host code; copy it "
      "first");
  const std::string set = program("(" + kIn + ") -> (" + kOther + ")", "  " + kOther + "\n     = -" + kIn + ";\n");
  HostIrEvaluator evaluator(parseHostProgram(set, "test.host_ir"), device);
  const std::vector<std::pair<Val*, RunValue>> values = {{evaluator.program().inputs()[0], tensorIn(MemoryKind::Host)}};
  EXPECT_EQ(errorOf([&] { evaluator.planFor(values); }).message(),
            "T0: f32[i0, i2] takes device memory, but the given tensor has host");
}

}  // namespace
}  // namespace tokamak
