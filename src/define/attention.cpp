#include "define/attention.h"

#include <limits>

#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
#include "define/structured.h"

namespace tokamak {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

void requireOperands(const TensorView& q, const TensorView& k, const TensorView& v) {
  for (const TensorView* operand : {&q, &k, &v}) {
    TK_REQUIRE(shapeOf(*operand).size() >= 2, Definition, "attention: {} needs a sequence and an embedding axis",
               toString(*operand));
    TK_REQUIRE(operand->dtype() == q.dtype() && isFloatingType(operand->dtype()), Definition,
               "attention: operands must have one floating type, got {} and {}", toString(q), toString(*operand));
  }
}

void requireFitting(const TensorView& beside, std::string_view name, const TensorView& scores) {
  TK_REQUIRE(shapeOf(beside).size() <= shapeOf(scores).size(), Definition,
             "attention: the {} {} has more axes than the scores, which have {}", name, toString(beside),
             shapeOf(scores).size());
}

TensorView* withBias(TensorView* scores, TensorView* bias) {
  if (bias == nullptr) return scores;
  TK_REQUIRE(isFloatingType(bias->dtype()), Definition, "attention: the bias must be of a floating type, got {}",
             toString(*bias));
  requireFitting(*bias, "bias", *scores);
  return add(scores, castTo(bias, scores->dtype()));
}

TensorView* withMask(TensorView* scores, TensorView* mask) {
  if (mask == nullptr) return scores;
  TK_REQUIRE(mask->dtype() == DataType::Bool, Definition,
             "attention: the mask must be of type bool (true: the query sees the key), got {}", toString(*mask));
  requireFitting(*mask, "mask", *scores);
  return where(mask, scores, kHidden);
}

// Keys after the query's own position are hidden.
TensorView* hideLaterKeys(TensorView* scores) {
  const Axes shape = shapeOf(*scores);
  Fusion& fusion = scores->fusion();
  TensorView* queries = unsqueeze(iota(fusion, shape[shape.size() - 2]->visibleExtent()), 1);
  TensorView* keys = iota(fusion, shape.back()->visibleExtent());
  return where(ge(queries, keys), scores, kHidden);
}

Operand scaleOf(const TensorView& q, const AttentionOptions& options, DataType type) {
  if (options.scale) return *options.scale;
  return rsqrt(castTo(shapeOf(q).back()->visibleExtent(), type));
}

TensorView* scoresOf(TensorView* q, TensorView* k, const AttentionOptions& options) {
  const DataType type = computeType(q->dtype());
  TensorView* products = define<MatmulOp>(q, transpose(k), type);
  TensorView* scores = mul(products, scaleOf(*q, options, type));
  scores = withMask(withBias(scores, options.bias), options.mask);
  return options.is_causal ? hideLaterKeys(scores) : scores;
}

enum class Logarithms : uint8_t { No, Yes };

Attention attend(TensorView* q, TensorView* k, TensorView* v, const AttentionOptions& options, Logarithms logarithms) {
  requireGiven("attention", {{"q", q}, {"k", k}, {"v", v}});
  requireOperands(*q, *k, *v);
  TensorView* scores = scoresOf(q, k, options);
  TensorView* top = max(scores, {-1}, {.keepdim = true});
  TensorView* powers = exp(sub(scores, top));
  TensorView* weights = castTo(powers, q->dtype());
  TensorView* total = sum(weights, {-1}, {.keepdim = true});
  // -infinity less itself is no number: all that follows is none where all scores are hidden.
  TensorView* sees_none = eq(top, kHidden);
  TensorView* products = define<MatmulOp>(weights, v, scores->dtype());
  Attention result{.out = castTo(where(sees_none, 0.0, div(products, total)), q->dtype())};
  if (logarithms == Logarithms::No) return result;
  TensorView* exact = weights == powers ? total : sum(powers, {-1}, {.keepdim = true});
  result.logsumexp = squeeze(where(sees_none, kHidden, add(log(exact), top)), {-1});
  return result;
}

}  // namespace

TensorView* attention(TensorView* q, TensorView* k, TensorView* v, AttentionOptions options) {
  return attend(q, k, v, options, Logarithms::No).out;
}

Attention attention_with_logsumexp(TensorView* q, TensorView* k, TensorView* v, AttentionOptions options) {
  return attend(q, k, v, options, Logarithms::Yes);
}

}  // namespace tokamak
