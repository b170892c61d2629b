// Graph layers: which layer each node of a layered graph stands in.
#pragma once

#include <vector>

#include "report/layered_graph.h"

namespace tokamak {

/// Every edge goes from a smaller number to a larger one. Errors: Internal for a cycle.
std::vector<int> layersOf(const std::vector<GraphNode>& nodes, const std::vector<GraphEdge>& edges);

}  // namespace tokamak
