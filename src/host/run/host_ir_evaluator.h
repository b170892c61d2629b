// HostIrEvaluator: runs a host program on a device: records it once per set of sizes, then replays the plan.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/profiler_range.h"
#include "device/intermediate_allocator.h"
#include "device/output_allocator.h"
#include "device/output_layout.h"
#include "device/prepare_options.h"
#include "device/tensor.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/segment_mode.h"
#include "host/plan/call_memo.h"
#include "host/plan/plan.h"
#include "host/plan/plan_cache.h"
#include "host/run/call_context_pool.h"
#include "host/run/issue_guard.h"
#include "host/run/program_signature.h"
#include "host/run/rank_agreement.h"
#include "host/run/rank_communications.h"
#include "host/run/scalar_parameters.h"
#include "host/run/statement_runner.h"

namespace tokamak {

struct HostIrEvaluatorParams {
  enum class Mode : uint8_t {
    Plan,    ///< record once per plan key, then replay
    Direct,  ///< evaluate every statement on every call
  };
  int64_t number_of_streams = 4;
  Mode mode = Mode::Plan;
  /// Nothing: op by op; for a MultiDeviceExecutor, kernels where its grouping is Fused.
  std::optional<SegmentMode> segments = std::nullopt;
  /// A call whose loops have more iterations is refused: plans unroll them. Errors: Bind.
  int64_t most_iterations = kMostIterations;
  /// Prove every new plan free of races, as recorded and as replayed. Errors: Race.
  bool checks_plans = true;
  /// Where outputs come from that the caller does not give; null: the device. Outlives the evaluator and its outputs.
  /// Not in direct mode.
  OutputAllocator* output_allocator = nullptr;
  /// The same for intermediates; outlives the evaluator.
  IntermediateAllocator* intermediate_allocator = nullptr;
  /// Of one call, all kinds of memory together; 0: no limit. A plan that needs more is refused when it is made.
  /// Errors: OutOfMemory.
  int64_t most_intermediate_bytes = 0;
  /// How many plans are kept. A call whose plan was forgotten records it again.
  PlanCacheLimits plans = {};
  /// How many calls may be under way at a time, each with streams and memory for intermediates of its own. Further
  /// ones start after one of these.
  int64_t calls_in_flight = 4;
  /// Here: calls of plans that use one stream run on the caller's thread where what they wait for is over and their
  /// stream is idle, and return when they are done; others are enqueued. Where the device can do that (CpuDevice). For
  /// small programs: waking a stream's thread takes longer.
  RunPlace place = RunPlace::OnStream;
  /// Who is asked for kernels; null: the device's own maker.
  std::shared_ptr<KernelMaker> kernels = nullptr;
  /// Through whom a local program (host/local/local_program.h) communicates; outlives the evaluator. Its device is the
  /// evaluator's. The other ranks make evaluators of theirs in the same order, and call them in the same order.
  Communicator* communicator = nullptr;
};

/// What an evaluator holds, and did since it was made.
struct HostIrEvaluatorStatistics {
  PlanCacheStatistics plans;
  int64_t retired_bytes = 0;  ///< of plans that were forgotten and may still be under way, as Plan::hostBytes()
  int64_t contexts = 0;       ///< for calls under way
  int64_t arena_bytes = 0;    ///< of their intermediates, all kinds of memory together
};

/// A host program on a device, with its plans. Calls overlap unless the memory that they access orders them.
/// Thread safety: any threads may call run(), runWithInput(), planFor() and stats() side by side. Calls that record a
/// plan, and those of direct mode, do so one after the other. Recording may make scalars in program(): it is read while
/// no call may record. Calls of a program with communications are issued by one thread at a time, as the order of calls
/// is the same on all ranks; one that comes meanwhile is refused. Errors then: Usage. Segments that two programs share
/// are recorded by one thread at a time. It is destroyed when no call is being enqueued.
class HostIrEvaluator {
 public:
  /// Errors: HostProgram when an input is an alias, or an output is computed by nothing; those of makesKernels().
  HostIrEvaluator(std::unique_ptr<HostIrContainer> program, Device& device, HostIrEvaluatorParams params = {});
  ~HostIrEvaluator();

  const HostIrContainer& program() const { return *program_; }
  Device& device() const { return *device_; }
  /// What was asked for, or OpByOp where the device makes no kernels.
  SegmentMode segmentMode() const { return segments_; }

  /// Runs with every input bound, and as many outputs as the caller likes (results land there). Gives the outputs in
  /// order; each carries its ready event. The caller may let go of the tensors it gave. Calls are ordered by the memory
  /// that they access (docs/call_order.md). With `stream` the work is enqueued there, and the call returns at once.
  /// Without, it is enqueued on a stream of the evaluator's, and the call returns at once, too, unless it accesses
  /// memory that host code reads and was wrapped, imported or exported: then it returns when it is done.
  /// `options` are for a call whose plan is new, in plan mode.
  /// Errors: Bind for missing, extra or ill-fitting values, before anything is enqueued; Unsupported for a stream that
  /// the caller records; Cancelled.
  std::vector<Tensor> runWithInput(const std::vector<std::pair<Val*, RunValue>>& values,
                                   const std::shared_ptr<Stream>& stream = nullptr, const PrepareOptions& options = {});

  /// The hot entry: input tensors in the program's order, outputs all given, on the caller's stream; scalar inputs in
  /// the program's order. Returns at once, and is ordered like the other calls. Outputs get a ready event. After the
  /// first call with the same sizes, strides, alignments and steering scalars it takes nothing from the heap. The
  /// caller holds on to the tensors until the work is done. On a stream that the caller records (Device::joinCapture())
  /// the call becomes part of the recording, with the scalars of this call; then outputs get no ready event, and the
  /// caller holds on to the tensors as long as it is run. `memo` (may be null): for a caller who knows that his calls
  /// lie alike.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
           std::span<const ScalarValue> scalars = {}, CallMemo* memo = nullptr);

  /// The plan that these values would run; records it if it is new, runs nothing. Good until it is forgotten:
  /// HostIrEvaluatorParams::plans says how many others may be used meanwhile.
  Plan& planFor(const std::vector<std::pair<Val*, RunValue>>& values, const PrepareOptions& options = {});
  /// The same, which stays as long as it is held.
  std::shared_ptr<Plan> sharedPlanFor(const std::vector<std::pair<Val*, RunValue>>& values,
                                      const PrepareOptions& options = {});
  /// How the outputs of a call with these values lie: of those numbered `given`, which Output::of counts, in this
  /// order. Records the plan if it is new, runs nothing. Errors: as runWithInput().
  std::vector<OutputLayout> outputLayouts(const std::vector<std::pair<Val*, RunValue>>& values,
                                          std::span<const size_t> given, const PrepareOptions& options = {});
  /// How many calls that communicate have begun.
  int64_t issuedCalls() const { return issued_calls_.load(); }
  /// A call of this rank will not come, because of this error, which its caller has: of a program that communicates the
  /// others are told, as where a call fails. Does nothing where a call has begun since there were `issued_before`, as
  /// that told them itself, and while another thread issues one. May wait for the others as calls do.
  void leave(const std::exception_ptr& error, int64_t issued_before);
  /// Ends the call that is under way, by an error on all ranks: for the thread that calls, while it waits (WaitWatch).
  void endCall(const std::exception_ptr& error) const;
  /// Whether an input is passed with the launches: calls with other values of it replay the same plan.
  bool isParameter(const Scalar& scalar) const;
  /// Whether no call is under way: it would be destroyed without waiting.
  bool isIdle() const { return contexts_.isIdle(); }
  /// Never waits for a call.
  HostIrEvaluatorStatistics stats() const;

 private:
  template <class Issue>
  auto issued(const Issue& issue);
  std::shared_ptr<RankCommunications> currentCommunications();
  std::shared_ptr<RankCommunications> knownCommunications() const;
  bool wasToldOfBreakage();
  void agree(const CallValues& call);
  void agreeBeforeRecording(const CallValues& call) const;
  CallValues valuesOf(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      std::span<const ScalarValue> scalars) const;
  void forgetPlans();
  void requireGivenWritten(const CallValues& call, const StatementRunner& runner,
                           std::span<void* const> addresses) const;
  void makeKey(const CallValues& call, std::vector<int64_t>& key) const;
  std::shared_ptr<Plan> knownPlan(const std::vector<int64_t>& key);
  std::shared_ptr<Plan> findPlan(const CallValues& call, std::vector<int64_t>& key, const PrepareOptions& options);
  size_t inputNumberOf(size_t tensor) const;
  std::shared_ptr<Plan> planOfOwnOutputs(const CallValues& call, const std::vector<int64_t>& key);
  std::shared_ptr<Plan> recordAndKeep(const CallValues& call, const std::vector<int64_t>& key,
                                      const PrepareOptions& options);
  void retire(std::vector<std::shared_ptr<Plan>> plans);
  /// What becomes a plan once its kernels are there.
  struct Recorded {
    StepList steps;
    std::vector<PlanOutput> outputs;
    std::vector<std::string> copied_views;
    std::vector<PlanStream> streams = {};
    std::shared_ptr<RankCommunications> communications = nullptr;  ///< whose works it has
  };
  Recorded record(const CallValues& call, const std::stop_token& cancel);
  std::unique_ptr<Plan> planOf(Recorded recorded);
  void requireIntermediatesFit(const Plan& plan) const;
  std::vector<Tensor> issueWithInput(const std::vector<std::pair<Val*, RunValue>>& values,
                                     const std::shared_ptr<Stream>& stream, const PrepareOptions& options);
  void issue(std::span<const Tensor> inputs, std::span<Tensor> outputs, Stream& stream,
             std::span<const ScalarValue> scalars, CallMemo* memo);
  bool setScalars(std::span<const ScalarValue> scalars, CallContext& context) const;
  std::shared_ptr<Plan> planOfIssued(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                     std::span<const ScalarValue> scalars, CallContext& context, CallMemo* memo);
  std::vector<Tensor> runOn(const CallValues& call, CallContext& context, const std::shared_ptr<Stream>& stream,
                            std::shared_ptr<Event>& done, const PrepareOptions& options);
  std::vector<Tensor> runPlan(const CallValues& call, CallContext& context, const std::shared_ptr<Stream>& stream,
                              const PrepareOptions& options);
  std::vector<Tensor> runDirect(const CallValues& call, CallContext& context, const std::shared_ptr<Stream>& stream);
  /// Per buffer of the plan's steps: an output's that the program allocates, else null.
  using FreshOutputs = std::vector<std::shared_ptr<Buffer>>;
  FreshOutputs allocateOutputs(const Plan& plan, const CallValues& call, CallContext& context,
                               const std::shared_ptr<Stream>& stream) const;
  RunPlace placeOf(const Plan& plan) const;
  static const Tensor& givenOutput(const Plan& plan, const CallValues& call, int32_t buffer);
  std::shared_ptr<Buffer> allocateOutput(int64_t bytes, MemoryKind kind, const std::shared_ptr<Stream>& stream) const;
  void keepUntilDone(const CallValues& call, CallContext& context, std::shared_ptr<Event> done,
                     std::span<const Tensor> made) const;

  std::unique_ptr<HostIrContainer> program_;
  std::shared_ptr<Device> device_holder_;
  Device* device_;
  HostIrEvaluatorParams params_;
  const SegmentMode segments_;
  const ProgramSignature signature_;
  const RangeName run_name_;                            ///< of a call: "run softmax"
  std::vector<size_t> scalars_by_id_;                   ///< numbers of input scalars
  std::unique_ptr<const ScalarParameters> parameters_;  ///< none in direct mode, or where the device takes none

  // Of what is recorded or made a plan, or run without one: one at a time.
  std::mutex record_mutex_;
  std::shared_ptr<WorkCache> works_;  ///< for direct runs; lives as long as the streams they run on
  WorkCache recorded_works_;          ///< as the recorder prepared it

  IssueGuard issues_;  ///< of a program with communications
  std::atomic<int64_t> issued_calls_ = 0;
  std::shared_ptr<Event> last_issued_;  ///< the end of the last call with these communications; of who issues
  bool told_broken_ = false;            ///< a call with them has raised their error; of who issues
  bool has_agreed_ = false;             ///< the ranks compared what they run, in these teams; of who issues
  bool agrees_each_call_ = false;       ///< a rank computes of equal chunks (RankOrigin); of who issues
  RunFacts agreed_;                     ///< in the last call that compared; of who issues
  mutable std::mutex communications_mutex_;
  std::shared_ptr<RankCommunications> communications_;  ///< of a program with communications; direct runs hold it, too

  CallContextPool contexts_;
  mutable std::mutex mutex_;                    // of all below
  PlanCache plans_;                             // their replays go before the streams of the contexts
  std::vector<std::shared_ptr<Plan>> retired_;  ///< forgotten, and perhaps under way
  size_t retired_left_ = 0;                     ///< when all were looked at
};

}  // namespace tokamak
