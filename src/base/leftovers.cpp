#include "base/leftovers.h"

#include <csignal>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

namespace tokamak {

namespace {

struct Registry {
  std::mutex mutex;
  std::list<std::string> paths;
  std::list<pid_t> groups;
};

// Never destroyed: a signal may come while the process ends.
Registry& registry() {
  static auto* const only = new Registry;
  return *only;
}

}  // namespace

LeftoverPath::LeftoverPath(std::string path) {
  const std::lock_guard lock(registry().mutex);
  place_ = registry().paths.insert(registry().paths.end(), std::move(path));
}

void LeftoverPath::release() {
  if (!std::exchange(is_listed_, false)) return;
  const std::lock_guard lock(registry().mutex);
  registry().paths.erase(place_);
}

LeftoverProcess::LeftoverProcess(const std::function<pid_t()>& start) {
  // No signal comes between the start and its entry.
  const std::lock_guard lock(registry().mutex);
  const pid_t group = start();
  if (group == 0) return;
  place_ = registry().groups.insert(registry().groups.end(), group);
  is_listed_ = true;
}

void LeftoverProcess::release() {
  if (!std::exchange(is_listed_, false)) return;
  const std::lock_guard lock(registry().mutex);
  registry().groups.erase(place_);
}

void removeLeftovers() {
  registry().mutex.lock();  // for ever
  for (const pid_t group : registry().groups) kill(-group, SIGKILL);
  std::error_code ignored;
  for (const std::string& path : registry().paths) std::filesystem::remove_all(path, ignored);
}

}  // namespace tokamak
