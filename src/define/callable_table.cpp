// The hand-written rows of the callables: a function, and its parameters with their fallbacks.
#include <optional>

#include "base/require.h"
#include "define/callable_row.h"
#include "define/indexing.h"
#include "define/random.h"
#include "define/statistics.h"
#include "define/structured.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

using defining::F;
using defining::Ints;
using defining::kNone;
using defining::Maybe;
using defining::required;
using defining::row;
using defining::T;

std::vector<T> callableResults(const VarMean& both) { return {both.var, both.mean}; }

std::vector<Callable> reductions() {
  const auto reduction = [](std::string_view name, T (*function)(F, T, Ints, bool, Maybe<DataType>)) {
    return row(name, {required("in"), {"axes", std::vector<int64_t>{}}, {"keepdim", false}, {"dtype", kNone}},
               function);
  };
  return {
      reduction("sum", [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return sum(in, axes, {keep, type}); }),
      reduction("prod",
                [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return prod(in, axes, {keep, type}); }),
      reduction("max", [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return max(in, axes, {keep, type}); }),
      reduction("min", [](F, T in, Ints axes, bool keep, Maybe<DataType> type) { return min(in, axes, {keep, type}); }),
      row(
          "mean", {required("in"), {"axes", std::vector<int64_t>{}}, {"keepdim", false}},
          +[](F, T in, Ints axes, bool keep) { return mean(in, axes, {.keepdim = keep}); }),
      row(
          "var", {required("in"), {"axes", std::vector<int64_t>{}}, {"correction", 1.0}, {"keepdim", false}},
          +[](F, T in, Ints axes, double correction, bool keep) { return var(in, axes, {correction, keep}); }),
      row(
          "var_mean", {required("in"), {"axes", std::vector<int64_t>{}}, {"correction", 1.0}, {"keepdim", false}},
          +[](F, T in, Ints axes, double correction, bool keep) {
            return callableResults(var_mean(in, axes, {correction, keep}));
          }),
      row(
          "welford", {required("in"), {"axes", std::vector<int64_t>{}}, {"keepdim", false}},
          +[](F, T in, Ints axes, bool keep) {
            const Welford parts = welford(in, axes, {.keepdim = keep});
            return std::vector<T>{parts.mean, parts.m2, parts.n};
          }),
  };
}

T squeezeByAxesOrFlags(F, T in, Maybe<std::vector<int64_t>> axes, Maybe<std::vector<bool>> flags) {
  TK_REQUIRE(axes.has_value() != flags.has_value(), Definition, "squeeze: give either axes or flags for {}",
             toString(*in));
  return axes ? squeeze(in, *axes) : define<SqueezeOp>(in, *flags);
}

T sliceByListsOrAxis(F fusion, T in, Maybe<Operands> starts, Maybe<Operands> stops, const Maybe<Operands>& steps,
                     Maybe<int64_t> axis, Maybe<Operand> start, Maybe<Operand> stop, Maybe<Operand> step) {
  const bool names_lists = starts || stops || steps;
  TK_REQUIRE(!axis || !names_lists, Definition, "slice: give either lists of starts and stops or one axis for {}",
             toString(*in));
  if (axis) {
    const int64_t position = ShapeRule(fusion, "slice").normalAxis(*axis, *in);
    Scalar* size = shapeOf(*in)[static_cast<size_t>(position)]->visibleExtent();
    return slice(in, position, start.value_or(0), stop.value_or(size), step.value_or(1));
  }
  TK_REQUIRE(starts && stops && !start && !stop && !step, Definition,
             "slice: {} needs starts and stops, or an axis with start, stop and step", toString(*in));
  return slice(in, *starts, *stops, steps.value_or(Operands({})));
}

std::vector<Callable> movements() {
  return {
      row(
          "broadcast_in_dim", {required("in"), required("shape"), required("axes")},
          +[](F, T in, const Operands& shape, Ints axes) { return broadcast_in_dim(in, shape, axes); }),
      row(
          "expand", {required("in"), required("shape")},
          +[](F, T in, const Operands& shape) { return expand(in, shape); }),
      row("squeeze", {required("in"), {"axes", kNone}, {"flags", kNone}}, squeezeByAxesOrFlags),
      row(
          "unsqueeze", {required("in"), required("axis")}, +[](F, T in, int64_t axis) { return unsqueeze(in, axis); }),
      row(
          "reshape", {required("in"), required("shape")},
          +[](F, T in, const Operands& shape) { return reshape(in, shape); }),
      row(
          "transpose", {required("in"), {"a", int64_t{-2}}, {"b", int64_t{-1}}},
          +[](F, T in, int64_t a, int64_t b) { return transpose(in, a, b); }),
      row("slice",
          {required("in"),
           {"starts", kNone},
           {"stops", kNone},
           {"steps", kNone},
           {"axis", kNone},
           {"start", kNone},
           {"stop", kNone},
           {"step", kNone}},
          sliceByListsOrAxis),
      row(
          "select", {required("in"), required("axis"), required("index")},
          +[](F, T in, int64_t axis, Operand index) { return select(in, axis, index); }),
      row(
          "pad", {required("in"), required("widths"), {"value", int64_t{0}}},
          +[](F, T in, const Operands& widths, Operand value) { return pad(in, widths, value); }),
      row(
          "cat", {required("in"), {"axis", int64_t{0}}},
          +[](F, const std::vector<T>& ins, int64_t axis) { return cat(ins, axis); }),
      row(
          "full", {required("shape"), required("value"), {"dtype", DataType::F32}},
          +[](F fusion, const Operands& shape, Operand value, DataType dtype) {
            return full(fusion, shape, value, dtype);
          }),
      row(
          "zeros", {required("shape"), {"dtype", DataType::F32}},
          +[](F fusion, const Operands& shape, DataType dtype) { return zeros(fusion, shape, dtype); }),
      row(
          "ones", {required("shape"), {"dtype", DataType::F32}},
          +[](F fusion, const Operands& shape, DataType dtype) { return ones(fusion, shape, dtype); }),
      row(
          "iota", {required("length"), {"start", int64_t{0}}, {"step", int64_t{1}}, {"dtype", DataType::I64}},
          +[](F fusion, Operand length, Operand start, Operand step, DataType dtype) {
            return iota(fusion, length, start, step, dtype);
          }),
  };
}

std::vector<Callable> indexings() {
  return {
      row(
          "gather", {required("in"), required("axis"), required("index")},
          +[](F, T in, int64_t axis, T index) { return gather(in, axis, index); }),
      row(
          "index_select", {required("in"), required("axis"), required("index")},
          +[](F, T in, int64_t axis, T index) { return index_select(in, axis, index); }),
      row(
          "embedding", {required("weight"), required("index"), {"max_norm", kNone}, {"norm_type", 2.0}},
          +[](F, T weight, T index, Maybe<double> max_norm, double norm_type) {
            return embedding(weight, index, {max_norm, norm_type});
          }),
  };
}

std::vector<Callable> randoms() {
  const Parameter number{"number", kNone};
  const Parameter dtype{"dtype", DataType::F32};
  return {
      row(
          "random_bits", {required("shape"), required("seed"), required("offset"), number},
          +[](F fusion, const Operands& shape, Operand seed, Operand offset, Maybe<int64_t> op) {
            return random_bits(fusion, shape, {seed, offset, op});
          }),
      row(
          "rand", {required("shape"), required("seed"), required("offset"), number},
          +[](F fusion, const Operands& shape, Operand seed, Operand offset, Maybe<int64_t> op) {
            return rand(fusion, shape, {seed, offset, op});
          }),
      row(
          "rand_like", {required("in"), required("seed"), required("offset"), number},
          +[](F, T in, Operand seed, Operand offset, Maybe<int64_t> op) { return rand_like(in, {seed, offset, op}); }),
      row(
          "uniform",
          {required("shape"), {"low", 0.0}, {"high", 1.0}, required("seed"), required("offset"), number, dtype},
          +[](F fusion, const Operands& shape, double low, double high, Operand seed, Operand offset, Maybe<int64_t> op,
              DataType type) { return uniform(fusion, shape, low, high, {seed, offset, op}, type); }),
      row(
          "normal",
          {required("shape"), {"mean", 0.0}, {"std", 1.0}, required("seed"), required("offset"), number, dtype},
          +[](F fusion, const Operands& shape, double mean, double deviation, Operand seed, Operand offset,
              Maybe<int64_t> op,
              DataType type) { return normal(fusion, shape, mean, deviation, {seed, offset, op}, type); }),
      row(
          "dropout", {required("in"), required("p"), required("seed"), required("offset"), number},
          +[](F, T in, double probability, Operand seed, Operand offset, Maybe<int64_t> op) {
            const Dropout result = dropout(in, probability, {seed, offset, op});
            return std::vector<T>{result.out, result.mask};
          }),
      row(
          "dropout_backward", {required("grad"), required("mask"), required("p")},
          +[](F, T grad, T mask, double probability) { return dropout_backward(grad, mask, probability); }),
  };
}

}  // namespace

std::vector<Callable> handWrittenCallables() {
  std::vector<Callable> rows = reductions();
  for (auto* family : {movements, indexings, randoms, compositeCallables}) {
    for (Callable& callable : family()) rows.push_back(std::move(callable));
  }
  return rows;
}

}  // namespace tokamak
