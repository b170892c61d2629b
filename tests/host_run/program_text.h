// Programs from short texts: fusions, and host programs whose tensors are written out once and mentioned as @T0.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compile/lower_fusion.h"
#include "error_of.h"
#include "host/ir/host_ir_container.h"

namespace tokamak {

/// A `.fusion` text with everything that the command line knows: composites and schedules.
std::unique_ptr<Fusion> fusionOf(std::string_view text);

/// A host program's text in parts. In `signature`, `body` and `sections` @T3 stands for the tensor of `tensors` whose
/// text begins with "T3_"; statements of the body are indented by two blanks.
struct HostText {
  std::vector<std::string> tensors;
  std::string signature;  ///< "(@T0) -> (@T1)"
  std::string body;
  std::string sections = {};  ///< "Aliases:{..}", "Domains:{..}", ...
};

/// The whole text.
std::string textOf(const HostText& parts);
std::unique_ptr<HostIrContainer> hostProgramOf(const HostText& parts);
/// The program after all passes, ready to run.
std::unique_ptr<HostIrContainer> finishedProgramOf(const HostText& parts, StreamSync sync = StreamSync::Hoisted);

/// The names of the top-level statements, with a blank between: "ALLOCATE GetCurrentStream FOR FOR".
std::string topLevelOf(const HostIrContainer& program);

/// The error's code and sentence, "race: ...", of what `call` raises.
template <class Call>
std::string refusalOf(const Call& call) {
  const Error error = errorOf(call);
  return std::string(errorCodeName(error.code())) + ": " + error.message();
}

}  // namespace tokamak
