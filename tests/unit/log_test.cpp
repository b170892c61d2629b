// The log of the process: who is told, from any thread, whatever the function does.
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "base/say.h"

namespace tokamak {
namespace {

using testing::ElementsAre;

TEST(Log, IsTheFunctionsOrStandardError) {
  std::vector<std::string> told;
  setLogFunction([&](std::string_view text) { told.emplace_back(text); });
  testing::internal::CaptureStderr();
  say("a kernel of {} lines", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  setLogFunction(nullptr);
  testing::internal::CaptureStderr();
  say("again");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tokamak: again\n");
  EXPECT_THAT(told, ElementsAre("a kernel of 3 lines"));
}

TEST(Log, DropsWhatTheFunctionRaises) {
  setLogFunction([](std::string_view) { throw std::runtime_error("full"); });
  testing::internal::CaptureStderr();
  say("lost");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  setLogFunction(nullptr);
}

// Each function is whole while it is called, and destroyed after its last call.
TEST(Log, MayBeSetWhileThreadsAreTelling) {
  struct Owned {
    explicit Owned(std::atomic<bool>& gone) : is_gone(gone) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    std::atomic<bool>& is_gone;
    ~Owned() { is_gone = true; }
  };
  std::atomic<bool> is_over = false;
  std::atomic<int> told = 0;
  std::vector<std::jthread> threads;
  setLogFunction([](std::string_view) {});
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) say("text");
    });
  }
  std::vector<std::unique_ptr<std::atomic<bool>>> gone;
  for (int i = 0; i < 200; ++i) {
    gone.push_back(std::make_unique<std::atomic<bool>>(false));
    const auto owned = std::make_shared<const Owned>(*gone.back());
    setLogFunction([&told, owned](std::string_view) {
      EXPECT_FALSE(owned->is_gone);
      ++told;
    });
    std::this_thread::yield();
  }
  while (told == 0) std::this_thread::yield();
  is_over = true;
  threads.clear();
  setLogFunction(nullptr);
  for (const auto& each : gone) EXPECT_TRUE(*each);
}

}  // namespace
}  // namespace tokamak
