// DomainGraph: which axes of a program's tensors are the same axis. A user's question is one of two:
//
//   mapsTo(a, b)                  are these two axes, of any two tensors, one axis?          (classes, transitive)
//   producerAxis(expr, T, axis)   which axis of operand T does this expression read along    (this expression only)
//                                 with that axis of its result?
//
// Both answer for loop axes too: axes made by splits and merges are the same when the steps are of one form (kind,
// factor, side) and start from axes that are the same.
//
// Nothing here knows an op: which coordinates go along follows from how an element is computed (compute/axis_map.h),
// asked of a copy of the expression in which broadcast axes are ordinary ones, so that they are seen to go along as
// well.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// How far "the same" goes; each includes those before it.
enum class AxisMapping : uint8_t {
  Exact,      ///< equal sizes and elements side by side; broadcast axes with broadcast axes
  Broadcast,  ///< also a broadcast axis with the axis it is shown along
  Reduction,  ///< also a reduction axis with the operand's axis that it runs over
};

class DomainGraph {
 public:
  /// Of all math expressions of a fusion or host program, those inside its segments included. Stays valid while
  /// tensors are scheduled; expressions added later are not in it.
  explicit DomainGraph(const Fusion& fusion);
  /// Of these math expressions alone.
  explicit DomainGraph(std::span<Expr* const> exprs);

  /// Classes are transitive over the whole program: axes that one tensor shows to different readers become one.
  bool mapsTo(const IterDomain& a, const IterDomain& b, AxisMapping mapping = AxisMapping::Broadcast) const;

  /// The loop or logical axis of `operand` that goes along with this axis of the expression's result, or null: there is
  /// none, or `operand` is scheduled in another way. A tensor that the expression reads in two ways has none. A
  /// broadcast axis that the expression makes has no part in the operand: merged with it, an axis goes along with what
  /// it went along with before.
  IterDomain* producerAxis(const Expr& expr, const TensorView& operand, const IterDomain& consumer_axis,
                           AxisMapping mapping = AxisMapping::Broadcast) const;

  /// Classes of at least two logical axes, in creation order.
  std::vector<std::vector<IterDomain*>> classes(AxisMapping mapping) const;

 private:
  struct Edge {
    const TensorView* operand;
    IterDomain* consumer;
    IterDomain* producer;
    AxisMapping mapping;  ///< the strictest under which it holds
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
  bool is_alone = false;  ///< on no other coordinate
  bool is_whole = false;  ///< the index is the coordinate, along the whole axis
};
/// For each input of a math expression the axes that depend on axis `axis` of the result's visible shape, broadcast
/// axes taken as ordinary ones.
std::vector<std::vector<OperandAxis>> operandAxesAlong(const Expr& expr, int64_t axis);

}  // namespace tokamak
