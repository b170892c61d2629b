#include "host/ir/verifier.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "host/ir/extent_demands.h"
#include "host/ir/value_flow.h"
#include "ir/all_ops.h"
#include "ir/type_rule.h"
#include "kernel/bind_kernel.h"
#include "kernel/verify_kernel.h"
#include "symbolic/sample_points.h"

namespace tokamak {

namespace {

using Report = std::function<void(std::string)>;
using Check = void (*)(const HostIrContainer& program, const Report& report);

// --- form ---

void checkStatementForms(const HostIrContainer& program, const Report& report) {
  std::unordered_set<const Expr*> seen;
  const std::function<void(const Block&)> check = [&](const Block& block) {
    for (const Expr* expr : block.exprs) {
      if (expr == nullptr) {
        report("a body has an empty statement");
        continue;
      }
      if (&expr->fusion() != &program) report(fmt::format("statement {} belongs to another program", expr->name()));
      if (expr->list() == OpList::Kernel) report(fmt::format("{} is an op of kernels, not a statement", expr->name()));
      if (!seen.insert(expr).second) {
        report(fmt::format("statement {} stands in two places", expr->name()));
        continue;
      }
      for (const Field& field : fieldsOf(*expr)) {
        if (const auto* body = std::get_if<Block>(&field.value)) check(*body);
      }
    }
  };
  check(program.topLevel());
}

void checkOwned(const HostIrContainer& program, const Report& report) {
  const auto check = [&](const Val* val, std::string_view where) {
    if (&val->fusion() != &program) report(fmt::format("{} names a value of another program", where));
  };
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    for (const Val* val : valsOf(expr)) check(val, expr.name());
  });
  for (const Val* input : program.inputs()) check(input, "the list of inputs");
  for (const Val* output : program.outputs()) check(output, "the list of outputs");
}

void checkFields(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    for (const Field& field : fieldsOf(expr)) {
      const bool may_be_absent =
          field.role == FieldRole::OptionalOperand || (expr.is<ForLoop>() && field.name == "axis") ||
          (expr.is<Communication>() && (field.name == "output" || field.name == "root")) || expr.list() == OpList::Math;
      const auto isNull = [](const auto& value) {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>)
          return value == nullptr;
        else if constexpr (requires { value.get(); })
          return value == nullptr;
        else
          return false;
      };
      if (!may_be_absent && std::visit(isNull, field.value))
        report(fmt::format("{} lacks its {}", expr.name(), field.name));
    }
    if (const auto* op = expr.as<Communication>(); op != nullptr && op->in == nullptr && op->out == nullptr)
      report(fmt::format("{} has neither input nor output", enumName(op->type)));
  });
}

void checkLoops(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* loop = expr.as<ForLoop>();
    if (loop == nullptr) return;
    if (!loop->index->isSymbol()) report(fmt::format("the index {} of FOR is no symbol", toString(*loop->index)));
    if (loop->step->constantInt().value_or(1) <= 0)
      report(fmt::format("FOR {} has the step {}; a step is positive", toString(*loop->index), toString(*loop->step)));
  });
}

// The symbols of a statement's own scalars, those of streams included.
void forEachSymbol(const Expr& expr, const std::function<void(const Scalar*)>& visit) {
  std::unordered_set<const Scalar*> seen;
  const std::function<void(const Scalar*)> walk = [&](const Scalar* scalar) {
    if (scalar == nullptr || !seen.insert(scalar).second) return;
    if (scalar->isSymbol()) visit(scalar);
    for (const Scalar* operand : scalar->operands()) walk(operand);
  };
  for (Val* val : valsOf(expr)) {
    walk(asScalar(val));
    if (val->kind() == ValKind::Stream) walk(static_cast<const StreamVal*>(val)->index());
  }
}

void checkIndexScopes(const HostIrContainer& program, const Report& report) {
  std::unordered_set<const Scalar*> indices, open;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* loop = expr.as<ForLoop>()) indices.insert(loop->index);
  });
  const std::function<void(const Block&)> check = [&](const Block& block) {
    for (const Expr* expr : block.exprs) {
      const auto* loop = expr->as<ForLoop>();
      forEachSymbol(*expr, [&](const Scalar* symbol) {
        const bool is_own = loop != nullptr && symbol == loop->index;
        if (!is_own && indices.contains(symbol) && !open.contains(symbol)) {
          report(fmt::format("{} uses the loop index {} outside its loop", expr->name(), toString(*symbol)));
        }
      });
      if (loop != nullptr && !open.insert(loop->index).second)
        report(fmt::format("a loop over {} stands in a loop over it", toString(*loop->index)));
      for (const Field& field : fieldsOf(*expr)) {
        if (const auto* body = std::get_if<Block>(&field.value)) check(*body);
      }
      if (loop != nullptr) open.erase(loop->index);
    }
  };
  check(program.topLevel());
}

// --- aliases and views ---

void checkInputsNotAliased(const HostIrContainer& program, const Report& report) {
  for (const Val* input : program.inputs()) {
    TensorView* tensor = asTensor(const_cast<Val*>(input));
    if (tensor != nullptr && program.aliases().contains(tensor))
      report(fmt::format("Inputs cannot be aliased: {} is", toString(*tensor)));
  }
}

void checkAliasesEnd(const HostIrContainer& program, const Report& report) {
  for (const auto& [alias, original] : program.aliases()) {
    size_t steps = 0;
    for (auto next = program.aliases().find(original);
         next != program.aliases().end() && steps <= program.aliases().size(); ++steps) {
      next = program.aliases().find(next->second);
    }
    if (steps > program.aliases().size())
      report(fmt::format("the aliases of {} go round in a circle", toString(*alias)));
    else if (alias->dtype() != original->dtype())
      report(fmt::format("{} is an alias of {}, which has another type", toString(*alias), toString(*original)));
  }
}

// Kernels know the memory of such an output and of the input by one name.
void checkSegmentUpdates(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* post = expr.as<PostOnStream>();
    if (post == nullptr || post->segment == nullptr) return;
    const Fusion& segment = *post->segment->fusion;
    const size_t outputs = std::min(segment.outputs().size(), post->outs.size());
    const size_t inputs = std::min(segment.inputs().size(), post->ins.size());
    for (size_t i = 0; i < outputs; ++i) {
      const auto alias = segment.outputAliases().find(segment.outputs()[i]);
      if (alias == segment.outputAliases().end()) continue;
      const auto number =
          static_cast<size_t>(std::ranges::find(segment.inputs(), alias->second.target) - segment.inputs().begin());
      TensorView* input = number < inputs ? asTensor(post->ins[number]) : nullptr;
      if (input != nullptr && program.resolveAlias(post->outs[i]) == program.resolveAlias(input)) continue;
      report(fmt::format("HostUnit{} writes {} into its input {}, but {} is no alias of what is given for that",
                         post->segment->number, nameOf(*alias->first), nameOf(*asTensor(alias->second.target)),
                         toString(*post->outs[i])));
    }
  });
}

void checkViews(const HostIrContainer& program, const Report& report) {
  const auto check = [&](const Expr& expr, const TensorView& out, const TensorView& in, int64_t axis, size_t lost) {
    const size_t rank = in.logical().size();
    const bool is_in_range = axis >= 0 && axis < static_cast<int64_t>(rank);
    if (!is_in_range)
      report(fmt::format("{} axis {} is out of bounds for tensor {} with {} dimensions", expr.name(), axis,
                         toString(in), rank));
    else if (out.logical().size() + lost != rank)
      report(fmt::format("{} of {} gives {} of another rank", expr.name(), toString(in), toString(out)));
    else if (out.dtype() != in.dtype())
      report(fmt::format("{} of {} gives {} of another type", expr.name(), toString(in), toString(out)));
  };
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* op = expr.as<HirAliasSelect>()) check(expr, *op->out, *op->in, op->axis, 1);
    if (const auto* op = expr.as<HirAliasSlice>()) check(expr, *op->out, *op->in, op->axis, 0);
  });
}

void checkDemands(const HostIrContainer& program, const Report& report) {
  std::unordered_set<const Scalar*> indices;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* loop = expr.as<ForLoop>()) indices.insert(loop->index);
  });
  std::unordered_set<const Scalar*> seen;
  const std::function<void(const ExtentDemand&, const Scalar&)> check = [&](const ExtentDemand& demand,
                                                                            const Scalar& scalar) {
    if (!seen.insert(&scalar).second) return;
    if (&scalar.fusion() != &program) report(fmt::format("a demand of {} names a value of another program", demand.op));
    if (indices.contains(&scalar))
      report(fmt::format("a demand of {} names the loop index {}", demand.op, toString(scalar)));
    for (const Scalar* operand : scalar.operands()) check(demand, *operand);
  };
  for (const ExtentDemand& demand : program.demands()) {
    for (const Scalar* scalar : {demand.first, demand.second, demand.unless_zero}) {
      if (scalar == nullptr) continue;
      if (!isIntegerType(scalar->dtype()))
        report(fmt::format("a demand of {} names {}, which is no integer", demand.op, toString(*scalar)));
      check(demand, *scalar);
    }
  }
}

void checkMarkedViews(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    for (TensorView* out : tensorsOf(expr.outputs())) {
      const auto found = program.views().find(out);
      if (found == program.views().end()) continue;
      if (expr.is<Allocate>()) {
        report(fmt::format("{} is marked as a view of {}, but allocated", toString(*out), nameOf(*found->second)));
      } else if (expr.list() != OpList::Math || !expr.info().may_be_view || expr.is<LoadStoreOp>() ||
                 expr.inputs().empty() || expr.inputs()[0] != found->second) {
        report(fmt::format("{} is marked as a view of {}, but given by {}, which gives no view of that", toString(*out),
                           nameOf(*found->second), expr.name()));
      }
    }
  });
}

void checkShapes(const HostIrContainer& program, const Report& report) {
  TypeRuleChecker checker(ShapeMatch::Ranks);
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (expr.list() != OpList::Math) return;
    const auto* op = expr.as<PointwiseOp>();
    std::string problem = op == nullptr ? std::string() : operandTypeProblem(*op);
    if (problem.empty()) problem = checker.problemOf(expr);
    if (!problem.empty()) report(std::move(problem));
  });
}

void checkPartials(const HostIrContainer& program, const Report& report) {
  for (const TensorView* tensor : program.allTensors())
    if (const std::string problem = partialProblem(*tensor); !problem.empty())
      report(fmt::format("{}: {}", toString(*tensor), problem));
  const auto check = [&](const TensorView& tensor, std::string_view role, std::string_view remedy) {
    if (!tensor.partials().empty())
      report(fmt::format("{} {} is {}; {}", role, toString(tensor), toString(tensor.partials()[0]), remedy));
  };
  for (const TensorView* input : tensorsOf(program.inputs()))
    check(*input, "input", "callers give whole tensors: leave Partial out");
  for (const TensorView* output : program.outputs())
    check(*output, "output", "callers get whole tensors: give what a Communication makes of its terms");
}

// Whether what is given may stand for what is expected.
bool isLike(Val* a, Val* b) {
  return a->kind() == b->kind() && a->dtype() == b->dtype() &&
         (asTensor(a) == nullptr || shapeOf(*asTensor(a)).size() == shapeOf(*asTensor(b)).size());
}

void checkSegments(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* post = expr.as<PostOnStream>();
    if (post == nullptr) return;
    const Fusion& segment = *post->segment->fusion;
    if (const auto violations = violationsOf(segment, Stage::Segment); !violations.empty())
      return report(fmt::format("HostUnit{}: {}", post->segment->number, violations[0].message));
    const bool fits = std::ranges::equal(post->ins, segment.inputs(), isLike) &&
                      std::ranges::equal(post->outs, segment.outputs(), isLike);
    if (!fits)
      report(fmt::format("the operands of {} are not those of HostUnit{}", expr.name(), post->segment->number));
  });
}

void checkLaunch(const HostIrContainer& program, const LaunchKernel& launch, const Report& report) {
  const auto found = program.kernels().find(launch.kernel);
  if (found == program.kernels().end())
    return report(fmt::format("LaunchKernel names Kernel{}, which the program does not have", launch.kernel));
  const kir::Kernel& kernel = *found->second;
  if (const auto violations = kir::violationsOf(kernel); !violations.empty())
    return report(fmt::format("Kernel{}: {}", launch.kernel, violations[0].message));
  if (launch.grid.size() != 3 || launch.block.size() != 3)
    return report(fmt::format("the grid and the block of Kernel{} have three extents each", launch.kernel));
  std::vector<Val*> expected;
  for (const TensorView* tensor : kernel.tensors) expected.push_back(const_cast<TensorView*>(tensor));
  const auto outputs = static_cast<std::ptrdiff_t>(kernel.fusion->outputs().size());
  const std::vector<Scalar*> scalars = kir::givenSymbols(kernel);
  expected.insert(expected.end() - outputs, scalars.begin(), scalars.end());
  std::vector<Val*> given = launch.ins;
  given.insert(given.end(), launch.outs.begin(), launch.outs.end());
  if (std::ssize(launch.outs) == outputs && std::ranges::equal(given, expected, isLike)) return;
  const auto text = [](Val* val) {
    if (const TensorView* tensor = asTensor(val)) return toString(*tensor);
    return val->kind() == ValKind::Stream ? "a stream"
                                          : fmt::format("{}: {}", toString(*asScalar(val)), dataTypeName(val->dtype()));
  };
  report(fmt::format("Kernel{} takes and gives {}, but is launched with {}", launch.kernel,
                     joined(expected | std::views::transform(text)), joined(given | std::views::transform(text))));
}

void checkLaunches(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* launch = expr.as<LaunchKernel>()) checkLaunch(program, *launch, report);
  });
}

void checkLaunchUpdates(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* launch = expr.as<LaunchKernel>();
    if (launch == nullptr) return;
    const kir::Kernel& kernel = *program.kernels().at(launch->kernel);
    const auto numberOf = [&](const TensorView* tensor) {
      return std::ranges::find(kernel.tensors, tensor) - kernel.tensors.begin();
    };
    const auto inputs = std::ssize(kernel.tensors) - std::ssize(launch->outs);
    for (const auto& [output, input] : kernel.updates) {
      TensorView* out = launch->outs[static_cast<size_t>(numberOf(output) - inputs)];
      TensorView* in = asTensor(launch->ins[static_cast<size_t>(numberOf(input))]);
      if (program.resolveAlias(out) == program.resolveAlias(in)) continue;
      report(fmt::format("Kernel{} writes {} into its input {}, but {} is no alias of what is given for that",
                         launch->kernel, nameOf(*output), nameOf(*input), toString(*out)));
    }
  });
}

// --- streams and communications ---

void checkStreamsKnown(const HostIrContainer& program, const Report& report) {
  std::unordered_set<const Val*> caught = {program.defaultStream()};
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    for (const Val* input : expr.inputs()) {
      if (input->kind() != ValKind::Stream) continue;
      const bool is_indexed = static_cast<const StreamVal*>(input)->index() != nullptr;
      if (!is_indexed && !caught.contains(input))
        report(fmt::format("{} names a stream that no GetCurrentStream caught before", expr.name()));
    }
    if (const auto* get = expr.as<GetCurrentStream>()) caught.insert(get->stream);
  });
}

void checkStreamsCaught(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* get = expr.as<GetCurrentStream>();
    if (get == nullptr) return;
    if (get->stream->index() != nullptr || get->stream == program.defaultStream())
      report("GetCurrentStream gives a stream that has a name already");
  });
}

void checkWaits(const HostIrContainer& program, const Report& report) {
  std::set<int64_t> posted;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* op = expr.as<Communication>()) posted.insert(op->number);
    if (const auto* op = expr.as<P2pCommunication>()) posted.insert(op->number);
    if (const auto* op = expr.as<CollectivePermute>()) posted.insert(op->number);
    if (const auto* op = expr.as<EndCoalescing>()) posted.insert(op->number);
    const auto* wait = expr.as<Wait>();
    if (wait != nullptr && !posted.contains(wait->communication))
      report(fmt::format("Wait names communication {}, which nothing posted before", wait->communication));
  });
}

void checkCoalescing(const HostIrContainer& program, const Report& report) {
  const std::function<void(const Block&)> check = [&](const Block& block) {
    bool is_open = false;
    for (const Expr* expr : block.exprs) {
      if (expr->is<StartCoalescing>()) {
        if (is_open) report("StartCoalescing follows StartCoalescing");
        is_open = true;
      } else if (expr->is<EndCoalescing>()) {
        if (!is_open) report("EndCoalescing without StartCoalescing in the same body");
        is_open = false;
      }
      for (const Field& field : fieldsOf(*expr)) {
        if (const auto* body = std::get_if<Block>(&field.value)) check(*body);
      }
    }
    if (is_open) report("StartCoalescing without EndCoalescing in the same body");
  };
  check(program.topLevel());
}

void checkRoot(const Communication& op, const Report& report) {
  const std::optional<int64_t> root = op.root->constantInt();
  const bool is_member = !root || std::ranges::find(op.team, *root) != op.team.end();
  if (!is_member) report(fmt::format("the root {} of {} is not in its team", toString(*op.root), enumName(op.type)));
  if (op.root->dtype() != DataType::I64)
    report(fmt::format("the root {} of {} is no integer", toString(*op.root), enumName(op.type)));
  if (!root && op.type == CommunicationType::SendRecv)
    report(fmt::format("the root {} of SendRecv is computed, and who sends has to be known", toString(*op.root)));
}

void checkTeams(const HostIrContainer& program, const Report& report) {
  const auto isDistinct = [](const std::vector<int64_t>& team) {
    return std::set<int64_t>(team.begin(), team.end()).size() == team.size();
  };
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* op = expr.as<CollectivePermute>(); op != nullptr && !isDistinct(op->team))
      report("CollectivePermute names a device twice in its team");
    const auto* op = expr.as<Communication>();
    if (op == nullptr) return;
    if (!isDistinct(op->team)) report(fmt::format("{} names a device twice in its team", enumName(op->type)));
    const bool has_root = op->type == CommunicationType::Gather || op->type == CommunicationType::Scatter ||
                          op->type == CommunicationType::Reduce || op->type == CommunicationType::Broadcast ||
                          op->type == CommunicationType::SendRecv;
    if (has_root != (op->root != nullptr))
      report(op->root == nullptr
                 ? fmt::format("{} has no root", enumName(op->type))
                 : fmt::format("the root {} of {} is not asked for", toString(*op->root), enumName(op->type)));
    else if (has_root)
      checkRoot(*op, report);
    const bool reduces = op->type == CommunicationType::Reduce || op->type == CommunicationType::Allreduce ||
                         op->type == CommunicationType::ReduceScatter;
    if (!reduces && op->reduction != ReductionKind::Sum)
      report(fmt::format("{} has a reduction, and reduces nothing", enumName(op->type)));
  });
}

// Why a communication cannot have its axis and parts; empty where it can, or has none.
std::string partsProblem(const Communication& op) {
  if (op.parts.empty()) return "";
  const std::string_view type = enumName(op.type);
  const bool deals = op.type == CommunicationType::Gather || op.type == CommunicationType::Allgather ||
                     op.type == CommunicationType::Scatter || op.type == CommunicationType::ReduceScatter ||
                     op.type == CommunicationType::AllToAll;
  if (!deals) return fmt::format("{} deals nothing out, and has no parts of an axis; leave axis and parts out", type);
  if (op.parts.size() != op.team.size())
    return fmt::format("{} names {} parts for a team of {}", type, op.parts.size(), op.team.size());
  const auto isSize = [](const Scalar* part) {
    return part != nullptr && isIntegerType(part->dtype()) && part->constantInt().value_or(0) >= 0;
  };
  if (const auto part = std::ranges::find_if_not(op.parts, isSize); part != op.parts.end())
    return fmt::format("{} names the part {}; a part is how many indices a member has: an integer, at least 0", type,
                       *part == nullptr ? "none" : toString(**part));
  for (const TensorView* tensor : {op.in, op.out}) {
    if (tensor == nullptr) continue;
    if (!tensor->mesh().empty())
      return fmt::format(
          "{}: {} is on a mesh, which says what parts there are; axis and parts stand in programs of one "
          "rank alone: leave them out",
          type, nameOf(*tensor));
    const size_t axes = shapeOf(*tensor).size();
    if (op.axis < 0 || static_cast<size_t>(op.axis) >= axes)
      return fmt::format("{}: {} has {} axes, and axis {} is dealt out", type, nameOf(*tensor), axes, op.axis);
  }
  return "";
}

void checkParts(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* op = expr.as<Communication>();
    if (op == nullptr) return;
    if (std::string problem = partsProblem(*op); !problem.empty()) report(std::move(problem));
  });
}

// Whether the tensor has another number of elements than `size`, at all points where both are known.
bool hasAnotherSize(const TensorView& buffer, const Scalar& size) {
  SamplePoints points;
  const SamplePoints::Values said = points.of(size);
  bool is_compared = false;
  for (size_t point = 0; point < SamplePoints::kPoints; ++point) {
    int64_t elements = 1;
    bool is_known = said.has(point);
    for (const IterDomain* axis : shapeOf(buffer)) {
      if (axis->isBroadcast()) continue;
      const SamplePoints::Values extent = points.of(*axis->extent());
      is_known = is_known && extent.has(point) && !__builtin_mul_overflow(elements, extent.at[point], &elements);
    }
    if (!is_known) continue;
    if (elements == said.at[point]) return false;
    is_compared = true;
  }
  return is_compared;
}

void checkAllocations(const HostIrContainer& program, const Report& report) {
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* op = expr.as<Allocate>();
    if (op == nullptr || op->size == nullptr || !hasAnotherSize(*op->buffer, *op->size)) return;
    report(
        fmt::format("ALLOCATE of {} has the size {}; the size is the product of the extents of the tensor, without "
                    "reduction and broadcast axes",
                    nameOf(*op->buffer), toString(*op->size)));
  });
}

// --- values ---

template <FlowFault wanted>
void checkFlow(const HostIrContainer& program, const Report& report) {
  std::set<std::string> told;  // a loop's body is walked twice
  ValueFlow(program, [&](FlowFault fault, std::string message) {
    if (fault == wanted && told.insert(message).second) report(std::move(message));
  }).run();
}

struct LegalityRow {
  std::string_view name;
  std::string_view sentence;
  Check check;
  HostStage from = HostStage::Written;
};

// The legality spec. A row relies on those above it.
constexpr LegalityRow kLegalityRows[] = {
    {"statement-forms", "A statement is a math or host op of this program and stands in one place.",
     checkStatementForms},
    {"fields",
     "A host statement has all its fields; only a loop's axis, and the input or the output of a Communication, may be "
     "missing.",
     checkFields},
    {"vals-owned", "Every value that a statement, the inputs or the outputs name belongs to the program.", checkOwned},
    {"loops", "A loop counts a symbol upwards.", checkLoops},
    {"index-scopes", "A loop's index is used in its body alone, and not counted by a loop in it.", checkIndexScopes},
    {"inputs-not-aliased", "An input is not an alias.", checkInputsNotAliased},
    {"aliases-end", "Aliases lead to a tensor of the same type that is no alias.", checkAliasesEnd},
    {"views", "A view is along an axis of its tensor and has its type and rank, less one for a select.", checkViews},
    {"marked-views",
     "A tensor that is marked as a view is given by an op of its source whose result may be a view, and allocated by "
     "nothing.",
     checkMarkedViews},
    {"demands", "Extents that must be equal are integers of the program, and no loop's index tells them.",
     checkDemands},
    {"shapes", "A result of an op has the type, and as many axes and reductions, as the op's type rule gives.",
     checkShapes},
    {"partials",
     "Terms of a partial tensor are over dimensions of its mesh that have no parts of its axes; inputs and outputs are "
     "not partial.",
     checkPartials},
    {"segments",
     "A PostOnStream has a legal sub-fusion, and operands and results as its sub-fusion has inputs and outputs.",
     checkSegments},
    {"launches",
     "A LaunchKernel names a legal kernel of the program; it has the kernel's tensors, then its scalars that no extent "
     "or "
     "stride of these tells, and three extents of grid and block.",
     checkLaunches},
    {"launch-updates", "What a kernel writes into its input is an alias of the operand.", checkLaunchUpdates},
    {"segment-updates", "What a sub-fusion writes into its input is an alias of the operand.", checkSegmentUpdates},
    {"streams-caught", "GetCurrentStream names a stream that is neither indexed nor the default.", checkStreamsCaught},
    {"streams-known", "A stream is indexed, the default one, or caught by an earlier GetCurrentStream.",
     checkStreamsKnown},
    {"waits", "A Wait names a communication that an earlier statement posts.", checkWaits},
    {"coalescing", "StartCoalescing and EndCoalescing come in pairs, in one body, not nested.", checkCoalescing},
    {"teams",
     "A team names a device once; its root is an integer, in it if that is known, of the collectives that have one.",
     checkTeams},
    {"parts",
     "Parts are of an axis of tensors without meshes, one for each member, in communications that deal an axis out.",
     checkParts},
    {"allocations", "The size of an Allocate is the number of elements of its buffer.", checkAllocations},
    {"given-before-read",
     "A value that is read is an input or given and written by an earlier statement; a view needs only the buffer.",
     checkFlow<FlowFault::ReadBeforeGiven>},
    {"not-used-after-free",
     "Nothing reads or writes a buffer after its Deallocate, under whatever name; outputs are not freed.",
     checkFlow<FlowFault::UsedAfterFree>},
    {"frees", "Deallocate gives back a buffer that the program has, once, and no input.",
     checkFlow<FlowFault::BadFree>},
    {"all-or-none-preallocated", "The results of a PostOnStream all have a buffer before it, or none has.",
     checkFlow<FlowFault::PartlyPreallocated>, HostStage::Finished},
    {"outputs-given", "Every output is an input or given by a statement.", checkFlow<FlowFault::OutputMissing>},
};

}  // namespace

std::vector<Invariant> hostInvariants() {
  std::vector<Invariant> list;
  for (const LegalityRow& row : kLegalityRows) list.push_back({row.name, row.sentence});
  return list;
}

std::string hostLegalitySpec() {
  std::string text;
  for (const LegalityRow& row : kLegalityRows) text += fmt::format("{}: {}\n", row.name, row.sentence);
  return text;
}

std::vector<Violation> violationsOf(const HostIrContainer& program, HostStage stage) {
  std::vector<Violation> violations;
  for (const LegalityRow& row : kLegalityRows) {
    if (row.from > stage) continue;
    row.check(program, [&](std::string message) {
      violations.push_back({row.name, ErrorCode::HostProgram, std::move(message)});
    });
    if (!violations.empty()) break;
  }
  return violations;
}

void verifyHostProgram(const HostIrContainer& program, HostStage stage) {
  const std::vector<Violation> violations = violationsOf(program, stage);
  TK_REQUIRE(violations.empty(), HostProgram, "host program {}: {} ({})", program.name(), violations.front().message,
             violations.front().invariant);
}

}  // namespace tokamak
