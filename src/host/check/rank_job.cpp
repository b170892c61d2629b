#include "host/check/rank_job.h"

#include <utility>

namespace tokamak {

RankFrame::RankFrame(std::span<const int64_t> devices, std::span<const int64_t> shape, int64_t ranks)
    : devices_(devices.begin(), devices.end()),
      shape_(shape.begin(), shape.end()),
      place_of_rank_(static_cast<size_t>(ranks), -1) {
  for (size_t place = 0; place < devices_.size(); ++place) {
    if (0 <= devices_[place] && devices_[place] < ranks)
      place_of_rank_[static_cast<size_t>(devices_[place])] = static_cast<int64_t>(place);
  }
}

int64_t RankFrame::offset(int64_t from, int64_t to) const {
  const auto ranks = static_cast<int64_t>(place_of_rank_.size());
  if (from < 0 || from >= ranks || to < 0 || to >= ranks) return -1;
  int64_t a = place_of_rank_[static_cast<size_t>(from)];
  int64_t b = place_of_rank_[static_cast<size_t>(to)];
  if (a < 0 || b < 0) return -1;
  int64_t offset = 0;
  int64_t stride = 1;
  for (size_t i = shape_.size(); i-- > 0;) {
    const int64_t extent = shape_[i];
    offset += (b % extent - a % extent + extent) % extent * stride;
    stride *= extent;
    a /= extent;
    b /= extent;
  }
  return offset;
}

int64_t RankFrame::at(int64_t from, int64_t offset) const {
  int64_t place = place_of_rank_[static_cast<size_t>(from)];
  int64_t to = 0;
  int64_t stride = 1;
  for (size_t i = shape_.size(); i-- > 0;) {
    const int64_t extent = shape_[i];
    to += (place % extent + offset % extent) % extent * stride;
    stride *= extent;
    place /= extent;
    offset /= extent;
  }
  return devices_[static_cast<size_t>(to)];
}

int64_t RankJob::peerOf(int64_t rank, RankPeer peer) const {
  if (peer.form == RankPeer::Form::None) return -1;
  return peer.form == RankPeer::Form::Relative ? frame.at(rank, peer.value) : peer.value;
}

const std::vector<int64_t>* RankJob::teamOf(int64_t rank, const PostedRequest& posted) const {
  if (posted.team < 0) return nullptr;
  const int32_t team = team_maps[static_cast<size_t>(posted.team)][static_cast<size_t>(rank)];
  return team < 0 ? nullptr : &teams[static_cast<size_t>(team)];
}

CommunicationRequest RankJob::requestOf(const RankClass& of, const PostedRequest& posted, int64_t rank) const {
  CommunicationRequest request = posted.request;
  if (rank == of.recorded) return request;
  request.send_to = peerOf(rank, posted.send_to);
  request.receive_from = peerOf(rank, posted.receive_from);
  if (request.root < 0) return request;
  const int64_t position = positionOf(*teamOf(of.recorded, posted), request.root);
  request.root = (*teamOf(rank, posted))[static_cast<size_t>(position)];
  return request;
}

RankJob expanded(const RankJob& job) {
  RankJob each = job;
  each.classes.clear();
  for (const RankClass& of : job.classes) {
    for (const int64_t rank : of.ranks) {
      RankClass own = of;
      own.ranks = {rank};
      each.classes.push_back(std::move(own));
    }
  }
  return each;
}

}  // namespace tokamak
