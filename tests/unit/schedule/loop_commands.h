// Carries out the commands of canonical schedules by the letter of ir/text/schedule_applier.h, without any legality
// check, so that the text is tested apart from scheduling.
#pragma once

#include <algorithm>
#include <string>

#include "base/require.h"
#include "ir/fusion.h"
#include "ir/text/schedule_applier.h"

namespace tokamak {

class LoopCommands final : public ScheduleApplier {
 public:
  std::vector<std::string_view> names() const override {
    return {"split", "merge", "reorder", "parallelize", "cache_before"};
  }

  TensorView* apply(Fusion& fusion, const ScheduleCommand& command) const override {
    TK_REQUIRE(command.name != "cache_before", Unsupported, "{}: commands that make tensors are not carried out yet",
               command.name);
    const auto* first = command.arguments.empty() ? nullptr : std::get_if<Val*>(&command.arguments[0].value);
    TensorView* tensor = first == nullptr ? nullptr : asTensor(*first);
    TK_REQUIRE(tensor != nullptr, Schedule, "{}: the first argument must be a tensor", command.name);
    Axes& loop = tensor->mutableDomain().loop;
    if (command.name == "reorder") {
      Axes order;
      for (const int64_t i : get<std::vector<int64_t>>(command, "order"))
        order.push_back(loop.at(check(i, loop.size())));
      TK_REQUIRE(std::ranges::is_permutation(order, loop), Schedule, "reorder: order is no permutation of {} axes",
                 loop.size());
      loop = order;
      return nullptr;
    }
    const size_t at = check(get<int64_t>(command, "axis"), loop.size());
    if (command.name == "parallelize") {
      const auto type = parallelTypeFromName(get<std::string>(command, "type"));
      TK_REQUIRE(type.has_value(), Schedule, "parallelize: unknown type {}", get<std::string>(command, "type"));
      loop[at]->parallelize(*type);
    } else if (command.name == "split") {
      split(fusion, command, loop, at);
    } else {
      TK_REQUIRE(at + 1 < loop.size(), Schedule, "merge: there is no axis after axis {}", at);
      IterDomain* merged =
          fusion.axis({.kind = loop[at]->kind(), .extent = fusion.mul(loop[at]->extent(), loop[at + 1]->extent())});
      fusion.domainExpr({.kind = DomainExprKind::Merge, .in = {loop[at], loop[at + 1]}, .out = {merged, nullptr}});
      loop[at] = merged;
      loop.erase(loop.begin() + static_cast<int64_t>(at) + 1);
    }
    return nullptr;
  }

 private:
  template <class T>
  static const T& get(const ScheduleCommand& command, std::string_view name) {
    const auto found = std::ranges::find(command.arguments, name, &CallArgument::name);
    const T* value = found == command.arguments.end() ? nullptr : std::get_if<T>(&found->value);
    TK_REQUIRE(value != nullptr, Schedule, "{}: the argument '{}' is missing or of the wrong form", command.name, name);
    return *value;
  }

  static size_t check(int64_t axis, size_t count) {
    TK_REQUIRE(axis >= 0 && axis < static_cast<int64_t>(count), Schedule, "axis {} is out of bounds for {} axes", axis,
               count);
    return static_cast<size_t>(axis);
  }

  static void split(Fusion& fusion, const ScheduleCommand& command, Axes& loop, size_t at) {
    const auto found = std::ranges::find(command.arguments, "factor", &CallArgument::name);
    TK_REQUIRE(found != command.arguments.end(), Schedule, "split: the argument 'factor' is missing");
    const auto* number = std::get_if<int64_t>(&found->value);
    const auto* scalar = std::get_if<Scalar*>(&found->value);
    TK_REQUIRE(scalar != nullptr || (number != nullptr && *number > 0), Schedule,
               "split: the factor must be a positive integer");
    Scalar* factor = number != nullptr ? fusion.constant(*number) : *scalar;
    const auto flag = std::ranges::find(command.arguments, "inner_split", &CallArgument::name);
    const bool is_inner = flag == command.arguments.end() || get<bool>(command, "inner_split");
    IterDomain* axis = loop[at];
    Scalar* rest = fusion.ceilDiv(axis->extent(), factor);
    IterDomain* outer = fusion.axis({.kind = axis->kind(), .extent = is_inner ? rest : factor});
    IterDomain* inner = fusion.axis({.kind = axis->kind(), .extent = is_inner ? factor : rest});
    fusion.domainExpr({.kind = DomainExprKind::Split,
                       .in = {axis, nullptr},
                       .out = {outer, inner},
                       .factor = factor,
                       .is_inner_factor = is_inner});
    loop[at] = outer;
    loop.insert(loop.begin() + static_cast<int64_t>(at) + 1, inner);
  }
};

}  // namespace tokamak
