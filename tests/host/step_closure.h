// StepClosure: which steps of a list happen before which, by the transitive closure of all edges; and what passes over
// lists must keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/work.h"
#include "host/check/step_list.h"

namespace tokamak {

/// The order among the caller's entry, the steps that are not Record or Wait (in list order), and the caller's exit.
/// For lists without communications. Shares nothing with the clocks of src/host.
class StepClosure {
 public:
  /// WorkAndRecords: a Record counts as a step, too, so that a wait for a point that gathers several is told from waits
  /// for all of them.
  enum class Nodes : uint8_t { Work, WorkAndRecords };
  explicit StepClosure(const StepList& list, Nodes nodes = Nodes::Work);

  /// Entry and exit count.
  size_t count() const { return before_.size(); }
  bool isBefore(size_t a, size_t b) const { return before_[b][a]; }
  bool operator==(const StepClosure&) const = default;
  /// The first pair whose order differs, in words; empty when none does.
  std::string firstDifference(const StepClosure& other) const;

 private:
  std::vector<std::vector<bool>> before_;
};

bool hasCommunications(const StepList& list);

/// What dropImpliedWaits made of `list`: empty when it has the same order, and every wait of it is needed for that or
/// for a point that gathers several.
std::string problemOfDroppedWaits(const StepList& list, const StepList& dropped);

/// What placeBuffers made of `list`: empty when intermediates that share bytes are used one after the other.
std::string problemOfPlaces(const StepList& list, const StepList& placed);

}  // namespace tokamak
