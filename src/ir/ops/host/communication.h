// Communication: a collective over a team of devices.
#pragma once

#include "ir/describe.h"
#include "ir/fields.h"

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

enum class CommunicatorBackend : uint8_t { Local, MPI, NCCL, CUDA };
template <>
struct EnumNames<CommunicatorBackend> {
  static constexpr std::string_view names[] = {"Local", "MPI", "NCCL", "CUDA"};
};

/// Posts a collective from `in` to `out` on the current stream; it runs beside the stream until a Wait orders it.
/// `root` is a member of `team` for Gather, Scatter, Reduce, Broadcast and SendRecv, else -1.
/// In a program of all ranks `team` may be the first row of the tensors' mesh along a dimension: then each rank's team
/// is its own row, and the root is the member at the same position. In a local program (host/lower/local_program.h) it
/// is the rank's own team, and `in` or `out` is null where the rank has no part of that tensor.
struct Communication {
  static constexpr OpInfo info{.name = "Communication", .stands_alone = true, .is_communication = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  CommunicationType type = CommunicationType::Allgather;
  std::vector<int64_t> team;
  int64_t root = -1;
  CommunicatorBackend backend = CommunicatorBackend::NCCL;
  int64_t number = 0;  ///< links a Wait to its communication; renumbered in every dump

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("output", self.out);
    v.optional("input", self.in);
    v.attribute("type", self.type);
    v.attribute("team", self.team);
    v.attribute("root", self.root);
    v.attribute("backend", self.backend);
    v.attribute("number", self.number);
  }
};

}  // namespace tokamak
