#include "dist/communication_operands.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "base/require.h"

namespace tokamak {

namespace {

using Kind = CommunicationKind;

std::vector<int64_t> offsetsOf(std::span<const int64_t> counts) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t count : counts) offsets.push_back(offsets.back() + count);
  return offsets;
}

// In whole cache lines.
std::vector<int64_t> shareOffsets(int64_t count, int64_t members) {
  constexpr int64_t kUnit = 64;
  const int64_t share = (count + members * kUnit - 1) / (members * kUnit) * kUnit;
  std::vector<int64_t> offsets;
  for (int64_t member = 0; member <= members; ++member) offsets.push_back(std::min(count, member * share));
  return offsets;
}

// Whether one is the other, or the part of it that is this rank's. `own`: bytes to this part.
bool isInPlace(Kind kind, int64_t own, const std::byte* input, const std::byte* output) {
  switch (kind) {
    case Kind::Allgather:
    case Kind::Gather: return input == output + own;
    case Kind::Scatter:
    case Kind::ReduceScatter: return input + own == output;
    case Kind::AllToAll:
    case Kind::CollectivePermute: return false;
    default: return input == output;
  }
}

}  // namespace

CommunicationOperands operandsOf(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank) {
  CommunicationOperands operands = {.counts = bufferCounts(request, team, rank), .offsets = {}};
  if (request.kind == Kind::Allreduce || request.kind == Kind::Reduce)
    operands.offsets = shareOffsets(request.counts[0], static_cast<int64_t>(team.size()));
  else
    operands.offsets =
        offsetsOf(request.kind == Kind::AllToAll && !request.received.empty() ? request.received : request.counts);
  return operands;
}

void requireOperands(const CommunicationRequest& request, const CommunicationOperands& operands,
                     std::span<const int64_t> team, int64_t rank, const void* input, const void* output) {
  const BufferCounts& counts = operands.counts;
  const bool may_lack_output = request.kind == Kind::Broadcast && request.root == rank;
  TK_REQUIRE(input != nullptr || counts.input == 0, Bind, "{}: rank {} gives no input of {} elements",
             describe(request), rank, counts.input);
  TK_REQUIRE(output != nullptr || counts.output == 0 || may_lack_output, Bind,
             "{}: rank {} gives no output of {} elements", describe(request), rank, counts.output);
  if (input == nullptr || output == nullptr || counts.input == 0 || counts.output == 0) return;
  const int64_t size = sizeOf(request.dtype);
  const auto* const in = static_cast<const std::byte*>(input);
  const auto* const out = static_cast<const std::byte*>(output);
  const bool is_apart =
      std::less_equal<>()(in + counts.input * size, out) || std::less_equal<>()(out + counts.output * size, in);
  const bool has_parts = operands.offsets.size() == team.size() + 1;
  const int64_t own = has_parts ? operands.offsets[static_cast<size_t>(positionOf(team, rank))] * size : 0;
  TK_REQUIRE(is_apart || isInPlace(request.kind, own, in, out), Bind, "{}: the input and the output of rank {} overlap",
             describe(request), rank);
}

}  // namespace tokamak
