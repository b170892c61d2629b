#include "schedule/inline.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/domain_graph.h"
#include "base/require.h"
#include "define/operand.h"
#include "ir/fusion.h"
#include "schedule/loop_steps.h"
#include "schedule/shared_loops.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

struct Limit {
  int64_t position = 0;
  std::string why;
};

std::vector<TensorView*> consumersOf(const Expr& use) { return tensorsOf(use.outputs()); }

// --- one tensor and its consumers ---

std::string typeProblem(const TensorView& tensor, const IterDomain& axis) {
  if (mayBeShared(axis.parallelType())) return "";
  return fmt::format("{} is marked {}, and such a loop is not shared", describeAxis(tensor, axis),
                     parallelTypeName(axis.parallelType()));
}

std::string pairProblem(const TensorView& tensor, const Expr& use, const TensorView& consumer, int64_t position,
                        const DomainGraph& graph) {
  if (consumer.axisCount() <= position)
    return fmt::format("{} reads it and has {} loop axes", toString(consumer), consumer.axisCount());
  const IterDomain* own = tensor.axis(position);
  const IterDomain* other = consumer.axis(position);
  if (graph.producerAxis(use, tensor, *other, AxisMapping::Reduction) != own)
    return fmt::format("{} and {} do not go along", describeAxis(tensor, *own), describeAxis(consumer, *other));
  return typeProblem(consumer, *other);
}

std::string axisProblem(const TensorView& tensor, int64_t position, const DomainGraph& graph) {
  const IterDomain* axis = tensor.axis(position);
  if (axis->isReduction())
    return fmt::format("{} is a reduction axis: it must be complete before the tensor is read",
                       describeAxis(tensor, *axis));
  if (std::string why = typeProblem(tensor, *axis); !why.empty()) return why;
  for (const Expr* use : tensor.uses()) {
    for (const TensorView* consumer : consumersOf(*use)) {
      if (std::string why = pairProblem(tensor, *use, *consumer, position, graph); !why.empty()) return why;
    }
  }
  return "";
}

// The largest position that the tensor's own axes and those of its consumers allow.
Limit limitOfAxes(const TensorView& tensor, const DomainGraph& graph) {
  if (tensor.fusion().isInput(&tensor)) return {0, "it is an input of the fusion"};
  if (tensor.uses().empty()) return {0, "nothing in the fusion reads it"};
  Limit limit;
  for (; limit.position < tensor.axisCount(); ++limit.position) {
    limit.why = axisProblem(tensor, limit.position, graph);
    if (!limit.why.empty()) return limit;
  }
  limit.why = fmt::format("it has {} loop axes", tensor.axisCount());
  return limit;
}

// --- loops shared by many tensors ---

// The tensors, numbered in topological order, with their readers.
class SharedLoops {
 public:
  explicit SharedLoops(const Fusion& fusion) {
    for (const Expr* expr : fusion.allExprs()) {
      for (TensorView* out : tensorsOf(expr->outputs())) {
        const size_t consumer = add(out);
        for (TensorView* in : tensorsOf(expr->inputs())) {
          const size_t producer = add(in);
          consumers_[producer].push_back(consumer);
          producers_[consumer].push_back(producer);
        }
      }
    }
  }

  /// What is wrong with the tensor's loop at `depth`, or empty: it has two parallel types, or a tensor in it depends on
  /// another one in it through tensors outside.
  std::string problem(TensorView* tensor, int64_t depth) {
    if (!numbers_.contains(tensor)) return "";
    const std::vector<size_t> members = membersOf(tensor, depth);
    // (Producers may share more loops than the tensor has.)
    const ParallelType type = depth < tensor->axisCount() ? tensor->axis(depth)->parallelType() : ParallelType::Serial;
    std::string why = typesProblem(members, *tensor, type);
    return why.empty() ? findReturn(members) : why;
  }

  /// Empty unless a tensor in that loop has a type other than this one and Serial.
  std::string typeProblem(TensorView* tensor, int64_t depth, ParallelType type) {
    return numbers_.contains(tensor) ? typesProblem(membersOf(tensor, depth), *tensor, type) : "";
  }

 private:
  size_t add(TensorView* tensor) {
    const auto [place, is_new] = numbers_.emplace(tensor, tensors_.size());
    if (is_new) {
      tensors_.push_back(tensor);
      consumers_.emplace_back();
      producers_.emplace_back();
    }
    return place->second;
  }

  static void visit(size_t number, std::vector<bool>& seen, std::vector<size_t>& list) {
    if (seen[number]) return;
    seen[number] = true;
    list.push_back(number);
  }

  bool isInlined(size_t number) const { return tensors_[number]->inlinePosition() > depth_; }

  // Visits the tensors that share this one's loop at the depth: consumers if it is inlined, and inlined producers.
  template <class Visit>
  void forEachSharing(size_t number, const Visit& visit_one) const {
    if (isInlined(number)) std::ranges::for_each(consumers_[number], visit_one);
    for (const size_t producer : producers_[number]) {
      if (isInlined(producer)) visit_one(producer);
    }
  }

  std::vector<size_t> membersOf(const TensorView* tensor, int64_t depth) {
    depth_ = depth;
    std::vector<size_t> members;
    std::vector<bool> seen(tensors_.size(), false);
    visit(numbers_.at(tensor), seen, members);
    for (size_t i = 0; i < members.size(); ++i) forEachSharing(members[i], [&](size_t n) { visit(n, seen, members); });
    return members;
  }

  std::string typesProblem(const std::vector<size_t>& members, const TensorView& asked, ParallelType type) const {
    const TensorView* first = type == ParallelType::Serial ? nullptr : &asked;
    for (const size_t member : members) {
      const TensorView& tensor = *tensors_[member];
      // (Tensors whose axes do not map are reported elsewhere.)
      const auto own = &tensor == &asked || depth_ >= tensor.axisCount() ? ParallelType::Serial
                                                                         : tensor.axis(depth_)->parallelType();
      if (own == ParallelType::Serial || own == type) continue;
      if (first != nullptr) {
        return fmt::format("{} and {} are one loop and would be run in different ways, one of them as {}",
                           describeAxis(*first, *first->axis(depth_)), describeAxis(tensor, *tensor.axis(depth_)),
                           parallelTypeName(type));
      }
      first = &tensor;
      type = own;
    }
    return "";
  }

  std::string findReturn(const std::vector<size_t>& members) const {
    std::vector<bool> is_member(tensors_.size(), false);
    for (const size_t member : members) is_member[member] = true;
    std::vector<size_t> reached;
    std::vector<bool> is_reached(tensors_.size(), false);
    for (const size_t member : members) {
      if (isInlined(member)) continue;
      for (const size_t reader : consumers_[member]) {
        if (is_member[reader]) {
          return fmt::format("{} reads {} within a loop that both are in, and {} is not inlined there",
                             nameOf(*tensors_[reader]), nameOf(*tensors_[member]), nameOf(*tensors_[member]));
        }
        visit(reader, is_reached, reached);
      }
    }
    for (size_t i = 0; i < reached.size(); ++i) {
      if (is_member[reached[i]]) {
        return fmt::format("{} would be in one loop with a tensor that it depends on by way of {}, which is not in it",
                           nameOf(*tensors_[reached[i]]), nameOf(*tensors_[wayTo(reached[i], is_reached, is_member)]));
      }
      std::ranges::for_each(consumers_[reached[i]], [&](size_t n) { visit(n, is_reached, reached); });
      forEachSharing(reached[i], [&](size_t n) { visit(n, is_reached, reached); });
    }
    return "";
  }

  // The tensor outside of the loop that leads back to a member.
  size_t wayTo(size_t member, const std::vector<bool>& is_reached, const std::vector<bool>& is_member) const {
    for (const auto& list : {producers_[member], consumers_[member]}) {
      for (const size_t number : list) {
        if (is_reached[number] && !is_member[number]) return number;
      }
    }
    return member;
  }

  std::vector<TensorView*> tensors_;
  std::unordered_map<const TensorView*, size_t> numbers_;
  std::vector<std::vector<size_t>> consumers_;
  std::vector<std::vector<size_t>> producers_;
  int64_t depth_ = 0;
};

// The largest legal position of at most `wanted`. The tensor does not change.
Limit largestPosition(TensorView* tensor, int64_t wanted, const DomainGraph& graph, SharedLoops& loops) {
  Limit limit = limitOfAxes(*tensor, graph);
  const int64_t last = std::min(wanted, limit.position);
  int64_t& position = tensor->mutableDomain().inline_position;
  const int64_t old = position;
  for (int64_t depth = 0; depth < last; ++depth) {
    position = std::max(position, depth + 1);
    std::string why = loops.problem(tensor, depth);
    if (why.empty()) continue;
    limit = {depth, std::move(why)};
    break;
  }
  position = old;
  return limit;
}

int64_t normalPosition(const TensorView& tensor, int64_t position) {
  const int64_t count = tensor.axisCount();
  TK_REQUIRE(position >= -count - 1 && position <= count, Schedule,
             "inline_at: position {} is out of bounds for {} with {} loop axes; legal are {} to {}", position,
             toString(tensor), count, -count - 1, count);
  return position < 0 ? position + count + 1 : position;
}

// Lowers the position, and those of tensors that would depend on the tensor from within a loop that it leaves.
void lowerPosition(TensorView* tensor, int64_t position, SharedLoops& loops) {
  const int64_t shared = sharedLoopCount(*tensor);
  int64_t& current = tensor->mutableDomain().inline_position;
  const int64_t old = current;
  current = position;
  for (int64_t depth = position; depth < shared; ++depth) {
    const std::string why = loops.problem(tensor, depth);
    if (why.empty()) continue;
    current = old;
    TK_RAISE(Schedule, "inline_at: position {} for {}, which is inlined at {}: {}; inline less what shares the loop",
             position, toString(*tensor), old, why);
  }
}

// Consumers first. (Expressions that took the place of others are not in creation order.)
void sortBackwards(std::vector<TensorView*>& tensors) {
  if (tensors.empty()) return;
  std::unordered_map<const Expr*, size_t> places;
  for (const Expr* expr : tensors.front()->fusion().exprs()) places.emplace(expr, places.size());
  std::ranges::stable_sort(tensors, std::greater{}, [&](const TensorView* tensor) {
    const auto found = places.find(tensor->definition());
    return std::pair(found == places.end() ? 0 : found->second + 1, tensor->id());
  });
}

void inlineAt(TensorView* tensor, int64_t wanted, InlineEffort effort, const DomainGraph& graph, SharedLoops& loops) {
  if (wanted < tensor->inlinePosition()) return lowerPosition(tensor, wanted, loops);
  const Limit limit = largestPosition(tensor, wanted, graph, loops);
  TK_REQUIRE(wanted <= limit.position || effort == InlineEffort::Best, Schedule,
             "inline_at: position {} for {}; the largest legal one is {}: {}", wanted, toString(*tensor),
             limit.position, limit.why);
  tensor->mutableDomain().inline_position = std::min(wanted, limit.position);
}

void inlineAt(std::vector<TensorView*> tensors, int64_t position, InlineEffort effort) {
  if (tensors.empty()) return;
  const DomainGraph graph(tensors.front()->fusion());
  SharedLoops loops(tensors.front()->fusion());
  sortBackwards(tensors);
  std::vector<int64_t> before;
  for (const TensorView* tensor : tensors) before.push_back(tensor->inlinePosition());
  try {
    for (TensorView* tensor : tensors) inlineAt(tensor, std::min(position, tensor->axisCount()), effort, graph, loops);
  } catch (const Error&) {
    for (size_t i = 0; i < tensors.size(); ++i) tensors[i]->mutableDomain().inline_position = before[i];
    throw;
  }
}

void inlineMost(std::vector<TensorView*> tensors) {
  std::erase_if(tensors, [](const TensorView* tensor) { return tensor->definition() == nullptr; });
  inlineAt(std::move(tensors), std::numeric_limits<int64_t>::max(), InlineEffort::Best);
}

}  // namespace

void inline_at(TensorView* tensor, int64_t position) {
  requireGiven("inline_at", {{"tensor", tensor}});
  SharedLoops loops(tensor->fusion());
  inlineAt(tensor, normalPosition(*tensor, position), InlineEffort::All, DomainGraph(tensor->uses()), loops);
}

void inline_at(std::span<TensorView* const> tensors, int64_t position, InlineEffort effort) {
  requireGiven("inline_at", "tensors", tensors);
  TK_REQUIRE(position >= 0, Schedule, "inline_at: position {} for several tensors; legal are 0 and more", position);
  inlineAt({tensors.begin(), tensors.end()}, position, effort);
}

void inline_most(Fusion& fusion) { inlineMost(fusion.allTensors()); }

void inline_most(std::span<TensorView* const> tensors) {
  requireGiven("inline_most", "tensors", tensors);
  inlineMost({tensors.begin(), tensors.end()});
}

int64_t sharedLoopCount(const TensorView& tensor) {
  int64_t count = tensor.inlinePosition();
  if (tensor.definition() == nullptr) return count;
  for (const TensorView* producer : tensorsOf(tensor.definition()->inputs()))
    count = std::max(count, producer->inlinePosition());
  return count;
}

std::string sharedTypeProblem(TensorView* tensor, int64_t position, ParallelType type) {
  if (type == ParallelType::Serial || position >= sharedLoopCount(*tensor)) return "";
  return SharedLoops(tensor->fusion()).typeProblem(tensor, position, type);
}

std::string inlineProblem(const Fusion& fusion, const DomainGraph& graph) {
  SharedLoops loops(fusion);
  for (TensorView* tensor : fusion.allTensors()) {
    if (tensor->inlinePosition() == 0) continue;
    Limit limit = limitOfAxes(*tensor, graph);
    for (int64_t depth = 0; depth < std::min(tensor->inlinePosition(), limit.position); ++depth) {
      std::string why = loops.problem(tensor, depth);
      if (!why.empty()) limit = {depth, std::move(why)};
    }
    if (tensor->inlinePosition() > limit.position) {
      return fmt::format("{} is inlined at {}; the largest legal position is {}: {}", toString(*tensor),
                         tensor->inlinePosition(), limit.position, limit.why);
    }
  }
  return "";
}

}  // namespace tokamak
