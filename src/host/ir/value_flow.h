// ValueFlow: which tensors of a host program have a buffer, have contents, or have been released, per statement.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// The kinds of faults.
enum class FlowFault : uint8_t {
  ReadBeforeGiven,
  UsedAfterFree,
  BadFree,             ///< the tensor has no buffer of its own, or no longer
  PartlyPreallocated,  ///< a sub-fusion some of whose results have a buffer
  OutputMissing,
};

/// Goes through the program as it would run, and reports faults. Bodies of loops are visited twice, for effects of one
/// iteration on the next. Both bodies of a condition start from the same state; what only one of them computes does not
/// count.
class ValueFlow {
 public:
  using Report = std::function<void(FlowFault, std::string)>;
  ValueFlow(const HostIrContainer& program, Report report) : program_(program), report_(std::move(report)) {}

  void run();

 private:
  // By root: views, aliases and bound copies share their tensor's.
  struct State {
    std::unordered_set<const TensorView*> known;    // has a buffer
    std::unordered_set<const TensorView*> written;  // has contents
    std::unordered_set<const TensorView*> freed;
    std::unordered_map<const TensorView*, const TensorView*> views;  // what a tensor is a view or another name of
  };

  void runBlock(const Block& block);
  void runStatement(const Expr& expr);
  void runLoop(const Block& body);
  void runCondition(const Block& then_body, const Block& else_body);
  void read(const TensorView* tensor, const Expr& expr);
  void write(const TensorView* tensor, const Expr& expr);
  void look(const TensorView* out, const TensorView* in, const Expr& expr);
  void free(const TensorView* tensor);
  bool isNewView(const Expr& expr) const;
  bool isKnown(const TensorView* tensor) const { return state_.known.contains(root(tensor)); }
  const TensorView* root(const TensorView* tensor) const;
  // The tensor that an alias stands for; not what a view looks at.
  const TensorView* named(const TensorView* tensor) const {
    return program_.resolveAlias(const_cast<TensorView*>(tensor));
  }

  const HostIrContainer& program_;
  Report report_;
  State state_;
};

}  // namespace tokamak
