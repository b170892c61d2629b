// StatementRunner: the meaning of a host program: walks its statements and drives a device (a real one, or the
// recorder).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/loop_limit.h"
#include "host/ir/segment_mode.h"
#include "host/plan/work_cache.h"

namespace tokamak {

class PostedCommunications;
class RankCommunications;
class Recorder;
class ScalarParameters;
struct Allocate;
struct ForLoop;
struct LaunchKernel;
struct PostOnStream;

/// Memory that a run allocated; given back when nobody refers to it any more, or by a Deallocate.
/// Thread safety: one thread at a time; the last owner may be any.
class RunStorage {
 public:
  RunStorage(Device& device, Stream& stream, int64_t bytes, MemoryKind kind);
  RunStorage(const RunStorage&) = delete;
  RunStorage& operator=(const RunStorage&) = delete;
  ~RunStorage() { release(*home_); }

  void* address() const { return address_; }
  bool isReleased() const { return address_ == nullptr; }
  void release(Stream& stream);
  /// Nobody gives the memory back any more: it has become the caller's.
  void disown() { address_ = nullptr; }

 private:
  Device* device_;
  Stream* home_;
  int64_t bytes_;
  MemoryKind kind_;
  void* address_;
};

/// What plans may know of an output's address, as of that of memory that a caller gives.
constexpr int64_t kOutputAlignment = 16;

/// A tensor that has memory: where it is and what it looks like (visible shape; strides in elements).
struct RunTensor {
  void* address = nullptr;
  DataType dtype = DataType::F32;
  MemoryKind kind = MemoryKind::Device;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  /// Of the first byte of the buffer that it lies in: a plan is recorded with other addresses, and replayed for all
  /// that are multiples of this.
  int64_t alignment = 64;
  std::shared_ptr<RunStorage> storage;  ///< null: the caller's memory
};

/// The streams a program runs on: the caller's, and workers made when first used.
/// Thread safety: one thread at a time.
class RunStreams {
 public:
  RunStreams(Device& device, int64_t worker_count) : device_(&device), worker_count_(worker_count) {}
  int64_t workerCount() const { return worker_count_; }
  Stream& worker(int64_t index);
  /// Makes `stream` wait for what is queued on all workers.
  void joinInto(Stream& stream);
  /// Makes all workers wait for the event, whatever failed before it.
  void waitOver(const Event& event);
  /// Later work of all workers runs, whatever failed there before.
  void startAnew();
  /// Which worker was made as number `i`, from 0.
  int64_t indexOf(int64_t i) const { return order_[static_cast<size_t>(i)]; }

 private:
  Device* device_;
  int64_t worker_count_;
  std::map<int64_t, std::shared_ptr<Stream>> workers_;
  std::vector<int64_t> order_;
};

/// One run of a host program.
/// Thread safety: one thread at a time.
class StatementRunner {
 public:
  /// Works come from `works`, which must outlive their launches.
  StatementRunner(const HostIrContainer& program, Device& device, Stream& caller, RunStreams& streams,
                  WorkCache& works);
  StatementRunner(const StatementRunner&) = delete;
  StatementRunner& operator=(const StatementRunner&) = delete;
  ~StatementRunner();

  ScalarBindings& scalars() { return scalars_; }
  /// Works are prepared for values that come with their launches. For the recorder only: nothing is passed with
  /// launches here.
  void prepareParameters(const ScalarParameters& parameters) { parameters_ = &parameters; }
  /// Who is asked for kernels; null: the device's own maker.
  void setKernels(KernelMaker* kernels) { kernels_ = kernels; }
  /// Through whom it communicates; without, communications can be recorded and not run. It outlives the works.
  void setCommunications(RankCommunications& communications);
  void setSegmentMode(SegmentMode mode) { segment_mode_ = mode; }
  /// Loops with more iterations in all are refused (host/ir/loop_limit.h).
  void setMostIterations(int64_t most) { most_iterations_ = most; }
  /// Makes `tensor` known (through its alias) before the program starts.
  void bind(TensorView* tensor, RunTensor value);
  void run();
  /// Errors: HostProgram when the program did not give it a value.
  const RunTensor& value(TensorView* tensor) const;
  bool isKnown(TensorView* tensor) const;
  /// Whether `tensor`, which is marked as a view, has become one.
  bool isBoundView(const TensorView* tensor) const { return bound_views_.contains(tensor); }
  /// A sentence for each view that was asked for and was copied instead.
  const std::vector<std::string>& copiedViews() const { return copied_views_; }

 private:
  struct Operands {
    std::vector<OperandDesc> descs;
    std::vector<void*> addresses;
  };

  void runBlock(const Block& block);
  void runStatement(const Expr& expr);
  void runLoop(const ForLoop& loop);
  void runMath(const Expr& expr);
  bool bindView(const Expr& expr, TensorView* out);
  bool isOneWork(const PostOnStream& post) const;
  void runSegment(const Expr& expr, const PostOnStream& post);
  void bindSegmentScalar(const PostOnStream& post, size_t input);
  void launchSegment(const Expr& expr, const PostOnStream& post);
  void launchKernel(const Expr& expr, const LaunchKernel& op);
  static bool givesNothing(const Expr& expr, const Operands& operands);
  WorkRequest requestFor(const Expr& expr, const Operands& operands) const;
  void launch(const WorkRequest& request, const Operands& operands);
  void postCommunication(const Expr& expr, int64_t number, TensorView* in, TensorView* out);
  void waitCommunication(int64_t number);
  void setStream(const StreamVal& stream);
  void synchronizeWith(Stream& other);
  void allocate(TensorView* tensor, const Allocate* statement);
  void deallocate(TensorView* tensor);
  void defineView(TensorView* out, TensorView* in, int64_t logical_axis, int64_t start, int64_t stop, bool drops_axis);
  Stream& streamOf(const StreamVal& stream);
  void setValue(TensorView* tensor, RunTensor value);
  /// Forgets what the block gives, but for what was known before.
  void forget(const Block& block, const std::unordered_set<const TensorView*>& known_before);
  Operands operandsOf(const Expr& expr) const;
  TensorView* root(TensorView* tensor) const;

  const HostIrContainer* program_;
  Device* device_;
  Recorder* recorder_;
  Stream* caller_;
  Stream* current_;
  RunStreams* streams_;
  WorkCache* works_;
  SegmentMode segment_mode_ = SegmentMode::OpByOp;
  KernelMaker* kernels_ = nullptr;
  const ScalarParameters* parameters_ = nullptr;
  int64_t most_iterations_ = kMostIterations;
  int64_t iterations_ = 1;   ///< of the innermost loop
  int64_t around_ = 1;       ///< iterations of it and of all loops around it together
  int64_t concurrency_ = 1;  ///< of what is launched on current_ (WorkRequest)
  ScalarBindings scalars_;
  std::unordered_map<const TensorView*, RunTensor> values_;
  std::unordered_map<const StreamVal*, Stream*> named_streams_;
  std::unordered_map<int64_t, std::vector<int32_t>> communications_;  ///< recorded ones, of a group all of it
  std::vector<int32_t> group_;                                        ///< recorded since StartCoalescing
  std::unique_ptr<PostedCommunications> posted_;                      ///< null: nobody communicates
  std::unordered_set<const TensorView*> bound_views_;
  std::vector<std::string> copied_views_;
};

}  // namespace tokamak
