#include "host/ir/text/math_forms.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/ir/text/generic_form.h"
#include "host/ir/text/pointwise_forms.h"
#include "ir/ops/math/cat_op.h"
#include "ir/ops/math/expand_op.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/linear_op.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/matmul_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/permute_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/ops/math/reshape_op.h"
#include "ir/ops/math/segment_set_op.h"
#include "ir/ops/math/select_op.h"
#include "ir/ops/math/slice_op.h"

namespace tokamak {

namespace {

Field operand(std::string_view name, Val* value) { return {FieldRole::Operand, name, value}; }
Field attribute(std::string_view name, FieldValue value) { return {FieldRole::Attribute, name, std::move(value)}; }

std::string scalarsText(TextWriter& writer, const std::vector<Scalar*>& scalars) {
  return writer.value(FieldValue{scalars});
}

std::vector<Scalar*> readScalars(TextReader& reader) {
  return reader.braced([&] { return reader.scalarOrNone(); });
}

// --- Set, Set.Permute ---

std::string printSet(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<LoadStoreOp>();
  const bool is_default = op.cache_op == CacheOp::Unspecified;
  return fmt::format("Set( {}{} )", writer.tensor(*op.in),
                     is_default ? "" : fmt::format(", cache_op={}", enumName(op.cache_op)));
}

Fields readSet(TextReader& reader, TensorView*) {
  Fields fields = {operand("in", reader.tensor())};
  EnumValue cache{0, EnumNames<CacheOp>::names};
  if (reader.tokens().accept(",")) {
    reader.expectName("cache_op");
    cache = reader.enumerator(cache, "a cache op");
  }
  fields.push_back(attribute("cache_op", cache));
  return fields;
}

std::string printSegmentSet(TextWriter& writer, const Expr& expr, const std::string&) {
  return fmt::format("SegmenterSet( {} )", writer.tensor(*expr.as<SegmentSetOp>()->in));
}

Fields readSegmentSet(TextReader& reader, TensorView*) { return {operand("in", reader.tensor())}; }

std::string printPermute(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<PermuteOp>();
  return fmt::format("Set.Permute( {}, order={{{}}} )", writer.tensor(*op.in), joined(op.order));
}

Fields readPermute(TextReader& reader, TensorView*) {
  Fields fields = {operand("in", reader.tensor())};
  reader.tokens().expect(",");
  reader.expectName("order");
  fields.push_back(attribute("order", reader.value(std::vector<int64_t>{}, "order")));
  return fields;
}

// --- reduction ---

// The axes of the operand that the result's reduction axes stand for.
std::vector<int64_t> reducedAxes(const TensorView& out) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < out.logical().size(); ++i) {
    if (out.logical()[i]->isReduction()) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

std::string printReduction(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<ReductionOp>();
  Fusion& fusion = expr.fusion();
  const Scalar* initial = fusion.constant(reductionIdentity(op.op, op.in->dtype()), op.in->dtype());
  std::string text = fmt::format("reduction( {}, op = {}, initial value = {}, allreduce = false", writer.tensor(*op.in),
                                 reductionDumpName(op.op), writer.scalar(initial));
  if (op.axes != reducedAxes(*op.out)) text += fmt::format(", axes = {{{}}}", joined(op.axes));
  return text + " )";
}

ReductionKind readReductionKind(TextReader& reader) {
  for (const auto kind : {ReductionKind::Sum, ReductionKind::Prod, ReductionKind::Max, ReductionKind::Min}) {
    if (reader.tokens().accept(reductionDumpName(kind))) return kind;
  }
  reader.tokens().failExpected("add, mul, max or min");
}

Fields readReduction(TextReader& reader, TensorView* out) {
  TokenStream& tokens = reader.tokens();
  TensorView* in = reader.tensor();
  tokens.expect(",");
  reader.expectName("op");
  const ReductionKind kind = readReductionKind(reader);
  tokens.expect(",");
  if (!tokens.at("initial") || !tokens.peek(1).is("value")) tokens.failExpected("'initial value ='");
  tokens.next();
  reader.expectName("value");
  const Token& initial = tokens.peek();
  const Scalar* identity = reader.program().constant(reductionIdentity(kind, in->dtype()), in->dtype());
  if (reader.scalar("the initial value") != identity) {
    tokens.fail(initial,
                fmt::format("a reduction by {} of {} starts from {} of that type; another value is not supported",
                            reductionDumpName(kind), dumpName(in->dtype()), toString(*identity)));
  }
  tokens.expect(",");
  reader.expectName("allreduce");
  if (!tokens.at("false")) tokens.failExpected("'false': reductions here give their result once");
  tokens.next();
  std::vector<int64_t> axes = reducedAxes(*out);
  if (tokens.accept(",")) {
    reader.expectName("axes");
    axes = std::get<std::vector<int64_t>>(reader.value(axes, "axes"));
  }
  return {{FieldRole::Spelling, "op", EnumValue{static_cast<size_t>(kind), EnumNames<ReductionKind>::names}},
          operand("in", in),
          {FieldRole::AxisNumbers, "axes", axes}};
}

// --- matmul, linear ---

std::string printMatmul(TextWriter& writer, const Expr& expr, const std::string& indent) {
  const auto& op = *expr.as<MatmulOp>();
  return fmt::format("matmul({},\n{}            {})", writer.tensor(*op.a), indent, writer.tensor(*op.b));
}

// The type of a product's result is told by the result alone.
void addProductType(Fields& fields, const TensorView& in, const TensorView& out) {
  if (isHalfType(in.dtype()) && out.dtype() == DataType::F32) fields.push_back(attribute("dtype", out.dtype()));
}

Fields readMatmul(TextReader& reader, TensorView* out) {
  TensorView* a = reader.tensor();
  reader.tokens().expect(",");
  Fields fields = {operand("a", a), operand("b", reader.tensor())};
  addProductType(fields, *a, *out);
  return fields;
}

// The bias stands at column 10 whatever the indentation, and what follows an operand keeps the indentation's distance:
// so the dumps have it.
std::string printLinear(TextWriter& writer, const Expr& expr, const std::string& indent) {
  const auto& op = *expr.as<LinearOp>();
  std::string text =
      fmt::format("linear({},\n{}            {}", writer.tensor(*op.in), indent, writer.tensor(*op.weight));
  if (op.bias != nullptr) text += fmt::format("{}  ,\n          {}", indent, writer.tensor(*op.bias));
  return text + indent + "  )";
}

Fields readLinear(TextReader& reader, TensorView* out) {
  TensorView* in = reader.tensor();
  Fields fields = {operand("in", in)};
  addProductType(fields, *in, *out);
  reader.tokens().expect(",");
  fields.push_back(operand("weight", reader.tensor()));
  if (reader.tokens().accept(",")) fields.push_back({FieldRole::OptionalOperand, "bias", reader.tensor()});
  return fields;
}

// --- full, expand, view, pad, slice, cat, select ---

std::string printFull(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<FullOp>();
  return fmt::format("full({}, {});", scalarsText(writer, op.shape), writer.scalar(op.value));
}

Fields readFull(TextReader& reader, TensorView* out) {
  Fields fields = {attribute("shape", readScalars(reader))};
  reader.tokens().expect(",");
  fields.push_back(attribute("value", reader.scalarOrNone()));
  fields.push_back(attribute("dtype", out->dtype()));
  return fields;
}

std::string printExpand(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<ExpandOp>();
  return fmt::format("expand( {}, {} )", writer.tensor(*op.in), scalarsText(writer, op.shape));
}

Fields readExpand(TextReader& reader, TensorView*) {
  Fields fields = {operand("in", reader.tensor())};
  reader.tokens().expect(",");
  fields.push_back(attribute("shape", readScalars(reader)));
  return fields;
}

std::vector<Scalar*> visibleShape(const TensorView& tensor) {
  std::vector<Scalar*> shape;
  for (const IterDomain* axis : shapeOf(tensor)) shape.push_back(axis->visibleExtent());
  return shape;
}

std::string printView(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<ReshapeOp>();
  const bool is_shown = op.shape != visibleShape(*op.out);
  return fmt::format("view( {}{} )", writer.tensor(*op.in),
                     is_shown ? fmt::format(", {}", scalarsText(writer, op.shape)) : "");
}

Fields readView(TextReader& reader, TensorView* out) {
  TensorView* in = reader.tensor();
  std::vector<Scalar*> shape = reader.tokens().accept(",") ? readScalars(reader) : visibleShape(*out);
  return {operand("in", in), attribute("shape", std::move(shape))};
}

std::string printPad(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<PadOp>();
  const bool is_zero = op.value == expr.fusion().constant(int64_t{0}, op.in->dtype());
  return fmt::format("pad( {}, {}{} )", writer.tensor(*op.in), scalarsText(writer, op.widths),
                     is_zero ? "" : fmt::format(", value = {}", writer.scalar(op.value)));
}

Fields readPad(TextReader& reader, TensorView*) {
  TensorView* in = reader.tensor();
  reader.tokens().expect(",");
  Fields fields = {operand("in", in), attribute("widths", readScalars(reader))};
  Scalar* value = reader.program().constant(int64_t{0}, in->dtype());
  if (reader.tokens().accept(",")) {
    reader.expectName("value");
    value = reader.scalarOrNone();
  }
  fields.push_back(attribute("value", value));
  return fields;
}

std::string printSlice(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<SliceOp>();
  std::string text = fmt::format("slice( {}, {{", writer.tensor(*op.in));
  const auto at = [](const std::vector<Scalar*>& list, size_t i) { return i < list.size() ? list[i] : nullptr; };
  for (size_t i = 0; i < std::max({op.starts.size(), op.stops.size(), op.steps.size()}); ++i) {
    text += fmt::format(" {}", scalarsText(writer, {at(op.starts, i), at(op.stops, i), at(op.steps, i)}));
  }
  return text + " } )";
}

Fields readSlice(TextReader& reader, TensorView*) {
  TokenStream& tokens = reader.tokens();
  TensorView* in = reader.tensor();
  tokens.expect(",");
  tokens.expect("{");
  std::vector<Scalar*> parts[3];
  while (!tokens.accept("}")) {
    if (!tokens.at("{")) tokens.failExpected("'{start, stop, step}' or '}'");
    const Token& range = tokens.peek();
    const std::vector<Scalar*> three = readScalars(reader);
    if (three.size() != 3)
      tokens.fail(range, fmt::format("a range of {} scalars; expected {{start, stop, step}}", three.size()));
    for (size_t i = 0; i < 3; ++i) {
      if (three[i] != nullptr) parts[i].push_back(three[i]);
    }
  }
  return {operand("in", in), attribute("starts", parts[0]), attribute("stops", parts[1]), attribute("steps", parts[2])};
}

std::string printCat(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<CatOp>();
  std::string text = "cat( ";
  for (const TensorView* in : op.ins) text += writer.tensor(*in) + ", ";
  return text + fmt::format("{} )", op.axis);
}

Fields readCat(TextReader& reader, TensorView*) {
  std::vector<Val*> ins;
  while (reader.atTensor()) {
    ins.push_back(reader.tensor());
    reader.tokens().expect(",");
  }
  return {{FieldRole::OperandList, "in", ins},
          attribute("axis", reader.tokens().expectInteger("a tensor or an axis number"))};
}

std::string printSelect(TextWriter& writer, const Expr& expr, const std::string&) {
  const auto& op = *expr.as<SelectOp>();
  return fmt::format("select( {}, axis = {}, index = {} )", writer.tensor(*op.in),
                     writer.axisAt(shapeOf(*op.in), op.axis), writer.scalar(op.index));
}

Fields readSelect(TextReader& reader, TensorView*) {
  TensorView* in = reader.tensor();
  reader.tokens().expect(",");
  reader.expectName("axis");
  const int64_t axis = reader.axisPosition(shapeOf(*in), nameOf(*in));
  reader.tokens().expect(",");
  reader.expectName("index");
  return {operand("in", in), {FieldRole::AxisNumber, "axis", axis}, attribute("index", reader.scalarOrNone())};
}

// A form that differs from `name( <operands>, <attribute> = <value> )`.
struct MathForm {
  OpKind kind;
  std::string_view word;  // what the call starts with
  CallPlace place;
  // The call, from its word to its end, in a statement indented by `indent`.
  std::string (*print)(TextWriter& writer, const Expr& expr, const std::string& indent);
  // The fields but for the result, read after the word and '(', up to but without ')'.
  Fields (*read)(TextReader& reader, TensorView* out);
};

constexpr MathForm kForms[] = {
    {OpKind::LoadStoreOp, "Set", CallPlace::NextLine, printSet, readSet},
    {OpKind::SegmentSetOp, "SegmenterSet", CallPlace::NextLine, printSegmentSet, readSegmentSet},
    {OpKind::PermuteOp, "Set.Permute", CallPlace::NextLine, printPermute, readPermute},
    {OpKind::ReductionOp, "reduction", CallPlace::NextLine, printReduction, readReduction},
    {OpKind::MatmulOp, "matmul", CallPlace::NextLine, printMatmul, readMatmul},
    {OpKind::LinearOp, "linear", CallPlace::NextLine, printLinear, readLinear},
    {OpKind::FullOp, "full", CallPlace::NextLine, printFull, readFull},
    {OpKind::ExpandOp, "expand", CallPlace::SameLine, printExpand, readExpand},
    {OpKind::ReshapeOp, "view", CallPlace::SameLine, printView, readView},
    {OpKind::PadOp, "pad", CallPlace::NextLine, printPad, readPad},
    {OpKind::SliceOp, "slice", CallPlace::NextLine, printSlice, readSlice},
    {OpKind::CatOp, "cat", CallPlace::NextLine, printCat, readCat},
    {OpKind::SelectOp, "select", CallPlace::NextLine, printSelect, readSelect},
};

const MathForm* findMathForm(OpKind kind) {
  const auto* found = std::ranges::find(kForms, kind, &MathForm::kind);
  return found == std::end(kForms) ? nullptr : found;
}

}  // namespace

std::string callText(TextWriter& writer, const Expr& expr, const std::string& indent) {
  if (const MathForm* form = findMathForm(expr.kind())) return form->print(writer, expr, indent);
  if (isPointwise(expr)) return pointwiseText(writer, expr, indent);
  const std::string arguments = genericArguments(writer, expr);
  return arguments.empty() ? fmt::format("{}( )", callName(expr)) : fmt::format("{}( {} )", callName(expr), arguments);
}

CallPlace callPlace(const Expr& expr) {
  const MathForm* form = findMathForm(expr.kind());
  return form == nullptr ? CallPlace::NextLine : form->place;
}

namespace {

TensorView* onlyTensor(TextReader& reader, const std::vector<Val*>& outs, const Token& at) {
  TensorView* out = outs.size() == 1 ? asTensor(outs[0]) : nullptr;
  if (out == nullptr) reader.tokens().fail(at, fmt::format("{} gives one tensor", describeToken(at)));
  return out;
}

void addResults(Fields& fields, OpKind kind, const std::vector<Val*>& outs) {
  size_t next = 0;
  for (const Field& field : defaultFields(kind)) {
    if (field.role == FieldRole::Result && next < outs.size()) fields.push_back({field.role, field.name, outs[next++]});
    if (field.role == FieldRole::ResultList) {
      fields.push_back(
          {field.role, field.name, std::vector<Val*>(outs.begin() + static_cast<std::ptrdiff_t>(next), outs.end())});
      next = outs.size();
    }
  }
}

}  // namespace

Expr* readCall(TextReader& reader, const std::vector<Val*>& outs, const Token& start) {
  TokenStream& tokens = reader.tokens();
  const Token& word = tokens.peek();
  std::string name(word.text);
  const bool is_call =
      word.kind == TokenKind::Identifier && (tokens.peek(1).is("(") || name == "Set") && !constantType(word);
  if (!is_call) return readInfix(reader, onlyTensor(reader, outs, word), start);
  tokens.next();
  if (name == "Set" && tokens.accept(".")) name += fmt::format(".{}", tokens.expectIdentifier("'Permute'").text);
  tokens.expect("(");
  Fields fields;
  OpKind kind{};
  const auto* form = std::ranges::find(kForms, name, &MathForm::word);
  if (form != std::end(kForms)) {
    kind = form->kind;
    fields = form->read(reader, onlyTensor(reader, outs, word));
  } else if (const auto pointwise = pointwiseName(name)) {
    kind = pointwise->kind;
    fields = readPointwise(reader, *pointwise, onlyTensor(reader, outs, word), word);
  } else if (const auto op = findOp(name, OpList::Math) ? findOp(name, OpList::Math) : findOp(name, OpList::Host)) {
    kind = op->kind;
    fields = readGenericArguments(reader, kind);
    const auto spelling = std::ranges::find(defaultFields(kind), FieldRole::Spelling, &Field::role);
    if (op->spelling) fields.push_back({FieldRole::Spelling, spelling->name, *op->spelling});
  } else {
    tokens.fail(word, fmt::format("unknown operation '{}'", name));
  }
  reader.expectClosing(")");
  tokens.accept(";");
  addResults(fields, kind, outs);
  return appendFields(reader, kind, fields, start);
}

Expr* appendFields(TextReader& reader, OpKind kind, const Fields& fields, const Token& start) {
  return reader.tokens().placed(start, [&] { return reader.program().append(makeExpr(kind, fields)); });
}

}  // namespace tokamak
