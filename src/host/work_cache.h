// WorkCache: work that was prepared once for an op is used again for the same operand layouts and attribute values.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "device/device.h"

namespace tokamak {

/// Holds on to the work it gives, so work lives as long as the cache. Belongs to one device.
class WorkCache {
 public:
  const std::shared_ptr<const Work>& find(Device& device, const WorkRequest& request);

 private:
  struct Entry {
    std::vector<OperandDesc> operands;
    std::vector<ScalarValue> values;  ///< of the scalars that the op mentions
    int64_t concurrency;
    std::shared_ptr<const Work> work;
  };
  std::unordered_map<const Expr*, std::vector<Entry>> entries_;
};

}  // namespace tokamak
