// The printer of .fusion text; docs/text.md has the grammar.
#pragma once

#include <string>

namespace tokamak {

class Expr;
class Fusion;
class FusionNames;

/// The canonical text: one op per line with the types of its results, default sizes, and the schedule commands that
/// give every tensor its loop domain. `parseFusion(printFusion(f))` equals `f`. Math ops only.
std::string printFusion(const Fusion& fusion);

/// The line of one op: "T2: f32[i0, r{i2}] = max(T1, axes=[1])".
std::string statementText(const Expr& expr, const FusionNames& names);

/// The lines "split(T7, axis=0, factor=128)", ... that rebuild the loop domains, parallel types, rfactors, allocation
/// domains, circular buffers and inline positions of all tensors, in the program's order; inline positions last, from
/// the last tensor to the first.
std::string scheduleText(const Fusion& fusion, const FusionNames& names);

}  // namespace tokamak
