// ProgramOnRanks: a host program over ranks, from whole inputs to whole outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "compile/lower_fusion.h"
#include "device/run_value.h"
#include "dist/local/local_communicator.h"
#include "host/ir/host_ir_container.h"
#include "host/run/host_ir_evaluator.h"
#include "host/run/scalar_parameters.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {

/// Whether a program over ranks is proved (compile/rank_proof.h) before ranks run it.
enum class RunsProved : uint8_t {
  Yes,  ///< for each set of sizes once: what is wrong is told at once, and not by a time-out
  No,
};

struct RanksOptions {
  int64_t ranks = 2;
  HostLoweringOptions lowering = {};  ///< of each rank's program
  HostIrEvaluatorParams run = {};     ///< its communicator is the rank's
  CpuDeviceOptions device = {};       ///< of each rank
  LocalOptions communication = {};
  RunsProved runs_proved = RunsProved::Yes;
  /// The one rank that this process is, whose device is used; all ranks of the job make the program and run it, with
  /// the same inputs. It outlives the program. Null: all ranks are threads of this process.
  Communicator* process = nullptr;
};

/// Each rank runs its local program (host/local/local_program.h) on a CPU device of its own, or on that of the process,
/// which may be a GPU. Inputs are cut into the
/// parts that the ranks have; of updates in place only outputs tell.
/// Thread safety: one thread at a time.
class ProgramOnRanks {
 public:
  /// Errors: Usage for no ranks; those of verifyHostProgram(), of localProgram(), of the passes and of evaluators, with
  /// the rank.
  ProgramOnRanks(std::unique_ptr<HostIrContainer> program, const RanksOptions& options);
  /// The program over ranks that a fusion over devices is (lowerToRanks()); without options.run.segments, its segments
  /// run as its grouping says. Errors: the same, and those of lowerToRanks().
  ProgramOnRanks(const Fusion& fusion, const RanksOptions& options);
  ProgramOnRanks(const ProgramOnRanks&) = delete;
  ProgramOnRanks& operator=(const ProgramOnRanks&) = delete;
  ~ProgramOnRanks();

  const HostIrContainer& program() const { return *program_; }
  int64_t ranks() const { return static_cast<int64_t>(ranks_.size()); }
  /// Of a rank of this process.
  const HostIrContainer& localProgramOf(int64_t rank) const;

  /// One value per input of the program, in order, in memory that the host reads; `extents`: of symbols that no input
  /// has, which may be another program's of the same names. Gives whole outputs on `device`, dense and row-major, whose
  /// data is ready.
  /// Errors: Bind, naming tensor, mesh and axis, for sizes that do not fit; Race, with what is wrong and on which
  /// ranks, for a program that is not proved (options.runs_proved); Device where ranks do not agree on a replicated
  /// output; else what the rank raises that failed first, not what others were told of it.
  /// Where ranks are processes, rank 0 alone gets the outputs, and errors are those of agree().
  std::vector<Tensor> run(std::span<const RunValue> inputs, const ScalarBindings& extents, Device& device,
                          const std::shared_ptr<Stream>& stream);

 private:
  struct Rank;

  std::unique_ptr<Rank> makeRank(int64_t number, const RanksOptions& options,
                                 std::unique_ptr<Communicator> communicator) const;
  std::vector<Tensor> assemble(const ScalarBindings& bindings, Device& device, const std::shared_ptr<Stream>& stream);
  /// The rank's next output, dense, here; without elements on other processes than that of rank 0.
  std::vector<std::byte> bytesOf(const TensorView& output, const std::vector<int64_t>& sizes, int64_t rank,
                                 size_t number) const;
  void cutInputs(std::span<const RunValue> inputs, const ScalarBindings& extents, Rank& rank, int64_t number) const;
  ScalarBindings bindingsOf(std::span<const RunValue> inputs, const ScalarBindings& extents) const;
  /// Once per set of sizes. Each process proves it for all ranks.
  void prove(const ScalarBindings& bindings);
  void runHere();
  void runAll();

  std::unique_ptr<HostIrContainer> program_;
  const RanksOptions options_;
  Communicator* const process_;
  std::optional<ScalarParameters> parameters_;
  std::set<std::vector<int64_t>> proved_;     // keys of scalars that steer
  std::vector<std::unique_ptr<Rank>> ranks_;  // null: another process's
};

}  // namespace tokamak
