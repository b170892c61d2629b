// Devices that are opened are counted: what belongs to one may go in any order, on any thread.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile/program.h"
#include "define/functions.h"
#include "error_of.h"
#include "interop/dlpack.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

std::unique_ptr<Fusion> negation() { return readFusion("fusion negation(x: f32[n]) -> y { y = neg(x) }"); }

// All that a user may hold of one device, in use.
struct Held {
  std::shared_ptr<Device> device = openCpuDevice();
  std::shared_ptr<Stream> stream = device->createStream();
  std::unique_ptr<Program> program = std::make_unique<Program>(compile(*negation(), *device));
  std::vector<float> numbers = {1, 2, 3};
  Tensor input = Tensor::wrap(*device, numbers, {3});
  Tensor output = program->run({input}, {}, stream).at(0);
  std::unique_ptr<DlpackExchange> arrays = std::make_unique<DlpackExchange>(*device);
  dlpack::ManagedVersioned* given = arrays->give(output);
};

// Every order of seven owners.
TEST(ObjectLifetimes, OwnersMayGoInAnyOrder) {
  std::vector<int> order = {0, 1, 2, 3, 4, 5, 6};
  int number = 0;
  do {
    // Of 5,040 orders one in eleven, so that each pair of owners is met both ways, and each owner first and last.
    if (++number % 11 != 0) continue;
    Held held;
    const std::weak_ptr<Device> device = held.device;
    for (const int owner : order) {
      switch (owner) {
        case 0: held.device = nullptr; break;
        case 1:
          held.stream->synchronize();
          held.stream = nullptr;
          break;
        case 2: held.program = nullptr; break;
        case 3: held.input = Tensor(); break;
        case 4:
          ASSERT_EQ(held.output.read<float>()[2], -3);
          held.output = Tensor();
          break;
        case 5: held.arrays = nullptr; break;
        default: {
          const auto* elements = static_cast<const float*>(held.given->array.data);
          ASSERT_EQ(elements[1], -2);
          held.given->deleter(held.given);
        }
      }
    }
    ASSERT_TRUE(device.expired()) << "order " << number;
  } while (std::ranges::next_permutation(order).found);
}

using Owners = std::pair<std::shared_ptr<Device>, std::shared_ptr<Stream>>;

// A device waits for its work when it goes; the work itself cannot.
TEST(ObjectLifetimes, TheLastOwnerMayBeWorkOfTheDevice) {
  std::shared_ptr<Device> device = openCpuDevice();
  std::shared_ptr<Stream> stream = device->createStream();
  const std::weak_ptr<Device> seen = device;
  const auto may_end = std::make_shared<std::atomic<bool>>(false);  // outlives the test on the stream's thread
  device->callback(*stream, [may_end, own = std::make_shared<Owners>(device, stream)] {
    may_end->wait(false);
    *own = {};
  });
  device = nullptr;
  stream = nullptr;
  EXPECT_FALSE(seen.expired());
  may_end->store(true);
  may_end->notify_all();
  for (int i = 0; i < 10'000 && !seen.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(seen.expired());
}

// A program waits for its calls when it goes; work of the device that is before one of them cannot.
TEST(ObjectLifetimes, AProgramMayGoInACallbackBeforeItsCall) {
  std::shared_ptr<Device> device = openCpuDevice();
  const std::weak_ptr<Device> seen = device;
  std::shared_ptr<Stream> stream = device->createStream();
  auto program = std::make_shared<std::unique_ptr<Program>>(std::make_unique<Program>(compile(*negation(), *device)));
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  device->callback(*stream, [may_end, program] {
    may_end->wait(false);
    *program = nullptr;
  });
  const std::vector<float> numbers = {1, 2};
  Tensor output = (*program)->run({Tensor::wrap(*device, numbers, {2})}, {}, stream).at(0);
  may_end->store(true);
  may_end->notify_all();
  EXPECT_EQ(output.read<float>()[1], -2);
  output = Tensor();
  stream = nullptr;
  device = nullptr;
  for (int i = 0; i < 10'000 && !seen.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(seen.expired());
}

TEST(ObjectLifetimes, StreamsBelongToTheirDevice) {
  JitCpuDevice device;
  JitCpuDevice other;
  Program program = compile(*negation(), device);
  const std::vector<float> numbers = {1, 2};
  std::vector<float> results(2);
  const std::shared_ptr<Stream> far = other.createStream();
  EXPECT_EQ(&far->device(), &other);
  const auto said = [](const std::function<void()>& action) {
    const Error error = errorOf(action);
    EXPECT_EQ(error.code(), ErrorCode::Bind);
    return error.message();
  };
  const std::vector<Tensor> in = {Tensor::wrap(device, numbers, {2})};
  std::vector<Tensor> out = {Tensor::wrap(device, results, {2})};
  EXPECT_EQ(said([&] { program.run(in, {}, far); }),
            "run: a stream of another Device object (cpu) was given; one of this device (cpu) is legal");
  EXPECT_EQ(said([&] { program.runInto(in, out, *far); }),
            "run: a stream of another Device object (cpu) was given; one of this device (cpu) is legal");
  const int64_t size = 2;
  EXPECT_EQ(said([&] { Tensor::empty(device, far, DataType::F32, {&size, 1}, MemoryKind::Device); }),
            "buffer: a stream of another Device object (cpu) was given; one of this device (cpu) is legal");
  const std::shared_ptr<Event> event = device.createEvent();
  uint64_t flag = 1;
  const std::vector<std::pair<std::string, std::function<void()>>> operations = {
      {"allocate", [&] { device.allocate(8, MemoryKind::Device, *far); }},
      {"record", [&] { device.record(*event, *far); }},
      {"wait", [&] { device.wait(*far, *event); }},
      {"wait", [&] { device.waitOver(*far, *event); }},
      {"copy", [&] { device.copy(*far, results.data(), numbers.data(), 8); }},
      {"fill", [&] { device.fill(*far, results.data(), 0, 8); }},
      {"callback", [&] { device.callback(*far, [] {}); }},
      {"write flag", [&] { device.writeFlag(*far, &flag, 1); }},
      {"wait for flag", [&] { device.waitFlag(*far, &flag, 1); }},
      {"synchronize", [&] { device.synchronize(*far); }},
  };
  for (const auto& [name, operation] : operations)
    EXPECT_EQ(said(operation),
              name + ": a stream of another Device object (cpu) was given; one of this device (cpu) is legal");
  EXPECT_EQ(said([&] { DlpackExchange(device).give(in[0], far); }),
            "DLPack: a stream of another Device object (cpu) was given; one of this device (cpu) is legal");
}

}  // namespace
}  // namespace tokamak
