// RankJob: what all ranks of a job communicate, by classes of ranks that do the same up to their number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/check/posted_works.h"

namespace tokamak {

/// The places of ranks along the dimensions of a mesh, modulo their extents: what stands two further for one rank does
/// so for another, too.
class RankFrame {
 public:
  RankFrame() = default;
  /// `devices`: each rank once, row-major in `shape`; of a job of `ranks` ranks.
  RankFrame(std::span<const int64_t> devices, std::span<const int64_t> shape, int64_t ranks);

  /// How much further `to` stands than `from`, as one number; -1 if one of them is not in the frame.
  int64_t offset(int64_t from, int64_t to) const;
  /// The rank that stands so much further than `from`, which is in the frame.
  int64_t at(int64_t from, int64_t offset) const;

 private:
  std::vector<int64_t> devices_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> place_of_rank_;  // -1: not in the frame
};

/// Which team each rank has where it makes a collective: a number of RankJob::teams, or -1.
using TeamMap = std::vector<int32_t>;

/// Ranks that post the same works in the same order, each in its teams and to its peers.
struct RankClass {
  std::vector<int64_t> ranks;  ///< ascending
  int64_t recorded = 0;        ///< the one whose requests `works` has
  std::shared_ptr<const PostedWorks> works;
  std::shared_ptr<const std::vector<std::string>> statements;  ///< those that communicate, as they print
};

struct RankJob {
  int64_t ranks = 1;
  RankFrame frame;
  std::vector<std::vector<int64_t>> teams;  ///< each list of ranks once
  std::vector<TeamMap> team_maps;
  std::vector<RankClass> classes;

  int64_t peerOf(int64_t rank, RankPeer peer) const;
  /// The team of a collective on a rank of its class. Null where it has none.
  const std::vector<int64_t>* teamOf(int64_t rank, const PostedRequest& posted) const;
  /// The request as a rank of the class makes it.
  CommunicationRequest requestOf(const RankClass& of, const PostedRequest& posted, int64_t rank) const;
};

/// Each rank is a class of its own, with the works of its class.
RankJob expanded(const RankJob& job);

}  // namespace tokamak
