#include "jit/loaded_kernels.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "heuristics/unmerge_reshapes.h"
#include "ir/clone.h"
#include "ir/structural_form.h"
#include "jit/jit.h"
#include "jit/kernel_library.h"
#include "kernel/parse_kernel.h"

namespace tokamak {

namespace {

std::string rangeText(const SymbolRange& range) {
  return range.least == range.most ? fmt::to_string(range.least) : fmt::format("{} to {}", range.least, range.most);
}

// Why a value is not one of those that a launch fits; empty: it is.
std::string valueMisfit(const std::string& name, const ExtentChoice& extent, const std::optional<SymbolRange>& range,
                        const std::optional<ScalarValue>& value) {
  if (!value || !std::holds_alternative<int64_t>(*value)) return {};
  const int64_t number = asInt(*value);
  if (extent.form == ExtentChoice::Form::Constant && number != extent.value)
    return fmt::format("{} is {}, not {}", name, number, extent.value);
  if (range && (number < range->least || range->most < number))
    return fmt::format("{} is {}, not {}", name, number, rangeText(*range));
  if (extent.form == ExtentChoice::Form::Multiple && number % extent.value != 0)
    return fmt::format("{} is {}, no multiple of {}", name, number, extent.value);
  return {};
}

}  // namespace

// A program of the file, as a request has it.
class LoadedKernels::Program final : public ProgramKernels {
 public:
  Program(LoadedKernels& owner, const Fusion& program, const std::string& digest)
      : owner_(owner),
        program_(cloneFusion(program)),
        symbols_(structuralFormOf(*program_).symbols),
        parts_(unmergeReshapes(*program_, owner.options_.target.kind)),
        chooser_(*program_, symbols_, policyFor(owner.options_.target)) {
    for (const ExportedLaunch& launch : owner.options_.launches) {
      if (launch.program == digest) launches_.push_back(&launch);
    }
  }

  const std::string& name() const override { return program_->name(); }

  std::shared_ptr<const BoundKernel> bind(std::span<const OperandDesc> given,
                                          std::span<const std::optional<ScalarValue>> values) override {
    const std::lock_guard lock(owner_.mutex_);
    ScalarBindings sizes;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i]) sizes[symbols_[i]] = *values[i];
    }
    requireBindable(*program_, chooser_.isScheduled(), sizes);
    const std::vector<OperandDesc> operands = unmergeOperands(*program_, parts_, given, sizes);
    const KernelShape asked = chooser_.choose(operands, values);
    std::vector<std::string> nearest;
    for (const ExportedLaunch* launch : launches_) {
      std::vector<std::string> misfits = misfitsOf(*launch, asked, values);
      if (misfits.empty()) {
        if (auto bound = tryToBind(*launch, operands, values, misfits)) return bound;
      }
      if (nearest.empty() || misfits.size() < nearest.size()) nearest = std::move(misfits);
    }
    TK_REQUIRE(!launches_.empty(), Bind, "{}: {} has no kernel of it", name(), owner_.options_.file);
    TK_RAISE(Bind, "{}: no kernel of {} fits: {}; it was exported for {}", name(), owner_.options_.file,
             joined(nearest), owner_.options_.sizes);
  }

 private:
  std::vector<std::string> misfitsOf(const ExportedLaunch& launch, const KernelShape& asked,
                                     std::span<const std::optional<ScalarValue>> values) const {
    TK_REQUIRE(launch.shape.extents.size() == values.size() && launch.ranges.size() == values.size() &&
                   launch.shape.layouts.size() == asked.layouts.size(),
               Parse, "{} is damaged: a launch of {} has {} symbols and {} operands instead of {} and {}",
               owner_.options_.file, name(), launch.shape.extents.size(), launch.shape.layouts.size(), values.size(),
               asked.layouts.size());
    std::vector<std::string> misfits;
    for (size_t i = 0; i < values.size(); ++i) {
      std::string misfit = valueMisfit(symbols_[i]->name(), launch.shape.extents[i], launch.ranges[i], values[i]);
      if (!misfit.empty()) misfits.push_back(std::move(misfit));
    }
    for (size_t t = 0; t < asked.layouts.size(); ++t) {
      if (asked.layouts[t].is_stored != launch.shape.layouts[t].is_stored)
        misfits.push_back(
            fmt::format("the memory of {} has other elements of its expanded axes", nameOf(*chooser_.tensors()[t])));
    }
    if (asked.alignment % launch.shape.alignment != 0)
      misfits.push_back(fmt::format("memory is aligned to {} bytes, not {}", asked.alignment, launch.shape.alignment));
    return misfits;
  }

  // Nothing, and why, where strides are not those that the code was compiled for.
  std::shared_ptr<const BoundKernel> tryToBind(const ExportedLaunch& launch, std::span<const OperandDesc> operands,
                                               std::span<const std::optional<ScalarValue>> values,
                                               std::vector<std::string>& misfits) {
    auto bound = std::make_shared<BoundKernel>();
    const std::shared_ptr<const KernelCode> code = owner_.codeOf(launch);
    try {
      *bound = bindCode(*code, operands, values);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Bind) throw;
      misfits.push_back(error.message());
      return nullptr;
    }
    for (size_t i = 0; i < launch.limits.size(); ++i) {
      if (i < code->kernel.parameter_count || bound->symbols[i] <= launch.limits[i]) continue;
      misfits.push_back(
          fmt::format("{} is {}, more than {}", code->kernel.symbols[i]->name(), bound->symbols[i], launch.limits[i]));
      return nullptr;
    }
    bound->code = code;
    return bound;
  }

  LoadedKernels& owner_;
  std::unique_ptr<Fusion> program_;
  std::vector<Scalar*> symbols_;
  std::vector<AxisParts> parts_;
  ShapeChooser chooser_;
  std::vector<const ExportedLaunch*> launches_;
};

LoadedKernels::LoadedKernels(LoadedKernelsOptions options)
    : options_(std::move(options)),
      codes_(options_.launches.size()),
      library_(std::make_unique<KernelLibrary>(
          KernelExecutorOptions{.target = options_.target},
          [this](const Fusion& program, const std::vector<int64_t>& form, const std::vector<bool>&) {
            return std::make_shared<Program>(*this, program, digestOfForm(form));
          })) {
  for (const ExportedLaunch& launch : options_.launches)
    TK_REQUIRE(launch.code < options_.kernels.size(), Parse, "{} is damaged: a launch is of kernel {} of {}",
               options_.file, launch.code, options_.kernels.size());
}

LoadedKernels::~LoadedKernels() = default;

// One for each launch: what its symbols come from is the launch's, the image is the code's.
std::shared_ptr<const KernelCode> LoadedKernels::codeOf(const ExportedLaunch& launch) {
  const auto number = static_cast<size_t>(&launch - options_.launches.data());
  std::shared_ptr<KernelCode>& known = codes_[number];
  if (known != nullptr) return known;
  auto code = std::make_shared<KernelCode>();
  code->kernel =
      kir::parseKernel(options_.kernels[launch.code], fmt::format("{}, kernel {}", options_.file, launch.code));
  std::vector<Scalar*>& symbols = code->kernel.symbols;
  TK_REQUIRE(launch.symbols.size() == symbols.size() && launch.parameters.size() <= symbols.size() &&
                 (launch.limits.empty() || launch.limits.size() == symbols.size()),
             Parse, "{} is damaged: kernel {} has {} symbols, a launch of it {}", options_.file, launch.code,
             symbols.size(), launch.symbols.size());
  code->choice = {launch.shape, std::nullopt, options_.index_types[launch.code]};
  code->reason = "from a file";
  code->kernel.parameter_count = launch.parameters.size();
  code->parameters = launch.parameters;
  const auto isKnown = [&](size_t symbol) { return symbol < launch.ranges.size(); };
  for (size_t i = 0; i < symbols.size(); ++i) {
    TK_REQUIRE(!launch.symbols[i] || isKnown(launch.symbols[i]->from), Parse,
               "{} is damaged: a launch of kernel {} takes symbol {} of {}", options_.file, launch.code,
               launch.symbols[i]->from, launch.ranges.size());
    if (launch.symbols[i]) code->symbols.push_back({launch.symbols[i]->from, symbols[i], launch.symbols[i]->divisor});
  }
  TK_REQUIRE(std::ranges::all_of(launch.parameters, isKnown), Parse,
             "{} is damaged: a launch of kernel {} takes a parameter that is none of its {} symbols", options_.file,
             launch.code, launch.ranges.size());
  if (options_.load != nullptr) code->image = options_.load(launch.code, code->kernel.name);
  known = std::move(code);
  return known;
}

KernelLaunch LoadedKernels::find(const WorkRequest& request) {
  try {
    FoundKernel found = library_->find(request);
    const std::shared_ptr<const BoundKernel> bound = found.bound;
    KernelLaunch launch = launchOf(std::move(found));
    if (options_.load == nullptr) launch.interpreted = interpretedOf(bound);
    return launch;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Bind || options_.fallback == nullptr) throw;
    return options_.fallback->find(request);
  }
}

}  // namespace tokamak
