#include "dist/team_streams.h"

#include "base/require.h"
#include "base/text.h"
#include "dist/communication_request.h"

namespace tokamak {

TeamStreams::TeamStreams(std::span<const int64_t> ranks, int64_t rank, std::shared_ptr<Device> device)
    : ranks_(ranks.begin(), ranks.end()),
      rank_(rank),
      device_(std::move(device)),
      collectives_(device_->createStream()) {}

Stream& TeamStreams::ofTransfers(P2pType type, int64_t peer) {
  TK_REQUIRE(peer != rank_ && positionOf(ranks_, peer) >= 0, Usage,
             "team ({}): rank {} has no stream to {} rank {}; it takes another rank of the team", joined(ranks_, " "),
             rank_, enumName(type), peer);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Stream>& stream = transfers_[{type, peer}];
  if (stream == nullptr) stream = device_->createStream();
  return *stream;
}

void TeamStreams::drain() {
  const auto waitFor = [&](Stream& stream) {
    const std::unique_ptr<Event> end = device_->createEvent();
    device_->record(*end, stream);
    device_->waitDone(*end);
  };
  waitFor(*collectives_);
  const std::lock_guard lock(mutex_);
  for (const auto& [peer, stream] : transfers_) waitFor(*stream);
}

}  // namespace tokamak
