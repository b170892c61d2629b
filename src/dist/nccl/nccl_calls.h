// NCCL calls: what a communication is in NCCL's own functions, and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dist/communication_request.h"
#include "dist/nccl/nccl_library.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

/// One of NCCL's functions, or a copy on the device, of elements that lie at offsets of buffers.
struct NcclCall {
  enum class Function : uint8_t { Copy, AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, Send, Receive };
  struct Place {
    size_t buffer = 0;  ///< its number
    int64_t bytes = 0;  ///< from its begin
  };

  Function function = Function::Copy;
  Place from = {};
  Place to = {};
  int64_t count = 0;  ///< elements, of a Copy bytes; of AllGather and ReduceScatter, per member
  int dtype = 0;      ///< ncclDataType_t
  int reduction = 0;  ///< ncclRedOp_t
  int peer = 0;       ///< of Send and Receive, and the root of Reduce and Broadcast: a member by position

  /// Null where the buffer is.
  static void* addressOf(const Place& place, std::span<void* const> buffers);
  /// Tells NCCL, within a group; or the driver, of a Copy. The addresses are those of the buffers, by number.
  nccl::Result tell(const NcclLibrary& library, DriverContext& context, nccl::Communicator communicator,
                    driver::Stream stream, std::span<void* const> buffers) const;
};

/// The type that moves such elements.
int ncclType(DataType dtype);
/// Which function NCCL has for it.
int ncclReduction(ReductionKind kind);

/// Where the buffers of a request are: their numbers.
struct NcclBuffers {
  size_t input = 0;
  size_t output = 1;
};
/// The calls of a legal request of this member. Collectives whose members have equal parts are one call of NCCL's;
/// others are sends and receives, and the own part is copied. `dtype`: of the elements in the buffers, where they are
/// staged in another one.
std::vector<NcclCall> ncclCalls(const CommunicationRequest& request, std::span<const int64_t> team, int64_t rank,
                                const NcclBuffers& buffers, DataType dtype);
/// Of a Send or Receive that has a communicator of its own with two members, the sender first.
NcclCall transferCall(const CommunicationRequest& request, const NcclBuffers& buffers);

}  // namespace tokamak
