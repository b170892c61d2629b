#include "report/explanation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "analysis/op_counts.h"
#include "base/require.h"
#include "compile/make_program.h"
#include "device/work.h"
#include "heuristics/kernel_kind.h"
#include "heuristics/parameter_fields.h"
#include "heuristics/schedule_parameters.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/clone.h"
#include "ir/expr_summary.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/text/names.h"
#include "report/segments.h"

namespace tokamak {

namespace {

// The device's kernels, with a note of each that was asked for.
class NotingMaker final : public KernelMaker {
 public:
  struct Found {
    const HostSegment* segment = nullptr;  // null: of one op
    std::string statement;
    ExplainedKernel kernel;
    std::shared_ptr<const KernelImage> image;
  };

  explicit NotingMaker(KernelMaker& device_kernels) : kernels_(device_kernels) {}

  bool makesKernels() override { return kernels_.makesKernels(); }
  KernelLaunch find(const WorkRequest& request) override {
    KernelLaunch launch = kernels_.find(request);
    const KernelNotes notes = kernels_.notesOn(request);
    const auto* post = request.expr.as<PostOnStream>();
    found_.push_back({.segment = post == nullptr ? nullptr : post->segment.get(),
                      .statement = summaryOf(request.expr),
                      .kernel = {.name = launch.name,
                                 .code = notes.code,
                                 .parameters = notes.parameters,
                                 .all_codes = notes.all_codes,
                                 .grid = launch.grid,
                                 .block = launch.block,
                                 .shared_bytes = launch.shared_bytes,
                                 .workspace_bytes = launch.workspace.bytes,
                                 .is_interpreted = launch.interpreted != nullptr},
                      .image = launch.image});
    return launch;
  }
  std::vector<Found>& found() { return found_; }

 private:
  KernelMaker& kernels_;
  std::vector<Found> found_;
};

// What is known of a segment besides what is told of it.
struct SegmentKey {
  const HostSegment* segment = nullptr;
  std::string statement;
  std::vector<std::string> used_parameters;
  bool has_loops = false;  // used_parameters are known
};

std::vector<std::string> namesOf(std::span<Val* const> values, const FusionNames& names) {
  std::vector<std::string> result;
  for (const TensorView* tensor : tensorsOf(values)) result.push_back(names.nameOf(*tensor));
  return result;
}

// The fusion of a segment, or of one op.
std::unique_ptr<Fusion> fusionOf(const Segment& segment) {
  if (const auto* post = segment.statement->as<PostOnStream>()) return cloneFusion(*post->segment->fusion);
  auto fusion = std::make_unique<Fusion>("op");
  Cloner cloner(*fusion);
  for (Val* input : segment.statement->inputs()) {
    if (asTensor(input) != nullptr && !fusion->isInput(cloner.clone(input))) fusion->addInput(cloner.clone(input));
  }
  const Expr* const copy = cloner.clone(*segment.statement);
  for (TensorView* output : tensorsOf(copy->outputs())) fusion->addOutput(output);
  return fusion;
}

void explainKinds(Fusion& fusion, const KernelTarget& target, ExplainedSegment& told) {
  for (const KindVerdict& verdict : judgeKernelKinds(fusion, target))
    told.kinds.push_back({std::string(kernelKindName(verdict.kind)), verdict.reason});
}

void noteUsedParameters(Fusion& fusion, const KernelTarget& target, SegmentKey& key) {
  const KernelLoops loops = kernelLoopsOf(requireReductionStructure(fusion));
  ScheduleParameters parameters;
  if (target.kind == TargetKind::Cuda) parameters = CudaScheduleParameters();
  for (const ParameterField& field : fieldsOf(parameters)) {
    if (isUsed(field, loops)) key.used_parameters.emplace_back(field.name);
  }
  key.has_loops = true;
}

// The extents of a segment at the sizes of what it reads.
std::optional<double> arithmeticIn(const Segment& segment, const ScalarBindings& sizes) {
  const std::unique_ptr<Fusion> fusion = fusionOf(segment);
  ScalarBindings inner;
  const std::vector<TensorView*> inside = tensorsOf(fusion->inputs());
  const std::vector<TensorView*> outside = tensorsOf(segment.statement->inputs());
  try {
    for (size_t i = 0; i < std::min(inside.size(), outside.size()); ++i)
      bindShape(*inside[i], sizesOf(*outside[i], sizes), inner);
  } catch (const Error&) {
    return std::nullopt;  // an extent that only a call knows
  }
  return arithmeticOf(*fusion, inner);
}

class Explainer {
 public:
  Explainer(const Fusion& fusion, Device& device, const CompileOptions& options)
      : device_(device),
        options_(options),
        target_(device.kernelTarget()),
        lowering_(loweringOptionsOf(options)),
        own_(cloneFusion(fusion)) {
    lowering_.target = target_;
    told_.name = fusion.name();
    program_ = makeHostProgram(*own_, lowering_);
  }

  Explanation explain(std::span<const Argument> inputs, const PrepareOptions& prepare) {
    bindSizes(inputs);
    const std::vector<Segment> segments = segmentsOf(*program_);
    for (const Segment& segment : segments) addSegment(segment);
    addCuts(segments);
    finishHostProgram(*program_, lowering_);
    addPlan(inputs, prepare);
    return std::move(told_);
  }

 private:
  void bindSizes(std::span<const Argument> inputs) {
    const std::vector<Val*>& wanted = program_->inputs();
    TK_CHECK(inputs.size() == wanted.size(), "{}: takes {} inputs, {} were given", told_.name, wanted.size(),
             inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto* const tensor = std::get_if<Tensor>(&inputs[i].value());
      if (tensor != nullptr && asTensor(wanted[i]) != nullptr)
        bindShape(*asTensor(wanted[i]), tensor->sizes(), sizes_);
      else if (const auto* number = std::get_if<ScalarValue>(&inputs[i].value()))
        sizes_[asScalar(wanted[i])] = convertValue(*number, wanted[i]->dtype());
    }
    for (const auto& [symbol, value] : sizes_) {
      if (const auto* size = std::get_if<int64_t>(&value); size != nullptr && !symbol->name().empty())
        told_.sizes.emplace_back(symbol->name(), *size);
    }
    std::ranges::sort(told_.sizes);
  }

  void addSegment(const Segment& segment) {
    const FusionNames names(*program_);
    ExplainedSegment told = {.form = segment.form,
                             .reads = namesOf(segment.statement->inputs(), names),
                             .gives = namesOf(segment.statement->outputs(), names)};
    for (const Expr* expr : segment.exprs) told.ops.push_back(summaryOf(*expr));
    told.arithmetic = arithmeticIn(segment, sizes_);
    SegmentKey key = {.statement = summaryOf(*segment.statement)};
    if (const auto* post = segment.statement->as<PostOnStream>()) key.segment = post->segment.get();
    if (segment.form.starts_with("kernel") && !options_.keeps_schedule) {
      explainKinds(*fusionOf(segment), target_, told);
      try {
        noteUsedParameters(*fusionOf(segment), target_, key);
      } catch (const Error&) {
        key.has_loops = false;  // a schedule says how it is made: all parameters are told
      }
    }
    told_.segments.push_back(std::move(told));
    keys_.push_back(std::move(key));
  }

  void addCuts(const std::vector<Segment>& segments) {
    for (size_t i = 0; i < segments.size(); ++i) {
      for (size_t j = i + 1; j < segments.size(); ++j) {
        const auto read = segments[j].statement->inputs();
        const auto isRead = [&](const Val* output) { return std::ranges::find(read, output) != read.end(); };
        if (std::ranges::any_of(segments[i].statement->outputs(), isRead))
          told_.cuts.push_back({i, j, whyCut(*program_, segments[i], segments[j], target_)});
      }
    }
  }

  ExplainedSegment* segmentOf(const HostSegment* segment, const std::string& statement) {
    const auto found = std::ranges::find_if(keys_, [&](const SegmentKey& key) {
      return segment != nullptr ? key.segment == segment : key.statement == statement;
    });
    const auto by_text = found != keys_.end() ? found : std::ranges::find(keys_, statement, &SegmentKey::statement);
    if (by_text == keys_.end()) return nullptr;
    return &told_.segments[static_cast<size_t>(by_text - keys_.begin())];
  }

  // What streams deal out in parts, or ops of a segment that run one by one.
  ExplainedSegment& otherWork() {
    constexpr std::string_view kForm = "work in parts";
    if (told_.segments.empty() || told_.segments.back().form != kForm)
      told_.segments.push_back({.form = std::string(kForm)});
    return told_.segments.back();
  }

  void addKernel(NotingMaker::Found& found) {
    ExplainedSegment* segment = segmentOf(found.segment, found.statement);
    if (segment == nullptr) segment = &otherWork();
    if (found.image != nullptr) found.kernel.facts = found.image->facts();
    const auto number = static_cast<size_t>(segment - told_.segments.data());
    if (number < keys_.size() && keys_[number].has_loops) {
      const std::vector<std::string>& used = keys_[number].used_parameters;
      std::erase_if(found.kernel.parameters, [&](const KernelNotes::Parameter& parameter) {
        return std::ranges::find(used, parameter.name) == used.end();
      });
    }
    segment->kernels.push_back(std::move(found.kernel));
  }

  void addStep(const Step& step) {
    ExplainedSegment* segment = segmentOf(nullptr, step.text);
    if (segment == nullptr) segment = &otherWork();
    ++segment->launches;
    for (const Access& access : step.accesses) {
      int64_t bytes = access.element_bytes;
      for (const Access::Dim& dim : access.dims) bytes *= dim.size;
      (access.is_write ? segment->bytes_written : segment->bytes_read) += bytes;
    }
  }

  void addWaits(const StepList& list) {
    std::map<int32_t, int32_t> recorded_on;
    const auto nameOf = [](int32_t stream) {
      return stream == 0 ? std::string("the caller's stream") : fmt::format("stream {}", stream);
    };
    for (const Step& step : list.steps) {
      if (step.kind == StepKind::Record) recorded_on[step.event] = step.stream;
      if (step.kind != StepKind::Wait) continue;
      told_.waits.push_back(fmt::format("{} waits for {}: {}", nameOf(step.stream), nameOf(recorded_on[step.event]),
                                        step.text.empty() ? "what comes next needs it" : step.text));
    }
  }

  void addPlan(std::span<const Argument> inputs, const PrepareOptions& prepare) {
    HostIrEvaluatorParams params = evaluatorParamsOf(options_);
    params.segments = options_.makes_kernels ? SegmentMode::Kernels : SegmentMode::OpByOp;
    std::shared_ptr<NotingMaker> maker;
    if (KernelMaker* const kernels = device_.kernelMaker())
      params.kernels = maker = std::make_shared<NotingMaker>(*kernels);
    HostIrEvaluator evaluator(std::move(program_), device_, params);
    std::vector<std::pair<Val*, RunValue>> values;
    for (size_t i = 0; i < inputs.size(); ++i) values.emplace_back(evaluator.program().inputs()[i], inputs[i].value());
    const Plan& plan = evaluator.planFor(values, prepare);
    told_.plan = plan.summary();
    for (const Step& step : plan.steps().steps) {
      if (step.kind == StepKind::Work) addStep(step);
    }
    addWaits(plan.steps());
    for (const PlanOutput& output : plan.outputs()) {
      if (output.is_view) told_.notes.push_back(fmt::format("output {}: {}", output.name, plan.describeView(output)));
    }
    for (const std::string& sentence : plan.copiedViews()) told_.notes.push_back("output " + sentence);
    if (maker == nullptr) return;
    for (NotingMaker::Found& found : maker->found()) addKernel(found);
  }

  Device& device_;
  const CompileOptions options_;
  const KernelTarget target_;
  HostLoweringOptions lowering_;
  std::unique_ptr<Fusion> own_;
  std::unique_ptr<HostIrContainer> program_;  // until an evaluator has it
  ScalarBindings sizes_;
  std::vector<SegmentKey> keys_;
  Explanation told_;
};

}  // namespace

Explanation explain(const Fusion& fusion, Device& device, const CompileOptions& options,
                    std::span<const Argument> inputs, const PrepareOptions& prepare) {
  return Explainer(fusion, device, options).explain(inputs, prepare);
}

}  // namespace tokamak
