#include "report/run_record.h"

#include <algorithm>
#include <exception>

#include "ir/fusion.h"
#include "ir/text/fusion_printer.h"

namespace tokamak {

void RunRecord::onKernel(const Fusion& fusion, const std::string& kernel, const std::string& source) {
  const std::string schedule = printFusion(fusion);
  const std::lock_guard lock(mutex_);
  std::string& choice = choices_[std::this_thread::get_id()];
  kernels_.push_back({fusion.name(), choice, schedule, kernel, source});
  choice.clear();
}

void RunRecord::onChoice(const KernelNews& news) {
  const std::lock_guard lock(mutex_);
  choices_[std::this_thread::get_id()] = news.choice;
}

void RunRecord::onNoCompiler(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  no_kernels_ = sentenceOnNoCompiler(reason);
}

void RunRecord::span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_running_) return;
  try {
    spans_.push_back({track, std::string(name), begin_ns, end_ns});
  } catch (const std::exception&) {
    return;  // without memory the record is incomplete
  }
}

void RunRecord::flowBegin(int64_t /*track*/, uint64_t /*flow*/, int64_t /*at_ns*/) noexcept {}
void RunRecord::flowEnd(int64_t /*track*/, uint64_t /*flow*/, int64_t /*at_ns*/) noexcept {}

void RunRecord::nameTrack(int64_t track, std::string_view name) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    tracks_[track] = name;
  } catch (const std::exception&) {
    return;  // the track is shown by its number
  }
}

void RunRecord::startRun() {
  const std::lock_guard lock(mutex_);
  spans_.clear();
  is_running_ = true;
}

void RunRecord::endRun() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
}

std::vector<KernelTexts> RunRecord::kernels() const {
  const std::lock_guard lock(mutex_);
  return kernels_;
}

std::vector<RunSpan> RunRecord::spans() const {
  const std::lock_guard lock(mutex_);
  std::vector<RunSpan> sorted = spans_;
  std::ranges::stable_sort(sorted, {}, &RunSpan::begin_ns);
  return sorted;
}

std::map<int64_t, std::string> RunRecord::trackNames() const {
  const std::lock_guard lock(mutex_);
  return tracks_;
}

std::string RunRecord::reasonForNoKernels() const {
  const std::lock_guard lock(mutex_);
  return no_kernels_;
}

}  // namespace tokamak
