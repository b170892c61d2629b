#include "python/symbolic_sizes.h"

#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "base/require.h"
#include "symbolic/functions.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

bool isTrue(const nb::object& object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

nb::object compared(const nb::object& a, const nb::object& b, int how) {
  PyObject* const result = PyObject_RichCompare(a.ptr(), b.ptr(), how);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

std::string shown(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

nb::object constantOf(const Scalar& scalar) {
  return std::visit([](auto number) { return nb::object(nb::cast(number)); }, scalar.value());
}

// Of two operands. An invalid object: no arithmetic.
nb::object binary(ScalarOp op, const nb::object& a, const nb::object& b) {
  switch (op) {
    case ScalarOp::Add: return a + b;
    case ScalarOp::Sub: return a - b;
    case ScalarOp::Mul: return a * b;
    case ScalarOp::FloorDiv: return a.floor_div(b);
    case ScalarOp::CeilDiv: return (a + b - nb::int_(1)).floor_div(b);
    case ScalarOp::Mod: return nb::steal(PyNumber_Remainder(a.ptr(), b.ptr()));
    case ScalarOp::Min: return isTrue(compared(a, b, Py_LT)) ? a : b;
    case ScalarOp::Max: return isTrue(compared(a, b, Py_GT)) ? a : b;
    case ScalarOp::Equal: return compared(a, b, Py_EQ);
    case ScalarOp::NotEqual: return compared(a, b, Py_NE);
    case ScalarOp::Less: return compared(a, b, Py_LT);
    case ScalarOp::LessEqual: return compared(a, b, Py_LE);
    case ScalarOp::And: return nb::bool_(isTrue(a) && isTrue(b));
    case ScalarOp::Or: return nb::bool_(isTrue(a) || isTrue(b));
    default: return {};
  }
}

std::optional<ScalarOp> sameAs(FunctionId function) {
  switch (function) {
    case FunctionId::add: return ScalarOp::Add;
    case FunctionId::sub: return ScalarOp::Sub;
    case FunctionId::mul: return ScalarOp::Mul;
    case FunctionId::eq: return ScalarOp::Equal;
    case FunctionId::ne: return ScalarOp::NotEqual;
    case FunctionId::lt: return ScalarOp::Less;
    case FunctionId::le: return ScalarOp::LessEqual;
    case FunctionId::logical_and: return ScalarOp::And;
    case FunctionId::logical_or: return ScalarOp::Or;
    case FunctionId::minimum:
    case FunctionId::fmin: return ScalarOp::Min;
    case FunctionId::maximum:
    case FunctionId::fmax: return ScalarOp::Max;
    default: return std::nullopt;
  }
}

// Of integers and truths. An invalid object: a function that is not here, or not of such operands.
nb::object applied(FunctionId function, const std::vector<nb::object>& operands) {
  const nb::object zero = nb::int_(0);
  const auto isBelow = [](const nb::object& a, const nb::object& b) { return isTrue(compared(a, b, Py_LT)); };
  if (const auto op = sameAs(function)) return binary(*op, operands[0], operands[1]);
  switch (function) {
    case FunctionId::gt: return compared(operands[0], operands[1], Py_GT);
    case FunctionId::ge: return compared(operands[0], operands[1], Py_GE);
    case FunctionId::neg: return zero - operands[0];
    case FunctionId::abs: return isBelow(operands[0], zero) ? zero - operands[0] : operands[0];
    case FunctionId::logical_not: return nb::bool_(!isTrue(operands[0]));
    case FunctionId::where: return operands[isTrue(operands[0]) ? 1 : 2];
    case FunctionId::div:  // rounds towards zero, Python's towards minus infinity
      if (isBelow(operands[0], zero) || !isBelow(zero, operands[1])) return {};
      return operands[0].floor_div(operands[1]);
    default: return {};
  }
}

}  // namespace

void SymbolicSizes::require(nb::handle size, const Scalar& extent, const TensorView& tensor, size_t axis) {
  const nb::object wanted = evaluated(extent);
  if (!wanted.is_valid()) return;
  TK_REQUIRE(isTrue(compared(nb::borrow(size), wanted, Py_EQ)), Bind, "{}: axis {} has size {}, but {} is {}",
             toString(tensor), axis, shown(size), toString(extent), shown(wanted));
}

void SymbolicSizes::bind(const Value& tensor, nb::handle sizes) {
  const TensorView* const view = asTensor(definition_->own(tensor));
  TK_REQUIRE(view != nullptr, Definition, "a tensor has sizes; this is a number");
  const Axes axes = shapeOf(*view);
  TK_REQUIRE(nb::len(sizes) == axes.size(), Bind, "{} has {} axes, but a tensor of rank {} was given", toString(*view),
             axes.size(), nb::len(sizes));
  for (size_t i = 0; i < axes.size(); ++i) {
    const Scalar& extent = *axes[i]->visibleExtent();
    const nb::object size = sizes[i];
    if (extent.isSymbol() && known_.try_emplace(&extent, size).second) continue;
    require(size, extent, *view, i);
  }
}

void SymbolicSizes::bindNumber(const Value& scalar, nb::handle number) {
  Val* const val = definition_->own(scalar);
  TK_REQUIRE(asTensor(val) == nullptr, Definition, "a number is legal here, not a tensor");
  known_[static_cast<const Scalar*>(val)] = nb::borrow(number);
}

nb::object SymbolicSizes::evaluate(const Value& scalar) {
  Val* const val = definition_->own(scalar);
  TK_REQUIRE(asTensor(val) == nullptr, Definition, "a number is legal here, not a tensor");
  nb::object value = evaluated(*static_cast<const Scalar*>(val));
  return value.is_valid() ? value : nb::none();
}

nb::object SymbolicSizes::evaluated(const Scalar& scalar) {
  if (const auto found = known_.find(&scalar); found != known_.end()) return found->second;
  nb::object value = computed(scalar);
  if (value.is_valid()) known_[&scalar] = value;
  return value;
}

nb::object SymbolicSizes::computed(const Scalar& scalar) {
  if (scalar.isConstant()) return constantOf(scalar);
  if (scalar.isSymbol()) return {};
  std::vector<nb::object> operands;
  for (const Scalar* each : scalar.operands()) {
    operands.push_back(evaluated(*each));
    if (!operands.back().is_valid()) return {};
  }
  switch (scalar.op()) {
    case ScalarOp::Not: return nb::bool_(!isTrue(operands[0]));
    case ScalarOp::Select: return operands[isTrue(operands[0]) ? 1 : 2];
    case ScalarOp::Cast:
      if (isFloatingType(scalar.dtype()) || isFloatingType(scalar.operand(0)->dtype())) return {};
      return scalar.dtype() == DataType::Bool ? nb::object(nb::bool_(isTrue(operands[0]))) : operands[0];
    case ScalarOp::Function:
      for (const Scalar* each : scalar.operands()) {
        if (isFloatingType(each->dtype()) || each->dtype() == DataType::I32) return {};
      }
      return applied(scalar.function(), operands);
    default: return operands.size() == 2 ? binary(scalar.op(), operands[0], operands[1]) : nb::object();
  }
}

void bindSymbolicSizes(nb::module_& m) {
  nb::class_<SymbolicSizes>(m, "SymbolicSizes")
      .def("__init__", [](SymbolicSizes* made,
                          std::shared_ptr<Definition> definition) { new (made) SymbolicSizes(std::move(definition)); })
      .def("bind", &SymbolicSizes::bind)
      .def("bind_number", &SymbolicSizes::bindNumber)
      .def("evaluate", &SymbolicSizes::evaluate);
}

}  // namespace tokamak::python
