#include "tools/opt_command.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "compile/lower_fusion.h"
#include "graph/fusion_passes.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/verifier.h"
#include "host/lower/host_passes.h"
#include "ir/text/fusion_printer.h"
#include "ir/verifier.h"
#include "kernel/verify_kernel.h"
#include "lower/pipeline.h"
#include "tools/error_place.h"
#include "tools/program_file.h"

namespace tokamak::tools {

namespace {

constexpr std::string_view kLowering = "lower-to-host";
constexpr std::string_view kLoweringSegments = "lower-to-host-segments";

std::string print(const ProgramFile& file) {
  if (file.kernel != nullptr) return kir::printKernel(*file.kernel);
  return file.fusion != nullptr ? printFusion(*file.fusion) : printHostProgram(*file.host_program);
}

std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

bool isPass(std::string_view name) {
  return name == kLowering || name == kLoweringSegments ||
         std::ranges::find(fusionPasses(), name, &FusionPass::name) != fusionPasses().end() ||
         findHostPass(name) != nullptr || findKernelPass(name) != nullptr;
}

void applyPass(ProgramFile& file, const std::string& name) {
  if (const KernelPass* pass = findKernelPass(name)) {
    TK_REQUIRE(file.kernel != nullptr, Usage, "--passes {}: it works on kernels, and this is none", name);
    *file.kernel = runKernelPass(*pass, std::move(*file.kernel));
    return;
  }
  TK_REQUIRE(file.kernel == nullptr || !isPass(name), Usage, "--passes {}: it works on programs, and this is a kernel",
             name);
  if (name == kLowering || name == kLoweringSegments) {
    TK_REQUIRE(file.fusion != nullptr, Usage, "--passes {}: the program already is a host program", name);
    file.host_program =
        makeHostProgram(*file.fusion, {.grouping = name == kLowering ? Grouping::Single : Grouping::Segments});
    file.fusion.reset();
    return;
  }
  const auto fusion_pass = std::ranges::find(fusionPasses(), name, &FusionPass::name);
  if (fusion_pass != fusionPasses().end()) {
    TK_REQUIRE(file.fusion != nullptr, Usage, "--passes {}: it works on fusions; put it before {}", name, kLowering);
    file.fusion = fusion_pass->run(*file.fusion);
    return;
  }
  const HostPass* pass = findHostPass(name);
  TK_REQUIRE(pass != nullptr, Usage, "--passes {}: there is no such pass; --list-passes tells them", name);
  TK_REQUIRE(file.host_program != nullptr, Usage, "--passes {}: it works on host programs; put {} before it", name,
             kLowering);
  pass->run(*file.host_program);
}

void verifyProgram(const ProgramFile& file) {
  if (file.kernel != nullptr)
    kir::verifyKernel(*file.kernel);
  else if (file.fusion != nullptr)
    verify(*file.fusion, Stage::Scheduled);
  else
    verifyHostProgram(*file.host_program, HostStage::Written);
}

void listPasses() {
  for (const FusionPass& pass : fusionPasses()) fmt::print("{:<24} {}\n", pass.name, pass.sentence);
  fmt::print("{:<24} clones a fusion's ops into a host program, each op alone\n", kLowering);
  fmt::print("{:<24} the same, ops that need not stand alone merged into segments\n", kLoweringSegments);
  for (const HostPass& pass : hostPasses()) fmt::print("{:<24} {}\n", pass.name, pass.sentence);
  for (const KernelPass& pass : kernelPasses()) fmt::print("{:<24} {}\n", pass.name, pass.sentence);
}

// The pass that tells its reasons. Errors: Usage if there is no last one, or it has none.
const FusionPass& passToExplain(const std::vector<std::string>& passes) {
  const auto found =
      passes.empty() ? fusionPasses().end() : std::ranges::find(fusionPasses(), passes.back(), &FusionPass::name);
  TK_REQUIRE(found != fusionPasses().end() && found->explain != nullptr, Usage,
             "--explain: it is for a last pass that gives schedule commands, such as propagate-shardings; {} none",
             passes.empty() ? "--passes has" : passes.back() + " gives");
  return *found;
}

void applyPasses(ProgramFile& file, const OptOptions& options) {
  const std::vector<std::string> passes = splitList(options.passes);
  const FusionPass* explained = options.explain ? &passToExplain(passes) : nullptr;
  std::string explanation;
  std::string before = print(file);
  if (options.verify_each || file.host_program != nullptr) verifyProgram(file);
  for (size_t i = 0; i < passes.size(); ++i) {
    const std::string& name = passes[i];
    const bool is_explained = explained != nullptr && i + 1 == passes.size() && file.fusion != nullptr;
    if (is_explained) explanation = explained->explain(*file.fusion);
    applyPass(file, name);
    if (options.verify_each) {
      const auto note = [&] { return "after pass " + name; };
      const ErrorNote scope(note);
      verifyProgram(file);
    }
    const std::string after = print(file);
    const bool is_wanted = options.dump_after == "all" || options.dump_after == name ||
                           (options.dump_after == "changed" && after != before);
    if (is_wanted) fmt::print("// after {}\n{}", name, after);
    before = after;
  }
  fmt::print("{}", explained != nullptr ? explanation : before);
}

}  // namespace

std::vector<std::string> passNames() {
  std::vector<std::string> names;
  for (const FusionPass& pass : fusionPasses()) names.emplace_back(pass.name);
  names.emplace_back(kLowering);
  names.emplace_back(kLoweringSegments);
  for (const HostPass& pass : hostPasses()) names.emplace_back(pass.name);
  for (const KernelPass& pass : kernelPasses()) names.emplace_back(pass.name);
  return names;
}

int optCommand(const OptOptions& options) {
  if (options.list_passes) {
    listPasses();
    return 0;
  }
  TK_REQUIRE(!options.file.empty(), Usage, "opt: a FILE is needed, or --list-passes");
  const std::string& dump = options.dump_after;
  TK_REQUIRE(dump.empty() || dump == "all" || dump == "changed" || isPass(dump), Usage,
             "--dump-after {}: it must be all, changed or a pass; --list-passes tells them", dump);
  const std::vector<std::string> passes = splitList(options.passes);
  TK_REQUIRE(dump.empty() || dump == "changed" || std::ranges::find(passes, dump) != passes.end() ||
                 (dump == "all" && !passes.empty()),
             Usage, "--dump-after {}: it has no effect, as --passes {}; name such a pass", dump,
             passes.empty() ? "has none" : "has no such pass");
  ProgramFile file = readProgramOrKernel(options.file, options.ranks);
  try {
    if (file.kernel != nullptr) kir::verifyKernel(*file.kernel, ErrorCode::Definition);
    applyPasses(file, options);
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
  return 0;
}

}  // namespace tokamak::tools
