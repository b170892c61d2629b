// Work: an op or a kernel, made ready for one device, and what it is made from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/profiler_range.h"
#include "symbolic/data_type.h"
#include "symbolic/scalar.h"

namespace tokamak {

class Compilation;  // device/compilation.h
class Expr;
class KernelMaker;  // device/kernel_maker.h
namespace kir {
struct Kernel;  // kernel/kernel.h
}

/// One operand of a piece of work, with its sizes and strides (in elements, logical order) as numbers.
struct OperandDesc {
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t alignment = 1;  ///< the address is a multiple of this many bytes
};

/// A piece of work made ready for one device: launched any number of times with different addresses.
/// Thread safety: does not change once it is prepared, as far as its users see: any threads may launch it side by side.
class Work {
 public:
  virtual ~Work() = default;
  /// What a timeline calls this work; the text lives as long as the work.
  virtual std::string_view name() const { return "work"; }
  /// The name as profilers know it, who are told it once.
  RangeName rangeName() const {
    RangeName known = range_name_.load(std::memory_order_acquire);
    if (!known.isMade()) [[unlikely]]
      range_name_.store(known = RangeName(name()), std::memory_order_release);
    return known;
  }
  /// Compilers may still run when a work has been prepared: returns when none has to be waited for in a launch. Errors:
  /// those of the compilation.
  virtual void waitUntilReady() const {}
  /// Appends what waitUntilReady() would wait for and its caller may give up, or null.
  virtual void addCompilations(std::vector<std::shared_ptr<Compilation>>& /*compilations*/) const {}
  /// What it takes on the host's heap, by estimate, without the code that works share.
  virtual int64_t hostBytes() const { return 0; }
  /// What a profile calls it: its name, and the statement that it was recorded for.
  std::string_view label() const { return label_.empty() ? name() : label_; }
  /// Of the operands that it was recorded with, each element once; 0 where it was not recorded.
  int64_t operandBytes() const { return operand_bytes_; }
  /// By who has it prepared, before others use it.
  void noteRecorded(std::string label, int64_t operand_bytes) const {
    label_ = std::move(label);
    operand_bytes_ = operand_bytes;
  }

 private:
  mutable std::string label_;
  mutable int64_t operand_bytes_ = 0;
  mutable std::atomic<RangeName> range_name_{RangeName()};
};

/// One op to be run by itself. `operands` describes its tensor operands in order, then its tensor results, each by its
/// visible shape; a result's axis of stride 0 has size 1.
struct WorkRequest {
  const Expr& expr;
  std::span<const OperandDesc> operands;
  const ScalarBindings& bindings;  ///< of every symbol that the op's extents and attributes mention
  /// Scalars that only give values to elements and may have other ones in every launch: behind the addresses come
  /// theirs, each as parameterBits().
  std::span<const Scalar* const> parameters = {};
  /// How many works like this one may run at a time, on a stream each: one that fills the device alone keeps the others
  /// waiting.
  int64_t concurrency = 1;
  /// Of a LaunchKernel: what it launches.
  std::shared_ptr<const kir::Kernel> kernel = nullptr;
  /// Who is asked for kernels; null: the device's own.
  KernelMaker* kernels = nullptr;
};

/// The 8 bytes of a launch that stand for a parameter: a double for a scalar of a floating type, a bool for one that is
/// true or false, else an int64_t.
void* parameterBits(const Scalar& parameter, const ScalarValue& value);
/// F64, Bool or I64: what these bytes are.
DataType parameterType(const Scalar& parameter);

}  // namespace tokamak
