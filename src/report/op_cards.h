// Op cards: what pictures say of ops and tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/fusion.h"
#include "ir/text/names.h"
#include "report/card.h"

namespace tokamak {

/// The name that a picture has for a tensor.
using TensorNamer = std::function<std::string(const TensorView&)>;

/// "rows * 2": without parentheses around the whole, and without blanks inside of others.
std::string plainText(const Scalar& scalar, const FusionNames& names);

/// "f32[rows, 1]": the type and the shape that consumers see.
std::string shapeText(const TensorView& tensor, const FusionNames& names);

/// A tensor by itself: its name, its type, and below them what `role` says of it ("input", may be empty).
Card tensorCard(const TensorView& tensor, const FusionNames& names, const std::string& name, const std::string& role);
Card scalarCard(const Scalar& scalar, const FusionNames& names);

/// An op: its call without the tensors that it reads, and the results that `names_result` says are to be named in it.
Card opCard(const Expr& expr, const FusionNames& names, const TensorNamer& namer,
            const std::function<bool(const TensorView&)>& names_result);

/// Kinds of ops, by colour.
struct OpColour {
  std::string_view meaning;  ///< for a legend: "reduction"
  std::string_view fill;
  std::string_view stroke;
};
const OpColour& colourOf(const Expr& expr);

/// Squares with their meanings for those of `colours` that are there, in one line, 16 pixels high, from `at` on; its
/// width.
double drawLegend(Svg& svg, const Point& at, const std::vector<const OpColour*>& colours);

/// The heading of a picture and a line in grey below it, from the upper left corner on; what lies below starts at the
/// bottom of the rectangle.
Rectangle drawHeading(Svg& svg, const std::string& heading, const std::string& below);

/// "1 op", "2 ops".
std::string counted(size_t count, std::string_view thing);

}  // namespace tokamak
