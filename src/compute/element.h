// Element: how one element of an op's result is computed from elements of its operands, as an immutable expression over
// the result's coordinates. ElementRule: the one place that says how an op computes; ElementBuilder makes it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/fusion.h"
#include "ir/ops/math/reduction_op.h"
#include "symbolic/functions.h"

namespace tokamak {

enum class ElementKind : uint8_t {
  Load,    ///< the element of `tensor` at `index`
  Value,   ///< `scalar` as a number: a coordinate, an extent, a scalar input
  Apply,   ///< `function` of the operands
  Cast,    ///< operand 0 converted to dtype
  Choose,  ///< operand 0 where `scalar` holds, else operand 1; the other one is not computed there
  Reduce,  ///< operand 0 combined by `reduction` over `axes`
  /// Operand 1, in whose indices the symbol `scalar` stands for the value of operand 0: an i64 that is within [0,
  /// `extent`) wherever `extent` is positive, so that an index of such an axis is in bounds whatever the data are.
  Indexed,
};

struct Element;
/// Shared, never changed.
using ElementRef = std::shared_ptr<const Element>;

/// A coordinate that runs over [0, extent) inside a Reduce.
struct ReducedAxis {
  Scalar* coordinate = nullptr;
  Scalar* extent = nullptr;
};

struct Element {
  ElementKind kind = ElementKind::Value;
  /// The type of the value. Of a Reduce: the type whose arithmetic combines (floating types may be accumulated wider).
  DataType dtype = DataType::F32;
  const TensorView* tensor = nullptr;
  /// One per axis of the tensor's visible shape; a broadcast axis, expanded or not, has the constant 0.
  std::vector<Scalar*> index;
  Scalar* scalar = nullptr;
  Scalar* extent = nullptr;
  FunctionId function = {};
  ReductionKind reduction = {};
  std::vector<ReducedAxis> axes;
  std::vector<ElementRef> operands;
};

/// How every element of `result` is computed.
struct ElementRule {
  TensorView* result = nullptr;
  /// One symbol and one extent per axis of the result's visible shape (without reductions).
  std::vector<Scalar*> coordinates;
  std::vector<Scalar*> extents;
  ElementRef value;
  /// Pairs of different scalars that must be equal once sizes are known; nothing else may be assumed of sizes.
  std::vector<std::pair<Scalar*, Scalar*>> equal_extents;
};

/// What an op's rule is written with. Scalars made along the way belong to the op's fusion.
class ElementBuilder {
 public:
  explicit ElementBuilder(TensorView& result);

  Fusion& fusion() const { return *fusion_; }
  size_t rank() const { return rule_.coordinates.size(); }
  Scalar* coordinate(size_t axis) const { return rule_.coordinates[axis]; }
  const std::vector<Scalar*>& coordinates() const { return rule_.coordinates; }
  Scalar* extent(size_t axis) const { return rule_.extents[axis]; }
  Scalar* constant(int64_t value) const { return fusion_->constant(value); }
  Scalar* lessEqual(Scalar* a, Scalar* b) const { return fusion_->scalar(ScalarOp::LessEqual, a, b); }
  Scalar* less(Scalar* a, Scalar* b) const { return fusion_->scalar(ScalarOp::Less, a, b); }
  /// Both hold; null stands for true.
  Scalar* both(Scalar* a, Scalar* b) const;

  /// Indexes of broadcast axes become 0.
  ElementRef load(const TensorView* tensor, std::vector<Scalar*> index) const;
  /// The element at the result's own coordinates.
  ElementRef loadHere(const TensorView* tensor) const { return load(tensor, rule_.coordinates); }
  ElementRef value(Scalar* scalar, DataType dtype) const;
  ElementRef apply(FunctionId function, std::vector<ElementRef> operands) const;
  /// The operand itself when it has the type already.
  ElementRef cast(DataType dtype, ElementRef operand) const;
  ElementRef choose(Scalar* predicate, ElementRef a, ElementRef b) const;
  /// A fresh coordinate over [0, extent), for reduce.
  ReducedAxis reduced(Scalar* extent);
  /// The body is converted to `accumulate` first.
  ElementRef reduce(ReductionKind kind, std::vector<ReducedAxis> axes, ElementRef body, DataType accumulate) const;
  /// What `body` gives for the index that `position` (an integer) tells: it is clamped to [0, extent - 1]; 0 when the
  /// extent is 0.
  ElementRef indexed(ElementRef position, Scalar* extent, const std::function<ElementRef(Scalar* index)>& body);

  /// States that two extents are equal in every legal run (checked when sizes are bound).
  void requireEqual(Scalar* a, Scalar* b);
  /// The same for every axis of `tensor` that is not a broadcast axis, with the result's axis of the same number.
  void requireShapeOfResult(const TensorView& tensor);

  void result(ElementRef value);
  ElementRule finish() &&;

 private:
  Fusion* fusion_;
  ElementRule rule_;
  size_t next_coordinate_ = 0;
};

/// Calls `visit(const Element&)` for the element and everything below it, operands after users.
template <class Visit>
void visitElements(const Element& element, const Visit& visit) {
  visit(element);
  for (const ElementRef& operand : element.operands) visitElements(*operand, visit);
}

/// Whether `symbol` occurs in `scalar`.
bool mentions(const Scalar& scalar, const Scalar& symbol);

/// "exp(T0[c0, c1])"; for messages and tests.
std::string toString(const Element& element);

}  // namespace tokamak
