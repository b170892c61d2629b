// Judges of host programs that share nothing with the checker: bytes are sets, orders are enumerated or closed
// transitively.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "host/check/step_list.h"

namespace tokamak {

/// Pairs of step numbers, the earlier one in list order first; -1 is the caller's entry, the number of steps its exit.
using StepPairs = std::set<std::pair<int64_t, int64_t>>;

/// All bytes of an access.
std::set<int64_t> bytesOf(const Access& access);

/// Whether the list is small enough for racesByAllOrders.
bool canRunInAllOrders(const StepList& list);

/// Conflicting pairs that run in both orders, found by running every order that the streams allow, one after the other.
/// For programs of a few asynchronous steps. `order_count` is increased by the number of orders.
StepPairs racesByAllOrders(const StepList& list, int64_t& order_count);

/// Conflicting pairs without a path of edges between them, by the transitive closure of all edges.
StepPairs racesByClosure(const StepList& list);

/// What is wrong apart from races, by definition: bounds, life times, overlap inside a step, joins. Empty when nothing
/// is.
std::set<std::string> otherProblems(const StepList& list);

}  // namespace tokamak
