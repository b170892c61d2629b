#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/tensor.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

using Sizes = std::vector<int64_t>;

ErrorCode codeOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorCode::Internal;
}

class TensorTest : public testing::Test {
 protected:
  Tensor empty(const Sizes& sizes, DataType dtype = DataType::F32) {
    return Tensor::empty(device_, stream_, dtype, sizes, MemoryKind::Device);
  }
  CpuDevice device_{{.threads = 1}};
  std::shared_ptr<Stream> stream_ = device_.createStream();
};

TEST_F(TensorTest, EmptyIsRowMajor) {
  const Tensor t = empty({2, 3, 4});
  EXPECT_EQ(t.numel(), 24);
  EXPECT_TRUE(std::ranges::equal(t.strides(), Sizes{12, 4, 1}));
  EXPECT_TRUE(t.isContiguous());
  EXPECT_EQ(t.buffer()->bytes(), 96);
  EXPECT_EQ(empty({}).numel(), 1);
  EXPECT_EQ(empty({3, 0}).numel(), 0);
}

TEST_F(TensorTest, SizesThatCannotBeAreTypedErrors) {
  EXPECT_EQ(codeOf([&] { empty({2, -1}); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { empty({int64_t{1} << 40, int64_t{1} << 40}); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(codeOf([&] { empty({int64_t{1} << 62}); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(codeOf([&] { empty({int64_t{1} << 50}); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(codeOf([&] { empty(Sizes(17, 1)); }), ErrorCode::Bind);
  EXPECT_EQ(empty({int64_t{1} << 62, 0, int64_t{1} << 62}).numel(), 0);
}

TEST_F(TensorTest, SelectAndSliceAreViews) {
  std::vector<int32_t> values(24);
  std::iota(values.begin(), values.end(), 0);
  const Tensor t =
      Tensor::borrow(device_, values.data(), DataType::I32, Sizes{2, 3, 4}, Sizes{12, 4, 1}, MemoryKind::Host);
  const Tensor middle = t.select(1, 2);
  EXPECT_TRUE(std::ranges::equal(middle.sizes(), Sizes{2, 4}));
  EXPECT_TRUE(std::ranges::equal(middle.strides(), Sizes{12, 1}));
  EXPECT_EQ(*static_cast<int32_t*>(middle.hostData()), 8);
  EXPECT_FALSE(middle.isContiguous());
  const Tensor part = t.slice(2, 1, 3).select(0, 1);
  EXPECT_TRUE(std::ranges::equal(part.sizes(), Sizes{3, 2}));
  EXPECT_EQ(*static_cast<int32_t*>(part.hostData()), 13);
  EXPECT_EQ(part.buffer(), t.buffer());
  EXPECT_EQ(t.slice(0, 2, 2).numel(), 0);
  EXPECT_EQ(t.size(2), 4);
}

TEST_F(TensorTest, WrongAxesAndIndicesAreRefused) {
  const Tensor t = empty({2, 3});
  EXPECT_EQ(codeOf([&] { t.select(2, 0); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { t.select(-1, 0); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { t.select(1, 3); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { t.slice(1, 2, 1); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { t.slice(1, 0, 4); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { (void)t.size(2); }), ErrorCode::Bind);
}

TEST_F(TensorTest, AViewMustFitItsBuffer) {
  const auto buffer = Buffer::allocate(device_, stream_, 100, MemoryKind::Device);
  const Tensor fits(buffer, 20, DataType::F32, Sizes{4, 5}, Sizes{1, 4});
  EXPECT_EQ(fits.data(), static_cast<char*>(buffer->address()) + 20);
  EXPECT_EQ(codeOf([&] { Tensor(buffer, 24, DataType::F32, Sizes{4, 5}, Sizes{1, 4}); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { Tensor(buffer, 0, DataType::F32, Sizes{2}, Sizes{-1}); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { Tensor(buffer, 0, DataType::F32, Sizes{2}, Sizes{}); }), ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { Tensor(buffer, 0, DataType::F32, Sizes{1 << 30}, Sizes{int64_t{1} << 60}); }),
            ErrorCode::Bind);
  EXPECT_EQ(codeOf([&] { Tensor(nullptr, 0, DataType::F32, Sizes{}, Sizes{}); }), ErrorCode::Usage);
}

TEST_F(TensorTest, NegativeAndZeroStridesOfCallersMemoryWork) {
  std::vector<double> values = {1, 2, 3};
  const Tensor reversed =
      Tensor::borrow(device_, values.data() + 2, DataType::F64, Sizes{3}, Sizes{-1}, MemoryKind::Host);
  EXPECT_EQ(reversed.data(), values.data() + 2);
  EXPECT_EQ(*static_cast<double*>(reversed.select(0, 2).hostData()), 1);
  const Tensor expanded = Tensor::borrow(device_, values.data(), DataType::F64, Sizes{5}, Sizes{0}, MemoryKind::Host);
  EXPECT_EQ(expanded.buffer()->bytes(), 8);
  EXPECT_EQ(codeOf([&] { Tensor::borrow(device_, nullptr, DataType::F64, Sizes{1}, Sizes{1}, MemoryKind::Host); }),
            ErrorCode::Bind);
}

TEST_F(TensorTest, TheKeeperLivesAsLongAsAnyView) {
  auto keeper = std::make_shared<double>(1);
  std::weak_ptr<double> watch = keeper;
  Tensor view;
  {
    const Tensor t = Tensor::borrow(device_, keeper.get(), DataType::F64, Sizes{1}, Sizes{1}, MemoryKind::Host, keeper);
    view = t.slice(0, 0, 1);
  }
  keeper.reset();
  EXPECT_FALSE(watch.expired());
  view = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST_F(TensorTest, TheLastViewGivesTheMemoryBack) {
  Tensor view = empty({1000}).slice(0, 10, 20);
  EXPECT_EQ(device_.memoryStatistics(MemoryKind::Device).bytes_in_use, 4000);
  view = Tensor();
  EXPECT_EQ(device_.memoryStatistics(MemoryKind::Device).bytes_in_use, 0);
}

TEST_F(TensorTest, AFailedAllocationLeavesNothingBehind) {
  device_.failAllocation(1);
  EXPECT_EQ(codeOf([&] { empty({10}); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(device_.memoryStatistics(MemoryKind::Device).bytes_in_use, 0);
  EXPECT_EQ(empty({10}).numel(), 10);
}

TEST_F(TensorTest, AResultOutlivesTheStreamHandleThatMadeIt) {
  auto own_stream = std::shared_ptr<Stream>(device_.createStream());
  Tensor t = Tensor::empty(device_, own_stream, DataType::F32, Sizes{10}, MemoryKind::Device);
  own_stream.reset();
  t = Tensor();
  EXPECT_EQ(device_.memoryStatistics(MemoryKind::Device).bytes_in_use, 0);
}

TEST_F(TensorTest, ReadingOnTheHostWaitsForTheDataAndRaisesItsFailure) {
  Tensor t = empty({1}, DataType::I32);
  auto* const address = static_cast<int32_t*>(t.data());
  device_.callback(*stream_, [address] { *address = 42; });
  const std::shared_ptr<Event> ready = device_.createEvent();
  device_.record(*ready, *stream_);
  t.setReadyEvent(ready);
  EXPECT_EQ(*static_cast<int32_t*>(t.select(0, 0).hostData()), 42);
  device_.callback(*stream_, [] { throw std::runtime_error("no data"); });
  device_.record(*ready, *stream_);
  EXPECT_THROW(t.hostData(), std::runtime_error);
}

}  // namespace

}  // namespace tokamak
