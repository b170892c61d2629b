#include "report/layered_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "report/graph_layers.h"
#include "report/graph_order.h"
#include "report/graph_positions.h"

namespace tokamak {

namespace {

constexpr double kApart = 22;     // between boxes of a layer
constexpr double kPassWidth = 6;  // of an edge that passes a layer
constexpr double kLeastGap = 26;  // between layers
constexpr double kMostGap = 90;
constexpr double kGapPerRun = 0.10;  // a gap grows with the longest run of its edges from left to right

class Layout {
 public:
  Layout(const std::vector<GraphNode>& nodes, const std::vector<GraphEdge>& edges)
      : nodes_(nodes), edges_(edges), layer_(layersOf(nodes, edges)) {
    addNodes();
    addLinks();
    orderLayers(graph_);
  }

  GraphLayout run() {
    placeInLayers();
    return result();
  }

 private:
  void addNodes() {
    const size_t count = layer_.empty() ? 0 : static_cast<size_t>(*std::ranges::max_element(layer_)) + 1;
    graph_.layers.resize(count);
    for (size_t node = 0; node < nodes_.size(); ++node) {
      graph_.layers[static_cast<size_t>(layer_[node])].push_back(node);
      widths_.push_back(nodes_[node].width);
    }
    graph_.nodes = nodes_.size();
  }

  // The node by which edges from this port pass a layer.
  size_t passage(size_t from, double port, int layer) {
    const auto [found, is_fresh] = passages_.try_emplace({from, std::lround(port * 16), layer}, graph_.nodes);
    if (is_fresh) {
      graph_.layers[static_cast<size_t>(layer)].push_back(graph_.nodes++);
      widths_.push_back(kPassWidth);
    }
    return found->second;
  }

  void addLinks() {
    const auto share = [&](size_t node, double port) {
      return node < nodes_.size() && nodes_[node].width > 0 ? port / nodes_[node].width : 0;
    };
    for (const GraphEdge& edge : edges_) {
      std::vector<size_t> through = {edge.from};
      for (int layer = layer_[edge.from] + 1; layer < layer_[edge.to]; ++layer)
        through.push_back(passage(edge.from, edge.from_port, layer));
      through.push_back(edge.to);
      size_t shared = 0;  // links that an earlier edge has
      for (size_t i = 0; i + 1 < through.size(); ++i) {
        const bool is_first = i == 0;
        const bool is_last = i + 2 == through.size();
        if (!is_last && !linked_.emplace(through[i], through[i + 1]).second) {
          shared = i + 1;
          continue;
        }
        graph_.links.push_back({through[i], through[i + 1], is_first ? share(edge.from, edge.from_port) : 0,
                                is_last ? share(edge.to, edge.to_port) : 0});
      }
      through_.push_back(std::move(through));
      shared_.push_back(shared);
    }
  }

  double weightOf(const ProperGraph::Link& link) const {
    const int passages = (link.from >= nodes_.size() ? 1 : 0) + (link.to >= nodes_.size() ? 1 : 0);
    return passages == 2 ? 8 : passages == 1 ? 2 : 1;
  }

  void placeInLayers() {
    middles_.assign(graph_.nodes, 0);
    for (const auto& layer : graph_.layers) {
      double x = 0;
      for (const size_t node : layer) {
        middles_[node] = x + widths_[node] / 2;
        x += widths_[node] + kApart;
      }
      for (const size_t node : layer) middles_[node] -= (x - kApart) / 2;
    }
    std::vector<std::vector<const ProperGraph::Link*>> up(graph_.nodes);
    std::vector<std::vector<const ProperGraph::Link*>> down(graph_.nodes);
    for (const ProperGraph::Link& link : graph_.links) {
      down[link.from].push_back(&link);
      up[link.to].push_back(&link);
    }
    constexpr int kSweeps = 36;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const bool sees_both = sweep >= kSweeps / 3;
      const bool is_down = sweep % 2 == 0;
      for (size_t i = 0; i < graph_.layers.size(); ++i) {
        const size_t layer = is_down ? i : graph_.layers.size() - 1 - i;
        place(graph_.layers[layer], up, down, sees_both || is_down, sees_both || !is_down);
      }
    }
  }

  void place(const std::vector<size_t>& layer, const std::vector<std::vector<const ProperGraph::Link*>>& up,
             const std::vector<std::vector<const ProperGraph::Link*>>& down, bool sees_up, bool sees_down) {
    std::vector<LayerSlot> slots;
    for (const size_t node : layer) {
      double weight = 0;
      double sum = 0;
      const auto add = [&](const ProperGraph::Link& link) {
        const double wanted =
            link.from == node
                ? middles_[link.to] + link.to_port * widths_[link.to] - link.from_port * widths_[node]
                : middles_[link.from] + link.from_port * widths_[link.from] - link.to_port * widths_[node];
        sum += weightOf(link) * wanted;
        weight += weightOf(link);
      };
      if (sees_up)
        for (const ProperGraph::Link* link : up[node]) add(*link);
      if (sees_down)
        for (const ProperGraph::Link* link : down[node]) add(*link);
      constexpr double kStay = 0.02;
      slots.push_back(weight == 0 ? LayerSlot{widths_[node], middles_[node], kStay}
                                  : LayerSlot{widths_[node], sum / weight, weight});
    }
    const std::vector<double> middles = slotMiddles(slots, kApart);
    for (size_t i = 0; i < layer.size(); ++i) middles_[layer[i]] = middles[i];
  }

  double portX(size_t node, double port) const { return middles_[node] + port; }

  // The upper border of each layer, and that behind the last one.
  std::vector<Rectangle> bands() const {
    std::vector<double> runs(graph_.layers.size(), 0);
    for (const ProperGraph::Link& link : graph_.links) {
      const double run = std::abs(middles_[link.to] + link.to_port * widths_[link.to] - middles_[link.from] -
                                  link.from_port * widths_[link.from]);
      double& longest = runs[static_cast<size_t>(bandOf(link.from))];
      longest = std::max(longest, run);
    }
    std::vector<Rectangle> result;
    double y = 0;
    for (size_t layer = 0; layer < graph_.layers.size(); ++layer) {
      double height = 0;
      for (const size_t node : graph_.layers[layer])
        if (node < nodes_.size()) height = std::max(height, nodes_[node].height);
      result.push_back({0, y, 0, height});
      y += height + std::clamp(kLeastGap + kGapPerRun * runs[layer], kLeastGap, kMostGap);
    }
    return result;
  }

  int bandOf(size_t node) const {
    if (node < nodes_.size()) return layer_[node];
    return passage_layer_.at(node);
  }

  GraphLayout result() {
    for (const auto& [key, node] : passages_) passage_layer_[node] = std::get<2>(key);
    double left = 0;
    double right = 0;
    for (size_t node = 0; node < graph_.nodes; ++node) {
      const double a = middles_[node] - widths_[node] / 2;
      left = node == 0 ? a : std::min(left, a);
      right = node == 0 ? a + widths_[node] : std::max(right, a + widths_[node]);
    }
    for (double& middle : middles_) middle -= left;
    const std::vector<Rectangle> bands = this->bands();
    GraphLayout layout;
    layout.width = right - left;
    layout.height = bands.empty() ? 0 : bands.back().bottom();
    for (size_t node = 0; node < nodes_.size(); ++node) {
      const Rectangle& band = bands[static_cast<size_t>(layer_[node])];
      const GraphNode& box = nodes_[node];
      layout.nodes.push_back(
          {middles_[node] - box.width / 2, band.y + (band.height - box.height) / 2, box.width, box.height});
    }
    for (size_t edge = 0; edge < edges_.size(); ++edge) {
      layout.routes.push_back(route(edge, bands, layout.nodes));
      layout.is_branch.push_back(shared_[edge] > 0);
    }
    return layout;
  }

  std::vector<Point> route(size_t number, const std::vector<Rectangle>& bands,
                           const std::vector<Rectangle>& boxes) const {
    const GraphEdge& edge = edges_[number];
    const std::vector<size_t>& through = through_[number];
    std::vector<Point> points;
    for (size_t i = shared_[number]; i < through.size(); ++i) {
      const Rectangle& band = bands[static_cast<size_t>(bandOf(through[i]))];
      if (i == 0) {
        const double x = portX(edge.from, edge.from_port);
        points.push_back({x, boxes[edge.from].bottom()});
        points.push_back({x, band.bottom()});
      } else if (i + 1 == through.size()) {
        const double x = portX(edge.to, edge.to_port);
        points.push_back({x, band.y});
        points.push_back({x, boxes[edge.to].y});
      } else {
        points.push_back({middles_[through[i]], band.y});
        points.push_back({middles_[through[i]], band.bottom()});
      }
    }
    return points;
  }

  const std::vector<GraphNode>& nodes_;
  const std::vector<GraphEdge>& edges_;
  std::vector<int> layer_;
  ProperGraph graph_;            // nodes_, then passages
  std::vector<double> widths_;   // of its nodes
  std::vector<double> middles_;  // of its nodes
  std::map<std::tuple<size_t, long, int>, size_t> passages_;
  std::map<size_t, int> passage_layer_;
  std::set<std::pair<size_t, size_t>> linked_;
  std::vector<std::vector<size_t>> through_;  // per edge
  std::vector<size_t> shared_;                // per edge: how many of its first links an earlier one has
};

}  // namespace

GraphLayout layOut(const std::vector<GraphNode>& nodes, const std::vector<GraphEdge>& edges) {
  return Layout(nodes, edges).run();
}

std::string routePath(const std::vector<Point>& route) {
  std::string path = fmt::format("M{} {}", coordinate(route[0].x), coordinate(route[0].y));
  for (size_t i = 1; i < route.size(); ++i) {
    const Point& from = route[i - 1];
    const Point& to = route[i];
    if (i % 2 == 1 || std::abs(from.x - to.x) < 0.05) {
      if (std::abs(from.y - to.y) >= 0.05) path += fmt::format("V{}", coordinate(to.y));
      continue;
    }
    const double middle = (from.y + to.y) / 2;
    path += fmt::format("C{} {} {} {} {} {}", coordinate(from.x), coordinate(middle), coordinate(to.x),
                        coordinate(middle), coordinate(to.x), coordinate(to.y));
  }
  return path;
}

}  // namespace tokamak
