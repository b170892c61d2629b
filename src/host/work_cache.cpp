#include "host/work_cache.h"

#include <algorithm>

#include "ir/fields.h"

namespace tokamak {

namespace {

bool isSameOperand(const OperandDesc& a, const OperandDesc& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides && a.alignment == b.alignment;
}

// What a work may depend on besides its operands: attributes and the extents of the op's tensors (the latter through sizes).
std::vector<ScalarValue> attributeValues(const WorkRequest& request) {
  std::vector<ScalarValue> values;
  for (Val* val : valsOf(request.expr)) {
    const Scalar* scalar = asScalar(val);
    if (scalar == nullptr || scalar->isConstant()) continue;
    if (std::ranges::find(request.parameters, scalar) != request.parameters.end()) continue;
    values.push_back(evaluate(*scalar, request.bindings).value_or(int64_t{0}));
  }
  return values;
}

}  // namespace

const std::shared_ptr<const Work>& WorkCache::find(Device& device, const WorkRequest& request) {
  std::vector<Entry>& entries = entries_[&request.expr];
  std::vector<ScalarValue> values = attributeValues(request);
  for (const Entry& entry : entries) {
    if (entry.concurrency == request.concurrency && entry.values == values &&
        std::ranges::equal(entry.operands, request.operands, isSameOperand))
      return entry.work;
  }
  entries.push_back({{request.operands.begin(), request.operands.end()},
                     std::move(values),
                     request.concurrency,
                     device.prepare(request)});
  return entries.back().work;
}

}  // namespace tokamak
