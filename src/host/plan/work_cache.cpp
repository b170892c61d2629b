#include "host/plan/work_cache.h"

#include <algorithm>
#include <bit>

#include "device/work.h"
#include "host/plan/plan_key.h"
#include "ir/fields.h"

namespace tokamak {

namespace {

// The op, its operands, and what a work may depend on besides: attributes and the extents of the op's tensors (the
// latter through sizes).
void writeKey(const WorkRequest& request, std::vector<int64_t>& key) {
  key.clear();
  key.push_back(static_cast<int64_t>(std::bit_cast<uintptr_t>(&request.expr)));
  key.push_back(request.concurrency);
  for (const OperandDesc& operand : request.operands) {
    key.push_back(static_cast<int64_t>(operand.dtype) | static_cast<int64_t>(operand.sizes.size()) << 8 |
                  operand.alignment << 16);
    key.insert(key.end(), operand.sizes.begin(), operand.sizes.end());
    key.insert(key.end(), operand.strides.begin(), operand.strides.end());
  }
  for (Val* val : valsOf(request.expr)) {
    const Scalar* scalar = asScalar(val);
    if (scalar == nullptr || scalar->isConstant()) continue;
    if (std::ranges::find(request.parameters, scalar) != request.parameters.end()) continue;
    const ScalarValue value = evaluate(*scalar, request.bindings).value_or(int64_t{0});
    key.push_back(static_cast<int64_t>(value.index()));
    addToKey(*scalar, value, key);
  }
}

}  // namespace

size_t WorkCache::HashOfKey::operator()(const std::vector<int64_t>& key) const { return hashOfKey(key); }

std::shared_ptr<const Work> WorkCache::find(Device& device, const WorkRequest& request) {
  writeKey(request, key_);
  if (const auto found = works_.find(key_); found != works_.end()) return found->second;
  std::vector<int64_t> key = key_;  // preparing may ask for further works
  std::shared_ptr<const Work> work = device.prepare(request);
  works_.emplace(std::move(key), work);
  return work;
}

}  // namespace tokamak
