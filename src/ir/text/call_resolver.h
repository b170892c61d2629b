// CallResolver: what a call in a text stands for. The text knows the ops; the functions users call (softmax, sum with
// keepdim, add of mixed types, ...) belong to a later room, which gives them through this interface.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "ir/fields.h"

namespace tokamak {

/// An argument as written; without a name it is positional. Forms of its value:
///   a tensor                        Val*                  none                           std::monostate
///   4  -1  0xff                     int64_t               0.5  -inf  nan                 double
///   true  false                     bool                  "text", a bare name and, of a  std::string
///                                                         command, mesh(0, 1)
///   f32 and the other types         DataType              a scalar in any other form,    Scalar*
///   [4, -1]  and []                 std::vector<int64_t>  also a number with a type
///   [true, false]                   std::vector<bool>     (0.5_f32)
///   a list with a tensor in it      std::vector<Val*>     any other list of scalars      std::vector<Scalar*>
/// int64_t and double are plain numbers: they take the type of what they meet.
struct CallArgument {
  std::string_view name;
  FieldValue value;
};

class TOKAMAK_EXPORT CallResolver {
 public:
  virtual ~CallResolver() = default;

  /// The results of the call, appended to `fusion`; nothing when no function has this name. On operands that need no
  /// conversion a function with an op's name gives exactly that op. Errors: Definition.
  virtual std::optional<std::vector<Val*>> call(Fusion& fusion, std::string_view name,
                                                std::span<const CallArgument> arguments) const = 0;
  /// The names it knows, for suggestions.
  virtual std::vector<std::string_view> names() const = 0;
};

/// Knows the ops themselves, without any conversion: operands and attributes as described, absent ones by default. An
/// op whose only arguments are a list of operands takes them one by one: add(T0, T1), but cat([T0, T1], axis=0).
TOKAMAK_EXPORT const CallResolver& opResolver();

}  // namespace tokamak
