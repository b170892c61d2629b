#include "dist/mpi/mpi_transfers.h"

#include <algorithm>

#include "dist/mpi/mpi_functions.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

constexpr int64_t kBytesPerPiece = int64_t{1} << 20U;  // of a share: what is reduced while the next piece arrives
constexpr int64_t kMostPieces = 64;

struct Range {
  int64_t begin = 0;  // bytes
  int64_t bytes = 0;
};

int64_t pieceOf(int64_t bytes) {
  const int64_t piece = std::max(kBytesPerPiece, (bytes + kMostPieces - 1) / kMostPieces);
  return std::min((piece + 63) / 64 * 64, MpiFunctions::kMostBytes);
}

template <class Visit>
void forEachPiece(const Range& range, int64_t piece, const Visit& visit) {
  for (int64_t done = 0; done < range.bytes; done += piece)
    visit(Range{.begin = range.begin + done, .bytes = std::min(piece, range.bytes - done)});
}

class Builder {
 public:
  Builder(const CommunicationRequest& request, std::span<const int64_t> team, size_t position)
      : request_(request),
        team_(team),
        own_(position),
        size_(sizeOf(request.dtype)),
        offsets_(operandsOf(request, team, team[position]).offsets) {}

  Transfers build() {
    switch (request_.kind) {
      case Kind::Gather: gather(); break;
      case Kind::Scatter: scatter(); break;
      case Kind::Allgather: allgather(); break;
      case Kind::AllToAll: allToAll(); break;
      case Kind::Broadcast:
      case Kind::SendRecv: fromRoot(); break;
      case Kind::CollectivePermute: permute(); break;
      case Kind::Send: send(positionOf(request_.send_to), whole()); break;
      case Kind::Recv: receive(positionOf(request_.receive_from), whole()); break;
      case Kind::Reduce:
      case Kind::Allreduce:
      case Kind::ReduceScatter: reduce(); break;
    }
    return std::move(made_);
  }

 private:
  size_t members() const { return team_.size(); }
  size_t positionOf(int64_t rank) const { return static_cast<size_t>(tokamak::positionOf(team_, rank)); }
  bool isRoot() const { return team_[own_] == request_.root; }
  Range whole() const { return {.begin = 0, .bytes = request_.counts[0] * size_}; }
  Range part(size_t member) const {
    return {.begin = offsets_[member] * size_, .bytes = (offsets_[member + 1] - offsets_[member]) * size_};
  }

  void send(size_t member, const Range& from) {
    forEachPiece(from, MpiFunctions::kMostBytes, [&](const Range& piece) {
      made_.sends.push_back({member, TransferMemory::Input, piece.begin, piece.bytes});
    });
  }
  void receive(size_t member, const Range& to) {
    forEachPiece(to, MpiFunctions::kMostBytes, [&](const Range& piece) {
      made_.receives.push_back({member, TransferMemory::Output, piece.begin, piece.bytes});
    });
  }
  void copy(const Range& from, int64_t to) {
    if (from.bytes > 0) made_.copies.push_back({.from = from.begin, .to = to, .bytes = from.bytes});
  }

  // Each begins with the one behind it, so that not all send to the first at once.
  template <class Visit>
  void forEachOther(const Visit& visit) const {
    for (size_t i = 1; i < members(); ++i) visit((own_ + i) % members());
  }

  void gather() {
    const Range own = {.begin = 0, .bytes = part(own_).bytes};
    if (!isRoot()) return send(positionOf(request_.root), own);
    copy(own, part(own_).begin);
    forEachOther([&](size_t other) { receive(other, part(other)); });
  }

  void scatter() {
    const Range own = {.begin = 0, .bytes = part(own_).bytes};
    if (!isRoot()) return receive(positionOf(request_.root), own);
    copy(part(own_), 0);
    forEachOther([&](size_t other) { send(other, part(other)); });
  }

  void allgather() {
    const Range own = {.begin = 0, .bytes = part(own_).bytes};
    copy(own, part(own_).begin);
    forEachOther([&](size_t other) {
      send(other, own);
      receive(other, part(other));
    });
  }

  void allToAll() {
    int64_t begin = 0;
    std::vector<Range> sent;
    for (const int64_t count : request_.counts) {
      sent.push_back({.begin = begin, .bytes = count * size_});
      begin += count * size_;
    }
    copy(sent[own_], part(own_).begin);
    forEachOther([&](size_t other) {
      send(other, sent[other]);
      receive(other, part(other));
    });
  }

  void fromRoot() {
    if (!isRoot()) return receive(positionOf(request_.root), whole());
    // The root of a Broadcast may do without an output: the copy is left out then.
    if (request_.kind == Kind::Broadcast || members() == 1) copy(whole(), 0);
    forEachOther([&](size_t other) { send(other, whole()); });
  }

  void permute() {
    const int64_t received = request_.received.empty() ? request_.counts[0] : request_.received[0];
    const size_t to = positionOf(request_.send_to);
    const size_t from = positionOf(request_.receive_from);
    if (to == own_)
      copy(whole(), 0);
    else
      send(to, whole());
    if (from != own_) receive(from, {.begin = 0, .bytes = received * size_});
  }

  // The members' shares of an Allreduce or Reduce lie in the result as in the terms; that of a ReduceScatter is all
  // that its member gets.
  void reduce() {
    const Range own = part(own_);
    forEachOther([&](size_t other) {
      forEachPiece(part(other), pieceOf(part(other).bytes), [&](const Range& piece) {
        made_.sends.push_back({other, TransferMemory::Input, piece.begin, piece.bytes});
      });
    });
    const bool is_result_here = request_.kind != Kind::Reduce || isRoot();
    const int64_t results = is_result_here ? 0 : own.bytes;  // in scratch memory, before the terms
    made_.scratch_bytes = results + static_cast<int64_t>(members() - 1) * own.bytes;
    forEachPiece(own, pieceOf(own.bytes), [&](const Range& piece) {
      const int64_t done = piece.begin - own.begin;
      ReductionStep step = {.count = piece.bytes / size_, .own_term = piece.begin, .terms = {}};
      step.terms.resize(members());
      forEachOther([&](size_t other) {
        const auto slot = static_cast<int64_t>(other < own_ ? other : other - 1);
        step.terms[other] = results + slot * own.bytes + done;
        made_.receives.push_back({other, TransferMemory::Scratch, step.terms[other], piece.bytes});
      });
      step.receives = made_.receives.size();
      step.result_memory = is_result_here ? TransferMemory::Output : TransferMemory::Scratch;
      step.result =
          request_.kind == Kind::Allreduce || (request_.kind == Kind::Reduce && isRoot()) ? piece.begin : done;
      sendResult(step, piece.bytes);
      step.result_sends = made_.result_sends.size();
      made_.steps.push_back(std::move(step));
    });
    receiveResults();
  }

  void sendResult(const ReductionStep& step, int64_t bytes) {
    const auto sendTo = [&](size_t member) {
      made_.result_sends.push_back({member, step.result_memory, step.result, bytes});
    };
    if (request_.kind == Kind::Allreduce) forEachOther(sendTo);
    if (request_.kind == Kind::Reduce && !isRoot()) sendTo(positionOf(request_.root));
  }

  void receiveResults() {
    if (request_.kind == Kind::ReduceScatter || (request_.kind == Kind::Reduce && !isRoot())) return;
    forEachOther([&](size_t other) {
      forEachPiece(part(other), pieceOf(part(other).bytes), [&](const Range& piece) {
        made_.result_receives.push_back({other, TransferMemory::Output, piece.begin, piece.bytes});
      });
    });
  }

  const CommunicationRequest& request_;
  const std::span<const int64_t> team_;
  const size_t own_;
  const int64_t size_;
  const std::vector<int64_t> offsets_;
  Transfers made_;
};

}  // namespace

Transfers transfersOf(const CommunicationRequest& request, std::span<const int64_t> team, size_t position) {
  return Builder(request, team, position).build();
}

}  // namespace tokamak
