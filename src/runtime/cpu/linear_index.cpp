#include "runtime/cpu/linear_index.h"

#include <algorithm>

#include "runtime/cpu/index_lines.h"

namespace tokamak {

void LinearIndex::add(const LinearIndex& other, int64_t times) {
  constant += times * other.constant;
  for (size_t i = 0; i < strides.size(); ++i) strides[i] += times * other.strides[i];
  for (const auto& [factor, atom] : other.atoms) {
    const auto found = std::ranges::find(atoms, atom, &std::pair<int64_t, const Scalar*>::second);
    if (found == atoms.end())
      atoms.emplace_back(times * factor, atom);
    else
      found->first += times * factor;
  }
  std::erase_if(atoms, [](const auto& atom) { return atom.first == 0; });
}

LinearIndex IndexSpace::linear(const Scalar& scalar) const {
  LinearIndex result;
  result.strides.assign(coordinates.size(), 0);
  if (const auto found = std::ranges::find(coordinates, &scalar); found != coordinates.end()) {
    const auto i = static_cast<size_t>(found - coordinates.begin());
    result.constant = offsets[i];
    result.strides[i] = 1;
    return result;
  }
  if (!mentionsAny(scalar, coordinates)) {
    result.constant = evaluateInt(scalar, *bindings);
    return result;
  }
  switch (scalar.op()) {
    case ScalarOp::Add:
    case ScalarOp::Sub:
      result.add(linear(*scalar.operand(0)), 1);
      result.add(linear(*scalar.operand(1)), scalar.op() == ScalarOp::Add ? 1 : -1);
      return result;
    case ScalarOp::Mul:
      for (const size_t i : {0U, 1U}) {
        if (mentionsAny(*scalar.operand(i), coordinates)) continue;
        result.add(linear(*scalar.operand(1 - i)), evaluateInt(*scalar.operand(i), *bindings));
        return result;
      }
      break;
    case ScalarOp::FloorDiv:
    case ScalarOp::Mod:
      if (!mentionsAny(*scalar.operand(1), coordinates)) return divide(scalar);
      break;
    default: break;
  }
  result.atoms.emplace_back(1, &scalar);
  return result;
}

// With x = divisor * q + r term by term: floor(x / divisor) = q and x mod divisor = r whenever r stays in [0, divisor).
LinearIndex IndexSpace::divide(const Scalar& scalar) const {
  const LinearIndex x = linear(*scalar.operand(0));
  const int64_t divisor = evaluateInt(*scalar.operand(1), *bindings);
  const bool is_div = scalar.op() == ScalarOp::FloorDiv;
  LinearIndex quotient;
  LinearIndex rest;
  quotient.strides.assign(coordinates.size(), 0);
  rest.strides = quotient.strides;
  if (divisor > 0) {
    for (size_t i = 0; i < x.strides.size(); ++i) {
      const bool divides = x.strides[i] % divisor == 0;
      quotient.strides[i] = divides ? x.strides[i] / divisor : 0;
      rest.strides[i] = divides ? 0 : x.strides[i];
    }
    for (const auto& [factor, atom] : x.atoms) {
      const bool divides = factor % divisor == 0;
      (divides ? quotient : rest).atoms.emplace_back(divides ? factor / divisor : factor, atom);
    }
    rest.constant = x.constant;
    const auto bounds = range(rest);
    if (bounds && bounds->first >= 0 && bounds->second < divisor) return is_div ? quotient : rest;
  }
  LinearIndex result;
  result.strides.assign(coordinates.size(), 0);
  result.atoms.emplace_back(1, &scalar);
  return result;
}

void IndexSpace::joinDivAndMod(LinearIndex& index) const {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const auto& [div_factor, div] : index.atoms) {
      if (div->op() != ScalarOp::FloorDiv) continue;
      const auto mod = std::ranges::find_if(index.atoms, [&](const auto& atom) {
        return atom.second->op() == ScalarOp::Mod && std::ranges::equal(atom.second->operands(), div->operands());
      });
      if (mod == index.atoms.end()) continue;
      const int64_t factor = mod->first;
      if (div_factor != factor * evaluateInt(*div->operand(1), *bindings)) continue;
      const LinearIndex whole = linear(*div->operand(0));
      const Scalar* gone[] = {div, mod->second};
      std::erase_if(index.atoms, [&](const auto& atom) { return atom.second == gone[0] || atom.second == gone[1]; });
      index.add(whole, factor);
      has_changed = true;
      break;
    }
  }
}

std::optional<std::pair<int64_t, int64_t>> IndexSpace::range(const LinearIndex& index) const {
  if (!index.atoms.empty()) return std::nullopt;
  std::pair<int64_t, int64_t> bounds = {index.constant, index.constant};
  for (size_t i = 0; i < index.strides.size(); ++i) {
    const int64_t reach = index.strides[i] * (extents[i] - 1);
    (reach < 0 ? bounds.first : bounds.second) += reach;
  }
  return bounds;
}

}  // namespace tokamak
