// tokamak opt: applies passes to a program and prints it; without passes, the canonical form of a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tokamak::tools {

struct OptOptions {
  std::string file;
  std::string passes;
  std::string dump_after;
  int64_t ranks = 0;  ///< of the job, for a text with mesh(ranks)
  bool list_passes = false;
  bool verify_each = false;
  bool explain = false;  ///< print what the last pass was given, with its schedule commands and reasons
};

int optCommand(const OptOptions& options);

/// The passes that --passes takes, in the order in which --list-passes tells them.
std::vector<std::string> passNames();

}  // namespace tokamak::tools
