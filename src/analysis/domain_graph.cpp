#include "analysis/domain_graph.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compute/axis_map.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

namespace {

AxisMapping mappingOf(const IterDomain& producer, const IterDomain& consumer) {
  if (producer.isBroadcast() != consumer.isBroadcast()) return AxisMapping::Broadcast;
  const bool same_size = !producer.isBroadcast() || producer.visibleExtent() == consumer.visibleExtent();
  return same_size ? AxisMapping::Exact : AxisMapping::Broadcast;
}

// The axis of `operand` whose index is the reduced coordinate in every read; nothing if there is none.
std::optional<size_t> axisAlong(const Element& element, const TensorView& operand, const Scalar& coordinate) {
  std::optional<size_t> found;
  bool agrees = true;
  visitElements(element, [&](const Element& part) {
    if (part.kind != ElementKind::Load || part.tensor != &operand) return;
    for (size_t i = 0; i < part.index.size(); ++i) {
      if (!mentions(*part.index[i], coordinate)) continue;
      agrees = agrees && part.index[i] == &coordinate && (!found || *found == i);
      found = i;
    }
  });
  return agrees ? found : std::nullopt;
}

std::vector<IterDomain*> reductionAxes(const TensorView& tensor) {
  std::vector<IterDomain*> axes;
  std::ranges::copy_if(computedAxes(tensor), std::back_inserter(axes), &IterDomain::isReduction);
  return axes;
}

// Holds copies of expressions; a host program may write a tensor more than once.
class Scratch final : public Fusion {
 public:
  bool isHostProgram() const override { return true; }
};

// Copies of tensors in which broadcast axes are ordinary ones: of one common size, or of the expanded size.
class Unbroadcaster {
 public:
  Unbroadcaster() : cloner_(scratch_), size_(scratch_.symbol("b")) {}

  Expr* copy(const Expr& expr) {
    for (const TensorView* tensor : tensorsOf(expr.inputs())) replaceBroadcasts(*tensor);
    for (const TensorView* tensor : tensorsOf(expr.outputs())) replaceBroadcasts(*tensor);
    return cloner_.clone(expr);
  }

 private:
  void replaceBroadcasts(const TensorView& tensor) {
    for (IterDomain* axis : computedAxes(tensor)) {
      if (!axis->isBroadcast() || !replaced_.insert(axis).second) continue;
      Scalar* size = axis->expandedExtent() != nullptr ? cloner_.clone(axis->expandedExtent()) : size_;
      cloner_.substitute(axis, scratch_.axis({.extent = size}));
    }
  }

  Scratch scratch_;
  Cloner cloner_;
  Scalar* size_;
  std::set<const IterDomain*> replaced_;
};

}  // namespace

// --- sets ---

const IterDomain* DomainGraph::Sets::root(const IterDomain* axis) const {
  const IterDomain* root = axis;
  for (auto it = parents_.find(root); it != parents_.end(); it = parents_.find(root)) root = it->second;
  while (axis != root) {
    const IterDomain*& parent = parents_[axis];
    axis = std::exchange(parent, root);
  }
  return root;
}

void DomainGraph::Sets::join(const IterDomain* a, const IterDomain* b) {
  const IterDomain* root_a = root(a);
  const IterDomain* root_b = root(b);
  if (root_a == root_b) return;
  // The oldest axis represents the class, so that the order of edges does not matter.
  const auto [oldest, newest] =
      std::minmax(root_a, root_b, [](const auto* x, const auto* y) { return x->id() < y->id(); });
  parents_[newest] = oldest;
}

// --- making the graph ---

DomainGraph::DomainGraph(const Fusion& fusion) {
  addProgram(fusion);
  joinClasses();
}

DomainGraph::DomainGraph(std::span<Expr* const> exprs) {
  Unbroadcaster unbroadcaster;
  for (const Expr* expr : exprs) {
    for (const auto vals : {expr->inputs(), expr->outputs()}) {
      for (const TensorView* tensor : tensorsOf(vals))
        axes_.insert(axes_.end(), tensor->logical().begin(), tensor->logical().end());
    }
    addEdges(*expr, *unbroadcaster.copy(*expr));
  }
  joinClasses();
}

void DomainGraph::joinClasses() {
  std::ranges::sort(axes_, {}, &IterDomain::id);
  axes_.erase(std::ranges::unique(axes_).begin(), axes_.end());
  for (const auto& [expr, edges] : edges_) {
    for (const Edge& edge : edges) {
      for (auto mapping = static_cast<size_t>(edge.mapping); mapping < std::size(sets_); ++mapping) {
        sets_[mapping].join(edge.producer, edge.consumer);
      }
    }
  }
}

void DomainGraph::addProgram(const Fusion& fusion) {
  for (const TensorView* tensor : fusion.allTensors())
    axes_.insert(axes_.end(), tensor->logical().begin(), tensor->logical().end());
  Unbroadcaster unbroadcaster;
  for (const Expr* expr : fusion.allExprs()) {
    if (expr->list() == OpList::Math) addEdges(*expr, *unbroadcaster.copy(*expr));
    if (const auto* post = expr->as<PostOnStream>()) joinSegment(*post);
  }
}

// Joins a segment's inputs and outputs with the operands and results of its PostOnStream.
void DomainGraph::joinSegment(const PostOnStream& post) {
  const Fusion& segment = *post.segment->fusion;
  addProgram(segment);
  const auto joinShapes = [&](const TensorView* outer, const TensorView* inner) {
    if (outer == nullptr || inner == nullptr) return;
    const Axes left = shapeOf(*outer);
    const Axes right = shapeOf(*inner);
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      for (Sets& sets : sets_) sets.join(left[i], right[i]);
    }
  };
  for (size_t i = 0; i < std::min(post.ins.size(), segment.inputs().size()); ++i)
    joinShapes(asTensor(post.ins[i]), asTensor(segment.inputs()[i]));
  for (size_t i = 0; i < std::min(post.outs.size(), segment.outputs().size()); ++i)
    joinShapes(post.outs[i], segment.outputs()[i]);
}

void DomainGraph::addEdges(const Expr& expr, const Expr& copy) {
  const AxisMap map(copy);
  const Axes consumer = withoutReductions(computedAxes(*asTensor(expr.output(0))));
  std::vector<Edge>& edges = edges_[&expr];
  for (size_t i = 0; i < expr.inputs().size(); ++i) {
    const TensorView* operand = asTensor(expr.input(i));
    if (operand == nullptr) continue;
    const Axes producer = shapeOf(*operand);
    for (size_t axis = 0; axis < consumer.size(); ++axis) {
      const OperandCoordinateUse use = map.use(*asTensor(copy.input(i)), static_cast<int64_t>(axis));
      if (use.use != CoordinateUse::Identity) continue;
      IterDomain* from = producer[static_cast<size_t>(use.axes.front())];
      edges.push_back({operand, consumer[axis], from, mappingOf(*from, *consumer[axis])});
    }
  }
  addReductionEdges(expr, copy, map.rule());
}

void DomainGraph::addReductionEdges(const Expr& expr, const Expr& copy, const ElementRule& rule) {
  const std::vector<IterDomain*> reduced = reductionAxes(*asTensor(expr.output(0)));
  std::vector<const Scalar*> coordinates;
  visitElements(*rule.value, [&](const Element& element) {
    for (const ReducedAxis& axis : element.axes) coordinates.push_back(axis.coordinate);
  });
  if (coordinates.size() != reduced.size()) return;
  std::vector<Edge>& edges = edges_[&expr];
  for (size_t i = 0; i < expr.inputs().size(); ++i) {
    const TensorView* operand = asTensor(expr.input(i));
    if (operand == nullptr) continue;
    for (size_t k = 0; k < reduced.size(); ++k) {
      const auto axis = axisAlong(*rule.value, *asTensor(copy.input(i)), *coordinates[k]);
      if (axis) edges.push_back({operand, reduced[k], shapeOf(*operand)[*axis], AxisMapping::Reduction});
    }
  }
}

// --- asking it ---

bool DomainGraph::mapsTo(const IterDomain& a, const IterDomain& b, AxisMapping mapping) const {
  if (&a == &b) return true;
  const Sets& sets = sets_[static_cast<size_t>(mapping)];
  if (sets.root(&a) == sets.root(&b)) return true;
  const DomainExpr* x = a.definition();
  const DomainExpr* y = b.definition();
  if (x == nullptr || y == nullptr || !isSameForm(*x, *y)) return false;
  const bool same_part = (x->out[0] == &a) == (y->out[0] == &b);
  const bool same_second = x->in[1] == nullptr || mapsTo(*x->in[1], *y->in[1], mapping);
  return same_part && same_second && mapsTo(*x->in[0], *y->in[0], mapping);
}

// Whether the expression's broadcast made the axis, or it is made of such axes only: the operand has no part in it.
bool DomainGraph::isNew(const std::vector<Edge>& edges, const TensorView& operand, const IterDomain& axis) {
  const bool is_read =
      std::ranges::any_of(edges, [&](const Edge& edge) { return edge.operand == &operand && edge.consumer == &axis; });
  if (is_read || !axis.isBroadcast()) return false;
  const DomainExpr* step = axis.definition();
  if (step == nullptr) return true;
  return std::ranges::all_of(step->in,
                             [&](const IterDomain* in) { return in == nullptr || isNew(edges, operand, *in); });
}

IterDomain* DomainGraph::producerOf(const std::vector<Edge>& edges, const TensorView& operand, const IterDomain& axis,
                                    AxisMapping mapping) const {
  const auto found = std::ranges::find_if(edges, [&](const Edge& edge) {
    return edge.operand == &operand && edge.consumer == &axis && edge.mapping <= mapping;
  });
  if (found != edges.end()) return found->producer;
  const DomainExpr* step = axis.definition();
  if (step == nullptr) return nullptr;
  if (step->kind == DomainExprKind::Merge) {
    // (Merging with an axis that the operand lacks does not matter.)
    if (isNew(edges, operand, *step->in[0])) return producerOf(edges, operand, *step->in[1], mapping);
    if (isNew(edges, operand, *step->in[1])) return producerOf(edges, operand, *step->in[0], mapping);
  }
  IterDomain* first = producerOf(edges, operand, *step->in[0], mapping);
  if (first == nullptr || first->use() == nullptr) return nullptr;
  const DomainExpr* own = first->use();
  if (!isSameForm(*own, *step) || own->in[0] != first) return nullptr;
  if (step->in[1] != nullptr && producerOf(edges, operand, *step->in[1], mapping) != own->in[1]) return nullptr;
  return own->out[step->out[0] == &axis ? 0 : 1];
}

IterDomain* DomainGraph::producerAxis(const Expr& expr, const TensorView& operand, const IterDomain& consumer_axis,
                                      AxisMapping mapping) const {
  const auto edges = edges_.find(&expr);
  if (edges == edges_.end()) return nullptr;
  return producerOf(edges->second, operand, consumer_axis, mapping);
}

std::vector<std::vector<IterDomain*>> DomainGraph::classes(AxisMapping mapping) const {
  const Sets& sets = sets_[static_cast<size_t>(mapping)];
  std::map<int64_t, std::vector<IterDomain*>> members;
  for (IterDomain* axis : axes_) members[sets.root(axis)->id()].push_back(axis);
  std::vector<std::vector<IterDomain*>> classes;
  for (auto& [id, axes] : members) {
    if (axes.size() > 1) classes.push_back(std::move(axes));
  }
  return classes;
}

std::vector<std::vector<OperandAxis>> operandAxesAlong(const Expr& expr, int64_t axis) {
  Unbroadcaster unbroadcaster;
  const Expr& copy = *unbroadcaster.copy(expr);
  const AxisMap map(copy);
  const ElementRule& rule = map.rule();
  const auto countMentioned = [&](const Scalar& index) {
    return std::ranges::count_if(rule.coordinates,
                                 [&](const Scalar* coordinate) { return mentions(index, *coordinate); });
  };
  std::vector<std::vector<OperandAxis>> axes(expr.inputs().size());
  visitElements(*rule.value, [&](const Element& element) {
    if (element.kind != ElementKind::Load) return;
    const OperandCoordinateUse use = map.use(*element.tensor, axis);
    for (size_t i = 0; i < element.index.size(); ++i) {
      if (!mentions(*element.index[i], *rule.coordinates[static_cast<size_t>(axis)])) continue;
      const auto number = static_cast<int64_t>(i);
      const bool is_whole = use.use == CoordinateUse::Identity && use.axes.front() == number;
      for (size_t input = 0; input < axes.size(); ++input) {
        if (copy.input(input) == element.tensor)
          axes[input].push_back({number, countMentioned(*element.index[i]) == 1, is_whole});
      }
    }
  });
  return axes;
}

}  // namespace tokamak
