#include "dist/nccl/nccl_calls.h"

#include <algorithm>
#include <numeric>

namespace tokamak {

namespace {

using Kind = CommunicationKind;
using Function = NcclCall::Function;

/// Writes the calls of one request.
class CallWriter {
 public:
  CallWriter(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank,
             const NcclBuffers& buffers, DataType dtype)
      : request_(request),
        team_(team),
        buffers_(buffers),
        own_(static_cast<size_t>(positionOf(team, rank))),
        root_(request.root < 0 ? 0 : static_cast<size_t>(positionOf(team, request.root))),
        size_(sizeOf(dtype)),
        dtype_(ncclType(dtype)) {}

  std::vector<NcclCall> write() {
    switch (request_.kind) {
      case Kind::Allgather: allgather(); break;
      case Kind::Gather: gather(); break;
      case Kind::Scatter: scatter(); break;
      case Kind::ReduceScatter: reduceScatter(); break;
      case Kind::Allreduce: reduce(Function::AllReduce); break;
      case Kind::Reduce: reduce(Function::Reduce); break;
      case Kind::Broadcast: broadcast(); break;
      case Kind::SendRecv: sendRecv(); break;
      case Kind::AllToAll: allToAll(); break;
      case Kind::CollectivePermute:
        move(request_.send_to, 0, first());
        take(request_.receive_from, 0, receivedCounts()[0]);
        break;
      case Kind::Send: move(request_.send_to, 0, first()); break;
      case Kind::Recv: take(request_.receive_from, 0, first()); break;
    }
    return std::move(calls_);
  }

 private:
  int64_t first() const { return request_.counts[0]; }
  bool isRoot() const { return own_ == root_; }
  std::span<const int64_t> receivedCounts() const {
    return request_.received.empty() ? request_.counts : request_.received;
  }
  static int64_t before(std::span<const int64_t> counts, size_t member) {
    return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(member), int64_t{0});
  }
  bool areEven() const {
    return std::ranges::all_of(request_.counts, [&](int64_t count) { return count == first(); });
  }

  NcclCall::Place input(int64_t elements) const { return {buffers_.input, elements * size_}; }
  NcclCall::Place output(int64_t elements) const { return {buffers_.output, elements * size_}; }

  void add(NcclCall call) {
    if (call.count > 0) calls_.push_back(call);
  }
  void copy(int64_t from, int64_t to, int64_t count) {
    add({.function = Function::Copy, .from = input(from), .to = output(to), .count = count * size_});
  }
  void send(size_t member, int64_t from, int64_t count) {
    add({.function = Function::Send,
         .from = input(from),
         .count = count,
         .dtype = dtype_,
         .peer = static_cast<int>(member)});
  }
  void receive(size_t member, int64_t to, int64_t count) {
    add({.function = Function::Receive,
         .to = output(to),
         .count = count,
         .dtype = dtype_,
         .peer = static_cast<int>(member)});
  }
  // What goes to this rank itself is copied.
  void move(int64_t rank, int64_t from, int64_t count) {
    const auto member = static_cast<size_t>(positionOf(team_, rank));
    if (member == own_)
      copy(from, 0, count);
    else
      send(member, from, count);
  }
  void take(int64_t rank, int64_t to, int64_t count) {
    const auto member = static_cast<size_t>(positionOf(team_, rank));
    if (member != own_) receive(member, to, count);
  }

  void allgather() {
    const std::span<const int64_t> counts = request_.counts;
    if (areEven() && team_.size() > 1)
      return add(
          {.function = Function::AllGather, .from = input(0), .to = output(0), .count = first(), .dtype = dtype_});
    for (size_t member = 0; member < team_.size(); ++member) {
      if (member == own_) continue;
      send(member, 0, counts[own_]);
      receive(member, before(counts, member), counts[member]);
    }
    copy(0, before(counts, own_), counts[own_]);
  }

  void gather() {
    const std::span<const int64_t> counts = request_.counts;
    if (!isRoot()) return send(root_, 0, counts[own_]);
    for (size_t member = 0; member < team_.size(); ++member)
      if (member != own_) receive(member, before(counts, member), counts[member]);
    copy(0, before(counts, own_), counts[own_]);
  }

  void scatter() {
    const std::span<const int64_t> counts = request_.counts;
    if (!isRoot()) return receive(root_, 0, counts[own_]);
    for (size_t member = 0; member < team_.size(); ++member)
      if (member != own_) send(member, before(counts, member), counts[member]);
    copy(before(counts, own_), 0, counts[own_]);
  }

  void allToAll() {
    const std::span<const int64_t> sent = request_.counts;
    const std::span<const int64_t> received = receivedCounts();
    for (size_t member = 0; member < team_.size(); ++member) {
      if (member == own_) continue;
      send(member, before(sent, member), sent[member]);
      receive(member, before(received, member), received[member]);
    }
    copy(before(sent, own_), before(received, own_), sent[own_]);
  }

  void reduce(Function function) {
    if (team_.size() == 1) return copy(0, 0, first());
    add({.function = function,
         .from = input(0),
         .to = output(0),
         .count = first(),
         .dtype = dtype_,
         .reduction = ncclReduction(request_.reduction),
         .peer = static_cast<int>(root_)});
  }

  void reduceScatter() {
    const std::span<const int64_t> counts = request_.counts;
    if (team_.size() == 1) return copy(0, 0, first());
    NcclCall call = {.function = Function::ReduceScatter,
                     .from = input(0),
                     .to = output(0),
                     .count = first(),
                     .dtype = dtype_,
                     .reduction = ncclReduction(request_.reduction)};
    if (areEven()) return add(call);
    call.function = Function::Reduce;
    for (size_t member = 0; member < team_.size(); ++member) {
      call.from = input(before(counts, member));
      call.count = counts[member];
      call.peer = static_cast<int>(member);
      add(call);
    }
  }

  void broadcast() {
    if (team_.size() == 1) return copy(0, 0, first());
    add({.function = Function::Broadcast,
         .from = isRoot() ? input(0) : output(0),
         .to = output(0),
         .count = first(),
         .dtype = dtype_,
         .peer = static_cast<int>(root_)});
  }

  void sendRecv() {
    if (team_.size() == 1) return copy(0, 0, first());
    if (isRoot()) return send(1 - own_, 0, first());
    receive(root_, 0, first());
  }

  const CommunicationRequest& request_;
  const std::span<const int64_t> team_;
  const NcclBuffers buffers_;
  const size_t own_;
  const size_t root_;
  const int64_t size_;
  const int dtype_;
  std::vector<NcclCall> calls_;
};

}  // namespace

int ncclType(DataType dtype) {
  switch (dtype) {
    case DataType::F64: return nccl::kFloat64;
    case DataType::F32: return nccl::kFloat32;
    case DataType::F16: return nccl::kFloat16;
    case DataType::BF16: return nccl::kBfloat16;
    case DataType::I32: return nccl::kInt32;
    case DataType::I64: return nccl::kInt64;
    case DataType::Bool: return nccl::kUint8;
  }
  return nccl::kUint8;
}

int ncclReduction(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::Sum: return nccl::kSum;
    case ReductionKind::Prod: return nccl::kProd;
    case ReductionKind::Max: return nccl::kMax;
    case ReductionKind::Min: return nccl::kMin;
  }
  return nccl::kSum;
}

std::vector<NcclCall> ncclCalls(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank,
                                const NcclBuffers& buffers, DataType dtype) {
  return CallWriter(request, team, rank, buffers, dtype).write();
}

NcclCall transferCall(const CommunicationRequest& request, const NcclBuffers& buffers) {
  const bool sends = request.kind == Kind::Send;
  return {.function = sends ? Function::Send : Function::Receive,
          .from = {.buffer = buffers.input},
          .to = {.buffer = buffers.output},
          .count = request.counts[0],
          .dtype = ncclType(request.dtype),
          .peer = sends ? 1 : 0};
}

void* NcclCall::addressOf(const Place& place, std::span<void* const> buffers) {
  void* const begin = buffers[place.buffer];
  return begin == nullptr ? nullptr : static_cast<std::byte*>(begin) + place.bytes;
}

nccl::Result NcclCall::tell(const NcclLibrary& library, DriverContext& context, nccl::Communicator communicator,
                            driver::Stream stream, std::span<void* const> buffers) const {
  const void* const source = addressOf(from, buffers);
  void* const target = addressOf(to, buffers);
  const auto elements = static_cast<size_t>(count);
  switch (function) {
    case Function::Copy:
      if (source == target || target == nullptr) return nccl::kSuccess;  // (a root that does without an output)
      context.check(
          context.driver().copy_async(tokamak::addressOf(target), tokamak::addressOf(source), elements, stream),
          "{}: copying the own part of a communication, {} bytes", context.name(), count);
      return nccl::kSuccess;
    case Function::AllReduce:
      return library.all_reduce(source, target, elements, dtype, reduction, communicator, stream);
    case Function::Reduce:
      return library.reduce(source, target, elements, dtype, reduction, peer, communicator, stream);
    case Function::ReduceScatter:
      return library.reduce_scatter(source, target, elements, dtype, reduction, communicator, stream);
    case Function::AllGather: return library.all_gather(source, target, elements, dtype, communicator, stream);
    case Function::Broadcast:  // a root that does without an output keeps what it has
      return library.broadcast(source, target == nullptr ? const_cast<void*>(source) : target, elements, dtype, peer,
                               communicator, stream);
    case Function::Send: return library.send(source, elements, dtype, peer, communicator, stream);
    case Function::Receive: return library.receive(target, elements, dtype, peer, communicator, stream);
  }
  return nccl::kSuccess;
}

}  // namespace tokamak
