// tokamak report: one HTML page with all that is known of a program and of a run of it on the processor.
#pragma once

#include <string>
#include <vector>

namespace tokamak::tools {

struct ReportOptions {
  std::string file;
  std::string output;
  std::vector<std::string> sizes;   ///< "i0=4"
  std::vector<std::string> inputs;  ///< "T0=x.npy"
  uint64_t seed = 0;
  int64_t streams = 4;
};

/// The exit code: 0. Errors are raised.
int reportCommand(const ReportOptions& options);

}  // namespace tokamak::tools
