#include "host/check/posted_works.h"

#include <map>

#include "host/check/step_order.h"

namespace tokamak {

namespace {

class PostedWorksOfList {
 public:
  PostedWorksOfList(const StepList& list, const RequestsOf& requests_of)
      : list_(list),
        requests_of_(requests_of),
        order_(list),
        last_(static_cast<size_t>(list.stream_count), kNothing),
        recorded_(static_cast<size_t>(list.event_count), kNothing) {}

  PostedWorks take() {
    for (size_t i = 0; i < list_.steps.size(); ++i) {
      const Step& step = list_.steps[i];
      const StepPoint at = order_.take(step);
      int32_t& last = last_[static_cast<size_t>(step.stream)];
      const auto event = static_cast<size_t>(step.event);
      if (step.kind == StepKind::Record) recorded_[event] = last;
      if (step.kind == StepKind::Wait) last = joined(last, recorded_[event]);
      if (step.kind == StepKind::Work && step.work != nullptr) addWork(static_cast<int64_t>(i), step, at, last);
    }
    return std::move(made_);
  }

 private:
  static constexpr int32_t kNothing = -1;
  struct Last {
    int32_t work = 0;
    int32_t stream = 0;
    StepPoint at;
  };

  int32_t add(RankPoint point) {
    made_.points.push_back(point);
    return static_cast<int32_t>(made_.points.size()) - 1;
  }

  int32_t joined(int32_t own, int32_t other) {
    if (other == kNothing || other == own) return own;
    return own == kNothing ? other : add({.first = own, .second = other});
  }

  void addWork(int64_t number, const Step& step, StepPoint at, int32_t& last) {
    const std::span<const CommunicationRequest> requests = requests_of_(*step.work);
    if (requests.empty()) return;
    const auto own = static_cast<int32_t>(made_.works.size());
    PostedWork work{.requests = {}, .point = add({.work = own, .first = last}), .step = number};
    for (const CommunicationRequest& request : requests) {
      work.requests.push_back({.request = request});
      if (isPointToPoint(request.kind)) requireOrdered(request, own, step.stream, at);
    }
    last = work.point;
    made_.works.push_back(std::move(work));
  }

  void requireOrdered(const CommunicationRequest& request, int32_t work, int32_t stream, StepPoint at) {
    const bool sends = request.kind == CommunicationKind::Send;
    const auto [known, is_first] = transfers_.try_emplace({sends, sends ? request.send_to : request.receive_from},
                                                          Last{.work = work, .stream = stream, .at = at});
    Last& last = known->second;
    if (!is_first && last.stream != stream && !order_.isBeforeLatest(last.at))
      made_.unordered.push_back({.first = last.work, .second = work});
    last = {.work = work, .stream = stream, .at = at};
  }

  const StepList& list_;
  const RequestsOf& requests_of_;
  StepOrder order_;
  std::vector<int32_t> last_;                           // per stream: its latest point
  std::vector<int32_t> recorded_;                       // per event
  std::map<std::pair<bool, int64_t>, Last> transfers_;  // by direction and peer
  PostedWorks made_;
};

}  // namespace

PostedWorks postedWorks(const StepList& list, const RequestsOf& requests_of) {
  return PostedWorksOfList(list, requests_of).take();
}

}  // namespace tokamak
