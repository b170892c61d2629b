// HomeProcess: whether the process was forked since an object was made: threads do not come along.
#pragma once

#include <cstdint>

namespace tokamak {

/// The process that an object with threads was made in.
/// Thread safety: any threads may ask.
class HomeProcess {
 public:
  HomeProcess();
  /// False in a process that was forked since: the threads are the parent's. Costs a load.
  bool isHere() const;

 private:
  uint32_t number_;
};

}  // namespace tokamak
