// Stream transfers: loops whose iterations are the parts that devices have, and exchange these rank to rank.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/sharding.h"
#include "host/ir/host_ir_container.h"
#include "host/lower/mesh_position.h"
#include "host/lower/stream_axis.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

/// How a stream loop communicates that runs along an axis of which devices have a part each. With None it does not:
/// what devices have is communicated as a whole, before the loop or behind it. With the others the loop is offset by
/// the rank: at position p of d it is at part (p + StreamIdx) % d first its own one, or (p + 1 + StreamIdx) % d.
enum class StreamTransfers : uint8_t {
  None,
  /// A rank has the part from the rank that owns it, and sends its own one to the rank that is as far on the other
  /// side: every pair of ranks exchanges one part. A reduction stays behind the loop.
  Direct,
  /// The same as one CollectivePermute per iteration, which copies the own part, too.
  Permute,
  /// A rank has each part from the next rank, and passes it on to the one before. A sum travels the same way, and each
  /// rank adds its own term: the last one is that of the rank which keeps it.
  Ring,
};
inline constexpr std::array kAllStreamTransfers = {StreamTransfers::None, StreamTransfers::Direct,
                                                   StreamTransfers::Permute, StreamTransfers::Ring};

/// A Set that a loop offset by the rank does part by part.
struct StreamTransfer {
  enum class Kind : uint8_t {
    Gather,         ///< the operand's part of a device -> the whole axis, which is streamed
    ReduceScatter,  ///< the terms of a streamed axis -> the device's part of their reduction
    AllToAll,       ///< the device's part of another axis -> its part of the streamed one
  };
  Kind kind = Kind::Gather;
  size_t dimension = 0;    ///< of the mesh, over which the axis is dealt out
  int64_t axis = 0;        ///< of the visible shape of both: the streamed one
  MarkedParts given = {};  ///< of AllToAll: what a device has of the operand
  ReductionKind reduction = ReductionKind::Sum;
  MeshPosition position = {};

  /// Whether two may be in one loop: sums have the own part last, and an AllToAll has it first.
  bool mayJoin(const StreamTransfer& other) const {
    const auto have = [&](Kind a, Kind b) { return (kind == a && other.kind == b) || (kind == b && other.kind == a); };
    return dimension == other.dimension && position.own == other.position.own &&
           position.first == other.position.first && !have(Kind::ReduceScatter, Kind::AllToAll);
  }
};

/// The transfer that the Set `expr` is in a loop along `axis`: of its result for a Gather, of its operand, which is
/// made in the loop, for the others. Nothing where it changes something else, too; where iterations and devices do not
/// have the same parts; where parts are no ranges of memory; and for meshes without a MeshPosition.
/// Errors: those of shardingOf().
std::optional<StreamTransfer> gatherOf(HostIrContainer& program, const Expr& expr, const StreamAxis& axis);
std::optional<StreamTransfer> reduceScatterOf(HostIrContainer& program, const Expr& expr, const StreamAxis& axis);
std::optional<StreamTransfer> allToAllOf(HostIrContainer& program, const Expr& expr, const StreamAxis& axis);

/// The first number that no communication of the program has.
int64_t firstFreeNumber(const HostIrContainer& program);

/// A loop with transfers.
struct TransferLoop {
  StreamTransfers transfers = StreamTransfers::Direct;
  MeshPosition position = {};
  bool reduces = false;  ///< a sum needs the own part last, so that all others are gathered directly
};

/// Writes the statements of a loop's transfers. Tensors of which a part is taken are whole ones; what is read along the
/// loop has the part partIndex().
class TransferWriter {
 public:
  /// `number`: the first free number of a communication.
  TransferWriter(HostIrContainer& program, Scalar* loop_index, const TransferLoop& loop, int64_t number,
                 CommunicatorBackend backend = CommunicatorBackend::Local)
      : program_(program), loop_index_(loop_index), loop_(loop), next_number_(number), backend_(backend) {}

  Scalar* partIndex();

  /// Give what stands in the body where the Set stood. `part`: that of the result. The operands of the others are
  /// computed before them in the body.
  std::vector<Expr*> gather(const LoadStoreOp& set, const StreamTransfer& transfer, const StreamAxis& axis,
                            TensorView& part);
  std::vector<Expr*> reduceScatter(const LoadStoreOp& set, const StreamTransfer& transfer, const StreamAxis& axis);
  std::vector<Expr*> allToAll(const LoadStoreOp& set, const StreamTransfer& transfer, const StreamAxis& axis);

  /// What is to stand before the loop and behind it, on the caller's stream.
  const std::vector<Expr*>& before() const { return before_; }
  const std::vector<Expr*>& after() const { return after_; }
  int64_t nextNumber() const { return next_number_; }

 private:
  using List = std::vector<Expr*>;

  struct Exchange {
    TensorView& sent;
    Scalar* to = nullptr;  ///< a position, as is `from`
    TensorView& received;
    Scalar* from = nullptr;
  };
  void permute(const Exchange& parts, List& list);
  void exchange(const Exchange& parts, List& list);
  void passAlong(TensorView& own, TensorView& part, TensorView& before, List& list);
  int64_t post(P2pType type, TensorView& buffer, Scalar* peer, List& list);
  void wait(int64_t number, List& list);
  void choose(Scalar* predicate, List then_body, List else_body, List& list);
  Scalar* positionAt(int64_t distance);
  Scalar* indexBefore();
  StreamVal* workerBefore();
  Scalar* oppositePosition();
  Scalar* isIteration(int64_t number);
  Scalar* constant(int64_t value) { return program_.constant(value); }
  int64_t shift() const { return loop_.reduces ? 1 : 0; }

  TensorView& viewOf(TensorView& tensor, int64_t visible_axis, Scalar* chunk, Scalar* index, List& list);
  TensorView& bufferLike(const TensorView& like, const Sharding& sharding);
  TensorView& packed(TensorView& own);
  bool isSentAsItLies(TensorView& tensor) const;

  HostIrContainer& program_;
  Scalar* loop_index_;
  TransferLoop loop_;
  int64_t next_number_;
  CommunicatorBackend backend_;
  List before_;
  List after_;
};

}  // namespace tokamak
