#include "ir/verifier.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "base/text.h"
#include "ir/clone.h"
#include "ir/domain_transform.h"
#include "ir/mesh_problem.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/type_rule.h"

namespace tokamak {

namespace {

/// Takes the sentences that say what is wrong.
using Report = std::function<void(std::string)>;
using Check = void (*)(const Fusion& fusion, const Report& report);

void forEachAxis(const TensorView& tensor, const std::function<void(IterDomain*)>& visit) {
  const TensorDomain& domain = tensor.domain();
  for (const Axes* axes : {&domain.root, &domain.logical, &domain.loop, &domain.allocation})
    std::ranges::for_each(*axes, visit);
}

// --- ownership ---

void checkValsOwned(const Fusion& fusion, const Report& report) {
  for (const Expr* expr : fusion.allExprs()) {
    for (const Val* val : valsOf(*expr)) {
      if (&val->fusion() != &fusion)
        report(fmt::format("{} mentions {} of another fusion", expr->name(), describeVal(val)));
    }
  }
  for (const Val* input : fusion.inputs()) {
    if (&input->fusion() != &fusion) report(fmt::format("input {} belongs to another fusion", describeVal(input)));
  }
  for (const Val* output : fusion.outputs()) {
    if (&output->fusion() != &fusion) report(fmt::format("output {} belongs to another fusion", describeVal(output)));
  }
}

void checkAxesOwned(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    forEachAxis(*tensor, [&](const IterDomain* axis) {
      const bool is_owned = &axis->fusion() == &fusion && &axis->extent()->fusion() == &fusion &&
                            (axis->expandedExtent() == nullptr || &axis->expandedExtent()->fusion() == &fusion);
      if (!is_owned) report(fmt::format("{} or its extent belongs to another fusion", describeAxis(*tensor, *axis)));
    });
  }
}

void checkOpsAreMath(const Fusion& fusion, const Report& report) {
  for (const Expr* expr : fusion.allExprs()) {
    if (expr->list() != OpList::Math) report(fmt::format("{} is not a math op", expr->name()));
  }
}

// --- definitions and uses ---

void checkOneDefinition(const Fusion& fusion, const Report& report) {
  std::unordered_set<const Val*> given;
  for (const Expr* expr : fusion.allExprs()) {
    for (const Val* output : expr->outputs()) {
      if (!given.insert(output).second)
        report(fmt::format("{} is the result of {} and of another op", describeVal(output), expr->name()));
    }
  }
}

void checkDefinitionLinks(const Fusion& fusion, const Report& report) {
  std::unordered_set<const Val*> given;
  for (const Expr* expr : fusion.allExprs()) {
    for (const Val* output : expr->outputs()) {
      given.insert(output);
      if (output->definition() != expr)
        report(fmt::format("{} is the result of {}, which is not its definition", describeVal(output), expr->name()));
    }
  }
  for (const TensorView* tensor : fusion.allTensors()) {
    if (tensor->definition() != nullptr && !given.contains(tensor)) {
      report(
          fmt::format("{} is defined by {}, which does not give it", toString(*tensor), tensor->definition()->name()));
    }
  }
}

void checkUseLinks(const Fusion& fusion, const Report& report) {
  std::set<std::pair<const Val*, const Expr*>> reads;
  for (const Expr* expr : fusion.allExprs()) {
    for (const Val* input : expr->inputs()) {
      reads.emplace(input, expr);
      const auto count = std::ranges::count(input->uses(), expr);
      if (count != 1)
        report(fmt::format("{} reads {}, which names it {} times among its uses", expr->name(), describeVal(input),
                           count));
    }
  }
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const Expr* use : tensor->uses()) {
      if (!reads.contains({tensor, use}))
        report(fmt::format("{} names a use by {}, which does not read it", toString(*tensor), use->name()));
    }
  }
}

void checkInputsUndefined(const Fusion& fusion, const Report& report) {
  std::unordered_set<const Val*> seen;
  for (const Val* input : fusion.inputs()) {
    if (input->definition() != nullptr)
      report(fmt::format("input {} is computed by {}", describeVal(input), input->definition()->name()));
    if (!seen.insert(input).second) report(fmt::format("{} is an input twice", describeVal(input)));
  }
}

void checkOperandsBefore(const Fusion& fusion, const Report& report) {
  for (const Expr* expr : fusion.allExprs()) {
    for (const Val* input : expr->inputs()) {
      const Expr* definition = input->definition();
      if (definition != nullptr && definition->id() >= expr->id()) {
        report(fmt::format("{} reads {}, which {} gives only later", expr->name(), describeVal(input),
                           definition->name()));
      }
    }
  }
}

void checkOperandsGiven(const Fusion& fusion, const Report& report) {
  for (const Expr* expr : fusion.allExprs()) {
    for (const TensorView* tensor : tensorsOf(expr->inputs())) {
      if (tensor->definition() == nullptr && !fusion.isInput(tensor)) {
        report(
            fmt::format("{} reads {}, which is no input and which nothing computes", expr->name(), toString(*tensor)));
      }
    }
  }
}

void checkOutputsGiven(const Fusion& fusion, const Report& report) {
  for (const TensorView* output : fusion.outputs()) {
    if (output->definition() == nullptr && !fusion.isInput(output))
      report(fmt::format("nothing computes output {}", toString(*output)));
  }
}

// --- types and shapes ---

void checkFunctionTypes(const Fusion& fusion, const Report& report) {
  for (const Expr* expr : fusion.allExprs()) {
    if (const auto* op = expr->as<PointwiseOp>())
      if (const std::string problem = operandTypeProblem(*op); !problem.empty()) report(problem);
  }
}

void checkExtents(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    forEachAxis(*tensor, [&](const IterDomain* axis) {
      for (const Scalar* extent : {axis->extent(), axis->expandedExtent()}) {
        if (extent == nullptr) continue;
        if (extent->dtype() != DataType::I64)
          report(fmt::format("the extent of {} is no i64", describeAxis(*tensor, *axis)));
        if (extent->constantInt().value_or(0) < 0)
          report(fmt::format("the extent of {} is negative", describeAxis(*tensor, *axis)));
      }
      const bool expands = axis->expandedExtent() != nullptr;
      if (expands && !axis->isBroadcast())
        report(fmt::format("{} is expanded and no broadcast axis", describeAxis(*tensor, *axis)));
    });
  }
}

template <ShapeMatch match>
void checkTypeRules(const Fusion& fusion, const Report& report) {
  TypeRuleChecker checker(match);
  for (const Expr* expr : fusion.allExprs())
    if (const std::string problem = checker.problemOf(*expr); !problem.empty()) report(problem);
}

// --- domains ---

void checkAxesUnshared(const Fusion& fusion, const Report& report) {
  std::unordered_map<const IterDomain*, const TensorView*> owner;
  for (const TensorView* tensor : fusion.allTensors()) {
    forEachAxis(*tensor, [&](const IterDomain* axis) {
      const auto [place, is_first] = owner.emplace(axis, tensor);
      if (!is_first && place->second != tensor)
        report(fmt::format("{} is an axis of {} too", describeAxis(*tensor, *axis), nameOf(*place->second)));
    });
  }
}

void checkLoopIsLogical(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    if (tensor->loop() != tensor->logical())
      report(fmt::format("the loop domain of {} is not its logical domain", toString(*tensor)));
  }
}

void checkTransforms(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    const TensorDomain& domain = tensor->domain();
    const auto check = [&](const Axes& from, const Axes& to, std::string_view names) {
      const std::string problem = transformProblem(from, to);
      if (!problem.empty()) report(fmt::format("{} of {}: {}", names, toString(*tensor), problem));
    };
    if (!domain.root.empty()) check(domain.root, domain.logical, "logical domain from root domain");
    check(domain.logical, domain.loop, "loop domain from logical domain");
    if (domain.allocation.empty()) continue;
    Axes stored = withoutReductions(domain.logical);
    const bool has_reductions = std::ranges::any_of(domain.allocation, &IterDomain::isReduction);
    check(has_reductions ? domain.logical : stored, domain.allocation, "allocation domain from logical domain");
  }
}

void checkStepExtents(const Fusion& fusion, const Report& report) {
  Fusion scratch;
  Cloner cloner(scratch);
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const DomainExpr* step : transformSteps(tensor->domain())) {
      const std::string problem = stepProblem(*step, cloner);
      if (!problem.empty()) report(fmt::format("{} of {}", problem, toString(*tensor)));
    }
  }
}

void checkContiguity(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    const TensorDomain& domain = tensor->domain();
    const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
    if (domain.contiguity.size() != layout.size()) {
      report(fmt::format("{} has {} contiguity flags for {} axes in memory", toString(*tensor),
                         domain.contiguity.size(), layout.size()));
      continue;
    }
    for (size_t i = 0; i < layout.size(); ++i) {
      const bool is_stored = !layout[i]->isReduction() && !layout[i]->isBroadcast();
      if (domain.contiguity[i].has_value() != is_stored) {
        report(fmt::format("{} {} a contiguity flag", describeAxis(*tensor, *layout[i]),
                           is_stored ? "lacks" : "is not stored and has"));
      }
    }
  }
}

void checkStrideOrders(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const auto& order : {tensor->domain().stride_order, tensor->domain().stride_order_hint}) {
      if (!order) continue;
      std::vector<int64_t> sorted = *order;
      std::ranges::sort(sorted);
      bool is_permutation = sorted.size() == shapeOf(*tensor).size();
      for (size_t i = 0; i < sorted.size(); ++i)
        is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
      if (!is_permutation)
        report(fmt::format("the stride order [{}] of {} is no permutation of its axes", joined(*order),
                           toString(*tensor)));
    }
  }
}

bool isDeviceAxis(ParallelType type) { return type >= ParallelType::DIDx && type <= ParallelType::DIDz; }

void checkSerial(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const IterDomain* axis : tensor->loop()) {
      const bool may_be = axis->parallelType() == ParallelType::Serial || isDeviceAxis(axis->parallelType());
      if (!may_be) report(fmt::format("{} is marked before the fusion is scheduled", describeAxis(*tensor, *axis)));
    }
  }
}

void checkMeshes(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    const std::string problem = tensor->mesh().empty() ? "" : meshProblem(tensor->mesh());
    if (!problem.empty()) report(fmt::format("{}: {}", toString(*tensor), problem));
  }
}

void checkParallelTypesOnce(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    std::set<ParallelType> seen;
    for (const IterDomain* axis : tensor->loop()) {
      const ParallelType type = axis->parallelType();
      const bool is_hardware = type >= ParallelType::DIDx && type <= ParallelType::TIDz;
      if (is_hardware && !seen.insert(type).second)
        report(fmt::format("{} is the second one of its parallel type", describeAxis(*tensor, *axis)));
    }
  }
}

void checkVectorized(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const IterDomain* axis : tensor->loop()) {
      const bool is_vector = axis->parallelType() == ParallelType::Vectorize;
      if (is_vector && !axis->extent()->isConstant())
        report(fmt::format("{} is vectorized and has no constant extent", describeAxis(*tensor, *axis)));
      if (is_vector && axis != tensor->loop().back())
        report(fmt::format("{} is vectorized and not the innermost axis", describeAxis(*tensor, *axis)));
    }
  }
}

void checkInlinePositions(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors()) {
    const int64_t position = tensor->inlinePosition();
    const bool is_within = position >= 0 && position <= tensor->axisCount();
    if (!is_within || (position > 0 && (fusion.isInput(tensor) || tensor->uses().empty()))) {
      report(fmt::format("{} is inlined at {}: it has {} loop axes and {} uses", toString(*tensor), position,
                         tensor->axisCount(), tensor->uses().size()));
      continue;
    }
    for (int64_t i = 0; i < position; ++i) {
      const IterDomain* axis = tensor->axis(i);
      // Of a tensor without loops of its own each reader computes the elements, and reduces them.
      const bool is_shared_reduction = axis->isReduction() && position < tensor->axisCount();
      if (is_shared_reduction || axis->parallelType() == ParallelType::Vectorize)
        report(fmt::format("{} is shared with consumers, and is a reduction or vectorized axis",
                           describeAxis(*tensor, *axis)));
    }
  }
}

// --- partial tensors ---

void checkPartials(const Fusion& fusion, const Report& report) {
  for (const TensorView* tensor : fusion.allTensors())
    if (const std::string problem = partialProblem(*tensor); !problem.empty())
      report(fmt::format("{}: {}", toString(*tensor), problem));
}

void checkWholeInterface(const Fusion& fusion, const Report& report) {
  const auto check = [&](const TensorView& tensor, std::string_view role, std::string_view remedy) {
    if (!tensor.partials().empty())
      report(fmt::format("{} {} is {}; {}", role, toString(tensor), toString(tensor.partials()[0]), remedy));
  };
  for (const TensorView* input : tensorsOf(fusion.inputs()))
    check(*input, "input", "callers give whole tensors: leave partial out, and sum terms in the program");
  for (const TensorView* output : fusion.outputs())
    check(*output, "output", "callers get whole tensors: give a set of it, which is whole");
}

// --- names and aliases ---

void checkLabels(const Fusion& fusion, const Report& report) {
  std::set<int64_t> seen;
  for (const TensorView* tensor : fusion.allTensors()) {
    if (tensor->label() >= 0 && !seen.insert(tensor->label()).second)
      report(fmt::format("T{} is the name of two tensors", tensor->label()));
  }
}

void checkAliases(const Fusion& fusion, const Report& report) {
  std::unordered_set<const Val*> targets;
  for (const auto& [output, alias] : fusion.outputAliases()) {
    const TensorView* target = asTensor(alias.target);
    if (!fusion.isOutput(output)) report(fmt::format("{} is aliased and no output", toString(*output)));
    if (target == nullptr || !fusion.isInput(target)) {
      report(fmt::format("{} is an alias of something that is no input tensor", toString(*output)));
      continue;
    }
    const bool fits = target->dtype() == output->dtype() && shapeOf(*target).size() == shapeOf(*output).size();
    if (!fits)
      report(fmt::format("{} cannot be written into {}: type or rank differ", toString(*output), toString(*target)));
    if (!targets.insert(target).second) report(fmt::format("two outputs are written into {}", toString(*target)));
  }
}

enum class Stages : uint8_t { All, DefinitionOnly, Scheduled, Whole, SegmentOnly };

struct Row {
  std::string_view name;
  std::string_view sentence;
  Stages stages;
  ErrorCode code;
  Check check;
};

// The legality spec. A row relies on those above it.
constexpr Row kRows[] = {
    {"vals-owned", "Every value that an op, the inputs or the outputs name belongs to the fusion.", Stages::All,
     ErrorCode::Internal, checkValsOwned},
    {"axes-owned", "Every axis of a tensor, and its extents, belong to the fusion.", Stages::All, ErrorCode::Internal,
     checkAxesOwned},
    {"ops-are-math", "Every op is of the math list.", Stages::All, ErrorCode::Internal, checkOpsAreMath},
    {"one-definition", "No value is the result of two ops.", Stages::All, ErrorCode::Internal, checkOneDefinition},
    {"definition-links", "A value's definition is the op that gives it.", Stages::All, ErrorCode::Internal,
     checkDefinitionLinks},
    {"use-links", "A value's uses are the ops that read it, each once.", Stages::All, ErrorCode::Internal,
     checkUseLinks},
    {"inputs-undefined", "An input is given once and computed by nothing.", Stages::All, ErrorCode::Internal,
     checkInputsUndefined},
    {"operands-before", "An op's operands are computed by earlier ops; so there is no cycle.", Stages::All,
     ErrorCode::Internal, checkOperandsBefore},
    {"operands-given", "A tensor that an op reads is an input or computed.", Stages::All, ErrorCode::Definition,
     checkOperandsGiven},
    {"outputs-given", "An output is an input or computed.", Stages::All, ErrorCode::Definition, checkOutputsGiven},
    {"function-types", "The operands of an elementwise function have the type that its type rule computes in.",
     Stages::All, ErrorCode::Internal, checkFunctionTypes},
    {"extents", "An extent is an i64 and not a negative constant; only broadcast axes are expanded.", Stages::All,
     ErrorCode::Internal, checkExtents},
    {"type-rules", "Defining an op once more over its operands gives results of the same types and shapes.",
     Stages::Whole, ErrorCode::Internal, checkTypeRules<ShapeMatch::Equal>},
    {"type-rules-of-slices", "An op's results have the type, and as many axes and reductions, as its type rule gives.",
     Stages::SegmentOnly, ErrorCode::Internal, checkTypeRules<ShapeMatch::Ranks>},
    {"axes-unshared", "No two tensors share an axis.", Stages::All, ErrorCode::Internal, checkAxesUnshared},
    {"loop-is-logical", "A tensor's loop domain is its logical domain.", Stages::DefinitionOnly, ErrorCode::Internal,
     checkLoopIsLogical},
    {"transforms",
     "Each domain comes from the one before (root, logical, loop; logical, allocation) by steps that use every axis "
     "exactly once.",
     Stages::All, ErrorCode::Internal, checkTransforms},
    {"step-extents", "The axes that a split or merge makes have the extents that it says.", Stages::All,
     ErrorCode::Internal, checkStepExtents},
    {"contiguity", "There is one contiguity flag per axis in memory, empty for reduction and broadcast axes alone.",
     Stages::All, ErrorCode::Internal, checkContiguity},
    {"stride-orders", "A stride order, required or hinted, is a permutation of the axes without reductions.",
     Stages::All, ErrorCode::Definition, checkStrideOrders},
    {"serial", "Before scheduling only device axes are marked.", Stages::DefinitionOnly, ErrorCode::Internal,
     checkSerial},
    {"meshes", "A mesh has a rank in each place of its shape, and no rank in two.", Stages::All, ErrorCode::Schedule,
     checkMeshes},
    {"parallel-types-once", "A device, block or thread dimension is given to one loop axis of a tensor at most.",
     Stages::All, ErrorCode::Schedule, checkParallelTypesOnce},
    {"vectorized", "A vectorized axis is the innermost one and has a constant extent.", Stages::Scheduled,
     ErrorCode::Schedule, checkVectorized},
    {"inline-positions",
     "The loops that a tensor shares with its consumers are loops of its own without reduction and vectorized axes; "
     "inputs and "
     "tensors that nothing reads share none.",
     Stages::Scheduled, ErrorCode::Schedule, checkInlinePositions},
    {"partials",
     "A partial tensor has terms over dimensions of its mesh that have no parts of its axes, each once, all combined "
     "in one way.",
     Stages::All, ErrorCode::Schedule, checkPartials},
    {"whole-interface", "Inputs and outputs of a program are not partial.", Stages::Whole, ErrorCode::Definition,
     checkWholeInterface},
    {"labels", "No two tensors have the same name T<n>.", Stages::All, ErrorCode::Definition, checkLabels},
    {"aliases", "An aliased output is an output and is written alone into an input tensor of its type and rank.",
     Stages::All, ErrorCode::Definition, checkAliases},
};

bool isDemanded(const Row& row, Stage stage) {
  switch (row.stages) {
    case Stages::All: return true;
    case Stages::DefinitionOnly: return stage == Stage::Definition;
    case Stages::Scheduled: return stage != Stage::Definition;
    case Stages::Whole: return stage != Stage::Segment;
    case Stages::SegmentOnly: return stage == Stage::Segment;
  }
  return true;
}

}  // namespace

std::vector<Invariant> invariantsOf(Stage stage) {
  std::vector<Invariant> list;
  for (const Row& row : kRows) {
    if (isDemanded(row, stage)) list.push_back({row.name, row.sentence});
  }
  return list;
}

std::string legalitySpec(Stage stage) {
  std::string text;
  for (const Invariant& invariant : invariantsOf(stage))
    text += fmt::format("{}: {}\n", invariant.name, invariant.sentence);
  return text;
}

std::vector<Violation> violationsOf(const Fusion& fusion, Stage stage) {
  std::vector<Violation> violations;
  for (const Row& row : kRows) {
    if (!isDemanded(row, stage)) continue;
    row.check(fusion, [&](std::string message) { violations.push_back({row.name, row.code, std::move(message)}); });
    if (!violations.empty()) break;
  }
  return violations;
}

void verify(const Fusion& fusion, Stage stage) {
  const std::vector<Violation> violations = violationsOf(fusion, stage);
  if (violations.empty()) return;
  const Violation& first = violations.front();
  const std::string_view stage_name = stage == Stage::Definition  ? "definition"
                                      : stage == Stage::Scheduled ? "scheduled"
                                                                  : "segment";
  raise(TK_SITE, first.code, "fusion {} breaks {} ({} stage): {}", fusion.name(), first.invariant, stage_name,
        first.message);
}

}  // namespace tokamak
