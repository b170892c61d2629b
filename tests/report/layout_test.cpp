// Layouts of random graphs, and the steps that they are made of against what they are defined by.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "report/graph_layers.h"
#include "report/graph_order.h"
#include "report/graph_positions.h"
#include "report/lane_tracks.h"
#include "report/layered_graph.h"
#include "report/text_width.h"

namespace tokamak {

namespace {

using Random = std::mt19937;

size_t drawn(Random& random, size_t count) { return random() % count; }

struct RandomGraph {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

RandomGraph randomGraph(Random& random) {
  RandomGraph graph;
  const size_t count = 2 + drawn(random, 40);
  for (size_t i = 0; i < count; ++i) {
    graph.nodes.push_back(
        {10.0 + static_cast<double>(drawn(random, 200)), 10.0 + static_cast<double>(drawn(random, 60))});
    const size_t operands = i == 0 ? 0 : drawn(random, 4);
    for (size_t k = 0; k < operands; ++k) {
      const size_t from = drawn(random, 3) == 0 ? drawn(random, i) : i - 1 - drawn(random, std::min<size_t>(i, 6));
      const double port = graph.nodes[i].width * (static_cast<double>(k + 1) / static_cast<double>(operands + 1) - 0.5);
      graph.edges.push_back({from, i, 0, port});
    }
    if (operands == 0) graph.nodes[i].layer = drawn(random, 2) == 0 ? LayerChoice::Top : LayerChoice::Above;
  }
  return graph;
}

bool overlap(const Rectangle& a, const Rectangle& b) {
  constexpr double kSlack = 1e-6;
  return a.x + kSlack < b.right() && b.x + kSlack < a.right() && a.y + kSlack < b.bottom() && b.y + kSlack < a.bottom();
}

ProperGraph randomLayers(Random& random) {
  ProperGraph graph;
  const size_t layers = 2 + drawn(random, 4);
  for (size_t layer = 0; layer < layers; ++layer) {
    graph.layers.emplace_back();
    const size_t count = 1 + drawn(random, 6);
    for (size_t i = 0; i < count; ++i) graph.layers.back().push_back(graph.nodes++);
    if (layer == 0) continue;
    for (const size_t node : graph.layers[layer]) {
      for (size_t k = drawn(random, 4); k > 0; --k)
        graph.links.push_back({graph.layers[layer - 1][drawn(random, graph.layers[layer - 1].size())], node, 0, 0});
    }
  }
  return graph;
}

size_t crossingsPairByPair(const ProperGraph& graph) {
  std::vector<size_t> layer(graph.nodes);
  std::vector<long> place(graph.nodes);
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    for (size_t k = 0; k < graph.layers[i].size(); ++k) {
      layer[graph.layers[i][k]] = i;
      place[graph.layers[i][k]] = static_cast<long>(k);
    }
  }
  size_t count = 0;
  for (const auto& a : graph.links) {
    for (const auto& b : graph.links)
      count += layer[a.from] == layer[b.from] && place[a.from] < place[b.from] && place[a.to] > place[b.to] ? 1 : 0;
  }
  return count;
}

double costOf(const std::vector<LayerSlot>& slots, const std::vector<double>& middles) {
  double cost = 0;
  for (size_t i = 0; i < slots.size(); ++i) cost += slots[i].weight * std::pow(middles[i] - slots[i].wanted, 2);
  return cost;
}

bool keepApart(const std::vector<LayerSlot>& slots, const std::vector<double>& middles, double apart) {
  for (size_t i = 1; i < slots.size(); ++i) {
    if (middles[i] - middles[i - 1] < (slots[i - 1].width + slots[i].width) / 2 + apart - 1e-9) return false;
  }
  return true;
}

}  // namespace

TEST(Layout, NoBoxesOverlapAndEdgesGoDown) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const RandomGraph graph = randomGraph(random);
    const GraphLayout layout = layOut(graph.nodes, graph.edges);
    for (size_t i = 0; i < layout.nodes.size(); ++i) {
      const Rectangle& box = layout.nodes[i];
      EXPECT_GE(box.x, -1e-6);
      EXPECT_LE(box.right(), layout.width + 1e-6);
      EXPECT_LE(box.bottom(), layout.height + 1e-6);
      for (size_t k = i + 1; k < layout.nodes.size(); ++k) EXPECT_FALSE(overlap(box, layout.nodes[k])) << round;
    }
    for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
      const std::vector<Point>& route = layout.routes[edge];
      EXPECT_EQ(route.size() % 2, 0U);
      for (size_t i = 1; i < route.size(); ++i) EXPECT_GE(route[i].y, route[i - 1].y);
      const Rectangle& to = layout.nodes[graph.edges[edge].to];
      EXPECT_DOUBLE_EQ(route.back().y, to.y);
      EXPECT_NEAR(route.back().x, to.x + to.width / 2 + graph.edges[edge].to_port, 1e-6);
      if (!layout.is_branch[edge]) {
        EXPECT_DOUBLE_EQ(route.front().y, layout.nodes[graph.edges[edge].from].bottom());
      }
    }
  }
}

TEST(Layout, StraightPartsOfEdgesRunThroughNoBox) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const RandomGraph graph = randomGraph(random);
    const GraphLayout layout = layOut(graph.nodes, graph.edges);
    for (const std::vector<Point>& route : layout.routes) {
      for (size_t i = 0; i + 1 < route.size(); i += 2) {
        const Rectangle line{route[i].x, route[i].y, 0.5, route[i + 1].y - route[i].y};
        for (const Rectangle& box : layout.nodes) EXPECT_FALSE(overlap(line, box)) << round;
      }
    }
  }
}

TEST(Layout, EveryEdgeGoesFromALayerToALaterOne) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const RandomGraph graph = randomGraph(random);
    const std::vector<int> layers = layersOf(graph.nodes, graph.edges);
    for (const GraphEdge& edge : graph.edges) EXPECT_LT(layers[edge.from], layers[edge.to]) << round;
    for (size_t node = 0; node < graph.nodes.size(); ++node) {
      if (graph.nodes[node].layer == LayerChoice::Top) {
        EXPECT_EQ(layers[node], 0) << round;
      }
    }
  }
}

TEST(Layout, CrossingsAreCountedAndDoNotGrow) {
  Random random(4);
  size_t before = 0;
  size_t after = 0;
  for (int round = 0; round < 300; ++round) {
    ProperGraph graph = randomLayers(random);
    const size_t written = crossingsOf(graph);
    EXPECT_EQ(written, crossingsPairByPair(graph)) << round;
    orderLayers(graph);
    EXPECT_LE(crossingsOf(graph), written) << round;
    before += written;
    after += crossingsOf(graph);
  }
  EXPECT_LT(2 * after, before);
}

TEST(Layout, PositionsInALayerAreTheBestOnes) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    constexpr double kApart = 5;
    std::vector<LayerSlot> slots;
    for (size_t i = 1 + drawn(random, 8); i > 0; --i)
      slots.push_back({static_cast<double>(drawn(random, 40)), static_cast<double>(drawn(random, 200)),
                       1.0 + static_cast<double>(drawn(random, 5))});
    const std::vector<double> middles = slotMiddles(slots, kApart);
    ASSERT_EQ(middles.size(), slots.size());
    EXPECT_TRUE(keepApart(slots, middles, kApart)) << round;
    // The cost is convex: what no small legal move makes smaller is least.
    for (size_t begin = 0; begin < slots.size(); ++begin) {
      for (size_t end = begin + 1; end <= slots.size(); ++end) {
        for (const double move : {-0.01, 0.01}) {
          std::vector<double> other = middles;
          for (size_t i = begin; i < end; ++i) other[i] += move;
          if (keepApart(slots, other, kApart)) {
            EXPECT_GE(costOf(slots, other), costOf(slots, middles) - 1e-9) << round;
          }
        }
      }
    }
  }
}

TEST(Layout, TracksDoNotOverlapAndAreAsFewAsCanBe) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    std::vector<TrackSpan> lines;
    for (size_t i = drawn(random, 20); i > 0; --i) {
      const auto begin = static_cast<double>(drawn(random, 50));
      lines.push_back({begin, begin + static_cast<double>(drawn(random, 20))});
    }
    const std::vector<size_t> tracks = assignTracks(lines);
    size_t deepest = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      size_t at_once = 0;
      for (size_t k = 0; k < lines.size(); ++k) {
        const bool meets = lines[k].begin <= lines[i].begin && lines[i].begin <= lines[k].end;
        at_once += meets ? 1 : 0;
        if (k != i && meets) {
          EXPECT_NE(tracks[i], tracks[k]) << round;
        }
      }
      deepest = std::max(deepest, at_once);
    }
    EXPECT_EQ(trackCount(tracks), deepest) << round;
  }
}

TEST(TextWidth, TextsAreMadeToFit) {
  const std::string name = "a_name_\xC3\xA4\xE2\x82\xAC_of_several_alphabets_that_is_long";
  for (double width = 20; width < 400; width += 7) {
    const std::string shown = elidedText(name, width, 11);
    EXPECT_TRUE(textWidth(shown, 11) <= width || shown == "...") << shown;
    EXPECT_EQ(printableText(shown), shown);
  }
  EXPECT_EQ(elidedText("short", 100, 11), "short");
  for (const std::string& line : wrappedText("words of a sentence that goes on for some time", 80, 10, 3))
    EXPECT_LE(textWidth(line, 10), 80) << line;
  EXPECT_EQ(wrappedText("one two three four five six seven", 40, 10, 2).size(), 2U);
}

TEST(TextWidth, WhatIsNoTextOfXmlIsReplaced) {
  EXPECT_EQ(printableText("a\x01"
                          "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(printableText("\xFF"), "\xEF\xBF\xBD");
  EXPECT_EQ(printableText("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // an overlong slash
  EXPECT_EQ(printableText("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half a surrogate pair
  EXPECT_EQ(printableText("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

}  // namespace tokamak
