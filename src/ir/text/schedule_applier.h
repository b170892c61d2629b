// ScheduleApplier: who carries out the commands of a schedule section. Scheduling belongs to a later room, which gives it
// through this interface.
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

  /// Changes domains of the fusion's tensors; gives the tensor the command made, or null. Canonical schedules use
  /// only split(T, axis=, factor=, inner_split=), merge(T, axis=), reorder(T, order=) and parallelize(T, axis=, type=):
  ///   split       axis a becomes a (outer) and a + 1 (inner); `factor` is the inner extent, with inner_split=false the outer
  ///   merge       axes a (outer) and a + 1 (inner) become axis a
  ///   reorder     the new axis i is the old axis order[i]
  /// where axes are those of the loop domain, reductions included. Errors: Schedule; Unsupported for a command that it
  /// knows but cannot carry out.
  virtual TensorView* apply(Fusion& fusion, const ScheduleCommand& command) const = 0;
  virtual std::vector<std::string_view> names() const = 0;
};

}  // namespace tokamak
