// PendingCopies: asynchronous copies of a thread that have begun and of which nobody knows whether they are there yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

class PendingCopies {
 public:
  /// One element: what it was where the copy began, on its way to element `index` of a shared buffer.
  struct Arrival {
    const TensorView* to = nullptr;
    int64_t index = 0;
    std::vector<std::byte> value;
  };

  void begin(Arrival arrival) { open_.push_back(std::move(arrival)); }
  /// What has begun becomes a group.
  void commit();
  /// Gives what was in all groups but the last `pending` ones, and forgets it.
  std::vector<Arrival> wait(int64_t pending);
  /// Whether there are copies to the buffer; forgets them.
  bool dropCopiesTo(const TensorView& buffer);

 private:
  std::vector<Arrival> open_;  // in no group yet
  std::deque<std::vector<Arrival>> groups_;
};

}  // namespace tokamak
