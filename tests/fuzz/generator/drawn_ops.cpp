#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "described_ops.h"
#include "drawer.h"
#include "exact_limits.h"
#include "oracle/tensor.h"

namespace tokamak::generator {

int Drawer::drawOp() {
  if (options_.repeats > 0 && last_node_ != kNone && random_.chance(options_.repeats)) {
    forced_ = last_node_;
    last_node_ = (this->*last_draw_)();
    forced_ = kNone;
    return last_node_;
  }
  if (options_.pointwise > 0 && random_.chance(options_.pointwise)) {
    constexpr int kCasts = 12;
    if (options_.has_even_types && random_.chance(kCasts)) return drawEvenCast(pickTensor());
    const int last = builder_.count() - 1;
    if (options_.chained > 0 && isTensor(last) && random_.chance(options_.chained)) return drawPointwiseOn(last);
    return drawPointwise();
  }
  struct Choice {
    Draw draw;
    int weight;
  };
  constexpr Choice choices[] = {{&Drawer::drawPointwise, 40},    {&Drawer::drawReduction, 8},
                                {&Drawer::drawNormalisation, 8}, {&Drawer::drawReshapedReduction, 4},
                                {&Drawer::drawSumOfPowers, 6},   {&Drawer::drawCast, 6},
                                {&Drawer::drawSet, 2},           {&Drawer::drawBroadcast, 4},
                                {&Drawer::drawSqueeze, 4},       {&Drawer::drawExpand, 4},
                                {&Drawer::drawPermute, 5},       {&Drawer::drawReshape, 5},
                                {&Drawer::drawSlice, 7},         {&Drawer::drawSelect, 3},
                                {&Drawer::drawPad, 6},           {&Drawer::drawCat, 7},
                                {&Drawer::drawFull, 2},          {&Drawer::drawIota, 2},
                                {&Drawer::drawMatmul, 3},        {&Drawer::drawLinear, 3},
                                {&Drawer::drawTakeAlongAxis, 4}, {&Drawer::drawDescribed, 4}};
  std::array<int, std::size(choices)> weights{};
  std::ranges::transform(choices, weights.begin(), &Choice::weight);
  // What passes fold is neither pointwise nor a reduction.
  if (options_.repeats > 0) weights[0] = 10;
  last_draw_ = choices[random_.weighted(weights)].draw;
  last_node_ = (this->*last_draw_)();
  return last_node_;
}

int Drawer::drawPointwise() { return drawPointwiseOn(pickTensor()); }

// A tensor that fits those already chosen, else a scalar input; kNone stands for a constant.
int Drawer::drawOperand(std::vector<int>& tensors, bool needs_tensor) {
  const auto fits = [&](int node) {
    if (!isTensor(node)) return false;
    std::vector<int64_t> shape = sizesOf(node);
    for (const int other : tensors) {
      const std::vector<int64_t>& sizes = sizesOf(other);
      if (sizes.size() != shape.size()) return false;
      for (size_t i = 0; i < sizes.size(); ++i) {
        const bool is_free = builder_.isRepeatable(node, i) && shape[i] == 1;
        if (is_free) shape[i] = sizes[i];
        if (shape[i] != sizes[i] && !builder_.isRepeatable(other, i)) return false;
      }
    }
    return oracle::countOf(shape) <= options_.max_elements;
  };
  std::vector<int> found;
  for (int i = 0; i < builder_.count(); ++i) {
    if (fits(i)) found.push_back(i);
  }
  const bool takes_tensor = needs_tensor || random_.chance(75);
  if (takes_tensor && !found.empty()) {
    tensors.push_back(random_.pick(found));
    return tensors.back();
  }
  return random_.chance(15) && builder_.count() < 12 ? appendScalarInput(dtypeOf(tensors[0])) : kNone;
}

int Drawer::drawPointwiseOn(int first) {
  const DataType promoted = dtypeOf(first);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const FunctionInfo info = random_.pick(allFunctions());
    const auto types = functionTypes(info.id, promoted);
    if (!types) continue;
    // Which are taken does not depend on the limits, so that a refused function costs nothing but its draws.
    std::vector<int> tensors = {first};
    std::vector<Operand> operands = {{.node = first}};
    std::vector<double> limits = {limitOf(first)};
    while (static_cast<int>(operands.size()) < info.arity) {
      const int node = drawOperand(tensors, operands.size() == 1);
      operands.push_back({.node = node, .constant = node == kNone ? pickConstant() : 0});
      limits.push_back(node == kNone ? 4 : limitOf(node));
    }
    const auto limit = exactLimit(info.id, types->result, limits);
    if (isExact() && !limit) continue;
    bool is_legal = true;
    for (size_t i = 0; i < operands.size() && is_legal; ++i) {
      if (operands[i].node == kNone) continue;
      const bool is_condition = info.rule == TypeRule::Choose && i == 0;
      operands[i].node = appendCast(operands[i].node, is_condition ? DataType::Bool : types->operand);
      is_legal = operands[i].node != kNone;
    }
    // A choice between constants alone would have no type to take.
    const bool has_type =
        info.rule != TypeRule::Choose ||
        std::ranges::any_of(operands.begin() + 1, operands.end(), [](const Operand& o) { return o.node >= 0; });
    if (!is_legal || !has_type) continue;
    const int result =
        append({.op = OpKind::PointwiseOp, .function = info.id, .operands = std::move(operands)}, limit.value_or(0));
    if (isHalfType(promoted) && isFloatingType(types->result) && random_.chance(50)) {
      const int narrow = appendCast(result, promoted);
      return narrow == kNone ? result : narrow;
    }
    return result;
  }
  return kNone;
}

int Drawer::appendReduction(int node, ReductionKind kind, std::vector<int64_t> axes) {
  const bool is_extreme = kind == ReductionKind::Max || kind == ReductionKind::Min;
  const DataType dtype = dtypeOf(node);
  DataType wanted = computeType(dtype);
  if (!is_extreme && !isFloatingType(dtype)) wanted = DataType::I64;
  int64_t reduced = 1;
  for (const int64_t axis : axes) reduced *= sizesOf(node)[static_cast<size_t>(axis)];
  double limit = limitOf(node);
  if (kind == ReductionKind::Sum) limit *= static_cast<double>(reduced);
  if (kind == ReductionKind::Prod) limit = std::max(1.0, std::pow(limit, static_cast<double>(reduced)));
  if (!isFloatingType(wanted) && !(limit < 0x1p31)) limit = kNoLimit;
  if (isExact() && limit > exactCapacity(wanted)) return kNone;
  const int operand = appendCast(node, wanted);
  if (operand == kNone) return kNone;
  return append(
      {.op = OpKind::ReductionOp, .reduction = kind, .operands = {{.node = operand}}, .numbers = std::move(axes)},
      limit);
}

int Drawer::drawReduction() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  constexpr int weights[] = {55, 10, 20, 15};
  const auto kind = static_cast<ReductionKind>(random_.weighted(weights));
  return appendReduction(node, kind, pickAxes(static_cast<int64_t>(sizesOf(node).size())));
}

// Reduce, broadcast back, combine with the operand: the heart of softmax and normalisations.
int Drawer::drawNormalisation() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  const auto rank = static_cast<int64_t>(sizesOf(node).size());
  const std::vector<int64_t> axes = pickAxes(rank);
  const int reduced = appendReduction(node, random_.chance(60) ? ReductionKind::Sum : ReductionKind::Max, axes);
  if (reduced == kNone) return kNone;
  std::vector<bool> flags(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) flags[static_cast<size_t>(axis)] = true;
  const int wide =
      append({.op = OpKind::BroadcastOp, .operands = {{.node = reduced}}, .flags = flags}, limitOf(reduced));
  const int operand = appendCast(node, dtypeOf(reduced));
  if (operand == kNone) return wide;
  constexpr FunctionId functions[] = {FunctionId::sub, FunctionId::maximum, FunctionId::add, FunctionId::mul};
  const FunctionId function = random_.pick(functions);
  const auto types = functionTypes(function, dtypeOf(wide));
  const double limits[] = {limitOf(operand), limitOf(wide)};
  const auto limit = exactLimit(function, types->result, limits);
  if ((isExact() && !limit) || types->operand != dtypeOf(wide)) return wide;
  return append({.op = OpKind::PointwiseOp, .function = function, .operands = {{.node = operand}, {.node = wide}}},
                limit.value_or(0));
}

// The maximum and the sum of exponentials of differences to it: softmax and its relatives.
int Drawer::drawSumOfPowers() {
  const int node = pickTensor(1);
  if (node == kNone || isExact()) return kNone;
  const auto rank = static_cast<int64_t>(sizesOf(node).size());
  const std::vector<int64_t> axes = random_.chance(80) ? std::vector<int64_t>{rank - 1} : pickAxes(rank);
  const int operand = isFloatingType(dtypeOf(node)) && random_.chance(50) ? node : appendCast(node, DataType::F32);
  if (operand == kNone) return kNone;
  const int top = appendReduction(operand, ReductionKind::Max, axes);
  if (top == kNone) return kNone;
  std::vector<bool> flags(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) flags[static_cast<size_t>(axis)] = true;
  const int wide = append({.op = OpKind::BroadcastOp, .operands = {{.node = top}}, .flags = flags}, 0);
  const auto types = functionTypes(FunctionId::sub, dtypeOf(wide));
  const int left = appendCast(operand, types->operand);
  const int right = appendCast(wide, types->operand);
  const int difference = append(
      {.op = OpKind::PointwiseOp, .function = FunctionId::sub, .operands = {{.node = left}, {.node = right}}}, 0);
  if (difference == kNone) return kNone;
  constexpr FunctionId functions[] = {FunctionId::exp, FunctionId::exp2};
  const int powers =
      append({.op = OpKind::PointwiseOp, .function = random_.pick(functions), .operands = {{.node = difference}}}, 0);
  return powers == kNone ? difference : appendReduction(powers, ReductionKind::Sum, axes);
}

// What was normalised, with two axes merged, and something that goes with it.
int Drawer::drawMergedNormalisation() {
  const int node = drawNormalisation();
  if (node == kNone || sizesOf(node).size() < 2) return node;
  std::vector<int64_t> sizes = sizesOf(node);
  const auto at = static_cast<size_t>(random_.below(static_cast<int64_t>(sizes.size()) - 1));
  sizes[at] *= sizes[at + 1];
  sizes.erase(sizes.begin() + static_cast<int64_t>(at) + 1);
  const int merged =
      append({.sizes = std::move(sizes), .op = OpKind::ReshapeOp, .operands = {{.node = node}}}, limitOf(node));
  return random_.chance(70) ? drawPointwiseOn(merged) : merged;
}

int Drawer::drawReshapedReduction() {
  if (random_.chance(50)) return drawMergedNormalisation();
  const int node = drawReshape();
  if (node == kNone || sizesOf(node).empty()) return kNone;
  return appendReduction(node, ReductionKind::Sum, pickAxes(static_cast<int64_t>(sizesOf(node).size())));
}

int Drawer::drawCast() {
  const int node = pickTensor();
  return appendCast(node, random_.pick(kAllDataTypes));
}

int Drawer::drawSet() {
  const int node = pickTensor();
  const OpKind op = random_.chance(40) ? OpKind::SegmentSetOp : OpKind::LoadStoreOp;
  return append({.op = op, .operands = {{.node = node}}}, limitOf(node));
}

int Drawer::drawBroadcast() {
  const int node = pickTensor();
  const size_t rank = sizesOf(node).size();
  if (rank >= 4) return kNone;
  std::vector<bool> flags(rank, false);
  const int64_t added = random_.between(1, static_cast<int64_t>(std::min<size_t>(2, 4 - rank)));
  for (int64_t i = 0; i < added; ++i)
    flags.insert(flags.begin() + random_.between(0, static_cast<int64_t>(flags.size())), true);
  return append({.op = OpKind::BroadcastOp, .operands = {{.node = node}}, .flags = std::move(flags)}, limitOf(node));
}

int Drawer::drawSqueeze() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  std::vector<bool> flags;
  for (size_t i = 0; i < sizesOf(node).size(); ++i)
    flags.push_back(builder_.isRepeatable(node, i) && random_.chance(70));
  if (std::ranges::count(flags, true) == 0) return kNone;
  return append({.op = OpKind::SqueezeOp, .operands = {{.node = node}}, .flags = std::move(flags)}, limitOf(node));
}

int Drawer::drawExpand() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  std::vector<int64_t> sizes = sizesOf(node);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!builder_.isRepeatable(node, i) || random_.chance(30)) continue;
    const int64_t before = std::exchange(sizes[i], pickExtent());
    if (oracle::countOf(sizes) > options_.max_elements) sizes[i] = before;
  }
  if (sizes == sizesOf(node)) return kNone;
  return append({.sizes = std::move(sizes), .op = OpKind::ExpandOp, .operands = {{.node = node}}}, limitOf(node));
}

int Drawer::drawPermute() {
  const int node = pickTensor(2);
  if (node == kNone) return kNone;
  std::vector<int64_t> order(sizesOf(node).size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]);
  return append({.op = OpKind::PermuteOp, .operands = {{.node = node}}, .numbers = std::move(order)}, limitOf(node));
}

int Drawer::drawDescribed() {
  std::vector<DescribedOp> ops = describedOps();
  // Of what computes, nobody knows here how large its results are.
  if (isExact()) std::erase_if(ops, [](const DescribedOp& op) { return !op.only_moves; });
  const int node = pickTensor(1);
  if (ops.empty() || node == kNone) return kNone;
  const DescribedOp op = random_.pick(ops);
  const auto rank = static_cast<int64_t>(sizesOf(node).size());
  std::vector<int64_t> numbers;
  switch (op.relation) {
    case AxisRelation::Number: numbers = {random_.below(rank)}; break;
    case AxisRelation::Numbers: numbers = pickAxes(rank); break;
    default: break;
  }
  return append({.op = op.kind, .operands = {{.node = node}}, .numbers = std::move(numbers)}, limitOf(node));
}

// Merges neighbours, splits by a divisor, or inserts ones.
int Drawer::drawReshape() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  std::vector<int64_t> sizes = sizesOf(node);
  const auto at = static_cast<size_t>(random_.below(static_cast<int64_t>(sizes.size())));
  const int64_t way = random_.below(3);
  if (way == 0 && at + 1 < sizes.size()) {
    sizes[at] *= sizes[at + 1];
    sizes.erase(sizes.begin() + static_cast<int64_t>(at) + 1);
  } else if (way == 1 && sizes.size() < 4 && sizes[at] > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d < sizes[at]; ++d) {
      if (sizes[at] % d == 0) divisors.push_back(d);
    }
    if (divisors.empty()) return kNone;
    const int64_t outer = random_.pick(divisors);
    sizes[at] /= outer;
    sizes.insert(sizes.begin() + static_cast<int64_t>(at), outer);
  } else if (way == 2 && sizes.size() < 4) {
    sizes.insert(sizes.begin() + random_.between(0, static_cast<int64_t>(sizes.size())), 1);
  } else {
    return kNone;
  }
  return append({.sizes = std::move(sizes), .op = OpKind::ReshapeOp, .operands = {{.node = node}}}, limitOf(node));
}

int Drawer::drawSlice() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  const std::vector<int64_t> sizes = sizesOf(node);
  const size_t rank = sizes.size();
  std::vector<int64_t> numbers(3 * rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const bool is_whole = random_.chance(50);
    numbers[i] = is_whole ? 0 : random_.between(0, sizes[i] / 2);
    numbers[rank + i] = is_whole ? sizes[i] : random_.between(std::max(numbers[i], sizes[i] / 2), sizes[i]);
    if (random_.chance(20)) numbers[2 * rank + i] = random_.between(2, 3);
    // A slice of a slice may begin or end where that one does.
    if (options_.repeats > 0 && random_.chance(30)) numbers[i] = 0;
    if (options_.repeats > 0 && random_.chance(30)) numbers[rank + i] = sizes[i];
  }
  return append({.op = OpKind::SliceOp, .operands = {{.node = node}}, .numbers = std::move(numbers)}, limitOf(node));
}

int Drawer::drawSelect() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  const int64_t axis = random_.below(static_cast<int64_t>(sizesOf(node).size()));
  const int64_t size = sizesOf(node)[static_cast<size_t>(axis)];
  if (size == 0) return kNone;
  const int64_t index = random_.chance(40) ? size - 1 : random_.below(size);
  return append({.op = OpKind::SelectOp, .operands = {{.node = node}}, .numbers = {axis, index}}, limitOf(node));
}

// Positions are an integer tensor of one rank with what is read, or a new one; many are outside of the axis.
int Drawer::drawTakeAlongAxis() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  std::vector<int64_t> sizes = sizesOf(node);
  const auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(sizes.size())));
  const auto fits = [&](int other) {
    if (!isTensor(other) || !isIntegerType(dtypeOf(other)) || sizesOf(other).size() != sizes.size()) return false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool meets = i == axis || sizesOf(other)[i] == sizes[i] || builder_.isRepeatable(other, i) ||
                         builder_.isRepeatable(node, i);
      if (!meets) return false;
    }
    return true;
  };
  std::vector<int> found;
  for (int i = 0; i < builder_.count(); ++i) {
    if (fits(i)) found.push_back(i);
  }
  int positions = kNone;
  if (!found.empty() && random_.chance(60)) {
    positions = random_.pick(found);
  } else {
    std::vector<int64_t> wanted = sizes;
    wanted[axis] = pickExtent();
    if (oracle::countOf(wanted) > options_.max_elements) return kNone;
    positions = appendInput(random_.chance(50) ? DataType::I32 : DataType::I64, std::move(wanted));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i == axis || sizes[i] == 1) sizes[i] = sizesOf(positions)[i];
  }
  if (oracle::countOf(sizes) > options_.max_elements) return kNone;
  return append({.op = OpKind::TakeAlongAxisOp,
                 .operands = {{.node = node}, {.node = positions}},
                 .numbers = {static_cast<int64_t>(axis)}},
                limitOf(node));
}

int Drawer::drawPad() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  std::vector<int64_t> widths;
  std::vector<int64_t> sizes = sizesOf(node);
  for (int64_t& size : sizes) {
    int64_t before = random_.chance(40) ? 0 : random_.between(-1, 3);
    int64_t after = random_.chance(40) ? 0 : random_.between(-1, 3);
    if (size + before + after < 0) before = after = 0;
    size += before + after;
    widths.insert(widths.end(), {before, after});
  }
  if (oracle::countOf(sizes) > options_.max_elements) return kNone;
  const double constant = dtypeOf(node) == DataType::Bool ? 1 : random_.chance(50) ? 0 : pickConstant();
  return append({.op = OpKind::PadOp, .operands = {{.node = node}}, .numbers = std::move(widths), .constant = constant},
                std::max(limitOf(node), 4.0));
}

int Drawer::drawCat() {
  const int node = pickTensor(1);
  if (node == kNone) return kNone;
  const std::vector<int64_t> sizes = sizesOf(node);
  const auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(sizes.size())));
  const auto fits = [&](int other) {
    if (!isTensor(other) || dtypeOf(other) != dtypeOf(node) || sizesOf(other).size() != sizes.size()) return false;
    const Axes mine = shapeOf(*builder_.tensor(node));
    const Axes others = shapeOf(*builder_.tensor(other));
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i != axis && (sizesOf(other)[i] != sizes[i] || others[i]->isBroadcast() != mine[i]->isBroadcast()))
        return false;
    }
    return true;
  };
  std::vector<int> found;
  for (int i = 0; i < builder_.count(); ++i) {
    if (fits(i)) found.push_back(i);
  }
  Node cat{.op = OpKind::CatOp, .operands = {{.node = node}}, .numbers = {static_cast<int64_t>(axis)}};
  double limit = limitOf(node);
  int64_t count = countOf(node);
  const int64_t operands = random_.between(2, 4);
  while (static_cast<int64_t>(cat.operands.size()) < operands) {
    const int next = random_.pick(found);
    count += countOf(next);
    if (count > options_.max_elements) break;
    cat.operands.push_back({.node = next});
    limit = std::max(limit, limitOf(next));
  }
  return append(std::move(cat), limit);
}

int Drawer::drawFull() {
  return append({.dtype = random_.pick(kAllDataTypes),
                 .sizes = pickSizes(random_.between(0, 3)),
                 .op = OpKind::FullOp,
                 .constant = pickConstant()},
                4);
}

int Drawer::drawIota() {
  constexpr DataType types[] = {DataType::I64, DataType::I32, DataType::F32, DataType::F64, DataType::F16};
  const DataType dtype = random_.pick(types);
  const int64_t length = pickExtent();
  const int64_t start = random_.between(-4, 4);
  const int64_t step = random_.between(-3, 3);
  const double limit = static_cast<double>(std::abs(start) + length * std::abs(step));
  if (length > options_.max_elements || (isExact() && limit > exactCapacity(dtype))) return kNone;
  return append({.dtype = dtype, .sizes = {length}, .op = OpKind::IotaOp, .numbers = {start, step}}, limit);
}

// The leading axes of a right operand that go along with the left one's: as many as those, fewer or one more, each of
// their size or 1.
std::vector<int64_t> Drawer::pickBatch(const std::vector<int64_t>& left) {
  std::vector<int64_t> batch(left.begin(), left.end() - std::min<std::ptrdiff_t>(2, std::ssize(left)));
  if (random_.chance(40)) return {};
  if (!batch.empty() && random_.chance(25))
    batch.erase(batch.begin());
  else if (batch.size() < 2 && random_.chance(25))
    batch.insert(batch.begin(), random_.between(1, 3));
  for (int64_t& size : batch) size = random_.chance(20) ? 1 : size;
  return batch;
}

// Of products of these operands: halves give f32, too.
DataType Drawer::pickProductType(DataType operands) {
  return isHalfType(operands) && random_.chance(40) ? DataType::F32 : operands;
}

int Drawer::drawMatmul() {
  const int a = pickTensor(1);
  if (a == kNone || dtypeOf(a) == DataType::Bool) return kNone;
  const DataType result = pickProductType(dtypeOf(a));
  const int64_t k = sizesOf(a).back();
  const int64_t columns = random_.between(1, 9);
  std::vector<int64_t> sizes = pickBatch(sizesOf(a));
  int64_t products = 1;
  for (const int64_t size : sizes) products *= size;
  const bool has_columns = !sizes.empty() || random_.chance(80);
  const double limit =
      dtypeOf(a) == DataType::I32 || dtypeOf(a) == DataType::I64 ? kNoLimit : limitOf(a) * 8 * static_cast<double>(k);
  const bool is_large = products * countOf(a) / std::max<int64_t>(k, 1) * columns > options_.max_elements ||
                        products * k * columns > options_.max_elements;
  if (is_large || (isExact() && (limit > exactCapacity(result) || program_.values == Values::Positions))) return kNone;
  sizes.push_back(k);
  if (has_columns) sizes.push_back(columns);
  const int b = appendInput(dtypeOf(a), std::move(sizes));
  return append({.dtype = result, .op = OpKind::MatmulOp, .operands = {{.node = a}, {.node = b}}}, limit);
}

int Drawer::drawLinear() {
  const int in = pickTensor(1);
  if (in == kNone || dtypeOf(in) == DataType::Bool) return kNone;
  const DataType dtype = dtypeOf(in);
  const DataType result = pickProductType(dtype);
  const int64_t k = sizesOf(in).back();
  const int64_t columns = random_.between(1, 9);
  const double limit = isIntegerType(dtype) ? kNoLimit : limitOf(in) * 8 * static_cast<double>(k) + 8;
  const bool is_large =
      countOf(in) / std::max<int64_t>(k, 1) * columns > options_.max_elements || k * columns > options_.max_elements;
  if (is_large || (isExact() && (limit > exactCapacity(result) || program_.values == Values::Positions))) return kNone;
  const bool has_columns = random_.chance(85);
  const std::vector<int64_t> bias = has_columns ? std::vector<int64_t>{columns} : std::vector<int64_t>();
  std::vector<int64_t> weight = bias;
  weight.push_back(k);
  Node linear{.dtype = result,
              .op = OpKind::LinearOp,
              .operands = {{.node = in}, {.node = appendInput(dtype, std::move(weight))}}};
  if (random_.chance(60)) linear.operands.push_back({.node = appendInput(dtype, bias)});
  return append(std::move(linear), limit);
}

}  // namespace tokamak::generator
