// Pipeline choice: what the model chooses for a command where its user says nothing, and how that is told.
#pragma once

#include <optional>
#include <string>

#include "compile/choose_pipeline.h"

namespace tokamak::tools {

/// The machine of a file, or processors (simulate/processor_machine.h) where `path` is empty. Errors: readMachine()'s.
Machine machineOr(const std::string& path);

/// Gives the numbers of chunks that are open (openChunkNumbers()) values by the model, into `extents`, by symbols of
/// `program`. Nothing where none is. Errors: those of choosePipeline().
std::optional<ChosenPipeline> chooseOpenChunks(const HostIrContainer& program, ScalarBindings& extents,
                                               const Machine& machine, const PipelineOptions& options);

/// "chosen: chunks = 4, by copy, 1564.3 us on H200 host", and a line per transport with all that was predicted:
/// "  by copy: 1: 1700.1 us, 2: 1600.0 us"; of several numbers "2/1: 1500.0 us".
std::string textOf(const ChosenPipeline& chosen, const Machine& machine);

}  // namespace tokamak::tools
