#include "tools/signal_watch.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

#include <unistd.h>

#include "base/leftovers.h"

namespace tokamak::tools {

namespace {

std::atomic<int64_t> last_words_ms = 0;

bool isIgnored(int number) {
  struct sigaction known = {};
  return sigaction(number, nullptr, &known) == 0 && known.sa_handler == SIG_IGN;
}

// Whoever waits for the process sees which signal ended it.
[[noreturn]] void dieOf(int number, const sigset_t& watched) {
  std::signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
  ::raise(number);
  _exit(128 + number);
}

void waitForSignal(const sigset_t& watched) {
  int number = 0;
  while (sigwait(&watched, &number) != 0) {
  }
  if (number == SIGTERM) std::this_thread::sleep_for(std::chrono::milliseconds(last_words_ms.load()));
  removeLeftovers();
  dieOf(number, watched);
}

}  // namespace

void keepTimeForLastWords(std::chrono::milliseconds time) { last_words_ms.store(time.count()); }

void watchSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU}) {
    if (!isIgnored(number)) sigaddset(&watched, number);
  }
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  std::thread(waitForSignal, watched).detach();
}

}  // namespace tokamak::tools
