#include "kernel/verify_kernel.h"

#include <algorithm>
#include <bit>
#include <functional>

#include <fmt/format.h>

#include "kernel/index_assumptions.h"
#include "kernel/kernel_walk.h"
#include "kernel/value_types.h"
#include "kernel/verify_clusters.h"
#include "symbolic/interval_analysis.h"

namespace tokamak::kir {

namespace {

/// Receives the sentences that say what is wrong.
using Report = std::function<void(std::string)>;
using Check = void (*)(const Kernel& kernel, const Report& report);

constexpr int64_t kWidestAccess = 16;

template <class Node>
void forEach(const Kernel& kernel, const std::function<void(const Node&)>& visit) {
  visitStatements(kernel.body, [&](const Statement& statement) {
    if (const auto* node = std::get_if<Node>(&statement.node)) visit(*node);
  });
}

// The scalars of a statement itself, not of its body.
std::vector<Scalar*> scalarsOf(const Statement& statement) {
  std::vector<Scalar*> scalars = indicesOf(statement);
  if (const auto* guard = std::get_if<If>(&statement.node)) scalars.push_back(guard->predicate);
  for (const Value* value : valuesOf(statement)) {
    if (value->scalar != nullptr) scalars.push_back(value->scalar);
  }
  return scalars;
}

// --- what the kernel is made of ---

void checkComplete(const Kernel& kernel, const Report& report) {
  const auto require = [&](const Val* val, std::string_view what) {
    if (val == nullptr)
      report(fmt::format("{} is missing", what));
    else if (&val->fusion() != kernel.fusion.get())
      report(fmt::format("{} belongs to another fusion", what));
  };
  for (const TensorView* tensor : kernel.tensors) require(tensor, "a tensor of the kernel");
  for (const Scalar* symbol : kernel.symbols) require(symbol, "a symbol of the kernel");
  for (const LaunchDimension& dimension : kernel.dimensions) {
    require(dimension.index, fmt::format("the index of {}", parallelTypeName(dimension.type)));
    require(dimension.extent, fmt::format("the extent of {}", parallelTypeName(dimension.type)));
  }
  const auto requireValue = [&](const auto& self, const ValueRef& value) -> void {
    if (value == nullptr) return report("a value is missing");
    if (value->kind == ValueKind::Variable && value->variable == nullptr) report("a variable is missing");
    if (value->kind == ValueKind::Load) require(value->tensor, "a tensor that is read");
    const bool has_scalar =
        value->kind == ValueKind::Load || value->kind == ValueKind::Number || value->kind == ValueKind::Choose;
    if (has_scalar) require(value->scalar, "a scalar of a value");
    for (const ValueRef& operand : value->operands) self(self, operand);
  };
  visitStatements(kernel.body, [&](const Statement& statement) {
    for (const Scalar* scalar : indicesOf(statement)) require(scalar, "an index, bound or size");
    if (const auto* loop = std::get_if<Loop>(&statement.node)) require(loop->index, "the index of a loop");
    if (const auto* guard = std::get_if<If>(&statement.node)) require(guard->predicate, "a guard");
    if (const auto* allocate = std::get_if<Allocate>(&statement.node)) require(allocate->tensor, "a buffer");
    if (const auto* store = std::get_if<Store>(&statement.node)) {
      require(store->tensor, "a tensor that is written");
      requireValue(requireValue, store->value);
    }
    if (const auto* copy = std::get_if<Copy>(&statement.node)) {
      require(copy->to, "a tensor that is written");
      require(copy->from, "a tensor that is read");
    }
    if (const auto* reduce = std::get_if<BlockReduce>(&statement.node)) require(reduce->tensor, "a combined tensor");
    if (const auto* grid = std::get_if<GridReduce>(&statement.node)) {
      for (const GridReduce::Value& value : grid->values) require(value.tensor, "a tensor that blocks combine");
    }
    if (const auto* let = std::get_if<Let>(&statement.node)) {
      if (let->variable == nullptr) report("a variable is missing");
      requireValue(requireValue, let->value);
      if ((let->index == nullptr) != (let->extent == nullptr)) report("a position has no index or no extent");
      if (let->index != nullptr) require(let->index, "the index of a position");
    }
  });
}

void checkGlobalTensors(const Kernel& kernel, const Report& report) {
  std::set<int64_t> labels;
  for (const TensorView* tensor : kernel.tensors) {
    if (!isGlobal(*tensor)) report(fmt::format("{} is a parameter, but not in global memory", nameOf(*tensor)));
    if (!labels.insert(tensor->label()).second) report(fmt::format("{} is a parameter twice", nameOf(*tensor)));
    const auto found = kernel.strides.find(tensor);
    if (found == kernel.strides.end() || found->second.size() != shapeOf(*tensor).size())
      report(fmt::format("{} has not one stride per axis", nameOf(*tensor)));
  }
  visitStatements(kernel.body, [&](const Statement& statement) {
    const auto* allocate = std::get_if<Allocate>(&statement.node);
    if (allocate == nullptr) return;
    if (allocate->tensor->label() < 0) report("a buffer has no number");
    const bool is_parameter = std::ranges::find(kernel.tensors, allocate->tensor) != kernel.tensors.end();
    if (!is_parameter && labels.contains(allocate->tensor->label()))
      report(fmt::format("{} is the number of a parameter and of a buffer", nameOf(*allocate->tensor)));
  });
}

void checkAlignment(const Kernel& kernel, const Report& report) {
  if (kernel.alignment < 1 || !std::has_single_bit(static_cast<uint64_t>(kernel.alignment)))
    report(fmt::format("the alignment {} is no power of two", kernel.alignment));
}

void checkDimensions(const Kernel& kernel, const Report& report) {
  std::set<ParallelType> types;
  const std::set<const Scalar*> symbols(kernel.symbols.begin(), kernel.symbols.end());
  for (const LaunchDimension& dimension : kernel.dimensions) {
    const std::string_view name = parallelTypeName(dimension.type);
    if (!isBlockType(dimension.type) && !isThreadType(dimension.type))
      report(fmt::format("{} is no dimension of a launch", name));
    const int64_t blocks = dimension.extent->constantInt().value_or(0);
    if (isClusterType(dimension.type) && (blocks < 1 || blocks > kMostClusterBlocks))
      report(fmt::format("a cluster of {} blocks; legal are 1 to {}", toString(*dimension.extent), kMostClusterBlocks));
    if (!types.insert(dimension.type).second) report(fmt::format("{} is launched twice", name));
    if (!isIntegerType(dimension.extent->dtype())) report(fmt::format("the extent of {} is no integer", name));
    if (const Scalar* other = symbolOutside(*dimension.extent, symbols))
      report(fmt::format("the extent of {} mentions {}, which is no symbol of the kernel", name, toString(*other)));
  }
}

// --- what is defined where ---

void checkOneIndex(const Kernel& kernel, const Report& report) {
  std::set<const Scalar*> seen;
  const auto define = [&](const Scalar& index, std::string_view what) {
    if (!index.isSymbol()) report(fmt::format("{} is {}, no symbol", what, toString(index)));
    if (!seen.insert(&index).second) report(fmt::format("{} {} is defined already", what, toString(index)));
  };
  for (const Scalar* symbol : kernel.symbols) define(*symbol, "the symbol");
  for (const LaunchDimension& dimension : kernel.dimensions) define(*dimension.index, "the index of a dimension");
  visitStatements(kernel.body, [&](const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement.node)) define(*loop->index, "the index of a loop");
    const auto* let = std::get_if<Let>(&statement.node);
    if (let != nullptr && let->index != nullptr) define(*let->index, "the index of a position");
  });
}

void checkSymbolsDefined(const Kernel& kernel, const Report& report) {
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    for (const Scalar* scalar : scalarsOf(statement)) {
      if (const Scalar* unknown = symbolOutside(*scalar, scope.symbols.values()))
        report(fmt::format("{} mentions {}, which is not defined there", toString(*scalar), toString(*unknown)));
    }
  });
}

void checkValuesDefined(const Kernel& kernel, const Report& report) {
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    for (const Value* value : valuesOf(statement)) {
      if (value->kind == ValueKind::Variable && !scope.variables.contains(value->variable.get()))
        report(fmt::format("{} is used where it is not defined", value->variable->name));
    }
  });
}

void checkOneName(const Kernel& kernel, const Report& report) {
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    const auto* let = std::get_if<Let>(&statement.node);
    if (let != nullptr && scope.names.contains(let->variable->name))
      report(fmt::format("{} is defined again where it is known", let->variable->name));
  });
}

void checkBuffersDefined(const Kernel& kernel, const Report& report) {
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    for (const TensorView* tensor : tensorsOf(statement)) {
      if (!scope.tensors.contains(tensor))
        report(fmt::format("{} is accessed where it is neither a parameter nor allocated", nameOf(*tensor)));
    }
  });
}

void checkAllocations(const Kernel& kernel, const Report& report) {
  const std::set<const Scalar*> symbols(kernel.symbols.begin(), kernel.symbols.end());
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    const auto* allocate = std::get_if<Allocate>(&statement.node);
    if (allocate == nullptr) return;
    const std::string name = nameOf(*allocate->tensor);
    const MemoryType memory = allocate->tensor->memoryType();
    if (memory != MemoryType::Local && memory != MemoryType::Shared)
      report(fmt::format("{} is allocated, but neither local nor shared", name));
    if (scope.tensors.contains(allocate->tensor)) report(fmt::format("{} is allocated where it is known", name));
    if (const Scalar* other = symbolOutside(*allocate->size, symbols))
      report(fmt::format("the size of {} depends on {}, which is no symbol of the kernel", name, toString(*other)));
  });
}

void checkInputsKept(const Kernel& kernel, const Report& report) {
  visitStatements(kernel.body, [&](const Statement& statement) {
    const TensorView* written = writtenBy(statement);
    if (written != nullptr && isGlobal(*written) && !kernel.fusion->isOutput(written))
      report(fmt::format("the input {} is written", nameOf(*written)));
  });
}

// --- types ---

// A part of the scalar that is logic on integers, or arithmetic on conditions; null if there is none.
const Scalar* illTyped(const Scalar& scalar) {
  const bool is_logic = scalar.op() == ScalarOp::And || scalar.op() == ScalarOp::Or || scalar.op() == ScalarOp::Not;
  const bool is_arithmetic = scalar.op() >= ScalarOp::Add && scalar.op() <= ScalarOp::Max;
  for (size_t i = 0; i < scalar.operands().size(); ++i) {
    const Scalar& operand = *scalar.operand(i);
    const bool is_condition = is_logic || (scalar.op() == ScalarOp::Select && i == 0);
    const bool is_bool = operand.dtype() == DataType::Bool;
    if ((is_condition && !is_bool) || (is_arithmetic && is_bool)) return &scalar;
    if (const Scalar* inside = illTyped(operand)) return inside;
  }
  return nullptr;
}

void checkIndexTypes(const Kernel& kernel, const Report& report) {
  const auto requireInteger = [&](const Scalar& scalar) {
    if (!isIntegerType(scalar.dtype()))
      report(
          fmt::format("{} is an index, bound or size, but of type {}", toString(scalar), dataTypeName(scalar.dtype())));
  };
  const auto requireBool = [&](const Scalar& scalar) {
    if (scalar.dtype() != DataType::Bool)
      report(fmt::format("{} is a condition, but of type {}", toString(scalar), dataTypeName(scalar.dtype())));
  };
  const auto requireTyped = [&](const Scalar& scalar) {
    if (const Scalar* wrong = illTyped(scalar))
      report(fmt::format("{} mixes conditions and numbers", toString(*wrong)));
  };
  for (const LaunchDimension& dimension : kernel.dimensions) requireTyped(*dimension.extent);
  visitStatements(kernel.body, [&](const Statement& statement) {
    for (const Scalar* scalar : scalarsOf(statement)) requireTyped(*scalar);
    for (const Scalar* scalar : indicesOf(statement)) requireInteger(*scalar);
    if (const auto* guard = std::get_if<If>(&statement.node)) requireBool(*guard->predicate);
    for (const Value* value : valuesOf(statement)) {
      if (value->kind == ValueKind::Load) requireInteger(*value->scalar);
      if (value->kind == ValueKind::Choose) requireBool(*value->scalar);
    }
  });
}

void checkValueTypes(const Kernel& kernel, const Report& report) {
  visitStatements(kernel.body, [&](const Statement& statement) {
    for (const Value* value : valuesOf(statement)) {
      if (auto problem = problemOfValue(*value)) report(std::move(*problem));
    }
  });
}

void checkStoreTypes(const Kernel& kernel, const Report& report) {
  const auto require = [&](std::string_view what, DataType to, DataType from) {
    if (to != from) report(fmt::format("{} is {}, but is given {}", what, dataTypeName(to), dataTypeName(from)));
  };
  visitStatements(kernel.body, [&](const Statement& statement) {
    if (const auto* let = std::get_if<Let>(&statement.node)) {
      require(let->variable->name, let->variable->dtype, let->value->dtype);
      if (let->index != nullptr && let->variable->dtype != DataType::I64)
        report(fmt::format("{} is a position, but {}", let->variable->name, dataTypeName(let->variable->dtype)));
    }
    if (const auto* store = std::get_if<Store>(&statement.node))
      require(nameOf(*store->tensor), store->tensor->dtype(), store->value->dtype);
    if (const auto* copy = std::get_if<Copy>(&statement.node))
      require(nameOf(*copy->to), copy->to->dtype(), copy->from->dtype());
  });
}

// --- loops, copies, what threads do together ---

void checkLoopTypes(const Kernel& kernel, const Report& report) {
  forEach<Loop>(kernel, [&](const Loop& loop) {
    const bool is_known =
        loop.type == ParallelType::Serial || loop.type == ParallelType::Unroll || loop.type == ParallelType::Vectorize;
    if (!is_known) report(fmt::format("a loop has the type {}", parallelTypeName(loop.type)));
  });
}

void checkLoopLengths(const Kernel& kernel, const Report& report) {
  forEach<Loop>(kernel, [&](const Loop& loop) {
    if (loop.type == ParallelType::Serial) return;
    if (!loop.start->constantInt() || !loop.stop->constantInt())
      report(fmt::format("a loop of type {} runs over {}..{}, no constants", parallelTypeName(loop.type),
                         toString(*loop.start), toString(*loop.stop)));
    if (loop.type == ParallelType::Vectorize && !loop.start->isConstantInt(0))
      report(fmt::format("a Vectorize loop starts at {}, not 0", toString(*loop.start)));
  });
}

void checkLoopStarts(const Kernel& kernel, const Report& report) {
  IntervalAnalysis analysis;
  // (A parsed kernel does not know which symbols are extents of tensors that are not stored.)
  for (const Scalar* symbol : kernel.symbols) {
    if (isIntegerType(symbol->dtype())) analysis.assume(*symbol, Interval::atLeast(0));
  }
  assumeIndices(kernel, analysis);
  forEach<Loop>(kernel, [&](const Loop& loop) {
    // (Passes know more than this analysis, so a start that may be negative is no violation.)
    if (analysis.of(*loop.start).upper < 0)
      report(fmt::format("a loop starts at {}, which is negative", toString(*loop.start)));
  });
}

void checkCopySides(const Kernel& kernel, const Report& report) {
  forEach<Copy>(kernel, [&](const Copy& copy) {
    const bool is_fill = isFill(*kernel.fusion, *copy.to, *copy.from);
    const bool has_local = copy.to->memoryType() == MemoryType::Local || copy.from->memoryType() == MemoryType::Local;
    if (!is_fill && (copy.is_async || !has_local))
      report(
          fmt::format("{} is copied from {}{}; one side has to be local, or the copy from an input to a shared tensor",
                      nameOf(*copy.to), nameOf(*copy.from), copy.is_async ? " asynchronously" : ""));
  });
}

void checkCopyWidths(const Kernel& kernel, const Report& report) {
  forEach<Copy>(kernel, [&](const Copy& copy) {
    const int64_t bytes = copy.count * sizeOf(copy.to->dtype());
    if (copy.count < 1 || bytes > kWidestAccess || !std::has_single_bit(static_cast<uint64_t>(bytes)))
      return report(fmt::format("{} elements of {}, {} bytes, are no access", copy.count, nameOf(*copy.to), bytes));
    if (copy.is_async && bytes < kLeastAsyncBytes)
      report(fmt::format("{} bytes of {} are copied asynchronously; legal are 4, 8 and 16", bytes, nameOf(*copy.to)));
    if ((isGlobal(*copy.to) || isGlobal(*copy.from)) && bytes > kernel.alignment)
      report(fmt::format("{} bytes of {} are moved at once, but buffers are aligned to {}", bytes, nameOf(*copy.to),
                         kernel.alignment));
  });
}

void checkCopyOffsets(const Kernel& kernel, const Report& report) {
  IntervalAnalysis analysis;
  assumeIndices(kernel, analysis);
  forEach<Copy>(kernel, [&](const Copy& copy) {
    for (Scalar* index : {copy.to_index, copy.from_index}) {
      if (!analysis.of(*index).isDivisibleBy(copy.count))
        report(fmt::format("{} elements are moved at once at {}, which is not known to be a multiple of that",
                           copy.count, toString(*index)));
    }
  });
}

void checkBlockReductions(const Kernel& kernel, const Report& report) {
  forEach<BlockReduce>(kernel, [&](const BlockReduce& reduce) {
    const std::string name = nameOf(*reduce.tensor);
    if (reduce.tensor->memoryType() != MemoryType::Local) report(fmt::format("{} is combined, but not local", name));
    const DataType dtype = reduce.tensor->dtype();
    const auto types = functionTypes(combiningFunction(reduce.kind), dtype);
    if (!types || types->operand != dtype)
      report(fmt::format("{} of {} is not accumulated in this type", name, dataTypeName(dtype)));
    if (reduce.count < 1) report(fmt::format("{} elements of {} are combined", reduce.count, name));
    if (reduce.dimensions.empty()) report(fmt::format("{} is combined over no dimension", name));
    std::set<ParallelType> seen;
    for (const ParallelType type : reduce.dimensions) {
      if (isGridType(type) || kernel.dimension(type) == nullptr)
        report(
            fmt::format("{} is combined over {}, which neither block nor cluster has", name, parallelTypeName(type)));
      if (!seen.insert(type).second) report(fmt::format("{} is combined over {} twice", name, parallelTypeName(type)));
    }
  });
}

void checkGridReductions(const Kernel& kernel, const Report& report) {
  const auto requireDimensions = [&](const std::vector<ParallelType>& types, bool (*is_legal)(ParallelType)) {
    std::set<ParallelType> seen;
    for (const ParallelType type : types) {
      if (!is_legal(type) || kernel.dimension(type) == nullptr || !seen.insert(type).second)
        report(fmt::format("blocks are combined with {}, which is no such dimension of the launch, or named twice",
                           parallelTypeName(type)));
    }
  };
  forEach<GridReduce>(kernel, [&](const GridReduce& grid) {
    if (&grid != gridReduceOf(kernel)) report("blocks are combined elsewhere than in the last statement of a kernel");
    if (grid.dimensions.empty() || grid.values.empty()) report("blocks are combined over no dimension, or no values");
    requireDimensions(grid.dimensions, [](ParallelType type) { return isGridType(type); });
    for (const GridReduce::Value& value : grid.values) {
      const std::string name = nameOf(*value.tensor);
      if (value.tensor->memoryType() != MemoryType::Local || value.count < 1)
        report(fmt::format("{} elements of {} are combined across blocks, or it is not local", value.count, name));
      const auto types = functionTypes(combiningFunction(value.kind), value.tensor->dtype());
      if (!types || types->operand != value.tensor->dtype())
        report(fmt::format("{} of {} is not accumulated in this type", name, dataTypeName(value.tensor->dtype())));
      requireDimensions(value.spread, [](ParallelType type) { return isThreadType(type); });
    }
  });
}

void checkTogether(const Kernel& kernel, const Report& report) {
  walkKernel(kernel, [&](const Statement& statement, const Scope& scope) {
    if (scope.is_uniform) return;
    if (std::holds_alternative<Barrier>(statement.node)) report("a barrier stands where some threads may not come");
    if (const auto* reduce = std::get_if<BlockReduce>(&statement.node))
      report(fmt::format("{} is combined where some threads may not come", nameOf(*reduce->tensor)));
    const auto* allocate = std::get_if<Allocate>(&statement.node);
    if (allocate != nullptr && allocate->tensor->memoryType() == MemoryType::Shared)
      report(fmt::format("the shared {} is allocated where some threads may not come", nameOf(*allocate->tensor)));
  });
}

struct Row {
  std::string_view name;
  std::string_view sentence;
  Check check;
};

constexpr Row kInvariants[] = {
    {"complete", "no part is missing, and all tensors and scalars belong to the kernel's fusion", checkComplete},
    {"global-tensors", "parameters are in global memory, each once, with a stride per axis; numbers of tensors differ",
     checkGlobalTensors},
    {"alignment", "the alignment of the parameters is a power of two", checkAlignment},
    {"dimensions", "each dimension is launched once, over an extent known at launch", checkDimensions},
    {"one-index", "symbols, dimensions, loops and positions each have an index of their own", checkOneIndex},
    {"symbols-defined",
     "a statement mentions symbols of the kernel and indices of dimensions, loops around it and "
     "positions before it",
     checkSymbolsDefined},
    {"values-defined", "a value is used after its Let, in the body of the Let", checkValuesDefined},
    {"one-name", "a value's name is not given again where it is known", checkOneName},
    {"buffers-defined", "a tensor is accessed that is a parameter or allocated before, in a body around the access",
     checkBuffersDefined},
    {"allocations", "local and shared tensors are allocated, not twice in one place, in sizes known at launch",
     checkAllocations},
    {"inputs-kept", "inputs are not written", checkInputsKept},
    {"index-types",
     "indices, bounds and sizes are integers, conditions bool; logic is done on conditions, arithmetic on numbers",
     checkIndexTypes},
    {"value-types", "functions get and give their types, casts change the type, choices keep it", checkValueTypes},
    {"store-types", "what is stored, named or copied has the type of its destination; positions are i64",
     checkStoreTypes},
    {"loop-types", "loops are Serial, Unroll or Vectorize", checkLoopTypes},
    {"loop-lengths", "Unroll and Vectorize loops have constant bounds, Vectorize loops start at 0", checkLoopLengths},
    {"loop-starts", "loops start at 0 or later", checkLoopStarts},
    {"copy-sides",
     "one side of a Copy is local, or it goes from an input to a shared tensor; an asynchronous one does that",
     checkCopySides},
    {"copy-widths",
     "a Copy moves a power of two of at most 16 bytes (an asynchronous one of at least 4), and of parameters not more "
     "than their alignment",
     checkCopyWidths},
    {"copy-offsets", "both offsets of a Copy are proved multiples of its count", checkCopyOffsets},
    {"block-reductions", "local tensors are combined, over dimensions that the block or cluster has, each once",
     checkBlockReductions},
    {"grid-reductions", "blocks are combined once, last, over dimensions of the grid; their values are local",
     checkGridReductions},
    {"together", "barriers, combining and shared allocations stand where all threads of a block come together",
     checkTogether},
    {"cluster-together",
     "halves of barriers of a cluster and combining across it stand where all threads of a cluster come together",
     checkClusterTogether},
    {"cluster-barriers",
     "halves of barriers of a cluster take turns, an arrival first; loops and guards leave that as it is",
     checkClusterBarriers},
    {"cluster-stores", "what is written into another block is shared memory, of a block that the cluster has",
     checkClusterStores},
};

}  // namespace

std::vector<Invariant> kernelInvariants() {
  std::vector<Invariant> invariants;
  for (const Row& row : kInvariants) invariants.push_back({row.name, row.sentence});
  return invariants;
}

std::vector<Violation> violationsOf(const Kernel& kernel) {
  std::vector<Violation> violations;
  for (const Row& row : kInvariants) {
    row.check(kernel,
              [&](std::string message) { violations.push_back({row.name, ErrorCode::Internal, std::move(message)}); });
    if (!violations.empty()) break;
  }
  return violations;
}

void verifyKernel(const Kernel& kernel, ErrorCode code) {
  const std::vector<Violation> violations = violationsOf(kernel);
  if (violations.empty()) return;
  raise(TK_SITE, code, "kernel {} breaks {}: {}", kernel.name, violations[0].invariant, violations[0].message);
}

}  // namespace tokamak::kir
