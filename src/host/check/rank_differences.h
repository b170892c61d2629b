// Rank differences: what of a program over ranks differs from rank to rank, found without making what each would run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/check/rank_job.h"
#include "host/ir/host_ir_container.h"

namespace tokamak {

class RankDependence;
struct RankLimits;

/// What a statement communicates when a rank comes to it.
struct RankVisit {
  int32_t statement = 0;  ///< among the program's statements that communicate, in the order of its text
  int32_t team_map = -1;  ///< of collectives
  RankPeer send_to = {};
  RankPeer receive_from = {};
};

/// A program at given sizes, seen by its ranks. Local programs (host/local/local_program.h) are programs of which no
/// rank differs.
/// Thread safety: one thread at a time; it makes scalars in the program.
class RankDifferences {
 public:
  /// `bindings`: of all extents and steering scalars. Both outlive it. Errors: HostProgram, naming tensor and axis, for
  /// shards that are refused.
  RankDifferences(const HostIrContainer& program, const ScalarBindings& bindings, RankLimits limits);
  ~RankDifferences();

  /// The meshes of the program that peers may follow, and all ranks in a row, first.
  const std::vector<RankFrame>& frames() const;

  /// Equal for two ranks only if their steps are the same, up to:
  /// - their teams, and the peers that they compute of their number, which are as far from each in the frame;
  /// - slices whose place is computed of their number: which of them are the same is the same;
  /// - numbers that become elements.
  std::vector<int64_t> signatureOf(int64_t rank, const RankFrame& frame);
  /// What the rank communicates, in order.
  std::vector<RankVisit> visitsOf(int64_t rank, const RankFrame& frame);

  const std::vector<std::vector<int64_t>>& teams() const;
  const std::vector<TeamMap>& teamMaps() const;
  /// What it looks at: it makes scalars in the program.
  RankDependence& dependence() { return *analysis_; }
  /// The statements that communicate, as the program prints; of long lists of ranks the first ones and the last one.
  std::vector<std::string> statements() const;

 private:
  class Walk;
  std::unique_ptr<RankDependence> analysis_;
};

}  // namespace tokamak
