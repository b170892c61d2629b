#include <algorithm>
#include <optional>
#include <unordered_map>

#include "host/buffer_passes.h"
#include "host/restrict_op.h"
#include "host/stream_axis.h"
#include "host/stream_scalars.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/set_current_stream.h"

namespace tokamak {

namespace {

// How one tensor is used by the program's statements.
struct Uses {
  const Expr* loop = nullptr;  ///< the one top-level loop that slices it
  int64_t axis = -1;           ///< the one logical axis it is sliced along
  bool can_rotate = true;
};

class BufferRotator {
 public:
  explicit BufferRotator(HostIrContainer& program) : program_(program), index_(streamIndex(program)) {}

  void run() {
    for (const Expr* expr : program_.topLevel().exprs) survey(*expr);
    for (const auto& [tensor, uses] : uses_) {
      const bool is_callers = program_.isInput(tensor) || program_.isOutput(tensor);
      if (uses.can_rotate && uses.loop != nullptr && !is_callers) prepare(*tensor, uses);
    }
    if (rotated_.empty()) return;
    program_.setTopLevel(rewrite(program_.topLevel()));
  }

 private:
  struct Rotation {
    TensorView* slots = nullptr;
    Scalar* chunk = nullptr;  ///< elements of the axis per slot
    bool is_chunked = false;
  };

  void survey(const Expr& top) {
    const auto useAt = [&](TensorView* tensor, int64_t axis) {
      Uses& uses = uses_[tensor];
      const bool is_first = uses.loop == nullptr;
      if (!is_first && (uses.loop != &top || uses.axis != axis)) uses.can_rotate = false;
      uses.loop = &top;
      uses.axis = axis;
    };
    Block alone;
    alone.exprs = {const_cast<Expr*>(&top)};
    const bool is_dealt_out_otherwise = !isDealtOutByIndex(alone);
    forEachStatement(alone, [&](const Expr& expr) {
      if (const auto* allocation = expr.as<Allocate>()) {
        if (allocation->zero_init)
          uses_[allocation->buffer].can_rotate = false;  // a slot is zero in its first iteration only
        return;
      }
      const auto* select = expr.as<HirAliasSelect>();
      const auto* slice = expr.as<HirAliasSlice>();
      const bool is_index = select != nullptr && select->index == index_;
      const bool is_chunk = slice != nullptr && chunkOf(*slice) != nullptr;
      if (is_dealt_out_otherwise) {
        if (select != nullptr) uses_[select->in].can_rotate = false;
        if (slice != nullptr) uses_[slice->in].can_rotate = false;
      }
      if (top.is<ForLoop>() && is_index) useAt(select->in, select->axis);
      if (top.is<ForLoop>() && is_chunk) useAt(slice->in, slice->axis);
      for (const auto vals : {expr.inputs(), expr.outputs()}) {
        for (TensorView* tensor : tensorsOf(vals)) {
          const bool is_sliced = (is_index && tensor == select->in) || (is_chunk && tensor == slice->in);
          if (!is_sliced) uses_[tensor].can_rotate = false;
        }
      }
    });
    for (const auto& [alias, original] : program_.aliases()) {
      uses_[alias].can_rotate = false;
      uses_[original].can_rotate = false;
    }
  }

  // Whether every stream that the block switches to is a caught one or StreamIdx % numberOfStreams: only then iterations that share a
  // slot share a stream.
  bool isDealtOutByIndex(const Block& block) const {
    bool holds = true;
    forEachStatement(block, [&](const Expr& expr) {
      const auto* switched = expr.as<SetCurrentStream>();
      const Scalar* number = switched == nullptr ? nullptr : switched->stream->index();
      if (number == nullptr) return;
      holds &= number->op() == ScalarOp::Mod && number->operand(0) == index_ &&
               number->operand(1) == program_.numberOfStreams();
    });
    return holds;
  }

  // The chunk of a slice that starts at StreamIdx * chunk (or at the end of the axis, where that comes first), else null.
  Scalar* chunkOf(const HirAliasSlice& slice) const { return chunkOfStart(*slice.start); }
  Scalar* chunkOfStart(const Scalar& start) const {
    if (&start == index_) return program_.constant(1);
    if (start.op() == ScalarOp::Min) {
      Scalar* chunk = chunkOfStart(*start.operand(0));
      return chunk != nullptr ? chunk : chunkOfStart(*start.operand(1));
    }
    if (start.op() != ScalarOp::Mul) return nullptr;
    if (start.operand(0) == index_) return start.operand(1);
    return start.operand(1) == index_ ? start.operand(0) : nullptr;
  }

  void prepare(TensorView& tensor, const Uses& uses) {
    Rotation rotation;
    for (const Expr* expr : uses.loop->as<ForLoop>()->body.exprs) {
      if (const auto* slice = expr->as<HirAliasSlice>(); slice != nullptr && slice->in == &tensor) {
        Scalar* chunk = chunkOf(*slice);
        if (rotation.is_chunked && rotation.chunk != chunk) return;  // cut in two ways: slots would not line up
        rotation.chunk = chunk;
        rotation.is_chunked = true;
      }
    }
    Scalar* whole = tensor.logical()[static_cast<size_t>(uses.axis)]->visibleExtent();
    if (tensor.logical()[static_cast<size_t>(uses.axis)]->isBroadcast()) return;
    Scalar* slots = program_.numberOfStreams();
    if (rotation.is_chunked) slots = program_.mul(slots, rotation.chunk);
    rotation.slots = makeSliceTensor(program_, tensor, uses.axis, program_.scalar(ScalarOp::Min, slots, whole));
    rotation.slots->setMemoryType(MemoryType::Global);
    rotated_[&tensor] = rotation;
  }

  Block rewrite(const Block& block) {
    Block result;
    for (Expr* expr : block.exprs) result.exprs.push_back(rewrite(*expr));
    return result;
  }

  Expr* rewrite(Expr& expr) {
    Scalar* slot = program_.mod(index_, program_.numberOfStreams());
    if (const auto* loop = expr.as<ForLoop>()) {
      ForLoop copy = *loop;
      copy.body = rewrite(loop->body);
      return program_.appendOp(std::move(copy));
    }
    if (const auto* allocate = expr.as<Allocate>(); allocate != nullptr && rotated_.contains(allocate->buffer)) {
      TensorView* slots = rotated_[allocate->buffer].slots;
      return program_.appendOp(
          Allocate{slots, elementCount(program_, *slots), allocate->zero_init, allocate->resets_to_zero});
    }
    if (const auto* select = expr.as<HirAliasSelect>(); select != nullptr && rotated_.contains(select->in)) {
      const Rotation& rotation = rotated_[select->in];
      return program_.appendOp(HirAliasSelect{select->out, rotation.slots, select->axis, slot});
    }
    if (const auto* slice = expr.as<HirAliasSlice>(); slice != nullptr && rotated_.contains(slice->in)) {
      const Rotation& rotation = rotated_[slice->in];
      Scalar* start = program_.mul(slot, rotation.chunk);
      // An iteration past the end of the axis has no elements, and maybe no slot.
      if (slice->start->op() == ScalarOp::Min) {
        start = program_.scalar(ScalarOp::Min, start,
                                rotation.slots->logical()[static_cast<size_t>(slice->axis)]->extent());
      }
      Scalar* length = program_.sub(slice->stop, slice->start);
      return program_.appendOp(
          HirAliasSlice{slice->out, rotation.slots, slice->axis, start, program_.add(start, length)});
    }
    return &expr;
  }

  HostIrContainer& program_;
  Scalar* index_;
  std::map<TensorView*, Uses, ById> uses_;
  std::unordered_map<const TensorView*, Rotation> rotated_;
};

}  // namespace

void rotateStreamBuffers(HostIrContainer& program) { BufferRotator(program).run(); }

}  // namespace tokamak
