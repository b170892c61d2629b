#include "heuristics/persistent_buffers.h"

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "ir/elementwise.h"
#include "ir/extent_assumptions.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"

namespace tokamak {

namespace {

// The coordinates of a stored tensor: along its rows, then along its inner domain.
struct Coordinates {
  std::vector<Scalar*> rows;
  std::vector<Scalar*> row_extents;
  std::vector<Scalar*> inner;
  std::vector<Scalar*> inner_extents;
};

Coordinates coordinatesOf(const ReductionStructure& structure, const TensorView& tensor, const ElementRule& rule) {
  Coordinates result;
  if (const auto part = structure.partialOuterReductions().find(&tensor);
      part != structure.partialOuterReductions().end()) {
    result.rows = part->second.rows;
    result.row_extents = part->second.extents;
    result.inner.assign(rule.coordinates.begin() + 1, rule.coordinates.end());
    result.inner_extents = part->second.columns;
    return result;
  }
  const AxisNumbers& numbers = structure.rowsOf(tensor);
  for (const int64_t axis : numbers) {
    result.rows.push_back(rule.coordinates[static_cast<size_t>(axis)]);
    result.row_extents.push_back(rule.extents[static_cast<size_t>(axis)]);
  }
  const Axes shape = shapeOf(tensor);
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_row = std::ranges::find(numbers, static_cast<int64_t>(i)) != numbers.end();
    if (is_row || shape[i]->isBroadcast()) continue;
    result.inner.push_back(rule.coordinates[i]);
    result.inner_extents.push_back(rule.extents[i]);
  }
  if (isReduced(tensor)) {
    for (const ReducedAxis& axis : rule.value->axes) {
      result.inner.push_back(axis.coordinate);
      result.inner_extents.push_back(axis.extent);
    }
  }
  return result;
}

// The axes of the tensor read that correspond to the coordinates. Nothing unless axes and coordinates correspond one to
// one.
std::optional<PersistentBuffer> readAtCoordinates(const TensorRead& read, const Coordinates& at) {
  PersistentBuffer input;
  input.tensor = const_cast<TensorView*>(read.tensor);
  const Axes shape = shapeOf(*read.tensor);
  const auto axisOf = [&](const Scalar* coordinate) {
    return std::ranges::find(read.index, coordinate) - read.index.begin();
  };
  for (const Scalar* row : at.rows) input.rows.push_back(axisOf(row));
  for (const Scalar* each : at.inner) input.inner.push_back(axisOf(each));
  std::vector<int64_t> all = input.rows;
  all.insert(all.end(), input.inner.begin(), input.inner.end());
  std::ranges::sort(all);
  const bool is_whole = all == axisRange(0, static_cast<int64_t>(shape.size()));
  // An operand of a concatenation, say, is read by some of the coordinates only: it is shorter.
  const auto isWhole = [&](const AxisNumbers& axes, const std::vector<Scalar*>& extents) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (shape[static_cast<size_t>(axes[i])]->visibleExtent() != extents[i]) return false;
    }
    return true;
  };
  if (is_whole && !(isWhole(input.rows, at.row_extents) && isWhole(input.inner, at.inner_extents))) return std::nullopt;
  return is_whole ? std::optional(input) : std::nullopt;
}

// The same for a tensor with one element per row.
std::optional<PersistentBuffer> readOncePerRow(const TensorRead& read, const Coordinates& at) {
  PersistentBuffer value;
  value.tensor = const_cast<TensorView*>(read.tensor);
  const Axes shape = shapeOf(*read.tensor);
  for (size_t i = 0; i < at.rows.size(); ++i) {
    const auto axis = static_cast<size_t>(std::ranges::find(read.index, at.rows[i]) - read.index.begin());
    if (axis == shape.size() || shape[axis]->visibleExtent() != at.row_extents[i]) return std::nullopt;
    value.rows.push_back(static_cast<int64_t>(axis));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_row = std::ranges::count(value.rows, static_cast<int64_t>(i)) > 0;
    if (!is_row && (!shape[i]->isBroadcast() || shape[i]->expandedExtent() != nullptr)) return std::nullopt;
  }
  return value;
}

// The same for a tensor that all rows share.
std::optional<PersistentBuffer> readInEveryRow(const TensorRead& read, const Coordinates& at) {
  if (at.rows.empty() || at.inner.empty()) return std::nullopt;
  return readAtCoordinates(read, {.rows = {}, .row_extents = {}, .inner = at.inner, .inner_extents = at.inner_extents});
}

class PersistentBufferFinder {
 public:
  PersistentBufferFinder(const ReductionStructure& structure, const PersistentRoom& room)
      : structure_(structure), fusion_(structure.fusion()), room_(room) {
    assumeExtents(analysis_, fusion_);
    for (const TensorView* tensor : structure.stored())
      addNest(*tensor, coordinatesOf(structure, *tensor, rules_.of(*tensor->definition())));
  }

  std::vector<PersistentBuffer> find() {
    const std::vector<Expr*> none;
    for (Expr* expr : room_.bytes > 0 ? std::vector<Expr*>(fusion_.exprs()) : none) {
      for (TensorView* tensor : tensorsOf(expr->outputs())) {
        if (isStored(*tensor) || !isWorthKeeping(*tensor)) continue;
        TensorView* best = narrowestAfter(*tensor);
        const auto value = commonRead(*best);
        // An output is stored from its buffer, so the buffer has to have the output's order of axes.
        const bool is_as_stored =
            value && structure_.rowsOf(*best) == value->rows && std::ranges::is_sorted(value->inner);
        if (value && (!fusion_.isOutput(best) || is_as_stored)) keep(*value);
      }
    }
    dropSuperseded();
    for (TensorView* input : tensorsOf(fusion_.inputs())) {
      if (const auto value = commonRead(*input)) keep(*value);
    }
    // Values come before inputs.
    std::vector<PersistentBuffer> apart;
    if (room_.has_room_for_inputs) {
      const auto first = std::ranges::stable_partition(
          persistent_, [&](const PersistentBuffer& value) { return !fusion_.isInput(value.tensor); });
      apart.assign(first.begin(), first.end());
      persistent_.erase(first.begin(), first.end());
    }
    const auto bytes = [](const PersistentBuffer& value) { return sizeOf(value.tensor->dtype()); };
    int64_t total = 0;
    for (const PersistentBuffer& value : persistent_) total += bytes(value);
    while (!persistent_.empty() && total > room_.bytes) {
      const auto first = room_.scope == PersistentScope::Block ? std::prev(persistent_.end()) : persistent_.begin();
      total -= bytes(*first);
      persistent_.erase(first);
    }
    persistent_.insert(persistent_.end(), apart.begin(), apart.end());
    return persistent_;
  }

 private:
  // The axes at which a nest reads a tensor; nothing if it is read at other coordinates, or in several ways.
  using Indices = std::optional<PersistentBuffer>;

  struct Nest {
    const TensorView* tensor;
    Coordinates at;
    std::map<const TensorView*, Indices> reads;  // stored tensors, and those inlined between them and this one
  };

  bool isStored(const TensorView& tensor) const {
    return persistent_tensors_.contains(&tensor) || fusion_.isInput(const_cast<TensorView*>(&tensor)) ||
           (isReduced(tensor) && !structure_.isRecomputed(tensor));
  }

  void addNest(const TensorView& tensor, Coordinates at) {
    nests_.push_back({&tensor, std::move(at), {}});
    findReads(nests_.back());
  }

  // Finds all reads of a nest in one traversal.
  void findReads(Nest& nest) {
    forgetReads(nest);
    const ElementRule& rule = rules_.of(*nest.tensor->definition());
    const Element& element = isReduced(*nest.tensor) ? *rule.value->operands[0] : *rule.value;
    TensorReads reads(fusion_, analysis_, rules_, [&](const TensorView& read) { return isStored(read); });
    Substitution same(fusion_);
    for (const TensorRead& read : reads.withInlined(element, same)) {
      const bool is_input = fusion_.isInput(const_cast<TensorView*>(read.tensor));
      Indices indices = readAtCoordinates(read, nest.at);
      if (!indices && room_.has_room_for_inputs && is_input) indices = readOncePerRow(read, nest.at);
      if (!indices && room_.has_room_for_outer_inputs && is_input) indices = readInEveryRow(read, nest.at);
      const bool may_read_elsewhere = room_.scope == PersistentScope::Cluster || room_.has_room_for_inputs;
      if (!indices && may_read_elsewhere && is_input) continue;
      if (indices && (nest.at.rows.empty() || (indices->inner.empty() && !isRowInput(*indices))))
        indices = std::nullopt;
      const auto [known, is_new] = nest.reads.try_emplace(read.tensor, indices);
      if (!is_new && !isSame(known->second, indices)) known->second = std::nullopt;
      readers_[read.tensor].insert(&nest);
    }
  }
  void forgetReads(Nest& nest) {
    for (const auto& [tensor, indices] : nest.reads) readers_[tensor].erase(&nest);
    nest.reads.clear();
  }

  static bool isSame(const Indices& a, const Indices& b) {
    return a.has_value() && b.has_value() && a->rows == b->rows && a->inner == b->inner;
  }

  // Reads of a nest end at stored tensors, so those that read this one are searched again.
  void setStored(const TensorView& tensor, bool is_stored) {
    if (is_stored)
      persistent_tensors_.insert(&tensor);
    else
      persistent_tensors_.erase(&tensor);
    for (Nest* nest : std::set<Nest*>(readers_[&tensor])) findReads(*nest);
  }

  void keep(const PersistentBuffer& value) {
    persistent_.push_back(value);
    setStored(*value.tensor, true);
    // A persistent buffer is computed within the row, so its own reads count.
    if (value.tensor->definition() == nullptr) return;
    const ElementRule& rule = rules_.of(*value.tensor->definition());
    Coordinates at;
    for (const int64_t row : value.rows) {
      at.rows.push_back(rule.coordinates[static_cast<size_t>(row)]);
      at.row_extents.push_back(rule.extents[static_cast<size_t>(row)]);
    }
    for (const int64_t each : value.inner) {
      at.inner.push_back(rule.coordinates[static_cast<size_t>(each)]);
      at.inner_extents.push_back(rule.extents[static_cast<size_t>(each)]);
    }
    addNest(*value.tensor, std::move(at));
  }

  // Drops a buffer that only one other buffer reads.
  void dropSuperseded() {
    for (size_t i = 0; i < persistent_.size();) {
      TensorView* tensor = persistent_[i].tensor;
      if (fusion_.isOutput(tensor)) {
        ++i;
        continue;
      }
      const auto own = std::ranges::find(nests_, tensor, &Nest::tensor);
      forgetReads(*own);
      Coordinates at = std::move(own->at);
      nests_.erase(own);
      if (commonRead(*tensor)) {
        addNest(*tensor, std::move(at));
        ++i;
        continue;
      }
      setStored(*tensor, false);
      persistent_.erase(persistent_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // The axes at which all nests read the tensor, if there are at least two and they agree.
  Indices commonRead(const TensorView& tensor) {
    Indices value;
    size_t count = 0;
    for (const Nest* nest : readers_[&tensor]) {
      const Indices& indices = nest->reads.at(&tensor);
      if (!indices || (value && !isSame(indices, value))) return std::nullopt;
      value = indices;
      ++count;
    }
    // A persistent output counts as a reader of itself: it is stored from its buffer.
    count += static_cast<size_t>(std::ranges::count(nests_, &tensor, &Nest::tensor));
    const bool is_enough = count > 1 || (value && (isRowInput(*value) || isOuterInput(*value)));
    return is_enough ? value : std::nullopt;
  }

  // An input of which each row has one element.
  bool isRowInput(const PersistentBuffer& value) const {
    return room_.has_room_for_inputs && value.inner.empty() && fusion_.isInput(value.tensor);
  }

  // An input that is the same for all rows.
  bool isOuterInput(const PersistentBuffer& value) const {
    return room_.has_room_for_outer_inputs && value.rows.empty() && fusion_.isInput(value.tensor);
  }

  bool isWorthKeeping(TensorView& tensor) {
    if (isReduced(tensor) || !commonRead(tensor)) return false;
    bool is_expensive = false;
    std::set<const TensorView*> sources;
    std::set<const TensorView*> seen;
    const auto visit = [&](const auto& self, const TensorView& at) -> void {
      if (!seen.insert(&at).second) return;
      if (&at != &tensor && isStored(at)) {
        if (!persistent_tensors_.contains(&at) || shapeOf(at).size() == shapeOf(tensor).size()) sources.insert(&at);
        return;
      }
      if (at.definition() == nullptr) return;
      is_expensive |= isExpensive(*at.definition());
      for (const TensorView* operand : tensorsOf(at.definition()->inputs())) self(self, *operand);
    };
    visit(visit, tensor);
    const auto whole = std::ranges::count_if(sources, [&](const TensorView* source) {
      return !isReduced(*source) && withoutBroadcasts(*source) == withoutBroadcasts(tensor);
    });
    return is_expensive || whole > 1;
  }
  static size_t withoutBroadcasts(const TensorView& tensor) {
    return static_cast<size_t>(
        std::ranges::count_if(shapeOf(tensor), [](const IterDomain* axis) { return !axis->isBroadcast(); }));
  }

  // Follows elementwise uses while there is one only, and returns the last tensor with the narrowest elements.
  TensorView* narrowestAfter(TensorView& tensor) {
    TensorView* best = &tensor;
    TensorView* at = &tensor;
    while (at->uses().size() == 1 && !fusion_.isOutput(at)) {
      const Expr& use = **at->uses().begin();
      if (!isElementwise(use)) break;
      TensorView* next = tensorsOf(use.outputs())[0];
      if (isStored(*next) || !commonRead(*next)) break;
      at = next;
      if (sizeOf(at->dtype()) <= sizeOf(best->dtype())) best = at;
    }
    return best;
  }

  const ReductionStructure& structure_;
  Fusion& fusion_;
  PersistentRoom room_;
  IntervalAnalysis analysis_;
  RuleTable rules_;
  std::list<Nest> nests_;
  std::map<const TensorView*, std::set<Nest*>> readers_;
  std::vector<PersistentBuffer> persistent_;
  std::set<const TensorView*> persistent_tensors_;
};

}  // namespace

std::vector<PersistentBuffer> findPersistentBuffers(const ReductionStructure& structure, const PersistentRoom& room) {
  return PersistentBufferFinder(structure, room).find();
}

bool isExpensive(const Expr& expr) {
  const auto* op = expr.as<PointwiseOp>();
  if (op == nullptr) return false;
  return functionInfo(op->function).accuracy == Accuracy::Approx || op->function == FunctionId::philox;
}

}  // namespace tokamak
