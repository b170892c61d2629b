// CollectivePermute: every device sends to one and receives from one.
#pragma once

#include "ir/ops/host/communication.h"

namespace tokamak {

/// Sends `in` to `send_peer` and receives `out` from `recv_peer` (numbers of devices of `team`).
struct CollectivePermute {
  static constexpr OpInfo info{.name = "CollectivePermute", .stands_alone = true, .is_communication = true};
  TensorView* out = nullptr;
  TensorView* in = nullptr;
  std::vector<int64_t> team;
  Scalar* send_peer = nullptr;
  Scalar* recv_peer = nullptr;
  CommunicatorBackend backend = CommunicatorBackend::NCCL;
  int64_t number = 0;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.result("output", self.out);
    v.operand("input", self.in);
    v.attribute("team", self.team);
    v.attribute("send_peer", self.send_peer);
    v.attribute("recv_peer", self.recv_peer);
    v.attribute("backend", self.backend);
    v.attribute("number", self.number);
  }
};

}  // namespace tokamak
