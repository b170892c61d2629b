#include "host/checker.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/ranges.h"
#include "host/race_report.h"
#include "host/step_order.h"
#include "host/step_rules.h"
#include "host/step_uses.h"

namespace tokamak {

namespace {

using Kind = RaceReport::Kind;

struct Race {
  const StepUse* first;
  const StepUse* second;
};

// The past uses of one buffer in one mode, by executor: what is ordered before a step is a prefix of each stream's uses, so
// that only the suffix, which runs at the same time, has to be looked at.
class History {
 public:
  explicit History(size_t stream_count) : lanes_(stream_count + 1) {}

  void add(const StepUse& use, StepPoint at) {
    Lane& lane = lanes_[laneOf(at)];
    if (lane.uses.size() % kRun == 0) lane.runs.push_back({use.box.begin, use.box.end});
    ByteRange& run = lane.runs.back();
    run = {std::min(run.begin, use.box.begin), std::max(run.end, use.box.end)};
    lane.uses.push_back({use.box.begin, use.box.end, &use, at});
  }

  template <class Visit>
  void forEachUnordered(const StepOrder& order, const StepUse& use, const Visit& visit) const {
    for (size_t number = 0; number < lanes_.size(); ++number) {
      const Lane& lane = lanes_[number];
      const bool is_stream = number + 1 < lanes_.size();
      for (size_t end = lane.uses.size(); end > 0;) {
        if (is_stream && order.isBeforeLatest(lane.uses[end - 1].at)) break;
        const size_t begin = (end - 1) / kRun * kRun;
        const ByteRange& run = lane.runs[begin / kRun];
        for (size_t i = end; i-- > begin && run.begin < use.box.end && use.box.begin < run.end;) {
          const Past& past = lane.uses[i];
          const bool may_meet = past.begin < use.box.end && use.box.begin < past.end;
          if (may_meet && !order.isBeforeLatest(past.at) && overlaps(past.use->box, use.box)) visit(*past.use);
        }
        end = begin;
      }
    }
  }

 private:
  // So many uses in a row are passed over at once where they are elsewhere in the buffer.
  static constexpr size_t kRun = 32;

  struct Past {
    int64_t begin;
    int64_t end;
    const StepUse* use;
    StepPoint at;
  };
  struct Lane {
    std::vector<Past> uses;
    std::vector<ByteRange> runs;  // from the first to the last byte of kRun uses each
  };

  // All communications share the last lane.
  size_t laneOf(StepPoint at) const { return std::min(static_cast<size_t>(at.executor), lanes_.size() - 1); }

  std::vector<Lane> lanes_;
};

// Walks the program once and finds the pairs of uses that conflict and that no edge orders.
class RaceSearch {
 public:
  RaceSearch(const StepList& list, const StepUses& uses)
      : list_(list),
        uses_(uses),
        order_(list),
        reads_(list.buffers.size(), History(static_cast<size_t>(list.stream_count))),
        writes_(reads_) {}

  // Without the step `left_out`, if it is one; at most `limit` races.
  std::vector<Race> find(int64_t left_out, size_t limit) {
    limit_ = limit;
    for (const StepUse& use : uses_.entry()) {
      const auto buffer = static_cast<size_t>(use.buffer);
      if (list_.buffers[buffer].origin != StepBuffer::Origin::Intermediate)
        writes_[buffer].add(use, StepOrder::entry());
    }
    for (size_t i = 0; i < list_.steps.size() && races_.size() < limit_; ++i) {
      if (static_cast<int64_t>(i) != left_out) checkStep(order_.take(list_.steps[i]), uses_.of(i));
    }
    if (races_.size() < limit_) checkStep(order_.takeExit(), uses_.exit());
    return std::move(races_);
  }

 private:
  void checkStep(StepPoint at, std::span<const StepUse> uses) {
    const size_t first_of_step = races_.size();
    for (const StepUse& use : uses) {
      if (use.box.isEmpty()) continue;
      const auto report = [&](const StepUse& past) { addRace(first_of_step, {&past, &use}); };
      const auto buffer = static_cast<size_t>(use.buffer);
      writes_[buffer].forEachUnordered(order_, use, report);
      if (use.mode == AccessMode::Write) reads_[buffer].forEachUnordered(order_, use, report);
    }
    for (const StepUse& use : uses) {
      if (!use.box.isEmpty())
        (use.mode == AccessMode::Write ? writes_ : reads_)[static_cast<size_t>(use.buffer)].add(use, at);
    }
  }

  // One race for two steps and a buffer.
  void addRace(size_t first_of_step, Race race) {
    const bool is_known =
        std::any_of(races_.begin() + static_cast<std::ptrdiff_t>(first_of_step), races_.end(), [&](const Race& known) {
          return known.first->step == race.first->step && known.second->buffer == race.second->buffer;
        });
    if (!is_known && races_.size() < limit_) races_.push_back(race);
  }

  const StepList& list_;
  const StepUses& uses_;
  StepOrder order_;
  std::vector<History> reads_;
  std::vector<History> writes_;
  std::vector<Race> races_;
  size_t limit_ = 0;
};

RaceReport reportOf(const StepList& list, const Race& race) {
  RaceReport report;
  report.kind = Kind::Race;
  report.first = race.first->step;
  report.second = race.second->step;
  report.buffer = race.second->buffer;
  report.first_bytes = {race.first->box.begin, race.first->box.end};
  report.second_bytes = {race.second->box.begin, race.second->box.end};
  report.message = inWords(list, report, {race.first->mode, race.second->mode});
  return report;
}

}  // namespace

std::vector<RaceReport> checkStepList(const StepList& list, CheckOptions options) {
  requireForm(list);
  const StepUses uses(list);
  std::vector<RaceReport> rules = checkStepRules(list, uses);
  std::vector<RaceReport> races;
  const auto limit = static_cast<size_t>(std::max<int64_t>(options.report_limit, 0));
  for (const Race& race : RaceSearch(list, uses).find(-1, limit)) races.push_back(reportOf(list, race));
  std::vector<RaceReport> reports;
  std::merge(std::make_move_iterator(rules.begin()), std::make_move_iterator(rules.end()),
             std::make_move_iterator(races.begin()), std::make_move_iterator(races.end()), std::back_inserter(reports),
             [](const RaceReport& a, const RaceReport& b) { return a.second < b.second; });
  return reports;
}

void requireRaceFree(const StepList& list) {
  static const RangeName range_name("check plan");
  const Range range(range_name);
  constexpr size_t kShown = 5;
  const auto reports = checkStepList(list);
  std::string text;
  for (size_t i = 0; i < std::min(reports.size(), kShown); ++i) {
    text += fmt::format("\n  {}. {}", i + 1, reports[i].message);
  }
  TK_REQUIRE(reports.empty(), Race, "check: the host program has {} problem{}{}:{}", reports.size(),
             reports.size() == 1 ? "" : "s", reports.size() > kShown ? fmt::format(", the first {}", kShown) : "",
             text);
}

std::vector<WaitNeed> listNecessaryWaits(const StepList& list) {
  requireForm(list);
  const StepUses uses(list);
  const size_t races = RaceSearch(list, uses).find(-1, std::numeric_limits<size_t>::max()).size();
  std::vector<WaitNeed> needs;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const StepKind kind = list.steps[i].kind;
    if (kind != StepKind::Wait && kind != StepKind::Join) continue;
    const auto step = static_cast<int64_t>(i);
    // Leaving an edge out only adds races.
    needs.push_back({step, RaceSearch(list, uses).find(step, races + 1).size() > races});
  }
  return needs;
}

}  // namespace tokamak
