// Fusions with meshes as texts, and what propagate-shardings decides of them, checked in every case: it is legal, it is
// decided once and for all, and its commands give the same on the fusion as it was.
#pragma once

#include <string>
#include <vector>

#include "analysis/shards.h"
#include "graph/propagate_shardings.h"
#include "unit/schedule/schedule_case.h"

namespace tokamak {

/// Reports where what the pass gives is not what it promises of every fusion.
inline void expectPromises(const Fusion& fusion) {
  const auto given = propagateShardings(fusion);
  const std::string text = checkedText(*given);
  for (const TensorView* tensor : given->allTensors()) shardsOf(*tensor);
  EXPECT_EQ(giveShardings(*given).size(), 0U) << "decided again:\n" << text;
  EXPECT_EQ(printFusion(*given), text) << "a second run changed something";
  const std::string explained = explainShardings(fusion);
  EXPECT_EQ(printFusion(*fusionFrom(explained)), text) << explained;
}

/// The commands that the pass gives, without reasons.
inline std::vector<std::string> commandsFor(const std::string& text) {
  const auto fusion = fusionFrom(text);
  expectPromises(*fusion);
  std::vector<std::string> commands;
  for (const ShardingCommand& command : giveShardings(*fusion)) commands.push_back(command.text);
  return commands;
}

/// What each tensor has in the end that has a mesh: "T1: axis 0 DIDx 3, axis 1 DIDy 1", where the numbers behind the
/// types are chunks; with the mesh where it is not that of T0.
inline std::vector<std::string> shardingsOf(const std::string& text) {
  const auto fusion = fusionFrom(text);
  expectPromises(*fusion);
  giveShardings(*fusion);
  std::vector<std::string> found;
  for (const TensorView* tensor : fusion->allTensors()) {
    if (tensor->mesh().empty()) continue;
    std::string line = nameOf(*tensor) + ":";
    const Axes shape = shapeOf(*tensor);
    for (size_t i = 0; i < shape.size(); ++i) {
      for (const Shard& shard : shardsOf(*tensor)) {
        if (shard.logical == shape[i])
          line +=
              " " + std::to_string(i) + " " + std::string(parallelTypeName(shard.type)) + " " + toString(*shard.chunk);
      }
    }
    found.push_back(line);
  }
  return found;
}

}  // namespace tokamak
