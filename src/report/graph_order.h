// Graph order: the order of nodes within the layers of a layered graph.
#pragma once

#include <cstddef>
#include <vector>

namespace tokamak {

/// A graph whose edges all go from a layer to the next one. Ports are where an edge meets a node, from -0.5 (its left
/// end) to 0.5.
struct ProperGraph {
  struct Link {
    size_t from = 0;
    size_t to = 0;
    double from_port = 0;
    double to_port = 0;
  };
  std::vector<std::vector<size_t>> layers;  ///< the nodes of each layer, from left to right
  std::vector<Link> links;
  size_t nodes = 0;
};

/// Reorders the layers by barycentre sweeps and exchanges of neighbours, so that few links cross.
void orderLayers(ProperGraph& graph);

/// How many pairs of links cross.
size_t crossingsOf(const ProperGraph& graph);

}  // namespace tokamak
