#include "codegen/loop_vectoriser.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/substitute.h"
#include "base/require.h"
#include "base/text.h"
#include "compute/element.h"
#include "device_code/device_code.h"
#include "ir/expr_summary.h"
#include "kernel/one_plus.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

using kir::Value;
using kir::ValueKind;

namespace {

// Random words: 32 bits of an i64, and integers made of them on the way to an f32.
bool isWord(DataType dtype) { return dtype == DataType::I64 || dtype == DataType::I32; }

bool isRandom(const Value& value) { return value.kind == ValueKind::Apply && value.function == FunctionId::philox; }

bool isRightShift(const Value& value) {
  return value.kind == ValueKind::Apply &&
         (value.function == FunctionId::bitwise_right_shift || value.function == FunctionId::logical_right_shift);
}

// The approximate number of instructions of a value, without those of its variables.
int costOf(const Value& value) {
  constexpr int kRounding = 8;
  constexpr int kLongFunction = 20;
  if (isRandom(value)) return 1;  // a loop of its own makes it
  int cost = 0;
  kir::visitValues(value, [&](const Value& each) {
    if (each.kind == ValueKind::Load) cost += 1;
    if (each.kind == ValueKind::Cast) cost += isHalfType(each.dtype) ? kRounding : 1;
    if (each.kind != ValueKind::Apply) return;
    switch (each.function) {
      case FunctionId::bitwise_right_shift:
      case FunctionId::logical_right_shift: cost += 1; break;
      case FunctionId::truediv:
      case FunctionId::div:
      case FunctionId::reciprocal:
      case FunctionId::sqrt:
      case FunctionId::rsqrt:
      case FunctionId::maximum:
      case FunctionId::minimum:
      case FunctionId::fmax:
      case FunctionId::fmin:
      case FunctionId::relu:
      case FunctionId::where:
      case FunctionId::abs: cost += 3; break;
      default: {
        const LaneType type(each.operands.back()->dtype);
        if (!isFloatingType(type.type))
          cost += 1;
        else
          cost += functionHelpers(each.function, type).empty() ? 1 : kLongFunction;
      }
    }
  });
  return cost;
}

// Comparisons of indices, and the same with exchanged operands.
struct Relation {
  FunctionId id;
  std::string_view text;
  std::string_view mirrored;
};
constexpr Relation kRelations[] = {
    {FunctionId::eq, "==", "=="}, {FunctionId::ne, "!=", "!="}, {FunctionId::lt, "<", ">"},
    {FunctionId::le, "<=", ">="}, {FunctionId::gt, ">", "<"},   {FunctionId::ge, ">=", "<="},
};

const Relation* relationOf(const Value& value) {
  if (value.kind != ValueKind::Apply || value.operands.size() != 2 || value.operands[1]->dtype != DataType::I64)
    return nullptr;
  const auto* found = std::ranges::find(kRelations, value.function, &Relation::id);
  return found == std::end(kRelations) ? nullptr : found;
}

const Value& valueOf(const kir::Statement& statement) {
  if (const auto* store = std::get_if<kir::Store>(&statement.node)) return *store->value;
  return *std::get<kir::Let>(statement.node).value;
}

// The variable x of sigmoid(x) or silu(x).
const kir::Variable* logisticOperand(const kir::Statement& statement) {
  const auto* let = std::get_if<kir::Let>(&statement.node);
  if (let == nullptr || let->value->kind != ValueKind::Apply) return nullptr;
  if (let->value->function != FunctionId::sigmoid && let->value->function != FunctionId::silu) return nullptr;
  const Value& operand = *let->value->operands[0];
  return operand.kind == ValueKind::Variable ? operand.variable.get() : nullptr;
}

// Whether both statements compute the same logistic function; compilers share it if they are in one stage.
bool sharesLogistic(const kir::Statement& first, const kir::Statement& second) {
  const kir::Variable* operand = logisticOperand(first);
  return operand != nullptr && operand == logisticOperand(second);
}

bool hasRandomWords(const kir::Loop& loop) {
  return std::ranges::any_of(loop.body, [](const kir::StatementRef& each) {
    const auto* let = std::get_if<kir::Let>(&each->node);
    return let != nullptr && isRandom(*let->value);
  });
}

}  // namespace

LoopVectoriser::LoopVectoriser(const kir::Loop& loop, int lanes, int element_bytes, VectoriserContext context)
    : loop_(loop),
      lanes_(lanes),
      element_bytes_(element_bytes),
      context_(std::move(context)),
      has_words_(hasRandomWords(loop)) {
  is_possible_ = !loop.body.empty() && isOrdered() &&
                 std::ranges::all_of(loop.body, [&](const kir::StatementRef& each) { return acceptStatement(*each); });
  if (!is_possible_) return;
  for (const kir::Statement* each : varyingStatements()) {
    const int cost = costOf(valueOf(*each));
    cost_ += cost;
    has_long_values_ |= cost >= kLongCost;
  }
  if (has_words_) cost_ = std::max(cost_, kLongCost);
}

// Whether vectors can hold the type. In loops with random words, integers are 32-bit words.
bool LoopVectoriser::isVectorType(DataType dtype) const {
  if (dtype == DataType::Bool) return true;
  if (has_words_ && !isFloatingType(dtype)) return false;
  return element_bytes_ > 1 && sizeOf(dtype) <= element_bytes_;
}

std::string LoopVectoriser::typeName(DataType dtype) const {
  return has_words_ && dtype == DataType::I64 ? fmt::format("tk_u32x{}", lanes_) : deviceTypeName(laneType(dtype));
}

// "f32x16"; bools are named by their masks: "i32x16"
std::string LoopVectoriser::laneName(DataType dtype) const {
  return deviceTypeName(laneType(isHalfType(dtype) ? DataType::F32 : dtype)).substr(3);
}

bool LoopVectoriser::mentionsIndex(const Scalar& scalar) const { return mentions(scalar, *loop_.index); }

bool LoopVectoriser::varies(const Value& value) const {
  if (value.kind == ValueKind::Variable) return varying_.contains(value.variable.get());
  if (value.scalar != nullptr && mentionsIndex(*value.scalar)) return true;
  return std::ranges::any_of(value.operands, [&](const kir::ValueRef& operand) { return varies(*operand); });
}

bool LoopVectoriser::movesWithIndex(Scalar& index) {
  Substitution substitution(*context_.fusion);
  substitution.set(*loop_.index, context_.fusion->constant(0));
  Scalar* first = substitution(&index);
  Scalar* step = context_.fusion->sub(&index, context_.fusion->add(first, loop_.index));
  return step->isConstantInt(0) || simplifyRemainders(step, *context_.analysis)->isConstantInt(0);
}

// Whether there is no loop-carried dependence: a tensor that is written and read has one index.
bool LoopVectoriser::isOrdered() const {
  std::map<const TensorView*, const Scalar*> written;
  for (const kir::StatementRef& each : loop_.body) {
    const auto* store = std::get_if<kir::Store>(&each->node);
    if (store == nullptr) continue;
    const auto [found, is_first] = written.try_emplace(store->tensor, store->index);
    if (!is_first && found->second != store->index) return false;
  }
  bool is_ordered = true;
  const auto visit = [&](const Value& value) {
    if (value.kind != ValueKind::Load) return;
    const auto found = written.find(value.tensor);
    if (found != written.end() && found->second != value.scalar) is_ordered = false;
  };
  for (const kir::StatementRef& each : loop_.body) {
    if (const auto* store = std::get_if<kir::Store>(&each->node)) kir::visitValues(*store->value, visit);
    if (const auto* let = std::get_if<kir::Let>(&each->node)) kir::visitValues(*let->value, visit);
  }
  return is_ordered;
}

bool LoopVectoriser::acceptStatement(const kir::Statement& statement) {
  if (const auto* let = std::get_if<kir::Let>(&statement.node)) {
    if (!varies(*let->value)) {
      invariants_.push_back(let);
      return true;
    }
    varying_.insert(let->variable.get());
    if (isRandom(*let->value)) return let->index == nullptr && acceptWords(*let->value);
    return let->index == nullptr && accept(*let->value);
  }
  const auto* store = std::get_if<kir::Store>(&statement.node);
  if (store == nullptr || !isVectorType(store->tensor->dtype()) || !movesWithIndex(*store->index)) return false;
  kir::visitValues(*store->value, [&](const Value& value) {
    is_accumulating_ |= value.kind == ValueKind::Load && value.tensor == store->tensor;
  });
  return accept(*store->value);
}

// "philox(k + 4, number, seed, offset)"
bool LoopVectoriser::acceptWords(const Value& value) {
  const bool is_moving = value.operands[0]->kind == ValueKind::Number && movesWithIndex(*value.operands[0]->scalar);
  return is_moving && value.dtype == DataType::I64 &&
         std::none_of(value.operands.begin() + 1, value.operands.end(),
                      [&](const kir::ValueRef& operand) { return varies(*operand); });
}

// Words have 32 bits and are not negative. So are shifted words, and those below 2^31 are the same number as an i32.
bool LoopVectoriser::acceptWord(const Value& value) {
  if (value.kind == ValueKind::Variable) return varies(value);
  if (value.kind == ValueKind::Cast)
    return value.dtype == DataType::I32 && value.operands[0]->dtype == DataType::I64 && acceptWord(*value.operands[0]);
  if (!isRightShift(value) || value.dtype != DataType::I64) return false;
  const Value& distance = *value.operands[1];
  const bool is_constant = distance.kind == ValueKind::Number && distance.scalar->constantInt().value_or(0) >= 1 &&
                           *distance.scalar->constantInt() < 32;
  return is_constant && acceptWord(*value.operands[0]);
}

// "eq(k + 4, t)": an index compared with a uniform value.
bool LoopVectoriser::acceptRelation(const Value& value) {
  const bool is_second = varies(*value.operands[1]);
  const Value& index = *value.operands[is_second ? 1 : 0];
  return index.kind == ValueKind::Number && movesWithIndex(*index.scalar) &&
         !varies(*value.operands[is_second ? 0 : 1]);
}

std::string LoopVectoriser::relation(const Value& value) {
  const bool is_second = varies(*value.operands[1]);
  const Relation& relation = *relationOf(value);
  helpers_wanted_.insert(fmt::format("numbers_i32x{}", lanes_));
  const std::string mask = fmt::format("(tk_numbers_i32x{}() {} tk_distance_i32x{}({}, {}))", lanes_,
                                       is_second ? relation.mirrored : relation.text, lanes_,
                                       context_.uniform_value(*value.operands[is_second ? 0 : 1]),
                                       context_.scalars->write(*value.operands[is_second ? 1 : 0]->scalar));
  return maskCall(LaneType(DataType::Bool, lanes_, sizeof(int32_t)), element_bytes_, mask);
}

bool LoopVectoriser::accept(const Value& value) {
  if (varies(value) && relationOf(value) != nullptr && acceptRelation(value)) return true;
  if (has_words_ && isWord(value.dtype)) return acceptWord(value);
  if (!isVectorType(value.dtype)) return false;
  if (!varies(value)) return true;
  switch (value.kind) {
    case ValueKind::Load: return movesWithIndex(*value.scalar);
    case ValueKind::Variable: return true;
    case ValueKind::Number: return value.dtype == DataType::I64 && movesWithIndex(*value.scalar);
    case ValueKind::Apply:
      if (!isVectorType(computeType(value).type) || !hasFunction(value.function, computeType(value))) return false;
      break;
    case ValueKind::Cast:
      if (has_words_ && isWord(value.operands[0]->dtype))
        return value.dtype == DataType::F32 && value.operands[0]->dtype == DataType::I32 && accept(*value.operands[0]);
      break;
    case ValueKind::Choose:
      if (mentionsIndex(*value.scalar)) return false;
      break;
  }
  return std::ranges::all_of(value.operands, [&](const kir::ValueRef& operand) { return accept(*operand); });
}

// The type that a function computes in.
LaneType LoopVectoriser::computeType(const Value& value) const { return laneType(value.operands.back()->dtype); }

// "tk_load_f32x16", "tk_store_half_f32x16", "tk_load_bool_i32x16"
std::string LoopVectoriser::access(std::string_view verb, DataType dtype) {
  const std::string name = laneName(dtype);
  const bool is_bool = dtype == DataType::Bool;
  const std::string_view helper = is_bool ? "bools" : isHalfType(dtype) ? "halves" : "places";
  helpers_wanted_.insert(fmt::format("{}_{}", helper, name));
  return fmt::format("tk_{}_{}{}", verb, is_bool ? "bool_" : isHalfType(dtype) ? "half_" : "", name);
}

std::string LoopVectoriser::splat(const Value& value) {
  return fmt::format("{}({})", access("splat", value.dtype), context_.uniform_value(value));
}

std::string LoopVectoriser::applied(const Value& value) {
  if (std::optional<std::string> sum = sumWithOne(value)) return *std::move(sum);
  const LaneType type = computeType(value);
  const int mask_bytes = type.type == DataType::Bool ? element_bytes_ : maskBytes(type.type);
  std::vector<std::string> needed = functionHelpers(value.function, type);
  // C operators take a scalar and a vector.
  const bool is_operator = needed.empty() && isFloatingType(type.type);
  std::vector<std::string> operands;
  for (const kir::ValueRef& operand : value.operands) {
    const bool is_one = is_operator && !varies(*operand);
    const std::string text = is_one ? context_.uniform_value(*operand) : lanes(*operand);
    const bool is_mask = operand->dtype == DataType::Bool;
    operands.push_back(is_mask ? maskCall(laneType(DataType::Bool), mask_bytes, text) : text);
  }
  std::string text = functionCall(value.function, type, operands);
  need(std::move(needed));
  if (value.dtype != DataType::Bool) return text;
  return maskCall(LaneType(DataType::Bool, lanes_, mask_bytes), element_bytes_, text);
}

// f(x) + 1 as one call, where there is a function for it.
std::optional<std::string> LoopVectoriser::sumWithOne(const Value& value) {
  const Value* function = kir::addedToOne(value);
  if (function == nullptr || function->kind != ValueKind::Apply) return std::nullopt;
  std::optional<std::string> helper = onePlusHelper(Dialect::C, function->function, laneType(DataType::F32).lanes);
  if (!helper) return std::nullopt;
  std::string call = fmt::format("tk_{}({})", *helper, lanes(*function->operands[0]));
  need({*std::move(helper)});
  return call;
}

std::string LoopVectoriser::word(const Value& value) {
  if (value.kind == ValueKind::Variable) return value.variable->name;
  if (value.kind == ValueKind::Cast) return fmt::format("((tk_i32x{}){})", lanes_, word(*value.operands[0]));
  return fmt::format("({} >> {})", word(*value.operands[0]), *value.operands[1]->scalar->constantInt());
}

// The call that makes a strip of random words.
std::string LoopVectoriser::words(const Value& value, const std::string& room, std::string_view iterations) {
  helpers_wanted_.insert(fmt::format("philox_words_f32x{}", lanes_));
  std::vector<std::string> operands;
  for (size_t i = 1; i < value.operands.size(); ++i) operands.push_back(context_.uniform_value(*value.operands[i]));
  return fmt::format("tk_philox_words_f32x{}({}, {}, {} * {}, {})", lanes_, room,
                     context_.scalars->write(*value.operands[0]->scalar), iterations, lanes_, joined(operands));
}

std::string LoopVectoriser::lanes(const Value& value) {
  if (!varies(value)) return splat(value);
  if (has_words_ && isWord(value.dtype)) return word(value);
  if (relationOf(value) != nullptr && acceptRelation(value)) return relation(value);
  switch (value.kind) {
    case ValueKind::Load:
      return fmt::format("{}(&{})", access("load", value.dtype), context_.element(*value.tensor, *value.scalar));
    case ValueKind::Variable: return value.variable->name;
    case ValueKind::Apply: return applied(value);
    case ValueKind::Cast: {
      const LaneType from = laneType(value.operands[0]->dtype);
      if (has_words_ && from.type == DataType::I32) {
        helpers_wanted_.insert(fmt::format("basics_f32x{}", lanes_));
        return fmt::format("tk_convert_f32x{}({})", lanes_, word(*value.operands[0]));
      }
      need(castHelpers(value.dtype, from));
      return castCall(value.dtype, from, lanes(*value.operands[0]));
    }
    case ValueKind::Choose:
      return fmt::format("({} ? {} : {})", context_.scalars->write(*value.scalar), lanes(*value.operands[0]),
                         lanes(*value.operands[1]));
    case ValueKind::Number:
      helpers_wanted_.insert(fmt::format("numbers_i32x{}", lanes_));
      return fmt::format("tk_count_i32x{}({})", lanes_, context_.scalars->write(*value.scalar));
  }
  TK_CHECK(false, "lanes: a value that was not accepted");
}

std::string LoopVectoriser::line(const kir::Statement& statement) {
  if (const auto* store = std::get_if<kir::Store>(&statement.node)) {
    const std::string value = lanes(*store->value);
    if (context_.nontemporal_flag && kir::isGlobal(*store->tensor) && store->tensor->dtype() != DataType::Bool) {
      const bool is_half = isHalfType(store->tensor->dtype());
      helpers_wanted_.insert(
          fmt::format("{}_{}", is_half ? "stream_half" : "stream", laneName(store->tensor->dtype())));
      return fmt::format("{}(&{}, {}, {});", access("stream", store->tensor->dtype()),
                         context_.element(*store->tensor, *store->index), value,
                         context_.nontemporal_flag(*store->tensor));
    }
    return fmt::format("{}(&{}, {});", access("store", store->tensor->dtype()),
                       context_.element(*store->tensor, *store->index), value);
  }
  const auto& let = std::get<kir::Let>(statement.node);
  const kir::Variable& variable = *let.variable;
  std::string text = fmt::format("const {} {} = {};", typeName(variable.dtype), variable.name, lanes(*let.value));
  if (variable.tensor != nullptr && variable.tensor->definition() != nullptr)
    text += fmt::format("  // {}", summaryOf(*variable.tensor->definition()));
  return text;
}

std::vector<const kir::Statement*> LoopVectoriser::varyingStatements() const {
  std::vector<const kir::Statement*> varying;
  std::map<const kir::Variable*, std::vector<const kir::Statement*>> logistics;  // by their operand
  for (const kir::StatementRef& each : loop_.body) {
    const auto* let = std::get_if<kir::Let>(&each->node);
    if (let != nullptr && !varying_.contains(let->variable.get())) continue;
    varying.push_back(each.get());
    if (const kir::Variable* operand = logisticOperand(*each)) logistics[operand].push_back(each.get());
  }
  std::vector<const kir::Statement*> result;
  for (const kir::Statement* each : varying) {
    const kir::Variable* operand = logisticOperand(*each);
    if (operand == nullptr)
      result.push_back(each);
    else if (const auto& together = logistics.at(operand); each == together[0])
      result.insert(result.end(), together.begin(), together.end());
  }
  return result;
}

std::vector<std::string> LoopVectoriser::iterations() {
  std::vector<std::string> lines;
  for (const kir::Statement* each : varyingStatements()) lines.push_back(line(*each));
  helpers_wanted_.insert(fmt::format("vectors_x{}", lanes_));
  context_.helpers->insert(helpers_wanted_.begin(), helpers_wanted_.end());
  return lines;
}

std::vector<LoopVectoriser::Access> LoopVectoriser::streamedAccesses() const {
  std::vector<Access> accesses;
  for (const kir::Statement* each : varyingStatements()) {
    kir::visitValues(valueOf(*each), [&](const Value& value) {
      if (value.kind != ValueKind::Load || !kir::isGlobal(*value.tensor) || !varies(value)) return;
      const Access read(value.tensor, value.scalar);
      if (std::ranges::find(accesses, read) == accesses.end()) accesses.push_back(read);
    });
  }
  return accesses;
}

std::vector<const TensorView*> LoopVectoriser::streamed() const {
  std::vector<const TensorView*> tensors;
  for (const auto& [tensor, index] : streamedAccesses()) tensors.push_back(tensor);
  return tensors;
}

std::vector<std::string> LoopVectoriser::prefetches(Scalar& outer,
                                                    const std::function<int64_t(const TensorView&)>& iterations) {
  std::vector<std::string> lines;
  Fusion& fusion = *context_.fusion;
  const std::vector<Access> accesses = streamedAccesses();
  for (const auto& [tensor, index] : accesses) {
    // Several rows of one tensor are read at once anyway.
    const bool has_rows = std::ranges::count(accesses, tensor, &Access::first) > 1;
    const int64_t count = has_rows ? 0 : iterations(*tensor);
    if (count == 0 || !mentions(*index, outer)) continue;
    const auto step = difference(*index, outer, &outer, fusion.add(&outer, fusion.constant(count)));
    if (!step || *step == 0) continue;
    lines.push_back(fmt::format("__builtin_prefetch(&{} + {});", context_.element(*tensor, *index), *step));
  }
  return lines;
}

std::vector<std::string> LoopVectoriser::prefetchesOfRow(Scalar& row,
                                                         const std::function<bool(const TensorView&)>& isWanted) {
  std::vector<std::string> lines;
  Scalar* next = context_.fusion->add(&row, context_.fusion->constant(1));
  for (const auto& [tensor, index] : streamedAccesses()) {
    if (!isWanted(*tensor) || !mentions(*index, row)) continue;
    const auto step = difference(*index, row, &row, next);
    if (step && *step != 0)
      lines.push_back(fmt::format("__builtin_prefetch(&{} + {}, 0, 2);", context_.element(*tensor, *index), *step));
  }
  return lines;
}

std::optional<int64_t> LoopVectoriser::difference(Scalar& index, Scalar& symbol, Scalar* from, Scalar* to) {
  Substitution before(*context_.fusion);
  Substitution after(*context_.fusion);
  before.set(symbol, from);
  after.set(symbol, to);
  Scalar* step = context_.fusion->sub(after(&index), before(&index));
  return simplifyRemainders(step, *context_.analysis)->constantInt();
}

std::vector<std::string> LoopVectoriser::rowPrefetches(Scalar& block, Scalar& outer, int64_t length) {
  Fusion& fusion = *context_.fusion;
  std::vector<std::string> lines;
  for (const auto& [tensor, index] : streamedAccesses()) {
    if (!mentions(*index, block) || !mentions(*index, outer)) continue;
    const auto apart = difference(*index, outer, &outer, fusion.add(&outer, fusion.constant(1)));
    if (apart && *apart <= length) continue;
    // (A block's index is divided into coordinates, so the step may vary; nearly all are like the first.)
    const auto step = difference(*index, block, fusion.constant(0), fusion.constant(1));
    if (!step || *step <= 0) continue;
    lines.push_back(fmt::format("__builtin_prefetch(&{} + {});", context_.element(*tensor, *index), *step));
  }
  return lines;
}

std::vector<std::pair<const TensorView*, std::string>> LoopVectoriser::blockPrefetches(Scalar& block, int64_t ahead) {
  constexpr int64_t kPage = 4096;
  std::vector<std::pair<const TensorView*, std::string>> lines;
  for (const auto& [tensor, index] : streamedAccesses()) {
    if (!mentions(*index, block)) continue;
    const auto step = difference(*index, block, context_.fusion->constant(0), context_.fusion->constant(1));
    if (!step || *step * sizeOf(tensor->dtype()) < kPage) continue;
    lines.emplace_back(tensor,
                       fmt::format("__builtin_prefetch(&{} + {});", context_.element(*tensor, *index), *step * ahead));
  }
  return lines;
}

std::vector<std::vector<const kir::Statement*>> LoopVectoriser::splitIntoStages() const {
  std::vector<std::vector<const kir::Statement*>> stages(1);
  int cost = 0;
  for (const kir::Statement* each : varyingStatements()) {
    const bool is_shared = !stages.back().empty() && sharesLogistic(*stages.back().back(), *each);
    const int own = is_shared ? 0 : costOf(valueOf(*each));
    if (cost > 0 && !is_shared && cost + own > kStageCost) {
      stages.emplace_back();
      cost = 0;
    }
    stages.back().push_back(each);
    cost += own;
  }
  return stages;
}

LoopVectoriser::Stages LoopVectoriser::stagesOf(const StageText& text) {
  Stages result;
  const auto stages = splitIntoStages();
  std::map<const kir::Variable*, size_t> defined;  // variable -> stage
  std::vector<std::set<const kir::Variable*>> passed(stages.size());
  const auto arrayOf = [&](const kir::Variable& variable) { return fmt::format("{}_{}", text.prefix, variable.name); };
  for (size_t i = 0; i < stages.size(); ++i) {
    std::vector<std::string>& lines = result.lines.emplace_back();
    std::set<const kir::Variable*> taken;
    for (const kir::Statement* each : stages[i]) {
      kir::visitValues(valueOf(*each), [&](const Value& value) {
        if (value.kind != ValueKind::Variable || !varying_.contains(value.variable.get())) return;
        const kir::Variable& variable = *value.variable;
        const size_t from = defined.at(&variable);
        if (from == i || !taken.insert(&variable).second) return;
        const std::string type = text.type(variable);
        lines.push_back(fmt::format("const {} {} = {}[{}];", type, variable.name, arrayOf(variable), text.index));
        if (!passed[from].insert(&variable).second) return;
        result.arrays.push_back(fmt::format("{} {}", type, arrayOf(variable)));
        result.lines[from].push_back(fmt::format("{}[{}] = {};", arrayOf(variable), text.index, variable.name));
      });
      if (const auto* let = std::get_if<kir::Let>(&each->node)) defined[let->variable.get()] = i;
      lines.push_back(text.line(*each));
    }
  }
  return result;
}

LoopVectoriser::Stages LoopVectoriser::stages(std::string_view strip_index, std::string_view iterations) {
  std::vector<std::string> word_buffers;
  std::vector<std::string> before;
  Stages result = stagesOf({.prefix = "strip",
                            .index = strip_index,
                            .type = [&](const kir::Variable& variable) { return typeName(variable.dtype); },
                            .line =
                                [&](const kir::Statement& each) {
                                  const auto* let = std::get_if<kir::Let>(&each.node);
                                  if (let == nullptr || !isRandom(*let->value)) return line(each);
                                  const std::string& name = let->variable->name;
                                  word_buffers.push_back(fmt::format("tk_u32 room_{}[{}];", name, 24 * lanes_));
                                  before.push_back(fmt::format("const tk_u32* const words_{} = {};", name,
                                                               words(*let->value, "room_" + name, iterations)));
                                  return fmt::format("const tk_u32x{} {} = tk_load_words_f32x{}(&words_{}[{} * {}]);",
                                                     lanes_, name, lanes_, name, strip_index, lanes_);
                                }});
  result.word_buffers = std::move(word_buffers);
  result.before = std::move(before);
  helpers_wanted_.insert(fmt::format("vectors_x{}", lanes_));
  context_.helpers->insert(helpers_wanted_.begin(), helpers_wanted_.end());
  return result;
}

LoopVectoriser::Stages LoopVectoriser::stagesOfIterations(std::string_view iteration_index) {
  const auto typeOf = [](const kir::Variable& variable) {
    return deviceTypeName(LaneType(variable.dtype == DataType::Bool ? DataType::I32 : variable.dtype));
  };
  return stagesOf({.prefix = "rest", .index = iteration_index, .type = typeOf, .line = context_.one_iteration});
}

}  // namespace tokamak
