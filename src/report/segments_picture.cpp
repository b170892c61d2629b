#include "report/segments_picture.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "report/layered_graph.h"
#include "report/op_cards.h"
#include "report/segments.h"

namespace tokamak {

namespace {

constexpr double kBorder = 20;
constexpr double kInnerMargin = 14;
constexpr double kTabHeight = 20;
constexpr double kTopMargin = 12;  // with the distance of layers more than the tab: the first ops stand below it
constexpr double kReasonWidth = 250;
constexpr double kReasonSize = 9.5;
constexpr size_t kMostReasonLines = 6;
constexpr std::string_view kReasonColour = "#9a3412";
constexpr std::string_view kLineColour = "#6b7885";

struct SegmentColour {
  std::string_view fill;
  std::string_view stroke;
};
constexpr SegmentColour kSegmentColours[] = {
    {"#f1f6fc", "#2f6aa8"}, {"#fdf4ea", "#b4610f"}, {"#eef8f0", "#2e7d43"},
    {"#f6f1fb", "#6d48a0"}, {"#fdf0f2", "#b23a52"}, {"#eef7f8", "#1f7f8b"},
};
const SegmentColour& segmentColour(size_t number) { return kSegmentColours[number % std::size(kSegmentColours)]; }

std::string inPicture(const TensorView& tensor, const FusionNames& names) {
  return tensor.name().empty() && tensor.label() >= 0 ? fmt::format("T{}", tensor.label()) : names.nameOf(tensor);
}

// What a segment looks like inside, and where on its borders values go in and out.
class SegmentInside {
 public:
  /// `computed_in`: per tensor that is inside of a segment the first such segment; this one is `number`.
  SegmentInside(const Segment& segment, size_t number, const FusionNames& names,
                std::map<std::string, size_t>& computed_in)
      : number_(number), names_(names), computed_in_(computed_in) {
    const auto inputs = segment.statement->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      input_nodes_.push_back(addNode({}, LayerChoice::Top));
      places_[segment.inside(i)] = {input_nodes_[i], 0};
    }
    std::set<const Val*> results;
    const auto outputs = segment.statement->outputs();
    for (size_t i = 0; i < outputs.size(); ++i) results.insert(segment.insideResult(i));
    for (const Expr* expr : segment.exprs) addOp(*expr, results);
    for (size_t i = 0; i < outputs.size(); ++i) {
      output_nodes_.push_back(addNode({}, LayerChoice::Bottom));
      if (const auto found = places_.find(segment.insideResult(i)); found != places_.end())
        edges_.push_back({found->second.first, output_nodes_[i], found->second.second, 0});
    }
    layout_ = layOut(nodes_, edges_);
  }

  double width() const { return layout_.width; }
  double height() const { return layout_.height; }
  double inputX(size_t number) const { return layout_.nodes[input_nodes_[number]].x; }
  double outputX(size_t number) const { return layout_.nodes[output_nodes_[number]].x; }
  const std::vector<const OpColour*>& colours() const { return colours_; }

  // With the upper left corner of the ops at `corner`; lines go on to the borders of `frame`.
  void draw(Svg& svg, const Point& corner, const Rectangle& frame) const {
    for (size_t i = 0; i < edges_.size(); ++i) {
      if (anchors_.contains(edges_[i].from)) continue;
      std::vector<Point> route = layout_.routes[i];
      for (Point& point : route) point = {point.x + corner.x, point.y + corner.y};
      const bool is_from_outside = cards_[edges_[i].from].lines.empty();
      const bool is_to_outside = cards_[edges_[i].to].lines.empty();
      if (is_from_outside && !layout_.is_branch[i]) route.front().y = frame.y;
      if (is_to_outside) route.back().y = frame.bottom();
      svg.path(routePath(route),
               {.stroke = kLineColour, .stroke_width = 1.1, .marker = is_to_outside ? std::string_view() : "data"});
    }
    for (size_t i = 0; i < cards_.size(); ++i) {
      const Rectangle& box = layout_.nodes[i];
      if (!cards_[i].lines.empty())
        tokamak::draw(svg, cards_[i], {box.x + corner.x, box.y + corner.y, box.width, box.height});
    }
  }

 private:
  size_t addNode(Card card, LayerChoice layer) {
    const Rectangle size = card.lines.empty() ? Rectangle() : sizeOf(card);
    nodes_.push_back({size.width, size.height, layer});
    cards_.push_back(std::move(card));
    return nodes_.size() - 1;
  }

  // What is cheap is computed in each segment that reads it.
  void noteRepetition(const Expr& expr, const std::set<const Val*>& results, Card& card) {
    for (const TensorView* result : tensorsOf(expr.outputs())) {
      if (results.contains(result)) continue;
      const auto [first, is_new] = computed_in_.try_emplace(inPicture(*result, names_), number_);
      if (is_new) continue;
      card.lines.push_back({.bold = "",
                            .plain = fmt::format("computed again, as in segment {}", first->second),
                            .size = kReasonSize,
                            .colour = kReasonColour});
    }
  }

  void addOp(const Expr& expr, const std::set<const Val*>& results) {
    const auto isInner = [&](const TensorView& tensor) { return !results.contains(&tensor); };
    const TensorNamer namer = [&](const TensorView& tensor) { return inPicture(tensor, names_); };
    Card card = opCard(expr, names_, namer, isInner);
    noteRepetition(expr, results, card);
    const size_t node = addNode(std::move(card), LayerChoice::Free);
    if (std::ranges::find(colours_, &colourOf(expr)) == colours_.end()) colours_.push_back(&colourOf(expr));
    std::vector<std::pair<size_t, double>> operands;
    for (const Val* operand : expr.inputs()) {
      if (const auto found = places_.find(operand); found != places_.end()) operands.push_back(found->second);
    }
    const auto port = [&](size_t number, size_t count) {
      return nodes_[node].width * ((static_cast<double>(number) + 1) / (static_cast<double>(count) + 1) - 0.5);
    };
    if (operands.empty()) {  // below the name of the segment, as ops that read something are
      const size_t anchor = addNode({}, LayerChoice::Free);
      anchors_.insert(anchor);
      operands.emplace_back(anchor, 0);
    }
    for (size_t i = 0; i < operands.size(); ++i)
      edges_.push_back({operands[i].first, node, operands[i].second, port(i, operands.size())});
    for (size_t i = 0; i < expr.outputs().size(); ++i) places_[expr.output(i)] = {node, port(i, expr.outputs().size())};
  }

  size_t number_;
  FusionNames names_;
  std::map<std::string, size_t>& computed_in_;
  std::vector<GraphNode> nodes_;
  std::vector<Card> cards_;  // without lines: where a value goes in or out
  std::vector<GraphEdge> edges_;
  std::set<size_t> anchors_;  // nodes that are not drawn, nor are their edges
  std::vector<size_t> input_nodes_;
  std::vector<size_t> output_nodes_;
  std::vector<const OpColour*> colours_;
  std::map<const Val*, std::pair<size_t, double>> places_;
  GraphLayout layout_;
};

class SegmentGraph {
 public:
  SegmentGraph(const HostIrContainer& program, const KernelTarget& target)
      : program_(program), target_(target), segments_(segmentsOf(program)), names_(program) {
    for (const Val* input : program.inputs()) addInput(*input);
    for (size_t i = 0; i < segments_.size(); ++i) addSegment(i);
    addMissingOutputs();
  }

  std::string draw(std::string_view id_prefix) const {
    const GraphLayout layout = layOut(nodes_, edges_);
    Svg svg;
    svg.defineTip("data", kLineColour);
    const Rectangle heading = drawHeading(svg, program_.name(), counted(segments_.size(), "segment"));
    const double legend = drawLegend(svg, {kBorder, heading.bottom() + layout.height + kBorder}, colours());
    const double width = std::max({layout.width, heading.width - kBorder, legend}) + 2 * kBorder;
    const Point corner{(width - layout.width) / 2, heading.bottom()};
    for (size_t i = 0; i < edges_.size(); ++i) {
      std::vector<Point> route = layout.routes[i];
      for (Point& point : route) point = {point.x + corner.x, point.y + corner.y};
      const bool is_into_segment = segment_of_.contains(edges_[i].to);
      svg.path(routePath(route),
               {.stroke = kLineColour, .stroke_width = 1.1, .marker = is_into_segment ? std::string_view() : "data"});
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Rectangle& box = layout.nodes[i];
      const Rectangle at{box.x + corner.x, box.y + corner.y, box.width, box.height};
      if (const auto segment = segment_of_.find(i); segment != segment_of_.end())
        drawSegment(svg, segment->second, at);
      else
        tokamak::draw(svg, cards_[i], at);
    }
    return svg.finish(width, corner.y + layout.height + 2 * kBorder + 16, "Segments of " + program_.name(), id_prefix);
  }

 private:
  size_t add(Card card, double width, double height, LayerChoice layer) {
    nodes_.push_back({width, height, layer});
    cards_.push_back(std::move(card));
    return nodes_.size() - 1;
  }

  size_t addCard(Card card, LayerChoice layer) {
    const Rectangle size = sizeOf(card);
    return add(std::move(card), size.width, size.height, layer);
  }

  void addInput(const Val& input) {
    const TensorView* tensor = asTensor(const_cast<Val*>(&input));
    Card card = tensor == nullptr ? scalarCard(static_cast<const Scalar&>(input), names_)
                                  : tensorCard(*tensor, names_, inPicture(*tensor, names_), "input");
    places_[&input] = {addCard(std::move(card), LayerChoice::Above), 0};
  }

  std::string tabOf(size_t number) const { return fmt::format("segment {}: {}", number, segments_[number].form); }

  void addSegment(size_t number) {
    const Segment& segment = segments_[number];
    const Fusion& own = segment.isHostSegment()
                            ? segment.exprs.empty() ? static_cast<const Fusion&>(program_) : segment.exprs[0]->fusion()
                            : static_cast<const Fusion&>(program_);
    insides_.emplace_back(segment, number, FusionNames(own), computed_in_);
    const SegmentInside& inside = insides_.back();
    const double tab = textWidth(tabOf(number), 11, FontWeight::Bold) + 16;
    const double width = std::max(inside.width(), tab) + 2 * kInnerMargin;
    const size_t node = add({}, width, inside.height() + kTopMargin, LayerChoice::Free);
    segment_of_[node] = number;
    const double left = (width - inside.width()) / 2 - width / 2;
    const auto inputs = segment.statement->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const auto found = places_.find(inputs[i]); found != places_.end())
        edges_.push_back({found->second.first, node, found->second.second, left + inside.inputX(i)});
    }
    const auto outputs = segment.statement->outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const size_t card = addBoundary(number, *asTensor(outputs[i]));
      edges_.push_back({node, card, left + inside.outputX(i), 0});
      places_[outputs[i]] = {card, 0};
    }
  }

  // What a segment gives: with why it is not read in the same one.
  size_t addBoundary(size_t producer, const TensorView& tensor) {
    const bool is_output = program_.isOutput(&tensor);
    const std::string name = inPicture(tensor, names_);
    Card card = tensorCard(tensor, names_, name, is_output ? "output" : "");
    std::vector<std::pair<std::string, std::vector<size_t>>> reasons;
    for (size_t consumer = producer + 1; consumer < segments_.size(); ++consumer) {
      const auto inputs = segments_[consumer].statement->inputs();
      if (std::ranges::find(inputs, static_cast<const Val*>(&tensor)) == inputs.end()) continue;
      const auto [first, is_new] = told_.try_emplace({producer, consumer}, name);
      const std::string reason = is_new ? whyCut(program_, segments_[producer], segments_[consumer], target_)
                                        : "as at " + elidedText(first->second, kReasonWidth / 2, kReasonSize);
      const auto known = std::ranges::find(reasons, reason, &std::pair<std::string, std::vector<size_t>>::first);
      if (known == reasons.end())
        reasons.emplace_back(reason, std::vector{consumer});
      else
        known->second.push_back(consumer);
    }
    for (const auto& [reason, consumers] : reasons) addReason(card, consumers, reason);
    return addCard(std::move(card), is_output && reasons.empty() ? LayerChoice::Bottom : LayerChoice::Free);
  }

  static void addReason(Card& card, const std::vector<size_t>& consumers, const std::string& reason) {
    const std::string text =
        fmt::format("cut before segment{} {}: {}", consumers.size() == 1 ? "" : "s", joined(consumers), reason);
    card.title += "\n" + text;
    for (const std::string& line : wrappedText(text, kReasonWidth, kReasonSize, kMostReasonLines))
      card.lines.push_back({.bold = "", .plain = line, .size = kReasonSize, .colour = kReasonColour});
  }

  // Outputs that no segment gives: inputs, and what is written into them.
  void addMissingOutputs() {
    for (const TensorView* output : program_.outputs()) {
      if (places_.contains(output)) continue;
      places_[output] = {
          addCard(tensorCard(*output, names_, inPicture(*output, names_), "output"), LayerChoice::Bottom), 0};
    }
  }

  void drawSegment(Svg& svg, size_t number, const Rectangle& at) const {
    const SegmentColour& colour = segmentColour(number);
    const SegmentInside& inside = insides_[number];
    svg.beginGroup("segment", fmt::format("{}", number), tabOf(number));
    svg.rectangle(at, {.fill = colour.fill, .stroke = colour.stroke, .stroke_width = 1.6, .corner = 8});
    inside.draw(svg, {at.x + (at.width - inside.width()) / 2, at.y + kTopMargin}, at);
    const double tab = textWidth(tabOf(number), 11, FontWeight::Bold) + 16;
    svg.rectangle({at.x, at.y, tab, kTabHeight}, {.fill = colour.stroke, .corner = 8});
    svg.text({at.x + 8, at.y + 14}, tabOf(number), {.weight = FontWeight::Bold, .colour = "#ffffff"});
    svg.endGroup();
  }

  std::vector<const OpColour*> colours() const {
    std::vector<const OpColour*> all;
    for (const SegmentInside& inside : insides_)
      all.insert(all.end(), inside.colours().begin(), inside.colours().end());
    return all;
  }

  const HostIrContainer& program_;
  KernelTarget target_;
  std::vector<Segment> segments_;
  FusionNames names_;
  std::map<std::string, size_t> computed_in_;
  std::vector<SegmentInside> insides_;  // per segment
  std::vector<GraphNode> nodes_;
  std::vector<Card> cards_;
  std::vector<GraphEdge> edges_;
  std::map<size_t, size_t> segment_of_;  // of nodes that are segments
  std::map<const Val*, std::pair<size_t, double>> places_;
  std::map<std::pair<size_t, size_t>, std::string> told_;  // where a reason is told, by the two segments
};

}  // namespace

std::string segmentsPicture(const HostIrContainer& program, const KernelTarget& target, std::string_view id_prefix) {
  return SegmentGraph(program, target).draw(id_prefix);
}

}  // namespace tokamak
