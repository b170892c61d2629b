// WorkCache: prepared work of ops, by operand layouts and attribute values.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/work.h"

namespace tokamak {

/// Owns its work, until it is cleared. For one device.
/// Thread safety: one thread at a time; the works that it gives may be used by any.
class WorkCache {
 public:
  std::shared_ptr<const Work> find(Device& device, const WorkRequest& request);
  size_t size() const { return works_.size(); }
  void clear() { works_.clear(); }

 private:
  struct HashOfKey {
    size_t operator()(const std::vector<int64_t>& key) const;
  };
  std::unordered_map<std::vector<int64_t>, std::shared_ptr<const Work>, HashOfKey> works_;
  std::vector<int64_t> key_;  // of the request
};

}  // namespace tokamak
