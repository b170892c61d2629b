// Communication: a collective over a team of devices.
#pragma once

#include "ir/describe.h"
#include "ir/fields.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

enum class CommunicationType : uint8_t {
  Gather,
  Allgather,
  Scatter,
  Reduce,
  Allreduce,
  ReduceScatter,
  Broadcast,
  SendRecv,
  AllToAll,
};
template <>
struct EnumNames<CommunicationType> {
  static constexpr std::string_view names[] = {"Gather",        "Allgather", "Scatter",  "Reduce",  "Allreduce",
                                               "ReduceScatter", "Broadcast", "SendRecv", "AllToAll"};
};

/// The engine that carries a communication (dist/open_communicator.h).
enum class CommunicatorBackend : uint8_t {
  Local,  ///< between threads of one process
  MPI,
  NCCL,
  CUDA,  ///< copies between memory of GPUs of one host
};
template <>
struct EnumNames<CommunicatorBackend> {
  static constexpr std::string_view names[] = {"Local", "MPI", "NCCL", "CUDA"};
};

/// Posts a collective from `in` to `out` on the current stream; it runs beside the stream until a Wait orders it.
/// `root` is the number of a member of `team` for Gather, Scatter, Reduce, Broadcast and SendRecv, else null. It may be
/// computed of the index of a loop around (not of SendRecv, whose sides are known before): then Broadcast may read a
/// part that the root has of a sharded input, and Reduce write one of a sharded output.
/// In a program of all ranks `team` may be the first row of the tensors' mesh along a dimension: then each rank's team
/// is its own row, and the root is the member at the same position. In a local program (host/local/local_program.h) it
/// is the rank's own team, and `in` or `out` is null where the rank has no part of that tensor. There, too, stand the
/// sizes of the members' parts along `axis`, the outermost one that is longer than 1, unless all are the same.
struct Communication {
  static constexpr OpInfo info{.name = "Communication", .stands_alone = true, .is_communication = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  CommunicationType type = CommunicationType::Allgather;
  std::vector<int64_t> team;
  Scalar* root = nullptr;
  CommunicatorBackend backend = CommunicatorBackend::NCCL;
  int64_t number = 0;                            ///< links a Wait to its communication; renumbered in every dump
  ReductionKind reduction = ReductionKind::Sum;  ///< of Reduce, Allreduce and ReduceScatter
  int64_t axis = -1;                             ///< of the visible shape; -1: all parts have the same size
  std::vector<Scalar*> parts = {};               ///< per member, along `axis`; empty: all parts have the same size

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("output", self.out);
    v.optional("input", self.in);
    v.attribute("type", self.type);
    v.attribute("team", self.team);
    v.attribute("root", self.root);
    v.attribute("reduction", self.reduction);
    v.attribute("axis", self.axis);
    v.attribute("parts", self.parts);
    v.attribute("backend", self.backend);
    v.attribute("number", self.number);
  }
};

}  // namespace tokamak
