#include "host/check/checker.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "base/profiler_range.h"
#include "base/require.h"
#include "host/check/race_report.h"
#include "host/check/step_order.h"
#include "host/check/step_rules.h"
#include "host/check/step_uses.h"
#include "host/check/use_index.h"

namespace tokamak {

namespace {

using Kind = RaceReport::Kind;

struct Race {
  const StepUse* first;
  const StepUse* second;
};

// Finds the conflicting pairs of uses that no edge orders, in one pass over the steps.
class RaceSearch {
 public:
  RaceSearch(const StepList& list, const StepUses& uses) : list_(list), uses_(uses), order_(list), past_(list, uses) {}

  // At most `limit` races. Ignores step `left_out`, if it is a step.
  std::vector<Race> find(int64_t left_out, size_t limit) {
    limit_ = limit;
    for (const StepUse& use : uses_.entry()) {
      const bool is_callers = list_.buffers[static_cast<size_t>(use.buffer)].origin != StepBuffer::Origin::Intermediate;
      if (is_callers && !use.box.isEmpty()) past_.add(use, StepOrder::entry());
    }
    for (size_t i = 0; i < list_.steps.size() && races_.size() < limit_; ++i) {
      if (static_cast<int64_t>(i) == left_out) continue;
      const StepPoint at = order_.take(list_.steps[i]);
      checkLatest(uses_.of(i));
      for (const StepUse& use : uses_.of(i)) {
        if (!use.box.isEmpty()) past_.add(use, at);
      }
    }
    order_.takeExit();
    if (races_.size() < limit_) checkLatest(uses_.exit());
    return std::move(races_);
  }

 private:
  // `uses`: of the latest step.
  void checkLatest(std::span<const StepUse> uses) {
    const size_t first_of_step = races_.size();
    for (const StepUse& use : uses) {
      if (use.box.isEmpty()) continue;
      const auto report = [&](const StepUse& past) { addRace(first_of_step, {&past, &use}); };
      past_.forEachUnordered(order_, use, AccessMode::Write, report);
      if (use.mode == AccessMode::Write) past_.forEachUnordered(order_, use, AccessMode::Read, report);
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
  UseIndex past_;
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
    // (Without an edge there are as many races or more.)
    needs.push_back({step, RaceSearch(list, uses).find(step, races + 1).size() > races});
  }
  return needs;
}

}  // namespace tokamak
