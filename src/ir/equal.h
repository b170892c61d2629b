// Structural equality and hashing of fusions: the same program, whatever its nodes' addresses and creation numbers.
#pragma once

#include <cstddef>
#include <string>

namespace tokamak {

class Fusion;

/// Empty when the fusions are the same program: inputs, outputs and aliases in order, ops with their attributes, domains with
/// their transforms, parallel types, contiguity, layout, memory; labels too. Else the first difference, in words.
std::string firstDifference(const Fusion& a, const Fusion& b);
inline bool isEqual(const Fusion& a, const Fusion& b) { return firstDifference(a, b).empty(); }

/// Equal fusions have equal hashes.
size_t structuralHash(const Fusion& fusion);

}  // namespace tokamak
