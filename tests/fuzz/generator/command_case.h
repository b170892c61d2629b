// Cases of random schedule commands: a random program, a schedule that the heuristics chose or none, commands with
// random arguments on top of it. Whatever they are, each is refused by a sentence that names the step and a tensor, or
// what they lead to is right.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tokamak::generator {

struct CommandTally {
  int64_t sequences = 0;
  int64_t illegal = 0;  ///< sequences with a refused command, or that give no kernel
  int64_t commands = 0;
  int64_t refused_commands = 0;
  int64_t refused_kernels = 0;
  int64_t kernels = 0;   ///< that were run and compared
  int64_t meetings = 0;  ///< kernels with barriers
  int64_t meetings_in_loops = 0;
  /// How often messages of one form, without names, numbers and shapes, were seen.
  std::map<std::string, int64_t> sentences = {};
};

/// What is wrong with the case of a seed, or nothing. A program that cannot be one kernel is no case.
std::string findCommandProblem(uint64_t seed, CommandTally& tally);

}  // namespace tokamak::generator
