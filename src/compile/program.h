// Program: the front door. A fusion, compiled for a device, is called like a function.
//
//   Fusion fusion("softmax_rows");
//   fusion.output("y", softmax(fusion.input("x", DataType::F32, {"n", "m"}), 1));
//   const std::shared_ptr<Device> device = openCpuDevice();
//   Program program = compile(fusion, *device);
//   const std::vector<Tensor> outputs = program.run({Tensor::wrap(*device, data, {4, 8})});
//   std::span<const float> y = outputs[0].read<float>();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "compile/argument.h"
#include "compile/compile_options.h"
#include "device/output_layout.h"
#include "device/prepare_options.h"
#include "ir/fusion.h"

namespace tokamak {

class Communicator;
class HostIrContainer;
class MultiDeviceExecutor;
struct CallMemo;  // host/plan/call_memo.h

/// What a program holds, and did since it was compiled.
struct ProgramStatistics {
  int64_t plans = 0;         ///< that are kept
  int64_t plan_bytes = 0;    ///< of the host, by estimate; those of forgotten plans under way included
  int64_t known_calls = 0;   ///< whose plan was there
  int64_t new_calls = 0;     ///< that made theirs
  int64_t forgotten = 0;     ///< plans that had to go
  int64_t contexts = 0;      ///< for calls under way
  int64_t device_bytes = 0;  ///< of the contexts' intermediates
};

/// A compiled fusion. What depends on sizes (kernels, the plan) is made when they are first met, and kept.
/// Thread safety: any threads may use one program side by side. Calls overlap unless the memory that they access orders
/// them (docs/call_order.md).
class TOKAMAK_EXPORT Program {
 public:
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;
  /// Waits for the calls under way.
  ~Program();

  const std::string& name() const;
  Device& device() const;
  /// In the order in which run() takes and gives them.
  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;

  /// All that may be slow, for inputs of these sizes, by the names of extents: {{"n", 4096}, {"m", 512}}. A later run()
  /// with such inputs compiles nothing, as long as they are dense and aligned to 16 bytes. Nor does a call that is
  /// given memory for all outputs, if each has memory of its own (outputLayouts()) and what is given lies so; for other
  /// memory it makes a plan of its own. Scalar inputs of integer and bool types are told by name, too.
  /// Other threads may ask for the same sizes meanwhile: they share the compilers.
  /// Errors: Bind for an extent that is missing, or that the program does not have; of compilers; Cancelled;
  /// OutOfMemory where CompileOptions::most_intermediate_bytes is too little.
  void prepare(const std::map<std::string, ScalarValue>& sizes, const PrepareOptions& options = {});

  /// How the outputs of run() with these inputs lie where the caller gives memory for none, in the order of
  /// outputNames(): so that a framework can make them before the call. Inputs are looked at for what a plan depends on,
  /// sizes, strides and alignment; what they hold is not. Prepares as prepare() does, and runs nothing.
  /// Errors: those of run() before anything runs.
  std::vector<OutputLayout> outputLayouts(std::span<const Argument> inputs, const PrepareOptions& options = {});

  /// Runs with tensors and numbers for all inputs, first those by position, then those by name, and memory for as many
  /// outputs as the caller likes (a tensor that is not defined leaves one out); gives the outputs that are not hidden.
  /// Numbers become the type of the input: integers take no fractions, and i32 only what fits. Without a stream the
  /// call returns when it is done if it accesses memory that the host may read and that somebody else owns; else at
  /// once: Tensor::read(), hostData() and waitReady() wait. With a stream, the work is done there.
  /// `options` are for calls that have to prepare first, as prepare() does: before anything of the call runs.
  /// Errors: Bind for what does not fit the program, before anything runs; those of prepare(); others as the work
  /// raises them, here or where somebody waits.
  std::vector<Tensor> run(std::span<const Argument> inputs, std::span<const Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr, const PrepareOptions& options = {});
  /// For programs that take tensors alone, such as those that another program gave.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr, const PrepareOptions& options = {});
  std::vector<Tensor> run(std::initializer_list<Argument> inputs, std::initializer_list<Tensor> outputs = {},
                          const std::shared_ptr<Stream>& stream = nullptr, const PrepareOptions& options = {});

  /// The fast way: tensors for all inputs and outputs, in the program's order; scalar inputs in theirs. The work is
  /// enqueued on the caller's stream, and the call returns at once. After the first call with the same sizes, strides,
  /// alignments and scalars that steer the program it takes nothing from the heap, unless outputs are hidden. The
  /// caller holds on to the tensors until the work is done; outputs get a ready event. On a stream that the caller
  /// records as a CUDA graph, the call becomes part of the recording with the scalars of this call: outputs then get no
  /// ready event, and the tensors are held on to as long as the graph is run. `memo` (may be null): for a caller who
  /// knows that his calls lie alike; their plan is then not looked for.
  /// Errors: Bind for what does not fit the program or a stream of another device, before anything is enqueued; others
  /// as the work raises them, where somebody waits.
  void runInto(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
               std::span<const ScalarValue> scalars = {}, CallMemo* memo = nullptr);

  /// Never waits.
  ProgramStatistics statistics() const;
  /// The host program in words (docs/host_text.md).
  std::string hostText() const;

 private:
  friend Program makeProgram(std::unique_ptr<MultiDeviceExecutor> executor);
  friend MultiDeviceExecutor& executorOf(Program& program);
  explicit Program(std::unique_ptr<MultiDeviceExecutor> executor);
  const HostIrContainer& hostProgram() const;
  template <class Call>
  auto asCall(const Call& call);
  std::vector<RunValue> inOrder(std::span<const Argument> inputs) const;
  void requireNumbersFit(std::span<const RunValue> values) const;

  std::unique_ptr<MultiDeviceExecutor> executor_;
};

/// Compiles what does not depend on sizes: the fusion is simplified, cut into segments, and lowered to a host program.
/// The fusion may go, and threads may compile one side by side; the device outlives the program, and all tensors.
/// Errors: Definition and others of what the fusion says.
TOKAMAK_EXPORT Program compile(const Fusion& fusion, Device& device, const CompileOptions& options = {});

/// What this rank of a job does of a fusion over devices (docs/devices.md), on the communicator's device. All ranks
/// compile the same fusion, in the same order as other ones, and call their programs in the same order. Calls take and
/// give the parts that the rank has; inputs and outputs of meshes without it are not the program's. A call that comes
/// while another thread issues one is refused. The communicator outlives the program.
/// Errors: as compile(); Usage for a call that is refused; CommunicationErrors where a rank fails, dies or does not
/// come, and in the first call where ranks have other programs or sizes. options.communicator says nothing.
TOKAMAK_EXPORT Program compile(const Fusion& fusion, Communicator& communicator, const CompileOptions& options = {});

/// A host program from its text (docs/host_text.md), with the passes that those of fusions go through: loops over
/// streams are made, memory is allocated and let go. Its segments are kernels where each may be one; else their ops run
/// one by one. Outputs that are aliases of inputs update these, and calls do not give them. `file`: its name in
/// messages. Errors: Parse, with the place; HostProgram for a malformed program; those of the passes.
TOKAMAK_EXPORT Program compileHostProgram(std::string_view text, std::string_view file, Device& device,
                                          const CompileOptions& options = {});

/// A fusion from its text (docs/text.md); `file` is its name in messages. `ranks`: of the job, of which mesh(ranks) in
/// the text has all. Errors: Parse, Definition, Schedule, with the place.
TOKAMAK_EXPORT std::unique_ptr<Fusion> readFusion(std::string_view text, std::string_view file = "fusion",
                                                  std::optional<int64_t> ranks = {});

}  // namespace tokamak
