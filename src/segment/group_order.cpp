#include "segment/group_order.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "symbolic/scalar.h"

namespace tokamak {

namespace {

bool hasStreams(const Fusion& fusion) {
  return std::ranges::any_of(fusion.allTensors(), [](const TensorView* tensor) {
    return std::ranges::any_of(tensor->loop(), [](const IterDomain* axis) { return axis->isStream(); });
  });
}

// An estimate of an extent. (Default sizes may contradict one another, so nothing is refused.)
double estimate(const Fusion& fusion, const Scalar& extent) {
  constexpr double kAnyExtent = 128;
  const auto operand = [&](size_t i) { return estimate(fusion, *extent.operand(i)); };
  switch (extent.op()) {
    case ScalarOp::Constant: return asDouble(extent.value());
    case ScalarOp::Symbol: {
      const auto& sizes = fusion.defaultSizes();
      const auto size = std::ranges::find(sizes, &extent, [](const auto& entry) { return entry.first; });
      return size == sizes.end() ? kAnyExtent : static_cast<double>(size->second);
    }
    case ScalarOp::Add: return operand(0) + operand(1);
    case ScalarOp::Sub: return std::max(1.0, operand(0) - operand(1));
    case ScalarOp::Mul: return operand(0) * operand(1);
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv: return std::max(1.0, operand(0) / std::max(1.0, operand(1)));
    case ScalarOp::Max: return std::max(operand(0), operand(1));
    case ScalarOp::Min: return std::min(operand(0), operand(1));
    default: return kAnyExtent;
  }
}

int64_t bytesOf(const Fusion& fusion, const TensorView& tensor) {
  constexpr double kMost = 1LL << 50;
  auto bytes = static_cast<double>(sizeOf(tensor.dtype()));
  for (const IterDomain* axis : shapeOf(tensor)) {
    if (!axis->isBroadcast()) bytes *= std::clamp(estimate(fusion, *axis->extent()), 1.0, kMost);
  }
  return static_cast<int64_t>(std::min(bytes, kMost));
}

// The bytes that each group adds to memory, while groups are done one after the other.
class MemoryLedger {
 public:
  MemoryLedger(const Fusion& fusion, const std::vector<SegmentedGroup>& groups)
      : groups_(groups), allocated_(groups.size()) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const TensorView* output : groups[g].outputs) {
        const int64_t bytes = bytesOf(fusion, *output);
        allocated_[g] += bytes;
        if (!fusion.isOutput(output)) tensors_[output] = {bytes, {}};
      }
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const TensorView* input : groups[g].inputs) {
        if (const auto tensor = tensors_.find(input); tensor != tensors_.end()) tensor->second.readers.insert(g);
      }
    }
  }

  int64_t allocatedBy(size_t group) const { return allocated_[group]; }
  /// The bytes of tensors that no other group will read.
  int64_t freedBy(size_t group) const {
    int64_t bytes = 0;
    for (const TensorView* input : groups_[group].inputs) {
      const auto tensor = tensors_.find(input);
      if (tensor != tensors_.end() && tensor->second.readers.size() == 1) bytes += tensor->second.bytes;
    }
    return bytes;
  }
  /// Returns the groups that now free more.
  std::vector<size_t> finish(size_t group) {
    std::vector<size_t> last_readers;
    for (const TensorView* input : groups_[group].inputs) {
      const auto tensor = tensors_.find(input);
      if (tensor == tensors_.end()) continue;
      tensor->second.readers.erase(group);
      if (tensor->second.readers.size() == 1) last_readers.push_back(*tensor->second.readers.begin());
    }
    return last_readers;
  }

 private:
  struct Tensor {
    int64_t bytes = 0;
    std::unordered_set<size_t> readers;
  };

  const std::vector<SegmentedGroup>& groups_;
  std::vector<int64_t> allocated_;
  std::unordered_map<const Val*, Tensor> tensors_;
};

int64_t peakOf(const std::vector<size_t>& order, MemoryLedger ledger) {
  int64_t live = 0;
  int64_t peak = 0;
  for (const size_t group : order) {
    live += ledger.allocatedBy(group);
    peak = std::max(peak, live);
    live -= ledger.freedBy(group);
    ledger.finish(group);
  }
  return peak;
}

std::vector<size_t> leastFirst(const std::vector<SegmentedGroup>& groups, MemoryLedger ledger) {
  std::unordered_map<const Val*, size_t> giver;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const TensorView* output : groups[g].outputs) giver[output] = g;
  }
  std::vector<size_t> missing(groups.size(), 0);
  std::vector<std::vector<size_t>> readers(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const TensorView* input : groups[g].inputs) {
      const auto from = giver.find(input);
      if (from == giver.end()) continue;
      ++missing[g];
      readers[from->second].push_back(g);
    }
  }
  // (Added memory, position) of a group. An entry is outdated once the group frees more; a newer one comes before it.
  using Choice = std::pair<int64_t, size_t>;
  std::priority_queue<Choice, std::vector<Choice>, std::greater<>> ready;
  const auto offer = [&](size_t group) { ready.emplace(ledger.allocatedBy(group) - ledger.freedBy(group), group); };
  for (size_t g = 0; g < groups.size(); ++g) {
    if (missing[g] == 0) offer(g);
  }
  std::vector<size_t> order;
  std::vector<bool> is_done(groups.size(), false);
  while (!ready.empty()) {
    const size_t group = ready.top().second;
    ready.pop();
    if (is_done[group]) continue;
    is_done[group] = true;
    order.push_back(group);
    for (const size_t reader : ledger.finish(group)) {
      if (missing[reader] == 0) offer(reader);
    }
    for (const size_t reader : readers[group]) {
      if (--missing[reader] == 0) offer(reader);
    }
  }
  return order;
}

}  // namespace

std::vector<SegmentedGroup> orderForMemory(const Fusion& fusion, std::vector<SegmentedGroup> groups) {
  if (groups.size() < 3 || hasStreams(fusion)) return groups;
  const MemoryLedger ledger(fusion, groups);
  std::vector<size_t> given(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) given[g] = g;
  const std::vector<size_t> order = leastFirst(groups, ledger);
  if (peakOf(order, ledger) >= peakOf(given, ledger)) return groups;
  std::vector<SegmentedGroup> ordered;
  for (const size_t group : order) ordered.push_back(std::move(groups[group]));
  return ordered;
}

}  // namespace tokamak
