#include "define/attention.h"

#include <limits>

#include "base/error.h"
#include "define/functions.h"
#include "define/softmax.h"
#include "define/structured.h"

namespace tokamak {

namespace {

// Keys after the query's own position get -infinity, which softmax takes to 0.
TensorView* hideLaterKeys(TensorView* scores) {
  const Axes shape = shapeOf(*scores);
  Fusion& fusion = scores->fusion();
  TensorView* queries = unsqueeze(iota(fusion, shape[shape.size() - 2]->visibleExtent()), 1);
  TensorView* keys = iota(fusion, shape.back()->visibleExtent());
  return where(ge(queries, keys), scores, -std::numeric_limits<double>::infinity());
}

Operand scaleOf(const TensorView& q, const AttentionOptions& options, DataType type) {
  if (options.scale) return *options.scale;
  return rsqrt(castTo(shapeOf(q).back()->visibleExtent(), type));
}

}  // namespace

TensorView* attention(TensorView* q, TensorView* k, TensorView* v, AttentionOptions options) {
  for (const TensorView* operand : {q, k, v}) {
    TK_REQUIRE(shapeOf(*operand).size() >= 2, Definition, "attention: {} needs a sequence and an embedding axis",
               toString(*operand));
    TK_REQUIRE(operand->dtype() == q->dtype() && isFloatingType(operand->dtype()), Definition,
               "attention: operands must have one floating type, got {} and {}", toString(*q), toString(*operand));
  }
  TensorView* scores = toComputeType(matmul(q, transpose(k)));
  scores = mul(scores, scaleOf(*q, options, scores->dtype()));
  if (options.is_causal) scores = hideLaterKeys(scores);
  return matmul(castTo(softmax(scores), q->dtype()), v);
}

}  // namespace tokamak
