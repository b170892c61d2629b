// DLPack by the thousand (R17): arrays of all types, strides and versions come in and go out again, in views, over two
// exchanges and streams, and are let go in any order. Each is deleted once, after the work that reads it; what is read
// is what was written; memory that may not be written says so.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/tensor.h"
#include "generator/environment.h"
#include "generator/random.h"
#include "interop/dlpack.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

using generator::Random;

constexpr std::byte kDeleted{0xDD};

// Memory that other work fills: the processor's from the heap, where the address sanitizer watches it, a GPU's own.
class Memory {
 public:
  Memory(Device& device, const std::shared_ptr<Stream>& stream, int64_t bytes, MemoryKind kind)
      : device_(device), stream_(stream), bytes_(bytes) {
    if (device.properties().ordinal >= 0)
      buffer_ = Buffer::allocate(device, stream, bytes, kind);
    else
      heap_ = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
  }
  void* address() const { return heap_ != nullptr ? heap_.get() : buffer_->address(); }
  void fill(uint8_t byte) { device_.fill(*stream_, address(), byte, bytes_); }
  /// What still reads it now, reads this.
  void destroy() {
    if (heap_ != nullptr) std::memset(heap_.get(), static_cast<int>(kDeleted), static_cast<size_t>(bytes_));
    if (heap_ == nullptr) fill(static_cast<uint8_t>(kDeleted));
    heap_ = nullptr;
    buffer_ = nullptr;
  }

 private:
  Device& device_;
  std::shared_ptr<Stream> stream_;
  int64_t bytes_;
  std::shared_ptr<Buffer> buffer_;
  std::unique_ptr<std::byte[]> heap_;
};

// What work on a stream read, and what it should have.
struct Reading {
  std::shared_ptr<Buffer> copy;
  uint8_t expected = 0;

  bool isRight() const {
    const auto* const bytes = static_cast<const uint8_t*>(copy->address());
    return std::all_of(bytes, bytes + copy->bytes(), [this](uint8_t byte) { return byte == expected; });
  }
};

struct Type {
  DataType dtype;
  dlpack::Type given;
};
constexpr std::array<Type, 7> kTypes = {{{DataType::F64, {dlpack::TypeCode::Float, 64, 1}},
                                         {DataType::F32, {dlpack::TypeCode::Float, 32, 1}},
                                         {DataType::F16, {dlpack::TypeCode::Float, 16, 1}},
                                         {DataType::BF16, {dlpack::TypeCode::BFloat, 16, 1}},
                                         {DataType::I32, {dlpack::TypeCode::Int, 32, 1}},
                                         {DataType::I64, {dlpack::TypeCode::Int, 64, 1}},
                                         {DataType::Bool, {dlpack::TypeCode::Bool, 8, 1}}}};

// Another library's array.
struct Capsule {
  std::optional<Memory> memory;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  std::vector<Reading> readings;
  std::variant<dlpack::ManagedVersioned, dlpack::Managed> managed;
  DataType dtype = DataType::F32;
  uint8_t value = 0;
  bool is_read_only = false;
  bool is_refused = false;
  int deletions = 0;
  int wrong = 0;  ///< readings that saw something else

  // All that reads it is over now.
  void end() {
    ++deletions;
    for (const Reading& reading : readings) wrong += reading.isRight() ? 0 : 1;
    readings.clear();
    if (memory) memory->destroy();
    sizes.assign(sizes.size(), -1);
    strides.assign(strides.size(), -1);
  }
};

class Exchanges {
 public:
  Exchanges(Device& device, uint64_t seed) : device_(device), random_(seed) {
    for (auto& stream : streams_) stream = device.createStream();
    for (auto& exchange : exchanges_) exchange = std::make_unique<DlpackExchange>(device);
  }

  void run(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      exchangeOne();
      // Some time after their deleter ran.
      while (!capsules_.empty() && capsules_.front()->deletions > 0 && capsules_.size() > 64) {
        judge(*capsules_.front());
        capsules_.pop_front();
      }
    }
    held_.clear();
    for (const auto& stream : streams_) device_.synchronize(*stream);
    // Arrays that went through both come back to the first.
    exchanges_[1] = nullptr;
    exchanges_[0] = nullptr;
    for (const auto& stream : streams_) device_.synchronize(*stream);
    for (const auto& capsule : capsules_) judge(*capsule);
    for (const Reading& reading : own_) wrong_ += reading.isRight() ? 0 : 1;
    EXPECT_EQ(not_once_, 0) << "arrays that were not deleted once";
    EXPECT_EQ(wrong_, 0) << "readings of something else";
    EXPECT_EQ(flags_, 0) << "arrays that may be written where they may not, or the other way round";
    std::cout << count << " capsules: " << refused_ << " refused, " << read_only_ << " read-only, " << back_
              << " given back, " << given_ << " of our own given\n";
  }

 private:
  static constexpr size_t kHeld = 32;

  void exchangeOne() {
    if (random_.chance(15)) return giveOwn();
    Capsule& capsule = *capsules_.emplace_back(draw());
    const std::shared_ptr<Stream>& stream = streams_[random_.below(streams_.size())];
    // The producer's part of the handshake: what `stream` does comes after his work.
    const std::unique_ptr<Event> made = device_.createEvent();
    device_.record(*made, *streams_[0]);
    device_.wait(*stream, *made);
    Tensor tensor;
    try {
      tensor = std::visit([&](auto& managed) { return exchanges_[0]->take(&managed, stream); }, capsule.managed);
    } catch (const Error& error) {
      if (!capsule.is_refused || error.code() != ErrorCode::Bind) ADD_FAILURE() << error.what();
      // It is still the producer's, whose work may be under way.
      if (capsule.deletions != 0) ++not_once_;
      device_.synchronize(*streams_[0]);
      capsule.end();
      ++refused_;
      return;
    }
    EXPECT_FALSE(capsule.is_refused);
    EXPECT_TRUE(std::ranges::equal(tensor.sizes(), capsule.sizes));
    if (tensor.buffer()->isReadOnly() != capsule.is_read_only) ++flags_;
    if (capsule.is_read_only) ++read_only_;
    read(tensor, capsule, *stream);
    if (random_.chance(30)) tensor = viewOf(tensor);
    if (random_.chance(30)) tensor = backAndForth(tensor, capsule);
    hold(std::move(tensor));
  }

  std::unique_ptr<Capsule> draw() {
    auto capsule = std::make_unique<Capsule>();
    const Type& type = kTypes[random_.below(kTypes.size())];
    const int64_t width = sizeOf(type.dtype);
    capsule->dtype = type.dtype;
    capsule->value = static_cast<uint8_t>(random_.between(1, 200));
    int64_t extent = 1;
    for (int64_t axes = random_.below(4); axes > 0; --axes) capsule->sizes.push_back(random_.between(0, 5));
    const bool has_strides = random_.chance(60);
    for (size_t i = capsule->sizes.size(); i-- > 0;) {
      capsule->strides.insert(capsule->strides.begin(), extent * (has_strides ? random_.between(1, 2) : 1));
      extent = std::max<int64_t>(1, capsule->sizes[i]) * capsule->strides.front();
    }
    const int64_t offset = width * random_.below(4);
    const MemoryKind kind = random_.chance(80) ? MemoryKind::Device : MemoryKind::Pinned;
    capsule->memory.emplace(device_, streams_[0], offset + extent * width, kind);
    capsule->memory->fill(capsule->value);
    dlpack::Array array = {.data = capsule->memory->address(),
                           .device = placeOf(kind),
                           .rank = static_cast<int32_t>(capsule->sizes.size()),
                           .type = type.given,
                           .sizes = capsule->sizes.data(),
                           .strides = has_strides ? capsule->strides.data() : nullptr,
                           .byte_offset = static_cast<uint64_t>(offset)};
    capsule->is_refused = random_.chance(3);
    if (capsule->is_refused) array.type.lanes = 3;
    const auto give = [&]<class Managed>(Managed managed) {
      managed.array = array;
      managed.context = capsule.get();
      managed.deleter = [](Managed* self) { static_cast<Capsule*>(self->context)->end(); };
      capsule->managed = managed;
    };
    if (random_.chance(30)) {
      give(dlpack::Managed{});
    } else {
      capsule->is_read_only = random_.chance(30);
      give(dlpack::ManagedVersioned{.flags = capsule->is_read_only ? dlpack::kReadOnly : 0});
    }
    return capsule;
  }

  dlpack::Device placeOf(MemoryKind kind) const {
    const int64_t ordinal = device_.properties().ordinal;
    if (ordinal < 0) return {};
    if (kind == MemoryKind::Pinned) return {.type = dlpack::DeviceType::CudaHost};
    return {.type = dlpack::DeviceType::Cuda, .id = static_cast<int32_t>(ordinal)};
  }

  // Work on the stream that reads the first element.
  Reading readingOf(const Tensor& tensor, uint8_t expected, Stream& stream) {
    const int64_t bytes = tensor.numel() == 0 ? 0 : sizeOf(tensor.dtype());
    Reading reading{.copy = Buffer::allocate(device_, streams_[0], bytes, MemoryKind::Pinned), .expected = expected};
    // Memory of streams_[0], used by another one.
    const std::unique_ptr<Event> there = device_.createEvent();
    device_.record(*there, *streams_[0]);
    device_.wait(stream, *there);
    if (bytes > 0) device_.copy(stream, reading.copy->address(), tensor.data(), bytes);
    return reading;
  }

  void read(const Tensor& tensor, Capsule& capsule, Stream& stream) {
    capsule.readings.push_back(readingOf(tensor, capsule.value, stream));
  }

  Tensor viewOf(const Tensor& tensor) {
    if (tensor.rank() == 0 || tensor.numel() == 0) return tensor;
    const int64_t axis = random_.below(tensor.rank());
    const int64_t index = random_.below(tensor.size(axis));
    return random_.chance(50) ? tensor.select(axis, index) : tensor.slice(axis, index, tensor.size(axis));
  }

  // Out through the one exchange, in through the other, on another stream.
  Tensor backAndForth(const Tensor& tensor, Capsule& capsule) {
    const std::shared_ptr<Stream>& stream = streams_[random_.below(streams_.size())];
    ++back_;
    if (capsule.is_read_only) {
      try {
        exchanges_[0]->giveUnversioned(tensor, stream);
        ++flags_;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::Bind) ++flags_;
      }
    }
    dlpack::ManagedVersioned* const given = exchanges_[0]->give(tensor, stream);
    if (((given->flags & dlpack::kReadOnly) != 0) != capsule.is_read_only) ++flags_;
    // The borrowed memory has no event of its own: his work is ordered before as a producer would.
    const std::unique_ptr<Event> made = device_.createEvent();
    device_.record(*made, *streams_[0]);
    device_.wait(*stream, *made);
    Tensor again = exchanges_[1]->take(given, stream);
    if (again.buffer()->isReadOnly() != capsule.is_read_only) ++flags_;
    read(again, capsule, *stream);
    return again;
  }

  void hold(Tensor tensor) {
    if (held_.size() < kHeld) return held_.push_back(std::move(tensor));
    held_[random_.below(held_.size())] = std::move(tensor);
  }

  // Made on one stream, given for another, which reads it; then the memory may be had again, behind that.
  void giveOwn() {
    ++given_;
    const std::shared_ptr<Stream>& maker = streams_[random_.below(streams_.size())];
    const std::shared_ptr<Stream>& taker = streams_[random_.below(streams_.size())];
    const std::array<int64_t, 2> sizes = {random_.between(1, 64), random_.between(1, 64)};
    const auto value = static_cast<uint8_t>(random_.between(1, 200));
    Tensor tensor = Tensor::empty(device_, maker, DataType::I32, sizes, MemoryKind::Device);
    device_.fill(*maker, tensor.data(), value, tensor.buffer()->bytes());
    std::shared_ptr<Event> ready = device_.createEvent();
    device_.record(*ready, *maker);
    tensor.setReadyEvent(std::move(ready));
    const auto leave = [&](auto* given) {
      own_.push_back(readingOf(tensor, value, *taker));
      tensor = Tensor();
      given->deleter(given);
    };
    if (random_.chance(50))
      leave(exchanges_[0]->give(tensor, taker));
    else
      leave(exchanges_[0]->giveUnversioned(tensor, taker));
    if (own_.size() < 256) return;
    for (const auto& stream : streams_) device_.synchronize(*stream);
    for (const Reading& reading : own_) wrong_ += reading.isRight() ? 0 : 1;
    own_.clear();
  }

  void judge(const Capsule& capsule) {
    if (capsule.deletions != 1) ++not_once_;
    wrong_ += capsule.wrong;
  }

  Device& device_;
  Random random_;
  std::array<std::shared_ptr<Stream>, 3> streams_;  // the first is the producers'
  std::array<std::unique_ptr<DlpackExchange>, 2> exchanges_;
  std::deque<std::unique_ptr<Capsule>> capsules_;
  std::vector<Tensor> held_;
  std::vector<Reading> own_;
  int64_t not_once_ = 0;
  int64_t wrong_ = 0;
  int64_t flags_ = 0;
  int64_t refused_ = 0;
  int64_t read_only_ = 0;
  int64_t back_ = 0;
  int64_t given_ = 0;
};

uint64_t capsules() { return generator::fromEnvironment("TOKAMAK_DLPACK_CAPSULES", 100'000); }

TEST(DlpackCapsules, AreDeletedOnceAndReadBefore) {
  JitCpuDevice device({.threads = 2});
  Exchanges(device, 17).run(capsules());
}

TEST(DlpackCapsules, AreDeletedOnceAndReadBeforeOnTheGpu) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  const std::shared_ptr<Device> device = openCudaDevice(0);
  Exchanges(*device, 18).run(capsules());
}

}  // namespace
}  // namespace tokamak
