#include "jit/export_collector.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/require.h"
#include "device/gemm_problem.h"
#include "device/matrix_programs.h"
#include "graph/product_group.h"
#include "ir/clone.h"
#include "ir/expr_memory.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/structural_form.h"
#include "kernel/bind_kernel.h"

namespace tokamak {

namespace {

void collectNumbers(const Scalar& scalar, const std::vector<Scalar*>& symbols, std::set<size_t>& into) {
  const auto found = std::ranges::find(symbols, &scalar);
  if (found != symbols.end()) into.insert(static_cast<size_t>(found - symbols.begin()));
  for (const Scalar* operand : scalar.operands()) collectNumbers(*operand, symbols, into);
}

// Numbers of the symbols that the extents of its tensors have.
std::set<size_t> extentSymbols(const Fusion& program, const std::vector<Scalar*>& symbols) {
  std::set<size_t> numbers;
  for (const TensorView* tensor : program.allTensors()) {
    for (const IterDomain* axis : tensor->logical()) collectNumbers(*axis->visibleExtent(), symbols, numbers);
  }
  return numbers;
}

// The same in all readings of one host program.
std::string nameOf(const Expr& expr) {
  const auto* post = expr.as<PostOnStream>();
  return post != nullptr ? fmt::format("HostUnit{}", post->segment->number)
                         : toString(*tensorsOf(expr.outputs()).front());
}

// The same elements with gaps along every axis, at addresses that are aligned to an element.
std::vector<OperandDesc> withGaps(std::span<const OperandDesc> operands) {
  std::vector<OperandDesc> result(operands.begin(), operands.end());
  for (OperandDesc& operand : result) {
    std::vector<size_t> order(operand.strides.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return operand.strides[i]; });
    int64_t next = 2;
    for (const size_t i : order) {
      if (operand.strides[i] == 0) continue;
      operand.strides[i] = next;
      next = next * std::max<int64_t>(operand.sizes[i], 1) + 2;
    }
    operand.alignment = sizeOf(operand.dtype);
  }
  return result;
}

}  // namespace

// A program's kernels, or while nothing is made, what is asked of them.
class ExportCollector::SurveyedKernels final : public ProgramKernels {
 public:
  SurveyedKernels(ExportCollector& collector, const Fusion& program, const std::vector<int64_t>& form,
                  const std::vector<bool>& is_parameter)
      : collector_(collector),
        digest_(digestOfForm(form)),
        program_(cloneFusion(program)),
        symbols_(structuralFormOf(*program_).symbols),
        extents_(extentSymbols(*program_, symbols_)),
        outputs_(program_->outputs()),
        dense_(program, is_parameter, collector.options_),
        loose_(program, is_parameter, withWideIndices(collector.options_)),
        none_(std::make_shared<BoundKernel>()) {
    none_->code = std::make_shared<const KernelCode>();
  }

  const std::string& name() const override { return dense_.name(); }

  std::shared_ptr<const BoundKernel> bind(std::span<const OperandDesc> operands,
                                          std::span<const std::optional<ScalarValue>> values) override {
    Ranges& ranges = collector_.surveyed_[{collector_.current_, digest_}];
    if (collector_.is_survey_) {
      look(values, ranges);
      return none_;
    }
    ranges.resize(values.size());
    collector_.open_symbols_.assign(values.size(), false);
    for (size_t i = 0; i < values.size(); ++i)
      collector_.open_symbols_[i] = extents_.contains(i) && ranges[i] && ranges[i]->least != ranges[i]->most;
    collector_.add(digest_, extents_, ranges, dense_.bind(operands, values));
    collector_.add(digest_, extents_, ranges, loose_.bind(withGaps(operands), values));
    if (const auto stored = withAllElements(operands, values))
      collector_.add(digest_, extents_, ranges, loose_.bind(withGaps(*stored), values));
    return none_;
  }

 private:
  static KernelExecutorOptions withWideIndices(KernelExecutorOptions options) {
    options.indices = KernelExecutorOptions::Indices::Wide;
    return options;
  }

  // As callers may give memory for outputs: with all elements along axes where one stands for all. Nothing: there is no
  // such axis.
  std::optional<std::vector<OperandDesc>> withAllElements(std::span<const OperandDesc> operands,
                                                          std::span<const std::optional<ScalarValue>> values) const {
    ScalarBindings sizes;
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i]) sizes[symbols_[i]] = *values[i];
    std::vector<OperandDesc> result(operands.begin(), operands.end());
    bool is_other = false;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      OperandDesc& operand = result[result.size() - outputs_.size() + i];
      const Axes shape = shapeOf(*outputs_[i]);
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const int64_t size = evaluateInt(*shape[axis]->visibleExtent(), sizes);
        if (!shape[axis]->isBroadcast() || size <= 1) continue;
        is_other = true;
        operand.sizes[axis] = size;
        operand.strides[axis] = INT64_MAX;  // the slowest; withGaps() says how far apart
      }
    }
    return is_other ? std::optional(std::move(result)) : std::nullopt;
  }

  static void look(std::span<const std::optional<ScalarValue>> values, Ranges& ranges) {
    ranges.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i] || !std::holds_alternative<int64_t>(*values[i])) continue;
      const int64_t value = asInt(*values[i]);
      if (!ranges[i]) ranges[i] = {value, value};
      ranges[i] = SymbolRange{std::min(ranges[i]->least, value), std::max(ranges[i]->most, value)};
    }
  }

  ExportCollector& collector_;
  std::string digest_;
  std::unique_ptr<Fusion> program_;
  std::vector<Scalar*> symbols_;
  std::set<size_t> extents_;
  std::vector<TensorView*> outputs_;
  KernelExecutor dense_;
  KernelExecutor loose_;
  std::shared_ptr<BoundKernel> none_;
};

ExportCollector::ExportCollector(const KernelTarget& target)
    : PlanningDevice(target),
      options_({.target = target,
                .indices = indicesFor(target),
                .compile = [](const KernelCode&) { return nullptr; },
                .open_symbols = [this] { return open_symbols_; }}),
      library_(options_,
               [this](const Fusion& program, const std::vector<int64_t>& form, const std::vector<bool>& is_parameter) {
                 return std::make_shared<SurveyedKernels>(*this, program, form, is_parameter);
               }) {}

ExportCollector::~ExportCollector() = default;

void ExportCollector::startSurvey() {
  is_survey_ = true;
  surveyed_.clear();
}

void ExportCollector::startCollecting() { is_survey_ = false; }

std::shared_ptr<const Work> ExportCollector::prepare(const WorkRequest& request) {
  // What the device does without a kernel: on a processor all but segments, on a GPU copies from and to the host.
  const bool is_gpu = kernelTarget().kind == TargetKind::Cuda;
  if (isLibraryCall(request)) {
    if (is_gpu) findForProduct(request);
  } else if (request.expr.is<PostOnStream>() || (is_gpu && !touchesHostMemory(request.expr))) {
    find(nameOf(request.expr), request);
  }
  return std::make_shared<const Work>();
}

void ExportCollector::find(std::string current, const WorkRequest& request) {
  current_ = std::move(current);
  library_.find(request);
}

// What a GPU may need beside its library, or in its place where that has no such product: which of these it does is
// known there.
void ExportCollector::findForProduct(const WorkRequest& request) {
  const auto* post = request.expr.as<PostOnStream>();
  const std::optional<ProductGroup> group = post == nullptr ? std::nullopt : productGroupOf(*post->segment);
  const Expr& product = group ? *group->product : request.expr;
  std::vector<OperandDesc> operands(request.operands.begin(), request.operands.end());
  if (group) {
    operands = operandsOf(*group, request.operands).descs;
    operands.back() = denseLike(operands.back());
  }
  const std::optional<GemmProblem> problem = plainProblemOf(product, operands);
  TK_CHECK(problem, "{} is no matrix product", product.info().name);
  if (problem->isEmpty()) return;
  const std::string name = nameOf(request.expr);
  if (problem->bias_operand) find(name + " bias", biasProgram(*problem, operands).request());
  if (group)
    find(name + " activation",
         activationProgram(*group, operands.back(), request.operands.back(), request.bindings).request());
  try {
    find(name + " product", productProgram(*problem, operands).request());
  } catch (const Error& error) {
    // A library has products along axes that one kernel for all sizes cannot have.
    if (error.code() != ErrorCode::Unsupported) throw;
  }
}

void ExportCollector::add(const std::string& program, const std::set<size_t>& extents, const Ranges& ranges,
                          const std::shared_ptr<const BoundKernel>& bound) {
  const KernelCode& code = *bound->code;
  if (options_.target.kind == TargetKind::Cuda) kir::requireLaunchableOnGpu(code.kernel, bound->bindings);
  ExportedLaunch launch;
  launch.program = program;
  launch.shape = code.choice.shape;
  launch.parameters = code.parameters;
  launch.ranges.resize(ranges.size());
  for (const size_t i : extents) {
    if (launch.shape.extents[i].form == ExtentChoice::Form::Constant || !ranges[i]) continue;
    launch.ranges[i] = ranges[i];
    // Nothing is asked for where sizes are so small that there are no results: kernels are right for fewer elements.
    if (ranges[i]->least != ranges[i]->most) launch.ranges[i]->least = std::min<int64_t>(ranges[i]->least, 0);
  }
  for (const Scalar* symbol : code.kernel.symbols) {
    const auto source = std::ranges::find(code.symbols, symbol, &ShapedProgram::Symbol::to);
    launch.symbols.push_back(source == code.symbols.end() ? std::nullopt
                                                          : std::optional(SymbolSource{source->from, source->divisor}));
  }
  if (code.choice.index_type == DataType::I32) launch.limits = bound->symbols;
  const auto known = std::ranges::find(sources_, bound->code);
  launch.code = static_cast<size_t>(known - sources_.begin());
  if (known == sources_.end()) {
    sources_.push_back(bound->code);
    codes_.push_back({code.kernel, code.choice.index_type});
  }
  if (std::ranges::find(launches_, launch) == launches_.end()) launches_.push_back(std::move(launch));
}

}  // namespace tokamak
