#include "kernel/interpreter/pending_copies.h"

#include <iterator>
#include <utility>

namespace tokamak {

void PendingCopies::commit() { groups_.push_back(std::exchange(open_, {})); }

std::vector<PendingCopies::Arrival> PendingCopies::wait(int64_t pending) {
  std::vector<Arrival> all;
  for (; static_cast<int64_t>(groups_.size()) > pending; groups_.pop_front())
    all.insert(all.end(), std::make_move_iterator(groups_.front().begin()),
               std::make_move_iterator(groups_.front().end()));
  return all;
}

bool PendingCopies::dropCopiesTo(const TensorView& buffer) {
  const auto isTo = [&](const Arrival& arrival) { return arrival.to == &buffer; };
  size_t dropped = std::erase_if(open_, isTo);
  for (std::vector<Arrival>& group : groups_) dropped += std::erase_if(group, isTo);
  return dropped > 0;
}

}  // namespace tokamak
