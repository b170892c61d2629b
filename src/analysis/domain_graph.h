// DomainGraph: which axes of a program's tensors map to one another. There are two questions:
//
//   mapsTo(a, b)                  do these two axes, of any two tensors, map?                (classes, transitive)
//   producerAxis(expr, T, axis)   which axis of operand T maps to that axis of the result?   (this expression only)
//
// Loop axes map if steps of the same form (kind, factor, side) made them from axes that map.
//
// Mapping follows from element rules (compute/axis_map.h), not from ops. It is computed for a copy of the expression in
// which broadcast axes are ordinary ones, so that these map, too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Which axes map; each includes those before it.
enum class AxisMapping : uint8_t {
  Exact,      ///< equal sizes, element by element; broadcast axes with broadcast axes
  Broadcast,  ///< also a broadcast axis with the axis that it is broadcast to
  Reduction,  ///< also a reduction axis with the operand's axis that it reduces
};

class DomainGraph {
 public:
  /// Of all math expressions of a fusion or host program, segments included. It stays valid while tensors are
  /// scheduled; expressions added later are not in it.
  explicit DomainGraph(const Fusion& fusion);
  /// Of these math expressions only.
  explicit DomainGraph(std::span<Expr* const> exprs);

  /// Transitive over the whole program.
  bool mapsTo(const IterDomain& a, const IterDomain& b, AxisMapping mapping = AxisMapping::Broadcast) const;

  /// The loop or logical axis of `operand` that maps to this axis of the expression's result. Null if there is none, if
  /// `operand` is scheduled otherwise, or if the expression reads it in two ways.
  /// An axis merged with a broadcast axis that the expression makes maps to what it mapped to before.
  IterDomain* producerAxis(const Expr& expr, const TensorView& operand, const IterDomain& consumer_axis,
                           AxisMapping mapping = AxisMapping::Broadcast) const;

  /// Classes of at least two logical axes, in creation order.
  std::vector<std::vector<IterDomain*>> classes(AxisMapping mapping) const;

 private:
  struct Edge {
    const TensorView* operand;
    IterDomain* consumer;
    IterDomain* producer;
    AxisMapping mapping;  ///< the strictest that holds
  };
  /// Disjoint sets of axes.
  class Sets {
   public:
    void join(const IterDomain* a, const IterDomain* b);
    const IterDomain* root(const IterDomain* axis) const;

   private:
    mutable std::unordered_map<const IterDomain*, const IterDomain*> parents_;
  };

  void addProgram(const Fusion& fusion);
  void joinClasses();
  void joinSegment(const struct PostOnStream& post);
  void addEdges(const Expr& expr, const Expr& copy);
  void addReductionEdges(const Expr& expr, const Expr& copy, const struct ElementRule& rule);
  static bool isNew(const std::vector<Edge>& edges, const TensorView& operand, const IterDomain& axis);
  IterDomain* producerOf(const std::vector<Edge>& edges, const TensorView& operand, const IterDomain& axis,
                         AxisMapping mapping) const;

  std::vector<IterDomain*> axes_;
  std::unordered_map<const Expr*, std::vector<Edge>> edges_;
  Sets sets_[3];
};

/// An axis of an operand (of its visible shape) whose index depends on a coordinate of the result.
struct OperandAxis {
  int64_t axis = 0;
  bool is_alone = false;  ///< it depends on no other coordinate
  bool is_whole = false;  ///< the index is the coordinate, along the whole axis
};
/// For each input of a math expression the axes that depend on axis `axis` of the result's visible shape, broadcast
/// axes taken as ordinary ones.
std::vector<std::vector<OperandAxis>> operandAxesAlong(const Expr& expr, int64_t axis);

}  // namespace tokamak
