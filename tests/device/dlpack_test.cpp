// DLPack: what other libraries give, and what they get.
#include "interop/dlpack.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "fake_cuda.h"
#include "jit/open_device.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

using testing::HasSubstr;

// Another library's array of i32: 0, 1, 2, ... row-major, and how often its deleter was called.
template <class Managed>
struct Producer {
  explicit Producer(std::vector<int64_t> shape) : sizes(std::move(shape)) {
    const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    values.resize(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    managed.context = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->context)->deletions; };
    managed.array = {.data = values.data(),
                     .rank = static_cast<int32_t>(sizes.size()),
                     .type = {.code = dlpack::TypeCode::Int, .bits = 32},
                     .sizes = sizes.data()};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  ~Producer() = default;

  std::vector<int64_t> sizes;
  std::vector<int32_t> values;
  Managed managed;
  std::atomic<int> deletions = 0;
};

using Versioned = Producer<dlpack::ManagedVersioned>;
using Unversioned = Producer<dlpack::Managed>;

int32_t at(const Tensor& tensor, int64_t i, int64_t j) {
  return static_cast<const int32_t*>(tensor.data())[i * tensor.strides()[0] + j * tensor.strides()[1]];
}

class Dlpack : public testing::Test {
 protected:
  CpuDevice device_{{.threads = 1}};
  std::shared_ptr<Stream> stream_ = device_.createStream();
  std::unique_ptr<DlpackExchange> exchange_ = std::make_unique<DlpackExchange>(device_);
};

TEST_F(Dlpack, AnArrayWithoutStridesIsRowMajorAndDeletedOnceWithItsLastTensor) {
  Versioned versioned({2, 3});
  Unversioned unversioned({2, 3});
  {
    const Tensor a = exchange_->take(&versioned.managed, stream_);
    const Tensor b = exchange_->take(&unversioned.managed, stream_);
    for (const Tensor& tensor : {a, b}) {
      EXPECT_EQ(tensor.dtype(), DataType::I32);
      EXPECT_TRUE(std::ranges::equal(tensor.sizes(), std::array{2, 3}));
      EXPECT_TRUE(tensor.isContiguous());
      EXPECT_FALSE(tensor.buffer()->isReadOnly());
      EXPECT_EQ(at(tensor, 1, 1), 4);
    }
    EXPECT_EQ(a.data(), versioned.values.data());
    const Tensor view = a.select(0, 1);
  }
  device_.synchronize(*stream_);
  exchange_->collect();
  EXPECT_EQ(versioned.deletions, 1);
  EXPECT_EQ(unversioned.deletions, 1);
  exchange_ = nullptr;
  EXPECT_EQ(versioned.deletions, 1);
}

TEST_F(Dlpack, ByteOffsetsStridesAndTheReadOnlyFlagAreHonoured) {
  Versioned producer({4, 6});
  std::array<int64_t, 2> sizes = {3, 2};
  std::array<int64_t, 2> strides = {1, -6};
  producer.managed.flags = dlpack::kReadOnly | dlpack::kSubbytePadded;
  producer.managed.version.minor = 99;
  producer.managed.array.sizes = sizes.data();
  producer.managed.array.strides = strides.data();
  producer.managed.array.byte_offset = (6 * 2 + 1) * sizeof(int32_t);
  {
    const Tensor tensor = exchange_->take(&producer.managed, stream_);
    EXPECT_EQ(at(tensor, 0, 0), 13);
    EXPECT_EQ(at(tensor, 2, 1), 9);
    EXPECT_TRUE(tensor.buffer()->isReadOnly());
  }
  exchange_ = nullptr;  // waits for the deleter
  EXPECT_EQ(producer.deletions, 1);
}

TEST_F(Dlpack, WorkThatWasIssuedIsDoneBeforeADeleterRuns) {
  Versioned producer({8});
  std::promise<void> opened;
  std::vector<int32_t> seen(8);
  {
    const Tensor tensor = exchange_->take(&producer.managed, stream_);
    device_.callback(*stream_, [&] { opened.get_future().wait(); });
    device_.copy(*stream_, seen.data(), tensor.data(), 32);
  }
  exchange_->collect();
  EXPECT_EQ(producer.deletions, 0);
  opened.set_value();
  device_.synchronize(*stream_);
  exchange_->collect();
  EXPECT_EQ(producer.deletions, 1);
  EXPECT_EQ(seen, producer.values);
}

TEST_F(Dlpack, AnExchangeThatEndsWaitsAndTensorsMayOutliveIt) {
  Versioned waited_for({8});
  Versioned outliving({8});
  Tensor left = exchange_->take(&outliving.managed, stream_);
  std::promise<void> opened;
  {
    const Tensor tensor = exchange_->take(&waited_for.managed, stream_);
  }
  {
    const Tensor tensor = exchange_->take(&waited_for.managed, stream_);
    device_.callback(*stream_, [&] { opened.get_future().wait(); });
  }
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    opened.set_value();
  });
  exchange_ = nullptr;
  EXPECT_EQ(waited_for.deletions, 2);
  opener.join();
  EXPECT_EQ(outliving.deletions, 0);
  left = Tensor();
  EXPECT_EQ(outliving.deletions, 1);
}

TEST_F(Dlpack, WhatIsRefusedStaysTheCallers) {
  const auto refused = [&](const std::function<void(dlpack::ManagedVersioned&)>& change) {
    Versioned producer({2, 3});
    change(producer.managed);
    const std::string message = errorOf([&] { exchange_->take(&producer.managed, stream_); }).message();
    EXPECT_EQ(producer.deletions, 0);
    return message;
  };
  using Given = dlpack::ManagedVersioned;
  EXPECT_EQ(refused([](Given& given) { given.version = {2, 1}; }),
            "DLPack: an array of version 2.1 was given; 1.x is understood");
  EXPECT_EQ(
      refused([](Given& given) { given.array.type.lanes = 4; }),
      "DLPack: elements of type int32x4 were given; legal are float16, float32, float64, bfloat16, int32, int64 and "
      "bool");
  EXPECT_THAT(refused([](Given& given) { given.array.type.bits = 8; }), HasSubstr("elements of type int8 were given"));
  EXPECT_THAT(refused([](Given& given) { given.array.type.code = dlpack::TypeCode::Complex; }),
              HasSubstr("elements of type complex32 were given"));
  EXPECT_EQ(refused([](Given& given) { given.array.rank = 17; }),
            "DLPack: an array of 17 axes was given; legal are 0 to 16");
  EXPECT_EQ(refused([](Given& given) { given.array.rank = -1; }),
            "DLPack: an array of -1 axes was given; legal are 0 to 16");
  EXPECT_EQ(refused([](Given& given) { given.array.sizes = nullptr; }),
            "DLPack: an array of 2 axes was given without sizes");
  EXPECT_THAT(refused([](Given& given) { given.array.sizes[1] = -3; }), HasSubstr("a size is not negative"));
  EXPECT_EQ(refused([](Given& given) { given.array.data = nullptr; }),
            "DLPack: an array of 6 elements lies at a null address");
  EXPECT_THAT(refused([](Given& given) { given.array.byte_offset = 2; }),
              HasSubstr("DLPack: elements of 4 bytes lie at 0x"));
  EXPECT_THAT(refused([](Given& given) { given.array.byte_offset = UINT64_MAX - 3; }),
              testing::MatchesRegex("DLPack: 18446744073709551612 bytes behind 0x[0-9a-f]+ there is no memory"));
  EXPECT_THAT(refused([](Given& given) {
                static std::array<int64_t, 2> sizes = {INT64_MAX, 1};
                static std::array<int64_t, 2> strides = {INT64_MIN, 1};
                given.array.sizes = sizes.data();
                given.array.strides = strides.data();
              }),
              HasSubstr("with strides [-9223372036854775808, 1] reach beyond any memory"));
  EXPECT_THAT(refused([](Given& given) {
                static std::array<int64_t, 2> strides = {-(int64_t{1} << 50), 1};
                given.array.strides = strides.data();
              }),
              HasSubstr("sizes [2, 3] with strides [-1125899906842624, 1] reach beyond any memory from 0x"));
  EXPECT_EQ(refused([](Given& given) { given.array.device = {.type = dlpack::DeviceType::Cuda, .id = 0}; }),
            "DLPack: a tensor of device type 2 was given to cpu; legal are 1 (CPU) and 3 (CUDA host)");
  EXPECT_EQ(errorOf([&] { exchange_->take(static_cast<dlpack::Managed*>(nullptr), stream_); }).code(),
            ErrorCode::Usage);
  Versioned producer({2});
  EXPECT_EQ(errorOf([&] { exchange_->take(&producer.managed, nullptr); }).code(), ErrorCode::Usage);
}

TEST_F(Dlpack, ArraysWithoutElementsAndWithoutAxesAreTaken) {
  Versioned none({3, 0});
  none.managed.array.data = nullptr;
  Versioned scalar({});
  scalar.managed.array.sizes = nullptr;
  {
    const Tensor empty = exchange_->take(&none.managed, stream_);
    const Tensor one = exchange_->take(&scalar.managed, stream_);
    EXPECT_EQ(empty.numel(), 0);
    EXPECT_EQ(one.rank(), 0);
    EXPECT_EQ(one.numel(), 1);
  }
  exchange_ = nullptr;
  EXPECT_EQ(none.deletions, 1);
  EXPECT_EQ(scalar.deletions, 1);
}

TEST_F(Dlpack, AGivenTensorKeepsItsMemoryUntilItsDeleterIsCalled) {
  const int64_t before = device_.memoryStatistics(MemoryKind::Device).bytes_in_use;
  const std::array<int64_t, 2> sizes = {4, 6};
  Tensor tensor = Tensor::empty(device_, stream_, DataType::BF16, sizes, MemoryKind::Device);
  dlpack::ManagedVersioned* const given = exchange_->give(tensor.slice(1, 2, 5));
  dlpack::Managed* const older = exchange_->giveUnversioned(tensor);
  EXPECT_EQ(given->version.major, 1U);
  EXPECT_EQ(given->flags, 0U);
  EXPECT_EQ(given->array.data, static_cast<std::byte*>(tensor.data()) + 4);
  EXPECT_EQ(given->array.byte_offset, 0U);
  EXPECT_EQ(given->array.type.code, dlpack::TypeCode::BFloat);
  EXPECT_EQ(given->array.type.bits, 16);
  EXPECT_EQ(given->array.device.type, dlpack::DeviceType::Cpu);
  EXPECT_EQ(given->array.sizes[1], 3);
  EXPECT_EQ(given->array.strides[0], 6);
  EXPECT_EQ(older->array.rank, 2);
  tensor = Tensor();
  older->deleter(older);
  EXPECT_GT(device_.memoryStatistics(MemoryKind::Device).bytes_in_use, before);
  given->deleter(given);
  EXPECT_EQ(device_.memoryStatistics(MemoryKind::Device).bytes_in_use, before);
}

TEST_F(Dlpack, OnlyTensorsOfTheDeviceAreGiven) {
  EXPECT_EQ(errorOf([&] { exchange_->give(Tensor()); }).message(),
            "DLPack: a tensor that is none of cpu's cannot be given away by it");
}

TEST_F(Dlpack, AReadOnlyTensorGoesThroughButNotAsVersion0) {
  Versioned producer({2, 3});
  producer.managed.flags = dlpack::kReadOnly;
  {
    const Tensor tensor = exchange_->take(&producer.managed, stream_);
    dlpack::ManagedVersioned* const given = exchange_->give(tensor);
    EXPECT_EQ(given->flags, dlpack::kReadOnly);
    EXPECT_EQ(errorOf([&] { exchange_->giveUnversioned(tensor); }).code(), ErrorCode::Bind);
    EXPECT_EQ(producer.deletions, 0);
    given->deleter(given);
  }
  exchange_ = nullptr;
  EXPECT_EQ(producer.deletions, 1);
}

TEST(DlpackCuda, ArraysOfTheGpuAndOfPinnedMemoryAreTakenAndGiven) {
  const auto device = openFakeDevice();
  const std::shared_ptr<Stream> stream = device->createStream();
  const std::shared_ptr<Stream> other = device->createStream();
  DlpackExchange exchange(*device);
  const std::array<int64_t, 1> sizes = {6};
  for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Host}) {
    const Tensor tensor = Tensor::empty(*device, stream, DataType::I32, sizes, kind);
    device->fill(*stream, tensor.data(), 1, 24);
    dlpack::ManagedVersioned* const given = exchange.give(tensor, other);
    const Tensor back = exchange.take(given, other);
    EXPECT_EQ(back.data(), tensor.data());
    EXPECT_EQ(back.kind(), kind);
  }
  Versioned producer({6});
  producer.managed.array.device = {.type = dlpack::DeviceType::Cuda, .id = 1};
  EXPECT_EQ(errorOf([&] { exchange.take(&producer.managed, stream); }).message(),
            "DLPack: a tensor of CUDA device 1 was given to cuda:0");
  producer.managed.array.device.id = 0;
  EXPECT_THAT(errorOf([&] { exchange.take(&producer.managed, stream); }).message(),
              testing::MatchesRegex("cuda:0: 0x[0-9a-f]+ is no device memory that the driver knows"));
  EXPECT_EQ(producer.deletions, 0);
}

// The maker's stream stands still while the tensor is given away: only an event can tell the taker's stream when the
// data is there.
void expectHandshakeByEvent(Device& device) {
  const std::shared_ptr<Stream> maker = device.createStream();
  const std::shared_ptr<Stream> taker = device.createStream();
  DlpackExchange exchange(device);
  const std::array<int64_t, 1> sizes = {1024};
  Tensor tensor = Tensor::empty(device, maker, DataType::I32, sizes, MemoryKind::Device);
  const Tensor seen = Tensor::empty(device, taker, DataType::I32, sizes, MemoryKind::Pinned);
  const auto flag_memory = Buffer::allocate(device, maker, 8, MemoryKind::Pinned);
  auto* const flag = static_cast<uint64_t*>(flag_memory->address());
  *flag = 0;
  device.fill(*maker, tensor.data(), 1, 4096);
  device.synchronize(*maker);
  device.waitFlag(*maker, flag, 1);
  device.fill(*maker, tensor.data(), 7, 4096);
  std::shared_ptr<Event> ready = device.createEvent();
  device.record(*ready, *maker);
  tensor.setReadyEvent(std::move(ready));
  std::promise<void> returned;
  // A host that waited would wait for ever.
  std::thread rescuer([&, is_back = returned.get_future()] {
    if (is_back.wait_for(std::chrono::seconds(5)) == std::future_status::timeout) {
      ADD_FAILURE() << "the host waits for the maker's stream";
      std::atomic_ref(*flag).store(1);
    }
  });
  dlpack::ManagedVersioned* const given = exchange.give(tensor, taker);
  returned.set_value();
  rescuer.join();
  device.copy(*taker, seen.data(), given->array.data, 4096);
  const std::unique_ptr<Event> done = device.createEvent();
  device.record(*done, *taker);
  EXPECT_FALSE(device.isDone(*done));
  // The memory goes back while both streams have work on it to do.
  tensor = Tensor();
  given->deleter(given);
  std::atomic_ref(*flag).store(1);
  device.synchronize(*taker);
  device.synchronize(*maker);
  const auto* const values = static_cast<const int32_t*>(seen.data());
  EXPECT_TRUE(std::all_of(values, values + 1024, [](int32_t value) { return value == 0x07070707; }));
}

TEST(DlpackCuda, AStreamWaitsForTheDataByAnEvent) { expectHandshakeByEvent(*openFakeDevice()); }

TEST(DlpackCuda, AStreamOfAGpuWaitsForTheDataByAnEvent) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  expectHandshakeByEvent(*openCudaDevice(0));
}

TEST(DlpackCuda, MemoryOfAnotherGpuIsRefused) {
  const FakeSettings asked("devices=2");
  const auto first = openFakeDevice();
  const auto second = openFakeDevice({}, 1);
  const std::shared_ptr<Stream> stream = first->createStream();
  const std::shared_ptr<Stream> other = second->createStream();
  const std::array<int64_t, 1> sizes = {6};
  const Tensor tensor = Tensor::empty(*first, stream, DataType::I32, sizes, MemoryKind::Device);
  DlpackExchange from(*first);
  DlpackExchange to(*second);
  dlpack::ManagedVersioned* const given = from.give(tensor);
  EXPECT_EQ(errorOf([&] { to.take(given, other); }).message(), "DLPack: a tensor of CUDA device 0 was given to cuda:1");
  given->array.device.id = 1;  // as a library would that is wrong
  EXPECT_THAT(errorOf([&] { to.take(given, other); }).message(), HasSubstr("is memory of cuda:0"));
  given->deleter(given);
}

}  // namespace

}  // namespace tokamak
