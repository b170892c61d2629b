#include "host/check/race_report.h"

#include <fmt/format.h>

#include "device/work.h"

namespace tokamak {

namespace {

using Kind = RaceReport::Kind;

bool isExit(const StepList& list, int64_t step) { return step == static_cast<int64_t>(list.steps.size()); }

const Step* stepAt(const StepList& list, int64_t step) {
  return step == RaceReport::kEntry || isExit(list, step) ? nullptr : &list.steps[static_cast<size_t>(step)];
}

std::string_view kindWord(StepKind kind) {
  switch (kind) {
    case StepKind::Work: return "work";
    case StepKind::Fill: return "fill";
    case StepKind::Allocate: return "allocate";
    case StepKind::Release: return "release";
    case StepKind::Record: return "record";
    case StepKind::Wait: return "wait";
    case StepKind::Post: return "post";
    case StepKind::Join: return "join";
  }
  return "";
}

std::string nameOf(const StepList& list, int64_t step) {
  if (step == RaceReport::kEntry) return "the caller before the program (stream 0)";
  if (isExit(list, step)) return "the caller after the program (stream 0)";
  const Step& it = list.steps[static_cast<size_t>(step)];
  const std::string where = it.kind == StepKind::Post
                                ? fmt::format("communication {} posted on stream {}", it.event, it.stream)
                                : fmt::format("stream {}", it.stream);
  return fmt::format("step {} `{}` ({})", step, it.text.empty() ? kindWord(it.kind) : it.text, where);
}

std::string nameOf(const StepBuffer& buffer) {
  if (!buffer.name.empty()) return buffer.name;
  switch (buffer.origin) {
    case StepBuffer::Origin::Input: return fmt::format("input {}", buffer.number);
    case StepBuffer::Origin::Output: return fmt::format("output {}", buffer.number);
    case StepBuffer::Origin::Intermediate: return fmt::format("intermediate {}", buffer.number);
    case StepBuffer::Origin::Arena: return fmt::format("arena {}", buffer.number);
  }
  return "";
}

std::string inWords(ByteRange bytes) { return fmt::format("bytes [{}, {})", bytes.begin, bytes.end); }

std::string verbOf(const StepList& list, int64_t step, AccessMode mode, const StepBuffer& buffer) {
  const Step* it = stepAt(list, step);
  const bool is_callers = buffer.origin == StepBuffer::Origin::Input || buffer.origin == StepBuffer::Origin::Output;
  if (it == nullptr) return is_callers || !isExit(list, step) ? "uses" : "takes back";
  if (it->kind == StepKind::Allocate) return "allocates";
  if (it->kind == StepKind::Release) return "releases";
  return mode == AccessMode::Write ? "writes" : "reads";
}

// What would order two accesses: the second one's stream waits for what the first one's executor has done.
std::string remedy(const StepList& list, const RaceReport& report) {
  const Step* first = stepAt(list, report.first);
  const Step* second = stepAt(list, report.second);
  const int32_t waiting = second == nullptr ? 0 : second->stream;
  const std::string when =
      second == nullptr ? "at the end of the program" : fmt::format("before step {}", report.second);
  if (first != nullptr && first->kind == StepKind::Post) {
    return fmt::format("join communication {} on stream {} {}", first->event, waiting, when);
  }
  const int32_t recording = first == nullptr ? 0 : first->stream;
  const std::string where =
      first == nullptr ? "at the start of the program" : fmt::format("after step {}", report.first);
  return fmt::format("record an event on stream {} {} and let stream {} wait for it {}", recording, where, waiting,
                     when);
}

std::string raceInWords(const StepList& list, const StepBuffer& buffer, const RaceReport& report, AccessModes modes) {
  return fmt::format(
      "race on {}: {} {} {} and {} {} {}, and nothing orders them; {}", nameOf(buffer), nameOf(list, report.first),
      verbOf(list, report.first, modes.first, buffer), inWords(report.first_bytes), nameOf(list, report.second),
      verbOf(list, report.second, modes.second, buffer), inWords(report.second_bytes), remedy(list, report));
}

std::string overlapInWords(const StepList& list, const StepBuffer& buffer, const RaceReport& report,
                           AccessModes modes) {
  const std::string step = nameOf(list, report.second);
  if (modes.first == AccessMode::Write && report.first_bytes == report.second_bytes) {
    return fmt::format(
        "overlap in {}: {} writes some of {} more than once; its result must be other memory or a buffer of its own",
        nameOf(buffer), step, inWords(report.second_bytes));
  }
  return fmt::format(
      "overlap in {}: {} {} {} and writes {} of it; a result may lie in an operand only element by element",
      nameOf(buffer), step, verbOf(list, report.first, modes.first, buffer), inWords(report.first_bytes),
      inWords(report.second_bytes));
}

}  // namespace

std::string_view raceKindName(Kind kind) {
  switch (kind) {
    case Kind::Race: return "race";
    case Kind::Overlap: return "overlap";
    case Kind::OutOfBounds: return "out of bounds";
    case Kind::BeforeAllocate: return "before allocate";
    case Kind::AfterRelease: return "after release";
    case Kind::DoubleAllocate: return "double allocate";
    case Kind::DoubleRelease: return "double release";
    case Kind::ReleaseOfCaller: return "release of caller";
    case Kind::JoinWithoutPost: return "join without post";
  }
  return "";
}

std::string inWords(const StepList& list, const RaceReport& report, AccessModes modes) {
  const std::string step = nameOf(list, report.second);
  if (report.kind == Kind::JoinWithoutPost) {
    return fmt::format("{} joins communication {}, which was not posted before; post it first", step,
                       list.steps[static_cast<size_t>(report.second)].event);
  }
  const StepBuffer& buffer = list.buffers[static_cast<size_t>(report.buffer)];
  const std::string name = nameOf(buffer);
  switch (report.kind) {
    case Kind::Race: return raceInWords(list, buffer, report, modes);
    case Kind::Overlap: return overlapInWords(list, buffer, report, modes);
    case Kind::OutOfBounds:
      return fmt::format("{} accesses {} of {}, which has {} bytes", step, inWords(report.second_bytes), name,
                         buffer.bytes);
    case Kind::BeforeAllocate:
      return fmt::format("{} uses {} before it is allocated; allocate an intermediate first", step, name);
    case Kind::AfterRelease:
      return fmt::format("{} uses {} after {} released it; release it after its last use", step, name,
                         nameOf(list, report.first));
    case Kind::DoubleAllocate:
      return fmt::format("{} allocates {}, which {} allocated already; every allocation is a buffer of its own", step,
                         name, nameOf(list, report.first));
    case Kind::DoubleRelease:
      return fmt::format("{} releases {}, which {} released already; release it once", step, name,
                         nameOf(list, report.first));
    case Kind::ReleaseOfCaller:
      return fmt::format("{} releases {}, which belongs to the caller; release intermediates only", step, name);
    case Kind::JoinWithoutPost: break;
  }
  return "";
}

}  // namespace tokamak
