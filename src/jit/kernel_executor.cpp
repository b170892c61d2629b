#include "jit/kernel_executor.h"

#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "device/work.h"
#include "ir/clone.h"
#include "jit/prepared_kernel.h"
#include "kernel/complete_kernel.h"
#include "kernel/index_type.h"
#include "lower/lower_kernel.h"
#include "schedule/schedule_checks.h"

namespace tokamak {

namespace {

int64_t bitsOf(const ScalarValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return std::bit_cast<int64_t>(*number);
  return asInt(value);
}

// Everything about a call that a launch depends on.
void writeKey(std::span<const OperandDesc> operands, std::span<const std::optional<ScalarValue>> values,
              std::vector<int64_t>& key) {
  constexpr int64_t kWidestAccess = 16;
  key.clear();
  for (const OperandDesc& operand : operands) {
    key.insert(key.end(), operand.sizes.begin(), operand.sizes.end());
    key.insert(key.end(), operand.strides.begin(), operand.strides.end());
    key.push_back(std::min(operand.alignment, kWidestAccess));
  }
  for (const std::optional<ScalarValue>& value : values) {
    key.push_back(value ? static_cast<int64_t>(value->index()) : -1);
    key.push_back(value ? bitsOf(*value) : 0);
  }
}

bool hasFailed(const KernelCode& code) { return code.image != nullptr && code.image->hasFailed(); }

}  // namespace

KernelExecutor::KernelExecutor(const Fusion& program, std::vector<bool> is_parameter,
                               const KernelExecutorOptions& options)
    : program_(cloneFusion(program)),
      symbols_(structuralFormOf(*program_).symbols),
      parts_(unmergeReshapes(*program_, options.target.kind)),
      is_parameter_(std::move(is_parameter)),
      options_(options),
      chooser_(*program_, symbols_, policyFor(options.target)),
      constants_(chooser_.symbols().size()) {
  TK_CHECK(is_parameter_.size() == chooser_.symbols().size(), "a program of {} symbols is told about {}",
           chooser_.symbols().size(), is_parameter_.size());
}

std::shared_ptr<const BoundKernel> KernelExecutor::bind(std::span<const OperandDesc> operands,
                                                        std::span<const std::optional<ScalarValue>> values) {
  const std::lock_guard lock(mutex_);
  if (options_.open_symbols != nullptr) return bindNew(operands, values);
  writeKey(operands, values, key_);
  if (const auto found = bound_.find(key_); found != bound_.end() && !hasFailed(*found->second->code))
    return found->second;
  std::shared_ptr<const BoundKernel> bound = bindNew(operands, values);
  // Plans hold on to what they use; a program that runs at ever new sizes starts over now and then.
  constexpr size_t kMostSizes = 1024;
  if (bound_.size() >= kMostSizes) bound_.clear();
  bound_[key_] = bound;
  return bound;
}

std::vector<std::shared_ptr<const KernelCode>> KernelExecutor::codes() const {
  const std::lock_guard lock(mutex_);
  return codes_;
}

CodeNote KernelExecutor::noteOn(const KernelCode& code) const {
  return {.choice = chooser_.describe(code.choice), .reason = code.reason};
}

std::vector<CodeNote> KernelExecutor::codeNotes() const {
  std::vector<CodeNote> notes;
  for (const auto& code : codes()) notes.push_back(noteOn(*code));
  return notes;
}

std::shared_ptr<const BoundKernel> KernelExecutor::bindNew(std::span<const OperandDesc> given,
                                                           std::span<const std::optional<ScalarValue>> values) {
  const ScalarBindings sizes = sizesOf(values);
  requireBindable(*program_, chooser_.isScheduled(), sizes);
  const std::vector<OperandDesc> operands = unmergeOperands(*program_, parts_, given, sizes);
  const KernelShape shape = shapeOf(operands, values);
  std::optional<ScheduleParameters> parameters;
  if (!chooser_.isScheduled()) {
    const Shaped& shaped = shapedFor(shape);
    parameters = chooseParameters(*shaped.rows, options_.target, bindingsOf(shaped.program.symbols, values));
  }
  Lowered& lowered = loweredFor(shape, parameters);
  auto bound = std::make_shared<BoundKernel>(bindCode(*lowered.wide, operands, values));
  std::shared_ptr<KernelCode>& code = areNarrowIndicesEnough(lowered, *bound) ? lowered.narrow : lowered.wide;
  if (code == nullptr) {
    code = std::make_shared<KernelCode>(*lowered.wide);
    code->image = nullptr;
    code->reason.clear();
    code->choice.index_type = DataType::I32;
  }
  if (hasFailed(*code)) {
    // Launches may still look at the one that failed.
    std::erase(codes_, code);
    code = std::make_shared<KernelCode>(*code);
    code->reason.clear();
  }
  if (code->reason.empty()) {
    finish(*code);
    codes_.push_back(code);
  }
  bound->code = code;
  return bound;
}

KernelShape KernelExecutor::shapeOf(std::span<const OperandDesc> operands,
                                    std::span<const std::optional<ScalarValue>> values) {
  const std::vector<bool> is_open = openSymbols(values);
  KernelShape shape = chooser_.choose(operands, values, is_open);
  bool has_sums = false;
  if (!chooser_.isScheduled()) {
    const Shaped& shaped = shapedFor(shape);
    has_sums = !shaped.rows->partialOuterReductions().empty();
    if (has_sums) shape = chooser_.choose(operands, values, withoutColumns(is_open, shaped));
  }
  const bool is_for_ranges = options_.open_symbols != nullptr;
  for (size_t i = 0; i < is_open.size(); ++i) {
    const bool is_constant = shape.extents[i].form == ExtentChoice::Form::Constant;
    TK_REQUIRE(
        !is_for_ranges || !is_open[i] || !is_constant, Unsupported,
        "{}: the extent {} has to be a constant of the kernel, as registers hold the sums along it; it cannot be "
        "a range",
        name(), symbols_[i]->name());
    // Divisors of this value are not those of others, and the places of partial sums are simplest without.
    if (is_open[i] && !is_constant && (is_for_ranges || has_sums)) shape.extents[i] = {};
  }
  return shape;
}

// Registers hold outer sums, one for each column: how many there are is a constant.
std::vector<bool> KernelExecutor::withoutColumns(std::vector<bool> is_open, const Shaped& shaped) {
  std::set<Scalar*, ById> columns;
  for (const auto& [tensor, sums] : shaped.rows->partialOuterReductions()) {
    for (Scalar* extent : sums.columns) kir::collectSymbols(*extent, columns);
  }
  for (const ShapedProgram::Symbol& symbol : shaped.program.symbols) {
    if (!is_open.empty() && columns.contains(symbol.to)) is_open[symbol.from] = false;
  }
  return is_open;
}

ScalarBindings KernelExecutor::sizesOf(std::span<const std::optional<ScalarValue>> values) const {
  ScalarBindings sizes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) sizes[symbols_[i]] = *values[i];
  }
  return sizes;
}

// A program that comes with ever new sizes gets code for all of them in the end: an extent that has been many constants
// is none for further values.
std::vector<bool> KernelExecutor::openSymbols(std::span<const std::optional<ScalarValue>> values) {
  if (options_.open_symbols != nullptr) return options_.open_symbols();
  constexpr size_t kMostConstants = 4;
  std::vector<bool> is_open(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!chooser_.mayBeConstant(i) || !values[i]) continue;
    std::vector<int64_t>& seen = constants_[i];
    const int64_t value = asInt(*values[i]);
    if (std::ranges::find(seen, value) != seen.end()) continue;
    is_open[i] = seen.size() >= kMostConstants;
    if (!is_open[i]) seen.push_back(value);
  }
  return is_open;
}

const KernelExecutor::Shaped& KernelExecutor::shapedFor(const KernelShape& shape) {
  for (const auto& shaped : shaped_) {
    if (shaped->shape == shape) return *shaped;
  }
  auto shaped = std::make_unique<Shaped>();
  shaped->shape = shape;
  shaped->program = shapeProgram(*program_, chooser_, shape);
  shaped->rows = std::make_unique<ReductionStructure>(requireReductionStructure(*shaped->program.fusion));
  shaped_.push_back(std::move(shaped));
  return *shaped_.back();
}

KernelExecutor::Lowered& KernelExecutor::loweredFor(const KernelShape& shape,
                                                    const std::optional<ScheduleParameters>& parameters) {
  for (const auto& lowered : lowered_) {
    if (lowered->parameters == parameters && lowered->shape == shape) return *lowered;
  }
  auto lowered = std::make_unique<Lowered>();
  lowered->shape = shape;
  lowered->parameters = parameters;
  lower(*lowered);
  lowered_.push_back(std::move(lowered));
  return *lowered_.back();
}

void KernelExecutor::lower(Lowered& lowered) {
  ShapedProgram program = shapeProgram(*program_, chooser_, lowered.shape);
  if (lowered.parameters) scheduleKernel(*program.fusion, *lowered.parameters);
  auto code = std::make_shared<KernelCode>();
  code->choice = {lowered.shape, lowered.parameters, DataType::I64};
  code->kernel =
      lowerKernel(program.fusion, kernelNameOf(*program_), lowered.shape.alignment,
                  options_.passes.after ? options_.passes : passesSeenBy(options_.observer), UpdateMemory::Inputs);
  code->symbols = std::move(program.symbols);
  // Parameters first, each with the number of the program's symbol that it is.
  std::vector<Scalar*>& symbols = code->kernel.symbols;
  const auto numberOf = [&](const Scalar* symbol) -> std::optional<size_t> {
    const auto found = std::ranges::find(code->symbols, symbol, &ShapedProgram::Symbol::to);
    if (found == code->symbols.end() || !is_parameter_[found->from]) return std::nullopt;
    return found->from;
  };
  std::vector<Scalar*> others;
  std::vector<Scalar*> ordered;
  for (Scalar* symbol : symbols) {
    const auto number = numberOf(symbol);
    (number ? ordered : others).push_back(symbol);
    if (number) code->parameters.push_back(*number);
  }
  code->kernel.parameter_count = ordered.size();
  ordered.insert(ordered.end(), others.begin(), others.end());
  symbols = std::move(ordered);
  lowered.wide = std::move(code);
}

// Asking the kernel takes long. So what it says of large sizes is remembered: twice these, four times, ... as long as
// 32 bits are enough.
bool KernelExecutor::areNarrowIndicesEnough(Lowered& lowered, const BoundKernel& bound) const {
  if (options_.indices == KernelExecutorOptions::Indices::Wide) return false;
  // What is not launched may be anything.
  if (std::ranges::find(bound.extents, 0) != bound.extents.end()) return true;
  const kir::Kernel& kernel = lowered.wide->kernel;
  const std::vector<int64_t>& limits = lowered.narrow_limits;
  const auto isCovered = [&] {
    for (size_t i = kernel.parameter_count; i < kernel.symbols.size(); ++i) {
      if (isFloatingType(kernel.symbols[i]->dtype())) continue;
      if (bound.symbols[i] < 0 || bound.symbols[i] > limits[i]) return false;
    }
    return true;
  };
  if (!limits.empty() && isCovered()) return true;
  if (kir::indexTypeOf(kernel, bound.bindings) == DataType::I64) return false;
  const auto fits = [&](int shift) {
    return kir::indexTypeOf(kernel, [&](const Scalar& symbol) -> std::optional<Interval> {
             const auto i = static_cast<size_t>(std::ranges::find(kernel.symbols, &symbol) - kernel.symbols.begin());
             if (i < kernel.parameter_count) return std::nullopt;
             return Interval::between(0, bound.symbols[i] << shift);
           }) == DataType::I32;
  };
  const bool has_negative = std::ranges::any_of(bound.symbols, [](int64_t value) { return value < 0; });
  constexpr int64_t kLargest = int64_t{1} << 31;
  int shift =
      has_negative || std::ranges::any_of(bound.symbols, [](int64_t value) { return value > kLargest; }) ? -1 : 0;
  if (shift < 0 || !fits(0)) return true;
  for (int step = 16; step > 0; step /= 2) {
    if (shift + step <= 24 && fits(shift + step)) shift += step;
  }
  lowered.narrow_limits = bound.symbols;
  for (int64_t& limit : lowered.narrow_limits) limit <<= shift;
  return true;
}

std::string KernelExecutor::reasonFor(const KernelChoice& choice) const {
  std::vector<std::string> nearest;
  for (const auto& code : codes_) {
    std::vector<std::string> differences = chooser_.differences(code->choice, choice);
    if (nearest.empty() || differences.size() <= nearest.size()) nearest = std::move(differences);
  }
  return codes_.empty() ? "first kernel of this program" : joined(nearest, "; ");
}

void KernelExecutor::finish(KernelCode& code) {
  const std::string reason = reasonFor(code.choice);
  if (options_.observer != nullptr)
    options_.observer->onChoice({program_->name(), chooser_.describe(code.choice), reason});
  if (options_.compile) code.image = options_.compile(code);
  code.reason = reason;
}

}  // namespace tokamak
