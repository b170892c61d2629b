// Layered graph: where the boxes of a directed acyclic graph stand, and how its edges run between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/svg.h"

namespace tokamak {

/// Where a node may stand.
enum class LayerChoice : uint8_t {
  Free,   ///< as high as its operands allow, or lower where that makes edges shorter
  Top,    ///< in the first layer
  Above,  ///< right above the first one that reads it
  Bottom  ///< in the last layer
};

struct GraphNode {
  double width = 0;
  double height = 0;
  LayerChoice layer = LayerChoice::Free;
};

/// An edge from the lower border of a node to the upper border of another one. Ports are distances from the middle of
/// the node. Edges that leave one port of a node are drawn as one as long as they can.
struct GraphEdge {
  size_t from = 0;
  size_t to = 0;
  double from_port = 0;
  double to_port = 0;
};

struct GraphLayout {
  std::vector<Rectangle> nodes;
  std::vector<std::vector<Point>> routes;  ///< per edge: points that it runs through, two per layer
  /// Per edge: whether its route begins where that of an earlier edge of the same port passes, not at the port.
  std::vector<bool> is_branch;
  double width = 0;
  double height = 0;
};

/// Layered drawing (Sugiyama, Tagawa, Toda: "Methods for visual understanding of hierarchical system structures",
/// 1981): layers by longest path, an order in each layer by barycentre sweeps, positions by least squares under the
/// order. No two nodes overlap, and no edge runs through a node. Equal graphs give equal layouts. The time is about
/// that of 60 passes over the edges, those that pass layers counted per layer.
/// Errors: Internal for a cycle.
GraphLayout layOut(const std::vector<GraphNode>& nodes, const std::vector<GraphEdge>& edges);

/// The data of a path through the points of a route: straight within a layer, curves between layers.
std::string routePath(const std::vector<Point>& route);

}  // namespace tokamak
