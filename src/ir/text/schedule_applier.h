// ScheduleApplier: who carries out the commands of a schedule section. Scheduling belongs to a later room, which gives
// it through this interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/text/call_resolver.h"

namespace tokamak {

/// A command as written: split(T1, axis=2, factor=4), or T9 = cache_before(T3).
struct ScheduleCommand {
  std::string_view name;
  std::vector<CallArgument> arguments;  ///< forms of values: see CallArgument
  std::string_view result;              ///< the name left of '=', or empty
  std::string_view text;                ///< the command as written, for notes
  std::string place;                    ///< file:line:column
};

class ScheduleApplier {
 public:
  virtual ~ScheduleApplier() = default;

  /// Changes the schedule of the fusion's tensors; gives the tensor that the command made, or null. docs/text.md lists
  /// the commands and those that canonical schedules use. Errors: Schedule, and the fusion is unchanged; Unsupported
  /// for a command that it knows but cannot carry out.
  virtual TensorView* apply(Fusion& fusion, const ScheduleCommand& command) const = 0;
  virtual std::vector<std::string_view> names() const = 0;
};

}  // namespace tokamak
