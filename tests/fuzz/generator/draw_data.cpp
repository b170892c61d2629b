#include "draw_data.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "exact_limits.h"
#include "oracle/index.h"
#include "oracle/rounding.h"
#include "random.h"

namespace tokamak::generator {

namespace {

int64_t drawInteger(const Node& node, Values values, int64_t position, Random& random) {
  if (node.dtype == DataType::Bool) return random.below(2);
  if (node.is_near_limits) {
    const int64_t limit = node.dtype == DataType::I32 || random.chance(30) ? INT32_MAX : INT64_MAX;
    const int64_t distance = random.between(0, 8);
    return random.chance(50) ? limit - distance : -limit - 1 + distance;
  }
  return values == Values::Positions ? position : random.between(-8, 8);
}

double drawNumber(DataType dtype, Values values, int64_t position, Random& random) {
  switch (values) {
    case Values::Exact: return static_cast<double>(random.between(-8, 8));
    case Values::Positions: return static_cast<double>(position % static_cast<int64_t>(exactCapacity(dtype)));
    case Values::Normal: return random.normal();
    case Values::Specials: break;
  }
  if (random.chance(70)) return random.normal();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto smallest = static_cast<double>(oracle::smallestNormal(dtype));
  const auto ulp = static_cast<double>(oracle::ulpOf(dtype, 0));
  const auto largest = static_cast<double>(oracle::overflowLimit(dtype) * (1 - oracle::epsilonOf(dtype)));
  const double specials[] = {std::numeric_limits<double>::quiet_NaN(),
                             infinity,
                             -infinity,
                             0.0,
                             -0.0,
                             smallest,
                             -smallest,
                             ulp,
                             -ulp,
                             3 * ulp,
                             largest,
                             -largest,
                             1.0,
                             -1.0};
  return random.pick(specials);
}

// Strides in the order of memory: expanded axes 0, sliced ones with gaps.
void layOut(const Node& node, StoredData& data, Random& random) {
  const auto rank = static_cast<int64_t>(node.sizes.size());
  std::vector<int64_t> order = node.order;
  if (node.layout != Layout::Permuted) {
    order.resize(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
  }
  data.strides.assign(static_cast<size_t>(rank), 0);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    if (axis < node.expanded.size() && node.expanded[axis]) continue;
    const bool has_gaps = node.layout == Layout::Sliced;
    const int64_t step = has_gaps ? random.between(1, 2) : 1;
    data.strides[axis] = next * step;
    next *= std::max<int64_t>(1, node.sizes[axis]) * step + (has_gaps ? random.between(0, 2) : 0);
  }
  data.offset = node.layout == Layout::Sliced ? random.between(0, 5) : 0;
  if (std::ranges::find(node.sizes, 0) != node.sizes.end()) next = 1;  // no element, whatever the strides are
  data.bytes.assign(static_cast<size_t>((next + data.offset) * sizeOf(node.dtype)), kPoison);
}

StoredData drawTensor(const Node& node, Values values, Random& random) {
  StoredData data{.dtype = node.dtype, .sizes = node.sizes, .strides = {}, .bytes = {}};
  layOut(node, data, random);
  int64_t position = 0;
  oracle::forEachIndex(node.sizes, [&](std::span<const int64_t> index) {
    int64_t offset = data.offset;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * data.strides[i];
    oracle::Element element;
    if (isFloatingType(node.dtype))
      element.number = drawNumber(node.dtype, values, position, random);
    else
      element.integer = drawInteger(node, values, position, random);
    ++position;
    oracle::storeElement(node.dtype, element, data.bytes.data() + offset * sizeOf(node.dtype));
  });
  return data;
}

ScalarValue scalarOf(const Node& node) {
  if (node.dtype == DataType::Bool) return node.constant != 0;
  if (isFloatingType(node.dtype)) return static_cast<double>(oracle::roundTo(node.dtype, node.constant));
  return static_cast<int64_t>(node.constant);
}

}  // namespace

std::vector<InputData> drawData(const Program& program, uint64_t seed) {
  Random random(seed);
  std::vector<InputData> data;
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::TensorInput) data.emplace_back(drawTensor(node, program.values, random));
    if (node.kind == NodeKind::ScalarInput) data.emplace_back(scalarOf(node));
  }
  return data;
}

std::vector<oracle::Input> toOracle(const std::vector<InputData>& data) {
  std::vector<oracle::Input> inputs;
  for (const InputData& input : data) {
    if (const auto* tensor = std::get_if<StoredData>(&input))
      inputs.emplace_back(oracle::load(tensor->view()));
    else
      inputs.emplace_back(std::get<ScalarValue>(input));
  }
  return inputs;
}

}  // namespace tokamak::generator
