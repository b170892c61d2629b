// Program: a fusion as a list of choices with concrete sizes, from which the fusion is built; what the generator draws
// and the minimiser cuts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "define/operand.h"  // before tests use this namespace, which has an Operand, too
#include "ir/fusion.h"
#include "ir/ops/math/reduction_op.h"
#include "symbolic/functions.h"

namespace tokamak::generator {

enum class Layout : uint8_t { Contiguous, Permuted, Sliced };
/// What the inputs hold. Exact: small integers, and only ops that stay exact. Positions: every element its own number.
enum class Values : uint8_t { Exact, Positions, Normal, Specials };
enum class NodeKind : uint8_t { TensorInput, ScalarInput, Op };

/// A schedule command on the loop domain of a node's result.
struct LoopStep {
  enum class Kind : uint8_t { InnerSplit, OuterSplit, Merge, Reorder, Stream, Propagate };
  Kind kind = Kind::Stream;
  int64_t axis = 0;
  int64_t factor = 1;               ///< of splits
  std::vector<int64_t> order = {};  ///< of Reorder
};

/// An operand: the node of this number, or a constant.
struct Operand {
  int node = -1;
  double constant = 0;
};

/// An input or an op; which fields count depends on its kind.
struct Node {
  NodeKind kind = NodeKind::Op;
  DataType dtype = DataType::F32;  ///< of inputs and of cast, full, iota, products

  std::vector<int64_t> sizes = {};  ///< of tensor inputs; the shape of reshape, expand, full, iota
  std::vector<bool> symbolic = {};  ///< of tensor inputs: axes whose extent is a symbol
  std::vector<bool> expanded = {};  ///< of tensor inputs: broadcast axes shown with their size (stride 0)
  Layout layout = Layout::Contiguous;
  std::vector<int64_t> order = {};  ///< of permuted inputs: axes from the slowest to the fastest in memory
  bool is_near_limits = false;      ///< integers near the limits of their type

  OpKind op = OpKind::LoadStoreOp;
  FunctionId function = FunctionId::abs;
  ReductionKind reduction = ReductionKind::Sum;
  std::vector<Operand> operands = {};
  std::vector<int64_t> numbers = {};      ///< axes; order; starts, stops, steps; axis, index; widths; start, step
  std::vector<bool> flags = {};           ///< of broadcast and squeeze
  double constant = 0;                    ///< of full, pad and scalar inputs
  std::vector<LoopStep> loop_steps = {};  ///< what buildScheduled() does to the result, in this order
};

struct InPlace {
  int output = 0;  ///< a node among the outputs
  int input = 0;   ///< the tensor input it is written into
};

struct Program {
  uint64_t seed = 0;
  Values values = Values::Exact;
  std::vector<Node> nodes = {};  ///< operands before their users
  std::vector<int> outputs = {};
  std::vector<InPlace> in_place = {};

  int64_t opCount() const;
};

/// Builds the fusion of a program node by node. Errors: Definition when a node is illegal.
class ProgramBuilder {
 public:
  ProgramBuilder();
  ~ProgramBuilder();
  void add(const Node& node);
  /// The value of a node, its sizes at the program's concrete sizes, and whether an axis of it may be repeated.
  Val* value(int node) const { return values_[static_cast<size_t>(node)]; }
  TensorView* tensor(int node) const { return asTensor(value(node)); }
  const std::vector<int64_t>& sizes(int node) const { return sizes_[static_cast<size_t>(node)]; }
  bool isRepeatable(int node, size_t axis) const;
  int count() const { return static_cast<int>(values_.size()); }
  std::unique_ptr<Fusion> take(const Program& program);
  const ScalarBindings& bindings() const { return bindings_; }

 private:
  TensorView* addTensorInput(const Node& node);
  TensorView* addOp(const Node& node);
  Scalar* extent(int64_t size) const;
  std::vector<Scalar*> shapeFor(const Node& node) const;

  std::unique_ptr<Fusion> fusion_;
  std::vector<Val*> values_ = {};
  std::vector<std::vector<int64_t>> sizes_ = {};
  std::map<int64_t, Scalar*> symbols_;
  ScalarBindings bindings_;
};

/// Errors: Definition when the program is illegal.
std::unique_ptr<Fusion> build(const Program& program);
/// The same with the nodes' loop steps done, node by node. Errors: Schedule, too, when a step is illegal.
std::unique_ptr<Fusion> buildScheduled(const Program& program);
/// One line per node: "%3 = sum(%2, axes=[1]) f32[7]". Never raises: an illegal program is printed without sizes.
std::string toString(const Program& program);
/// The program without nodes that no output needs.
Program withoutDead(const Program& program);

}  // namespace tokamak::generator
