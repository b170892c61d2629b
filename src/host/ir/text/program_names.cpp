#include "host/ir/text/program_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "host/ir/host_ir_container.h"
#include "ir/ops/host/collective_permute.h"
#include "ir/ops/host/communication.h"
#include "ir/ops/host/end_coalescing.h"
#include "ir/ops/host/p2p_communication.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/host/wait.h"

namespace tokamak {

namespace {

// Control characters, which no name and no quoted string contains.
constexpr char kSymbolMark = '\1';
constexpr char kBeginMark = '\2';
constexpr char kEndMark = '\3';
constexpr std::string_view kMarks = "\1\2\3";

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void addSteps(const IterDomain* axis, std::set<const DomainExpr*>& seen, std::vector<const DomainExpr*>& steps) {
  const DomainExpr* step = axis->definition();
  if (step == nullptr || !seen.insert(step).second) return;
  for (const IterDomain* in : step->in) {
    if (in != nullptr) addSteps(in, seen, steps);
  }
  steps.push_back(step);
}

std::optional<int64_t> postedNumber(const Expr& expr) {
  if (const auto* op = expr.as<Communication>()) return op->number;
  if (const auto* op = expr.as<P2pCommunication>()) return op->number;
  if (const auto* op = expr.as<CollectivePermute>()) return op->number;
  return std::nullopt;
}

}  // namespace

std::vector<const DomainExpr*> domainSteps(const TensorDomain& domain) {
  std::set<const DomainExpr*> seen;
  std::vector<const DomainExpr*> steps;
  const Axes& start = domain.root.empty() ? domain.logical : domain.root;
  // What the axes of the start come from belongs to another tensor.
  for (const IterDomain* axis : start) seen.insert(axis->definition());
  for (const Axes* axes : {&domain.logical, &domain.loop, &domain.allocation}) {
    for (const IterDomain* axis : *axes) addSteps(axis, seen, steps);
  }
  return steps;
}

Block statementsOf(const Fusion& program) {
  if (program.isHostProgram()) return static_cast<const HostIrContainer&>(program).topLevel();
  return {program.allExprs()};
}

ProgramNames::ProgramNames(const Fusion& program, const Block& statements) {
  const auto* host = program.isHostProgram() ? static_cast<const HostIrContainer*>(&program) : nullptr;
  if (host != nullptr) stream_numbers_[host->defaultStream()] = -1;
  if (host != nullptr) {
    symbol_names_[host->numberOfStreams()] = host->numberOfStreams()->name();
    names_in_use_.insert(host->numberOfStreams()->name());
  }
  std::map<TensorView*, bool, ById> mentioned;
  const auto mention = [&](Val* val) {
    if (TensorView* tensor = asTensor(val)) mentioned[tensor] = true;
  };
  std::ranges::for_each(program.inputs(), mention);
  std::ranges::for_each(program.outputs(), mention);
  for (const auto& [output, alias] : program.outputAliases()) mention(output), mention(alias.target);
  if (host != nullptr) {
    for (const auto& [alias, original] : host->aliases()) mention(alias), mention(original);
  }
  forEachStatement(statements, [&](const Expr& expr) {
    std::ranges::for_each(valsOf(expr), mention);
    if (const auto* wait = expr.as<Wait>()) awaited_[wait->communication] = true;
  });
  numberTensors(mentioned);
  for (const TensorView* tensor : tensors_) {
    const TensorDomain& domain = tensor->domain();
    numberAxes(domain.logical);
    numberAxes(domain.root);
    for (const DomainExpr* step : domainSteps(domain)) {
      numberAxes({step->in[0], step->in[1], step->out[0], step->out[1]});
    }
    numberAxes(domain.loop);
    numberAxes(domain.allocation);
  }
  for (const Val* input : program.inputs()) numberStream(input);
  forEachStatement(statements, [&](const Expr& expr) { numberStatement(expr); });
}

void ProgramNames::numberTensors(const std::map<TensorView*, bool, ById>& mentioned) {
  std::map<int64_t, TensorView*> numbered;
  std::vector<TensorView*> unnamed;
  for (const auto& [tensor, unused] : mentioned) {
    const int64_t label = tensor->label();
    const bool is_named = label >= 0 && label <= kLargestNumber && numbered.try_emplace(label, tensor).second;
    if (!is_named) unnamed.push_back(tensor);
  }
  int64_t next = numbered.empty() ? 0 : numbered.rbegin()->first + 1;
  for (TensorView* tensor : unnamed) numbered[next++] = tensor;
  for (const auto& [number, tensor] : numbered) {
    tensors_.push_back(tensor);
    tensor_numbers_[tensor] = number;
  }
}

void ProgramNames::numberAxes(const Axes& axes) {
  for (const IterDomain* axis : axes) {
    if (axis != nullptr) axis_numbers_.try_emplace(axis, static_cast<int64_t>(axis_numbers_.size()));
  }
}

void ProgramNames::numberStream(const Val* val) {
  if (val->kind() != ValKind::Stream) return;
  const auto* stream = static_cast<const StreamVal*>(val);
  if (stream->index() == nullptr && stream_numbers_.try_emplace(stream, next_stream_).second) next_stream_ += 2;
}

void ProgramNames::numberStatement(const Expr& expr) {
  for (const Val* val : valsOf(expr)) numberStream(val);
  for (const Field& field : fieldsOf(expr)) {
    if (const auto* axis = std::get_if<IterDomain*>(&field.value)) numberAxes({*axis});
    const auto* segment = std::get_if<std::shared_ptr<const HostSegment>>(&field.value);
    if (segment != nullptr && *segment != nullptr && std::ranges::find(segments_, segment->get()) == segments_.end()) {
      segments_.push_back(segment->get());
    }
  }
  numberCommunication(expr);
}

void ProgramNames::numberCommunication(const Expr& expr) {
  auto number = postedNumber(expr);
  if (const auto* wait = expr.as<Wait>()) number = wait->communication;
  if (const auto* end = expr.as<EndCoalescing>(); end != nullptr && isAwaited(end->number)) number = end->number;
  if (number) communication_numbers_.try_emplace(*number, static_cast<int64_t>(communication_numbers_.size()));
}

int64_t ProgramNames::segment(const HostSegment& segment) const {
  return std::ranges::find(segments_, &segment) - segments_.begin();
}

std::string ProgramNames::symbol(const Scalar& symbol) {
  return are_symbols_named_ ? nameOf(symbol) : mark(kSymbolMark, symbol);
}

std::string ProgramNames::loopBegin(const Scalar& index) { return mark(kBeginMark, index); }
std::string ProgramNames::loopEnd(const Scalar& index) { return mark(kEndMark, index); }

std::string ProgramNames::mark(char kind, const Scalar& symbol) {
  const auto [found, is_first] = marks_.try_emplace(&symbol, marked_.size());
  if (is_first) marked_.push_back(&symbol);
  return fmt::format("{}{}{}", kind, found->second, kind);
}

std::string ProgramNames::withNames(std::string_view marked) {
  std::string text;
  while (!marked.empty()) {
    const size_t at = std::min(marked.find_first_of(kMarks), marked.size());
    text += marked.substr(0, at);
    marked.remove_prefix(at);
    if (marked.empty()) break;
    const char kind = marked[0];
    const size_t end = marked.find(kind, 1);
    size_t number = 0;
    std::from_chars(marked.data() + 1, marked.data() + end, number);
    const Scalar& symbol = *marked_[number];
    // A loop claims its index's name again if an earlier loop with the same index gave it back.
    if (kind == kBeginMark) names_in_use_.insert(nameOf(symbol));
    if (kind == kEndMark) names_in_use_.erase(nameOf(symbol));
    if (kind == kSymbolMark) text += nameOf(symbol);
    marked.remove_prefix(end + 1);
  }
  are_symbols_named_ = true;
  return text;
}

const std::string& ProgramNames::nameOf(const Scalar& symbol) {
  const auto [found, is_first] = symbol_names_.try_emplace(&symbol);
  if (!is_first) return found->second;
  symbols_.push_back(&symbol);
  if (!isProgramSymbolName(symbol.name()) || isNumberedName(symbol.name())) {
    found->second = fmt::format("{}{}", symbolLetter(symbol.dtype()), next_symbol_);
    // The dumps' numbering has a hole: 0, 2, 3, 4, ...
    next_symbol_ += next_symbol_ == 0 ? 2 : 1;
    return found->second;
  }
  found->second = symbol.name();
  for (int copy = 2; !names_in_use_.insert(found->second).second; ++copy) {
    found->second = fmt::format("{}_{}", symbol.name(), copy);
  }
  return found->second;
}

char symbolLetter(DataType dtype) {
  if (dtype == DataType::Bool) return 'b';
  if (isIntegerType(dtype)) return 'i';
  return dtype == DataType::F64 ? 'd' : 'f';
}

bool isNumberedName(std::string_view name) {
  return name.size() > 1 && std::string_view("ifdb").find(name[0]) != std::string_view::npos &&
         std::ranges::all_of(name.substr(1), isDigit);
}

DataType symbolTypeFromName(std::string_view name) {
  if (!isNumberedName(name)) return DataType::I64;
  switch (name[0]) {
    case 'f': return DataType::F32;
    case 'd': return DataType::F64;
    case 'b': return DataType::Bool;
    default: return DataType::I64;
  }
}

bool isProgramSymbolName(std::string_view name) {
  constexpr std::array<std::string_view, 8> kWords = {"none", "true", "false",      "Stream",
                                                      "Set",  "ex",   "DeviceMesh", "Partial"};
  if (name.empty() || !isLetter(name[0])) return false;
  if (!std::ranges::all_of(name, [](char c) { return isLetter(c) || isDigit(c); })) return false;
  if (name[0] == 'T' && name.size() > 1 && isDigit(name[1])) return false;
  // The lexer reads these stems as numbers.
  const std::string_view stem = name.substr(0, name.find('_'));
  if (stem == "inf" || stem == "nan") return false;
  return std::ranges::find(kWords, name) == kWords.end() && !dataTypeFromDumpName(name) && !dataTypeFromName(name);
}

}  // namespace tokamak
