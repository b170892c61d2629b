// A timeline of asynchronous work: who ran what when, and who waited for whom.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"

namespace tokamak {

/// Told what happens on each track (a stream, or the host). Called from many threads at once; times are in nanoseconds
/// of one steady clock (traceNow). They raise nothing: there is nobody whose failure it could be.
/// Thread safety: its functions are called from many threads side by side and have to bear that.
class TOKAMAK_EXPORT TraceObserver {
 public:
  virtual ~TraceObserver() = default;
  /// `name` is valid during the call only.
  virtual void span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept = 0;
  /// A point that others may wait for; `flow` names it.
  virtual void flowBegin(int64_t track, uint64_t flow, int64_t at_ns) noexcept = 0;
  /// The end of one wait for the point `flow`.
  virtual void flowEnd(int64_t track, uint64_t flow, int64_t at_ns) noexcept = 0;
  virtual void nameTrack(int64_t track, std::string_view name) noexcept = 0;
};

/// Nanoseconds of the steady clock.
TOKAMAK_EXPORT int64_t traceNow();

/// Collects a timeline and writes it as Chrome trace events, which ui.perfetto.dev opens: a track per stream, an arrow
/// per wait.
/// Thread safety: any threads may use it side by side.
class TOKAMAK_EXPORT Timeline final : public TraceObserver {
 public:
  void span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept override;
  void flowBegin(int64_t track, uint64_t flow, int64_t at_ns) noexcept override;
  void flowEnd(int64_t track, uint64_t flow, int64_t at_ns) noexcept override;
  void nameTrack(int64_t track, std::string_view name) noexcept override;

  /// The whole timeline as JSON; times count from its first event.
  std::string json() const;
  /// Errors: Io, with the file's name.
  void write(const std::string& path) const;

 private:
  enum class EventKind : uint8_t { Span, FlowBegin, FlowEnd, TrackName };
  struct Event {
    EventKind kind = EventKind::Span;
    int64_t track = 0;
    std::string name;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    uint64_t flow = 0;
  };
  void add(Event event);

  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace tokamak
