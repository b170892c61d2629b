// Random programs, exported for drawn sizes and ranges, and loaded again: they give the reference's results, with the
// kernels of the file alone.
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "compile/exported_contents.h"
#include "compile/exported_file.h"
#include "compile/load_executor.h"
#include "device/kernel_target.h"
#include "device/tensor_copies.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/random.h"
#include "generator/run_case.h"
#include "ir/text/fusion_printer.h"
#include "jit/exported_images.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "oracle/reference.h"

namespace tokamak {
namespace {

using namespace generator;

using Extents = std::map<std::string, ExportedExtent>;

// Of the symbols that inputs tell: the value that the data has, alone, beside another one, or within a range.
Extents drawExtents(const Fusion& fusion, const ScalarBindings& sizes, Random& random, bool has_ranges) {
  Extents extents;
  for (Val* input : fusion.inputs()) {
    const TensorView* tensor = asTensor(input);
    if (tensor == nullptr) continue;
    for (const IterDomain* axis : shapeOf(*tensor)) {
      const Scalar* symbol = axis->visibleExtent();
      if (!symbol->isSymbol() || extents.contains(symbol->name())) continue;
      const int64_t size = asInt(sizes.at(symbol));
      const int64_t least = random.chance(50) ? 0 : random.between(0, size);
      const int64_t most = size + random.between(0, 40);
      if ((has_ranges && random.chance(60)) || size == 0)
        extents.emplace(symbol->name(), ExportedExtent::range(least, has_ranges ? most : size));
      else if (has_ranges && random.chance(20))
        extents.emplace(symbol->name(), ExportedExtent{size + 1, size});
      else
        extents.emplace(symbol->name(), ExportedExtent{size});
    }
  }
  return extents;
}

struct ExportTally {
  int64_t programs = 0;
  int64_t with_ranges = 0;
  int64_t launches = 0;
  int64_t elements = 0;
};

// The bytes of a file for these sizes, with how many launches it has.
using Export =
    std::function<std::string(const Fusion& fusion, const Extents& extents, uint64_t seed, int64_t& launches)>;

std::string exportAtDrawnSizes(const Fusion& fusion, const ScalarBindings& sizes, uint64_t seed, const Export& make,
                               Extents& extents, ExportTally& tally) {
  Random random(seed * 0x9e3779b97f4a7c15ULL + 5);
  extents = drawExtents(fusion, sizes, random, true);
  try {
    std::string bytes = make(fusion, extents, seed, tally.launches);
    ++tally.with_ranges;
    return bytes;
  } catch (const Error& error) {
    // An extent that has to be a constant, or to be as large as another one.
    const bool is_about_sizes = error.code() == ErrorCode::Unsupported || error.code() == ErrorCode::Bind ||
                                error.code() == ErrorCode::HostProgram;
    if (!is_about_sizes) throw;
  }
  extents = drawExtents(fusion, sizes, random, false);
  return make(fusion, extents, seed, tally.launches);
}

std::string fileOf(const Fusion& fusion, const Extents& extents, const ExportedContents& contents,
                   const KernelTarget& target, const CompiledImages& compiled) {
  std::vector<std::string> kernels;
  for (const ExportedCode& code : contents.codes) kernels.push_back(kir::printKernel(code.kernel));
  const std::string launches = printLaunches(contents.launches);
  ExportedTarget part{.name = "only", .kind = target.kind, .needs = compiled.needs};
  part.host_program = contents.host_program;
  part.symbols = contents.symbols;
  part.launches = launches;
  part.kernels.assign(kernels.begin(), kernels.end());
  part.images.assign(compiled.images.begin(), compiled.images.end());
  for (const ExportedCode& code : contents.codes) part.index_types.push_back(code.index_type);
  ExportedFile file{.version = "test", .names = interfaceNamesOf(fusion), .sizes = extents};
  const MultiDeviceExecutor::Outputs outputs = MultiDeviceExecutor::outputsOf(fusion);
  file.given = outputs.given;
  file.in_place = outputs.in_place;
  file.targets.push_back(part);
  return writeExportedFile(file);
}

// For the interpreter: kernels without code.
Export withoutCode(std::function<KernelTarget(uint64_t seed)> targetOf) {
  return
      [targetOf = std::move(targetOf)](const Fusion& fusion, const Extents& extents, uint64_t seed, int64_t& launches) {
        const KernelTarget target = targetOf(seed);
        const ExportedContents contents = collectContents(fusion, target, {.sizes = extents});
        launches += std::ssize(contents.launches);
        return fileOf(fusion, extents, contents, target, {.images = std::vector<std::string>(contents.codes.size())});
      };
}

std::string problemOf(const oracle::Reference& reference, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(outputs[i].hostDataToRead());
    const oracle::Comparison comparison =
        reference.compare(i, {outputs[i].dtype(), outputs[i].sizes(), outputs[i].strides(), data});
    if (!comparison.isOk()) return fmt::format("output {}: {}", i, oracle::toString(comparison));
  }
  return {};
}

void expectLoadedProgramsAgree(Device& device, uint64_t programs, const Export& make) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1) + 12000000;
  const std::shared_ptr<Stream> stream = device.createStream();
  ExportTally tally;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 256});
    const auto fusion = build(program);
    const std::vector<InputData> data = drawData(program, seed);
    const oracle::Reference reference(*fusion, toOracle(data));
    Extents extents;
    ++tally.programs;
    try {
      const std::string bytes = exportAtDrawnSizes(*fusion, reference.exact().bindings, seed, make, extents, tally);
      const auto executor = loadExecutor(bytes, "random.tk", device, {});
      BoundInputs inputs(data, device, stream);
      std::vector<Tensor> outputs = executor->runWithInput(inputs.values());
      for (Tensor& output : outputs) output = toHost(output, stream);
      const std::string problem = problemOf(reference, outputs);
      ASSERT_EQ(problem, "") << "seed " << seed << ", exported for " << textOf(extents) << "\n" << printFusion(*fusion);
      for (const oracle::OracleTensor& output : reference.exact().outputs) tally.elements += output.count();
    } catch (const Error& error) {
      FAIL() << "seed " << seed << ", exported for " << textOf(extents) << ": " << error.what() << "\n"
             << printFusion(*fusion);
    }
  }
  std::cout << tally.programs << " programs, " << tally.with_ranges << " with ranges, " << tally.launches
            << " launches in their files, " << tally.elements << " elements\n";
  EXPECT_GT(tally.with_ranges, tally.programs / 3);
}

void expectInterpretedProgramsAgree(std::function<KernelTarget(uint64_t seed)> targetOf) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  expectLoadedProgramsAgree(device, fromEnvironment("TOKAMAK_EXPORTED_PROGRAMS", 300),
                            withoutCode(std::move(targetOf)));
}

// TOKAMAK_EXPORTED_PROGRAMS raises the number.
TEST(ExportedPrograms, OfProcessorsGiveTheReferencesResultsWhenLoaded) {
  expectInterpretedProgramsAgree([](uint64_t seed) { return cpuTarget(1 + static_cast<int64_t>(seed % 4)); });
}

TEST(ExportedPrograms, OfGpusGiveTheReferencesResultsWhenLoaded) {
  expectInterpretedProgramsAgree([](uint64_t) { return hopperTarget(); });
}

// A device that makes no kernels. TOKAMAK_GPU_PROGRAMS raises the number.
TEST(ExportedPrograms, GiveTheReferencesResultsOnTheGpu) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  CudaDevice device(0, {.poisons_memory = true});
  const Export make = [&](const Fusion& fusion, const Extents& extents, uint64_t, int64_t& launches) {
    const ExportedContents contents = collectContents(fusion, device.kernelTarget(), {.sizes = extents});
    launches += std::ssize(contents.launches);
    const CompiledImages compiled = compileForGpu(contents.codes, device.properties().architecture);
    return fileOf(fusion, extents, contents, device.kernelTarget(), compiled);
  };
  expectLoadedProgramsAgree(device, fromEnvironment("TOKAMAK_GPU_PROGRAMS", 25), make);
}

}  // namespace
}  // namespace tokamak
