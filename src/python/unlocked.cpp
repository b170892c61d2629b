#include "python/unlocked.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace tokamak::python {

namespace {

std::atomic<bool> is_ending = false;
std::atomic<std::thread::id> ending_thread;  // which still runs what was registered to be run at the end
std::atomic<int> coming_back = 0;            // threads that asked for the lock, or are about to

}  // namespace

Unlocked::~Unlocked() {
  ++coming_back;
  if (is_ending && std::this_thread::get_id() != ending_thread.load()) {
    --coming_back;
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  PyEval_RestoreThread(state_);
  --coming_back;
}

// Counted until the lock is there: who ends the interpreter waits for that.
Relocked::Relocked() {
  ++coming_back;
  is_locked_ = !is_ending || std::this_thread::get_id() == ending_thread.load();
  if (is_locked_) state_ = PyGILState_Ensure();
  --coming_back;
}

Relocked::~Relocked() {
  if (is_locked_) PyGILState_Release(state_);
}

bool Unlocked::isEnding() { return is_ending; }

void Unlocked::endAll() {
  ending_thread = std::this_thread::get_id();
  is_ending = true;
  // (The lock is free meanwhile, so that whoever asked for it before gets it.)
  PyThreadState* const state = PyEval_SaveThread();
  while (coming_back != 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  PyEval_RestoreThread(state);
}

}  // namespace tokamak::python
