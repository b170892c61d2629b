#include "report/plan_picture.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "device/work.h"
#include "report/lanes.h"
#include "report/op_cards.h"

namespace tokamak {

namespace {

constexpr double kStepWidth = 220;
constexpr ShapeStyle kWorkShape{.fill = "#e4effa", .stroke = "#2f6aa8", .corner = 3};
constexpr ShapeStyle kMemoryStepShape{.fill = "#f3faf4", .stroke = "#3f8f52", .corner = 3};
constexpr ShapeStyle kMarkShape{.fill = "#f4f6f8", .stroke = "#9aa5b1", .corner = 9};

std::string bufferOf(const StepAddress& address, const StepList& list) {
  return fmt::format("{}+{}", list.buffers[static_cast<size_t>(address.buffer)].name, address.offset);
}

class PlanLanes {
 public:
  PlanLanes(const Plan& plan, std::string_view name, size_t most_steps) : list_(plan.steps()) {
    const PlanSummary& summary = plan.summary();
    lanes_.heading = std::string(name);
    lanes_.below = fmt::format("plan of {} on {}, {} of {} waits kept, peak {} bytes",
                               counted(static_cast<size_t>(summary.steps), "step"),
                               counted(static_cast<size_t>(summary.streams), "stream"), summary.waits_kept,
                               summary.waits_written, summary.peakBytes());
    lanes_.rows = LaneRows::AsSoon;
    for (int32_t stream = 0; stream < list_.stream_count; ++stream)
      lanes_.lanes.push_back(stream == 0 ? "caller's stream" : fmt::format("stream {}", stream));
    size_t shown = 0;
    for (const Step& step : list_.steps) {
      if (shown == most_steps) break;
      shown += add(step) ? 1 : 0;
    }
    const auto isWork = [](const Step& step) { return step.kind != StepKind::Record && step.kind != StepKind::Wait; };
    const auto all = static_cast<size_t>(std::ranges::count_if(list_.steps, isWork));
    if (all > shown) addMark(0, fmt::format("{} not shown", counted(all - shown, "further step")));
    for (const auto& [stream, sources] : waiting_) {
      if (sources.empty()) continue;
      const size_t mark = addMark(stream, "end");
      for (const size_t source : sources) lanes_.arrows.push_back({source, mark, LaneArrow::Kind::Order});
    }
  }

  const Lanes& lanes() const { return lanes_; }

 private:
  size_t addItem(size_t stream, Card card) {
    lanes_.items.push_back({stream, std::move(card)});
    last_[stream] = lanes_.items.size() - 1;
    return lanes_.items.size() - 1;
  }

  size_t addMark(size_t stream, const std::string& text) {
    Card card;
    card.lines.push_back({.bold = "", .plain = text, .size = 10});
    card.shape = kMarkShape;
    card.kind = "mark";
    card.data = text;
    return addItem(stream, std::move(card));
  }

  // Whether it is a box of its own; records and waits become arrows.
  bool add(const Step& step) {
    const auto stream = static_cast<size_t>(step.stream);
    if (step.kind == StepKind::Record) {
      if (!last_.contains(stream)) addMark(stream, "begin");
      recorded_[step.event] = last_.at(stream);
      return false;
    }
    if (step.kind == StepKind::Wait || step.kind == StepKind::Join) {
      if (const auto found = recorded_.find(step.event); found != recorded_.end())
        waiting_[stream].push_back(found->second);
      return false;
    }
    const size_t item = addItem(stream, cardOf(step));
    if (step.kind == StepKind::Post) recorded_[step.event] = item;
    for (const size_t source : waiting_[stream]) lanes_.arrows.push_back({source, item, LaneArrow::Kind::Order});
    waiting_[stream].clear();
    return true;
  }

  Card cardOf(const Step& step) const {
    std::vector<std::string> addresses;
    for (const StepAddress& address : step.addresses) addresses.push_back(bufferOf(address, list_));
    const std::string places = joined(addresses, "  ");
    const bool is_memory =
        step.kind == StepKind::Allocate || step.kind == StepKind::Release || step.kind == StepKind::Fill;
    const std::string head = stepText(step, list_);
    Card card;
    card.lines.push_back({.bold = elidedText(head, kStepWidth, 11, FontWeight::Bold), .plain = "", .size = 11});
    for (const std::string& line : wrappedText(places, kStepWidth, 9.5, 2))
      card.lines.push_back({.bold = "", .plain = line, .size = 9.5, .colour = "#4a5763"});
    card.shape = is_memory ? kMemoryStepShape : kWorkShape;
    card.kind = "step";
    card.data = head;
    card.title = places.empty() ? head : fmt::format("{}\n{}", head, places);
    return card;
  }

  const StepList& list_;
  Lanes lanes_;
  std::map<size_t, size_t> last_;                  // per stream
  std::map<int32_t, size_t> recorded_;             // per event
  std::map<size_t, std::vector<size_t>> waiting_;  // per stream, what its next step waits for
};

std::string bytesText(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return bytes == static_cast<double>(static_cast<int64_t>(bytes))
             ? fmt::format("{} {}", static_cast<int64_t>(bytes), kUnits[unit])
             : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

// Bytes of intermediates after each step.
std::vector<int64_t> liveBytes(const StepList& list) {
  std::vector<int64_t> live;
  int64_t now = 0;
  for (const Step& step : list.steps) {
    const auto bytesOf = [&] {
      const StepBuffer& buffer = list.buffers[static_cast<size_t>(step.accesses[0].buffer)];
      return buffer.origin == StepBuffer::Origin::Intermediate ? buffer.bytes : int64_t{0};
    };
    if (step.kind == StepKind::Allocate) now += bytesOf();
    if (step.kind == StepKind::Release) now -= bytesOf();
    live.push_back(now);
  }
  return live;
}

// A step line chart: axis, area, and a dashed line for what the plan holds.
void drawMemory(Svg& svg, const Rectangle& chart, const std::vector<int64_t>& live, int64_t held) {
  const int64_t most = std::max({int64_t{1}, held, live.empty() ? 0 : *std::ranges::max_element(live)});
  const auto yOf = [&](int64_t bytes) {
    return chart.bottom() - chart.height * static_cast<double>(bytes) / static_cast<double>(most);
  };
  const double step = chart.width / static_cast<double>(std::max<size_t>(live.size(), 1));
  for (int tick = 0; tick <= 4; ++tick) {
    const int64_t bytes = most * tick / 4;
    if (tick > 0 && bytes == most * (tick - 1) / 4) continue;
    svg.line({chart.x, yOf(bytes)}, {chart.right(), yOf(bytes)}, {.stroke = "#e3e8ec"});
    svg.text({chart.x - 8, yOf(bytes) + 4}, bytesText(static_cast<double>(bytes)),
             {.size = 10, .anchor = TextAnchor::End});
  }
  std::string area = fmt::format("M{} {}", coordinate(chart.x), coordinate(chart.bottom()));
  for (size_t i = 0; i < live.size(); ++i)
    area += fmt::format("V{}H{}", coordinate(yOf(live[i])), coordinate(chart.x + step * static_cast<double>(i + 1)));
  area += fmt::format("V{}z", coordinate(chart.bottom()));
  svg.path(area, {.fill = "#cfe3f5", .stroke = "#2f6aa8", .stroke_width = 1.2});
  svg.line({chart.x, yOf(held)}, {chart.right(), yOf(held)}, {.stroke = "#c2571a", .stroke_width = 1.4, .dash = "6 3"});
  svg.line({chart.x, chart.bottom()}, {chart.right(), chart.bottom()}, {.stroke = "#1d2733"});
}

}  // namespace

std::string stepText(const Step& step, const StepList& list) {
  const auto bufferName = [&] {
    return step.accesses.empty() ? std::string("memory")
                                 : list.buffers[static_cast<size_t>(step.accesses[0].buffer)].name;
  };
  switch (step.kind) {
    case StepKind::Fill: return fmt::format("fill {} with zero", bufferName());
    case StepKind::Allocate: return fmt::format("allocate {}", bufferName());
    case StepKind::Release: return fmt::format("release {}", bufferName());
    case StepKind::Record: return fmt::format("record event {}", step.event);
    case StepKind::Wait: return fmt::format("wait for event {}", step.event);
    case StepKind::Join: return fmt::format("wait for communication {}", step.event);
    case StepKind::Work:
    case StepKind::Post: return step.text;
  }
  return step.text;
}

std::string planPicture(const Plan& plan, std::string_view name, std::string_view id_prefix, size_t most_steps) {
  return drawLanes(PlanLanes(plan, name, most_steps).lanes(), fmt::format("Plan of {}", name), id_prefix);
}

std::string memoryPicture(const Plan& plan, std::string_view name, std::string_view id_prefix) {
  const std::vector<int64_t> live = liveBytes(plan.recorded());
  const int64_t held = plan.summary().arena_bytes;
  const int64_t most = live.empty() ? 0 : *std::ranges::max_element(live);
  Svg svg;
  const std::string below = fmt::format(
      "intermediates over {}: at most {} at a time in program order; the plan holds {}", counted(live.size(), "step"),
      bytesText(static_cast<double>(most)), bytesText(static_cast<double>(held)));
  const Rectangle heading = drawHeading(svg, std::string(name), below);
  const Rectangle chart{90, heading.bottom() + 8, 640, 220};
  drawMemory(svg, chart, live, held);
  svg.text({chart.x + chart.width / 2, chart.bottom() + 20}, "steps in the order in which they are recorded",
           {.size = 10, .anchor = TextAnchor::Middle});
  const double y = chart.bottom() + 38;
  svg.rectangle({chart.x, y, 12, 10}, {.fill = "#cfe3f5", .stroke = "#2f6aa8"});
  svg.text({chart.x + 18, y + 9}, "allocated after the step", {.size = 10});
  svg.line({chart.x + 160, y + 5}, {chart.x + 184, y + 5}, {.stroke = "#c2571a", .stroke_width = 1.4, .dash = "6 3"});
  svg.text({chart.x + 190, y + 9}, "held by the plan", {.size = 10});
  return svg.finish(std::max(chart.right(), heading.width) + 30, y + 26, fmt::format("Memory of {}", name), id_prefix);
}

}  // namespace tokamak
