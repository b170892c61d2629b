// The caller's threads in place of the pool's own.
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "error_of.h"
#include "runtime/cpu/block_pool.h"

namespace tokamak {
namespace {

class Scripted final : public ParallelFor {
 public:
  explicit Scripted(std::function<void(int64_t, Body, void*)> runs) : runs_(std::move(runs)) {}
  void run(int64_t parts, Body body, void* context) override { runs_(parts, body, context); }

 private:
  std::function<void(int64_t, Body, void*)> runs_;
};

void onThreads(int64_t parts, ParallelFor::Body body, void* context) {
  std::vector<std::jthread> threads;
  for (int64_t part = 0; part < parts; ++part) threads.emplace_back([=] { body(context, part); });
}

TEST(ParallelFor, RunsEachBlockOnce) {
  BlockPool pool(4, std::make_shared<Scripted>(onThreads));
  for (const int64_t blocks : {0, 1, 2, 5, 32, 33, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<size_t>(blocks));
    pool.parallelFor(blocks, [&](int64_t block) { ++runs[static_cast<size_t>(block)]; });
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1) << blocks;
  }
}

TEST(ParallelFor, CarriesWhatBlocksRaise) {
  BlockPool pool(4, std::make_shared<Scripted>(onThreads));
  const auto raises = [&] {
    pool.parallelFor(100, [](int64_t block) {
      if (block == 50) throw std::runtime_error("block 50");
    });
  };
  EXPECT_THROW(raises(), std::runtime_error);
  std::atomic<int> runs = 0;
  pool.parallelFor(100, [&](int64_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

TEST(ParallelFor, ThatLeavesBodiesOutOrInventsSomeIsRefused) {
  const auto messageOf = [](auto runs) {
    BlockPool pool(2, std::make_shared<Scripted>(runs));
    const Error error = errorOf([&] { pool.parallelFor(8, [](int64_t) {}); });
    EXPECT_EQ(error.code(), ErrorCode::Usage);
    return error.message();
  };
  EXPECT_EQ(messageOf([](int64_t, ParallelFor::Body body, void* context) { body(context, 0); }),
            "parallel-for of the caller: 1 bodies had ended when it returned; it has to call each of 8 once and wait");
  EXPECT_EQ(messageOf([](int64_t parts, ParallelFor::Body body, void* context) { body(context, parts); }),
            "parallel-for of the caller: part 8 was asked for; there are 8");
  const auto callsOneTwice = [](int64_t parts, ParallelFor::Body body, void* context) {
    for (int64_t part = 0; part < parts; ++part) body(context, part == 3 ? 2 : part);
  };
  EXPECT_EQ(messageOf(callsOneTwice),
            "parallel-for of the caller: part 2 was asked for twice; it has to call each of 8 bodies once");
}

}  // namespace
}  // namespace tokamak
