// Leftovers: what a process that a signal ends must not leave behind: compilers that it started, their folder, half-
// written files.
#pragma once

#include <functional>
#include <list>
#include <string>

#include <sys/types.h>

namespace tokamak {

/// While it lives, removeLeftovers() removes the path, a file or a folder with all in it.
class LeftoverPath {
 public:
  explicit LeftoverPath(std::string path);
  LeftoverPath(const LeftoverPath&) = delete;
  LeftoverPath& operator=(const LeftoverPath&) = delete;
  /// The path is the owner's business from now on; is also called by the destructor.
  void release();
  ~LeftoverPath() { release(); }

 private:
  std::list<std::string>::iterator place_;
  bool is_listed_ = true;
};

/// While it lives, removeLeftovers() kills the process group that `start` started.
class LeftoverProcess {
 public:
  /// `start` gives the group's number, or 0 where nothing was started.
  explicit LeftoverProcess(const std::function<pid_t()>& start);
  LeftoverProcess(const LeftoverProcess&) = delete;
  LeftoverProcess& operator=(const LeftoverProcess&) = delete;
  /// To be called before the process is waited for: its number may then be another one's.
  void release();
  ~LeftoverProcess() { release(); }

 private:
  std::list<pid_t>::iterator place_;
  bool is_listed_ = false;
};

/// Kills and removes all of it. From then on nothing can be started or finished: threads that try wait for the
/// process to end, which the caller does.
void removeLeftovers();

}  // namespace tokamak
