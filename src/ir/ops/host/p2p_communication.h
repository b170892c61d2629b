// P2pCommunication: one side of a transfer between two devices.
#pragma once

#include "ir/ops/host/communication.h"

namespace tokamak {

enum class P2pType : uint8_t { Send, Recv };
template <>
struct EnumNames<P2pType> {
  static constexpr std::string_view names[] = {"send", "recv"};
};

/// Posts a send of, or a receive into, `buffer`; `peer` is the other device's number.
struct P2pCommunication {
  static constexpr OpInfo info{.name = "P2PCommunication", .stands_alone = true, .is_communication = true};
  TensorView* buffer = nullptr;
  P2pType type = P2pType::Send;
  Scalar* peer = nullptr;
  CommunicatorBackend backend = CommunicatorBackend::NCCL;
  int64_t number = 0;

  template <class V, class Self>
  static void describe(V& v, Self& self) {
    v.operand("buffer", self.buffer);
    v.attribute("type", self.type);
    v.attribute("peer", self.peer);
    v.attribute("backend", self.backend);
    v.attribute("number", self.number);
  }
};

}  // namespace tokamak
