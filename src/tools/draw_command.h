// tokamak draw: pictures of a program, as SVG files.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tokamak::tools {

struct DrawOptions {
  std::string file;
  std::vector<std::string> pictures;  ///< "fusion=f.svg"
  std::vector<std::string> sizes;     ///< "i0=4"
  std::string grouping = "fused";
  int64_t streams = 4;
  std::set<std::string> written;
};

/// What can be drawn: fusion, segments, host, plan, memory.
std::vector<std::string> pictureNames();

/// Draws, and runs nothing. The exit code: 0. Errors are raised.
int drawCommand(const DrawOptions& options);

}  // namespace tokamak::tools
