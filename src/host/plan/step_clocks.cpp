#include "host/plan/step_clocks.h"

#include <algorithm>
#include <map>
#include <set>

namespace tokamak {

namespace {

bool isOrderOnly(const Step& step) { return step.kind == StepKind::Record || step.kind == StepKind::Wait; }

bool hasCommunications(const StepList& list) {
  return std::ranges::any_of(
      list.steps, [](const Step& step) { return step.kind == StepKind::Post || step.kind == StepKind::Join; });
}

void joinInto(DoneCounts& clock, const DoneCounts& other) {
  for (size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

DoneCounts entryClock(const StepList& list) {
  DoneCounts clock(static_cast<size_t>(list.stream_count), 0);
  return clock;
}

// A point of a stream: after its step number `position`.
struct Point {
  size_t stream;
  int32_t position;
  auto operator<=>(const Point&) const = default;
};

class WaitDropper {
 public:
  explicit WaitDropper(const StepList& list)
      : list_(list),
        clocks_(static_cast<size_t>(list.stream_count), entryClock(list)),
        wanted_(clocks_),
        recorded_(static_cast<size_t>(list.event_count), entryClock(list)),
        waits_(list.steps.size() + 1),
        is_waited_for_(findWaitedFor(list)) {
    clocks_[0][0] = 1;
    clock_at_[{0, 1}] = clocks_[0];
    step_at_[{0, 1}] = 0;
  }

  StepList drop() {
    for (size_t i = 0; i < list_.steps.size(); ++i) {
      const Step& step = list_.steps[i];
      const auto stream = static_cast<size_t>(step.stream);
      if (step.kind == StepKind::Record) {
        // One point that gathers several is cheaper than several waits of each waiter.
        if (is_waited_for_[i] && neededPoints(stream).size() > 1) {
          makeWaits(stream, i);
          addPoint(stream, i);
          gathers_.push_back({stream, clocks_[stream][stream]});
        }
        DoneCounts& point = recorded_[static_cast<size_t>(step.event)];
        point = wanted_[stream];
        point[stream] = clocks_[stream][stream];
      } else if (step.kind == StepKind::Wait) {
        joinInto(wanted_[stream], recorded_[static_cast<size_t>(step.event)]);
      } else {
        makeWaits(stream, i);
        addPoint(stream, i);
      }
    }
    makeWaits(0, list_.steps.size());
    return rebuild();
  }

  /// Whether a gather was made that no stream needed in the end.
  bool hasIdleGather() const {
    std::set<Point> waited_for;
    for (const auto& points : waits_) waited_for.insert(points.begin(), points.end());
    return std::ranges::any_of(gathers_, [&](const Point& gather) { return !waited_for.contains(gather); });
  }

 private:
  void addPoint(size_t stream, size_t i) {
    const Point point{stream, ++clocks_[stream][stream]};
    clock_at_[point] = clocks_[stream];
    step_at_[point] = i + 1;
  }

  // The points that `stream` still has to wait for: not known to be done, and not implied by each other.
  std::vector<Point> neededPoints(size_t stream) const {
    std::vector<Point> wanted;
    for (size_t s = 0; s < wanted_[stream].size(); ++s) {
      if (s != stream && wanted_[stream][s] > clocks_[stream][s]) wanted.push_back({s, wanted_[stream][s]});
    }
    std::vector<Point> needed;
    for (const Point& point : wanted) {
      const bool is_implied = std::ranges::any_of(wanted, [&](const Point& other) {
        return other.stream != point.stream && clock_at_.at(other)[point.stream] >= point.position;
      });
      if (!is_implied) needed.push_back(point);
    }
    return needed;
  }

  // Makes these waits just before step i.
  void makeWaits(size_t stream, size_t i) {
    waits_[i] = neededPoints(stream);
    for (const Point& point : waits_[i]) joinInto(clocks_[stream], clock_at_.at(point));
    std::ranges::fill(wanted_[stream], 0);
  }

  // Per step: whether it records a point that a later step waits for.
  static std::vector<bool> findWaitedFor(const StepList& list) {
    std::vector<bool> is_waited_for(list.steps.size(), false);
    std::vector<size_t> last_record(static_cast<size_t>(list.event_count), list.steps.size());
    for (size_t i = 0; i < list.steps.size(); ++i) {
      const Step& step = list.steps[i];
      if (step.kind == StepKind::Record) last_record[static_cast<size_t>(step.event)] = i;
      if (step.kind != StepKind::Wait) continue;
      const size_t record = last_record[static_cast<size_t>(step.event)];
      if (record < list.steps.size() && list.steps[record].stream != step.stream) is_waited_for[record] = true;
    }
    return is_waited_for;
  }

  StepList rebuild() const {
    std::map<Point, int32_t> events;
    std::vector<std::vector<Point>> records(list_.steps.size() + 1);  // before step i
    for (const auto& points : waits_) {
      for (const Point& point : points) {
        if (!events.emplace(point, static_cast<int32_t>(events.size())).second) continue;
        records[step_at_.at(point)].push_back(point);
      }
    }
    StepList result;
    result.buffers = list_.buffers;
    result.stream_count = list_.stream_count;
    result.event_count = static_cast<int32_t>(events.size());
    const auto addOrder = [&](StepKind kind, int32_t stream, const Point& point) {
      Step step;
      step.kind = kind;
      step.stream = stream;
      step.event = events.at(point);
      result.steps.push_back(std::move(step));
    };
    for (size_t i = 0; i <= list_.steps.size(); ++i) {
      for (const Point& point : records[i]) addOrder(StepKind::Record, static_cast<int32_t>(point.stream), point);
      const int32_t stream = i < list_.steps.size() ? list_.steps[i].stream : 0;
      for (const Point& point : waits_[i]) addOrder(StepKind::Wait, stream, point);
      if (i < list_.steps.size() && !isOrderOnly(list_.steps[i])) result.steps.push_back(list_.steps[i]);
    }
    return result;
  }

  const StepList& list_;
  std::vector<DoneCounts> clocks_;
  std::vector<DoneCounts> wanted_;         // per stream: points requested, not yet waited for
  std::vector<DoneCounts> recorded_;       // per event: the points it stands for
  std::vector<std::vector<Point>> waits_;  // per step: what its stream waits for just before it
  std::vector<bool> is_waited_for_;
  std::vector<Point> gathers_;  // points that only gather waits
  std::map<Point, DoneCounts> clock_at_;
  std::map<Point, size_t> step_at_;  // the index after the step
};

}  // namespace

StepClocks computeClocks(const StepList& list) {
  StepClocks result;
  std::vector<DoneCounts> clocks(static_cast<size_t>(list.stream_count), entryClock(list));
  clocks[0][0] = 1;
  std::vector<DoneCounts> recorded(static_cast<size_t>(list.event_count), entryClock(list));
  for (const Step& step : list.steps) {
    const auto stream = static_cast<size_t>(step.stream);
    if (step.kind == StepKind::Record) recorded[static_cast<size_t>(step.event)] = clocks[stream];
    if (step.kind == StepKind::Wait) joinInto(clocks[stream], recorded[static_cast<size_t>(step.event)]);
    result.before.push_back(clocks[stream]);
    if (!isOrderOnly(step)) ++clocks[stream][stream];
    result.position.push_back(clocks[stream][stream]);
  }
  result.at_exit = clocks[0];
  return result;
}

StepList dropImpliedWaits(const StepList& list) {
  if (hasCommunications(list)) return list;
  WaitDropper dropper(list);
  StepList result = dropper.drop();
  // (Without records of idle gathers their waits are implied; each round has fewer gathers.)
  return dropper.hasIdleGather() ? dropImpliedWaits(result) : result;
}

int64_t countWaits(const StepList& list) { return std::ranges::count(list.steps, StepKind::Wait, &Step::kind); }

}  // namespace tokamak
