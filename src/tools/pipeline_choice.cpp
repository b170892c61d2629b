#include "tools/pipeline_choice.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "simulate/processor_machine.h"
#include "tools/machine_file.h"

namespace tokamak::tools {

Machine machineOr(const std::string& path) { return path.empty() ? processorMachine() : readMachine(path); }

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
  std::string text = fmt::format("chosen: {}{}by {}, {:.1f} us on {}", chunks, chunks.empty() ? "" : ", ",
                                 chosen.best.transport, chosen.best.seconds * 1e6, machine.name);
  std::string transport;
  for (const PipelineTrial& trial : chosen.trials) {
    std::vector<std::string> numbers;
    for (const auto& [name, number] : trial.chunks) numbers.push_back(std::to_string(number));
    text += trial.transport == transport ? ", " : fmt::format("\n  by {}: ", trial.transport);
    text += fmt::format("{}{}{:.1f} us", joined(numbers, "/"), numbers.empty() ? "" : ": ", trial.seconds * 1e6);
    transport = trial.transport;
  }
  return text;
}

}  // namespace tokamak::tools
