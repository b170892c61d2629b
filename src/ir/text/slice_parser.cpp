#include "ir/text/slice_parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/text/names.h"

namespace tokamak {

TensorView* SliceParser::parse(TensorView& tensor) {
  const Token& open = tokens_.expect("[");
  std::vector<Entry> entries;
  do entries.push_back(entry());
  while (tokens_.accept(","));
  if (!tokens_.at("]")) tokens_.failExpected("',' or ']'");
  tokens_.next();
  const size_t rank = shapeOf(tensor).size();
  if (entries.size() > rank) {
    tokens_.fail(open, fmt::format("{} entries for the {} axes of {}; expected at most one for each", entries.size(),
                                   rank, toString(tensor)));
  }
  TensorView* result = ranges(open, tensor, entries);
  for (size_t axis = entries.size(); axis-- > 0;) {
    if (entries[axis].is_range) continue;
    Scalar* index = fromStart(open, *result, axis, entries[axis].start);
    result =
        call(open, "select", {{{}, static_cast<Val*>(result)}, {"axis", static_cast<int64_t>(axis)}, {"index", index}});
  }
  return result;
}

SliceParser::Entry SliceParser::entry() {
  if (tokens_.at("]") || tokens_.at(",")) tokens_.failExpected("an index or a range such as 0:4, ::2 or :");
  Entry entry;
  if (!tokens_.at(":")) entry.start = bound();
  entry.is_range = tokens_.accept(":");
  if (!entry.is_range) return entry;
  const auto isLeftOut = [this] { return tokens_.at(":") || tokens_.at(",") || tokens_.at("]"); };
  if (!isLeftOut()) entry.stop = bound();
  if (tokens_.accept(":") && !isLeftOut()) entry.step = bound();
  return entry;
}

Scalar* SliceParser::bound() {
  const Token& start = tokens_.peek();
  Scalar* scalar = arguments_.toScalar(arguments_.parseExpression());
  if (scalar == nullptr || !isIntegerType(scalar->dtype())) {
    tokens_.fail(start,
                 "this is no integer; expected a position or a range such as 0:4; "
                 "index_select(x, axis, index) takes a tensor of positions");
  }
  return scalar;
}

// What is still below zero would be counted from the end once more by the op.
Scalar* SliceParser::fromStart(const Token& at, const TensorView& tensor, size_t axis, Scalar* position) const {
  const auto constant = position->constantInt();
  if (!constant || *constant >= 0) return position;
  Scalar* size = shapeOf(tensor)[axis]->visibleExtent();
  if (const auto length = size->constantInt(); length && *constant < -*length) {
    tokens_.fail(at, fmt::format("{} is outside axis {} of {}; counted from the end it must be at least {}", *constant,
                                 axis, toString(tensor), -*length));
  }
  return position->fusion().add(size, position);
}

TensorView* SliceParser::call(const Token& at, std::string_view name, std::vector<CallArgument> arguments) {
  return asTensor(arguments_.makeOne({&at, name, std::move(arguments)}));
}

// Axes without an entry, and those of a scalar entry, stay whole.
TensorView* SliceParser::ranges(const Token& at, TensorView& tensor, const std::vector<Entry>& entries) {
  const auto isCut = [](const Entry& entry) {
    return entry.is_range && (entry.start != nullptr || entry.stop != nullptr || entry.step != nullptr);
  };
  if (std::ranges::none_of(entries, isCut)) return &tensor;
  std::vector<Scalar*> starts;
  std::vector<Scalar*> stops;
  std::vector<Scalar*> steps;
  const Axes shape = shapeOf(tensor);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Entry entry = axis < entries.size() && entries[axis].is_range ? entries[axis] : Entry{};
    Scalar* size = shape[axis]->visibleExtent();
    Fusion& fusion = tensor.fusion();
    starts.push_back(entry.start != nullptr ? fromStart(at, tensor, axis, entry.start) : fusion.constant(0));
    stops.push_back(entry.stop != nullptr ? fromStart(at, tensor, axis, entry.stop) : size);
    steps.push_back(entry.step != nullptr ? entry.step : fusion.constant(1));
  }
  return call(at, "slice", {{{}, static_cast<Val*>(&tensor)}, {"starts", starts}, {"stops", stops}, {"steps", steps}});
}

}  // namespace tokamak
