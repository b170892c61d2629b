// Definition: a fusion that Python defines, and the handles of its values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/clone.h"
#include "ir/fusion.h"
#include "ir/text/call_resolver.h"
#include "schedule/inline.h"

namespace tokamak::python {

class Definition;

/// A tensor or a scalar of a definition, which it keeps.
struct Value {
  std::shared_ptr<Definition> definition;
  Val* val = nullptr;
  std::shared_ptr<const Fusion> schedule = nullptr;  ///< that the tensor was made in

  TensorView* tensor() const { return asTensor(val); }
};

/// How an input tensor is told: sizes are -1 for a symbol, 1 for an axis that broadcasts, else the number of elements.
struct InputTensor {
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes;
  /// Per axis from the slowest to the fastest in memory; empty: dense.
  std::vector<std::optional<bool>> contiguity;
  /// The rank of each axis in memory, 0 the fastest; empty: row-major.
  std::vector<int64_t> stride_order;
};

/// An axis of a tensor in words: "iBIDx{i0}", "i0".
struct AxisText {
  std::string text;
  std::string extent;
  bool is_reduction = false;
};

/// Thread safety: for one thread at a time, as its fusion.
class Definition : public std::enable_shared_from_this<Definition> {
 public:
  explicit Definition(std::string name) : fusion_(std::move(name)) {}

  const Fusion& fusion() const { return fusion_; }

  /// Errors: Definition for what does not fit the sizes.
  Value input(const InputTensor& described);
  Value scalarInput(DataType dtype);
  Value constant(const ScalarValue& value, DataType dtype);
  Scalar* integer(int64_t value) { return fusion_.constant(value); }
  /// A callable of the text by its name. Errors: Definition, naming it.
  std::vector<Value> call(const std::string& name, const std::vector<CallArgument>& arguments);
  /// A number in another type. Errors: Definition for a tensor.
  Value cast(const Value& value, DataType dtype);
  /// The size of an axis.
  Value size(const TensorView& tensor, int64_t axis);
  /// The output is given to callers, in memory of this order where one is told.
  void output(const Value& value, const std::vector<int64_t>& stride_order);
  /// Calls write it into the memory of `input`, and do not give it.
  void update(const Value& value, const Value& input);

  /// Errors: Definition for a value of another definition.
  Val* own(const Value& value) const;

  // --- schedules ---

  /// A schedule command by its name, on a copy of the fusion, which the first one makes; what the command made, if
  /// anything. Values of the definition stand for their copies. Errors: Schedule, and the copy is as it was.
  std::optional<Value> command(const std::string& name, const std::vector<CallArgument>& arguments);
  /// Forgets all commands.
  void dropSchedule() { scheduled_.reset(); }
  bool isScheduled() const { return scheduled_ != nullptr; }
  /// The copy, which is made where there is none.
  Fusion& scheduledFusion() { return *schedule().fusion; }
  /// What runs: the copy that has a schedule, else the fusion.
  const Fusion& program() const { return scheduled_ != nullptr ? *scheduled_->fusion : fusion_; }
  /// The same, which lives as long as it is held.
  std::shared_ptr<const Fusion> sharedProgram() const {
    return scheduled_ != nullptr ? scheduled_->fusion : sharedFusion();
  }
  std::shared_ptr<const Fusion> sharedFusion() const { return {shared_from_this(), &fusion_}; }
  /// The value's tensor in the schedule. Errors: Definition for a value of another definition, and for what is no
  /// tensor or of a schedule that was dropped.
  TensorView* scheduledTensor(const Value& value);
  /// "T3: f32[i0, i1] in loops [iBIDx{i0}, iTIDx{i1}], computed inside 1 of its readers'".
  std::string scheduledTensorText(const Value& value);
  /// The axes of a tensor, in its schedule if there is one: of its "root", "logical", "loop" or "allocation" domain.
  /// Errors: Definition as scheduledTensor() says, and for another domain.
  std::vector<AxisText> axes(const Value& value, const std::string& domain);
  /// Inlines these tensors of the schedule at a position (schedule/inline.h). Errors: as there, and as
  /// scheduledTensor() says.
  void inlineAt(const std::vector<Value>& values, int64_t position, InlineEffort effort);
  /// All tensors of the schedule, in the order in which they were made.
  std::vector<Value> scheduledTensors();

 private:
  struct Scheduled {
    std::shared_ptr<Fusion> fusion;
    std::unique_ptr<Cloner> copies;  ///< of the definition's values
  };
  Value handle(Val* val, std::shared_ptr<const Fusion> schedule = nullptr) {
    return {shared_from_this(), val, std::move(schedule)};
  }
  Scheduled& schedule();

  Fusion fusion_;
  std::unique_ptr<Scheduled> scheduled_;
  int64_t symbols_ = 0;
};

}  // namespace tokamak::python
