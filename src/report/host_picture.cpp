#include "report/host_picture.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/deallocate.h"
#include "ir/ops/host/for_loop.h"
#include "ir/ops/host/get_current_stream.h"
#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"
#include "ir/ops/host/if_then_else.h"
#include "ir/ops/host/launch_kernel.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/host/set_current_stream.h"
#include "ir/ops/host/synchronize.h"
#include "ir/ops/host/wait.h"
#include "ir/text/names.h"
#include "report/lanes.h"
#include "report/op_cards.h"

namespace tokamak {

namespace {

constexpr double kTextWidth = 230;
constexpr ShapeStyle kMemoryShape{.fill = "#f3faf4", .stroke = "#3f8f52", .corner = 3, .dash = "3 2"};
constexpr ShapeStyle kWaitShape{.fill = "#fff3ea", .stroke = "#c2571a", .corner = 9};
constexpr ShapeStyle kPartShape{.fill = "#ffffff", .stroke = "#9aa5b1", .corner = 3, .dash = "1 2"};
constexpr ShapeStyle kKernelShape{.fill = "#e4effa", .stroke = "#2f6aa8", .stroke_width = 1.5, .corner = 3};
constexpr ShapeStyle kEndShape{.fill = "#f4f6f8", .stroke = "#9aa5b1", .corner = 9};

Card cardOf(std::string_view kind, const std::string& head, const std::string& below, const ShapeStyle& shape) {
  Card card;
  card.lines.push_back({.bold = elidedText(head, kTextWidth, 11.5, FontWeight::Bold), .plain = "", .size = 11.5});
  for (const std::string& line : wrappedText(below, kTextWidth, 10, 3))
    card.lines.push_back({.bold = "", .plain = line, .size = 10, .colour = "#4a5763"});
  card.shape = shape;
  card.kind = "step";
  card.data = kind;
  card.title = below.empty() ? head : fmt::format("{}\n{}", head, below);
  return card;
}

class HostLanes {
 public:
  explicit HostLanes(const HostIrContainer& program) : program_(program), names_(program) {
    lanes_.heading = program.name();
    current_ = laneNamed("caller's stream");
    last_of_lane_[current_] = add("entry", "called", inputNames(), kEndShape);
    block(program.topLevel(), 0);
    addExit();
    const size_t statements = countStatements(program.topLevel());
    lanes_.below = fmt::format("host program of {}", counted(statements, "statement"));
  }

  const Lanes& lanes() const { return lanes_; }

 private:
  static size_t countStatements(const Block& block) {
    size_t count = 0;
    forEachStatement(block, [&](const Expr&) { ++count; });
    return count;
  }

  std::string inputNames() const {
    std::vector<std::string> names;
    for (const Val* input : program_.inputs()) {
      if (const TensorView* tensor = asTensor(const_cast<Val*>(input))) names.push_back(names_.nameOf(*tensor));
    }
    return fmt::format("with {}", names.empty() ? "no tensor" : joined(names));
  }

  std::string text(const Scalar& scalar) const { return plainText(scalar, names_); }

  size_t laneNamed(const std::string& name) {
    const auto found = std::ranges::find(lanes_.lanes, name);
    if (found != lanes_.lanes.end()) return static_cast<size_t>(found - lanes_.lanes.begin());
    lanes_.lanes.push_back(name);
    return lanes_.lanes.size() - 1;
  }

  size_t laneOf(const StreamVal& stream) {
    if (stream.index() != nullptr) return laneNamed("stream " + text(*stream.index()));
    const auto caught = caught_.find(&stream);
    return caught == caught_.end() ? 0 : caught->second;
  }

  size_t add(std::string_view kind, const std::string& head, const std::string& below, const ShapeStyle& shape) {
    lanes_.items.push_back({current_, cardOf(kind, head, below, shape)});
    last_of_lane_[current_] = lanes_.items.size() - 1;
    return lanes_.items.size() - 1;
  }

  void connect(size_t from, size_t to, LaneArrow::Kind kind) {
    const bool is_known = std::ranges::any_of(
        lanes_.arrows, [&](const LaneArrow& it) { return it.from == from && it.to == to && it.kind == kind; });
    if (!is_known && from < to) lanes_.arrows.push_back({from, to, kind});
  }

  void block(const Block& statements, size_t depth) {
    for (const Expr* statement : statements.exprs) visit(*statement, depth);
  }

  void framed(const Block& body, const std::string& label, size_t depth) {
    const size_t number = lanes_.frames.size();
    const size_t first = lanes_.items.size();
    lanes_.frames.push_back({first, first, depth, label});
    block(body, depth + 1);
    if (lanes_.items.size() == first) add("empty", "nothing", "", kPartShape);
    lanes_.frames[number].last = lanes_.items.size() - 1;
  }

  void visit(const Expr& expr, size_t depth) {
    if (const auto* loop = expr.as<ForLoop>()) {
      const std::string step = loop->step->isConstantInt(1) ? "" : fmt::format(" by {}", text(*loop->step));
      framed(loop->body,
             fmt::format("for {} from {} to {}{}", text(*loop->index), text(*loop->start), text(*loop->stop), step),
             depth);
    } else if (const auto* choice = expr.as<IfThenElse>()) {
      framed(choice->then_body, fmt::format("if {}", text(*choice->predicate)), depth);
      if (!choice->else_body.exprs.empty()) framed(choice->else_body, "else", depth);
    } else if (const auto* caught = expr.as<GetCurrentStream>()) {
      caught_[caught->stream] = current_;
    } else if (const auto* set = expr.as<SetCurrentStream>()) {
      current_ = laneOf(*set->stream);
    } else if (const auto* wait = expr.as<Synchronize>()) {
      const size_t lane = laneOf(*wait->stream);
      const size_t item = add("wait", "wait", "for " + lanes_.lanes[lane], kWaitShape);
      if (const auto last = last_of_lane_.find(lane); last != last_of_lane_.end())
        connect(last->second, item, LaneArrow::Kind::Order);
    } else if (const auto* awaited = expr.as<Wait>()) {
      const size_t item = add("wait", "wait", fmt::format("for communication {}", awaited->communication), kWaitShape);
      if (const auto posted = posted_.find(awaited->communication); posted != posted_.end())
        connect(posted->second, item, LaneArrow::Kind::Order);
    } else {
      memoryOrWork(expr);
    }
  }

  void memoryOrWork(const Expr& expr) {
    if (const auto* allocate = expr.as<Allocate>()) {
      add("allocate", "allocate " + names_.nameOf(*allocate->buffer),
          shapeText(*allocate->buffer, names_) + (allocate->zero_init ? ", set to zero" : ""), kMemoryShape);
    } else if (const auto* free = expr.as<Deallocate>()) {
      add("free", "free " + names_.nameOf(*free->buffer), "", kMemoryShape);
    } else if (const auto* select = expr.as<HirAliasSelect>()) {
      part(*select->out, *select->in, fmt::format("index {} of axis {}", text(*select->index), select->axis));
    } else if (const auto* slice = expr.as<HirAliasSlice>()) {
      part(*slice->out, *slice->in,
           fmt::format("from {} to {} of axis {}", text(*slice->start), text(*slice->stop), slice->axis));
    } else {
      work(expr);
    }
  }

  void part(const TensorView& out, const TensorView& in, const std::string& which) {
    add("part", fmt::format("{} = part of {}", names_.nameOf(out), names_.nameOf(in)), which, kPartShape);
    whole_[&out] = &in;
  }

  // The tensor whose memory it is a part of.
  const TensorView* wholeOf(const TensorView* tensor) const {
    for (auto found = whole_.find(tensor); found != whole_.end(); found = whole_.find(tensor)) tensor = found->second;
    return program_.resolveAlias(const_cast<TensorView*>(tensor));
  }

  std::string namesOf(std::span<Val* const> values) const {
    std::vector<std::string> names;
    for (const TensorView* tensor : tensorsOf(values)) names.push_back(names_.nameOf(*tensor));
    return joined(names);
  }

  void work(const Expr& expr) {
    std::string head(callName(expr));
    ShapeStyle shape = {.fill = colourOf(expr).fill, .stroke = colourOf(expr).stroke, .stroke_width = 1.5, .corner = 3};
    if (const auto* post = expr.as<PostOnStream>()) {
      head = fmt::format("segment {}: {}", post->segment->number, counted(post->segment->fusion->exprs().size(), "op"));
      shape = kKernelShape;
    } else if (const auto* launch = expr.as<LaunchKernel>()) {
      head = fmt::format("kernel {}", launch->kernel);
      shape = kKernelShape;
    }
    const std::string results = namesOf(expr.outputs());
    const std::string operands = namesOf(expr.inputs());
    const std::string below =
        results.empty() ? operands : fmt::format("{} from {}", results, operands.empty() ? "nothing" : operands);
    const size_t item = add("work", head, below, shape);
    for (const TensorView* operand : tensorsOf(expr.inputs())) {
      const auto writer = writers_.find(wholeOf(operand));
      if (writer != writers_.end()) connect(writer->second, item, LaneArrow::Kind::Value);
    }
    for (const TensorView* result : tensorsOf(expr.outputs())) writers_[wholeOf(result)] = item;
    for (const Field& field : fieldsOf(expr)) {
      if (expr.info().is_communication && field.name == "number") posted_[std::get<int64_t>(field.value)] = item;
    }
  }

  void addExit() {
    current_ = 0;
    std::vector<Val*> outputs(program_.outputs().begin(), program_.outputs().end());
    const std::string given = namesOf(outputs);
    const size_t item = add("exit", "returns", given.empty() ? "nothing" : given, kEndShape);
    for (const TensorView* output : program_.outputs()) {
      const auto writer = writers_.find(wholeOf(output));
      if (writer != writers_.end()) connect(writer->second, item, LaneArrow::Kind::Value);
    }
  }

  const HostIrContainer& program_;
  FusionNames names_;
  Lanes lanes_;
  size_t current_ = 0;
  std::map<const StreamVal*, size_t> caught_;
  std::map<size_t, size_t> last_of_lane_;
  std::map<const TensorView*, const TensorView*> whole_;
  std::map<const TensorView*, size_t> writers_;  // the last one
  std::map<int64_t, size_t> posted_;
};

}  // namespace

std::string hostPicture(const HostIrContainer& program, std::string_view id_prefix) {
  return drawLanes(HostLanes(program).lanes(), "Host program of " + program.name(), id_prefix);
}

}  // namespace tokamak
