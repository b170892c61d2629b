// Threads, where the system may have none to give: an error of its own, or as many as there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/require.h"

namespace tokamak {

/// Runs `function` on a new thread. Errors: Device when the system has no thread to give; `name` says whose it was.
template <class Function>
std::thread startThread(std::string_view name, Function function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error& error) {
    TK_RAISE(Device, "{}: no thread can be started: {}", name, error.code().message());
  }
}

/// Runs `function(number)` on new threads, numbered from 1 on: the caller, who does the same work, is thread 0. Gives
/// why the system started fewer than `count`, which then have to do; empty when all run.
template <class Function>
std::string startThreads(std::vector<std::thread>& threads, int64_t count, const Function& function) {
  try {
    for (int64_t number = 1; number <= count; ++number) threads.emplace_back(function, number);
  } catch (const std::system_error& error) {
    return error.code().message();
  }
  return {};
}

/// Of a forked child, which has the parent's thread objects and not the threads: lets go of them.
inline void abandonThread(std::thread& thread) {
  if (thread.joinable()) static_cast<void>(new std::thread(std::move(thread)));  // neither joined nor destroyed
}

}  // namespace tokamak
