#include "ir/ops/math/reduction_op.h"

#include <algorithm>

#include "oracle/functions.h"
#include "oracle/index.h"
#include "oracle/op_context.h"
#include "oracle/product.h"
#include "oracle/sum.h"

namespace tokamak::oracle {

namespace {

Element combineIntegral(FunctionId function, DataType type, int64_t identity, std::span<const Element> terms) {
  Element result{.integer = identity};
  for (const Element& term : terms) {
    const Element operands[] = {result, term};
    result = applyFunction(function, {.operand = type, .result = type}, operands, Mode::exact());
  }
  return result;
}

Element reduceIntegral(ReductionKind kind, DataType type, std::span<const Element> terms) {
  const bool is_bool = type == DataType::Bool;
  switch (kind) {
    case ReductionKind::Sum: return combineIntegral(is_bool ? FunctionId::logical_or : FunctionId::add, type, 0, terms);
    case ReductionKind::Prod:
      return combineIntegral(is_bool ? FunctionId::logical_and : FunctionId::mul, type, 1, terms);
    default: break;
  }
  const bool is_max = kind == ReductionKind::Max;
  const int64_t highest = is_bool ? 1 : type == DataType::I32 ? INT32_MAX : INT64_MAX;
  const int64_t lowest = is_bool ? 0 : -highest - 1;
  return combineIntegral(is_max ? FunctionId::maximum : FunctionId::minimum, type, is_max ? lowest : highest, terms);
}

Element reduceFloating(ReductionKind kind, DataType type, std::span<const Element> terms, Mode mode) {
  const DataType accumulator = computeType(type);
  switch (kind) {
    case ReductionKind::Sum: {
      Summation sum(accumulator, mode);
      for (const Element& term : terms) sum.add(term);
      return sum.finish(type);
    }
    case ReductionKind::Prod: return productOf(terms, accumulator, type, mode);
    default: return extremeOf(terms, kind == ReductionKind::Max ? Extreme::Largest : Extreme::Smallest);
  }
}

}  // namespace

OracleTensor compute(const ReductionOp& op, const OpContext& context) {
  const OracleTensor& in = context[op.in];
  OracleTensor out = context.result(*op.out);
  std::vector<std::vector<Element>> terms(out.elements.size());
  std::vector<int64_t> target;
  forEachIndex(in.sizes, [&](std::span<const int64_t> index) {
    target.clear();
    for (size_t i = 0; i < index.size(); ++i) {
      if (std::ranges::find(op.axes, static_cast<int64_t>(i)) == op.axes.end()) target.push_back(index[i]);
    }
    terms[out.offsetOf(target)].push_back(in.at(index));
  });
  for (size_t i = 0; i < terms.size(); ++i) {
    out.elements[i] = isFloatingType(in.dtype) ? reduceFloating(op.op, in.dtype, terms[i], context.mode())
                                               : reduceIntegral(op.op, in.dtype, terms[i]);
  }
  return out;
}

}  // namespace tokamak::oracle
