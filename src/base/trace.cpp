#include "base/trace.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "base/output_file.h"

namespace tokamak {

namespace {

// JSON strings hold no control characters, quotes or backslashes as they are.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out;
}

// Trace events count in microseconds; three decimals keep the nanoseconds.
std::string microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

int64_t traceNow() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void Timeline::add(Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

void Timeline::span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept {
  add({.kind = EventKind::Span, .track = track, .name = std::string(name), .begin_ns = begin_ns, .end_ns = end_ns});
}

void Timeline::flowBegin(int64_t track, uint64_t flow, int64_t at_ns) noexcept {
  add({.kind = EventKind::FlowBegin, .track = track, .name = {}, .begin_ns = at_ns, .end_ns = at_ns, .flow = flow});
}

void Timeline::flowEnd(int64_t track, uint64_t flow, int64_t at_ns) noexcept {
  add({.kind = EventKind::FlowEnd, .track = track, .name = {}, .begin_ns = at_ns, .end_ns = at_ns, .flow = flow});
}

void Timeline::nameTrack(int64_t track, std::string_view name) noexcept {
  add({.kind = EventKind::TrackName, .track = track, .name = std::string(name)});
}

std::string Timeline::json() const {
  const std::lock_guard lock(mutex_);
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const Event& event : events_) {
    if (event.kind != EventKind::TrackName) first = std::min(first, event.begin_ns);
  }
  std::unordered_map<uint64_t, const Event*> flow_begins;
  for (const Event& event : events_) {
    if (event.kind == EventKind::FlowBegin) flow_begins[event.flow] = &event;
  }
  int64_t arrow = 0;  // a viewer ends a flow at its first arrow head, so every wait gets an arrow of its own
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const Event& event : events_) {
    const std::string track = fmt::format("\"pid\":1,\"tid\":{}", event.track);
    switch (event.kind) {
      case EventKind::Span:
        text += separator;
        text += fmt::format(R"({{"ph":"X",{},"name":"{}","ts":{},"dur":{}}})", track, escaped(event.name),
                            microseconds(event.begin_ns - first), microseconds(event.end_ns - event.begin_ns));
        break;
      case EventKind::FlowBegin: continue;  // drawn with each of its ends
      case EventKind::FlowEnd: {
        const auto begin = flow_begins.find(event.flow);
        if (begin == flow_begins.end()) continue;
        text += separator;
        text += fmt::format(R"({{"ph":"s","pid":1,"tid":{},"name":"wait","cat":"wait","id":{},"ts":{}}})",
                            begin->second->track, ++arrow, microseconds(begin->second->begin_ns - first));
        text +=
            fmt::format(",\n{{\"ph\":\"f\",\"bp\":\"e\",{},\"name\":\"wait\",\"cat\":\"wait\",\"id\":{},\"ts\":{}}}",
                        track, arrow, microseconds(event.begin_ns - first));
        break;
      }
      case EventKind::TrackName:
        text += separator;
        text +=
            fmt::format(R"({{"ph":"M",{},"name":"thread_name","args":{{"name":"{}"}}}})", track, escaped(event.name));
        break;
    }
    separator = ",\n";
  }
  text += "\n]}\n";
  return text;
}

void Timeline::write(const std::string& path) const {
  const std::string text = json();
  OutputFile file("trace", path);
  file.write(text);
  file.finish();
}

}  // namespace tokamak
