#include "host/run/communication_requests.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "base/text.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/p2p_communication.h"

namespace tokamak {

namespace {

int64_t elementsOf(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
}

// A sender knows nothing of strides: all ranks have the order that the program says.
void requireDense(std::string_view what, const TensorView& tensor, const RunTensor& memory) {
  int64_t stride = 1;
  if (std::ranges::find(memory.sizes, 0) != memory.sizes.end()) return;
  const std::vector<size_t> order = memoryOrder(tensor);
  for (size_t place = order.size(); place-- > 0;) {
    const size_t i = order[place];
    TK_REQUIRE(memory.sizes[i] == 1 || memory.strides[i] == stride, HostProgram,
               "{}: {} has sizes [{}] and strides [{}]; what is communicated lies together, in the order of its axes: "
               "copy it before",
               what, nameOf(tensor), joined(memory.sizes), joined(memory.strides));
    stride *= memory.sizes[i];
  }
}

// The statement that a request is made of.
struct Collective {
  const Communication& op;
  const CommunicationMemory& memory;
  const ScalarBindings& scalars;
  int64_t rank = 0;
  int64_t root = -1;
  std::string_view name() const { return enumName(op.type); }
};

// The outermost axis in memory that is longer than 1 is the one that is dealt out.
void requireOutermost(const Collective& of, const TensorView& tensor, std::span<const int64_t> sizes, size_t axis) {
  const std::vector<size_t> order = memoryOrder(tensor);
  const bool is_outermost =
      std::all_of(order.begin(), std::ranges::find(order, axis), [&](size_t other) { return sizes[other] == 1; }) ||
      elementsOf(sizes) == 0;
  TK_REQUIRE(is_outermost, HostProgram,
             "{}: {} has sizes [{}], and axis {} is dealt out; parts lie together where that is the outermost axis "
             "that is longer than 1: move it to the front before",
             of.name(), nameOf(tensor), joined(sizes), axis);
}

// Parts of different sizes, as they stand in the statement.
std::vector<int64_t> countsOfParts(const Collective& of) {
  const auto axis = static_cast<size_t>(of.op.axis);
  const RunTensor& known = of.memory.in != nullptr ? *of.memory.in : *of.memory.out;
  const std::span<const int64_t> sizes = known.sizes;
  TK_CHECK(axis < sizes.size(), "{}: its tensor has {} axes, and axis {} is dealt out", of.name(), sizes.size(), axis);
  int64_t inner = 1;
  for (size_t i = 0; i < sizes.size(); ++i) inner *= i == axis ? 1 : sizes[i];
  std::vector<int64_t> counts;
  for (const Scalar* part : of.op.parts) counts.push_back(evaluateInt(*part, of.scalars) * inner);
  if (of.memory.in != nullptr) requireOutermost(of, *of.op.in, of.memory.in->sizes, axis);
  if (of.memory.out != nullptr) requireOutermost(of, *of.op.out, of.memory.out->sizes, axis);
  return counts;
}

// Of AllToAll: what comes from members that have other sizes along an axis, which is whole in the result.
std::vector<int64_t> countsReceived(const Collective& of) {
  const auto axis = static_cast<size_t>(of.op.axis);
  const RunTensor& out = *of.memory.out;
  TK_CHECK(axis < out.sizes.size(), "AllToAll: {} has {} axes, and axis {} is dealt out", nameOf(*of.op.out),
           out.sizes.size(), axis);
  requireOutermost(of, *of.op.out, out.sizes, axis);
  int64_t inner = 1;
  for (size_t i = 0; i < out.sizes.size(); ++i) inner *= i == axis ? 1 : out.sizes[i];
  std::vector<int64_t> counts;
  for (const Scalar* part : of.op.parts) counts.push_back(evaluateInt(*part, of.scalars) * inner);
  return counts;
}

// Parts of the same size; the axis is the one along which they and the whole differ.
std::vector<int64_t> equalCounts(const Collective& of, const TensorView* part_tensor, const RunTensor* part,
                                 const RunTensor* whole) {
  const auto members = static_cast<int64_t>(of.op.team.size());
  const int64_t elements = part != nullptr ? elementsOf(part->sizes) : elementsOf(whole->sizes) / members;
  if (part != nullptr && whole != nullptr && part->sizes.size() == whole->sizes.size()) {
    const auto [own, other] = std::ranges::mismatch(part->sizes, whole->sizes);
    if (own != part->sizes.end())
      requireOutermost(of, *part_tensor, part->sizes, static_cast<size_t>(own - part->sizes.begin()));
  }
  return std::vector<int64_t>(static_cast<size_t>(members), elements);
}

std::vector<int64_t> countsOf(const Collective& of) {
  const CommunicationMemory& memory = of.memory;
  const auto members = static_cast<int64_t>(of.op.team.size());
  switch (of.op.type) {
    case CommunicationType::Gather:
    case CommunicationType::Allgather:
      return of.op.parts.empty() ? equalCounts(of, of.op.in, memory.in, memory.out) : countsOfParts(of);
    case CommunicationType::Scatter:
    case CommunicationType::ReduceScatter:
      return of.op.parts.empty() ? equalCounts(of, of.op.out, memory.out, memory.in) : countsOfParts(of);
    case CommunicationType::AllToAll: {
      const int64_t elements = elementsOf((memory.in != nullptr ? memory.in : memory.out)->sizes);
      TK_REQUIRE(elements % members == 0, HostProgram,
                 "AllToAll: {} elements for a team of {}; each member gets as many", elements, members);
      return std::vector<int64_t>(static_cast<size_t>(members), elements / members);
    }
    default: {
      // (The input of other ranks than the root is one that they would send, of a size of its own.)
      const bool is_received = of.op.type == CommunicationType::Broadcast && of.root != of.rank;
      const bool reads = memory.in != nullptr && !(is_received && memory.out != nullptr);
      return {elementsOf((reads ? memory.in : memory.out)->sizes)};
    }
  }
}

void requireElements(std::string_view what, const TensorView* tensor, const RunTensor* memory, int64_t expected) {
  if (expected == 0) return;
  TK_REQUIRE(memory != nullptr, HostProgram, "{}: it has no {} here, where {} elements are asked for", what,
             tensor == nullptr ? "tensor" : nameOf(*tensor), expected);
  TK_REQUIRE(elementsOf(memory->sizes) == expected, HostProgram,
             "{}: {} has sizes [{}], which are {} elements; the other side and the team ask for {}", what,
             nameOf(*tensor), joined(memory->sizes), elementsOf(memory->sizes), expected);
}

RankRequest requestOf(const Collective& of) {
  const Communication& op = of.op;
  RankRequest made{.request = {.kind = communicationKind(op.type), .root = of.root}, .team = op.team, .memory = {}};
  const TensorView& typed = op.in != nullptr ? *op.in : *op.out;
  made.request.dtype = typed.dtype();
  made.request.reduction = op.reduction;
  made.request.counts = countsOf(of);
  const bool has_parts = op.type == CommunicationType::AllToAll && !op.parts.empty();
  if (has_parts && of.memory.out != nullptr) made.request.received = countsReceived(of);
  requireLegal(made.request, op.team, of.rank);
  const BufferCounts counts = bufferCounts(made.request, op.team, of.rank);
  requireElements(of.name(), op.in, of.memory.in, counts.input);
  const bool may_lack_output = op.type == CommunicationType::Broadcast && of.root == of.rank;
  if (!may_lack_output || of.memory.out != nullptr) requireElements(of.name(), op.out, of.memory.out, counts.output);
  if (counts.input > 0) made.memory.in = of.memory.in;
  if (counts.output > 0) made.memory.out = of.memory.out;
  // Who sends and receives nothing has an address still, of memory without elements.
  if (made.memory.in == nullptr && made.memory.out == nullptr) made.memory = of.memory;
  if (made.memory.in != nullptr) requireDense(of.name(), *op.in, *made.memory.in);
  if (made.memory.out != nullptr) requireDense(of.name(), *op.out, *made.memory.out);
  return made;
}

RankRequest requestOf(const P2pCommunication& op, const RunTensor& buffer, const ScalarBindings& scalars) {
  const bool sends = op.type == P2pType::Send;
  const int64_t peer = evaluateInt(*op.peer, scalars);
  requireDense(enumName(op.type), *op.buffer, buffer);
  return {.request = {.kind = communicationKind(op.type),
                      .dtype = op.buffer->dtype(),
                      .counts = {elementsOf(buffer.sizes)},
                      .send_to = sends ? peer : -1,
                      .receive_from = sends ? -1 : peer},
          .team = {},
          .memory = {.in = sends ? &buffer : nullptr, .out = sends ? nullptr : &buffer}};
}

RankRequest requestOf(const CollectivePermute& op, const CommunicationMemory& memory, const ScalarBindings& scalars) {
  requireDense("CollectivePermute", *op.in, *memory.in);
  requireDense("CollectivePermute", *op.out, *memory.out);
  return {.request = {.kind = CommunicationKind::CollectivePermute,
                      .dtype = op.in->dtype(),
                      .counts = {elementsOf(memory.in->sizes)},
                      .received = {elementsOf(memory.out->sizes)},
                      .send_to = evaluateInt(*op.send_peer, scalars),
                      .receive_from = evaluateInt(*op.recv_peer, scalars)},
          .team = op.team,
          .memory = memory};
}

}  // namespace

RankRequest requestOf(const Expr& statement, const CommunicationMemory& memory, const ScalarBindings& scalars,
                      int64_t rank) {
  if (const auto* op = statement.as<Communication>())
    return requestOf(Collective{.op = *op,
                                .memory = memory,
                                .scalars = scalars,
                                .rank = rank,
                                .root = op->root == nullptr ? -1 : evaluateInt(*op->root, scalars)});
  if (const auto* op = statement.as<CollectivePermute>()) return requestOf(*op, memory, scalars);
  return requestOf(*statement.as<P2pCommunication>(), memory.in != nullptr ? *memory.in : *memory.out, scalars);
}

}  // namespace tokamak
