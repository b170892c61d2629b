// Callables: everything that a text (or a language binding) can call by name: functions, structured ops and composites.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "define/define_op.h"

namespace tokamak {

struct Callable {
  std::string_view name;
  std::vector<Parameter> parameters;
  /// Takes one value per parameter; gives the results.
  std::function<std::vector<Val*>(Fusion&, std::span<const FieldValue>)> function;
};

/// Sorted by name.
std::span<const Callable> allCallables();
const Callable* findCallable(std::string_view name);

/// Errors: Definition, naming the call.
std::vector<Val*> callByName(Fusion& fusion, const Callable& callable, std::span<const CallArgument> arguments);

/// The calls of a fusion's text: findCallable's functions.
const CallResolver& definingResolver();

/// The rows that are written by hand: composites (composite_table.cpp), and ops whose functions do more than the op
/// (callable_table.cpp).
std::vector<Callable> handWrittenCallables();
std::vector<Callable> compositeCallables();

}  // namespace tokamak
