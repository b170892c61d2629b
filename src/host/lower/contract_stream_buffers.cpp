#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "host/ir/restrict_op.h"
#include "host/lower/buffer_passes.h"
#include "host/lower/buffer_roots.h"
#include "host/lower/stream_axis.h"
#include "host/lower/stream_scalars.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/set_current_stream.h"

namespace tokamak {

namespace {

// The uses of one buffer in the program.
struct Uses {
  const Expr* allocation = nullptr;  ///< the one at the top level
  const ForLoop* loop = nullptr;     ///< the one top-level loop that uses it
  int64_t axis = -1;                 ///< the one logical axis it is sliced along
  std::vector<const Expr*> views;    ///< in the loop's body, in order
  size_t first = 0;                  ///< statement of the body that uses it
  size_t last = 0;
  bool can_contract = true;
};

class BufferContraction {
 public:
  explicit BufferContraction(HostIrContainer& program)
      : program_(program), roots_(program), index_(streamIndex(program)) {}

  void run() {
    for (const Expr* expr : program_.topLevel().exprs) collectUses(*expr);
    for (auto& [tensor, uses] : uses_) {
      uses.can_contract = uses.can_contract && uses.allocation != nullptr && !uses.views.empty() &&
                          !roots_.isCallers(tensor) &&
                          !tensor->logical()[static_cast<size_t>(uses.axis)]->isBroadcast();
      if (uses.can_contract) prepare(*tensor, uses);
    }
    if (replacements_.empty()) return;
    program_.setTopLevel(rewrite(program_.topLevel()));
  }

 private:
  void collectUses(const Expr& top) {
    if (const auto* allocation = top.as<Allocate>()) {
      Uses& uses = uses_[roots_.root(allocation->buffer)];
      uses.can_contract &= uses.allocation == nullptr && roots_.root(allocation->buffer) == allocation->buffer;
      uses.allocation = &top;
      return;
    }
    const auto* loop = top.as<ForLoop>();
    if (loop == nullptr || loop->index != index_)
      return forEachRoot(top, [&](Uses& uses) { uses.can_contract = false; });
    for (size_t i = 0; i < loop->body.exprs.size(); ++i) collectUsesInBody(*loop, i);
    // Allocation and release are ordered by their stream, so all uses of an iteration must be on one.
    for (size_t i = 0; i < loop->body.exprs.size(); ++i) {
      if (!switchesStream(*loop->body.exprs[i])) continue;
      for (auto& [tensor, uses] : uses_) {
        if (uses.loop == loop && uses.first <= i && i <= uses.last) uses.can_contract = false;
      }
    }
  }

  void collectUsesInBody(const ForLoop& loop, size_t statement) {
    const Expr& expr = *loop.body.exprs[statement];
    const TensorView* sliced = collectView(expr, loop);
    forEachRoot(expr, [&](Uses& uses) {
      const bool is_first = uses.loop == nullptr;
      // (A use before the views, or without one, accesses more than the iteration's slice.)
      uses.can_contract &= (is_first || uses.loop == &loop) && !uses.views.empty() && !communicates(expr);
      uses.loop = &loop;
      if (is_first) uses.first = statement;
      uses.last = statement;
    });
    // Only views of the iteration's slice may mention the whole buffer.
    forEachTensor(expr, [&](TensorView* tensor) {
      if (tensor == sliced) return;
      if (roots_.root(tensor) == program_.resolveAlias(tensor)) uses_[roots_.root(tensor)].can_contract = false;
    });
  }

  // The tensor of which the statement makes the iteration's slice, or null.
  const TensorView* collectView(const Expr& expr, const ForLoop& loop) {
    const auto* select = expr.as<HirAliasSelect>();
    const auto* slice = expr.as<HirAliasSlice>();
    const bool is_index = select != nullptr && (select->index == index_ || isOffset(*select->index, loop));
    if (!is_index && (slice == nullptr || !(isOwnChunk(*slice) || isOffsetChunk(*slice, loop)))) return nullptr;
    TensorView* in = select != nullptr ? select->in : slice->in;
    if (roots_.root(in) != in) return nullptr;  // a view of a view
    const int64_t axis = select != nullptr ? select->axis : slice->axis;
    Uses& uses = uses_[roots_.root(in)];
    uses.can_contract &= uses.views.empty() || uses.axis == axis;
    uses.axis = axis;
    uses.views.push_back(&expr);
    return in;
  }

  // Whether the scalar is ( StreamIdx + c ) % d in a loop over 0 to d: another index in each iteration.
  bool isOffset(const Scalar& scalar, const ForLoop& loop) const {
    if (scalar.op() != ScalarOp::Mod || !scalar.operand(1)->isConstant() || scalar.operand(1) != loop.stop ||
        !loop.start->isConstantInt(0) || !loop.step->isConstantInt(1))
      return false;
    const Scalar& moved = *scalar.operand(0);
    if (&moved == index_) return true;
    return moved.op() == ScalarOp::Add && isOperandOf(moved, index_) && otherThanIndex(moved)->isConstant();
  }

  // Whether the slice is [min(chunk * i, n), at most chunk behind that) for such an index i.
  bool isOffsetChunk(const HirAliasSlice& slice, const ForLoop& loop) const {
    const Scalar* start = slice.start;
    if (start->op() == ScalarOp::Min) start = start->operand(start->operand(0)->op() == ScalarOp::Mul ? 0 : 1);
    if (start->op() != ScalarOp::Mul) return false;
    for (const size_t i : {0, 1}) {
      Scalar* const chunk = start->operand(1 - i);
      if (isOffset(*start->operand(i), loop) && !mentionsIndex(*chunk) && isAtMostSum(*slice.stop, slice.start, chunk))
        return true;
    }
    return false;
  }

  bool mentionsIndex(const Scalar& scalar) const {
    return &scalar == index_ ||
           std::ranges::any_of(scalar.operands(), [&](const Scalar* operand) { return mentionsIndex(*operand); });
  }

  // Whether the slice is [StreamIdx * chunk, at most StreamIdx * chunk + chunk), maybe clamped to the axis: slices of
  // two iterations are disjoint.
  bool isOwnChunk(const HirAliasSlice& slice) {
    Scalar* chunk = chunkOfStart(*slice.start);
    if (chunk == nullptr) return false;
    if (isAtMostSum(*slice.stop, slice.start, chunk)) return true;
    // (For a constant extent: min(StreamIdx + 1, 8) * chunk.)
    if (slice.start->op() != ScalarOp::Mul || slice.stop->op() != ScalarOp::Mul) return false;
    const auto countOf = [&](const Scalar& product) {
      return product.operand(0) == chunk   ? product.operand(1)
             : product.operand(1) == chunk ? product.operand(0)
                                           : nullptr;
    };
    const Scalar* end = countOf(*slice.stop);
    Scalar* first = countOf(*slice.start);
    if (end == nullptr || !isAtMostSum(*end, first, program_.constant(1))) return false;
    // (With min(StreamIdx, 8) * chunk, iterations from the 8th on have no elements.)
    return first == index_ || (end->op() == ScalarOp::Min && isOperandOf(*end, otherThanIndex(*first)));
  }

  // Whether the scalar is a + b, or the minimum of that and something else.
  bool isAtMostSum(const Scalar& scalar, Scalar* a, Scalar* b) const {
    const Scalar* sum = program_.add(a, b);
    const auto isSum = [&](const Scalar& stop) {
      const bool is_same = stop.op() == ScalarOp::Add && ((stop.operand(0) == a && stop.operand(1) == b) ||
                                                          (stop.operand(1) == a && stop.operand(0) == b));
      return &stop == sum || is_same;
    };
    if (scalar.op() != ScalarOp::Min) return isSum(scalar);
    return isSum(*scalar.operand(0)) || isSum(*scalar.operand(1));
  }

  Scalar* chunkOfStart(const Scalar& start) const {
    if (&start == index_) return program_.constant(1);
    if (start.op() == ScalarOp::Min) {
      Scalar* chunk = chunkOfStart(*start.operand(0));
      return chunk != nullptr ? chunk : chunkOfStart(*start.operand(1));
    }
    if (start.op() != ScalarOp::Mul) return nullptr;
    if (isIndex(*start.operand(0))) return start.operand(1);
    return isIndex(*start.operand(1)) ? start.operand(0) : nullptr;
  }

  static bool isOperandOf(const Scalar& scalar, const Scalar* operand) {
    return scalar.operand(0) == operand || scalar.operand(1) == operand;
  }

  // Whether the scalar is StreamIdx, or the minimum of that and a number of chunks.
  bool isIndex(const Scalar& scalar) const {
    return &scalar == index_ || (scalar.op() == ScalarOp::Min && isOperandOf(scalar, index_));
  }

  const Scalar* otherThanIndex(const Scalar& minimum) const {
    return minimum.operand(0) == index_ ? minimum.operand(1) : minimum.operand(0);
  }

  static bool communicates(const Expr& expr) {
    bool is_any = false;
    forEachStatement(alone(expr), [&](const Expr& inner) { is_any = is_any || inner.info().is_communication; });
    return is_any;
  }

  static bool switchesStream(const Expr& expr) {
    bool switches = false;
    forEachStatement(alone(expr), [&](const Expr& inner) { switches |= inner.is<SetCurrentStream>(); });
    return switches;
  }

  static Block alone(const Expr& expr) {
    Block block;
    block.exprs = {const_cast<Expr*>(&expr)};
    return block;
  }

  template <class Visit>
  static void forEachTensor(const Expr& expr, const Visit& visit) {
    forEachStatement(alone(expr), [&](const Expr& inner) {
      for (const auto vals : {inner.inputs(), inner.outputs()}) {
        for (TensorView* tensor : tensorsOf(vals)) visit(tensor);
      }
    });
  }

  template <class Visit>
  void forEachRoot(const Expr& expr, const Visit& visit) {
    forEachTensor(expr, [&](TensorView* tensor) { visit(uses_[roots_.root(tensor)]); });
  }

  // Prepares replacements: a single view becomes a buffer, several become views of one buffer.
  void prepare(TensorView& tensor, const Uses& uses) {
    const auto& whole = *uses.allocation->as<Allocate>();
    const auto allocate = [&](TensorView* buffer) {
      buffer->setMemoryType(MemoryType::Global);
      return program_.appendOp(
          Allocate{buffer, elementCount(program_, *buffer), whole.zero_init, whole.resets_to_zero});
    };
    if (uses.views.size() == 1) {
      replacements_[uses.views[0]] = {allocate(asTensor(uses.views[0]->output(0)))};
    } else {
      const HirAliasSlice* chunk = nullptr;
      const Scalar* start = startOf(*uses.views[0]);
      for (const Expr* view : uses.views) {
        const auto* slice = view->as<HirAliasSlice>();
        if (startOf(*view) != start || (slice != nullptr && chunk != nullptr && chunk->stop != slice->stop)) return;
        if (slice != nullptr) chunk = slice;
      }
      const auto axis = static_cast<size_t>(uses.axis);
      Scalar* extent = chunk == nullptr ? program_.constant(1) : chunk->out->logical()[axis]->visibleExtent();
      TensorView* part = makeSliceTensor(program_, tensor, uses.axis, extent);
      for (const Expr* view : uses.views) replacements_[view] = {viewOf(*part, *view)};
      auto& first = replacements_[uses.views[0]];
      first.insert(first.begin(), allocate(part));
    }
    replacements_[uses.allocation] = {};
  }

  static const Scalar* startOf(const Expr& view) {
    const auto* select = view.as<HirAliasSelect>();
    return select != nullptr ? select->index : view.as<HirAliasSlice>()->start;
  }

  Expr* viewOf(TensorView& part, const Expr& view) {
    Scalar* zero = program_.constant(0);
    if (const auto* select = view.as<HirAliasSelect>())
      return program_.appendOp(HirAliasSelect{select->out, &part, select->axis, zero});
    const auto& slice = *view.as<HirAliasSlice>();
    return program_.appendOp(
        HirAliasSlice{slice.out, &part, slice.axis, zero, part.logical()[static_cast<size_t>(slice.axis)]->extent()});
  }

  Block rewrite(const Block& block) {
    Block result;
    for (Expr* expr : block.exprs) {
      const auto replacement = replacements_.find(expr);
      if (replacement != replacements_.end()) {
        result.exprs.insert(result.exprs.end(), replacement->second.begin(), replacement->second.end());
      } else if (const auto* loop = expr->as<ForLoop>()) {
        ForLoop copy = *loop;
        copy.body = rewrite(loop->body);
        result.exprs.push_back(program_.appendOp(std::move(copy)));
      } else {
        result.exprs.push_back(expr);
      }
    }
    return result;
  }

  HostIrContainer& program_;
  const BufferRoots roots_;
  Scalar* index_;
  std::map<TensorView*, Uses, ById> uses_;                            // by root
  std::unordered_map<const Expr*, std::vector<Expr*>> replacements_;  // of views; allocations are removed
};

}  // namespace

void contractStreamBuffers(HostIrContainer& program) { BufferContraction(program).run(); }

}  // namespace tokamak
