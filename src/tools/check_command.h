// tokamak check: proves that a host program over ranks has no races and that its ranks do not wait for one another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tokamak::tools {

struct CheckCommandOptions {
  std::string file;
  int64_t ranks = 0;
  std::vector<std::string> sizes;
  std::string machine;           ///< a file: whose model chooses numbers of chunks; empty: processors
  std::string stream_transfers;  ///< as of run; empty: none
  int64_t streams = 4;
  int64_t most_iterations = 65'536;
  bool each_rank = false;
};

int checkCommand(const CheckCommandOptions& options);

}  // namespace tokamak::tools
