// A program that exits while its threads compile, as the test says: the compiler never ends by itself.
//
//   compile_at_exit MARKER   exits when the file MARKER is there; prints every error but those of the cancelled
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "compile/program.h"
#include "define/functions.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

// Destroyed by exit(), after the library has ended its compilers: it must not wait for one of them.
struct Threads {
  std::vector<std::thread> threads;
  ~Threads() {
    for (std::thread& thread : threads) thread.join();
  }
};

void prepareOne(Device& device, int number) {
  Fusion fusion("scaled");
  fusion.output("y", mul(exp(fusion.input("x", DataType::F32, {"n"})), number + 0.5));
  compile(fusion, device).prepare({{"n", 20'000 + number}});
}

void prepareMany(Device& device, int first) {
  for (int number = first; number < first + 1000; ++number) {
    try {
      prepareOne(device, number);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) return;
      std::printf("%s\n", error.what());
      std::fflush(stdout);
      return;
    }
  }
}

}  // namespace
}  // namespace tokamak

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // The device outlives the threads.
  static const std::shared_ptr<tokamak::Device> device = tokamak::openCpuDevice({.threads = 2});
  static tokamak::Threads threads;
  for (int i = 0; i < 4; ++i) {
    threads.threads.emplace_back([i] { tokamak::prepareMany(*device, 1000 * i); });
  }
  while (!std::filesystem::exists(argv[1])) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::exit(0);
}
