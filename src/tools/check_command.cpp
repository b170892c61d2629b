#include "tools/check_command.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/require.h"
#include "compile/rank_proof.h"
#include "schedule/shardings_aside.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/lowering_options.h"
#include "tools/pipeline_choice.h"
#include "tools/program_file.h"

namespace tokamak::tools {

namespace {

// Scalar inputs that are not given are 1, as where the command line says nothing of them elsewhere.
ScalarBindings bindingsOf(Fusion& program, const CheckCommandOptions& options) {
  ScalarBindings bindings = givenExtents(program, options.sizes);
  for (Val* input : program.inputs()) {
    if (const Scalar* scalar = asScalar(input)) bindings.emplace(scalar, convertValue(int64_t{1}, scalar->dtype()));
  }
  return bindings;
}

}  // namespace

int checkCommand(const CheckCommandOptions& options) {
  TK_REQUIRE(options.streams > 0, Usage, "--streams {}: it must be at least 1", options.streams);
  ProgramFile file = readProgram(options.file, options.ranks);
  TK_REQUIRE(file.host_program != nullptr || hasShardings(*file.fusion), Usage,
             "check: the fusion of {} has no mesh, so that no ranks have parts of it; give its tensors meshes "
             "(docs/devices.md)",
             options.file);
  const std::optional<StreamTransfers> transfers = transfersFor(file, options.stream_transfers);
  try {
    const RankProofOptions proof_options = {
        .ranks = options.ranks,
        .by = options.each_rank ? RankProofOptions::By::EachRank : RankProofOptions::By::Classes,
        .recording = {.number_of_streams = options.streams, .most_iterations = options.most_iterations}};
    const Machine machine = machineOr(options.machine);
    PipelineOptions pipeline = {
        .ranks = options.ranks, .number_of_streams = options.streams, .most_iterations = options.most_iterations};
    pipeline.lowering.stream_transfers = transfers.value_or(StreamTransfers::None);
    std::unique_ptr<HostIrContainer> program;
    ScalarBindings extents;
    std::optional<ChosenPipeline> chosen;
    const auto extentsOf = [&](HostIrContainer& of) { return bindingsOf(of, options); };
    if (transfers) {
      program =
          file.host_program != nullptr ? std::move(file.host_program) : lowerToRanks(*file.fusion, pipeline.lowering);
      extents = extentsOf(*program);
      chosen = chooseOpenChunks(*program, extents, machine, pipeline);
    } else {
      ChosenTransfers best = chooseTransfers(*file.fusion, extentsOf, machine, pipeline);
      program = std::move(best.program);
      extents = std::move(best.extents);
      chosen = std::move(best.pipeline);
    }
    if (chosen) fmt::print("{}\n", textOf(*chosen, machine));
    if (transfers && !options.stream_transfers.empty()) fmt::print("stream transfers: {}\n", nameOf(*transfers));
    const RankProof proof = proveRanks(*program, extents, proof_options);
    requireProved(proof, options.ranks);
    fmt::print("proved for {} ranks: no races, {} communications belong together, no rank waits in a circle\n",
               options.ranks, proof.communications);
    for (const std::string& warning : proof.warnings) fmt::print("warning: {}\n", warning);
    fmt::print("looked at {} of them, {} steps\n", proof.classes, proof.steps);
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
  return 0;
}

}  // namespace tokamak::tools
