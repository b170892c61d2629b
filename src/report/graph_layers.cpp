#include "report/graph_layers.h"

#include <algorithm>

#include "base/require.h"

namespace tokamak {

namespace {

struct Neighbours {
  std::vector<std::vector<size_t>> before;
  std::vector<std::vector<size_t>> after;
};

Neighbours neighboursOf(size_t nodes, const std::vector<GraphEdge>& edges) {
  Neighbours result{std::vector<std::vector<size_t>>(nodes), std::vector<std::vector<size_t>>(nodes)};
  for (const GraphEdge& edge : edges) {
    result.before[edge.to].push_back(edge.from);
    result.after[edge.from].push_back(edge.to);
  }
  return result;
}

std::vector<size_t> topologicalOrder(const Neighbours& neighbours) {
  std::vector<size_t> missing;
  std::vector<size_t> order;
  for (size_t node = 0; node < neighbours.before.size(); ++node) {
    missing.push_back(neighbours.before[node].size());
    if (missing[node] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const size_t reader : neighbours.after[order[i]]) {
      if (--missing[reader] == 0) order.push_back(reader);
    }
  }
  TK_CHECK(order.size() == missing.size(), "layers of a graph: {} of its {} nodes are in cycles",
           missing.size() - order.size(), missing.size());
  return order;
}

// Which nodes come along when their only reader moves down: those that nothing holds at the top.
std::vector<bool> movableNodes(const std::vector<GraphNode>& nodes, const Neighbours& neighbours,
                               const std::vector<size_t>& order) {
  std::vector<bool> is_movable(nodes.size(), false);
  for (const size_t node : order) {
    is_movable[node] =
        nodes[node].layer != LayerChoice::Top && neighbours.after[node].size() == 1 &&
        std::ranges::all_of(neighbours.before[node], [&](size_t operand) { return is_movable[operand]; });
  }
  return is_movable;
}

}  // namespace

std::vector<int> layersOf(const std::vector<GraphNode>& nodes, const std::vector<GraphEdge>& edges) {
  const Neighbours neighbours = neighboursOf(nodes.size(), edges);
  const std::vector<size_t> order = topologicalOrder(neighbours);
  std::vector<int> layers(nodes.size(), 0);
  int last = 0;
  for (const size_t node : order) {
    for (const size_t operand : neighbours.before[node]) layers[node] = std::max(layers[node], layers[operand] + 1);
    last = std::max(last, layers[node]);
  }
  const auto firstReader = [&](size_t node) {
    int first = last + 1;
    for (const size_t reader : neighbours.after[node]) first = std::min(first, layers[reader]);
    return first;
  };
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].layer == LayerChoice::Bottom && neighbours.after[node].empty()) layers[node] = last;
  }
  const std::vector<bool> is_movable = movableNodes(nodes, neighbours, order);
  // A node that more edges leave than enter makes these shorter by standing lower.
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      const LayerChoice choice = nodes[*node].layer;
      if (choice == LayerChoice::Top || choice == LayerChoice::Bottom || neighbours.after[*node].empty()) continue;
      const auto held = std::ranges::count_if(neighbours.before[*node], [&](size_t it) { return !is_movable[it]; });
      if (choice == LayerChoice::Above || static_cast<size_t>(held) < neighbours.after[*node].size())
        layers[*node] = firstReader(*node) - 1;
    }
  }
  return layers;
}

}  // namespace tokamak
