// HostIrContainer: a host program: an ordered list of statements over the nodes of a fusion.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/ir/extent_demands.h"
#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

namespace kir {
struct Kernel;
}

/// What a rank's part of a program (host/local/local_program.h) knows of the whole one.
struct RankOrigin {
  std::vector<int64_t> ranks = {};  ///< that are in a mesh of it, ascending
  bool communicates = false;        ///< whether any of them does, or relies on chunks that are equal on all
  uint64_t text_hash = 0;           ///< of the whole program as it prints
  /// An input, or an extent of one, of the whole program.
  struct Value {
    std::string name;                 ///< in the whole program
    Scalar* scalar = nullptr;         ///< of this program
    bool is_of_equal_chunks = false;  ///< computed of the rank's own chunk, as if all ranks had chunks of that size
  };
  /// Those that are known on this rank and that what it does depends on.
  std::vector<Value> values = {};
  /// Whether what the rank computes depends on a value that is of equal chunks. No communication need tell then that
  /// another rank has another one.
  bool computes_of_equal_chunks = false;
  /// What the rank has of each input tensor of this program: "on rank 1, which has a part of axis 0 (DIDx) of
  /// T0 on mesh (0 1)".
  std::vector<std::string> parts = {};
};

/// A host program.
/// Thread safety: that of Fusion.
class HostIrContainer final : public Fusion {
 public:
  explicit HostIrContainer(std::string name = "host_program");

  bool isHostProgram() const override { return true; }

  /// The statements in order. (Expressions of the container that are in no block are definitions only.)
  const Block& topLevel() const { return top_level_; }
  void setTopLevel(Block block) { top_level_ = std::move(block); }
  void pushBack(Expr* expr) { top_level_.exprs.push_back(expr); }

  /// The default stream: the caller's.
  StreamVal* defaultStream() const { return default_stream_; }
  /// The named scalar that stands for the number of worker streams: "numberOfStreams".
  Scalar* numberOfStreams() const { return number_of_streams_; }

  /// At run time `alias` uses `original`'s buffer. Chains work, declared in either order. Errors: HostProgram for a
  /// cycle.
  void markAlias(TensorView* original, TensorView* alias);
  /// Alias -> original, one step.
  const std::map<TensorView*, TensorView*, ById>& aliases() const { return aliases_; }
  /// The end of the chain: the tensor whose buffer is used.
  TensorView* resolveAlias(TensorView* tensor) const;

  /// Lets the op that computes `view` from `source` make it a view, if nothing allocates it and strides can express it;
  /// else the op computes it (docs/views.md). Errors: HostProgram for a second mark.
  void markView(TensorView* source, TensorView* view);
  const std::map<TensorView*, TensorView*, ById>& views() const { return views_; }
  bool isView(TensorView* tensor) const { return views_.contains(tensor); }

  /// Adds a demand on extents, unless it is there already.
  void addDemand(ExtentDemand demand);
  const std::vector<ExtentDemand>& demands() const { return demands_; }

  /// Of which program this is a rank's part; null: of none.
  const RankOrigin* rankOrigin() const { return rank_origin_ ? &*rank_origin_ : nullptr; }
  void setRankOrigin(RankOrigin origin) { rank_origin_ = std::move(origin); }

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
  std::optional<RankOrigin> rank_origin_;
};

/// Whether the statement computes what is in its results' memory, as allocations and slices do not.
bool computesResults(const Expr& statement);

/// Calls `visit` with every statement of the block and of the blocks in it, in program order, outer before inner.
void forEachStatement(const Block& block, const std::function<void(const Expr&)>& visit);

}  // namespace tokamak
