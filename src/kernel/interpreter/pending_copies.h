// PendingCopies: asynchronous copies of a thread that have begun and have not been waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

class PendingCopies {
 public:
  /// One element of a copy to a shared buffer: the value when the copy began, and its index.
  struct Arrival {
    const TensorView* to = nullptr;
    int64_t index = 0;
    std::vector<std::byte> value;
  };

  void begin(Arrival arrival) { open_.push_back(std::move(arrival)); }
  /// Makes a group of the copies that have begun.
  void commit();
  /// Removes all groups but the last `pending` ones, and returns their elements.
  std::vector<Arrival> wait(int64_t pending);
  /// Removes copies to the buffer, and returns whether there were any.
  bool dropCopiesTo(const TensorView& buffer);

 private:
  std::vector<Arrival> open_;  // in no group yet
  std::deque<std::vector<Arrival>> groups_;
};

}  // namespace tokamak
