// StreamCase: a fusion with a Stream axis, the same program written by hand, and what the lowering must make of both.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {

struct StreamCase {
  std::string name;
  std::string fusion;
  HostText program;
  std::string hoisted;  ///< the top level after lower-streams
  std::string in_loop;
  std::vector<Sizes> sizes = {{}};  ///< to run with; {} are the fusion's own
};

inline std::ostream& operator<<(std::ostream& out, const StreamCase& c) { return out << c.name; }

/// Everything that must work.
const std::vector<StreamCase>& streamCases();

}  // namespace tokamak
