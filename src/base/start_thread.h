// A thread that cannot be started is an error of its own, not one of the standard library's.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

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

}  // namespace tokamak
