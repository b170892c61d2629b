// Random programs, exported for drawn sizes and ranges, and loaded again: they give the reference's results, with the
// kernels of the file alone.
#include <iostream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "compile/exported_contents.h"
#include "compile/exported_file.h"
#include "compile/load_executor.h"
#include "device/kernel_target.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/random.h"
#include "generator/run_case.h"
#include "ir/text/fusion_printer.h"
#include "jit/jit_device.h"
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

ExportedContents contentsOf(const Fusion& fusion, const ScalarBindings& sizes, const KernelTarget& target,
                            Random& random, Extents& extents, ExportTally& tally) {
  extents = drawExtents(fusion, sizes, random, true);
  try {
    ExportedContents contents = collectContents(fusion, target, {.sizes = extents});
    ++tally.with_ranges;
    return contents;
  } catch (const Error& error) {
    // An extent that has to be a constant, or to be as large as another one.
    const bool is_about_sizes = error.code() == ErrorCode::Unsupported || error.code() == ErrorCode::Bind ||
                                error.code() == ErrorCode::HostProgram;
    if (!is_about_sizes) throw;
  }
  extents = drawExtents(fusion, sizes, random, false);
  return collectContents(fusion, target, {.sizes = extents});
}

std::string fileOf(const Fusion& fusion, const Extents& extents, const ExportedContents& contents,
                   const KernelTarget& target) {
  std::vector<std::string> kernels;
  for (const ExportedCode& code : contents.codes) kernels.push_back(kir::printKernel(code.kernel));
  const std::string launches = printLaunches(contents.launches);
  ExportedTarget part{.name = "none", .kind = target.kind, .needs = ""};
  part.host_program = contents.host_program;
  part.symbols = contents.symbols;
  part.launches = launches;
  part.kernels.assign(kernels.begin(), kernels.end());
  part.images.assign(kernels.size(), {});
  for (const ExportedCode& code : contents.codes) part.index_types.push_back(code.index_type);
  ExportedFile file{.version = "test", .names = interfaceNamesOf(fusion), .sizes = extents};
  const MultiDeviceExecutor::Outputs outputs = MultiDeviceExecutor::outputsOf(fusion);
  file.given = outputs.given;
  file.in_place = outputs.in_place;
  file.targets.push_back(part);
  return writeExportedFile(file);
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

void expectLoadedProgramsAgree(const std::function<KernelTarget(uint64_t seed)>& targetOf) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1) + 12000000;
  const uint64_t programs = fromEnvironment("TOKAMAK_EXPORTED_PROGRAMS", 1000);
  ExportTally tally;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 256});
    const auto fusion = build(program);
    const std::vector<InputData> data = drawData(program, seed);
    const oracle::Reference reference(*fusion, toOracle(data));
    Random random(seed * 0x9e3779b97f4a7c15ULL + 5);
    Extents extents;
    ++tally.programs;
    try {
      const KernelTarget target = targetOf(seed);
      const ExportedContents contents = contentsOf(*fusion, reference.exact().bindings, target, random, extents, tally);
      tally.launches += std::ssize(contents.launches);
      const auto executor = loadExecutor(fileOf(*fusion, extents, contents, target), "random.tk", device, {});
      BoundInputs inputs(data, device);
      const std::string problem = problemOf(reference, executor->runWithInput(inputs.values()));
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

// TOKAMAK_EXPORTED_PROGRAMS raises the number.
TEST(ExportedPrograms, OfProcessorsGiveTheReferencesResultsWhenLoaded) {
  expectLoadedProgramsAgree([](uint64_t seed) { return cpuTarget(1 + static_cast<int64_t>(seed % 4)); });
}

TEST(ExportedPrograms, OfGpusGiveTheReferencesResultsWhenLoaded) {
  expectLoadedProgramsAgree([](uint64_t) { return hopperTarget(); });
}

}  // namespace
}  // namespace tokamak
