// Processes that fork: threads do not come along, so devices of the parent are refused, and new ones work.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/program.h"
#include "compile/temporary_folder.h"
#include "define/functions.h"
#include "error_of.h"
#include "jit/open_device.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

// What the child gives, which is ended after 30 seconds. It leaves without handlers of the parent's.
int inChild(const std::function<bool()>& is_ok) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int code = 0;
    try {
      code = is_ok() ? 0 : 1;
    } catch (const Error&) {
      code = 2;
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Program programOf(Device& device, double factor) {
  Fusion fusion("scaled");
  fusion.output("y", mul(exp(fusion.input("x", DataType::F32, {"n"})), factor));
  return compile(fusion, device);
}

float firstOf(Program& program, Device& device) {
  const std::vector<float> numbers(20'000, 0.0F);
  return program.run({Tensor::wrap(device, numbers, {20'000})}).at(0).read<float>()[19'999];
}

class ForkedProcess : public testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer lets no forked child have threads";
  }
};

TEST_F(ForkedProcess, IsRefusedDevicesOfItsParent) {
  std::shared_ptr<Device> device = openCpuDevice({.threads = 4});
  auto program = std::make_unique<Program>(programOf(*device, 2));
  ASSERT_EQ(firstOf(*program, *device), 2);
  const std::shared_ptr<Stream> stream = device->createStream();
  const std::vector<float> numbers = {0};
  const Tensor in = Tensor::wrap(*device, numbers, {1});
  const auto isRefused = [&](const std::function<void()>& action) {
    const Error error = errorOf(action);
    return error.code() == ErrorCode::Device && error.message().find("the process was forked") != std::string::npos;
  };
  EXPECT_EQ(inChild([&] { return isRefused([&] { program->run({in}); }); }), 0);
  EXPECT_EQ(inChild([&] { return isRefused([&] { program->run({in}, {}, stream); }); }), 0);
  EXPECT_EQ(inChild([&] { return isRefused([&] { program->prepare({{"n", 3}}); }); }), 0);
  EXPECT_EQ(inChild([&] { return isRefused([&] { device->createStream(); }); }), 0);
  EXPECT_EQ(firstOf(*program, *device), 2);
}

// What was done before the fork is there; what was not never will be, and who waits for it is told.
TEST_F(ForkedProcess, IsToldThatWorkOfItsParentIsNotDone) {
  std::shared_ptr<Device> device = openCpuDevice({.threads = 4});
  Program program = programOf(*device, 4);
  const std::vector<float> numbers(1'000, 0.0F);
  std::vector<float> results(1'000, -1.0F);
  const Tensor input = Tensor::wrap(*device, numbers, {1'000});
  const Tensor output = Tensor::wrap(*device, results, {1'000});
  const std::shared_ptr<Stream> stream = device->createStream();
  Tensor done = program.run({input}, {}, stream).at(0);
  stream->synchronize();
  std::atomic<bool> may_go_on = false;
  device->callback(*stream, [&] { may_go_on.wait(false); });
  Tensor fresh = program.run({input}, {}, stream).at(0);
  program.run({input}, {output}, stream);
  const std::shared_ptr<Event> event = device->createEvent();
  device->record(*event, *stream);
  const auto isRefused = [&](const std::function<void()>& action) {
    return inChild([&] { return errorOf(action).code() == ErrorCode::Device; }) == 0;
  };
  EXPECT_TRUE(isRefused([&] { fresh.read<float>(); }));
  EXPECT_TRUE(isRefused([&] { output.waitReady(); }));
  EXPECT_TRUE(isRefused([&] { output.hostData(); }));
  EXPECT_TRUE(isRefused([&] { stream->synchronize(); }));
  EXPECT_TRUE(isRefused([&] { device->synchronize(*event); }));
  EXPECT_TRUE(isRefused([&] { device->callback(*stream, [] {}); }));
  EXPECT_TRUE(isRefused([&] { device->fill(*stream, results.data(), 0, 8); }));
  EXPECT_TRUE(isRefused([&] { device->record(*event, *stream); }));
  EXPECT_EQ(inChild([&] { return done.read<float>()[999] == 4; }), 0);
  EXPECT_EQ(inChild([&] {
              fresh = Tensor();
              return true;
            }),
            0);
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_EQ(fresh.read<float>()[999], 4);
  EXPECT_EQ(output.read<float>()[0], 4);
}

// Work may be under way when the process forks; the child neither has its threads nor waits for them.
TEST_F(ForkedProcess, LetsGoOfWhatItsParentHad) {
  std::shared_ptr<Device> device = openCpuDevice({.threads = 4});
  auto program = std::make_unique<Program>(programOf(*device, 3));
  ASSERT_EQ(firstOf(*program, *device), 3);
  std::shared_ptr<Stream> stream = device->createStream();
  device->callback(*stream, [] { usleep(200'000); });
  const std::vector<float> numbers(100, 0.0F);
  Tensor output = program->run({Tensor::wrap(*device, numbers, {100})}, {}, stream).at(0);
  EXPECT_EQ(inChild([&] {
              output = Tensor();
              program = nullptr;
              stream = nullptr;
              device = nullptr;
              return true;
            }),
            0);
  EXPECT_EQ(output.read<float>()[99], 3);
}

// The threads that compiled wait for more to do when the process forks.
TEST_F(ForkedProcess, ExitsWithTheHandlersOfItsParent) {
  std::shared_ptr<Device> device = openCpuDevice({.threads = 4});
  Program program = programOf(*device, 9 + static_cast<double>(getpid() % 100'000) / 8);
  program.prepare({{"n", 20'000}});
  usleep(50'000);
  EXPECT_EQ(inChild([]() -> bool { std::exit(EXIT_SUCCESS); }), 0);
}

TEST_F(ForkedProcess, OpensDevicesOfItsOwn) {
  const std::shared_ptr<Device> parents = openCpuDevice({.threads = 4});
  Program before = programOf(*parents, 5);
  ASSERT_EQ(firstOf(before, *parents), 5);
  const auto compilesAndRuns = [&](double factor) {
    const std::shared_ptr<Device> device = openCpuDevice({.threads = 4});
    Program program = programOf(*device, factor);
    return firstOf(program, *device) == static_cast<float>(factor);
  };
  // A kernel that nobody has compiled, that of the parent, and one in a child of the child.
  const double fresh = 7 + static_cast<double>(getpid() % 100'000) / 8;
  EXPECT_EQ(inChild([&] { return compilesAndRuns(fresh) && compilesAndRuns(5); }), 0);
  EXPECT_EQ(inChild([&] { return compilesAndRuns(6) && inChild([&] { return compilesAndRuns(fresh + 1); }) == 0; }), 0);
  EXPECT_TRUE(compilesAndRuns(fresh + 2));
}

// A compiler that fails, and is mended. (A child looks for its compiler itself.)
TEST_F(ForkedProcess, AsksACompilerAgainThatFailed) {
  const TemporaryFolder folder;
  const std::string flag = folder / "fails";
  writeFile(flag, "");
  // What is asked about its flags does not fail: that comes without -x, or makes no shared object.
  const std::string compiler = writeScript(
      folder / "cc", "case \"$*\" in '-x c '*-shared*) [ ! -e " + flag + " ] || exit 1;; esac; exec cc \"$@\"");
  const double fresh = 11 + static_cast<double>(getpid() % 100'000) / 8;
  const auto isMended = [&] {
    setenv("TOKAMAK_CC", compiler.c_str(), 1);
    const std::shared_ptr<Device> device = openCpuDevice({.threads = 4});
    Program program = programOf(*device, fresh);
    const bool fails = errorOf([&] { firstOf(program, *device); }).code() == ErrorCode::Compile &&
                       errorOf([&] { program.prepare({{"n", 20'000}}); }).code() == ErrorCode::Compile;
    unlink(flag.c_str());
    return fails && firstOf(program, *device) == static_cast<float>(fresh);
  };
  EXPECT_EQ(inChild(isMended), 0);
}

}  // namespace
}  // namespace tokamak
