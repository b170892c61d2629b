// Graph positions: where the nodes of a layer stand from left to right, their order being fixed.
#pragma once

#include <vector>

namespace tokamak {

/// What stands in a layer, from left to right.
struct LayerSlot {
  double width = 0;
  double wanted = 0;  ///< where its middle should be
  double weight = 1;  ///< how much that matters
};

/// The middles that minimise the sum of weight * (middle - wanted)^2 while neighbours are at least `apart` from one
/// another: isotonic regression by pooling adjacent violators (Barlow, Bartholomew, Bremner, Brunk: "Statistical
/// inference under order restrictions", 1972) of the middles less what stands before them.
std::vector<double> slotMiddles(const std::vector<LayerSlot>& slots, double apart);

}  // namespace tokamak
