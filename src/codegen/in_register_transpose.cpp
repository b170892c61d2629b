#include "codegen/in_register_transpose.h"

#include <algorithm>

#include "analysis/substitute.h"
#include "compute/element.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

// The only store of the body, and the load whose value it stores, directly or through a Let.
struct Move {
  const kir::Store* store = nullptr;
  const kir::Value* load = nullptr;
};

std::optional<Move> onlyMove(const kir::Statements& body) {
  if (body.empty() || body.size() > 2) return std::nullopt;
  const auto* store = std::get_if<kir::Store>(&body.back()->node);
  if (store == nullptr) return std::nullopt;
  const kir::Value* value = store->value.get();
  if (body.size() == 2) {
    const auto* let = std::get_if<kir::Let>(&body.front()->node);
    if (let == nullptr || let->index != nullptr || value->kind != kir::ValueKind::Variable ||
        value->variable != let->variable)
      return std::nullopt;
    value = let->value.get();
  }
  if (value->kind != kir::ValueKind::Load) return std::nullopt;
  return Move{store, value};
}

class Steps {
 public:
  Steps(Fusion& fusion, IntervalAnalysis& analysis) : fusion_(fusion), analysis_(analysis) {}

  Scalar* at(Scalar& index, const Scalar& loop, Scalar* value) {
    Substitution substitution(fusion_);
    substitution.set(loop, value);
    return simplifyRemainders(substitution(&index), analysis_);
  }
  // The index' step per iteration of the loop; null if it is not linear.
  Scalar* stepOf(Scalar& index, Scalar& loop) {
    if (Scalar* slope = slopeOf(index, loop)) return slope;
    Scalar* first = at(index, loop, fusion_.constant(0));
    Scalar* second = at(index, loop, fusion_.constant(1));
    Scalar* step = simplifyRemainders(fusion_.sub(second, first), analysis_);
    Scalar* rest = fusion_.sub(&index, fusion_.add(first, fusion_.mul(&loop, step)));
    const bool is_linear = rest->isConstantInt(0) || simplifyRemainders(rest, analysis_)->isConstantInt(0);
    return is_linear ? step : nullptr;
  }
  bool isUnit(Scalar& index, Scalar& loop) {
    const Scalar* step = stepOf(index, loop);
    return step != nullptr && step->isConstantInt(1);
  }

 private:
  // The step of linear sums and products. (The simplifier does not multiply out products with symbols.)
  Scalar* slopeOf(Scalar& index, const Scalar& loop) {
    if (&index == &loop) return fusion_.constant(1);
    if (!mentions(index, loop)) return fusion_.constant(0);
    if (index.op() != ScalarOp::Add && index.op() != ScalarOp::Sub && index.op() != ScalarOp::Mul) return nullptr;
    Scalar* a = slopeOf(*index.operand(0), loop);
    Scalar* b = slopeOf(*index.operand(1), loop);
    if (a == nullptr || b == nullptr) return nullptr;
    if (index.op() == ScalarOp::Add) return fusion_.add(a, b);
    if (index.op() == ScalarOp::Sub) return fusion_.sub(a, b);
    if (b->isConstantInt(0)) return fusion_.mul(a, index.operand(1));
    return a->isConstantInt(0) ? fusion_.mul(index.operand(0), b) : nullptr;
  }

  Fusion& fusion_;
  IntervalAnalysis& analysis_;
};

}  // namespace

std::optional<InRegisterTranspose> findInRegisterTranspose(const kir::Loop& loop, Fusion& fusion,
                                                           IntervalAnalysis& analysis) {
  if (loop.body.size() != 1 || !loop.start->isConstantInt(0)) return std::nullopt;
  const auto* inner = std::get_if<kir::Loop>(&loop.body.front()->node);
  if (inner == nullptr || !inner->start->isConstantInt(0) || mentions(*inner->stop, *loop.index)) return std::nullopt;
  const auto move = onlyMove(inner->body);
  if (!move || !kir::isGlobal(*move->store->tensor) || move->load->tensor->dtype() != move->store->tensor->dtype() ||
      move->load->tensor->memoryType() != MemoryType::Local)
    return std::nullopt;
  Steps steps(fusion, analysis);
  Scalar& to = *move->store->index;
  Scalar& from = *move->load->scalar;
  InRegisterTranspose result{.to = move->store->tensor, .from = move->load->tensor};
  if (!steps.isUnit(to, *inner->index) || !steps.isUnit(from, *loop.index)) return std::nullopt;
  result.to_stride = steps.stepOf(to, *loop.index);
  result.from_stride = steps.stepOf(from, *inner->index);
  for (const Scalar* stride : {result.to_stride, result.from_stride}) {
    if (stride == nullptr || mentions(*stride, *loop.index) || mentions(*stride, *inner->index) ||
        stride->isConstantInt(1))
      return std::nullopt;
  }
  Scalar* zero = fusion.constant(0);
  const auto first = [&](Scalar& index) { return steps.at(*steps.at(index, *loop.index, zero), *inner->index, zero); };
  result.first_to = first(to);
  result.first_from = first(from);
  result.rows = loop.stop;
  result.columns = inner->stop;
  return result;
}

std::optional<std::vector<RowsRead>> findRowsRead(const kir::Loop& loop, const TensorView& buffer, Fusion& fusion,
                                                  IntervalAnalysis& analysis) {
  const auto* inner = loop.body.size() == 1 ? std::get_if<kir::Loop>(&loop.body.front()->node) : nullptr;
  const auto columns = inner == nullptr ? std::nullopt : inner->stop->constantInt();
  if (!columns) return std::nullopt;
  Steps steps(fusion, analysis);
  // A place is not known before the loop where it depends on an element that is read in it.
  std::vector<const Scalar*> read_inside;
  for (const kir::StatementRef& each : inner->body) {
    const auto* let = std::get_if<kir::Let>(&each->node);
    if (let != nullptr && let->index != nullptr) read_inside.push_back(let->index);
  }
  std::vector<RowsRead> rows;
  bool fills_buffer = false;
  const auto visit = [&](const kir::Value& value) {
    if (value.kind != kir::ValueKind::Load || !kir::isGlobal(*value.tensor)) return;
    if (std::ranges::any_of(read_inside, [&](const Scalar* index) { return mentions(*value.scalar, *index); })) return;
    Scalar* stride = steps.stepOf(*value.scalar, *loop.index);
    if (stride == nullptr || !steps.isUnit(*value.scalar, *inner->index) || mentions(*stride, *loop.index) ||
        mentions(*stride, *inner->index))
      return;
    Scalar* first = steps.at(*steps.at(*value.scalar, *loop.index, loop.start), *inner->index, inner->start);
    rows.push_back({value.tensor, first, stride, *columns * sizeOf(value.tensor->dtype())});
  };
  for (const kir::StatementRef& each : inner->body) {
    if (const auto* let = std::get_if<kir::Let>(&each->node)) kir::visitValues(*let->value, visit);
    const auto* store = std::get_if<kir::Store>(&each->node);
    if (store == nullptr) continue;
    fills_buffer |= store->tensor == &buffer;
    kir::visitValues(*store->value, visit);
  }
  return fills_buffer ? std::optional(rows) : std::nullopt;
}

}  // namespace tokamak
