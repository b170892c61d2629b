#include "ir/expr_summary.h"

#include "ir/fields.h"
#include "ir/tensor_view.h"

namespace tokamak {

std::string summaryOf(const Expr& expr) {
  std::string text;
  const char* separator = "";
  for (const TensorView* out : tensorsOf(expr.outputs())) {
    text += separator + nameOf(*out);
    separator = ", ";
  }
  if (!text.empty()) text += " = ";
  text += callName(expr);
  separator = "(";
  for (const TensorView* in : tensorsOf(expr.inputs())) {
    text += separator + nameOf(*in);
    separator = ", ";
  }
  return text + (*separator == '(' ? "()" : ")");
}

}  // namespace tokamak
