#include "host/step_list_generator.h"
#include "device/work.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "host/mutants.h"
#include "host/race_judge.h"
#include "host/step_list_builder.h"

namespace tokamak {

namespace {

constexpr int64_t kElementBytes = 2;

int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

bool isOneIn(std::mt19937& random, int64_t n) { return pick(random, 1, n) == 1; }

struct Shape {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t bytes() const { return rows * columns * kElementBytes; }
};

enum class Axis : uint8_t { Rows, Columns };

// Part [begin, begin + count) of an axis of a dense matrix, read; and the same written.
Access sliceOf(int32_t buffer, Shape shape, Axis axis, int64_t begin, int64_t count) {
  const int64_t row_bytes = shape.columns * kElementBytes;
  if (axis == Axis::Rows) {
    return readOf(buffer, begin * row_bytes, kElementBytes, {{count, row_bytes}, {shape.columns, kElementBytes}});
  }
  return readOf(buffer, begin * kElementBytes, kElementBytes, {{shape.rows, row_bytes}, {count, kElementBytes}});
}

Access allOf(int32_t buffer, Shape shape) { return sliceOf(buffer, shape, Axis::Rows, 0, shape.rows); }

Access written(Access access) {
  access.is_write = true;
  return access;
}

// Any slice of a matrix: rows, columns, every second row, one element expanded.
Access anySlice(std::mt19937& random, int32_t buffer, Shape shape) {
  const Axis axis = isOneIn(random, 2) ? Axis::Rows : Axis::Columns;
  const int64_t extent = axis == Axis::Rows ? shape.rows : shape.columns;
  const int64_t begin = pick(random, 0, extent - 1);
  Access slice = sliceOf(buffer, shape, axis, begin, pick(random, 1, extent - begin));
  if (isOneIn(random, 4)) {
    slice.dims[0].size = (slice.dims[0].size + 1) / 2;
    slice.dims[0].stride *= 2;
  }
  return slice;
}

// Accesses of a step that does not get in its own way: reads anywhere, one write that meets none of them.
std::vector<Access> anyAccesses(std::mt19937& random, Shape shape, int32_t buffer_count) {
  const auto written_buffer = static_cast<int32_t>(pick(random, 0, buffer_count - 1));
  std::vector<Access> accesses;
  const int64_t reads = pick(random, 0, 2);
  for (int64_t i = 0; i < reads; ++i) {
    const auto buffer = static_cast<int32_t>(pick(random, 0, buffer_count - 1));
    if (buffer != written_buffer) accesses.push_back(anySlice(random, buffer, shape));
  }
  if (!isOneIn(random, 4) || accesses.empty()) accesses.push_back(written(anySlice(random, written_buffer, shape)));
  return accesses;
}

// Emits the loops of a lowered program. Stream 0 is the caller's, streams 1 .. W are workers.
class LoweredProgram {
 public:
  explicit LoweredProgram(std::mt19937& random)
      : random_(random), workers_(static_cast<int32_t>(pick(random, 1, 4))), builder_(workers_ + 1) {
    shape_ = {pick(random_, 1, 7), pick(random_, 1, 7)};
    start_event_ = builder_.event();
    for (int32_t w = 0; w < workers_; ++w) end_events_.push_back(builder_.event());
    whole_tensors_.push_back(builder_.input(shape_.bytes()));
    if (isOneIn(random_, 2)) whole_tensors_.push_back(builder_.input(shape_.bytes()));
    output_ = builder_.output(shape_.bytes());
  }

  StepList make() {
    const int64_t loops = pick(random_, 1, 3);
    for (int64_t i = 0; i < loops; ++i) {
      if (isOneIn(random_, 3)) unstreamed(newTensor());
      loop(i + 1 == loops && isOneIn(random_, 2) ? std::optional(output_) : std::nullopt);
    }
    if (!is_output_made_) unstreamed(output_);
    for (const int32_t tensor : to_release_) builder_.release(0, tensor);
    return std::move(builder_.list);
  }

 private:
  enum class Form : uint8_t { Hoisted, OneJoin, InLoop };

  struct CircularBuffer {
    int32_t buffer;
    Shape slot;
  };

  int32_t anyWhole() {
    return whole_tensors_[static_cast<size_t>(pick(random_, 0, static_cast<int64_t>(whole_tensors_.size()) - 1))];
  }

  int32_t newTensor() {
    const int32_t tensor = builder_.intermediate(shape_.bytes());
    builder_.allocate(0, tensor);
    to_release_.push_back(tensor);
    return tensor;
  }

  // A step on the caller's stream that reads a tensor as a whole.
  void unstreamed(int32_t result) {
    builder_.work(0, {allOf(anyWhole(), shape_), written(allOf(result, shape_))}, "T = unstreamed(T)");
    is_output_made_ = is_output_made_ || result == output_;
    if (result != output_) whole_tensors_.push_back(result);
  }

  void startWorker(int32_t worker) { builder_.wait(worker + 1, start_event_); }

  void joinWorker(int32_t worker) {
    const int32_t event = end_events_[static_cast<size_t>(worker)];
    builder_.record(worker + 1, event);
    builder_.wait(0, event);
  }

  void loop(std::optional<int32_t> last_result) {
    axis_ = isOneIn(random_, 2) ? Axis::Rows : Axis::Columns;
    made_.clear();
    late_joins_.clear();
    const int64_t statements = pick(random_, 1, 3);
    for (int64_t i = 0; i < statements; ++i) made_.push_back(newTensor());
    if (last_result) made_.back() = *last_result;
    const int64_t chunk = pick(random_, 1, 3);
    circular_.reset();
    if (isOneIn(random_, 2)) {
      const Shape slot = axis_ == Axis::Rows ? Shape{chunk, shape_.columns} : Shape{shape_.rows, chunk};
      circular_ = CircularBuffer{builder_.intermediate(slot.bytes() * workers_), slot};
      builder_.allocate(0, circular_->buffer);
    }
    drawBody();
    iterate(chunk);
    if (circular_) builder_.release(0, circular_->buffer);
    for (const int32_t tensor : made_) {
      is_output_made_ = is_output_made_ || tensor == output_;
      if (tensor != output_) whole_tensors_.push_back(tensor);
    }
  }

  enum class Action : uint8_t { Work, ThroughSlot, Communicate, CommunicateLate, WorkInPlace };

  // The body is one for all iterations, as a loop's is.
  void drawBody() {
    body_.clear();
    sources_.clear();
    for (size_t i = 0; i < made_.size(); ++i) {
      auto action = static_cast<Action>(pick(random_, 0, 4));
      if (action == Action::ThroughSlot && !circular_) action = Action::Work;
      body_.push_back(action);
      // A slice of the tensor made just before in the same iteration, unless its communication is still under way.
      const bool can_chain = i > 0 && body_[i - 1] != Action::CommunicateLate;
      sources_.push_back(can_chain && isOneIn(random_, 2) ? made_[i - 1] : anyWhole());
    }
  }

  void iterate(int64_t chunk) {
    const auto form = static_cast<Form>(pick(random_, 0, 2));
    const int64_t extent = axis_ == Axis::Rows ? shape_.rows : shape_.columns;
    if (form != Form::InLoop) {
      builder_.record(0, start_event_);
      for (int32_t w = 0; w < workers_; ++w) startWorker(w);
    }
    for (int64_t begin = 0; begin < extent; begin += chunk) {
      const auto worker = static_cast<int32_t>(begin / chunk % workers_);
      if (form == Form::InLoop) {
        builder_.record(0, start_event_);
        startWorker(worker);
      }
      for (size_t i = 0; i < body_.size(); ++i) statement(i, worker, begin, std::min(chunk, extent - begin));
      if (form != Form::OneJoin) joinWorker(worker);
    }
    if (form == Form::OneJoin) {
      for (int32_t w = 0; w < workers_; ++w) joinWorker(w);
    }
    for (const int32_t event : late_joins_) builder_.join(0, event);
  }

  void statement(size_t number, int32_t worker, int64_t begin, int64_t count) {
    const int32_t stream = worker + 1;
    const Access from = sliceOf(sources_[number], shape_, axis_, begin, count);
    const Access to = sliceOf(made_[number], shape_, axis_, begin, count);
    switch (body_[number]) {
      case Action::Work: builder_.work(stream, {from, written(to)}, "T = op(slice)"); break;
      case Action::WorkInPlace:
        builder_.work(stream, {from, written(to)}, "T = op(slice)");
        builder_.work(stream, {to, written(to)}, "T = op(T), in place");
        break;
      case Action::ThroughSlot: {
        Access slot = sliceOf(circular_->buffer, circular_->slot, axis_, 0, count);
        slot.offset += worker * circular_->slot.bytes();
        builder_.work(stream, {from, written(slot)}, "slot = op(slice)");
        builder_.work(stream, {slot, written(to)}, "T = op(slot)");
        break;
      }
      case Action::Communicate:
      case Action::CommunicateLate: {
        const int32_t event = builder_.event();
        builder_.post(stream, event, {from, written(to)});
        if (body_[number] == Action::Communicate) {
          builder_.join(stream, event);
        } else {
          late_joins_.push_back(event);
        }
        break;
      }
    }
  }

  std::mt19937& random_;
  int32_t workers_;
  StepListBuilder builder_;
  Shape shape_;
  int32_t start_event_ = 0;
  std::vector<int32_t> end_events_;
  std::vector<int32_t> whole_tensors_;  // complete on stream 0
  std::vector<int32_t> to_release_;
  int32_t output_ = 0;
  bool is_output_made_ = false;

  // Of the present loop:
  Axis axis_ = Axis::Rows;
  std::vector<int32_t> made_;
  std::vector<int32_t> sources_;
  std::vector<Action> body_;
  std::optional<CircularBuffer> circular_;
  std::vector<int32_t> late_joins_;
};

}  // namespace

StepList withoutRedundantWaits(StepList list, std::mt19937& random, int64_t attempts) {
  for (int64_t i = 0; i < attempts; ++i) {
    std::vector<size_t> candidates;
    for (size_t step = 0; step < list.steps.size(); ++step) {
      const StepKind kind = list.steps[step].kind;
      if (kind == StepKind::Wait || kind == StepKind::Join) candidates.push_back(step);
    }
    if (candidates.empty()) break;
    const size_t step = candidates[static_cast<size_t>(pick(random, 0, static_cast<int64_t>(candidates.size()) - 1))];
    StepList weaker = withoutStep(list, step);
    if (racesByClosure(weaker).empty()) list = std::move(weaker);
  }
  return list;
}

StepList smallProgram(std::mt19937& random) {
  const auto streams = static_cast<int32_t>(pick(random, 1, 4));
  StepListBuilder builder(streams);
  const Shape shape{pick(random, 1, 4), pick(random, 1, 4)};
  builder.input(shape.bytes());
  builder.output(shape.bytes());
  const auto intermediates = static_cast<int32_t>(pick(random, 0, 2));
  const auto anyStream = [&] { return static_cast<int32_t>(pick(random, 0, streams - 1)); };
  int64_t left = 8;
  for (int32_t i = 0; i < intermediates; ++i, --left)
    builder.allocate(anyStream(), builder.intermediate(shape.bytes()));
  const bool is_guarded = !isOneIn(random, 4);
  if (is_guarded) {
    const int32_t start = builder.event();
    builder.record(0, start);
    for (int32_t s = 1; s < streams; ++s) builder.wait(s, start);
  }
  std::vector<int32_t> events = {builder.event(), builder.event(), builder.event()};
  std::vector<int32_t> posted;
  const int64_t works = pick(random, 1, left - intermediates);
  for (int64_t i = 0; i < works; ++i) {
    const int64_t syncs = pick(random, 0, 3);
    for (int64_t k = 0; k < syncs; ++k) {
      const int32_t event = events[static_cast<size_t>(pick(random, 0, 2))];
      if (isOneIn(random, 3)) builder.record(anyStream(), event);
      if (isOneIn(random, 3)) builder.wait(anyStream(), event);
      if (isOneIn(random, 3)) {
        const int32_t waiting = anyStream();
        builder.synchronise(waiting, anyStream());
      }
    }
    if (!posted.empty() && isOneIn(random, 2)) builder.join(anyStream(), posted.back());
    std::vector<Access> accesses = anyAccesses(random, shape, 2 + intermediates);
    if (isOneIn(random, 4)) {
      posted.push_back(builder.event());
      builder.post(anyStream(), posted.back(), std::move(accesses));
    } else {
      builder.work(anyStream(), std::move(accesses));
    }
  }
  for (int32_t i = 0; i < intermediates && isOneIn(random, 2); ++i) builder.release(anyStream(), 2 + i);
  if (is_guarded) {
    for (int32_t s = 1; s < streams; ++s) builder.synchronise(0, s);
    for (const int32_t event : posted) builder.join(0, event);
  }
  return std::move(builder.list);
}

StepList synchronisedProgram(std::mt19937& random) {
  const auto streams = static_cast<int32_t>(pick(random, 1, 4));
  StepListBuilder builder(streams);
  const Shape shape{pick(random, 1, 5), pick(random, 1, 5)};
  builder.input(shape.bytes());
  builder.output(shape.bytes());
  std::vector<int32_t> open;
  const auto gather = [&](int32_t stream) {
    for (int32_t other = 0; other < streams; ++other) {
      if (other != stream) builder.synchronise(stream, other);
    }
    for (const int32_t event : open) builder.join(stream, event);
  };
  const auto anyStream = [&] { return static_cast<int32_t>(pick(random, 0, streams - 1)); };
  const auto intermediates = static_cast<int32_t>(pick(random, 0, 3));
  for (int32_t i = 0; i < intermediates; ++i) {
    const int32_t stream = anyStream();
    gather(stream);
    builder.allocate(stream, builder.intermediate(shape.bytes()));
  }
  const int64_t works = pick(random, 2, 14);
  for (int64_t i = 0; i < works; ++i) {
    const int32_t stream = anyStream();
    gather(stream);
    std::vector<Access> accesses = anyAccesses(random, shape, 2 + intermediates);
    if (isOneIn(random, 5)) {
      open.push_back(builder.event());
      builder.post(stream, open.back(), std::move(accesses));
    } else {
      builder.work(stream, std::move(accesses));
    }
  }
  for (int32_t i = 0; i < intermediates; ++i) {
    const int32_t stream = anyStream();
    gather(stream);
    builder.release(stream, 2 + i);
  }
  gather(0);
  return withoutRedundantWaits(std::move(builder.list), random, pick(random, 0, 24));
}

StepList loweredProgram(std::mt19937& random) {
  StepList list = LoweredProgram(random).make();
  return isOneIn(random, 2) ? withoutRedundantWaits(std::move(list), random, 8) : list;
}

std::string describe(const StepList& list) {
  constexpr const char* kNames[] = {"work", "fill", "allocate", "release", "record", "wait", "post", "join"};
  std::string text;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const Step& step = list.steps[i];
    text += fmt::format("{}: stream {} {} {}", i, step.stream, kNames[static_cast<size_t>(step.kind)], step.event);
    for (const Access& access : step.accesses) {
      text += fmt::format(" {} b{}+{}", access.is_write ? "writes" : "reads", access.buffer, access.offset);
      for (const auto& dim : access.dims) text += fmt::format("({}x{})", dim.size, dim.stride);
    }
    text += "\n";
  }
  return text;
}

}  // namespace tokamak
