// tokamak measure-links: the figures of a machine, measured, as a file that tokamak simulate takes.
#pragma once

#include <cstdint>
#include <string>

namespace tokamak::tools {

struct MeasureLinksOptions {
  int64_t ranks = 2;
  std::string device = "cpu";
  std::string output = "-";
};

/// Of ranks that are threads of this process, with one thread each: sends between two of them, copies, a product, a
/// function, and launches. Writes the machine file. The exit code: 0.
/// Errors: Usage for less than two ranks and for unknown devices; Unsupported for GPUs, whose links are measured by a
/// transport that is not there; Io.
int measureLinksCommand(const MeasureLinksOptions& options);

}  // namespace tokamak::tools
