// Kernel: a fusion lowered to loops, guards and stores over buffers; the one form that the interpreter runs and that
// source text is printed from. docs/kernels.md tells how it comes about.
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

/// Runs the body for index = start, start + 1, ... < stop, with start >= 0 and each loop an index of its own. The type
/// is Serial, Unroll or Vectorize. In a Vectorize loop each access to memory is at an index that does not depend on the
/// index, or at one plus the index.
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

/// Makes a buffer of `size` elements for a Local or Shared tensor, undefined at first, until the end of the body it
/// stands in.
struct Allocate {
  const TensorView* tensor = nullptr;
  Scalar* size = nullptr;
};

/// With an `index` the value is an i64 in [0, `extent`) (or the extent is 0), and this symbol stands for it in what
/// follows.
struct Let {
  VariableRef variable;
  ValueRef value;
  Scalar* index = nullptr;
  Scalar* extent = nullptr;
};

/// Writes element `index` of the tensor's buffer; of a Shared one with a `block` in the buffer of that block of the
/// cluster (an index along CIDx).
struct Store {
  const TensorView* tensor = nullptr;
  Scalar* index = nullptr;
  ValueRef value;
  Scalar* block = nullptr;
};

/// Moves `count` neighbouring elements in one access: count * size of an element is a power of two of at most 16 bytes,
/// both offsets are multiples of count, and one of the tensors is Local, or it goes from an input to a Shared tensor.
/// An asynchronous one, which does that with 4 bytes at least, begins here; its elements are there for the thread once
/// it has waited for the copy (CopyGroup), and until then nobody touches them.
struct Copy {
  const TensorView* to = nullptr;
  Scalar* to_index = nullptr;
  const TensorView* from = nullptr;
  Scalar* from_index = nullptr;
  int64_t count = 1;
  bool is_async = false;
};

/// A thread makes a group of the asynchronous copies that it has begun since the last one (maybe none), or waits until
/// at most `pending` of its groups are under way, those that it made last.
struct CopyGroup {
  enum class Step : uint8_t { Commit, Wait };
  Step step = Step::Commit;
  int64_t pending = 0;
};

/// Elements index, ..., index + count - 1 of a Local tensor become, in every thread, the combination of their values in
/// the threads of the block that differ along `dimensions` (TIDx, ...), and of the blocks of the cluster where CIDx is
/// one of these. Reached by all threads of the block, or cluster.
struct BlockReduce {
  const TensorView* tensor = nullptr;
  Scalar* index = nullptr;
  int64_t count = 1;
  ReductionKind kind = ReductionKind::Sum;
  std::vector<ParallelType> dimensions;
};

/// Orders all accesses of the block's threads before it before those after it. Reached by all threads of the block.
struct Barrier {};

/// A half of a barrier between the threads of all blocks of a cluster: what they did before they arrived is ordered
/// before what any of them does after it has waited. Halves take turns, an arrival first. Reached by all threads of the
/// cluster. A block's buffers may be written by others after it has arrived once.
struct ClusterBarrier {
  enum class Half : uint8_t { Arrive, Wait };
  Half half = Half::Arrive;
};

/// Blocks that differ along `dimensions` of the grid (BIDx, ...) give their values; the last of them to get here has,
/// in every thread, the combinations of all, in an order that is always the same, and runs the body; the others are
/// done. Stands in no loop or guard and is reached by all threads. A kernel has one at most, its last statement.
struct GridReduce {
  struct Value {
    const TensorView* tensor = nullptr;  ///< Local
    Scalar* index = nullptr;             ///< of the first element
    int64_t count = 1;
    ReductionKind kind = ReductionKind::Sum;
    std::vector<ParallelType>
        spread;  ///< dimensions of a block whose threads have different values; along the others they are equal
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

/// Which block of its cluster.
constexpr bool isClusterType(ParallelType type) { return type == ParallelType::CIDx; }
/// Which block, or cluster of blocks.
constexpr bool isGridType(ParallelType type) { return type >= ParallelType::BIDx && type <= ParallelType::BIDz; }
/// The same for all threads of a block.
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
  /// So many of the first symbols only give values to elements: no index, bound or predicate depends on them.
  size_t parameter_count = 0;
  std::vector<LaunchDimension> dimensions;  ///< those in use
  int64_t alignment = 1;                    ///< of the addresses of the global tensors, in bytes
  /// Strides in elements of the global tensors, per axis of the visible shape; 0 for broadcast axes.
  std::map<const TensorView*, std::vector<Scalar*>, ById> strides;
  /// Outputs that lie in the memory of inputs, which they update: to these inputs.
  std::map<const TensorView*, const TensorView*, ById> updates = {};
  Statements body;

  /// The output that updates the input, or null.
  const TensorView* updateOf(const TensorView& input) const;
  const LaunchDimension* dimension(ParallelType type) const;
  /// How many blocks a cluster has; 1 where there are no clusters.
  int64_t clusterBlocks() const;
  /// Whether its blocks have threads: on the processor a block is a task.
  bool hasThreads() const;
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
    if (const auto* grid = std::get_if<GridReduce>(&statement->node)) visitStatements(grid->body, visit);
  }
}

/// The statement of the kernel that combines blocks, or null.
const GridReduce* gridReduceOf(const Kernel& kernel);

/// The element index of a block's buffer is private to each thread (Local) or the block's (Shared).
inline bool isGlobal(const TensorView& tensor) { return tensor.memoryType() == MemoryType::Global; }

/// Whether what is copied from the one tensor to the other goes from an input to shared memory.
inline bool isFill(const Fusion& fusion, const TensorView& to, const TensorView& from) {
  return to.memoryType() == MemoryType::Shared && isGlobal(from) && !fusion.isOutput(&from);
}
/// Of an asynchronous Copy.
inline constexpr int64_t kLeastAsyncBytes = 4;

}  // namespace tokamak::kir
