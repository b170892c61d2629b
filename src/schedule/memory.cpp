#include "schedule/memory.h"

#include <numeric>

#include "base/require.h"
#include "define/operand.h"
#include "ir/fusion.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/loop_steps.h"
#include "schedule/transforms.h"

namespace tokamak {

void set_memory_type(TensorView* tensor, MemoryType type) {
  requireGiven("set_memory_type", {{"tensor", tensor}});
  const Fusion& fusion = tensor->fusion();
  const bool is_outer = fusion.isInput(tensor) || fusion.isOutput(tensor);
  TK_REQUIRE(!is_outer || type == MemoryType::Global, Schedule,
             "set_memory_type: {} is an {} of the fusion, which is in global memory; make a cache and place that",
             toString(*tensor), fusion.isInput(tensor) ? "input" : "output");
  tensor->setMemoryType(type);
}

namespace {

void setAllocation(std::string_view command, TensorView* tensor, const std::vector<int64_t>& axes) {
  TK_REQUIRE(!tensor->fusion().isInput(tensor), Schedule,
             "{}: {} is an input of the fusion, which lies as the caller gives it", command, toString(*tensor));
  Axes allocation;
  std::vector<std::optional<bool>> contiguity;
  std::vector<bool> is_taken(tensor->loop().size(), false);
  for (const int64_t axis : axes) {
    const auto position = static_cast<size_t>(normalLoopAxis(command, *tensor, axis));
    TK_REQUIRE(!is_taken[position], Schedule, "{}: axis {} of {} is named twice", command, axis, toString(*tensor));
    is_taken[position] = true;
    IterDomain* domain = tensor->loop()[position];
    allocation.push_back(domain);
    const bool is_stored = !domain->isReduction() && !domain->isBroadcast();
    contiguity.push_back(is_stored ? std::optional(true) : std::nullopt);
  }
  TK_REQUIRE(allocation.size() == is_taken.size(), Schedule, "{}: {} axes for {} with {} loop axes; name each once",
             command, allocation.size(), toString(*tensor), is_taken.size());
  tensor->mutableDomain().allocation = std::move(allocation);
  tensor->mutableDomain().contiguity = std::move(contiguity);
}

}  // namespace

void set_allocation(TensorView* tensor, const std::vector<int64_t>& axes) {
  requireGiven("set_allocation", {{"tensor", tensor}});
  setAllocation("set_allocation", tensor, axes);
}

void set_allocation_as_loop(TensorView* tensor) {
  requireGiven("set_allocation_as_loop", {{"tensor", tensor}});
  std::vector<int64_t> axes(tensor->loop().size());
  std::iota(axes.begin(), axes.end(), 0);
  setAllocation("set_allocation_as_loop", tensor, axes);
}

void pad_buffer(TensorView* tensor, int64_t axis, int64_t elements) {
  requireGiven("pad_buffer", {{"tensor", tensor}});
  const int64_t position = normalLoopAxis("pad_buffer", *tensor, axis);
  TK_REQUIRE(elements >= 0, Schedule, "pad_buffer: {} elements for {}; legal are 0 or more", elements,
             toString(*tensor));
  const bool is_buffer = !tensor->fusion().isInput(tensor) && !tensor->fusion().isOutput(tensor);
  TK_REQUIRE(is_buffer, Schedule, "pad_buffer: {} is in global memory; make a cache and pad that", toString(*tensor));
  tensor->setBufferPadding(elements == 0 ? std::nullopt : std::optional(BufferPadding{position, elements}));
}

void circular_buffer(TensorView* tensor, int64_t stages, int64_t prefetch) {
  requireGiven("circular_buffer", {{"tensor", tensor}});
  const Fusion& fusion = tensor->fusion();
  const bool is_copy = tensor->definition() != nullptr && tensor->definition()->is<LoadStoreOp>();
  TK_REQUIRE(is_copy && !fusion.isOutput(tensor), Schedule,
             "circular_buffer: {} is not a copy within the fusion; cache_after makes one", toString(*tensor));
  TK_REQUIRE(
      stages >= 2 && prefetch >= 1 && prefetch < stages, Schedule,
      "circular_buffer: {} stages with a prefetch of {} for {}; legal are 2 stages or more and a prefetch from 1 to "
      "stages - 1",
      stages, prefetch, toString(*tensor));
  tensor->setCircularBuffer(CircularBuffer{stages, prefetch});
}

}  // namespace tokamak
