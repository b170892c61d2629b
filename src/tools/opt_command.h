// tokamak opt: applies passes to a program and prints it; without passes, the canonical form of a text.
#pragma once

#include <string>

namespace tokamak::tools {

struct OptOptions {
  std::string file;
  std::string passes;
  std::string dump_after;
  bool list_passes = false;
  bool verify_each = false;
};

int optCommand(const OptOptions& options);

}  // namespace tokamak::tools
