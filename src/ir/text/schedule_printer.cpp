// Loop domains as the commands that make them from the logical domains.
#include <algorithm>

#include <fmt/format.h>

#include "ir/iter_domain.h"
#include "ir/text/fusion_printer.h"
#include "ir/text/names.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

class CommandWriter {
 public:
  CommandWriter(const TensorView& tensor, const FusionNames& names)
      : tensor_(tensor), names_(names), name_(names.nameOf(tensor)), axes_(tensor.logical()) {}

  std::string write() {
    std::vector<const DomainExpr*> steps;
    for (const IterDomain* axis : tensor_.loop()) collect(*axis, steps);
    // A step's results are made after its operands, so their numbers are a legal order.
    std::ranges::sort(steps, {}, [](const DomainExpr* step) { return step->out[0]->id(); });
    for (const DomainExpr* step : steps) {
      for (const IterDomain* axis : step->in) {
        if (axis != nullptr && !isIn(*axis)) return unwritable();
      }
      write(*step);
    }
    if (!std::ranges::is_permutation(axes_, tensor_.loop())) return unwritable();
    reorderTo(tensor_.loop());
    for (const IterDomain* axis : tensor_.loop()) parallelize(*axis);
    return std::move(text_);
  }

 private:
  bool isIn(const IterDomain& axis) const { return std::ranges::find(axes_, &axis) != axes_.end(); }
  int64_t positionOf(const IterDomain& axis) const { return std::ranges::find(axes_, &axis) - axes_.begin(); }

  void collect(const IterDomain& axis, std::vector<const DomainExpr*>& steps) const {
    const DomainExpr* step = axis.definition();
    const bool is_start = step == nullptr || std::ranges::find(tensor_.logical(), &axis) != tensor_.logical().end();
    if (is_start || std::ranges::find(steps, step) != steps.end()) return;
    steps.push_back(step);
    for (const IterDomain* in : step->in) {
      if (in != nullptr) collect(*in, steps);
    }
  }

  void write(const DomainExpr& step) {
    for (const IterDomain* axis : step.in) {
      if (axis != nullptr) parallelize(*axis);
    }
    if (step.kind == DomainExprKind::Split) {
      const int64_t axis = positionOf(*step.in[0]);
      const std::string factor =
          scalarText(*step.factor, [this](const Scalar& symbol) { return names_.nameOf(symbol); });
      text_ += fmt::format("  split({}, axis={}, factor={}{})\n", name_, axis, factor,
                           step.is_inner_factor ? "" : ", inner_split=false");
      axes_[static_cast<size_t>(axis)] = step.out[0];
      axes_.insert(axes_.begin() + axis + 1, step.out[1]);
      return;
    }
    if (positionOf(*step.in[1]) != positionOf(*step.in[0]) + 1) {
      Axes order = axes_;
      std::erase(order, step.in[1]);
      order.insert(std::ranges::find(order, step.in[0]) + 1, step.in[1]);
      reorderTo(order);
    }
    const int64_t axis = positionOf(*step.in[0]);
    text_ += fmt::format("  merge({}, axis={})\n", name_, axis);
    axes_[static_cast<size_t>(axis)] = step.out[0];
    axes_.erase(axes_.begin() + axis + 1);
  }

  void reorderTo(const Axes& order) {
    if (axes_ == order) return;
    std::vector<int64_t> numbers;
    for (const IterDomain* axis : order) numbers.push_back(positionOf(*axis));
    text_ += fmt::format("  reorder({}, order=[{}])\n", name_, fmt::join(numbers, ", "));
    axes_ = order;
  }

  void parallelize(const IterDomain& axis) {
    if (axis.parallelType() == ParallelType::Serial) return;
    const std::string_view type = parallelTypeName(axis.parallelType());
    const bool is_taken =
        std::ranges::any_of(names_.symbols(), [&](const Scalar* symbol) { return names_.nameOf(*symbol) == type; });
    text_ +=
        fmt::format("  parallelize({}, axis={}, type={})\n", name_, positionOf(axis), is_taken ? quoted(type) : type);
  }

  // Lowering may give a tensor a loop domain that no command makes; the text then says so.
  std::string unwritable() const {
    return fmt::format("  // the loop domain of {} is not made from its shape by split, merge and reorder\n", name_);
  }

  const TensorView& tensor_;
  const FusionNames& names_;
  std::string name_;
  Axes axes_;
  std::string text_;
};

}  // namespace

std::string scheduleText(const FusionNames& names) {
  std::string text;
  for (const TensorView* tensor : names.tensors()) text += CommandWriter(*tensor, names).write();
  return text;
}

}  // namespace tokamak
