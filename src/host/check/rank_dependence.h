// Rank dependence: where a program over ranks depends on the rank: its parts, its teams, and what is computed of its
// number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "analysis/shards.h"
#include "host/check/rank_job.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/loop_limit.h"

namespace tokamak {

struct ForLoop;
struct LoadStoreOp;

/// What is looked at.
struct RankLimits {
  int64_t ranks = 1;                          ///< of the job
  int64_t most_iterations = kMostIterations;  ///< of loops around one another; those with more are refused in a run
};

/// Thread safety: one thread at a time; it makes scalars in the program.
class RankDependence {
 public:
  /// As RankDifferences.
  RankDependence(const HostIrContainer& program, const ScalarBindings& bindings, RankLimits limits);

  const HostIrContainer& program() const { return program_; }
  const ScalarBindings& bindings() const { return bindings_; }
  int64_t mostIterations() const { return most_iterations_; }
  /// What stands for the rank's number; null where the program does not mention it.
  const Scalar* rankSymbol() const { return rank_; }
  const std::vector<RankFrame>& frames() const { return frames_; }
  const std::vector<std::vector<int64_t>>& teams() const { return teams_; }
  const std::vector<TeamMap>& teamMaps() const { return team_maps_; }

  /// Whether the rank has (a part of) the tensor.
  bool has(const TensorView& tensor, int64_t rank) const;
  bool isOfRank(const Scalar* scalar);
  /// Whether what the statement does, beside elements, is computed of the rank's number.
  bool mentionsRank(const Expr& expr);
  /// Whether places of slices are computed of the rank: of the tensor, or of what shares its memory.
  bool isRankSliced(const TensorView* tensor) { return rank_sliced_.contains(groupOf(tensor)); }
  /// Whether reshaped views share its memory.
  bool isViewed(const TensorView* tensor) { return viewed_.contains(groupOf(tensor)); }
  /// Whether iterations may differ from rank to rank in more than the first one tells.
  bool isUnrolled(const ForLoop& loop);

  /// Presence and extents of all parts.
  void addPlaces(int64_t rank, std::vector<int64_t>& signature) const;
  /// An axis of a Set's operand that the rank has all of, where it has only a part of the result's.
  struct SlicedAxis {
    int64_t axis = 0;  ///< of the visible shape
    size_t part = 0;
  };
  std::vector<SlicedAxis> slicedBySet(const LoadStoreOp& op) const;
  IndexRange rangeOf(size_t part, int64_t rank) const;

  /// Of a collective: its map.
  int32_t teamMapOf(const Expr& expr) const { return map_of_.at(&expr); }
  /// Of a statement that communicates: which one it is.
  int32_t numberOf(const Expr& expr) const { return number_of_.at(&expr); }
  static bool communicates(const Block& block);
  /// The stream that the statement names; null for others.
  static const StreamVal* streamOf(const Expr& expr);

 private:
  struct Mesh {
    DeviceMesh mesh;
    std::vector<std::vector<int64_t>> coordinates;  // per rank; none where it is not in the mesh
  };
  struct Part {
    size_t mesh = 0;
    size_t dimension = 0;
    std::optional<int64_t> n;
    std::optional<int64_t> chunk;
    bool operator==(const Part&) const = default;
  };

  size_t meshNumber(const DeviceMesh& mesh);
  void addTensor(TensorView* tensor);
  void addStatement(const Expr& expr);
  void addView(const TensorView* out, const TensorView* in, bool is_of_rank);
  // `mesh`: the one whose rows may be teams; null where all have the team that is named.
  template <class TeamOf>
  void addTeamMap(const Expr& expr, const DeviceMesh* mesh, const TeamOf& team_of);
  int32_t teamNumber(const std::vector<int64_t>& team);
  const TensorView* groupOf(const TensorView* tensor) const;
  void unite(const TensorView* a, const TensorView* b);

  const HostIrContainer& program_;
  const ScalarBindings& bindings_;
  const int64_t ranks_;
  const int64_t most_iterations_;
  const Scalar* rank_ = nullptr;
  std::vector<RankFrame> frames_;
  std::vector<std::vector<int64_t>> teams_;
  std::vector<TeamMap> team_maps_;
  std::vector<Mesh> meshes_;
  std::vector<Part> parts_;
  std::map<const TensorView*, size_t> mesh_of_;
  std::map<const TensorView*, std::vector<SlicedAxis>> parts_of_;
  std::map<std::vector<int64_t>, int32_t> number_of_team_;
  std::map<const Expr*, int32_t> map_of_;
  std::map<const Expr*, int32_t> number_of_;
  std::map<const TensorView*, const TensorView*> above_;  // of what shares memory
  std::vector<const TensorView*> rank_sliced_tensors_;
  std::set<const TensorView*> rank_sliced_;
  std::set<const TensorView*> viewed_;
  std::unordered_map<const Scalar*, bool> is_of_rank_;
  std::unordered_map<const Expr*, bool> mentions_rank_;
  std::unordered_map<const ForLoop*, bool> is_unrolled_;
};

}  // namespace tokamak
