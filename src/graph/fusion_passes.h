// The passes over fusions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/fusion.h"

namespace tokamak {

struct FusionPass {
  std::string_view name;      ///< as in `tokamak opt --passes=fold-casts`
  std::string_view sentence;  ///< what it does
  std::unique_ptr<Fusion> (*run)(const Fusion&);
  bool simplifies = true;  ///< makes fewer and smaller ops, on any device
  /// Of a pass that only gives schedule commands: the fusion's text with these commands at the end of its schedule, and
  /// why each was given. It reads back as what the pass gives. Else null.
  std::string (*explain)(const Fusion&) = nullptr;
};

/// In the best order.
std::span<const FusionPass> fusionPasses();

/// The fusion after all simplifying passes.
std::unique_ptr<Fusion> simplifyFusion(const Fusion& fusion);

/// Errors: Usage, naming the known passes.
const FusionPass& fusionPass(std::string_view name);

}  // namespace tokamak
