// The verifier: what a fusion must be like between two passes, as a list of named invariants.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/require.h"

namespace tokamak {

class Fusion;

/// How far a fusion has come; each stage demands what the row of an invariant says.
enum class Stage : uint8_t {
  Definition,  ///< a tensor program: nothing is scheduled
  Scheduled,   ///< loop domains and parallel types are chosen
  Segment,     ///< a part of a host program, scheduled: where it works on slices, extents are formulas of their own
};

struct Violation {
  std::string_view invariant;
  ErrorCode code = ErrorCode::Internal;
  std::string message;
};

/// One sentence of a legality spec.
struct Invariant {
  std::string_view name;
  std::string_view sentence;
};

/// The invariants of a stage, in the order in which they are checked: later ones rely on earlier ones.
std::vector<Invariant> invariantsOf(Stage stage);
/// The invariants as text, one "name: sentence" per line.
std::string legalitySpec(Stage stage);

/// Every violation of the first invariant that does not hold; empty for a legal fusion. The fusion is not changed.
std::vector<Violation> violationsOf(const Fusion& fusion, Stage stage);
/// Errors: with the first violation's message, naming the invariant: Definition for what a caller can cause, else
/// Internal.
void verify(const Fusion& fusion, Stage stage);

}  // namespace tokamak
