// Structural equality and hashing of fusions: the same program, whatever its nodes' addresses and creation numbers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace tokamak {

struct Block;
class Expr;
class Fusion;
class Val;

/// Empty when the fusions are the same program: inputs, outputs and aliases in order, ops with their attributes,
/// domains with their transforms, parallel types, contiguity, layout, memory; labels too. Else the first difference, in
/// words. Tensors and symbols without names compare under those that a text gives them.
std::string firstDifference(const Fusion& a, const Fusion& b);
inline bool isEqual(const Fusion& a, const Fusion& b) { return firstDifference(a, b).empty(); }

/// Equal fusions have equal hashes.
size_t structuralHash(const Fusion& fusion);

/// Compares two programs node by node; nodes that were found equal stay paired, one to one.
class ProgramComparison {
 public:
  ProgramComparison(const Fusion& a, const Fusion& b);
  ~ProgramComparison();

  /// Each gives the first difference in words, or nothing. Name, inputs, outputs, aliases and default sizes:
  std::string interfaces();
  std::string vals(const Val* a, const Val* b);
  /// The op, its fields, and the statements of its bodies.
  std::string exprs(const Expr& a, const Expr& b);
  std::string blocks(const Block& a, const Block& b);

 private:
  class Pairing;
  std::unique_ptr<Pairing> pairing_;
};

}  // namespace tokamak
