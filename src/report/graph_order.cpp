#include "report/graph_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tokamak {

namespace {

// Per node the links to one side.
using LinksOf = std::vector<std::vector<const ProperGraph::Link*>>;

// Inversions between two sequences: pairs (a, b) with a before b by `first` and after it by `second`. By a tree of
// sums over the ranks of the second coordinate.
size_t inversions(std::vector<std::pair<double, double>> ends) {
  std::ranges::sort(ends);
  std::vector<double> values;
  for (const auto& end : ends) values.push_back(end.second);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<size_t> tree(values.size() + 1, 0);
  size_t count = 0;
  size_t seen = 0;
  for (const auto& end : ends) {
    const auto rank = static_cast<size_t>(std::ranges::lower_bound(values, end.second) - values.begin()) + 1;
    size_t not_above = 0;
    for (size_t i = rank; i > 0; i &= i - 1) not_above += tree[i];
    count += seen - not_above;
    for (size_t i = rank; i < tree.size(); i += i & (~i + 1)) ++tree[i];
    ++seen;
  }
  return count;
}

class Sweeper {
 public:
  explicit Sweeper(ProperGraph& graph)
      : graph_(graph), place_(graph.nodes, 0), layer_(graph.nodes, 0), up_(graph.nodes), down_(graph.nodes) {
    for (size_t layer = 0; layer < graph.layers.size(); ++layer) {
      for (const size_t node : graph.layers[layer]) layer_[node] = layer;
    }
    for (const ProperGraph::Link& link : graph.links) {
      down_[link.from].push_back(&link);
      up_[link.to].push_back(&link);
    }
    number();
  }

  void run() {
    constexpr int kSweeps = 24;
    constexpr int kMostIdle = 6;
    std::vector<std::vector<size_t>> best = graph_.layers;
    size_t fewest = count();
    for (int sweep = 0, idle = 0; sweep < kSweeps && idle < kMostIdle && fewest > 0; ++sweep, ++idle) {
      const size_t layers = graph_.layers.size();
      if (sweep % 2 == 0)
        for (size_t layer = 1; layer < layers; ++layer) sortBy(up_, layer);
      else
        for (size_t layer = layers - 1; layer-- > 0;) sortBy(down_, layer);
      exchangeNeighbours();
      const size_t crossings = count();
      if (crossings >= fewest) continue;
      fewest = crossings;
      best = graph_.layers;
      idle = 0;
    }
    graph_.layers = std::move(best);
  }

  size_t count() const {
    std::vector<std::vector<std::pair<double, double>>> ends(graph_.layers.size());
    for (const ProperGraph::Link& link : graph_.links)
      ends[layer_[link.from]].emplace_back(place_[link.from] + link.from_port, place_[link.to] + link.to_port);
    size_t total = 0;
    for (auto& layer : ends) total += inversions(std::move(layer));
    return total;
  }

 private:
  void number() {
    for (const auto& layer : graph_.layers) {
      for (size_t i = 0; i < layer.size(); ++i) place_[layer[i]] = static_cast<double>(i);
    }
  }

  // Where the other ends of a node's links are.
  double otherEnd(const ProperGraph::Link& link, size_t node) const {
    return link.from == node ? place_[link.to] + link.to_port : place_[link.from] + link.from_port;
  }

  void sortBy(const LinksOf& links, size_t layer) {
    auto& nodes = graph_.layers[layer];
    std::vector<std::pair<double, size_t>> keys;
    for (const size_t node : nodes) {
      double sum = 0;
      for (const ProperGraph::Link* link : links[node]) sum += otherEnd(*link, node);
      keys.emplace_back(links[node].empty() ? place_[node] : sum / static_cast<double>(links[node].size()), node);
    }
    std::ranges::stable_sort(keys, {}, &std::pair<double, size_t>::first);
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i] = keys[i].second;
      place_[nodes[i]] = static_cast<double>(i);
    }
  }

  // Crossings among the links of two nodes to one side, the first standing left.
  size_t crossings(const LinksOf& links, size_t left, size_t right) const {
    size_t count = 0;
    for (const ProperGraph::Link* a : links[left]) {
      for (const ProperGraph::Link* b : links[right]) count += otherEnd(*a, left) > otherEnd(*b, right) ? 1 : 0;
    }
    return count;
  }

  void exchangeNeighbours() {
    constexpr int kRounds = 4;
    bool has_changed = true;
    for (int round = 0; round < kRounds && has_changed; ++round) {
      has_changed = false;
      for (auto& layer : graph_.layers) {
        for (size_t i = 0; i + 1 < layer.size(); ++i) {
          const size_t a = layer[i];
          const size_t b = layer[i + 1];
          const size_t now = crossings(up_, a, b) + crossings(down_, a, b);
          const size_t then = crossings(up_, b, a) + crossings(down_, b, a);
          if (then >= now) continue;
          std::swap(layer[i], layer[i + 1]);
          std::swap(place_[a], place_[b]);
          has_changed = true;
        }
      }
    }
  }

  ProperGraph& graph_;
  std::vector<double> place_;  // its number in its layer
  std::vector<size_t> layer_;
  LinksOf up_;
  LinksOf down_;
};

}  // namespace

void orderLayers(ProperGraph& graph) { Sweeper(graph).run(); }

size_t crossingsOf(const ProperGraph& graph) {
  ProperGraph copy = graph;
  return Sweeper(copy).count();
}

}  // namespace tokamak
