#include "host/check/use_index.h"

#include <algorithm>
#include <tuple>

namespace tokamak {

namespace {

int32_t executorOf(const StepList& list, const StepUse& use) {
  if (use.step == kEntryStep) return StepOrder::entry().executor;
  const Step& step = list.steps[static_cast<size_t>(use.step)];
  return step.kind == StepKind::Post ? list.stream_count : step.stream;
}

bool hasSameStrides(const ByteBox& a, const ByteBox& b) {
  return std::ranges::equal(a.dims, b.dims, {}, &Access::Dim::stride, &Access::Dim::stride);
}

bool hasSmallerStrides(const ByteBox& a, const ByteBox& b) {
  return std::ranges::lexicographical_compare(a.dims, b.dims, {}, &Access::Dim::stride, &Access::Dim::stride);
}

}  // namespace

UseIndex::UseIndex(const StepList& list, const StepUses& uses)
    : first_tree_(2 * list.buffers.size() + 1, 0), first_use_(uses.all().data()) {
  struct Sorted {
    size_t key;
    int32_t executor;
    const StepUse* use;
  };
  std::vector<Sorted> sorted;
  for (const StepUse& use : uses.all()) {
    if (!use.box.isEmpty()) sorted.push_back({keyOf(use.buffer, use.mode), executorOf(list, use), &use});
  }
  std::ranges::stable_sort(sorted, [](const Sorted& a, const Sorted& b) {
    if (std::tie(a.key, a.executor) != std::tie(b.key, b.executor))
      return std::tie(a.key, a.executor) < std::tie(b.key, b.executor);
    return hasSmallerStrides(a.use->box, b.use->box);
  });
  entries_.resize(sorted.size());
  for (size_t begin = 0; begin < sorted.size();) {
    const Sorted& first = sorted[begin];
    size_t end = begin;
    for (; end < sorted.size() && sorted[end].key == first.key && sorted[end].executor == first.executor &&
           hasSameStrides(sorted[end].use->box, first.use->box);
         ++end)
      entries_[end].use = sorted[end].use;
    addTree(std::span(entries_).subspan(begin, end - begin), first.executor, list.stream_count);
    first_tree_[first.key + 1] = trees_.size();
    begin = end;
  }
  for (size_t key = 1; key < first_tree_.size(); ++key)
    first_tree_[key] = std::max(first_tree_[key], first_tree_[key - 1]);
  entry_of_use_.resize(uses.all().size());
  for (size_t i = 0; i < entries_.size(); ++i)
    entry_of_use_[static_cast<size_t>(entries_[i].use - first_use_)] = static_cast<uint32_t>(i);
}

void UseIndex::add(const StepUse& use, StepPoint at) {
  Entry& entry = entries_[entry_of_use_[static_cast<size_t>(&use - first_use_)]];
  entry.at = at;
  for (uint32_t number = entry.leaf;; number = nodes_[number].parent) {
    Node& node = nodes_[number];
    node.latest = std::max(node.latest, at.clock);
    if (node.parent == number) return;
  }
}

// The box's bytes modulo `modulus`. (Strides that are multiples of it do not matter.)
UseIndex::Interval UseIndex::residuesModulo(const ByteBox& box, int64_t modulus) {
  int64_t reach = box.run;
  for (const auto [size, stride] : box.dims) {
    if (stride % modulus != 0) reach += (size - 1) * stride;
  }
  const int64_t begin = box.begin % modulus;
  return reach >= modulus ? Interval{0, modulus} : Interval{begin, begin + reach};
}

std::vector<UseIndex::Residues> UseIndex::residuesOf(const ByteBox& box) {
  std::vector<Residues> all;
  for (const Access::Dim& dim : box.dims) all.push_back({dim.stride, residuesModulo(box, dim.stride)});
  return all;
}

std::vector<UseIndex::Interval> UseIndex::intervalsOf(const ByteBox& box, std::span<const int64_t> moduli) {
  std::vector<Interval> intervals;
  for (const int64_t modulus : moduli) intervals.push_back(residuesModulo(box, modulus));
  return intervals;
}

bool UseIndex::mayMeet(const Node& node, const Tree& tree, const ByteBox& box, std::span<const Interval> wanted,
                       std::span<const Residues> own) {
  const auto meet = [](const Interval& a, const Interval& b) { return a.begin < b.end && b.begin < a.end; };
  const auto meetModulo = [&](const Interval& a, const Interval& b, int64_t modulus) {
    return meet(a, b) || meet({a.begin + modulus, a.end + modulus}, b) || meet({a.begin - modulus, a.end - modulus}, b);
  };
  const Interval& range = node.bounds[0];
  if (!meet(range, {box.begin, box.end})) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!meetModulo(node.bounds[i + 1], wanted[i], tree.moduli[i])) return false;
  }
  return std::ranges::all_of(own, [&](const Residues& residues) {
    const auto [modulus, interval] = residues;
    if (range.end - range.begin >= modulus) return true;
    const int64_t begin = range.begin % modulus;
    return meetModulo({begin, begin + (range.end - range.begin)}, interval, modulus);
  });
}

void UseIndex::addTree(std::span<Entry> entries, int32_t executor, int32_t stream_count) {
  Tree tree{.moduli = {}, .executor = executor, .is_stream = executor < stream_count, .root = 0};
  for (const Access::Dim& dim : entries[0].use->box.dims) {
    if (tree.moduli.size() < kMostModuli) tree.moduli.push_back(dim.stride);
  }
  for (Entry& entry : entries) {
    const ByteBox& box = entry.use->box;
    entry.coordinates[0] = {box.begin, box.end};
    for (size_t i = 0; i < tree.moduli.size(); ++i) entry.coordinates[i + 1] = residuesModulo(box, tree.moduli[i]);
  }
  tree.root = static_cast<uint32_t>(nodes_.size());
  build(entries, static_cast<uint32_t>(entries.data() - entries_.data()), tree.root, tree.moduli.size() + 1);
  trees_.push_back(std::move(tree));
}

// Splits the entries in half along the coordinate with the largest spread relative to their size, or by steps.
uint32_t UseIndex::build(std::span<Entry> entries, uint32_t first, uint32_t parent, size_t dimensions) {
  const auto number = static_cast<uint32_t>(nodes_.size());
  Node node{.bounds = {}, .parent = parent, .first = first, .last = first + static_cast<uint32_t>(entries.size())};
  size_t widest = 0;
  double most = 0;
  for (size_t d = 0; d < dimensions; ++d) {
    Interval& bounds = node.bounds[d];
    Interval centres;
    double sizes = 0;
    for (const Entry& entry : entries) {
      const auto [begin, end] = entry.coordinates[d];
      bounds = {std::min(bounds.begin, begin), std::max(bounds.end, end)};
      centres = {std::min(centres.begin, begin + end), std::max(centres.end, begin + end)};
      sizes += static_cast<double>(end - begin);
    }
    const double spread = static_cast<double>(centres.end - centres.begin) / sizes;
    if (spread > most) std::tie(most, widest) = std::tuple(spread, d);
  }
  nodes_.push_back(node);
  if (entries.size() <= kLeafUses) {
    for (Entry& entry : entries) entry.leaf = number;
    return number;
  }
  const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
  std::ranges::nth_element(entries, middle, [&](const Entry& a, const Entry& b) {
    const Interval& x = a.coordinates[widest];
    const Interval& y = b.coordinates[widest];
    return std::tuple(x.begin + x.end, a.use) < std::tuple(y.begin + y.end, b.use);
  });
  const size_t half = entries.size() / 2;
  nodes_[number].left = build(entries.first(half), first, number, dimensions);
  nodes_[number].right = build(entries.subspan(half), first + static_cast<uint32_t>(half), number, dimensions);
  return number;
}

}  // namespace tokamak
