// ElementProgram: an element rule bound to sizes and strides: a tree of typed loops over merged dimensions, which runs
// row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/element.h"
#include "device/device.h"
#include "device/work.h"
#include "loops/typed_loops.h"
#include "runtime/cpu/index_lines.h"
#include "runtime/cpu/linear_index.h"

namespace tokamak {

/// The most elements per call of a typed loop that stores to a buffer.
inline constexpr int64_t kChunk = 1024;
inline constexpr size_t kMaxDimensions = 32;

/// Elements of an operand, at address + size * (constant + sum of strides * dimensions + sum of atoms + sum of
/// gathers).
struct OperandAccess {
  size_t operand = 0;         ///< position among the addresses
  bool is_parameter = false;  ///< its one element is in place of an operand's address
  int64_t size = 4;           ///< bytes of an element
  int64_t constant = 0;
  std::vector<int64_t> strides;                    ///< one per dimension
  std::vector<std::pair<int64_t, int32_t>> atoms;  ///< a factor and a line
  /// A factor and the number of a position: an index that is read from memory (Indexed).
  std::vector<std::pair<int64_t, int32_t>> gathers;
  bool is_in_parts = false;  ///< parts of a row: where a predicate holds, or from one position
  int32_t stage = -1;        ///< number of the transposed tile it is read through, or -1
};

struct ElementStep {
  ElementKind kind = ElementKind::Value;
  DataType dtype = DataType::F32;
  std::vector<size_t> operands;  ///< steps
  size_t access = 0;             ///< of a Load
  FunctionLoop function = nullptr;
  CastLoop cast = nullptr;
  int32_t line = -1;           ///< of a Choose the predicate; of a Value the number, unless it is constant
  int32_t position = -1;       ///< of an Indexed: the number that accesses have its index by
  std::vector<char> constant;  ///< of a constant Value: kChunk elements
  const ReductionLoops* reduction = nullptr;
  int32_t buffer = -1;  ///< kChunk * 8 bytes of the scratch memory; -1: its user gives the destination
};

struct Dimension {
  int64_t extent = 1;
  bool is_reduced = false;
};

struct ElementProgram {
  std::vector<Dimension> dimensions;  ///< those of the result, then the reduced ones
  size_t result_dimensions = 0;
  std::vector<ElementStep> steps;  ///< in topological order; the last one computes the result
  std::vector<OperandAccess> accesses;
  OperandAccess result;
  IndexLines lines;
  bool is_empty = false;  ///< the result has no elements
  int32_t buffers = 0;
  int32_t stages = 0;
  int32_t positions = 0;

  size_t row = 0;            ///< the result's dimension that loops run along
  int32_t tile = -1;         ///< the result's dimension that transposed operands are dense along, or -1
  int32_t reduced_row = -1;  ///< the reduced dimension that loops run along, or -1: they run along `row`
};

/// `operands`: the tensor operands of `expr` in order of its inputs, then its outputs. `parameters`: scalars whose
/// values come with the addresses. Errors: Bind when sizes do not fit.
ElementProgram makeElementProgram(const Expr& expr, std::span<const OperandDesc> operands,
                                  const ScalarBindings& bindings, std::span<const int64_t> coordinate_offsets,
                                  std::span<const Scalar* const> parameters);

}  // namespace tokamak
