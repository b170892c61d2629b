#include "schedule/commands.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/immortal.h"
#include "base/require.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/cache.h"
#include "schedule/command_arguments.h"
#include "schedule/inline.h"
#include "schedule/memory.h"
#include "schedule/propagate.h"
#include "schedule/rfactor.h"
#include "schedule/set_device_mesh.h"
#include "schedule/transform_like.h"
#include "schedule/transforms.h"

namespace tokamak {

namespace {

using Arguments = CommandArguments;

struct Command {
  std::string_view name;
  std::vector<Parameter> parameters;
  TensorView* (*run)(const Arguments&);
  bool gives_tensor = false;
};

Parameter required(std::string_view name) { return {name, {}, /*is_required=*/true}; }
Parameter optional(std::string_view name) { return {name, {}, /*is_required=*/false}; }

// The table's function for a command without a result.
template <auto run>
TensorView* only(const Arguments& a) {
  run(a);
  return nullptr;
}

constexpr std::string_view kMemoryTypes[] = {"local", "shared", "global"};
constexpr std::string_view kSwizzleTypes[] = {"xor", "cyclic_shift"};

CacheOp cacheOp(const Arguments& a, size_t i) { return static_cast<CacheOp>(a.oneOf(i, EnumNames<CacheOp>::names)); }
std::string cacheDefault() { return std::string(enumName(LoadStoreOp{}.cache_op)); }

void inlineMostOf(const Arguments& a) {
  if (a.isGiven(0))
    inline_most(a.tensors(0));
  else
    inline_most(a.fusion());
}

const std::vector<Command>& commands() {
  static const auto& rows = *immortal(std::vector<Command>{
      {"split",
       {required("tensor"), required("axis"), required("factor"), {"inner_split", true}},
       only<[](const Arguments& a) {
         split(a.tensor(), a.integer(1), a.scalar(2), a.flag(3) ? SplitSide::Inner : SplitSide::Outer);
       }>},
      {"inner_split",
       {required("tensor"), required("axis"), required("factor")},
       only<[](const Arguments& a) { inner_split(a.tensor(), a.integer(1), a.scalar(2)); }>},
      {"outer_split",
       {required("tensor"), required("axis"), required("factor")},
       only<[](const Arguments& a) { outer_split(a.tensor(), a.integer(1), a.scalar(2)); }>},
      {"merge",
       {required("tensor"), required("axis")},
       only<[](const Arguments& a) { merge(a.tensor(), a.integer(1)); }>},
      {"reorder",
       {required("tensor"), required("order")},
       only<[](const Arguments& a) { reorder(a.tensor(), a.integers(1)); }>},
      {"swizzle",
       {required("tensor"), required("axis_x"), required("axis_y"), {"type", std::string("xor")}},
       only<[](const Arguments& a) {
         swizzle(a.tensor(), a.integer(1), a.integer(2), static_cast<SwizzleType>(a.oneOf(3, kSwizzleTypes)));
       }>},
      {"parallelize",
       {required("tensor"), required("axis"), required("type")},
       only<[](const Arguments& a) { parallelize(a.tensor(), a.integer(1), a.parallelType(2)); }>},
      {"propagate", {required("tensor")}, only<[](const Arguments& a) { propagate(a.tensor()); }>},
      {"transform_like",
       {required("tensor"), optional("boundary"), optional("tensors")},
       only<[](const Arguments& a) { transform_like(a.tensor(), a.tensors(1), a.tensors(2)); }>},
      {"parallelize_like",
       {required("tensor"), optional("tensors"), optional("types"), {"position", int64_t{-1}}},
       only<[](const Arguments& a) { parallelize_like(a.tensor(), a.tensors(1), a.parallelTypes(2), a.integer(3)); }>},
      {"rfactor",
       {required("tensor"), required("axes")},
       [](const Arguments& a) { return rfactor(a.tensor(), a.integers(1)); },
       /*gives_tensor=*/true},
      {"cache_before",
       {required("tensor"), {"cache_op", cacheDefault()}},
       [](const Arguments& a) { return cache_before(a.tensor(), cacheOp(a, 1)); },
       /*gives_tensor=*/true},
      {"cache_after",
       {required("tensor"), {"cache_op", cacheDefault()}},
       [](const Arguments& a) { return cache_after(a.tensor(), cacheOp(a, 1)); },
       /*gives_tensor=*/true},
      {"cache_fork",
       {required("tensor")},
       [](const Arguments& a) { return cache_fork(a.tensor()); },
       /*gives_tensor=*/true},
      {"set_memory_type", {required("tensor"), required("type")}, only<[](const Arguments& a) {
         set_memory_type(a.tensor(), static_cast<MemoryType>(a.oneOf(1, kMemoryTypes)));
       }>},
      {"set_device_mesh",
       {required("tensor"), required("mesh")},
       only<[](const Arguments& a) { set_device_mesh(a.tensor(), a.mesh(1)); }>},
      {"set_allocation",
       {required("tensor"), required("axes")},
       only<[](const Arguments& a) { set_allocation(a.tensor(), a.integers(1)); }>},
      {"set_allocation_as_loop",
       {required("tensor")},
       only<[](const Arguments& a) { set_allocation_as_loop(a.tensor()); }>},
      {"circular_buffer",
       {required("tensor"), required("stages"), {"prefetch", int64_t{1}}},
       only<[](const Arguments& a) { circular_buffer(a.tensor(), a.integer(1), a.integer(2)); }>},
      {"pad_buffer",
       {required("tensor"), required("axis"), required("elements")},
       only<[](const Arguments& a) { pad_buffer(a.tensor(), a.integer(1), a.integer(2)); }>},
      {"inline_at",
       {required("tensor"), required("position")},
       only<[](const Arguments& a) { inline_at(a.tensor(), a.integer(1)); }>},
      {"inline_most", {optional("tensors")}, only<inlineMostOf>},
  });
  return rows;
}

class Commands final : public ScheduleApplier {
 public:
  TensorView* apply(Fusion& fusion, const ScheduleCommand& command) const override {
    const auto found = std::ranges::find(commands(), command.name, &Command::name);
    TK_REQUIRE(found != commands().end(), Schedule, "{}: no schedule command has this name; commands are {}",
               command.name, joined(names()));
    TK_REQUIRE(command.result.empty() || found->gives_tensor, Schedule,
               "{}: gives no tensor, so nothing can be named {}", command.name, command.result);
    try {
      return found->run(
          {fusion, found->name, found->parameters, bindArguments(command.name, found->parameters, command.arguments)});
    } catch (const Error& error) {
      // (Arguments are bound as those of calls; here their errors are errors of the schedule.)
      if (error.code() != ErrorCode::Definition) throw;
      throw Error(ErrorCode::Schedule, error.message());
    }
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
