#include <algorithm>
#include <deque>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/library_version.h"
#include "base/require.h"
#include "base/text.h"
#include "base/usable_processors.h"
#include "compile/exported_contents.h"
#include "compile/exported_file.h"
#include "compile/exported_program.h"
#include "compile/interface_names.h"
#include "compile/multi_device_executor.h"
#include "device/gpu_architecture.h"
#include "ir/clone.h"
#include "jit/exported_images.h"

namespace tokamak {

namespace {

struct TargetName {
  std::string name;
  TargetKind kind = TargetKind::Cpu;
};

// One target's part of the file, with what its views are of.
struct TargetContents {
  std::vector<std::string> symbols;
  std::string host_program;
  std::string launches;
  std::vector<std::string> kernels;
  std::vector<DataType> index_types;
  CompiledImages compiled;
};

TargetContents makeContents(const Fusion& fusion, const TargetName& named, const ExportOptions& options) {
  const bool is_gpu = named.kind == TargetKind::Cuda;
  const KernelTarget target = is_gpu ? gpuTarget(named.name, "export: the GPU")
                                     : cpuTarget(options.threads > 0 ? options.threads : usableProcessors());
  ExportedContents collected = collectContents(fusion, target, options);
  TargetContents contents;
  for (const ExportedCode& code : collected.codes) {
    contents.kernels.push_back(kir::printKernel(code.kernel));
    contents.index_types.push_back(is_gpu ? code.index_type : DataType::I64);
  }
  contents.compiled =
      is_gpu ? compileForGpu(collected.codes, named.name) : compileForProcessor(collected.codes, named.name);
  contents.launches = printLaunches(collected.launches);
  contents.host_program = std::move(collected.host_program);
  contents.symbols = std::move(collected.symbols);
  return contents;
}

// Schedules of kernels that do not know an extent may be impossible where those for constants are not.
TargetContents contentsFor(const Fusion& fusion, const TargetName& named, const ExportOptions& options) {
  try {
    return makeContents(fusion, named, options);
  } catch (const Error& error) {
    std::vector<std::string> ranges;
    for (const auto& [name, extent] : options.sizes)
      if (extent.isRange()) ranges.push_back(name);
    if (error.code() != ErrorCode::Schedule || ranges.empty()) throw;
    TK_RAISE(Unsupported, "export: no kernel takes all sizes of {}; list sizes instead of a range: {}",
             joined(ranges, " and "), error.message());
  }
}

void requireTargetName(const TargetName& target) {
  constexpr size_t kLongest = 40;
  const std::string& name = target.name;
  const auto isLegal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '+' || c == '.';
  };
  const bool is_legal =
      !name.empty() && name.size() <= kLongest && name[0] != '.' && std::ranges::all_of(name, isLegal);
  const std::string_view what = target.kind == TargetKind::Cpu
                                    ? "no name of a processor; native, x86-64-v3 and other names of -march are legal"
                                    : "no name of a GPU; sm_ and a compute capability, such as sm_90a, is legal";
  TK_REQUIRE(is_legal, Usage, "export: '{}' is {}", name, what);
}

std::vector<TargetName> targetsOf(const ExportOptions& options) {
  std::vector<TargetName> targets;
  for (const std::string& name : options.processors) targets.push_back({name, TargetKind::Cpu});
  for (const std::string& name : options.gpus) targets.push_back({name, TargetKind::Cuda});
  TK_REQUIRE(!targets.empty(), Usage, "export: neither a processor nor a GPU is named that the code is for");
  std::set<std::string> known;
  for (const TargetName& target : targets) {
    requireTargetName(target);
    TK_REQUIRE(known.insert(target.name).second, Usage, "export: {} is named twice", target.name);
  }
  return targets;
}

}  // namespace

std::string exportProgram(const Fusion& fusion, const ExportOptions& options, std::vector<ExportReport>* report) {
  requireExportSizes(options.sizes);
  const std::vector<TargetName> targets = targetsOf(options);
  TK_REQUIRE(options.threads >= 0, Usage, "export: {} threads were asked for; 0 means as many as processors here",
             options.threads);
  const std::unique_ptr<Fusion> own = cloneFusion(fusion);
  ExportedFile file{.version = libraryVersion(), .names = interfaceNamesOf(*own), .sizes = options.sizes};
  const MultiDeviceExecutor::Outputs outputs = MultiDeviceExecutor::outputsOf(*own);
  file.given = outputs.given;
  file.in_place = outputs.in_place;
  std::deque<TargetContents> contents;
  for (const TargetName& named : targets) {
    TargetContents& made = contents.emplace_back(contentsFor(*own, named, options));
    ExportedTarget target{.name = named.name, .kind = named.kind, .needs = made.compiled.needs};
    target.symbols = made.symbols;
    target.host_program = made.host_program;
    target.launches = made.launches;
    target.kernels.assign(made.kernels.begin(), made.kernels.end());
    target.images.assign(made.compiled.images.begin(), made.compiled.images.end());
    target.index_types = made.index_types;
    file.targets.push_back(std::move(target));
    if (report == nullptr) continue;
    int64_t bytes = 0;
    for (const std::string& image : made.compiled.images) bytes += static_cast<int64_t>(image.size());
    report->push_back({.target = named.name,
                       .kernels = static_cast<int64_t>(made.kernels.size()),
                       .launches = std::ranges::count(made.launches, '{'),
                       .code_bytes = bytes});
  }
  return writeExportedFile(file);
}

}  // namespace tokamak
