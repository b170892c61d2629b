#include "schedule/commands.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "define/define_op.h"
#include "ir/fusion.h"
#include "schedule/propagate.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Values = std::span<const FieldValue>;

TensorView* tensorIn(Fusion& fusion, std::string_view command, const FieldValue& value) {
  return asTensor(std::get<Val*>(fitArgument(fusion, command, "tensor", static_cast<Val*>(nullptr), value)));
}

int64_t axisIn(Fusion& fusion, std::string_view command, const FieldValue& value) {
  return std::get<int64_t>(fitArgument(fusion, command, "axis", int64_t{0}, value));
}

void splitTensor(Fusion& fusion, std::string_view command, TensorView* tensor, Values values, SplitSide side) {
  Scalar* factor = std::get<Scalar*>(fitArgument(fusion, command, "factor", static_cast<Scalar*>(nullptr), values[2]));
  split(tensor, axisIn(fusion, command, values[1]), Operand(factor), side);
}

ParallelType parallelTypeIn(const FieldValue& value) {
  const auto* name = std::get_if<std::string>(&value);
  const auto type = name != nullptr ? parallelTypeFromName(*name) : std::nullopt;
  if (!type) {
    std::string names;
    for (auto i = ParallelType::Serial; i <= ParallelType::Bulk;
         i = static_cast<ParallelType>(static_cast<int>(i) + 1)) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", parallelTypeName(i));
    }
    TK_RAISE(Schedule, "parallelize: {} is no parallel type; types are {}",
             name != nullptr ? *name : "the argument 'type'", names);
  }
  return *type;
}

struct Command {
  std::string_view name;
  std::vector<Parameter> parameters;
  void (*run)(Fusion&, TensorView*, Values);
};

Parameter required(std::string_view name) { return {name, {}, /*is_required=*/true}; }

const std::vector<Command>& commands() {
  static const std::vector<Command> rows = {
      {"split",
       {required("tensor"), required("axis"), required("factor"), {"inner_split", true}},
       [](Fusion& fusion, TensorView* tensor, Values values) {
         const bool is_inner = std::get<bool>(fitArgument(fusion, "split", "inner_split", true, values[3]));
         splitTensor(fusion, "split", tensor, values, is_inner ? SplitSide::Inner : SplitSide::Outer);
       }},
      {"inner_split",
       {required("tensor"), required("axis"), required("factor")},
       [](Fusion& fusion, TensorView* tensor, Values values) {
         splitTensor(fusion, "inner_split", tensor, values, SplitSide::Inner);
       }},
      {"outer_split",
       {required("tensor"), required("axis"), required("factor")},
       [](Fusion& fusion, TensorView* tensor, Values values) {
         splitTensor(fusion, "outer_split", tensor, values, SplitSide::Outer);
       }},
      {"merge",
       {required("tensor"), required("axis")},
       [](Fusion& fusion, TensorView* tensor, Values values) { merge(tensor, axisIn(fusion, "merge", values[1])); }},
      {"reorder",
       {required("tensor"), required("order")},
       [](Fusion& fusion, TensorView* tensor, Values values) {
         reorder(tensor, std::get<std::vector<int64_t>>(
                             fitArgument(fusion, "reorder", "order", std::vector<int64_t>{}, values[1])));
       }},
      {"parallelize",
       {required("tensor"), required("axis"), required("type")},
       [](Fusion& fusion, TensorView* tensor, Values values) {
         parallelize(tensor, axisIn(fusion, "parallelize", values[1]), parallelTypeIn(values[2]));
       }},
      {"propagate", {required("tensor")}, [](Fusion&, TensorView* tensor, Values) { propagate(tensor); }},
  };
  return rows;
}

class Commands final : public ScheduleApplier {
 public:
  TensorView* apply(Fusion& fusion, const ScheduleCommand& command) const override {
    const auto found = std::ranges::find(commands(), command.name, &Command::name);
    TK_REQUIRE(found != commands().end(), Schedule, "{}: no schedule command has this name; commands are {}",
               command.name, fmt::join(names(), ", "));
    TK_REQUIRE(command.result.empty(), Schedule, "{}: gives no tensor, so nothing can be named {}", command.name,
               command.result);
    try {
      const std::vector<FieldValue> values = bindArguments(command.name, found->parameters, command.arguments);
      TensorView* tensor = tensorIn(fusion, command.name, values[0]);
      TK_REQUIRE(tensor != nullptr, Schedule, "{}: '{}' must be a tensor", command.name, found->parameters[0].name);
      found->run(fusion, tensor, values);
    } catch (const Error& error) {
      // Arguments are bound as those of a call; what is wrong with them here is wrong with the schedule.
      if (error.code() != ErrorCode::Definition) throw;
      throw Error(ErrorCode::Schedule, error.message());
    }
    return nullptr;
  }

  std::vector<std::string_view> names() const override {
    std::vector<std::string_view> all;
    for (const Command& command : commands()) all.push_back(command.name);
    return all;
  }
};

}  // namespace

const ScheduleApplier& scheduleCommands() {
  static const Commands applier;
  return applier;
}

}  // namespace tokamak
