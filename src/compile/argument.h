// Argument: what a call of a program is given for an input: a tensor or a number, by position or by the input's name.
//
//   program.run({x, 0.5});
//   program.run({{"scale", 0.5}, {"x", x}});
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/export.h"
#include "device/run_value.h"

namespace tokamak {

/// Thread safety: a value: each thread has copies of its own.
class TOKAMAK_EXPORT Argument {
 public:
  Argument(Tensor tensor) : value_(std::move(tensor)) {}   // NOLINT(google-explicit-constructor)
  Argument(RunValue value) : value_(std::move(value)) {}   // NOLINT(google-explicit-constructor)
  Argument(const ScalarValue& number) : value_(number) {}  // NOLINT(google-explicit-constructor)
  template <std::floating_point T>
  Argument(T number) : value_(ScalarValue(static_cast<double>(number))) {}  // NOLINT(google-explicit-constructor)
  /// Errors: Bind for a number of 2^63 and above.
  template <std::integral T>
  Argument(T number) : value_(ScalarValue(numberOf(number))) {}  // NOLINT(google-explicit-constructor)
  Argument(char) = delete;
  /// For the input of this name.
  Argument(std::string_view name, const Argument& argument) : name_(name), value_(argument.value_) {}

  /// Empty: by position.
  const std::string& name() const { return name_; }
  const RunValue& value() const { return value_; }

 private:
  static int64_t checked(uint64_t number);
  template <std::integral T>
  static auto numberOf(T number) {
    if constexpr (std::is_same_v<T, bool>)
      return number;
    else if constexpr (std::is_unsigned_v<T>)
      return checked(number);
    else
      return static_cast<int64_t>(number);
  }

  std::string name_;
  RunValue value_;
};

}  // namespace tokamak
