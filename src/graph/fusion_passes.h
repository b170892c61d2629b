// The passes over a whole fusion, by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "ir/fusion.h"

namespace tokamak {

struct FusionPass {
  std::string_view name;      ///< as in `tokamak opt --passes=fold-casts`
  std::string_view sentence;  ///< what it does
  std::unique_ptr<Fusion> (*run)(const Fusion&);
  bool simplifies = true;  ///< leaves fewer and smaller ops, on any device
};

/// In the order in which they are best run.
std::span<const FusionPass> fusionPasses();

/// The fusion after the passes that leave fewer and smaller ops for kernels.
std::unique_ptr<Fusion> simplifyFusion(const Fusion& fusion);

/// Errors: Usage, naming the known passes.
const FusionPass& fusionPass(std::string_view name);

}  // namespace tokamak
