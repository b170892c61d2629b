// KernelChoice: what the code of a kernel depends on besides its program and target. Equal choices share code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/kernel_target.h"
#include "device/work.h"
#include "heuristics/schedule_parameters.h"
#include "ir/fusion.h"

namespace tokamak {

/// What a kernel knows of the size that a symbol stands for.
struct ExtentChoice {
  enum class Form : uint8_t {
    Any,
    Constant,  ///< it is `value`
    Multiple,  ///< it is a multiple of `value`
  };
  Form form = Form::Any;
  int64_t value = 0;

  bool operator==(const ExtentChoice&) const = default;
};

/// How an operand lies in memory, by the axes of its visible shape.
struct LayoutChoice {
  std::vector<size_t> order;    ///< from the slowest to the fastest; empty: as they stand
  std::vector<bool> is_dense;   ///< with the next one in memory
  std::vector<bool> is_stored;  ///< an expanded axis that the memory has every element of; empty: none is

  bool operator==(const LayoutChoice&) const = default;
};

/// What is known before a schedule is chosen.
struct KernelShape {
  std::vector<ExtentChoice> extents;  ///< per symbol of the program
  std::vector<LayoutChoice> layouts;  ///< per operand
  int64_t alignment = 1;              ///< of all operands, in bytes; at most 16

  bool operator==(const KernelShape&) const = default;
};

struct KernelChoice {
  KernelShape shape;
  std::optional<ScheduleParameters> parameters;  ///< none where the program has a schedule
  DataType index_type = DataType::I64;

  bool operator==(const KernelChoice&) const = default;
};

/// What kernels know of extents.
enum class ExtentPolicy : uint8_t {
  Open,       ///< nothing: the kernel fits all sizes
  Constants,  ///< all but the outermost are constants, unless everything goes element by element
  /// As Constants; and those that are not constants, but an innermost axis, have known divisors: accesses are wide.
  Divisors,
};

/// What kernels of the target know.
inline ExtentPolicy policyFor(const KernelTarget& target) {
  return target.kind == TargetKind::Cuda ? ExtentPolicy::Divisors : ExtentPolicy::Constants;
}

/// Chooses the shapes of one program's kernels.
class ShapeChooser {
 public:
  /// `symbols`: in the order that KernelShape::extents has.
  ShapeChooser(const Fusion& program, std::vector<Scalar*> symbols, ExtentPolicy policy);

  /// Whether somebody said how the kernel is to be made; splits alone are what is left of streams.
  bool isScheduled() const { return is_scheduled_; }
  const std::vector<Scalar*>& symbols() const { return symbols_; }
  /// The program's tensor inputs, then its outputs.
  const std::vector<TensorView*>& tensors() const { return tensors_; }

  /// `operands`: as tensors(); `values`: as symbols(), nothing for those that are not known.
  /// `is_open`: per symbol, whether it is no constant though it could be; empty: none is.
  KernelShape choose(std::span<const OperandDesc> operands, std::span<const std::optional<ScalarValue>> values,
                     const std::vector<bool>& is_open = {}) const;
  /// Whether the symbol with this number becomes a constant.
  bool mayBeConstant(size_t symbol) const { return roles_[symbol] == Role::Constant; }

  /// "i2 = 4096, T0 dense, T1 (1, 0) dense along 0, alignment 16, vector 8, ..., 32-bit indices"
  std::string describe(const KernelChoice& choice) const;
  /// What is different, a sentence each: "extent i2 was 4096, is 4104", "T0 is not dense along axis 1", "alignment 2
  /// instead of 16".
  std::vector<std::string> differences(const KernelChoice& known, const KernelChoice& asked) const;

 private:
  enum class Role : uint8_t { Any, Constant, Multiple };
  std::string nameOfTensor(size_t tensor) const;
  static ExtentChoice extentOf(Role role, const std::optional<ScalarValue>& value);
  LayoutChoice layoutOf(size_t tensor, const OperandDesc& operand) const;

  std::vector<Scalar*> symbols_;
  std::vector<Role> roles_;
  Role opened_;  ///< what a constant is when it is none
  std::vector<TensorView*> tensors_;
  size_t input_count_ = 0;
  bool is_scheduled_ = false;
};

}  // namespace tokamak
