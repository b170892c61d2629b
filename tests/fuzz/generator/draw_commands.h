// Schedule commands with random arguments, legal and illegal ones, for the tensors of any fusion.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/fusion.h"
#include "random.h"

namespace tokamak::generator {

/// The tensor of a label.
struct TensorName {
  int64_t label = 0;
};

/// A command as it is written, so that it can be drawn for one fusion and carried out on its copy.
struct DrawnCommand {
  using Value = std::variant<TensorName, std::vector<TensorName>, int64_t, std::vector<int64_t>, bool, std::string>;
  std::string name;
  std::vector<std::pair<std::string, Value>> arguments;
  int64_t result = -1;  ///< the label of the tensor that it gives
};

/// "T9 = rfactor(T3, axes=[1])"
std::string toString(const DrawnCommand& command);

/// To every tensor that has none.
void giveLabels(Fusion& fusion);

/// About one in six has an argument that is illegal whatever the state; others are illegal by what came before. Tensors
/// must have labels.
DrawnCommand drawCommand(const Fusion& fusion, Random& random);

/// Commands that let threads give one another elements of an operand through shared memory, within loops that the
/// operand shares with its reader; one after the other, as some may turn out illegal. Nothing where the fusion computes
/// nothing.
std::vector<DrawnCommand> drawExchange(const Fusion& fusion, Random& random);

/// Errors: Schedule when it is illegal, or names a tensor that is not there; the fusion is unchanged then.
void applyCommand(Fusion& fusion, const DrawnCommand& command);

}  // namespace tokamak::generator
