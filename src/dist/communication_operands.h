// Communication operands: where the parts of the members lie in what a rank gives to a communication.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dist/communication_request.h"

namespace tokamak {

struct CommunicationOperands {
  BufferCounts counts;
  /// Of the parts of the members, and the end, in elements: of the buffer that has all parts. An Allreduce or Reduce
  /// has the shares that each member reduces.
  std::vector<int64_t> offsets;
};

/// Of a legal request.
CommunicationOperands operandsOf(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank);

/// Of what a launch gives for the request; the addresses may be null. Errors: Bind for addresses that are missing, or
/// whose buffers overlap where that is not legal.
void requireOperands(const CommunicationRequest& request, const CommunicationOperands& operands,
                     std::span<const int64_t> team, int64_t rank, const void* input, const void* output);

}  // namespace tokamak
