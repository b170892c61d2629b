#include "host/local/whole_extents.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/device_mesh.h"
#include "base/require.h"
#include "symbolic/scalar_simplifier.h"
#include "symbolic/symbols.h"

namespace tokamak {

namespace {

class ExtentSearch {
 public:
  ExtentSearch(const HostIrContainer& program, LocalTensors& tensors, WholeExtents extents)
      : program_(program), tensors_(tensors), extents_(extents) {}

  std::map<const Scalar*, Scalar*> find() {
    for (Val* input : program_.inputs()) {
      if (const Scalar* scalar = asScalar(input)) known_.insert(scalar);
    }
    while (findWhole()) continue;
    forEachShard([&](const TensorView& input, const Shard& shard) { findAlone(input, shard); });
    while (findWhole()) continue;
    forEachShard([&](const TensorView& input, const Shard& shard) { requireKnown(input, shard); });
    for (const auto& [symbol, value] : program_.defaultSizes()) {
      const auto part = parts_.find(symbol);
      Scalar* copy = part == parts_.end() ? tensors_.scalar(symbol) : part->second.symbol;
      const int64_t size =
          part == parts_.end() ? value : shardRange(value, part->second.chunkOf(value), part->second.coordinate).extent;
      if (copy->isSymbol()) tensors_.target().defaultSizes()[copy] = size;
    }
    std::map<const Scalar*, Scalar*> chunks;
    for (const auto& [extent, part] : parts_) chunks.emplace(extent, part.symbol);
    return chunks;
  }

 private:
  struct Part {
    Scalar* symbol = nullptr;
    int64_t devices = 1;
    int64_t coordinate = 0;
    int64_t chunkOf(int64_t n) const { return (n + devices - 1) / devices; }
  };

  template <class Visit>
  void forEachShard(const Visit& visit) {
    for (const TensorView* input : tensorsOf(program_.inputs())) {
      if (!tensors_.has(*input)) continue;
      for (const Shard& shard : shardsOf(*input)) {
        if (shard.devices > 1) visit(*input, shard);
      }
    }
  }

  std::set<const Scalar*> unknownOf(const Scalar& extent) const {
    const std::vector<const Scalar*> named = symbolsOf(extent);
    std::set<const Scalar*> symbols(named.begin(), named.end());
    std::erase_if(symbols, [&](const Scalar* symbol) { return known_.contains(symbol); });
    return symbols;
  }

  // The last unknown symbol of an extent is known, as bindShape() finds it.
  bool findWhole() {
    bool is_found = false;
    for (const TensorView* input : tensorsOf(program_.inputs())) {
      if (!tensors_.has(*input)) continue;
      const std::vector<Shard> shards = shardsOf(*input);
      for (const IterDomain* axis : shapeOf(*input)) {
        const bool is_whole = std::ranges::none_of(
            shards, [&](const Shard& shard) { return shard.logical == axis && shard.devices > 1; });
        const std::set<const Scalar*> open = unknownOf(*axis->visibleExtent());
        if (is_whole && open.size() == 1) is_found |= known_.insert(*open.begin()).second;
      }
    }
    return is_found;
  }

  void findAlone(const TensorView& input, const Shard& shard) {
    Scalar* extent = shard.logical->visibleExtent();
    Fusion& source = input.fusion();
    const bool is_chunk = simplify(shard.chunk) == source.ceilDiv(extent, source.constant(shard.devices));
    if (extents_ == WholeExtents::Given) known_.merge(unknownOf(*extent));
    if (!extent->isSymbol() || known_.contains(extent) || !is_chunk) return;
    const int64_t coordinate = (*coordinatesOf(input.mesh(), tensors_.rank()))[shard.dimension];
    Scalar* local = tensors_.target().symbol(extent->name() + "_part");
    tensors_.substituteWhole(*extent, shard, coordinate, local);
    parts_[extent] = {.symbol = local, .devices = shard.devices, .coordinate = coordinate};
    known_.insert(extent);
  }

  void requireKnown(const TensorView& input, const Shard& shard) {
    const Scalar& extent = *shard.logical->visibleExtent();
    const std::set<const Scalar*> open = unknownOf(extent);
    if (open.empty()) return;
    TK_RAISE(
        HostProgram,
        "local program: {} on {}: the extent {} stands in chunks alone, which do not tell {}; make {} a scalar input",
        parallelTypeName(shard.type), describeAxis(input, *shard.loop_axis), toString(extent), toString(**open.begin()),
        toString(**open.begin()));
  }

  const HostIrContainer& program_;
  LocalTensors& tensors_;
  const WholeExtents extents_;
  std::set<const Scalar*> known_;
  std::map<const Scalar*, Part> parts_;
};

}  // namespace

std::map<const Scalar*, Scalar*> findWholeExtents(const HostIrContainer& program, LocalTensors& tensors,
                                                  WholeExtents extents) {
  return ExtentSearch(program, tensors, extents).find();
}

}  // namespace tokamak
