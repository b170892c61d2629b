// ScalarParameters: the scalar inputs of a host program that only give values to elements, so that one plan serves all
// their values.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/ir/host_ir_container.h"
#include "host/ir/segment_mode.h"

namespace tokamak {

struct PostOnStream;

/// Which scalar inputs of a program only give values to elements.
/// Thread safety: does not change once it is made: any threads may ask side by side.
class ScalarParameters {
 public:
  /// Looks at how every statement computes. A scalar that steers an extent, an index, a predicate or a stream is none,
  /// nor is one that a segment takes that is run op by op. Makes scalars in the program and its segments.
  ScalarParameters(const HostIrContainer& program, SegmentMode segments);

  bool contains(const Scalar* input) const { return inputs_.contains(input); }
  /// The scalars (inputs, or expressions of inputs) whose values a statement's launch takes.
  std::span<const Scalar* const> of(const Expr& expr) const;

 private:
  /// Of a segment.
  explicit ScalarParameters(const Fusion& segment);

  void takeInputs(const Fusion& program);
  /// Leaves what is of parameters alone.
  void settle();
  void surveyTensors(const Fusion& program);
  void surveySegment(const Expr& expr, const PostOnStream& post);
  void surveyStatement(const Expr& expr);
  void surveyRule(const Expr& expr);
  /// The inputs in it are not parameters.
  void steer(const Scalar& scalar);
  bool isOfInputs(const Scalar& scalar) const;

  SegmentMode segments_ = SegmentMode::OpByOp;
  std::unordered_set<const Scalar*> inputs_;
  std::unordered_map<const Expr*, std::vector<const Scalar*>> values_;
};

/// The values of one call. Takes nothing from the heap once all inputs have had a value.
/// Thread safety: one thread at a time.
class ParameterValues {
 public:
  void set(const Scalar& input, const ScalarValue& value) { values_[&input] = value; }
  /// parameterBits() of each, valid until the next call.
  std::span<void* const> bitsOf(std::span<const Scalar* const> parameters);

 private:
  ScalarBindings values_;
  std::vector<void*> bits_;
};

}  // namespace tokamak
