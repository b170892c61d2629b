#include "host/check/step_rules.h"

#include <limits>
#include <span>
#include <utility>

#include "host/check/race_report.h"

namespace tokamak {

namespace {

using Kind = RaceReport::Kind;

class StepRules {
 public:
  explicit StepRules(const StepList& list)
      : list_(list),
        allocated_(list.buffers.size(), kNever),
        released_(list.buffers.size(), kNever),
        is_posted_(static_cast<size_t>(list.event_count), 0) {}

  std::vector<RaceReport> check(const StepUses& uses) {
    for (size_t i = 0; i < list_.steps.size(); ++i) {
      const Step& step = list_.steps[i];
      step_ = static_cast<int64_t>(i);
      first_of_step_ = reports_.size();
      if (step.kind == StepKind::Post) is_posted_[static_cast<size_t>(step.event)] = 1;
      if (step.kind == StepKind::Join && is_posted_[static_cast<size_t>(step.event)] == 0) {
        add(about(Kind::JoinWithoutPost, kNever, -1), {});
      }
      for (size_t a = 0; a < step.accesses.size(); ++a) {
        checkLife(step, step.accesses[a]);
        if (!isMemoryKind(step.kind)) checkBounds(step.accesses[a]);
      }
      if (!isMemoryKind(step.kind)) checkOverlaps(step, uses.of(i));
    }
    return std::move(reports_);
  }

 private:
  static constexpr int64_t kNever = -1;

  void add(RaceReport report, AccessModes modes) {
    // One report of a kind for a step and a buffer.
    for (size_t i = first_of_step_; i < reports_.size(); ++i) {
      if (reports_[i].kind == report.kind && reports_[i].buffer == report.buffer) return;
    }
    report.message = inWords(list_, report, modes);
    reports_.push_back(std::move(report));
  }

  RaceReport about(Kind kind, int64_t first, int32_t buffer) const {
    RaceReport report;
    report.kind = kind;
    report.first = first == kNever ? step_ : first;
    report.second = step_;
    report.buffer = buffer;
    return report;
  }

  void checkLife(const Step& step, const Access& access) {
    const auto b = static_cast<size_t>(access.buffer);
    const bool is_intermediate = list_.buffers[b].origin == StepBuffer::Origin::Intermediate;
    const bool is_allocated = !is_intermediate || allocated_[b] != kNever;
    const auto complain = [&](Kind kind, int64_t first) { add(about(kind, first, access.buffer), {}); };
    if (step.kind == StepKind::Allocate) {
      if (allocated_[b] != kNever) complain(Kind::DoubleAllocate, allocated_[b]);
      allocated_[b] = step_;
      return;
    }
    if (!is_allocated) complain(Kind::BeforeAllocate, kNever);
    if (step.kind == StepKind::Release) {
      if (!is_intermediate) complain(Kind::ReleaseOfCaller, kNever);
      if (released_[b] != kNever) complain(Kind::DoubleRelease, released_[b]);
      released_[b] = step_;
    } else if (released_[b] != kNever) {
      complain(Kind::AfterRelease, released_[b]);
    }
  }

  void checkBounds(const Access& access) {
    const auto bounds = boundsOf(access);
    const StepBuffer& buffer = list_.buffers[static_cast<size_t>(access.buffer)];
    if (bounds.has_value() && (bounds->isEmpty() || fits(*bounds, buffer))) return;
    RaceReport report = about(Kind::OutOfBounds, kNever, access.buffer);
    // Where the end has no number, the first byte says enough.
    report.first_bytes = report.second_bytes =
        bounds.value_or(ByteRange{access.offset, std::numeric_limits<int64_t>::max()});
    add(std::move(report), {});
  }

  void checkOverlaps(const Step& step, std::span<const StepUse> uses) {
    for (size_t second = 0; second < uses.size(); ++second) {
      if (uses[second].box.isEmpty()) continue;
      if (uses[second].mode == AccessMode::Write && hasOverlappingElements(step.accesses[second])) {
        addOverlap(uses[second], uses[second]);
      }
      for (size_t first = 0; first < second; ++first) {
        if (isClash(step.accesses[first], step.accesses[second]) && overlaps(uses[first].box, uses[second].box)) {
          // The write is named second.
          const bool is_turned = uses[second].mode == AccessMode::Read;
          addOverlap(uses[is_turned ? second : first], uses[is_turned ? first : second]);
        }
      }
    }
  }

  // Two writes of one step, or a read and a write that are not the same elements in place, must not meet.
  static bool isClash(const Access& a, const Access& b) {
    if (a.buffer != b.buffer || (!a.is_write && !b.is_write)) return false;
    return (a.is_write && b.is_write) || !isSameElements(a, b);
  }

  void addOverlap(const StepUse& first, const StepUse& second) {
    RaceReport report = about(Kind::Overlap, kNever, second.buffer);
    report.first_bytes = {first.box.begin, first.box.end};
    report.second_bytes = {second.box.begin, second.box.end};
    add(std::move(report), {first.mode, second.mode});
  }

  const StepList& list_;
  std::vector<int64_t> allocated_;  // per buffer: by which step
  std::vector<int64_t> released_;
  std::vector<uint8_t> is_posted_;  // per event
  std::vector<RaceReport> reports_;
  size_t first_of_step_ = 0;
  int64_t step_ = 0;
};

}  // namespace

std::vector<RaceReport> checkStepRules(const StepList& list, const StepUses& uses) {
  return StepRules(list).check(uses);
}

}  // namespace tokamak
