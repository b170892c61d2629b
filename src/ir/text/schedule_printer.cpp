// Schedules as the commands that make them: loop domains from the logical domains, rfactors, memory, inline positions.
#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/iter_domain.h"
#include "ir/rfactor_chain.h"
#include "ir/text/fusion_printer.h"
#include "ir/text/names.h"
#include "ir/text/scalar_text.h"
#include "ir/text/type_text.h"

namespace tokamak {

namespace {

bool isIn(const Axes& axes, const IterDomain& axis) { return std::ranges::find(axes, &axis) != axes.end(); }

// Writes commands on one tensor and keeps track of its loop axes.
class LoopWriter {
 public:
  LoopWriter(const TensorView& tensor, const FusionNames& names, const Axes& start)
      : names_(names), name_(names.nameOf(tensor)), start_(start), axes_(start) {}

  /// Does the steps that these axes come from. False when one cannot be written.
  bool makeAxes(const Axes& axes) {
    std::vector<const DomainExpr*> steps;
    for (const IterDomain* axis : axes) collect(*axis, steps);
    for (const DomainExpr* step : steps) {
      for (const IterDomain* axis : step->in) {
        if (axis != nullptr && !isIn(axes_, *axis)) return false;
      }
      write(*step);
    }
    return std::ranges::all_of(axes, [this](const IterDomain* axis) { return isIn(axes_, *axis); });
  }

  void reorderTo(const Axes& order) {
    if (axes_ == order) return;
    text_ += fmt::format("  reorder({}, order=[{}])\n", name_, joined(positionsOf(order)));
    axes_ = order;
  }

  void parallelize(const Axes& axes) {
    for (const IterDomain* axis : axes) parallelizeOne(*axis);
  }

  /// A line of the form "  command(T3, " + what follows.
  void command(std::string_view name, std::string_view rest) {
    text_ += fmt::format("  {}({}, {})\n", name, name_, rest);
  }
  void line(const std::string& text) { text_ += text; }

  const Axes& axes() const { return axes_; }
  std::vector<int64_t> positionsOf(const Axes& axes) const {
    std::vector<int64_t> numbers;
    for (const IterDomain* axis : axes) numbers.push_back(positionOf(*axis));
    return numbers;
  }
  const std::string& name() const { return name_; }
  std::string text() && { return std::move(text_); }

 private:
  int64_t positionOf(const IterDomain& axis) const { return std::ranges::find(axes_, &axis) - axes_.begin(); }

  // What a step needs comes before it; else the order is that of the axes, so that the text does not depend on history.
  void collect(const IterDomain& axis, std::vector<const DomainExpr*>& steps) const {
    const DomainExpr* step = axis.definition();
    const bool is_done = step == nullptr || isIn(start_, axis) || isIn(axes_, axis);
    if (is_done || std::ranges::find(steps, step) != steps.end()) return;
    for (const IterDomain* in : step->in) {
      if (in != nullptr) collect(*in, steps);
    }
    steps.push_back(step);
  }

  void write(const DomainExpr& step) {
    for (const IterDomain* axis : step.in) {
      if (axis != nullptr) parallelizeOne(*axis);
    }
    switch (step.kind) {
      case DomainExprKind::Split: return writeSplit(step);
      case DomainExprKind::Merge: return writeMerge(step);
      case DomainExprKind::Swizzle: return writeSwizzle(step);
    }
  }

  void writeSplit(const DomainExpr& step) {
    const int64_t axis = positionOf(*step.in[0]);
    const std::string factor = scalarText(*step.factor, [this](const Scalar& symbol) { return names_.nameOf(symbol); });
    text_ += fmt::format("  split({}, axis={}, factor={}{})\n", name_, axis, factor,
                         step.is_inner_factor ? "" : ", inner_split=false");
    axes_[static_cast<size_t>(axis)] = step.out[0];
    axes_.insert(axes_.begin() + axis + 1, step.out[1]);
  }

  void writeMerge(const DomainExpr& step) {
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

  void writeSwizzle(const DomainExpr& step) {
    command("swizzle", fmt::format("axis_x={}, axis_y={}, type={}", positionOf(*step.in[0]), positionOf(*step.in[1]),
                                   word(swizzleTypeName(step.swizzle))));
    for (size_t i = 0; i < 2; ++i) std::ranges::replace(axes_, step.in[i], step.out[i]);
  }

  void parallelizeOne(const IterDomain& axis) {
    if (axis.parallelType() == ParallelType::Serial) return;
    command("parallelize",
            fmt::format("axis={}, type={}", positionOf(axis), word(parallelTypeName(axis.parallelType()))));
  }

  // A name that a symbol has is quoted.
  std::string word(std::string_view name) const {
    const bool is_taken =
        std::ranges::any_of(names_.symbols(), [&](const Scalar* symbol) { return names_.nameOf(*symbol) == name; });
    return is_taken ? inQuotes(name) : std::string(name);
  }

  const FusionNames& names_;
  std::string name_;
  Axes start_;
  Axes axes_;
  std::string text_;
};

bool isPermutation(const Axes& a, const Axes& b) { return a.size() == b.size() && std::ranges::is_permutation(a, b); }

// The splits and merges that an rfactor takes over, and the rfactors.
std::string chainText(const RfactorChain& chain, const FusionNames& names) {
  std::string text;
  for (const TensorView* part : chain.parts) {
    LoopWriter step(*chain.result, names, part->domain().root);
    Axes reduced;
    std::ranges::copy_if(part->logical(), std::back_inserter(reduced), &IterDomain::isReduction);
    const bool is_made = step.makeAxes(part->logical());
    const std::vector<int64_t> axes = step.positionsOf(reduced);
    step.line(is_made ? fmt::format("  {} = rfactor({}, axes=[{}])\n", names.nameOf(*part), step.name(), joined(axes))
                      : fmt::format("  // {} is not made from {} by an rfactor\n", names.nameOf(*part), step.name()));
    text += std::move(step).text();
  }
  return text;
}

std::string allocationProblem(const std::string& name) {
  return fmt::format("  // the allocation domain of {} is not made of axes that its loops come from\n", name);
}

std::string tensorText(const TensorView& tensor, const FusionNames& names) {
  LoopWriter writer(tensor, names, tensor.logical());
  const TensorDomain& domain = tensor.domain();
  const bool is_part = isRfactorPart(tensor);
  if (is_part && tensor.memoryType() != MemoryType::Local)
    writer.command("set_memory_type",
                   fmt::format("type={}", tensor.memoryType() == MemoryType::Shared ? "shared" : "global"));
  const bool is_marked = isAllocationOfLogical(domain) && !is_part && !rfactorChainOf(tensor);
  if (!domain.allocation.empty() && !is_marked) {
    if (writer.makeAxes(domain.allocation) && isPermutation(domain.allocation, writer.axes()))
      writer.command("set_allocation", fmt::format("axes=[{}]", joined(writer.positionsOf(domain.allocation))));
    else
      writer.line(allocationProblem(writer.name()));
  }
  // Lowering may give a tensor a loop domain that no command makes; the text then says so.
  if (!writer.makeAxes(domain.loop) || !isPermutation(domain.loop, writer.axes())) {
    return fmt::format("  // the loop domain of {} is not made from its shape by split, merge and reorder\n",
                       writer.name());
  }
  writer.reorderTo(domain.loop);
  writer.parallelize(domain.loop);
  if (const auto& buffer = tensor.circularBuffer())
    writer.command("circular_buffer", fmt::format("stages={}, prefetch={}", buffer->stages, buffer->prefetch));
  if (const auto& padding = tensor.bufferPadding())
    writer.command("pad_buffer", fmt::format("axis={}, elements={}", padding->axis, padding->elements));
  return std::move(writer).text();
}

// Inputs, then results, as the program names them; what it does not name comes last.
std::vector<const TensorView*> inProgramOrder(const Fusion& fusion, const FusionNames& names) {
  std::vector<const TensorView*> order;
  const auto add = [&](const TensorView* tensor) {
    if (tensor != nullptr && std::ranges::find(order, tensor) == order.end()) order.push_back(tensor);
  };
  for (Val* input : fusion.inputs()) add(asTensor(input));
  std::unordered_set<const TensorView*> seen(order.begin(), order.end());
  for (const Expr* expr : fusion.allExprs()) {
    for (const TensorView* tensor : tensorsOf(expr->outputs())) {
      if (seen.insert(tensor).second) order.push_back(tensor);
    }
  }
  for (const TensorView* tensor : names.tensors()) {
    if (seen.insert(tensor).second) order.push_back(tensor);
  }
  return order;
}

}  // namespace

std::string scheduleText(const Fusion& fusion, const FusionNames& names) {
  std::string text;
  const std::vector<const TensorView*> tensors = inProgramOrder(fusion, names);
  for (const TensorView* tensor : tensors) {
    if (isRfactorPart(*tensor)) {
      const auto chain = rfactorChainOf(*rfactorResultOf(*tensor));
      if (chain && chain->parts[0] == tensor) text += chainText(*chain, names);
    }
    text += tensorText(*tensor, names);
  }
  // Consumers before producers: a loop is shared by whole groups of tensors, and such an order never makes an illegal
  // one on the way.
  for (const TensorView* tensor : tensors | std::views::reverse) {
    if (tensor->inlinePosition() != 0)
      text += fmt::format("  inline_at({}, position={})\n", names.nameOf(*tensor), tensor->inlinePosition());
  }
  return text;
}

}  // namespace tokamak
