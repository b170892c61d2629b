// CommandArguments: the arguments of a schedule command, converted for the functions of schedule/.
#pragma once

#include <span>
#include <vector>

#include "define/define_op.h"

namespace tokamak {

/// Values bound to the parameters of a command. Getters raise Definition, naming the command, the parameter and the
/// legal form.
class CommandArguments {
 public:
  CommandArguments(Fusion& fusion, std::string_view command, std::span<const Parameter> parameters,
                   std::vector<FieldValue> values)
      : fusion_(&fusion), command_(command), parameters_(parameters), values_(std::move(values)) {}

  Fusion& fusion() const { return *fusion_; }
  bool isGiven(size_t i) const { return !std::holds_alternative<std::monostate>(values_[i]); }

  TensorView* tensor(size_t i = 0) const;
  /// One tensor or a list of tensors; empty if left out.
  std::vector<TensorView*> tensors(size_t i) const;
  int64_t integer(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  bool flag(size_t i) const;
  Scalar* scalar(size_t i) const;
  ParallelType parallelType(size_t i) const;
  /// One type, or several in one text: "BIDx, TIDx"; empty if left out.
  std::vector<ParallelType> parallelTypes(size_t i) const;
  /// mesh((0, 1), (2, 3)), or a list of ranks, which is one row.
  DeviceMesh mesh(size_t i) const;
  /// The index of the argument in `names`.
  size_t oneOf(size_t i, std::span<const std::string_view> names) const;

 private:
  FieldValue fitted(size_t i, const FieldValue& pattern) const;
  std::string text(size_t i) const;
  /// For messages: " of T3: f32[i0, 4]" if the command has one tensor, else empty.
  std::string subject() const;
  ParallelType typeNamed(std::string_view name) const;

  Fusion* fusion_;
  std::string_view command_;
  std::span<const Parameter> parameters_;
  std::vector<FieldValue> values_;
};

}  // namespace tokamak
