// Classes of ranks: random programs of ranks take as long by classes as when every rank is simulated.
#include "simulate/rank_classes.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/job_timeline.h"
#include "simulate/simulated_job.h"

namespace tokamak {
namespace {

using testing::ElementsAre;

Machine classMachine() {
  Machine machine{.name = "test", .ranks_per_host = 4, .multiprocessors = 4, .copy_engines = 2};
  machine.memory_bandwidth = 1000;
  machine.function_rate = 1000;
  machine.kernel_latency = 0.01;
  machine.host_link = {.latency = 0.001, .bandwidth = 100};
  machine.network = MachineLink{.latency = 0.01, .bandwidth = 30};
  machine.transports["ring"] = {.latency = 0.02, .bandwidth_fractions = {{1, 0.6}}, .multiprocessors = 1};
  return machine;
}

// The same statements on all ranks, but where one of them has more to do.
class RandomRanks {
 public:
  RandomRanks(uint32_t seed, int64_t ranks) : random_(seed), ranks_(static_cast<size_t>(ranks)) {
    for (RankSteps& steps : ranks_) steps.streams = {"caller", "stream 0", "communication 2"};
    const int statements = 2 + below(8);
    odd_rank_ = below(3) == 0 ? below(static_cast<uint32_t>(ranks)) : -1;
    for (int i = 0; i < statements; ++i) addStatement();
  }

  const std::vector<RankSteps>& steps() const { return ranks_; }

 private:
  int64_t size() const { return static_cast<int64_t>(ranks_.size()); }
  int32_t below(uint32_t end) { return static_cast<int32_t>(random_() % end); }

  std::vector<int64_t> everyone() const {
    std::vector<int64_t> all(ranks_.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }

  void addStatement() {
    const int32_t stream = below(2);
    const double amount = 1 + below(50);
    const int64_t count = 1 + below(20);
    const int64_t shift = 1 + below(static_cast<uint32_t>(size() - 1));
    const int32_t kind = below(4);
    const size_t tasks = ranks_[0].tasks.size();
    const int32_t earlier = tasks == 0 ? -1 : below(static_cast<uint32_t>(tasks));
    for (int64_t rank = 0; rank < size(); ++rank) {
      const auto made = std::make_shared<ModelWork>();
      ModelWork& work = *made;
      if (kind == 0) {
        work.functions = rank == odd_rank_ ? 3 * amount : amount;
      } else if (kind == 1) {
        work.group = {{.kind = CommunicationKind::Allreduce, .counts = {count}}};
        work.team = std::make_shared<std::vector<int64_t>>(everyone());
      } else if (kind == 2) {
        work.group = {{.kind = CommunicationKind::CollectivePermute,
                       .counts = {count},
                       .send_to = (rank + shift) % size(),
                       .receive_from = (rank + size() - shift) % size()}};
        work.team = std::make_shared<std::vector<int64_t>>(everyone());
      } else {
        const int64_t half = rank / 2 * 2;  // pairs
        work.group = {{.kind = CommunicationKind::Broadcast, .counts = {count}, .root = half}};
        work.team = std::make_shared<std::vector<int64_t>>(std::vector{half, half + 1});
      }
      add(ranks_[static_cast<size_t>(rank)], made, stream, earlier);
    }
  }

  // Behind the task before it on its stream, and perhaps behind another one.
  static void add(RankSteps& steps, std::shared_ptr<const ModelWork> work, int32_t stream, int32_t earlier) {
    RankTask task{.stream = work->group.empty() ? stream : 2};
    std::set<int32_t> after;
    for (size_t i = 0; i < steps.tasks.size(); ++i)
      if (steps.tasks[i].stream == task.stream) after = {static_cast<int32_t>(i)};
    if (earlier >= 0) after.insert(earlier);
    task.after.assign(after.begin(), after.end());
    task.work = std::move(work);
    steps.tasks.push_back(std::move(task));
  }

  std::mt19937 random_;
  std::vector<RankSteps> ranks_;
  int64_t odd_rank_ = -1;
};

struct Simulated {
  std::vector<size_t> classes;
  SimulatedJob made;
  JobTimes times;
};

enum class Ranks : uint8_t { ByClasses, All };

Simulated simulatedSteps(const std::vector<RankSteps>& steps, Ranks which) {
  const Machine machine = classMachine();
  const MachineTransport& transport = machine.transports.at("ring");
  const std::vector<RankMeeting> meetings = findMeetings(steps);
  std::vector<CommunicationCost> costs;
  for (const RankMeeting& meeting : meetings) costs.push_back(costOf(meeting, machine, transport));
  Simulated result;
  result.classes.resize(steps.size());
  std::iota(result.classes.begin(), result.classes.end(), size_t{0});
  if (which == Ranks::ByClasses) result.classes = rankClasses(steps, meetings, costs);
  result.made = rankJob({steps, result.classes, meetings, costs, machine, transport});
  result.times = timesOf(result.made.job);
  return result;
}

TEST(RankClassesProperty, ATimelinePerClassIsThatOfEachRank) {
  size_t most_classes = 0;
  size_t of_one_class = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    const int64_t ranks = 2 * (1 + static_cast<int64_t>(seed % 6));
    const RandomRanks random(seed, ranks);
    const Simulated all = simulatedSteps(random.steps(), Ranks::All);
    const Simulated some = simulatedSteps(random.steps(), Ranks::ByClasses);
    ASSERT_TRUE(all.times.stuck.empty());
    ASSERT_NEAR(some.times.seconds, all.times.seconds, 1e-9 * all.times.seconds);
    most_classes = std::max(most_classes, some.made.representatives.size());
    of_one_class += some.made.representatives.size() == 1 ? 1 : 0;
    for (size_t rank = 0; rank < random.steps().size(); ++rank) {
      const size_t own = all.made.first_task[rank];
      const size_t same = some.made.first_task[some.classes[rank]];
      for (size_t i = 0; i < random.steps()[rank].tasks.size(); ++i)
        ASSERT_NEAR(some.times.tasks[same + i].end, all.times.tasks[own + i].end, 1e-9) << "rank " << rank;
    }
  }
  EXPECT_GE(most_classes, 6);
  EXPECT_GE(of_one_class, 50);
}

TEST(RankClasses, ARankWithMoreWorkIsAClassOfItsOwn) {
  std::vector<RankSteps> steps(4);
  for (size_t rank = 0; rank < steps.size(); ++rank) {
    auto work = std::make_shared<ModelWork>();
    work->functions = rank == 2 ? 2 : 1;
    steps[rank].tasks = {{.work = work}};
  }
  EXPECT_THAT(rankClasses(steps, {}, {}), ElementsAre(0, 0, 1, 0));
}

}  // namespace
}  // namespace tokamak
