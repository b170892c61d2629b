#include "report/segments.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "compile/kernel_groups.h"
#include "graph/product_group.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/post_on_stream.h"
#include "segment/group_inputs_outputs.h"

namespace tokamak {

namespace {

const PostOnStream* postOf(const Segment& segment) { return segment.statement->as<PostOnStream>(); }

std::string formOf(const HostIrContainer& program, const Expr& statement) {
  if (const auto* post = statement.as<PostOnStream>()) {
    if (const auto product = productGroupOf(*post->segment))
      return fmt::format("library call {} with {}", callName(*product->product), activationName(product->activation));
    const size_t ops = post->segment->fusion->exprs().size();
    return fmt::format("kernel of {} op{}", ops, ops == 1 ? "" : "s");
  }
  if (statement.info().is_library) return fmt::format("library call {}", callName(statement));
  if (statement.info().is_communication) return fmt::format("communication {}", callName(statement));
  const TensorView* result = statement.outputs().empty() ? nullptr : asTensor(statement.output(0));
  if (result != nullptr && program.isView(const_cast<TensorView*>(result))) return "view, costs nothing";
  return "kernel of 1 op";
}

bool reads(const Segment& segment, const Val* value) {
  return std::ranges::find(segment.statement->inputs(), value) != segment.statement->inputs().end();
}

bool readsResultOf(const Segment& consumer, const Segment& producer) {
  return std::ranges::any_of(producer.statement->outputs(), [&](const Val* out) { return reads(consumer, out); });
}

// Two segments as one fusion.
class Together {
 public:
  Together(const HostIrContainer& program, const Segment& producer, const Segment& consumer)
      : program_(program), fusion_(std::make_unique<Fusion>(program.name())), outer_(*fusion_) {
    add(producer);
    add(consumer);
    for (const Segment* segment : {&producer, &consumer}) {
      for (Val* input : segment->statement->inputs()) {
        const bool is_made = segment == &consumer && std::ranges::find(producer.statement->outputs(), input) !=
                                                         producer.statement->outputs().end();
        if (!is_made && asTensor(input) != nullptr && !fusion_->isInput(outer_.clone(input)))
          fusion_->addInput(outer_.clone(input));
      }
    }
    for (Val* output : producer.statement->outputs()) {
      if (isReadElsewhere(output, consumer)) fusion_->addOutput(outer_.clone(asTensor(output)));
    }
    for (Val* output : consumer.statement->outputs()) fusion_->addOutput(outer_.clone(asTensor(output)));
  }

  Fusion& fusion() { return *fusion_; }

 private:
  bool isReadElsewhere(Val* output, const Segment& consumer) const {
    if (program_.isOutput(output)) return true;
    return std::ranges::any_of(program_.topLevel().exprs, [&](const Expr* statement) {
      return statement != consumer.statement &&
             std::ranges::find(statement->inputs(), output) != statement->inputs().end();
    });
  }

  void add(const Segment& segment) {
    if (!segment.isHostSegment()) {
      outer_.clone(*segment.statement);
      return;
    }
    Cloner inner(*fusion_);
    const auto inputs = segment.statement->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) matchExtents(inner, segment.inside(i), inputs[i]);
    const auto outputs = segment.statement->outputs();
    for (size_t i = 0; i < outputs.size(); ++i) matchExtents(inner, segment.insideResult(i), outputs[i]);
    matchNames(inner, *postOf(segment)->segment->fusion);
    for (size_t i = 0; i < inputs.size(); ++i) inner.substitute(segment.inside(i), outer_.clone(inputs[i]));
    for (const Expr* expr : segment.exprs) inner.clone(*expr);
    for (size_t i = 0; i < outputs.size(); ++i) {
      TensorView* result = segment.insideResult(i);
      if (!fusion_->isInput(result)) outer_.substitute(outputs[i], inner.clone(result));
    }
  }

  // The symbols of a segment are not those of the program.
  void matchExtents(Cloner& inner, Val* inside, Val* outside) {
    TensorView* a = asTensor(inside);
    TensorView* b = asTensor(outside);
    if (a == nullptr || b == nullptr) return;
    const Axes axes_a = shapeOf(*a);
    const Axes axes_b = shapeOf(*b);
    for (size_t i = 0; i < std::min(axes_a.size(), axes_b.size()); ++i) {
      Scalar* extent = axes_a[i]->visibleExtent();
      if (extent->isSymbol() && !inner.contains(extent))
        inner.substitute(extent, outer_.clone(axes_b[i]->visibleExtent()));
    }
  }

  void matchNames(Cloner& inner, const Fusion& fusion) {
    for (Scalar* symbol : fusion.allSymbols()) {
      if (inner.contains(symbol) || symbol->name().empty()) continue;
      for (Scalar* known : program_.allSymbols()) {
        if (known->name() == symbol->name()) inner.substitute(symbol, outer_.clone(known));
      }
    }
  }

  const HostIrContainer& program_;
  std::unique_ptr<Fusion> fusion_;
  Cloner outer_;
};

// A segment's inputs and outputs are called what the program calls them.
void nameAsOutside(const Segment& segment) {
  const auto inputs = segment.statement->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorView* inside = asTensor(segment.inside(i));
    if (inside != nullptr && asTensor(inputs[i]) != nullptr) inside->setNamesOf(*asTensor(inputs[i]));
  }
  const auto outputs = segment.statement->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) segment.insideResult(i)->setNamesOf(*asTensor(outputs[i]));
}

// Why the segment stays alone whatever else there is; nothing where it does not.
std::optional<std::string> whyAlone(const HostIrContainer& program, const Segment& segment) {
  if (const PostOnStream* post = postOf(segment)) {
    if (!productGroupOf(*post->segment)) return std::nullopt;
    return fmt::format("{} is a library call, which takes no other ops in", segment.form.substr(13));
  }
  const Expr& op = *segment.statement;
  if (op.info().is_library) return fmt::format("{} is a library call, which takes no other ops in", callName(op));
  if (op.info().is_communication) return fmt::format("{} is a communication between devices", callName(op));
  const TensorView* result = op.outputs().empty() ? nullptr : asTensor(op.output(0));
  if (result != nullptr && program.isView(const_cast<TensorView*>(result)))
    return fmt::format("{} is given as a view, without a copy", callName(op));
  return std::nullopt;
}

// A segment between the two, through which what one gives reaches the other; nothing where there is none.
std::optional<size_t> segmentBetween(const std::vector<Segment>& segments, size_t producer, size_t consumer) {
  std::set<size_t> reached = {producer};
  for (size_t i = producer + 1; i < consumer; ++i) {
    const bool is_reached =
        std::ranges::any_of(reached, [&](size_t before) { return readsResultOf(segments[i], segments[before]); });
    if (!is_reached) continue;
    reached.insert(i);
    if (readsResultOf(segments[consumer], segments[i])) return i;
  }
  return std::nullopt;
}

}  // namespace

bool Segment::isHostSegment() const { return statement->is<PostOnStream>(); }

Val* Segment::inside(size_t input) const {
  const auto* post = statement->as<PostOnStream>();
  return post == nullptr ? statement->input(input) : post->segment->fusion->inputs()[input];
}

TensorView* Segment::insideResult(size_t output) const {
  const auto* post = statement->as<PostOnStream>();
  return post == nullptr ? asTensor(statement->output(output)) : post->segment->fusion->outputs()[output];
}

std::vector<Segment> segmentsOf(const HostIrContainer& program) {
  std::vector<Segment> segments;
  int64_t last = -1;
  const auto note = [&](const Fusion& fusion) {
    for (const TensorView* tensor : fusion.allTensors()) last = std::max(last, tensor->label());
  };
  note(program);
  for (Expr* statement : program.topLevel().exprs) {
    if (statement->is<Allocate>()) continue;
    Segment segment{.statement = statement, .exprs = {}, .form = formOf(program, *statement)};
    if (const auto* post = statement->as<PostOnStream>()) {
      note(*post->segment->fusion);
      segment.exprs = post->segment->fusion->exprs();
    } else {
      segment.exprs = {statement};
    }
    segments.push_back(std::move(segment));
  }
  const auto number = [&](const Fusion& fusion) {
    for (TensorView* tensor : fusion.allTensors()) {
      if (tensor->label() < 0 && tensor->name().empty()) tensor->setLabel(++last);
    }
  };
  number(program);
  for (const Segment& segment : segments) {
    if (segment.isHostSegment()) nameAsOutside(segment);
    if (const PostOnStream* post = postOf(segment)) number(*post->segment->fusion);
  }
  return segments;
}

std::string whyCut(const HostIrContainer& program, const Segment& producer, const Segment& consumer,
                   const KernelTarget& target) {
  if (const auto reason = whyAlone(program, producer)) return *reason;
  if (const auto reason = whyAlone(program, consumer)) return *reason;
  for (const Expr* expr : producer.exprs) {
    if (expr->info().ends_group) return fmt::format("{} ends a segment", callName(*expr));
  }
  try {
    Together both(program, producer, consumer);
    if (const auto reason = canSchedule(both.fusion(), target).reason) return "as one kernel: " + *reason;
    if (!mayBeDealtOut(both.fusion(), groupOf(both.fusion(), both.fusion().exprs())))
      return "the stream loop cannot deal out both as one";
  } catch (const Error& error) {
    return "as one kernel: " + error.message();
  }
  const std::vector<Segment> segments = segmentsOf(program);
  const auto numberOf = [&](const Segment& segment) {
    return static_cast<size_t>(std::ranges::find(segments, segment.statement, &Segment::statement) - segments.begin());
  };
  if (const auto between = segmentBetween(segments, numberOf(producer), numberOf(consumer)))
    return fmt::format("segment {} stands between the two: it reads one, and the other reads it", *between);
  return "the two could be one kernel, but the segmenter found no accepted way to it";
}

}  // namespace tokamak
