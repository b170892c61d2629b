#include "base/wait_watch.h"

namespace tokamak {

namespace {

thread_local WaitWatch* innermost = nullptr;

}  // namespace

WaitWatch::WaitWatch(std::function<bool()> look) : look_(std::move(look)), outer_(std::exchange(innermost, this)) {}

WaitWatch::~WaitWatch() { innermost = outer_; }

WaitWatch* WaitWatch::here() { return innermost; }

}  // namespace tokamak
