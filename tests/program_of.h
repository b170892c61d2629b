// Short texts of fusions for tests of definitions: one line per expression: "add f32[4, 8]".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "define/callables.h"
#include "define/operand.h"
#include "ir/fields.h"
#include "ir/fusion.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"

namespace tokamak {

/// The fusion that the text defines and schedules.
inline std::unique_ptr<Fusion> fusionFrom(std::string_view text) {
  return parseFusion(text, "test.fusion", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
}

inline TensorView* inputOf(Fusion& fusion, DataType dtype, const Operands& shape) {
  Axes axes;
  for (Scalar* size : scalarsOf(fusion, "input", shape)) {
    const IterKind kind = size->isConstantInt(1) ? IterKind::Broadcast : IterKind::Iteration;
    axes.push_back(fusion.axis({.kind = kind, .extent = size}));
  }
  TensorView* tensor = fusion.tensor(dtype, std::move(axes));
  fusion.addInput(tensor);
  return tensor;
}

/// "4, 8": the sizes consumers see; broadcast axes are marked b, "b1, 8".
inline std::string shapeText(const TensorView& tensor) {
  std::string text;
  for (const IterDomain* axis : shapeOf(tensor)) {
    text += (text.empty() ? "" : ", ") + std::string(axis->isBroadcast() ? "b" : "") + toString(*axis->visibleExtent());
  }
  return text;
}

inline std::string describe(const TensorView& tensor) {
  return std::string(dataTypeName(tensor.dtype())) + "[" + shapeText(tensor) + "]";
}

/// Every expression in creation order: "sum f32[4]".
inline std::vector<std::string> programOf(const Fusion& fusion) {
  std::vector<std::string> lines;
  for (const Expr* expr : fusion.allExprs()) {
    lines.push_back(std::string(callName(*expr)) + " " + describe(*asTensor(expr->output(0))));
  }
  return lines;
}

}  // namespace tokamak
