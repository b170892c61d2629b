#include "drawer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "exact_limits.h"
#include "oracle/tensor.h"

namespace tokamak::generator {

namespace {

constexpr int64_t kExtents[] = {0, 1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 64, 127, 128, 129, 1023, 1024, 1025};
constexpr int kExtentWeights[] = {1, 4, 6, 6, 6, 6, 6, 5, 5, 4, 4, 4, 3, 2, 2, 2, 2, 2, 2};

}  // namespace

Program drawProgram(uint64_t seed, const DrawOptions& options) { return Drawer(seed, options).draw(); }

Drawer::Drawer(uint64_t seed, const DrawOptions& options) : random_(seed), options_(options) {
  program_.seed = seed;
  constexpr int weights[] = {60, 10, 20, 10};
  constexpr int chain_weights[] = {20, 10, 60, 10};  // exact programs have no casts that round
  program_.values = static_cast<Values>(random_.weighted(options.repeats > 0 ? chain_weights : weights));
  const int64_t count = random_.between(1, 4);
  for (int64_t i = 0; i < count; ++i) extents_.push_back(kExtents[random_.weighted(kExtentWeights)]);
  if (options.extent > 0) {
    extents_.assign(7, options.extent);
    extents_.push_back(random_.between(1, 9));
  }
}

Program Drawer::draw() {
  drawInputs();
  const int64_t wanted = random_.between(1, options_.max_ops);
  for (int attempt = 0; attempt < 200 && program_.opCount() < wanted; ++attempt) drawOp();
  if (program_.opCount() == 0) append({.op = OpKind::LoadStoreOp, .operands = {{.node = 0}}}, limitOf(0));
  drawOutputs();
  drawInPlace();
  return withoutDead(program_);
}

int Drawer::append(Node node, double limit) {
  builder_.add(node);
  program_.nodes.push_back(std::move(node));
  limits_.push_back(limit);
  return builder_.count() - 1;
}

int Drawer::appendInput(DataType dtype, std::vector<int64_t> sizes) {
  Node node{.kind = NodeKind::TensorInput, .dtype = dtype, .sizes = std::move(sizes)};
  const auto rank = static_cast<int64_t>(node.sizes.size());
  const bool is_symbolic = random_.chance(70);
  for (const int64_t size : node.sizes) {
    node.symbolic.push_back(is_symbolic && random_.chance(85) && size != 1);
    node.expanded.push_back(size > 1 && random_.chance(4));
  }
  constexpr int layouts[] = {60, 25, 15};
  if (rank > 0) node.layout = static_cast<Layout>(random_.weighted(layouts));
  if (node.layout == Layout::Permuted) {
    node.order.resize(static_cast<size_t>(rank));
    std::iota(node.order.begin(), node.order.end(), 0);
    for (size_t i = node.order.size(); i > 1; --i)
      std::swap(node.order[i - 1], node.order[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]);
  }
  node.is_near_limits = isIntegerType(dtype) && random_.chance(30);
  double limit = program_.values == Values::Positions ? exactCapacity(dtype) : 8;
  if (dtype == DataType::Bool)
    limit = 1;
  else if (node.is_near_limits || isIntegerType(dtype))
    limit = node.is_near_limits || program_.values == Values::Positions ? kNoLimit : 8;
  return append(std::move(node), limit);
}

int Drawer::appendScalarInput(DataType dtype) {
  return append({.kind = NodeKind::ScalarInput, .dtype = dtype, .constant = pickConstant()}, 8);
}

int Drawer::appendCast(int node, DataType dtype) {
  if (dtypeOf(node) == dtype) return node;
  const double limit = dtype == DataType::Bool ? 1 : limitOf(node);
  if (isExact() && limit > exactCapacity(dtype)) return kNone;
  if (!isTensor(node)) return appendScalarInput(dtype);
  for (int i = node + 1; i < builder_.count() && random_.chance(70); ++i) {
    const Node& other = program_.nodes[static_cast<size_t>(i)];
    const bool is_same = other.kind == NodeKind::Op && other.op == OpKind::CastOp && other.operands[0].node == node &&
                         other.dtype == dtype;
    if (is_same) return i;
  }
  return append({.dtype = dtype, .op = OpKind::CastOp, .operands = {{.node = node}}}, limit);
}

// Functions give i64 and bool more often than anything else.
int Drawer::drawEvenCast(int node) {
  constexpr DataType types[] = {DataType::F32, DataType::F64, DataType::F16, DataType::BF16,
                                DataType::I32, DataType::I64, DataType::Bool};
  constexpr int weights[] = {4, 5, 3, 3, 5, 2, 3};
  return appendCast(node, types[random_.weighted(weights)]);
}

void Drawer::drawInputs() {
  constexpr DataType types[] = {DataType::F32, DataType::F64, DataType::F16, DataType::BF16,
                                DataType::I32, DataType::I64, DataType::Bool};
  constexpr int f32_weights[] = {35, 12, 14, 12, 10, 12, 5};
  constexpr int even_weights[] = {18, 18, 5, 5, 18, 18, 18};
  const auto& weights = options_.has_even_types ? even_weights : f32_weights;
  constexpr int any_ranks[] = {4, 22, 36, 25, 13};
  constexpr int few_ranks[] = {0, 40, 50, 9, 0};
  const auto& ranks = options_.extent > 0 ? few_ranks : any_ranks;
  const int64_t count = random_.between(1, 3);
  DataType dtype = types[random_.weighted(weights)];
  std::vector<int64_t> sizes = pickSizes(static_cast<int64_t>(random_.weighted(ranks)));
  if (options_.extent > 0) {
    sizes.back() = options_.extent;
    while (oracle::countOf(sizes) > options_.max_elements) sizes.erase(sizes.begin());
  }
  for (int64_t i = 0; i < count; ++i) {
    appendInput(dtype, sizes);
    if (random_.chance(40)) dtype = types[random_.weighted(weights)];
    if (random_.chance(30)) sizes = pickSizes(static_cast<int64_t>(random_.weighted(ranks)));
    for (int64_t& size : sizes) {
      if (random_.chance(12)) size = 1;
    }
  }
}

// Every result that nothing reads is an output, and some that others read.
void Drawer::drawOutputs() {
  std::vector<bool> is_read(program_.nodes.size(), false);
  for (const Node& node : program_.nodes) {
    for (const Operand& operand : node.operands) {
      if (operand.node >= 0) is_read[static_cast<size_t>(operand.node)] = true;
    }
  }
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    if (program_.nodes[i].kind != NodeKind::Op) continue;
    if (!is_read[i] || random_.chance(8)) program_.outputs.push_back(static_cast<int>(i));
  }
  if (options_.has_even_types) castOutputs();
}

void Drawer::castOutputs() {
  for (int& output : program_.outputs) {
    if (program_.opCount() >= options_.max_ops || !random_.chance(75)) continue;
    const int cast = drawEvenCast(output);
    if (cast != kNone && std::ranges::count(program_.outputs, cast) == 0) output = cast;
  }
}

void Drawer::drawInPlace() {
  if (!random_.chance(15)) return;
  for (const int output : program_.outputs) {
    for (int input = 0; input < builder_.count(); ++input) {
      const Node& node = program_.nodes[static_cast<size_t>(input)];
      const bool fits = node.kind == NodeKind::TensorInput && dtypeOf(input) == dtypeOf(output) &&
                        sizesOf(input) == sizesOf(output) && std::ranges::count(node.expanded, true) == 0;
      if (!fits) continue;
      program_.in_place.push_back({.output = output, .input = input});
      return;
    }
  }
}

int64_t Drawer::countOf(int node) const { return oracle::countOf(sizesOf(node)); }

int Drawer::pickTensor(int64_t min_rank) {
  if (forced_ != kNone && static_cast<int64_t>(sizesOf(forced_).size()) >= min_rank)
    return std::exchange(forced_, kNone);
  std::vector<int> found;
  for (int i = 0; i < builder_.count(); ++i) {
    if (isTensor(i) && static_cast<int64_t>(sizesOf(i).size()) >= min_rank) found.push_back(i);
  }
  if (found.empty()) return kNone;
  if (random_.chance(50))
    return found[found.size() - 1 -
                 static_cast<size_t>(random_.below(std::min<int64_t>(3, static_cast<int64_t>(found.size()))))];
  return random_.pick(found);
}

int64_t Drawer::pickExtent() {
  return random_.chance(85) ? random_.pick(extents_) : kExtents[random_.weighted(kExtentWeights)];
}

double Drawer::pickConstant() {
  if (isExact()) return static_cast<double>(random_.between(-4, 4));
  return random_.chance(50) ? static_cast<double>(random_.between(-2, 2)) : random_.normal();
}

std::vector<int64_t> Drawer::pickSizes(int64_t rank) {
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = pickExtent();
    if (size * std::max<int64_t>(count, 1) > options_.max_elements) size = random_.between(1, 3);
    count *= size;
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<int64_t> Drawer::pickAxes(int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (random_.chance(45)) axes.push_back(i);
  }
  if (axes.empty()) axes.push_back(random_.below(rank));
  return axes;
}

}  // namespace tokamak::generator
