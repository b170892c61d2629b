// HostIrContainer: a host program: an ordered list of statements over the nodes of a fusion.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/ir/extent_demands.h"
#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

namespace kir {
struct Kernel;
}

/// A host program.
/// Thread safety: that of Fusion.
class HostIrContainer final : public Fusion {
 public:
  explicit HostIrContainer(std::string name = "host_program");

  bool isHostProgram() const override { return true; }

  /// The statements, in the order in which they run. Expressions of the container that are in no block are only
  /// definitions.
  const Block& topLevel() const { return top_level_; }
  void setTopLevel(Block block) { top_level_ = std::move(block); }
  void pushBack(Expr* expr) { top_level_.exprs.push_back(expr); }

  /// The stream that runs the program when nothing else is said: the caller's.
  StreamVal* defaultStream() const { return default_stream_; }
  /// The named scalar that stands for the number of worker streams: "numberOfStreams".
  Scalar* numberOfStreams() const { return number_of_streams_; }

  /// At run time `alias` uses `original`'s buffer. Chains work, declared in either order. Errors: HostProgram for a
  /// cycle.
  void markAlias(TensorView* original, TensorView* alias);
  /// What `alias` stands for, one step.
  const std::map<TensorView*, TensorView*, ById>& aliases() const { return aliases_; }
  /// The end of the chain: the tensor whose buffer is used.
  TensorView* resolveAlias(TensorView* tensor) const;

  /// The statement that gives `view`, an op of `source` whose result may be a view, gives it as a view of `source`
  /// where nothing gave it memory of its own, and where strides can tell it; else it computes it as always
  /// (docs/views.md). Errors: HostProgram for a second one.
  void markView(TensorView* source, TensorView* view);
  const std::map<TensorView*, TensorView*, ById>& views() const { return views_; }
  bool isView(TensorView* tensor) const { return views_.contains(tensor); }

  /// What has to hold of extents besides what the statements ask for. One that is there already is not added again.
  void addDemand(ExtentDemand demand);
  const std::vector<ExtentDemand>& demands() const { return demands_; }

  /// The kernels that LaunchKernel names, by number. Errors: HostProgram where there is one of this number.
  void addKernel(int64_t number, std::shared_ptr<const kir::Kernel> kernel);
  const std::map<int64_t, std::shared_ptr<const kir::Kernel>>& kernels() const { return kernels_; }

 private:
  friend class FusionMutator;
  Block top_level_;
  StreamVal* default_stream_;
  Scalar* number_of_streams_;
  std::map<TensorView*, TensorView*, ById> aliases_;
  std::map<TensorView*, TensorView*, ById> views_;
  std::vector<ExtentDemand> demands_;
  std::map<int64_t, std::shared_ptr<const kir::Kernel>> kernels_;
};

/// Whether the statement computes what is in its results' memory, as allocations and slices do not.
bool computesResults(const Expr& statement);

/// Calls `visit` with every statement of the block and of the blocks in it, in program order, outer before inner.
void forEachStatement(const Block& block, const std::function<void(const Expr&)>& visit);

}  // namespace tokamak
