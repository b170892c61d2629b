#include "host_run/call_sequence.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "base/error.h"
#include "device/hazard_tracker.h"
#include "device/tensor_copies.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"

namespace tokamak {

namespace {

// Another library's array of the same memory, which has nothing to give back.
dlpack::ManagedVersioned* arrayOf(const Tensor& tensor, dlpack::Device device) {
  struct Held {
    dlpack::ManagedVersioned given;
    std::vector<int64_t> sizes, strides;
    std::shared_ptr<Buffer> buffer;
  };
  auto* const held = new Held;
  held->sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  held->strides.assign(tensor.strides().begin(), tensor.strides().end());
  held->buffer = tensor.buffer();
  held->given.context = held;
  held->given.deleter = [](dlpack::ManagedVersioned* given) { delete static_cast<Held*>(given->context); };
  held->given.array = {.data = tensor.data(),
                       .device = device,
                       .rank = static_cast<int32_t>(tensor.rank()),
                       .sizes = held->sizes.data(),
                       .strides = held->strides.data()};
  return &held->given;
}

}  // namespace

CallSequence::CallSequence(const CallTarget& target, const HostIrEvaluatorParams& evaluator)
    : target_(target),
      exchange_(*target.device),
      streams_{nullptr, target.device->createStream(), target.device->createStream()},
      import_stream_(target.device->createStream()),
      host_stream_(target.device->createStream()) {
  for (const CallKind kind : kCallKinds) programs_[static_cast<size_t>(kind)] = program(kind, evaluator);
  operand_ = fresh(target_.operand);
}

CallSequence::~CallSequence() = default;

std::unique_ptr<MultiDeviceExecutor> CallSequence::program(CallKind kind,
                                                           const HostIrEvaluatorParams& evaluator) const {
  std::string body = target_.head;
  const int last = target_.head_steps + target_.steps + 1;
  for (int i = target_.head_steps + 2; i <= last; ++i)
    body += fmt::format(" T{} = {}(T{}, T1)", i, target_.op, i == 2 ? 0 : i - 1);
  const auto fusion = fusionOf(fmt::format("fusion f(T0: f32[n, n], T1: f32[n, n]) -> T{} {{ {} }} sizes {{ n = {} }}",
                                           last, body, target_.size));
  if (kind == CallKind::Update || kind == CallKind::HiddenUpdate)
    fusion->aliasOutput(fusion->outputs()[0], asTensor(fusion->inputs()[0]), kind == CallKind::HiddenUpdate);
  return std::make_unique<MultiDeviceExecutor>(
      *fusion, *target_.device,
      MultiDeviceExecutorParams{.lowering = {.grouping = Grouping::Single}, .evaluator = evaluator});
}

Tensor CallSequence::fresh(float number) {
  const int64_t sizes[] = {target_.size, target_.size};
  Tensor tensor = Tensor::empty(*target_.device, host_stream_, DataType::F32, sizes, MemoryKind::Device);
  refill(tensor, number);
  target_.device->synchronize(*host_stream_);
  return tensor;
}

void CallSequence::refill(const Tensor& tensor, float number) {
  if (target_.host_reads) {
    target_.fill(static_cast<float*>(tensor.hostData()), target_.size, number);
    return;
  }
  std::vector<float>& elements = staged_[number];
  if (elements.empty()) {
    elements.resize(static_cast<size_t>(target_.size * target_.size));
    target_.fill(elements.data(), target_.size, number);
  }
  target_.device->copy(*host_stream_, tensor.data(), elements.data(),
                       static_cast<int64_t>(elements.size() * sizeof(float)));
  if (has_failures_) target_.device->hazards().accessOn(*host_stream_, tensor, MemoryAccess::Write);
}

Tensor CallSequence::handleOf(const Tensor& tensor, HandleKind handle) {
  switch (handle) {
    case HandleKind::View: return tensor.slice(0, 0, tensor.size(0));
    case HandleKind::Wrap:
      return Tensor::borrow(*target_.device, tensor.data(), tensor.dtype(), tensor.sizes(), tensor.strides(),
                            tensor.kind(), tensor.buffer());
    case HandleKind::Import: {
      // A stream that takes a failure over passes it on to what is imported on it next.
      const std::shared_ptr<Stream> own = has_failures_ ? target_.device->createStream() : import_stream_;
      dlpack::ManagedVersioned* const array = arrayOf(tensor, target_.dlpack_device);
      try {
        return exchange_.take(array, own);
      } catch (const Error&) {
        array->deleter(array);
        throw;
      }
    }
    case HandleKind::Moved: {
      std::swap(moved_[0], moved_[1]);
      if (moved_[0].isDefined() && moved_[0].tryBorrowAnew(tensor.data(), /*is_read_only=*/false))
        ++moves_;
      else
        moved_[0] = Tensor::borrow(*target_.device, tensor.data(), tensor.dtype(), tensor.sizes(), tensor.strides(),
                                   tensor.kind());
      return moved_[0];
    }
    default: return tensor;
  }
}

void CallSequence::check(const Tensor& read, float number) {
  expected_.resize(static_cast<size_t>(read.numel()));
  target_.fill(expected_.data(), target_.size, number);
  if (!std::equal(expected_.begin(), expected_.end(), static_cast<const float*>(read.hostDataToRead())))
    noteWrong(fmt::format("a read of {} gave {}", number, *static_cast<const float*>(read.hostDataToRead())));
}

Tensor CallSequence::readable(const Tensor& tensor) {
  return target_.host_reads ? tensor : toHost(tensor, host_stream_);
}

// What uses a memory raises where it is lost, and never where it is there.
bool CallSequence::mayUse(Memory& memory, const std::function<void()>& use) {
  try {
    use();
    return true;
  } catch (const Error& error) {
    ++told_;
    if (memory.state == State::There || error.message().find("lost on purpose") == std::string::npos)
      noteWrong(fmt::format("told of '{}' for memory that is there", error.message()));
    else
      story_.emplace_back("  told");
    memory.is_told = true;
    return false;
  }
}

void CallSequence::checkOne(Memory& memory, HandleKind handle) {
  if (memory.is_told) return;
  const int64_t wrong_before = wrong_;
  const bool is_read = mayUse(memory, [&] {
    Tensor read = handleOf(memory.tensor, handle);
    if (!target_.host_reads) read = toHost(read, target_.device->createStream());
    check(read, memory.number);
  });
  if (!is_read || memory.state != State::Lost) return;
  wrong_ = wrong_before;
  noteWrong("a read of lost memory was not told");
}

// The first few wrong reads tell their sequence.
void CallSequence::noteWrong(std::string_view what) {
  ++wrong_;
  constexpr int kMostStories = 3;
  if (++stories_ > kMostStories) return;
  for (const std::string& line : story_) fmt::print("{}\n", line);
  fmt::print("wrong: {}\n", what);
}

void CallSequence::lose(size_t memory) {
  has_failures_ = true;
  is_under_way_ = true;
  story_.push_back(fmt::format("lose {}", memory));
  const std::shared_ptr<Stream> stream = failing_.emplace_back(target_.device->createStream());
  target_.device->callback(*stream, [] { throw Error(ErrorCode::Definition, "lost on purpose"); });
  target_.device->hazards().accessOn(*stream, memories_[memory].tensor, MemoryAccess::Write);
  memories_[memory].state = State::Lost;
  memories_[memory].is_told = false;
}

// A stream that somebody was told of runs what comes next.
void CallSequence::tellStreams() {
  for (const std::shared_ptr<Stream>& stream : {streams_[1], streams_[2], host_stream_}) {
    try {
      target_.device->synchronize(*stream);
    } catch (const Error&) {
      ++told_;
    }
  }
  std::ranges::fill(is_infected_, false);
  failing_.clear();
}

void CallSequence::restart(size_t memories) {
  if (is_under_way_) countWrong();
  if (has_failures_) tellStreams();
  wrong_ = 0;
  story_.assign({fmt::format("{} memories{}", memories, has_failures_ ? ", after failures" : "")});
  memories_.resize(memories);
  for (Memory& memory : memories_) {
    // Whoever writes all of a memory need not know what was there; hostData() tells him all the same.
    for (int tries = 0; tries < 4 && has_failures_ && memory.tensor.isDefined() && target_.host_reads; ++tries)
      if (mayUse(memory, [&] { memory.tensor.hostData(); })) break;
    memory.tensor.setCallEvent(nullptr);
    memory.state = State::There;
    memory.is_told = false;
  }
  wrong_ = 0;
  for (size_t m = 0; m < memories; ++m) {
    memories_[m].number = static_cast<float>(m + 1);
    if (memories_[m].tensor.isDefined())
      refill(memories_[m].tensor, memories_[m].number);
    else
      memories_[m].tensor = fresh(memories_[m].number);
  }
  if (!target_.host_reads) target_.device->synchronize(*host_stream_);
}

void CallSequence::call(CallKind kind, HandleKind handle, StreamKind stream, size_t from, size_t to) {
  is_under_way_ = true;
  Memory& source = memories_[from];
  story_.push_back(fmt::format("call {} by handle {} on stream {}, {} -> {}", static_cast<int>(kind),
                               static_cast<int>(handle), static_cast<int>(stream), from, to));
  float made = source.number;
  for (int i = 0; i < target_.steps; ++i) made = target_.step(made);
  Tensor in;
  std::vector<Tensor> outputs;
  if (!mayUse(source, [&] { in = handleOf(source.tensor, handle); })) return;
  const auto takeOutput = [&] { outputs.push_back(handleOf(memories_[to].tensor, handle)); };
  if (kind == CallKind::Given && !mayUse(memories_[to], takeOutput)) return;
  const RunValue inputs[] = {in, operand_};
  const auto on = static_cast<size_t>(stream);
  State state = source.state;
  if (state == State::There && is_infected_[on]) state = State::Unknown;
  if (state != State::There && stream != StreamKind::None) is_infected_[on] = true;
  std::vector<Tensor> given;
  Memory result{.tensor = {}, .number = made, .state = state};
  if (!mayUse(result,
              [&] { given = programs_[static_cast<size_t>(kind)]->runWithInput(inputs, outputs, streams_[on]); }))
    result.state = State::Lost;
  result.is_told = false;  // the call was, not those who read
  if (kind == CallKind::Returned) {
    if (given.empty()) return;
    results_.push_back(memories_[to]);
    result.tensor = given.at(0);
    memories_[to] = result;
    return;
  }
  Memory& written = kind == CallKind::Given ? memories_[to] : source;
  result.tensor = written.tensor;
  result.tensor.setCallEvent(nullptr);  // of a call before, whose failure is over for this memory
  written = result;
}

void CallSequence::hostRead(size_t memory, HandleKind handle) {
  story_.push_back(fmt::format("read {} by handle {}", memory, static_cast<int>(handle)));
  if (has_failures_) return checkOne(memories_[memory], handle);
  check(readable(handleOf(memories_[memory].tensor, handle)), memories_[memory].number);
}

void CallSequence::hostWrite(size_t memory, HandleKind handle, float number) {
  if (!target_.host_reads) return;
  story_.push_back(fmt::format("write {} by handle {}: {}", memory, static_cast<int>(handle), number));
  Memory& written = memories_[memory];
  Tensor tensor;
  const auto write = [&] {
    // An import of lost memory is one more that is lost.
    if (!tensor.isDefined()) tensor = handleOf(written.tensor, handle);
    target_.fill(static_cast<float*>(tensor.hostData()), target_.size, number);
  };
  int tries = 0;
  while (!mayUse(written, write) && ++tries < 4) {
  }
  if (tries == 4) noteWrong("a write is told again and again");
  written = {.tensor = written.tensor, .number = number};
  if (has_failures_) written.tensor.setCallEvent(nullptr);
}

int64_t CallSequence::countWrong() {
  // All copies first, so that they are waited for once.
  results_.insert(results_.end(), memories_.begin(), memories_.end());
  if (has_failures_) {
    story_.emplace_back("read all");
    for (Memory& memory : results_) checkOne(memory, HandleKind::Own);
    results_.clear();
    is_under_way_ = false;
    return wrong_;
  }
  std::vector<Tensor> reads;
  for (const Memory& memory : results_) reads.push_back(readable(memory.tensor));
  for (size_t i = 0; i < reads.size(); ++i) check(reads[i], results_[i].number);
  results_.clear();
  is_under_way_ = false;
  return wrong_;
}

int64_t countWrongChains(CallSequence& sequence, int64_t turns) {
  int64_t wrong = 0;
  for (const CallKind first : kCallKinds) {
    for (const CallKind second : kCallKinds) {
      for (const HandleKind first_handle : kHandleKinds) {
        for (const HandleKind second_handle : kHandleKinds) {
          // The third call reads what is now in the memory that both had to do with. Its kinds and handles and the
          // 27 triples of streams take turns, another part of them for each pair.
          int64_t number = static_cast<int64_t>(first) * 131 + static_cast<int64_t>(second) * 37 +
                           static_cast<int64_t>(first_handle) * 17 + static_cast<int64_t>(second_handle) * 7;
          for (int64_t turn = 0; turn < turns; ++turn, ++number) {
            const auto stream = [&](int64_t shift) { return kStreamKinds[(number / shift) % 3]; };
            const size_t written = first == CallKind::Returned || first == CallKind::Given ? 1 : 0;
            for (const bool follows :
                 {true, false}) {  // the second reads what the first wrote; else writes what it read
              sequence.restart(3);
              sequence.call(first, first_handle, stream(1), 0, 1);
              sequence.call(second, second_handle, stream(3), follows ? written : 2, follows ? 2 : 0);
              sequence.call(kCallKinds[number % 4],
                            kHandleKinds[static_cast<size_t>(number) / 4 % std::size(kHandleKinds)], stream(9),
                            follows ? written : 0, 2);
              wrong += sequence.countWrong();
            }
          }
        }
      }
    }
  }
  return wrong;
}

int64_t countWrongSequences(CallSequence& sequence, int64_t sequences, int64_t calls, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return static_cast<size_t>(random() % limit); };
  int64_t wrong = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    sequence.restart(3);
    for (int64_t c = 0; c < calls; ++c) {
      const HandleKind handle = kHandleKinds[below(std::size(kHandleKinds))];
      const size_t from = below(3);
      switch (below(12)) {
        case 0: sequence.hostRead(from, handle); break;
        case 1: sequence.hostWrite(from, handle, static_cast<float>(1 + below(8))); break;
        default: sequence.call(kCallKinds[below(4)], handle, kStreamKinds[below(3)], from, (from + 1 + below(2)) % 3);
      }
    }
    wrong += sequence.countWrong();
  }
  return wrong;
}

int64_t countWrongFailures(CallSequence& sequence, int64_t sequences, int64_t calls, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return static_cast<size_t>(random() % limit); };
  int64_t wrong = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    const size_t streams = s % 2 == 0 ? 1 : 3;
    const auto anyCall = [&] {
      const size_t from = below(3);
      sequence.call(kCallKinds[below(4)], kHandleKinds[below(std::size(kHandleKinds))], kStreamKinds[below(streams)],
                    from, (from + 1 + below(2)) % 3);
    };
    sequence.restart(3);
    for (int64_t c = 0; c < calls; ++c) {
      switch (below(12)) {
        case 0: sequence.hostRead(below(3), kHandleKinds[below(std::size(kHandleKinds))]); break;
        case 1:
          sequence.hostWrite(below(3), kHandleKinds[below(std::size(kHandleKinds))], static_cast<float>(1 + below(8)));
          break;
        case 2:
        case 3: sequence.lose(below(3)); break;
        default: anyCall();
      }
    }
    wrong += sequence.countWrong();
    sequence.restart(3);
    for (int i = 0; i < 3; ++i) anyCall();
    wrong += sequence.countWrong();
  }
  return wrong;
}

int64_t repetitions(int64_t few) {
  const char* const given = std::getenv("TOKAMAK_CALL_ORDER_RUNS");
  if (given != nullptr) return std::atoll(given);
  return std::max<int64_t>(1, kShare == 1 ? few : few / 100);
}

}  // namespace tokamak
