// Program files: .fusion texts, host programs and kernels, read from disk.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/ir/host_ir_container.h"
#include "kernel/kernel.h"

namespace tokamak::tools {

/// What a file holds: one of the three is set.
struct ProgramFile {
  std::string path;
  std::string text;
  std::unique_ptr<Fusion> fusion;
  std::unordered_map<const Expr*, size_t> places;  ///< of the fusion's ops in the text
  std::unique_ptr<HostIrContainer> host_program;

  std::unique_ptr<kir::Kernel> kernel;

  Fusion& program() const { return fusion != nullptr ? *fusion : *host_program; }
};

/// All of a file. Errors: Io.
std::string readText(const std::string& path);

/// A host program or a kernel is told by its first token. `ranks`: of the job, for a fusion with mesh(ranks); none or
/// 0: such a text is refused. Errors: Io; Parse and others for what the text says.
ProgramFile readProgramOrKernel(const std::string& path, std::optional<int64_t> ranks = {});
/// The same for commands that take no kernels. Errors: Usage, too, for a kernel.
ProgramFile readProgram(const std::string& path, std::optional<int64_t> ranks = {});

/// Values for named extents from "name=number" texts.
/// Errors: Usage for a text of another form, a name the program does not have, or a negative number.
std::map<std::string, int64_t> readSizes(const Fusion& program, const std::vector<std::string>& texts);

/// What stands before and after the '=' of each text, as of "T0=x.npy". Errors: Usage, naming `option`, for a text of
/// another form and a name that is given twice.
std::map<std::string, std::string> readAssignments(const std::string& option, const std::vector<std::string>& texts);

}  // namespace tokamak::tools
