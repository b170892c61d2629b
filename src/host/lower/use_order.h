// UseOrder: whether a stream is ordered after all uses of a buffer, from the statements, for all sizes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "host/ir/host_ir_container.h"
#include "host/lower/buffer_roots.h"

namespace tokamak {

struct ForLoop;

/// Takes the statements of a block. Streams are distinguished by their text. After a loop over i, Stream ( i % n ) is
/// the family of all iterations' streams; another loop over the same range that waits for each has waited for the
/// family. Unknown order counts as none.
class UseOrder {
 public:
  /// For the program's top level, before its first statement.
  UseOrder(const HostIrContainer& program, const BufferRoots& roots);
  /// For the body of a loop that is the next statement: with streams, without uses.
  UseOrder forBody();

  /// Takes the next statement of the block.
  void take(const Expr& expr);
  /// Whether the current stream is ordered after all uses of the buffer so far.
  bool isOver(const TensorView* root) const;
  bool isOnCallersStream() const;

 private:
  using Key = std::string;
  /// Stream that used the buffer -> the streams that are ordered after its uses.
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
  std::set<std::pair<Key, Key>> waits_;  ///< of the block's own statements: stream -> streams that it waited for
  std::string scope_ = "program";
  int unknown_streams_ = 0;
};

}  // namespace tokamak
