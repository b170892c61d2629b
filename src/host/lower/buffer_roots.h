// BufferRoots: which tensors of a host program share a buffer.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// Follows aliases, views (select, slice, results marked as views), and Sets that bind their operand because nothing
/// allocates their result.
class BufferRoots {
 public:
  explicit BufferRoots(const HostIrContainer& program);

  /// The tensor that owns the buffer of `tensor`.
  TensorView* root(TensorView* tensor) const;
  bool isAllocated(TensorView* tensor) const { return allocated_.contains(tensor); }
  /// Whether an input or output of the program shares this root's buffer.
  bool isCallers(const TensorView* root) const { return callers_.contains(root); }

 private:
  void bind(const TensorView* view, TensorView* source);

  const HostIrContainer* program_;
  std::unordered_set<const TensorView*> allocated_;
  std::unordered_map<const TensorView*, TensorView*> sources_;
  std::unordered_set<const TensorView*> callers_;
};

}  // namespace tokamak
