#include "compute/reshape_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/fusion.h"
#include "symbolic/sum_form.h"

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
    } else if (const auto term = termOf(scalar)) {
      constant *= term->coefficient;
      for (Scalar* factor : term->factors) multiply(factor);
    } else {
      ++factors[scalar];
    }
  }
  // Of a sum of one term, as n + n, what it is in products.
  std::optional<SumTerm> termOf(Scalar* scalar) const {
    if (scalar->op() != ScalarOp::Add && scalar->op() != ScalarOp::Sub) return std::nullopt;
    const auto form = SumForm::of(scalar, Distribution::None);
    int64_t product = 0;
    const bool is_term = form && form->constant == 0 && form->terms.size() == 1 &&
                         !__builtin_mul_overflow(constant, form->terms[0].coefficient, &product);
    return is_term ? std::optional(form->terms[0]) : std::nullopt;
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

// How many axes of either side make the smallest group of provably equal products.
std::optional<std::pair<size_t, size_t>> nextGroup(const Side& in, const Side& out) {
  const auto in_products = in.prefixes();
  const auto out_products = out.prefixes();
  for (size_t total = 2; total < in_products.size() + out_products.size() - 1; ++total) {
    for (size_t i = 1; i < std::min(total, in_products.size()); ++i) {
      const size_t j = total - i;
      if (j >= out_products.size() || in_products[i] != out_products[j]) continue;
      // Once a size is 0 all further products are equal, whatever the other sizes are; then axes of one extent go
      // together.
      const bool is_axis = total == 2 && in.extents[in.axes[in.next]] == out.extents[out.axes[out.next]];
      if (in_products[i].constant != 0 || is_axis) return std::pair{i, j};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<ReshapeGroup> reshapeGroups(const std::vector<Scalar*>& in_extents,
                                        const std::vector<Scalar*>& out_extents) {
  Side in = sideOf(in_extents);
  Side out = sideOf(out_extents);
  std::vector<ReshapeGroup> groups;
  while (in.next < in.axes.size() || out.next < out.axes.size()) {
    const auto proved = nextGroup(in, out);
    const auto [in_count, out_count] = proved.value_or(std::pair{in.axes.size() - in.next, out.axes.size() - out.next});
    groups.push_back({in.take(in_count), out.take(out_count), proved.has_value()});
  }
  return groups;
}

}  // namespace tokamak
