#include "host/run/compiler_wait.h"

#include <algorithm>

#include "base/profiler_range.h"
#include "base/require.h"

namespace tokamak {

namespace {

// Whether somebody gave up is told at once; how far the others are, every now and then.
constexpr std::chrono::milliseconds kBetweenLooks{50};

}  // namespace

void requireNotCancelled(const std::stop_token& cancel) {
  TK_REQUIRE(!cancel.stop_requested(), Cancelled, "the caller cancelled it; nothing of it ran");
}

CompilerWait::CompilerWait(const StepList& list) : list_(list) {
  for (const Step& step : list.steps) {
    if (step.work != nullptr) step.work->addCompilations(wanted_);
  }
  std::ranges::sort(wanted_);
  const auto repeated = std::ranges::unique(wanted_);
  wanted_.erase(repeated.begin(), repeated.end());
  std::erase(wanted_, nullptr);
  for (const std::shared_ptr<Compilation>& compilation : wanted_) compilation->join();
}

CompilerWait::~CompilerWait() {
  for (const std::shared_ptr<Compilation>& compilation : wanted_) {
    if (gives_up_)
      compilation->giveUp();
    else
      compilation->leave();
  }
}

void CompilerWait::wait(const PrepareOptions& options) {
  static const RangeName range_name("wait for compilers");
  const Range range(range_name);
  const auto isOver = [](const std::shared_ptr<Compilation>& it) { return it->isOver(); };
  const bool is_told = options.progress && !std::ranges::all_of(wanted_, isOver);
  const PrepareOptions told =
      is_told ? options : PrepareOptions{.cancel = options.cancel, .progress = {}, .tick = options.tick};
  tellProgress(told);
  std::vector<std::shared_ptr<Compilation>> of_step;
  for (const Step& step : list_.steps) {
    if (step.work == nullptr) continue;
    of_step.clear();
    step.work->addCompilations(of_step);
    for (const std::shared_ptr<Compilation>& compilation : of_step) {
      if (compilation != nullptr && (told.cancel.stop_possible() || told.progress || told.tick))
        waitFor(*compilation, told);
    }
    try {
      step.work->waitUntilReady();
    } catch (...) {
      gives_up_ = false;
      throw;
    }
  }
  gives_up_ = false;
}

void CompilerWait::waitFor(Compilation& compilation, const PrepareOptions& options) {
  requireNotCancelled(options.cancel);
  while (!compilation.isOver()) {
    compilation.waitFor(kBetweenLooks, options.cancel);
    requireNotCancelled(options.cancel);
    if (options.tick) options.tick();
    tellProgress(options);
  }
  tellProgress(options);
}

void CompilerWait::tellProgress(const PrepareOptions& options) {
  if (!options.progress) return;
  const int64_t done = std::ranges::count_if(wanted_, [](const auto& it) { return it->isOver(); });
  if (done == told_) return;
  told_ = done;
  options.progress({.done = done, .all = std::ssize(wanted_)});
}

}  // namespace tokamak
