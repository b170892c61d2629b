// Work on a caller's stream, and inside what a caller captures of it; on the fake driver, and where there is a GPU,
// there.
#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "compile/multi_device_executor.h"
#include "define/structured.h"
#include "device/tensor.h"
#include "error_of.h"
#include "fake_cuda.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"
#include "program_of.h"
#include "runtime/cuda/capture_lanes.h"

namespace tokamak {

namespace {

constexpr int64_t kSize = 16;
constexpr int64_t kSquareBytes = kSize * kSize * 4;
constexpr int kStrict = 0;  // a capture that forbids unsafe calls to everybody

// A stream as a caller makes it, with the driver alone.
class CallersStream {
 public:
  explicit CallersStream(CudaDevice& device) : context_(*device.context()) {
    const CurrentContext current(context_);
    EXPECT_EQ(driver().stream_create(&stream_, driver::kStreamNonBlocking), 0);
  }
  CallersStream(const CallersStream&) = delete;
  CallersStream& operator=(const CallersStream&) = delete;
  ~CallersStream() {
    const CurrentContext current(context_);
    EXPECT_EQ(driver().stream_destroy(stream_), 0);
  }

  driver::Stream get() const { return stream_; }
  void synchronize() {
    const CurrentContext current(context_);
    EXPECT_EQ(driver().stream_synchronize(stream_), 0);
  }
  void copy(void* to, const void* from, size_t bytes) {
    const CurrentContext current(context_);
    EXPECT_EQ(driver().copy_async(addressOf(to), addressOf(from), bytes, stream_), 0);
  }
  driver::Graph captured(const std::function<void()>& run) {
    const CurrentContext current(context_);
    driver::Graph graph = nullptr;
    EXPECT_EQ(driver().capture_begin(stream_, kStrict), 0);
    run();
    EXPECT_EQ(driver().capture_end(stream_, &graph), 0);
    return graph;
  }
  // Also destroys it: what was made of it is enough.
  driver::GraphExec executable(driver::Graph graph) {
    const CurrentContext current(context_);
    driver::GraphExec exec = nullptr;
    EXPECT_EQ(driver().graph_instantiate(&exec, graph, 0), 0);
    EXPECT_EQ(driver().graph_destroy(graph), 0);
    return exec;
  }
  void launch(driver::GraphExec exec) {
    const CurrentContext current(context_);
    EXPECT_EQ(driver().graph_launch(exec, stream_), 0);
  }
  void destroy(driver::GraphExec exec) {
    const CurrentContext current(context_);
    EXPECT_EQ(driver().graph_exec_destroy(exec), 0);
  }

 private:
  const DriverLibrary& driver() const { return context_.driver(); }
  DriverContext& context_;
  driver::Stream stream_ = nullptr;
};

// out = (in in) in, on two streams: a program of library calls, so that it runs without a compiler.
class CubeProgram {
 public:
  explicit CubeProgram(CudaDevice& device) : device_(device), stream_(device.createStream()) {
    Fusion fusion("cube");
    TensorView* in = inputOf(fusion, DataType::F32, {kSize, kSize});
    TensorView* square = define<MatmulOp>(in, in);
    fusion.addOutput(define<MatmulOp>(square, in));
    executor_ = std::make_unique<MultiDeviceExecutor>(fusion, device);
  }

  Tensor matrix(float diagonal) {
    const std::array<int64_t, 2> sizes = {kSize, kSize};
    Tensor tensor = Tensor::empty(device_, stream_, DataType::F32, sizes, MemoryKind::Device);
    fill(tensor, diagonal);
    return tensor;
  }
  void fill(const Tensor& tensor, float diagonal) {
    std::vector<float> values(kSize * kSize, 0.0F);
    for (size_t i = 0; i < kSize; ++i) values[i * kSize + i] = diagonal;
    device_.copy(*stream_, tensor.data(), values.data(), kSquareBytes);
    device_.synchronize(*stream_);
  }
  float diagonal(const Tensor& tensor) {
    std::vector<float> values(kSize * kSize);
    device_.copy(*stream_, values.data(), tensor.data(), kSquareBytes);
    device_.synchronize(*stream_);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i % (kSize + 1) == 0 ? values[0] : 0.0F);
    return values[0];
  }
  void run(const Tensor& in, Tensor& out, Stream& stream) { executor_->evaluator().run({&in, 1}, {&out, 1}, stream); }
  void runWithInput(const Tensor& in, const std::shared_ptr<Stream>& stream) {
    executor_->runWithInput(std::vector<RunValue>{in}, {}, stream);
  }
  Stream& ownStream() { return *stream_; }
  void forget() { executor_ = nullptr; }

 private:
  CudaDevice& device_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<MultiDeviceExecutor> executor_;
};

class CudaCallers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (isFake()) {
      device_ = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
      return;
    }
    if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
    device_ = std::make_unique<JitCudaDevice>(0);
  }
  static bool isFake() { return std::string(GetParam()) == "cuda_fake"; }

  std::unique_ptr<CudaDevice> device_;
};

TEST_P(CudaCallers, WorkOnACallersStreamIsInOrderWithHisOwn) {
  CallersStream callers(*device_);
  CubeProgram program(*device_);
  const auto stream = device_->adoptStream(callers.get());
  const Tensor two = program.matrix(2);
  const Tensor three = program.matrix(3);
  const Tensor in = program.matrix(0);
  Tensor out = program.matrix(0);
  const Tensor first = program.matrix(0);
  for (int round = 0; round < 5; ++round) {
    callers.copy(in.data(), two.data(), kSquareBytes);
    program.run(in, out, *stream);
    callers.copy(first.data(), out.data(), kSquareBytes);
    callers.copy(in.data(), three.data(), kSquareBytes);
    program.run(in, out, *stream);
    callers.synchronize();
    EXPECT_EQ(program.diagonal(first), 8.0F);
    EXPECT_EQ(program.diagonal(out), 27.0F);
  }
}

TEST_P(CudaCallers, AStreamThatIsGivenBackMayBeAdoptedAgain) {
  CallersStream callers(*device_);
  void* memory = nullptr;
  for (int i = 0; i < 3; ++i) {
    const auto stream = device_->adoptStream(callers.get());
    memory = device_->allocate(kSquareBytes, MemoryKind::Device, *stream);
    device_->fill(*stream, memory, 1, kSquareBytes);
    device_->release(memory, kSquareBytes, MemoryKind::Device, *stream);
  }
  callers.synchronize();
  const auto other = device_->createStream();
  EXPECT_EQ(device_->allocate(kSquareBytes, MemoryKind::Device, *other), memory);
  device_->release(memory, kSquareBytes, MemoryKind::Device, *other);
}

// The GPU is at work on it when it is given back, and the caller destroys it as soon as he likes.
TEST_P(CudaCallers, AStreamIsGivenBackWithoutAWait) {
  const std::shared_ptr<Stream> own = device_->createStream();
  auto* const flag = static_cast<uint64_t*>(device_->allocate(8, MemoryKind::Pinned, *own));
  device_->synchronize(*own);
  std::atomic_ref(*flag).store(0);
  void* memory = nullptr;
  {
    CallersStream callers(*device_);
    std::shared_ptr<Stream> stream = adoptCudaStream(*device_, callers.get());
    EXPECT_EQ(stream->nativeHandle(), callers.get());
    EXPECT_EQ(device_->adoptStream(callers.get())->nativeHandle(), callers.get());  // and is given back
    memory = device_->allocate(kSquareBytes, MemoryKind::Device, *stream);
    device_->waitFlag(*stream, flag, 1);
    device_->fill(*stream, memory, 1, kSquareBytes);
    device_->release(memory, kSquareBytes, MemoryKind::Device, *stream);
    stream = nullptr;
    void* const other = device_->allocate(kSquareBytes, MemoryKind::Device, *own);
    EXPECT_NE(other, memory) << "the stream still uses it";
    device_->release(other, kSquareBytes, MemoryKind::Device, *own);
    std::atomic_ref(*flag).store(1);
    callers.synchronize();
  }
  device_->trimMemory();  // asks whether it is used
  void* const again = device_->allocate(kSquareBytes, MemoryKind::Device, *own);
  device_->release(again, kSquareBytes, MemoryKind::Device, *own);
  device_->release(flag, 8, MemoryKind::Pinned, *own);
}

TEST_P(CudaCallers, ADeviceThatGoesWaitsForStreamsThatWereGivenBack) {
  const std::shared_ptr<DriverContext> context = device_->context();
  CallersStream callers(*device_);
  std::shared_ptr<Stream> stream = device_->adoptStream(callers.get());
  void* const memory = device_->allocate(1 << 20, MemoryKind::Device, *stream);
  for (int i = 0; i < 100; ++i) device_->fill(*stream, memory, static_cast<uint8_t>(i), 1 << 20);
  device_->release(memory, 1 << 20, MemoryKind::Device, *stream);
  driver::Event end = nullptr;
  const CurrentContext current(*context);
  ASSERT_EQ(context->driver().event_create(&end, driver::kEventDisableTiming), 0);
  ASSERT_EQ(context->driver().event_record(end, callers.get()), 0);
  stream = nullptr;
  device_ = nullptr;
  EXPECT_EQ(context->driver().event_query(end), 0);
  EXPECT_EQ(context->driver().event_destroy(end), 0);
}

TEST(CudaCallersFake, OnlyGpusAdoptStreams) {
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 1});
  const Error error = errorOf([&] { adoptCudaStream(*device, nullptr); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(), "cpu has no CUDA streams to adopt");
  EXPECT_EQ(device->createStream()->nativeHandle(), nullptr);
}

TEST_P(CudaCallers, ACallInsideACaptureRunsWithTheGraphAndOutlivesItsPlan) {
  CubeProgram program(*device_);
  CallersStream callers(*device_);
  auto stream = device_->adoptStream(callers.get());
  const Tensor in = program.matrix(2);
  Tensor out = program.matrix(0);
  const Tensor other_in = program.matrix(5);
  Tensor other_out = program.matrix(0);
  driver::GraphExec exec = callers.executable(callers.captured([&] { program.run(in, out, *stream); }));
  EXPECT_EQ(out.readyEvent(), nullptr);
  EXPECT_EQ(program.diagonal(out), 0.0F);  // nothing has run
  callers.launch(exec);
  callers.synchronize();
  EXPECT_EQ(program.diagonal(out), 8.0F);
  // The plan's own calls go on meanwhile, and the recording reads what lies in its inputs when it runs.
  program.fill(in, 3);
  for (int i = 0; i < 4; ++i) {
    callers.launch(exec);
    program.run(other_in, other_out, program.ownStream());
  }
  callers.synchronize();
  EXPECT_EQ(program.diagonal(out), 27.0F);
  EXPECT_EQ(program.diagonal(other_out), 125.0F);
  program.forget();
  device_->trimMemory();
  program.fill(in, 4);
  callers.launch(exec);
  callers.synchronize();
  EXPECT_EQ(program.diagonal(out), 64.0F);
  callers.destroy(exec);
}

TEST_P(CudaCallers, ACaptureMayHoldSeveralCallsAndWorkOfTheCallers) {
  CubeProgram program(*device_);
  CallersStream callers(*device_);
  const auto stream = device_->adoptStream(callers.get());
  const Tensor in = program.matrix(2);
  Tensor between = program.matrix(0);
  const Tensor copied = program.matrix(0);
  Tensor out = program.matrix(0);
  // The first call comes before the capture here, and inside it above.
  program.run(in, between, *stream);
  callers.synchronize();
  driver::GraphExec exec = callers.executable(callers.captured([&] {
    program.run(in, between, *stream);
    callers.copy(copied.data(), between.data(), kSquareBytes);
    program.run(copied, out, *stream);
  }));
  for (int i = 0; i < 3; ++i) {
    program.fill(out, 0);
    callers.launch(exec);
    callers.synchronize();
    EXPECT_EQ(program.diagonal(out), 512.0F);
  }
  callers.destroy(exec);
}

TEST_P(CudaCallers, ACallThatAllocatesItsOutputsIsNoPartOfACapture) {
  CubeProgram program(*device_);
  CallersStream callers(*device_);
  const std::shared_ptr<Stream> stream = device_->adoptStream(callers.get());
  const Tensor in = program.matrix(2);
  std::string message;
  callers.destroy(callers.executable(
      callers.captured([&] { message = errorOf([&] { program.runWithInput(in, stream); }).message(); })));
  EXPECT_EQ(message, "cube: the caller records the stream; run(), with all outputs given, becomes part of a recording");
}

TEST(CudaCallersFake, NothingIsLeftOfACaptureOnceItsGraphIsGone) {
  const auto before = liveDriverObjects();
  {
    const auto device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
    CubeProgram program(*device);
    CallersStream callers(*device);
    const auto stream = device->adoptStream(callers.get());
    const Tensor in = program.matrix(2);
    Tensor out = program.matrix(0);
    std::vector<int64_t> live;
    for (int i = 0; i < 5; ++i) {
      driver::GraphExec exec = callers.executable(callers.captured([&] { program.run(in, out, *stream); }));
      callers.launch(exec);
      callers.synchronize();
      callers.destroy(exec);
      live.push_back(liveDriverObjects());
    }
    EXPECT_EQ(live[2], live[4]);
    EXPECT_EQ(program.diagonal(out), 8.0F);
  }
  EXPECT_EQ(liveDriverObjects(), before);
}

// As arrays of other libraries, which lie elsewhere in each call.
TEST(CudaCallersFake, TheDriverIsAskedOnceForACallWhoseTensorsHaveAllMoved) {
  const auto device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
  CubeProgram program(*device);
  CallersStream callers(*device);
  const auto stream = device->adoptStream(callers.get());
  std::vector<Tensor> memory;
  for (int i = 0; i < 8; ++i) memory.push_back(program.matrix(2));
  const auto lent = [&](size_t i) {
    return Tensor::borrow(*device, memory[i].data(), DataType::F32, memory[i].sizes(), memory[i].strides(),
                          MemoryKind::Device);
  };
  Tensor in = lent(0);
  Tensor out = lent(1);
  program.run(in, out, *stream);
  stream->synchronize();
  const Tensor flag =
      Tensor::empty(*device, device->createStream(), DataType::I64, std::array<int64_t, 1>{1}, MemoryKind::Host);
  auto* const value = static_cast<uint64_t*>(flag.hostData());
  *value = 0;
  device->waitFlag(*stream, value, 1);
  program.run(in, out, *stream);
  const int64_t before = eventQueries();
  constexpr int64_t kCalls = 3;
  for (size_t i = 1; i <= kCalls; ++i) {
    EXPECT_TRUE(in.tryBorrowAnew(memory[2 * i].data(), false));
    EXPECT_TRUE(out.tryBorrowAnew(memory[2 * i + 1].data(), false));
    program.run(in, out, *stream);
  }
  EXPECT_LE(eventQueries() - before, kCalls);
  std::atomic_ref(*value).store(1);
  stream->synchronize();
  EXPECT_EQ(program.diagonal(memory[7]), 8.0F);
}

INSTANTIATE_TEST_SUITE_P(Drivers, CudaCallers, testing::Values("cuda", "cuda_fake"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace

}  // namespace tokamak
