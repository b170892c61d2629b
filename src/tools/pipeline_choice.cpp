#include "tools/pipeline_choice.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "schedule/shardings_aside.h"
#include "simulate/processor_machine.h"
#include "tools/lowering_options.h"
#include "tools/machine_file.h"

namespace tokamak::tools {

Machine machineOr(const std::string& path) { return path.empty() ? processorMachine() : readMachine(path); }

std::optional<StreamTransfers> transfersFor(const ProgramFile& file, const std::string& text) {
  if (text.empty()) return StreamTransfers::None;
  TK_REQUIRE(file.host_program == nullptr, Usage,
             "--stream-transfers: {} is a host program, which says itself what is sent; leave it out", file.path);
  TK_REQUIRE(hasShardings(*file.fusion), Usage,
             "--stream-transfers: the fusion of {} has no mesh, so that one device has all parts; leave it out",
             file.path);
  return streamTransfersNamed(text);
}

std::optional<ChosenPipeline> chooseOpenChunks(const HostIrContainer& program, ScalarBindings& extents,
                                               const Machine& machine, const PipelineOptions& options) {
  const std::vector<const Scalar*> open = openChunkNumbers(program, extents);
  if (open.empty()) return std::nullopt;
  ChosenPipeline chosen = choosePipeline(program, extents, machine, options);
  for (const Scalar* symbol : open) extents[symbol] = chosen.best.chunks.at(symbol->name());
  return chosen;
}

std::string textOf(const ChosenPipeline& chosen, const Machine& machine) {
  const std::string chunks = toString(chosen.best.chunks);
  const bool has_transfers = std::ranges::any_of(
      chosen.trials, [](const PipelineTrial& trial) { return trial.transfers != StreamTransfers::None; });
  const auto wayOf = [&](const PipelineTrial& trial) {
    return has_transfers ? fmt::format("{}, {} transfers", trial.transport,
                                       trial.transfers == StreamTransfers::None ? "no" : nameOf(trial.transfers))
                         : trial.transport;
  };
  std::string text = fmt::format("chosen: {}{}by {}, {:.1f} us on {}", chunks, chunks.empty() ? "" : ", ",
                                 wayOf(chosen.best), chosen.best.seconds * 1e6, machine.name);
  std::string way;
  for (const PipelineTrial& trial : chosen.trials) {
    std::vector<std::string> numbers;
    for (const auto& [name, number] : trial.chunks) numbers.push_back(std::to_string(number));
    const std::string own = wayOf(trial);
    text += own == way ? ", " : fmt::format("\n  by {}: ", own);
    text += fmt::format("{}{}{:.1f} us", joined(numbers, "/"), numbers.empty() ? "" : ": ", trial.seconds * 1e6);
    way = own;
  }
  return text;
}

}  // namespace tokamak::tools
