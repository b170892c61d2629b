#include "host/check/rank_deadlock.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace tokamak {

namespace {

// Nodes: the points of each class, where a work's point is its start; the ends of works; and the meetings, which are
// over when all their works have started.
class WaitGraph {
 public:
  WaitGraph(const RankJob& job, std::span<const RankMeeting> meetings) : job_(job), meetings_(meetings) {
    int32_t next = 0;
    for (const RankClass& of : job.classes) {
      starts_.push_back(next);
      next += static_cast<int32_t>(of.works->points.size());
      ends_.push_back(next);
      next += static_cast<int32_t>(of.works->works.size());
    }
    first_meeting_ = next;
    nodes_ = static_cast<size_t>(next) + meetings.size();
    addEdges();
  }

  std::optional<RankFinding> find() {
    std::vector<int32_t> waiting(nodes_, 0);
    std::vector<size_t> first(nodes_ + 1, 0);
    for (const auto& [before, after] : edges_) {
      ++waiting[static_cast<size_t>(after)];
      ++first[static_cast<size_t>(before) + 1];
    }
    for (size_t i = 0; i < nodes_; ++i) first[i + 1] += first[i];
    std::vector<int32_t> next(edges_.size());
    std::vector<size_t> filled(first.begin(), first.end() - 1);
    for (const auto& [before, after] : edges_) next[filled[static_cast<size_t>(before)]++] = after;
    std::vector<int32_t> ready;
    for (size_t i = 0; i < nodes_; ++i)
      if (waiting[i] == 0) ready.push_back(static_cast<int32_t>(i));
    size_t done = 0;
    while (done < ready.size()) {
      const auto node = static_cast<size_t>(ready[done++]);
      for (size_t i = first[node]; i < first[node + 1]; ++i)
        if (--waiting[static_cast<size_t>(next[i])] == 0) ready.push_back(next[i]);
    }
    if (done == nodes_) return std::nullopt;
    return findingOf(circleOf(waiting));
  }

 private:
  void addEdges() {
    for (size_t c = 0; c < job_.classes.size(); ++c) {
      const PostedWorks& works = *job_.classes[c].works;
      for (size_t p = 0; p < works.points.size(); ++p) {
        const RankPoint& point = works.points[p];
        const int32_t own = starts_[c] + static_cast<int32_t>(p);
        for (const int32_t before : {point.first, point.second})
          if (before >= 0) edges_.emplace_back(overOf(c, before), own);
        if (point.work >= 0) edges_.emplace_back(own, ends_[c] + point.work);
      }
    }
    for (size_t m = 0; m < meetings_.size(); ++m) {
      const int32_t own = first_meeting_ + static_cast<int32_t>(m);
      for (const ClassWork& work : meetings_[m]) {
        const auto c = static_cast<size_t>(work.of);
        const int32_t point = job_.classes[c].works->works[static_cast<size_t>(work.work)].point;
        edges_.emplace_back(starts_[c] + point, own);
        edges_.emplace_back(own, ends_[c] + work.work);
      }
    }
  }

  // What is over when the point is.
  int32_t overOf(size_t of, int32_t point) const {
    const int32_t work = job_.classes[of].works->points[static_cast<size_t>(point)].work;
    return work >= 0 ? ends_[of] + work : starts_[of] + point;
  }

  // Each node that never is over waits for another one: sooner or later one comes again. In the order of waiting.
  std::vector<int32_t> circleOf(const std::vector<int32_t>& waiting) const {
    std::vector<int32_t> waits_for(nodes_, -1);
    int32_t node = -1;
    for (const auto& [before, after] : edges_) {
      if (waiting[static_cast<size_t>(before)] == 0 || waiting[static_cast<size_t>(after)] == 0) continue;
      waits_for[static_cast<size_t>(after)] = before;
      node = after;
    }
    std::vector<uint8_t> is_seen(nodes_, 0);
    while (is_seen[static_cast<size_t>(node)] == 0) {
      is_seen[static_cast<size_t>(node)] = 1;
      node = waits_for[static_cast<size_t>(node)];
    }
    std::vector<int32_t> circle = {node};
    for (int32_t i = waits_for[static_cast<size_t>(node)]; i != node; i = waits_for[static_cast<size_t>(i)])
      circle.push_back(i);
    return circle;
  }

  struct Told {
    int64_t rank = 0;
    std::string statement;
    bool is_end = false;
  };

  // The start or the end of a work; nothing of other nodes.
  std::optional<Told> toldOf(int32_t node) const {
    if (node >= first_meeting_) return std::nullopt;
    const auto c = static_cast<size_t>(std::ranges::upper_bound(starts_, node) - starts_.begin()) - 1;
    const RankClass& of = job_.classes[c];
    const bool is_end = node >= ends_[c];
    const int32_t work = is_end ? node - ends_[c] : of.works->points[static_cast<size_t>(node - starts_[c])].work;
    if (work < 0) return std::nullopt;
    const PostedRequest& posted = of.works->works[static_cast<size_t>(work)].requests[0];
    const CommunicationRequest request = job_.requestOf(of, posted, of.ranks[0]);
    return Told{.rank = of.ranks[0],
                .statement = fmt::format("`{}` ({})", statementOf(of, posted), requestInWords(request)),
                .is_end = is_end};
  }

  RankFinding findingOf(const std::vector<int32_t>& circle) const {
    constexpr size_t kShown = 8;
    std::vector<Told> steps;
    for (const int32_t node : circle)
      if (const std::optional<Told> told = toldOf(node)) steps.push_back(*told);
    // It begins with the end of a work that waits for another rank's start.
    for (size_t turn = 0; turn < steps.size(); ++turn) {
      if (steps[0].is_end && steps[0].rank != steps[1 % steps.size()].rank) break;
      std::ranges::rotate(steps, steps.begin() + 1);
    }
    RankFinding finding = {.kind = RankFinding::Kind::Deadlock,
                           .first_rank = steps[0].rank,
                           .second_rank = steps[1 % steps.size()].rank,
                           .first_statement = steps[0].statement,
                           .second_statement = steps[1 % steps.size()].statement};
    std::string text;
    for (size_t i = 0; i < std::min(steps.size(), kShown); ++i) {
      const Told& next = steps[(i + 1) % steps.size()];
      if (!text.empty()) text += ", ";
      text += steps[i].is_end ? fmt::format("the end of {} on rank {} waits for the start of {} on rank {}",
                                            steps[i].statement, steps[i].rank, next.statement, next.rank)
                              : fmt::format("which waits for the end of {} on rank {}", next.statement, next.rank);
    }
    if (steps.size() > kShown) text += ", ...";
    finding.message =
        fmt::format("ranks {} and {} wait for one another: {}", finding.first_rank, finding.second_rank, text);
    return finding;
  }

  const RankJob& job_;
  const std::span<const RankMeeting> meetings_;
  std::vector<int32_t> starts_;  // per class: the node of its first point
  std::vector<int32_t> ends_;    // per class: the node of its first work's end
  int32_t first_meeting_ = 0;
  size_t nodes_ = 0;
  std::vector<std::pair<int32_t, int32_t>> edges_;  // before, after
};

}  // namespace

std::optional<RankFinding> findDeadlock(const RankJob& job, std::span<const RankMeeting> meetings) {
  return WaitGraph(job, meetings).find();
}

}  // namespace tokamak
