#include "ir/ops/math/reshape_op.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compute/rules.h"

namespace tokamak {

namespace {

// A product of extents as a number times symbolic factors, so that a * ( b * c ) and ( b * a ) * c are one thing.
struct Product {
  int64_t constant = 1;
  std::map<Scalar*, int, ById> factors;

  void multiply(Scalar* scalar) {
    const auto number = scalar->constantInt();
    int64_t product = 0;
    if (number && !__builtin_mul_overflow(constant, *number, &product)) {
      constant = product;
    } else if (scalar->op() == ScalarOp::Mul) {
      multiply(scalar->operand(0));
      multiply(scalar->operand(1));
    } else {
      ++factors[scalar];
    }
  }
  bool operator==(const Product&) const = default;
};

struct Side {
  std::vector<size_t> axes;  // those whose extent is not the constant 1
  std::vector<Scalar*> extents;
  size_t next = 0;  // of axes, the first one that is not in a group yet

  std::vector<size_t> take(size_t count) {
    const auto begin = axes.begin() + static_cast<std::ptrdiff_t>(next);
    next += count;
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  // The products of the first 0, 1, 2, ... axes that are left.
  std::vector<Product> prefixes() const {
    std::vector<Product> products(1);
    for (size_t i = next; i < axes.size(); ++i) {
      products.push_back(products.back());
      products.back().multiply(extents[axes[i]]);
    }
    return products;
  }
};

Side sideOf(std::vector<Scalar*> extents) {
  Side side;
  side.extents = std::move(extents);
  for (size_t i = 0; i < side.extents.size(); ++i) {
    if (!side.extents[i]->isConstantInt(1)) side.axes.push_back(i);
  }
  return side;
}

// How many axes of either side make the smallest group of equal products; all that are left when none is provably equal.
std::pair<size_t, size_t> nextGroup(const Side& in, const Side& out) {
  const auto in_products = in.prefixes();
  const auto out_products = out.prefixes();
  for (size_t total = 2; total < in_products.size() + out_products.size() - 1; ++total) {
    for (size_t i = 1; i < std::min(total, in_products.size()); ++i) {
      const size_t j = total - i;
      if (j >= out_products.size() || in_products[i] != out_products[j]) continue;
      // Once a size is 0 all further products are equal, whatever the other sizes are.
      if (in_products[i].constant != 0) return {i, j};
    }
  }
  return {in_products.size() - 1, out_products.size() - 1};
}

}  // namespace

void rule(const ReshapeOp& op, ElementBuilder& b) {
  Fusion& fusion = b.fusion();
  std::vector<Scalar*> in_extents;
  for (const IterDomain* axis : shapeOf(*op.in)) in_extents.push_back(axis->visibleExtent());
  Side in = sideOf(in_extents);
  std::vector<Scalar*> out_extents;
  for (size_t i = 0; i < b.rank(); ++i) out_extents.push_back(b.extent(i));
  Side out = sideOf(std::move(out_extents));

  std::vector<Scalar*> index(in_extents.size(), b.constant(0));
  while (in.next < in.axes.size() || out.next < out.axes.size()) {
    const auto [in_count, out_count] = nextGroup(in, out);
    const std::vector<size_t> from = in.take(in_count);
    const std::vector<size_t> to = out.take(out_count);
    Scalar* in_size = b.constant(1);
    Scalar* out_size = in_size;
    Scalar* position = b.constant(0);
    for (const size_t axis : to) {
      position = fusion.add(fusion.mul(position, b.extent(axis)), b.coordinate(axis));
      out_size = fusion.mul(out_size, b.extent(axis));
    }
    for (size_t i = from.size(); i-- > 0;) {
      Scalar* extent = in_extents[from[i]];
      in_size = fusion.mul(extent, in_size);
      index[from[i]] = i == 0 ? position : fusion.mod(position, extent);
      if (i > 0) position = fusion.floorDiv(position, extent);
    }
    b.requireEqual(in_size, out_size);
  }
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
