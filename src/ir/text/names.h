// FusionNames: the name every tensor and symbol of a fusion has in text. Names that nodes lack are given here, at print
// time, and stored nowhere.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// Tensors and symbols keep their names. Tensors without, or with one that is taken or cannot be written, are T<label>;
/// those without a label are numbered after the largest one, in creation order. Such symbols are i0, i2, i3, ... (f0,
/// ..., b0, ...) in order of their first appearance, around the names that are taken.
class FusionNames {
 public:
  explicit FusionNames(const Fusion& fusion);

  /// Of a tensor that the program does not mention: its label.
  int64_t numberOf(const TensorView& tensor) const;
  /// "x" or "T3".
  std::string nameOf(const TensorView& tensor) const;
  std::string nameOf(const Scalar& symbol) const;
  bool contains(const TensorView& tensor) const { return numbers_.contains(&tensor); }

  /// Symbols that the program mentions, in order of appearance.
  const std::vector<const Scalar*>& symbols() const { return symbols_; }
  /// Tensors that the program mentions, in creation order.
  const std::vector<const TensorView*>& tensors() const { return tensors_; }

 private:
  void add(const Val* val);
  void add(const Scalar* scalar);
  void add(const TensorView& tensor);
  void add(const IterDomain& axis);
  void numberTensors();
  void giveNames();

  std::vector<const Scalar*> symbols_;
  std::vector<const TensorView*> tensors_;
  std::unordered_set<const void*> seen_;
  std::unordered_map<const TensorView*, int64_t> numbers_;
  std::unordered_map<const TensorView*, std::string> tensor_names_;
  std::unordered_map<const Scalar*, std::string> symbol_names_;
};

/// Whether a symbol or a tensor may have this name: an identifier that means nothing else in a text (T0, f32, true,
/// none, ...).
bool canNameSymbol(std::string_view name);

/// The number of a tensor's name, T3: 3; nothing when the name is none.
std::optional<int64_t> tensorNumber(std::string_view name);

}  // namespace tokamak
