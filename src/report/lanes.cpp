#include "report/lanes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/lane_tracks.h"
#include "report/op_cards.h"

namespace tokamak {

namespace {

constexpr double kEdge = 20;
constexpr double kLaneGap = 18;
constexpr double kTrack = 6;
constexpr double kRowGap = 12;
constexpr double kFrameHead = 24;
constexpr double kFrameFoot = 10;
constexpr double kFrameInset = 7;
constexpr double kHeadSize = 12;
constexpr std::string_view kValueColour = "#5b7c9d";
constexpr std::string_view kOrderColour = "#c2571a";
constexpr std::string_view kLaneColour = "#dde3e8";
constexpr std::string_view kFrameColour = "#7a55a8";

class LanePicture {
 public:
  explicit LanePicture(const Lanes& lanes) : lanes_(lanes) {
    for (const LaneItem& item : lanes.items) sizes_.push_back(sizeOf(item.card));
    makeRoomForArrows();
    assignRows();
    assignPorts();
    placeLanes();
    placeRows();
  }

  std::string draw(std::string_view title, std::string_view id_prefix) const {
    Svg svg;
    svg.defineTip("value", kValueColour);
    svg.defineTip("order", kOrderColour);
    const Rectangle heading = drawHeading(svg, lanes_.heading, lanes_.below);
    for (size_t lane = 0; lane < lanes_.lanes.size(); ++lane) drawLane(svg, lane);
    for (const LaneFrame& frame : lanes_.frames) drawFrameBox(svg, frame);
    for (size_t i = 0; i < lanes_.arrows.size(); ++i) drawArrow(svg, i);
    for (const LaneFrame& frame : lanes_.frames) drawFrameTab(svg, frame);
    for (size_t i = 0; i < lanes_.items.size(); ++i) tokamak::draw(svg, lanes_.items[i].card, boxOf(i));
    drawKinds(svg, {kEdge, bottom_ + 12});
    const double width = std::max({right_, heading.width, kKindsWidth}) + kEdge;
    return svg.finish(width, bottom_ + 34, title, id_prefix);
  }

 private:
  static constexpr double kKindsWidth = 260;

  // Tips at a border stand side by side.
  void makeRoomForArrows() {
    constexpr double kTip = 9;
    std::vector<double> entering(lanes_.items.size(), 1);
    std::vector<double> leaving(lanes_.items.size(), 1);
    for (const LaneArrow& arrow : lanes_.arrows) {
      entering[arrow.to] += 1;
      leaving[arrow.from] += 1;
    }
    for (size_t item = 0; item < sizes_.size(); ++item)
      sizes_[item].width = std::max(sizes_[item].width, 2 * kTip * std::max(entering[item], leaving[item]));
  }

  // --- rows ---
  void assignRows() {
    std::vector<int> last_of_lane(lanes_.lanes.size(), -1);
    for (size_t item = 0; item < lanes_.items.size(); ++item) {
      int row = static_cast<int>(item);
      if (lanes_.rows == LaneRows::AsSoon) {
        row = last_of_lane[lanes_.items[item].lane] + 1;
        for (const LaneArrow& arrow : lanes_.arrows)
          if (arrow.to == item) row = std::max(row, row_[arrow.from] + 1);
        last_of_lane[lanes_.items[item].lane] = row;
      }
      row_.push_back(row);
      row_count_ = std::max(row_count_, static_cast<size_t>(row) + 1);
    }
  }

  // --- arrows: from a port in the right half of a lower border to one in the left half of an upper border ---
  void assignPorts() {
    std::map<size_t, std::vector<size_t>> leaving;
    std::map<size_t, std::vector<size_t>> entering;
    for (size_t i = 0; i < lanes_.arrows.size(); ++i) {
      leaving[lanes_.arrows[i].from].push_back(i);
      entering[lanes_.arrows[i].to].push_back(i);
    }
    from_share_.resize(lanes_.arrows.size());
    to_share_.resize(lanes_.arrows.size());
    const auto spread = [](const std::vector<size_t>& arrows, double begin, double end, std::vector<double>& shares) {
      for (size_t k = 0; k < arrows.size(); ++k)
        shares[arrows[k]] = begin + (end - begin) * static_cast<double>(k + 1) / static_cast<double>(arrows.size() + 1);
    };
    for (const auto& [item, arrows] : leaving) spread(arrows, 0.52, 0.98, from_share_);
    for (const auto& [item, arrows] : entering) spread(arrows, 0.02, 0.48, to_share_);
  }

  size_t laneOf(size_t item) const { return lanes_.items[item].lane; }
  size_t fromRow(size_t arrow) const { return static_cast<size_t>(row_[lanes_.arrows[arrow].from]); }
  size_t toRow(size_t arrow) const { return static_cast<size_t>(row_[lanes_.arrows[arrow].to]); }
  // Whether it goes down between two lanes.
  bool isLong(size_t arrow) const { return toRow(arrow) > fromRow(arrow) + 1; }

  void placeLanes() {
    const size_t depth = deepest();
    double x = kEdge + static_cast<double>(depth) * kFrameInset;
    down_track_.assign(lanes_.arrows.size(), 0);
    for (size_t lane = 0; lane < lanes_.lanes.size(); ++lane) {
      std::vector<size_t> here;
      std::vector<TrackSpan> spans;
      for (size_t i = 0; i < lanes_.arrows.size(); ++i) {
        if (!isLong(i) || laneOf(lanes_.arrows[i].to) != lane) continue;
        here.push_back(i);
        spans.push_back({static_cast<double>(fromRow(i)), static_cast<double>(toRow(i)) - 0.5});
      }
      const std::vector<size_t> tracks = assignTracks(spans);
      for (size_t k = 0; k < here.size(); ++k) down_track_[here[k]] = tracks[k];
      gutter_.push_back(x + kLaneGap / 2);
      x += kLaneGap + static_cast<double>(trackCount(tracks)) * kTrack;
      double width = textWidth(lanes_.lanes[lane], kHeadSize, FontWeight::Bold) + 16;
      for (size_t item = 0; item < lanes_.items.size(); ++item)
        if (laneOf(item) == lane) width = std::max(width, sizes_[item].width);
      lane_.push_back({x, 0, width, 0});
      x += width;
    }
    right_ = x + kLaneGap + static_cast<double>(depth) * kFrameInset;
  }

  size_t deepest() const {
    size_t depth = 0;
    for (const LaneFrame& frame : lanes_.frames) depth = std::max(depth, frame.depth + 1);
    return depth;
  }

  double fromX(size_t arrow) const {
    const size_t item = lanes_.arrows[arrow].from;
    return boxX(item) + sizes_[item].width * from_share_[arrow];
  }
  double toX(size_t arrow) const {
    const size_t item = lanes_.arrows[arrow].to;
    return boxX(item) + sizes_[item].width * to_share_[arrow];
  }
  double downX(size_t arrow) const {
    return gutter_[laneOf(lanes_.arrows[arrow].to)] + static_cast<double>(down_track_[arrow]) * kTrack;
  }
  double boxX(size_t item) const {
    const Rectangle& lane = lane_[laneOf(item)];
    return lane.x + (lane.width - sizes_[item].width) / 2;
  }

  void placeRows() {
    // A line from left to right: which arrow, whether before it goes down between lanes, and from where to where.
    struct Across {
      size_t arrow;
      bool is_first;
    };
    std::vector<std::vector<Across>> across(row_count_);  // in the gap below each row
    std::vector<std::vector<TrackSpan>> spans(row_count_);
    const auto add = [&](size_t row, Across line, double a, double b) {
      across[row].push_back(line);
      spans[row].push_back({std::min(a, b) - 2, std::max(a, b) + 2});
    };
    for (size_t i = 0; i < lanes_.arrows.size(); ++i) {
      if (!isLong(i)) {
        add(fromRow(i), {i, true}, fromX(i), toX(i));
        continue;
      }
      add(fromRow(i), {i, true}, fromX(i), downX(i));
      add(toRow(i) - 1, {i, false}, downX(i), toX(i));
    }
    first_track_.assign(lanes_.arrows.size(), 0);
    last_track_.assign(lanes_.arrows.size(), 0);
    double y = 66 + 30;
    for (size_t row = 0; row < row_count_; ++row) {
      const double head = kFrameHead * static_cast<double>(framesFrom(row));
      row_y_.push_back(y + head);
      double height = 0;
      for (size_t item = 0; item < lanes_.items.size(); ++item)
        if (static_cast<size_t>(row_[item]) == row) height = std::max(height, sizes_[item].height);
      row_height_.push_back(height);
      const std::vector<size_t> tracks = assignTracks(spans[row]);
      for (size_t k = 0; k < tracks.size(); ++k)
        (across[row][k].is_first ? first_track_ : last_track_)[across[row][k].arrow] = tracks[k];
      foot_.push_back(y + head + height + kFrameFoot * static_cast<double>(framesTo(row)));
      y = foot_.back() + kRowGap + static_cast<double>(trackCount(tracks)) * kTrack;
    }
    bottom_ = y;
  }

  size_t framesFrom(size_t row) const {
    return static_cast<size_t>(std::ranges::count_if(
        lanes_.frames, [&](const LaneFrame& it) { return static_cast<size_t>(row_[it.first]) == row; }));
  }
  size_t framesTo(size_t row) const {
    return static_cast<size_t>(std::ranges::count_if(
        lanes_.frames, [&](const LaneFrame& it) { return static_cast<size_t>(row_[it.last]) == row; }));
  }

  Rectangle boxOf(size_t item) const {
    const auto row = static_cast<size_t>(row_[item]);
    return {boxX(item), row_y_[row] + (row_height_[row] - sizes_[item].height) / 2, sizes_[item].width,
            sizes_[item].height};
  }

  // --- drawing ---
  void drawLane(Svg& svg, size_t lane) const {
    const double middle = lane_[lane].x + lane_[lane].width / 2;
    svg.beginGroup("lane", lanes_.lanes[lane], "");
    svg.text({middle, 66 + 12}, lanes_.lanes[lane],
             {.size = kHeadSize, .weight = FontWeight::Bold, .anchor = TextAnchor::Middle});
    svg.line({middle, 66 + 20}, {middle, bottom_}, {.stroke = kLaneColour, .stroke_width = 4});
    svg.endGroup();
  }

  Rectangle frameBox(const LaneFrame& frame) const {
    const auto first = static_cast<size_t>(row_[frame.first]);
    const auto last = static_cast<size_t>(row_[frame.last]);
    size_t inner_heads = 0;  // of frames in it that begin in the same row
    size_t inner_feet = 0;
    for (const LaneFrame& other : lanes_.frames) {
      if (other.depth <= frame.depth) continue;
      inner_heads += static_cast<size_t>(row_[other.first]) == first ? 1 : 0;
      inner_feet += static_cast<size_t>(row_[other.last]) == last ? 1 : 0;
    }
    const double inset = kEdge + static_cast<double>(frame.depth) * kFrameInset;
    const double top = row_y_[first] - kFrameHead * static_cast<double>(inner_heads + 1);
    const double end = row_y_[last] + row_height_[last] + kFrameFoot * static_cast<double>(inner_feet) + kFrameFoot - 2;
    return {inset, top, right_ - inset - static_cast<double>(frame.depth) * kFrameInset, end - top};
  }

  void drawFrameBox(Svg& svg, const LaneFrame& frame) const {
    svg.rectangle(frameBox(frame), {.fill = "none", .stroke = kFrameColour, .stroke_width = 1.2, .corner = 6});
  }

  void drawFrameTab(Svg& svg, const LaneFrame& frame) const {
    const Rectangle box = frameBox(frame);
    const std::string label = elidedText(frame.label, box.width - 16, 11, FontWeight::Bold);
    svg.beginGroup("frame", frame.label, frame.label);
    svg.rectangle({box.x, box.y, textWidth(label, 11, FontWeight::Bold) + 16, 18}, {.fill = kFrameColour, .corner = 5});
    svg.text({box.x + 8, box.y + 13}, label, {.weight = FontWeight::Bold, .colour = "#ffffff"});
    svg.endGroup();
  }

  void drawArrow(Svg& svg, size_t number) const {
    const LaneArrow& arrow = lanes_.arrows[number];
    const bool is_order = arrow.kind == LaneArrow::Kind::Order;
    const Rectangle from = boxOf(arrow.from);
    const Rectangle to = boxOf(arrow.to);
    const auto gapY = [&](size_t row, size_t track) { return foot_[row] + 5 + static_cast<double>(track) * kTrack; };
    std::string data = fmt::format("M{} {}", coordinate(fromX(number)), coordinate(from.bottom()));
    data += fmt::format("V{}", coordinate(gapY(fromRow(number), first_track_[number])));
    if (isLong(number)) {
      data +=
          fmt::format("H{}V{}", coordinate(downX(number)), coordinate(gapY(toRow(number) - 1, last_track_[number])));
    }
    data += fmt::format("H{}V{}", coordinate(toX(number)), coordinate(to.y));
    svg.path(data, {.stroke = is_order ? kOrderColour : kValueColour,
                    .stroke_width = is_order ? 1.5 : 1.1,
                    .marker = is_order ? "order" : "value"});
  }

  void drawKinds(Svg& svg, const Point& at) const {
    const auto has = [&](LaneArrow::Kind kind) {
      return std::ranges::find(lanes_.arrows, kind, &LaneArrow::kind) != lanes_.arrows.end();
    };
    double x = at.x;
    const auto add = [&](std::string_view text, std::string_view colour, std::string_view marker) {
      svg.line({x, at.y + 5}, {x + 24, at.y + 5}, {.stroke = colour, .stroke_width = 1.4, .marker = marker});
      svg.text({x + 30, at.y + 9}, text, {.size = 10});
      x += 30 + textWidth(text, 10) + 20;
    };
    if (has(LaneArrow::Kind::Order)) add("waits for", kOrderColour, "order");
    if (has(LaneArrow::Kind::Value)) add("gives a value to", kValueColour, "value");
  }

  const Lanes& lanes_;
  std::vector<Rectangle> sizes_;  // of the items' cards
  std::vector<int> row_;          // of the items
  size_t row_count_ = 0;
  std::vector<double> from_share_, to_share_;      // ports of arrows, as shares of the boxes' widths
  std::vector<size_t> down_track_;                 // of arrows, between lanes
  std::vector<size_t> first_track_, last_track_;   // of arrows, between rows
  std::vector<double> gutter_;                     // per lane, the first line to its left
  std::vector<Rectangle> lane_;                    // x and width
  std::vector<double> row_y_, row_height_, foot_;  // per row: its boxes, and where the gap below begins
  double right_ = 0;
  double bottom_ = 0;
};

}  // namespace

std::string drawLanes(const Lanes& lanes, std::string_view title, std::string_view id_prefix) {
  return LanePicture(lanes).draw(title, id_prefix);
}

}  // namespace tokamak
