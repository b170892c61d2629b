#include "host_run/call_sequence.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

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
}

Tensor CallSequence::handleOf(const Tensor& tensor, HandleKind handle) {
  switch (handle) {
    case HandleKind::View: return tensor.slice(0, 0, tensor.size(0));
    case HandleKind::Wrap:
      return Tensor::borrow(*target_.device, tensor.data(), tensor.dtype(), tensor.sizes(), tensor.strides(),
                            tensor.kind(), tensor.buffer());
    case HandleKind::Import: return exchange_.take(arrayOf(tensor, target_.dlpack_device), import_stream_);
    default: return tensor;
  }
}

void CallSequence::check(const Tensor& read, float number) {
  expected_.resize(static_cast<size_t>(read.numel()));
  target_.fill(expected_.data(), target_.size, number);
  if (!std::equal(expected_.begin(), expected_.end(), static_cast<const float*>(read.hostDataToRead()))) ++wrong_;
}

Tensor CallSequence::readable(const Tensor& tensor) {
  return target_.host_reads ? tensor : toHost(tensor, host_stream_);
}

void CallSequence::restart(size_t memories) {
  if (is_under_way_) countWrong();
  wrong_ = 0;
  memories_.resize(memories);
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
  float made = source.number;
  for (int i = 0; i < target_.steps; ++i) made = target_.step(made);
  const RunValue inputs[] = {handleOf(source.tensor, handle), operand_};
  std::vector<Tensor> outputs;
  if (kind == CallKind::Given) outputs.push_back(handleOf(memories_[to].tensor, handle));
  const std::vector<Tensor> given =
      programs_[static_cast<size_t>(kind)]->runWithInput(inputs, outputs, streams_[static_cast<size_t>(stream)]);
  if (kind == CallKind::Returned) {
    results_.push_back(memories_[to]);
    memories_[to] = {given.at(0), made};
  } else if (kind == CallKind::Given) {
    memories_[to].number = made;
  } else {
    source.number = made;
  }
}

void CallSequence::hostRead(size_t memory, HandleKind handle) {
  check(readable(handleOf(memories_[memory].tensor, handle)), memories_[memory].number);
}

void CallSequence::hostWrite(size_t memory, HandleKind handle, float number) {
  if (!target_.host_reads) return;
  const Tensor tensor = handleOf(memories_[memory].tensor, handle);
  target_.fill(static_cast<float*>(tensor.hostData()), target_.size, number);
  memories_[memory].number = number;
}

int64_t CallSequence::countWrong() {
  // All copies first, so that they are waited for once.
  results_.insert(results_.end(), memories_.begin(), memories_.end());
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
          // The third call reads what is now in the memory that both had to do with. Its 16 kinds and handles and the
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
              sequence.call(kCallKinds[number % 4], kHandleKinds[number / 4 % 4], stream(9), follows ? written : 0, 2);
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
      const HandleKind handle = kHandleKinds[below(4)];
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

int64_t repetitions(int64_t few) {
  const char* const given = std::getenv("TOKAMAK_CALL_ORDER_RUNS");
  if (given != nullptr) return std::atoll(given);
  return std::max<int64_t>(1, kShare == 1 ? few : few / 100);
}

}  // namespace tokamak
