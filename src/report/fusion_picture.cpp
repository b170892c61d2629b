#include "report/fusion_picture.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "report/layered_graph.h"
#include "report/op_cards.h"

namespace tokamak {

namespace {

constexpr double kMargin = 20;
constexpr std::string_view kEdgeColour = "#6b7885";
// With more layers than these, inputs stand right above what reads them, not at the top.
constexpr size_t kMostLayersBelowInputs = 14;

class FusionGraph {
 public:
  explicit FusionGraph(const Fusion& fusion) : fusion_(fusion), names_(fusion), exprs_(fusion.exprs()) {
    for (const Val* input : fusion.inputs()) addInput(*input);
    for (const Expr* expr : exprs_) addOp(*expr);
    addOutputs();
    if (longestPath() > kMostLayersBelowInputs) {
      for (GraphNode& node : nodes_)
        if (node.layer == LayerChoice::Top) node.layer = LayerChoice::Above;
    }
  }

  std::string draw(std::string_view id_prefix) const {
    const GraphLayout layout = layOut(nodes_, edges_);
    Svg svg;
    svg.defineTip("data", kEdgeColour);
    const std::string below =
        fmt::format("{}, {}, {}", counted(exprs_.size(), "op"), counted(fusion_.inputs().size(), "input"),
                    counted(fusion_.outputs().size(), "output"));
    const Rectangle heading = drawHeading(svg, fusion_.name(), below);
    const double legend = drawLegend(svg, {kMargin, heading.bottom() + layout.height + kMargin}, colours_);
    const double width = std::max({layout.width, heading.width - kMargin, legend}) + 2 * kMargin;
    const Point corner{(width - layout.width) / 2, heading.bottom()};
    for (const std::vector<Point>& route : layout.routes) drawRoute(svg, route, corner);
    for (size_t i = 0; i < cards_.size(); ++i) {
      const Rectangle& box = layout.nodes[i];
      tokamak::draw(svg, cards_[i], {box.x + corner.x, box.y + corner.y, box.width, box.height});
    }
    return svg.finish(width, corner.y + layout.height + 2 * kMargin + 16, "Data flow of " + fusion_.name(), id_prefix);
  }

 private:
  static void drawRoute(Svg& svg, std::vector<Point> route, const Point& corner) {
    for (Point& point : route) point = {point.x + corner.x, point.y + corner.y};
    svg.path(routePath(route), {.stroke = kEdgeColour, .stroke_width = 1.1, .marker = "data"});
  }

  size_t add(Card card, LayerChoice layer) {
    const Rectangle size = sizeOf(card);
    nodes_.push_back({size.width, size.height, layer});
    cards_.push_back(std::move(card));
    return nodes_.size() - 1;
  }

  void addInput(const Val& input) {
    if (const TensorView* tensor = asTensor(const_cast<Val*>(&input)))
      places_[&input] = {add(tensorCard(*tensor, names_, names_.nameOf(*tensor), inputRole(*tensor)), LayerChoice::Top),
                         0};
    else
      places_[&input] = {add(scalarCard(static_cast<const Scalar&>(input), names_), LayerChoice::Top), 0};
  }

  std::string inputRole(const TensorView& tensor) const {
    for (const auto& [output, alias] : fusion_.outputAliases()) {
      if (alias.target == &tensor) return "input, updated in place";
    }
    return fusion_.isOutput(&tensor) ? "input and output" : "input";
  }

  void addOp(const Expr& expr) {
    const auto isNamedHere = [&](const TensorView& result) { return !fusion_.isOutput(&result); };
    const TensorNamer namer = [&](const TensorView& tensor) { return names_.nameOf(tensor); };
    const size_t node = add(opCard(expr, names_, namer, isNamedHere), LayerChoice::Free);
    if (std::ranges::find(colours_, &colourOf(expr)) == colours_.end()) colours_.push_back(&colourOf(expr));
    std::vector<std::pair<size_t, double>> operands;
    for (const Val* operand : expr.inputs()) {
      if (const auto found = places_.find(operand); found != places_.end()) operands.push_back(found->second);
    }
    connect(operands, node);
    const size_t results = expr.outputs().size();
    for (size_t i = 0; i < results; ++i) places_[expr.output(i)] = {node, portOf(node, i, results)};
  }

  // Results and operands are spread over the width of a box, in their order.
  double portOf(size_t node, size_t number, size_t count) const {
    return nodes_[node].width * ((static_cast<double>(number) + 1) / (static_cast<double>(count) + 1) - 0.5);
  }

  void connect(const std::vector<std::pair<size_t, double>>& from, size_t to) {
    for (size_t i = 0; i < from.size(); ++i)
      edges_.push_back({from[i].first, to, from[i].second, portOf(to, i, from.size())});
  }

  void addOutputs() {
    std::vector<const TensorView*> known;
    for (const TensorView* output : fusion_.outputs()) {
      if (fusion_.isInput(output) || std::ranges::find(known, output) != known.end()) continue;
      known.push_back(output);
      std::string role = "output";
      if (const auto alias = fusion_.outputAliases().find(const_cast<TensorView*>(output));
          alias != fusion_.outputAliases().end())
        role = fmt::format("written into {}", targetName(*alias->second.target));
      const size_t node = add(tensorCard(*output, names_, names_.nameOf(*output), role), LayerChoice::Bottom);
      if (const auto found = places_.find(output); found != places_.end()) connect({found->second}, node);
    }
  }

  std::string targetName(const Val& target) const {
    const TensorView* tensor = asTensor(const_cast<Val*>(&target));
    return tensor == nullptr ? "an input" : elidedText(names_.nameOf(*tensor), 160, 9.5);
  }

  size_t longestPath() const {
    std::map<size_t, size_t> length;
    size_t longest = 0;
    for (const GraphEdge& edge : edges_) {  // in the order of what they go to
      length[edge.to] = std::max(length[edge.to], length[edge.from] + 1);
      longest = std::max(longest, length[edge.to]);
    }
    return longest;
  }

  const Fusion& fusion_;
  FusionNames names_;
  std::vector<Expr*> exprs_;
  std::vector<GraphNode> nodes_;
  std::vector<Card> cards_;
  std::vector<GraphEdge> edges_;
  std::vector<const OpColour*> colours_;
  std::map<const Val*, std::pair<size_t, double>> places_;  // of what ops read: a node and a port
};

}  // namespace

std::string fusionPicture(const Fusion& fusion, std::string_view id_prefix) {
  return FusionGraph(fusion).draw(id_prefix);
}

}  // namespace tokamak
