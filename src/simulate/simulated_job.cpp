#include "simulate/simulated_job.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/require.h"

namespace tokamak {

namespace {

int32_t resourceOf(size_t rank_class, RankResource kind) {
  return static_cast<int32_t>(rank_class * kRankResources + static_cast<size_t>(kind));
}

void addUse(std::vector<ResourceUse>& uses, int32_t resource, double share) {
  if (share <= 0) return;
  const auto found = std::ranges::find(uses, resource, &ResourceUse::resource);
  if (found != uses.end())
    found->share += share;
  else
    uses.push_back({resource, share});
}

class Builder {
 public:
  explicit Builder(const RankJobParts& parts) : parts_(parts) {}

  SimulatedJob build() {
    for (size_t rank = 0; rank < parts_.ranks.size(); ++rank)
      if (parts_.classes[rank] == made_.representatives.size()) made_.representatives.push_back(rank);
    const size_t classes = made_.representatives.size();
    made_.job.capacities.assign(classes * kRankResources, 1.0);
    for (size_t c = 0; c < classes; ++c) {
      const auto engines = static_cast<size_t>(resourceOf(c, RankResource::CopyEngines));
      made_.job.capacities[engines] = static_cast<double>(parts_.machine.copy_engines);
    }
    addTasks();
    addCommunications();
    return std::move(made_);
  }

 private:
  const RankSteps& stepsOf(size_t rank_class) const { return parts_.ranks[made_.representatives[rank_class]]; }

  size_t mostStreams() const {
    size_t most = 1;
    for (const RankSteps& steps : parts_.ranks) most = std::max(most, steps.streams.size());
    return most;
  }

  void addTasks() {
    const size_t most_streams = mostStreams();
    for (size_t c = 0; c < made_.representatives.size(); ++c) {
      const size_t first = made_.job.tasks.size();
      made_.first_task.push_back(first);
      first_side_.emplace_back();
      for (const RankTask& task : stepsOf(c).tasks) {
        JobTask made{.track = static_cast<int32_t>(c * most_streams) + task.stream, .issued = task.issued};
        for (const int32_t earlier : task.after) made.after.push_back(static_cast<int32_t>(first) + earlier);
        first_side_[c].push_back(sides_);
        if (task.isCommunication()) {
          sides_ += 2 * task.work->group.size();
          addHold(c, made);
        } else {
          made.activities = {addKernel(c, task)};
        }
        made_.job.tasks.push_back(std::move(made));
      }
    }
    made_.first_task.push_back(made_.job.tasks.size());
  }

  void addHold(size_t rank_class, JobTask& task) const {
    const double share =
        static_cast<double>(parts_.transport.multiprocessors) / static_cast<double>(parts_.machine.multiprocessors);
    if (share > 0) task.holds = {{resourceOf(rank_class, RankResource::Multiprocessors), share}};
  }

  double arithmeticSeconds(const RankTask& task) const {
    if (task.work == nullptr) return 0;
    const double functions = task.work->functions / parts_.machine.function_rate;
    if (task.work->products == 0) return functions;
    const auto rate = parts_.machine.product_rates.find(task.work->product_type);
    TK_REQUIRE(rate != parts_.machine.product_rates.end(), Usage,
               "machine {}: it has no rate for products of {}, as in {}", parts_.machine.name,
               dataTypeName(task.work->product_type), task.text);
    return functions + task.work->products / rate->second;
  }

  int32_t addKernel(size_t rank_class, const RankTask& task) {
    const double arithmetic = arithmeticSeconds(task);
    const Machine& machine = parts_.machine;
    const double host_rate = machine.host_memory ? machine.host_memory->bandwidth : machine.memory_bandwidth;
    const double in = task.from_host / host_rate;
    const double out = task.to_host / host_rate;
    const double memory = task.bytes / machine.memory_bandwidth;
    Activity kernel{.latency = machine.kernel_latency, .seconds = std::max({arithmetic, memory, in, out})};
    if (machine.host_memory && in + out > 0) kernel.latency += machine.host_memory->latency;
    if (kernel.seconds > 0) {
      const auto use = [&](RankResource kind, double share) {
        addUse(kernel.uses, resourceOf(rank_class, kind), share);
      };
      use(RankResource::Multiprocessors, arithmetic / kernel.seconds);
      use(RankResource::Memory, memory / kernel.seconds);
      use(RankResource::HostIn, in / kernel.seconds);
      use(RankResource::HostOut, out / kernel.seconds);
      if (in + out > 0 && arithmetic == 0) use(RankResource::CopyEngines, 1);
    }
    made_.job.activities.push_back(std::move(kernel));
    made_.is_communication.push_back(false);
    return static_cast<int32_t>(made_.job.activities.size()) - 1;
  }

  // A party as its class sees it, by number: class, task, communication of the task, and whether it is the sender of a
  // transfer. (A CollectivePermute is in two meetings by the same request.)
  size_t sideOf(const RankMeeting& meeting, size_t party) const {
    const MeetingParty& of = meeting.parties[party];
    const size_t rank_class = parts_.classes[static_cast<size_t>(of.rank)];
    const bool sends = meeting.is_transfer && of.rank == meeting.sender;
    return first_side_[rank_class][static_cast<size_t>(of.task)] + 2 * static_cast<size_t>(of.request) +
           (sends ? 1 : 0);
  }

  size_t rootOf(size_t side) {
    while (joined_[side] != side) side = joined_[side] = joined_[joined_[side]];
    return side;
  }

  // Meetings of ranks of the same classes, in the same tasks, are one activity.
  void addCommunications() {
    joined_.resize(sides_);
    std::iota(joined_.begin(), joined_.end(), size_t{0});
    for (const RankMeeting& meeting : parts_.meetings)
      for (size_t i = 1; i < meeting.parties.size(); ++i)
        joined_[rootOf(sideOf(meeting, i))] = rootOf(sideOf(meeting, 0));
    activity_of_.assign(sides_, -1);
    is_known_.assign(sides_, false);
    for (size_t i = 0; i < parts_.meetings.size(); ++i) addMeeting(parts_.meetings[i], parts_.costs[i]);
    for (const auto& [activity, tasks] : tasks_of_) {
      Activity& made = made_.job.activities[static_cast<size_t>(activity)];
      made.parties += static_cast<int32_t>(tasks.size());
      for (const size_t task : tasks) made_.job.tasks[task].activities.push_back(activity);
    }
  }

  void addMeeting(const RankMeeting& meeting, const CommunicationCost& cost) {
    int32_t& activity = activity_of_[rootOf(sideOf(meeting, 0))];
    if (activity < 0) {
      activity = static_cast<int32_t>(made_.job.activities.size());
      made_.job.activities.push_back({.latency = cost.latency, .seconds = cost.seconds, .parties = 0});
      made_.is_communication.push_back(true);
    }
    // Somebody never comes: it never starts.
    if (meeting.parties.size() < meeting.expected) made_.job.activities[static_cast<size_t>(activity)].parties = 1;
    for (size_t i = 0; i < meeting.parties.size(); ++i) {
      const size_t side = sideOf(meeting, i);
      if (is_known_[side]) continue;
      is_known_[side] = true;
      const size_t rank_class = parts_.classes[static_cast<size_t>(meeting.parties[i].rank)];
      tasks_of_[activity].insert(made_.first_task[rank_class] + static_cast<size_t>(meeting.parties[i].task));
      addUses(rank_class, cost, cost.moved[i], made_.job.activities[static_cast<size_t>(activity)]);
    }
  }

  void addUses(size_t rank_class, const CommunicationCost& cost, const MovedBytes& moved, Activity& activity) const {
    if (cost.seconds <= 0) return;
    const Machine& machine = parts_.machine;
    const double memory = (moved.sent + moved.received) / (cost.seconds * machine.memory_bandwidth);
    addUse(activity.uses, resourceOf(rank_class, RankResource::Memory), std::min(memory, 1.0));
    const bool uses_engine = moved.sent > 0 || cost.stays_in_memory;
    if (uses_engine)
      addUse(activity.uses, resourceOf(rank_class, RankResource::CopyEngines),
             static_cast<double>(parts_.transport.copy_engines));
    if (cost.stays_in_memory) return;
    const bool is_network = cost.is_over_network;
    const double bandwidth = is_network ? machine.network->bandwidth : machine.host_link.bandwidth;
    addUse(activity.uses, resourceOf(rank_class, is_network ? RankResource::NetworkOut : RankResource::LinkOut),
           moved.sent / (cost.seconds * bandwidth));
    addUse(activity.uses, resourceOf(rank_class, is_network ? RankResource::NetworkIn : RankResource::LinkIn),
           moved.received / (cost.seconds * bandwidth));
  }

  const RankJobParts& parts_;
  SimulatedJob made_;
  size_t sides_ = 0;
  std::vector<std::vector<size_t>> first_side_;   // by class and task
  std::vector<size_t> joined_;                    // sides of one activity (union-find)
  std::vector<int32_t> activity_of_;              // by root
  std::vector<bool> is_known_;                    // by side
  std::map<int32_t, std::set<size_t>> tasks_of_;  // by activity
};

}  // namespace

SimulatedJob rankJob(const RankJobParts& parts) { return Builder(parts).build(); }

}  // namespace tokamak
