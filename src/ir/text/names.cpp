#include "ir/text/names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "ir/fields.h"
#include "ir/fusion.h"
#include "ir/text/lexer.h"

namespace tokamak {

namespace {

// T<n> with a larger n is no name, so that numbers after the largest label exist.
constexpr int64_t kLargestNumber = 999'999'999;

constexpr std::array<std::string_view, 5> kReserved = {"true", "false", "none", "ex", "symbol"};

}  // namespace

std::optional<int64_t> tensorNumber(std::string_view name) {
  if (name.size() < 2 || name[0] != 'T' || (name[1] == '0' && name.size() > 2)) return std::nullopt;
  int64_t number = 0;
  const char* last = name.data() + name.size();
  const auto result = std::from_chars(name.data() + 1, last, number);
  if (result.ec != std::errc() || result.ptr != last || number < 0 || number > kLargestNumber || name[1] == '-')
    return std::nullopt;
  return number;
}

bool canNameSymbol(std::string_view name) {
  const std::vector<Token> tokens = tokensOf(name);
  const bool is_word = tokens.size() == 2 && tokens[0].kind == TokenKind::Identifier && tokens[0].text == name;
  const bool is_like_tensor = name.size() > 1 && name[0] == 'T' && name[1] >= '0' && name[1] <= '9';
  return is_word && !is_like_tensor && !dataTypeFromName(name) && std::ranges::find(kReserved, name) == kReserved.end();
}

FusionNames::FusionNames(const Fusion& fusion) {
  for (const Val* input : fusion.inputs()) add(input);
  for (const Expr* expr : fusion.allExprs()) {
    for (const Val* val : valsOf(*expr)) add(val);
  }
  for (const TensorView* output : fusion.outputs()) add(*output);
  for (const auto& [symbol, size] : fusion.defaultSizes()) add(symbol);
  numberTensors();
  giveNames();
}

int64_t FusionNames::numberOf(const TensorView& tensor) const {
  const auto found = numbers_.find(&tensor);
  return found == numbers_.end() ? tensor.label() : found->second;
}

std::string FusionNames::nameOf(const TensorView& tensor) const {
  if (const auto found = tensor_names_.find(&tensor); found != tensor_names_.end()) return found->second;
  return contains(tensor) ? fmt::format("T{}", numberOf(tensor)) : tokamak::nameOf(tensor);
}

std::string FusionNames::nameOf(const Scalar& symbol) const {
  const auto found = symbol_names_.find(&symbol);
  return found == symbol_names_.end() ? toString(symbol) : found->second;
}

void FusionNames::add(const Val* val) {
  switch (val->kind()) {
    case ValKind::Tensor: return add(static_cast<const TensorView&>(*val));
    case ValKind::Scalar: return add(static_cast<const Scalar*>(val));
    case ValKind::Stream: return add(static_cast<const StreamVal&>(*val).index());
  }
}

void FusionNames::add(const Scalar* scalar) {
  if (scalar == nullptr || !seen_.insert(scalar).second) return;
  if (scalar->isSymbol()) symbols_.push_back(scalar);
  for (const Scalar* operand : scalar->operands()) add(operand);
}

void FusionNames::add(const TensorView& tensor) {
  if (!seen_.insert(&tensor).second) return;
  tensors_.push_back(&tensor);
  const TensorDomain& domain = tensor.domain();
  for (const Axes* axes : {&domain.logical, &domain.root, &domain.loop, &domain.allocation}) {
    for (const IterDomain* axis : *axes) add(*axis);
  }
}

void FusionNames::add(const IterDomain& axis) {
  if (!seen_.insert(&axis).second) return;
  add(axis.extent());
  add(axis.expandedExtent());
  const DomainExpr* definition = axis.definition();
  if (definition == nullptr || !seen_.insert(definition).second) return;
  for (const IterDomain* in : definition->in) {
    if (in != nullptr) add(*in);
  }
  add(definition->factor);
}

void FusionNames::numberTensors() {
  std::ranges::sort(tensors_, {}, &TensorView::id);
  std::unordered_set<int64_t> taken;
  int64_t next = 0;
  for (const TensorView* tensor : tensors_) {
    if (tensor->label() < 0 || tensor->label() > kLargestNumber || !taken.insert(tensor->label()).second) continue;
    numbers_[tensor] = tensor->label();
    next = std::max(next, tensor->label() + 1);
  }
  for (const TensorView* tensor : tensors_) {
    if (numbers_.try_emplace(tensor, next).second) ++next;
  }
}

void FusionNames::giveNames() {
  std::unordered_set<std::string> taken;
  for (const Scalar* symbol : symbols_) {
    if (canNameSymbol(symbol->name()) && taken.insert(symbol->name()).second) symbol_names_[symbol] = symbol->name();
  }
  for (const TensorView* tensor : tensors_) {
    if (canNameSymbol(tensor->name()) && taken.insert(tensor->name()).second) tensor_names_[tensor] = tensor->name();
  }
  std::unordered_map<char, int64_t> next;
  for (const Scalar* symbol : symbols_) {
    if (symbol_names_.contains(symbol)) continue;
    const char letter = isFloatingType(symbol->dtype()) ? 'f' : isIntegerType(symbol->dtype()) ? 'i' : 'b';
    // i1 is left out: in dumps of host programs it is the constant zero.
    std::string name;
    do {
      int64_t& number = next[letter];
      name = fmt::format("{}{}", letter, number);
      number += letter == 'i' && number == 0 ? 2 : 1;
    } while (dataTypeFromName(name) || !taken.insert(name).second);
    symbol_names_[symbol] = std::move(name);
  }
}

}  // namespace tokamak
