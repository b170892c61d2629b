// Kernel texts: what cannot be read is refused at its place; the kernels of the examples round-trip.
#include "kernel/parse_kernel.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "compile/lower_fusion.h"
#include "define/callables.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/text/fusion_parser.h"
#include "jit/kernel_collector.h"
#include "kernel/verify_kernel.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

struct WrongText {
  std::string_view text;
  std::string_view message;
};

// Bodies of a kernel with T0, T1 of f32, n and f0; line 2 is the first of the body.
constexpr WrongText kWrongBodies[] = {
    {"T1[0] = T0[k]", "k:2:12: unknown scalar 'k'; expected the name of an extent or of a scalar input"},
    {"T1[0] = T5[0]", "k:2:9: unknown tensor 'T5'; expected a parameter or one that was allocated before"},
    {"T1[0] = t5", "k:2:9: unknown value 't5'; expected one that a let before has named"},
    {"T1[0] = t5(T0[0])", "k:2:9: unknown function 't5'; expected choose, a type or an elementwise function"},
    {"T1[0] = add(T0[0])", "k:2:9: 'add' is given 1 operands; expected 2"},
    {"T1[0] = bitwise_and(T0[0], T0[0])", "k:2:9: 'bitwise_and' is not defined on f32"},
    {"T1[0] = T0[0 .. +2]", "k:2:9: several elements are no value; expected one element of a tensor"},
    {"T1[0] = {", "k:2:9: unexpected '{'; expected a value: a number, a name, T<number>[...] or a call"},
    {"T1[0 .. +2] = T0[0]", "k:2:15: 2 elements are moved to the left side; expected as many on the right"},
    {"T1[0 .. 2] = T0[0]", "k:2:9: unexpected '2'; expected '+'"},
    {"x = 3",
     "k:2:1: unexpected 'x'; expected a statement: for, if, let, reduce, barrier, arrive, wait, async, commit, a "
     "tensor T<number>, or '}'"},
    {"async T1[0] = T0[0]", "k:2:7: one element is stored; expected a copy of several, T1[i .. +n]"},
    {"commit cluster", "k:2:8: unexpected 'cluster'; expected 'copies'"},
    {"wait copies but all", "k:2:17: unexpected 'all'; expected how many groups of copies may be under way"},
    {"for T3 in 0..4 {}", "k:2:5: 'T3' cannot name an index; expected a name that means nothing else"},
    {"for k in 0..4 Unrolled {}", "k:2:15: unexpected 'Unrolled'; expected Unroll, Vectorize or '{'"},
    {"for k in 0 4 {}", "k:2:12: unexpected '4'; expected '.'"},
    {"let f32: f32 = 0.0", "k:2:5: 'f32' cannot name a value; expected a name that means nothing else"},
    {"let t0: f31 = 0.0", "k:2:9: unknown type 'f31'; expected f64, f32, f16, bf16, i32, i64 or bool"},
    {"reduce mean T1[0] over TIDx", "k:2:8: unexpected 'mean'; expected sum, prod, max or min"},
    {"reduce sum T1[0] over all", "k:2:23: unexpected 'all'; expected CIDx, BIDx, ... or TIDx, ..."},
    {"T2: f32[4] global", "k:2:12: unexpected 'global'; expected 'local' or 'shared'"},
    {"T0: f32[4] local", "k:2:1: 'T0' is there already with another type or memory; expected another number"},
    {"T2: f32[-4] local", "k:2:9: axis: the extent -4 is negative"},
    {"reduce sum 4", "k:2:12: unexpected '4'; expected a tensor T<number>"},
    {"reduce sum n[0]", "k:2:12: unexpected 'n'; expected a tensor T<number>"},
};

constexpr WrongText kWrongTexts[] = {
    {"fusion k() {}", "k:1:1: unexpected 'fusion'; expected 'kernel'"},
    {"kernel 3() {}", "k:1:8: unexpected '3'; expected the name of the kernel"},
    {"kernel k(T0: f32[], T0: f32[]) {}", "k:1:21: 'T0' is there already; expected another number"},
    {"kernel k(3) {}", "k:1:10: unexpected '3'; expected a tensor T<number> or the name of a symbol"},
    {"kernel k(none: i64) {}", "k:1:10: 'none' cannot name a symbol; expected a name that means nothing else"},
    {"kernel k(T0: f32[n:1], n: f32) {}", "k:1:18: an extent or stride is of type f32; expected an integer"},
    {"kernel k(n: i64, n: f32) {}", "k:1:13: 'n' has the type f32 already; expected one type per symbol"},
    {"kernel k(T0: f32[-4:1]) {}", "k:1:18: axis: the extent -4 is negative"},
    {"kernel k() BIDw in 4 {}", "k:1:12: unexpected 'BIDw'; expected CIDx, BIDx, BIDy, BIDz, TIDx, TIDy, TIDz or '{'"},
    {"kernel k() align x {}", "k:1:18: unexpected 'x'; expected the alignment of the buffers in bytes"},
    {"kernel k() {} kernel", "k:1:15: unexpected 'kernel'; expected the end of the text"},
    {"kernel k() {", "unexpected end of the text"},
    {"kernel k(", "unexpected end of the text"},
};

void expectRefused(const std::string& text, std::string_view message) {
  try {
    kir::parseKernel(text, "k");
    ADD_FAILURE() << "nothing was raised: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Parse) << text;
    EXPECT_THAT(error.message(), HasSubstr(std::string(message))) << text;
  }
}

TEST(ParseKernel, RefusesWrongTextsAtTheirPlace) {
  for (const WrongText& wrong : kWrongTexts) expectRefused(std::string(wrong.text), wrong.message);
  for (const WrongText& wrong : kWrongBodies)
    expectRefused(
        "kernel k(T0: f32[n:1], n: i64, f0: f32) -> T1: f32[n:1] TIDx in 32 {\n" + std::string(wrong.text) + "\n}\n",
        wrong.message);
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "if true {";
  expectRefused("kernel k() {" + deep, "nested too deeply; expected at most 200 levels");
  deep.clear();
  for (int i = 0; i < 1000; ++i) deep += "neg(";
  expectRefused("kernel k(T0: f32[]) {T0[0] = " + deep, "nested too deeply; expected at most 200 levels");
}

TEST(ParseKernel, TensorsHaveWhatTheTextSays) {
  const kir::Kernel kernel = kir::parseKernel(
      "kernel k(T7: bf16[n:s, 1:0, m:0], n: i64, s: i64, m: i64) -> T9: f32[] align 8 BIDx in n {\n"
      "  T3: i32[n] shared\n}\n",
      "k");
  ASSERT_EQ(kernel.tensors.size(), 2U);
  const TensorView& input = *kernel.tensors[0];
  EXPECT_EQ(input.label(), 7);
  EXPECT_EQ(input.dtype(), DataType::BF16);
  EXPECT_EQ(input.memoryType(), MemoryType::Global);
  EXPECT_TRUE(kernel.fusion->isInput(&input));
  EXPECT_TRUE(kernel.fusion->isOutput(kernel.tensors[1]));
  EXPECT_EQ(kernel.strides.at(&input)[0], kernel.symbols[1]);
  EXPECT_TRUE(input.logical()[1]->isBroadcast());
  EXPECT_EQ(input.logical()[2]->expandedExtent(), kernel.symbols[2]);
  EXPECT_EQ(kernel.alignment, 8);
  const auto& allocate = std::get<kir::Allocate>(kernel.body[0]->node);
  EXPECT_EQ(allocate.tensor->memoryType(), MemoryType::Shared);
  EXPECT_EQ(allocate.tensor->dtype(), DataType::I32);
  EXPECT_EQ(allocate.size, kernel.symbols[0]);
}

// --- the examples ---

std::string readText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expectRoundTrips(const kir::Kernel& kernel, int64_t& count) {
  const std::string text = kir::printKernel(kernel);
  const kir::Kernel parsed = kir::parseKernel(text, "kernel");
  EXPECT_EQ(kir::printKernel(parsed), text);
  for (const Violation& violation : kir::violationsOf(parsed))
    ADD_FAILURE() << violation.invariant << ": " << violation.message << "\n" << text;
  ++count;
}

// All kernels that a device would be given.
void forEachKernelOf(const Fusion& fusion, const KernelTarget& target,
                     const std::function<void(const PreparedKernel&)>& take) {
  KernelCollector device(target, take);
  const std::shared_ptr<Stream> stream = device.createStream();
  std::unique_ptr<HostIrContainer> program =
      lowerToHostProgram(fusion, {.grouping = Grouping::Fused, .target = target});
  ScalarBindings bindings;
  for (const auto& [symbol, size] : fusion.defaultSizes()) bindings[symbol] = size;
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < fusion.inputs().size(); ++i) {
    Val* input = program->inputs()[i];
    if (const TensorView* tensor = asTensor(fusion.inputs()[i]))
      values.emplace_back(
          input, Tensor::empty(device, stream, tensor->dtype(), sizesOf(*tensor, bindings), MemoryKind::Device));
    else
      values.emplace_back(input, convertValue(int64_t{1}, input->dtype()));
  }
  for (Scalar* symbol : program->allSymbols()) {
    for (const auto& [known, value] : bindings) {
      if (known->name() == symbol->name() && !symbol->name().empty() && !program->isInput(symbol))
        values.emplace_back(symbol, value);
    }
  }
  HostIrEvaluator(std::move(program), device, {.segments = SegmentMode::Kernels}).planFor(values);
}

TEST(ParseKernel, KernelsOfTheExamplesRoundTrip) {
  const std::filesystem::path suite = std::filesystem::path(TOKAMAK_TEST_DIR) / ".." / "examples" / "suite";
  int64_t programs = 0;
  int64_t kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(suite)) {
    if (entry.path().extension() != ".fusion") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::unique_ptr<Fusion> fusion =
        parseFusion(readText(entry.path()), entry.path().filename().string(),
                    {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
    for (const KernelTarget& target : {cpuTarget(), hopperTarget()})
      forEachKernelOf(*fusion, target,
                      [&](const PreparedKernel& prepared) { expectRoundTrips(prepared.kernel, kernels); });
    ++programs;
  }
  EXPECT_GE(programs, 40);
  EXPECT_GE(kernels, 2 * programs);
}

}  // namespace
}  // namespace tokamak
