// Rank places: which tensors of a program over ranks are parts of others whose place is computed of the rank.
#pragma once

#include <map>
#include <vector>

#include "host/ir/host_ir_container.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

/// Follows views from their tensors, and values from the views that they are computed of. What is written into a view
/// whose place is computed of the rank is that part, whatever it was computed of.
/// Thread safety: const members from several threads at once; the program outlives it.
class RankPlaces {
 public:
  /// `rank`: the symbol of the rank's number; null where the program does not mention it.
  RankPlaces(const HostIrContainer& program, Scalar* rank);

  /// Checks a Communication to which all members of its team give something: on all ranks of a team it is the same
  /// part, in the same iteration. Errors: HostProgram, naming the tensor, two ranks and their parts.
  void requireSamePart(const Communication& op) const;

 private:
  using Places = std::vector<Scalar*>;

  void add(const Expr& expr);
  void addView(const TensorView* out, const TensorView* in, std::vector<Scalar*> bounds);
  void addResults(const Expr& expr);
  // Adds those that are new.
  void insert(const TensorView* tensor, const Places& places);
  const Places& placesOf(const TensorView* tensor) const;
  const TensorView* named(const TensorView* tensor) const;

  const HostIrContainer& program_;
  Scalar* const rank_;
  std::map<const TensorView*, Places> places_;
  std::map<const TensorView*, const TensorView*> source_of_;  // of views
  std::map<const TensorView*, bool> is_placed_;               // views whose own place is computed of the rank
};

}  // namespace tokamak
