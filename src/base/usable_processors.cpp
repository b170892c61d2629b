#include "base/usable_processors.h"

#include <algorithm>

#include <sched.h>
#include <unistd.h>

namespace tokamak {

int64_t usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace tokamak
