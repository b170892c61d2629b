// What an op's describe() tells: its results, operands and attributes by role. Everything generic about ops (printing,
// parsing, equality, hashing, cloning, calls by name) is derived from that in one place, ir/derivations.cpp.
//
//   template <class V, class Self> static void describe(V& v, Self& self) {
//     v.result("out", self.out);                 // TensorView* or StreamVal*
//     v.operand("in", self.in);                  // TensorView*, Scalar*, StreamVal* or Val*
//     v.optional("bias", self.bias);             // may be null
//     v.operands("in", self.ins);                // std::vector of tensors or vals
//     v.results("outs", self.outs);
//     v.spelling("op", self.op);                 // an enum whose names are the op's names in calls: sum, prod, ...
//     v.axis("axis", self.axis, self.in);        // of a tensor's shape without reductions; negative in calls allowed
//     v.axes("axes", self.axes, self.in);        // (for this and the next ones see AxisRelation in ir/fields.h)
//     v.perAxis("flags", self.flags, self.out);
//     v.extents("shape", self.shape, self.out);
//     v.permutation("order", self.order, self.in);
//     v.origin("start", self.start, self.out);
//     v.attribute("dtype", self.dtype);          // int64_t, bool, double, DataType (may be optional), enum, ...
//     v.body("body", self.body);                 // a Block of a host program
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tokamak {

/// The names of an enum's enumerators, in order of their values; specialised next to each enum that is an attribute.
template <class Enum>
struct EnumNames;

template <class Enum>
std::string_view enumName(Enum value) {
  return EnumNames<Enum>::names[static_cast<size_t>(value)];
}

template <class Enum>
std::optional<Enum> enumFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(EnumNames<Enum>::names); ++i) {
    if (EnumNames<Enum>::names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace tokamak
