#include <algorithm>
#include <deque>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/library_version.h"
#include "base/require.h"
#include "compile/exported_contents.h"
#include "compile/exported_file.h"
#include "compile/exported_program.h"
#include "compile/interface_names.h"
#include "compile/multi_device_executor.h"
#include "ir/clone.h"
#include "jit/exported_images.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

// One target's part of the file, with what its views are of.
struct TargetContents {
  std::vector<std::string> symbols;
  std::string host_program;
  std::string launches;
  std::vector<std::string> kernels;
  CompiledImages compiled;
};

TargetContents contentsFor(const Fusion& fusion, const std::string& processor, const ExportOptions& options) {
  const KernelTarget target = cpuTarget(options.threads > 0 ? options.threads : usableProcessors());
  ExportedContents collected = collectContents(fusion, target, options);
  TargetContents contents;
  for (const ExportedCode& code : collected.codes) contents.kernels.push_back(kir::printKernel(code.kernel));
  contents.compiled = compileForProcessor(collected.codes, processor);
  contents.launches = printLaunches(collected.launches);
  contents.host_program = std::move(collected.host_program);
  contents.symbols = std::move(collected.symbols);
  return contents;
}

void requireProcessorName(const std::string& name) {
  constexpr size_t kLongest = 40;
  const auto isLegal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '+' || c == '.';
  };
  TK_REQUIRE(!name.empty() && name.size() <= kLongest && name[0] != '.' && std::ranges::all_of(name, isLegal), Usage,
             "export: '{}' is no name of a processor; native, x86-64-v3 and other names of -march are legal", name);
}

}  // namespace

std::string exportProgram(const Fusion& fusion, const ExportOptions& options, std::vector<ExportReport>* report) {
  requireExportSizes(options.sizes);
  TK_REQUIRE(!options.processors.empty(), Usage, "export: no processor is named that the code is for");
  const std::unique_ptr<Fusion> own = cloneFusion(fusion);
  ExportedFile file{.version = libraryVersion(), .names = interfaceNamesOf(*own), .sizes = options.sizes};
  const MultiDeviceExecutor::Outputs outputs = MultiDeviceExecutor::outputsOf(*own);
  file.given = outputs.given;
  file.in_place = outputs.in_place;
  std::deque<TargetContents> contents;
  std::set<std::string> known;
  for (const std::string& processor : options.processors) {
    requireProcessorName(processor);
    TK_REQUIRE(known.insert(processor).second, Usage, "export: the processor {} is named twice", processor);
    TargetContents& made = contents.emplace_back(contentsFor(*own, processor, options));
    ExportedTarget target{.name = processor, .kind = TargetKind::Cpu, .needs = made.compiled.needs};
    target.symbols = made.symbols;
    target.host_program = made.host_program;
    target.launches = made.launches;
    target.kernels.assign(made.kernels.begin(), made.kernels.end());
    target.images.assign(made.compiled.images.begin(), made.compiled.images.end());
    target.index_types.assign(made.kernels.size(), DataType::I64);
    file.targets.push_back(std::move(target));
    if (report == nullptr) continue;
    int64_t bytes = 0;
    for (const std::string& image : made.compiled.images) bytes += static_cast<int64_t>(image.size());
    report->push_back({.target = processor,
                       .kernels = static_cast<int64_t>(made.kernels.size()),
                       .launches = std::ranges::count(made.launches, '{'),
                       .code_bytes = bytes});
  }
  return writeExportedFile(file);
}

}  // namespace tokamak
