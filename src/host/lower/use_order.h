// UseOrder: whether a stream certainly comes after all uses of a buffer, told from the statements alone, for any sizes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "host/ir/host_ir_container.h"
#include "host/lower/buffer_roots.h"

namespace tokamak {

struct ForLoop;

/// Walks the statements of a block. Streams are told apart by what is written for them: Stream ( i % n ) in a loop over
/// i stands for the streams of all iterations together once the loop is over, and a loop over the same range that waits
/// for each of them has waited for all. What cannot be told counts as not ordered.
class UseOrder {
 public:
  /// For the program's top level, before its first statement.
  UseOrder(const HostIrContainer& program, const BufferRoots& roots);
  /// For the body of a loop that is the next statement: knows the streams' names, and no uses.
  UseOrder forBody();

  /// The next statement of the block has run.
  void take(const Expr& expr);
  /// Whether what the current stream does now comes after all uses of the buffer so far.
  bool isOver(const TensorView* root) const;
  bool isOnCallersStream() const;

 private:
  using Key = std::string;
  /// Per stream that used the buffer: the streams that come after its uses.
  using Uses = std::map<Key, std::set<Key>>;
  using UsesOfBuffers = std::map<const TensorView*, Uses>;

  Key keyOf(const StreamVal& stream) const;
  Key unknownStream();
  void rename(const StreamVal* stream);
  UseOrder iterationOf(const ForLoop& loop);
  void joinFamilies(const UseOrder& iteration, const ForLoop& loop);
  void use(const Expr& expr, const Key& executor);
  void takeLoop(const ForLoop& loop);
  void takeCondition(const Expr& expr);
  void synchronize(const Key& with);

  const HostIrContainer* program_;
  const BufferRoots* roots_;
  Key current_;
  std::map<const StreamVal*, Key> names_;
  UsesOfBuffers uses_;
  std::set<std::pair<Key, Key>>
      waits_;  ///< of the block's own statements: who waited for whom, whatever they waited for
  std::string scope_ = "program";
  int unknown_streams_ = 0;
};

}  // namespace tokamak
