// Posted works: what one rank communicates, and in which order its works start, of the steps that it would run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/communication_request.h"
#include "host/check/step_list.h"

namespace tokamak {

/// The rank that is meant by a peer, for each rank that a list of works stands for.
struct RankPeer {
  enum class Form : uint8_t {
    None,
    Absolute,  ///< the rank `value`
    Relative,  ///< the rank that stands `value` further in the frame (RankFrame)
  };
  Form form = Form::None;
  int64_t value = 0;
  bool operator==(const RankPeer&) const = default;
};

/// One communication of a work.
struct PostedRequest {
  CommunicationRequest request;  ///< as the recorded rank makes it
  int32_t team = -1;             ///< of collectives: which rank has which team (RankJob::team_maps); -1: a transfer
  RankPeer send_to = {};         ///< of Send and CollectivePermute
  RankPeer receive_from = {};    ///< of Recv and CollectivePermute
  int32_t statement = -1;        ///< which of the statements that communicate it comes from
};

/// What is launched as one.
struct PostedWork {
  std::vector<PostedRequest> requests;
  int32_t point = -1;  ///< where it starts
  int64_t step = 0;
};

/// A moment in the order of a rank's works. A work starts when `first` is over; a join (no work) is over when both are.
struct RankPoint {
  int32_t work = -1;
  int32_t first = -1;   ///< an earlier point, or -1
  int32_t second = -1;  ///< of joins
};

/// Two transfers between the same ranks that nothing orders: their works.
struct UnorderedTransfers {
  int32_t first = 0;
  int32_t second = 0;
};

struct PostedWorks {
  std::vector<PostedWork> works;  ///< in the order in which they were launched
  std::vector<RankPoint> points;
  std::vector<UnorderedTransfers> unordered;
};

/// The team's requests of a work that communicates; nothing of others.
using RequestsOf = std::function<std::span<const CommunicationRequest>(const Work& work)>;

/// The works of a list that has the form of a program (requireForm()). Works of one stream start one after the other;
/// edges are those of the checker. Linear in the steps. Transfers of groups and those posted alone, to one rank, have
/// to be ordered: they are numbered together.
PostedWorks postedWorks(const StepList& list, const RequestsOf& requests_of);

}  // namespace tokamak
