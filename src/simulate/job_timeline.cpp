#include "simulate/job_timeline.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace tokamak {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLeastLeft = 0.01;  // of a capacity, whoever holds it

// Moments that are closer than rounding errors are one.
bool isBy(double moment, double now) { return moment <= now + 1e-12 * now; }

class Clockwork {
 public:
  explicit Clockwork(const Job& job)
      : job_(job),
        missing_(job.tasks.size()),
        open_(job.tasks.size()),
        followers_(job.tasks.size()),
        parties_(job.activities.size()),
        missing_parties_(job.activities.size()),
        held_(job.capacities.size(), 0) {
    times_.tasks.resize(job.tasks.size(), {.start = kNever, .end = kNever});
    times_.activities.resize(job.activities.size(), {.start = kNever, .end = kNever});
    times_.busy.resize(job.capacities.size(), 0);
    for (size_t i = 0; i < job.activities.size(); ++i) missing_parties_[i] = job.activities[i].parties;
    for (size_t i = 0; i < job.tasks.size(); ++i) {
      const JobTask& task = job.tasks[i];
      missing_[i] = task.after.size();
      open_[i] = task.activities.size();
      for (const int32_t earlier : task.after) followers_[static_cast<size_t>(earlier)].push_back(i);
      for (const int32_t activity : task.activities) parties_[static_cast<size_t>(activity)].push_back(i);
      if (task.after.empty()) moments_.push({task.issued, Kind::Start, i});
    }
  }

  JobTimes run() {
    while (true) {
      const double next = std::min(moments_.empty() ? kNever : moments_.top().at, firstEnd());
      if (next == kNever) break;
      advanceTo(next);
      while (!moments_.empty() && isBy(moments_.top().at, now_)) take();
      shareOut();
    }
    for (size_t i = 0; i < job_.tasks.size(); ++i) {
      const TaskSpan& span = times_.tasks[i];
      if (span.end == kNever && span.start != kNever) times_.stuck.push_back(static_cast<int32_t>(i));
      if (span.end != kNever) times_.seconds = std::max(times_.seconds, span.end);
    }
    return std::move(times_);
  }

 private:
  enum class Kind : uint8_t { Start, Work };  // a task starts; an activity's latency is over
  struct Moment {
    double at = 0;
    Kind kind = Kind::Start;
    size_t number = 0;
    auto operator<=>(const Moment&) const = default;
  };
  struct Running {
    size_t activity = 0;
    double left = 0;  // seconds of work
    double speed = 0;
    bool is_fixed = false;
  };

  double firstEnd() const {
    double first = kNever;
    for (const Running& running : running_) first = std::min(first, now_ + running.left / running.speed);
    return first;
  }

  void advanceTo(double moment) {
    std::vector<size_t> done;
    for (Running& running : running_) {
      const bool is_done = isBy(now_ + running.left / running.speed, moment);
      const double progress = is_done ? running.left : std::min(running.left, (moment - now_) * running.speed);
      for (const ResourceUse& use : job_.activities[running.activity].uses)
        times_.busy[static_cast<size_t>(use.resource)] += use.share * progress;
      running.left -= progress;
      if (is_done) done.push_back(running.activity);
      if (is_done) running.left = -1;
    }
    now_ = moment;
    std::erase_if(running_, [](const Running& running) { return running.left < 0; });
    for (const size_t activity : done) end(activity);
  }

  void take() {
    const Moment moment = moments_.top();
    moments_.pop();
    if (moment.kind == Kind::Start) return start(moment.number);
    const double seconds = job_.activities[moment.number].seconds;
    if (seconds > 0)
      running_.push_back({.activity = moment.number, .left = seconds});
    else
      end(moment.number);
  }

  void start(size_t number) {
    const JobTask& task = job_.tasks[number];
    times_.tasks[number].start = now_;
    for (const ResourceUse& hold : task.holds) held_[static_cast<size_t>(hold.resource)] += hold.share;
    if (task.activities.empty()) finish(number);
    for (const int32_t activity : task.activities) {
      const auto at = static_cast<size_t>(activity);
      if (--missing_parties_[at] > 0) continue;
      times_.activities[at].start = now_;
      moments_.push({now_ + job_.activities[at].latency, Kind::Work, at});
    }
  }

  void end(size_t activity) {
    times_.activities[activity].end = now_;
    for (const size_t task : parties_[activity])
      if (--open_[task] == 0) finish(task);
  }

  void finish(size_t number) {
    times_.tasks[number].end = now_;
    for (const ResourceUse& hold : job_.tasks[number].holds) held_[static_cast<size_t>(hold.resource)] -= hold.share;
    for (const size_t next : followers_[number])
      if (--missing_[next] == 0) moments_.push({std::max(now_, job_.tasks[next].issued), Kind::Start, next});
  }

  void shareOut() {
    std::vector<double> left(job_.capacities.size());
    for (size_t i = 0; i < left.size(); ++i)
      left[i] = std::max(job_.capacities[i] - held_[i], kLeastLeft * job_.capacities[i]);
    for (Running& running : running_) running.is_fixed = false;
    double level = 0;
    while (level < 1 && std::ranges::any_of(running_, std::logical_not(), &Running::is_fixed)) {
      std::vector<double> wanted(left.size(), 0);
      for (const Running& running : running_) {
        if (running.is_fixed) continue;
        for (const ResourceUse& use : job_.activities[running.activity].uses)
          wanted[static_cast<size_t>(use.resource)] += use.share;
      }
      double raise = 1 - level;
      for (size_t i = 0; i < left.size(); ++i)
        if (wanted[i] > 0) raise = std::min(raise, left[i] / wanted[i]);
      level += raise;
      for (size_t i = 0; i < left.size(); ++i) left[i] -= wanted[i] * raise;
      fixAt(level, left);
    }
  }

  // Those that use what is used up have the speed that they get.
  void fixAt(double level, const std::vector<double>& left) {
    const auto isUsedUp = [&](const ResourceUse& use) {
      const auto at = static_cast<size_t>(use.resource);
      return left[at] <= 1e-12 * job_.capacities[at];
    };
    for (Running& running : running_) {
      if (running.is_fixed) continue;
      running.speed = level;
      running.is_fixed = std::ranges::any_of(job_.activities[running.activity].uses, isUsedUp);
    }
  }

  const Job& job_;
  JobTimes times_;
  double now_ = 0;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
  std::vector<Running> running_;
  std::vector<size_t> missing_;                 // per task: what it waits for
  std::vector<size_t> open_;                    // per task: its activities that have not ended
  std::vector<std::vector<size_t>> followers_;  // per task: who waits for it
  std::vector<std::vector<size_t>> parties_;    // per activity: its tasks
  std::vector<int32_t> missing_parties_;        // per activity
  std::vector<double> held_;                    // per resource
};

}  // namespace

JobTimes timesOf(const Job& job) { return Clockwork(job).run(); }

}  // namespace tokamak
