// Rank proof: that a host program over ranks has no races, and that its ranks communicate what belongs together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/lower_fusion.h"
#include "host/check/rank_finding.h"
#include "host/ir/host_ir_container.h"
#include "host/run/rank_recording.h"

namespace tokamak {

struct RankProofOptions {
  enum class By : uint8_t {
    Classes,   ///< one rank of those that do the same up to their number
    EachRank,  ///< all, one by one: what Classes is compared with
  };
  int64_t ranks = 2;
  By by = By::Classes;
  HostLoweringOptions lowering = {};  ///< of each rank's program
  RankRecordingOptions recording = {};
  int64_t limit = 100;  ///< of findings
};

struct RankProof {
  std::vector<RankFinding> findings;  ///< none: it is proved
  std::vector<std::string> warnings;  ///< what is proved, and may not be what was meant: sums of rounded terms
  int64_t classes = 0;                ///< of ranks
  int64_t communications = 0;         ///< that all ranks post; each side of a transfer counts
  int64_t steps = 0;                  ///< of one rank of each class
};

/// Proves the program for the ranks of a job, at these sizes, without running or connecting any of them: the races of
/// each rank's steps (host/check/checker.h), and what ranks post for one another (host/check/rank_checker.h).
/// `bindings`: of all extents of inputs, and of scalar inputs.
/// Errors: Usage for a number of ranks; those of localProgram() and of the passes, with the rank; Bind for sizes that
/// do not fit. What a rank's run would raise later is a finding.
/// Thread safety: one thread at a time per program: it makes scalars in it.
RankProof proveRanks(const HostIrContainer& program, const ScalarBindings& bindings, const RankProofOptions& options);

/// The same for local programs, finished, one per rank. Their inputs have constant sizes. Errors: those of
/// verifyHostProgram(), with the rank.
RankProof proveLocalPrograms(std::span<const std::unique_ptr<HostIrContainer>> locals, const RankProofOptions& options);

/// Errors: Race, with the number of findings and the first ten of them, where there are any.
void requireProved(const RankProof& proof, int64_t ranks);

}  // namespace tokamak
