// EpochTables: a rank's team states by the team's ranks and epoch, from the epoch on that the rank is in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "dist/communication_request.h"

namespace tokamak {

/// Others may speak of an epoch before this rank is in it, and after it has left it behind.
/// Thread safety: none; its owner's mutex.
template <class Table>
class EpochTables {
 public:
  using Key = std::pair<std::vector<int64_t>, int64_t>;
  using Tables = std::vector<std::shared_ptr<Table>>;

  /// The table, which `make` makes when it is not there. Null: of an epoch that this rank has left behind, and no work
  /// of it.
  template <class Make>
  std::shared_ptr<Table> at(const Key& key, const Make& make) {
    const auto found = tables_.find(key);
    if (found != tables_.end()) return found->second;
    const auto reached = reached_.find(key.first);
    if (reached != reached_.end() && key.second < reached->second) return nullptr;
    return tables_[key] = make();
  }

  /// This rank is in that epoch now. Returns the tables of those before it which nobody else holds, for them to end
  /// without the mutex; what works or teams still hold is let go of at the next breakage.
  Tables reach(const Key& key) {
    reached_[key.first] = key.second;
    Tables old;
    std::erase_if(tables_, [&](auto& entry) {
      const bool is_old =
          entry.first.first == key.first && entry.first.second < key.second && entry.second.use_count() == 1;
      if (is_old) old.push_back(std::move(entry.second));
      return is_old;
    });
    return old;
  }

  /// Of all teams that the rank is of.
  Tables of(int64_t rank) const {
    Tables tables;
    for (const auto& [key, table] : tables_)
      if (positionOf(key.first, rank) >= 0) tables.push_back(table);
    return tables;
  }

  void clear() { tables_.clear(); }

 private:
  std::map<Key, std::shared_ptr<Table>> tables_;
  std::map<std::vector<int64_t>, int64_t> reached_;
};

}  // namespace tokamak
