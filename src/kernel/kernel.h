// Kernel: a fusion lowered to loops, guards and stores over buffers; the one form that the interpreter runs and that source
// text is printed from. docs/kernels.md tells how it comes about.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/fusion.h"
#include "ir/ops/math/reduction_op.h"
#include "kernel/value.h"

namespace tokamak::kir {

struct Statement;
/// Shared, never changed: a pass that changes nothing gives the same statement.
using StatementRef = std::shared_ptr<const Statement>;
using Statements = std::vector<StatementRef>;

/// Runs the body for index = start, start + 1, ... < stop, with start >= 0 and each loop an index of its own. The type is Serial, Unroll or Vectorize. In a Vectorize loop each
/// access to memory is at a place that does not depend on the index, or at one plus the index.
struct Loop {
  Scalar* index = nullptr;
  Scalar* start = nullptr;
  Scalar* stop = nullptr;
  ParallelType type = ParallelType::Serial;
  Statements body;
};

struct If {
  Scalar* predicate = nullptr;
  Statements body;
};

/// Makes a buffer of `size` elements for a Local or Shared tensor, undefined at first, until the end of the body it stands in.
struct Allocate {
  const TensorView* tensor = nullptr;
  Scalar* size = nullptr;
};

struct Let {
  VariableRef variable;
  ValueRef value;
};

/// Writes element `index` of the tensor's buffer.
struct Store {
  const TensorView* tensor = nullptr;
  Scalar* index = nullptr;
  ValueRef value;
};

/// Element `index` of a Local tensor becomes, in every thread, the combination of its values in the threads of the block that differ
/// along `dimensions` (TIDx, ...). Reached by all threads of the block.
struct Combine {
  const TensorView* tensor = nullptr;
  Scalar* index = nullptr;
  ReductionKind kind = ReductionKind::Sum;
  std::vector<ParallelType> dimensions;
};

/// Orders all accesses of the block's threads before it before those after it. Reached by all threads of the block.
struct Barrier {};

struct Statement {
  std::variant<Loop, If, Allocate, Let, Store, Combine, Barrier> node;
};

template <class Node>
StatementRef statement(Node node) {
  return std::make_shared<const Statement>(Statement{std::move(node)});
}

/// BIDx.. and TIDx..
constexpr bool isBlockType(ParallelType type) { return type >= ParallelType::BIDx && type <= ParallelType::BIDz; }
constexpr bool isThreadType(ParallelType type) { return type >= ParallelType::TIDx && type <= ParallelType::TIDz; }

/// A dimension of the grid or of a block.
struct LaunchDimension {
  ParallelType type = ParallelType::BIDx;
  Scalar* index = nullptr;
  Scalar* extent = nullptr;
};

struct Kernel {
  std::string name;
  std::shared_ptr<Fusion> fusion;           ///< owns all nodes; scheduled
  std::vector<const TensorView*> tensors;   ///< in global memory: the fusion's inputs, then its outputs
  std::vector<Scalar*> symbols;             ///< given at launch: extents, strides, scalar inputs
  std::vector<LaunchDimension> dimensions;  ///< those in use
  /// Strides in elements of the global tensors, per axis of the visible shape; 0 for broadcast axes.
  std::map<const TensorView*, std::vector<Scalar*>, ById> strides;
  Statements body;

  const LaunchDimension* dimension(ParallelType type) const;
};

/// The text: names of tensors and symbols are the fusion's, loop indices are numbered in order. Equal text is equality.
std::string printKernel(const Kernel& kernel);

/// Calls `visit(const Statement&)` for every statement, those inside after those around them.
template <class Visit>
void visitStatements(const Statements& statements, const Visit& visit) {
  for (const StatementRef& statement : statements) {
    visit(*statement);
    if (const auto* loop = std::get_if<Loop>(&statement->node)) visitStatements(loop->body, visit);
    if (const auto* guard = std::get_if<If>(&statement->node)) visitStatements(guard->body, visit);
  }
}

/// The element index of a block's buffer is private to each thread (Local) or the block's (Shared).
inline bool isGlobal(const TensorView& tensor) { return tensor.memoryType() == MemoryType::Global; }

}  // namespace tokamak::kir
