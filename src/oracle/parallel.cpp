#include "oracle/parallel.h"

#include <algorithm>
#include <atomic>

#include "base/side_by_side.h"
#include "base/usable_processors.h"

namespace tokamak::oracle {

void forEachPart(int64_t count, const std::function<void(int64_t)>& part) {
  std::atomic<int64_t> next = 0;
  const int64_t workers = std::min(count, usableProcessors());
  forEachSideBySide(static_cast<size_t>(workers), workers, [&](size_t) {
    try {
      for (int64_t i = next++; i < count; i = next++) part(i);
    } catch (...) {
      next = count;  // nobody begins another part
      throw;
    }
  });
}

}  // namespace tokamak::oracle
