// Kernel: the kernel IR, loops, guards and stores over buffers. The interpreter runs it, and codegen prints it as
// source (docs/kernels.md).
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
/// Immutable and shared: a pass returns statements that it does not change as they are.
using StatementRef = std::shared_ptr<const Statement>;
using Statements = std::vector<StatementRef>;

/// Runs the body for index = start, start + 1, ... < stop, start >= 0. Each loop has an index of its own. The type is
/// Serial, Unroll or Vectorize. In a Vectorize loop each access is invariant or unit-stride.
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

/// Allocates a buffer of `size` undefined elements for a Local or Shared tensor. It lives until the end of the body.
struct Allocate {
  const TensorView* tensor = nullptr;
  Scalar* size = nullptr;
};

/// Names a value. With an `index` the value is an i64 in [0, `extent`) (unless the extent is 0), and later scalars use
/// the symbol `index` for it.
struct Let {
  VariableRef variable;
  ValueRef value;
  Scalar* index = nullptr;
  Scalar* extent = nullptr;
};

/// Stores to element `index` of the tensor's buffer. With a `block` (an index along CIDx) to the Shared buffer of that
/// block of the cluster.
struct Store {
  const TensorView* tensor = nullptr;
  Scalar* index = nullptr;
  ValueRef value;
  Scalar* block = nullptr;
};

/// Copies `count` neighbouring elements in one access: a power of two of bytes, at most 16, at offsets that are
/// multiples of count. One tensor is Local, or the copy goes from an input to a Shared tensor.
/// The latter may be asynchronous with at least 4 bytes: then the elements are there after a wait of the same thread
/// (CopyGroup), and nothing may access them before.
struct Copy {
  const TensorView* to = nullptr;
  Scalar* to_index = nullptr;
  const TensorView* from = nullptr;
  Scalar* from_index = nullptr;
  int64_t count = 1;
  bool is_async = false;
};

/// Commits the thread's asynchronous copies since the last commit as a group (maybe empty), or waits until at most
/// `pending` of its groups, the latest ones, are incomplete.
struct CopyGroup {
  enum class Step : uint8_t { Commit, Wait };
  Step step = Step::Commit;
  int64_t pending = 0;
};

/// Reduces elements index, ..., index + count - 1 of a Local tensor over the threads of the block along `dimensions`
/// (TIDx, ...), and over the cluster's blocks if CIDx is one of these. Every thread has the results. All threads of the
/// block, or cluster, have to reach it.
struct BlockReduce {
  const TensorView* tensor = nullptr;
  Scalar* index = nullptr;
  int64_t count = 1;
  ReductionKind kind = ReductionKind::Sum;
  std::vector<ParallelType> dimensions;
};

/// Orders accesses of the block's threads before it and those after it. All threads of the block have to reach it.
struct Barrier {};

/// Half of a split barrier of a cluster's threads: accesses before all arrivals are ordered before those after a wait.
/// Arrivals and waits alternate, an arrival first. All threads of the cluster have to reach it. Other blocks may store
/// to a block's buffers after it has arrived once.
struct ClusterBarrier {
  enum class Half : uint8_t { Arrive, Wait };
  Half half = Half::Arrive;
};

/// Reduces values over the blocks along `dimensions` of the grid (BIDx, ...), in a fixed order. The last block to
/// arrive has the results in every thread, and runs the body; the others end.
/// It is in no loop or guard, and all threads reach it. A kernel has one at most, as its last statement.
struct GridReduce {
  struct Value {
    const TensorView* tensor = nullptr;  ///< Local
    Scalar* index = nullptr;             ///< of the first element
    int64_t count = 1;
    ReductionKind kind = ReductionKind::Sum;
    std::vector<ParallelType> spread;  ///< block dimensions along which values differ; along others they are equal
  };
  std::vector<Value> values;
  std::vector<ParallelType> dimensions;
  Statements body;
};

struct Statement {
  std::variant<Loop, If, Allocate, Let, Store, Copy, CopyGroup, BlockReduce, GridReduce, Barrier, ClusterBarrier> node;
};

template <class Node>
StatementRef statement(Node node) {
  return std::make_shared<const Statement>(Statement{std::move(node)});
}

/// CIDx: the block within its cluster.
constexpr bool isClusterType(ParallelType type) { return type == ParallelType::CIDx; }
/// BIDx to BIDz: the block, or the cluster, within the grid.
constexpr bool isGridType(ParallelType type) { return type >= ParallelType::BIDx && type <= ParallelType::BIDz; }
/// Whether the index is the same for all threads of a block.
constexpr bool isBlockType(ParallelType type) { return isClusterType(type) || isGridType(type); }
constexpr bool isThreadType(ParallelType type) { return type >= ParallelType::TIDx && type <= ParallelType::TIDz; }

/// A dimension of the grid, of a cluster or of a block.
struct LaunchDimension {
  ParallelType type = ParallelType::BIDx;
  Scalar* index = nullptr;
  Scalar* extent = nullptr;
};

struct Kernel {
  std::string name;
  std::shared_ptr<Fusion> fusion;          ///< owns all nodes; scheduled
  std::vector<const TensorView*> tensors;  ///< in global memory: the fusion's inputs, then its outputs
  std::vector<Scalar*> symbols;            ///< given at launch: extents, strides, scalar inputs
  /// The number of leading symbols that are parameters: no index, bound or predicate depends on them.
  size_t parameter_count = 0;
  std::vector<LaunchDimension> dimensions;  ///< those in use
  int64_t alignment = 1;                    ///< of the addresses of the global tensors, in bytes
  /// Strides in elements of the global tensors, per axis of the visible shape; 0 for broadcast axes.
  std::map<const TensorView*, std::vector<Scalar*>, ById> strides;
  /// Output -> the input that it updates in place.
  std::map<const TensorView*, const TensorView*, ById> updates = {};
  Statements body;

  /// The output that updates the input, or null.
  const TensorView* updateOf(const TensorView& input) const;
  const LaunchDimension* dimension(ParallelType type) const;
  /// The number of blocks of a cluster; 1 without clusters.
  int64_t clusterBlocks() const;
  /// Whether blocks have threads. (On the processor a block is a task.)
  bool hasThreads() const;
};

/// The text: names of tensors and symbols are the fusion's, loop indices are numbered in order. Equal text is equality.
std::string printKernel(const Kernel& kernel);

/// Calls `visit(const Statement&)` for every statement, outer ones first.
template <class Visit>
void visitStatements(const Statements& statements, const Visit& visit) {
  for (const StatementRef& statement : statements) {
    visit(*statement);
    if (const auto* loop = std::get_if<Loop>(&statement->node)) visitStatements(loop->body, visit);
    if (const auto* guard = std::get_if<If>(&statement->node)) visitStatements(guard->body, visit);
    if (const auto* grid = std::get_if<GridReduce>(&statement->node)) visitStatements(grid->body, visit);
  }
}

/// The kernel's GridReduce, or null.
const GridReduce* gridReduceOf(const Kernel& kernel);

/// Whether the tensor is in global memory. (Local buffers are a thread's, Shared ones a block's.)
inline bool isGlobal(const TensorView& tensor) { return tensor.memoryType() == MemoryType::Global; }

/// Whether a copy between these tensors goes from an input to shared memory.
inline bool isFill(const Fusion& fusion, const TensorView& to, const TensorView& from) {
  return to.memoryType() == MemoryType::Shared && isGlobal(from) && !fusion.isOutput(&from);
}
/// The fewest bytes of an asynchronous Copy.
inline constexpr int64_t kLeastAsyncBytes = 4;

}  // namespace tokamak::kir
