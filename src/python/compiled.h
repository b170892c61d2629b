// Compiled: a program that Python calls with arrays.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "compile/compile_options.h"
#include "compile/program.h"
#include "python/arrays.h"
#include "python/call_state.h"
#include "python/kernel_texts.h"
#include "report/explanation.h"
#include "report/program_pictures.h"

namespace tokamak {
class OpenMp;
class Plan;
}  // namespace tokamak

namespace tokamak::python {

class Compiled;
struct OpenedCommunicator;

/// What the last call of one of a program's users had for inputs. Calls run side by side: the last to be done counts.
/// Thread safety: any threads may use it.
class LastCall {
 public:
  /// A call of the fast kind, with these scalar inputs.
  void note(const std::shared_ptr<const KnownLayouts>& layouts, std::span<const ScalarValue> scalars);
  void note(std::vector<Argument> inputs);
  /// Tensors are without their memory. Nothing before the first call.
  std::optional<std::vector<Argument>> inputs();

 private:
  std::mutex mutex_;
  std::shared_ptr<const KnownLayouts> layouts_;  // of the last call, if it was of the fast kind
  std::vector<ScalarValue> scalars_;             // of such a call
  std::optional<std::vector<Argument>> inputs_;  // else
};

/// A call of any kind, with its inputs.
/// Thread safety: for one thread. Functions are called with the interpreter's lock, and let go of it while they compile
/// and run.
class PythonCall {
 public:
  PythonCall(Compiled& compiled, const std::vector<PyObject*>& inputs, const std::optional<CallersStream>& stream);

  /// How the outputs lie, in the order in which calls give them. Errors: those of Program::outputLayouts().
  std::vector<OutputLayout> outputLayouts();
  /// The kernels that it takes; `is_cuda`: that it would take on a GPU, which is an H200 where the call is on another
  /// device. Errors: those of Program::outputLayouts().
  std::vector<KernelText> kernelTexts(bool is_cuda) const;
  /// The plan that it replays. Errors: those of Program::run() before
  /// anything runs.
  std::shared_ptr<const Plan> plan();
  /// Errors: those of Program::outputLayouts().
  Explanation explain() const;
  /// Writes the outputs that calls give, and those that are updates. None for an output that lies in the memory of an
  /// input or of another output. On a GPU it returns at once where the caller told a stream. The inputs are given back.
  /// Errors: those of Program::run(); Usage the second time.
  void run(const std::vector<PyObject*>& outputs, LastCall& last);

 private:
  Compiled& compiled_;
  bool has_callers_stream_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<CallArrays> arrays_;
  std::vector<Argument> arguments_;
  const OpenMp* open_mp_ = nullptr;  // of the library that made the first array
};

/// A program, and what it was compiled from.
struct CompiledSource {
  Program program;
  std::shared_ptr<const Fusion> fusion = nullptr;  ///< null: a host program, or one from a file
  CompileOptions options = {};
  double seconds_to_lower = 0;  ///< what does not depend on sizes
};

/// What `fusion` becomes on the device: where the schedule is kept, blocks have one thread on a processor, and axes of
/// threads are loops there; without a communicator, meshes of one and the same device say nothing. Calls without the
/// interpreter's lock. Errors: those of compile().
CompiledSource compiledFusion(std::shared_ptr<const Fusion> fusion, Device& device, const CompileOptions& options);

/// Outputs are arrays that their framework makes: each has memory of its own. Callers wait for them.
constexpr CompileOptions kOwnOutputs = {.output_views = OutputViews::Copy, .runs_on_callers_thread = true};

/// A call that had to make a plan.
struct NewCall {
  std::string what;    ///< "f32[4, 8], 3"
  std::string reason;  ///< what differs from the nearest call before: "input 0: axis 1 had 8 elements, has 16"
  double seconds = 0;  ///< that it waited
};

/// An array that is not there yet.
struct AbstractArray {
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes;
  std::optional<std::vector<int64_t>> strides = std::nullopt;  ///< in elements; nothing: row-major
};

/// Thread safety: any threads may call it side by side. Functions are called with the interpreter's lock, and let go of
/// it while they compile and run.
class Compiled : public std::enable_shared_from_this<Compiled> {
 public:
  /// `communicator`: that of the source's options, if it has one.
  Compiled(CompiledSource source, std::shared_ptr<OpenedDevice> device,
           std::shared_ptr<OpenedCommunicator> communicator = nullptr);

  /// Tells `last` of calls that were done.
  /// A call with numbers and arrays of NumPy's or of types with a table (on a GPU: of one type, on whose current stream
  /// the work is done), whose outputs have memory of their own: the list of outputs, those of `out` where that is
  /// not None. None for any other call, of which nothing was done. Errors: those of Program::runInto(), and Python's.
  nanobind::object tryExecute(nanobind::handle inputs, nanobind::handle out, LastCall& last);
  /// The kernels of the last call, as PythonCall::kernelTexts() gives them; nothing where there was none.
  std::optional<std::vector<KernelText>> kernelTexts(LastCall& last, bool is_cuda) const;
  Program& program() { return source_.program; }
  /// Tensors and scalars, in the order in which calls take them.
  const std::vector<Val*>& inputs() const { return inputs_; }
  /// The same of an explanation.
  std::optional<Explanation> explain(LastCall& last) const;
  /// Without a plan where there was no call.
  std::vector<ProgramPicture> pictures(LastCall& last, const std::string& id_prefix) const;
  double secondsToLower() const { return source_.seconds_to_lower; }
  /// The calls that had to make a plan, oldest first, up to 64 of them.
  std::vector<NewCall> newCalls();
  /// Of all calls, how many found the plan of an earlier one.
  int64_t knownCalls() const {
    return std::max(source_.program.statistics().known_calls - lookups_of_layouts_.load(), int64_t{0});
  }
  /// How many outputs calls give.
  size_t outputCount() const { return given_outputs_; }

  /// A call of any kind. On a GPU its work is done on `stream` (a CUstream), or on a stream of the program's own
  /// without one. Errors: Bind for what is no input of the program.
  std::unique_ptr<PythonCall> call(const std::vector<PyObject*>& inputs, const std::optional<CallersStream>& stream);

  /// How the outputs of a call with such arrays and these numbers would lie; what it needs is compiled.
  /// Errors: Bind for other numbers of inputs; those of Program::outputLayouts().
  std::vector<OutputLayout> outputLayoutsFor(const std::vector<AbstractArray>& arrays,
                                             const std::vector<ScalarValue>& numbers);
  /// A call without Python, whose lock the caller may have or not: with an array for each tensor and each output and a
  /// number for each scalar. On a processor it returns when it is done, on a GPU at once: its work is on `stream`.
  /// Errors: those of Program::runInto(), and of the work on a processor.
  void run(std::span<const ArrayView> inputs, std::span<const ArrayView> outputs,
           const std::vector<ScalarValue>& numbers, void* stream);
  Device& device() const { return *device_; }
  dlpack::Device place() const { return place_; }

 private:
  class Lease;
  friend class PythonCall;
  friend class BoundCall;
  std::vector<KernelText> kernelTexts(std::span<const Argument> inputs, bool is_cuda) const;
  Explanation explain(std::span<const Argument> inputs) const;
  std::vector<ProgramPicture> pictures(std::optional<std::span<const Argument>> inputs,
                                       const std::string& id_prefix) const;
  /// Errors: Unsupported, naming `what`, where the program was not compiled from a fusion.
  const Fusion& requireFusion(std::string_view what) const;
  void noteNewCall(const std::vector<Argument>& inputs, double seconds);
  std::vector<Argument> argumentsOf(const CallState& state) const;
  nanobind::object tryExecuteWith(CallState& state, nanobind::handle inputs, nanobind::handle written);
  nanobind::object tryBind(CallState& state, nanobind::handle inputs, nanobind::handle written);
  nanobind::object tryTakeOutputs(CallState& state, const KnownLayouts& layouts, nanobind::handle written) const;
  void runWith(CallState& state);
  template <class Call>
  void whileRanksWait(const Call& call);
  bool view(PyObject* given, ArrayView& view, const ArrayType*& type) const;
  bool tryTake(PyObject* inputs, CallState& state) const;
  bool tryAdopt(CallState& state) const;
  const KnownLayouts& layoutsOf(CallState& state);
  void prepareForOutputs(const CallState& state);
  std::shared_ptr<const KnownLayouts> knownLayouts(const std::vector<int64_t>& key);

  nanobind::object newOutput(const CallState& state, const OutputLayout& layout, ArrayView& view) const;
  std::shared_ptr<Stream> streamOf(const std::optional<CallersStream>& stream);

  std::shared_ptr<OpenedDevice> opened_;
  Device* device_;
  bool is_on_processor_;
  dlpack::Device place_;
  std::shared_ptr<OpenedCommunicator> communicator_;
  CompiledSource source_;
  std::vector<Val*> inputs_;
  std::vector<const Scalar*> key_scalars_;  ///< by the number of the scalar input; null: plans do not depend on it
  bool has_key_scalars_ = false;
  size_t input_tensors_ = 0;
  size_t given_outputs_ = 0;

  std::mutex mutex_;
  std::vector<std::unique_ptr<CallState>> idle_;
  std::shared_ptr<Stream> stream_;  ///< of calls of any kind
  std::map<std::vector<int64_t>, std::shared_ptr<const KnownLayouts>> layouts_;
  std::atomic<int64_t> lookups_of_layouts_ = 0;  ///< of calls that look once more when they run
  std::vector<NewCall> new_calls_;
  std::vector<std::vector<Argument>> known_calls_;  ///< their inputs
};

/// A call whose arrays and numbers stay: each run reads and writes them anew, and looks at none.
/// Thread safety: any threads may run it; its runs are one after the other. Functions are called with the interpreter's
/// lock, and let go of it while they run.
class BoundCall {
 public:
  /// `out`: as for Compiled::tryExecute(). Prepares, and runs nothing. Errors: Unsupported for arrays that cannot be
  /// bound: of libraries without a table; for outputs that are views.
  BoundCall(Compiled& compiled, nanobind::handle inputs, nanobind::handle out);

  /// Errors: those of Program::runInto().
  void run();
  /// A tuple, which keeps them: what the caller has is a list of his own.
  nanobind::object outputs() const { return outputs_; }

 private:
  Compiled& compiled_;
  nanobind::object inputs_;
  nanobind::object outputs_;
  CallState state_;
  std::mutex mutex_;
};

}  // namespace tokamak::python
