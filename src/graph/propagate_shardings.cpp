#include "graph/propagate_shardings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/device_mesh.h"
#include "analysis/marked_parts.h"
#include "analysis/part_axes.h"
#include "analysis/shards.h"
#include "ir/clone.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/matmul_op.h"
#include "ir/rfactor_chain.h"
#include "ir/text/fusion_printer.h"
#include "ir/text/mesh_text.h"
#include "ir/text/names.h"
#include "ir/text/scalar_text.h"
#include "schedule/loop_steps.h"
#include "schedule/set_device_mesh.h"
#include "schedule/shared_loops.h"

namespace tokamak {

namespace {

// A tensor that another one may follow, and the op that reads one of them and computes the other; null where one is an
// output that updates the other.
struct Source {
  const TensorView* tensor = nullptr;
  const Expr* op = nullptr;
};

// An axis of a source and one of the tensor that follows it; elements as of PartAxisPair.
struct Link {
  int64_t from = 0;
  int64_t to = 0;
  Scalar* from_elements = nullptr;
  Scalar* to_elements = nullptr;
};

enum class Follow : uint8_t { Axes, MeshAlone };

class Propagation {
 public:
  explicit Propagation(Fusion& fusion) : fusion_(fusion), names_(fusion) {
    for (const Scalar* symbol : names_.symbols()) symbol_names_.insert(names_.nameOf(*symbol));
    orderTensors();
    for (const auto& [output, alias] : fusion.outputAliases()) {
      if (TensorView* input = asTensor(alias.target)) updated_[output] = input, updates_[input] = output;
    }
  }

  std::vector<ShardingCommand> run() {
    for (const TensorView* tensor : order_) shards_[tensor] = shardsOf(*tensor);
    for (TensorView* tensor : order_) {
      if (is_said_.contains(tensor)) settle(*tensor);
    }
    while (!forward_.empty() || !backward_.empty()) {
      while (!forward_.empty()) {
        TensorView& tensor = *order_[forward_.extract(forward_.begin()).value()];
        if (tensor.mesh().empty()) follow(tensor, operandsOf(tensor));
      }
      while (!backward_.empty()) {
        TensorView& tensor = *order_[backward_.extract(std::prev(backward_.end())).value()];
        if (tensor.mesh().empty()) follow(tensor, resultsOf(tensor));
      }
    }
    return std::move(commands_);
  }

 private:
  // Inputs, then results, producers first.
  void orderTensors() {
    for (Val* input : fusion_.inputs()) {
      if (TensorView* tensor = asTensor(input)) add(*tensor), inputs_.insert(tensor);
    }
    std::vector<Expr*> exprs = fusion_.exprs();
    const std::set<const Expr*> read(exprs.begin(), exprs.end());
    for (Expr* expr : fusion_.allExprs()) {
      if (!read.contains(expr)) exprs.push_back(expr);
    }
    for (const Expr* expr : exprs) {
      for (TensorView* result : tensorsOf(expr->outputs())) add(*result);
      for (const TensorView* operand : tensorsOf(expr->inputs())) {
        std::vector<const Expr*>& readers = readers_[operand];
        if (readers.empty() || readers.back() != expr) readers.push_back(expr);
      }
    }
  }

  void add(TensorView& tensor) {
    if (!numbers_.emplace(&tensor, order_.size()).second) return;
    order_.push_back(&tensor);
    if (!tensor.mesh().empty()) is_said_.insert(&tensor);
  }

  // --- who follows whom ---

  // Its neighbours may follow the tensor from now on.
  void settle(TensorView& tensor) {
    for (const Expr* reader : readers_[&tensor]) {
      for (const TensorView* result : tensorsOf(reader->outputs())) addTo(forward_, *result);
    }
    if (tensor.definition() != nullptr) {
      for (const TensorView* operand : tensorsOf(tensor.definition()->inputs())) addTo(backward_, *operand);
    }
    for (const auto* twins : {&updated_, &updates_}) {
      const auto twin = twins->find(&tensor);
      if (twin != twins->end() && twin->second->mesh().empty())
        decide(*twin->second, std::vector<Source>{{&tensor, nullptr}}, Follow::Axes);
    }
  }

  // (A tensor that is neither an input nor computed has no number.)
  void addTo(std::set<size_t>& numbers, const TensorView& tensor) const {
    const auto number = numbers_.find(&tensor);
    if (tensor.mesh().empty() && number != numbers_.end()) numbers.insert(number->second);
  }

  std::vector<Source> operandsOf(const TensorView& tensor) const {
    const Expr& op = *tensor.definition();
    std::vector<const TensorView*> operands;
    if (const auto* linear = op.as<LinearOp>())
      operands = {linear->weight, linear->bias, linear->in};
    else if (const auto* matmul = op.as<MatmulOp>())
      operands = {matmul->b, matmul->a};
    else
      for (const TensorView* operand : tensorsOf(op.inputs())) operands.push_back(operand);
    std::vector<Source> sources;
    for (const TensorView* operand : operands) {
      if (operand != nullptr && !operand->mesh().empty()) sources.push_back({operand, &op});
    }
    if (!op.is<LinearOp>() && !op.is<MatmulOp>()) sortByShards(sources);
    return sources;
  }

  std::vector<Source> resultsOf(const TensorView& tensor) const {
    std::vector<Source> sources;
    for (const Expr* reader : readers_.at(&tensor)) {
      for (const TensorView* result : tensorsOf(reader->outputs())) {
        if (!result->mesh().empty()) sources.push_back({result, reader});
      }
    }
    sortByShards(sources);
    return sources;
  }

  void sortByShards(std::vector<Source>& sources) const {
    std::ranges::stable_sort(sources, std::ranges::greater{},
                             [&](const Source& source) { return shards_.at(source.tensor).size(); });
  }

  void follow(TensorView& tensor, const std::vector<Source>& sources) {
    const bool is_replicated = inputs_.contains(&tensor) || updated_.contains(&tensor);
    decide(tensor, sources, is_replicated ? Follow::MeshAlone : Follow::Axes);
  }

  // --- what it gets ---

  void decide(TensorView& tensor, const std::vector<Source>& sources, Follow what) {
    const DeviceMesh& mesh = sources[0].tensor->mesh();
    set_device_mesh(&tensor, mesh);
    std::string reason = reasonOf(tensor, sources[0]);
    if (what == Follow::MeshAlone)
      reason += inputs_.contains(&tensor) ? "; an input without a mesh is replicated"
                                          : "; it updates an input without a mesh, which is replicated";
    commands_.push_back({fmt::format("set_device_mesh({}, mesh={})", names_.nameOf(tensor), printMesh(mesh)), reason});
    if (what == Follow::Axes && mayBeMarked(tensor)) {
      for (const Source& source : sources) {
        if (source.tensor->mesh() == mesh) takeAxes(tensor, source);
      }
    }
    shards_[&tensor] = shardsOf(tensor);
    settle(tensor);
  }

  std::string reasonOf(const TensorView& tensor, const Source& source) const {
    const std::string name = names_.nameOf(*source.tensor);
    if (source.op == nullptr)
      return fmt::format("as {}, which {}", name, updated_.contains(&tensor) ? "it updates" : "updates it");
    const bool is_operand = source.tensor->definition() != source.op;
    return fmt::format("as {}, which {} {}", name, callName(*source.op), is_operand ? "reads" : "gives");
  }

  // Loops that a kernel's schedule shares or cuts stay as they are.
  static bool mayBeMarked(const TensorView& tensor) {
    return sharedLoopCount(tensor) == 0 && tensor.domain().root.empty() && !isRfactorPart(tensor) &&
           !rfactorChainOf(tensor);
  }

  const PartAxes& partAxesOf(const Expr& op) {
    const auto found = part_axes_.find(&op);
    return found != part_axes_.end() ? found->second : part_axes_.emplace(&op, PartAxes(op)).first->second;
  }

  std::vector<Link> linksOf(const TensorView& tensor, const Source& source) {
    std::vector<Link> links;
    if (source.op == nullptr) {
      for (int64_t axis = 0; axis < std::ssize(shapeOf(tensor)); ++axis) links.push_back({axis, axis});
      return links;
    }
    const bool is_forward = tensor.definition() == source.op;
    const TensorView* operand = is_forward ? source.tensor : &tensor;
    const PartAxes& axes = partAxesOf(*source.op);
    for (int64_t axis = 0; axis < std::ssize(shapeOf(*asTensor(source.op->output(0)))); ++axis) {
      if (!axes.isLocalAlong(axis)) continue;
      for (const PartAxisPair& pair : axes.along(axis)) {
        if (pair.operand != operand) continue;
        links.push_back({pair.operand_axis, pair.result_axis, pair.operand_elements, pair.result_elements});
        if (!is_forward) std::swap(links.back().from, links.back().to);
        if (!is_forward) std::swap(links.back().from_elements, links.back().to_elements);
      }
    }
    return links;
  }

  void takeAxes(TensorView& tensor, const Source& source) {
    const std::vector<Shard> shards = shards_.at(source.tensor);
    if (shards.empty()) return;
    const std::vector<Link> links = linksOf(tensor, source);
    const Axes shape = shapeOf(*source.tensor);
    for (const Shard& shard : shards) {
      const auto isUsed = [&](const IterDomain* axis) { return axis->parallelType() == shard.type; };
      if (std::ranges::any_of(tensor.loop(), isUsed)) continue;
      const int64_t axis = std::ranges::find(shape, shard.logical) - shape.begin();
      for (const Link& link : links) {
        if (link.from == axis && takeAxis(tensor, shard, link, *source.tensor)) break;
      }
    }
  }

  bool takeAxis(TensorView& tensor, const Shard& shard, const Link& link, const TensorView& from) {
    const auto parts = link.from_elements == nullptr
                           ? partsOfCuts(tensor, link.to, markedPartsOf(from, *shard.loop_axis)->cuts, shard.devices)
                           : partsOfElements(tensor, link.to, *link.to_elements,
                                             *fusion_.mul(shard.chunk, link.from_elements), shard.devices);
    IterDomain& logical = *shapeOf(tensor)[static_cast<size_t>(link.to)];
    if (!parts || !canCompute(tensor, *parts, shard.devices) || isDealtOut(tensor, logical)) return false;
    const std::string_view how = link.from_elements == nullptr ? "is" : "has the elements of";
    const std::string reason = fmt::format("{} of {}: axis {} {} its axis {}", parallelTypeName(shard.type),
                                           names_.nameOf(from), link.to, how, link.from);
    return mark(tensor, logical, *parts, shard.type, reason);
  }

  // Whether the tensor's own op can be done for such parts.
  bool canCompute(const TensorView& tensor, const MarkedParts& parts, int64_t devices) {
    if (tensor.definition() == nullptr) return true;
    const PartAxes& axes = partAxesOf(*tensor.definition());
    if (!axes.isLocalAlong(parts.axis)) return false;
    return std::ranges::all_of(axes.along(parts.axis), [&](const PartAxisPair& pair) {
      if (pair.isSameIndex()) return true;
      Scalar& elements = *fusion_.mul(parts.chunk, pair.result_elements);
      return partsOfElements(*pair.operand, pair.operand_axis, *pair.operand_elements, elements, devices).has_value();
    });
  }

  // Whether parts of this axis are dealt out over devices or streams already.
  static bool isDealtOut(const TensorView& tensor, const IterDomain& logical) {
    const auto isMadeOf = [&](const auto& self, const IterDomain* axis) -> bool {
      if (axis == nullptr || axis == &logical) return axis != nullptr;
      const DomainExpr* step = axis->definition();
      return step != nullptr && (self(self, step->in[0]) || self(self, step->in[1]));
    };
    return std::ranges::any_of(tensor.loop(), [&](const IterDomain* axis) {
      return (axis->isStream() || isDeviceType(axis->parallelType())) && isMadeOf(isMadeOf, axis);
    });
  }

  // --- commands ---

  // Splits that the tensor's own schedule has are taken as they are. False, and nothing changes, where its loops are
  // made in another way.
  bool mark(TensorView& tensor, IterDomain& logical, const MarkedParts& parts, ParallelType type,
            const std::string& reason) {
    IterDomain* axis = &logical;
    size_t done = 0;
    for (; done < parts.cuts.size() && !isLoop(tensor, *axis); ++done) {
      axis = outerOfSplit(*axis, parts.cuts[done]);
      if (axis == nullptr) return false;
    }
    if (!isLoop(tensor, *axis) || axis->parallelType() != ParallelType::Serial) return false;
    const std::string name = names_.nameOf(tensor);
    const int64_t position = std::ranges::find(tensor.loop(), axis) - tensor.loop().begin();
    for (; done < parts.cuts.size(); ++done) {
      const AxisCut& cut = parts.cuts[done];
      split(&tensor, position, cut.factor, cut.is_inner_factor ? SplitSide::Inner : SplitSide::Outer);
      const auto namer = [&](const Scalar& symbol) { return names_.nameOf(symbol); };
      commands_.push_back(
          {fmt::format("split({}, axis={}, factor={}{})", name, position, scalarText(*cut.factor, namer),
                       cut.is_inner_factor ? "" : ", inner_split=false"),
           reason});
    }
    parallelize(&tensor, position, type);
    // (A name that a symbol has is quoted.)
    const std::string word(parallelTypeName(type));
    commands_.push_back({fmt::format("parallelize({}, axis={}, type={})", name, position,
                                     symbol_names_.contains(word) ? inQuotes(word) : word),
                         reason});
    return true;
  }

  static bool isLoop(const TensorView& tensor, const IterDomain& axis) {
    return std::ranges::find(tensor.loop(), &axis) != tensor.loop().end();
  }

  static IterDomain* outerOfSplit(const IterDomain& axis, const AxisCut& cut) {
    const DomainExpr* step = axis.use();
    const bool is_same = step != nullptr && step->kind == DomainExprKind::Split && step->factor == cut.factor &&
                         step->is_inner_factor == cut.is_inner_factor;
    return is_same ? step->out[0] : nullptr;
  }

  Fusion& fusion_;
  FusionNames names_;
  std::set<std::string> symbol_names_;
  std::vector<TensorView*> order_;
  std::unordered_map<const TensorView*, size_t> numbers_;  // in order_
  std::set<const TensorView*> inputs_;
  std::set<const TensorView*> is_said_;  // those that had a mesh
  std::unordered_map<const TensorView*, std::vector<const Expr*>> readers_;
  std::unordered_map<const TensorView*, TensorView*> updated_;  // output -> the input that it updates
  std::unordered_map<const TensorView*, TensorView*> updates_;  // the other way round
  std::unordered_map<const TensorView*, std::vector<Shard>> shards_;
  std::unordered_map<const Expr*, PartAxes> part_axes_;
  // Numbers of tensors some neighbour of which has been decided on: an operand of their op, or a result of a reader.
  std::set<size_t> forward_;
  std::set<size_t> backward_;
  std::vector<ShardingCommand> commands_;
};

}  // namespace

std::vector<ShardingCommand> giveShardings(Fusion& fusion) { return Propagation(fusion).run(); }

std::unique_ptr<Fusion> propagateShardings(const Fusion& fusion) {
  std::unique_ptr<Fusion> result = cloneFusion(fusion);
  giveShardings(*result);
  return result;
}

std::string explainShardings(const Fusion& fusion) {
  const std::unique_ptr<Fusion> copy = cloneFusion(fusion);
  std::string text = printFusion(*copy);
  std::string lines;
  std::string_view last;
  const std::vector<ShardingCommand> commands = giveShardings(*copy);
  for (const ShardingCommand& command : commands) {
    lines += fmt::format("  {}{}{}\n", command.text, command.reason == last ? "" : "  // ",
                         command.reason == last ? "" : command.reason);
    last = command.reason;
  }
  if (lines.empty()) return text;
  const bool has_schedule = !scheduleText(fusion, FusionNames(fusion)).empty();
  if (has_schedule) text.resize(text.size() - std::string_view("}\n").size());
  return fmt::format("{}{}{}}}\n", text, has_schedule ? "" : "schedule {\n", lines);
}

}  // namespace tokamak
