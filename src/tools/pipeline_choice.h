// Pipeline choice: what the model chooses for a command where its user says nothing, and how that is told.
#pragma once

#include <optional>
#include <string>

#include "compile/choose_pipeline.h"
#include "tools/program_file.h"

namespace tokamak::tools {

/// The machine of a file, or processors (simulate/processor_machine.h) where `path` is empty. Errors: readMachine()'s.
Machine machineOr(const std::string& path);

/// The value of --stream-transfers, as of streamTransfersNamed(), for a program of `file`; "" is none. Errors: Usage
/// for another word, and for a host program and a fusion of one device, on which they have no effect.
std::optional<StreamTransfers> transfersFor(const ProgramFile& file, const std::string& text);

/// Gives the numbers of chunks that are open (openChunkNumbers()) values by the model, into `extents`, by symbols of
/// `program`. Nothing where none is. Errors: those of choosePipeline().
std::optional<ChosenPipeline> chooseOpenChunks(const HostIrContainer& program, ScalarBindings& extents,
                                               const Machine& machine, const PipelineOptions& options);

/// "chosen: chunks = 4, by copy, 1564.3 us on H200 host", and a line per transport with all that was predicted:
/// "  by copy: 1: 1700.1 us, 2: 1600.0 us"; of several numbers "2/1: 1500.0 us". Transfers in loops are named behind
/// the transport, "by copy, ring transfers", and so is their lack where some were tried.
std::string textOf(const ChosenPipeline& chosen, const Machine& machine);

}  // namespace tokamak::tools
