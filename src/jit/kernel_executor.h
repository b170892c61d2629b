// KernelExecutor: all kernels of one program for one target. Code is made once per choice, launches are bound once per
// size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/kernel_observer.h"
#include "device/work.h"
#include "heuristics/unmerge_reshapes.h"
#include "ir/structural_form.h"
#include "jit/bound_kernel.h"
#include "lower/pipeline.h"

namespace tokamak {

struct KernelExecutorOptions {
  KernelTarget target;
  enum class Indices : uint8_t {
    Wide,    ///< 64 bits, always
    Chosen,  ///< 32 bits where they are enough
  };
  Indices indices = Indices::Wide;
  /// Makes code runnable; null: it is not run. May return while a compiler still runs.
  std::function<std::shared_ptr<const KernelImage>(const KernelCode& code)> compile;
  KernelPassOptions passes = {};
  /// Says for a launch which symbols of the program are no constants, though they could be; null: those that have had
  /// many values. Errors of bind() then: Unsupported where such a symbol has to be one.
  std::function<std::vector<bool>()> open_symbols;
  KernelObserver* observer = nullptr;  ///< told about new choices; outlives the executor
};

/// The indices that kernels of the target have as a rule.
inline KernelExecutorOptions::Indices indicesFor(const KernelTarget& target) {
  using Indices = KernelExecutorOptions::Indices;
  return target.kind == TargetKind::Cuda ? Indices::Chosen : Indices::Wide;
}

/// The code of one program, by choice, and its launches, by size.
/// Thread safety: any threads may use it side by side; new code is lowered by one after the other.
class KernelExecutor final : public ProgramKernels {
 public:
  /// Takes a copy of the program; `is_parameter`: per symbol of the program (as structuralFormOf() numbers them),
  /// whether it only gives values to elements, other ones in every launch.
  KernelExecutor(const Fusion& program, std::vector<bool> is_parameter, const KernelExecutorOptions& options);

  std::shared_ptr<const BoundKernel> bind(std::span<const OperandDesc> operands,
                                          std::span<const std::optional<ScalarValue>> values) override;
  const std::string& name() const override { return program_->name(); }
  std::vector<CodeNote> codeNotes() const override;
  CodeNote noteOn(const KernelCode& code) const override;
  /// All code so far, oldest first.
  std::vector<std::shared_ptr<const KernelCode>> codes() const;
  std::string describe(const KernelChoice& choice) const { return chooser_.describe(choice); }

 private:
  /// The program in one shape, unscheduled, to choose parameters with.
  struct Shaped {
    KernelShape shape;
    ShapedProgram program;
    std::unique_ptr<ReductionStructure> rows;
  };
  /// What was lowered, with all index types that it was needed with.
  struct Lowered {
    KernelShape shape;
    std::optional<ScheduleParameters> parameters;
    std::shared_ptr<KernelCode> wide;  ///< with 64-bit indices
    std::shared_ptr<KernelCode> narrow;
    std::vector<int64_t> narrow_limits;  ///< 32-bit indices are enough while no symbol of the kernel is above these
  };

  std::shared_ptr<const BoundKernel> bindNew(std::span<const OperandDesc> given,
                                             std::span<const std::optional<ScalarValue>> values);
  ScalarBindings sizesOf(std::span<const std::optional<ScalarValue>> values) const;
  /// Per symbol of the program, whether this value of it is no constant.
  static std::vector<bool> withoutColumns(std::vector<bool> is_open, const Shaped& shaped);
  std::vector<bool> openSymbols(std::span<const std::optional<ScalarValue>> values);
  KernelShape shapeOf(std::span<const OperandDesc> operands, std::span<const std::optional<ScalarValue>> values);
  const Shaped& shapedFor(const KernelShape& shape);
  Lowered& loweredFor(const KernelShape& shape, const std::optional<ScheduleParameters>& parameters);
  void lower(Lowered& lowered);
  bool areNarrowIndicesEnough(Lowered& lowered, const BoundKernel& bound) const;
  void finish(KernelCode& code);
  std::string reasonFor(const KernelChoice& choice) const;

  std::unique_ptr<Fusion> program_;
  std::vector<Scalar*> symbols_;
  std::vector<AxisParts> parts_;  ///< what became of the axes of what it takes and gives
  std::vector<bool> is_parameter_;
  KernelExecutorOptions options_;
  ShapeChooser chooser_;
  mutable std::mutex mutex_;
  std::vector<std::vector<int64_t>> constants_;  ///< per symbol of the program, the values that have been constants
  std::vector<std::unique_ptr<Shaped>> shaped_;
  std::vector<std::unique_ptr<Lowered>> lowered_;
  std::vector<std::shared_ptr<const KernelCode>> codes_;
  std::unordered_map<std::vector<int64_t>, std::shared_ptr<const BoundKernel>, FormHash> bound_;
  std::vector<int64_t> key_;
};

}  // namespace tokamak
