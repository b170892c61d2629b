#include "report/timeline_picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "report/lane_tracks.h"
#include "report/op_cards.h"

namespace tokamak {

namespace {

constexpr double kBarHeight = 22;
constexpr double kBarGap = 4;
constexpr double kTimeWidth = 760;
constexpr std::string_view kBarFills[] = {"#cfe3f5", "#fbdcb9", "#d3ecd8", "#e2d5f2", "#f6d0d6", "#cfe9ec"};
constexpr std::string_view kBarStrokes[] = {"#2f6aa8", "#b4610f", "#2e7d43", "#6d48a0", "#b23a52", "#1f7f8b"};

std::string timeText(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

// 1, 2 or 5 times a power of ten, so that there are at most ten ticks.
double tickStep(double total) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(total, 1.0))) - 1);
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (total / (power * factor) <= 10) return power * factor;
  }
  return power * 20;
}

struct Track {
  std::string name;
  std::vector<RunSpan> spans;
  std::vector<size_t> rows;  // per span
  size_t rowCount() const { return std::max<size_t>(trackCount(rows), 1); }
};

std::vector<Track> tracksOf(const RunRecord& record) {
  const std::map<int64_t, std::string> names = record.trackNames();
  std::map<int64_t, Track> tracks;
  for (RunSpan& span : record.spans()) tracks[span.track].spans.push_back(std::move(span));
  std::vector<Track> result;
  for (auto& [number, track] : tracks) {
    const auto name = names.find(number);
    track.name = name == names.end() ? fmt::format("track {}", number) : name->second;
    std::vector<TrackSpan> lines;
    for (const RunSpan& span : track.spans)
      lines.push_back(
          {static_cast<double>(span.begin_ns), static_cast<double>(std::max(span.begin_ns, span.end_ns - 1))});
    track.rows = assignTracks(lines);
    result.push_back(std::move(track));
  }
  return result;
}

void drawBar(Svg& svg, const RunSpan& span, const Rectangle& bar, size_t colour) {
  svg.beginGroup("span", span.name,
                 fmt::format("{}\n{}", span.name, timeText(static_cast<double>(span.end_ns - span.begin_ns))));
  const bool is_idle = span.name.starts_with("wait");
  svg.rectangle(bar, {.fill = is_idle ? "#f4f6f8" : kBarFills[colour % std::size(kBarFills)],
                      .stroke = is_idle ? "#9aa5b1" : kBarStrokes[colour % std::size(kBarStrokes)],
                      .stroke_width = 0.8,
                      .corner = 2});
  if (bar.width > 34) {
    const std::string label = elidedText(span.name, bar.width - 8, 10);
    svg.text({bar.x + 4, bar.y + 15}, label, {.size = 10});
  }
  svg.endGroup();
}

}  // namespace

std::string timelinePicture(const RunRecord& record, std::string_view name, std::string_view id_prefix) {
  const std::vector<Track> tracks = tracksOf(record);
  int64_t begin = INT64_MAX;
  int64_t end = INT64_MIN;
  double names_width = 0;
  for (const Track& track : tracks) {
    names_width = std::max(names_width, textWidth(track.name, 11, FontWeight::Bold));
    for (const RunSpan& span : track.spans) {
      begin = std::min(begin, span.begin_ns);
      end = std::max(end, span.end_ns);
    }
  }
  const double total = begin > end ? 0 : static_cast<double>(end - begin);
  Svg svg;
  const Rectangle heading = drawHeading(svg, std::string(name),
                                        fmt::format("one run: {} from the first beginning to the last end, {}",
                                                    timeText(total), counted(record.spans().size(), "span")));
  const Point corner{20 + names_width + 16, heading.bottom() + 16};
  const auto xOf = [&](int64_t ns) {
    return corner.x + (total == 0 ? 0 : kTimeWidth * static_cast<double>(ns - begin) / total);
  };
  double height = 0;
  for (const Track& track : tracks) height += static_cast<double>(track.rowCount()) * (kBarHeight + kBarGap) + 8;
  const double step = tickStep(total);
  for (double tick = 0; total > 0 && tick <= total; tick += step) {
    const double x = corner.x + kTimeWidth * tick / total;
    svg.line({x, corner.y - 4}, {x, corner.y + height}, {.stroke = "#e3e8ec"});
    svg.text({x, corner.y - 8}, timeText(tick), {.size = 9.5, .anchor = TextAnchor::Middle});
  }
  std::map<std::string, size_t> colours;
  double y = corner.y;
  for (const Track& track : tracks) {
    svg.text({20, y + 15}, track.name, {.weight = FontWeight::Bold});
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const RunSpan& span = track.spans[i];
      const double row = static_cast<double>(track.rows[i]) * (kBarHeight + kBarGap);
      const double width = std::max(xOf(span.end_ns) - xOf(span.begin_ns), 1.0);
      const size_t colour = colours.try_emplace(span.name, colours.size()).first->second;
      drawBar(svg, span, {xOf(span.begin_ns), y + row, width, kBarHeight}, colour);
    }
    y += static_cast<double>(track.rowCount()) * (kBarHeight + kBarGap) + 8;
  }
  return svg.finish(std::max(corner.x + kTimeWidth, heading.width) + 40, y + 12, fmt::format("Timeline of {}", name),
                    id_prefix);
}

}  // namespace tokamak
