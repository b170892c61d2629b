#include "symbolic/symbols.h"

#include <unordered_set>

namespace tokamak {

namespace {

// Operands that scalars share are visited once: an expression may name one very often.
void addSymbols(const Scalar& scalar, std::unordered_set<const Scalar*>& seen, std::vector<const Scalar*>& symbols) {
  if (!seen.insert(&scalar).second) return;
  if (scalar.isSymbol()) symbols.push_back(&scalar);
  for (const Scalar* operand : scalar.operands()) addSymbols(*operand, seen, symbols);
}

}  // namespace

std::vector<const Scalar*> symbolsOf(const Scalar& scalar) {
  std::vector<const Scalar*> symbols;
  std::unordered_set<const Scalar*> seen;
  addSymbols(scalar, seen, symbols);
  return symbols;
}

}  // namespace tokamak
