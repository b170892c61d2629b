#include "python/profile.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/timeline_picture.h"

namespace tokamak::python {

// Everybody who measures, and whom they look at. Never destroyed: threads of devices may still work when the process
// ends.
class ProfileHub final : public WorkObserver {
 public:
  static ProfileHub& get() { return *current().load(std::memory_order_acquire); }

  /// In a forked process: other threads of the parent's may have had the lock, and their calls are not here.
  static void beginInChild() {
    MeasuredCall::is_on.store(false, std::memory_order_relaxed);
    current().store(new ProfileHub(), std::memory_order_release);
  }

  void observe(const std::shared_ptr<Device>& device) {
    const std::lock_guard lock(mutex_);
    std::erase_if(devices_, [](const std::weak_ptr<Device>& each) { return each.expired(); });
    devices_.push_back(device);
    if (!profiles_.empty()) device->workObserver().store(this, std::memory_order_release);
  }

  void add(Profile* profile) {
    Devices held;
    const std::lock_guard lock(mutex_);
    profiles_.push_back(profile);
    setObserver(this, held);
  }

  void remove(Profile* profile) {
    Devices held;
    const std::lock_guard lock(mutex_);
    std::erase(profiles_, profile);
    if (profiles_.empty()) setObserver(nullptr, held);
  }

  void onWork(const WorkSpan& span) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      const int64_t taken = span.end_ns - span.begin_ns;
      if (MeasuredCall* const call = callOfThisWork()) call->work_ns_ += taken;
      const Profile::Span told = {
          .track = span.stream, .name = span.name, .begin_ns = span.begin_ns, .end_ns = span.end_ns};
      for (Profile* profile : profiles_) profile->addWork(span.name, span.bytes, told);
    } catch (const std::exception&) {
      return;  // without memory the profile is incomplete
    }
  }

  void beginCall(MeasuredCall& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(&call);
  }

  void leaveCall(MeasuredCall& call) {
    const std::lock_guard lock(mutex_);
    std::erase(calls_, &call);
  }

  void endCall(MeasuredCall& call) {
    const std::lock_guard lock(mutex_);
    std::erase(calls_, &call);
    const int64_t end = traceNow();
    const CallTotals totals = {.calls = 1, .total_ns = end - call.begin_ns_, .work_ns = call.work_ns_};
    const Profile::Span span = {
        .track = trackOf(call.thread_), .name = call.program_->name(), .begin_ns = call.begin_ns_, .end_ns = end};
    for (Profile* profile : profiles_) profile->addCall(call.program_, totals, span);
  }

 private:
  ProfileHub() = default;

  static std::atomic<ProfileHub*>& current() {
    static std::atomic<ProfileHub*> hub = new ProfileHub();
    return hub;
  }

  // Devices may go with the last one who holds them, and wait for threads that want the lock: not under it.
  using Devices = std::vector<std::shared_ptr<Device>>;

  void setObserver(WorkObserver* observer, Devices& held) {
    MeasuredCall::is_on.store(observer != nullptr, std::memory_order_relaxed);
    for (const std::weak_ptr<Device>& each : devices_) {
      std::shared_ptr<Device> device = each.lock();
      if (device == nullptr) continue;
      device->workObserver().store(observer, std::memory_order_release);
      held.push_back(std::move(device));
    }
  }

  // That of this thread, or the only one: work on a stream's thread is no call's where there are several.
  MeasuredCall* callOfThisWork() const {
    const auto here = std::ranges::find(calls_, std::this_thread::get_id(), &MeasuredCall::thread_);
    if (here != calls_.end()) return *here;
    return calls_.size() == 1 ? calls_.front() : nullptr;
  }

  // Behind those of all streams.
  int64_t trackOf(std::thread::id thread) {
    constexpr int64_t kFirst = 1 << 20;
    return kFirst + static_cast<int64_t>(threads_.try_emplace(thread, threads_.size()).first->second);
  }

  std::mutex mutex_;
  std::vector<Profile*> profiles_;
  std::vector<std::weak_ptr<Device>> devices_;
  std::vector<MeasuredCall*> calls_;  // under way
  std::map<std::thread::id, size_t> threads_;
};

std::atomic<bool> MeasuredCall::is_on = false;

void observeDevice(const std::shared_ptr<Device>& device) { ProfileHub::get().observe(device); }

void forgetProfilesOfParent() { ProfileHub::beginInChild(); }

void MeasuredCall::begin(const Program& program) {
  program_ = &program;
  thread_ = std::this_thread::get_id();
  begin_ns_ = traceNow();
  ProfileHub::get().beginCall(*this);
}

void MeasuredCall::end() { ProfileHub::get().endCall(*this); }

void MeasuredCall::leave() {
  ProfileHub::get().leaveCall(*this);
  program_ = nullptr;
}

void Profile::start() {
  record_.startRun();
  ProfileHub::get().add(this);
}

void Profile::stop() { ProfileHub::get().remove(this); }

void Profile::addWork(std::string_view name, int64_t bytes, const Span& span) {
  const std::lock_guard lock(mutex_);
  WorkTotals& totals = works_[{std::string(name), bytes}];
  const int64_t taken = span.end_ns - span.begin_ns;
  totals.least_ns = totals.calls == 0 ? taken : std::min(totals.least_ns, taken);
  totals.most_ns = std::max(totals.most_ns, taken);
  totals.total_ns += taken;
  totals.bytes = bytes;
  ++totals.calls;
  addEvent(span);
}

void Profile::addCall(const void* program, const CallTotals& call, const Span& span) {
  const std::lock_guard lock(mutex_);
  const int64_t number = programs_.try_emplace(program, std::ssize(programs_)).first->second;
  CallTotals& totals = calls_[{std::string(span.name), number}];
  totals.calls += call.calls;
  totals.total_ns += call.total_ns;
  totals.work_ns += call.work_ns;
  addEvent(span);
}

void Profile::addEvent(const Span& span) {
  if (++events_ > most_events_) return;
  if (!named_tracks_[span.track]) {
    named_tracks_[span.track] = true;
    constexpr int64_t kFirstThread = 1 << 20;
    const std::string name = span.track < kFirstThread ? fmt::format("stream {}", span.track)
                                                       : fmt::format("calls of thread {}", span.track - kFirstThread);
    timeline_.nameTrack(span.track, name);
    record_.nameTrack(span.track, name);
  }
  timeline_.span(span.track, span.name, span.begin_ns, span.end_ns);
  constexpr int64_t kMostDrawn = 2000;
  if (events_ <= kMostDrawn) record_.span(span.track, span.name, span.begin_ns, span.end_ns);
}

std::map<std::pair<std::string, int64_t>, WorkTotals> Profile::works() const {
  const std::lock_guard lock(mutex_);
  return works_;
}

std::map<std::pair<std::string, int64_t>, CallTotals> Profile::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int64_t Profile::dropped() const {
  const std::lock_guard lock(mutex_);
  return std::max<int64_t>(0, events_ - most_events_);
}

std::string Profile::picture(std::string_view name, std::string_view id_prefix) const {
  return timelinePicture(record_, name, id_prefix);
}

}  // namespace tokamak::python
