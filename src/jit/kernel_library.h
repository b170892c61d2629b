// KernelLibrary: the kernels of a device: segments and ops of one structure share an executor, whatever their names.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "jit/kernel_executor.h"

namespace tokamak {

struct HostSegment;
struct LaunchKernel;
struct PostOnStream;

/// A request's kernel, and which of the launch's values it takes.
struct FoundKernel {
  std::shared_ptr<const BoundKernel> bound;
  std::vector<size_t> operands;    ///< per tensor of the kernel: which operand of the work it is
  std::vector<size_t> parameters;  ///< per parameter of the kernel: which of the work it is
  std::string name;                ///< of the program that the work is part of
  bool is_given = false;           ///< the program brought it: what is wrong with it is no fault of the lowering
  /// Holds on to the code of other sizes.
  std::shared_ptr<ProgramKernels> executor;
};

/// Gives the kernels of a program, of this structural form (ir/structural_form.h); `is_parameter`: per symbol of it,
/// whether it only gives values to elements, other ones in every launch.
using FindProgramKernels = std::function<std::shared_ptr<ProgramKernels>(
    const Fusion& program, const std::vector<int64_t>& form, std::vector<bool> is_parameter)>;

/// The executors of a device's programs, by structure.
/// Thread safety: any threads may ask side by side, for ops of one fusion one at a time.
class KernelLibrary {
 public:
  explicit KernelLibrary(KernelExecutorOptions options);
  /// Of kernels that somebody else has: `options` say only how kernels that programs bring are compiled.
  KernelLibrary(KernelExecutorOptions options, FindProgramKernels programs)
      : options_(std::move(options)), programs_(std::move(programs)) {}

  /// The request's operands: its tensor inputs, then its outputs.
  /// Errors: Schedule or Unsupported when it cannot be one kernel; Bind, also where a launch does not fit its kernel;
  /// Compile.
  FoundKernel find(const WorkRequest& request);

  /// How many executors were made so far.
  int64_t executorCount() const;

 private:
  // A program as one request has it: its own names, and how its symbols and operands relate to the executor's.
  struct Program {
    std::string name;
    std::vector<Scalar*> symbols;                   ///< as the executor numbers them
    std::vector<std::optional<size_t>> parameters;  ///< per symbol: which parameter of the work it is
    std::vector<const Expr*> demanding;
    std::shared_ptr<ProgramKernels> executor;
  };
  struct KnownSegment {
    std::weak_ptr<const HostSegment> segment;
    std::vector<std::optional<size_t>> input_parameters;  ///< per input of the segment
    std::shared_ptr<const Program> program;
  };

  Program programOf(const Fusion& fusion, const std::map<const Scalar*, size_t>& parameters);
  std::shared_ptr<const Program> programOf(const PostOnStream& post, std::span<const Scalar* const> parameters);
  /// Code of a kernel that programs bring, by index type.
  struct LaunchedCode {
    std::weak_ptr<const kir::Kernel> kernel;
    std::map<DataType, std::shared_ptr<KernelCode>> codes;
  };

  FoundKernel findLaunched(const LaunchKernel& launch, const WorkRequest& request);
  std::shared_ptr<const KernelCode> codeOf(const std::shared_ptr<const kir::Kernel>& kernel, DataType index_type);
  FoundKernel findSegment(const PostOnStream& post, const WorkRequest& request);
  FoundKernel findOp(const WorkRequest& request);
  FoundKernel bind(const Program& program, std::span<const OperandDesc> operands, const ScalarBindings& bindings) const;

  KernelExecutorOptions options_;
  FindProgramKernels programs_;
  mutable std::mutex mutex_;
  std::unordered_map<std::vector<int64_t>, std::weak_ptr<ProgramKernels>, FormHash> executors_;
  std::map<const HostSegment*, KnownSegment> segments_;
  std::map<const kir::Kernel*, LaunchedCode> launched_;
  std::deque<std::shared_ptr<ProgramKernels>> recent_;  ///< kept though nobody may need them any more
  int64_t executor_count_ = 0;
  size_t next_sweep_ = 64;
};

}  // namespace tokamak
